//! How a run is left: what it is that its threads are supposed to have in common, branches at which they part, and what each takes along that
//! goes on by itself.

use super::super::context::Field;
use super::super::emit::clif_type;
use super::super::function::{Lower, trusted};
use super::{Apart, Parts, VECTOR, lanes_of, vector_type};
use crate::ir::Block;
use crate::ir::control::Terminator;
use crate::spmd::uniformity::Supposed;
use crate::spmd::wide::{Leave, Sides, Why};
use crate::spmd::{Shape, Wide};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, StackSlot, Value};

impl<'a> Lower<'a, '_> {
    /// Leaves the run where what is supposed of its threads does not hold. Gives the place if the run may be left at the block's end.
    pub(in super::super) fn leave_if_unlike(&mut self, block: Block) -> Option<(u32, Leave)> {
        let together = self.together.as_ref()?;
        let (number, leave) = together.plan.leave(block)?;
        let Why::Unlike(supposed) = leave.why else {
            return Some((number, leave));
        };
        let fits = self.holds(supposed);
        let (next, cold) = (self.b.create_block(), self.cold_block());
        self.b.ins().brif(fits, next, &[], cold, &[]);
        self.b.switch_to_block(cold);
        self.leave_run(number, leave);
        self.b.switch_to_block(next);
        None
    }

    /// Whether what is supposed of the threads of the run holds.
    pub(super) fn holds(&mut self, supposed: Supposed) -> Value {
        let steps = i64::from(self.width()) - 1;
        let far = |stride: i64| stride.wrapping_mul(steps) as u64;
        match supposed {
            Supposed::Fits {
                operand,
                class,
                bits,
                signed,
                stride,
            } => {
                let mut value = self.operand(operand, class);
                if bits < class.bits() {
                    value = self.emit().and_k(value, (1 << bits) - 1);
                }
                let value = self.emit().resize(value, I64, signed);
                let last = self.emit().add_k(value, far(stride));
                if signed {
                    // From the least number on.
                    let from_least = self.emit().add_k(last, 1 << (bits - 1));
                    self.emit()
                        .cmp_k(IntCC::UnsignedLessThan, from_least, 1 << bits)
                } else {
                    self.emit().cmp_k(IntCC::UnsignedLessThan, last, 1 << bits)
                }
            }
            Supposed::Apart {
                uniform,
                affine,
                class,
                stride,
            } => {
                let ty = clif_type(class);
                let other = self.operand(uniform, class);
                let first = self.operand(affine, class);
                let last = self.emit().add_k(first, far(stride) & class.mask());
                let (low, high) = match stride > 0 {
                    true => (first, last),
                    false => (last, first),
                };
                // Below the highest bit in which they differ threads may have any.
                let differ = self.b.ins().bxor(first, last);
                let leading = self.b.ins().clz(differ);
                let ones = self.k(ty, class.mask());
                let below = self.b.ins().ushr(ones, leading);
                // But not below the lowest that a step changes.
                let steps = class.mask() << stride.trailing_zeros();
                let below = self.emit().and_k(below, steps & class.mask());
                let none = self.b.ins().bor(first, below);
                let common = self.b.ins().band(other, none);
                let apart = self.emit().cmp_k(IntCC::Equal, common, 0);
                let whole = (self.b.ins()).icmp(IntCC::UnsignedLessThanOrEqual, low, high);
                self.b.ins().band(apart, whole)
            }
            Supposed::Alike {
                operand,
                class,
                mask,
            } => {
                let vectors = self.operand_vectors(operand, class);
                let ty = vector_type(class);
                let first = self.b.ins().extractlane(vectors[0], 0);
                let first = self.emit().all_lanes(ty, first);
                let mut differ: Option<Value> = None;
                for vector in vectors {
                    let own = self.b.ins().bxor(vector, first);
                    differ = Some(match differ {
                        None => own,
                        Some(others) => self.b.ins().bor(others, own),
                    });
                }
                let lanes = lanes_of(class) as usize;
                let mask = self.emit().lanes_k(ty, &vec![mask as i64; lanes]);
                let differ = differ.map_or(first, |d| self.b.ins().band(d, mask));
                let any = self.b.ins().vany_true(differ);
                self.emit().cmp_k(IntCC::Equal, any, 0)
            }
        }
    }

    /// What threads do that part at the end of a block and meet again.
    pub(in super::super) fn sides(&self, block: Block) -> Option<&'a Sides> {
        self.together.as_ref()?.plan.sides(block)
    }

    /// A branch at which threads may part, for good, or until they meet again.
    pub(in super::super) fn part(&mut self, at: Block, parts: Parts<'a>) {
        let function = self.function;
        let &Terminator::Branch { cond, then, other } = &function.block(at).terminator else {
            // One of many ways: only two of them are known to meet again.
            if let Parts::ForGood(number, leave) = parts {
                self.leave_run(number, leave);
            }
            return;
        };
        let masks = self.vectors(cond.into());
        let [every, none] = self.every_and_none(cond.into(), &masks);
        let [then_args, other_args] = [then, other].map(|b| self.block_args(b));
        let [then, other] = [then, other].map(|b| self.blocks[b.index()]);
        let (some, mixed) = (self.b.create_block(), self.b.create_block());
        let idle = self.idle_sides(at);
        let [past_then, past_other] = [(); 2].map(|()| self.b.create_block());
        let ahead = self.looks_ahead(at);
        let skips = [0, 1].map(|side| idle[side] || ahead && idle[1 - side]);
        match skips[0] {
            true => self.b.ins().brif(every, past_then, &[], some, &[]),
            false => self.b.ins().brif(every, then, &then_args, some, &[]),
        };
        self.b.switch_to_block(some);
        match skips[1] {
            true => self.b.ins().brif(none, past_other, &[], mixed, &[]),
            false => self.b.ins().brif(none, other, &other_args, mixed, &[]),
        };
        for (side, (past, to, args)) in [
            (past_then, then, then_args),
            (past_other, other, other_args),
        ]
        .into_iter()
        .enumerate()
        {
            if skips[side] {
                self.b.switch_to_block(past);
                let way = if idle[side] { side } else { 1 - side };
                self.skip(cond.into(), way == 0, idle[side]);
                self.b.ins().jump(to, &args);
            }
        }
        self.b.switch_to_block(mixed);
        match parts {
            Parts::ForGood(number, leave) => self.leave_run(number, leave),
            Parts::Meets(sides) => {
                let idle = idle.iter().position(|&idle| idle && ahead);
                self.go_sides(sides, cond.into(), &masks, idle.map(|way| way == 0));
            }
        }
    }

    /// Leaves the run: keeps what lives, and turns to its threads one after another.
    pub(super) fn leave_run(&mut self, number: u32, leave: Leave) {
        let Some(together) = &self.together else {
            return;
        };
        let (plan, slot, apart) = (together.plan, together.kept, together.apart);
        // Code elsewhere does not come by here.
        let mark = self.vectors_mark();
        let mut at = 0;
        for &name in plan.kept(&leave) {
            if self.varies(name) {
                let vectors = self.settled_vectors(name);
                for (i, vector) in (0..).zip(vectors) {
                    let offset = (at + i * VECTOR) as i32;
                    self.b.ins().stack_store(I64, vector, slot, offset);
                }
            } else {
                let value = self.value(name);
                self.b.ins().stack_store(I64, value, slot, at as i32);
            }
            at += self.bytes(name);
        }
        self.forget_vectors(mark);
        let width = self.width().into();
        let place = self.k(I32, u64::from(number) + 1);
        let first = self.first_thread();
        match (apart, first.tid, first.number) {
            (Apart::Threads(single), Some([x, ..]), _) => {
                let end = self.emit().add_k(x, width);
                let args = [x.into(), end.into(), place.into()];
                self.b.ins().jump(single, &args);
            }
            (Apart::Lanes { taken, .. }, _, Some(number)) => {
                let until = self.emit().add_k(number, width);
                if let Some(lane) = self.lane {
                    self.tell_left(lane);
                    if lane.run.is_some() {
                        // The lanes behind have a turn of their own.
                        self.set_field(Field::LANES_END, until);
                    }
                }
                self.b.def_var(taken.until, until);
                self.b.def_var(taken.place, place);
                self.b.ins().jump(taken.head, &[]);
            }
            (Apart::Threads(_), None, _) | (Apart::Lanes { .. }, _, None) => {}
        }
    }

    /// Goes on with one thread of a run that was left.
    pub(super) fn take_over(
        &mut self,
        wide: &'a Wide,
        leave: &Leave,
        slot: StackSlot,
        lane: Value,
    ) {
        let mark = self.undo.len();
        let base = self.b.ins().stack_addr(I64, slot, 0);
        let mut at = 0;
        for &name in wide.kept(leave) {
            let class = self.plan.names.class(name);
            let ty = clif_type(class);
            let value = match wide.uniformity.of(name) {
                Shape::Uniform => self.b.ins().load(ty, trusted(), base, at),
                Shape::Affine(stride) => {
                    let first = self.b.ins().load(ty, trusted(), base, at);
                    self.further(class, first, lane, stride)
                }
                Shape::Varying => {
                    let pointer = self.lane_place(class, base, lane);
                    self.kept_value(class, pointer, at)
                }
            };
            self.set(name, value);
            at += self.bytes(name) as i32;
        }
        let args = self.block_args(leave.block);
        let block = self.blocks[leave.block.index()];
        self.b.ins().jump(block, &args);
        while self.undo.len() > mark {
            if let Some((name, old)) = self.undo.pop() {
                self.current[name.index()] = old;
            }
        }
    }
}
