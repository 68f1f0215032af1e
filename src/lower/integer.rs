//! Integer arithmetic in Cranelift IR.

use super::emit::{Emit, clif_type};
use crate::ir::IntTy;
use crate::ir::integer::{Op, PackedOp, Part};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8X16, I16X8, I32, I32X4, I64};
use cranelift_codegen::ir::{Endianness, InstBuilder, MemFlagsData, Type, Value};

impl Emit<'_, '_> {
    /// The result of an operator.
    pub(super) fn integer(&mut self, op: Op, srcs: &[Value]) -> Value {
        match (op, srcs) {
            (Op::Add { ty, sat }, &[a, b]) => self.add(ty, sat, a, b),
            (Op::Sub { ty, sat }, &[a, b]) => self.sub(ty, sat, a, b),
            (Op::Mul { part, ty }, &[a, b]) => self.mul(part, ty, a, b),
            (Op::Mad { part, ty, sat }, &[a, b, c]) => {
                let product = self.mul(part, ty, a, b);
                self.add(ty, sat, product, c)
            }
            (Op::Mul24 { high, signed }, &[a, b]) => self.mul24(high, signed, a, b),
            (Op::Mad24 { high, signed, sat }, &[a, b, c]) => {
                let product = self.mul24(high, signed, a, b);
                let ty = if signed { IntTy::S32 } else { IntTy::U32 };
                self.add(ty, sat, product, c)
            }
            (Op::Sad { ty }, &[a, b, c]) => {
                let difference = self.distance(ty.signed(), a, b);
                self.ins().iadd(c, difference)
            }
            (Op::Div { ty }, &[a, b]) => self.div(ty, a, b),
            (Op::Rem { ty }, &[a, b]) => self.rem(ty, a, b),
            (Op::Abs { ty }, &[a]) if ty.signed() => self.ins().iabs(a),
            (Op::Abs { .. }, &[a]) => a,
            (Op::Neg { .. }, &[a]) => self.ins().ineg(a),
            (Op::Min { ty, relu }, &[a, b]) => {
                let d = if ty.signed() {
                    self.ins().smin(a, b)
                } else {
                    self.ins().umin(a, b)
                };
                self.relu(relu && ty.signed(), d)
            }
            (Op::Max { ty, relu }, &[a, b]) => {
                let d = if ty.signed() {
                    self.ins().smax(a, b)
                } else {
                    self.ins().umax(a, b)
                };
                self.relu(relu && ty.signed(), d)
            }
            (
                Op::Packed {
                    op,
                    lanes,
                    signed,
                    relu,
                    sat,
                },
                &[a, b],
            ) => {
                let lane = if lanes == 4 { I8X16 } else { I16X8 };
                let a = self.vector_of(a, lane);
                let b = self.vector_of(b, lane);
                let d = self.packed(op, signed, sat, a, b);
                let d = self.packed_relu(relu && signed, d);
                self.low_word(d)
            }
            (Op::Dp4a { a_signed, b_signed }, &[a, b, c]) => self.dp4a(a_signed, b_signed, a, b, c),
            (
                Op::Dp2a {
                    a_signed,
                    b_signed,
                    high,
                },
                &[a, b, c],
            ) => {
                let b = self.shr_k(b, if high { 16 } else { 0 });
                let low = self.dp2a_term(a_signed, b_signed, 0, a, b);
                let high = self.dp2a_term(a_signed, b_signed, 1, a, b);
                let sum = self.ins().iadd(low, high);
                self.ins().iadd(c, sum)
            }
            #[expect(
                clippy::unreachable,
                reason = "the checker gives each operator as many sources as its signature has"
            )]
            (
                Op::Add { .. }
                | Op::Sub { .. }
                | Op::Mul { .. }
                | Op::Mad { .. }
                | Op::Mul24 { .. }
                | Op::Mad24 { .. }
                | Op::Sad { .. }
                | Op::Div { .. }
                | Op::Rem { .. }
                | Op::Abs { .. }
                | Op::Neg { .. }
                | Op::Min { .. }
                | Op::Max { .. }
                | Op::Packed { .. }
                | Op::Dp4a { .. }
                | Op::Dp2a { .. },
                _,
            ) => unreachable!("{op:?} with {} sources", srcs.len()),
        }
    }

    fn relu(&mut self, relu: bool, x: Value) -> Value {
        if !relu {
            return x;
        }
        let zero = self.k(self.ty(x), 0);
        self.ins().smax(x, zero)
    }

    /// a + b, clamped if `sat`; of the width of the values, with the sign of `ty`.
    fn add(&mut self, ty: IntTy, sat: bool, a: Value, b: Value) -> Value {
        let sum = self.ins().iadd(a, b);
        if !sat {
            return sum;
        }
        if ty.signed() {
            // It overflowed if both operands differ from it in sign.
            let x = self.ins().bxor(a, sum);
            let y = self.ins().bxor(b, sum);
            let overflow = self.ins().band(x, y);
            self.saturate_signed(overflow, a, sum)
        } else {
            let overflow = self.ins().icmp(IntCC::UnsignedLessThan, sum, a);
            let most = self.k(self.ty(sum), u64::MAX);
            self.select(overflow, most, sum)
        }
    }

    fn sub(&mut self, ty: IntTy, sat: bool, a: Value, b: Value) -> Value {
        let difference = self.ins().isub(a, b);
        if !sat {
            return difference;
        }
        if ty.signed() {
            let x = self.ins().bxor(a, b);
            let y = self.ins().bxor(a, difference);
            let overflow = self.ins().band(x, y);
            self.saturate_signed(overflow, a, difference)
        } else {
            let enough = self.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, a, b);
            self.select_or_k(enough, difference, 0)
        }
    }

    /// The wrapped `result`, or where `overflow` is negative the end of the range on the side of `a`.
    fn saturate_signed(&mut self, overflow: Value, a: Value, result: Value) -> Value {
        let ty = self.ty(a);
        let overflowed = self.cmp_k(IntCC::SignedLessThan, overflow, 0);
        let sign = self.sar_k(a, ty.bits() - 1);
        let most = self.k(ty, (1u64 << (ty.bits() - 1)) - 1);
        let end = self.ins().bxor(sign, most);
        self.select(overflowed, end, result)
    }

    pub(super) fn mul(&mut self, part: Part, ty: IntTy, a: Value, b: Value) -> Value {
        let narrow = clif_type(ty.class());
        match part {
            Part::Lo => self.ins().imul(a, b),
            Part::Hi if ty.bits() == 64 => {
                if ty.signed() {
                    self.ins().smulhi(a, b)
                } else {
                    self.ins().umulhi(a, b)
                }
            }
            Part::Hi => {
                let product = self.mul(Part::Wide, ty, a, b);
                let high = self.shr_k(product, ty.bits());
                self.ins().ireduce(narrow, high)
            }
            Part::Wide => {
                let wide = Type::int_with_byte_size((ty.bits() / 4) as u16).unwrap_or(I64);
                let wide = if wide.bits() > 64 { I64 } else { wide };
                let a = self.widen(a, ty, wide);
                let b = self.widen(b, ty, wide);
                self.ins().imul(a, b)
            }
        }
    }

    fn mul24(&mut self, high: bool, signed: bool, a: Value, b: Value) -> Value {
        let [a, b] = [a, b].map(|x| {
            if signed {
                let x = self.shl_k(x, 8);
                self.sar_k(x, 8)
            } else {
                self.and_k(x, 0xff_ffff)
            }
        });
        if !high {
            return self.ins().imul(a, b);
        }
        let [a, b] = [a, b].map(|x| self.resize(x, I64, signed));
        let product = self.ins().imul(a, b);
        let high = self.shr_k(product, 16);
        self.ins().ireduce(I32, high)
    }

    /// |a - b|, exact in an unsigned number of the same width.
    fn distance(&mut self, signed: bool, a: Value, b: Value) -> Value {
        let cc = if signed {
            IntCC::SignedGreaterThan
        } else {
            IntCC::UnsignedGreaterThan
        };
        let greater = self.ins().icmp(cc, a, b);
        let x = self.ins().isub(a, b);
        let y = self.ins().isub(b, a);
        self.select(greater, x, y)
    }

    /// Operands at least 32 bits wide: narrower division gains nothing.
    fn division_operands(&mut self, ty: IntTy, a: Value, b: Value) -> (Value, Value, Type) {
        let wide = if ty.bits() < 32 {
            I32
        } else {
            clif_type(ty.class())
        };
        (self.widen(a, ty, wide), self.widen(b, ty, wide), wide)
    }

    fn div(&mut self, ty: IntTy, a: Value, b: Value) -> Value {
        let narrow = clif_type(ty.class());
        match self.constant(b) {
            Some(0) => self.k(narrow, u64::MAX),
            Some(minus_one) if ty.signed() && minus_one == ty.mask() => self.ins().ineg(a),
            constant => {
                let (a, b, wide) = self.division_operands(ty, a, b);
                if constant.is_some() {
                    let quotient = if ty.signed() {
                        self.ins().sdiv(a, b)
                    } else {
                        self.ins().udiv(a, b)
                    };
                    return self.resize(quotient, narrow, false);
                }
                let zero = self.cmp_k(IntCC::Equal, b, 0);
                let one = self.k(wide, 1);
                let quotient = if ty.signed() {
                    // a / -1 may not fit: it is -a, which wraps.
                    let minus_one = self.cmp_k(IntCC::Equal, b, u64::MAX);
                    let special = self.or(zero, minus_one);
                    let divisor = self.select(special, one, b);
                    let quotient = self.ins().sdiv(a, divisor);
                    let negated = self.ins().ineg(a);
                    self.select(minus_one, negated, quotient)
                } else {
                    let divisor = self.select(zero, one, b);
                    self.ins().udiv(a, divisor)
                };
                let ones = self.k(wide, u64::MAX);
                let result = self.select(zero, ones, quotient);
                self.resize(result, narrow, false)
            }
        }
    }

    fn rem(&mut self, ty: IntTy, a: Value, b: Value) -> Value {
        let narrow = clif_type(ty.class());
        match self.constant(b) {
            Some(0) => self.k(narrow, u64::MAX),
            Some(minus_one) if ty.signed() && minus_one == ty.mask() => self.k(narrow, 0),
            constant => {
                let (a, b, wide) = self.division_operands(ty, a, b);
                if constant.is_some() {
                    let remainder = if ty.signed() {
                        self.ins().srem(a, b)
                    } else {
                        self.ins().urem(a, b)
                    };
                    return self.resize(remainder, narrow, false);
                }
                let zero = self.cmp_k(IntCC::Equal, b, 0);
                let one = self.k(wide, 1);
                let remainder = if ty.signed() {
                    // a rem -1 is 0, as a rem 1 is.
                    let minus_one = self.cmp_k(IntCC::Equal, b, u64::MAX);
                    let special = self.or(zero, minus_one);
                    let divisor = self.select(special, one, b);
                    self.ins().srem(a, divisor)
                } else {
                    let divisor = self.select(zero, one, b);
                    self.ins().urem(a, divisor)
                };
                let ones = self.k(wide, u64::MAX);
                let result = self.select(zero, ones, remainder);
                self.resize(result, narrow, false)
            }
        }
    }

    /// A 32-bit word as the low lanes of a vector.
    pub(super) fn vector_of(&mut self, x: Value, ty: Type) -> Value {
        let vector = self.ins().scalar_to_vector(I32X4, x);
        self.vector_cast(vector, ty)
    }

    /// The same bits as lanes of another type, the lowest first.
    pub(super) fn vector_cast(&mut self, x: Value, ty: Type) -> Value {
        if self.ty(x) == ty {
            return x;
        }
        let flags = MemFlagsData::new().with_endianness(Endianness::Little);
        self.ins().bitcast(ty, flags, x)
    }

    /// The low 32 bits of a vector.
    pub(super) fn low_word(&mut self, x: Value) -> Value {
        let words = self.vector_cast(x, I32X4);
        self.ins().extractlane(words, 0)
    }

    /// The operation on each lane of two vectors.
    fn packed(&mut self, op: PackedOp, signed: bool, sat: bool, a: Value, b: Value) -> Value {
        match (op, signed, sat) {
            (PackedOp::Add, _, false) => self.ins().iadd(a, b),
            (PackedOp::Add, true, true) => self.ins().sadd_sat(a, b),
            (PackedOp::Add, false, true) => self.ins().uadd_sat(a, b),
            (PackedOp::Sub, _, false) => self.ins().isub(a, b),
            (PackedOp::Sub, true, true) => self.ins().ssub_sat(a, b),
            (PackedOp::Sub, false, true) => self.ins().usub_sat(a, b),
            (PackedOp::Min, true, _) => self.ins().smin(a, b),
            (PackedOp::Min, false, _) => self.ins().umin(a, b),
            (PackedOp::Max, true, _) => self.ins().smax(a, b),
            (PackedOp::Max, false, _) => self.ins().umax(a, b),
        }
    }

    /// max(lane, 0) with `.relu`.
    fn packed_relu(&mut self, relu: bool, d: Value) -> Value {
        if !relu {
            return d;
        }
        let ty = self.ty(d);
        let zero = self.k(ty.lane_type(), 0);
        let zero = self.ins().splat(ty, zero);
        self.ins().smax(d, zero)
    }

    /// Products of bytes in 16-bit lanes, added in pairs (`pmaddwd` on x86-64), then the two sums.
    fn dp4a(&mut self, a_signed: bool, b_signed: bool, a: Value, b: Value, c: Value) -> Value {
        let mut bytes = |x, signed| {
            let x = self.vector_of(x, I8X16);
            if signed {
                self.ins().swiden_low(x)
            } else {
                self.ins().uwiden_low(x)
            }
        };
        let (a, b) = (bytes(a, a_signed), bytes(b, b_signed));
        let (a_low, b_low) = (self.ins().swiden_low(a), self.ins().swiden_low(b));
        let (a_high, b_high) = (self.ins().swiden_high(a), self.ins().swiden_high(b));
        let low = self.ins().imul(a_low, b_low);
        let high = self.ins().imul(a_high, b_high);
        let sums = self.ins().iadd_pairwise(low, high);
        let first = self.ins().extractlane(sums, 0);
        let second = self.ins().extractlane(sums, 1);
        let sum = self.ins().iadd(first, second);
        self.ins().iadd(c, sum)
    }

    /// Half `i` of a times byte `i` of b.
    fn dp2a_term(&mut self, a_signed: bool, b_signed: bool, i: u32, a: Value, b: Value) -> Value {
        let mut part = |x, bits: u32, signed| {
            let up = self.shl_k(x, 32 - bits * (i + 1));
            if signed {
                self.sar_k(up, 32 - bits)
            } else {
                self.shr_k(up, 32 - bits)
            }
        };
        let (a, b) = (part(a, 16, a_signed), part(b, 8, b_signed));
        self.ins().imul(a, b)
    }
}
