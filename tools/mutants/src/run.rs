//! The two passes: which test reaches which mutant, then each mutant against its tests.

use crate::mutant::{Genre, Mutant, State};
use crate::tests::{self, Outcome, Test};
use crate::tree::{TestProgram, Work};
use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
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
    /// What ran within the budget passed; there is more.
    Deferred,
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

/// Runs each test once, with no mutant switched on, and notes what it reaches. A test that fails, as those of speed may
/// on a busy machine, is left out.
///
/// # Errors
/// A test cannot be started; a file cannot be written.
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
            eprintln!(
                "left out: {} {}: {outcome:?} without a mutant",
                test.program, test.name
            );
            return Ok(());
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
    /// By file: how many of its mutants each test reaches.
    reach: HashMap<&'a str, HashMap<usize, usize>>,
    catches: Mutex<Catches>,
    /// Seconds of tests for a mutant, as they take without one.
    budget: f64,
}

/// What has been caught so far.
#[derive(Default)]
struct Catches {
    /// By function: the tests that caught something in it, the last one last.
    in_function: HashMap<(String, String), Vec<usize>>,
    /// By file: how many mutants each test caught.
    in_file: HashMap<String, HashMap<usize, usize>>,
}

/// Runs the mutants that `wanted` names and that have no result yet.
///
/// # Errors
/// A pass before this one is missing; a program cannot be started.
pub fn run(work: &Work, wanted: &[Mutant], threads: usize, budget: f64) -> anyhow::Result<()> {
    let text = fs::read_to_string(work.tests()).context("`cover` comes first")?;
    let mut tests: Vec<Test> = serde_json::from_str(&text)?;
    tests.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let compared: HashSet<u32> = wanted.iter().filter(|m| m.compared).map(|m| m.id).collect();
    let mut plan = Plan {
        work,
        tests: &tests,
        candidates: HashMap::new(),
        reached: HashSet::new(),
        reach: HashMap::new(),
        catches: Mutex::default(),
        budget,
    };
    let files: HashMap<u32, &str> = wanted.iter().map(|m| (m.id, m.file.as_str())).collect();
    for (index, test) in tests.iter().enumerate() {
        plan.reached.extend(&test.reached);
        let plain = test.reached.iter().filter(|id| !compared.contains(id));
        for id in plain.chain(&test.changed) {
            plan.candidates.entry(*id).or_default().push(index);
            if let Some(file) = files.get(id) {
                *plan
                    .reach
                    .entry(file)
                    .or_default()
                    .entry(index)
                    .or_default() += 1;
            }
        }
    }
    let done: HashSet<u32> = read_results(work)?
        .iter()
        .filter(|r| r.verdict != Verdict::Deferred)
        .map(|r| r.id)
        .collect();
    let mut todo: Vec<&Mutant> = wanted
        .iter()
        .filter(|m| m.state == State::Switched && !done.contains(&m.id))
        .collect();
    // Our own kinds last; each in an order that makes those that are done at any time a fair sample.
    todo.sort_by_key(|m| {
        let own = matches!(m.genre, Genre::Literal | Genre::Operation);
        (own, u64::from(m.id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    });
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

/// Another run, whose results need not be had again.
pub struct Before {
    mutants: Vec<Mutant>,
    caught: HashSet<u32>,
}

impl Before {
    /// # Errors
    /// The folder holds no run.
    pub fn read(root: PathBuf) -> anyhow::Result<Self> {
        let work = Work { root };
        let caught = read_results(&work)?
            .iter()
            .filter(|r| matches!(r.verdict, Verdict::Caught | Verdict::TimedOut))
            .map(|r| r.id)
            .collect();
        let mutants = work.read_mutants()?;
        Ok(Before { mutants, caught })
    }

    /// Whether a mutant was not caught there, or is new.
    pub fn leaves(&self, mutant: &Mutant) -> bool {
        let same = self.mutants.iter().filter(|m| m.key() == mutant.key());
        let mut same = same.peekable();
        same.peek().is_none() || same.any(|m| !self.caught.contains(&m.id))
    }
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
        let (mut ran, mut spent) = (0, 0.0);
        for batch in self.batches(&function, candidates) {
            if spent > self.budget {
                return Ok(result(Verdict::Deferred, String::new(), ran));
            }
            ran += batch.len();
            let first = &self.tests[batch[0]];
            let names: Vec<&str> = batch.iter().map(|&t| self.tests[t].name.as_str()).collect();
            let usual: f64 = batch.iter().map(|&t| self.tests[t].seconds).sum();
            spent += usual;
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
            let mut catches = self.catches.lock().unwrap_or_else(|e| e.into_inner());
            let list = catches.in_function.entry(function).or_default();
            list.retain(|t| t != index);
            list.push(*index);
            let file = catches.in_file.entry(mutant.file.clone()).or_default();
            *file.entry(*index).or_default() += 1;
            return Ok(result(verdict, format!("{} {by}", first.program), ran));
        }
        Ok(result(Verdict::Survived, String::new(), ran))
    }

    /// The candidates in the order in which they run: what caught other mutants of the function, then those that promise
    /// most for their time; after some that run alone, those of a program together.
    fn batches(&self, function: &(String, String), candidates: &[usize]) -> Vec<Vec<usize>> {
        const ALONE: usize = 6;
        let catches = self.catches.lock().unwrap_or_else(|e| e.into_inner());
        let reach = self.reach.get(function.0.as_str());
        let caught = catches.in_file.get(&function.0);
        let promise = |test: usize| {
            let reach = reach.and_then(|r| r.get(&test)).copied().unwrap_or(0) as f64;
            let caught = caught.and_then(|c| c.get(&test)).copied().unwrap_or(0) as f64;
            (1.0 + 10.0 * caught) * reach / (self.tests[test].seconds + 0.03)
        };
        let mut order: Vec<(f64, usize)> = candidates.iter().map(|&t| (promise(t), t)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut batches: Vec<Vec<usize>> = Vec::new();
        let likely: Vec<usize> = catches
            .in_function
            .get(function)
            .into_iter()
            .flat_map(|list| list.iter().rev())
            .filter(|t| candidates.contains(t))
            .take(4)
            .copied()
            .collect();
        batches.extend(likely.iter().map(|&t| vec![t]));
        let mut open: HashMap<&str, usize> = HashMap::new();
        let rest = order
            .iter()
            .map(|&(_, t)| t)
            .filter(|t| !likely.contains(t));
        for (position, index) in rest.enumerate() {
            let test = &self.tests[index];
            if position < ALONE || !test.batches {
                batches.push(vec![index]);
                continue;
            }
            let batch = *open.entry(&test.program).or_insert_with(|| {
                batches.push(Vec::new());
                batches.len() - 1
            });
            batches[batch].push(index);
            let seconds: f64 = batches[batch].iter().map(|&t| self.tests[t].seconds).sum();
            if seconds > 0.5 || batches[batch].len() == 100 {
                open.remove(test.program.as_str());
            }
        }
        batches
    }
}
