//! Barriers of the CTA. PTX ISA, `bar`, `barrier.cluster`.

use super::{LANES, Schedule, Undefined, same, waits};
use crate::ir::sync::{BarrierAction, Op};
use crate::semantics::sync;

/// Barriers of a CTA.
const BARRIERS: usize = 16;

/// One of the barriers 0 to 15.
#[derive(Debug, Clone, Default)]
pub(super) struct Barrier {
    /// Lanes that have arrived, and those of them that wait, for each warp.
    pub arrived: Vec<u32>,
    pub waiting: Vec<u32>,
    /// Arrivals; more than lanes that have arrived if one came twice.
    pub arrivals: u32,
    /// Threads that are waited for, with those that are over where their warp has come.
    pub count: u32,
    /// Whether threads came that wait for all live ones, and some that gave a number.
    pub all: bool,
    pub numbered: bool,
    /// The reduction, threads that gave a predicate, those for which it holds.
    pub action: Option<BarrierAction>,
    pub holds: u32,
}

impl Barrier {
    /// Lanes that have arrived and are in `among`, which has a mask for each warp.
    pub fn present(&self, among: impl Iterator<Item = u32>) -> u32 {
        let lanes = self.arrived.iter().zip(among);
        lanes
            .map(|(arrived, among)| (arrived & among).count_ones())
            .sum()
    }

    /// How many count as arrived: of a warp that has come, those that do not live too.
    pub fn counted(&self, live: impl Iterator<Item = u32>) -> u32 {
        let warps = self.arrived.iter().zip(live);
        let absent = warps.filter(|(arrived, _)| **arrived != 0);
        let absent: u32 = absent
            .map(|(arrived, live)| (!arrived & !live).count_ones())
            .sum();
        self.arrivals + absent
    }
}

impl Schedule {
    /// Lanes of a warp come to a barrier.
    pub(super) fn arrive(
        &mut self,
        index: usize,
        lanes: u32,
        site: u32,
        op: Op,
    ) -> Result<(), Undefined> {
        let Op::Barrier {
            action,
            counted,
            aligned,
        } = op
        else {
            return Ok(());
        };
        let wrong = |lanes: u32, what| {
            Err(Undefined {
                site,
                lane: lanes.trailing_zeros(),
                what,
            })
        };
        let everybody = self.warps.len() as u32 * LANES as u32;
        if self.barriers.is_empty() {
            self.barriers.resize(BARRIERS, Barrier::default());
        }
        let mut left = lanes;
        while left != 0 {
            let warp = &self.warps[index];
            let values = &warp.record.values;
            let lane = left.trailing_zeros() as usize;
            let number = values[0][lane];
            let count = if counted {
                values[1][lane] as u32
            } else {
                everybody
            };
            let mut group = left & same(&values[0], number);
            if counted {
                group &= same(&values[1], values[1][lane]);
            }
            if aligned && group != lanes {
                let what = "threads of one warp name different barriers at one that is `.aligned`";
                return wrong(lanes & !group, what);
            }
            left &= !group;
            let Some(barrier) = self.barriers.get_mut(number as usize) else {
                return wrong(group, "a barrier has a number from 0 to 15");
            };
            if count == 0 || !count.is_multiple_of(LANES as u32) {
                return wrong(group, "the number of threads is not a multiple of 32");
            }
            let reduces = match action {
                BarrierAction::Popc | BarrierAction::And | BarrierAction::Or => Some(action),
                BarrierAction::Sync | BarrierAction::Arrive => None,
            };
            if barrier.arrivals == 0 {
                barrier.arrived.resize(self.warps.len(), 0);
                barrier.waiting.resize(self.warps.len(), 0);
                (barrier.count, barrier.action) = (count, reduces);
            } else if barrier.count != count {
                return wrong(
                    group,
                    "threads wait at one barrier for different numbers of threads",
                );
            } else if barrier.action != reduces {
                return wrong(group, "threads do different things at one barrier");
            }
            barrier.all |= !counted;
            barrier.numbered |= counted;
            barrier.arrivals += group.count_ones();
            barrier.arrived[index] |= group;
            if reduces.is_some() {
                let place = predicate(counted);
                let holds =
                    (0..LANES).filter(|lane| group >> lane & values[place][*lane] as u32 & 1 != 0);
                barrier.holds += holds.count() as u32;
            }
            let warp = &mut self.warps[index];
            if waits(action) {
                barrier.waiting[index] |= group;
                warp.barred |= group;
            } else {
                warp.ready |= group;
            }
            self.open(number as usize);
        }
        Ok(())
    }

    /// Lets those who wait at a barrier go, if enough have arrived.
    fn open(&mut self, number: usize) {
        let barrier = &mut self.barriers[number];
        if barrier.arrivals == 0 {
            return;
        }
        let live = || self.warps.iter().map(|warp| warp.live);
        let all = || barrier.arrivals >= self.live && barrier.present(live()) >= self.live;
        let enough = || barrier.counted(live()) >= barrier.count;
        if !(barrier.all && all() || barrier.numbered && enough()) {
            return;
        }
        let result = barrier
            .action
            .map(|action| sync::barrier(action, barrier.arrivals, barrier.holds));
        for (warp, waiting) in self.warps.iter_mut().zip(&mut barrier.waiting) {
            let lanes = std::mem::take(waiting);
            if let Some(result) = result {
                (0..LANES)
                    .filter(|lane| lanes >> lane & 1 != 0)
                    .for_each(|lane| warp.record.values[0][lane] = result);
            }
            warp.barred &= !lanes;
            warp.ready |= lanes;
        }
        barrier.arrived.fill(0);
        (barrier.arrivals, barrier.holds) = (0, 0);
        (barrier.all, barrier.numbered) = (false, false);
    }

    /// Lanes of a warp are over: nobody waits for them any more.
    pub(super) fn without(&mut self, index: usize, lanes: u32) {
        let warp = &mut self.warps[index];
        warp.arrived &= !lanes;
        warp.passed &= !lanes;
        for number in 0..self.barriers.len() {
            self.open(number);
        }
        self.open_cluster();
    }

    /// `barrier.cluster.arrive`, in a cluster of one CTA.
    pub(super) fn cluster_arrive(
        &mut self,
        index: usize,
        lanes: u32,
        site: u32,
    ) -> Result<(), Undefined> {
        let warp = &mut self.warps[index];
        let twice = lanes & (warp.arrived | warp.passed);
        if twice != 0 {
            return Err(Undefined {
                site,
                lane: twice.trailing_zeros(),
                what: "the thread arrives twice without waiting",
            });
        }
        warp.arrived |= lanes;
        warp.ready |= lanes;
        self.open_cluster();
        Ok(())
    }

    /// Ends the phase of the cluster's barrier, if all live threads have arrived.
    fn open_cluster(&mut self) {
        if self.live == 0 || self.warps.iter().any(|warp| warp.live & !warp.arrived != 0) {
            return;
        }
        for warp in &mut self.warps {
            let arrived = std::mem::take(&mut warp.arrived);
            let go = warp.cluster & arrived;
            warp.cluster &= !go;
            warp.ready |= go;
            warp.passed |= arrived & !go;
        }
    }
}

/// Which source the predicate of a reduction is.
fn predicate(counted: bool) -> usize {
    1 + usize::from(counted)
}
