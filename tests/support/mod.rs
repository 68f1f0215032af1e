//! Runs test files through the crate's own machinery, each file a named test.

use libtest_mimic::{Arguments, Trial};
use ptxlift::testing::discover::discover;
use ptxlift::testing::suite;
use std::path::Path;
use std::process::ExitCode;

/// What is known and not built yet: nothing else may be a reason to skip a case.
const LATER: &[&str] = &[
    "floating point",
    "textures",
    "tensor cores",
    "asynchronous copies",
    "clusters",
    "multimem",
    "stack manipulation",
    "memory",
];

/// Makes a test of each file with cases below `tests/FOLDER`, in both engines.
pub fn run(folder: &str) -> ExitCode {
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
            Trial::test(name, move || Ok(suite::expect(&file, LATER)?))
        })
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
