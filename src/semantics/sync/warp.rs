//! Warp operations, over 32 lanes at once.

use super::super::float;
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
            // One lane alone is without its sign, too, if that is asked for.
            let first = match op {
                ReduxOp::Float(_) => redux(op, first, first),
                _ => first,
            };
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
        Op::Warp | Op::Barrier { .. } | Op::ClusterArrive { .. } | Op::ClusterWait { .. } => {}
    }
}

/// The lanes of a mask, ascending.
fn each(lanes: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| lanes >> lane & 1 != 0)
}

/// Gives lanes a value.
pub fn give(lanes: u32, row: &mut [u64; 32], value: impl Into<u64>) {
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
pub fn ballot(predicates: &[u64; 32]) -> u32 {
    (0..)
        .zip(predicates)
        .fold(0, |mask, (lane, p)| mask | (*p as u32 & 1) << lane)
}

/// Whether all lanes have the same value.
#[inline]
pub fn uniform<T: PartialEq>(values: &[T; 32]) -> bool {
    // As slices of plain words they are compared many bytes at once.
    values[1..] == values[..31]
}

fn shfl(mode: ShflMode, lanes: u32, first: usize, values: &mut Values) {
    let a = values[first];
    let of_all = |i: usize| uniform(&values[first + i]).then_some(values[first + i][0] as u32);
    if lanes == u32::MAX
        && let (Some(b), Some(c)) = (of_all(1), of_all(2))
    {
        // What is the same for all lanes is computed once, for each mode by itself.
        return match mode {
            ShflMode::Up => shfl_whole(&a, values, |own| source(ShflMode::Up, own, b, c)),
            ShflMode::Down => shfl_whole(&a, values, |own| source(ShflMode::Down, own, b, c)),
            ShflMode::Bfly => shfl_whole(&a, values, |own| source(ShflMode::Bfly, own, b, c)),
            ShflMode::Idx => shfl_whole(&a, values, |own| source(ShflMode::Idx, own, b, c)),
        };
    }
    for lane in each(lanes) {
        let [b, c] = [1, 2].map(|i| values[first + i][lane] as u32);
        let own = lane as u32;
        let (j, p) = source(mode, own, b, c);
        let source = if p && lanes >> j & 1 != 0 { j } else { own };
        values[0][lane] = a[source as usize];
        values[1][lane] = u64::from(p);
    }
}

/// How the lanes of a whole warp shuffle, where b and c of `shfl.sync` are the same for all and known beforehand.
#[derive(Debug, Clone)]
pub struct Route {
    /// The lane that each gets its value from.
    from: [u8; 32],
    in_range: u32,
    /// Whether anybody wants to know of that.
    tells: bool,
}

impl Route {
    /// By b and c. `tells`: whether the second destination is wanted.
    pub fn new(mode: ShflMode, b: u32, c: u32, tells: bool) -> Self {
        let mut route = Route {
            from: [0; 32],
            in_range: 0,
            tells,
        };
        for (own, from) in (0..).zip(&mut route.from) {
            let (j, p) = source(mode, own, b, c);
            *from = if p { j } else { own } as u8;
            route.in_range |= u32::from(p) << own;
        }
        route
    }

    /// The lane that a lane gets its value from, and whether that is the one it asked for.
    pub fn from(&self, lane: u32) -> (u32, bool) {
        let from = self.from[(lane & 31) as usize];
        (from.into(), self.in_range >> (lane & 31) & 1 != 0)
    }

    /// `shfl.sync` of a whole warp, each lane of which gives a value; sources and results as those of [`warp`].
    pub fn shuffle(&self, values: &mut Values) {
        let [d, a, ..] = values;
        for (d, from) in d.iter_mut().zip(self.from) {
            *d = a[usize::from(from & 31)];
        }
        if self.tells {
            for (lane, p) in (0..).zip(a.iter_mut()) {
                *p = u64::from(self.in_range >> lane & 1);
            }
        }
    }
}

/// `shfl` of a whole warp, each lane of which gives a value.
#[inline]
fn shfl_whole(a: &[u64; 32], values: &mut Values, source: impl Fn(u32) -> (u32, bool)) {
    let [d, in_range, ..] = values;
    for (own, (d, in_range)) in (0..).zip(d.iter_mut().zip(in_range)) {
        let (j, p) = source(own);
        *d = a[(if p { j } else { own } & 31) as usize];
        *in_range = u64::from(p);
    }
}

/// PTX ISA, `shfl.sync`: with segmask = c\[12:8\], maxLane = (lane & segmask) | (c & ~segmask), minLane = lane & segmask, the
/// source j and whether it is in range; out of range a lane keeps its own.
#[inline(always)]
fn source(mode: ShflMode, own: u32, b: u32, c: u32) -> (u32, bool) {
    let b = b & 31;
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
    (j & 31, p)
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
        ReduxOp::Float(op) => float::eval(op, &[a.into(), b.into()])[0] as u32,
    }
}
