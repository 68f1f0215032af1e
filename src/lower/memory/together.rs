//! Accesses of threads that go together, side by side in memory: one check, and whole vectors.

use super::super::abi;
use super::super::context::{Field, NO_SLOT};
use super::super::function::{Lower, trusted};
use super::super::symbols::Symbol;
use super::super::together::{VECTOR, Vectors};
use super::check::{Check, Translation};
use super::{Pointer, int_type};
use crate::ir::memory::{Base, Load, Order, Store};
use crate::ir::{Inst, Operand, RegClass};
use crate::spmd::access::{Place, Reach};
use crate::spmd::{Name, Shape};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I8X16, I32, I32X4, I64, I64X2};
use cranelift_codegen::ir::{self as clif, InstBuilder, Value};
use cranelift_codegen::isa::CallConv;
use smallvec::SmallVec;
use std::array::from_fn;

/// Elements of each thread, and how far those of one thread are from those of the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Elements {
    /// Bytes of one.
    pub(super) bytes: u8,
    /// How many there are, side by side.
    pub(super) count: u8,
    /// Bytes from thread to thread.
    pub(super) stride: i64,
}

impl Elements {
    /// Bytes of a thread's.
    pub(super) fn size(self) -> u32 {
        u32::from(self.bytes) * u32::from(self.count)
    }

    /// The same with nothing between.
    pub(super) fn dense(self) -> Elements {
        Elements {
            stride: self.size().into(),
            ..self
        }
    }

    /// Whether nothing lies between, and vectors can be read and taken apart.
    fn is_dense(self) -> bool {
        let whole = match self.count {
            1 => true,
            2 => self.bytes >= 4,
            4 => self.bytes == 4,
            _ => false,
        };
        whole && self.stride == i64::from(self.size())
    }
}

/// So far may the first and the last element of a run lie from each other that they are checked together: no further than an
/// allocation could be leapt over unnoticed.
const FARTHEST_APART: u64 = 4096;

impl<'a> Lower<'a, '_> {
    /// A load of all threads, if the addresses of their elements differ by a constant; `false`, and nothing done, if not.
    pub(in super::super) fn load_side_by_side(&mut self, inst: &Inst, load: &Load) -> bool {
        let count = load.dsts.len();
        let Some((reach, elements)) = self.side_by_side(inst, load.order, load.bytes, count) else {
            return false;
        };
        let permitted = self.permitted(inst);
        let found = self.beside(inst, &reach, elements, permitted.as_ref(), None);
        self.set_loaded_vectors(load, permitted.as_ref(), &found);
        true
    }

    /// Gives the destinations of a load what was found, of each element all threads'; where masks are given, only those that are set.
    pub(super) fn set_loaded_vectors(
        &mut self,
        load: &Load,
        permitted: Option<&Vectors>,
        found: &[Vectors],
    ) {
        for (dst, raw) in load.dsts.iter().zip(found) {
            if let Some(dst) = *dst {
                let class = self.function.class(dst);
                let mut vectors = self.of_elements(load.bytes, load.signed, class, raw);
                if let Some(masks) = permitted {
                    let old = self.operand_vectors(Operand::Reg(dst), class);
                    vectors = self.chosen(class, masks, &vectors, &old);
                }
                self.set_vectors(dst.into(), vectors);
            }
        }
    }

    /// What a store writes, of each element all threads'.
    pub(super) fn stored_vectors(&mut self, store: &Store) -> Vec<Vectors> {
        let class = RegClass::of_bits(u32::from(store.bytes) * 8).unwrap_or(RegClass::B64);
        let mut stored = Vec::new();
        for &src in &store.srcs {
            let own = src.reg().map_or(class, |reg| self.function.class(reg));
            let mut vectors = self.operand_vectors(src, own);
            if own == RegClass::B64 && store.bytes < 8 {
                vectors = (vectors.chunks(2))
                    .map(|pair| self.emit().pick_words(pair[0], pair[1], [0, 2, 4, 6]))
                    .collect();
            }
            stored.push(vectors);
        }
        stored
    }

    /// The threads that an instruction's guard lets through, as masks.
    fn permitted(&mut self, inst: &Inst) -> Option<Vectors> {
        let guard = inst.guard?;
        let masks = self.operand_vectors(Operand::Reg(guard.reg), RegClass::Pred);
        Some(match guard.negated {
            true => masks.iter().map(|&m| self.b.ins().bnot(m)).collect(),
            false => masks,
        })
    }

    /// Whether an instruction's guard lets all threads through.
    fn permitted_to_all(&mut self, inst: &Inst) -> Value {
        let Some(guard) = inst.guard else {
            return self.k(I8, 1);
        };
        let own = self.operand_vectors(Operand::Reg(guard.reg), RegClass::Pred);
        let [every, none] = self.every_and_none(guard.reg.into(), &own);
        if guard.negated { none } else { every }
    }

    /// New values where masks are set, old ones elsewhere.
    fn chosen(
        &mut self,
        class: RegClass,
        masks: &Vectors,
        new: &Vectors,
        old: &Vectors,
    ) -> Vectors {
        let masks = match class {
            RegClass::B64 => (masks.iter())
                .flat_map(|&m| [self.b.ins().swiden_low(m), self.b.ins().swiden_high(m)])
                .collect(),
            RegClass::Pred | RegClass::B8 | RegClass::B16 | RegClass::B32 => masks.clone(),
        };
        (masks.iter().zip(new.iter().zip(old)))
            .map(|(&mask, (&new, &old))| self.b.ins().bitselect(mask, new, old))
            .collect()
    }

    /// A store of all threads, likewise.
    pub(in super::super) fn store_side_by_side(&mut self, inst: &Inst, store: &Store) -> bool {
        let count = store.srcs.len();
        let Some((reach, elements)) = (self.side_by_side(inst, store.order, store.bytes, count))
            // Not one over the other.
            .filter(|(_, e)| e.stride.unsigned_abs() >= e.size().into())
        else {
            return false;
        };
        let stored = self.stored_vectors(store);
        let permitted = self.permitted(inst);
        self.beside(inst, &reach, elements, permitted.as_ref(), Some(&stored));
        true
    }

    /// The access, if addresses differ by a constant.
    fn side_by_side(
        &self,
        inst: &Inst,
        order: Order,
        bytes: u8,
        count: usize,
    ) -> Option<(Reach, Elements)> {
        let reach = Reach::of(inst)?;
        let Base::Reg(reg) = reach.address.base else {
            return None;
        };
        let Shape::Affine(stride) = self.shape(Name::from(reg)) else {
            return None;
        };
        let elements = Elements {
            bytes,
            count: count as u8,
            stride,
        };
        let apart = stride.unsigned_abs().checked_mul(self.width().into())?;
        let near = apart <= FARTHEST_APART
            && stride % i64::from(reach.access.align) == 0
            && reach.address.offset.unsigned_abs() < 1 << 30;
        // Those of some threads are told apart where they are checked.
        let plain = order == Order::Weak
            && (self.options.checked || inst.guard.is_none())
            && elements.size().is_multiple_of(reach.access.align)
            && self.module.address_bits == 64;
        let checked = matches!(self.place(&reach), Place::Checked(_));
        (near && plain && checked).then_some((reach, elements))
    }

    /// Reads elements, or writes these; for each of a thread the vectors of all threads. What is read by threads that are not permitted is
    /// anything.
    fn beside(
        &mut self,
        inst: &Inst,
        reach: &Reach,
        elements: Elements,
        permitted: Option<&Vectors>,
        stored: Option<&[Vectors]>,
    ) -> Vec<Vectors> {
        let width = self.width();
        let (base, offset) = self.address(&reach.address);
        let root = match self.place(reach) {
            Place::Checked(root) => root,
            Place::Name(_) | Place::Fixed(..) | Place::Wrong(..) => None,
        };
        // From the lowest element to the end of the highest.
        let between = elements.stride * i64::from(width - 1);
        let at = (base, offset.wrapping_add(between.min(0) as i32));
        let bytes = between.unsigned_abs() + u64::from(elements.size());
        let mut check = self.check_of(inst, reach, root.as_ref(), at, bytes);
        check.narrow = match reach.address.base {
            Base::Reg(reg) => self.plan.names.class(reg.into()) != RegClass::B64,
            Base::Var(_) | Base::Absolute => false,
        };
        let first = |pointer: Pointer| Pointer {
            base: pointer.base,
            offset,
        };
        if !self.options.checked {
            let pointer = self.unchecked(check);
            return self.at_once(first(pointer), elements, stored);
        }
        let reg = match reach.address.base {
            Base::Reg(reg) => Some(reg),
            Base::Var(_) | Base::Absolute => None,
        };
        check.slot = self.answer_slot(&check, reg);
        let (mut within, translation) = self.within(&check);
        if check.narrow && between < 0 && offset > 0 {
            // What is behind the first thread may wrap around and come back by the distance.
            let steady = self.emit().cmp_k(
                IntCC::UnsignedGreaterThanOrEqual,
                check.base,
                between.unsigned_abs(),
            );
            within = self.b.ins().band(within, steady);
        }
        if permitted.is_some() {
            let all = self.permitted_to_all(inst);
            within = self.b.ins().band(within, all);
        }
        let base = match translation {
            Translation::Host => check.base,
            Translation::Add(delta) => self.b.ins().iadd(check.base, delta),
        };
        if let Some(stored) = stored {
            check.offset = offset;
            self.write_beside(&check, elements, permitted, within, base, stored);
            return Vec::new();
        }
        if self.emit().constant(within) == Some(1) {
            return self.at_once(Pointer { base, offset }, elements, None);
        }
        let (fast, next, cold) = (
            self.b.create_block(),
            self.b.create_block(),
            self.cold_block(),
        );
        self.b.ins().brif(within, fast, &[], cold, &[]);
        self.b.switch_to_block(fast);
        let found = self.at_once(Pointer { base, offset }, elements, None);
        self.jump_with(next, &found);
        self.b.switch_to_block(cold);
        check.offset = offset;
        let masks = permitted.map(|masks| self.masks_in_memory(masks));
        let buffer = self.buffer(elements, None);
        let slowly = self.one_by_one(&check, elements, (masks, None), false, buffer);
        self.jump_with(next, &slowly);
        self.b.switch_to_block(next);
        (found.iter()).map(|v| self.handed_over(next, v)).collect()
    }

    /// Writes elements where the check holds, in reach of a pointer; into a buffer first if not. What is stored is computed once, before it is known.
    fn write_beside(
        &mut self,
        check: &Check<'_>,
        elements: Elements,
        permitted: Option<&Vectors>,
        within: Value,
        base: Value,
        stored: &[Vectors],
    ) {
        if self.emit().constant(within) == Some(1) {
            let offset = check.offset;
            self.at_once(Pointer { base, offset }, elements, Some(stored));
            return;
        }
        let buffer = self.stack_slot((check.bytes as u32).max(VECTOR), VECTOR);
        let before = -elements.stride.min(0) * i64::from(self.width() - 1);
        let buffer = self.b.ins().stack_addr(I64, buffer, before as i32);
        let offset = check.offset;
        let instead = self.emit().add_k(buffer, -i64::from(offset) as u64);
        let base = self.b.ins().select(within, base, instead);
        self.at_once(Pointer { base, offset }, elements, Some(stored));
        let (next, cold) = (self.b.create_block(), self.cold_block());
        self.b.ins().brif(within, next, &[], cold, &[]);
        self.b.switch_to_block(cold);
        let masks = permitted.map(|masks| self.masks_in_memory(masks));
        self.one_by_one(check, elements, (masks, None), true, buffer);
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
    }

    /// Masks in memory, 32 bits each.
    fn masks_in_memory(&mut self, masks: &Vectors) -> Value {
        let room = self.stack_slot(masks.len() as u32 * VECTOR, VECTOR);
        let room = self.b.ins().stack_addr(I64, room, 0);
        for (i, &mask) in (0..).zip(masks) {
            self.b.ins().store(trusted(), mask, room, i * VECTOR as i32);
        }
        room
    }

    /// Room for the elements of all threads, one thread's behind the other's, with what is stored.
    pub(super) fn buffer(&mut self, elements: Elements, stored: Option<&[Vectors]>) -> Value {
        let size = (elements.size() * self.width()).max(VECTOR);
        let buffer = self.stack_slot(size, VECTOR);
        let base = self.b.ins().stack_addr(I64, buffer, 0);
        if stored.is_some() {
            self.at_once(Pointer { base, offset: 0 }, elements.dense(), stored);
        }
        base
    }

    /// Jumps to a block with vectors.
    pub(super) fn jump_with(&mut self, block: clif::Block, vectors: &[Vectors]) {
        let args: SmallVec<[clif::BlockArg; 4]> =
            vectors.iter().flatten().map(|&v| v.into()).collect();
        self.b.ins().jump(block, &args);
    }

    /// Parameters of a block for vectors.
    pub(super) fn handed_over(&mut self, block: clif::Block, vectors: &Vectors) -> Vectors {
        (vectors.iter())
            .map(|&v| {
                let ty = self.b.func.dfg.value_type(v);
                self.b.append_block_param(block, ty)
            })
            .collect()
    }

    /// Reads or writes all elements from that of the first thread on.
    fn at_once(
        &mut self,
        pointer: Pointer,
        elements: Elements,
        stored: Option<&[Vectors]>,
    ) -> Vec<Vectors> {
        match (elements.is_dense(), stored) {
            (true, None) => self.read_dense(pointer, elements),
            (true, Some(stored)) => {
                self.write_dense(pointer, elements, stored);
                Vec::new()
            }
            (false, None) => self.read_apart(pointer, elements),
            (false, Some(stored)) => {
                self.write_apart(pointer, elements, stored);
                Vec::new()
            }
        }
    }

    fn read_dense(&mut self, pointer: Pointer, elements: Elements) -> Vec<Vectors> {
        let width = self.width();
        let count = u32::from(elements.count);
        let flags = self.ptx_memory();
        if elements.bytes < 4 {
            let vectors = (0..width / 4)
                .map(|i| {
                    let at = pointer.plus((4 * i * u32::from(elements.bytes)) as usize);
                    if elements.bytes == 2 {
                        return self.b.ins().uload16x4(flags, at.base, at.offset);
                    }
                    let word = self.b.ins().load(I32, flags, at.base, at.offset);
                    let bytes = self.b.ins().scalar_to_vector(I32X4, word);
                    let bytes = self.emit().cast(I8X16, bytes);
                    let halves = self.b.ins().uwiden_low(bytes);
                    self.b.ins().uwiden_low(halves)
                })
                .collect();
            return vec![vectors];
        }
        let (ty, lanes) = match elements.bytes {
            8 => (I64X2, 2),
            _ => (I32X4, 4),
        };
        let whole: Vectors = (0..width * count / lanes)
            .map(|i| {
                let at = pointer.plus((i * VECTOR) as usize);
                self.b.ins().load(ty, flags, at.base, at.offset)
            })
            .collect();
        let mut parts = vec![Vectors::new(); elements.count.into()];
        for group in whole.chunks(elements.count.into()) {
            for (part, vector) in parts.iter_mut().zip(self.taken_apart(elements, group)) {
                part.push(vector);
            }
        }
        parts
    }

    /// Vectors of elements of one thread behind those of another as vectors of one element of all.
    fn taken_apart(&mut self, elements: Elements, group: &[Value]) -> Vectors {
        self.rearranged(elements, group, [[0, 2, 4, 6], [1, 3, 5, 7]])
    }

    /// What [`Lower::taken_apart`] takes apart.
    fn put_together(&mut self, elements: Elements, group: &[Value]) -> Vectors {
        self.rearranged(elements, group, [[0, 4, 1, 5], [2, 6, 3, 7]])
    }

    /// Either, which differ for two elements of four bytes alone: others are the columns of a square.
    fn rearranged(&mut self, elements: Elements, group: &[Value], two: [[u8; 4]; 2]) -> Vectors {
        let mut emit = self.emit();
        let halves = [[0, 1, 4, 5], [2, 3, 6, 7]];
        match (elements.bytes, group) {
            (8, &[a, b]) => (halves.iter())
                .map(|&words| {
                    let picked = emit.pick_words(a, b, words);
                    emit.cast(I64X2, picked)
                })
                .collect(),
            (_, &[a, b]) => two.iter().map(|&w| emit.pick_words(a, b, w)).collect(),
            (_, &[a, b, c, d]) => {
                let [ab, cd] = [(a, b), (c, d)]
                    .map(|(a, b)| [[0, 4, 1, 5], [2, 6, 3, 7]].map(|w| emit.pick_words(a, b, w)));
                (ab.into_iter().zip(cd))
                    .flat_map(|(ab, cd)| halves.map(|w| emit.pick_words(ab, cd, w)))
                    .collect()
            }
            (_, group) => group.into(),
        }
    }

    fn write_dense(&mut self, pointer: Pointer, elements: Elements, stored: &[Vectors]) {
        let width = self.width();
        let flags = self.ptx_memory();
        if elements.bytes < 4 {
            for (i, &vector) in (0..).zip(&stored[0]) {
                let at = pointer.plus((4 * i * u32::from(elements.bytes)) as usize);
                let (bytes, ty): ([u8; 16], _) = match elements.bytes {
                    2 => (from_fn(|i| [0, 1, 4, 5, 8, 9, 12, 13][i % 8]), I64X2),
                    _ => (from_fn(|i| [0, 4, 8, 12][i % 4]), I32X4),
                };
                let picked = self.emit().pick_bytes(vector, vector, bytes);
                let picked = self.emit().cast(ty, picked);
                let low = self.b.ins().extractlane(picked, 0);
                self.b.ins().store(flags, low, at.base, at.offset);
            }
            return;
        }
        let lanes = if elements.bytes == 8 { 2 } else { 4 };
        let mut at = pointer;
        for i in 0..(width / lanes) as usize {
            let group: Vectors = stored.iter().map(|vectors| vectors[i]).collect();
            for vector in self.put_together(elements, &group) {
                self.b.ins().store(flags, vector, at.base, at.offset);
                at = at.plus(VECTOR as usize);
            }
        }
    }

    /// Where the elements of a thread are.
    fn place_of_thread(
        pointer: Pointer,
        elements: Elements,
        thread: u32,
        element: usize,
    ) -> Pointer {
        let distance = elements.stride * i64::from(thread);
        Pointer {
            base: pointer.base,
            offset: pointer.offset
                + distance as i32
                + (element * usize::from(elements.bytes)) as i32,
        }
    }

    fn read_apart(&mut self, pointer: Pointer, elements: Elements) -> Vec<Vectors> {
        let class = RegClass::of_bits(u32::from(elements.bytes) * 8).unwrap_or(RegClass::B64);
        (0..elements.count.into())
            .map(|element| {
                let device = self.ptx_memory();
                let values: Vec<Value> = (0..self.width())
                    .map(|thread| {
                        let at = Self::place_of_thread(pointer, elements, thread, element);
                        let ty = int_type(elements.bytes);
                        self.b.ins().load(ty, device, at.base, at.offset)
                    })
                    .collect();
                self.gather(class, &values)
            })
            .collect()
    }

    fn write_apart(&mut self, pointer: Pointer, elements: Elements, stored: &[Vectors]) {
        let device = self.ptx_memory();
        for thread in 0..self.width() {
            for (element, vectors) in stored.iter().enumerate() {
                let at = Self::place_of_thread(pointer, elements, thread, element);
                let value = self.of_thread(vectors, elements, thread);
                self.b.ins().store(device, value, at.base, at.offset);
            }
        }
    }

    /// An element of a thread.
    pub(super) fn of_thread(
        &mut self,
        vectors: &Vectors,
        elements: Elements,
        thread: u32,
    ) -> Value {
        let lanes = if elements.bytes == 8 { 2 } else { 4 };
        let vector = vectors[(thread / lanes) as usize];
        let value = self.b.ins().extractlane(vector, (thread % lanes) as u8);
        self.emit().resize(value, int_type(elements.bytes), false)
    }

    /// Reads each thread's elements where the host says, by way of a buffer in which nothing lies between them, or writes them from one in which they lie as
    /// far apart as in memory, or, if addresses are listed, with nothing between; ends with a fault at the first that may not be reached.
    /// Leaves out threads whose masks, in memory, are not set. What addresses are based on may be listed in memory, too.
    pub(super) fn one_by_one(
        &mut self,
        check: &Check<'_>,
        elements: Elements,
        (masks, listed): (Option<Value>, Option<Value>),
        stores: bool,
        buffer: Value,
    ) -> Vec<Vectors> {
        let width = self.width();
        let size = elements.size();
        let resolve = self.function_ref(Symbol::Resolve, |_| {
            abi::simple(&[I64, I32, I64, I32], &[], CallConv::PreserveAll)
        });
        let site = self.k(I32, check.site.into());
        let slot = self.k(I32, check.slot.unwrap_or(NO_SLOT).into());
        let behind = i64::from(check.offset) as u64;
        let (head, latch) = (self.cold_block(), self.cold_block());
        let lane = self.b.append_block_param(head, I32);
        let zero = self.k(I32, 0);
        self.b.ins().jump(head, &[zero.into()]);
        self.b.switch_to_block(head);
        let number = self.emit().resize(lane, I64, false);
        if let Some(masks) = masks {
            let offset = self.emit().shl_k(number, 2);
            let at = self.b.ins().iadd(masks, offset);
            let mask = self.b.ins().load(I32, trusted(), at, 0);
            let permitted = self.cold_block();
            self.b.ins().brif(mask, permitted, &[], latch, &[]);
            self.b.switch_to_block(permitted);
        }
        let thread = self.first_thread();
        self.turn_to_thread(&thread, number);
        self.tell_lane();
        self.turn_back(&thread);
        let address = match listed {
            None => {
                let stride = self.k(I64, elements.stride as u64);
                let distance = self.b.ins().imul(number, stride);
                let mut base = self.b.ins().iadd(check.base, distance);
                if check.narrow {
                    base = self.emit().and_k(base, u32::MAX.into());
                }
                self.emit().add_k(base, behind)
            }
            Some(list) => {
                let offset = self.emit().shl_k(number, 3);
                let at = self.b.ins().iadd(list, offset);
                let base = self.b.ins().load(I64, trusted(), at, 0);
                self.emit().add_k(base, behind)
            }
        };
        let context = self.context;
        self.b.ins().call(resolve, &[context, site, address, slot]);
        let answer = self.field(Field::ANSWER);
        let (good, over) = (self.cold_block(), self.cold_block());
        let faulted = self.faulted();
        self.b.ins().brif(answer, good, &[], faulted, &[]);
        self.b.switch_to_block(good);
        let apart = match (stores, listed) {
            (true, None) => elements.stride,
            _ => size.into(),
        };
        let own = self.k(I64, apart as u64);
        let own = self.b.ins().imul(number, own);
        let own = self.b.ins().iadd(buffer, own);
        let (from, to) = match stores {
            true => (own, answer),
            false => (answer, own),
        };
        for i in 0..i32::from(elements.count) {
            let offset = i * i32::from(elements.bytes);
            let ty = int_type(elements.bytes);
            let element = self.b.ins().load(ty, trusted(), from, offset);
            self.b.ins().store(trusted(), element, to, offset);
        }
        self.b.ins().jump(latch, &[]);
        self.b.switch_to_block(latch);
        let next = self.emit().add_k(lane, 1);
        let more = self
            .emit()
            .cmp_k(IntCC::UnsignedLessThan, next, width.into());
        self.b.ins().brif(more, head, &[next.into()], over, &[]);
        self.b.switch_to_block(over);
        if stores {
            return Vec::new();
        }
        let all = Pointer {
            base: buffer,
            offset: 0,
        };
        self.at_once(all, elements.dense(), None)
    }

    /// What was read, as a register of a class holds it.
    fn of_elements(
        &mut self,
        bytes: u8,
        signed: bool,
        class: RegClass,
        found: &Vectors,
    ) -> Vectors {
        let mut narrow = found.clone();
        if bytes < 4 && signed {
            let shift = 32 - 8 * u32::from(bytes);
            for vector in &mut narrow {
                let up = self.emit().shl_k(*vector, shift);
                *vector = self.emit().sar_k(up, shift);
            }
        }
        if class != RegClass::B64 || bytes == 8 {
            return narrow;
        }
        (narrow.iter())
            .flat_map(|&v| match signed {
                true => [self.b.ins().swiden_low(v), self.b.ins().swiden_high(v)],
                false => [self.b.ins().uwiden_low(v), self.b.ins().uwiden_high(v)],
            })
            .collect()
    }
}
