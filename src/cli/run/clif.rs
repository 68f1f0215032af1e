//! `--unsafe-clif`: native code from edited Cranelift IR against the interpreter.

use super::super::error::Failure;
use super::super::input::{self, Input};
use super::super::out::{Out, counted};
use super::job::Job;
use crate::error::{Error, Usage};
use crate::runtime::{Cancel, Engine, EngineKind, Module};
use crate::testing::exec::{self, Outcome, Prepared};
use crate::testing::launch::ArgValue;
use std::path::Path;

/// How many differences of a buffer are shown.
const SHOWN: usize = 8;

/// Launches a kernel in the interpreter and in native code that was made of the file, and compares.
pub(super) fn run(
    file: &Path,
    job: &Job,
    module: &Module,
    engine: &Engine,
    cancel: &Cancel,
    out: &mut Out,
) -> Result<(), Failure> {
    let Input { name, text } = input::read(file)?;
    // SAFETY: the option is called unsafe: who gives it vouches for the file.
    let program = unsafe { engine.compile_with_clif(module, &text) };
    let program = program.map_err(|error| match error {
        Error::Usage(usage) => match *usage {
            Usage::Clif {
                line: Some(line),
                problem,
            } => Failure::Input(format!("{name}:{line}: {problem}")),
            Usage::Clif {
                line: None,
                problem,
            } => Failure::Input(format!("{name}: {problem}")),
            _ => Failure::Library(Error::Usage(usage)),
        },
        error => Failure::Library(error),
    })?;
    let prepared = Prepared::of_program(&program, &job.spec)?.cancel(cancel);
    let expected = prepared.run(EngineKind::Interpreter)?;
    let got = prepared.run(EngineKind::Native)?;
    if exec::difference(&expected, &got).is_none() {
        out.text(format_args!(
            "{name}: kernel {}: native code does what the interpreter does\n",
            job.spec.kernel
        ));
        return Ok(());
    }
    out.text(format_args!(
        "{name}: kernel {}: native code differs from the interpreter\n",
        job.spec.kernel
    ));
    show(job, &expected, &got, out);
    Err(Failure::Said(1))
}

/// Every buffer that differs, with its first elements that do.
fn show(job: &Job, expected: &Outcome, got: &Outcome, out: &mut Out) {
    if let (Err(_), _) | (_, Err(_)) = (&expected.end, &got.end) {
        if let Some(difference) = exec::difference(expected, got) {
            out.text(format_args!("  {difference}\n"));
        }
        return;
    }
    let buffers = job.spec.args.iter().filter_map(|arg| match &arg.value {
        ArgValue::Buffer { ty, .. } => Some((&arg.name, *ty)),
        ArgValue::Bytes(_) => None,
    });
    let pairs = expected.buffers.iter().zip(&got.buffers);
    for ((name, ty), (expected, got)) in buffers.zip(pairs) {
        let size = ty.bytes();
        let elements = expected.chunks_exact(size).zip(got.chunks_exact(size));
        let differing: Vec<_> = elements.enumerate().filter(|(_, (a, b))| a != b).collect();
        for (index, (expected, got)) in differing.iter().take(SHOWN) {
            out.text(format_args!(
                "  {name}[{index}]: expected {}, got {}\n",
                ty.show(expected),
                ty.show(got)
            ));
        }
        if differing.len() > SHOWN {
            let more = (differing.len() - SHOWN) as u64;
            out.text(format_args!(
                "  {name}: {} more differ\n",
                counted(more, "element")
            ));
        }
    }
    for ((name, expected), (_, got)) in expected.globals.iter().zip(&got.globals) {
        let bytes = expected.iter().zip(got).enumerate();
        for (index, (expected, got)) in bytes.filter(|(_, (a, b))| a != b).take(SHOWN) {
            out.text(format_args!(
                "  variable {name}, byte {index}: expected {expected:02x}, got {got:02x}\n"
            ));
        }
    }
}
