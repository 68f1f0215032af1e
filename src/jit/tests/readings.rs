//! The operators that NVIDIA's tools read otherwise than the text, natively beside `semantics`: every one of them.

use super::Numbers;
use super::operators::{BOOLS, agree_on, values};
use crate::ir::compare::CmpOp;
use crate::ir::video::{Op, ScalarOp, Second, Selector, Source};
use crate::ir::{PureOp, Reading, RegClass};

const OPERATIONS: [ScalarOp; 11] = [
    ScalarOp::Add,
    ScalarOp::Sub,
    ScalarOp::AbsDiff,
    ScalarOp::Min,
    ScalarOp::Max,
    ScalarOp::Shl { wrap: false },
    ScalarOp::Shl { wrap: true },
    ScalarOp::Shr { wrap: false },
    ScalarOp::Shr { wrap: true },
    ScalarOp::Set(CmpOp::Lt),
    ScalarOp::Set(CmpOp::Ne),
];

const SECONDS: [Second; 6] = [
    Second::None,
    Second::Add,
    Second::Min,
    Second::Max,
    Second::Merge(Selector::Byte(2)),
    Second::Merge(Selector::Half(1)),
];

/// Most whole words: what they give is what the readings see differently.
fn source(numbers: &mut Numbers, signed: bool) -> Source {
    let parts = [
        Selector::Word,
        Selector::Word,
        Selector::Byte(3),
        Selector::Half(0),
    ];
    Source {
        signed,
        part: *numbers.pick(&parts),
    }
}

fn agree(ops: Vec<Op>, numbers: &mut Numbers) {
    let ops = ops.into_iter().filter_map(|op| {
        let read = op.read_as(Reading::Nvidia);
        (read != op).then_some(PureOp::Video(read))
    });
    agree_on(ops, numbers, 48, |_, classes, numbers| {
        let value = |&class: &RegClass| match numbers.below(8) {
            // Counts of shifts, and what saturation of a part looks at.
            0 => numbers.below(36) as u64,
            1 => (u64::MAX - numbers.below(200) as u64) & class.mask(),
            _ => values(class, numbers),
        };
        classes.iter().map(value).collect()
    });
}

#[test]
fn scalar_video_operators_as_nvidia_reads_them() {
    let mut numbers = Numbers(21);
    let mut ops = Vec::new();
    for op in OPERATIONS {
        for second in SECONDS {
            for flags in 0..16u8 {
                let flag = |bit: u8| flags >> bit & 1 != 0;
                ops.push(Op::Scalar {
                    op,
                    signed: flag(0),
                    a: source(&mut numbers, flag(1)),
                    b: source(&mut numbers, flag(2)),
                    sat: flag(3),
                    second,
                    reading: Reading::Text,
                });
            }
        }
    }
    agree(ops, &mut numbers);
}

#[test]
fn vmad_as_nvidia_reads_it() {
    let mut numbers = Numbers(22);
    let mut ops = Vec::new();
    for shift in [0, 7, 15] {
        for sat in BOOLS {
            for flags in 0..32u8 {
                let flag = |bit: u8| flags >> bit & 1 != 0;
                ops.push(Op::Mad {
                    signed: numbers.chance(50),
                    a: source(&mut numbers, flag(0)),
                    b: source(&mut numbers, flag(1)),
                    neg_a: flag(2),
                    neg_b: flag(3),
                    neg_c: numbers.chance(20),
                    plus_one: flag(4),
                    sat,
                    shift,
                    reading: Reading::Text,
                });
            }
        }
    }
    agree(ops, &mut numbers);
}
