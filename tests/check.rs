//! Whole modules, and what the assembler says of them.

use ptxlift::{Error, Module};
use std::fs;
use std::path::{Path, PathBuf};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Why a module is refused.
fn refusal(text: &str) -> Option<String> {
    match Module::parse(text) {
        Ok(_) => None,
        Err(error @ Error::Diagnostics(_)) => Some(error.to_string()),
        Err(other) => panic!("{text}\n{other}"),
    }
}

#[test]
fn modules_of_the_acceptance_table() {
    let table = read("tests/vectors/accepts_module.tsv");
    let mut wrong = Vec::new();
    let mut rows = 0;
    for (index, row) in table.lines().enumerate() {
        if row.starts_with('#') {
            continue;
        }
        let columns: Vec<&str> = row.split('\t').collect();
        let [module, verdict, why] = columns[..] else {
            panic!("line {}: {row}", index + 1);
        };
        rows += 1;
        let text = module.replace("\\n", "\n");
        match (refusal(&text), verdict) {
            (None, "accept") | (Some(_), "reject") => {}
            (None, _) => wrong.push(format!("line {}: accepted, but {why}: {module}", index + 1)),
            (Some(said), _) => wrong.push(format!("line {}: {module}\n{said}", index + 1)),
        }
    }
    assert_eq!(rows, 506);
    assert!(
        wrong.is_empty(),
        "{} rows:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn modules(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            modules(&path, found);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            found.push(path);
        }
    }
}

#[test]
fn modules_of_compilers_and_people() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut found = Vec::new();
    for folder in ["cases", "corpus", "kernels"] {
        modules(&tests.join(folder), &mut found);
    }
    assert!(found.len() > 100, "{} modules", found.len());
    let mut wrong = Vec::new();
    for path in found {
        let text = fs::read_to_string(&path).expect("a text");
        let expected = text
            .lines()
            .find_map(|line| line.strip_prefix("//@ expect-error "));
        match (refusal(&text), expected) {
            (None, None) => {}
            (Some(said), Some(part)) if said.contains(part.trim()) => {}
            (said, _) => wrong.push(format!("{}: {}", path.display(), said.unwrap_or_default())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
