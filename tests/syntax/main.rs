//! Text to syntax tree and back: every module in `tests/`, which forms are syntax, errors as they are shown, hostile text.

mod errors;
mod expressions;
mod forms;
mod hostile;

use ptxlift::diag::{Diagnostics, Source};
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
    let mut checked = 0;
    for path in modules() {
        let text = std::fs::read_to_string(&path).unwrap();
        // Some modules are there for their mistakes.
        if text.contains("// error:") || text.contains("//@ expect-error") && !is_accepted(&text) {
            continue;
        }
        assert_round_trip(&text, &path.display().to_string());
        checked += 1;
    }
    assert!(checked > 100, "only {checked} modules found");
}

/// A kernel around statements.
fn kernel(statements: &str) -> String {
    format!(".version 9.0\n.target sm_90\n.address_size 64\n.entry k() {{\n{statements}\n}}\n")
}

/// A module around declarations.
fn module(items: &str) -> String {
    format!(".version 9.0\n.target sm_90\n.address_size 64\n{items}\n")
}

/// A small generator of numbers, the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }
}
