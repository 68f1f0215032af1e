//! `ptxlift run`

mod args;
mod clif;
mod example;
pub(super) mod job;
mod report;
mod stats;
mod trace;

pub(super) use args::{Args, LaunchArgs};
use job::Job;
use report::Ran;
use stats::{Counter, Stats};

use super::error::Failure;
use super::interrupt;
use super::out::{Out, counted};
use super::progress::Progress;
use crate::diag::Source;
use crate::error::Error;
use crate::interp::Step;
use crate::runtime::{Cancel, EngineKind};
use crate::testing::exec::{self, Outcome, Prepared};
use crate::testing::launch::ArgValue;
use crate::testing::report::engine_name;
use std::time::Duration;

pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    args.check()?;
    let job = args.launch.job(&args.file)?;
    let engine = args.engine();
    let cancel = interrupt::cancel()?;
    let mut wrong = false;
    for input in &job.modules {
        let module = args.launch.reading.module(&*input.name, &*input.text)?;
        if job.description.is_none() {
            args.launch
                .check_arguments(&args.file, &module, &job.spec)?;
        }
        args.check_buffers(&job)?;
        if let Some(file) = &args.unsafe_clif {
            return clif::run(file, &job, &module, &engine, &cancel, out);
        }
        // What a description says wrongly is the file's fault, not the command line's.
        let whose = |failure| match failure {
            Failure::Library(error @ Error::Usage(_)) if job.description.is_some() => {
                Failure::Input(format!("{}: {error}", args.file.display()))
            }
            other => other,
        };
        let prepared = Prepared::new(&module, &job.spec, &engine)
            .map_err(|error| whose(error.into()))?
            .cancel(&cancel)
            .seed(args.seed);
        wrong |= !args
            .launch(&job, &input.name, &prepared, &cancel, out)
            .map_err(whose)?;
    }
    if wrong {
        return Err(Failure::Said(1));
    }
    Ok(())
}

/// What a step of the interpreter is to somebody who reads the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// An instruction.
    Done,
    /// An instruction that its guard switched off.
    Skipped,
    /// Nothing that is written: a block goes on into the next one.
    Nothing,
}

impl Seen {
    fn of(source: &Source, step: &Step<'_>) -> Self {
        let behind = source.text().get(step.span.end as usize..);
        let is_label = || behind.is_some_and(|text| text.trim_start().starts_with(':'));
        if step.span.start == step.span.end || is_label() {
            return Seen::Nothing;
        }
        match step.to {
            // A guard before `ret` and the like makes a branch around it, and one to it where it lets through.
            Some(to) if !matches!(mnemonic(source.slice(step.span)), "bra" | "brx") => {
                if to == step.span {
                    Seen::Nothing
                } else {
                    Seen::Skipped
                }
            }
            _ if step.executed => Seen::Done,
            _ => Seen::Skipped,
        }
    }
}

/// `bfe` of `@%p bfe.u32 %r1, %r2, 4, 8;`
fn mnemonic(instruction: &str) -> &str {
    let mut words = instruction.split_whitespace();
    let first = words.next().unwrap_or_default();
    let word = if first.starts_with('@') {
        words.find(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()))
    } else {
        Some(first)
    };
    let word = word.unwrap_or_default();
    let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    &word[..end.unwrap_or(word.len())]
}

impl Args {
    /// Whether the parameters whose contents are wanted are buffers.
    fn check_buffers(&self, job: &Job) -> Result<(), Failure> {
        let args = &job.spec.args;
        let is_buffer = |index: usize| {
            matches!(
                args.get(index).map(|a| &a.value),
                Some(ArgValue::Buffer { .. })
            )
        };
        let wanted = self.print.iter().chain(self.out.iter().map(|(i, _)| i));
        match wanted.copied().find(|&index| !is_buffer(index)) {
            None => Ok(()),
            Some(index) => {
                let buffers: Vec<String> = (0..args.len())
                    .filter(|&i| is_buffer(i))
                    .map(|i| i.to_string())
                    .collect();
                let buffers = match &buffers[..] {
                    [] => "none of them is a buffer".to_string(),
                    [one] => format!("number {one} is a buffer"),
                    _ => format!("numbers {} are buffers", buffers.join(", ")),
                };
                Err(Failure::Usage(format!(
                    "parameter {index} is not a buffer; the kernel is given {}, counted from 0, and {buffers}",
                    counted(args.len() as u64, "argument")
                )))
            }
        }
    }

    /// Launches in each engine; `false` if something is not as expected.
    fn launch(
        &self,
        job: &Job,
        module: &str,
        prepared: &Prepared,
        cancel: &Cancel,
        out: &mut Out,
    ) -> Result<bool, Failure> {
        self.announce(job, module, out);
        let mut good = true;
        let mut first: Option<Outcome> = None;
        for engine in self.engines().kinds() {
            let ran = self.repeat(prepared, &job.spec.kernel, engine, out)?;
            if first.is_none() && !self.json {
                out.text(format_args!(
                    "{}",
                    String::from_utf8_lossy(&ran.left.printed)
                ));
            }
            // Without a description nothing is said of how it should end: a fault is told once, when all engines have run.
            let told = match &ran.left.end {
                Err(fault) if cancel.is_cancelled() => {
                    return Err(Failure::Interrupted(fault.clone()));
                }
                Err(_) => job.description.is_some(),
                Ok(_) => true,
            };
            if told {
                good &= self.tell(job, module, &ran, out)?;
            }
            if let Some(first) = &first
                && let Some(difference) = exec::difference(first, &ran.left)
            {
                return Err(Failure::bug(format!(
                    "the engines differ (or the threads race): {difference}"
                )));
            }
            first.get_or_insert(ran.left);
        }
        if let Some(left) = first {
            match left.end {
                Err(fault) if job.description.is_none() => {
                    return Err(Failure::Library(Error::Fault(fault)));
                }
                Err(_) | Ok(_) => self.show_buffers(job, &left, out)?,
            }
        }
        Ok(good)
    }

    /// Launches as often as it should be, until a launch faults.
    fn repeat(
        &self,
        prepared: &Prepared,
        kernel: &str,
        engine: EngineKind,
        out: &mut Out,
    ) -> Result<Ran, Failure> {
        let mut left = match engine {
            EngineKind::Interpreter if self.trace.trace => self.traced(prepared, out)?,
            EngineKind::Interpreter | EngineKind::Native => {
                let _progress = self.progress(kernel, engine, 1);
                interrupt::cancellable(|| prepared.run(engine))?
            }
        };
        let mut times = Vec::new();
        let progress = self.progress(kernel, engine, self.repeat.get().into());
        for turn in 1..=self.repeat.get() {
            if turn > 1 {
                left = interrupt::cancellable(|| prepared.run(engine))?;
            }
            progress.at(turn.into());
            match &left.end {
                Ok(report) => times.push(report.run_time),
                Err(_) => break,
            }
        }
        drop(progress);
        let stats = match &left.end {
            Ok(report) if self.stats => {
                let executed = match engine {
                    EngineKind::Interpreter => self.count(prepared)?,
                    EngineKind::Native => None,
                };
                let fastest = times.iter().min().copied().unwrap_or(Duration::ZERO);
                Stats::new(prepared.program(), kernel, report, fastest, executed)
            }
            Ok(_) | Err(_) => None,
        };
        Ok(Ran {
            engine,
            left,
            times,
            stats,
        })
    }

    fn progress(&self, kernel: &str, engine: EngineKind, total: u64) -> Progress {
        if self.json {
            return Progress::NONE;
        }
        Progress::new(&format!("{kernel}, {}", engine_name(engine)), total)
    }

    /// A launch whose instructions are shown.
    fn traced(&self, prepared: &Prepared, out: &mut Out) -> Result<Outcome, Failure> {
        let module = prepared.program().module().clone();
        let cancel = interrupt::cancel()?;
        let mut shown = Ok(());
        let outcome = interrupt::cancellable(|| {
            prepared.run_traced(&mut |step: &Step<'_>| {
                if shown.is_ok() {
                    shown = self.trace.show(module.ir(), step, self.json, out);
                }
                if out.is_lost() {
                    cancel.cancel();
                }
            })
        })?;
        shown?;
        match out.is_lost() {
            // Nobody is left to be told more.
            true => Err(Failure::Said(0)),
            false => Ok(outcome),
        }
    }

    /// A launch whose instructions are counted; `None` if it does not end well this time.
    fn count(&self, prepared: &Prepared) -> Result<Option<Counter>, Failure> {
        let source = prepared.program().module().source().clone();
        let mut counter = Counter::default();
        let outcome = interrupt::cancellable(|| {
            prepared.run_traced(&mut |step: &Step<'_>| counter.count(&source, step))
        })?;
        Ok(outcome.end.is_ok().then_some(counter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mnemonics_stand_behind_guards() {
        for (text, name) in [
            ("add.u32 %r1, %r2, %r3;", "add"),
            ("@%p bra L", "bra"),
            ("@!%p ret;", "ret"),
            ("@ !%p ld.global.u32 %r1, [%rd1];", "ld"),
            ("vset4.u32.u32.eq a, b, c, d", "vset4"),
            ("ret;", "ret"),
        ] {
            assert_eq!(mnemonic(text), name, "{text}");
        }
    }
}
