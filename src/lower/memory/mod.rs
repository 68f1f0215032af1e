//! Loads, stores and addresses. [`check`] confines those that go through addresses; [`frame`] has the function's own
//! memory.

mod check;
mod frame;
mod gathered;
mod together;

pub(super) use check::OpenRun;

use super::context::Field;
use super::emit::clif_type;
use super::function::{Lower, constant_memory, trusted};
use super::site::{Cause, Parameter};
use crate::ir::memory::{Address, AddressOf, Base, Load, Order, Space, Store, Var};
use crate::ir::{Guard, Inst, Reg, RegClass};
use crate::machine::FaultKind;
use crate::spmd::access::{Home, Place, Reach};
use cranelift_codegen::ir::types::{F32, F64, I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value};

/// Distances of host pointers stay below this, so that there is room for the elements of an access.
const FARTHEST: i32 = i32::MAX - 4096;

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
                    Home::Params | Home::Constants => {
                        self.options.abilities.of_ptx(constant_memory())
                    }
                    Home::Globals
                    | Home::Shared
                    | Home::Locals
                    | Home::Param(_)
                    | Home::Return(_)
                    | Home::Frame(_) => self.ptx_memory(),
                };
                for i in 0..load.dsts.len() {
                    let at = pointer.plus(i * usize::from(load.bytes));
                    let ty = self.loaded_type(load, i);
                    let value = self.read(ty, flags, at, load.order);
                    self.set_loaded(inst.guard, load, i, value);
                }
            }
            Place::Checked(root) => self.guarded(inst, |l| {
                let pointer = l.checked(inst, &reach, root.as_ref());
                let values: Vec<Value> = (0..load.dsts.len())
                    .map(|i| {
                        let at = pointer.plus(i * usize::from(load.bytes));
                        let ty = l.loaded_type(load, i);
                        l.read(ty, l.ptx_memory(), at, load.order)
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
                let value = match store.order {
                    Order::Weak => l.stored(*src, class),
                    Order::Volatile
                    | Order::Relaxed
                    | Order::Acquire
                    | Order::Release
                    | Order::AcquireRelease => l.operand(*src, class),
                };
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

    pub(super) fn place(&self, reach: &Reach) -> Place {
        reach.place(
            self.module,
            self.function,
            &self.plan.names,
            &self.plan.provenance,
        )
    }

    /// The type in which an element is loaded.
    fn loaded_type(&self, load: &Load, index: usize) -> Type {
        let whole = |dst: &Reg| self.function.class(*dst).bits() == 8 * u32::from(load.bytes);
        match load.dsts[index].filter(whole) {
            Some(dst) if load.order == Order::Weak => self.kept_type(dst.into()),
            Some(_) | None => int_type(load.bytes),
        }
    }

    fn set_loaded(&mut self, guard: Option<Guard>, load: &Load, index: usize, value: Value) {
        if let Some(dst) = load.dsts[index] {
            let value = match self.b.func.dfg.value_type(value) {
                F32 | F64 => value,
                _ => {
                    let ty = clif_type(self.function.class(dst));
                    self.emit().resize(value, ty, load.signed)
                }
            };
            let permit = self.permit(guard);
            self.set_guarded(permit, dst.into(), value);
        }
    }

    pub(super) fn wrong(&mut self, inst: &Inst, reach: &Reach, kind: FaultKind, address: u64) {
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

    /// Flags of accesses to memory that is there and that PTX sees.
    pub(super) fn ptx_memory(&self) -> MemFlagsData {
        self.options.abilities.of_ptx(trusted())
    }

    /// Reads memory that may be read.
    fn read(&mut self, ty: Type, flags: MemFlagsData, at: Pointer, order: Order) -> Value {
        let device = self.ptx_memory();
        match order {
            Order::Weak => self.b.ins().load(ty, flags, at.base, at.offset),
            Order::Volatile
            | Order::Relaxed
            | Order::Acquire
            | Order::Release
            | Order::AcquireRelease => {
                if self.options.abilities.strong_memory {
                    // Nothing is known of memory across these: the load is neither merged nor moved.
                    self.b.ins().sequence_point();
                    let value = self.b.ins().load(ty, device, at.base, at.offset);
                    self.b.ins().sequence_point();
                    value
                } else {
                    let address = self.emit().add_k(at.base, i64::from(at.offset) as u64);
                    self.b.ins().atomic_load(ty, device, address)
                }
            }
        }
    }

    /// Writes memory that may be written.
    fn write(&mut self, value: Value, at: Pointer, order: Order) {
        let device = self.ptx_memory();
        match order {
            Order::Weak => {
                self.b.ins().store(device, value, at.base, at.offset);
            }
            Order::Volatile
            | Order::Relaxed
            | Order::Acquire
            | Order::Release
            | Order::AcquireRelease => {
                if self.options.abilities.strong_memory {
                    self.b.ins().sequence_point();
                    self.b.ins().store(device, value, at.base, at.offset);
                    self.b.ins().sequence_point();
                } else {
                    let address = self.emit().add_k(at.base, i64::from(at.offset) as u64);
                    self.b.ins().atomic_store(device, value, address);
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
                None => self.lane_local(),
            },
            Home::Param(i) => match self.pointers.params[i as usize] {
                Some(pointer) => pointer,
                None => self.slot_address(home),
            },
            Home::Return(_) | Home::Frame(_) => self.slot_address(home),
        };
        match i32::try_from(offset) {
            Ok(offset) if offset < FARTHEST => Pointer { base, offset },
            Ok(_) | Err(_) => Pointer {
                base: self.emit().add_k(base, offset.into()),
                offset: 0,
            },
        }
    }

    /// A host pointer in one value.
    pub(super) fn pointer(&mut self, pointer: Pointer) -> Value {
        self.emit()
            .add_k(pointer.base, i64::from(pointer.offset) as u64)
    }

    fn slot_address(&mut self, home: Home) -> Value {
        let slot = self.slot(home);
        self.b.ins().stack_addr(I64, slot, 0)
    }

    /// The address that an instruction gives: a value of 64 bits and a distance.
    pub(super) fn address(&mut self, address: &Address) -> (Value, i32) {
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
            Ok(offset) if offset < FARTHEST => (base, offset),
            _ => (self.emit().add_k(base, address.offset as u64), 0),
        }
    }

    /// The address at a distance from where the CTA's own part of a window begins.
    fn ranked(&mut self, space: Space, distance: Value) -> Value {
        if space != Space::Shared || !self.module.clusters {
            return distance;
        }
        let start = self.uniform(Field::SHARED_START);
        self.b.ins().iadd(start, distance)
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
                    let distance = self.emit().add_k(start, address.offset as u64);
                    return self.ranked(variable.space, distance);
                }
                let distance = self.k(I64, offset);
                self.ranked(variable.space, distance)
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
}

fn int_type(bytes: u8) -> Type {
    match bytes {
        1 => I8,
        2 => I16,
        4 => I32,
        _ => I64,
    }
}
