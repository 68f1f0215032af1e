//! What holds of every text. Each function panics where the library breaks a promise, and returns for any other input.

#![expect(clippy::panic, reason = "fuzzers find bugs by panics")]

use crate::diag::{Diagnostic, Diagnostics, Severity, Source, Span};
use crate::error::Error;
use crate::ir;
use crate::runtime::Module;
use crate::syntax::{self, lexer};
use std::sync::Arc;

/// The text of a file of these bytes. Files that are not UTF-8 are refused before they are read any further.
pub fn of_bytes(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// The lexer comes to an end; its tokens and errors lie in the text, on borders of characters; only blanks and comments
/// lie between tokens; a token by itself is the same token.
///
/// # Panics
/// If one of these does not hold.
pub fn lex(bytes: &[u8]) {
    let Some(text) = of_bytes(bytes) else { return };
    let mut lexer = lexer::Lexer::new(text);
    let mut end = 0;
    loop {
        let token = lexer.next();
        assert_lies_in(text, token.span);
        let start = token.span.start as usize;
        assert!(start >= end, "{token:?} begins before byte {end}");
        let gap = &text[end..start];
        assert!(is_blank(gap), "no token covers {gap:?} before {token:?}");
        end = token.span.end as usize;
        if token.kind == lexer::Kind::End {
            assert_eq!(
                (start, end),
                (text.len(), text.len()),
                "where the text ends"
            );
            assert_eq!(lexer.next().kind, lexer::Kind::End, "behind the end");
            break;
        }
        assert!(start < end, "{token:?} is empty");
        if token.kind != lexer::Kind::Invalid {
            let alone = lexer::Lexer::new(&text[start..end]).next();
            let whole = Span::new(0, (end - start) as u32);
            assert_eq!(
                (alone.kind, alone.span),
                (token.kind, whole),
                "`{}` by itself",
                &text[start..end]
            );
        }
    }
    for error in &lexer.errors {
        assert_sound(text, error);
    }
}

/// Whether only blanks, comments and `#line` stand in a part of a text between tokens. A comment may be unfinished.
fn is_blank(mut gap: &str) -> bool {
    loop {
        gap = gap.trim_start_matches([' ', '\t', '\r', '\n', '\x0b', '\x0c']);
        let (comment, closing) = match gap.as_bytes() {
            [] => return true,
            [b'/', b'*', ..] => (&gap[2..], "*/"),
            [b'/', b'/', ..] | [b'#', b'l', b'i', b'n', b'e', ..] => (gap, "\n"),
            _ => return false,
        };
        gap = comment
            .find(closing)
            .map_or("", |at| &comment[at + closing.len()..]);
    }
}

/// A text is parsed or refused; its diagnostics can be shown, and point into it. What was parsed can be printed, and
/// where nothing was wrong, what was printed parses to the same tree and prints as before.
///
/// # Panics
/// If one of these does not hold.
pub fn parse(bytes: &[u8]) {
    let Some(text) = of_bytes(bytes) else { return };
    let source = Arc::new(Source::new("fuzz.ptx", text));
    let parsed = syntax::parse(&source);
    let printed = syntax::print(&parsed.module);
    let is_ok = parsed.is_ok();
    let tree = is_ok.then(|| tree(&parsed.module));
    assert_showable(&Diagnostics::new(source.clone(), parsed.diagnostics));
    if let Some(tree) = tree {
        let again = Arc::new(Source::new("printed.ptx", printed));
        let parsed = syntax::parse(&again);
        assert!(
            parsed.is_ok(),
            "what was printed is refused:\n{}",
            Diagnostics::new(again.clone(), parsed.diagnostics)
        );
        let printed = again.text();
        assert!(
            tree == self::tree(&parsed.module),
            "another tree:\n{printed}"
        );
        let twice = syntax::print(&parsed.module);
        assert!(
            printed == twice,
            "printed once:\n{printed}\ntwice:\n{twice}"
        );
    }
}

/// A tree as text, without its spans.
fn tree(module: &syntax::ast::Module<'_>) -> String {
    // A span shows as `12..34`.
    let debug = format!("{module:?}");
    let mut out = String::with_capacity(debug.len());
    let mut rest = debug.as_str();
    while let Some(dots) = rest.find("..") {
        let digit = |c: char| c.is_ascii_digit();
        out.push_str(rest[..dots].trim_end_matches(digit));
        out.push_str("..");
        rest = rest[dots + 2..].trim_start_matches(digit);
    }
    out + rest
}

/// A text is accepted or refused as wrong, never by a bug of ours. What is said of it can be shown, and points into it.
/// What was accepted keeps the rules of the IR and can be dumped. Gives it.
///
/// # Panics
/// If one of these does not hold.
pub fn check(bytes: &[u8]) -> Option<Module> {
    let text = of_bytes(bytes)?;
    match Module::parse_named("fuzz.ptx", text) {
        Ok(module) => {
            assert!(!module.warnings().has_errors(), "accepted with errors");
            assert_showable(module.warnings());
            if let Err(violation) = ir::verify::verify(module.ir()) {
                panic!("{violation}");
            }
            let dump = module.ir().to_string();
            assert!(dump.starts_with("module "), "{dump}");
            for function in module.functions() {
                let lines = text.bytes().filter(|&b| b == b'\n').count() as u32 + 1;
                assert!((1..=lines).contains(&function.line()), "its line");
            }
            Some(module)
        }
        Err(Error::Diagnostics(diagnostics)) => {
            assert!(diagnostics.has_errors(), "refused without an error");
            assert_showable(&diagnostics);
            None
        }
        Err(other) => panic!("{other}"),
    }
}

fn assert_showable(diagnostics: &Diagnostics) {
    let text = diagnostics.source().text();
    for diagnostic in diagnostics {
        assert_sound(text, diagnostic);
    }
    let plain = diagnostics.render(false);
    // Each begins a line of its own, whatever the text holds.
    let shown = plain
        .lines()
        .filter(|line| line.starts_with("error: ") || line.starts_with("warning: "))
        .count();
    assert_eq!(shown, diagnostics.len(), "{plain}");
    let harmful = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert!(!plain.contains(harmful), "{plain:?}");
    diagnostics.render(true);
}

fn assert_sound(text: &str, diagnostic: &Diagnostic) {
    assert_lies_in(text, diagnostic.span);
    for (span, _) in &diagnostic.related {
        assert_lies_in(text, *span);
    }
    let message = &diagnostic.message;
    assert!(!message.is_empty(), "an error without words");
    assert!(!message.contains('\n'), "several lines: {message}");
    if diagnostic.severity == Severity::Error {
        // It is read by people: a word of the text is cut before it gets as long as this.
        assert!(message.chars().count() < 1000, "very long: {message}");
    }
}

fn assert_lies_in(text: &str, span: Span) {
    let range = span.range();
    assert!(
        text.get(range.clone()).is_some(),
        "{range:?} is no part of a text of {} bytes",
        text.len()
    );
}
