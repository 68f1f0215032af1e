//! `ptxlift run`

mod args;
mod job;
mod settings;
mod show;
mod trace;

pub(super) use args::Args;
use job::Job;
use show::say_verdict;

use super::error::Failure;
use super::out::{Out, counted};
use crate::error::Error;
use crate::interp::Step;
use crate::runtime::{EngineKind, Module};
use crate::testing::exec::{self, Outcome, Prepared};
use crate::testing::launch::{ArgValue, LaunchSpec};
use crate::testing::report::engine_name;

pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    args.refuse_what_comes_later()?;
    let job = if args.file.extension().is_some_and(|e| e == "toml") {
        args.described_job()?
    } else {
        args.given_job()?
    };
    for index in args.print.iter().chain(args.out.iter().map(|(i, _)| i)) {
        if !matches!(
            job.spec.args.get(*index).map(|a| &a.value),
            Some(ArgValue::Buffer { .. })
        ) {
            return Err(Failure::Usage(format!(
                "parameter {index} is not a buffer; the kernel is given {}, counted from 0",
                counted(job.spec.args.len() as u64, "argument")
            )));
        }
    }
    let engine = args.engine()?;
    let mut wrong = false;
    for (name, text) in &job.modules {
        let module = Module::parse_named(name, text)?;
        if job.description.is_none() {
            args.check_arguments(&module, &job.spec)?;
        }
        let prepared = match Prepared::new(&module, &job.spec, &engine) {
            // What a description says wrongly is the file's fault, not the command line's.
            Err(error @ Error::Usage(_)) if job.description.is_some() => {
                return Err(Failure::Input(format!("{}: {error}", args.file.display())));
            }
            prepared => prepared?,
        };
        wrong |= !args.launch(&job, name, &prepared, out)?;
    }
    if wrong {
        return Err(Failure::Said(1));
    }
    Ok(())
}

impl Args {
    /// Launches in each engine; `false` if something is not as expected.
    fn launch(
        &self,
        job: &Job,
        module: &str,
        prepared: &Prepared,
        out: &mut Out,
    ) -> Result<bool, Failure> {
        let LaunchSpec {
            kernel,
            grid,
            block,
            ..
        } = &job.spec;
        let show = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
        out.text(format_args!(
            "{module}: kernel {kernel}, grid {}, block {}\n",
            show(*grid),
            show(*block)
        ));
        let mut good = true;
        let mut first: Option<Outcome> = None;
        for engine in self.engine.kinds() {
            let left = self.repeat(prepared, engine, out)?;
            match &job.description {
                Some(description) => good &= say_verdict(description, &left, engine, out),
                None => {
                    if let Err(fault) = left.end {
                        return Err(Failure::Library(Error::Fault(fault)));
                    }
                }
            }
            if let Some(first) = &first
                && let Some(difference) = exec::difference(first, &left)
            {
                return Err(Failure::bug(format!(
                    "the engines differ (or the threads race): {difference}"
                )));
            }
            first.get_or_insert(left);
        }
        if let Some(left) = first {
            self.show_buffers(job, &left, out)?;
        }
        Ok(good)
    }

    fn repeat(
        &self,
        prepared: &Prepared,
        engine: EngineKind,
        out: &mut Out,
    ) -> Result<Outcome, Failure> {
        let mut left = match engine {
            EngineKind::Interpreter if self.trace.trace => {
                let module = prepared.module().clone();
                prepared.run_traced(&mut |step: &Step<'_>| {
                    self.trace.show(module.ir(), step, out);
                })?
            }
            EngineKind::Interpreter | EngineKind::Native => prepared.run(engine)?,
        };
        let mut times = Vec::new();
        for turn in 1..=self.repeat.get() {
            if turn > 1 {
                left = prepared.run(engine)?;
            }
            match &left.end {
                Ok(report) => times.push(report.run_time),
                Err(_) => return Ok(left),
            }
        }
        if let Ok(report) = &left.end {
            let compiled = match engine {
                EngineKind::Native => format!("compiled in {:.3?}, ", report.compile_time),
                EngineKind::Interpreter => String::new(),
            };
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
                engine_name(engine),
                counted(report.threads, "thread"),
                counted(report.blocks, "block")
            ));
        }
        Ok(left)
    }
}
