//! The ISA's own pseudo-code and sentences, written again over lists of lanes; states followed by hand.

use super::mbarrier::{self, Arrival};
use super::{Values, atomic, barrier, warp};
use crate::ir::sync::{AtomicOp, BarrierAction, Op, ReduxOp, ShflMode, VoteMode};
use crate::ir::{IntTy, RegClass};
use proptest::prelude::*;

/// d and p of a lane, as the pseudo-code of `shfl.sync` says; `source_a` has an entry for each lane that takes part.
fn shfl(mode: ShflMode, lane: i32, source_a: &[Option<u64>], b: u32, c: u32) -> (u64, u64) {
    let bval = (b & 0x1f) as i32;
    let cval = (c & 0x1f) as i32;
    let segmask = (c >> 8 & 0x1f) as i32;
    let max_lane = (lane & segmask) | (cval & !segmask);
    let min_lane = lane & segmask;
    let (mut j, pval) = match mode {
        ShflMode::Up => (lane - bval, lane - bval >= max_lane),
        ShflMode::Down => (lane + bval, lane + bval <= max_lane),
        ShflMode::Bfly => (lane ^ bval, (lane ^ bval) <= max_lane),
        ShflMode::Idx => {
            let j = min_lane | (bval & !segmask);
            (j, j <= max_lane)
        }
    };
    if !pval {
        j = lane;
    }
    let given = source_a.get(j as usize).copied().flatten();
    let own = source_a[lane as usize].unwrap();
    (given.unwrap_or(own), u64::from(pval))
}

/// A value for each lane.
fn row_of(value: impl Strategy<Value = u64>) -> impl Strategy<Value = [u64; 32]> {
    // Arrays of proptest take much stack.
    prop::collection::vec(value, 32).prop_map(|row| row.try_into().unwrap())
}

fn row() -> impl Strategy<Value = [u64; 32]> {
    let bound = Just(0x8000_0000).boxed();
    row_of(prop_oneof![
        0..4u64,
        bound,
        Just(0x7fff_ffff),
        0..=0xffff_ffffu64
    ])
}

fn members(lanes: u32) -> Vec<usize> {
    (0..32).filter(|lane| lanes & (1 << lane) != 0).collect()
}

/// Results of a masked operation on `a`.
fn masked(op: Op, lanes: u32, a: [u64; 32]) -> Values {
    let mut values = [[lanes.into(); 32], a, [0; 32], [0; 32]];
    warp(op, lanes, &mut values);
    values
}

proptest! {
    #[test]
    fn shfl_is_the_pseudo_code(a in row(), b in row(), c in row(), lanes in 1u32.., sync: bool) {
        for mode in [ShflMode::Up, ShflMode::Down, ShflMode::Bfly, ShflMode::Idx] {
            let mut values = if sync { [[lanes.into(); 32], a, b, c] } else { [a, b, c, [0; 32]] };
            warp(Op::Shfl { mode, sync }, lanes, &mut values);
            let source: Vec<_> = (0..32).map(|i| (lanes >> i & 1 != 0).then_some(a[i])).collect();
            for lane in members(lanes) {
                let expected = shfl(mode, lane as i32, &source, b[lane] as u32, c[lane] as u32);
                prop_assert_eq!((values[0][lane], values[1][lane]), expected, "{:?} {}", mode, lane);
            }
        }
    }

    #[test]
    fn votes_ask_the_lanes_that_take_part(p in row_of(0..2u64), lanes in 1u32.., sync: bool) {
        let votes: Vec<bool> = members(lanes).iter().map(|&lane| p[lane] == 1).collect();
        let ballot: u64 = members(lanes).iter().map(|&lane| p[lane] << lane).sum();
        let uniform = votes.windows(2).all(|w| w[0] == w[1]);
        for (mode, expected) in [
            (VoteMode::All, votes.iter().all(|v| *v).into()),
            (VoteMode::Any, votes.iter().any(|v| *v).into()),
            (VoteMode::Uni, uniform.into()),
            (VoteMode::Ballot, ballot),
        ] {
            let mut values = if sync { [[lanes.into(); 32], p, p, p] } else { [p; 4] };
            warp(Op::Vote { mode, sync }, lanes, &mut values);
            for lane in members(lanes) {
                prop_assert_eq!(values[0][lane], expected, "{:?}", mode);
            }
        }
    }

    #[test]
    fn matches_compare_all_bits(a in row(), high in row_of(0..2u64), lanes in 1u32..) {
        let mut a = a;
        for (a, high) in a.iter_mut().zip(high) {
            *a = (*a % 3) | (high << 63);
        }
        let any = masked(Op::MatchAny { class: RegClass::B64 }, lanes, a);
        let all = masked(Op::MatchAll { class: RegClass::B64 }, lanes, a);
        let agree = members(lanes).iter().all(|&lane| a[lane] == a[members(lanes)[0]]);
        for lane in members(lanes) {
            let same = members(lanes).into_iter().filter(|&other| a[other] == a[lane]);
            let same: u64 = same.map(|other| 1 << other).sum();
            prop_assert_eq!(any[0][lane], same);
            prop_assert_eq!(all[0][lane], if agree { lanes.into() } else { 0 });
            prop_assert_eq!(all[1][lane], u64::from(agree));
        }
    }

    #[test]
    fn redux_reduces(a in row(), lanes in 1u32..) {
        let given: Vec<u32> = members(lanes).iter().map(|&lane| a[lane] as u32).collect();
        let signed: Vec<i32> = given.iter().map(|&v| v as i32).collect();
        let sum = given.iter().map(|&v| u64::from(v)).sum::<u64>() % (1 << 32);
        let bits = |f: &dyn Fn(usize) -> bool| (0..32).map(|b| u64::from(f(b)) << b).sum::<u64>();
        let ones = |b: usize| given.iter().filter(|v| *v >> b & 1 == 1).count();
        for (op, expected) in [
            (ReduxOp::Add, sum),
            (ReduxOp::Min { signed: false }, (*given.iter().min().unwrap()).into()),
            (ReduxOp::Max { signed: false }, (*given.iter().max().unwrap()).into()),
            (ReduxOp::Min { signed: true }, (*signed.iter().min().unwrap() as u32).into()),
            (ReduxOp::Max { signed: true }, (*signed.iter().max().unwrap() as u32).into()),
            (ReduxOp::And, bits(&|b| ones(b) == given.len())),
            (ReduxOp::Or, bits(&|b| ones(b) > 0)),
            (ReduxOp::Xor, bits(&|b| ones(b) % 2 == 1)),
        ] {
            let values = masked(Op::Redux { op }, lanes, a);
            for lane in members(lanes) {
                prop_assert_eq!(values[0][lane], expected, "{:?}", op);
            }
        }
    }

    #[test]
    fn one_lane_is_elected(lanes in 1u32..) {
        let values = masked(Op::Elect, lanes, [0; 32]);
        let elected: Vec<usize> = members(lanes).into_iter().filter(|&l| values[1][l] == 1).collect();
        prop_assert_eq!(elected.len(), 1);
        for lane in members(lanes) {
            prop_assert_eq!(values[0][lane], elected[0] as u64);
        }
    }
}

/// All lanes; where they ask alike it is computed by another way than the rest.
#[test]
fn shfl_of_a_whole_warp_is_the_pseudo_code() {
    let segments = [0, 1, 8, 16, 24, 28, 31];
    let asked = (segments.iter())
        .flat_map(|s| [0, 1, 7, 16, 31].map(|c| (s, c)))
        .flat_map(|(s, c)| (0..33).map(move |b| (s << 8 | c, b)));
    // Which of a, b and c differ between lanes.
    let differ = [[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]];
    for ((c, b), [da, db, dc]) in asked.flat_map(|asked| differ.map(|d| (asked, d))) {
        let row = |first, step| std::array::from_fn(|lane| first + step * lane as u64);
        let [a, b, c]: [[u64; 32]; 3] = [row(1000, da), row(b, db), row(c, dc)];
        let source: Vec<_> = a.iter().map(|&a| Some(a)).collect();
        for mode in [ShflMode::Up, ShflMode::Down, ShflMode::Bfly, ShflMode::Idx] {
            for sync in [false, true] {
                let mut values = [[u64::from(u32::MAX); 32], a, b, c];
                if !sync {
                    values.rotate_left(1);
                }
                warp(Op::Shfl { mode, sync }, u32::MAX, &mut values);
                let lanes = (0..).zip(values[0].iter().zip(&values[1]));
                for (lane, (d, p)) in lanes {
                    let [b, c] = [b, c].map(|row| row[lane as usize] as u32);
                    let expected = shfl(mode, lane, &source, b, c);
                    assert_eq!((*d, *p), expected, "{mode:?} {lane} {b} {c}");
                }
            }
        }
    }
}

#[test]
fn operands_of_lanes_that_do_not_take_part_stay() {
    let class = RegClass::B32;
    let op = ReduxOp::Add;
    let (mode, sync) = (VoteMode::Any, true);
    let shfl = ShflMode::Down;
    for op in [
        Op::Shfl { mode: shfl, sync },
        Op::Vote { mode, sync },
        Op::MatchAny { class },
        Op::MatchAll { class },
        Op::Redux { op },
        Op::Elect,
    ] {
        let mut values = [[7; 32], [8; 32], [9; 32], [10; 32]];
        warp(op, 0xff, &mut values);
        for (row, value) in values.iter().zip(7..) {
            assert_eq!(row[8..], [value; 24], "{op:?}");
        }
    }
}

#[test]
fn active_mask_is_the_lanes_that_come_together() {
    let mut values = [[0; 32]; 4];
    warp(Op::ActiveMask, 0x8000_0001, &mut values);
    assert_eq!(
        (values[0][0], values[0][31]),
        (0x8000_0001_u64, 0x8000_0001)
    );
}

#[test]
fn reductions_at_barriers() {
    use BarrierAction::{And, Or, Popc};
    for (threads, holds, popc, and, or) in
        [(64, 0, 0, 0, 0), (64, 40, 40, 0, 1), (64, 64, 64, 1, 1)]
    {
        let of = |action| barrier(action, threads, holds);
        assert_eq!((of(Popc), of(And), of(Or)), (popc, and, or));
    }
}

#[test]
fn atomics_write_what_the_table_of_the_isa_says() {
    let s32 = IntTy::S32;
    let u32 = IntTy::U32;
    for (op, bytes, old, b, c, new) in [
        (AtomicOp::And, 4, 0xff00, 0x0ff0, 0, 0x0f00),
        (AtomicOp::Or, 8, 1 << 63, 1, 0, 1 << 63 | 1),
        (AtomicOp::Xor, 4, 0xff00, 0x0ff0, 0, 0xf0f0),
        (AtomicOp::Add, 4, 0xffff_ffff, 2, 0, 1),
        (AtomicOp::Add, 8, u64::MAX, 2, 0, 1),
        (AtomicOp::Add, 8, 0xffff_ffff, 2, 0, 0x1_0000_0001),
        (AtomicOp::Add, 2, 0xffff, 2, 0, 1),
        (AtomicOp::Inc, 4, 4, 5, 0, 5),
        (AtomicOp::Inc, 4, 5, 5, 0, 0),
        (AtomicOp::Inc, 4, 6, 5, 0, 0),
        (AtomicOp::Inc, 4, 0xffff_fffe, 0xffff_ffff, 0, 0xffff_ffff),
        (AtomicOp::Dec, 4, 0, 5, 0, 5),
        (AtomicOp::Dec, 4, 5, 5, 0, 4),
        (AtomicOp::Dec, 4, 6, 5, 0, 5),
        (AtomicOp::Min { ty: s32 }, 4, 1, 0xffff_ffff, 0, 0xffff_ffff),
        (AtomicOp::Min { ty: u32 }, 4, 1, 0xffff_ffff, 0, 1),
        (AtomicOp::Max { ty: s32 }, 4, 1, 0xffff_ffff, 0, 1),
        (AtomicOp::Max { ty: u32 }, 4, 1, 0xffff_ffff, 0, 0xffff_ffff),
        (AtomicOp::Max { ty: IntTy::S64 }, 8, 1 << 63, 7, 0, 7),
        (AtomicOp::Exch, 8, 3, 9, 0, 9),
        (AtomicOp::Cas, 2, 3, 3, 9, 9),
        (AtomicOp::Cas, 2, 4, 3, 9, 4),
    ] {
        assert_eq!(atomic(op, bytes, old, b, c), new, "{op:?} {old:#x} {b:#x}");
    }
}

const ONE: Arrival = Arrival {
    count: 1,
    expects: 0,
    drop: false,
    no_complete: false,
};

#[test]
fn a_phase_ends_with_the_last_arrival() {
    let start = mbarrier::init(2).unwrap();
    let first = mbarrier::arrive(start, ONE).unwrap();
    assert_eq!(mbarrier::test(first, start), Ok(false));
    assert_eq!(mbarrier::test_parity(first, 0), Ok(false));
    assert_eq!(
        mbarrier::test_parity(first, 1),
        Ok(true),
        "the phase before"
    );
    let second = mbarrier::arrive(first, ONE).unwrap();
    assert_eq!(mbarrier::test(second, start), Ok(true));
    assert_eq!(mbarrier::test(second, second), Ok(false));
    assert_eq!(mbarrier::test_parity(second, 0), Ok(true));
    assert_eq!(mbarrier::test_parity(second, 1), Ok(false));
    // What arrivals give tells how many were pending before them.
    let pending = [start, first, second].map(|state| state & 0xf_ffff);
    assert_eq!(pending, [2, 1, 2]);
    let both = Arrival { count: 2, ..ONE };
    let third = mbarrier::arrive(second, both).unwrap();
    assert_eq!(third, start, "two phases later");
}

#[test]
fn a_phase_waits_for_its_bytes() {
    let start = mbarrier::init(1).unwrap();
    let waiting = mbarrier::arrive(start, Arrival { expects: 96, ..ONE }).unwrap();
    assert_eq!(mbarrier::test(waiting, start), Ok(false));
    let part = mbarrier::complete_tx(waiting, 64).unwrap();
    assert_eq!(mbarrier::test(part, start), Ok(false));
    let done = mbarrier::complete_tx(part, 32).unwrap();
    assert_eq!(mbarrier::test(done, start), Ok(true));
    // Bytes may come before they are expected.
    let early = mbarrier::complete_tx(start, 16).unwrap();
    let expected = mbarrier::expect_tx(early, 16).unwrap();
    assert_eq!(mbarrier::test(expected, start), Ok(false));
    let arrived = mbarrier::arrive(expected, ONE).unwrap();
    assert_eq!(mbarrier::test(arrived, start), Ok(true));
}

#[test]
fn who_drops_out_is_not_expected_again() {
    let start = mbarrier::init(3).unwrap();
    let dropped = mbarrier::arrive(start, Arrival { drop: true, ..ONE }).unwrap();
    let next = mbarrier::arrive(dropped, Arrival { count: 2, ..ONE }).unwrap();
    assert_eq!(mbarrier::test(next, start), Ok(true));
    let after = mbarrier::arrive(next, Arrival { count: 2, ..ONE }).unwrap();
    assert_eq!(mbarrier::test(after, next), Ok(true));
}

#[test]
fn what_is_undefined_is_told() {
    let start = mbarrier::init(1).unwrap();
    let quiet = Arrival {
        no_complete: true,
        ..ONE
    };
    let undefined = [
        mbarrier::init(0),
        mbarrier::init(1 << 20),
        mbarrier::arrive(0, ONE),
        mbarrier::arrive(start, Arrival { count: 0, ..ONE }),
        mbarrier::arrive(start, Arrival { count: 2, ..ONE }),
        mbarrier::arrive(start, quiet),
        mbarrier::expect_tx(start, 1 << 20),
        mbarrier::complete_tx(mbarrier::invalidate(start).unwrap(), 0),
        mbarrier::invalidate(0),
    ];
    for (i, result) in undefined.into_iter().enumerate() {
        assert!(result.is_err(), "{i}");
    }
    assert!(mbarrier::init((1 << 20) - 1).is_ok());
}

/// PTX ISA, "mbarrier": counts of arrivals from 1 to 2^20 - 1, of bytes from -(2^20 - 1) to 2^20 - 1.
#[test]
fn counts_have_the_range_of_the_isa() {
    const MOST: u32 = (1 << 20) - 1;
    assert!(mbarrier::init(0).is_err() && mbarrier::init(MOST + 1).is_err());
    let word = mbarrier::init(MOST).unwrap();
    assert_eq!(word & 0xf_ffff, u64::from(MOST));
    let more = mbarrier::expect_tx(word, MOST).unwrap();
    assert!(mbarrier::expect_tx(more, 1).is_err() && mbarrier::expect_tx(word, MOST + 1).is_err());
    let less = mbarrier::complete_tx(word, MOST).unwrap();
    assert!(mbarrier::complete_tx(less, 1).is_err());
    // From one end to the other, and back to none.
    let other = mbarrier::complete_tx(mbarrier::complete_tx(more, MOST).unwrap(), MOST).unwrap();
    assert_eq!(other, less);
    assert_eq!(mbarrier::expect_tx(less, MOST), Ok(word));
}
