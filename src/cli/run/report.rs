//! What `ptxlift run` says about a launch, in words or as an object.

use super::super::error::Failure;
use super::super::json::{self, FaultReport};
use super::super::out::{Out, Style, counted, warn};
use super::stats::Stats;
use super::{Args, Job};
use crate::runtime::EngineKind;
use crate::testing::cases::judge_description;
use crate::testing::contents::ElemTy;
use crate::testing::exec::Outcome;
use crate::testing::launch::ArgValue;
use crate::testing::launch_toml::LaunchFile;
use crate::testing::report::{self, engine_name};
use serde::Serialize;
use std::borrow::Cow;
use std::io::Write as _;
use std::time::Duration;

/// A launch, or several of the same kind, in one engine.
#[derive(Serialize)]
pub(super) struct LaunchReport<'a> {
    file: &'a str,
    kernel: &'a str,
    grid: [u32; 3],
    block: [u32; 3],
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<[u32; 3]>,
    engine: &'static str,
    /// `done` or `fault`.
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<FaultReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    /// Of native code.
    #[serde(skip_serializing_if = "Option::is_none")]
    compile_seconds: Option<f64>,
    run_seconds: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocks: Option<u64>,
    buffers: Vec<Buffer>,
    /// What the kernel printed.
    #[serde(skip_serializing_if = "str::is_empty")]
    printed: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<&'a Stats>,
}

/// Whether a launch did what its description expects.
#[derive(Serialize)]
struct Verdict {
    passed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    got: Option<String>,
}

/// A buffer that was asked for.
#[derive(Serialize)]
struct Buffer {
    parameter: usize,
    name: String,
    #[serde(rename = "type")]
    ty: String,
    elements: Vec<serde_json::Value>,
}

/// What came of the launches in one engine.
pub(super) struct Ran {
    pub(super) engine: EngineKind,
    /// The last launch.
    pub(super) left: Outcome,
    /// The time that each took.
    pub(super) times: Vec<Duration>,
    pub(super) stats: Option<Stats>,
}

impl<'a> LaunchReport<'a> {
    fn new(job: &'a Job, file: &'a str, print: &[usize], ran: &'a Ran) -> Self {
        let end = &ran.left.end;
        let report = end.as_ref().ok();
        let verdict = job.description.as_ref().map(|description| {
            let (passed, expected, got) = match judge_description(description, &ran.left) {
                report::Outcome::Failed { expected, got } => (false, Some(expected), Some(got)),
                report::Outcome::Passed | report::Outcome::Skipped { .. } => (true, None, None),
            };
            Verdict {
                passed,
                expected,
                got,
            }
        });
        let buffers = print.iter().filter_map(|&index| {
            let (name, ty, bytes) = job.buffer(&ran.left, index)?;
            Some(Buffer {
                parameter: index,
                name: name.to_string(),
                ty: ty.to_string(),
                elements: bytes
                    .chunks_exact(ty.bytes())
                    .map(|e| number(ty, e))
                    .collect(),
            })
        });
        LaunchReport {
            file,
            kernel: &job.spec.kernel,
            grid: job.spec.grid,
            block: job.spec.block,
            cluster: job.spec.cluster,
            engine: engine_name(ran.engine),
            outcome: if end.is_ok() { "done" } else { "fault" },
            fault: end.as_ref().err().map(|fault| FaultReport::new(fault)),
            verdict,
            compile_seconds: report
                .filter(|_| ran.engine == EngineKind::Native)
                .map(|r| r.compile_time.as_secs_f64()),
            run_seconds: ran.times.iter().map(Duration::as_secs_f64).collect(),
            threads: report.map(|r| r.threads),
            blocks: report.map(|r| r.blocks),
            buffers: buffers.collect(),
            printed: String::from_utf8_lossy(&ran.left.printed),
            stats: ran.stats.as_ref(),
        }
    }
}

/// An element: floats that JSON has no number for are strings.
fn number(ty: ElemTy, element: &[u8]) -> serde_json::Value {
    let text = ty.show(element);
    match serde_json::from_str(&text) {
        Ok(number @ serde_json::Value::Number(_)) => number,
        _ => serde_json::Value::String(text),
    }
}

impl Ran {
    /// How long compiling and running took, in one line.
    pub(super) fn show(&self, out: &mut Out) {
        let Ok(report) = &self.left.end else {
            return;
        };
        let compiled = match self.engine {
            EngineKind::Native => format!("compiled in {:.3?}, ", report.compile_time),
            EngineKind::Interpreter => String::new(),
        };
        let mut times = self.times.clone();
        times.sort();
        let ran = match times[..] {
            [one] => format!("ran in {one:.3?}"),
            _ => format!(
                "ran {} times: least {:.3?}, median {:.3?}",
                times.len(),
                times[0],
                times[times.len() / 2]
            ),
        };
        out.text(format_args!(
            "{}: {compiled}{ran} ({} in {})\n",
            engine_name(self.engine),
            counted(report.threads, "thread"),
            counted(report.blocks, "block")
        ));
        if let Some(stats) = &self.stats {
            stats.show(out);
        }
    }
}

impl Job {
    /// The name and element type of buffer parameter `index`, and what it holds.
    fn buffer<'a>(
        &'a self,
        left: &'a Outcome,
        index: usize,
    ) -> Option<(&'a str, ElemTy, &'a [u8])> {
        let args = &self.spec.args;
        let arg = args.get(index)?;
        let ArgValue::Buffer { ty, .. } = &arg.value else {
            return None;
        };
        let before = args[..index].iter();
        let position = before
            .filter(|a| matches!(a.value, ArgValue::Buffer { .. }))
            .count();
        Some((&arg.name, *ty, left.buffers.get(position)?))
    }
}

impl Args {
    /// Says what is launched.
    pub(super) fn announce(&self, job: &Job, module: &str, out: &mut Out) {
        if self.json {
            return;
        }
        let show = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
        let cluster = job
            .spec
            .cluster
            .map(|extent| format!(", cluster {}", show(extent)));
        out.text(format_args!(
            "{module}: kernel {}, grid {}, block {}{}\n",
            job.spec.kernel,
            show(job.spec.grid),
            show(job.spec.block),
            cluster.unwrap_or_default()
        ));
        // It stands there while the launch runs.
        let _ = out.flush();
    }

    /// Says what came of the launches in one engine; gives whether it is as expected.
    pub(super) fn tell(
        &self,
        job: &Job,
        module: &str,
        ran: &Ran,
        out: &mut Out,
    ) -> Result<bool, Failure> {
        if !self.json {
            ran.show(out);
        }
        let good = match &job.description {
            Some(description) => say_verdict(description, ran, self.json, out),
            None => true,
        };
        if self.json {
            let report = LaunchReport::new(job, module, &self.print, ran);
            json::write(out, "launch", &report)?;
        }
        Ok(good)
    }

    /// What was asked for, and the first elements of the outputs that a description names.
    pub(super) fn show_buffers(
        &self,
        job: &Job,
        left: &Outcome,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let outputs = job.description.iter().flat_map(|d| &d.outputs);
        for output in outputs.filter(|o| !self.json && !self.print.contains(&o.arg)) {
            if let Some((name, ty, bytes)) = job.buffer(left, output.arg) {
                print_beginning(name, ty, bytes, out);
            }
        }
        for &index in self.print.iter().filter(|_| !self.json) {
            if let Some((name, ty, bytes)) = job.buffer(left, index) {
                print_buffer(name, ty, bytes, out);
            }
        }
        for (index, file) in &self.out {
            if let Some((.., bytes)) = job.buffer(left, *index) {
                std::fs::write(file, bytes)
                    .map_err(|e| Failure::Input(format!("{}: {e}", file.display())))?;
            }
        }
        Ok(())
    }
}

/// Says whether a launch did what its description expects; gives it.
fn say_verdict(description: &LaunchFile, ran: &Ran, quiet: bool, out: &mut Out) -> bool {
    let engine = engine_name(ran.engine);
    match judge_description(description, &ran.left) {
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
            let good = out.paint(Style::Good, "as expected");
            match &ran.left.end {
                _ if quiet => {}
                Err(fault) => out.text(format_args!("{engine}: a fault, {good}: {fault}\n")),
                Ok(_) if description.outputs.is_empty() => {}
                Ok(_) => out.text(format_args!("{engine}: the outputs are {good}\n")),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_numbers_where_json_has_them() {
        let show = |ty, bytes: &[u8]| number(ty, bytes).to_string();
        assert_eq!(show(ElemTy::U64, &[0xff; 8]), "18446744073709551615");
        assert_eq!(show(ElemTy::I8, &[0xff]), "-1");
        assert_eq!(show(ElemTy::F32, &0.1f32.to_le_bytes()), "0.1");
        assert!(show(ElemTy::F32, &f32::NAN.to_le_bytes()).starts_with("\"NaN"));
        assert!(show(ElemTy::F32, &f32::INFINITY.to_le_bytes()).starts_with("\"inf"));
    }
}
