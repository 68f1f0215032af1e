//! Rounded arithmetic of every format in every rounding mode, on `rustc_apfloat`.

use crate::ir::float::{FloatTy, Rounding};
use rustc_apfloat::ieee::{BFloat, Double, Half, IeeeFloat, Semantics, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

/// `f32` with an exponent that no result reaches the end of: what a result would be if nothing were too small for it.
pub(super) struct WideSingleS;

impl Semantics for WideSingleS {
    const BITS: usize = 36;
    const EXP_BITS: usize = 12;
}

/// As [`WideSingleS`], of `f16`.
pub(super) struct WideHalfS;

impl Semantics for WideHalfS {
    const BITS: usize = 20;
    const EXP_BITS: usize = 9;
}

type WideSingle = IeeeFloat<WideSingleS>;
type WideHalf = IeeeFloat<WideHalfS>;

/// The direction of `rustc_apfloat`.
fn round(rounding: Rounding) -> Round {
    match rounding {
        Rounding::Rn => Round::NearestTiesToEven,
        Rounding::Rz => Round::TowardZero,
        Rounding::Rm => Round::TowardNegative,
        Rounding::Rp => Round::TowardPositive,
    }
}

/// An operation of up to three operands that rounds once.
#[derive(Debug, Clone, Copy)]
pub(super) enum Exact {
    /// a + b
    Add,
    /// a - b
    Sub,
    /// a * b
    Mul,
    /// a / b
    Div,
    /// a * b + c
    Fma,
    /// The square root of a.
    Sqrt,
}

fn apply<F: Float>(op: Exact, [a, b, c]: [F; 3], rounding: Round) -> F {
    match op {
        Exact::Add => a.add_r(b, rounding).value,
        Exact::Sub => a.sub_r(b, rounding).value,
        Exact::Mul => a.mul_r(b, rounding).value,
        Exact::Div => a.div_r(b, rounding).value,
        Exact::Fma => a.mul_add_r(b, c, rounding).value,
        Exact::Sqrt => sqrt(a, rounding),
    }
}

/// The square root, which the library does not have: that of the mantissa as an integer, with two bits or more than the result
/// keeps, and one more that says whether anything is left. It is never subnormal.
fn sqrt<F: Float>(a: F, rounding: Round) -> F {
    if a.is_zero() || a.is_nan() || a.is_pos_infinity() {
        return a;
    }
    if a.is_negative() {
        return F::NAN;
    }
    let exponent = a.ilogb();
    // An integer of F::PRECISION bits times two to an even power.
    let mut power = exponent + 1 - F::PRECISION as i32;
    let mut mantissa = a.scalbn(-power).to_u128(128).value;
    let up = F::PRECISION as i32 + 4;
    let up = up + (power - up).rem_euclid(2);
    mantissa <<= up;
    power -= up;
    let root = mantissa.isqrt();
    let rest = root * root != mantissa;
    let value = F::from_u128_r(root << 1 | u128::from(rest), rounding).value;
    value.scalbn(power / 2 - 1)
}

fn bits<F: Float>(op: Exact, rounding: Rounding, srcs: [u64; 3]) -> u64 {
    apply(op, srcs.map(|s| F::from_bits(s.into())), round(rounding)).to_bits() as u64
}

/// The result, in a format of one lane; NaN with any bits.
pub(super) fn rounded(op: Exact, ty: FloatTy, rounding: Rounding, srcs: [u64; 3]) -> u64 {
    match ty.lane() {
        FloatTy::F16 | FloatTy::F16x2 => bits::<Half>(op, rounding, srcs),
        FloatTy::Bf16 | FloatTy::Bf16x2 => bits::<BFloat>(op, rounding, srcs),
        FloatTy::F32 | FloatTy::F32x2 => bits::<Single>(op, rounding, srcs),
        FloatTy::F64 => bits::<Double>(op, rounding, srcs),
    }
}

fn tiny<F: Float + FloatConvert<W>, W: Float>(
    op: Exact,
    rounding: Rounding,
    srcs: [u64; 3],
) -> bool {
    let wide = srcs.map(|s| F::from_bits(s.into()).convert(&mut false).value);
    let result: W = apply(op, wide, round(rounding));
    let least: W = F::smallest_normalized().convert(&mut false).value;
    !result.is_nan() && result.abs() < least
}

/// Whether the result, rounded as if exponents had no end, lies below the smallest normal number: what `.ftz`
/// makes zero.
pub(super) fn is_tiny(op: Exact, ty: FloatTy, rounding: Rounding, srcs: [u64; 3]) -> bool {
    match ty.lane() {
        FloatTy::F16 | FloatTy::F16x2 => tiny::<Half, WideHalf>(op, rounding, srcs),
        FloatTy::F32 | FloatTy::F32x2 => tiny::<Single, WideSingle>(op, rounding, srcs),
        // These have no `.ftz`.
        FloatTy::Bf16 | FloatTy::Bf16x2 | FloatTy::F64 => false,
    }
}

/// A number of 16 bits as a `.f32`, exactly; NaN stays one.
pub(super) fn half_to_single(from: FloatTy, x: u64) -> u64 {
    let single: Single = match from.lane() {
        FloatTy::F16 | FloatTy::F16x2 => Half::from_bits(x.into()).convert(&mut false).value,
        FloatTy::Bf16 | FloatTy::Bf16x2 => BFloat::from_bits(x.into()).convert(&mut false).value,
        FloatTy::F32 | FloatTy::F32x2 | FloatTy::F64 => return x,
    };
    single.to_bits() as u64
}
