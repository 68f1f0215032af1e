//! Running the CTAs of a launch on the worker threads.

use super::cancel::Cancel;
use super::device::Snapshot;
use super::engine::EngineKind;
use super::instance::Instance;
use super::launch::{Launch, Report};
use super::pool::STACK;
use super::runners::Runners;
use super::scratch::with_scratch;
use super::watchdog;
use crate::error::{Error, Internal};
use crate::interp::{NoTrace, Trace};
use crate::ir::{self, FuncId};
use crate::machine::{self, Clusters, Fault, FaultKind, Host, Limits, Room, Scratch, Stop};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Instructions, all threads together, that are done before a helper would have come.
const SMALL: u64 = 20_000;

/// Most bytes of memory that the CTAs of a launch hold which have begun and are not over.
pub(super) const ROOM: u64 = 4 << 30;

/// A launch on its way.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) instance: Instance,
    pub(super) kernel: FuncId,
    pub(super) kind: EngineKind,
    grid: [u32; 3],
    pub(super) block: [u32; 3],
    /// How the grid is divided.
    pub(super) clusters: Clusters,
    params: SmallVec<[u8; 64]>,
    dynamic_shared: u32,
    memory: Arc<Snapshot>,
    pub(super) stop: Arc<Stop>,
    /// CTAs of the grid.
    blocks: u64,
    /// The first cluster that nobody has taken.
    pub(super) next: AtomicU64,
    /// The lowest cluster that went wrong; those above it need not run.
    pub(super) end: AtomicU64,
    steps: AtomicU64,
    /// Workers that ran a CTA, and how many the busiest ran.
    busy: AtomicUsize,
    most: AtomicU64,
    failure: Mutex<Option<(u64, Error)>>,
    /// Blocks that native code ran whose threads go together, and the others.
    pub(super) together: AtomicU64,
    pub(super) single: AtomicU64,
    /// Memory for CTAs that may be left.
    pub(super) room: Room,
    /// What system calls reach.
    host: Host,
    /// Shuffles the schedule.
    pub(super) seed: Option<u64>,
}

/// Where helpers come in. Those that come too late find the job gone, so that nothing outlives its launch.
#[derive(Debug)]
struct Door {
    inside: Mutex<Inside>,
    left: Condvar,
}

#[derive(Debug)]
struct Inside {
    job: Option<Arc<Job>>,
    helpers: usize,
}

impl Door {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        lock(&self.inside)
    }

    /// Helps, if the job is still there.
    fn help(&self) {
        let mut inside = self.inside();
        let Some(job) = inside.job.clone() else {
            return;
        };
        inside.helpers += 1;
        drop(inside);
        job.work(&mut NoTrace);
        drop(job);
        self.inside().helpers -= 1;
        self.left.notify_all();
    }

    /// Lets nobody in any more, and waits for those inside.
    fn close(&self) {
        let mut inside = self.inside();
        inside.job = None;
        while inside.helpers > 0 {
            inside = self
                .left
                .wait(inside)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Job {
    pub(super) fn new(
        instance: &Instance,
        kernel: FuncId,
        kind: EngineKind,
        launch: &Launch,
        (grid, clusters): ([u32; 3], Clusters),
        params: SmallVec<[u8; 64]>,
        host: Host,
    ) -> Self {
        let blocks: u64 = grid.iter().map(|&n| u64::from(n)).product();
        let units = blocks / u64::from(clusters.ctas());
        Job {
            instance: instance.clone(),
            kernel,
            kind,
            grid,
            block: launch.block.to_array(),
            clusters,
            params,
            dynamic_shared: launch.shared,
            memory: instance.device().snapshot(),
            stop: Arc::new(Stop::new()),
            blocks,
            next: AtomicU64::new(0),
            end: AtomicU64::new(units),
            steps: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            most: AtomicU64::new(0),
            failure: Mutex::new(None),
            together: AtomicU64::new(0),
            single: AtomicU64::new(0),
            room: Room::new(ROOM),
            host,
            seed: launch.seed,
        }
    }

    /// Runs all CTAs and waits for them. What traces runs on one thread.
    pub(super) fn run<T: Trace>(self, launch: &Launch, trace: &mut T) -> Result<Report, Error> {
        let program = self.instance.program().clone();
        let config = program.engine().config();
        let limit = launch.time_limit.unwrap_or(config.time_limit);
        if let Some(cancel) = &launch.cancel {
            cancel.watch(&self.stop);
        }
        let threads =
            (self.block.iter()).fold(self.blocks, |n, &extent| n.saturating_mul(extent.into()));
        // With a seed lanes go as it says.
        if self.kind == EngineKind::Native && self.seed.is_none() {
            program.widen(self.kernel, self.block[0], threads);
        }
        let start = Instant::now();
        let _watch = limit.map(|l| watchdog::watch(&self.stop, l)).transpose()?;
        let facts = program.facts(self.kernel);
        let pool = program.engine().pool();
        let small = !facts.unbounded && threads.saturating_mul(facts.instructions) < SMALL;
        let job_is_shuffled = self.seed.is_some();
        let workers = match usize::try_from(self.units()) {
            _ if small || T::ENABLED || job_is_shuffled => 1,
            Ok(units) => pool.threads().min(units),
            Err(_) => pool.threads(),
        };
        let workers = workers.min(launch.workers);
        let job = Arc::new(self);
        if workers == 1 {
            with_stack(facts.calls, || job.work(trace));
        } else {
            let door = Arc::new(Door {
                inside: Mutex::new(Inside {
                    job: Some(Arc::clone(&job)),
                    helpers: 0,
                }),
                left: Condvar::new(),
            });
            for _ in 1..workers {
                let door = Arc::clone(&door);
                pool.spawn(move || door.help())?;
            }
            with_stack(facts.calls, || job.work(trace));
            door.close();
        }
        if job.kind == EngineKind::Native {
            program.spend(job.kernel, start.elapsed() * workers as u32);
        }
        let failure = lock(&job.failure).take().map(|(_, error)| error);
        if let Some(error) = failure {
            return Err(explain(error, &job.stop, launch.cancel.as_ref(), limit));
        }
        let ran = [&job.single, &job.together].map(|n| n.load(Ordering::Relaxed));
        if job.kind == EngineKind::Native && ran.contains(&0) {
            program.pace(
                job.kernel,
                [job.grid, job.block],
                ran[0] == 0,
                start.elapsed(),
            );
        }
        Ok(Report {
            engine: job.kind,
            blocks: job.blocks,
            threads,
            workers,
            busy_workers: job.busy.load(Ordering::Relaxed),
            most_blocks: job.most.load(Ordering::Relaxed),
            compile_time: match job.kind {
                EngineKind::Native => program.compile_time(),
                EngineKind::Interpreter => Duration::ZERO,
            },
            run_time: start.elapsed(),
            steps: match job.kind {
                EngineKind::Native => None,
                EngineKind::Interpreter => Some(job.steps.load(Ordering::Relaxed)),
            },
        })
    }

    /// Takes part, until no CTA is left.
    fn work(&self, trace: &mut impl Trace) {
        let done = Internal::catch("running a kernel", || self.run_blocks(trace));
        let (index, error) = match done {
            Ok(Ok(())) => return,
            Ok(Err(failure)) => failure,
            Err(internal) => (0, internal.into()),
        };
        self.end.fetch_min(index, Ordering::Relaxed);
        let mut failure = lock(&self.failure);
        let first = failure
            .as_ref()
            .is_none_or(|(i, e)| self.rank(index, &error) < self.rank(*i, e));
        if first {
            *failure = Some((index, error));
        }
    }

    /// Runs CTAs with an engine made ready for it.
    fn run_blocks(&self, trace: &mut impl Trace) -> Result<(), (u64, Error)> {
        let program = self.instance.program();
        let config = program.engine().config();
        let launch = |together| machine::Launch {
            grid: self.grid,
            block: self.block,
            clusters: self.clusters,
            params: &self.params,
            dynamic_shared: self.dynamic_shared,
            map: &self.memory.map,
            globals: self.instance.globals(),
            constants: self.instance.constants(),
            host: &self.host,
            together,
            limits: Limits {
                stop: &self.stop,
                steps: config.steps,
                call_depth: config.call_depth,
                local_bytes: config.local_bytes,
            },
        };
        let (single, together) = (launch(false), launch(true));
        let runners = Runners::new(self, &single, &together).map_err(|e| (0, e))?;
        let any = runners.any().map_err(|e| (0, e))?;
        let shuffled = self.seed.is_some() && any.can_shuffle();
        let accompanied = self.clusters.ctas() > 1;
        if any.suspends() || shuffled || accompanied {
            return self.run_residents(&runners, trace);
        }
        let shared = self.shared_bytes() as usize;
        with_scratch(shared, config.local_bytes as usize, |scratch| {
            self.take_blocks(&runners, scratch, trace)
        })
        .map_err(|e| (0, e))?
    }

    /// Takes CTAs, which are alone in their clusters, in order of their index and runs them, as long as there are some below the first that went wrong.
    fn take_blocks(
        &self,
        runners: &Runners<'_>,
        scratch: &Scratch,
        trace: &mut impl Trace,
    ) -> Result<(), (u64, Error)> {
        let mut taken = Taken::new(self);
        let mut steps = 0;
        let mut ahead = taken.next().map(|block| (block, runners.next()));
        let mut failure = None;
        while let Some((first, runner)) = ahead.take() {
            let runner = match runner {
                Ok((runner, _)) => runner,
                Err(error) => {
                    failure = Some((taken.index, error));
                    break;
                }
            };
            let next = || {
                let block = taken.next()?;
                let next = runners.next();
                if matches!(next, Ok((next, _)) if std::ptr::eq(next, runner)) {
                    return Some(block);
                }
                ahead = Some((block, next));
                None
            };
            match runner.run_blocks(scratch, first, next, trace) {
                Ok(executed) => steps += executed,
                Err(fault) => {
                    failure = Some((taken.index, fault.into()));
                    break;
                }
            }
        }
        // The one that went wrong is none of them.
        let over = taken.count - u64::from(failure.is_some());
        self.count(steps, over);
        match failure.or_else(|| {
            taken
                .stopped
                .map(|block| (taken.index, self.stopped(block)))
        }) {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// The error of a CTA that did not begin, because the launch was stopped.
    fn stopped(&self, block: [u32; 3]) -> Error {
        stopped(self.instance.ir(), self.kernel, block).into()
    }

    /// Counts the instructions and CTAs of a worker.
    pub(super) fn count(&self, steps: u64, blocks: u64) {
        self.steps.fetch_add(steps, Ordering::Relaxed);
        if blocks > 0 {
            self.busy.fetch_add(1, Ordering::Relaxed);
            self.most.fetch_max(blocks, Ordering::Relaxed);
        }
    }

    /// What is reported if several CTAs went wrong: what comes first in this order. An error that the kernel did not cause,
    /// then the CTA of the lowest index; being stopped comes last.
    fn rank(&self, index: u64, error: &Error) -> (u8, u64) {
        let class = match error {
            Error::Fault(f) if f.kind == FaultKind::TimeLimit && self.stop.is_raised() => 2,
            Error::Fault(_) => 1,
            Error::Diagnostics(_)
            | Error::Unsupported(_)
            | Error::Usage(_)
            | Error::Internal(_) => 0,
        };
        (class, index)
    }

    /// CTAs that a worker takes at once: few enough that all are busy to the end.
    pub(super) fn chunk(&self) -> u64 {
        let workers = self.instance.program().engine().pool().threads();
        (self.units() / (workers as u64 * 16)).clamp(1, 64)
    }

    /// Clusters of the grid.
    pub(super) fn units(&self) -> u64 {
        self.blocks / u64::from(self.clusters.ctas())
    }

    /// Bytes of shared memory of a CTA.
    pub(super) fn shared_bytes(&self) -> u64 {
        let function = &self.instance.ir().functions[self.kernel.index()];
        function.shared_window(self.dynamic_shared)
    }

    /// The CTA of a rank in the cluster of an index.
    pub(super) fn block_at(&self, index: u64, rank: u32) -> [u32; 3] {
        let index = match self.seed {
            None if self.clusters.ctas() == 1 && self.grid[1..] == [1; 2] => {
                return [index as u32, 0, 0];
            }
            None => index,
            Some(seed) => shuffled(index, self.units(), seed),
        };
        let units = match self.clusters.ctas() {
            1 => self.grid,
            _ => self.clusters.divide(self.grid),
        };
        if let [_, 1, 1] = units {
            return self.clusters.cta([index as u32, 0, 0], rank);
        }
        let [x, y, _] = units.map(u64::from);
        let id = [index % x, index / x % y, index / x / y].map(|n| n as u32);
        self.clusters.cta(id, rank)
    }
}

/// The CTAs, alone in their clusters, that a worker takes one after another.
struct Taken<'a> {
    job: &'a Job,
    /// CTAs that it takes at once.
    chunk: u64,
    /// The first that it has not taken.
    end: u64,
    /// The last that it has given, and where that is.
    index: u64,
    block: [u32; 3],
    /// How many it has given.
    count: u64,
    /// The one that is not begun because the launch was stopped.
    stopped: Option<[u32; 3]>,
}

impl<'a> Taken<'a> {
    fn new(job: &'a Job) -> Self {
        Taken {
            job,
            chunk: job.chunk(),
            end: 0,
            index: 0,
            block: [0; 3],
            count: 0,
            stopped: None,
        }
    }

    /// `%ctaid` of the next.
    fn next(&mut self) -> Option<[u32; 3]> {
        let job = self.job;
        let follows = self.index + 1 < self.end;
        if follows {
            self.index += 1;
        } else {
            self.index = job.next.fetch_add(self.chunk, Ordering::Relaxed);
            self.end = self.index.saturating_add(self.chunk);
        }
        if self.index >= job.end.load(Ordering::Relaxed) {
            // Nobody begins one that comes later.
            self.end = 0;
            return None;
        }
        let [x, y, z] = self.block;
        self.block = match follows && job.seed.is_none() && x + 1 < job.grid[0] {
            true => [x + 1, y, z],
            false => job.block_at(self.index, 0),
        };
        if job.stop.is_raised() {
            self.stopped = Some(self.block);
            return None;
        }
        self.count += 1;
        Some(self.block)
    }
}

/// Where a number below `count` goes in an order of all of them that a seed gives.
fn shuffled(index: u64, count: u64, seed: u64) -> u64 {
    let common = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    // A factor without a divisor in common with the count.
    let mut factor = (seed | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) % count.max(1);
    while common(factor, count) != 1 {
        factor += 1;
    }
    let place = u128::from(index) * u128::from(factor) + u128::from(seed);
    (place % u128::from(count.max(1))) as u64
}

/// The fault of a CTA, or of a call, that never began.
pub(super) fn stopped(module: &ir::Module, function: FuncId, block: [u32; 3]) -> Fault {
    let span = module.functions[function.index()].span;
    Fault::new(FaultKind::TimeLimit, module, function, span, u32::MAX).by(block, [0; 3])
}

/// Says of a time limit whose it was.
pub(super) fn explain(
    error: Error,
    stop: &Stop,
    cancel: Option<&Cancel>,
    limit: Option<Duration>,
) -> Error {
    match error {
        Error::Fault(fault) if fault.kind == FaultKind::TimeLimit && stop.is_raised() => {
            let why = match (cancel, limit) {
                (Some(cancel), _) if cancel.is_cancelled() => "cancelled".to_string(),
                (_, Some(limit)) => format!("not done after {limit:?}"),
                (_, None) => "stopped".to_string(),
            };
            // Behind the first line stands who waits.
            let waiting = fault.detail.as_deref().and_then(|d| d.split_once('\n'));
            let detail = match waiting {
                Some((_, waiting)) => format!("{why}\n{waiting}"),
                None => why,
            };
            fault.detail(detail).into()
        }
        other => other,
    }
}

/// Runs `f` with as much stack as engines want: where functions are called, enough for some depth, so that they need not
/// look for more with each CTA.
fn with_stack<T>(calls: bool, f: impl FnOnce() -> T) -> T {
    if calls {
        // Engines see to what there is not enough of.
        machine::with_stack(STACK / 2, STACK, f).unwrap_or_else(|f| f())
    } else {
        f()
    }
}

#[cfg(test)]
mod tests {
    use super::shuffled;
    use std::collections::BTreeSet;

    #[test]
    fn each_block_has_one_place_in_the_order_of_a_seed() {
        for count in (1..60).chain([1 << 20 | 1]) {
            let some = count.min(200);
            for seed in [0, 1, 2, 7, 30, u64::MAX] {
                let places: BTreeSet<u64> = (0..some).map(|i| shuffled(i, count, seed)).collect();
                assert_eq!(places.len() as u64, some, "{count} {seed}");
                assert!(places.iter().all(|&place| place < count));
            }
        }
        let orders: BTreeSet<Vec<u64>> = (0..20)
            .map(|seed| (0..50).map(|index| shuffled(index, 50, seed)).collect())
            .collect();
        assert!(orders.len() > 15);
    }
}
