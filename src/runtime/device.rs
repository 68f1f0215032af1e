//! Devices: memory that kernels reach by global addresses.

use super::args::Address;
use super::buffer::Buffer;
use super::copy;
use super::low_memory::LowMemory;
use crate::error::{Error, Missing, Unsupported, Usage};
use crate::machine::{self, AddressMap, Region};
use bytemuck::Pod;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a [`Device`] has. Begin with `DeviceConfig::default()` and chain what differs.
///
/// ```
/// use ptxlift::{Device, DeviceConfig};
/// let device = Device::new(DeviceConfig::default().memory_limit(1 << 20))?;
/// assert!(device.alloc_zeroed::<u8>(2 << 20).is_err());
/// # Ok::<(), ptxlift::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceConfig {
    memory_limit: u64,
    address_bits: u32,
    heap: u64,
    host_memory: bool,
}

impl Default for DeviceConfig {
    /// 8 GiB, 64-bit addresses, a heap of 8 MiB.
    fn default() -> Self {
        DeviceConfig {
            memory_limit: 8 << 30,
            address_bits: 64,
            heap: 8 << 20,
            host_memory: false,
        }
    }
}

impl DeviceConfig {
    /// Most bytes that buffers and module variables may occupy together.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// 64, or 32: all memory then lies where 32 bits reach, as modules with `.address_size 32` need it
    /// ([`Module::address_bits`](super::Module::address_bits)). At most some 2.5 GiB are to be had there.
    #[must_use]
    pub fn address_bits(mut self, bits: u32) -> Self {
        self.address_bits = bits;
        self
    }

    /// Bytes that kernels of an instance get from `malloc`, all of them together. They are allocated with the first launch that
    /// may call it, and keep what they hold as long as the instance lives.
    #[must_use]
    pub fn heap(mut self, bytes: u64) -> Self {
        self.heap = bytes;
        self
    }

    /// Lets kernels reach all memory of the process by its host addresses, as if each byte were part of a buffer: arguments
    /// are then pointers to whatever the caller has. The first 4096 bytes alone are no memory, so that a null pointer
    /// is still a fault.
    ///
    /// # Safety
    /// No kernel that runs on the device, and no [`Device::read`] or [`Device::write`], may access memory that is not there,
    /// write what may not be written, or race with Rust code that borrows the memory.
    #[must_use]
    pub unsafe fn host_memory(mut self) -> Self {
        self.host_memory = true;
        self
    }
}

impl DeviceConfig {
    pub(super) fn bits(&self) -> u32 {
        self.address_bits
    }

    pub(super) fn heap_bytes(&self) -> u64 {
        self.heap
    }
}

/// Memory for kernels: real host memory, of which kernels reach exactly the live buffers and module variables.
/// Cloning gives another handle to the same device.
///
/// ```
/// use ptxlift::{Device, DeviceConfig};
/// let device = Device::new(DeviceConfig::default())?;
/// let squares = device.alloc_from(&[0u32, 1, 4, 9])?;
/// assert_eq!(squares.to_vec()?, [0, 1, 4, 9]);
/// # Ok::<(), ptxlift::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Device {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: DeviceConfig,
    used: AtomicU64,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    live: BTreeMap<u64, Live>,
    next: u64,
    /// What [`Device::snapshot`] gave last, as long as it holds.
    snapshot: Option<Arc<Snapshot>>,
}

#[derive(Debug)]
struct Live {
    memory: Arc<Memory>,
    regions: Vec<Region>,
}

/// All memory of a device at one moment. It stays alive as long as the snapshot does.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) map: AddressMap,
    _memory: Vec<Arc<Memory>>,
}

impl Device {
    /// A device without any allocation.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if 32-bit addresses are asked for and no memory can be had there on this machine.
    /// [`Usage::Configuration`] for addresses of other widths than 32 and 64 bits.
    pub fn new(config: DeviceConfig) -> Result<Self, Error> {
        match config.address_bits {
            64 => {}
            32 if LowMemory::zeroed(1).is_some() => {}
            32 => {
                return Err(Unsupported {
                    wanted_by: "a device with 32-bit addresses".to_string(),
                    missing: vec![Missing {
                        what: "memory below 4 GiB, which cannot be had on this machine".to_string(),
                        family: "",
                        at: None,
                    }],
                }
                .into());
            }
            bits => {
                return Err(Usage::Configuration {
                    problem: format!("device addresses have 32 or 64 bits, not {bits}"),
                }
                .into());
            }
        }
        Ok(Device {
            shared: Arc::new(Shared {
                config,
                used: AtomicU64::new(0),
                table: Mutex::default(),
            }),
        })
    }

    /// `len` zeros. `T` is any plain data: integers, floats, arrays and `#[repr(C)]` structures of them.
    ///
    /// # Errors
    /// [`Usage::OutOfMemory`].
    pub fn alloc_zeroed<T: Pod>(&self, len: usize) -> Result<Buffer<T>, Error> {
        const { assert!(size_of::<T>() > 0, "elements without size") };
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        let memory = self.memory(bytes)?;
        let region = Region {
            base: memory.address(),
            len: bytes,
            writable: true,
            what: "buffer".to_string(),
        };
        Ok(Buffer::new(self.add(memory, vec![region]), len))
    }

    /// A copy of `data`.
    ///
    /// # Errors
    /// [`Usage::OutOfMemory`].
    pub fn alloc_from<T: Pod>(&self, data: &[T]) -> Result<Buffer<T>, Error> {
        let buffer = self.alloc_zeroed(data.len())?;
        buffer.write(data)?;
        Ok(buffer)
    }

    /// Lets kernels reach `len` elements of host memory at `memory` as a buffer, without a copy, until the last handle is
    /// dropped and the launches that began before have ended. It does not count for [`DeviceConfig::memory_limit`].
    ///
    /// ```
    /// # let device = ptxlift::Device::new(ptxlift::DeviceConfig::default())?;
    /// let mut words = vec![1u32, 2, 3];
    /// // SAFETY: `words` outlives the buffer and is not used meanwhile.
    /// let buffer = unsafe { device.register(words.as_mut_ptr(), words.len()) }?;
    /// buffer.write_at(2, &[4])?;
    /// drop(buffer);
    /// assert_eq!(words, [1, 2, 4]);
    /// # Ok::<(), ptxlift::Error>(())
    /// ```
    ///
    /// # Safety
    /// The memory must stay where it is, and may not be borrowed by Rust code, as long as kernels may reach it.
    ///
    /// # Errors
    /// [`Usage::Registration`] for a null or misaligned pointer, for memory that the device has already in part, and for
    /// what lies beyond the addresses of the device.
    pub unsafe fn register<T: Pod>(&self, memory: *mut T, len: usize) -> Result<Buffer<T>, Error> {
        const { assert!(size_of::<T>() > 0, "elements without size") };
        let base = memory.expose_provenance() as u64;
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        let refused = |problem: &str| {
            Error::from(Usage::Registration {
                address: base,
                bytes,
                problem: problem.to_string(),
            })
        };
        if memory.is_null() || !memory.is_aligned() {
            return Err(refused("the pointer is null or misaligned"));
        }
        let end = base.checked_add(bytes);
        let most = match self.shared.config.address_bits {
            32 => 0xB000_0000,
            _ => machine::window::base(crate::ir::memory::Space::Shared, 64).unwrap_or(u64::MAX),
        };
        if end.is_none_or(|end| end > most) {
            return Err(refused("the device has no such addresses"));
        }
        if self.snapshot().map.overlaps(base, bytes) {
            return Err(refused("the device has some of it already"));
        }
        let memory = Memory {
            host: Host::Foreign(Foreign(memory.cast())),
            bytes,
            _account: Account {
                device: Arc::clone(&self.shared),
                occupied: 0,
            },
        };
        let region = Region {
            base,
            len: bytes,
            writable: true,
            what: "registered memory".to_string(),
        };
        Ok(Buffer::new(self.add(memory, vec![region]), len))
    }

    /// Reads memory of the device at an address as kernels know it: of a buffer, a variable, or a part of one.
    ///
    /// ```
    /// # let device = ptxlift::Device::new(ptxlift::DeviceConfig::default())?;
    /// let words = device.alloc_from(&[1u32, 2, 3])?;
    /// let mut second = [0u8; 4];
    /// device.read(words.address() + 4, &mut second)?;
    /// assert_eq!(second, 2u32.to_le_bytes());
    /// assert!(device.read(words.address() + 9, &mut second).is_err());
    /// # Ok::<(), ptxlift::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Usage::NoMemory`] where not all of it is there.
    pub fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Error> {
        let (_kept, from) = self.reach(address, to.len())?;
        // SAFETY: the snapshot has the range, and keeps it alive; device memory is never borrowed.
        unsafe { copy::read(from, to) };
        Ok(())
    }

    /// Writes memory of the device at an address as kernels know it, also what kernels may only read.
    ///
    /// # Errors
    /// [`Usage::NoMemory`] where not all of it is there.
    pub fn write(&self, address: Address, from: &[u8]) -> Result<(), Error> {
        let (_kept, to) = self.reach(address, from.len())?;
        // SAFETY: as in `read`.
        unsafe { copy::write(to, from) };
        Ok(())
    }

    /// Where so many bytes lie, and what keeps them there.
    fn reach(&self, address: Address, bytes: usize) -> Result<(Arc<Snapshot>, *mut u8), Error> {
        let snapshot = self.snapshot();
        let region = snapshot.map.region(address.0);
        let fits = region.is_some_and(|r| r.len - (address.0 - r.base) >= bytes as u64);
        if !fits && bytes > 0 {
            return Err(Usage::NoMemory {
                address: address.0,
                bytes: bytes as u64,
            }
            .into());
        }
        let pointer = std::ptr::with_exposed_provenance_mut(address.0 as usize);
        Ok((snapshot, pointer))
    }

    /// Bytes that buffers and module variables occupy.
    pub fn memory_used(&self) -> u64 {
        self.shared.used.load(Ordering::Relaxed)
    }

    /// Bytes that they may occupy: [`DeviceConfig::memory_limit`].
    pub fn memory_limit(&self) -> u64 {
        self.shared.config.memory_limit
    }

    /// Its configuration.
    pub fn config(&self) -> &DeviceConfig {
        &self.shared.config
    }

    /// Whether both are handles of one device.
    pub fn is(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Zeroed memory that nobody can reach yet. Between any two there lies a gap that belongs to neither.
    pub(super) fn memory(&self, bytes: u64) -> Result<Memory, Error> {
        const GAP: u64 = machine::ALIGN as u64;
        let limit = self.shared.config.memory_limit;
        let full = |used| Usage::OutOfMemory { bytes, used, limit };
        let occupied = bytes
            .checked_next_multiple_of(GAP)
            .and_then(|b| b.checked_add(GAP))
            .ok_or_else(|| full(self.memory_used()))?;
        self.shared
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(occupied).filter(|&total| total <= limit)
            })
            .map_err(full)?;
        let account = Account {
            device: Arc::clone(&self.shared),
            occupied,
        };
        let host = usize::try_from(occupied)
            .ok()
            .and_then(|bytes| Host::zeroed(bytes, self.shared.config.address_bits))
            .ok_or_else(|| full(self.memory_used() - occupied))?;
        Ok(Memory {
            host,
            bytes,
            _account: account,
        })
    }

    /// Lets kernels reach `regions` of `memory` until the allocation is dropped.
    pub(super) fn add(&self, memory: Memory, regions: Vec<Region>) -> Allocation {
        let memory = Arc::new(memory);
        let mut table = self.table();
        let id = table.next;
        table.next += 1;
        table.live.insert(
            id,
            Live {
                memory: Arc::clone(&memory),
                regions,
            },
        );
        let outdated = table.snapshot.take();
        drop(table);
        drop(outdated);
        Allocation {
            device: self.clone(),
            id,
            memory,
        }
    }

    /// All that kernels may reach now.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        let mut table = self.table();
        if let Some(snapshot) = &table.snapshot {
            return Arc::clone(snapshot);
        }
        let map = if self.shared.config.host_memory {
            AddressMap::of_host()
        } else {
            let regions = table.live.values().flat_map(|l| l.regions.iter().cloned());
            AddressMap::new(regions.collect())
        };
        let snapshot = Arc::new(Snapshot {
            map,
            _memory: table.live.values().map(|l| Arc::clone(&l.memory)).collect(),
        });
        table.snapshot = Some(Arc::clone(&snapshot));
        snapshot
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.shared
            .table
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Host memory that belongs to a device.
#[derive(Debug)]
pub(super) struct Memory {
    host: Host,
    bytes: u64,
    /// Gives the bytes back after `host` is freed.
    _account: Account,
}

#[derive(Debug)]
enum Host {
    Anywhere(machine::Buffer),
    Low(LowMemory),
    Foreign(Foreign),
}

/// Memory that belongs to somebody else.
#[derive(Debug)]
struct Foreign(*mut u8);

// SAFETY: an address; whoever registered it vouches for the memory.
unsafe impl Send for Foreign {}
// SAFETY: as above.
unsafe impl Sync for Foreign {}

impl Host {
    fn zeroed(bytes: usize, address_bits: u32) -> Option<Host> {
        if address_bits == 32 {
            LowMemory::zeroed(bytes).map(Host::Low)
        } else {
            machine::Buffer::try_zeroed(bytes).map(Host::Anywhere)
        }
    }

    fn as_ptr(&self) -> *mut u8 {
        match self {
            Host::Anywhere(buffer) => buffer.as_ptr(),
            Host::Low(memory) => memory.as_ptr(),
            Host::Foreign(memory) => memory.0,
        }
    }
}

#[derive(Debug)]
struct Account {
    device: Arc<Shared>,
    occupied: u64,
}

impl Drop for Account {
    fn drop(&mut self) {
        self.device.used.fetch_sub(self.occupied, Ordering::Relaxed);
    }
}

impl Memory {
    /// Its address, as kernels know it.
    pub(super) fn address(&self) -> u64 {
        self.host.as_ptr() as u64
    }

    /// The first byte.
    pub(super) fn as_ptr(&self) -> *mut u8 {
        self.host.as_ptr()
    }

    /// Its size in bytes.
    pub(super) fn len(&self) -> u64 {
        self.bytes
    }

    /// Reads from `offset` on. `of` names it in messages.
    pub(super) fn read(&self, of: &str, offset: u64, to: &mut [u8]) -> Result<(), Error> {
        let from = self.at(of, offset, to.len())?;
        // SAFETY: `at` checked the range; device memory is never borrowed.
        unsafe { copy::read(from, to) };
        Ok(())
    }

    /// Writes from `offset` on. `of` names it in messages.
    pub(super) fn write(&self, of: &str, offset: u64, from: &[u8]) -> Result<(), Error> {
        let to = self.at(of, offset, from.len())?;
        // SAFETY: `at` checked the range; device memory is never borrowed.
        unsafe { copy::write(to, from) };
        Ok(())
    }

    fn at(&self, of: &str, offset: u64, len: usize) -> Result<*mut u8, Error> {
        if offset > self.bytes || self.bytes - offset < len as u64 {
            return Err(Usage::Length {
                of: of.to_string(),
                bytes: self.bytes,
                offset,
                accessed: len as u64,
            }
            .into());
        }
        Ok(self.host.as_ptr().wrapping_add(offset as usize))
    }
}

/// Memory that kernels can reach; until it is dropped, or the last launch that began before ends.
#[derive(Debug)]
pub(super) struct Allocation {
    device: Device,
    id: u64,
    memory: Arc<Memory>,
}

impl Allocation {
    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Whether kernels that are launched from now on may store to it.
    pub(super) fn set_writable(&self, writable: bool) {
        let mut table = self.device.table();
        if let Some(live) = table.live.get_mut(&self.id) {
            live.regions.iter_mut().for_each(|r| r.writable = writable);
        }
        let outdated = table.snapshot.take();
        drop(table);
        drop(outdated);
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let mut table = self.device.table();
        let live = table.live.remove(&self.id);
        let outdated = table.snapshot.take();
        // Memory is freed after the table is unlocked.
        drop(table);
        drop((live, outdated));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> Device {
        Device::new(DeviceConfig::default()).unwrap()
    }

    #[test]
    fn memory_is_mapped_while_handles_or_snapshots_live() {
        let device = device();
        let buffer = device.alloc_from(&[1u8, 2, 3]).unwrap();
        let address = buffer.address().0;
        let second = buffer.clone();
        drop(buffer);
        let snapshot = device.snapshot();
        assert_eq!(snapshot.map.region(address + 2).map(|r| r.len), Some(3));
        assert_eq!(snapshot.map.region(address + 3), None);
        drop(second);
        assert_eq!(device.snapshot().map.regions(), []);
        assert_ne!(device.memory_used(), 0, "the snapshot keeps it");
        drop(snapshot);
        assert_eq!(device.memory_used(), 0);
    }

    #[test]
    fn buffers_are_aligned_and_never_adjacent() {
        let device = device();
        let buffers: Vec<Buffer<u32>> =
            (0..100).map(|_| device.alloc_zeroed(64).unwrap()).collect();
        let mut addresses: Vec<u64> = buffers.iter().map(|b| b.address().0).collect();
        addresses.sort_unstable();
        assert!(addresses.iter().all(|a| a % 256 == 0));
        assert!(addresses.windows(2).all(|pair| pair[1] - pair[0] > 256));
    }

    #[test]
    fn the_memory_limit_is_an_error() {
        let device = Device::new(DeviceConfig::default().memory_limit(4096)).unwrap();
        let kept = device.alloc_zeroed::<u64>(100).unwrap();
        for elements in [1000, usize::MAX / 8, usize::MAX] {
            let error = device.alloc_zeroed::<u64>(elements).unwrap_err();
            let Error::Usage(usage) = error else {
                panic!("{error}")
            };
            assert!(
                matches!(*usage, Usage::OutOfMemory { limit: 4096, .. }),
                "{usage}"
            );
        }
        drop(kept);
        device.alloc_zeroed::<u64>(300).unwrap();
    }

    #[test]
    fn memory_that_the_host_lacks_is_an_error() {
        let device = Device::new(DeviceConfig::default().memory_limit(u64::MAX)).unwrap();
        let error = device
            .alloc_zeroed::<u8>(isize::MAX as usize - 4096)
            .unwrap_err();
        assert!(error.to_string().contains("no room"), "{error}");
        assert_eq!(device.memory_used(), 0);
    }

    #[test]
    fn contents_are_copied_at_any_offset() {
        let device = device();
        let bytes: Vec<u8> = (0..100).collect();
        let buffer = device.alloc_from(&bytes).unwrap();
        for first in 0..20 {
            for len in 0..40 {
                let mut read = vec![0; len];
                buffer.read_at(first, &mut read).unwrap();
                assert_eq!(read, bytes[first..first + len]);
            }
        }
        buffer.write_at(3, &[0xff; 10]).unwrap();
        let after = buffer.to_vec().unwrap();
        assert_eq!(after[..3], bytes[..3]);
        assert_eq!(after[3..13], [0xff; 10]);
        assert_eq!(after[13..], bytes[13..]);
        assert!(buffer.write_at(91, &[0; 10]).is_err());
        assert!(buffer.read_at(usize::MAX, &mut [0]).is_err());
    }

    #[test]
    fn registered_memory_is_reached_and_given_back() {
        let device = device();
        let mut words = [1u32, 2, 3, 4, 5];
        let start = words.as_mut_ptr();
        // SAFETY: here and below the memory outlives the buffers, and nobody uses it meanwhile.
        let register =
            |offset: usize, len| unsafe { device.register(start.wrapping_add(offset), len) };
        let buffer = register(1, 3).unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [2, 3, 4]);
        for (offset, len) in [(0, 2), (1, 1), (2, 1), (3, 2), (0, 5)] {
            let error = register(offset, len).unwrap_err();
            assert!(error.to_string().contains("already"), "{error}");
        }
        let neighbours = (register(0, 1).unwrap(), register(4, 1).unwrap());
        drop((buffer, neighbours));
        assert_eq!(device.snapshot().map.regions(), []);
        // SAFETY: nothing is accessed.
        let null = unsafe { device.register(std::ptr::null_mut::<u32>(), 1) };
        assert!(null.is_err());
        // SAFETY: nothing is accessed.
        let endless = unsafe { device.register(start, usize::MAX) };
        assert!(endless.is_err());
    }

    #[test]
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    fn thirty_two_bits_reach_all_memory_of_a_device_so_configured() {
        let device = Device::new(DeviceConfig::default().address_bits(32)).unwrap();
        let buffer = device.alloc_from(&[5u32; 1000]).unwrap();
        assert!(buffer.address().0 + 4000 < 0xB000_0000);
        assert_eq!(buffer.to_vec().unwrap(), [5; 1000]);
    }
}
