//! Atomics, fences, and what the host does for native code. Shared memory, that of a whole cluster, belongs to one worker at
//! a time, so that its atomics are ordinary accesses.

use super::abi;
use super::function::Lower;
use super::site::{ARGUMENTS, Cause, Service};
use super::symbols::Symbol;
use crate::ir::memory::{Address, Space};
use crate::ir::sync::{Atomic, AtomicOp, Copy, Fence, Mbarrier};
use crate::ir::{Inst, Operand, Reg, RegClass};
use crate::spmd::access::{Home, Place, Reach};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{AtomicRmwOp, InstBuilder, StackSlot, Type, Value};

impl Lower<'_, '_> {
    /// `atom`, `red`
    pub(super) fn atomic(&mut self, inst: &Inst, atomic: &Atomic) {
        if atomic.bytes == 16 {
            let service = Service::Atomic {
                space: atomic.space,
                op: atomic.op,
            };
            let address = self.whole_address(&atomic.addr);
            let mut args = vec![address];
            args.extend(self.operands(&atomic.srcs));
            let results = self.serve(inst, service, &args);
            self.set_results(&atomic.dsts, results);
            return;
        }
        let Some(reach) = Reach::of(inst) else { return };
        let class = RegClass::of_bits(u32::from(atomic.bytes) * 8).unwrap_or(RegClass::B64);
        let ty = super::emit::clif_type(class);
        let (pointer, shared) = match self.place(&reach) {
            Place::Fixed(home, offset) => (self.home(home, offset), home == Home::Shared),
            Place::Checked(root) => {
                let pointer = self.checked(inst, &reach, root.as_ref());
                let shared = matches!(atomic.space, Space::Shared | Space::Cluster);
                (pointer, shared)
            }
            Place::Wrong(kind, at) => {
                self.wrong(inst, &reach, kind, at);
                for dst in atomic.dsts.iter().flatten() {
                    let zero = self.k(ty, 0);
                    self.set_resized(None, *dst, zero);
                }
                return;
            }
            // Only parameters are names, and atomics do not reach them.
            Place::Name(_) => return,
        };
        let address = self.pointer(pointer);
        let srcs: Vec<Value> = (atomic.srcs.iter())
            .map(|src| self.operand(*src, class))
            .collect();
        let old = if shared {
            let device = self.ptx_memory();
            let old = self.b.ins().load(ty, device, address, 0);
            let new = self.combine(atomic.op, old, &srcs);
            self.b.ins().store(device, new, address, 0);
            old
        } else if atomic.space == Space::Generic && atomic.op.looks_at_space() {
            let is_shared = self.is_shared(&atomic.addr);
            let new = |l: &mut Self, old| {
                let [kept, flushed] = [Space::Shared, Space::Global]
                    .map(|space| l.combine(atomic.op.within(space), old, &srcs));
                l.b.ins().select(is_shared, kept, flushed)
            };
            self.retry(ty, address, new)
        } else {
            self.exchange(atomic.op, ty, address, &srcs)
        };
        if let Some(dst) = atomic.dsts.first().copied().flatten() {
            self.set_resized(None, dst, old);
        }
    }

    /// Whether a generic address lies in shared memory.
    fn is_shared(&mut self, address: &Address) -> Value {
        let bits = self.module.address_bits;
        let address = self.whole_address(address);
        let base = crate::machine::window::base(Space::Shared, bits).unwrap_or(0);
        let shift = if bits == 32 { 28 } else { 56 };
        let number = self.emit().shr_k(address, shift);
        self.emit().cmp_k(IntCC::Equal, number, base >> shift)
    }

    /// What an atomic writes.
    fn combine(&mut self, op: AtomicOp, old: Value, srcs: &[Value]) -> Value {
        let b = srcs[0];
        match op {
            AtomicOp::And => self.b.ins().band(old, b),
            AtomicOp::Or => self.b.ins().bor(old, b),
            AtomicOp::Xor => self.b.ins().bxor(old, b),
            AtomicOp::Add => self.b.ins().iadd(old, b),
            AtomicOp::Inc => {
                let next = self.emit().add_k(old, 1);
                let wraps = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, old, b);
                let ty = self.emit().ty(old);
                let zero = self.k(ty, 0);
                self.b.ins().select(wraps, zero, next)
            }
            AtomicOp::Dec => {
                let next = self.emit().add_k(old, u64::MAX);
                let zero = self.emit().cmp_k(IntCC::Equal, old, 0);
                let above = self.b.ins().icmp(IntCC::UnsignedGreaterThan, old, b);
                let wraps = self.b.ins().bor(zero, above);
                self.b.ins().select(wraps, b, next)
            }
            AtomicOp::Min { ty } if ty.signed() => self.b.ins().smin(old, b),
            AtomicOp::Min { .. } => self.b.ins().umin(old, b),
            AtomicOp::Max { ty } if ty.signed() => self.b.ins().smax(old, b),
            AtomicOp::Max { .. } => self.b.ins().umax(old, b),
            AtomicOp::Exch => b,
            AtomicOp::Cas => {
                let equal = self.b.ins().icmp(IntCC::Equal, old, b);
                self.b.ins().select(equal, srcs[1], old)
            }
            AtomicOp::Float(op) => {
                let mut emit = self.emit();
                let new = emit.float(op, &[old, b])[0];
                emit.settled(new)
            }
        }
    }

    /// The same where other workers may reach the memory; gives what was there.
    fn exchange(&mut self, op: AtomicOp, ty: Type, address: Value, srcs: &[Value]) -> Value {
        let b = srcs[0];
        let device = self.ptx_memory();
        let rmw = match op {
            AtomicOp::And => AtomicRmwOp::And,
            AtomicOp::Or => AtomicRmwOp::Or,
            AtomicOp::Xor => AtomicRmwOp::Xor,
            AtomicOp::Add => AtomicRmwOp::Add,
            AtomicOp::Exch => AtomicRmwOp::Xchg,
            AtomicOp::Min { ty } if ty.signed() => AtomicRmwOp::Smin,
            AtomicOp::Min { .. } => AtomicRmwOp::Umin,
            AtomicOp::Max { ty } if ty.signed() => AtomicRmwOp::Smax,
            AtomicOp::Max { .. } => AtomicRmwOp::Umax,
            AtomicOp::Cas => {
                return self.b.ins().atomic_cas(device, address, b, srcs[1]);
            }
            AtomicOp::Inc | AtomicOp::Dec | AtomicOp::Float(_) => {
                return self.retry(ty, address, |l, old| l.combine(op, old, srcs));
            }
        };
        self.b.ins().atomic_rmw(ty, device, rmw, address, b)
    }

    /// An operator that hosts do not have: compares and swaps until nobody came between.
    fn retry(
        &mut self,
        ty: Type,
        address: Value,
        new: impl FnOnce(&mut Self, Value) -> Value,
    ) -> Value {
        let (head, done) = (self.b.create_block(), self.b.create_block());
        let old = self.b.append_block_param(head, ty);
        let device = self.ptx_memory();
        let first = self.b.ins().atomic_load(ty, device, address);
        self.b.ins().jump(head, &[first.into()]);
        self.b.switch_to_block(head);
        let new = new(self, old);
        let found = self.b.ins().atomic_cas(device, address, old, new);
        let same = self.b.ins().icmp(IntCC::Equal, found, old);
        self.b.ins().brif(same, done, &[], head, &[found.into()]);
        self.b.switch_to_block(done);
        old
    }

    /// `fence`, `membar`: what the host needs for it.
    pub(super) fn fence(&mut self, fence: Fence) {
        match fence {
            Fence::Acquire | Fence::Release | Fence::AcquireRelease
                if self.options.abilities.strong_memory =>
            {
                self.b.ins().sequence_point();
            }
            Fence::Acquire | Fence::Release | Fence::AcquireRelease | Fence::Sequential => {
                self.b.ins().fence();
            }
        }
    }

    /// `mbarrier`
    pub(super) fn mbarrier(&mut self, inst: &Inst, mbarrier: &Mbarrier) {
        let service = Service::Mbarrier {
            space: mbarrier.space,
            op: mbarrier.op,
        };
        let mut args = vec![self.whole_address(&mbarrier.addr)];
        args.extend(self.operands(&mbarrier.srcs));
        let results = self.serve(inst, service, &args);
        self.set_results(&[mbarrier.dst], results);
    }

    /// Asynchronous copies.
    pub(super) fn copy_at_once(&mut self, inst: &Inst, copy: &Copy) {
        let mut args = vec![
            self.whole_address(&copy.to.1),
            self.whole_address(&copy.from.1),
            self.operand(copy.bytes, RegClass::B32),
        ];
        for (operand, class) in [(copy.read, RegClass::B32), (copy.ignore, RegClass::Pred)] {
            let operand = operand.unwrap_or(Operand::Imm(0));
            args.push(self.operand(operand, class));
        }
        args.push(match &copy.mbarrier {
            Some((_, address)) => self.whole_address(address),
            None => self.k(I64, 0),
        });
        let [left, right] = copy.skip.map_or([None; 2], |skip| skip.map(Some));
        for (operand, class) in [
            (copy.multicast, RegClass::B16),
            (left, RegClass::B32),
            (right, RegClass::B32),
            (copy.byte_mask, RegClass::B16),
        ] {
            let all = Operand::Imm(if class == RegClass::B16 { 0xffff } else { 0 });
            args.push(self.operand(operand.unwrap_or(all), class));
        }
        self.serve(inst, Service::Copy(Box::new(copy.clone())), &args);
    }

    /// Has the host do something; gives where the results lie. Faults if it says so.
    pub(super) fn serve(&mut self, inst: &Inst, service: Service, args: &[Value]) -> StackSlot {
        let site = self.site(Cause::Serve(service), inst.span, inst.location);
        let slot = self.stack_slot(8 * ARGUMENTS as u32, 8);
        for (i, &arg) in (0..).zip(args) {
            let arg = self.emit().resize(arg, I64, false);
            self.b.ins().stack_store(I64, arg, slot, 8 * i);
        }
        let serve = self.function_ref(Symbol::ServeHost, |c| {
            abi::simple(&[I64, I32, I64], &[I32], c)
        });
        self.tell_lane();
        let (context, site) = (self.context, self.k(I32, site.into()));
        let pointer = self.b.ins().stack_addr(I64, slot, 0);
        let call = self.b.ins().call(serve, &[context, site, pointer]);
        let wrong = self.b.inst_results(call)[0];
        let next = self.b.create_block();
        let faulted = self.faulted();
        self.b.ins().brif(wrong, faulted, &[], next, &[]);
        self.b.switch_to_block(next);
        slot
    }

    pub(super) fn set_results(&mut self, dsts: &[Option<Reg>], results: StackSlot) {
        for (i, dst) in (0..).zip(dsts) {
            if let Some(dst) = *dst {
                let value = self.b.ins().stack_load(I64, I64, results, 8 * i);
                self.set_resized(None, dst, value);
            }
        }
    }

    /// Operands with all their bits.
    fn operands(&mut self, operands: &[Operand]) -> Vec<Value> {
        (operands.iter())
            .map(|&operand| {
                let class = operand.reg().map(|reg| self.function.class(reg));
                self.operand(operand, class.unwrap_or(RegClass::B64))
            })
            .collect()
    }

    /// An address in its space, in one value.
    fn whole_address(&mut self, address: &Address) -> Value {
        let (base, offset) = self.address(address);
        self.emit().add_k(base, i64::from(offset) as u64)
    }
}
