//! Code of kernels whose threads go together, which is made when launches are worth it: how many threads, whether at all.

use super::code::{Code, Inner};
use super::{FunctionStats, Given, Settings};
use crate::ir::FuncId;
use crate::machine::schedule::LANES;
use crate::spmd::facts::SHALLOW;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Making code of a kernel whose threads go together takes about so many times what the code took in which they do not.
const WIDENING: u32 = 12;

/// Most threads that go together, in kernels of no more Cranelift instructions than `TINY`, without loops, or of no more than `SMALL` whose
/// vectors find place in the registers that machines have or whose threads stop.
const MOST: u32 = 16;
const TINY: usize = 110;
const SMALL: usize = 1_000;
const REGISTERS: u32 = 16;

/// Most Cranelift instructions, for each point at which threads stop and in all, of kernels that go by whole warps for it.
const BETWEEN: usize = 200;
const SHORT: usize = 1_200;

/// No kernel of more Cranelift instructions is made to have its threads go together.
const MOST_WIDENED: usize = 20_000;

/// Code of a kernel whose threads go together, made when it pays.
#[derive(Debug, Default)]
pub(super) struct Later {
    /// Whether somebody has begun to make it.
    begun: AtomicBool,
    /// Nothing, in the end, if threads of the kernel do better one by one.
    code: OnceLock<(Option<Inner>, Duration)>,
    /// Whether it turned out to be slower.
    given_up: AtomicBool,
}

impl Code {
    /// Makes code of a kernel whose threads go together, unless somebody else has begun to, and the settings want none; best for blocks with `rows`
    /// threads in x. Launches use it that say so ([`Launch::together`]).
    pub fn make_wide(&self, kernel: FuncId, rows: u32) {
        let (Some(later), Some(width)) = (self.wide.get(kernel.index()), self.settings.later)
        else {
            return;
        };
        if !self.may_widen(kernel) || later.begun.swap(true, Ordering::AcqRel) {
            return;
        }
        let started = Instant::now();
        let make = |width| {
            let settings = Settings {
                width,
                later: None,
                ..self.settings.clone()
            };
            let made = catch_unwind(AssertUnwindSafe(|| {
                let module = &self.inner.module;
                Inner::compile(module, &settings, SHALLOW, &Given::default(), Some(kernel))
            }));
            // What is wrong with it, the code that there is has not.
            let made = made.ok().and_then(Result::ok);
            made.filter(|inner| inner.compiled.together[kernel.index()])
        };
        let roomy = |inner: &Inner| {
            let stats = inner.compiled.function_stats[kernel.index()];
            // Of turns from barrier to barrier there are fewer then.
            let turns = self.stops(kernel) > 0 && rows.is_multiple_of(MOST);
            turns || self.is_tiny(kernel) || stats.vectors <= REGISTERS
        };
        let warps = self.is_made_of_meetings(kernel) && rows.is_multiple_of(LANES as u32);
        let whole = warps.then(|| make(LANES as u32));
        let small = (self.function_stats(kernel)).is_some_and(|s| s.clif_instructions <= SMALL);
        let most = || (small.then(|| make(MOST)).flatten()).filter(roomy);
        let made = (whole.flatten()).or_else(most).or_else(|| make(width));
        // Nobody else has begun.
        drop(later.code.set((made, started.elapsed())));
    }

    /// Whether it is not known yet whether a kernel has code in which threads go together, and about how long finding out takes.
    pub fn widening_takes(&self, kernel: FuncId) -> Option<Duration> {
        let later = self.wide.get(kernel.index())?;
        if !self.may_widen(kernel) || later.begun.load(Ordering::Acquire) {
            return None;
        }
        let stats = self.function_stats(kernel)?;
        Some((stats.lower + stats.compile) * WIDENING)
    }

    /// Whether a kernel has code in which threads go together, besides that in which they do not.
    pub fn is_wide(&self, kernel: FuncId) -> bool {
        self.wide_code(kernel).is_some()
    }

    pub(super) fn wide_code(&self, kernel: FuncId) -> Option<&Inner> {
        let later = self.wide.get(kernel.index())?;
        let (inner, _) = later.code.get()?;
        inner
            .as_ref()
            .filter(|_| !later.given_up.load(Ordering::Relaxed))
    }

    /// Uses the code of a kernel whose threads go together no more: it is slower than the other.
    pub fn give_up_wide(&self, kernel: FuncId) {
        if let Some(later) = self.wide.get(kernel.index()) {
            later.given_up.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a kernel does little beside what a run does once.
    fn is_tiny(&self, kernel: FuncId) -> bool {
        let function = &self.inner.module.functions[kernel.index()];
        let mut loops = false;
        for (i, block) in function.blocks.iter().enumerate() {
            block.terminator.successors(|to| loops |= to.index() <= i);
        }
        let tiny = |stats: FunctionStats| stats.clif_instructions <= TINY;
        !loops && self.function_stats(kernel).is_some_and(tiny)
    }

    /// Whether a kernel does little between one meeting of its threads and the next: whole warps save most, if they are rows.
    fn is_made_of_meetings(&self, kernel: FuncId) -> bool {
        let most = SHORT.min(BETWEEN * self.stops(kernel));
        let short = |stats: FunctionStats| stats.clif_instructions <= most;
        self.function_stats(kernel).is_some_and(short)
    }

    /// At how many points threads of a kernel stop.
    fn stops(&self, kernel: FuncId) -> usize {
        let stops = &self.inner.compiled.entries[kernel.index()].stops;
        stops.as_ref().map_or(0, |stops| stops.sites.len())
    }

    fn may_widen(&self, kernel: FuncId) -> bool {
        let small = (self.function_stats(kernel))
            .is_some_and(|stats| stats.clif_instructions <= MOST_WIDENED);
        self.settings.later.is_some() && self.given.of(kernel).is_none() && small
    }

    /// How long making code later took, all kernels together.
    pub fn later_time(&self) -> Duration {
        let made = self.wide.iter().filter_map(|later| later.code.get());
        made.map(|(_, time)| *time).sum()
    }
}
