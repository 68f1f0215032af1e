//! Running the CTAs of a launch on the worker threads.

use super::backend::Runner;
use super::call;
use super::cancel::Cancel;
use super::device::Snapshot;
use super::engine::EngineKind;
use super::instance::Instance;
use super::launch::{Launch, Report};
use super::watchdog;
use crate::error::{Error, Internal};
use crate::ir::FuncId;
use crate::machine::{self, Fault, FaultKind, Limits, Stop};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A launch on its way. Workers that come too late find it closed, and never touch anything of the caller's.
#[derive(Debug)]
pub(super) struct Job {
    instance: Instance,
    kernel: FuncId,
    kind: EngineKind,
    grid: [u32; 3],
    block: [u32; 3],
    params: SmallVec<[u8; 64]>,
    dynamic_shared: u32,
    memory: Arc<Snapshot>,
    stop: Arc<Stop>,
    /// CTAs of the grid, and the first that nobody has taken.
    blocks: u64,
    next: AtomicU64,
    /// The lowest CTA that went wrong; those above it need not run.
    end: AtomicU64,
    steps: AtomicU64,
    state: Mutex<State>,
    idle: Condvar,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    closed: bool,
    failure: Option<(u64, Error)>,
}

impl Job {
    pub(super) fn new(
        instance: &Instance,
        kernel: FuncId,
        kind: EngineKind,
        launch: &Launch,
        params: SmallVec<[u8; 64]>,
    ) -> Self {
        let grid = launch.grid.to_array();
        let blocks = grid.iter().map(|&n| u64::from(n)).product();
        Job {
            instance: instance.clone(),
            kernel,
            kind,
            grid,
            block: launch.block.to_array(),
            params,
            dynamic_shared: launch.shared,
            memory: instance.device().snapshot(),
            stop: Arc::new(Stop::new()),
            blocks,
            next: AtomicU64::new(0),
            end: AtomicU64::new(blocks),
            steps: AtomicU64::new(0),
            state: Mutex::default(),
            idle: Condvar::new(),
        }
    }

    /// Runs all CTAs and waits for them.
    pub(super) fn run(self, launch: &Launch) -> Result<Report, Error> {
        let start = Instant::now();
        let program = self.instance.program().clone();
        let config = program.engine().config();
        let limit = launch.time_limit.unwrap_or(config.time_limit);
        if let Some(cancel) = &launch.cancel {
            cancel.watch(&self.stop);
        }
        let _watch = limit.map(|l| watchdog::watch(&self.stop, l)).transpose()?;
        let pool = program.engine().pool();
        let workers = pool
            .threads()
            .min(usize::try_from(self.blocks).unwrap_or(usize::MAX));
        let job = Arc::new(self);
        for _ in 1..workers {
            let job = Arc::clone(&job);
            pool.spawn(move || job.work())?;
        }
        let calls = program.facts(job.kernel).calls;
        call::with_stack(calls, || job.work());
        let failure = job.close();
        if let Some(error) = failure {
            return Err(explain(error, &job.stop, launch.cancel.as_ref(), limit));
        }
        let threads: u64 = job.block.iter().map(|&n| u64::from(n)).product();
        Ok(Report {
            engine: job.kind,
            blocks: job.blocks,
            threads: job.blocks * threads,
            workers,
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
    fn work(&self) {
        {
            let mut state = self.state();
            if state.closed {
                return;
            }
            state.running += 1;
        }
        let done = Internal::catch("running a kernel", || self.run_blocks());
        let failure = match done {
            Ok(Ok(())) => None,
            Ok(Err(failure)) => Some(failure),
            Err(internal) => Some((0, internal.into())),
        };
        let mut state = self.state();
        if let Some((index, error)) = failure {
            self.end.fetch_min(index, Ordering::Relaxed);
            if state
                .failure
                .as_ref()
                .is_none_or(|(i, e)| outranks((index, &error), (*i, e)))
            {
                state.failure = Some((index, error));
            }
        }
        state.running -= 1;
        if state.running == 0 {
            self.idle.notify_all();
        }
    }

    /// Keeps late workers out, waits for the others; gives what went wrong.
    fn close(&self) -> Option<Error> {
        let mut state = self.state();
        state.closed = true;
        while state.running > 0 {
            state = self
                .idle
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.failure.take().map(|(_, error)| error)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs CTAs in order of their index, as long as there are some below the first that went wrong.
    fn run_blocks(&self) -> Result<(), (u64, Error)> {
        let program = self.instance.program();
        let config = program.engine().config();
        let launch = machine::Launch {
            grid: self.grid,
            block: self.block,
            params: &self.params,
            dynamic_shared: self.dynamic_shared,
            map: &self.memory.map,
            globals: self.instance.globals(),
            constants: self.instance.constants(),
            limits: Limits {
                stop: &self.stop,
                steps: config.steps,
                call_depth: config.call_depth,
                local_bytes: config.local_bytes,
            },
        };
        let runner = Runner::new(program, self.kind, self.kernel, &launch).map_err(|e| (0, e))?;
        let function = &program.ir().functions[self.kernel.index()];
        let shared = function.shared_bytes + self.dynamic_shared;
        let scratch =
            call::scratch(shared as usize, config.local_bytes as usize).map_err(|e| (0, e))?;
        let chunk = self.chunk(program.engine().pool().threads());
        let mut steps = 0;
        let result = 'outer: loop {
            let first = self.next.fetch_add(chunk, Ordering::Relaxed);
            if first >= self.end.load(Ordering::Relaxed) {
                break Ok(());
            }
            for index in first..(first + chunk).min(self.blocks) {
                if index >= self.end.load(Ordering::Relaxed) {
                    break 'outer Ok(());
                }
                let block = self.block_at(index);
                let done = if self.stop.is_raised() {
                    Err(Fault::new(
                        FaultKind::TimeLimit,
                        program.ir(),
                        self.kernel,
                        function.span,
                        u32::MAX,
                    )
                    .by(block, [0; 3]))
                } else {
                    runner.run_block(&scratch, block)
                };
                match done {
                    Ok(n) => steps += n,
                    Err(fault) => break 'outer Err((index, fault.into())),
                }
            }
        };
        self.steps.fetch_add(steps, Ordering::Relaxed);
        result
    }

    /// CTAs that a worker takes at once: few enough that all are busy to the end.
    fn chunk(&self, workers: usize) -> u64 {
        (self.blocks / (workers as u64 * 16)).clamp(1, 64)
    }

    fn block_at(&self, index: u64) -> [u32; 3] {
        let [x, y, _] = self.grid.map(u64::from);
        [index % x, index / x % y, index / x / y].map(|n| n as u32)
    }
}

/// Whether `new` is to be reported rather than `old`: an error that the kernel did not cause comes first, a time limit
/// last, otherwise the CTA of the lower index.
fn outranks(new: (u64, &Error), old: (u64, &Error)) -> bool {
    let rank = |(index, error): (u64, &Error)| {
        let class = match error {
            Error::Fault(fault) if fault.kind == FaultKind::TimeLimit => 2,
            Error::Fault(_) => 1,
            Error::Diagnostics(_)
            | Error::Unsupported(_)
            | Error::Usage(_)
            | Error::Internal(_) => 0,
        };
        (class, index)
    };
    rank(new) < rank(old)
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
            fault.detail(why).into()
        }
        other => other,
    }
}
