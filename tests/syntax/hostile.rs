//! Texts that mean harm: deep, long, damaged.

use super::{Random, assert_round_trip, is_accepted, kernel, messages};
use ptxlift::diag::{Diagnostics, Source};
use ptxlift::syntax::{parse, print};
use std::sync::Arc;

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
    let text = include_str!("../corpus/hand_syntax/kernel.ptx");
    let mut random = Random(1);
    let pieces = [
        "{", "}", "(", ")", "[", "]", ";", ",", ".", "@", "\"", "'", "/*", "+", "0x", "\0",
        "\u{e9}", ".func", ":", "?",
    ];
    for _ in 0..300 {
        let mut damaged = text[..text.floor_char_boundary(random.below(text.len()))].to_owned();
        for _ in 0..3 {
            let at = damaged.floor_char_boundary(random.below(damaged.len() + 1));
            damaged.insert_str(at, pieces[random.below(pieces.len())]);
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
