//! Atomics, fences, mbarriers and copies: what one thread does to memory that others see.

use super::code::{Atomic, Copy, Mbarrier, Place, Src};
use super::cta::Cta;
use super::memory::{Found, acquire, release};
use super::thread::{Frame, Thread, Wrong};
use crate::ir::sync::{Fence, MbarrierOp};
use crate::machine::sync::Transfer;
use crate::machine::{self, Access, FaultKind};
use crate::semantics::sync::mbarrier::Undefined;
use std::sync::atomic;

impl<'a> Thread<'a> {
    /// `atom`, `red`
    pub fn atomic(
        &mut self,
        cta: &Cta<'_>,
        frame: &Frame<'_>,
        atomic: &Atomic,
    ) -> Result<(), Box<Wrong>> {
        let pointer = self.reach(cta, frame, &atomic.place, atomic.access)?;
        let src = |index: usize| {
            let src = atomic.srcs.get(index);
            src.map_or(0, |src| self.value(frame, *src))
        };
        let srcs = [0, 1, 2, 3].map(src);
        release(atomic.order);
        // SAFETY: `reach` has checked the bytes and their alignment, for writing; whoever runs the launch keeps its memory
        // alive.
        let old = unsafe { machine::sync::atomic(pointer, atomic.op, atomic.bytes, srcs) };
        acquire(atomic.order);
        for (i, dst) in atomic.dsts.iter().enumerate() {
            if let Some(dst) = dst {
                let half = (old >> (64 * i)) as u64;
                self.set(frame, dst.reg, half & dst.mask);
            }
        }
        Ok(())
    }

    /// `mbarrier`
    pub fn mbarrier(
        &mut self,
        cta: &Cta<'_>,
        frame: &Frame<'_>,
        mbarrier: &Mbarrier,
    ) -> Result<(), Box<Wrong>> {
        let pointer = self.reach(cta, frame, &mbarrier.place, mbarrier.access)?;
        let src = |index: usize| {
            let src = mbarrier.srcs.get(index);
            src.map_or(0, |src| self.value(frame, *src))
        };
        // SAFETY: `reach` has checked 8 bytes and their alignment, for writing; whoever runs the launch keeps its memory
        // alive.
        let result = unsafe { machine::sync::mbarrier(pointer, mbarrier.op, [0, 1].map(src)) };
        let result = result.map_err(undefined)?;
        if let Some(dst) = mbarrier.dst {
            self.set(frame, dst.reg, result & dst.mask);
        }
        Ok(())
    }

    /// An asynchronous copy, done at once.
    pub fn copy(
        &mut self,
        cta: &Cta<'_>,
        frame: &Frame<'_>,
        copy: &Copy,
    ) -> Result<(), Box<Wrong>> {
        let value = |src: Src| self.value(frame, src);
        let bytes = value(copy.bytes) as u32;
        let ignored = copy.ignore.is_some_and(|p| value(p) != 0);
        let read = match copy.read {
            _ if ignored => 0,
            Some(read) => (value(read) as u32).min(bytes),
            None => bytes,
        };
        let transfer = Transfer {
            bytes,
            read,
            align: copy.align,
            reduce: copy.reduce,
        };
        if let Some(detail) = transfer.odd() {
            return Err(Wrong::new(FaultKind::Misaligned, detail));
        }
        // Nothing may be reached where nothing is copied.
        if bytes > 0 {
            let to = self.reach(cta, frame, &copy.to, transfer.access(true, bytes))?;
            let from = match read {
                0 => to,
                read => self.reach(cta, frame, &copy.from, transfer.access(false, read))?,
            };
            // SAFETY: `reach` has checked all bytes and their alignment; whoever runs the launch keeps its memory alive.
            unsafe { transfer.run(to, from) };
        }
        let Some(place) = &copy.mbarrier else {
            return Ok(());
        };
        let access = Access {
            write: true,
            bytes: 8,
            align: 8,
        };
        let pointer = self.reach(cta, frame, place, access)?;
        let complete = MbarrierOp::CompleteTx;
        // SAFETY: `reach` has checked 8 bytes and their alignment, for writing.
        let done = unsafe { machine::sync::mbarrier(pointer, complete, [bytes.into(), 0]) };
        done.map(drop).map_err(undefined)
    }

    /// Checks an access to memory.
    fn reach(
        &self,
        cta: &Cta<'_>,
        frame: &Frame<'_>,
        place: &Place,
        access: Access,
    ) -> Result<*mut u8, Box<Wrong>> {
        match self.find(cta, frame, place, access)? {
            Found::Memory(pointer) => Ok(pointer),
            Found::Frame(_) => Err(Wrong::new(
                FaultKind::OutOfBounds,
                "parameters of functions are not memory that threads share",
            )),
        }
    }
}

/// `fence`, `membar`
pub(super) fn fence(fence: Fence) {
    atomic::fence(match fence {
        Fence::Acquire => atomic::Ordering::Acquire,
        Fence::Release => atomic::Ordering::Release,
        Fence::AcquireRelease => atomic::Ordering::AcqRel,
        Fence::Sequential => atomic::Ordering::SeqCst,
    });
}

/// What the ISA leaves undefined of an mbarrier.
fn undefined(what: Undefined) -> Box<Wrong> {
    Wrong::new(FaultKind::DivergedBarrier, machine::sync::undefined(what))
}
