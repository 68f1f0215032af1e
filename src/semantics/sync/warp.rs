//! Warp operations, over 32 lanes at once.

use crate::ir::sync::{Op, ReduxOp, ShflMode, VoteMode};

/// Operands by source and lane, then results by destination and lane.
pub type Values = [[u64; 32]; 4];

/// Computes `op` for the lanes that come together. `values` holds their sources as [`Op::signature`] orders them; the
/// results take the place of the first two. Values of other lanes do not count, and stay.
///
/// Lanes of `lanes` give a value; where `shfl` asks one that does not, the ISA leaves the value open, and a lane keeps its own.
pub fn warp(op: Op, lanes: u32, values: &mut Values) {
    let first = usize::from(op.is_masked());
    match op {
        Op::Shfl { mode, sync: _ } => shfl(mode, lanes, first, values),
        Op::Vote { mode, sync: _ } => {
            let d = vote(mode, lanes, ballot(&values[first]) & lanes);
            give(lanes, &mut values[0], d);
        }
        Op::MatchAny { class: _ } => match_any(lanes, values),
        Op::MatchAll { class: _ } => {
            let a = one_of(lanes, &values[1]);
            let same = each(lanes).all(|lane| values[1][lane] == a);
            give(lanes, &mut values[0], if same { lanes } else { 0 });
            give(lanes, &mut values[1], same);
        }
        Op::Redux { op } => {
            let mut all = each(lanes).map(|lane| values[1][lane] as u32);
            let first = all.next().unwrap_or(0);
            let d = all.fold(first, |a, b| redux(op, a, b));
            give(lanes, &mut values[0], d);
        }
        Op::ActiveMask => give(lanes, &mut values[0], lanes),
        Op::Elect => {
            let elected = lanes.trailing_zeros();
            give(lanes, &mut values[0], elected);
            give(lanes, &mut values[1], false);
            give(lanes & lanes.wrapping_neg(), &mut values[1], true);
        }
        Op::Warp | Op::Barrier { .. } | Op::ClusterArrive { .. } | Op::ClusterWait => {}
    }
}

/// The lanes of a mask, ascending.
fn each(lanes: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| lanes >> lane & 1 != 0)
}

/// Gives lanes a value.
fn give(lanes: u32, row: &mut [u64; 32], value: impl Into<u64>) {
    let value = value.into();
    if lanes == u32::MAX {
        *row = [value; 32];
    } else {
        each(lanes).for_each(|lane| row[lane] = value);
    }
}

/// The value of the lowest lane.
fn one_of(lanes: u32, values: &[u64; 32]) -> u64 {
    each(lanes).next().map_or(0, |lane| values[lane])
}

/// One bit a lane.
fn ballot(predicates: &[u64; 32]) -> u32 {
    (predicates.iter().rev()).fold(0, |mask, p| mask << 1 | (*p as u32 & 1))
}

/// PTX ISA, `shfl.sync`: with segmask = c\[12:8\], maxLane = (lane & segmask) | (c & ~segmask), minLane = lane & segmask, the
/// source j and whether it is in range; out of range a lane keeps its own.
fn shfl(mode: ShflMode, lanes: u32, first: usize, values: &mut Values) {
    let a = values[first];
    for lane in each(lanes) {
        let b = values[first + 1][lane] as u32 & 31;
        let c = values[first + 2][lane] as u32;
        let own = lane as u32;
        let segmask = c >> 8 & 31;
        let min_lane = own & segmask;
        let max_lane = min_lane | (c & 31 & !segmask);
        let (j, p) = match mode {
            ShflMode::Up => {
                let j = own.wrapping_sub(b) as i32;
                (j as u32, j >= max_lane as i32)
            }
            ShflMode::Down => (own + b, own + b <= max_lane),
            ShflMode::Bfly => (own ^ b, own ^ b <= max_lane),
            ShflMode::Idx => {
                let j = min_lane | (b & !segmask);
                (j, j <= max_lane)
            }
        };
        let j = j & 31;
        let source = if p && lanes >> j & 1 != 0 { j } else { own };
        values[0][lane] = a[source as usize];
        values[1][lane] = u64::from(p);
    }
}

/// PTX ISA, `vote.sync`: of the lanes those for which the predicate holds.
fn vote(mode: VoteMode, lanes: u32, holds: u32) -> u32 {
    match mode {
        VoteMode::All => u32::from(holds == lanes),
        VoteMode::Any => u32::from(holds != 0),
        VoteMode::Uni => u32::from(holds == lanes || holds == 0),
        VoteMode::Ballot => holds,
    }
}

/// The lanes that have the same value as each.
fn match_any(lanes: u32, values: &mut Values) {
    let [d, a, ..] = values;
    let mut left = lanes;
    while left != 0 {
        let value = one_of(left, a);
        let same = each(left)
            .filter(|&lane| a[lane] == value)
            .fold(0u32, |mask, lane| mask | 1 << lane);
        each(same).for_each(|lane| d[lane] = same.into());
        left &= !same;
    }
}

fn redux(op: ReduxOp, a: u32, b: u32) -> u32 {
    let signed = |smaller: bool| {
        if ((a as i32) < b as i32) == smaller {
            a
        } else {
            b
        }
    };
    match op {
        ReduxOp::Add => a.wrapping_add(b),
        ReduxOp::Min { signed: false } => a.min(b),
        ReduxOp::Max { signed: false } => a.max(b),
        ReduxOp::Min { signed: true } => signed(true),
        ReduxOp::Max { signed: true } => signed(false),
        ReduxOp::And => a & b,
        ReduxOp::Or => a | b,
        ReduxOp::Xor => a ^ b,
    }
}
