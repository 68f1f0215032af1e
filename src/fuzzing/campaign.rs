//! Many programs: by consecutive seeds, on several threads, counted by row.

use super::oracle::{Options, Oracle, Verdict};
use super::program::Program;
use super::rows::{is_past, rows};
use super::shrink;
use super::{Generated, case};
use crate::machine::FaultKind;
use crate::runtime::Cancel;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// After so many programs that failed the rest would tell little more.
const MOST_FAILURES: usize = 20;

/// More threads than any machine has use for.
const MOST_JOBS: usize = 1024;

/// What to run.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// The seed of the first program; the others have the next ones.
    pub seed: u64,
    /// Most programs.
    pub programs: Option<u64>,
    /// Programs begin until this has passed.
    pub time: Option<Duration>,
    /// Threads, as far as there are any to be had.
    pub jobs: usize,
    /// Ends it early, with what it has come to.
    pub cancel: Cancel,
    /// How each is run.
    pub options: Options,
    /// Whether programs that fail are made small.
    pub shrink: bool,
}

/// Counts of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCount {
    /// Instructions in the programs.
    pub generated: u64,
    /// Executions of them by the interpreter.
    pub executed: u64,
}

/// A program that failed.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Its seed.
    pub seed: u64,
    /// What came of it.
    pub verdict: Verdict,
    /// The program, small if it was shrunk, as a launch case.
    pub case: String,
}

/// What a campaign has come to.
#[derive(Debug, Clone)]
pub struct Totals {
    /// Programs that ran.
    pub programs: u64,
    /// Launches of their kernels.
    pub launches: u64,
    /// Launches by the schedules of seeds.
    pub shuffled: u64,
    /// Of those, the ones of [fixed](Program::is_fixed) programs.
    pub fixed: u64,
    /// Of those that ended well, the ones that native code left to the interpreter.
    pub left: u64,
    /// Steps of the interpreter.
    pub steps: u64,
    /// By kind, as the tests' formats call it, launches that ended in this fault in all engines.
    pub faults: BTreeMap<String, u64>,
    /// Combinations of words or operands that a row's own rule refused while programs were made.
    pub combinations_refused: u64,
    /// Programs that ran out of time.
    pub time_limits: u64,
    /// Rows that do not fit their build functions.
    pub broken: Vec<String>,
    /// By row.
    pub rows: Vec<RowCount>,
    /// Programs that failed.
    pub failures: Vec<Failure>,
    /// Time since it began.
    pub elapsed: Duration,
}

impl Totals {
    fn new() -> Self {
        Totals {
            programs: 0,
            launches: 0,
            shuffled: 0,
            fixed: 0,
            left: 0,
            steps: 0,
            faults: BTreeMap::new(),
            combinations_refused: 0,
            time_limits: 0,
            broken: Vec::new(),
            rows: vec![RowCount::default(); rows().len()],
            failures: Vec::new(),
            elapsed: Duration::ZERO,
        }
    }

    /// Indices of the rows of which no instruction was executed, but for those that are only in older modules than are generated.
    pub fn never_run(&self) -> Vec<usize> {
        let never = |row: &usize| self.rows[*row].executed == 0 && !is_past(rows()[*row]);
        (0..self.rows.len()).filter(never).collect()
    }

    /// The fewest executions of a row, of the same.
    pub fn fewest(&self) -> u64 {
        (self.rows.iter().zip(rows()))
            .filter(|(_, form)| !is_past(form))
            .map(|(row, _)| row.executed)
            .min()
            .unwrap_or(0)
    }
}

/// Runs programs until one of the limits is reached or too many failed. `progress` is told now and then, by whatever
/// thread has something to tell.
pub fn run(campaign: &Campaign, progress: &(dyn Fn(&Totals) + Sync)) -> Totals {
    let begin = Instant::now();
    let next = AtomicU64::new(0);
    let enough = AtomicBool::new(false);
    let totals = Mutex::new(Totals::new());
    let worker = || {
        let oracle = Oracle::new(campaign.options.clone());
        while !enough.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let late = campaign.time.is_some_and(|time| begin.elapsed() >= time)
                || campaign.cancel.is_cancelled();
            if late || campaign.programs.is_some_and(|most| number >= most) {
                break;
            }
            let seed = campaign.seed.wrapping_add(number);
            let one = One::run(campaign, &oracle, seed);
            let Ok(mut totals) = totals.lock() else {
                break;
            };
            one.add_to(&mut totals);
            totals.elapsed = begin.elapsed();
            if totals.failures.len() >= MOST_FAILURES {
                enough.store(true, Ordering::Relaxed);
            }
            progress(&totals);
        }
    };
    std::thread::scope(|scope| {
        let programs = campaign.programs.unwrap_or(u64::MAX);
        let jobs = programs.min(campaign.jobs.min(MOST_JOBS) as u64);
        for _ in 1..jobs {
            if std::thread::Builder::new()
                .spawn_scoped(scope, worker)
                .is_err()
            {
                break;
            }
        }
        worker();
    });
    let mut totals = totals
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    totals.failures.sort_by_key(|failure| failure.seed);
    totals.elapsed = begin.elapsed();
    totals
}

/// One program of a campaign.
struct One {
    generated: Generated,
    outcome: super::Outcome,
    failure: Option<Failure>,
}

impl One {
    fn run(campaign: &Campaign, oracle: &Oracle, seed: u64) -> One {
        let generated = Generated::from_seed(seed);
        let outcome = oracle.run(&generated.program);
        let failure = (outcome.verdict != Verdict::Agree).then(|| {
            let (program, verdict) = if campaign.shrink {
                shrink::shrink_failure(oracle, &generated.program, &outcome.verdict)
            } else {
                (generated.program.clone(), outcome.verdict.clone())
            };
            Failure {
                seed,
                case: case::write(oracle, &program, &verdict, seed),
                verdict,
            }
        });
        One {
            generated,
            outcome,
            failure,
        }
    }

    fn add_to(self, totals: &mut Totals) {
        totals.programs += 1;
        totals.launches += self.outcome.launches;
        totals.shuffled += self.outcome.shuffled;
        if self.generated.program.fixed {
            totals.fixed += self.outcome.shuffled;
        }
        totals.left += self.outcome.left;
        totals.steps += self.outcome.steps;
        totals.combinations_refused += self.generated.refused;
        totals.broken.extend(self.generated.broken);
        for kind in self.outcome.faults {
            *totals.faults.entry(kind.to_string()).or_default() += 1;
            if kind == FaultKind::TimeLimit {
                totals.time_limits += 1;
            }
        }
        for row in self.generated.program.rows() {
            totals.rows[row].generated += 1;
        }
        for (row, times) in self.outcome.executed {
            totals.rows[row].executed += times;
        }
        totals.failures.extend(self.failure);
    }
}

/// Whether a program still fails in the same way as before.
pub(super) fn same_sort(a: &Verdict, b: &Verdict) -> bool {
    match (a, b) {
        (Verdict::Differ(a), Verdict::Differ(b)) => a.sort == b.sort && a.variant == b.variant,
        (Verdict::Refused(a), Verdict::Refused(b)) | (Verdict::Bug(a), Verdict::Bug(b)) => {
            first_line(a) == first_line(b)
        }
        (Verdict::TimeLimit, Verdict::TimeLimit) => true,
        (
            Verdict::Agree
            | Verdict::Differ(_)
            | Verdict::Refused(_)
            | Verdict::Bug(_)
            | Verdict::TimeLimit,
            _,
        ) => false,
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

impl Program {
    /// Whether an instruction of the row is in its text.
    pub fn has_row(&self, row: usize) -> bool {
        self.rows().contains(&row)
    }
}
