//! CTAs that may be left before they are over: a worker has several of them at a time, and runs them by turns.

use super::backend::{Resident, Runner};
use super::grid::Job;
use crate::error::{Error, Usage};
use crate::interp::Trace;
use crate::machine::schedule::{Progress, Shuffle};
use std::sync::atomic::Ordering;

/// Most CTAs that a worker has at a time.
const MOST: usize = 4096;

impl Job {
    /// Takes CTAs in order of their index and runs them, as long as there are some below the first that went wrong.
    ///
    /// A worker has one CTA at first. Whenever none of those that it has came to its end in a pass over them, they may be
    /// waiting for one that has not begun: it may have twice as many. Passes go up and down by turns, so that chains of CTAs
    /// that wait for each other come undone quickly in both directions.
    pub(super) fn run_residents(
        &self,
        runner: &Runner<'_>,
        trace: &mut impl Trace,
    ) -> Result<(), (u64, Error)> {
        let (mut steps, mut blocks) = (0, 0);
        let mut pass = Pass {
            residents: Vec::new(),
            allowed: 1,
            left: true,
            down: false,
        };
        let result = loop {
            if let Err(error) = self.admit(runner, &mut pass) {
                break Err(error);
            }
            if pass.residents.is_empty() {
                break Ok(());
            }
            match self.pass(&mut pass, trace) {
                Ok((done, executed)) => {
                    steps += executed;
                    blocks += done;
                    pass.allowed = if done > 0 {
                        pass.residents.len().max(1)
                    } else {
                        (2 * pass.allowed).min(MOST)
                    };
                    if done == 0 && !pass.left {
                        // What they wait for another worker may have.
                        std::thread::yield_now();
                    }
                }
                Err(error) => break Err(error),
            }
        };
        self.count(steps, blocks);
        result
    }

    /// Begins CTAs, as many as are allowed.
    fn admit<'r>(
        &'r self,
        runner: &'r Runner<'_>,
        pass: &mut Pass<'r>,
    ) -> Result<(), (u64, Error)> {
        while pass.left && pass.residents.len() < pass.allowed {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.end.load(Ordering::Relaxed) {
                pass.left = false;
                break;
            }
            let shuffle = self.seed.map(|seed| Shuffle::new(seed, index));
            match runner.begin_block(&self.room, self.block_at(index), shuffle) {
                Some(resident) => pass.residents.push((index, resident)),
                None => {
                    // It is the last that was taken, unless another worker took one meanwhile.
                    let back = self.next.compare_exchange(
                        index + 1,
                        index,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    );
                    if back.is_ok() && !pass.residents.is_empty() {
                        pass.allowed = pass.residents.len();
                        break;
                    }
                    let bytes = super::grid::ROOM;
                    return Err((index, Usage::HostMemory { bytes }.into()));
                }
            }
        }
        Ok(())
    }

    /// Runs each CTA once. Gives how many came to their end, and how many instructions those executed.
    fn pass(
        &self,
        pass: &mut Pass<'_>,
        trace: &mut impl Trace,
    ) -> Result<(u64, u64), (u64, Error)> {
        let count = pass.residents.len();
        let mut over = vec![false; count];
        let (mut done, mut steps) = (0, 0);
        pass.down = !pass.down;
        for turn in 0..count {
            let at = if pass.down { turn } else { count - 1 - turn };
            let (index, resident) = &mut pass.residents[at];
            let end = self.end.load(Ordering::Relaxed);
            if *index >= end {
                over[at] = true;
                continue;
            }
            match resident.run(trace) {
                Ok(Progress::Done) => {
                    over[at] = true;
                    done += 1;
                    steps += resident.steps();
                }
                // What it waits for may be a CTA that went wrong.
                Ok(Progress::Waits | Progress::Busy) => over[at] = end < self.blocks,
                Err(fault) => return Err((*index, fault.into())),
            }
        }
        let mut over = over.into_iter();
        pass.residents.retain(|_| !over.next().unwrap_or(false));
        Ok((done, steps))
    }
}

/// The CTAs of a worker.
struct Pass<'r> {
    /// In order of their index.
    residents: Vec<(u64, Resident<'r>)>,
    /// How many it may have.
    allowed: usize,
    /// Whether there are some that have not begun.
    left: bool,
    /// Whether the next pass begins with the last.
    down: bool,
}
