//! CTAs that may be left before they are over: a worker has several clusters of them at a time, and runs these by turns. Where
//! nobody speaks of clusters each has one CTA.

use super::cluster::Cluster;
use super::grid::{Job, ROOM, stopped};
use super::runners::Runners;
use crate::error::{Error, Usage};
use crate::interp::Trace;
use crate::machine::schedule::Progress;
use crate::machine::{Fault, FaultKind};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Most clusters that a worker has at a time.
const MOST: usize = 4096;

/// When time has run out, so many CTAs are asked whether threads wait in them.
const ASKED: usize = 16;

impl Job {
    /// Takes clusters in order of their index and runs them, as long as there are some below the first that went wrong.
    ///
    /// A worker has one at first. Whenever none of those that it has came to its end in a pass over them, they may be
    /// waiting for one that has not begun: it may have twice as many, or one more if none of them said so. Passes go up and down by turns, so that chains of them
    /// that wait for each other come undone quickly in both directions.
    pub(super) fn run_residents(
        &self,
        runners: &Runners<'_>,
        trace: &mut impl Trace,
    ) -> Result<(), (u64, Error)> {
        let (mut steps, mut blocks) = (0, 0);
        let mut pass = Pass {
            residents: Vec::new(),
            spare: None,
            together: false,
            allowed: 1,
            left: true,
            taken: Taken(0..0),
            down: false,
        };
        let result = loop {
            if let Err(error) = self.admit(runners, &mut pass) {
                break Err(error);
            }
            if pass.residents.is_empty() {
                if !pass.left {
                    break Ok(());
                }
                // Other workers have all the memory.
                std::thread::yield_now();
                continue;
            }
            match self.pass(runners, &mut pass, trace) {
                Ok(Passed {
                    done,
                    blocks: over,
                    steps: executed,
                    waits,
                }) => {
                    steps += executed;
                    blocks += over;
                    pass.allowed = match (done, waits) {
                        (0, true) => (2 * pass.allowed).min(MOST),
                        (0, false) => (1 + pass.allowed).min(MOST),
                        _ => pass.residents.len().max(1),
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

    /// Begins clusters, as many as are allowed and there is memory for.
    fn admit<'r>(
        &'r self,
        runners: &'r Runners<'_>,
        pass: &mut Pass<'r>,
    ) -> Result<(), (u64, Error)> {
        while pass.left && pass.residents.len() < pass.allowed {
            let Some(index) = pass.taken.take(self) else {
                pass.left = false;
                break;
            };
            let block = self.block_at(index, 0);
            if self.stop.is_raised() {
                if pass.residents.is_empty() {
                    let fault = stopped(self.instance.ir(), self.kernel, block);
                    return Err((index, fault.into()));
                }
                // Those that there are tell where they were.
                pass.taken.give_back(index);
                break;
            }
            let (runner, together) = runners.next().map_err(|error| (index, error))?;
            if std::mem::replace(&mut pass.together, together) != together {
                // It is of other code.
                pass.spare = None;
            }
            let again = pass.spare.take();
            let again = again.and_then(|mut spare| spare.restart(self, index).then_some(spare));
            let begun = again.or_else(|| Cluster::begin(self, runner, index));
            if let Some(cluster) = begun {
                pass.residents.push((index, cluster));
                continue;
            }
            if self.room.left() == ROOM {
                let bytes = ROOM;
                return Err((index, Usage::HostMemory { bytes }.into()));
            }
            pass.taken.give_back(index);
            pass.allowed = pass.residents.len().max(1);
            break;
        }
        Ok(())
    }

    /// Runs each cluster once; and those that follow the only one, as long as each comes to its end.
    fn pass(
        &self,
        runners: &Runners<'_>,
        pass: &mut Pass<'_>,
        trace: &mut impl Trace,
    ) -> Result<Passed, (u64, Error)> {
        let count = pass.residents.len();
        let mut over = vec![false; count];
        let mut passed = Passed::default();
        pass.down = !pass.down;
        for turn in 0..count {
            let at = if pass.down { turn } else { count - 1 - turn };
            let (index, resident) = &mut pass.residents[at];
            let end = self.end.load(Ordering::Relaxed);
            if *index >= end {
                over[at] = true;
                continue;
            }
            let mut before = 0;
            let next = || {
                let only = count == 1 && pass.allowed == 1 && pass.left;
                if !only || self.seed.is_some() {
                    return None;
                }
                let next = pass.taken.take(self)?;
                let goes = !self.stop.is_raised() && {
                    let next = runners.next();
                    next.is_ok_and(|(_, together)| together == pass.together)
                };
                if !goes {
                    pass.taken.give_back(next);
                    return None;
                }
                before += 1;
                *index = next;
                Some(self.block_at(next, 0))
            };
            let ran = resident.run(trace, next);
            passed.blocks += before;
            // Each of those had a pass of its own.
            pass.down ^= before % 2 != 0;
            match ran {
                Ok(Progress::Done) => {
                    passed.done += 1;
                    passed.blocks += resident.blocks();
                    passed.steps += resident.steps();
                    over[at] = true;
                }
                // What it waits for may be a CTA that went wrong.
                Ok(progress @ (Progress::Waits | Progress::Stuck | Progress::Busy)) => {
                    passed.waits |= progress == Progress::Waits;
                    over[at] = end < self.units();
                }
                Err(fault) => {
                    let first = (*index, fault);
                    let (index, fault) = self.telling(first, &mut pass.residents, trace);
                    return Err((index, fault.into()));
                }
            }
        }
        for at in (0..count).rev().filter(|&at| over[at]) {
            let (_, resident) = pass.residents.remove(at);
            pass.spare = Some(resident);
        }
        Ok(passed)
    }
}

impl Job {
    /// The fault to report of a CTA that ran out of time: that of another one if threads wait there, while none does here.
    fn telling(
        &self,
        first: (u64, Fault),
        residents: &mut [(u64, Cluster<'_>)],
        trace: &mut impl Trace,
    ) -> (u64, Fault) {
        let late = |fault: &Fault| fault.kind == FaultKind::TimeLimit && self.stop.is_raised();
        let waiting = |fault: &Fault| fault.detail.as_ref().is_some_and(|d| d.contains('\n'));
        if !late(&first.1) || waiting(&first.1) {
            return first;
        }
        let others = residents.iter_mut().filter(|(index, _)| *index != first.0);
        for (index, resident) in others.take(ASKED) {
            match resident.run(trace, || None) {
                Err(fault) if late(&fault) && waiting(&fault) => return (*index, fault),
                Err(_) | Ok(_) => {}
            }
        }
        first
    }
}

/// What came of a pass.
#[derive(Default)]
struct Passed {
    /// Clusters that came to their end, their CTAs, and the instructions that they executed.
    done: u64,
    blocks: u64,
    steps: u64,
    /// Whether one waits for others.
    waits: bool,
}

/// The clusters of a worker.
struct Pass<'r> {
    /// In order of their index.
    residents: Vec<(u64, Cluster<'r>)>,
    /// One that is over, for its memory.
    spare: Option<Cluster<'r>>,
    /// Whether threads go together in it.
    together: bool,
    /// How many it may have.
    allowed: usize,
    /// Whether there are some that have not begun.
    left: bool,
    /// Those that it has taken and not begun.
    taken: Taken,
    /// Whether the next pass begins with the last.
    down: bool,
}

/// Clusters that a worker has taken and not begun.
struct Taken(Range<u64>);

impl Taken {
    /// The next of them; it takes some more if there are none. `None` if none are left of the launch.
    fn take(&mut self, job: &Job) -> Option<u64> {
        if self.0.is_empty() {
            let chunk = job.chunk();
            let first = job.next.fetch_add(chunk, Ordering::Relaxed);
            self.0 = first..first.saturating_add(chunk);
        }
        let next = self.0.next();
        next.filter(|&next| next < job.end.load(Ordering::Relaxed))
    }

    /// Takes it back that the one that was taken last should begin.
    fn give_back(&mut self, index: u64) {
        self.0.start = index;
    }
}
