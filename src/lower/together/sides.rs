//! Branches at which threads of a run part and behind which they soon meet again: each goes its way by itself, one after the other, and they go on
//! together.

use super::super::emit::clif_type;
use super::super::function::{Lower, trusted};
use super::masks::Which;
use super::{STRIP, VECTOR, Vectors, lanes_of, vector_type};
use crate::ir::{Block, RegClass};
use crate::spmd::wide::Sides;
use crate::spmd::{Name, Shape};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{self as clif, InstBuilder, Value};
use rustc_hash::FxHashMap;

/// Where in memory the values of a register that all threads have are, by register.
struct Places {
    base: Value,
    offsets: FxHashMap<Name, i32>,
}

impl<'a> Lower<'a, '_> {
    /// Has threads for which the condition of a branch holds, and does not, go their ways. Ends the block with a jump to where they meet.
    /// Where it is `idle` that it holds, or not, finds out whether warps behind may be skipped.
    pub(super) fn go_sides(
        &mut self,
        sides: &'a Sides,
        condition: Name,
        masks: &Vectors,
        idle: Option<bool>,
    ) {
        self.go_first(sides, condition, masks, idle);
        let mark = self.vectors_mark();
        let places = self.put_down(sides);
        let (threads, parts) = self.parted(condition, masks);
        for (way, threads) in sides.ways.iter().zip(threads) {
            if way.is_empty() {
                continue;
            }
            let over = self.b.create_block();
            match threads {
                Which::Bits(bits) => {
                    let some = self.b.create_block();
                    match parts {
                        true => self.b.ins().jump(some, &[]),
                        false => self.b.ins().brif(bits, some, &[], over, &[]),
                    };
                    self.b.switch_to_block(some);
                    self.go_way(sides, way, bits, &places, over);
                }
                Which::Below(end) => self.go_way_below(sides, way, end, &places, over),
                Which::From(first) => self.go_way_from(sides, way, first, &places, over),
            }
            self.b.switch_to_block(over);
        }
        if let Some(holds) = idle {
            self.skip(condition, holds, false);
        }
        for &name in &sides.changed {
            let class = self.plan.names.class(name);
            let vectors = (0..self.width() / lanes_of(class))
                .map(|i| {
                    let at = places.offsets[&name] + (i * VECTOR) as i32;
                    (self.b.ins()).load(vector_type(class), trusted(), places.base, at)
                })
                .collect();
            self.set_vectors(name, vectors);
        }
        let args = self.block_args(sides.join);
        let join = self.blocks[sides.join.index()];
        self.b.ins().jump(join, &args);
        self.forget_vectors(mark);
    }

    /// Where all threads but one go straight on, and that one is the first, as code likes it: has it go its way, without what the others
    /// have. Goes on where it is another.
    fn go_first(&mut self, sides: &'a Sides, condition: Name, masks: &Vectors, idle: Option<bool>) {
        let Some((distance, holds)) = self.one_of_all(condition, masks) else {
            return;
        };
        let [then, other] = &sides.ways;
        let (way, straight) = if holds { (then, other) } else { (other, then) };
        if way.is_empty() || !straight.is_empty() {
            return;
        }
        let [first, another] = [(); 2].map(|()| self.b.create_block());
        self.b.ins().brif(distance, another, &[], first, &[]);
        self.b.switch_to_block(first);
        let (undo, mark) = (self.undo.len(), self.vectors_mark());
        let varying: Vec<Name> = (sides.read.iter().copied())
            .filter(|&n| self.varies(n))
            .collect();
        for &name in &varying {
            let value = self.lane_value(name, 0);
            self.set(name, value);
        }
        self.set_one_lane(true);
        let defined = self.instructions_of(way);
        let changed: Vec<(Name, Value)> = (sides.changed.iter())
            .filter(|n| defined.contains(n))
            .map(|&name| (name, self.value(name)))
            .collect();
        self.set_one_lane(false);
        if let Some(holds) = idle {
            self.skip(condition, holds, false);
        }
        for (name, value) in changed {
            let class = self.plan.names.class(name);
            let value = self.as_lane(class, value);
            let mut vectors = self.settled_vectors(name);
            vectors[0] = self.b.ins().insertlane(vectors[0], value, 0);
            self.set_vectors(name, vectors);
        }
        let args = self.block_args(sides.join);
        let join = self.blocks[sides.join.index()];
        self.b.ins().jump(join, &args);
        self.forget_vectors(mark);
        self.take_back(undo);
        self.b.switch_to_block(another);
    }

    /// The instructions of a way, for the thread or the strip whose turn it is; gives what they define.
    fn instructions_of(&mut self, way: &'a [Block]) -> Vec<Name> {
        let function = self.function;
        let owner = self.owner;
        let strip = self.together.as_ref().is_some_and(|t| t.strip);
        let mut defined = Vec::new();
        for &block in way {
            if let Some(regions) = self.regions {
                self.owner = regions.owner(block);
            }
            for inst in &function.block(block).insts {
                self.locate(inst.span);
                match strip {
                    true => self.instruction_of_all(block, inst),
                    false => self.instruction(inst),
                }
                self.plan.names.defs(inst, |n| defined.push(n));
            }
        }
        self.owner = owner;
        defined
    }

    /// Takes back what values names were given since there were so many to take back.
    fn take_back(&mut self, undo: usize) {
        while self.undo.len() > undo {
            if let Some((name, old)) = self.undo.pop() {
                self.current[name.index()] = old;
            }
        }
    }

    /// Puts into memory what threads read on their ways, and what they may change.
    fn put_down(&mut self, sides: &Sides) -> Places {
        let names: Vec<Name> = (sides.read.iter().copied())
            .filter(|&n| self.varies(n))
            .chain(
                sides
                    .changed
                    .iter()
                    .copied()
                    .filter(|n| !sides.read.contains(n)),
            )
            .collect();
        let mut offsets = FxHashMap::default();
        let mut end = 0;
        for &name in &names {
            offsets.insert(name, end as i32);
            end += self.bytes(name);
        }
        let slot = self.stack_slot(end, VECTOR);
        let base = self.b.ins().stack_addr(I64, slot, 0);
        for name in names {
            let vectors = self.settled_vectors(name);
            for (i, vector) in (0..).zip(vectors) {
                let at = offsets[&name] + i * VECTOR as i32;
                self.b.ins().store(trusted(), vector, base, at);
            }
        }
        Places { base, offsets }
    }

    /// One bit for each thread.
    pub(super) fn bits_of_masks(&mut self, masks: &Vectors) -> Value {
        let mut bits = None;
        for (i, &mask) in (0..).zip(masks) {
            let own = self.b.ins().vhigh_bits(I32, mask);
            let own = self.emit().shl_k(own, 4 * i);
            bits = Some(match bits {
                None => own,
                Some(others) => self.b.ins().bor(others, own),
            });
        }
        bits.unwrap_or(masks[0])
    }

    /// Has the threads whose bits are set, one at least, go a way, in their order: strips of them together, others one by one. Then goes on.
    fn go_way(
        &mut self,
        sides: &'a Sides,
        way: &'a [Block],
        bits: Value,
        places: &Places,
        over: clif::Block,
    ) {
        let head = self.b.create_block();
        let left = self.b.append_block_param(head, I32);
        self.b.ins().jump(head, &[bits.into()]);
        self.b.switch_to_block(head);
        let lane = self.b.ins().ctz(left);
        if self.goes_in_strips(way) {
            let [strip, single] = [(); 2].map(|()| self.b.create_block());
            let all = u64::from(u32::MAX >> (32 - STRIP));
            let rest = self.b.ins().ushr(left, lane);
            let missing = self.b.ins().bnot(rest);
            let missing = self.emit().and_k(missing, all);
            let astray = self.emit().and_k(lane, u64::from(STRIP) - 1);
            let other = self.b.ins().bor(missing, astray);
            self.b.ins().brif(other, single, &[], strip, &[]);
            self.b.switch_to_block(strip);
            self.go_strip(sides, way, lane, places);
            let all = self.k(I32, all);
            let gone = self.b.ins().ishl(all, lane);
            let next = self.b.ins().band_not(left, gone);
            self.b.ins().brif(next, head, &[next.into()], over, &[]);
            self.b.switch_to_block(single);
        }
        self.go_single(sides, way, lane, places);
        let less = self.emit().add_k(left, u64::MAX);
        let next = self.b.ins().band(left, less);
        self.b.ins().brif(next, head, &[next.into()], over, &[]);
    }

    /// The same for so many threads from the first one on, one at least.
    fn go_way_below(
        &mut self,
        sides: &'a Sides,
        way: &'a [Block],
        end: Value,
        places: &Places,
        over: clif::Block,
    ) {
        let head = self.b.create_block();
        let lane = self.b.append_block_param(head, I32);
        let first = self.k(I32, 0);
        self.b.ins().jump(head, &[first.into()]);
        self.b.switch_to_block(head);
        if self.goes_in_strips(way) {
            let [strip, single] = [(); 2].map(|()| self.b.create_block());
            let next = self.emit().add_k(lane, STRIP.into());
            let whole = (self.b.ins()).icmp(IntCC::UnsignedLessThanOrEqual, next, end);
            self.b.ins().brif(whole, strip, &[], single, &[]);
            self.b.switch_to_block(strip);
            self.go_strip(sides, way, lane, places);
            self.go_on_until(end, next, head, over);
            self.b.switch_to_block(single);
        }
        self.go_single(sides, way, lane, places);
        let next = self.emit().add_k(lane, 1);
        self.go_on_until(end, next, head, over);
    }

    /// The same for all threads from one on.
    fn go_way_from(
        &mut self,
        sides: &'a Sides,
        way: &'a [Block],
        first: Value,
        places: &Places,
        over: clif::Block,
    ) {
        let head = self.b.create_block();
        let lane = self.b.append_block_param(head, I32);
        self.b.ins().jump(head, &[first.into()]);
        self.b.switch_to_block(head);
        let end = self.k(I32, self.width().into());
        if self.goes_in_strips(way) {
            let [strip, single] = [(); 2].map(|()| self.b.create_block());
            let astray = self.emit().and_k(lane, u64::from(STRIP) - 1);
            self.b.ins().brif(astray, single, &[], strip, &[]);
            self.b.switch_to_block(strip);
            self.go_strip(sides, way, lane, places);
            let next = self.emit().add_k(lane, STRIP.into());
            self.go_on_until(end, next, head, over);
            self.b.switch_to_block(single);
        }
        self.go_single(sides, way, lane, places);
        let next = self.emit().add_k(lane, 1);
        self.go_on_until(end, next, head, over);
    }

    /// Goes on at `head` with a thread below the end; over if it is not.
    fn go_on_until(&mut self, end: Value, next: Value, head: clif::Block, over: clif::Block) {
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, next, end);
        self.b.ins().brif(more, head, &[next.into()], over, &[]);
    }

    /// Has a strip of threads go a way.
    fn go_strip(&mut self, sides: &'a Sides, way: &'a [Block], lane: Value, places: &Places) {
        let lane = self.emit().resize(lane, I64, false);
        self.set_strip(true);
        self.go_together_from(sides, way, lane, places);
        self.set_strip(false);
    }

    /// Has one thread go a way.
    fn go_single(&mut self, sides: &'a Sides, way: &'a [Block], lane: Value, places: &Places) {
        let lane = self.emit().resize(lane, I64, false);
        self.set_one_lane(true);
        self.go_together_from(sides, way, lane, places);
        self.set_one_lane(false);
    }

    /// Whether strips of threads can go a way: what is supposed of threads that go together is asked for whole runs alone.
    fn goes_in_strips(&self, way: &[Block]) -> bool {
        let Some(plan) = self.together.as_ref().map(|together| together.plan) else {
            return false;
        };
        self.width() > STRIP && way.iter().all(|&block| plan.leave(block).is_none())
    }

    /// Has one thread go a way, or a strip from that one on, whichever's turn it is.
    fn go_together_from(
        &mut self,
        sides: &'a Sides,
        way: &'a [Block],
        lane: Value,
        places: &Places,
    ) {
        let strip = self.together.as_ref().is_some_and(|t| t.strip);
        let shape = |l: &Self, name: Name| {
            let plan = l.together.as_ref().map(|together| together.plan);
            plan.map_or(Shape::Uniform, |plan| plan.uniformity.of(name))
        };
        let (undo, mark) = (self.undo.len(), self.vectors_mark());
        for &name in &sides.read {
            let class = self.plan.names.class(name);
            match shape(self, name) {
                Shape::Uniform => {}
                Shape::Affine(stride) => {
                    let first = self.value(name);
                    let value = self.further(class, first, lane, stride);
                    self.set(name, value);
                }
                Shape::Varying => {
                    let at = self.lane_place(class, places.base, lane);
                    let offset = places.offsets[&name];
                    if strip {
                        let vectors = (0..STRIP / lanes_of(class))
                            .map(|i| {
                                let at_vector = offset + (i * VECTOR) as i32;
                                (self.b.ins()).load(vector_type(class), trusted(), at, at_vector)
                            })
                            .collect();
                        self.set_vectors(name, vectors);
                    } else {
                        let value = self.kept_value(class, at, offset);
                        self.set(name, value);
                    }
                }
            }
        }
        let first = self.first_thread();
        self.turn_to_thread(&first, lane);
        let defined = self.instructions_of(way);
        for &name in sides.changed.iter().filter(|n| defined.contains(n)) {
            let class = self.plan.names.class(name);
            let at = self.lane_place(class, places.base, lane);
            let offset = places.offsets[&name];
            if strip {
                let vectors = self.settled_vectors(name);
                for (i, vector) in (0..).zip(vectors) {
                    let at_vector = offset + i * VECTOR as i32;
                    self.b.ins().store(trusted(), vector, at, at_vector);
                }
                continue;
            }
            let mut value = self.value(name);
            if class == RegClass::Pred {
                let bit = self.emit().resize(value, I32, false);
                value = self.b.ins().ineg(bit);
            }
            self.b.ins().store(trusted(), value, at, offset);
        }
        self.turn_back(&first);
        self.forget_vectors(mark);
        self.take_back(undo);
    }

    /// What a thread has so many threads further on.
    pub(super) fn further(
        &mut self,
        class: RegClass,
        first: Value,
        lane: Value,
        stride: i64,
    ) -> Value {
        let stride = self.k(I64, stride as u64);
        let more = self.b.ins().imul(lane, stride);
        let more = self.emit().resize(more, clif_type(class), false);
        self.b.ins().iadd(first, more)
    }

    /// Where a thread's of values side by side is, from the first.
    pub(super) fn lane_place(&mut self, class: RegClass, base: Value, lane: Value) -> Value {
        let shift = if lanes_of(class) == 2 { 3 } else { 2 };
        let offset = self.emit().shl_k(lane, shift);
        self.b.ins().iadd(base, offset)
    }

    /// A thread's value of those that were put into memory.
    pub(super) fn kept_value(&mut self, class: RegClass, pointer: Value, at: i32) -> Value {
        match class {
            RegClass::Pred => {
                let mask = self.b.ins().load(I32, trusted(), pointer, at);
                let bit = self.emit().and_k(mask, 1);
                self.emit().resize(bit, I8, false)
            }
            RegClass::B8 | RegClass::B16 | RegClass::B32 | RegClass::B64 => {
                (self.b.ins()).load(clif_type(class), trusted(), pointer, at)
            }
        }
    }
}
