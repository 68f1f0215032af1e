//! Directed rounding of `.f64`: the host's result to the nearest, and the sign of what the exact one is more.
//!
//! The error of a sum is a number of the format; that of a product, a quotient or a root is one `fma` of operands that are scaled where it would be
//! too small. Where the host's result overflowed, the error comes out as infinity of the opposite sign, and one step back is the greatest number;
//! where an operand is infinite or NaN it comes out as NaN, and nothing is done.

use super::arith::Exact;
use super::{Emit, power};
use crate::ir::float::{FloatTy, Rounding};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Value};

impl Emit<'_, '_> {
    /// The operation on `.f64`, not to the nearest.
    pub(super) fn directed_double(
        &mut self,
        op: Exact,
        rounding: Rounding,
        srcs: &[Value],
    ) -> Value {
        match op {
            Exact::Add => self.directed_sum(rounding, srcs[0], srcs[1]),
            Exact::Sub => {
                let b = self.ins().fneg(srcs[1]);
                self.directed_sum(rounding, srcs[0], b)
            }
            Exact::Mul => {
                let d = self.nearest(op, srcs);
                let error = self.product_error(srcs[0], srcs[1], d);
                self.corrected(rounding, d, error)
            }
            Exact::Div => {
                let d = self.nearest(op, srcs);
                let error = self.quotient_error(srcs[0], srcs[1], d);
                self.corrected(rounding, d, error)
            }
            Exact::Sqrt => {
                let d = self.nearest(op, srcs);
                let error = self.root_error(srcs[0], d);
                self.corrected(rounding, d, error)
            }
            Exact::Fma => {
                let d = self.nearest(op, srcs);
                let (product, error) = self.fma_error(srcs, d);
                let corrected = self.corrected(rounding, d, error);
                if rounding != Rounding::Rm {
                    return corrected;
                }
                // Zero may be what is left of a product too small; then there is an error. It is NaN beside a factor zero that the other
                // overflows when it is scaled.
                let exact = self.fcmp_k(FloatCC::UnorderedOrEqual, error, 0.0);
                let zero = self.zero_sum(rounding, d, product, srcs[2]);
                self.select(exact, zero, corrected)
            }
        }
    }

    fn and(&mut self, a: Value, b: Value) -> Value {
        self.ins().band(a, b)
    }

    fn double_k(&mut self, value: f64) -> Value {
        self.float_k(FloatTy::F64, value)
    }

    /// Whether |x| lies below a constant.
    fn is_below(&mut self, x: Value, limit: f64) -> Value {
        let magnitude = self.ins().fabs(x);
        self.fcmp_k(FloatCC::LessThan, magnitude, limit)
    }

    /// `scale` where the condition holds, otherwise 1.
    fn scale_if(&mut self, condition: Value, scale: i32) -> Value {
        let scale = self.double_k(power(scale));
        let one = self.double_k(1.0);
        self.select(condition, scale, one)
    }

    fn directed_sum(&mut self, rounding: Rounding, a: Value, b: Value) -> Value {
        // What two-sum computes on the way overflows where the sum does not only if the first is the greatest number.
        let magnitude = self.ins().fabs(a);
        let greatest = self.fcmp_k(FloatCC::Equal, magnitude, f64::MAX);
        let first = self.select(greatest, b, a);
        let second = self.select(greatest, a, b);
        let (sum, rest) = self.two_sum(first, second);
        let error = self.or_overflow(sum, &[a, b], rest);
        let d = self.corrected(rounding, sum, error);
        self.zero_sum(rounding, d, a, b)
    }

    /// The error, or where d is infinite and no source is, d's opposite.
    fn or_overflow(&mut self, d: Value, srcs: &[Value], error: Value) -> Value {
        let size = self.ins().fabs(d);
        let mut overflow = self.fcmp_k(FloatCC::Equal, size, f64::INFINITY);
        for &src in srcs {
            let finite = self.is_below(src, f64::INFINITY);
            overflow = self.and(overflow, finite);
        }
        let back = self.ins().fneg(d);
        self.select(overflow, back, error)
    }

    /// The sign of a * b - d.
    fn product_error(&mut self, a: Value, b: Value, d: Value) -> Value {
        // Then neither operand is above 2^114, and both may be scaled.
        let small = self.is_below(d, power(-960));
        let scale = self.scale_if(small, 538);
        let [a, b, d] = [a, b, d].map(|x| self.ins().fmul(x, scale));
        let d = self.ins().fmul(d, scale);
        let d = self.ins().fneg(d);
        self.ins().fma(a, b, d)
    }

    /// The sign of a / b - d.
    fn quotient_error(&mut self, a: Value, b: Value, d: Value) -> Value {
        // Then the quotient lies below 2^174, and may be scaled.
        let small = self.is_below(a, power(-900));
        let scale = self.scale_if(small, 200);
        let [a, d] = [a, d].map(|x| self.ins().fmul(x, scale));
        let d = self.ins().fneg(d);
        let rest = self.ins().fma(d, b, a);
        let sign = self.zero_of(b);
        self.ins().bxor(rest, sign)
    }

    /// The sign of the root of a, less d.
    fn root_error(&mut self, a: Value, d: Value) -> Value {
        let small = self.is_below(a, power(-900));
        let scale = self.scale_if(small, 100);
        let d = self.ins().fmul(d, scale);
        let a = self.ins().fmul(a, scale);
        let a = self.ins().fmul(a, scale);
        let back = self.ins().fneg(d);
        self.ins().fma(back, d, a)
    }

    /// The product of the first two, rounded, and the sign of a * b + c - d.
    ///
    /// The product as a sum of two numbers, then sums without loss (Boldo and Muller, "Exact and approximated error of the FMA"). What is too
    /// large or too small for that is scaled; of two terms that lie so far apart that the smaller only says on which side of the
    /// larger the sum lies, that one may have any size.
    fn fma_error(&mut self, srcs: &[Value], d: Value) -> (Value, Value) {
        let [a, b, c] = [srcs[0], srcs[1], srcs[2]];
        let nearest = d;
        let product = self.ins().fmul(a, b);
        // Which terms are how large. Comparisons with NaN give an error that is NaN in any case.
        let product_is_least = self.is_below(product, power(-900));
        let product_is_less = self.is_below(product, power(800));
        let product_is_fit = self.is_below(product, power(1000));
        let addend_is_least = self.is_below(c, power(-700));
        let addend_is_fit = self.is_below(c, power(1000));
        let addend_is_small = self.is_below(c, 1.0);
        let fit = self.and(product_is_fit, addend_is_fit);
        let small = self.and(product_is_least, addend_is_least);

        // All down by 2^200: what is large.
        let one = self.double_k(1.0);
        let down = self.double_k(power(-200));
        let down = self.select(fit, one, down);
        // All up by 2^1076: where both are small.
        let up = self.scale_if(small, 538);
        // A factor below 1 would lose bits, the other would not: then it is the large one.
        let a_is_small = self.is_below(a, 1.0);
        let a_down = self.select(a_is_small, one, down);
        let b_down = self.select(a_is_small, down, one);
        let scaled_a = self.ins().fmul(a, a_down);
        let scaled_a = self.ins().fmul(scaled_a, up);
        let scaled_b = self.ins().fmul(b, b_down);
        let scaled_b = self.ins().fmul(scaled_b, up);
        let high = self.ins().fmul(scaled_a, scaled_b);
        let back = self.ins().fneg(high);
        let low = self.ins().fma(scaled_a, scaled_b, back);

        // A product that is nothing beside the addend: its sign, unless it is zero.
        let far_below = self.ins().band_not(product_is_least, addend_is_least);
        let below_large = self.ins().band_not(product_is_less, addend_is_fit);
        let nothing = self.or(far_below, below_large);
        let [a_is_not, b_is_not] = [a, b].map(|x| self.fcmp_k(FloatCC::OrderedNotEqual, x, 0.0));
        let is_not = self.and(a_is_not, b_is_not);
        let trace = self.double_k(power(-800));
        let zero = self.double_k(0.0);
        let trace = self.select(is_not, trace, zero);
        let trace = self.ins().fcopysign(trace, product);
        let high = self.select(nothing, trace, high);
        let low = self.select(nothing, zero, low);

        // An addend that is nothing beside a large product stays as it is.
        let c_down = self.select(addend_is_small, one, down);
        let [c, d] = [(c, c_down), (d, down)].map(|(x, down)| {
            let x = self.ins().fmul(x, down);
            let x = self.ins().fmul(x, up);
            self.ins().fmul(x, up)
        });

        let (middle, lowest) = self.two_sum(c, low);
        let (highest, next) = self.two_sum(high, middle);
        let rest = self.ins().fsub(highest, d);
        let rest = self.ins().fadd(rest, next);
        let error = self.ins().fadd(rest, lowest);
        (product, self.or_overflow(nearest, srcs, error))
    }
}
