//! The file tests once more in native code without checks of memory: what the checks do not change must not change
//! without them.

use libtest_mimic::{Arguments, Failed, Trial};
use ptxlift::testing::discover::{FileKind, TestFile, discover};
use ptxlift::testing::exec::{self, Prepared, PreparedCall};
use ptxlift::testing::launch_lines::{self, Expect};
use ptxlift::testing::run_lines::{self, RunLine};
use ptxlift::{Engine, EngineConfig, EngineKind, Module, Program};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let files = discover(&[root.join("run"), root.join("launch")]).expect("test files");
    let trials = files
        .into_iter()
        .filter(|file| file.kind == FileKind::Ptx)
        .map(|file| {
            let name = file.path.strip_prefix(&root).unwrap_or(&file.path);
            let name = name.with_extension("").display().to_string();
            Trial::test(name, move || test(&file))
        })
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn test(file: &TestFile) -> Result<(), Failed> {
    // SAFETY: kernels and functions that are expected to fault are not run; the others stay within their memory, which
    // the file tests see to with all checks in place.
    let config = unsafe { EngineConfig::default().unchecked() };
    let module = Module::parse_named(&file.name, &*file.text)?;
    let program = Engine::new(config).compile(&module)?;
    for case in launch_lines::parse(&file.text).map_err(|e| e.to_string())? {
        if let Expect::Memory { .. } = case.expect {
            let prepared = Prepared::of_program(&program, &case.spec)?;
            let outcomes = (
                prepared.run(EngineKind::Interpreter)?,
                prepared.run(EngineKind::Native)?,
            );
            agree(case.line, exec::difference(&outcomes.0, &outcomes.1))?;
        }
    }
    for line in run_lines::parse(&file.text) {
        call(&program, &line.map_err(|e| e.to_string())?)?;
    }
    Ok(())
}

fn call(program: &Program, line: &RunLine) -> Result<(), Failed> {
    let prepared = PreparedCall::of_program(program, &line.function)?;
    let sizes = prepared.parameter_sizes();
    let args = line.args.iter().zip(sizes).map(|(a, n)| a.to_bytes(n));
    let args = args
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| e.to_string())?;
    let outcomes = (
        prepared.run(&args, EngineKind::Interpreter)?,
        prepared.run(&args, EngineKind::Native)?,
    );
    agree(line.line, exec::call_difference(&outcomes.0, &outcomes.1))
}

fn agree(line: u32, difference: Option<String>) -> Result<(), Failed> {
    difference.map_or(Ok(()), |text| Err(format!("line {line}: {text}").into()))
}
