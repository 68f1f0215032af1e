//! Addresses and what they may reach.
//!
//! A global address is a host address. The other state spaces are windows: an address in one is an offset, its
//! generic address is the offset plus the window's base. The bases are fixed and no host address lies in them, so
//! that generic addresses of windows are the same bits in every run and engine.

use super::cluster::{Located, Neighbours};
use super::{FaultKind, Nearest};
use crate::ir::memory::Space;

/// Bases of the windows in the generic address space.
pub mod window {
    use crate::ir::memory::Space;

    /// The base of a window; `None` for spaces that are not windows.
    ///
    /// 64-bit modules: the window's number in bits 63..56. 32-bit modules: the number in bits 31..28, 0xB0000000 up;
    /// their arena of global memory lies below.
    pub fn base(space: Space, address_bits: u32) -> Option<u64> {
        let number: u64 = match space {
            Space::Shared | Space::Cluster => 1,
            Space::Local => 2,
            Space::Const => 3,
            Space::Param => 4,
            Space::Generic | Space::Global => return None,
        };
        Some(if address_bits == 32 {
            (number + 10) << 28
        } else {
            number << 56
        })
    }

    /// The space in whose window a generic address lies; `Space::Global` if in none. That of the CTA's own shared memory is part
    /// of that of the cluster.
    pub fn space_of(address: u64, address_bits: u32) -> Space {
        let number = if address_bits == 32 {
            (address >> 28).wrapping_sub(10)
        } else {
            address >> 56
        };
        match number {
            1 => Space::Cluster,
            2 => Space::Local,
            3 => Space::Const,
            4 => Space::Param,
            _ => Space::Global,
        }
    }

    /// The address that stands for function `index`: what `mov` of its name gives. No memory lies there.
    pub fn function(index: u32, address_bits: u32) -> u64 {
        let base = if address_bits == 32 {
            0xF000_0000
        } else {
            5 << 56
        };
        base + (u64::from(index) + 1) * 16
    }

    /// The function that an address stands for.
    pub fn function_index(address: u64, address_bits: u32) -> Option<u32> {
        let offset = address.checked_sub(function(0, address_bits))?;
        (offset % 16 == 0).then(|| u32::try_from(offset / 16).ok())?
    }
}

/// What an access is: read or write, how many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Store rather than load.
    pub write: bool,
    /// Bytes, all elements together.
    pub bytes: u32,
    /// Required alignment in bytes, a power of two.
    pub align: u32,
}

/// A stretch of host memory that kernels may reach by global addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Host address of the first byte.
    pub base: u64,
    /// Bytes.
    pub len: u64,
    /// Whether kernels may store.
    pub writable: bool,
    /// What to call it in messages: `buffer`, `variable table`, `module globals`.
    pub what: String,
}

/// All regions that a launch may reach, in order of address; they do not overlap. A snapshot: whoever holds it keeps the memory alive.
#[derive(Debug, Clone, Default)]
pub struct AddressMap {
    regions: Vec<Region>,
}

impl AddressMap {
    /// Sorts the regions.
    pub fn new(mut regions: Vec<Region>) -> Self {
        regions.retain(|r| r.len > 0);
        regions.sort_by_key(|r| r.base);
        AddressMap { regions }
    }

    /// All memory of the process, but for the first page.
    pub fn of_host() -> Self {
        AddressMap {
            regions: vec![Region {
                base: 4096,
                len: (1 << 56) - 4096,
                writable: true,
                what: "host memory".to_string(),
            }],
        }
    }

    /// Whether a region has some of these addresses.
    pub fn overlaps(&self, base: u64, bytes: u64) -> bool {
        let end = base.saturating_add(bytes);
        self.regions
            .iter()
            .any(|r| r.base < end && base < r.base + r.len)
    }

    /// The regions, in order of address.
    #[cfg(test)]
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The region that holds `address`.
    pub fn region(&self, address: u64) -> Option<&Region> {
        let after = self.regions.partition_point(|r| r.base <= address);
        let region = self.regions.get(after.checked_sub(1)?)?;
        (address - region.base < region.len).then_some(region)
    }

    /// The region that holds `address`, or lies nearest to it.
    pub fn nearest(&self, address: u64) -> Option<&Region> {
        let after = self.regions.partition_point(|r| r.base <= address);
        let below = after.checked_sub(1).and_then(|i| self.regions.get(i));
        let above = self.regions.get(after);
        match (below, above) {
            (Some(b), Some(a)) => {
                let past_below = address.saturating_sub(b.base + b.len);
                Some(if past_below <= a.base - address { b } else { a })
            }
            (one, other) => one.or(other),
        }
    }
}

/// A stretch of host memory behind a window. It begins at a multiple of 16 bytes.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Host address of offset 0.
    pub base: *mut u8,
    /// Bytes.
    pub len: u64,
}

impl Window {
    /// A window of no bytes.
    pub const EMPTY: Window = Window {
        base: std::ptr::NonNull::dangling().as_ptr(),
        len: 0,
    };
}

// SAFETY: a window is an address and a length; whoever accesses memory through it answers for how.
unsafe impl Send for Window {}
// SAFETY: as above.
unsafe impl Sync for Window {}

/// What one thread can reach.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Global memory.
    pub map: &'a AddressMap,
    /// 32 or 64.
    pub address_bits: u32,
    /// The CTA's shared memory.
    pub shared: Window,
    /// That of its cluster.
    pub neighbours: Neighbours,
    /// The thread's local memory, as far as its frames reach.
    pub local: Window,
    /// The module's constants; only for reading.
    pub constant: Window,
    /// The kernel's parameters; only for reading.
    pub param: Window,
}

impl View<'_> {
    /// The host address behind `address`, for an access in `space`; or what is wrong with it. A misaligned address is told before one
    /// out of bounds, that before one that may not be written.
    ///
    /// The pointer is good for `access.bytes` bytes as long as the map's memory and the windows live. Others may write there at the
    /// same time: use [`load`] and [`store`].
    ///
    /// # Errors
    /// [`FaultKind::Misaligned`], [`FaultKind::OutOfBounds`], [`FaultKind::ReadOnly`].
    pub fn access(&self, space: Space, address: u64, access: Access) -> Result<*mut u8, FaultKind> {
        let address = if self.address_bits == 32 {
            address & 0xffff_ffff
        } else {
            address
        };
        if !address.is_multiple_of(u64::from(access.align)) {
            return Err(FaultKind::Misaligned);
        }
        let bytes = u64::from(access.bytes);
        let (space, offset) = match space {
            Space::Generic => {
                let space = window::space_of(address, self.address_bits);
                (
                    space,
                    address - window::base(space, self.address_bits).unwrap_or(0),
                )
            }
            Space::Global
            | Space::Shared
            | Space::Cluster
            | Space::Local
            | Space::Const
            | Space::Param => (space, address),
        };
        let (window, offset, writable) = match space {
            Space::Generic | Space::Global => {
                let region = self.map.region(offset).ok_or(FaultKind::OutOfBounds)?;
                let within = offset - region.base;
                if region.len - within < bytes {
                    return Err(FaultKind::OutOfBounds);
                }
                if access.write && !region.writable {
                    return Err(FaultKind::ReadOnly);
                }
                return Ok(std::ptr::with_exposed_provenance_mut(offset as usize));
            }
            Space::Shared => {
                let offset = offset.wrapping_sub(self.neighbours.start());
                (self.shared, offset, true)
            }
            Space::Cluster => match self.neighbours.locate(self.shared, offset) {
                Located::Own(offset) => (self.shared, offset, true),
                Located::Other(_, window, offset) => (window, offset, true),
                Located::Over(..) | Located::Nowhere(_) => return Err(FaultKind::OutOfBounds),
            },
            Space::Local => (self.local, offset, true),
            Space::Const => (self.constant, offset, false),
            Space::Param => (self.param, offset, false),
        };
        if offset > window.len || window.len - offset < bytes {
            return Err(FaultKind::OutOfBounds);
        }
        if access.write && !writable {
            return Err(FaultKind::ReadOnly);
        }
        Ok(window.base.wrapping_add(offset as usize))
    }
}

impl View<'_> {
    /// The shared memory of the CTA that an address of the cluster's lies in, and the address at which that begins.
    pub fn shared_at(&self, address: u64) -> Option<(Window, u64)> {
        let (window, offset) = match self.neighbours.locate(self.shared, address) {
            Located::Own(offset) => (self.shared, offset),
            Located::Other(_, window, offset) => (window, offset),
            Located::Over(..) | Located::Nowhere(_) => return None,
        };
        Some((window, address.wrapping_sub(offset)))
    }

    /// What lies at or nearest to a bad address, for messages.
    pub fn nearest(&self, space: Space, address: u64) -> Option<Nearest> {
        let (space, offset) = match space {
            Space::Generic => {
                let space = window::space_of(address, self.address_bits);
                (
                    space,
                    address.wrapping_sub(window::base(space, self.address_bits).unwrap_or(0)),
                )
            }
            Space::Global
            | Space::Shared
            | Space::Cluster
            | Space::Local
            | Space::Const
            | Space::Param => (space, address),
        };
        let at = |what: &str, window: Window, offset: u64| {
            Some(Nearest {
                what: what.to_string(),
                offset: offset as i64,
                size: window.len,
            })
        };
        let window = |what: &str, window: Window| at(what, window, offset);
        match space {
            Space::Generic | Space::Global => {
                let region = self.map.nearest(offset)?;
                Some(Nearest {
                    what: format!("{} at {:#x}", region.what, region.base),
                    offset: offset.wrapping_sub(region.base) as i64,
                    size: region.len,
                })
            }
            Space::Shared => {
                let offset = offset.wrapping_sub(self.neighbours.start());
                at("shared memory", self.shared, offset)
            }
            Space::Cluster => match self.neighbours.locate(self.shared, offset) {
                Located::Own(offset) => at("shared memory", self.shared, offset),
                Located::Other(rank, found, offset) => {
                    let what = format!("shared memory of CTA {rank} of the cluster");
                    at(&what, found, offset)
                }
                Located::Over(rank, offset) => {
                    let what = format!("shared memory of CTA {rank} of the cluster, which is over");
                    at(&what, self.shared, offset)
                }
                Located::Nowhere(_) if self.neighbours.ctas() == 1 => {
                    window("shared memory", self.shared)
                }
                Located::Nowhere(rank) => {
                    let ctas = self.neighbours.ctas();
                    let what = format!("shared memory of CTA {rank} of a cluster of {ctas}");
                    window(&what, self.shared)
                }
            },
            Space::Local => window("local memory", self.local),
            Space::Const => window("constants", self.constant),
            Space::Param => window("kernel parameters", self.param),
        }
    }
}

/// Reads `bytes` (1, 2, 4 or 8) bytes at `pointer`, zero-extended.
///
/// # Safety
/// `pointer` came from [`View::access`] for at least these bytes, is aligned to `bytes`, and its memory is alive.
pub unsafe fn load(pointer: *mut u8, bytes: u8) -> u64 {
    use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};
    // SAFETY: the caller vouches for the pointer; atomics make concurrent writes harmless.
    unsafe {
        match bytes {
            1 => u64::from(AtomicU8::from_ptr(pointer).load(Relaxed)),
            2 => u64::from(AtomicU16::from_ptr(pointer.cast()).load(Relaxed)),
            4 => u64::from(AtomicU32::from_ptr(pointer.cast()).load(Relaxed)),
            _ => AtomicU64::from_ptr(pointer.cast()).load(Relaxed),
        }
    }
}

/// Writes the low `bytes` (1, 2, 4 or 8) bytes of `value` at `pointer`.
///
/// # Safety
/// As [`load`], for writing.
pub unsafe fn store(pointer: *mut u8, bytes: u8, value: u64) {
    use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};
    // SAFETY: the caller vouches for the pointer; atomics make concurrent accesses harmless.
    unsafe {
        match bytes {
            1 => AtomicU8::from_ptr(pointer).store(value as u8, Relaxed),
            2 => AtomicU16::from_ptr(pointer.cast()).store(value as u16, Relaxed),
            4 => AtomicU32::from_ptr(pointer.cast()).store(value as u32, Relaxed),
            _ => AtomicU64::from_ptr(pointer.cast()).store(value, Relaxed),
        }
    }
}

/// Replaces `bytes` (2, 4 or 8) bytes at `pointer` by what `f` makes of them, in one piece for everybody; gives the old
/// value. Where `f` fails nothing is written. `f` may be asked more than once.
///
/// # Safety
/// As [`load`], for writing.
///
/// # Errors
/// That of `f`.
pub unsafe fn update<E>(
    pointer: *mut u8,
    bytes: u8,
    mut f: impl FnMut(u64) -> Result<u64, E>,
) -> Result<u64, E> {
    use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};
    macro_rules! exchange {
        ($atomic:ty, $word:ty) => {{
            // SAFETY: the caller vouches for the pointer; atomics make concurrent accesses harmless.
            let cell = unsafe { <$atomic>::from_ptr(pointer.cast()) };
            let mut old = cell.load(Relaxed);
            loop {
                let new = f(old.into())? as $word;
                match cell.compare_exchange_weak(old, new, Relaxed, Relaxed) {
                    Ok(old) => return Ok(old.into()),
                    Err(now) => old = now,
                }
            }
        }};
    }
    match bytes {
        2 => exchange!(AtomicU16, u16),
        4 => exchange!(AtomicU32, u32),
        _ => exchange!(AtomicU64, u64),
    }
}

/// The same for 16 bytes at a multiple of 16. Where the processor cannot exchange as many in one piece, a lock of the process
/// keeps such updates apart from each other, though not from accesses of fewer bytes.
///
/// # Safety
/// As [`load`], for writing 16 bytes.
pub unsafe fn update_16(pointer: *mut u8, mut f: impl FnMut(u128) -> u128) -> u128 {
    use portable_atomic::{AtomicU128, Ordering::Relaxed};
    // SAFETY: the caller vouches for the pointer; atomics make concurrent accesses harmless.
    let cell = unsafe { AtomicU128::from_ptr(pointer.cast()) };
    let mut old = cell.load(Relaxed);
    loop {
        match cell.compare_exchange_weak(old, f(old), Relaxed, Relaxed) {
            Ok(old) => return old,
            Err(now) => old = now,
        }
    }
}
