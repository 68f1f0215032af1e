//! Loads, stores, addresses, and the checks that confine them.
//!
//! A check compares the distance from the start of an extent with its length, both in units of the access's alignment:
//! rotating the distance right by log2 of the alignment makes a misaligned one larger than any length. Extents begin at
//! aligned addresses. Where the comparison fails, the host judges, and the access goes on or faults.

use super::abi;
use super::context::{Extent, Field, NO_SLOT, Start};
use super::emit::clif_type;
use super::function::{Lower, constant_memory, trusted};
use super::site::{Cause, Parameter};
use super::symbols::Symbol;
use crate::ir::memory::{Address, AddressOf, Base, Load, Order, Space, Store, Var};
use crate::ir::{BasicBlock, Guard, Inst, Reg, RegClass, VarId};
use crate::machine::{FaultKind, window};
use crate::spmd::access::{Home, Place, Reach};
use crate::spmd::{Root, Run};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value};
use cranelift_codegen::isa::CallConv;
use std::mem::offset_of;

/// A host pointer and a distance from it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pointer {
    pub(super) base: Value,
    offset: i32,
}

impl Pointer {
    fn plus(self, bytes: usize) -> Pointer {
        Pointer {
            offset: self.offset + bytes as i32,
            ..self
        }
    }
}

/// A run whose check has been made.
#[derive(Debug, Clone)]
pub(super) struct OpenRun {
    /// Its last member.
    pub(super) last: u32,
    /// The register that it is based on, and the space: what tells members from accesses between them.
    base: Reg,
    space: Space,
    /// Host pointer to the start of the checked range.
    start: Value,
    /// Distance of that from the register.
    offset: i64,
}

/// An access to be checked.
#[derive(Debug, Clone, Copy)]
struct Check<'a> {
    site: u32,
    space: Space,
    write: bool,
    root: Option<&'a Root>,
    /// Where the last answer is kept, for addresses of unknown origin.
    slot: Option<u32>,
    /// The address is this value and a distance.
    base: Value,
    offset: i32,
    /// Bytes, a multiple of the alignment.
    bytes: u64,
    align: u32,
}

/// Which addresses are good without asking.
struct Bounds {
    /// Distances are counted from here; `None` is 0.
    start: Option<Value>,
    /// How many pieces of the size of the alignment follow.
    pieces: Value,
    translation: Translation,
}

/// How addresses in an extent become host pointers.
enum Translation {
    /// They are.
    Host,
    /// By adding this.
    Add(Value),
}

impl Lower<'_, '_> {
    pub(super) fn load(&mut self, inst: &Inst, load: &Load) {
        let Some(reach) = Reach::of(inst) else { return };
        let ty = int_type(load.bytes);
        match self.place(&reach) {
            Place::Name(name) => {
                let value = self.value(name);
                let value = self.emit().resize(value, ty, false);
                self.set_loaded(inst.guard, load, 0, value);
            }
            Place::Fixed(home, offset) => {
                let pointer = self.home(home, offset);
                let flags = match home {
                    Home::Params | Home::Constants => constant_memory(),
                    Home::Globals
                    | Home::Shared
                    | Home::Locals
                    | Home::Param(_)
                    | Home::Return(_)
                    | Home::Frame(_) => trusted(),
                };
                for i in 0..load.dsts.len() {
                    let at = pointer.plus(i * usize::from(load.bytes));
                    let value = self.read(ty, flags, at, load.order);
                    self.set_loaded(inst.guard, load, i, value);
                }
            }
            Place::Checked(root) => self.guarded(inst, |l| {
                let pointer = l.checked(inst, &reach, root.as_ref());
                let values: Vec<Value> = (0..load.dsts.len())
                    .map(|i| {
                        let at = pointer.plus(i * usize::from(load.bytes));
                        l.read(ty, trusted(), at, load.order)
                    })
                    .collect();
                for (i, value) in values.into_iter().enumerate() {
                    l.set_loaded(None, load, i, value);
                }
            }),
            Place::Wrong(kind, at) => self.guarded(inst, |l| {
                l.wrong(inst, &reach, kind, at);
                for i in 0..load.dsts.len() {
                    let zero = l.k(ty, 0);
                    l.set_loaded(None, load, i, zero);
                }
            }),
        }
    }

    pub(super) fn store(&mut self, inst: &Inst, store: &Store) {
        let Some(reach) = Reach::of(inst) else { return };
        let class = RegClass::of_bits(u32::from(store.bytes) * 8).unwrap_or(RegClass::B64);
        let write = |l: &mut Self, pointer: Pointer| {
            for (i, src) in store.srcs.iter().enumerate() {
                let value = l.operand(*src, class);
                l.write(
                    value,
                    pointer.plus(i * usize::from(store.bytes)),
                    store.order,
                );
            }
        };
        match self.place(&reach) {
            Place::Name(name) => {
                if let Some(&src) = store.srcs.first() {
                    let value = self.operand(src, class);
                    let permit = self.permit(inst.guard);
                    self.set_guarded(permit, name, value);
                }
            }
            Place::Fixed(home, offset) => self.guarded(inst, |l| {
                let pointer = l.home(home, offset);
                write(l, pointer);
            }),
            Place::Checked(root) => self.guarded(inst, |l| {
                let pointer = l.checked(inst, &reach, root.as_ref());
                write(l, pointer);
            }),
            Place::Wrong(kind, at) => self.guarded(inst, |l| l.wrong(inst, &reach, kind, at)),
        }
    }

    fn place(&self, reach: &Reach) -> Place {
        reach.place(
            self.module,
            self.function,
            &self.plan.names,
            &self.plan.provenance,
        )
    }

    fn set_loaded(&mut self, guard: Option<Guard>, load: &Load, index: usize, value: Value) {
        if let Some(dst) = load.dsts[index] {
            let ty = clif_type(self.function.class(dst));
            let value = self.emit().resize(value, ty, load.signed);
            let permit = self.permit(guard);
            self.set_guarded(permit, dst.into(), value);
        }
    }

    fn wrong(&mut self, inst: &Inst, reach: &Reach, kind: FaultKind, address: u64) {
        let cause = Cause::Wrong {
            kind,
            address,
            bytes: reach.access.bytes,
            parameter: self.parameter(reach),
        };
        let site = self.site(cause, inst.span, inst.location);
        self.fail(site, None);
        let unreachable = self.cold_block();
        self.b.switch_to_block(unreachable);
    }

    /// The parameter or `.param` variable that an access names.
    fn parameter(&self, reach: &Reach) -> Option<Parameter> {
        let Base::Var(var) = reach.address.base else {
            return None;
        };
        let (name, offset, ty) = match var {
            Var::Param(i) => {
                let param = &self.function.params[i as usize];
                (&param.name, param.offset, param.ty)
            }
            Var::Return(i) => {
                let param = &self.function.returns[i as usize];
                (&param.name, param.offset, param.ty)
            }
            Var::Frame(i) => {
                let var = &self.function.frame[i as usize];
                (&var.name, var.offset, var.ty)
            }
            Var::Module(_) | Var::Local(_) => return None,
        };
        Some(Parameter {
            name: name.clone(),
            offset,
            size: ty.size,
        })
    }

    /// Reads memory that may be read.
    fn read(&mut self, ty: Type, flags: MemFlagsData, at: Pointer, order: Order) -> Value {
        match order {
            Order::Weak => self.b.ins().load(ty, flags, at.base, at.offset),
            Order::Volatile | Order::Relaxed | Order::Acquire | Order::Release => {
                if self.options.strong_memory {
                    // Nothing is known of memory across these: the load is neither merged nor moved.
                    self.b.ins().sequence_point();
                    let value = self.b.ins().load(ty, trusted(), at.base, at.offset);
                    self.b.ins().sequence_point();
                    value
                } else {
                    let address = self.emit().add_k(at.base, i64::from(at.offset) as u64);
                    self.b.ins().atomic_load(ty, trusted(), address)
                }
            }
        }
    }

    /// Writes memory that may be written.
    fn write(&mut self, value: Value, at: Pointer, order: Order) {
        match order {
            Order::Weak => {
                self.b.ins().store(trusted(), value, at.base, at.offset);
            }
            Order::Volatile | Order::Relaxed | Order::Acquire | Order::Release => {
                if self.options.strong_memory {
                    self.b.ins().sequence_point();
                    self.b.ins().store(trusted(), value, at.base, at.offset);
                    self.b.ins().sequence_point();
                } else {
                    let address = self.emit().add_k(at.base, i64::from(at.offset) as u64);
                    self.b.ins().atomic_store(trusted(), value, address);
                }
            }
        }
    }

    /// Host pointer to known memory.
    pub(super) fn home(&mut self, home: Home, offset: u32) -> Pointer {
        let base = match home {
            Home::Globals => self.uniform(Field::GLOBALS),
            Home::Constants => self.uniform(Field::CONSTANTS),
            Home::Shared => self.uniform(Field::SHARED),
            Home::Params => self.uniform(Field::PARAMS),
            Home::Locals => match self.locals {
                Some((pointer, _)) => pointer,
                None => self.uniform(Field::LOCAL),
            },
            Home::Param(i) => match self.pointers.params[i as usize] {
                Some(pointer) => pointer,
                None => self.slot_address(home),
            },
            Home::Return(_) | Home::Frame(_) => self.slot_address(home),
        };
        match i32::try_from(offset) {
            Ok(offset) => Pointer { base, offset },
            Err(_) => Pointer {
                base: self.emit().add_k(base, offset.into()),
                offset: 0,
            },
        }
    }

    fn slot_address(&mut self, home: Home) -> Value {
        let slot = self.slot(home);
        self.b.ins().stack_addr(I64, slot, 0)
    }

    /// The address that an instruction gives: a value of 64 bits and a distance.
    fn address(&mut self, address: &Address) -> (Value, i32) {
        let narrow = self.module.address_bits == 32;
        let base = match address.base {
            Base::Reg(reg) => {
                let value = self.value(reg.into());
                if narrow {
                    let value = self.emit().resize(value, I32, false);
                    let value = self.emit().add_k(value, address.offset as u64);
                    return (self.emit().resize(value, I64, false), 0);
                }
                self.emit().resize(value, I64, false)
            }
            Base::Var(var) => self.address_of(&AddressOf {
                dst: Reg(0),
                var,
                offset: 0,
            }),
            Base::Absolute => self.k(I64, 0),
        };
        if narrow {
            let value = self.emit().add_k(base, address.offset as u64);
            return (self.emit().and_k(value, 0xffff_ffff), 0);
        }
        match i32::try_from(address.offset) {
            // Room for the elements of an access.
            Ok(offset) if offset < i32::MAX - 4096 => (base, offset),
            _ => (self.emit().add_k(base, address.offset as u64), 0),
        }
    }

    /// The address of a variable in its own space.
    pub(super) fn address_of(&mut self, address: &AddressOf) -> Value {
        let offset = address.offset as u64;
        match address.var {
            Var::Module(id) => {
                let variable = &self.module.variables[id.index()];
                let offset = offset.wrapping_add(variable.offset);
                if variable.space == Space::Global {
                    let globals = self.uniform(Field::GLOBALS);
                    return self.emit().add_k(globals, offset);
                }
                if variable.dynamic {
                    let start = if self.is_kernel() {
                        self.k(I64, self.function.dynamic_shared())
                    } else {
                        self.uniform(Field::DYNAMIC_SHARED)
                    };
                    return self.emit().add_k(start, address.offset as u64);
                }
                self.k(I64, offset)
            }
            Var::Local(i) => {
                let offset = offset.wrapping_add(self.function.locals[i as usize].offset.into());
                match self.locals {
                    Some((_, start)) => self.emit().add_k(start, offset),
                    None => self.k(I64, offset),
                }
            }
            Var::Param(i) => {
                let offset = offset.wrapping_add(self.function.params[i as usize].offset.into());
                self.k(I64, offset)
            }
            Var::Return(i) => {
                let offset = offset.wrapping_add(self.function.returns[i as usize].offset.into());
                self.k(I64, offset)
            }
            Var::Frame(i) => {
                let offset = offset.wrapping_add(self.function.frame[i as usize].offset.into());
                self.k(I64, offset)
            }
        }
    }

    /// The host pointer for an access through an address; checked unless that is not wanted, or done already.
    fn checked(&mut self, inst: &Inst, reach: &Reach, root: Option<&Root>) -> Pointer {
        let reg = match reach.address.base {
            Base::Reg(reg) => Some(reg),
            Base::Var(_) | Base::Absolute => None,
        };
        if let Some(run) = &self.run
            && reg == Some(run.base)
            && reach.space == run.space
        {
            return Pointer {
                base: run.start,
                offset: (reach.address.offset - run.offset) as i32,
            };
        }
        let (base, offset) = self.address(&reach.address);
        let cause = Cause::Access {
            space: reach.space,
            access: reach.access,
            parameter: self.parameter(reach),
        };
        let site = self.site(cause, inst.span, inst.location);
        let mut check = Check {
            site,
            space: reach.space,
            write: reach.access.write,
            root,
            slot: None,
            base,
            offset,
            bytes: reach.access.bytes.into(),
            align: reach.access.align,
        };
        check.slot = self.answer_slot(&check, reg);
        self.check(check)
    }

    /// Checks all members of a run.
    pub(super) fn check_run(&mut self, run: &Run, block: &BasicBlock) {
        let mut members = Vec::new();
        for &member in &run.members {
            let inst = &block.insts[member as usize];
            let Some(reach) = Reach::of(inst) else {
                continue;
            };
            let cause = Cause::Access {
                space: reach.space,
                access: reach.access,
                parameter: None,
            };
            let site = self.site(cause, inst.span, inst.location);
            members.push((site, reach.address.offset - run.offset));
        }
        let first = &block.insts[run.members[0] as usize];
        let site = self.site(Cause::Run(members), first.span, first.location);
        let (base, offset) = self.address(&Address {
            base: Base::Reg(run.base),
            offset: run.offset,
        });
        let mut check = Check {
            site,
            space: run.space,
            write: run.writes,
            root: run.root.as_ref(),
            slot: None,
            base,
            offset,
            bytes: run.bytes,
            align: run.align,
        };
        check.slot = self.answer_slot(&check, Some(run.base));
        let pointer = self.check(check);
        let start = self
            .emit()
            .add_k(pointer.base, i64::from(pointer.offset) as u64);
        self.run = Some(OpenRun {
            last: run.members.last().copied().unwrap_or(0),
            base: run.base,
            space: run.space,
            start,
            offset: run.offset,
        });
    }

    fn check(&mut self, check: Check<'_>) -> Pointer {
        if !self.options.checked {
            return self.unchecked(check);
        }
        let Bounds {
            start,
            pieces,
            translation,
        } = self.bounds(&check);
        let distance = match start {
            Some(start) => self.b.ins().isub(check.base, start),
            None => check.base,
        };
        let distance = self.emit().add_k(distance, i64::from(check.offset) as u64);
        let shift = check.align.ilog2();
        let steps = match shift {
            0 => distance,
            _ => {
                let shift = self.k(I32, shift.into());
                self.b.ins().rotr(distance, shift)
            }
        };
        let mut limit = pieces;
        let units = check.bytes >> shift;
        if units > 1 {
            limit = self.emit().add_k(limit, 1u64.wrapping_sub(units));
            let zero = self.k(I64, 0);
            limit = self.b.ins().smax(limit, zero);
        }
        let within = self.b.ins().icmp(IntCC::UnsignedLessThan, steps, limit);
        let (next, cold) = (self.b.create_block(), self.cold_block());
        match translation {
            Translation::Host => {
                self.b.ins().brif(within, next, &[], cold, &[]);
                self.b.switch_to_block(cold);
                self.ask(&check, next, false);
                self.b.switch_to_block(next);
                Pointer {
                    base: check.base,
                    offset: check.offset,
                }
            }
            Translation::Add(delta) => {
                let fast = self.b.ins().iadd(check.base, delta);
                let base = self.b.append_block_param(next, I64);
                self.b.ins().brif(within, next, &[fast.into()], cold, &[]);
                self.b.switch_to_block(cold);
                self.ask(&check, next, true);
                self.b.switch_to_block(next);
                Pointer {
                    base,
                    offset: check.offset,
                }
            }
        }
    }

    fn bounds(&mut self, check: &Check<'_>) -> Bounds {
        let shift = check.align.ilog2();
        match (check.space, check.root) {
            (Space::Shared | Space::Local | Space::Const | Space::Param, _) => {
                let (len, pointer) = self.window(check.space, check.write);
                Bounds {
                    start: None,
                    pieces: self.emit().shr_k(len, shift),
                    translation: Translation::Add(pointer),
                }
            }
            (Space::Global | Space::Generic, Some(Root::Variable(id)))
                if self.is_aligned(*id, check.align) =>
            {
                let variable = &self.module.variables[id.index()];
                let globals = self.uniform(Field::GLOBALS);
                Bounds {
                    start: Some(self.emit().add_k(globals, variable.offset)),
                    pieces: self.k(I64, variable.size >> shift),
                    translation: self.translate_host(check.space),
                }
            }
            (Space::Global | Space::Generic, Some(root @ Root::Params(offsets))) => {
                let index = match self.roots.iter().position(|r| r == root) {
                    Some(index) => index,
                    None => {
                        self.roots.push(root.clone());
                        self.roots.len() - 1
                    }
                };
                let table = self.uniform(Field::ROOTS);
                let mut load = |offset: usize| {
                    let offset = (index * size_of::<Start>() + offset) as i32;
                    self.b.ins().load(I64, constant_memory(), table, offset)
                };
                let counts = if check.write {
                    offset_of!(Start, write)
                } else {
                    offset_of!(Start, read)
                };
                let pieces = load(counts + 8 * shift as usize);
                let start = match offsets[..] {
                    // Read as the kernel itself reads it, so that `pointer + distance - pointer` is seen through.
                    [offset] if self.module.address_bits == 64 => {
                        let params = self.home(Home::Params, offset);
                        let flags = constant_memory();
                        self.b.ins().load(I64, flags, params.base, params.offset)
                    }
                    _ => load(offset_of!(Start, address)),
                };
                Bounds {
                    start: Some(start),
                    pieces,
                    translation: self.translate_host(check.space),
                }
            }
            (Space::Generic, Some(Root::Window(space))) => {
                let (len, pointer) = self.window(*space, check.write);
                let start = window::base(*space, self.module.address_bits).unwrap_or(0);
                let delta = self.emit().add_k(pointer, start.wrapping_neg());
                Bounds {
                    start: Some(self.k(I64, start)),
                    pieces: self.emit().shr_k(len, shift),
                    translation: Translation::Add(delta),
                }
            }
            (Space::Global | Space::Generic, _) => {
                let slot = check.slot.unwrap_or(0);
                let table = self.uniform(Field::ANSWERS);
                let mut load = |offset: usize| {
                    let offset = slot as usize * size_of::<Extent>() + offset;
                    self.b.ins().load(I64, trusted(), table, offset as i32)
                };
                let start = load(offset_of!(Extent, base));
                let len = load(if check.write {
                    offset_of!(Extent, write)
                } else {
                    offset_of!(Extent, read)
                });
                let translation = match check.space {
                    Space::Generic => Translation::Add(load(offset_of!(Extent, delta))),
                    Space::Global | Space::Shared | Space::Local | Space::Const | Space::Param => {
                        Translation::Host
                    }
                };
                Bounds {
                    start: Some(start),
                    pieces: self.emit().shr_k(len, shift),
                    translation,
                }
            }
        }
    }

    /// How addresses of global memory become host pointers: they are, but the host may say otherwise of generic ones.
    fn translate_host(&mut self, space: Space) -> Translation {
        match space {
            Space::Generic => Translation::Add(self.k(I64, 0)),
            Space::Global | Space::Shared | Space::Local | Space::Const | Space::Param => {
                Translation::Host
            }
        }
    }

    /// Whether distances from a variable tell the alignment of addresses.
    fn is_aligned(&self, variable: VarId, align: u32) -> bool {
        let variable = &self.module.variables[variable.index()];
        variable.offset.is_multiple_of(align.into())
    }

    /// Bytes of a window that may be read or written, and its host pointer.
    fn window(&mut self, space: Space, write: bool) -> (Value, Value) {
        let (len, pointer, writable) = match space {
            Space::Shared => (Some(Field::SHARED_LEN), Field::SHARED, true),
            Space::Local => (None, Field::LOCAL, true),
            Space::Const => (Some(Field::CONSTANTS_LEN), Field::CONSTANTS, false),
            Space::Param => (Some(Field::PARAMS_LEN), Field::PARAMS, false),
            Space::Generic | Space::Global => unreachable!("not a window"),
        };
        let len = if write && !writable {
            self.k(I64, 0)
        } else {
            match len {
                Some(field) => self.uniform(field),
                None => self.locals_end(),
            }
        };
        (len, self.uniform(pointer))
    }

    /// Where the local memory ends that the thread can reach here.
    fn locals_end(&mut self) -> Value {
        match self.locals_end {
            Some(end) => end,
            None => self.k(I64, self.function.local_bytes.into()),
        }
    }

    /// The slot for the last answer to an access, if its origin is unknown.
    fn answer_slot(&mut self, check: &Check<'_>, reg: Option<Reg>) -> Option<u32> {
        match (check.space, check.root) {
            (Space::Shared | Space::Local | Space::Const | Space::Param, _)
            | (Space::Global | Space::Generic, Some(Root::Params(_)))
            | (Space::Generic, Some(Root::Window(_))) => return None,
            (Space::Global | Space::Generic, Some(Root::Variable(id))) => {
                if self.is_aligned(*id, check.align) {
                    return None;
                }
            }
            (Space::Global, Some(Root::Window(_))) | (Space::Global | Space::Generic, None) => {}
        }
        if !self.options.checked {
            return None;
        }
        let next = self.sites.answers;
        let slot = match reg {
            Some(reg) => *self.answers.entry((reg, check.space)).or_insert(next),
            None => next,
        };
        if slot == next {
            self.sites.answers += 1;
        }
        Some(slot)
    }

    /// Has the host judge the access; goes on in `next`, with the host's pointer if it wants one, or ends with a fault.
    fn ask(&mut self, check: &Check<'_>, next: cranelift_codegen::ir::Block, pointer: bool) {
        let resolve = self.function_ref(Symbol::Resolve, |_| {
            abi::simple(&[I64, I32, I64, I32], &[], CallConv::PreserveAll)
        });
        let site = self.k(I32, check.site.into());
        let address = self
            .emit()
            .add_k(check.base, i64::from(check.offset) as u64);
        let slot = check.slot.unwrap_or(NO_SLOT);
        let slot = self.k(I32, slot.into());
        let context = self.context;
        self.b.ins().call(resolve, &[context, site, address, slot]);
        let answer = self.field(Field::ANSWER);
        let faulted = self.faulted();
        if pointer {
            let base = self
                .emit()
                .add_k(answer, i64::from(check.offset).wrapping_neg() as u64);
            self.b
                .ins()
                .brif(answer, next, &[base.into()], faulted, &[]);
        } else {
            self.b.ins().brif(answer, next, &[], faulted, &[]);
        }
    }

    fn unchecked(&mut self, check: Check<'_>) -> Pointer {
        let base = match (check.space, check.root) {
            (Space::Global, _) => check.base,
            (Space::Shared | Space::Local | Space::Const | Space::Param, _) => {
                let (_, pointer) = self.window(check.space, false);
                self.b.ins().iadd(check.base, pointer)
            }
            (Space::Generic, _) => {
                let shift = if self.module.address_bits == 32 {
                    28
                } else {
                    56
                };
                let least = if shift == 28 { 11 } else { 1 };
                let number = self.emit().shr_k(check.base, shift);
                let number = self.emit().add_k(number, u64::wrapping_sub(0, least));
                let global = self
                    .emit()
                    .cmp_k(IntCC::UnsignedGreaterThanOrEqual, number, 4);
                let (next, cold) = (self.b.create_block(), self.cold_block());
                let base = self.b.append_block_param(next, I64);
                self.b
                    .ins()
                    .brif(global, next, &[check.base.into()], cold, &[]);
                self.b.switch_to_block(cold);
                self.ask(&check, next, true);
                self.b.switch_to_block(next);
                base
            }
        };
        Pointer {
            base,
            offset: check.offset,
        }
    }

    /// Room for the function's `.local` variables, all zero.
    pub(super) fn begin_locals(&mut self) {
        let bytes = self.function.local_bytes;
        if bytes == 0 {
            if !self.is_kernel() && self.reaches_locals() {
                self.locals_end = Some(self.field(Field::LOCAL_TOP));
            }
            return;
        }
        let window = self.uniform(Field::LOCAL);
        let (pointer, start) = if self.is_kernel() {
            (window, self.k(I64, 0))
        } else {
            let top = self.field(Field::LOCAL_TOP);
            let start = self.align_up(top, self.function.local_align);
            let end = self.emit().add_k(start, bytes.into());
            self.set_field(Field::LOCAL_TOP, end);
            (self.local_top, self.locals_end) = (Some(top), Some(end));
            (self.b.ins().iadd(window, start), start)
        };
        self.locals = Some((pointer, start));
        self.clear(pointer, bytes);
    }

    /// Whether the function reaches into local memory by addresses that it computes.
    fn reaches_locals(&self) -> bool {
        (self.function.blocks.iter().flat_map(|b| &b.insts)).any(|inst| {
            Reach::of(inst).is_some_and(|r| matches!(r.space, Space::Local | Space::Generic))
        })
    }

    /// Gives the room back.
    pub(super) fn end_locals(&mut self) {
        if let Some(top) = self.local_top {
            self.set_field(Field::LOCAL_TOP, top);
        }
    }

    /// x rounded up to a multiple of a power of two.
    pub(super) fn align_up(&mut self, x: Value, align: u32) -> Value {
        let align = u64::from(align.max(1));
        let x = self.emit().add_k(x, align - 1);
        self.emit().and_k(x, align.wrapping_neg())
    }

    /// Zeroes memory.
    pub(super) fn clear(&mut self, pointer: Value, bytes: u32) {
        let zero = self.k(I64, 0);
        self.pieces(bytes, |l, ty, at| {
            let zero = if ty == I64 { zero } else { l.k(ty, 0) };
            let flags = MemFlagsData::new().with_notrap();
            let address = at.from(l, pointer);
            l.b.ins().store(flags, zero, address.base, address.offset);
        });
    }

    /// Copies memory that does not overlap.
    pub(super) fn copy(&mut self, to: Value, from: Value, bytes: u32) {
        self.pieces(bytes, |l, ty, at| {
            let flags = MemFlagsData::new().with_notrap();
            let source = at.from(l, from);
            let value = l.b.ins().load(ty, flags, source.base, source.offset);
            let target = at.from(l, to);
            l.b.ins().store(flags, value, target.base, target.offset);
        });
    }

    /// Calls `f` for words and a rest that make up `bytes`: one by one, or in a loop if they are many.
    fn pieces(&mut self, bytes: u32, mut f: impl FnMut(&mut Self, Type, Step)) {
        const INLINE: u32 = 128;
        let words = bytes / 8;
        let mut done = 0;
        if bytes > INLINE {
            let (head, next) = (self.b.create_block(), self.b.create_block());
            let index = self.b.append_block_param(head, I64);
            let zero = self.k(I64, 0);
            self.b.ins().jump(head, &[zero.into()]);
            self.b.switch_to_block(head);
            f(self, I64, Step::Variable(index));
            let after = self.emit().add_k(index, 8);
            let more = self
                .emit()
                .cmp_k(IntCC::UnsignedLessThan, after, u64::from(words) * 8);
            self.b.ins().brif(more, head, &[after.into()], next, &[]);
            self.b.switch_to_block(next);
            done = words * 8;
        }
        for ty in [I64, I32, I16, I8] {
            while bytes - done >= ty.bytes() {
                f(self, ty, Step::Constant(done as i32));
                done += ty.bytes();
            }
        }
    }
}

/// A distance from the start of a piece of memory.
#[derive(Clone, Copy)]
enum Step {
    Constant(i32),
    Variable(Value),
}

impl Step {
    fn from(self, l: &mut Lower<'_, '_>, start: Value) -> Pointer {
        match self {
            Step::Constant(offset) => Pointer {
                base: start,
                offset,
            },
            Step::Variable(offset) => Pointer {
                base: l.b.ins().iadd(start, offset),
                offset: 0,
            },
        }
    }
}

fn int_type(bytes: u8) -> Type {
    match bytes {
        1 => I8,
        2 => I16,
        4 => I32,
        _ => I64,
    }
}
