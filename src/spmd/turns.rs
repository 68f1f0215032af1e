//! How long runs go on that pass warp operations without stopping: a warp that has run often enough ends its turn, also in a loop of operations
//! that it passes.
//!
//! At some of the points that they pass, runs ask whether their turn is over. On every way from one such point to the next, or to one at which
//! runs stop, there are no more than [`MOST_PASSED`] points; so no cycle is without.

use super::cfg::Cfg;
use super::regions::Regions;
use crate::ir::{Block, Function};

/// Points that a run passes without asking.
const MOST_PASSED: u32 = 32;

/// Where runs ask whether their turn is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turns {
    /// For each point at which they ask how many they pass at most, with it, before they ask again or stop; 0 where they do not.
    passed: Vec<u32>,
    /// How many they pass at most from the start, or from a point behind which they go on, before they ask or stop.
    most: u32,
}

impl Turns {
    /// For a function whose threads stop at the points of `stops`, and pass those for which `passed` gives one at the end of a block; with its
    /// control flow.
    pub fn new(
        function: &Function,
        stops: &Regions,
        cfg: &Cfg,
        passed: impl Fn(Block) -> Option<u32>,
    ) -> Self {
        let mut turns = Turns {
            passed: vec![0; stops.points.len()],
            most: 0,
        };
        let points: Vec<Option<u32>> = (0..function.blocks.len() as u32)
            .map(|b| passed(Block(b)))
            .collect();
        let ways = Ways {
            function,
            stops,
            cfg,
            points,
        };
        while ways.ask(&mut turns.passed) {}
        let ahead = ways.ahead(&turns.passed);
        for (b, point) in ways.points.iter().enumerate() {
            if let Some(point) = *point
                && turns.passed[point as usize] != 0
            {
                turns.passed[point as usize] = 1 + ways.behind(Block(b as u32), &ahead);
            }
        }
        turns.most = ahead.into_iter().max().unwrap_or(0);
        turns
    }

    /// Whether runs pass any point.
    pub fn passes_any(&self) -> bool {
        self.most > 0 || self.passed.iter().any(|&n| n > 0)
    }

    /// How many points runs pass at most from one on, with it, before they ask again or stop, if they ask there.
    pub fn asks(&self, point: u32) -> Option<u32> {
        let passed = self.passed.get(point as usize).copied();
        passed.filter(|&n| n > 0)
    }

    /// How many points runs pass at most from wherever they go on, before they ask or stop.
    pub fn most(&self) -> u32 {
        self.most
    }
}

/// The ways of a function.
struct Ways<'a> {
    function: &'a Function,
    stops: &'a Regions,
    cfg: &'a Cfg,
    /// For each block the point at its end that is passed.
    points: Vec<Option<u32>>,
}

impl Ways<'_> {
    /// Has runs ask at points which come first on ways that would be too long, or lead round a cycle. Whether there were any.
    fn ask(&self, asked: &mut [u32]) -> bool {
        let order = self.cfg.order();
        let mut number = vec![0; self.function.blocks.len()];
        for (i, b) in order.iter().enumerate() {
            number[b.index()] = i;
        }
        // Points since the last at which was asked, on the longest way to the end of each block. Ways back have any number, if it is not zero:
        // which is known after some rounds.
        let mut since = vec![0; self.function.blocks.len()];
        let mut found = false;
        loop {
            let mut changed = false;
            for &b in order {
                let mut count = 0;
                for &p in self.cfg.preds(b) {
                    let back = number[p.index()] >= number[b.index()];
                    let before: u32 = since[p.index()];
                    count = count.max(if back {
                        before.min(1) * MOST_PASSED
                    } else {
                        before
                    });
                }
                if let Some(point) = self.points[b.index()] {
                    count += 1;
                    let asks = &mut asked[point as usize];
                    if *asks == 0 && count > MOST_PASSED {
                        (*asks, found) = (1, true);
                    }
                    if *asks != 0 {
                        count = 1;
                    }
                }
                if self.stops.meets(b).is_some() {
                    count = 0;
                }
                changed |= std::mem::replace(&mut since[b.index()], count) != count;
            }
            if !changed || found {
                return found;
            }
        }
    }

    /// How many points are passed at most from the start of each block, before it is asked or runs stop.
    fn ahead(&self, asked: &[u32]) -> Vec<u32> {
        let mut ahead = vec![0; self.function.blocks.len()];
        loop {
            let mut changed = false;
            for &b in self.cfg.order().iter().rev() {
                let behind = self.behind(b, &ahead);
                let count = match self.points[b.index()] {
                    Some(point) if asked[point as usize] != 0 => 0,
                    Some(_) => 1 + behind,
                    None => behind,
                };
                changed |= std::mem::replace(&mut ahead[b.index()], count) != count;
            }
            if !changed {
                return ahead;
            }
        }
    }

    /// How many are passed at most behind the end of a block.
    fn behind(&self, block: Block, ahead: &[u32]) -> u32 {
        let mut most = 0;
        if self.stops.meets(block).is_none() {
            let ends = &self.function.block(block).terminator;
            ends.successors(|s| most = most.max(ahead[s.index()]));
        }
        most
    }
}
