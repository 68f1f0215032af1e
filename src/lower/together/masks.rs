//! Predicates of all threads of a run: whether they hold for each of them, or for none.

use super::super::emit::{clif_type, condition};
use super::super::function::Lower;
use super::Vectors;
use crate::ir::compare::{self, CmpOp};
use crate::ir::{Inst, Kind, Operand, PureOp, RegClass};
use crate::spmd::{Name, Shape};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32};
use cranelift_codegen::ir::{InstBuilder, Value};

/// Most threads of a block.
const MOST_THREADS: u64 = 1024;

/// What the first and the last thread tell of a predicate: that of a comparison between something that grows from thread to thread and
/// something that is the same for all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    /// The first of the vectors of masks that this is told of.
    of: Value,
    /// Whether it is known to hold for all threads; to hold for none. Neither may be known.
    every: Value,
    none: Value,
    /// What is compared.
    compared: Compared,
    /// Whether it is the opposite of the comparison.
    negated: bool,
}

/// A comparison between something that grows from thread to thread and something that is the same for all.
#[derive(Debug, Clone, Copy)]
struct Compared {
    cmp: CmpOp,
    signed: bool,
    class: RegClass,
    /// What is compared, and what the first thread has of it.
    operands: [Operand; 2],
    first: [Value; 2],
    /// Which of the two differs, by how much from thread to thread, and whether that makes the comparison come to hold, from some thread on.
    affine: usize,
    stride: i64,
    grows: bool,
    /// Whether it is known to take no leap.
    small: bool,
}

/// Some of the threads of a run.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which {
    /// Those whose bits are set.
    Bits(Value),
    /// So many, from the first one on; and those behind so many. 32 bits.
    Below(Value),
    From(Value),
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
        let compared = Compared {
            cmp,
            signed: ty.signed(),
            class,
            operands: [pure.srcs[0], pure.srcs[1]],
            first: [0, 1].map(|i| self.operand(pure.srcs[i], class)),
            affine,
            stride,
            grows,
            small: match pure.srcs[affine] {
                Operand::Reg(reg) => self.is_small(reg.into()),
                Operand::Imm(_) => false,
            },
        };
        let far = (stride * steps) as u64 & class.mask();
        let last = self.emit().add_k(compared.first[affine], far);
        let [every, none] = self.by_ends(compared, last);
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
                let ends = Ends {
                    of,
                    every,
                    none,
                    compared,
                    negated,
                };
                together.ends.insert(name, ends);
            }
        }
    }

    /// Whether a comparison is known to hold for all threads up to one, of which what differs is `last`; and whether for none.
    fn by_ends(&mut self, compared: Compared, last: Value) -> [Value; 2] {
        let Compared {
            cmp,
            signed,
            class: _,
            operands: _,
            first,
            affine,
            stride,
            grows,
            small,
        } = compared;
        let last = {
            let mut ends = first;
            ends[affine] = last;
            ends
        };
        let known = match cmp {
            CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge => {
                let cc = condition(cmp, signed);
                let (least, most) = if grows { (first, last) } else { (last, first) };
                let all = self.b.ins().icmp(cc, least[0], least[1]);
                let any = self.b.ins().icmp(cc, most[0], most[1]);
                [all, self.emit().cmp_k(IntCC::Equal, any, 0)]
            }
            CmpOp::Eq | CmpOp::Ne => {
                // Whether what all have lies beside what they have each, on either side.
                let other = first[1 - affine];
                let before = condition(if stride > 0 { CmpOp::Lt } else { CmpOp::Gt }, signed);
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
        if small {
            return known;
        }
        // Nothing is known if there is a leap between them.
        let steady = self.no_leap(compared, last[affine]);
        known.map(|known| self.b.ins().band(steady, known))
    }

    /// Whether what differs does not wrap around from the first thread to one where it is `last`.
    fn no_leap(&mut self, compared: Compared, last: Value) -> Value {
        let grows = compared.stride > 0;
        let order = condition(if grows { CmpOp::Le } else { CmpOp::Ge }, compared.signed);
        let first = compared.first[compared.affine];
        self.b.ins().icmp(order, first, last)
    }

    /// Where a predicate that was not seen to hold for all or for none tells one thread from all others: how far that is from the first one, in 32
    /// bits, and whether the predicate holds for it.
    pub(super) fn one_of_all(&mut self, name: Name, masks: &Vectors) -> Option<(Value, bool)> {
        let ends = (self.together.as_ref()).and_then(|t| t.ends.get(&name).copied())?;
        let Ends {
            of,
            compared,
            negated,
            ..
        } = ends;
        let equal = match compared.cmp {
            CmpOp::Eq => true,
            CmpOp::Ne => false,
            CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge => return None,
        };
        if of != masks[0] || compared.stride != 1 || !compared.small {
            return None;
        }
        Some((self.below(compared), equal != negated))
    }

    /// How many threads from the first one on have less than what all have, where they grow one by one.
    fn below(&mut self, compared: Compared) -> Value {
        let [a, b] = [compared.affine, 1 - compared.affine].map(|i| compared.first[i]);
        let below = self.b.ins().isub(b, a);
        self.emit().resize(below, I32, false)
    }

    /// The threads for which a predicate holds that was not seen to hold for all or for none, and those for which it does not; by its ends, where
    /// they tell. And whether there are some of either: its ends may not have told.
    pub(super) fn parted(&mut self, name: Name, masks: &Vectors) -> ([Which; 2], bool) {
        let ends = (self.together.as_ref()).and_then(|t| t.ends.get(&name).copied());
        let ends = ends.filter(|ends| ends.of == masks[0]);
        let Some(Ends {
            compared, negated, ..
        }) = ends.filter(|ends| ends.compared.stride == 1 && ends.compared.small)
        else {
            let bits = self.bits_of_masks(masks);
            return (self.with_others(bits), ends.is_none());
        };
        let below = self.below(compared);
        let mirrored = compared.affine == 1;
        let (which, opposite) = match (compared.cmp, mirrored) {
            (CmpOp::Lt, false) | (CmpOp::Gt, true) => (CmpOp::Lt, false),
            (CmpOp::Ge, false) | (CmpOp::Le, true) => (CmpOp::Lt, true),
            (CmpOp::Le, false) | (CmpOp::Ge, true) => (CmpOp::Le, false),
            (CmpOp::Gt, false) | (CmpOp::Lt, true) => (CmpOp::Le, true),
            (CmpOp::Eq, _) => (CmpOp::Eq, false),
            (CmpOp::Ne, _) => (CmpOp::Eq, true),
        };
        let [holds, others] = match which {
            CmpOp::Eq => {
                let one = self.k(I32, 1);
                let bit = self.b.ins().ishl(one, below);
                self.with_others(bit)
            }
            CmpOp::Le => {
                let through = self.emit().add_k(below, 1);
                [Which::Below(through), Which::From(through)]
            }
            CmpOp::Lt | CmpOp::Ge | CmpOp::Gt | CmpOp::Ne => {
                [Which::Below(below), Which::From(below)]
            }
        };
        match opposite != negated {
            true => ([others, holds], true),
            false => ([holds, others], true),
        }
    }

    /// Threads as bits, and the other ones.
    fn with_others(&mut self, bits: Value) -> [Which; 2] {
        let all = u32::MAX >> (32 - self.width());
        let all = self.k(I32, all.into());
        let others = self.b.ins().bxor(bits, all);
        [Which::Bits(bits), Which::Bits(others)]
    }

    /// Whether a predicate is known to hold, or not to hold, for all threads behind so many, up to a number from the first one of the run on, no more
    /// than a block has; `None` where that cannot be told. Anything, if there are none.
    pub(super) fn holds_behind(
        &mut self,
        name: Name,
        holds: bool,
        behind: u64,
        threads: Value,
    ) -> Option<Value> {
        let masks = self.vectors(name);
        let ends = (self.together.as_ref()).and_then(|t| t.ends.get(&name).copied());
        let ends = ends.filter(|ends| ends.of == masks[0])?;
        let Compared {
            class,
            operands,
            first,
            affine,
            stride,
            ..
        } = ends.compared;
        let idle = self.together.as_ref()?.plan.idle.as_ref()?;
        let goes_on = |i: usize| match operands[i] {
            Operand::Reg(reg) if i == affine => idle.grows(reg.into()),
            Operand::Reg(reg) => idle.is_alike(reg.into()),
            Operand::Imm(_) => true,
        };
        if !goes_on(0) || !goes_on(1) {
            return None;
        }
        if stride.unsigned_abs() > class.mask() >> 1 >> MOST_THREADS.ilog2() {
            return None;
        }
        let ty = clif_type(class);
        let steps = self.emit().add_k(threads, u64::MAX);
        let steps = self.emit().resize(steps, ty, false);
        let stride = stride as u64 & class.mask();
        let far = self.k(ty, stride);
        let far = self.b.ins().imul(steps, far);
        let last = self.b.ins().iadd(first[affine], far);
        let mut compared = ends.compared;
        let before = stride.wrapping_mul(behind) & class.mask();
        compared.first[affine] = self.emit().add_k(first[affine], before);
        let [every, none] = self.by_ends(compared, last);
        Some(if holds == ends.negated { none } else { every })
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
