//! What `ptxlift run` says about buffers and outcomes.

use super::super::error::Failure;
use super::super::out::{Out, warn};
use super::Args;
use super::Job;
use crate::runtime::EngineKind;
use crate::testing::cases::judge_description;
use crate::testing::contents::ElemTy;
use crate::testing::exec::Outcome;
use crate::testing::launch::ArgValue;
use crate::testing::launch_toml::LaunchFile;
use crate::testing::report::{self, engine_name};
use std::io::Write as _;

impl Args {
    /// What was asked for, and the first elements of the outputs that a description names.
    pub(super) fn show_buffers(
        &self,
        job: &Job,
        left: &Outcome,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let spec = &job.spec;
        let contents = |index: usize| {
            let arg = spec.args.get(index)?;
            let ArgValue::Buffer { ty, .. } = &arg.value else {
                return None;
            };
            let before = spec.args[..index].iter();
            let position = before
                .filter(|a| matches!(a.value, ArgValue::Buffer { .. }))
                .count();
            Some((arg, *ty, left.buffers.get(position)?))
        };
        let outputs = job.description.iter().flat_map(|d| &d.outputs);
        for output in outputs.filter(|o| !self.print.contains(&o.arg)) {
            if let Some((arg, ty, bytes)) = contents(output.arg) {
                print_beginning(&arg.name, ty, bytes, out);
            }
        }
        for &index in &self.print {
            if let Some((arg, ty, bytes)) = contents(index) {
                print_buffer(&arg.name, ty, bytes, out);
            }
        }
        for (index, file) in &self.out {
            if let Some((_, _, bytes)) = contents(*index) {
                std::fs::write(file, bytes)
                    .map_err(|e| Failure::Input(format!("{}: {e}", file.display())))?;
            }
        }
        Ok(())
    }
}

/// Says whether a launch did what its description expects; gives it.
pub(super) fn say_verdict(
    description: &LaunchFile,
    left: &Outcome,
    engine: EngineKind,
    out: &mut Out,
) -> bool {
    let engine = engine_name(engine);
    match judge_description(description, left) {
        report::Outcome::Failed { expected, got } => {
            let _ = out.flush();
            warn(
                &mut Out::stderr(),
                "error",
                &format!("{engine}: expected {expected}; got {got}"),
            );
            false
        }
        report::Outcome::Passed | report::Outcome::Skipped { .. } => {
            match &left.end {
                Err(fault) => out.text(format_args!("{engine}: a fault, as expected: {fault}\n")),
                Ok(_) if description.outputs.is_empty() => {}
                Ok(_) => out.text(format_args!("{engine}: the outputs are as expected\n")),
            }
            true
        }
    }
}

/// A buffer's first elements.
fn print_beginning(name: &str, ty: ElemTy, bytes: &[u8], out: &mut Out) {
    const SHOWN: usize = 4;
    let size = ty.bytes();
    let count = bytes.len() / size;
    out.text(format_args!("{name}: {ty}[{count}]:"));
    for element in bytes.chunks_exact(size).take(SHOWN) {
        out.text(format_args!(" {}", ty.show(element)));
    }
    out.text(format_args!(
        "{}\n",
        if count > SHOWN { " ..." } else { "" }
    ));
}

/// A buffer's elements, eight on a line.
fn print_buffer(name: &str, ty: ElemTy, bytes: &[u8], out: &mut Out) {
    const ON_A_LINE: usize = 8;
    let size = ty.bytes();
    out.text(format_args!("{name}: {ty}[{}]\n", bytes.len() / size));
    for (line, chunk) in bytes.chunks(ON_A_LINE * size).enumerate() {
        out.text(format_args!("{:>6}:", line * ON_A_LINE));
        for element in chunk.chunks_exact(size) {
            out.text(format_args!(" {}", ty.show(element)));
        }
        out.text(format_args!("\n"));
    }
}
