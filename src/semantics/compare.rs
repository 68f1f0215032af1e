//! Comparison and selection of integers. PTX ISA, "Comparison and Selection Instructions".

use super::{Results, float, src, typed};
use crate::ir::IntTy;
use crate::ir::compare::{BoolOp, CmpOp, Op};

/// The results of an operator.
pub(super) fn eval(op: Op, srcs: &[u64]) -> Results {
    match op {
        Op::Setp { cmp, ty, combine } => {
            let t = test(cmp, ty, srcs);
            let c = src(srcs, 2) & 1 != 0;
            [
                u64::from(combined(combine, t, c)),
                u64::from(combined(combine, !t, c)),
            ]
        }
        Op::Set {
            cmp,
            ty,
            combine,
            to,
        } => {
            let t = combined(combine, test(cmp, ty, srcs), src(srcs, 2) & 1 != 0);
            [if t { float::mark(to) } else { 0 }, 0]
        }
        // d = p ? a : b. PTX ISA, `selp`.
        Op::Selp { .. } => {
            let chosen = if src(srcs, 2) & 1 != 0 { 0 } else { 1 };
            [src(srcs, chosen), 0]
        }
        // d = c >= 0 ? a : b. PTX ISA, `slct`.
        Op::Slct { .. } => {
            let chosen = if src(srcs, 2) as i32 >= 0 { 0 } else { 1 };
            [src(srcs, chosen), 0]
        }
    }
}

/// a cmp b, of type `ty`.
fn test(cmp: CmpOp, ty: IntTy, srcs: &[u64]) -> bool {
    compare(cmp, typed(ty, src(srcs, 0)), typed(ty, src(srcs, 1)))
}

/// a cmp b.
pub(super) fn compare(cmp: CmpOp, a: i128, b: i128) -> bool {
    match cmp {
        CmpOp::Eq => a == b,
        CmpOp::Ne => a != b,
        CmpOp::Lt => a < b,
        CmpOp::Le => a <= b,
        CmpOp::Gt => a > b,
        CmpOp::Ge => a >= b,
    }
}

/// t op c, or t where there is no op.
pub(super) fn combined(combine: Option<BoolOp>, t: bool, c: bool) -> bool {
    match combine {
        None => t,
        Some(BoolOp::And) => t & c,
        Some(BoolOp::Or) => t | c,
        Some(BoolOp::Xor) => t ^ c,
    }
}
