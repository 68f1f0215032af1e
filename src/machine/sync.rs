//! What threads do to memory that others see, besides loads and stores: atomics, mbarriers, asynchronous copies. Both
//! engines do it here; whoever calls has judged the accesses.

use super::Access;
use super::memory;
use crate::ir::RegClass;
use crate::ir::sync::{AtomicOp, MbarrierOp};
use crate::semantics::sync;
use crate::semantics::sync::mbarrier::{self, Arrival, Undefined};
use std::sync::atomic;

/// `atom`, `red` of 2, 4, 8 or 16 bytes; gives what was there. Operands of 16 bytes have two halves each.
///
/// # Safety
/// As [`memory::update`], or for 16 bytes [`memory::update_16`].
pub unsafe fn atomic(pointer: *mut u8, op: AtomicOp, bytes: u8, srcs: [u64; 4]) -> u128 {
    if bytes < 16 {
        let [b, c, ..] = srcs;
        let new = |old| Ok::<_, ()>(sync::atomic(op, bytes, old, b, c));
        // SAFETY: the caller vouches for it.
        let old = unsafe { memory::update(pointer, bytes, new) };
        return old.unwrap_or(0).into();
    }
    let wide = |index: usize| u128::from(srcs[index]) | u128::from(srcs[index + 1]) << 64;
    let (b, c) = (wide(0), wide(2));
    let new = |old| match op {
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
        | AtomicOp::Float(_)
        | AtomicOp::Exch => b,
    };
    // SAFETY: the caller vouches for it.
    unsafe { memory::update_16(pointer, new) }
}

/// `mbarrier`: gives the state before, or whether the phase is complete.
///
/// # Safety
/// As [`memory::update`] for 8 bytes.
///
/// # Errors
/// What the ISA leaves undefined.
pub unsafe fn mbarrier(pointer: *mut u8, op: MbarrierOp, srcs: [u64; 2]) -> Result<u64, Undefined> {
    let word = |index: usize| srcs[index] as u32;
    let update = |f: &dyn Fn(u64) -> Result<u64, Undefined>| {
        // SAFETY: the caller vouches for it.
        unsafe { memory::update(pointer, 8, f) }
    };
    match op {
        MbarrierOp::Init => update(&|_| mbarrier::init(word(0))),
        MbarrierOp::Invalidate => update(&mbarrier::invalidate),
        MbarrierOp::ExpectTx => update(&|old| mbarrier::expect_tx(old, word(0))),
        MbarrierOp::CompleteTx => update(&|old| mbarrier::complete_tx(old, word(0))),
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
            update(&|old| mbarrier::arrive(old, arrival))
        }
        MbarrierOp::Test { parity, waits: _ } => {
            // SAFETY: the caller vouches for it.
            let now = unsafe { memory::load(pointer, 8) };
            let done = if parity {
                mbarrier::test_parity(now, word(0))
            } else {
                mbarrier::test(now, srcs[0])
            };
            atomic::fence(atomic::Ordering::Acquire);
            done.map(u64::from)
        }
    }
}

/// An asynchronous copy, whose operands are known.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// Bytes that are written.
    pub bytes: u32,
    /// Bytes that are read, no more; the rest is zero.
    pub read: u32,
    /// What addresses and bytes are a multiple of.
    pub align: u32,
    /// How it reduces elements of which width.
    pub reduce: Option<(AtomicOp, RegClass)>,
}

impl Transfer {
    /// The access to `bytes` bytes at one of its ends.
    pub fn access(&self, write: bool, bytes: u32) -> Access {
        let element = self.reduce.map_or(1, |(_, class)| class.bits() / 8);
        Access {
            write,
            bytes,
            align: self.align.max(element),
        }
    }

    /// What is wrong with the number of bytes.
    pub fn odd(&self) -> Option<String> {
        let odd = !self.bytes.is_multiple_of(self.align.max(1));
        odd.then(|| format!("{} bytes are not a multiple of {}", self.bytes, self.align))
    }

    /// Does it.
    ///
    /// # Safety
    /// [`Transfer::access`] of all bytes at both ends has been judged to be right.
    pub unsafe fn run(&self, to: *mut u8, from: *mut u8) {
        let element = self.reduce.map(|(_, class)| (class.bits() / 8) as u8);
        let mut at = 0;
        while at < self.bytes {
            let end = if at < self.read {
                self.read
            } else {
                self.bytes
            };
            let size = element.unwrap_or_else(|| piece(self.align, end - at));
            let (to, from) = (to.wrapping_add(at as usize), from.wrapping_add(at as usize));
            // SAFETY: the caller vouches for all bytes. Pieces are aligned, for all before them are no smaller.
            unsafe {
                let value = if at < self.read {
                    memory::load(from, size)
                } else {
                    0
                };
                match self.reduce {
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
}

/// Which bytes of a copy are copied.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// How many are left out at the left, and at the right.
    pub skip: [u64; 2],
    /// Byte i of every 16 is copied where bit i is 1.
    pub mask: u64,
}

impl Part {
    /// Those that are copied of so many.
    pub fn of(self, bytes: u32) -> impl Iterator<Item = u64> {
        let [left, right] = self.skip;
        let end = u64::from(bytes).saturating_sub(right);
        (left..end).filter(move |at| self.mask >> (at % 16) & 1 == 1)
    }
}

/// The ranks of the CTAs that a mask of `.multicast::cluster` names.
pub fn ranks(mask: u64) -> impl Iterator<Item = u32> {
    (0..16).filter(move |rank| mask >> rank & 1 != 0)
}

/// The largest piece that is aligned and not longer than what is left.
fn piece(align: u32, left: u32) -> u8 {
    [8u8, 4, 2]
        .into_iter()
        .find(|&size| align >= size.into() && left >= size.into())
        .unwrap_or(1)
}

/// What to say of something that the ISA leaves undefined.
pub fn undefined(what: Undefined) -> String {
    format!("{what}, which PTX leaves undefined")
}

#[cfg(test)]
mod tests {
    use super::piece;

    #[test]
    fn pieces_are_as_large_as_alignment_and_length_allow() {
        let sizes = |align| [16, 8, 7, 4, 3, 2, 1].map(|left| piece(align, left));
        assert_eq!(sizes(16), [8, 8, 4, 4, 2, 2, 1]);
        assert_eq!(sizes(8), [8, 8, 4, 4, 2, 2, 1]);
        assert_eq!(sizes(4), [4, 4, 4, 4, 2, 2, 1]);
        assert_eq!(sizes(2), [2, 2, 2, 2, 2, 2, 1]);
        assert_eq!(sizes(1), [1; 7]);
    }
}
