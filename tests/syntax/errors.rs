//! Errors as they are shown, and what is read after one.

use super::{is_accepted, kernel, messages, module, shown};
use ptxlift::diag::Source;
use ptxlift::syntax::ast::Item;
use ptxlift::syntax::parse;

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
