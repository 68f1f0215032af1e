//! Comparison and selection in Cranelift IR.

use super::emit::{Emit, condition};
use crate::ir::compare::{BoolOp, CmpOp, Op};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use smallvec::{SmallVec, smallvec};

impl Emit<'_, '_> {
    /// The results of an operator.
    pub(super) fn compare(&mut self, op: Op, srcs: &[Value]) -> SmallVec<[Value; 2]> {
        match op {
            Op::Setp { cmp, ty, combine } => {
                let cc = condition(cmp, ty.signed());
                let t = self.ins().icmp(cc, srcs[0], srcs[1]);
                let opposite = condition(opposite(cmp), ty.signed());
                let f = self.ins().icmp(opposite, srcs[0], srcs[1]);
                match combine {
                    None => smallvec![t, f],
                    Some(combine) => smallvec![
                        self.combine(combine, t, srcs[2]),
                        self.combine(combine, f, srcs[2])
                    ],
                }
            }
            Op::Set {
                cmp,
                ty,
                combine,
                to,
            } => {
                let cc = condition(cmp, ty.signed());
                let mut t = self.ins().icmp(cc, srcs[0], srcs[1]);
                if let Some(combine) = combine {
                    t = self.combine(combine, t, srcs[2]);
                }
                smallvec![self.marked(t, to)]
            }
            Op::Selp { .. } => smallvec![self.select(srcs[2], srcs[0], srcs[1])],
            Op::Slct { .. } => {
                let positive = self.cmp_k(IntCC::SignedGreaterThanOrEqual, srcs[2], 0);
                smallvec![self.select(positive, srcs[0], srcs[1])]
            }
        }
    }

    /// t op c, of predicates.
    pub(super) fn combine(&mut self, op: BoolOp, t: Value, c: Value) -> Value {
        match op {
            BoolOp::And => self.ins().band(t, c),
            BoolOp::Or => self.ins().bor(t, c),
            BoolOp::Xor => self.ins().bxor(t, c),
        }
    }
}

/// The comparison that is true where `cmp` is false.
fn opposite(cmp: CmpOp) -> CmpOp {
    match cmp {
        CmpOp::Eq => CmpOp::Ne,
        CmpOp::Ne => CmpOp::Eq,
        CmpOp::Lt => CmpOp::Ge,
        CmpOp::Le => CmpOp::Gt,
        CmpOp::Gt => CmpOp::Le,
        CmpOp::Ge => CmpOp::Lt,
    }
}
