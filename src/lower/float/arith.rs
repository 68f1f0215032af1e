//! Arithmetic that rounds once.
//!
//! To the nearest it is the host's. In other directions `.f32` goes through `.f64` ([`round`](super::round)), and `.f64` is corrected by the sign of the
//! error ([`double`](super::double)). The processor's rounding mode stays as it is.

use super::{Emit, power};
use crate::ir::float::{Clamp, FloatTy, Mode, Rounding};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use smallvec::SmallVec;

/// An operation of one to three operands that rounds once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// How a product that `.ftz` judges is scaled: what is near the least normal number gets room below it.
const SCALE: i32 = 48;

impl Emit<'_, '_> {
    /// The operation in `.f32` or `.f64`.
    pub(super) fn exact(&mut self, op: Exact, ty: FloatTy, mode: Mode, srcs: &[Value]) -> Value {
        let ftz = mode.ftz && ty != FloatTy::F64;
        let bits = srcs;
        let srcs: SmallVec<[Value; 3]> = bits.iter().map(|&s| self.operand(ty, ftz, s)).collect();
        let d = match (mode.rounding, ty) {
            (Rounding::Rn, _) => {
                let d = self.nearest(op, &srcs);
                if ftz { self.flushed(op, d, &srcs) } else { d }
            }
            (rounding, FloatTy::F64) => self.directed_double(op, rounding, &srcs),
            (rounding, _) => self.directed_single(op, rounding, ftz, &srcs),
        };
        match (op, ty) {
            (Exact::Div | Exact::Sqrt, FloatTy::F64) => self.passing_nan(d, bits),
            _ => self.with_clamp(ty, mode.clamp, d),
        }
    }

    /// The bits of the `.f64` result d; where a source is NaN, that, quiet.
    fn passing_nan(&mut self, d: Value, srcs: &[Value]) -> Value {
        let mut nan = self.k(I64, 0xfff8_0000_0000_0000);
        for &src in srcs.iter().rev() {
            let x = self.as_float(FloatTy::F64, src);
            let is_nan = self.ins().fcmp(FloatCC::Unordered, x, x);
            let bits = self.settled(src);
            let quiet = self.k(I64, 1 << 51);
            let quiet = self.or(bits, quiet);
            nan = self.select(is_nan, quiet, nan);
        }
        let is_nan = self.ins().fcmp(FloatCC::Unordered, d, d);
        let bits = self.as_bits(d);
        self.select(is_nan, nan, bits)
    }

    /// As the host does it.
    pub(super) fn nearest(&mut self, op: Exact, srcs: &[Value]) -> Value {
        match op {
            Exact::Add => self.ins().fadd(srcs[0], srcs[1]),
            Exact::Sub => self.ins().fsub(srcs[0], srcs[1]),
            Exact::Mul => self.ins().fmul(srcs[0], srcs[1]),
            Exact::Div => self.ins().fdiv(srcs[0], srcs[1]),
            Exact::Fma => self.ins().fma(srcs[0], srcs[1], srcs[2]),
            Exact::Sqrt => self.ins().sqrt(srcs[0]),
        }
    }

    /// The `.f32` result d, rounded to the nearest, of operands that are not subnormal; a zero of its sign if it is tiny: if it lies below the
    /// least normal number when it is rounded as if exponents had no end.
    fn flushed(&mut self, op: Exact, d: Value, srcs: &[Value]) -> Value {
        let (judged, scale) = match op {
            // A subnormal sum is exact, and a root is never subnormal.
            Exact::Sqrt => return d,
            Exact::Add | Exact::Sub => (d, 0),
            // What overflows when it is scaled is not tiny, and what is tiny and scaled is normal, or far below.
            Exact::Mul | Exact::Div | Exact::Fma => {
                let up = self.float_k(FloatTy::F32, power(SCALE));
                let mut scaled: SmallVec<[Value; 3]> = srcs.into();
                scaled[0] = self.ins().fmul(srcs[0], up);
                if op == Exact::Fma {
                    scaled[2] = self.ins().fmul(srcs[2], up);
                }
                (self.nearest(op, &scaled), SCALE)
            }
        };
        let magnitude = self.ins().fabs(judged);
        self.flush_if_below(d, magnitude, power(scale - 126))
    }

    /// What is done to a rounded result.
    fn with_clamp(&mut self, ty: FloatTy, clamp: Clamp, d: Value) -> Value {
        let zero = self.float_k(ty, 0.0);
        match clamp {
            Clamp::None => d,
            // NaN and -0 become +0, too. On x86-64 each select is one instruction.
            Clamp::Sat => {
                let one = self.float_k(ty, 1.0);
                let positive = self.ins().fcmp(FloatCC::LessThan, zero, d);
                let d = self.select(positive, d, zero);
                let below = self.ins().fcmp(FloatCC::LessThan, d, one);
                self.select(below, d, one)
            }
            Clamp::Relu => {
                let negative = self.ins().fcmp(FloatCC::LessThanOrEqual, d, zero);
                self.select(negative, zero, d)
            }
        }
    }
}
