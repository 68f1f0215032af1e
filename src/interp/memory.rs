//! Loads, stores and addresses.

use super::code::{Anchor, Load, Place, Stack, Store};
use super::cta::Cta;
use super::thread::{Frame, Thread, Wrong, little_endian};
use crate::ir::memory::{Base, Order, Space, Var};
use crate::ir::{Function, Inst, Kind};
use crate::machine::memory::{self, Window};
use crate::machine::{Access, FaultKind, Nearest, local};
use std::sync::atomic::{Ordering, fence};

/// An access: where, how many bytes.
#[derive(Clone, Copy)]
pub(super) struct Reached {
    pub space: Space,
    pub address: u64,
    pub bytes: u32,
}

pub(super) fn wrong(kind: FaultKind, reached: Reached) -> Box<Wrong> {
    Box::new(Wrong {
        kind,
        detail: None,
        access: Some(reached),
    })
}

impl<'a> Thread<'a> {
    /// What an address counts from.
    #[inline]
    pub fn anchor(&self, cta: &Cta<'_>, frame: &Frame<'_>, anchor: Anchor) -> u64 {
        match anchor {
            Anchor::Reg(reg) => self.get(frame, reg),
            Anchor::Zero => 0,
            Anchor::Globals => cta.launch.globals,
            Anchor::Shared => cta.view.neighbours.start(),
            Anchor::DynamicShared => (cta.view.neighbours.start()).wrapping_add(cta.dynamic_shared),
            Anchor::Local => frame.local,
        }
    }

    /// `ld`
    pub fn load(
        &mut self,
        cta: &Cta<'_>,
        frame: &Frame<'_>,
        load: &Load,
    ) -> Result<(), Box<Wrong>> {
        let size = usize::from(load.bytes);
        let place = self.find(cta, frame, &load.place, load.access)?;
        for (i, dst) in load.dsts.iter().enumerate() {
            let Some(dst) = dst else {
                continue;
            };
            let value = match place {
                // SAFETY: `find` has checked all elements and their alignment; whoever runs the launch keeps its memory alive.
                Found::Memory(pointer) => unsafe {
                    memory::load(pointer.wrapping_add(i * size), load.bytes)
                },
                Found::Frame(start) => little_endian(&self.bytes[start + i * size..][..size]),
            };
            let value = if load.signed {
                let shift = 64 - 8 * u32::from(load.bytes);
                ((value << shift) as i64 >> shift) as u64
            } else {
                value
            };
            self.set(frame, dst.reg, value & dst.mask);
        }
        acquire(load.order);
        Ok(())
    }

    /// `st`
    pub fn store(
        &mut self,
        cta: &Cta<'_>,
        frame: &Frame<'_>,
        store: &Store,
    ) -> Result<(), Box<Wrong>> {
        let size = usize::from(store.bytes);
        let place = self.find(cta, frame, &store.place, store.access)?;
        release(store.order);
        for (i, src) in store.srcs.iter().enumerate() {
            let value = self.value(frame, *src);
            match place {
                // SAFETY: as in `load`; the access was checked for writing.
                Found::Memory(pointer) => unsafe {
                    memory::store(pointer.wrapping_add(i * size), store.bytes, value);
                },
                Found::Frame(start) => self.bytes[start + i * size..][..size]
                    .copy_from_slice(&value.to_le_bytes()[..size]),
            }
        }
        Ok(())
    }

    /// `alloca`, `stacksave`, `stackrestore`
    pub fn stack(
        &mut self,
        cta: &Cta<'_>,
        frame: &Frame<'_>,
        stack: Stack,
    ) -> Result<(), Box<Wrong>> {
        let end = self.view.local.len;
        match stack {
            Stack::Allocate { dst, size, align } => {
                // Clearing memory may take long.
                if cta.launch.limits.stop.is_raised() {
                    return Err(Wrong::new(FaultKind::TimeLimit, "stopped"));
                }
                let size = self.value(frame, size);
                let (start, new) = local::allocate(end, size, align, cta.local.len)
                    .map_err(|detail| Wrong::new(FaultKind::StackOverflow, detail))?;
                self.have_local(new, cta.local.len)?;
                self.view.local.len = new;
                zero(self.view.local, end);
                self.set(frame, dst.reg, start & dst.mask);
            }
            Stack::Save { dst } => self.set(frame, dst.reg, end & dst.mask),
            Stack::Restore { src } => {
                let to = self.value(frame, src);
                if !(frame.local_end..=end).contains(&to) {
                    return Err(Wrong::new(FaultKind::OutOfBounds, local::no_end(to)));
                }
                self.view.local.len = to;
            }
        }
        Ok(())
    }

    /// Checks an access through an address.
    #[inline]
    pub(super) fn window(
        &self,
        space: Space,
        address: u64,
        access: Access,
    ) -> Result<*mut u8, Box<Wrong>> {
        self.view.access(space, address, access).map_err(|kind| {
            let reached = Reached {
                space,
                address,
                bytes: access.bytes,
            };
            wrong(kind, reached)
        })
    }

    /// Checks an access.
    #[inline]
    pub(super) fn find(
        &self,
        cta: &Cta<'_>,
        frame: &Frame<'_>,
        place: &Place,
        access: Access,
    ) -> Result<Found, Box<Wrong>> {
        match *place {
            Place::Window {
                space,
                base,
                offset,
            } => {
                let address = self.anchor(cta, frame, base).wrapping_add(offset);
                self.window(space, address, access).map(Found::Memory)
            }
            Place::Frame(start) => Ok(Found::Frame(frame.bytes + start)),
            Place::Wrong { kind, offset } => Err(wrong(
                kind,
                Reached {
                    space: Space::Param,
                    address: offset,
                    bytes: access.bytes,
                },
            )),
        }
    }
}

/// Where an access that is right goes.
#[derive(Clone, Copy)]
pub(super) enum Found {
    Memory(*mut u8),
    /// Offset in [`Thread::bytes`].
    Frame(usize),
}

/// After a read: what follows stays behind it.
#[inline]
pub(super) fn acquire(order: Order) {
    match order {
        Order::Acquire | Order::AcquireRelease => fence(Ordering::Acquire),
        Order::Weak | Order::Volatile | Order::Relaxed | Order::Release => {}
    }
}

/// Before a write: what precedes stays before it.
#[inline]
pub(super) fn release(order: Order) {
    match order {
        Order::Release | Order::AcquireRelease => fence(Ordering::Release),
        Order::Weak | Order::Volatile | Order::Relaxed | Order::Acquire => {}
    }
}

/// Zeroes a window from `start` on.
pub(super) fn zero(window: Window, start: u64) {
    let len = window.len.saturating_sub(start) as usize;
    // SAFETY: the window is memory that only this CTA, or this thread, uses; `start + len` is its end.
    unsafe { std::ptr::write_bytes(window.base.wrapping_add(start as usize), 0, len) }
}

/// Copies what `from` holds to the beginning of `to`, which is no shorter.
pub(super) fn copy(from: Window, to: Window) {
    let len = from.len.min(to.len) as usize;
    // SAFETY: both are memory that only this thread uses, and not the same.
    unsafe { std::ptr::copy_nonoverlapping(from.base, to.base, len) }
}

/// The parameter that a wrong access by name meant, where parameters are not a window.
pub(super) fn parameter(function: &Function, inst: &Inst, wrong: &Wrong) -> Option<Nearest> {
    let at = wrong.access?;
    let base = match &inst.kind {
        Kind::Load(load) => load.addr.base,
        Kind::Store(store) => store.addr.base,
        Kind::Pure(_)
        | Kind::AddressOf(_)
        | Kind::FunctionAddress { .. }
        | Kind::Special { .. }
        | Kind::Call(_)
        | Kind::Meet(_)
        | Kind::Atomic(_)
        | Kind::Fence(_)
        | Kind::Mbarrier(_)
        | Kind::Copy(_)
        | Kind::Stack(_)
        | Kind::Hint { .. }
        | Kind::Unsupported => return None,
    };
    let Base::Var(var) = base else {
        return None;
    };
    let (name, offset, size) = match var {
        Var::Param(i) => {
            let param = &function.params[i as usize];
            (&param.name, param.offset, param.ty.size)
        }
        Var::Return(i) => {
            let param = &function.returns[i as usize];
            (&param.name, param.offset, param.ty.size)
        }
        Var::Frame(i) => {
            let var = &function.frame[i as usize];
            (&var.name, var.offset, var.ty.size)
        }
        Var::Module(_) | Var::Local(_) => return None,
    };
    Some(Nearest {
        what: format!("parameter `{name}`"),
        offset: (at.address as i64).wrapping_sub(offset.into()),
        size: size.into(),
    })
}
