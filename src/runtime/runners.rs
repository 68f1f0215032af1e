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

/// Blocks with threads that go together, after which they are judged for the first time, by the fastest of some stretches: what else the
/// machine does falls on some of them only.
const JUDGED: u64 = 32;

/// The engine of a worker, made ready for a launch.
pub(super) struct Runners<'a> {
    job: &'a Job,
    single: OnceCell<Runner<'a>>,
    /// The launch for that.
    launch: &'a Launch<'a>,
    /// For threads that go together, once it is there.
    wide: OnceCell<Runner<'a>>,
    /// The launch for that, and the code that may have it; `None` if there is none to be waited for.
    awaited: Option<(&'a Code, &'a Launch<'a>)>,
    /// Since when blocks have been run as they are now.
    since: Cell<Instant>,
    /// Blocks that were asked for with threads one by one, and with threads that go together.
    blocks: [Cell<u64>; 2],
    /// Nanoseconds that a block took with threads one by one.
    each: Cell<Option<u128>>,
    /// The same with threads that go together, in the fastest stretch.
    least: Cell<Option<u128>>,
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
        let runners = Runners {
            job,
            single: OnceCell::new(),
            launch: single,
            wide: OnceCell::new(),
            awaited,
            since: Cell::new(Instant::now()),
            blocks: Default::default(),
            each: Cell::new(None),
            least: Cell::new(None),
        };
        match awaited {
            // Of the two it may be all that is needed.
            Some((code, together)) if code.is_wide(job.kernel) => {
                let wide = runners.runner(together)?;
                runners.wide.get_or_init(|| wide);
            }
            Some(_) | None => drop(runners.single()?),
        }
        Ok(runners)
    }

    fn runner(&self, launch: &'a Launch<'a>) -> Result<Runner<'a>, Error> {
        let job = self.job;
        Runner::new(job.instance.program(), job.kind, job.kernel, launch)
    }

    /// The one for threads one by one.
    fn single(&self) -> Result<&Runner<'a>, Error> {
        if let Some(single) = self.single.get() {
            return Ok(single);
        }
        let single = self.runner(self.launch)?;
        Ok(self.single.get_or_init(|| single))
    }

    /// Either, for what they have in common.
    pub(super) fn any(&self) -> Result<&Runner<'a>, Error> {
        self.wide.get().map_or_else(|| self.single(), Ok)
    }

    /// Who runs the next block, and whether threads go together in it.
    pub(super) fn next(&self) -> Result<(&Runner<'a>, bool), Error> {
        let Some((code, launch)) = self.awaited else {
            return Ok((self.single()?, false));
        };
        let kernel = self.job.kernel;
        if let Some(wide) = self.wide.get().filter(|_| code.is_wide(kernel)) {
            let blocks = self.count(true);
            if blocks.is_power_of_two() && self.is_slower(blocks) {
                code.give_up_wide(kernel);
            }
            return Ok((wide, true));
        }
        let asked = self.blocks[0].get() + 1;
        if asked.is_power_of_two() && self.pays(code, asked) {
            self.each.set(self.each_block(asked));
            code.make_wide(kernel, self.job.block[0]);
        }
        if code.is_wide(kernel)
            // The launch is the same but for that.
            && let Ok(wide) = self.runner(launch)
        {
            self.since.set(Instant::now());
            self.count(true);
            return Ok((self.wide.get_or_init(|| wide), true));
        }
        self.count(false);
        Ok((self.single()?, false))
    }

    /// Ends a stretch of blocks with threads that go together, which is half of those that there were; whether they took longer than
    /// others did in each of the stretches. The first begins with half of those that are judged.
    fn is_slower(&self, blocks: u64) -> bool {
        if blocks < JUDGED / 2 {
            return false;
        }
        let now = Instant::now();
        let time = now.duration_since(self.since.replace(now)).as_nanos();
        if blocks < JUDGED {
            return false;
        }
        let each = time / u128::from(blocks / 2);
        let least = self.least.get().map_or(each, |least| least.min(each));
        self.least.set(Some(least));
        self.each.get().is_some_and(|single| least > single)
    }

    /// Counts a block; gives how many there are of its kind.
    fn count(&self, together: bool) -> u64 {
        let count = &self.blocks[usize::from(together)];
        count.set(count.get() + 1);
        count.get()
    }

    /// Nanoseconds for each of the blocks before the one that was asked for last.
    fn each_block(&self, asked: u64) -> Option<u128> {
        let time = self.since.get().elapsed().as_nanos();
        time.checked_div(u128::from(asked) - 1)
    }

    /// Whether what is left of the launch, judged by what it has taken so far, is worth making code for threads that go together.
    fn pays(&self, code: &Code, asked: u64) -> bool {
        let Some(takes) = code.widening_takes(self.job.kernel) else {
            return false;
        };
        let next = self.job.next.load(Ordering::Relaxed);
        let left = self.job.end.load(Ordering::Relaxed).saturating_sub(next);
        let Some(each) = self.each_block(asked) else {
            return false;
        };
        each.saturating_mul(left.into()) > takes.as_nanos() * u128::from(GAIN)
    }
}

impl Drop for Runners<'_> {
    fn drop(&mut self) {
        let [single, together] = [0, 1].map(|i: usize| self.blocks[i].get());
        self.job.single.fetch_add(single, Ordering::Relaxed);
        self.job.together.fetch_add(together, Ordering::Relaxed);
    }
}
