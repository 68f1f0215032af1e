//! Comparison, and what only looks at signs and classes.

use super::{Emit, power};
use crate::ir::compare::BoolOp;
use crate::ir::float::{Class, Extreme, FloatTy, Mark, Relation, Sign, Signs};
use crate::lower::emit::clif_type;
use cranelift_codegen::ir::condcodes::{CondCode, FloatCC, IntCC};
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use smallvec::{SmallVec, smallvec};

/// Cranelift's condition.
pub(super) fn condition(cmp: Relation) -> FloatCC {
    match cmp {
        Relation::Eq => FloatCC::Equal,
        Relation::Ne => FloatCC::OrderedNotEqual,
        Relation::Lt => FloatCC::LessThan,
        Relation::Le => FloatCC::LessThanOrEqual,
        Relation::Gt => FloatCC::GreaterThan,
        Relation::Ge => FloatCC::GreaterThanOrEqual,
        Relation::Equ => FloatCC::UnorderedOrEqual,
        Relation::Neu => FloatCC::NotEqual,
        Relation::Ltu => FloatCC::UnorderedOrLessThan,
        Relation::Leu => FloatCC::UnorderedOrLessThanOrEqual,
        Relation::Gtu => FloatCC::UnorderedOrGreaterThan,
        Relation::Geu => FloatCC::UnorderedOrGreaterThanOrEqual,
        Relation::Num => FloatCC::Ordered,
        Relation::Nan => FloatCC::Unordered,
    }
}

/// The bits of infinity and of the least normal number of `.f32` or `.f64`.
fn infinity(ty: FloatTy) -> (u64, u64) {
    if ty == FloatTy::F64 {
        (0x7ff0_0000_0000_0000, 0x0010_0000_0000_0000)
    } else {
        (0x7f80_0000, 0x0080_0000)
    }
}

/// The bits of 1.0.
fn one(ty: FloatTy) -> u64 {
    match ty.lane() {
        FloatTy::F16 | FloatTy::F16x2 => 0x3c00,
        FloatTy::Bf16 | FloatTy::Bf16x2 => 0x3f80,
        FloatTy::F32 | FloatTy::F32x2 => 0x3f80_0000,
        FloatTy::F64 => 0x3ff0_0000_0000_0000,
    }
}

impl Emit<'_, '_> {
    /// |a| or -a; of `.f64` as bits, since NaN keeps its own.
    pub(super) fn sign(&mut self, op: Sign, ty: FloatTy, ftz: bool, a: Value) -> Value {
        if ty == FloatTy::F64 {
            let bits = self.settled(a);
            let sign = 1 << 63;
            return match op {
                Sign::Abs => self.and_k(bits, !sign),
                Sign::Neg => {
                    let sign = self.k(I64, sign);
                    self.ins().bxor(bits, sign)
                }
            };
        }
        let a = self.operand(ty, ftz, a);
        match op {
            Sign::Abs => self.ins().fabs(a),
            Sign::Neg => self.ins().fneg(a),
        }
    }

    /// b with the sign of a; the bits of NaN stay.
    pub(super) fn copysign(&mut self, ty: FloatTy, a: Value, b: Value) -> Value {
        let sign = 1 << (ty.bits() - 1);
        let [a, b] = [a, b].map(|x| self.settled(x));
        let a = self.and_k(a, sign);
        let b = self.and_k(b, sign - 1);
        self.or(a, b)
    }

    /// Whether a is of a class.
    pub(super) fn testp(&mut self, class: Class, ty: FloatTy, a: Value) -> Value {
        let (infinity, normal) = infinity(ty);
        let a = self.as_bits(a);
        let magnitude = self.and_k(a, (1 << (ty.bits() - 1)) - 1);
        match class {
            Class::Finite => self.cmp_k(IntCC::UnsignedLessThan, magnitude, infinity),
            Class::Infinite => self.cmp_k(IntCC::Equal, magnitude, infinity),
            Class::Number => self.cmp_k(IntCC::UnsignedLessThanOrEqual, magnitude, infinity),
            Class::NotANumber => self.cmp_k(IntCC::UnsignedGreaterThan, magnitude, infinity),
            Class::Normal => {
                let above = self.add_k(magnitude, normal.wrapping_neg());
                let normal = self.cmp_k(IntCC::UnsignedLessThan, above, infinity - normal);
                let zero = self.cmp_k(IntCC::Equal, magnitude, 0);
                self.or(normal, zero)
            }
            Class::Subnormal => {
                let below = self.add_k(magnitude, u64::MAX);
                self.cmp_k(IntCC::UnsignedLessThan, below, normal - 1)
            }
        }
    }

    fn compared(&mut self, ty: FloatTy, ftz: bool, srcs: &[Value]) -> [Value; 2] {
        [0, 1].map(|i| self.operand(ty, ftz, srcs[i]))
    }

    /// a cmp b
    pub(super) fn holds(&mut self, cmp: Relation, ty: FloatTy, ftz: bool, srcs: &[Value]) -> Value {
        let [a, b] = self.compared(ty, ftz, srcs);
        self.ins().fcmp(condition(cmp), a, b)
    }

    /// `setp`
    pub(super) fn float_setp(
        &mut self,
        cmp: Relation,
        ty: FloatTy,
        ftz: bool,
        combine: Option<BoolOp>,
        srcs: &[Value],
    ) -> SmallVec<[Value; 2]> {
        let [a, b] = self.compared(ty, ftz, srcs);
        let cc = condition(cmp);
        let t = self.ins().fcmp(cc, a, b);
        let f = self.ins().fcmp(cc.complement(), a, b);
        match combine {
            None => smallvec![t, f],
            Some(combine) => smallvec![
                self.combine(combine, t, srcs[2]),
                self.combine(combine, f, srcs[2])
            ],
        }
    }

    /// The mark where t holds, otherwise 0.
    pub(in crate::lower) fn marked(&mut self, t: Value, to: Mark) -> Value {
        let yes = match to {
            Mark::Ones(class) => class.mask(),
            Mark::One(ty) => one(ty),
        };
        let yes = self.k(clif_type(to.class()), yes);
        self.select_or_k(t, yes, 0)
    }

    /// `slct`: with `.ftz` all above the greatest negative normal number count as zero or more.
    pub(super) fn float_slct(&mut self, ftz: bool, srcs: &[Value]) -> Value {
        let c = self.as_float(FloatTy::F32, srcs[2]);
        let positive = if ftz {
            self.fcmp_k(FloatCC::GreaterThan, c, -power(-126))
        } else {
            self.fcmp_k(FloatCC::GreaterThanOrEqual, c, 0.0)
        };
        let [a, b] = [srcs[0], srcs[1]].map(|x| self.settled(x));
        self.select(positive, a, b)
    }

    /// `min`, `max`
    pub(super) fn extreme(&mut self, extreme: Extreme, srcs: &[Value]) -> Value {
        let ty = extreme.ty;
        let constant: SmallVec<[Option<u64>; 3]> = srcs.iter().map(|&s| self.constant(s)).collect();
        let operands: SmallVec<[Value; 3]> = (srcs.iter())
            .map(|&src| self.operand(ty, extreme.ftz, src))
            .collect();
        let mut magnitudes = operands.clone();
        if extreme.signs != Signs::Kept {
            for magnitude in &mut magnitudes {
                *magnitude = self.ins().fabs(*magnitude);
            }
        }
        let mut d = magnitudes[0];
        for (&next, &constant) in magnitudes.iter().zip(&constant).skip(1) {
            d = self.of_two(extreme, d, next, constant);
        }
        if extreme.signs == Signs::Xor {
            // Of a NaN, too, whose sign is seen here.
            let [a, b] = [srcs[0], srcs[1]].map(|src| self.settled(src));
            let signs = self.ins().bxor(a, b);
            let signs = self.as_float(ty, signs);
            let sign = self.zero_of(signs);
            d = self.ins().bor(d, sign);
        }
        d
    }

    /// The lesser or greater of a and b; b may be known.
    fn of_two(&mut self, extreme: Extreme, a: Value, b: Value, known: Option<u64>) -> Value {
        let Extreme { max, ty, nan, .. } = extreme;
        // b where they are equal or one is NaN; on x86-64 one instruction.
        let pick = |e: &mut Self, a: Value, b: Value| {
            let less = if max {
                e.ins().fcmp(FloatCC::LessThan, b, a)
            } else {
                e.ins().fcmp(FloatCC::LessThan, a, b)
            };
            e.select(less, a, b)
        };
        let mut d = pick(self, a, b);
        // A known number that is no zero of the sign that loses: it is right where they are equal.
        let sign = 1 << (ty.bits() - 1);
        let (infinity, _) = infinity(ty);
        let simple = known.is_some_and(|b| {
            let subnormal = extreme.ftz && b & infinity == 0;
            let b = if extreme.signs == Signs::Kept {
                b
            } else {
                b & !sign
            };
            let zero = b & !sign == 0 || subnormal;
            let loses = zero && (b & sign == 0) != max;
            b & !sign <= infinity && !loses
        });
        if !simple {
            // Zeros of different signs are equal: both bits or either.
            let other = pick(self, b, a);
            d = if max {
                self.ins().band(d, other)
            } else {
                self.ins().bor(d, other)
            };
        }
        if nan {
            let unordered = self.ins().fcmp(FloatCC::Unordered, a, b);
            let nan = self.float_k(ty, f64::NAN);
            return self.select(unordered, nan, d);
        }
        if !simple {
            let a_is_nan = self.ins().fcmp(FloatCC::Unordered, a, a);
            d = self.select(a_is_nan, b, d);
            let b_is_nan = self.ins().fcmp(FloatCC::Unordered, b, b);
            d = self.select(b_is_nan, a, d);
        }
        d
    }
}
