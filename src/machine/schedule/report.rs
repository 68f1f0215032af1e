//! Who waits for whom, when nobody can go on.

use super::{Known, LANES, Schedule, Threads, Warp};
use crate::ir::sync::Op;
use crate::machine::{Fault, FaultKind};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Groups that are shown.
const SHOWN: usize = 12;

/// Where the threads of a CTA wait, of which none can go on.
#[derive(Debug)]
pub struct Standing {
    /// The fault, without details.
    fault: Fault,
    what: &'static str,
    /// A line for each group of threads.
    pub(super) lines: Vec<String>,
}

impl Standing {
    /// The fault, with all lines.
    pub(super) fn into_fault(self) -> Fault {
        let mut detail = self.what.to_string();
        for line in self.lines {
            // Writing to a string does not fail.
            let _ = write!(detail, "\n    {line}");
        }
        self.fault.detail(detail)
    }
}

impl Schedule {
    /// Whether a part of a warp waits at an aligned barrier.
    pub(super) fn is_divided(&self) -> bool {
        self.warps.iter().any(|warp| warp.aligned != 0)
    }

    /// Whether somebody waits at the cluster's barrier.
    pub(super) fn wait_for_cluster(&self) -> bool {
        self.warps.iter().any(|warp| warp.cluster != 0)
    }

    /// The threads that have not arrived at the cluster's barrier.
    pub(super) fn absent(&self) -> Vec<u32> {
        self.lanes(|_, warp| !warp.arrived)
    }

    /// The live threads, by linear index, that are in a mask of lanes of each warp.
    fn lanes(&self, mask: impl Fn(usize, &Warp) -> u32) -> Vec<u32> {
        (0..)
            .zip(&self.warps)
            .flat_map(|(index, warp): (u32, _)| {
                let lanes = warp.live & mask(index as usize, warp);
                let lanes = (0..LANES as u32).filter(move |lane| lanes >> lane & 1 != 0);
                lanes.map(move |lane| index * LANES as u32 + lane)
            })
            .collect()
    }

    /// The fault of a CTA none of whose threads can go on: a deadlock, or a warp of which a part waits at an aligned barrier.
    #[cold]
    pub(super) fn stuck(&self, threads: &impl Threads) -> Fault {
        self.standing(threads).into_fault()
    }

    /// Where the threads of such a CTA wait.
    #[cold]
    pub fn standing(&self, threads: &impl Threads) -> Standing {
        let diverged = (self.warps.iter().enumerate())
            .find(|(_, warp)| warp.aligned != 0)
            .map(|(index, warp)| (index, warp.aligned.trailing_zeros()));
        let first = (self.warps.iter().enumerate()).find(|(_, warp)| warp.live != 0);
        let first = first.map_or((0, 0), |(index, warp)| (index, warp.live.trailing_zeros()));
        let (kind, (warp, lane)) = match diverged {
            Some(at) => (FaultKind::DivergedBarrier, at),
            None => (FaultKind::Deadlock, first),
        };
        let what = match diverged {
            Some(_) => "a part of a warp waits at a barrier that is `.aligned`, the rest elsewhere",
            None => "none of the threads can go on",
        };
        let site = self.warps[warp].record.sites[lane as usize];
        let mut lines = self.waiting(threads, &|warp| warp.live);
        let over = self.threads - self.live;
        if over > 0 {
            lines.push(format!("{over} of {} threads are over", self.threads));
        }
        Standing {
            fault: threads.fault(site, kind, warp as u32, lane),
            what,
            lines,
        }
    }

    /// The fault of a thread. That of one that ran out of time says also who waits where: perhaps for ever, and nobody
    /// can tell as long as one goes on.
    #[cold]
    pub(super) fn ended(&self, fault: Fault, threads: &impl Threads) -> Fault {
        if fault.kind != FaultKind::TimeLimit {
            return fault;
        }
        let waits = |warp: &Warp| warp.masked | warp.aligned | warp.barred | warp.cluster;
        let lines = self.waiting(threads, &waits);
        if lines.is_empty() {
            return fault;
        }
        let mut detail = fault.detail.clone().unwrap_or_default();
        for line in lines {
            // Writing to a string does not fail.
            let _ = write!(detail, "\n    {line}");
        }
        fault.detail(detail)
    }

    /// A line for each group of threads that wait at the same place for the same thing, among the lanes that `of` gives.
    fn waiting(&self, threads: &impl Threads, of: &dyn Fn(&Warp) -> u32) -> Vec<String> {
        let mut groups: BTreeMap<(u32, u64), Vec<u32>> = BTreeMap::new();
        for (index, warp) in (0..).zip(&self.warps) {
            let lanes = of(warp);
            for lane in (0..LANES as u32).filter(|lane| lanes >> lane & 1 != 0) {
                let site = warp.record.sites[lane as usize];
                // The mask of lanes, with the warp, or the number of a barrier.
                let first = || Known::source(threads.known(site), &warp.record.values, 0, lane);
                let key = match threads.op(site) {
                    Op::Barrier { .. } => first(),
                    op if op.is_masked() => first() | u64::from(index) << 32,
                    _ => 0,
                };
                let thread = index * LANES as u32 + lane;
                groups.entry((site, key)).or_default().push(thread);
            }
        }
        let count = groups.len();
        let shown = groups.into_iter().take(SHOWN);
        let mut lines: Vec<String> = shown
            .map(|((site, key), members)| {
                let first = members.first().copied().unwrap_or(0);
                let (warp, lane) = (first / LANES as u32, first % LANES as u32);
                let at = threads.fault(site, FaultKind::Deadlock, warp, lane);
                let source = (at.source.as_ref())
                    .map_or_else(String::new, |(file, line)| format!(" from {file}:{line}"));
                let wait = if members.len() == 1 { "waits" } else { "wait" };
                format!(
                    "{} {wait} at {}:{}{source}: {}{}",
                    named(&members),
                    at.file,
                    at.position,
                    at.instruction,
                    self.missing(threads.op(site), key, &members)
                )
            })
            .collect();
        if count > SHOWN {
            lines.push(format!("and {} more groups", count - SHOWN));
        }
        lines
    }

    /// Who or what a group waits for.
    fn missing(&self, op: Op, key: u64, members: &[u32]) -> String {
        match op {
            op if op.is_aligned() && members.iter().any(|&t| self.is_aligned(t)) => {
                // Other warps of the group may have arrived.
                let aligned = members.iter().filter(|&&t| self.is_aligned(t));
                let warps: Vec<u32> = aligned.map(|t| t / LANES as u32).collect();
                let missing = self.lanes(|index, warp| {
                    if warps.contains(&(index as u32)) {
                        !warp.aligned
                    } else {
                        0
                    }
                });
                format!(" (of their warps {} are missing)", named(&missing))
            }
            Op::Barrier { .. } => {
                let Some(barrier) = self.barriers.get(key as usize) else {
                    return String::new();
                };
                let live = self.warps.iter().map(|warp| warp.live);
                let come = barrier.counted(live);
                let missing = self.lanes(|index, _| !barrier.arrived[index]);
                if barrier.all {
                    format!(" (barrier {key} misses {})", named(&missing))
                } else {
                    format!(
                        " (barrier {key} wants {} threads, {come} have come)",
                        barrier.count
                    )
                }
            }
            // Whom it misses in other CTAs is told once for all.
            Op::ClusterWait { .. } if self.accompanied => String::new(),
            Op::ClusterWait { .. } => format!(" (the cluster misses {})", named(&self.absent())),
            op if op.is_masked() => {
                let (warp, mask) = ((key >> 32) as usize, key as u32);
                let here = |thread: &u32| members.contains(thread);
                let missing = self.lanes(|index, _| if index == warp { mask } else { 0 });
                let missing: Vec<u32> = missing.into_iter().filter(|t| !here(t)).collect();
                format!(" (mask {mask:#010x} misses {})", named(&missing))
            }
            _ => String::new(),
        }
    }

    /// Whether a thread waits at an aligned barrier at which its warp has not arrived.
    fn is_aligned(&self, thread: u32) -> bool {
        let lane = thread % LANES as u32;
        (self.warps.get(thread as usize / LANES)).is_some_and(|warp| warp.aligned >> lane & 1 != 0)
    }
}

/// Threads by their linear index, as ranges.
pub(super) fn named(threads: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &thread in threads {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == thread => *last = thread,
            _ => ranges.push((thread, thread)),
        }
    }
    let shown: Vec<String> = (ranges.iter().take(SHOWN))
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            _ => format!("{first}-{last}"),
        })
        .collect();
    let more = if ranges.len() > SHOWN { ", ..." } else { "" };
    let noun = if threads.len() == 1 {
        "thread"
    } else {
        "threads"
    };
    match threads.len() {
        0 => "no thread".to_string(),
        _ => format!("{noun} {}{more}", shown.join(", ")),
    }
}
