//! Extended-precision arithmetic in Cranelift IR. Carries are bits; on words they are bit 32 of a 64-bit sum.

use super::emit::{Emit, clif_type};
use crate::ir::IntTy;
use crate::ir::extended::Op;
use crate::ir::integer::Part;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use smallvec::{SmallVec, smallvec};

impl Emit<'_, '_> {
    /// The result of an operator and, with `carry_out`, the carry.
    pub(super) fn extended(&mut self, op: Op, srcs: &[Value]) -> SmallVec<[Value; 2]> {
        match op {
            Op::Add {
                ty,
                carry_in,
                carry_out,
            } => {
                let carry = carry_in.then(|| srcs[2]);
                self.sum(ty, srcs[0], srcs[1], carry, carry_out)
            }
            Op::Sub {
                ty,
                carry_in,
                carry_out,
            } => {
                if carry_in {
                    let complement = self.ins().bnot(srcs[1]);
                    return self.sum(ty, srcs[0], complement, Some(srcs[2]), carry_out);
                }
                let mut results = smallvec![self.ins().isub(srcs[0], srcs[1])];
                if carry_out {
                    let enough = IntCC::UnsignedGreaterThanOrEqual;
                    results.push(self.ins().icmp(enough, srcs[0], srcs[1]));
                }
                results
            }
            Op::Mad {
                high,
                ty,
                carry_in,
                carry_out,
            } => {
                let part = if high { Part::Hi } else { Part::Lo };
                let product = self.mul(part, ty, srcs[0], srcs[1]);
                let carry = carry_in.then(|| srcs[3]);
                self.sum(ty, product, srcs[2], carry, carry_out)
            }
        }
    }

    /// x + y + carry, and the carry out of that if it is asked for.
    fn sum(
        &mut self,
        ty: IntTy,
        x: Value,
        y: Value,
        carry: Option<Value>,
        carry_out: bool,
    ) -> SmallVec<[Value; 2]> {
        let narrow = clif_type(ty.class());
        if !carry_out {
            let sum = self.ins().iadd(x, y);
            return smallvec![match carry {
                None => sum,
                Some(carry) => {
                    let carry = self.resize(carry, narrow, false);
                    self.ins().iadd(sum, carry)
                }
            }];
        }
        if ty.bits() == 64 {
            let sum = self.ins().iadd(x, y);
            let out = self.ins().icmp(IntCC::UnsignedLessThan, sum, x);
            return match carry {
                None => smallvec![sum, out],
                Some(carry) => {
                    let carry = self.resize(carry, narrow, false);
                    let total = self.ins().iadd(sum, carry);
                    let again = self.ins().icmp(IntCC::UnsignedLessThan, total, sum);
                    smallvec![total, self.or(out, again)]
                }
            };
        }
        let [x, y] = [x, y].map(|v| self.resize(v, I64, false));
        let mut sum = self.ins().iadd(x, y);
        if let Some(carry) = carry {
            let carry = self.resize(carry, I64, false);
            sum = self.ins().iadd(sum, carry);
        }
        let out = self.shr_k(sum, ty.bits());
        smallvec![self.resize(sum, narrow, false), self.resize(out, I8, false)]
    }
}
