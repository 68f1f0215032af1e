//! Integer arithmetic. PTX ISA, "Integer Arithmetic Instructions".

use super::{number, saturate, src, typed};
use crate::ir::IntTy;
use crate::ir::integer::{Op, PackedOp, Part};

/// The result of an operator.
pub(super) fn eval(op: Op, srcs: &[u64]) -> u64 {
    let (a, b, c) = (src(srcs, 0), src(srcs, 1), src(srcs, 2));
    match op {
        Op::Add { ty, sat: false } => a.wrapping_add(b) & ty.mask(),
        Op::Add { ty, sat: true } => saturated(ty, typed(ty, a) + typed(ty, b)),
        Op::Sub { ty, sat: false } => a.wrapping_sub(b) & ty.mask(),
        Op::Sub { ty, sat: true } => saturated(ty, typed(ty, a) - typed(ty, b)),
        Op::Mul { part, ty } => mul(part, ty, a, b),
        Op::Mad { part, ty, sat } => mad(part, ty, sat, a, b, c),
        Op::Mul24 { high, signed } => mul24(high, signed, a, b),
        Op::Mad24 { high, signed, sat } => mad24(high, signed, sat, a, b, c),
        Op::Sad { ty } => {
            c.wrapping_add((typed(ty, a) - typed(ty, b)).unsigned_abs() as u64) & ty.mask()
        }
        Op::Div { ty } => div(ty, a, b),
        Op::Rem { ty } => rem(ty, a, b),
        Op::Abs { ty } => typed(ty, a).unsigned_abs() as u64 & ty.mask(),
        Op::Neg { ty } => a.wrapping_neg() & ty.mask(),
        Op::Min { ty, relu } => relu_if(relu, typed(ty, a).min(typed(ty, b))) & ty.mask(),
        Op::Max { ty, relu } => relu_if(relu, typed(ty, a).max(typed(ty, b))) & ty.mask(),
        Op::Packed {
            op,
            lanes,
            signed,
            relu,
            sat,
        } => packed(op, u32::from(lanes), signed, relu, sat, a, b),
        Op::Dp4a { a_signed, b_signed } => dp4a(a_signed, b_signed, a, b, c),
        Op::Dp2a {
            a_signed,
            b_signed,
            high,
        } => dp2a(a_signed, b_signed, high, a, b, c),
    }
}

/// `value` clamped to the range of `ty`.
fn saturated(ty: IntTy, value: i128) -> u64 {
    saturate(value, ty.bits(), ty.signed()) as u64 & ty.mask()
}

/// max(value, 0) with `.relu`.
fn relu_if(relu: bool, value: i128) -> u64 {
    (if relu { value.max(0) } else { value }) as u64
}

/// t = a * b; `.lo`: t\[n-1..0\], `.hi`: t\[2n-1..n\], `.wide`: t\[2n-1..0\]. PTX ISA, `mul`.
fn mul(part: Part, ty: IntTy, a: u64, b: u64) -> u64 {
    match part {
        Part::Lo => a.wrapping_mul(b) & ty.mask(),
        // The product of two 64-bit unsigned numbers wraps to a negative i128; the shifted bits are right.
        Part::Hi => (typed(ty, a).wrapping_mul(typed(ty, b)) >> ty.bits()) as u64 & ty.mask(),
        Part::Wide => typed(ty, a).wrapping_mul(typed(ty, b)) as u64 & wide_mask(ty),
    }
}

/// d = (the part of a * b) + c; `.hi.sat.s32` clamps the sum. PTX ISA, `mad`.
fn mad(part: Part, ty: IntTy, sat: bool, a: u64, b: u64, c: u64) -> u64 {
    let product = mul(part, ty, a, b);
    if sat {
        return saturated(ty, typed(ty, product) + typed(ty, c));
    }
    let mask = match part {
        Part::Lo | Part::Hi => ty.mask(),
        Part::Wide => wide_mask(ty),
    };
    product.wrapping_add(c) & mask
}

/// All ones in twice the width, or 64 bits.
fn wide_mask(ty: IntTy) -> u64 {
    u64::MAX >> 64u32.saturating_sub(2 * ty.bits())
}

/// t\[47..0\] = a\[23..0\] * b\[23..0\]; `.lo`: t\[31..0\], `.hi`: t\[47..16\]. PTX ISA, `mul24`.
fn mul24(high: bool, signed: bool, a: u64, b: u64) -> u64 {
    let product = number(a, 24, signed) * number(b, 24, signed);
    (if high { product >> 16 } else { product }) as u64 & 0xffff_ffff
}

/// d = `mul24`(a, b) + c; `.hi.sat.s32` clamps the sum. PTX ISA, `mad24`.
fn mad24(high: bool, signed: bool, sat: bool, a: u64, b: u64, c: u64) -> u64 {
    let product = mul24(high, signed, a, b);
    if sat {
        let sum = number(product, 32, signed) + number(c, 32, signed);
        saturate(sum, 32, signed) as u64 & 0xffff_ffff
    } else {
        product.wrapping_add(c) & 0xffff_ffff
    }
}

/// d = a / b towards zero; all ones if b is 0; MIN / -1 wraps to MIN. PTX ISA, `div`.
fn div(ty: IntTy, a: u64, b: u64) -> u64 {
    typed(ty, a)
        .checked_div(typed(ty, b))
        .map_or(ty.mask(), |q| q as u64 & ty.mask())
}

/// d = a - (a / b) * b, with the sign of a; all ones if b is 0. PTX ISA, `rem`.
fn rem(ty: IntTy, a: u64, b: u64) -> u64 {
    typed(ty, a)
        .checked_rem(typed(ty, b))
        .map_or(ty.mask(), |r| r as u64 & ty.mask())
}

/// The operation on each lane by itself. PTX ISA, `add`, `sub`, `min`, `max` with `.u16x2`, `.s16x2`, `.u8x4`, `.s8x4`.
fn packed(op: PackedOp, lanes: u32, signed: bool, relu: bool, sat: bool, a: u64, b: u64) -> u64 {
    let bits = 32 / lanes.max(1);
    let mask = (1u64 << bits) - 1;
    let lane = |shift: u32| {
        let (a, b) = (
            number(a >> shift, bits, signed),
            number(b >> shift, bits, signed),
        );
        let value = match op {
            PackedOp::Add => a + b,
            PackedOp::Sub => a - b,
            PackedOp::Min => a.min(b),
            PackedOp::Max => a.max(b),
        };
        let value = if sat {
            saturate(value, bits, signed)
        } else {
            value
        };
        (relu_if(relu, value) & mask) << shift
    };
    (0..lanes).fold(0, |d, i| d | lane(i * bits))
}

/// d = c + sum of a.byte\[i\] * b.byte\[i\], i = 0..3, modulo 2^32. PTX ISA, `dp4a`.
fn dp4a(a_signed: bool, b_signed: bool, a: u64, b: u64, c: u64) -> u64 {
    let sum: i128 = (0..4)
        .map(|i| number(a >> (8 * i), 8, a_signed) * number(b >> (8 * i), 8, b_signed))
        .sum();
    c.wrapping_add(sum as u64) & 0xffff_ffff
}

/// d = c + a.half\[0\] * b.byte\[k\] + a.half\[1\] * b.byte\[k+1\], modulo 2^32; k = 0 for `.lo`, 2 for `.hi`.
/// PTX ISA, `dp2a`.
fn dp2a(a_signed: bool, b_signed: bool, high: bool, a: u64, b: u64, c: u64) -> u64 {
    let b = if high { b >> 16 } else { b };
    let sum: i128 = (0..2)
        .map(|i| number(a >> (16 * i), 16, a_signed) * number(b >> (8 * i), 8, b_signed))
        .sum();
    c.wrapping_add(sum as u64) & 0xffff_ffff
}
