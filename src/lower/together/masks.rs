//! Predicates of all threads of a run: whether they hold for each of them, or for none.

use super::super::emit::condition;
use super::super::function::Lower;
use super::Vectors;
use crate::ir::compare::{self, CmpOp};
use crate::ir::{Inst, Kind, Operand, PureOp};
use crate::spmd::{Name, Shape};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32};
use cranelift_codegen::ir::{InstBuilder, Value};

/// What the first and the last thread tell of a predicate: that of a comparison between something that grows from thread to thread and
/// something that is the same for all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    /// The first of the vectors of masks that this is told of.
    of: Value,
    /// Whether it is known to hold for all threads; to hold for none. Neither may be known.
    every: Value,
    none: Value,
}

impl<'a> Lower<'a, '_> {
    /// Notes what the first and the last thread tell of the results of an instruction that has been done for all.
    pub(super) fn note_ends(&mut self, inst: &Inst) {
        let Kind::Pure(pure) = &inst.kind else { return };
        let PureOp::Compare(compare::Op::Setp { cmp, ty, combine }) = pure.op else {
            return;
        };
        let grows = match cmp {
            CmpOp::Gt | CmpOp::Ge => true,
            CmpOp::Lt | CmpOp::Le | CmpOp::Eq | CmpOp::Ne => false,
        };
        if combine.is_some() || inst.guard.is_some() {
            return;
        }
        let class = ty.class();
        let stride = |l: &Self, src: Operand| match src {
            Operand::Imm(_) => Some(0),
            Operand::Reg(reg) => match l.shape(reg.into()) {
                Shape::Uniform => Some(0),
                Shape::Affine(stride) => {
                    let unused = 64 - class.bits();
                    Some(stride << unused >> unused)
                }
                Shape::Varying => None,
            },
        };
        // Whether it comes to hold, or to fail, from some thread on.
        let (stride, affine, grows) = match [0, 1].map(|i| stride(self, pure.srcs[i])) {
            [Some(stride), Some(0)] => (stride, 0, grows == (stride > 0)),
            [Some(0), Some(stride)] => (stride, 1, grows != (stride > 0)),
            _ => return,
        };
        let steps = i64::from(self.width()) - 1;
        if stride.unsigned_abs() > class.mask() >> 1 >> self.width().ilog2() {
            return;
        }
        let first = [0, 1].map(|i| self.operand(pure.srcs[i], class));
        let far = (stride * steps) as u64 & class.mask();
        let mut last = first;
        last[affine] = self.emit().add_k(first[affine], far);
        // Nothing is known if there is a leap between them.
        let order = condition(if stride > 0 { CmpOp::Le } else { CmpOp::Ge }, ty.signed());
        let steady = self.b.ins().icmp(order, first[affine], last[affine]);
        let [every, none] = match cmp {
            CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge => {
                let cc = condition(cmp, ty.signed());
                let (least, most) = if grows { (first, last) } else { (last, first) };
                let all = self.b.ins().icmp(cc, least[0], least[1]);
                let any = self.b.ins().icmp(cc, most[0], most[1]);
                [all, self.emit().cmp_k(IntCC::Equal, any, 0)]
            }
            CmpOp::Eq | CmpOp::Ne => {
                // Whether what all have lies beside what they have each, on either side.
                let other = first[1 - affine];
                let before = condition(if stride > 0 { CmpOp::Lt } else { CmpOp::Gt }, ty.signed());
                let below = self.b.ins().icmp(before, other, first[affine]);
                let above = self.b.ins().icmp(before, last[affine], other);
                let beside = self.b.ins().bor(below, above);
                let unknown = self.k(I8, 0);
                match cmp == CmpOp::Eq {
                    true => [unknown, beside],
                    false => [beside, unknown],
                }
            }
        };
        let every = self.b.ins().band(steady, every);
        let none = self.b.ins().band(steady, none);
        for (dst, negated) in pure.dsts.iter().zip([false, true]) {
            let Some(name) = dst.map(Name::from).filter(|&name| self.varies(name)) else {
                continue;
            };
            let of = self.vectors(name)[0];
            let (every, none) = if negated {
                (none, every)
            } else {
                (every, none)
            };
            if let Some(together) = &mut self.together {
                together.ends.insert(name, Ends { of, every, none });
            }
        }
    }

    /// Whether a predicate, or its opposite, is seen to hold for all threads at once; and whether for none. Masks are those of
    /// the predicate.
    pub(in super::super) fn every_and_none(&mut self, name: Name, masks: &Vectors) -> [Value; 2] {
        let ends = (self.together.as_ref()).and_then(|t| t.ends.get(&name).copied());
        if let Some(Ends { every, none, .. }) = ends.filter(|ends| ends.of == masks[0]) {
            return [every, none];
        }
        let every = self.meet_masks(masks, true);
        let any = self.meet_masks(masks, false);
        let none = self.emit().cmp_k(IntCC::Equal, any, 0);
        [every, none]
    }

    /// Whether masks are set in all threads, or as bits in which.
    fn meet_masks(&mut self, masks: &Vectors, all: bool) -> Value {
        let mut met = masks[0];
        for &mask in &masks[1..] {
            met = match all {
                true => self.b.ins().band(met, mask),
                false => self.b.ins().bor(met, mask),
            };
        }
        let bits = self.b.ins().vhigh_bits(I32, met);
        match all {
            true => self.emit().cmp_k(IntCC::Equal, bits, 15),
            false => bits,
        }
    }
}
