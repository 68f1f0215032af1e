//! Conversions to, from and among floating-point numbers. PTX ISA, `cvt`.

use super::number::{Finite, Layout, Number};
use crate::ir::IntTy;
use crate::ir::convert::float::{self, Op, copies, flushes, nan_to_int};
use crate::ir::float::{Clamp, FloatTy, Mode, Rounding};
use crate::semantics::{saturate, src, typed};

/// The result of an operator.
pub(super) fn eval(op: Op, srcs: &[u64]) -> u64 {
    let a = src(srcs, 0);
    match op {
        Op::FromInt {
            from,
            to,
            rounding,
            sat,
        } => {
            let mode = Mode {
                rounding,
                ftz: false,
                clamp: if sat { Clamp::Sat } else { Clamp::None },
            };
            let number = Number::Finite(Finite::integer(typed(from, a)));
            rounded(number, to, mode, nan(to))
        }
        Op::ToInt {
            from,
            to,
            rounding,
            ftz,
            dst,
        } => to_int(from, to, rounding, ftz, a) & dst.mask(),
        Op::Between { from, to, mode } => between(from, to, mode, a),
        Op::Integral { ty, mode } => integral(ty, mode, a),
    }
}

/// What the bits stand for, zero of the same sign for a subnormal number where `.ftz` makes it that.
fn source(ty: FloatTy, ftz: bool, a: u64) -> Number {
    let layout = Layout::of(ty);
    let subnormal = a & layout.infinity() == 0;
    let bits = if flushes(ty, ftz) && subnormal {
        a & layout.sign()
    } else {
        a
    };
    layout.number(bits)
}

/// The NaN of conversions.
fn nan(ty: FloatTy) -> u64 {
    match ty.lane() {
        FloatTy::F16 | FloatTy::F16x2 | FloatTy::Bf16 | FloatTy::Bf16x2 => 0x7fff,
        FloatTy::F32 | FloatTy::F32x2 => 0x7fff_ffff,
        // 7fffffff, widened.
        FloatTy::F64 => 0x7fff_ffff_e000_0000,
    }
}

/// d = a rounded to an integer and clamped, extended by its sign.
fn to_int(from: FloatTy, to: IntTy, rounding: Rounding, ftz: bool, a: u64) -> u64 {
    let value = match source(from, ftz, a) {
        Number::Nan => return typed(to, nan_to_int(from, to)) as u64,
        Number::Infinity { negative } => i128::MAX * if negative { -1 } else { 1 },
        Number::Finite(number) => {
            let magnitude = number.rounded(rounding).cast_signed();
            if number.negative {
                -magnitude
            } else {
                magnitude
            }
        }
    };
    saturate(value, to.bits(), to.signed()) as u64
}

/// d = a in another format or the same.
fn between(from: FloatTy, to: FloatTy, mode: Mode, a: u64) -> u64 {
    if copies(from, to, mode) {
        return a;
    }
    let nan = match (from, to) {
        // Its upper bits, with the one that makes it quiet.
        (FloatTy::F64, FloatTy::F32) => {
            (a >> 32 & 0x8000_0000) | 0x7fc0_0000 | (a >> 29 & 0x003f_ffff)
        }
        // The upper half of a `.f32`.
        (FloatTy::Bf16, FloatTy::F32) if !mode.ftz => a << 16,
        _ => nan(to),
    };
    rounded(source(from, mode.ftz, a), to, mode, nan)
}

/// d = a rounded to an integer, its sign kept.
fn integral(ty: FloatTy, mode: Mode, a: u64) -> u64 {
    let number = match source(ty, mode.ftz, a) {
        // No unit of an integer is cut off from what exceeds 64 bits.
        Number::Finite(number) if number.exponent < 0 => Number::Finite(Finite {
            magnitude: number.rounded(mode.rounding) as u64,
            exponent: 0,
            ..number
        }),
        other => other,
    };
    let nan = match ty {
        FloatTy::F64 => float::INTEGRAL_NAN,
        _ => nan(ty),
    };
    rounded(number, ty, mode, nan)
}

/// The number rounded to a format and clamped.
fn rounded(number: Number, ty: FloatTy, mode: Mode, nan: u64) -> u64 {
    let layout = Layout::of(ty);
    let (negative, magnitude) = match number {
        Number::Nan => {
            return match mode.clamp {
                Clamp::Sat => 0,
                Clamp::None | Clamp::Relu => nan,
            };
        }
        Number::Infinity { negative } => (negative, layout.infinity()),
        Number::Finite(x) => {
            let tiny = mode.ftz && ty == FloatTy::F32 && x.is_tiny(layout, mode.rounding);
            let magnitude = if tiny {
                0
            } else {
                overflowed(layout, mode.rounding, x)
            };
            (x.negative, magnitude)
        }
    };
    let sign = if negative { layout.sign() } else { 0 };
    match mode.clamp {
        Clamp::None => sign | magnitude,
        Clamp::Sat | Clamp::Relu if negative => 0,
        Clamp::Relu => magnitude,
        Clamp::Sat => magnitude.min(layout.one()),
    }
}

/// The magnitude rounded; where it is too great infinity, or the greatest finite number if it is rounded towards zero.
fn overflowed(layout: Layout, rounding: Rounding, x: Finite) -> u64 {
    let magnitude = x.encoded(layout, |rest| rest.up(rounding));
    let to_infinity = match rounding {
        Rounding::Rn => true,
        Rounding::Rz => false,
        Rounding::Rm => x.negative,
        Rounding::Rp => !x.negative,
    };
    magnitude.min(layout.infinity() - u64::from(!to_infinity))
}
