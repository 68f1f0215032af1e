//! Which forms are syntax. What ptxas 13.5 says is the measure: it names syntax errors as such.

use super::{assert_round_trip, is_accepted, kernel, module, tree};
use ptxlift::diag::Source;
use ptxlift::syntax::ast::{Expr, Item, Operand, Statement, UnaryOp};
use ptxlift::syntax::parse;

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
