//! What the assembler says of whole modules.

use ptxlift::{Error, Module};
use std::fs;
use std::path::{Path, PathBuf};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What becomes of a module.
enum Verdict {
    Accepted,
    /// Accepted, with instructions that are not built.
    Lacking,
    Refused(String),
}

fn check(text: &str) -> Verdict {
    match Module::parse(text) {
        Ok(module) if module.functions().all(|f| f.unsupported().next().is_none()) => {
            Verdict::Accepted
        }
        Ok(_) => Verdict::Lacking,
        Err(error @ Error::Diagnostics(_)) => Verdict::Refused(error.to_string()),
        Err(other) => panic!("{text}\n{other}"),
    }
}

/// Compares the rows of a table with what becomes of them; at least `least` must be judged.
fn compare(table: &str, least: usize) {
    let mut wrong = Vec::new();
    let mut judged = 0;
    for (index, row) in read(table).lines().enumerate() {
        if row.starts_with('#') {
            continue;
        }
        let columns: Vec<&str> = row.split('\t').collect();
        let [module, verdict, why] = columns[..] else {
            panic!("line {}: {row}", index + 1);
        };
        judged += 1;
        let text = module.replace("\\n", "\n");
        match (check(&text), verdict) {
            (Verdict::Accepted, "accept") | (Verdict::Refused(_), "reject") => {}
            (Verdict::Lacking, _) => judged -= 1,
            (Verdict::Accepted, _) => {
                wrong.push(format!("line {}: accepted, but {why}: {module}", index + 1));
            }
            (Verdict::Refused(said), _) => {
                wrong.push(format!("line {}: {module}\n{said}", index + 1));
            }
        }
    }
    assert!(judged >= least, "only {judged} rows");
    assert!(
        wrong.is_empty(),
        "{} rows:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn modules_of_the_acceptance_table() {
    compare("tests/vectors/accepts_module.tsv", 490);
}

#[test]
fn modules_that_the_assembler_was_asked_about() {
    compare("tests/check/modules.tsv", 900);
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
        match (check(&text), expected) {
            (Verdict::Accepted | Verdict::Lacking, None) => {}
            (Verdict::Refused(said), Some(part)) if said.contains(part.trim()) => {}
            (Verdict::Refused(said), _) => wrong.push(format!("{}: {said}", path.display())),
            (_, Some(part)) => wrong.push(format!("{}: no error of {part}", path.display())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
