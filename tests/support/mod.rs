//! Runs test files through the crate's own machinery, each file a named test.

use libtest_mimic::{Arguments, Failed, Trial};
use ptxlift::testing::discover::{TestFile, discover};
use ptxlift::testing::report::{CaseResult, Outcome};
use ptxlift::testing::suite::{self, Options};
use std::path::Path;
use std::process::ExitCode;

/// Everything that is known and not built yet.
pub const LATER: &[&str] = &[
    "floating point",
    "barriers",
    "atomics",
    "warp operations",
    "system calls",
];

/// Makes a test of each file with cases below `tests/FOLDER`. Cases may be skipped for `needs` only.
pub fn run(folder: &str, needs: &'static [&'static str]) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let files = match discover(&[root.join(folder)]) {
        Ok(files) => files,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let trials = files
        .into_iter()
        .map(|file| {
            let name = file.path.strip_prefix(&root).unwrap_or(&file.path);
            let name = name.display().to_string();
            Trial::test(name, move || check(&file, needs))
        })
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Runs the cases of a file in both engines.
pub fn check(file: &TestFile, needs: &[&str]) -> Result<(), Failed> {
    let options = Options {
        jobs: 1,
        ..Options::default()
    };
    let report = suite::run(std::slice::from_ref(file), &options);
    if report.cases.is_empty() {
        return Err("no cases".into());
    }
    let bad: Vec<String> = report
        .cases
        .iter()
        .filter(|case| is_bad(case, needs))
        .map(CaseResult::to_string)
        .collect();
    if bad.is_empty() {
        return Ok(());
    }
    const SHOWN: usize = 20;
    let mut message = bad[..bad.len().min(SHOWN)].join("\n");
    if bad.len() > SHOWN {
        message.push_str(&format!("\nand {} more", bad.len() - SHOWN));
    }
    Err(message.into())
}

fn is_bad(case: &CaseResult, needs: &[&str]) -> bool {
    match &case.outcome {
        Outcome::Passed => false,
        Outcome::Failed { .. } => true,
        Outcome::Skipped { needs: lacking } => {
            lacking.iter().any(|need| !needs.contains(&need.as_str()))
        }
    }
}
