//! Runs a program in the engines and compares everything that they leave behind.

use super::program::{Program, Text};
use super::variant::Variant;
use crate::error::{Error, Internal};
use crate::interp::Step;
use crate::ir::Reading;
use crate::machine::{Fault, FaultKind};
use crate::runtime::{Engine, EngineConfig, EngineKind, Module, ModuleConfig};
use crate::testing::exec::{Outcome as Left, Prepared, difference};
use std::time::Duration;

/// Most instructions of a thread; programs are made to stay far below.
const STEPS: u64 = 4_000_000;

/// How programs are run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether the interpreter runs programs. It counts what is executed.
    pub interpreter: bool,
    /// Whether native code does.
    pub native: bool,
    /// How long a launch may take.
    pub time_limit: Duration,
    /// By how many schedules of seeds each launch is run besides the canonical one; if nothing is said, some programs are by
    /// one or two.
    pub seeds: Option<u32>,
    /// How instructions are read; if nothing is said, by the text in some programs, as NVIDIA's tools do in others.
    pub reading: Option<Reading>,
    /// Settings of Cranelift's, by name and value, for all variants of native code.
    pub settings: Vec<(String, String)>,
    /// Changes what native code left before it is compared: for tests that a difference is seen.
    pub tamper: Option<fn(&Program, &mut Left)>,
}

impl Default for Options {
    /// Both engines, two minutes: what programs do takes milliseconds, but other work may keep the machine busy.
    fn default() -> Self {
        Options {
            interpreter: true,
            native: true,
            time_limit: Duration::from_secs(120),
            seeds: None,
            reading: None,
            settings: Vec::new(),
            tamper: None,
        }
    }
}

/// What came of a program.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// All engines left the same.
    Agree,
    /// They did not.
    Differ(Difference),
    /// The checker refused it, although it is meant to be legal: its errors.
    Refused(String),
    /// A bug of ours that was caught: a panic, a broken promise between stages.
    Bug(String),
    /// It ran out of time, although it is meant to be short.
    TimeLimit,
}

/// Where and how two engines differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Index of the launch.
    pub launch: usize,
    /// The native code.
    pub variant: Variant,
    /// What differs, for people to read.
    pub what: String,
    /// What differs, to tell whether another difference is of the same sort.
    pub sort: Sort,
}

/// Sorts of differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// One ends in a fault, the other does not, or both in different ones: the kinds, of the interpreter first.
    Faults(Option<FaultKind>, Option<FaultKind>),
    /// The same fault of another thread, at another place or address.
    Place(FaultKind),
    /// What memory holds.
    Memory,
    /// What is left by the schedule of a seed and by the canonical one, of a program for which that is to be the same.
    Schedule,
}

/// What came of a program, and what it executed.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What came of it.
    pub verdict: Verdict,
    /// How often the interpreter executed instructions of each row, where it did; guards that were off do not count.
    pub executed: Vec<(usize, u64)>,
    /// Steps of the interpreter.
    pub steps: u64,
    /// Launches.
    pub launches: u64,
    /// Those launches once more, by the schedules of seeds.
    pub shuffled: u64,
    /// Of those that ended well, the ones that native code left to the interpreter.
    pub left: u64,
    /// The faults of launches in which all engines agree.
    pub faults: Vec<FaultKind>,
}

/// Runs programs: the engines, made once.
#[derive(Debug)]
pub struct Oracle {
    options: Options,
    engines: Vec<(Variant, Engine)>,
}

impl Oracle {
    /// With all variants of native code.
    pub fn new(options: Options) -> Self {
        // One thread: blocks follow each other, so that of several faults both engines meet the same one.
        let base = EngineConfig::default()
            .threads(1)
            .steps(STEPS)
            .time_limit(Some(options.time_limit));
        let settings = options.settings.iter();
        let base = settings.fold(base, |base, (key, value)| base.setting(key, value));
        let engine = |variant: Variant| (variant, Engine::new(variant.config(base.clone())));
        Oracle {
            engines: Variant::ALL.into_iter().map(engine).collect(),
            options,
        }
    }

    /// The same with no more time for a launch than this.
    pub(super) fn within(&self, time: Duration) -> Self {
        let time_limit = time.min(self.options.time_limit);
        Oracle::new(Options {
            time_limit,
            ..self.options.clone()
        })
    }

    /// Runs a program.
    pub fn run(&self, program: &Program) -> Outcome {
        let text = program.write();
        let mut outcome = Outcome {
            verdict: Verdict::Agree,
            executed: Vec::new(),
            steps: 0,
            launches: 0,
            shuffled: 0,
            left: 0,
            faults: Vec::new(),
        };
        let ran = Internal::catch("running a random program", || {
            self.run_text(program, &text, &mut outcome)
        });
        match ran {
            Ok(Ok(verdict)) => outcome.verdict = verdict,
            Ok(Err(error)) => outcome.verdict = verdict_of(&error),
            Err(bug) => outcome.verdict = Verdict::Bug(bug.to_string()),
        }
        outcome
    }

    fn run_text(
        &self,
        program: &Program,
        text: &Text,
        outcome: &mut Outcome,
    ) -> Result<Verdict, Error> {
        let module = self.module(program, &text.text)?;
        let mut counts = Counts::new(text);
        let mut verdict = Verdict::Agree;
        for (number, &variant) in program.variants.iter().enumerate() {
            let compiled = self.engine(variant).compile(&module)?;
            for (launch, spec) in program.launches.iter().enumerate() {
                let prepared = Prepared::of_program(&compiled, spec)?;
                outcome.launches += u64::from(number == 0);
                let interpreted = if !self.options.interpreter {
                    None
                } else if number == 0 {
                    Some(prepared.run_traced(&mut |step: &Step<'_>| counts.step(step))?)
                } else {
                    Some(prepared.run(EngineKind::Interpreter)?)
                };
                let wrong = interpreted.as_ref().is_none_or(|left| left.end.is_err());
                let unsafe_here = variant == Variant::Unchecked && wrong;
                let native = if self.options.native && !unsafe_here {
                    let mut left = prepared.run(EngineKind::Native)?;
                    if let Some(tamper) = self.options.tamper {
                        tamper(program, &mut left);
                    }
                    Some(left)
                } else {
                    None
                };
                if number == 0
                    && let Some(Ok(report)) = native.as_ref().map(|left| &left.end)
                {
                    outcome.left += u64::from(report.engine == EngineKind::Interpreter);
                }
                for left in [&interpreted, &native].into_iter().flatten() {
                    if matches!(&left.end, Err(fault) if fault.kind == FaultKind::TimeLimit) {
                        verdict = Verdict::TimeLimit;
                    }
                }
                if let (Some(a), Some(b)) = (&interpreted, &native)
                    && let Some((sort, what)) = compare(a, b)
                {
                    verdict = Verdict::Differ(Difference {
                        launch,
                        variant,
                        what,
                        sort,
                    });
                }
                if number == 0 && verdict == Verdict::Agree {
                    let left = [&interpreted, &native];
                    verdict = self.shuffle(program, launch, &prepared, left, outcome)?;
                }
                if number == 0
                    && let Some(Err(fault)) = interpreted.or(native).map(|left| left.end)
                {
                    outcome.faults.push(fault.kind);
                }
                if verdict != Verdict::Agree {
                    break;
                }
            }
            if verdict != Verdict::Agree {
                break;
            }
        }
        (outcome.executed, outcome.steps) = counts.finish();
        Ok(verdict)
    }

    /// Runs a launch, which has `left` this under the canonical schedule, by those of some seeds. Engines must agree by each of
    /// them, where threads may have to be left: otherwise native code runs them in the order of their index, whatever the
    /// seed.
    fn shuffle(
        &self,
        program: &Program,
        launch: usize,
        prepared: &Prepared,
        left: [&Option<Left>; 2],
        outcome: &mut Outcome,
    ) -> Result<Verdict, Error> {
        let agrees = prepared.kernel_suspends();
        if !agrees && !program.fixed {
            return Ok(Verdict::Agree);
        }
        let variant = program.variants.first().copied().unwrap_or(Variant::Speed);
        let count = self.options.seeds.unwrap_or(program.schedules as u32);
        for seed in 1..=u64::from(count) {
            // Launches of one program have seeds of their own.
            let seed = seed << 8 | launch as u64;
            let prepared = prepared.clone().seed(Some(seed));
            outcome.shuffled += 1;
            let run = |kind, wanted: bool| wanted.then(|| prepared.run(kind)).transpose();
            let interpreted = run(EngineKind::Interpreter, self.options.interpreter)?;
            let native = run(EngineKind::Native, self.options.native && left[1].is_some())?;
            let differ = |sort, what: String| {
                Verdict::Differ(Difference {
                    launch,
                    variant,
                    what: format!("by the schedule of seed {seed}: {what}"),
                    sort,
                })
            };
            let late =
                |left: &Left| matches!(&left.end, Err(fault) if fault.kind == FaultKind::TimeLimit);
            if [&interpreted, &native].into_iter().flatten().any(late) {
                return Ok(Verdict::TimeLimit);
            }
            if let (Some(a), Some(b)) = (&interpreted, &native)
                && agrees
                && let Some((sort, what)) = compare(a, b)
            {
                return Ok(differ(sort, what));
            }
            if !program.fixed {
                continue;
            }
            for (shuffled, canonical) in [&interpreted, &native].into_iter().zip(left) {
                if let (Some(shuffled), Some(canonical)) = (shuffled, canonical)
                    && let Some(what) = moved(canonical, shuffled)
                {
                    return Ok(differ(Sort::Schedule, what));
                }
            }
        }
        Ok(Verdict::Agree)
    }

    /// How the instructions of a program are read.
    pub(super) fn reading(&self, program: &Program) -> Reading {
        self.options.reading.unwrap_or(program.reading)
    }

    fn module(&self, program: &Program, text: impl Into<String>) -> Result<Module, Error> {
        let config = ModuleConfig::default().reading(self.reading(program));
        Module::parse_with(text, config)
    }

    fn engine(&self, variant: Variant) -> &Engine {
        let found = self.engines.iter().find(|(v, _)| *v == variant);
        &found.unwrap_or(&self.engines[0]).1
    }

    /// What the interpreter leaves after a launch of a program.
    ///
    /// # Errors
    /// What keeps it from running.
    pub(super) fn reference(&self, program: &Program, launch: usize) -> Result<Left, Error> {
        let module = self.module(program, program.text())?;
        let engine = Engine::new(
            self.engine(Variant::Speed)
                .config()
                .clone()
                .kind(EngineKind::Interpreter),
        );
        let spec = program
            .launches
            .get(launch)
            .ok_or_else(|| Error::from(Internal::new("a launch that the program does not have")))?;
        Prepared::new(&module, spec, &engine)?.run(EngineKind::Interpreter)
    }
}

fn verdict_of(error: &Error) -> Verdict {
    match error {
        Error::Diagnostics(_) | Error::Unsupported(_) | Error::Usage(_) => {
            Verdict::Refused(error.to_string())
        }
        // Faults are outcomes, not errors.
        Error::Fault(_) | Error::Internal(_) => Verdict::Bug(error.to_string()),
    }
}

/// How the ends of a launch differ: more closely than [`difference`], since the memory is the same.
fn compare(a: &Left, b: &Left) -> Option<(Sort, String)> {
    let kind = |left: &Left| left.end.as_ref().err().map(|fault| fault.kind);
    // Of a meeting also who waits where.
    let who = |fault: &Fault| {
        let meets = matches!(fault.kind, FaultKind::Deadlock | FaultKind::DivergedBarrier);
        let detail = meets.then(|| fault.detail.clone());
        (fault.span, fault.block, fault.thread, fault.address, detail)
    };
    if kind(a) != kind(b) {
        let what = difference(a, b).unwrap_or_else(|| "the faults differ".to_string());
        return Some((Sort::Faults(kind(a), kind(b)), what));
    }
    match (&a.end, &b.end) {
        (Err(a), Err(b)) if a.kind != FaultKind::TimeLimit && who(a) != who(b) => {
            let what = format!("the interpreter ends with {a}, native code with {b}");
            Some((Sort::Place(a.kind), what))
        }
        _ => difference(a, b).map(|what| (Sort::Memory, what)),
    }
}

/// How what a schedule left differs from what the canonical one left. Which of several threads is the first to go wrong may
/// differ, not whether one does.
fn moved(canonical: &Left, shuffled: &Left) -> Option<String> {
    let end = |left: &Left| match &left.end {
        Ok(_) => "no fault".to_string(),
        Err(fault) => fault.to_string(),
    };
    match (&canonical.end, &shuffled.end) {
        (Ok(_), Ok(_)) => {
            let what = difference(canonical, shuffled)?;
            let what = what.replace("in the interpreter", "by the canonical schedule");
            Some(what.replace("in native code", "by that one"))
        }
        (Err(_), Err(_)) => None,
        (_, _) => Some(format!(
            "it ends with {}, by the canonical schedule with {}",
            end(shuffled),
            end(canonical)
        )),
    }
}

/// Counts executions of rows.
struct Counts<'t> {
    text: &'t Text,
    /// For each byte of the text, the instruction that it belongs to, plus one.
    at: Vec<u32>,
    executed: Vec<u64>,
    /// The instruction whose steps are being seen, where it stands, and whether its guard let all of them through.
    current: Option<(usize, bool)>,
    steps: u64,
}

impl<'t> Counts<'t> {
    fn new(text: &'t Text) -> Self {
        let mut at = vec![0; text.text.len() + 1];
        for (index, (start, end, _)) in text.rows.iter().enumerate() {
            at[*start..*end].fill(index as u32 + 1);
        }
        Counts {
            text,
            at,
            executed: vec![0; text.rows.len()],
            current: None,
            steps: 0,
        }
    }

    /// An instruction of the text is several steps at times, of which those that prepare operands have no guard.
    fn step(&mut self, step: &Step<'_>) {
        self.steps += 1;
        let here = match self.at.get(step.span.start as usize) {
            Some(0) | None => None,
            Some(index) => Some(*index as usize - 1),
        };
        match (&mut self.current, here) {
            (Some((index, all)), Some(here)) if *index == here => *all &= step.executed,
            (_, here) => {
                self.flush();
                self.current = here.map(|index| (index, step.executed));
            }
        }
    }

    fn flush(&mut self) {
        if let Some((index, true)) = self.current.take() {
            self.executed[index] += 1;
        }
    }

    /// How often each row was executed, where it was; and the number of steps.
    fn finish(mut self) -> (Vec<(usize, u64)>, u64) {
        self.flush();
        let mut rows: Vec<(usize, u64)> = Vec::new();
        for ((.., row), times) in self.text.rows.iter().zip(self.executed) {
            if times == 0 {
                continue;
            }
            match rows.iter_mut().find(|(r, _)| r == row) {
                Some((_, sum)) => *sum += times,
                None => rows.push((*row, times)),
            }
        }
        (rows, self.steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzzing::program::{Function, Item, Statement};
    use crate::testing::launch::LaunchSpec;

    /// Each thread of 64 notes at its place how many came before it.
    fn tickets(fixed: bool) -> Program {
        let body = "
            .reg .b32 %r<3>;
            .reg .b64 %rd<2>;
            bar.sync 0;
            mov.u32 %r0, %tid.x;
            atom.global.add.u32 %r1, [count], 1;
            mov.u64 %rd0, order;
            mad.wide.u32 %rd0, %r0, 4, %rd0;
            st.global.u32 [%rd0], %r1;
            ret;";
        Program {
            header: ".version 8.0\n.target sm_80\n.address_size 64\n".to_string(),
            items: vec![
                Item::Declaration(".global .u32 count;".to_string()),
                Item::Declaration(".global .u32 order[64];".to_string()),
                Item::Function(Function {
                    name: "k".to_string(),
                    kernel: true,
                    returns: Vec::new(),
                    params: Vec::new(),
                    body: vec![Statement::Plain(body.to_string())],
                }),
            ],
            launches: vec![LaunchSpec {
                kernel: "k".to_string(),
                grid: [1; 3],
                block: [64, 1, 1],
                cluster: None,
                workers: None,
                dynamic_shared: 0,
                args: Vec::new(),
            }],
            variants: vec![Variant::Speed],
            schedules: 1,
            reading: Reading::Text,
            fixed,
        }
    }

    /// Who draws which ticket depends on the schedule, by which the engines agree: wrong only where that must not be seen.
    #[test]
    fn results_that_depend_on_the_schedule_are_seen_where_they_must_not() {
        let oracle = Oracle::new(Options {
            seeds: Some(3),
            ..Options::default()
        });
        let outcome = oracle.run(&tickets(false));
        assert_eq!(outcome.verdict, Verdict::Agree);
        assert_eq!(outcome.shuffled, 3);
        let verdict = oracle.run(&tickets(true)).verdict;
        let Verdict::Differ(difference) = verdict else {
            panic!("{verdict:?}");
        };
        assert_eq!(difference.sort, Sort::Schedule);
        assert!(
            difference.what.contains("variable order"),
            "{}",
            difference.what
        );
    }
}
