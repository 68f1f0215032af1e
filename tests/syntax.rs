//! Text to syntax tree and back: every module in `tests/`, errors as they are shown, hostile text.

use ptxlift::diag::{Diagnostics, Severity, Source};
use ptxlift::syntax::ast::{BinaryOp, Expr, Init, Item, Operand, Statement, UnaryOp};
use ptxlift::syntax::{parse, print};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// All `.ptx` files below `tests/`.
fn modules() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|e| e == "ptx") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"),
        &mut found,
    );
    found.sort();
    found
}

/// The errors of a text as they are shown.
fn shown(text: &str) -> String {
    let source = Arc::new(Source::new("test.ptx", text));
    let diagnostics = parse(&source).diagnostics;
    Diagnostics::new(source, diagnostics).to_string()
}

/// The messages of a text's errors.
fn messages(text: &str) -> Vec<String> {
    parse(&Source::new("test.ptx", text))
        .diagnostics
        .into_iter()
        .map(|d| d.message)
        .collect()
}

fn is_accepted(text: &str) -> bool {
    parse(&Source::new("test.ptx", text)).is_ok()
}

/// The tree without its spans.
fn tree(text: &str) -> String {
    let source = Source::new("test.ptx", text);
    let parsed = parse(&source);
    assert!(parsed.is_ok(), "{}\n{}", shown(text), text);
    // A span shows as `12..34`.
    let debug = format!("{:?}", parsed.module);
    let mut out = String::with_capacity(debug.len());
    let mut rest = debug.as_str();
    while let Some(dots) = rest.find("..") {
        let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
        out.push_str(rest[..dots].trim_end_matches(|c: char| c.is_ascii_digit()));
        out.push_str("..");
        rest = &rest[dots + 2..];
        rest = &rest[digits(rest)..];
    }
    out + rest
}

/// Parses, prints and parses again.
fn assert_round_trip(text: &str, name: &str) {
    let first = tree(text);
    let printed = print(&parse(&Source::new("test.ptx", text)).module);
    assert!(
        first == tree(&printed),
        "{name}: the printed module differs:\n{printed}"
    );
}

#[test]
fn every_module_parses_prints_and_parses_to_the_same_tree() {
    let modules = modules();
    assert!(modules.len() > 100, "only {} modules found", modules.len());
    for path in modules {
        assert_round_trip(
            &std::fs::read_to_string(&path).unwrap(),
            &path.display().to_string(),
        );
    }
}

/// A kernel around statements.
fn kernel(statements: &str) -> String {
    format!(".version 9.0\n.target sm_90\n.address_size 64\n.entry k() {{\n{statements}\n}}\n")
}

/// A module around declarations.
fn module(items: &str) -> String {
    format!(".version 9.0\n.target sm_90\n.address_size 64\n{items}\n")
}

/// Statements that are fine as far as syntax goes; ptxas 13.5 gives no syntax error for any of them.
const STATEMENTS: &[&str] = &[
    "mov .b32 %r0 , %r1 ;",
    "mov.u32 %r0, %tid .x;",
    "@%p0 ret; @ !%p1 ret; @! %p1 ret;",
    "L1: L2 : ret; %p1: ret; L3:",
    "{ { { } } }",
    "mov.b64 {%r0, _}, %d0;",
    "st.global.v2.b32 [g], {1+1, (-2)};",
    "ld.global.b32 { %r1 }, [ %d1 + 0 ];",
    "ld.global.b32 %r0, [%d0+-12]; ld.global.b32 %r0, [%d0+4+4]; ld.global.b32 %r0, [g+8-4];",
    "ld.global.b32 %r0, [%d0+4<<1]; ld.global.b32 %r0, [%d0+1?2:3]; ld.global.b32 %r0, [%d0 + ~3 + WARP_SZ];",
    "ld.local.b32 %r0, [8-4]; ld.local.b32 %r0, [-4];",
    "ld.global.b32 %r0, g[3]; ld.global.b32 %r0, g[3+1]; ld.global.b32 %r0, g[%r0];",
    "setp.eq.s32 %p0|%p1, %r0, %r1; setp.eq.s32 %p0 | _, %r0, %r1; match.all.sync.b32 _|%p0, %r1, -1;",
    "selp.b32 %r0, %r1, %r2, !%p1; selp.b32 %r0, %r1, %r2, ! %p1;",
    "vmad.s32.s32.s32 %r0, -%r1.b0, %r2.h1, %r3; vmad.s32.s32.s32 %r0, - %r1, %r2, %r3;",
    "mov.b32 vv.x, %r0; mov.b32 %r0, vv.r;",
    "call (%r0), f, (%r1, 5);",
    "call.uni (retval0),\n vprintf,\n (\n param0,\n param1\n );",
    "call f; call f, (); call (), f, (); call (%r0), %d1, (a), proto;",
    "mov.b32 %r0, (1); mov.b32 %r0, ((1)); mov.b32 %r0, (1)+2; mov.b32 %r0, (1+2)*3; mov.b32 %r0, (1) ? 2 : 3;",
    "mov.b32 %r0, (.s64)(1); mov.b32 %r0, (.u64) -1 >> 1; mov.b32 %r0, 3% 2;",
    "mov.b32 %r0, +5; mov.b32 %r0, --5; mov.b32 %r0, !!5; mov.b32 %r0, ~-5; mov.b32 %r0, - 5;",
    "mov.f32 %f0, (0f3F800000); mov.f32 %f0, -(0f3F800000); mov.f32 %f0, (0f3f800000)+1.0; mov.f32 %f0, 0F3f800000;",
    "mov.f64 %g0, 0D3FF0000000000000; mov.f64 %g0, -0d3ff0000000000000; mov.f64 %g0, 1e5; mov.f64 %g0, 1E+5;",
    "mov.f64 %g0, .5; mov.f64 %g0, 5.; mov.f64 %g0, .5e1; mov.f64 %g0, 5.e1; mov.f64 %g0, 08.5; mov.f64 %g0, 0e-999;",
    "mov.b32 %r0, 0xffU; mov.b32 %r0, 0XFF; mov.b32 %r0, 0b101; mov.b32 %r0, 0B11U; mov.b32 %r0, 07; mov.b32 %r0, 12U;",
    "mov.b64 %d0, 18446744073709551615; mov.b64 %d0, 0x1ffffffffffffffff;",
    ".reg .b32 a<0x4>, b < 3 >, c; .reg .v4 .f32 v; .reg .b32 %tid; .reg .align 8 .b32 d; .reg .b32 e<WARP_SZ>;",
    ".shared .align 8U .v2 .b32 a[2][0x3U]; .shared .align 010 .b32 b [2]; .shared .b32 c[WARP_SZ];",
    ".attribute(.managed) .global .b32 z;",
    ".pragma \"nounroll\"; .pragma \"a\" , \"b\" ; .pragma \"\";",
    ".loc 1 2 3 .loc 2 223 16, function_name $L__info_string0, inlined_at 1 72 19\n ret;",
    ".loc 1 2 3, function_name L + 4, inlined_at 1 2 3",
    "P : .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[16]) .noreturn;",
    "P: .callprototype _; Q: .callprototype () _ ();",
    "T: .branchtargets L<2>, M; U: .calltargets f, g;",
    "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5, %f6}]; tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, s, {%r1}];",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0, %r1}, {%r2}, {%r3}, {%r0, %r1};",
    "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r0}, [%r1]; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 32;",
    "ld.global.L1::no_allocate.L2::128B.b32 %r0, [%d0];",
    "RET; nosuch.thing %r1; mov.b32 mov, 5; ret /* a /* b */ ;",
];

/// Statements in which ptxas 13.5 finds a syntax error.
const BAD_STATEMENTS: &[&str] = &[
    "ret; ;",
    ";",
    "{ret;};",
    "L1:;",
    "ret",
    "mov.b32 %r0, 'a';",
    "mov.b32 %r0, \"a\";",
    "mov.b32 %r0, 1,;",
    "mov.b32 ,%r0, 1;",
    "mov.b32, %r0, 1;",
    "mov.b32 %r0 %r1;",
    "mov.b32. %r0, 1;",
    "ld . global . b32 %r0, [%d1];",
    ".mov.b32 %r0, 1;",
    "mov.u64 %d0, g-8;",
    "mov.u64 %d0, 8+g;",
    "mov.u64 %d0, generic(g);",
    "ld.global.b32 %r0, [%d0-4];",
    "ld.global.b32 %r0, [4+%d0];",
    "ld.global.b32 %r0, [%d0+%d1];",
    "ld.global.b32 %r0, [(%d0)];",
    "ld.global.b32 %r0, [g[3]];",
    "ld.global.b32 %r0, [];",
    "ld.global.b32 %r0, [-g];",
    "add.u32 %r0, %r1, g[1]+4;",
    "add.u32 %r0, (%r1), 2;",
    "add.u32 (%r0, %r1), %r2;",
    "ret ();",
    "call ((%r0)), f;",
    "call (%r0) f;",
    "call (%r0|%p0), f, ();",
    "call f, ({%r0,%r1});",
    "call f, ([%d0]);",
    "call f, (!%p0);",
    "call f, (-%r1);",
    "call f, (g+1);",
    "vmad.s32.s32.s32 %r0, --%r1, %r2, %r3;",
    "vmad.s32.s32.s32 %r0, +%r1, %r2, %r3;",
    "vadd.s32.s32.s32 %r0, ~%r1, %r2;",
    "selp.b32 %r0, %r1, %r2, !!%p1;",
    "selp.b32 %r0, %r1, %r2, !(%p1);",
    "setp.eq.s32 %p0|!%p1, %r0, %r1;",
    "setp.eq.s32 %p0|%p1|%p2, %r0, %r1;",
    "setp.eq.s32 %p0||%p1, %r0, %r1;",
    "mov.b64 {%r0,%r1,}, %d0;",
    "mov.b64 {}, %d0;",
    "st.global.v2.b64 [g], {g, g+8};",
    "mov.b32 %r0, vv.x.y;",
    "mov.b32 %r0, WARP_SZ.x;",
    "mov.b32 %r0, 3 %2;",
    "mov.b32 %r0, 1 ? 2, 3 : 4;",
    "mov.b32 %r0, 1_000;",
    "mov.b32 %r0, 08;",
    "mov.b32 %r0, 0x;",
    "mov.b32 %r0, 0b2;",
    "mov.b32 %r0, 0o17;",
    "mov.b32 %r0, 12u;",
    "mov.b32 %r0, 12UL;",
    "mov.b32 %r0, 0x1.8p1;",
    "mov.b32 %r0, 0xfffffffffffffffff;",
    "mov.b32 %r0, 99999999999999999999;",
    "mov.f32 %f0, -0f3F800000;",
    "mov.f32 %f0, 1.0+0f3f800000;",
    "mov.f32 %f0, 0f3F800000+0f3F800000;",
    "mov.f32 %f0, 0f3F80000;",
    "mov.f32 %f0, 0f3F8000000;",
    "mov.f32 %f0, 1.0f;",
    "mov.f32 %f0, 1.0U;",
    "mov.f32 %f0, 1..0;",
    "mov.f32 %f0, 1.5e;",
    "mov.f32 %f0, 1e400;",
    "mov.f32 %f0, 1e-310;",
    "@!!%p1 ret;",
    "@!_ ret;",
    "@%p1 L0: ret;",
    "@%p1 { ret; }",
    "@%p1 .reg .b32 z;",
    "%p1 bra L0;",
    "0L: ret;",
    "$: ret;",
    "_: ret;",
    "WARP_SZ: ret;",
    "call f();",
    "call (r), f (a);",
    "call f, (,);",
    "call f,;",
    ".reg .b32 a<1+2>;",
    ".reg .b32 a<2>[3];",
    ".reg .b32 a b;",
    ".reg .b32 .v2 z;",
    ".reg .v3 .b32 z;",
    ".reg z;",
    ".reg .b32 z,;",
    ".reg .b32 _;",
    ".reg .b32 WARP_SZ;",
    ".reg .b32 a%b;",
    ".sreg .b32 z;",
    ".b32 z;",
    ".shared .b32 a[2+2];",
    ".shared .b32 a[2][];",
    ".shared .b32 a[-1];",
    ".shared .align 4+4 .b32 a;",
    ".shared .b32 .align 8 a;",
    ".shared .v2 .align 8 .b32 a;",
    ".shared::cta .b32 a;",
    ".visible .shared .b32 a;",
    ".pragma nounroll;",
    ".pragma \"a\" \"b\";",
    ".pragma \"a\nb\";",
    ".pragma;",
    ".loc 1 2",
    ".loc 1 2 3;",
    ".loc 1 2 3, inlined_at 1 2 3",
    ".loc 1 2 3, function_name L",
    ".file 1 \"a\"",
    ".section .x { }",
    ".maxntid 32;",
    ".calltargets f;",
    "P: .callprototype f ();",
    "P: .callprototype _ () .maxntid 3;",
    "T: .calltargets;",
];

/// What stands outside functions without a syntax error in ptxas 13.5.
const ITEMS: &[&str] = &[
    ".entry k { ret; } .entry j ( ) { } .entry i(.param .b32 _) { }",
    ".visible .entry k(.param .u64 .ptr .global .align 16 a, .param .align 8 .b8 b[16]) { ret; }",
    ".entry k() .maxntid 128,1,1 .minnctapersm 2 .pragma \"nounroll\"; .reqnctapercluster 2U { ret; }",
    ".entry k() .maxntid WARP_SZ { ret; } .entry k2();",
    ".func (.reg .b32 r, .reg .b32 s) f(.reg .v2 .b32 a) { ret; } .func () g { ret; }",
    ".func f() .noreturn; .func f() .noreturn .abi_preserve 5 { trap; }",
    ".extern .func f() .extern .func g .entry k() { ret; }",
    ".func .attribute(.unified(1, 2)) (.reg .b32 r) f() { ret; }",
    ".visible .func f() { ret; } .visible .func g(); .alias g, f;",
    ".global .u32 g, h = 4, i[2] = {1, 2}, j; .global .b32 k<4>;",
    ".global .u32 a[2][2] = {{1, 2}, {3}}, b[] = {}; .extern .shared .align 16 .b8 s[];",
    ".global .u64 a = h+4+4, b = generic(h)+4, c = g; .global .u8 d[3] = {0xff(h), 0xff00(h+4), 255(generic(h)+4)};",
    ".global .f32 a = -1.0, b = (1.0+2.0)*3.0, c = 0f3f800000;",
    ".global .texref t = { width = 2+2, addr_mode_0 = clamp_to_border }, u[2] = {{ width = 4 }, { width = 8 }};",
    ".visible .attribute(.managed) .global .b32 y; .global .attribute(.managed) .align 8 .b32 z;",
    ".global .align 4 .align 8 .b32 g; .const[2] .b32 t; .common .global .align 8 .u64 c;",
    ".pragma \"nounroll\"; .file 1 \"a.cu\" .file 2U \"b.cu\", 1234, 99 .file 0x3 \"c\", 1",
    ".section .debug_info { .b8 1, -128, 255\n.b16 4 L: M: .b64 L, L+4 .b32 M-L, .debug_abbrev+4 }",
    ".section .debug_loc { }",
    "#line 1 \"a\"\n.entry k() { ret; }",
    "/* /* */ .entry\nk\n(\n)\n{\nret\n;\n} // \u{e9}",
];

/// What ptxas 13.5 calls a syntax error outside functions.
const BAD_ITEMS: &[&str] = &[
    ";",
    ".entry k() {ret;};",
    ".entry k() {ret;} }",
    ".visible .visible .entry k() { ret; }",
    ".visible .weak .entry k() { ret; }",
    ".common .entry k() { ret; }",
    ".entry _() { ret; }",
    ".entry WARP_SZ() { ret; }",
    ".entry (.reg .b32 r) k() { ret; }",
    ".entry k() { .entry j() { ret; } ret; }",
    ".entry k() .maxntid { ret; }",
    ".entry k() .maxntid 32,1,1,1 {ret;}",
    ".entry k() .maxntid 1+1 {ret;}",
    ".entry k() .maxntid 32;",
    ".entry k() .noreturn { ret; }",
    ".entry k() .pragma \"nounroll\" {ret;}",
    ".entry .maxntid 32 k() {ret;}",
    ".maxntid 32 .entry k() {ret;}",
    ".func f() .maxntid 32 { ret; }",
    ".func f(.reg .b32 a,) {ret;}",
    ".func f(.reg .b32 a .reg .b32 b) {ret;}",
    ".func f(.reg .b32 a, b) {ret;}",
    ".func f(.reg .b32 a = 2) {ret;}",
    ".func f(.reg .b32 a<4>) {ret;}",
    ".func f(.reg .b32) {ret;}",
    ".func .visible f() {ret;}",
    ".entry k(.param .u64 .ptr .align 16 .global a) {ret;}",
    ".entry k(.param .u64 .ptr .param a) {ret;}",
    ".entry k(.param .ptr .global .u64 a) {ret;}",
    ".visible .extern .global .b32 g;",
    ".attribute(.managed) .visible .global .b32 z;",
    ".global .attribute() .b32 z;",
    ".global .attribute(managed) .b32 z;",
    ".global .b32 .attribute(.managed) z;",
    ".global .v3 .b32 g;",
    ".global .v8 .b16 g;",
    ".global .align -4 .b32 g;",
    ".global .b32 [4] g;",
    ".global .b32 g[4/0];",
    ".global .b32 g == 5;",
    ".global .b32 g<2> = 4;",
    ".global .b32 g",
    ".global[2] .b32 t;",
    ".const [2] .b32 t;",
    ".global .u64 g = (h);",
    ".global .u64 g = h-4;",
    ".global .u64 g = 4+h;",
    ".global .u64 g = -h;",
    ".global .u64 g = h[2];",
    ".global .u64 g = generic h;",
    ".global .u64 g = Generic(h);",
    ".global .u64 g = generic(h+4);",
    ".global .u64 g = generic(h)-4;",
    ".global .u8 g[2] = {0xff(h)+1, 0xff00(h)};",
    ".global .u8 g[2] = {(0xff)(h), 2};",
    ".global .u64 g[2] = {1, };",
    ".visible .alias g, f;",
    "L: .callprototype _ ();",
    "L: .entry k() {ret;}",
    ".callprototype _ ();",
    ".sreg .b32 r;",
    ".file 1 \"a.cu\";",
    ".file -1 \"a\"",
    ".file \"a\"",
    ".file 4294967296 \"a\"",
    ".loc 1 2 3",
    ".section .debug_info { .b8 1 } ;",
    ".section .debug_info { .b8 256 }",
    ".section .debug_info { .b8 -129 }",
    ".section .debug_info { .b8 1; }",
    ".section .debug_info { .b8 L }",
    ".section .debug_info { .u32 1 }",
    ".section .debug_info { .b32 1+1 }",
    "#pragma x",
    " #line 1 \"a\"",
    ". entry k() { ret; }",
    ".entry \u{e9}() { ret; }",
    ".pragma \"nounroll\"",
    "/* open",
];

#[test]
fn syntax_is_judged_as_ptxas_does() {
    for text in STATEMENTS {
        assert_round_trip(&kernel(text), text);
    }
    for text in ITEMS {
        assert_round_trip(&module(text), text);
    }
    for text in BAD_STATEMENTS {
        assert!(!is_accepted(&kernel(text)), "accepted: {text}");
    }
    for text in BAD_ITEMS {
        assert!(!is_accepted(&module(text)), "accepted: {text}");
    }
}

#[test]
fn version_stands_on_one_line_without_a_semicolon() {
    for text in [
        ".version 8.7 .target sm_90",
        ".version  9.00 // x\n.target sm_90, debug",
        ".version 9.0.target sm_90",
    ] {
        assert_round_trip(text, text);
    }
    for text in [
        ".version 8",
        ".version 8 .7",
        ".version\n8.7",
        ".version /**/ 8.7",
        ".version 8.7U",
        ".version 8.7e1",
        ".version 8.7;",
        ".target 90",
        ".target",
        ".target sm_90,",
        ".target \"sm_90\"",
        ".address_size",
        ".address_size 64;",
    ] {
        assert!(!is_accepted(text), "accepted: {text}");
    }
}

/// What is in the initialiser of the first variable.
fn initialiser(expression: &str) -> String {
    format!(".global .u64 x = {expression};")
}

/// The value of a constant expression and whether it is unsigned.
fn evaluate(expr: &Expr<'_>) -> (u64, bool) {
    let truth = |b: bool| (u64::from(b), false);
    match expr {
        Expr::Int {
            value, unsigned, ..
        } => (*value, *unsigned),
        Expr::Name { name, .. } => {
            assert_eq!(name.text, "WARP_SZ");
            (32, false)
        }
        Expr::Unary { op, arg, .. } => {
            let (a, unsigned) = evaluate(arg);
            match op {
                UnaryOp::Plus => (a, unsigned),
                UnaryOp::Neg => (a.wrapping_neg(), unsigned),
                UnaryOp::Not => (!a, unsigned),
                UnaryOp::LogicalNot => truth(a == 0),
            }
        }
        Expr::Cast { ty, arg, .. } => (evaluate(arg).0, ty.text == "u64"),
        Expr::Conditional { cond, then, other } => {
            evaluate(if evaluate(cond).0 != 0 { then } else { other })
        }
        Expr::Binary { op, lhs, rhs } => {
            let ((a, ua), (b, ub)) = (evaluate(lhs), evaluate(rhs));
            let unsigned = ua || ub;
            let (sa, sb) = (a as i64, b as i64);
            match op {
                BinaryOp::Mul => (a.wrapping_mul(b), unsigned),
                BinaryOp::Div if unsigned => (a / b, true),
                BinaryOp::Div => ((sa / sb) as u64, false),
                BinaryOp::Rem if unsigned => (a % b, true),
                BinaryOp::Rem => ((sa % sb) as u64, false),
                BinaryOp::Add => (a.wrapping_add(b), unsigned),
                BinaryOp::Sub => (a.wrapping_sub(b), unsigned),
                BinaryOp::Shl => (a << b, ua),
                BinaryOp::Shr if ua => (a >> b, true),
                BinaryOp::Shr => ((sa >> b) as u64, false),
                BinaryOp::Lt => truth(if unsigned { a < b } else { sa < sb }),
                BinaryOp::Le => truth(if unsigned { a <= b } else { sa <= sb }),
                BinaryOp::Gt => truth(if unsigned { a > b } else { sa > sb }),
                BinaryOp::Ge => truth(if unsigned { a >= b } else { sa >= sb }),
                BinaryOp::Eq => truth(a == b),
                BinaryOp::Ne => truth(a != b),
                BinaryOp::And => (a & b, unsigned),
                BinaryOp::Xor => (a ^ b, unsigned),
                BinaryOp::Or => (a | b, unsigned),
                BinaryOp::LogicalAnd => truth(a != 0 && b != 0),
                BinaryOp::LogicalOr => truth(a != 0 || b != 0),
            }
        }
        Expr::F64 { .. } | Expr::F32 { .. } | Expr::Apply { .. } => panic!("no integer: {expr:?}"),
    }
}

/// Expressions with the value that ptxas 13.5 put into a `.global .u64` for each.
const EXPRESSIONS: &[(&str, u64)] = &[
    ("1 + 2 * 3", 7),
    ("2 * 3 + 1", 7),
    ("10 - 4 - 3", 3),
    ("100 / 5 / 2", 10),
    ("100 / 5 * 2", 40),
    ("17 % 5 * 2", 4),
    ("17 % 5 + 2", 4),
    ("1 << 2 + 1", 8),
    ("1 + 1 << 2", 8),
    ("256 >> 2 >> 1", 32),
    ("1 << 2 < 5", 1),
    ("3 < 2 == 0", 1),
    ("1 == 1 < 2", 1),
    ("5 > 4 > 0", 1),
    ("2 <= 2 == 1", 1),
    ("3 >= 2 != 0", 1),
    ("6 & 3 == 3", 0),
    ("1 == 1 & 2", 0),
    ("6 ^ 3 & 1", 7),
    ("6 & 1 ^ 3", 3),
    ("4 | 1 ^ 5", 4),
    ("4 ^ 5 | 1", 1),
    ("1 | 0 && 0", 0),
    ("0 && 0 | 1", 0),
    ("1 || 0 && 0", 1),
    ("0 && 0 || 1", 1),
    ("1 ? 2 : 0 ? 3 : 4", 2),
    ("0 ? 2 : 0 ? 3 : 4", 4),
    ("1 ? 0 ? 5 : 6 : 7", 6),
    ("0 || 1 ? 8 : 9", 8),
    ("1 + 1 ? 3 + 4 : 5", 7),
    ("0 ? 1 : 2 + 3", 5),
    ("-1 + 2", 1),
    ("- 2 * -3", 6),
    ("~0 & 255", 255),
    ("!0 + 1", 2),
    ("!5 == 0", 1),
    ("~-1", 0),
    ("- -5", 5),
    ("!!7", 1),
    ("-(2 + 3) + 10", 5),
    ("(1 + 2) * 3", 9),
    ("2 * (3 + 4) * 5", 70),
    ("(.u64) 1 + 2", 3),
    ("(.s64) -1 + 2", 1),
    ("(.u64) 2 * 3", 6),
    ("WARP_SZ + 1", 33),
    ("2 * WARP_SZ / 3", 21),
    ("1 + 2 == 3 && 4 > 2 || 0 ? 0x10 | 1 : 010", 17),
    ("7 & 3 | 8", 11),
    ("1 < 2 < 3 < 4", 1),
    ("10 - 2 + 3", 11),
    ("64 / 4 % 5", 1),
    ("2 + 3 % 2 * 4", 6),
    ("1 << 1 << 1 + 1", 8),
    ("0xff ^ 0x0f << 4", 15),
    ("~0 ^ -16", 15),
    ("(.u64) -1 >> 1", 0x7fff_ffff_ffff_ffff),
    ("(.s64) -1 >> 1", 0xffff_ffff_ffff_ffff),
    ("-1 >> 1", 0xffff_ffff_ffff_ffff),
    ("-1U >> 1", 0x7fff_ffff_ffff_ffff),
    ("(.s64) 0xffffffffffffffff >> 1", 0xffff_ffff_ffff_ffff),
    ("0xffffffffffffffff >> 1", 0x7fff_ffff_ffff_ffff),
    ("-(.u64) 1 >> 1", 0x7fff_ffff_ffff_ffff),
    ("-(.s64) 1 >> 1", 0xffff_ffff_ffff_ffff),
    ("!(.u64) 0", 1),
    ("(.s64)(.u64) -1 >> 1", 0xffff_ffff_ffff_ffff),
    ("(.u64) -1 / 2", 0x7fff_ffff_ffff_ffff),
    ("(.u64) (-1 / 2)", 0),
    ("- (.u64) 1 / 2", 0x7fff_ffff_ffff_ffff),
    ("1U - 2 >> 1", 0x7fff_ffff_ffff_ffff),
    ("-1 < 0U", 0),
];

#[test]
fn operators_bind_as_in_ptxas() {
    for &(text, expected) in EXPRESSIONS {
        let text = initialiser(text);
        let source = Source::new("test.ptx", text.as_str());
        let parsed = parse(&source);
        let Some(Item::Variable(variable)) = parsed.module.items.first() else {
            panic!("{}", shown(&text))
        };
        let Some(Init::Value(value)) = &variable.declarators[0].init else {
            panic!("{variable:?}")
        };
        assert_eq!(evaluate(value).0, expected, "{text}");
        assert_round_trip(&text, &text);
    }
}

#[test]
fn operands_are_told_apart() {
    let text = kernel("call !p, !5, -%r1, -5, a|b, {a}, [a], a[1], (1), (a, b), _, .5, %tid.x;");
    let source = Source::new("test.ptx", text);
    let parsed = parse(&source);
    let Item::Function(function) = &parsed.module.items[3] else {
        panic!()
    };
    let Statement::Instruction(instruction) = &function.body.as_ref().unwrap().statements[0] else {
        panic!()
    };
    let [
        not,
        negation,
        minus,
        neg,
        pair,
        vector,
        address,
        indexed,
        one,
        list,
        sink,
        half,
        tid,
    ] = &instruction.operands[..]
    else {
        panic!("{:?}", instruction.operands)
    };
    assert!(matches!(not, Operand::Not(Expr::Name { .. }, _)));
    assert!(matches!(
        negation,
        Operand::Expr(Expr::Unary {
            op: UnaryOp::LogicalNot,
            ..
        })
    ));
    assert!(
        matches!(minus, Operand::Expr(Expr::Unary { op: UnaryOp::Neg, arg, .. }) if matches!(**arg, Expr::Name { .. }))
    );
    assert!(
        matches!(neg, Operand::Expr(Expr::Unary { op: UnaryOp::Neg, arg, .. }) if matches!(**arg, Expr::Int { .. }))
    );
    assert!(matches!(pair, Operand::Pair(..)));
    assert!(matches!(vector, Operand::Vector(elements, _) if elements.len() == 1));
    assert!(matches!(address, Operand::Address(a) if !a.indexed));
    assert!(matches!(indexed, Operand::Address(a) if a.indexed));
    // Only calls have lists.
    assert!(matches!(one, Operand::List(elements, _) if elements.len() == 1));
    assert_eq!(
        tree(&kernel("mov.b32 %r0, (1);")),
        tree(&kernel("mov.b32 %r0, 1;"))
    );
    assert!(matches!(list, Operand::List(elements, _) if elements.len() == 2));
    assert!(matches!(sink, Operand::Expr(Expr::Name { name, .. }) if name.text == "_"));
    assert!(matches!(half, Operand::Expr(Expr::F64 { bits, .. }) if f64::from_bits(*bits) == 0.5));
    assert!(matches!(tid, Operand::Expr(Expr::Name { suffix: Some(x), .. }) if x.text == "x"));
}

#[test]
fn spans_cover_what_was_written() {
    let text = kernel(
        "  @!%p1 ld.shared::cta.v2.b32 {%r0, vv.y}, [%d0+(4+4)], (1 + 2)*3, -%r1.b0, a | b ; ret;",
    );
    let source = Source::new("test.ptx", text);
    let parsed = parse(&source);
    let Item::Function(function) = &parsed.module.items[3] else {
        panic!()
    };
    let body = function.body.as_ref().unwrap();
    let Statement::Instruction(instruction) = &body.statements[0] else {
        panic!()
    };
    let shown = |span| source.slice(span);
    assert_eq!(shown(function.span), ".entry k()");
    assert!(shown(body.span).starts_with('{') && shown(body.span).ends_with('}'));
    assert_eq!(
        shown(instruction.span),
        "@!%p1 ld.shared::cta.v2.b32 {%r0, vv.y}, [%d0+(4+4)], (1 + 2)*3, -%r1.b0, a | b"
    );
    assert_eq!(shown(instruction.guard.as_ref().unwrap().span), "@!%p1");
    let modifiers: Vec<_> = instruction
        .modifiers
        .iter()
        .map(|m| (m.text, shown(m.span)))
        .collect();
    assert_eq!(
        modifiers,
        [
            ("shared::cta", ".shared::cta"),
            ("v2", ".v2"),
            ("b32", ".b32")
        ]
    );
    let operands: Vec<_> = instruction
        .operands
        .iter()
        .map(|o| shown(o.span()))
        .collect();
    assert_eq!(operands[0], "{%r0, vv.y}");
    assert_eq!(operands[1], "[%d0+(4+4)]");
    assert_eq!(operands[3..], ["-%r1.b0", "a | b"]);
}

#[test]
fn literals_have_the_value_that_ptxas_gives_them() {
    let values = [
        ("010", 8, false),
        ("0b101U", 5, false),
        ("0XfF", 255, false),
        ("18446744073709551615", u64::MAX, false),
        // Larger ones lose their high bits, as long as the top bit is clear when the next digit comes.
        ("0x10000000000000000", 0, true),
        ("0x1ffffffffffffffff", u64::MAX, true),
        ("0x123456789abcdef01", 0x2345_6789_abcd_ef01, true),
        ("18446744073709551617", 1, true),
        ("02000000000000000000001", 1, true),
    ];
    for (text, expected, warned) in values {
        let text = initialiser(text);
        let source = Source::new("test.ptx", text.as_str());
        let parsed = parse(&source);
        let Some(Item::Variable(variable)) = parsed.module.items.first() else {
            panic!("{}", shown(&text))
        };
        let Some(Init::Value(Expr::Int { value, .. })) = variable.declarators[0].init else {
            panic!("{variable:?}")
        };
        assert_eq!(value, expected, "{text}");
        let warns = parsed
            .diagnostics
            .iter()
            .any(|d| d.severity == Severity::Warning);
        assert_eq!(warns, warned, "{text}");
    }
}

#[test]
fn errors_show_their_line_and_what_would_be_right() {
    let text = "\
.version 8.7
.target sm_90
.address_size 64
.entry k(.param .u64 a)
{
\t.reg .b32 %r<4>;
\tadd.u32 %r1, %r2, %r3
\tmov.b32 %r1, 'a';
\tld.global.b32 %r1, [%rd2-4];
\tmov.f32 %f1, -0f3f800000;
\tmov.b32 %r1, 1_000;
\tcall (%r1), f (%r2);
\tret;;
\t@%p1 { ret; }
}
.func f(.param .b32) { ret; }
";
    let expected = "\
error: expected `;`, found `mov`
  ┌─ test.ptx:7:22
  │
7 │     add.u32 %r1, %r2, %r3
  │                         ^ `;` is missing after this

error: PTX has no character literals
  ┌─ test.ptx:8:15
  │
8 │     mov.b32 %r1, 'a';
  │                  ^^^
  │
  = hint: write the character's code as a number

error: expected `+`, found `-`
  ┌─ test.ptx:9:26
  │
9 │     ld.global.b32 %r1, [%rd2-4];
  │                             ^
  │
  = hint: a negative offset is written with a plus: `name+-8`

error: `0f3f800000` behind an operator
   ┌─ test.ptx:10:16
   │
10 │     mov.f32 %f1, -0f3f800000;
   │                   ^^^^^^^^^^
   │
   = hint: put the sign into its first digit, or write it in parentheses

error: `1_000` is no number
   ┌─ test.ptx:11:15
   │
11 │     mov.b32 %r1, 1_000;
   │                  ^^^^^
   │
   = hint: digits are written without `_` between them

error: expected `;`, found `(`
   ┌─ test.ptx:12:16
   │
12 │     call (%r1), f (%r2);
   │                   ^
   │
   = hint: a list of arguments stands behind a comma: `call (r), f, (a);`

error: a `;` without a statement
   ┌─ test.ptx:13:6
   │
13 │     ret;;
   │         ^
   │
   = hint: remove it

error: a guard before a `{`
   ┌─ test.ptx:14:2
   │
14 │     @%p1 { ret; }
   │     ^^^^
   │
   = hint: a guard is for one instruction; branch around the scope instead

error: expected a name, found `)`
   ┌─ test.ptx:16:20
   │
16 │ .func f(.param .b32) { ret; }
   │                    ^";
    assert_eq!(shown(text), expected);
}

#[test]
fn what_is_never_closed_is_named() {
    let expected = "\
error: expected `}`, found the end of the text
  ┌─ test.ptx:3:1
  │
1 │ .entry k() {
  │            - this `{` is never closed
3 │ 
  │ ^";
    assert_eq!(shown(".entry k() {\n  ret;\n"), expected);
    assert_eq!(messages("/* a"), ["this comment is never closed"]);
    assert_eq!(
        messages(".pragma \"abc\n;"),
        ["this string is not closed on its line"]
    );
}

#[test]
fn one_mistake_gives_one_error() {
    for text in [
        "mov.b64 {%r0 %r1}, %d0;",
        "mov.b64 {%r0, ;",
        "mov.b32 %r0, (1 + 2;",
        "add.u32 %r0, %r1, %r2",
        ".reg .b32 a b;",
        ".global .b32 x[2] = {1, 2 3};",
        "tex.2d.v4.f32.f32 {%f1, %f2}, [%d1, {%f5 %f6}];",
    ] {
        let text = kernel(&format!("{text}\nmov.u32 %r0, 1;"));
        assert_eq!(messages(&text).len(), 1, "{}", shown(&text));
    }
    for text in [
        ".entry k(\n.param .b32 a$$ x,\n.param .b32 b\n)\n{ ret; }",
        ".global .b32 x[2] = {1, {2 3}, 4};",
        ".func f() .maxntid 3 { { ret; } }",
        ".section .debug { .b8 1; .b8 2 }",
    ] {
        let text = module(&format!("{text}\n.entry good() {{ ret; }}"));
        assert_eq!(messages(&text).len(), 1, "{}", shown(&text));
        let source = Source::new("test.ptx", text);
        let found = parse(&source)
            .module
            .items
            .iter()
            .any(|i| matches!(i, Item::Function(f) if f.name.text == "good"));
        assert!(found, "what follows is lost: {}", source.text());
    }
}

#[test]
fn errors_are_capped() {
    let all = messages(&kernel(&"mov 'a';\n".repeat(5000)));
    assert_eq!(all.len(), 101);
    assert_eq!(all[100], "too many errors; reading stopped after 100");
    // Warnings are capped too, but they stop nothing.
    let text = module(&format!(
        ".global .b64 x[] = {{{}1}};",
        "0x1ffffffffffffffff, ".repeat(5000)
    ));
    assert!(is_accepted(&text));
    assert_eq!(messages(&text).len(), 100);
}

#[test]
fn deep_nesting_is_an_error_and_no_crash() {
    let deep = 100_000;
    for (open, close) in [
        ("{", "}"),
        ("mov.b32 %r0, (", ")"),
        ("mov.b32 %r0, {", "}"),
        ("ld.b32 %r0, [a, ", "]"),
        (".global .b32 x = {", "}"),
        ("mov.b32 %r0, -", ""),
        ("mov.b32 %r0, (.s64)", ""),
        ("mov.b32 %r0, 1 ? ", ": 2"),
        ("mov.b32 %r0, 1 ? 2 : ", ""),
        ("mov.b32 %r0, a[", "]"),
        ("call (", ")"),
    ] {
        let inner = open.rsplit(' ').next().unwrap();
        let repeated = if open.contains('?') {
            &open[open.find('1').unwrap()..]
        } else {
            inner
        };
        let text = format!(
            "{open}{}1{}{close};",
            repeated.repeat(deep),
            close.repeat(deep)
        );
        assert!(!is_accepted(&kernel(&text)), "{open}");
        assert!(messages(&kernel(&text)).len() <= 101);
    }
    // What is allowed works, in every recursion at once.
    let (a, b) = ("{".repeat(100), "}".repeat(100));
    assert_round_trip(&kernel(&format!("{a} ret; {b}")), "scopes");
    let (a, b) = ("(".repeat(100), ")".repeat(100));
    assert_round_trip(&kernel(&format!("mov.b32 %r0, {a}1{b};")), "parentheses");
    assert_round_trip(
        &kernel(&format!("mov.b32 %r0, 1{};", "+1".repeat(1000))),
        "operators",
    );
    assert_round_trip(
        &kernel(&format!(
            "mov.b32 %r0, {}1;",
            "(1?2:".repeat(50) + &"3)+".repeat(50)
        )),
        "conditionals",
    );
}

#[test]
fn no_text_crashes_the_parser() {
    // Texts of this many bytes: enough to show what is not linear.
    let size = 1 << 20;
    let texts = [
        "\0".repeat(size),
        "\0a".repeat(size / 2),
        "{".repeat(size),
        "}".repeat(size),
        "\"".repeat(size),
        ";".repeat(size),
        "/*".repeat(size / 2),
        "\n#".repeat(size / 2),
        "@".repeat(size),
        "1".repeat(size),
        "\u{1f600}".repeat(size / 4),
        "a".repeat(size),
        ".".repeat(size),
        ".a".repeat(size / 2),
        ".entry ".repeat(size / 7),
        ".entry k() { ret ".repeat(size / 17),
        format!(".global .b32 a = 1{};", "+1".repeat(size / 2)),
        format!(".global .f64 a = 0.{};", "1".repeat(size)),
        format!(".global .f64 a = {}.0;", "0".repeat(size)),
        kernel(&"'\n".repeat(size / 2)),
        kernel(&"mov {".repeat(size / 5)),
        kernel(&".reg .b32 ".repeat(size / 10)),
    ];
    for text in &texts {
        let source = Arc::new(Source::new("test.ptx", text.as_str()));
        let parsed = parse(&source);
        for diagnostic in &parsed.diagnostics {
            let span = diagnostic.span;
            assert!(
                text.get(span.range()).is_some(),
                "a span splits a character: {diagnostic:?}"
            );
        }
        let diagnostics = parsed.diagnostics.clone();
        print(&parsed.module);
        let shown = Diagnostics::new(source.clone(), diagnostics).to_string();
        assert!(shown.len() < 100_000, "{} bytes of messages", shown.len());
    }
    let labels: String = (0..1_000_000).map(|i| format!("L{i}:")).collect();
    assert!(is_accepted(&kernel(&labels)));
}

#[test]
fn truncated_and_damaged_modules_are_refused_cleanly() {
    let text = include_str!("corpus/hand_syntax/kernel.ptx");
    // A small generator: the same damage every time.
    let mut state = 1u64;
    let mut next = |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % bound
    };
    let pieces = [
        "{", "}", "(", ")", "[", "]", ";", ",", ".", "@", "\"", "'", "/*", "+", "0x", "\0",
        "\u{e9}", ".func", ":", "?",
    ];
    for _ in 0..300 {
        let mut damaged = text[..text.floor_char_boundary(next(text.len()))].to_owned();
        for _ in 0..3 {
            let at = damaged.floor_char_boundary(next(damaged.len() + 1));
            damaged.insert_str(at, pieces[next(pieces.len())]);
        }
        let source = Arc::new(Source::new("test.ptx", damaged));
        let parsed = parse(&source);
        let diagnostics = Diagnostics::new(source.clone(), parsed.diagnostics.clone());
        assert_eq!(
            diagnostics.has_errors(),
            !diagnostics.to_string().is_empty()
        );
        if parsed.is_ok() {
            assert_round_trip(source.text(), "a damaged module");
        }
    }
}
