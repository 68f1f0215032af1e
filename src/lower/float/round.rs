//! Directed rounding of `.f32`, through `.f64`.
//!
//! There products of `.f32` are exact, and of a sum the rest is known, so that it can be rounded to odd: the last bit says whether anything was
//! left. Rounded again to 24 bits, in any direction, it gives what the exact sum gives. Quotients and roots of numbers of 24
//! bits are either numbers of 25 bits or so far from them that rounding them to 53 bits does not cross one.

use super::arith::Exact;
use super::{Emit, power};
use crate::ir::float::Rounding;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, F64, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};
use smallvec::SmallVec;

impl Emit<'_, '_> {
    /// The operation on `.f32`, not to the nearest.
    pub(super) fn directed_single(
        &mut self,
        op: Exact,
        rounding: Rounding,
        ftz: bool,
        srcs: &[Value],
    ) -> Value {
        let srcs: SmallVec<[Value; 3]> = (srcs.iter())
            .map(|&src| self.ins().fpromote(F64, src))
            .collect();
        let exact = match op {
            Exact::Mul | Exact::Div | Exact::Sqrt => self.nearest(op, &srcs),
            Exact::Add => self.odd_sum(rounding, srcs[0], srcs[1]),
            Exact::Sub => {
                let b = self.ins().fneg(srcs[1]);
                self.odd_sum(rounding, srcs[0], b)
            }
            Exact::Fma => {
                let product = self.ins().fmul(srcs[0], srcs[1]);
                self.odd_sum(rounding, product, srcs[2])
            }
        };
        let d = self.narrowed(rounding, exact);
        if !ftz || op == Exact::Sqrt {
            return d;
        }
        // Rounded away from zero, what lies within the last 25th bit below the least normal number becomes that.
        let (least, below) = (power(-126), power(-126) - power(-150));
        let tiny = match rounding {
            Rounding::Rn | Rounding::Rz => {
                let magnitude = self.ins().fabs(exact);
                self.fcmp_k(FloatCC::LessThan, magnitude, least)
            }
            Rounding::Rm => {
                let above = self.fcmp_k(FloatCC::GreaterThanOrEqual, exact, -below);
                let beneath = self.fcmp_k(FloatCC::LessThan, exact, least);
                self.ins().band(above, beneath)
            }
            Rounding::Rp => {
                let above = self.fcmp_k(FloatCC::GreaterThan, exact, -least);
                let beneath = self.fcmp_k(FloatCC::LessThanOrEqual, exact, below);
                self.ins().band(above, beneath)
            }
        };
        let zero = self.zero_of(d);
        self.select(tiny, zero, d)
    }

    /// a + b of numbers whose sum does not overflow, rounded to odd; a zero has the sign that `rounding` gives it.
    pub(super) fn odd_sum(&mut self, rounding: Rounding, a: Value, b: Value) -> Value {
        let (sum, rest) = self.two_sum(a, b);
        let bits = self.as_bits(sum);
        let rest_bits = self.as_bits(rest);
        let signs = self.ins().bxor(bits, rest_bits);
        let back = self.sar_k(signs, 63);
        let truncated = self.ins().iadd(bits, back);
        let one = self.k(I64, 1);
        let odd = self.or(truncated, one);
        let magnitude = self.ins().fabs(rest);
        let inexact = self.fcmp_k(FloatCC::GreaterThan, magnitude, 0.0);
        let bits = self.select(inexact, odd, bits);
        let sum = self.ins().bitcast(F64, MemFlagsData::new(), bits);
        self.zero_sum(rounding, sum, a, b)
    }

    /// The sum of a and b with the sign that a zero has in a direction: towards negative infinity it is negative unless both are
    /// positive zeros.
    pub(super) fn zero_sum(&mut self, rounding: Rounding, sum: Value, a: Value, b: Value) -> Value {
        if rounding != Rounding::Rm {
            return sum;
        }
        let is_zero = self.fcmp_k(FloatCC::Equal, sum, 0.0);
        let either = self.ins().bor(a, b);
        let zero = self.zero_of(either);
        self.select(is_zero, zero, sum)
    }

    /// The sum, and exactly what rounding it left over, if nothing overflows.
    pub(super) fn two_sum(&mut self, a: Value, b: Value) -> (Value, Value) {
        let sum = self.ins().fadd(a, b);
        let b_part = self.ins().fsub(sum, a);
        let a_part = self.ins().fsub(sum, b_part);
        let a_rest = self.ins().fsub(a, a_part);
        let b_rest = self.ins().fsub(b, b_part);
        (sum, self.ins().fadd(a_rest, b_rest))
    }

    /// An `.f64` rounded to `.f32`.
    fn narrowed(&mut self, rounding: Rounding, exact: Value) -> Value {
        let nearest = self.ins().fdemote(F32, exact);
        let back = self.ins().fpromote(F64, nearest);
        let bits = self.as_bits(nearest);
        let bits = match rounding {
            Rounding::Rn => return nearest,
            Rounding::Rz => {
                let [back, exact] = [back, exact].map(|x| self.ins().fabs(x));
                let greater = self.ins().fcmp(FloatCC::GreaterThan, back, exact);
                let greater = self.ins().uextend(I32, greater);
                self.ins().isub(bits, greater)
            }
            Rounding::Rm | Rounding::Rp => {
                let down = rounding == Rounding::Rm;
                let cc = if down {
                    FloatCC::GreaterThan
                } else {
                    FloatCC::LessThan
                };
                let beyond = self.ins().fcmp(cc, back, exact);
                let stepped = self.stepped(bits, down);
                self.select(beyond, stepped, bits)
            }
        };
        self.ins().bitcast(F32, MemFlagsData::new(), bits)
    }

    /// The bits of the next number down or up; of a zero, with the sign of that.
    pub(super) fn stepped(&mut self, bits: Value, down: bool) -> Value {
        let width = self.ty(bits).bits();
        let sign = self.sar_k(bits, width - 1);
        let one = self.k(self.ty(bits), 1);
        let away = self.or(sign, one);
        if down {
            self.ins().isub(bits, away)
        } else {
            self.ins().iadd(bits, away)
        }
    }

    /// A result to the nearest, corrected: `error` has the sign of what the exact one is more than that, and is 0 or NaN where it is that.
    pub(super) fn corrected(&mut self, rounding: Rounding, nearest: Value, error: Value) -> Value {
        let bits = self.as_bits(nearest);
        let bits = match rounding {
            Rounding::Rn => return nearest,
            Rounding::Rz => {
                let magnitude = self.ins().fabs(error);
                let inexact = self.fcmp_k(FloatCC::GreaterThan, magnitude, 0.0);
                let error = self.as_bits(error);
                let signs = self.ins().bxor(bits, error);
                let beyond = self.cmp_k(IntCC::SignedLessThan, signs, 0);
                let step = self.ins().band(inexact, beyond);
                let step = self.resize(step, self.ty(bits), false);
                self.ins().isub(bits, step)
            }
            Rounding::Rm | Rounding::Rp => {
                let down = rounding == Rounding::Rm;
                let cc = if down {
                    FloatCC::LessThan
                } else {
                    FloatCC::GreaterThan
                };
                let beyond = self.fcmp_k(cc, error, 0.0);
                let stepped = self.stepped(bits, down);
                self.select(beyond, stepped, bits)
            }
        };
        let ty = self.ty(nearest);
        self.ins().bitcast(ty, MemFlagsData::new(), bits)
    }
}
