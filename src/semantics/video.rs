//! Video instructions. PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions".
//!
//! Intermediate values are exact, however large; the text's `.s33` cannot hold them all.

use super::compare::compare;
use super::{number, saturate, src, src32};
use crate::ir::Reading;
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
            reading,
        } => {
            let value = scalar(op, selected(a_source, a), selected(b_source, b));
            match (reading, op) {
                (Reading::Text, _) => finish(value, signed, sat, second, c),
                // c and the result have the sign of the first type.
                (Reading::Nvidia, ScalarOp::Set(_)) => {
                    finish(value, a_source.signed, sat, second, c)
                }
                (Reading::Nvidia, _) => {
                    let value = if sat {
                        nvidia_saturate(op, value, signed, second)
                    } else {
                        value
                    };
                    nvidia_second(op, value, signed, sat, second, c)
                }
            }
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
            reading,
        } => {
            let signed = a_source.signed || b_source.signed || neg_a != neg_b || neg_c;
            let factor = |source, word| match reading {
                Reading::Text => selected(source, word),
                Reading::Nvidia => number(selected(source, word) as u64, 32, true),
            };
            let product = factor(a_source, a) * factor(b_source, b);
            let c = number(c.into(), 32, signed || reading == Reading::Nvidia);
            let sum = (if neg_a != neg_b { -product } else { product })
                + (if neg_c { -c } else { c })
                + i128::from(plus_one);
            let scaled = match reading {
                // The sum of 64 bits is shifted as an unsigned one, but not by 0.
                Reading::Nvidia if !signed && shift > 0 => i128::from(sum as u64) >> shift.min(64),
                Reading::Text | Reading::Nvidia => sum >> shift.min(64),
            };
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

/// `.sat` of NVIDIA's tools, of everything but `vset`.
fn nvidia_saturate(op: ScalarOp, value: i128, signed: bool, second: Second) -> i128 {
    let shifted = matches!(op, ScalarOp::Shl { .. } | ScalarOp::Shr { .. });
    match second {
        // To the word, whatever is merged: by the two bits above it, as a signed number.
        _ if shifted => {
            let word = number(value as u64, 32, signed);
            let above = number((value >> 32) as u64, 2, true);
            let fits = above == word >> 32;
            match (fits, above < 0) {
                (true, _) => word,
                (false, true) => saturate(i128::MIN, 32, signed),
                (false, false) => saturate(i128::MAX, 32, signed),
            }
        }
        // A negative value counts as a large one.
        Second::Merge(part) => {
            let most = saturate(i128::MAX, place(part).1, signed);
            if value < 0 { most } else { value.min(most) }
        }
        Second::None | Second::Add | Second::Min | Second::Max if signed => {
            saturate(value, 32, true)
        }
        // What is too large stays so.
        Second::None | Second::Add | Second::Min | Second::Max => value.max(0),
    }
}

/// Second operation or merge of NVIDIA's tools, of everything but `vset`: `.min` and `.max` compare words with the sign of the
/// destination, extended to 64 bits.
fn nvidia_second(
    op: ScalarOp,
    value: i128,
    signed: bool,
    sat: bool,
    second: Second,
    c: u32,
) -> u32 {
    let is_word = match op {
        ScalarOp::Add | ScalarOp::Sub => true,
        ScalarOp::Shl { .. } | ScalarOp::Shr { .. } => sat,
        ScalarOp::AbsDiff | ScalarOp::Min | ScalarOp::Max | ScalarOp::Set(_) => false,
    };
    let value = if is_word && matches!(second, Second::Min | Second::Max) {
        number(value as u64, 32, true)
    } else {
        value
    };
    finish(number(value as u64, 64, signed), signed, false, second, c)
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
