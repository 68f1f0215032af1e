//! Approximate functions, in the steps that [`crate::ir::float::approx`] describes: without jumps and calls.
//!
//! Choices between floats are such that x86-64 has an instruction for them (the lesser, the greater), or are made between bits. Constants
//! are second operands where they can be: there x86-64 takes them from memory.

use crate::ir::float::approx::{
    Approx, COS, EX2, EX2_HALF, LG2, LG2_LEAST, ROUND_F32, ROUND_F64, SIN, TANH_MOST, TANH_OVER,
    TANH_UNDER,
};
use crate::ir::float::{Clamp, FloatTy, Mode, Rounding};
use crate::lower::emit::Emit;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::{Ieee32, Ieee64};
use cranelift_codegen::ir::types::{F32, F64, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};
use smallvec::SmallVec;
use std::f64::consts::{FRAC_1_PI, PI};

const MAGNITUDE: u64 = 0x7fff_ffff;
const SIGN: u64 = 0x8000_0000;
/// The least normal `.f32`.
const NORMAL: u64 = 0x0080_0000;
const INFINITY: u64 = 0x7f80_0000;
const NEGATIVE_INFINITY: u64 = 0xff80_0000;
const NAN: u64 = 0x7fff_ffff;

const MAGNITUDE_F64: u64 = 0x7fff_ffff_ffff_ffff;
const SIGN_F64: u64 = 0x8000_0000_0000_0000;
const NORMAL_F64: u64 = 0x0010_0000_0000_0000;
const INFINITY_F64: u64 = 0x7ff0_0000_0000_0000;
const UPPER: u64 = 0xffff_ffff_0000_0000;

impl Emit<'_, '_> {
    /// f(a, b), lane by lane: of a float type, or of an integer type with the canonical NaN.
    pub(super) fn approx(&mut self, op: Approx, ty: FloatTy, ftz: bool, srcs: &[Value]) -> Value {
        match ty {
            FloatTy::F64 if ftz => upper_word(self, op, srcs[0]),
            FloatTy::F64 => {
                let a = self.as_float(ty, srcs[0]);
                double(self, op, a)
            }
            FloatTy::F32 | FloatTy::F32x2 => {
                let srcs: SmallVec<[Value; 2]> =
                    srcs.iter().map(|&s| operand(self, op, ftz, s)).collect();
                let d = single(self, op, ftz, &srcs);
                // Results of the others are never subnormal, or made zeros on the way.
                let may_be_tiny = matches!(op, Approx::Div | Approx::DivFull | Approx::Rcp);
                if ftz && may_be_tiny {
                    let bits = bits(self, d);
                    let bits = flushed(self, bits);
                    return float(self, bits);
                }
                d
            }
            FloatTy::F16 | FloatTy::F16x2 | FloatTy::Bf16 | FloatTy::Bf16x2 => {
                let lanes = self.halves_to_f32(ty, srcs[0], false);
                let lanes: SmallVec<[Value; 2]> =
                    lanes.into_iter().map(|a| half(self, op, a)).collect();
                let mode = Mode {
                    rounding: Rounding::Rn,
                    ftz: false,
                    clamp: Clamp::None,
                };
                self.floats_to_halves(ty, &lanes, mode)
            }
        }
    }
}

/// A constant of `F32`.
fn k(e: &mut Emit<'_, '_>, value: f32) -> Value {
    e.ins().f32const(Ieee32::with_float(value))
}

/// A constant of `F64`.
fn k64(e: &mut Emit<'_, '_>, value: f64) -> Value {
    e.ins().f64const(Ieee64::with_float(value))
}

/// The bits of an `F32`.
fn bits(e: &mut Emit<'_, '_>, x: Value) -> Value {
    if e.ty(x) == I32 {
        return x;
    }
    e.ins().bitcast(I32, MemFlagsData::new(), x)
}

/// The `F32` of bits.
fn float(e: &mut Emit<'_, '_>, bits: Value) -> Value {
    e.ins().bitcast(F32, MemFlagsData::new(), bits)
}

/// Zeros of their signs for subnormal numbers, given as bits.
fn flushed(e: &mut Emit<'_, '_>, bits: Value) -> Value {
    let magnitude = e.and_k(bits, MAGNITUDE);
    let tiny = e.cmp_k(IntCC::UnsignedLessThan, magnitude, NORMAL);
    let zero = e.and_k(bits, SIGN);
    e.select(tiny, zero, bits)
}

/// A `.f32` operand as an `F32`, with `.ftz` flushed where subnormal ones would be told from zeros.
fn operand(e: &mut Emit<'_, '_>, op: Approx, ftz: bool, x: Value) -> Value {
    let flush = match op {
        Approx::Div
        | Approx::DivFull
        | Approx::Rcp
        | Approx::Sqrt
        | Approx::Rsqrt
        | Approx::Sin
        | Approx::Lg2 => ftz,
        Approx::Cos | Approx::Ex2 | Approx::Tanh => false,
    };
    if flush {
        let bits = bits(e, x);
        let bits = flushed(e, bits);
        return float(e, bits);
    }
    e.as_float(FloatTy::F32, x)
}

/// c0 * x^n + c1 * x^(n-1) + ...
fn polynomial(e: &mut Emit<'_, '_>, coefficients: &[f32], x: Value) -> Value {
    let mut rest = coefficients.iter();
    let mut p = k(e, rest.next().copied().unwrap_or(0.0));
    for &c in rest {
        let product = e.ins().fmul(x, p);
        let c = k(e, c);
        p = e.ins().fadd(product, c);
    }
    p
}

/// 1 + x * (c0 * x^n + ...)
fn one_plus(e: &mut Emit<'_, '_>, coefficients: &[f32], x: Value) -> Value {
    let p = polynomial(e, coefficients, x);
    let product = e.ins().fmul(x, p);
    let one = k(e, 1.0);
    e.ins().fadd(product, one)
}

/// An `F32` no greater than `most` and no less than `least`; NaN stays.
fn clamped(e: &mut Emit<'_, '_>, x: Value, least: f32, most: f32) -> Value {
    let most = k(e, most);
    let above = e.ins().fcmp(FloatCC::LessThan, most, x);
    let x = e.select(above, most, x);
    let least = k(e, least);
    let below = e.ins().fcmp(FloatCC::LessThan, x, least);
    e.select(below, least, x)
}

/// Of `.f32`, with operands that are flushed if need be.
fn single(e: &mut Emit<'_, '_>, op: Approx, ftz: bool, srcs: &[Value]) -> Value {
    let a = srcs[0];
    match op {
        Approx::Div => div(e, a, srcs[1]),
        Approx::DivFull => e.ins().fdiv(a, srcs[1]),
        Approx::Rcp => {
            let one = k(e, 1.0);
            e.ins().fdiv(one, a)
        }
        Approx::Sqrt => e.ins().sqrt(a),
        Approx::Rsqrt => {
            let root = e.ins().sqrt(a);
            let one = k(e, 1.0);
            e.ins().fdiv(one, root)
        }
        Approx::Sin => sin(e, a),
        Approx::Cos => cos(e, a),
        Approx::Lg2 => lg2(e, ftz, a),
        Approx::Ex2 if ftz => ex2_normal(e, &EX2, a),
        Approx::Ex2 => ex2(e, a),
        Approx::Tanh => tanh(e, a),
    }
}

/// a / b. A divisor above 2^126 is as good as infinite.
fn div(e: &mut Emit<'_, '_>, a: Value, b: Value) -> Value {
    let divisor = bits(e, b);
    let magnitude = e.and_k(divisor, MAGNITUDE);
    // Above 2^126, and no NaN.
    let above = e.add_k(magnitude, 0x7e80_0001u32.wrapping_neg().into());
    let large = e.cmp_k(IntCC::UnsignedLessThan, above, INFINITY - 0x7e80_0001);
    let sign = e.and_k(divisor, SIGN);
    let infinity = e.k(I32, INFINITY);
    let infinity = e.or(sign, infinity);
    let divisor = e.select(large, infinity, divisor);
    let divisor = float(e, divisor);
    e.ins().fdiv(a, divisor)
}

/// |a|, given by its bits, less the nearest multiple of pi, as an `F32`; and which multiple, in the lowest bit of an `I32`.
fn reduced(e: &mut Emit<'_, '_>, a: Value) -> (Value, Value) {
    let magnitude = e.and_k(a, MAGNITUDE);
    let magnitude = float(e, magnitude);
    let wide = e.ins().fpromote(F64, magnitude);
    let by_pi = k64(e, FRAC_1_PI);
    let t = e.ins().fmul(wide, by_pi);
    let n = e.ins().nearest(t);
    let rest = e.ins().fsub(t, n);
    let pi = k64(e, PI);
    let r = e.ins().fmul(rest, pi);
    let r = e.ins().fdemote(F32, r);
    let round = k64(e, ROUND_F64);
    let sum = e.ins().fadd(n, round);
    let sum = e.ins().bitcast(I64, MemFlagsData::new(), sum);
    (r, e.ins().ireduce(I32, sum))
}

fn sin(e: &mut Emit<'_, '_>, a: Value) -> Value {
    let a = bits(e, a);
    let (r, multiple) = reduced(e, a);
    let z = e.ins().fmul(r, r);
    let cube = e.ins().fmul(r, z);
    let p = polynomial(e, &SIN, z);
    let p = e.ins().fmul(cube, p);
    let d = e.ins().fadd(r, p);
    let odd = e.shl_k(multiple, 31);
    let sign = e.and_k(a, SIGN);
    let sign = e.ins().bxor(odd, sign);
    with_sign_changed(e, d, sign)
}

fn cos(e: &mut Emit<'_, '_>, a: Value) -> Value {
    let a = bits(e, a);
    let (r, multiple) = reduced(e, a);
    let z = e.ins().fmul(r, r);
    let d = one_plus(e, &COS, z);
    let odd = e.shl_k(multiple, 31);
    with_sign_changed(e, d, odd)
}

/// An `F32` negated where the sign's bit is set.
fn with_sign_changed(e: &mut Emit<'_, '_>, x: Value, sign: Value) -> Value {
    let x = bits(e, x);
    let x = e.ins().bxor(x, sign);
    float(e, x)
}

/// The bits of the logarithm.
fn lg2(e: &mut Emit<'_, '_>, ftz: bool, a: Value) -> Value {
    let operand = bits(e, a);
    let (scaled, subnormal) = if ftz {
        (operand, None)
    } else {
        let up = k(e, 16_777_216.0);
        let up = e.ins().fmul(a, up);
        let up = bits(e, up);
        let subnormal = e.cmp_k(IntCC::UnsignedLessThan, operand, NORMAL);
        (e.select(subnormal, up, operand), Some(subnormal))
    };
    let above = e.add_k(scaled, LG2_LEAST.wrapping_neg().into());
    let mut exponent = e.sar_k(above, 23);
    if let Some(subnormal) = subnormal {
        let less = e.add_k(exponent, u64::from(24u32.wrapping_neg()));
        exponent = e.select(subnormal, less, exponent);
    }
    let m = e.and_k(above, 0x007f_ffff);
    let m = e.add_k(m, LG2_LEAST.into());
    let m = float(e, m);
    let one = k(e, 1.0);
    let under = e.ins().fadd(m, one);
    let over = e.ins().fsub(m, one);
    let s = e.ins().fdiv(over, under);
    let z = e.ins().fmul(s, s);
    let p = polynomial(e, &LG2, z);
    let p = e.ins().fmul(s, p);
    let exponent = e.ins().fcvt_from_sint(F32, exponent);
    let d = e.ins().fadd(exponent, p);
    let d = bits(e, d);
    // Zeros, infinities, NaN, and what is negative.
    let least = if ftz { NORMAL } else { 1 };
    let from_least = e.add_k(operand, (least as u32).wrapping_neg().into());
    let regular = e.cmp_k(IntCC::UnsignedLessThan, from_least, INFINITY - least);
    let infinite = e.cmp_k(IntCC::Equal, operand, INFINITY);
    let special = e.select_or_k(infinite, operand, NAN);
    let magnitude = e.and_k(operand, MAGNITUDE);
    let zero = e.cmp_k(IntCC::Equal, magnitude, 0);
    let infinity = e.k(I32, NEGATIVE_INFINITY);
    let special = e.select(zero, infinity, special);
    e.select(regular, d, special)
}

/// a as the sum of an integer, in the low bits of an `I32`, and the f of 2^f, which is given.
fn powers(e: &mut Emit<'_, '_>, coefficients: &[f32], a: Value) -> (Value, Value) {
    let round = k(e, ROUND_F32);
    let sum = e.ins().fadd(a, round);
    let n = e.ins().fsub(sum, round);
    let f = e.ins().fsub(a, n);
    (bits(e, sum), one_plus(e, coefficients, f))
}

/// 2^a, subnormal ones, too.
fn ex2(e: &mut Emit<'_, '_>, a: Value) -> Value {
    let a = clamped(e, a, -151.0, 129.0);
    let (sum, power) = powers(e, &EX2, a);
    let n = e.add_k(sum, ROUND_F32.to_bits().wrapping_neg().into());
    let half = e.sar_k(n, 1);
    let other = e.ins().isub(n, half);
    let mut d = power;
    for n in [half, other] {
        let n = e.add_k(n, 127);
        let n = e.shl_k(n, 23);
        let n = float(e, n);
        d = e.ins().fmul(d, n);
    }
    d
}

/// The bits of 2^a, 0 for subnormal ones.
fn ex2_normal(e: &mut Emit<'_, '_>, coefficients: &[f32], a: Value) -> Value {
    let within = clamped(e, a, -127.0, 128.0);
    let (sum, power) = powers(e, coefficients, within);
    let exponent = e.shl_k(sum, 23);
    let power = bits(e, power);
    let d = e.ins().iadd(power, exponent);
    let tiny = e.cmp_k(IntCC::UnsignedLessThan, d, NORMAL);
    let zero = e.k(I32, 0);
    let d = e.select(tiny, zero, d);
    let is_nan = e.ins().fcmp(FloatCC::Unordered, a, a);
    let nan = e.k(I32, NAN);
    e.select(is_nan, nan, d)
}

fn tanh(e: &mut Emit<'_, '_>, a: Value) -> Value {
    let a = clamped(e, a, -TANH_MOST, TANH_MOST);
    let z = e.ins().fmul(a, a);
    let over = one_plus(e, &TANH_OVER, z);
    let over = e.ins().fmul(a, over);
    let under = one_plus(e, &TANH_UNDER, z);
    e.ins().fdiv(over, under)
}

/// Of an `F64`: the reciprocal, of the square root if that is asked for.
fn double(e: &mut Emit<'_, '_>, op: Approx, a: Value) -> Value {
    let divisor = match op {
        Approx::Rsqrt => e.ins().sqrt(a),
        // These have no `.f64`, or only one with `.ftz`.
        Approx::Div
        | Approx::DivFull
        | Approx::Rcp
        | Approx::Sqrt
        | Approx::Sin
        | Approx::Cos
        | Approx::Lg2
        | Approx::Ex2
        | Approx::Tanh => a,
    };
    let one = k64(e, 1.0);
    e.ins().fdiv(one, divisor)
}

/// Of `.ftz.f64`, in bits: from the upper word of a, rounded to an upper word.
fn upper_word(e: &mut Emit<'_, '_>, op: Approx, a: Value) -> Value {
    let flushed = |e: &mut Emit<'_, '_>, bits: Value, to: Value| {
        let magnitude = e.and_k(bits, MAGNITUDE_F64);
        let tiny = e.cmp_k(IntCC::UnsignedLessThan, magnitude, NORMAL_F64);
        let zero = e.and_k(bits, SIGN_F64);
        (e.select(tiny, zero, to), magnitude)
    };
    let a = if e.ty(a) == F64 {
        e.ins().bitcast(I64, MemFlagsData::new(), a)
    } else {
        a
    };
    let a = e.and_k(a, UPPER);
    let (a, _) = flushed(e, a, a);
    let a = e.ins().bitcast(F64, MemFlagsData::new(), a);
    let d = double(e, op, a);
    let d = e.ins().bitcast(I64, MemFlagsData::new(), d);
    let rounded = e.add_k(d, 0x8000_0000);
    let rounded = e.and_k(rounded, UPPER);
    let (rounded, magnitude) = flushed(e, d, rounded);
    let is_nan = e.cmp_k(IntCC::UnsignedGreaterThan, magnitude, INFINITY_F64);
    let nan = e.k(I64, 0x7fff_ffff_0000_0000);
    e.select(is_nan, nan, rounded)
}

/// Of an `F32` that is to be rounded to 16 bits, as such.
fn half(e: &mut Emit<'_, '_>, op: Approx, a: Value) -> Value {
    match op {
        Approx::Ex2 => {
            let d = ex2_normal(e, &EX2_HALF, a);
            float(e, d)
        }
        Approx::Div
        | Approx::DivFull
        | Approx::Rcp
        | Approx::Sqrt
        | Approx::Rsqrt
        | Approx::Sin
        | Approx::Cos
        | Approx::Lg2
        | Approx::Tanh => single(e, op, false, &[a, a]),
    }
}
