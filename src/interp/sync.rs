//! Atomics, fences, mbarriers and copies: what one thread does to memory that others see.

use super::code::{Atomic, Copy, Mbarrier, Place, Src};
use super::cta::Cta;
use super::memory::{Found, acquire, release};
use super::thread::{Frame, Thread, Wrong};
use crate::ir::sync::{AtomicOp, Fence, MbarrierOp};
use crate::machine::{Access, FaultKind, memory};
use crate::semantics::sync;
use crate::semantics::sync::mbarrier::{self, Arrival, Undefined};
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
        release(atomic.order);
        let old = if atomic.bytes == 16 {
            let wide = |index| u128::from(src(index)) | u128::from(src(index + 1)) << 64;
            let (b, c) = (wide(0), wide(2));
            let new = |old| match atomic.op {
                AtomicOp::Cas if old != b => old,
                AtomicOp::Cas => c,
                AtomicOp::And => old & b,
                AtomicOp::Or => old | b,
                AtomicOp::Xor => old ^ b,
                AtomicOp::Add
                | AtomicOp::Inc
                | AtomicOp::Dec
                | AtomicOp::Min { .. }
                | AtomicOp::Max { .. }
                | AtomicOp::Exch => b,
            };
            // SAFETY: `reach` has checked 16 bytes and their alignment, for writing; whoever runs the launch keeps its
            // memory alive.
            unsafe { memory::update_16(pointer, new) }
        } else {
            let (b, c) = (src(0), src(1));
            let new = |old| Ok::<_, ()>(sync::atomic(atomic.op, atomic.bytes, old, b, c));
            // SAFETY: as above.
            let old = unsafe { memory::update(pointer, atomic.bytes, new) };
            old.unwrap_or(0).into()
        };
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
        let word = |index| src(index) as u32;
        let update = |f: &dyn Fn(u64) -> Result<u64, Undefined>| {
            // SAFETY: `reach` has checked 8 bytes and their alignment, for writing; whoever runs the launch keeps its memory
            // alive.
            unsafe { memory::update(pointer, 8, f) }.map_err(undefined)
        };
        let result = match mbarrier.op {
            MbarrierOp::Init => update(&|_| mbarrier::init(word(0)))?,
            MbarrierOp::Invalidate => update(&mbarrier::invalidate)?,
            MbarrierOp::ExpectTx => update(&|old| mbarrier::expect_tx(old, word(0)))?,
            MbarrierOp::CompleteTx => update(&|old| mbarrier::complete_tx(old, word(0)))?,
            MbarrierOp::Arrive {
                drop,
                expects,
                counted,
                no_complete,
            } => {
                atomic::fence(atomic::Ordering::Release);
                let arrival = Arrival {
                    count: if counted {
                        word(usize::from(expects))
                    } else {
                        1
                    },
                    expects: if expects { word(0) } else { 0 },
                    drop,
                    no_complete,
                };
                update(&|old| mbarrier::arrive(old, arrival))?
            }
            MbarrierOp::Test { parity, waits: _ } => {
                // SAFETY: as above, for reading.
                let now = unsafe { memory::load(pointer, 8) };
                let done = if parity {
                    mbarrier::test_parity(now, word(0))
                } else {
                    mbarrier::test(now, src(0))
                };
                atomic::fence(atomic::Ordering::Acquire);
                done.map_err(undefined)?.into()
            }
        };
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
        let element = copy.reduce.map(|(_, ty)| (ty.bits() / 8) as u8);
        let access = |write, bytes| Access {
            write,
            bytes,
            align: copy.align.max(element.unwrap_or(1).into()),
        };
        if bytes % copy.align != 0 {
            let detail = format!("{bytes} bytes are not a multiple of {}", copy.align);
            return Err(Wrong::new(FaultKind::Misaligned, detail));
        }
        // Nothing may be reached where nothing is copied.
        if bytes > 0 {
            let to = self.reach(cta, frame, &copy.to, access(true, bytes))?;
            let from = match read {
                0 => to,
                read => self.reach(cta, frame, &copy.from, access(false, read))?,
            };
            let mut at = 0;
            while at < bytes {
                let left = if at < read { read - at } else { bytes - at };
                let size = match element {
                    Some(size) => size,
                    None => piece(copy.align, left),
                };
                let (to, from) = (to.wrapping_add(at as usize), from.wrapping_add(at as usize));
                // SAFETY: `reach` has checked all bytes and their alignment; whoever runs the launch keeps its memory
                // alive. Pieces are aligned, for all before them are no smaller.
                unsafe {
                    let value = if at < read {
                        memory::load(from, size)
                    } else {
                        0
                    };
                    match copy.reduce {
                        Some((op, _)) => {
                            let new = |old| Ok::<_, ()>(sync::atomic(op, size, old, value, 0));
                            let _old = memory::update(to, size, new);
                        }
                        None => memory::store(to, size, value),
                    }
                }
                at += u32::from(size);
            }
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
        // SAFETY: `reach` has checked 8 bytes and their alignment, for writing.
        let done = unsafe { memory::update(pointer, 8, |old| mbarrier::complete_tx(old, bytes)) };
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

/// The largest piece that is aligned and not longer than what is left.
fn piece(align: u32, left: u32) -> u8 {
    [8u8, 4, 2]
        .into_iter()
        .find(|&size| align >= size.into() && left >= size.into())
        .unwrap_or(1)
}

/// What the ISA leaves undefined of an mbarrier.
fn undefined(what: Undefined) -> Box<Wrong> {
    Wrong::new(
        FaultKind::DivergedBarrier,
        format!("{what}, which PTX leaves undefined"),
    )
}
