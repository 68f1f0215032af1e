//! Every file below `tests/filetests` is a test of that name. What a file says decides what is tested:
//!
//! * `//@ entry` and `// run:` lines: launches and calls, in both engines.
//!   Instructions are read by the text of the PTX ISA, or as `//@ reading nvidia` says, a line for the whole file.
//! * `// error: TEXT`, `// warning: TEXT`, `// unsupported: TEXT` at the end of a line: exactly these are said about the
//!   file, each about its line; TEXT is in the words or in what they underline.
//! * A file of the same name that ends in `.ast`, `.ir`, `.plan` or `.clif` instead of `.ptx`: what `ptxlift dump` shows
//!   of the stage. `PTXLIFT_BLESS=1` rewrites it.

use libtest_mimic::{Arguments, Failed, Trial};
use ptxlift::diag::{Diagnostics, Severity};
use ptxlift::testing::discover::discover;
use ptxlift::testing::suite;
use ptxlift::{Error, Module, Reading};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let trials = files
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap_or(&path);
            let name = name.with_extension("").display().to_string();
            Trial::test(name, move || test(&path))
        })
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            files.push(path);
        }
    }
}

fn test(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let mut tests = 0;
    let remarks = expected_remarks(&text);
    if !remarks.is_empty() {
        tests += 1;
        check_remarks(path, &text, remarks)?;
    }
    for stage in ["ast", "ir", "plan", "clif"] {
        let dump = path.with_extension(stage);
        if dump.exists() {
            tests += 1;
            check_dump(path, stage, &dump)?;
        }
    }
    if let Ok(files) = discover(&[path.to_path_buf()]) {
        tests += 1;
        for file in &files {
            suite::expect(file, Reading::Text, &[1, 4, 8, 16, 32], &[])?;
        }
    }
    if tests == 0 {
        return Err("the file says nothing that could be tested".into());
    }
    Ok(())
}

/// Something that is said about a line: the line, what kind of remark, words.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Remark {
    line: u32,
    kind: &'static str,
    text: String,
}

const KINDS: [&str; 3] = ["error", "warning", "unsupported"];

fn expected_remarks(text: &str) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for kind in KINDS {
            if let Some((_, words)) = line.split_once(&format!("// {kind}:")) {
                remarks.push(Remark {
                    line: index as u32 + 1,
                    kind,
                    text: words.trim().to_string(),
                });
            }
        }
    }
    remarks
}

fn check_remarks(path: &Path, text: &str, expected: Vec<Remark>) -> Result<(), Failed> {
    let said = match Module::parse_named(path.display().to_string(), text) {
        Ok(module) => {
            let mut said = remarks_of(module.warnings());
            for function in module.functions() {
                said.extend(function.unsupported().map(|u| Remark {
                    line: u.at.map_or(0, |(_, position)| position.line),
                    kind: "unsupported",
                    text: format!("{} ({})", u.what, u.family),
                }));
            }
            said
        }
        Err(Error::Diagnostics(diagnostics)) => remarks_of(&diagnostics),
        Err(error) => return Err(error.to_string().into()),
    };
    let mut left = said;
    let mut missing = Vec::new();
    for remark in expected {
        let found = left.iter().position(|r| {
            r.line == remark.line && r.kind == remark.kind && r.text.contains(&remark.text)
        });
        match found {
            Some(index) => drop(left.remove(index)),
            None => missing.push(remark),
        }
    }
    if missing.is_empty() && left.is_empty() {
        return Ok(());
    }
    Err(format!("not said: {missing:#?}\nsaid instead: {left:#?}").into())
}

fn remarks_of(diagnostics: &Diagnostics) -> Vec<Remark> {
    diagnostics
        .iter()
        .map(|d| Remark {
            line: diagnostics.source().line(d.span.start),
            kind: match d.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            text: [
                diagnostics.source().slice(d.span),
                &d.message,
                &d.label,
                d.hint.as_deref().unwrap_or_default(),
            ]
            .join("; "),
        })
        .collect()
}

fn check_dump(path: &Path, stage: &str, dump: &Path) -> Result<(), Failed> {
    let output = Command::new(env!("CARGO_BIN_EXE_ptxlift"))
        .args(["dump", "--stage", stage])
        .arg(path)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let got = String::from_utf8(output.stdout)?;
    if std::env::var_os("PTXLIFT_BLESS").is_some() {
        fs::write(dump, got)?;
        return Ok(());
    }
    let expected = fs::read_to_string(dump)?;
    if got == expected {
        return Ok(());
    }
    let line = 1 + got
        .lines()
        .zip(expected.lines())
        .take_while(|(a, b)| a == b)
        .count();
    Err(format!(
        "{} differs from line {line} on; PTXLIFT_BLESS=1 rewrites it. Now it is:\n{got}",
        dump.display()
    )
    .into())
}
