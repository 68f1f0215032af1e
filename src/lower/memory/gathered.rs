//! Accesses of threads that go together, anywhere within one extent: one check, and a load or store for each thread.

use super::super::function::{Lower, trusted};
use super::super::together::{VECTOR, Vectors};
use super::check::{Bounds, Check, Translation};
use super::int_type;
use super::together::Elements;
use crate::ir::memory::{Base, Load, Order, Store};
use crate::ir::{Inst, RegClass};
use crate::spmd::access::{Place, Reach};
use crate::spmd::{Name, Shape};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I32X4, I64, I64X2};
use cranelift_codegen::ir::{InstBuilder, Value};

/// An access of all threads, each at an address of its own.
struct Gathered<'a> {
    inst: &'a Inst,
    reach: Reach,
    elements: Elements,
    /// What the addresses are based on.
    base: Name,
}

impl<'a> Lower<'a, '_> {
    /// A load of all threads from anywhere within one extent; `false`, and nothing done, if its addresses cannot be checked together.
    pub(in super::super) fn load_gathered(&mut self, inst: &Inst, load: &Load) -> bool {
        let count = load.dsts.len();
        let Some(gathered) = self.gathered(inst, load.order, load.bytes, count) else {
            return false;
        };
        let found = self.anywhere(&gathered, None);
        self.set_loaded_vectors(load, None, &found);
        true
    }

    /// A store of all threads, likewise, one after another.
    pub(in super::super) fn store_gathered(&mut self, inst: &Inst, store: &Store) -> bool {
        let count = store.srcs.len();
        let Some(gathered) = self.gathered(inst, store.order, store.bytes, count) else {
            return false;
        };
        let stored = self.stored_vectors(store);
        self.anywhere(&gathered, Some(&stored));
        true
    }

    /// The access, if its addresses can be checked together.
    fn gathered<'i>(
        &self,
        inst: &'i Inst,
        order: Order,
        bytes: u8,
        count: usize,
    ) -> Option<Gathered<'i>> {
        let reach = Reach::of(inst)?;
        let Base::Reg(reg) = reach.address.base else {
            return None;
        };
        let base = Name::from(reg);
        let elements = Elements {
            bytes,
            count: count as u8,
            stride: 0,
        };
        let wide_enough = match self.plan.names.class(base) {
            RegClass::B32 | RegClass::B64 => true,
            RegClass::Pred | RegClass::B8 | RegClass::B16 => false,
        };
        let align = reach.access.align;
        let offset = reach.address.offset;
        let plain = order == Order::Weak
            && inst.guard.is_none()
            && self.options.checked
            && self.module.address_bits == 64
            && wide_enough
            && (0..1 << 30).contains(&offset)
            && offset % i64::from(align) == 0
            && elements.size().is_multiple_of(align);
        let varies = self.shape(base) == Shape::Varying;
        let checked = matches!(self.place(&reach), Place::Checked(_));
        (plain && varies && checked).then_some(Gathered {
            inst,
            reach,
            elements,
            base,
        })
    }

    /// Reads elements, or writes these; for each of a thread the vectors of all threads.
    fn anywhere(&mut self, gathered: &Gathered<'_>, stored: Option<&[Vectors]>) -> Vec<Vectors> {
        let &Gathered {
            inst,
            ref reach,
            elements,
            base,
        } = gathered;
        let root = match self.place(reach) {
            Place::Checked(root) => root,
            Place::Name(_) | Place::Fixed(..) | Place::Wrong(..) => None,
        };
        let at = (self.k(I64, 0), reach.address.offset as i32);
        let size = elements.size().into();
        let mut check = self.check_of(inst, reach, root.as_ref(), at, size);
        let reg = match reach.address.base {
            Base::Reg(reg) => Some(reg),
            Base::Var(_) | Base::Absolute => None,
        };
        check.slot = self.answer_slot(&check, reg);
        let class = self.plan.names.class(base);
        let addresses = self.settled_vectors(base);
        let (within, host, distances) = self.all_within(&check, class, &addresses);
        if self.emit().constant(within) == Some(1) {
            return self.each_at(host, check.offset, &distances, elements, stored);
        }
        // Always, so that what is stored is computed here, and not once on either way.
        let buffer = self.buffer(elements, stored);
        let (fast, next, cold) = (
            self.b.create_block(),
            self.b.create_block(),
            self.cold_block(),
        );
        self.b.ins().brif(within, fast, &[], cold, &[]);
        self.b.switch_to_block(fast);
        let found = self.each_at(host, check.offset, &distances, elements, stored);
        self.jump_with(next, &found);
        self.b.switch_to_block(cold);
        let listed = self.listed(class, &addresses);
        let slowly = self.one_by_one(
            &check,
            elements.dense(),
            (None, Some(listed)),
            stored.is_some(),
            buffer,
        );
        self.jump_with(next, &slowly);
        self.b.switch_to_block(next);
        (found.iter()).map(|v| self.handed_over(next, v)).collect()
    }

    /// Whether all accesses are good without asking; the host pointer that corresponds to distance 0 then, and the distances.
    fn all_within(
        &mut self,
        check: &Check<'_>,
        class: RegClass,
        addresses: &Vectors,
    ) -> (Value, Value, Vectors) {
        let Bounds {
            start,
            pieces,
            translation,
        } = self.bounds(check);
        let mut host = start.unwrap_or(check.base);
        if let Translation::Add(delta) = translation {
            host = self.b.ins().iadd(host, delta);
        }
        if let (RegClass::B32, None, Some(pieces)) = (class, start, self.emit().constant(pieces)) {
            let every = (addresses.iter())
                .all(|&lanes| check.holds_for(self.emit().known_bits(lanes), pieces));
            if every {
                return (self.k(I8, 1), host, addresses.clone());
            }
        }
        let below_align = i64::from(check.align) - 1;
        let (distances, wrong) = match (class, start) {
            (RegClass::B32, None) => (addresses.clone(), [below_align; 4]),
            _ => {
                let mut wide = match class {
                    RegClass::B64 => addresses.clone(),
                    RegClass::Pred | RegClass::B8 | RegClass::B16 | RegClass::B32 => {
                        self.widened(addresses)
                    }
                };
                if let Some(start) = start {
                    let start = self.emit().all_lanes(I64X2, start);
                    for address in &mut wide {
                        *address = self.b.ins().isub(*address, start);
                    }
                }
                (wide, [below_align, -1, below_align, -1])
            }
        };
        // Bits that no distance has: those below the alignment, and all beyond 32.
        let any = self.tree(&distances, |l, a, b| l.b.ins().bor(a, b));
        let any = self.emit().cast(I32X4, any);
        let wrong = self.emit().lanes_k(I32X4, &wrong);
        let wrong = self.b.ins().band(any, wrong);
        let wrong = self.b.ins().vany_true(wrong);
        let right = self.emit().cmp_k(IntCC::Equal, wrong, 0);
        let narrow: Vectors = match self.emit().ty(distances[0]) == I64X2 {
            false => distances,
            true => (distances.chunks(2))
                .map(|pair| self.emit().pick_words(pair[0], pair[1], [0, 2, 4, 6]))
                .collect(),
        };
        let most = self.tree(&narrow, |l, a, b| l.b.ins().umax(a, b));
        let len = self.emit().shl_k(pieces, check.align.ilog2());
        let end = check.bytes as i64 + i64::from(check.offset);
        let room = self.emit().add_k(len, end.wrapping_neg() as u64);
        let some = (self.emit()).cmp_k(IntCC::SignedGreaterThanOrEqual, room, 0);
        let farthest = self.k(I64, u32::MAX.into());
        let top = self.b.ins().umin(room, farthest);
        let top = self.emit().resize(top, I32, false);
        let top = self.emit().all_lanes(I32X4, top);
        let near = (self.b.ins()).icmp(IntCC::UnsignedLessThanOrEqual, most, top);
        let near = self.b.ins().vhigh_bits(I32, near);
        let near = self.emit().cmp_k(IntCC::Equal, near, 15);
        let within = self.b.ins().band(near, right);
        (self.b.ins().band(within, some), host, narrow)
    }

    /// Values of 32 bits, zero-extended to 64.
    pub(in super::super) fn widened(&mut self, vectors: &Vectors) -> Vectors {
        (vectors.iter())
            .flat_map(|&v| [self.b.ins().uwiden_low(v), self.b.ins().uwiden_high(v)])
            .collect()
    }

    /// Vectors taken together two by two.
    fn tree(
        &mut self,
        vectors: &Vectors,
        mut join: impl FnMut(&mut Self, Value, Value) -> Value,
    ) -> Value {
        let mut left = vectors.clone();
        while left.len() > 1 {
            left = (left.chunks(2))
                .map(|pair| match *pair {
                    [a, b] => join(self, a, b),
                    _ => pair[0],
                })
                .collect();
        }
        left[0]
    }

    /// Reads or writes each thread's elements at its distance from a host pointer.
    fn each_at(
        &mut self,
        host: Value,
        offset: i32,
        distances: &Vectors,
        elements: Elements,
        stored: Option<&[Vectors]>,
    ) -> Vec<Vectors> {
        let class = RegClass::of_bits(u32::from(elements.bytes) * 8).unwrap_or(RegClass::B64);
        let ty = int_type(elements.bytes);
        let device = self.ptx_memory();
        let mut read = vec![Vec::new(); elements.count.into()];
        for thread in 0..self.width() {
            let vector = distances[(thread / 4) as usize];
            let distance = self.b.ins().extractlane(vector, (thread % 4) as u8);
            let distance = self.emit().resize(distance, I64, false);
            let at = self.b.ins().iadd(host, distance);
            for (element, read) in read.iter_mut().enumerate() {
                let offset = offset + (element * usize::from(elements.bytes)) as i32;
                match stored {
                    None => read.push(self.b.ins().load(ty, device, at, offset)),
                    Some(stored) => {
                        let value = self.of_thread(&stored[element], elements, thread);
                        self.b.ins().store(device, value, at, offset);
                    }
                }
            }
        }
        match stored {
            None => read
                .iter()
                .map(|values| self.gather(class, values))
                .collect(),
            Some(_) => Vec::new(),
        }
    }

    /// The addresses of all threads in memory, 64 bits each.
    fn listed(&mut self, class: RegClass, addresses: &Vectors) -> Value {
        let wide = match class {
            RegClass::B64 => addresses.clone(),
            RegClass::Pred | RegClass::B8 | RegClass::B16 | RegClass::B32 => {
                self.widened(addresses)
            }
        };
        let room = self.stack_slot(self.width() * 8, VECTOR);
        let room = self.b.ins().stack_addr(I64, room, 0);
        for (i, vector) in (0..).zip(wide) {
            self.b
                .ins()
                .store(trusted(), vector, room, i * VECTOR as i32);
        }
        room
    }
}
