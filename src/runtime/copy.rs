//! Copies between host values and device memory, which kernels may touch at the same time.
//!
//! Device memory is only ever reached by relaxed atomic accesses here, so that a copy beside a running kernel sees old
//! or new words and is nothing worse than that.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// Copies device memory into `to`.
///
/// # Safety
/// `from` is good for reading `to.len()` bytes, and nothing holds a reference into them.
pub(super) unsafe fn read(from: *mut u8, to: &mut [u8]) {
    let head = from.align_offset(8).min(to.len());
    let (first, rest) = to.split_at_mut(head);
    let (words, last) = rest.as_chunks_mut::<8>();
    let mut at = from;
    // SAFETY: all three loops together walk over the caller's `to.len()` bytes; `at` is aligned when words begin.
    unsafe {
        for byte in first {
            *byte = AtomicU8::from_ptr(at).load(Relaxed);
            at = at.add(1);
        }
        for word in words {
            *word = AtomicU64::from_ptr(at.cast()).load(Relaxed).to_ne_bytes();
            at = at.add(8);
        }
        for byte in last {
            *byte = AtomicU8::from_ptr(at).load(Relaxed);
            at = at.add(1);
        }
    }
}

/// Copies `from` into device memory.
///
/// # Safety
/// `to` is good for writing `from.len()` bytes, and nothing holds a reference into them.
pub(super) unsafe fn write(to: *mut u8, from: &[u8]) {
    let head = to.align_offset(8).min(from.len());
    let (first, rest) = from.split_at(head);
    let (words, last) = rest.as_chunks::<8>();
    let mut at = to;
    // SAFETY: all three loops together walk over the caller's `from.len()` bytes; `at` is aligned when words begin.
    unsafe {
        for &byte in first {
            AtomicU8::from_ptr(at).store(byte, Relaxed);
            at = at.add(1);
        }
        for &word in words {
            AtomicU64::from_ptr(at.cast()).store(u64::from_ne_bytes(word), Relaxed);
            at = at.add(8);
        }
        for &byte in last {
            AtomicU8::from_ptr(at).store(byte, Relaxed);
            at = at.add(1);
        }
    }
}
