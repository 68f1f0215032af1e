//! Who runs the blocks of a launch for a worker: native code whose threads go one by one, until there is some in which they go together.

use super::backend::Runner;
use super::engine::EngineKind;
use super::grid::Job;
use super::program::GAIN;
use crate::error::Error;
use crate::jit::Code;
use crate::machine::Launch;
use std::cell::{Cell, OnceCell};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The engine of a worker, made ready for a launch.
pub(super) struct Runners<'a> {
    job: &'a Job,
    pub(super) single: Runner<'a>,
    /// For threads that go together, once it is there.
    wide: OnceCell<Runner<'a>>,
    /// The launch for that, and the code that may have it; `None` if there is none to be waited for.
    awaited: Option<(&'a Code, &'a Launch<'a>)>,
    started: Instant,
    /// Blocks that were asked for.
    blocks: Cell<u64>,
}

impl<'a> Runners<'a> {
    /// For a worker's part of a job, with the launch for threads one by one and that for threads together.
    pub(super) fn new(
        job: &'a Job,
        single: &'a Launch<'a>,
        together: &'a Launch<'a>,
    ) -> Result<Self, Error> {
        let program = job.instance.program();
        let awaited = match job.kind {
            // With a seed lanes go as it says.
            EngineKind::Native if job.seed.is_none() => Some((program.native()?, together)),
            EngineKind::Native | EngineKind::Interpreter => None,
        };
        Ok(Runners {
            job,
            single: Runner::new(program, job.kind, job.kernel, single)?,
            wide: OnceCell::new(),
            awaited,
            started: Instant::now(),
            blocks: Cell::new(0),
        })
    }

    /// Who runs the next block.
    pub(super) fn current(&self) -> &Runner<'a> {
        if let Some(wide) = self.wide.get() {
            return wide;
        }
        let Some((code, launch)) = self.awaited else {
            return &self.single;
        };
        let kernel = self.job.kernel;
        let blocks = self.blocks.get() + 1;
        self.blocks.set(blocks);
        if !code.is_wide(kernel) && blocks.is_power_of_two() && self.pays(code, blocks - 1) {
            code.make_wide(kernel);
        }
        if !code.is_wide(kernel) {
            return &self.single;
        }
        match Runner::new(self.job.instance.program(), self.job.kind, kernel, launch) {
            Ok(wide) => self.wide.get_or_init(|| wide),
            // The launch is the same but for that.
            Err(_) => &self.single,
        }
    }

    /// Whether threads go together in the blocks that [`Runners::current`] runs.
    pub(super) fn together(&self) -> bool {
        self.wide.get().is_some()
    }

    /// Whether what is left of the launch, judged by what it has taken so far, is worth making code for threads that go together.
    fn pays(&self, code: &Code, done: u64) -> bool {
        let Some(takes) = code.widening_takes(self.job.kernel) else {
            return false;
        };
        let next = self.job.next.load(Ordering::Relaxed);
        let left = self.job.end.load(Ordering::Relaxed).saturating_sub(next);
        let Some(each) = self.started.elapsed().as_nanos().checked_div(done.into()) else {
            return false;
        };
        each.saturating_mul(left.into()) > takes.as_nanos() * u128::from(GAIN)
    }
}
