//! Text to syntax tree and back: every module in `tests/`, errors as they are shown, hostile text.

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

#[test]
fn every_module_parses_prints_and_parses_to_the_same_tree() {
    let modules = modules();
    assert!(modules.len() > 100, "only {} modules found", modules.len());
    for path in modules {
        let text = std::fs::read_to_string(&path).unwrap();
        let first = tree(&text);
        let printed = print(&parse(&Source::new("test.ptx", text)).module);
        assert!(
            first == tree(&printed),
            "{}: the printed module differs:\n{printed}",
            path.display()
        );
    }
}
