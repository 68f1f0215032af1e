//! Approximate functions, in the steps that [`crate::ir::float::approx`] describes.

use super::{nan, src};
use crate::ir::float::FloatTy;
use crate::ir::float::approx::{
    Approx, COS, EX2, EX2_HALF, LG2, LG2_LEAST, ROUND_F32, ROUND_F64, SIN, TANH_MOST, TANH_OVER,
    TANH_UNDER,
};
use rustc_apfloat::ieee::{BFloat, Half, Single};
use rustc_apfloat::{Float, FloatConvert};
use std::f64::consts::{FRAC_1_PI, PI};

/// d = f(a, b) in a format of one lane.
pub(super) fn eval(op: Approx, ty: FloatTy, ftz: bool, srcs: &[u64]) -> u64 {
    let [a, b] = [0, 1].map(|i| src(srcs, i));
    match ty.lane() {
        FloatTy::F64 if ftz => upper_word(op, a),
        FloatTy::F64 => double(op, f64::from_bits(a)),
        FloatTy::F32 | FloatTy::F32x2 => {
            let [a, b] = [a, b].map(|x| flushed(ftz, f32::from_bits(x as u32)));
            settled(flushed(ftz, single(op, ftz, a, b))).into()
        }
        FloatTy::F16 | FloatTy::F16x2 => half::<Half>(op, a),
        FloatTy::Bf16 | FloatTy::Bf16x2 => half::<BFloat>(op, a),
    }
}

/// The number, or a zero of its sign for a subnormal one with `.ftz`.
fn flushed(ftz: bool, x: f32) -> f32 {
    if ftz && x.is_subnormal() {
        0f32.copysign(x)
    } else {
        x
    }
}

/// The bits, NaN made canonical.
fn settled(x: f32) -> u32 {
    if x.is_nan() {
        nan(FloatTy::F32) as u32
    } else {
        x.to_bits()
    }
}

/// c0 * x^n + c1 * x^(n-1) + ...
fn polynomial(coefficients: &[f32], x: f32) -> f32 {
    coefficients
        .iter()
        .copied()
        .reduce(|p, c| c + x * p)
        .unwrap_or(0.0)
}

/// Of `.f32`; `.ftz` is done by the caller, but that the exponential with it has another way.
fn single(op: Approx, ftz: bool, a: f32, b: f32) -> f32 {
    match op {
        // 2^126
        Approx::Div if b.abs() > f32::from_bits(0x7e80_0000) => a * 0f32.copysign(b),
        Approx::Div | Approx::DivFull => a / b,
        Approx::Rcp => 1.0 / a,
        Approx::Sqrt => a.sqrt(),
        Approx::Rsqrt => 1.0 / a.sqrt(),
        Approx::Sin => sin(a),
        Approx::Cos => cos(a),
        Approx::Lg2 => lg2(a),
        Approx::Ex2 if ftz => ex2_normal(&EX2, a),
        Approx::Ex2 => ex2(a),
        Approx::Tanh => tanh(a),
    }
}

/// |a| less the nearest multiple of pi, and whether that is an odd one.
fn reduced(a: f32) -> (f32, bool) {
    let t = f64::from(a.abs()) * FRAC_1_PI;
    let k = t.round_ties_even();
    let odd = (k + ROUND_F64).to_bits() & 1 != 0;
    (((t - k) * PI) as f32, odd)
}

fn negated_if(negative: bool, x: f32) -> f32 {
    if negative { -x } else { x }
}

fn sin(a: f32) -> f32 {
    let (r, odd) = reduced(a);
    let z = r * r;
    let d = r + (r * z) * polynomial(&SIN, z);
    negated_if(odd != a.is_sign_negative(), d)
}

fn cos(a: f32) -> f32 {
    let (r, odd) = reduced(a);
    let z = r * r;
    negated_if(odd, 1.0 + z * polynomial(&COS, z))
}

fn lg2(a: f32) -> f32 {
    if a == 0.0 {
        return f32::NEG_INFINITY;
    }
    if a.is_nan() || a < 0.0 {
        return f32::NAN;
    }
    if a == f32::INFINITY {
        return a;
    }
    let (scaled, less) = if a.is_subnormal() {
        (a * 16_777_216.0, 24)
    } else {
        (a, 0)
    };
    let above = scaled.to_bits().wrapping_sub(LG2_LEAST);
    let e = (above as i32 >> 23) - less;
    let m = f32::from_bits((above & 0x007f_ffff) + LG2_LEAST);
    let s = (m - 1.0) / (m + 1.0);
    e as f32 + s * polynomial(&LG2, s * s)
}

/// a as the sum of an integer, given in the low bits, and the f of 2^f, which is given.
fn powers(coefficients: &[f32], a: f32) -> (u32, f32) {
    let sum = a + ROUND_F32;
    let f = a - (sum - ROUND_F32);
    (sum.to_bits(), 1.0 + f * polynomial(coefficients, f))
}

/// 2^a, subnormal ones, too.
fn ex2(a: f32) -> f32 {
    // Not `clamp`, to keep NaN: below and above these all results are 0 and infinity.
    let a = if 129.0 < a { 129.0 } else { a };
    let a = if a < -151.0 { -151.0 } else { a };
    let (n, power) = powers(&EX2, a);
    let n = n.wrapping_sub(ROUND_F32.to_bits()) as i32;
    let half = n >> 1;
    let [x, y] =
        [half, n.wrapping_sub(half)].map(|n| f32::from_bits((n.wrapping_add(127) as u32) << 23));
    power * x * y
}

/// 2^a, 0 for subnormal ones.
fn ex2_normal(coefficients: &[f32], a: f32) -> f32 {
    if a.is_nan() {
        return a;
    }
    let (n, power) = powers(coefficients, a.clamp(-127.0, 128.0));
    let d = power.to_bits().wrapping_add(n << 23);
    if d < 0x0080_0000 {
        0.0
    } else {
        f32::from_bits(d)
    }
}

fn tanh(a: f32) -> f32 {
    // Not `clamp`, to keep NaN.
    let a = if TANH_MOST < a { TANH_MOST } else { a };
    let a = if a < -TANH_MOST { -TANH_MOST } else { a };
    let z = a * a;
    let over = a * (1.0 + z * polynomial(&TANH_OVER, z));
    over / (1.0 + z * polynomial(&TANH_UNDER, z))
}

/// Of `.f64`.
fn double(op: Approx, a: f64) -> u64 {
    let d = match op {
        Approx::Rsqrt => 1.0 / a.sqrt(),
        // These have no `.f64`, or only one with `.ftz`.
        Approx::Div
        | Approx::DivFull
        | Approx::Rcp
        | Approx::Sqrt
        | Approx::Sin
        | Approx::Cos
        | Approx::Lg2
        | Approx::Ex2
        | Approx::Tanh => 1.0 / a,
    };
    if d.is_nan() {
        nan(FloatTy::F64)
    } else {
        d.to_bits()
    }
}

/// Of `.ftz.f64`: from the upper word of a, rounded to an upper word.
fn upper_word(op: Approx, a: u64) -> u64 {
    let flushed = |x: f64| {
        if x.is_subnormal() {
            0f64.copysign(x)
        } else {
            x
        }
    };
    let a = flushed(f64::from_bits(a & !0xffff_ffff));
    let d = flushed(f64::from_bits(double(op, a)));
    if d.is_nan() {
        return 0x7fff_ffff_0000_0000;
    }
    (d.to_bits() + 0x8000_0000) & !0xffff_ffff
}

/// Of 16 bits, through `.f32`.
fn half<F: Float + FloatConvert<Single>>(op: Approx, a: u64) -> u64
where
    Single: FloatConvert<F>,
{
    let wide: Single = F::from_bits(a.into()).convert(&mut false).value;
    let wide = f32::from_bits(wide.to_bits() as u32);
    let d = match op {
        Approx::Ex2 => ex2_normal(&EX2_HALF, wide),
        Approx::Div
        | Approx::DivFull
        | Approx::Rcp
        | Approx::Sqrt
        | Approx::Rsqrt
        | Approx::Sin
        | Approx::Cos
        | Approx::Lg2
        | Approx::Tanh => single(op, false, wide, 1.0),
    };
    if d.is_nan() {
        return nan(FloatTy::F16);
    }
    let narrow: F = Single::from_bits(d.to_bits().into())
        .convert(&mut false)
        .value;
    narrow.to_bits() as u64
}
