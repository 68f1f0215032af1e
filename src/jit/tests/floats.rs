//! Floating-point operators natively beside `semantics`: values where rounding, flushing and comparing turn over, and operands that
//! nearly cancel.

use super::Numbers;
use super::operators::{BOOLS, COMBINES, MARKS, WORDS, agree_on};
use crate::ir::float::{
    Arith, Clamp, Class, Extreme, FloatTy, Mode, Op, Relation, Rounding, Sign, Signs,
};
use crate::ir::{PureOp, RegClass};

const ROUNDINGS: [Rounding; 4] = [Rounding::Rn, Rounding::Rz, Rounding::Rm, Rounding::Rp];
const BOTH: [FloatTy; 2] = [FloatTy::F32, FloatTy::F64];

/// The modes that `.f32` has; of `.f64` and `.f32x2` some of them.
fn modes(ty: FloatTy) -> Vec<Mode> {
    let mut modes = Vec::new();
    for rounding in ROUNDINGS {
        for ftz in BOOLS {
            for clamp in [Clamp::None, Clamp::Sat] {
                let fits = match ty {
                    FloatTy::F64 => !ftz && clamp == Clamp::None,
                    FloatTy::F32x2 => clamp == Clamp::None,
                    FloatTy::F16
                    | FloatTy::F16x2
                    | FloatTy::Bf16
                    | FloatTy::Bf16x2
                    | FloatTy::F32 => true,
                };
                if fits {
                    modes.push(Mode {
                        rounding,
                        ftz,
                        clamp,
                    });
                }
            }
        }
    }
    modes
}

fn arith_ops() -> Vec<Op> {
    let mut ops = Vec::new();
    for ty in [FloatTy::F32, FloatTy::F32x2, FloatTy::F64] {
        for mode in modes(ty) {
            for op in [Arith::Add, Arith::Sub, Arith::Mul] {
                ops.push(Op::Arith { op, ty, mode });
            }
            ops.push(Op::Fma { ty, mode });
            if ty != FloatTy::F32x2 && mode.clamp == Clamp::None {
                let op = Arith::Div;
                ops.push(Op::Arith { op, ty, mode });
                ops.push(Op::Rcp { ty, mode });
                ops.push(Op::Sqrt { ty, mode });
            }
        }
    }
    ops
}

fn compare_ops() -> Vec<Op> {
    let mut ops = Vec::new();
    for ty in BOTH {
        for ftz in BOOLS {
            if ftz && ty == FloatTy::F64 {
                continue;
            }
            for cmp in Relation::ALL {
                for combine in COMBINES {
                    ops.push(Op::Setp {
                        cmp,
                        ty,
                        ftz,
                        combine,
                    });
                    ops.extend(MARKS.map(|to| Op::Set {
                        cmp,
                        ty,
                        ftz,
                        combine,
                        to,
                    }));
                }
            }
            for op in [Sign::Abs, Sign::Neg] {
                ops.push(Op::Sign { op, ty, ftz });
            }
            for max in BOOLS {
                for nan in BOOLS {
                    for (signs, three) in [
                        (Signs::Kept, false),
                        (Signs::Xor, false),
                        (Signs::Kept, true),
                        (Signs::Abs, true),
                    ] {
                        ops.push(Op::Extreme(Extreme {
                            max,
                            ty,
                            ftz,
                            nan,
                            signs,
                            three,
                        }));
                    }
                }
            }
        }
        ops.push(Op::Copysign { ty });
        for class in [
            Class::Finite,
            Class::Infinite,
            Class::Number,
            Class::NotANumber,
            Class::Normal,
            Class::Subnormal,
        ] {
            ops.push(Op::Testp { class, ty });
        }
    }
    for class in WORDS {
        ops.extend(BOOLS.map(|ftz| Op::Slct { class, ftz }));
    }
    ops
}

/// How many bits the exponent and the fraction have.
fn layout(class: RegClass) -> (u32, u32) {
    if class == RegClass::B64 {
        (11, 52)
    } else {
        (8, 23)
    }
}

/// A number of a format: specials, subnormals, the ends, powers of two and their neighbours, few bits, any.
fn number(class: RegClass, numbers: &mut Numbers) -> u64 {
    let (exponent_bits, fraction_bits) = layout(class);
    let most = (1u64 << exponent_bits) - 1;
    let ones = (1u64 << fraction_bits) - 1;
    let sign = (numbers.next() & 1) << (exponent_bits + fraction_bits);
    let fraction = match numbers.below(6) {
        0 => 0,
        1 => ones,
        2 => 1,
        3 => 1 << numbers.below(fraction_bits as usize),
        4 => numbers.next() & numbers.next() & numbers.next() & ones,
        _ => numbers.next() & ones,
    };
    let exponent = match numbers.below(12) {
        0 => most,
        1 | 2 => 0,
        3 => most - 1,
        4 => 1,
        5 => most / 2,
        6..8 => most / 2 - 4 + numbers.next() % 8,
        8 => most / 4 + numbers.next() % 8 - 4,
        9 => 3 * most / 4 + numbers.next() % 8 - 4,
        _ => numbers.next() % most,
    };
    sign | exponent << fraction_bits | fraction
}

/// Sources of an operator: numbers, and often ones that lie close to others, or to their negations or products.
fn sources(op: PureOp, classes: &[RegClass], numbers: &mut Numbers) -> Vec<u64> {
    let lanes = match op {
        PureOp::Float(
            Op::Arith { ty, .. } | Op::Fma { ty, .. } | Op::Rcp { ty, .. } | Op::Sqrt { ty, .. },
        ) => ty.lanes(),
        _ => 1,
    };
    if lanes == 2 {
        let classes = vec![RegClass::B32; classes.len()];
        let [low, high] = [(); 2].map(|()| related(&classes, numbers));
        return low.iter().zip(high).map(|(l, h)| l | h << 32).collect();
    }
    related(classes, numbers)
}

fn related(classes: &[RegClass], numbers: &mut Numbers) -> Vec<u64> {
    let mut srcs: Vec<u64> = classes
        .iter()
        .map(|&class| match class {
            RegClass::B32 | RegClass::B64 => number(class, numbers),
            _ => numbers.next() & class.mask(),
        })
        .collect();
    let same = |i: usize, j: usize| classes.get(i) == classes.get(j);
    let class = classes.get(1).copied().unwrap_or(RegClass::Pred);
    if classes.len() < 2 || class.bits() < 32 || !same(0, 1) {
        return srcs;
    }
    let near = |x: u64, numbers: &mut Numbers| {
        let step = numbers.next() % 5;
        let sign = (numbers.next() & 1) << (class.bits() - 1);
        ((x ^ sign).wrapping_add(step).wrapping_sub(2)) & class.mask()
    };
    if numbers.chance(30) {
        srcs[1] = near(srcs[0], numbers);
    }
    if classes.len() > 2 && same(1, 2) && numbers.chance(50) {
        let product = if class == RegClass::B64 {
            (f64::from_bits(srcs[0]) * f64::from_bits(srcs[1])).to_bits()
        } else {
            let [a, b] = [srcs[0], srcs[1]].map(|x| f32::from_bits(x as u32));
            u64::from((a * b).to_bits())
        };
        srcs[2] = near(product, numbers);
    }
    srcs
}

#[test]
fn arithmetic_agrees_with_semantics() {
    let ops = arith_ops().into_iter().map(PureOp::Float);
    agree_on(ops, &mut Numbers(11), 600, sources);
}

#[test]
fn comparisons_agree_with_semantics() {
    let ops = compare_ops().into_iter().map(PureOp::Float);
    agree_on(ops, &mut Numbers(12), 100, sources);
}
