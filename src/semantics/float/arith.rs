//! Arithmetic that rounds once. PTX ISA, `add`, `sub`, `mul`, `fma`, `div`, `rcp`, `sqrt`.

use super::format::{flushed, infinity, is_nan, one, sign};
use super::soft::{self, Exact};
use super::{nan, src};
use crate::ir::float::{Clamp, FloatTy, Mode, Rounding};

/// The operation on sources of one lane.
pub(super) fn eval(op: Exact, ty: FloatTy, mode: Mode, srcs: &[u64]) -> u64 {
    let srcs = [0, 1, 2].map(|i| flushed(ty, mode.ftz, src(srcs, i)));
    let d = match mode.rounding {
        Rounding::Rn => nearest(op, ty, srcs),
        Rounding::Rz | Rounding::Rm | Rounding::Rp => None,
    };
    let d = d.unwrap_or_else(|| soft::rounded(op, ty, mode.rounding, srcs));
    // What is greater than the least normal number is not tiny.
    let may_be_tiny = d & !sign(ty) <= least_normal(ty);
    if mode.ftz && may_be_tiny && soft::is_tiny(op, ty, mode.rounding, srcs) {
        return clamped(ty, mode.clamp, d & sign(ty));
    }
    if let (Exact::Div | Exact::Sqrt, FloatTy::F64) = (op, ty) {
        return srcs
            .into_iter()
            .find(|&s| is_nan(ty, s))
            .map_or(clamped(ty, mode.clamp, d), quiet);
    }
    clamped(ty, mode.clamp, d)
}

/// A NaN of `.f64` as quotients and roots of it are: quiet.
fn quiet(nan: u64) -> u64 {
    nan | 1 << 51
}

/// The smallest normal number.
fn least_normal(ty: FloatTy) -> u64 {
    infinity(ty) & infinity(ty).wrapping_neg()
}

/// Rounded to the nearest by the host, which does as IEEE 754 says, in the formats that it has.
fn nearest(op: Exact, ty: FloatTy, srcs: [u64; 3]) -> Option<u64> {
    match ty.lane() {
        FloatTy::F32 | FloatTy::F32x2 => {
            let [a, b, c] = srcs.map(|s| f32::from_bits(s as u32));
            let d = match op {
                Exact::Add => a + b,
                Exact::Sub => a - b,
                Exact::Mul => a * b,
                Exact::Div => a / b,
                Exact::Fma => a.mul_add(b, c),
                Exact::Sqrt => a.sqrt(),
            };
            Some(d.to_bits().into())
        }
        FloatTy::F64 => {
            let [a, b, c] = srcs.map(f64::from_bits);
            let d = match op {
                Exact::Add => a + b,
                Exact::Sub => a - b,
                Exact::Mul => a * b,
                Exact::Div => a / b,
                Exact::Fma => a.mul_add(b, c),
                Exact::Sqrt => a.sqrt(),
            };
            Some(d.to_bits())
        }
        FloatTy::F16 | FloatTy::F16x2 | FloatTy::Bf16 | FloatTy::Bf16x2 => None,
    }
}

/// The result clamped, NaN made canonical.
fn clamped(ty: FloatTy, clamp: Clamp, d: u64) -> u64 {
    let negative = d & sign(ty) != 0;
    match clamp {
        Clamp::None | Clamp::Relu if is_nan(ty, d) => nan(ty),
        Clamp::None => d,
        Clamp::Relu => {
            if negative {
                0
            } else {
                d
            }
        }
        Clamp::Sat => {
            if is_nan(ty, d) || negative {
                0
            } else {
                d.min(one(ty))
            }
        }
    }
}
