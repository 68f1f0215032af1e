//! Every kernel and function of the corpus and of other test files as machine code for other machines: compiled, not run.

use libtest_mimic::{Arguments, Trial};
use ptxlift::Module;
use ptxlift::testing::targets::compile_for;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Machines unlike each other and unlike x86-64: byte orders, vectors, how lanes are numbered.
const TARGETS: [&str; 3] = ["aarch64", "riscv64", "s390x"];

/// Further ones: another calling convention; the machine that the other tests run on, with its features named.
const MORE: [&str; 2] = ["aarch64-apple-darwin", "x86_64-unknown-linux-gnu"];

/// Files, which of the further machines they are compiled for, and whether they may be refused, or have what is not compiled
/// on any machine.
const FOLDERS: [(&str, &[&str], bool); 4] = [
    ("cases", &MORE, true),
    ("corpus", &MORE, false),
    ("filetests", &[], true),
    ("kernels", &MORE, false),
];

const WIDTHS: [u32; 2] = [1, 8];

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut trials = Vec::new();
    for (folder, more, lenient) in FOLDERS {
        let mut files = Vec::new();
        if let Err(error) = find(&root.join(folder), &mut files) {
            eprintln!("{folder}: {error}");
            return ExitCode::FAILURE;
        }
        files.sort();
        for path in files {
            let name = path
                .strip_prefix(&root)
                .unwrap_or(&path)
                .display()
                .to_string();
            for &target in TARGETS.iter().chain(more) {
                let path = path.clone();
                let compiles = move || Ok(compiles(&path, target, lenient)?);
                trials.push(Trial::test(format!("{name}, {target}"), compiles));
            }
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// PTX files below a folder.
fn find(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "ptx") {
            files.push(path);
        }
    }
    Ok(())
}

fn compiles(path: &Path, target: &str, lenient: bool) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let module = match Module::parse(&text) {
        Ok(module) => module,
        Err(_) if lenient => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    for width in WIDTHS {
        let absent =
            compile_for(&module, target, width).map_err(|e| format!("width {width}: {e}"))?;
        if !absent.is_empty() && !lenient {
            return Err(format!("not compiled: {}", absent.join(", ")));
        }
    }
    Ok(())
}
