//! Atomics, fences, mbarriers and copies: what one thread does to memory that others see.

use super::code::{Atomic, Copy, Mbarrier, Place, Src};
use super::cta::Cta;
use super::memory::{Found, acquire, release};
use super::thread::{Frame, Thread, Wrong};
use crate::ir::memory::Space;
use crate::ir::sync::{Fence, MbarrierOp};
use crate::machine::sync::{Part, Transfer};
use crate::machine::{self, Access, FaultKind, Neighbours, window};
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
        let op = match atomic.place {
            Place::Window {
                space: Space::Generic,
                base,
                offset,
            } => {
                let address = self.anchor(cta, frame, base).wrapping_add(offset);
                let space = window::space_of(address, self.view.address_bits);
                atomic.op.within(space)
            }
            Place::Window { .. } | Place::Frame(_) | Place::Wrong { .. } => atomic.op,
        };
        release(atomic.order);
        // SAFETY: `reach` has checked the bytes and their alignment, for writing; whoever runs the launch keeps its memory
        // alive.
        let old = unsafe { machine::sync::atomic(pointer, op, atomic.bytes, srcs) };
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
        let Some(ctas) = copy.multicast else {
            return self.copy_to(cta, frame, copy, &transfer, None);
        };
        machine::sync::ranks(value(ctas))
            .try_for_each(|rank| self.copy_to(cta, frame, copy, &transfer, Some(rank)))
    }

    /// A copy to one place: that which is said, or the same in the CTA of a rank.
    fn copy_to(
        &self,
        cta: &Cta<'_>,
        frame: &Frame<'_>,
        copy: &Copy,
        transfer: &Transfer,
        rank: Option<u32>,
    ) -> Result<(), Box<Wrong>> {
        let &Transfer { bytes, read, .. } = transfer;
        if copy.skip.is_some() || copy.byte_mask.is_some() {
            self.copy_some(cta, frame, copy, bytes)?;
        } else if bytes > 0 {
            // Nothing may be reached where nothing is copied.
            let to = self.reach_in(cta, frame, &copy.to, transfer.access(true, bytes), rank)?;
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
        let pointer = self.reach_in(cta, frame, place, access, rank)?;
        let complete = MbarrierOp::CompleteTx;
        // SAFETY: `reach` has checked 8 bytes and their alignment, for writing.
        let done = unsafe { machine::sync::mbarrier(pointer, complete, [bytes.into(), 0]) };
        done.map(drop).map_err(undefined)
    }

    /// A copy of so many bytes without those that are left out, which need not even be there.
    fn copy_some(
        &self,
        cta: &Cta<'_>,
        frame: &Frame<'_>,
        copy: &Copy,
        bytes: u32,
    ) -> Result<(), Box<Wrong>> {
        let skip = copy.skip.map(|skip| skip.map(|src| self.value(frame, src)));
        let part = Part {
            skip: skip.unwrap_or_default(),
            mask: copy.byte_mask.map_or(0xffff, |src| self.value(frame, src)),
        };
        let access = |write| Access {
            write,
            bytes: 1,
            align: 1,
        };
        let aligned = Access {
            bytes: 0,
            align: copy.align,
            ..access(false)
        };
        for place in [&copy.to, &copy.from] {
            if let Err(wrong) = self.reach(cta, frame, place, aligned)
                && wrong.kind == FaultKind::Misaligned
            {
                return Err(wrong);
            }
        }
        for at in part.of(bytes) {
            let to = self.reach(cta, frame, &copy.to.behind(at), access(true))?;
            let from = self.reach(cta, frame, &copy.from.behind(at), access(false))?;
            // SAFETY: `reach` has checked the byte; whoever runs the launch keeps its memory alive.
            unsafe { machine::memory::store(to, 1, machine::memory::load(from, 1)) };
        }
        Ok(())
    }

    /// Checks an access to shared memory, at the same place in the CTA of a rank if there is one.
    fn reach_in(
        &self,
        cta: &Cta<'_>,
        frame: &Frame<'_>,
        place: &Place,
        access: Access,
        rank: Option<u32>,
    ) -> Result<*mut u8, Box<Wrong>> {
        let (Some(rank), &Place::Window { base, offset, .. }) = (rank, place) else {
            return self.reach(cta, frame, place, access);
        };
        let address = self.anchor(cta, frame, base).wrapping_add(offset);
        self.window(Space::Cluster, Neighbours::of_rank(address, rank), access)
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
