//! The two passes: which test reaches which mutant, then each mutant against its tests.

use crate::mutant::{Mutant, State};
use crate::tests::{self, Outcome, Test};
use crate::tree::{TestProgram, Work};
use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What came of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// A test failed.
    Caught,
    /// A test did not end.
    TimedOut,
    /// All tests that reach it passed.
    Survived,
    /// Tests reach it, and it would not change a value in any of them.
    Unchanged,
    /// No test reaches it.
    Unreached,
}

/// A mutant's result.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Result {
    pub id: u32,
    pub verdict: Verdict,
    /// The test that caught it.
    pub by: String,
    /// How many tests ran.
    pub ran: usize,
    pub seconds: f64,
}

/// Does `work` for each of `items` in `threads` threads.
fn parallel<T: Sync>(
    items: &[T],
    threads: usize,
    work: impl Fn(usize, &T) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let (next, work) = (&next, &work);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                scope.spawn(move || {
                    while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                        work(worker, item)?;
                    }
                    Ok(())
                })
            })
            .collect();
        workers.into_iter().try_for_each(|w| match w.join() {
            Ok(result) => result,
            Err(_) => bail!("a worker panicked"),
        })
    })
}

/// Runs each test once, with no mutant switched on, and notes what it reaches.
///
/// # Errors
/// A test fails; a file cannot be written.
pub fn cover(work: &Work, programs: &[TestProgram], threads: usize) -> anyhow::Result<()> {
    let mutants = work.read_mutants()?;
    let bytes = mutants.iter().map(|m| m.id as usize + 1).max().unwrap_or(0);
    let tests = tests::list(programs, work)?;
    let done = Mutex::new(Vec::with_capacity(tests.len()));
    parallel(&tests, threads, |worker, test| {
        let map = work.root.join(format!("map{worker}"));
        fs::write(&map, vec![0; bytes])?;
        let (outcome, time) = tests::run(
            work,
            &test.path,
            &[&test.name],
            ("PTXLIFT_MUTANT_COVER", &map.display().to_string()),
            Duration::from_secs(600),
        )?;
        if outcome != Outcome::Passed {
            bail!(
                "{} {}: {outcome:?} without a mutant",
                test.program,
                test.name
            );
        }
        let map = fs::read(&map)?;
        let marked = |bit: u8| {
            let ids = map.iter().enumerate().filter(|(_, b)| **b & bit != 0);
            ids.map(|(i, _)| i as u32).collect::<Vec<u32>>()
        };
        let test = Test {
            seconds: time.as_secs_f64(),
            reached: marked(1),
            changed: marked(2),
            ..test.clone()
        };
        done.lock().unwrap_or_else(|e| e.into_inner()).push(test);
        Ok(())
    })?;
    let done = done.into_inner().unwrap_or_else(|e| e.into_inner());
    let total: f64 = done.iter().map(|t| t.seconds).sum();
    eprintln!("{} tests, {total:.1} s", done.len());
    fs::write(work.tests(), serde_json::to_string(&done)?)?;
    Ok(())
}

/// What the mutants share.
struct Plan<'a> {
    work: &'a Work,
    tests: &'a [Test],
    /// By mutant: the tests that may catch it, quick ones first.
    candidates: HashMap<u32, Vec<usize>>,
    reached: HashSet<u32>,
    /// By function: the tests that caught something in it, the last one last.
    catchers: Mutex<HashMap<(String, String), Vec<usize>>>,
}

/// Runs the mutants that `wanted` names and that have no result yet.
///
/// # Errors
/// A pass before this one is missing; a program cannot be started.
pub fn run(work: &Work, wanted: &[Mutant], threads: usize) -> anyhow::Result<()> {
    let text = fs::read_to_string(work.tests()).context("`cover` comes first")?;
    let mut tests: Vec<Test> = serde_json::from_str(&text)?;
    tests.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let compared: HashSet<u32> = wanted.iter().filter(|m| m.compared).map(|m| m.id).collect();
    let mut plan = Plan {
        work,
        tests: &tests,
        candidates: HashMap::new(),
        reached: HashSet::new(),
        catchers: Mutex::default(),
    };
    for (index, test) in tests.iter().enumerate() {
        plan.reached.extend(&test.reached);
        let plain = test.reached.iter().filter(|id| !compared.contains(id));
        for id in plain.chain(&test.changed) {
            plan.candidates.entry(*id).or_default().push(index);
        }
    }
    let done: HashSet<u32> = read_results(work)?.iter().map(|r| r.id).collect();
    let todo: Vec<&Mutant> = wanted
        .iter()
        .filter(|m| m.state == State::Switched && !done.contains(&m.id))
        .collect();
    let file = Mutex::new(
        File::options()
            .create(true)
            .append(true)
            .open(work.results())?,
    );
    let (start, count) = (Instant::now(), AtomicUsize::new(0));
    parallel(&todo, threads, |_, mutant| {
        let result = plan.judge(mutant)?;
        let count = count.fetch_add(1, Ordering::Relaxed) + 1;
        if count % 100 == 0 {
            let rate = count as f64 / start.elapsed().as_secs_f64();
            eprintln!("{count} of {}, {rate:.2} a second", todo.len());
        }
        let mut file = file.lock().unwrap_or_else(|e| e.into_inner());
        writeln!(file, "{}", serde_json::to_string(&result)?)?;
        Ok(())
    })
}

/// The results so far.
///
/// # Errors
/// They are damaged.
pub fn read_results(work: &Work) -> anyhow::Result<Vec<Result>> {
    let text = fs::read_to_string(work.results()).unwrap_or_default();
    text.lines().map(|l| Ok(serde_json::from_str(l)?)).collect()
}

impl Plan<'_> {
    fn judge(&self, mutant: &Mutant) -> anyhow::Result<Result> {
        let start = Instant::now();
        let result = |verdict, by: String, ran| Result {
            id: mutant.id,
            verdict,
            by,
            ran,
            seconds: start.elapsed().as_secs_f64(),
        };
        if !self.reached.contains(&mutant.id) {
            return Ok(result(Verdict::Unreached, String::new(), 0));
        }
        let Some(candidates) = self.candidates.get(&mutant.id) else {
            return Ok(result(Verdict::Unchanged, String::new(), 0));
        };
        let function = (mutant.file.clone(), mutant.function.clone());
        let mut ran = 0;
        for batch in self.batches(&function, candidates) {
            ran += batch.len();
            let first = &self.tests[batch[0]];
            let names: Vec<&str> = batch.iter().map(|&t| self.tests[t].name.as_str()).collect();
            let usual: f64 = batch.iter().map(|&t| self.tests[t].seconds).sum();
            let (outcome, _) = tests::run(
                self.work,
                &first.path,
                &names,
                ("PTXLIFT_MUTANT", &mutant.id.to_string()),
                Duration::from_secs_f64(5.0 + 8.0 * usual),
            )?;
            let (verdict, by) = match outcome {
                Outcome::Passed => continue,
                Outcome::TimedOut => (Verdict::TimedOut, None),
                Outcome::Failed(name) => (Verdict::Caught, name),
            };
            let by = by.unwrap_or_else(|| names[0].to_string());
            let index = batch
                .iter()
                .find(|&&t| self.tests[t].name == by)
                .unwrap_or(&batch[0]);
            let mut catchers = self.catchers.lock().unwrap_or_else(|e| e.into_inner());
            let list = catchers.entry(function).or_default();
            list.retain(|t| t != index);
            list.push(*index);
            return Ok(result(verdict, format!("{} {by}", first.program), ran));
        }
        Ok(result(Verdict::Survived, String::new(), ran))
    }

    /// The candidates in the order in which they run: what caught other mutants of the function, then the rest, quick
    /// ones first; those of a program together, more and more of them.
    fn batches(&self, function: &(String, String), candidates: &[usize]) -> Vec<Vec<usize>> {
        let mut batches: Vec<Vec<usize>> = Vec::new();
        let catchers = self.catchers.lock().unwrap_or_else(|e| e.into_inner());
        let likely: Vec<usize> = catchers
            .get(function)
            .into_iter()
            .flat_map(|list| list.iter().rev())
            .filter(|t| candidates.contains(t))
            .take(4)
            .copied()
            .collect();
        batches.extend(likely.iter().map(|&t| vec![t]));
        let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut budget = 0.1;
        for &index in candidates.iter().filter(|t| !likely.contains(t)) {
            let test = &self.tests[index];
            if !test.batches {
                batches.push(vec![index]);
                continue;
            }
            let batch = open.entry(&test.program).or_default();
            batch.push(index);
            let seconds: f64 = batch.iter().map(|&t| self.tests[t].seconds).sum();
            if seconds > budget || batch.len() == 100 {
                batches.push(std::mem::take(batch));
                budget *= 1.5;
            }
        }
        batches.extend(open.into_values().filter(|b| !b.is_empty()));
        let seconds =
            |batch: &Vec<usize>| batch.iter().map(|&t| self.tests[t].seconds).sum::<f64>();
        batches[likely.len()..].sort_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        batches
    }
}
