//! Conversions to, from and among floating-point numbers natively beside `semantics`: every number of 16 bits and less, and many of 32
//! and 64 near to what decides about rounding.

use super::operators::{Case, function, module};
use super::{Numbers, compile, with_launch};
use crate::ir::convert::float::Op;
use crate::ir::convert::small::{self, Narrow, SmallRounding, SmallTy, Widen};
use crate::ir::float::{Clamp, FloatTy, Mode, Rounding};
use crate::ir::{FuncId, IntTy, PureOp, RegClass, convert};
use crate::semantics;

const BOOLS: [bool; 2] = [false, true];
const SCALARS: [FloatTy; 4] = [FloatTy::F16, FloatTy::Bf16, FloatTy::F32, FloatTy::F64];
const ROUNDINGS: [Rounding; 4] = [Rounding::Rn, Rounding::Rz, Rounding::Rm, Rounding::Rp];

fn from_int() -> Vec<Op> {
    let mut ops = Vec::new();
    for from in IntTy::ALL {
        for to in SCALARS {
            for rounding in ROUNDINGS {
                for sat in BOOLS {
                    ops.push(Op::FromInt {
                        from,
                        to,
                        rounding,
                        sat,
                    });
                }
            }
        }
    }
    ops
}

fn to_int() -> Vec<Op> {
    let mut ops = Vec::new();
    for from in SCALARS {
        for to in IntTy::ALL {
            for rounding in ROUNDINGS {
                for ftz in BOOLS {
                    if ftz && from != FloatTy::F32 {
                        continue;
                    }
                    for dst in [to.class(), RegClass::B64] {
                        ops.push(Op::ToInt {
                            from,
                            to,
                            rounding,
                            ftz,
                            dst,
                        });
                    }
                }
            }
        }
    }
    ops
}

fn modes() -> impl Iterator<Item = Mode> {
    let clamps = [Clamp::None, Clamp::Sat];
    ROUNDINGS.into_iter().flat_map(move |rounding| {
        BOOLS.into_iter().flat_map(move |ftz| {
            clamps.into_iter().map(move |clamp| Mode {
                rounding,
                ftz,
                clamp,
            })
        })
    })
}

fn among_floats() -> Vec<Op> {
    let mut ops = Vec::new();
    for mode in modes() {
        for from in SCALARS {
            if !mode.ftz || from == FloatTy::F32 {
                ops.push(Op::Integral { ty: from, mode });
            }
            for to in SCALARS {
                if mode.ftz && from != FloatTy::F32 && to != FloatTy::F32 {
                    continue;
                }
                ops.push(Op::Between { from, to, mode });
            }
        }
    }
    ops
}

/// Fractions of a format of 23 or 52 bits that lie on, or beside, ties of narrower ones.
fn fraction(bits: u32, numbers: &mut Numbers) -> u64 {
    let any = numbers.next() >> (64 - bits);
    let cut = 1 + numbers.below(bits as usize) as u32;
    let tie = any >> cut << cut | 1 << (cut - 1);
    match numbers.below(6) {
        0 => any,
        1 => tie,
        2 => tie + 1,
        3 => tie - 1,
        4 => any >> cut << cut,
        _ => (1 << bits) - 1 - numbers.below(3) as u64,
    }
}

fn float(exponent_bits: u32, fraction_bits: u32, numbers: &mut Numbers) -> u64 {
    let middle = (1u64 << (exponent_bits - 1)) - 1;
    let most = (1u64 << exponent_bits) - 1;
    let exponent = match numbers.below(6) {
        0 => numbers.below(most as usize + 1) as u64,
        1 => *numbers.pick(&[0, 1, most - 1, most]),
        // The ends of the exponents of `.f16` and of `.f32`.
        2 => middle - 26 + numbers.below(14) as u64,
        3 if exponent_bits > 8 => middle - 152 + numbers.below(30) as u64,
        4 => middle + *numbers.pick(&[15, 16, 31, 32, 63, 64, 127]),
        _ => middle - 2 + numbers.below(68) as u64,
    };
    let exponent = exponent.min(most);
    let fraction = fraction(fraction_bits, numbers) & ((1 << fraction_bits) - 1);
    let sign = numbers.next() & 1;
    (sign << exponent_bits | exponent) << fraction_bits | fraction
}

fn integer(bits: u32, numbers: &mut Numbers) -> u64 {
    let width = 1 + numbers.below(bits as usize) as u32;
    let magnitude = if width == 1 {
        numbers.next() & 1
    } else {
        1 << (width - 1) | fraction(width - 1, numbers)
    };
    if numbers.chance(50) {
        magnitude
    } else {
        magnitude.wrapping_neg()
    }
}

/// All values of up to 16 bits, many others.
fn inputs(op: Op, numbers: &mut Numbers) -> Vec<Vec<u64>> {
    let class = op.signature().srcs[0];
    if class.bits() <= 16 {
        return (0..=class.mask()).map(|a| vec![a]).collect();
    }
    let source = |numbers: &mut Numbers| match op {
        Op::FromInt { from, .. } => integer(from.bits(), numbers),
        _ if class == RegClass::B64 => float(11, 52, numbers),
        _ => float(8, 23, numbers),
    };
    (0..20_000)
        .map(|_| vec![source(numbers) & class.mask()])
        .collect()
}

const SMALL: [SmallTy; 10] = [
    SmallTy::F16,
    SmallTy::Bf16,
    SmallTy::Tf32,
    SmallTy::E4m3,
    SmallTy::E5m2,
    SmallTy::E2m3,
    SmallTy::E3m2,
    SmallTy::E2m1,
    SmallTy::Ue8m0,
    SmallTy::S2f6,
];

/// All that rows have, and more.
fn narrow() -> Vec<small::Op> {
    let mut ops = Vec::new();
    for to in SMALL {
        let roundings: &[SmallRounding] = match to {
            SmallTy::F16 | SmallTy::Bf16 => {
                &[SmallRounding::Rn, SmallRounding::Rz, SmallRounding::Rs]
            }
            SmallTy::Tf32 => &[SmallRounding::Rn, SmallRounding::Rz, SmallRounding::Rna],
            SmallTy::Ue8m0 => &[SmallRounding::Rz, SmallRounding::Rp],
            SmallTy::S2f6 => &[SmallRounding::Rn],
            _ => &[SmallRounding::Rn, SmallRounding::Rs],
        };
        for &rounding in roundings {
            let (least, most) = match (to, rounding) {
                (SmallTy::Tf32, _) => (1, 1),
                (SmallTy::F16 | SmallTy::Bf16, SmallRounding::Rs) => (2, 2),
                (SmallTy::F16 | SmallTy::Bf16, _) => (1, 2),
                (_, SmallRounding::Rs) => (4, 4),
                _ => (2, 2),
            };
            for lanes in least..=most {
                for from in [FloatTy::F32, FloatTy::F16x2, FloatTy::Bf16x2] {
                    let halves = matches!(to, SmallTy::F16 | SmallTy::Bf16 | SmallTy::Tf32);
                    if from != FloatTy::F32 && (halves || lanes != 2) {
                        continue;
                    }
                    for satfinite in BOOLS {
                        for relu in BOOLS {
                            for scaled in BOOLS {
                                if (relu && to == SmallTy::Ue8m0)
                                    || (scaled && to != SmallTy::S2f6)
                                    || !(satfinite || halves || to == SmallTy::Ue8m0)
                                {
                                    continue;
                                }
                                ops.push(small::Op::Narrow(Narrow {
                                    from,
                                    to,
                                    lanes,
                                    rounding,
                                    satfinite,
                                    relu,
                                    scaled,
                                }));
                            }
                        }
                    }
                }
            }
        }
    }
    ops
}

fn widen() -> Vec<small::Op> {
    let mut ops = Vec::new();
    for from in &SMALL[3..] {
        for to in [FloatTy::F16x2, FloatTy::Bf16x2] {
            for satfinite in BOOLS {
                for relu in BOOLS {
                    for scaled in BOOLS {
                        let only_bf16 =
                            satfinite || scaled || matches!(from, SmallTy::Ue8m0 | SmallTy::S2f6);
                        if to == FloatTy::F16x2 && only_bf16 {
                            continue;
                        }
                        ops.push(small::Op::Widen(Widen {
                            from: *from,
                            to,
                            satfinite,
                            relu,
                            scaled,
                        }));
                    }
                }
            }
        }
    }
    ops
}

/// Sources of conversions to small formats.
fn narrow_inputs(op: small::Op, numbers: &mut Numbers) -> Vec<Vec<u64>> {
    let small::Op::Narrow(narrow) = op else {
        return Vec::new();
    };
    let float = |numbers: &mut Numbers| match narrow.from {
        FloatTy::F32 => {
            let exponent = match numbers.below(4) {
                0 => 1 + numbers.below(254) as u64,
                // The ends of small exponents.
                1 => 127 - 18 + numbers.below(14) as u64,
                2 => 127 - 28 + numbers.below(14) as u64,
                _ => 127 - 4 + numbers.below(22) as u64,
            };
            let edge = float(8, 23, numbers);
            if numbers.chance(30) {
                edge
            } else {
                edge & 0x807f_ffff | exponent << 23
            }
        }
        _ => (0..2).fold(0, |word, _| {
            let any = numbers.next() & 0xffff;
            word << 16
                | match numbers.below(4) {
                    0 => any | 0x7c00,
                    1 => any & 0x87ff | 0x3000,
                    _ => any,
                }
        }),
    };
    let classes = op.signature().srcs;
    let count = if narrow.from == FloatTy::F32 {
        narrow.lanes as usize
    } else {
        1
    };
    (0..10_000)
        .map(|_| {
            (classes.iter().enumerate())
                .map(|(i, class)| {
                    let value = if i < count {
                        float(numbers)
                    } else if numbers.chance(20) {
                        0x7f80_7f80
                    } else {
                        numbers.next()
                    };
                    value & class.mask()
                })
                .collect()
        })
        .collect()
}

/// Every pair of elements, with some scales.
fn widen_inputs(op: small::Op, numbers: &mut Numbers) -> Vec<Vec<u64>> {
    let classes = op.signature().srcs;
    (0..=classes[0].mask())
        .map(|a| {
            let scale = match numbers.below(4) {
                0 => 0x7f7f,
                1 => numbers.next() & 0xffff,
                2 => 0x00ff,
                _ => 0x7878 + (numbers.next() & 0x0f0f),
            };
            [a, scale][..classes.len()].to_vec()
        })
        .collect()
}

/// Compiles the operators, and calls each with what `inputs` has for it.
fn agree<T: Copy + std::fmt::Debug>(
    ops: Vec<T>,
    operator: impl Fn(T) -> convert::Op,
    inputs: impl Fn(T, &mut Numbers) -> Vec<Vec<u64>>,
    seed: u64,
) {
    let mut numbers = Numbers(seed);
    let case = |op: &T| {
        let op = PureOp::Convert(operator(*op));
        Case {
            op,
            constants: vec![None; op.signature().srcs.len()],
        }
    };
    let cases: Vec<Case> = ops.iter().map(case).collect();
    let module = module(cases.iter().map(function).collect());
    crate::ir::verify::verify(&module).unwrap_or_else(|e| panic!("{e}"));
    let code = compile(&module);
    with_launch(64, |launch, scratch, _| {
        for ((id, case), op) in (0..).map(FuncId).zip(&cases).zip(&ops) {
            let function = &module.functions[id.index()];
            let mut args = vec![0; function.param_bytes as usize];
            let mut results = vec![0; function.return_bytes as usize];
            for srcs in inputs(*op, &mut numbers) {
                for (param, a) in function.params.iter().zip(&srcs) {
                    let (at, size) = (param.offset as usize, param.ty.size as usize);
                    args[at..at + size].copy_from_slice(&a.to_le_bytes()[..size]);
                }
                code.call(id, launch, scratch, &args, &mut results)
                    .expect("a call that fits")
                    .expect("no fault");
                let mut found = [0; 8];
                found[..results.len()].copy_from_slice(&results);
                let found = u64::from_le_bytes(found);
                let expected = semantics::eval(case.op, 64, &srcs)[0];
                assert_eq!(
                    found, expected,
                    "{op:?} of {srcs:x?} gives {found:x}, expected {expected:x}"
                );
            }
        }
    });
}

#[test]
fn integers_to_floats_agree_with_semantics() {
    agree(from_int(), convert::Op::Float, inputs, 21);
}

#[test]
fn floats_to_integers_agree_with_semantics() {
    agree(to_int(), convert::Op::Float, inputs, 22);
}

#[test]
fn floats_to_floats_agree_with_semantics() {
    agree(among_floats(), convert::Op::Float, inputs, 23);
}

#[test]
fn floats_to_small_formats_agree_with_semantics() {
    agree(narrow(), convert::Op::Small, narrow_inputs, 24);
}

#[test]
fn small_formats_to_floats_agree_with_semantics() {
    agree(widen(), convert::Op::Small, widen_inputs, 25);
}
