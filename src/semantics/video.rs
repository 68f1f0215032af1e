//! Video instructions. PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions".
//!
//! Intermediate values are exact, however large; the text's `.s33` cannot hold them all.

use super::compare::compare;
use super::{number, saturate, src, src32};
use crate::ir::video::{Op, ScalarOp, Second, Selector, SimdOp, Source};

/// The result of an operator.
pub(super) fn eval(op: Op, srcs: &[u64]) -> u64 {
    let (a, b, c) = (src32(srcs, 0), src32(srcs, 1), src32(srcs, 2));
    let d = match op {
        Op::Scalar {
            op,
            signed,
            a: a_source,
            b: b_source,
            sat,
            second,
        } => {
            let value = scalar(op, selected(a_source, a), selected(b_source, b));
            finish(value, signed, sat, second, c)
        }
        Op::Mad {
            signed: _,
            a: a_source,
            b: b_source,
            neg_a,
            neg_b,
            neg_c,
            plus_one,
            sat,
            shift,
        } => {
            let signed = a_source.signed || b_source.signed || neg_a != neg_b || neg_c;
            let product = selected(a_source, a) * selected(b_source, b);
            let c = number(c.into(), 32, signed);
            let sum = (if neg_a != neg_b { -product } else { product })
                + (if neg_c { -c } else { c })
                + i128::from(plus_one);
            let scaled = sum >> shift.min(64);
            (if sat {
                saturate(scaled, 32, signed)
            } else {
                scaled
            }) as u32
        }
        Op::Simd {
            op,
            lanes,
            signed,
            a_signed,
            b_signed,
            a_lanes,
            b_lanes,
            mask,
            sat,
            add,
        } => {
            let (count, bits) = if lanes == 2 { (2, 16) } else { (4, 8) };
            let both = src(srcs, 0) | src(srcs, 1) << 32;
            let extract = |lane: u8, signed| {
                number(
                    both >> (bits * (u32::from(lane) % (2 * count))),
                    bits,
                    signed,
                )
            };
            let mut d = c;
            for i in (0..count).filter(|i| mask >> i & 1 != 0) {
                let a = extract(a_lanes[i as usize], a_signed);
                let b = extract(b_lanes[i as usize], b_signed);
                let value = lane(op, a, b);
                let value = if sat {
                    saturate(value, bits, signed)
                } else {
                    value
                };
                d = if add {
                    d.wrapping_add(value as u32)
                } else {
                    put(d, value, bits * i, bits)
                };
            }
            d
        }
    };
    d.into()
}

/// The part of a source, extended by the sign of its type: the text's `partSelectSignExtend`.
fn selected(source: Source, word: u32) -> i128 {
    let (shift, bits) = place(source.part);
    number(u64::from(word) >> shift, bits, source.signed)
}

/// Lowest bit and width of a part.
fn place(part: Selector) -> (u32, u32) {
    match part {
        Selector::Word => (0, 32),
        Selector::Byte(i) => (8 * (u32::from(i) & 3), 8),
        Selector::Half(i) => (16 * (u32::from(i) & 1), 16),
    }
}

/// The first operation. `vshl`, `vshr`: the count is b & 31 with `.wrap`, min(b, 32) with `.clamp`; the shift right
/// repeats the sign of a.
fn scalar(op: ScalarOp, a: i128, b: i128) -> i128 {
    let count = |wrap| if wrap { b & 31 } else { b.clamp(0, 32) };
    match op {
        ScalarOp::Add => a + b,
        ScalarOp::Sub => a - b,
        ScalarOp::AbsDiff => (a - b).abs(),
        ScalarOp::Min => a.min(b),
        ScalarOp::Max => a.max(b),
        ScalarOp::Shl { wrap } => a << count(wrap),
        ScalarOp::Shr { wrap } => a >> count(wrap),
        ScalarOp::Set(cmp) => i128::from(compare(cmp, a, b)),
    }
}

/// The text's `optSaturate`, `optSecondaryOp` and `optMerge`. `signed` is the sign of the destination, which is that
/// of c too.
fn finish(value: i128, signed: bool, sat: bool, second: Second, c: u32) -> u32 {
    let bits = match second {
        Second::Merge(part) => place(part).1,
        Second::None | Second::Add | Second::Min | Second::Max => 32,
    };
    let value = if sat {
        saturate(value, bits, signed)
    } else {
        value
    };
    let other = number(c.into(), 32, signed);
    match second {
        Second::None => value as u32,
        Second::Add => (value + other) as u32,
        Second::Min => value.min(other) as u32,
        Second::Max => value.max(other) as u32,
        Second::Merge(part) => {
            let (shift, bits) = place(part);
            put(c, value, shift, bits)
        }
    }
}

/// The operation on one lane.
fn lane(op: SimdOp, a: i128, b: i128) -> i128 {
    match op {
        SimdOp::Add => a + b,
        SimdOp::Sub => a - b,
        SimdOp::AbsDiff => (a - b).abs(),
        SimdOp::Min => a.min(b),
        SimdOp::Max => a.max(b),
        // Halves are rounded away from zero.
        SimdOp::Avrg if a + b >= 0 => (a + b + 1) >> 1,
        SimdOp::Avrg => (a + b) >> 1,
        SimdOp::Set(cmp) => i128::from(compare(cmp, a, b)),
    }
}

/// `word` with the low `bits` bits of `value` at bit `shift`.
fn put(word: u32, value: i128, shift: u32, bits: u32) -> u32 {
    let field = (u32::MAX >> (32 - bits)) << shift;
    (word & !field) | (((value as u32) << shift) & field)
}
