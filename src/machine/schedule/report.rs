//! Who waits for whom, when nobody can go on.

use super::{LANES, Schedule, Threads};
use crate::ir::sync::Op;
use crate::machine::{Fault, FaultKind};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Groups that are shown.
const SHOWN: usize = 12;

impl Schedule {
    /// The fault of a CTA none of whose threads can go on: a deadlock, or a warp of which a part waits at an aligned barrier.
    #[cold]
    pub(super) fn stuck(&self, threads: &impl Threads) -> Fault {
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
        let mut detail = what.to_string();
        for line in self.waiting(threads) {
            // Writing to a string does not fail.
            let _ = write!(detail, "\n    {line}");
        }
        let over = self.threads - self.live;
        if over > 0 {
            let _ = write!(detail, "\n    {over} of {} threads are over", self.threads);
        }
        (threads.fault(site, kind, warp as u32, lane)).detail(detail)
    }

    /// A line for each group of threads that wait at the same place for the same thing.
    fn waiting(&self, threads: &impl Threads) -> Vec<String> {
        let mut groups: BTreeMap<(u32, u64), Vec<u32>> = BTreeMap::new();
        for (index, warp) in (0..).zip(&self.warps) {
            for lane in (0..LANES as u32).filter(|lane| warp.live >> lane & 1 != 0) {
                let site = warp.record.sites[lane as usize];
                // The mask of lanes, with the warp, or the number of a barrier.
                let key = match threads.op(site) {
                    Op::Barrier { .. } => warp.record.values[0][lane as usize],
                    op if op.is_masked() => {
                        warp.record.values[0][lane as usize] | u64::from(index) << 32
                    }
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
        let those = |is: &dyn Fn(usize, u32) -> u32| -> Vec<u32> {
            (0..)
                .zip(&self.warps)
                .flat_map(|(index, warp): (u32, _)| {
                    let lanes = warp.live & is(index as usize, warp.live);
                    let lanes = (0..LANES as u32).filter(move |lane| lanes >> lane & 1 != 0);
                    lanes.map(move |lane| index * LANES as u32 + lane)
                })
                .collect()
        };
        match op {
            Op::Barrier { aligned: true, .. } if members.iter().any(|&t| self.is_aligned(t)) => {
                let warps: Vec<u32> = members.iter().map(|t| t / LANES as u32).collect();
                let missing = those(&|index, live| {
                    let of = warps.contains(&(index as u32));
                    if of {
                        live & !self.warps[index].aligned
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
                let missing = those(&|index, live| live & !barrier.arrived[index]);
                if barrier.all {
                    format!(" (barrier {key} misses {})", named(&missing))
                } else {
                    format!(
                        " (barrier {key} wants {} threads, {come} have come)",
                        barrier.count
                    )
                }
            }
            Op::ClusterWait => {
                let missing = those(&|index, live| live & !self.warps[index].arrived);
                format!(" (the cluster misses {})", named(&missing))
            }
            op if op.is_masked() => {
                let (warp, mask) = ((key >> 32) as usize, key as u32);
                let here = |thread: &u32| members.contains(thread);
                let missing = those(&|index, _| if index == warp { mask } else { 0 });
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
fn named(threads: &[u32]) -> String {
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
