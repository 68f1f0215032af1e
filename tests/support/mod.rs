//! Runs test files through the crate's own machinery, each file a named test.

use libtest_mimic::{Arguments, Trial};
use ptxlift::Reading;
use ptxlift::testing::discover::{FileKind, discover};
use ptxlift::testing::suite;
use std::path::Path;
use std::process::ExitCode;

/// What is known and not built yet: nothing else may be a reason to skip a case.
const LATER: &[&str] = &["textures", "tensor cores", "asynchronous copies"];

/// Makes a test of each file with cases below `tests/FOLDER`, in both engines, native code at each of `widths`; of tables of results
/// one for each of `readings`.
pub fn run(folder: &str, readings: &'static [Reading], widths: &'static [u32]) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let files = match discover(&[root.join(folder)]) {
        Ok(files) => files,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut trials = Vec::new();
    for file in files {
        let readings = match file.kind {
            FileKind::Vectors => readings,
            FileKind::Statements
            | FileKind::Versions
            | FileKind::Modules
            | FileKind::LaunchToml
            | FileKind::Ptx => &[Reading::Text],
        };
        let name = file.path.strip_prefix(&root).unwrap_or(&file.path);
        let name = name.display().to_string();
        for &reading in readings {
            let name = match reading {
                Reading::Text => name.clone(),
                other => format!("{name}, {other}"),
            };
            let file = file.clone();
            trials.push(Trial::test(name, move || {
                Ok(suite::expect(&file, reading, widths, LATER)?)
            }));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
