//! Barriers of the CTA. PTX ISA, `bar`, `barrier.cluster`.

use super::{Known, LANES, Schedule, Undefined, same, waits};
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
    /// Lanes of a warp come to a barrier. What is known of it is not looked for in the record.
    pub(super) fn arrive(
        &mut self,
        index: usize,
        lanes: u32,
        site: u32,
        op: Op,
        known: Option<&Known>,
    ) -> Result<(), Undefined> {
        let (action, counted, aligned) = match op {
            Op::Barrier {
                action,
                counted,
                aligned,
            } => (action, counted, aligned),
            Op::ClusterArrive { .. } => return self.cluster_arrive(index, lanes, site),
            Op::ClusterWait { .. } => {
                self.cluster_wait(index, lanes);
                return Ok(());
            }
            // Nothing else is a barrier.
            Op::Warp
            | Op::Shfl { .. }
            | Op::Vote { .. }
            | Op::MatchAny { .. }
            | Op::MatchAll { .. }
            | Op::Redux { .. }
            | Op::ActiveMask
            | Op::Elect => return Ok(()),
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
        let constant = |source: usize| known.and_then(|known| known.constant(source));
        let mut left = lanes;
        while left != 0 {
            let warp = &self.warps[index];
            let values = &warp.record.values;
            let lane = left.trailing_zeros() as usize;
            let mut group = left;
            let mut alike = |source: usize| {
                constant(source).unwrap_or_else(|| {
                    let value = values[source][lane];
                    group &= same(&values[source], value);
                    value
                })
            };
            let number = alike(0);
            let count = if counted { alike(1) as u32 } else { everybody };
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
                let held = match constant(place) {
                    Some(predicate) => 0u32.wrapping_sub(predicate as u32 & 1),
                    None => sync::ballot(&values[place]),
                };
                barrier.holds += (group & held).count_ones();
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

    /// Does what [`Schedule::arrive`] would for all live lanes of a warp that come to a barrier of which others are waiting
    /// already, all for the same: the common case, in few instructions. Whether it did.
    #[inline]
    pub(super) fn arrive_plainly(&mut self, index: usize, live: u32, number: usize) -> bool {
        let Some(barrier) = self.barriers.get_mut(number) else {
            return false;
        };
        let alike = barrier.all && !barrier.numbered && barrier.action.is_none();
        if barrier.arrivals == 0 || !alike {
            return false;
        }
        barrier.arrivals += live.count_ones();
        barrier.arrived[index] |= live;
        barrier.waiting[index] |= live;
        self.warps[index].barred |= live;
        if barrier.arrivals >= self.live {
            self.open(number);
        }
        true
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
        self.opened = true;
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
        self.open_alone();
    }

    /// `barrier.cluster.arrive`
    fn cluster_arrive(&mut self, index: usize, lanes: u32, site: u32) -> Result<(), Undefined> {
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
        self.open_alone();
        Ok(())
    }

    /// `barrier.cluster.wait`
    fn cluster_wait(&mut self, index: usize, lanes: u32) {
        let warp = &mut self.warps[index];
        let passes = warp.passed & lanes;
        warp.passed &= !passes;
        warp.ready |= passes;
        warp.cluster |= lanes & !passes;
    }

    /// Ends the phase of the cluster's barrier, if all live threads have arrived and there is no other CTA.
    fn open_alone(&mut self) {
        if !self.accompanied && self.live > 0 && self.has_arrived() {
            self.open_cluster();
        }
    }

    /// Whether all live threads have arrived at the cluster's barrier.
    pub(super) fn has_arrived(&self) -> bool {
        self.warps.iter().all(|warp| warp.live & !warp.arrived == 0)
    }

    /// Ends the phase of the cluster's barrier.
    pub(super) fn open_cluster(&mut self) {
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
