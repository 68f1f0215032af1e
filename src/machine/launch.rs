//! The parts of a launch that both engines read.

use super::memory::{AddressMap, Window};
use super::{Clusters, Host};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A flag that asks running threads to end. Native code polls it at loop back edges and calls.
#[derive(Debug, Default)]
pub struct Stop(AtomicU32);

impl Stop {
    /// A flag that is not raised.
    pub const fn new() -> Self {
        Stop(AtomicU32::new(0))
    }

    /// Asks.
    pub fn raise(&self) {
        self.0.store(1, Ordering::Relaxed);
    }

    /// Takes it back. Nobody may be running under the flag.
    pub fn lower(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether somebody asked.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// The word that native code polls.
    pub fn as_ptr(&self) -> *const u32 {
        self.0.as_ptr()
    }
}

/// What bounds a launch.
#[derive(Debug)]
pub struct Limits<'a> {
    /// Raised when time is up, or by a cancellation; a fault of kind `TimeLimit` follows.
    pub stop: &'a Stop,
    /// Most instructions that the interpreter executes for one thread; a fault of kind `TimeLimit` follows.
    pub steps: u64,
    /// Deepest nesting of calls, the kernel or the function called from the host not counted.
    pub call_depth: u32,
    /// Bytes of `.local` memory for each thread, all its frames together.
    pub local_bytes: u32,
}

/// A launch as an engine sees it.
#[derive(Debug)]
pub struct Launch<'a> {
    /// `%nctaid`
    pub grid: [u32; 3],
    /// `%ntid`
    pub block: [u32; 3],
    /// How the grid is divided.
    pub clusters: Clusters,
    /// The buffer of the kernel's parameters ([`Param::offset`](crate::ir::Param::offset)).
    pub params: &'a [u8],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Global memory.
    pub map: &'a AddressMap,
    /// Host address of the instance's block of `.global` variables. Each variable is a region of its own in `map`;
    /// the gaps between them are in none.
    pub globals: u64,
    /// The instance's constants.
    pub constants: Window,
    /// What system calls reach.
    pub host: &'a Host,
    /// Whether native code runs it in which threads go together, if there is some.
    pub together: bool,
    /// What bounds it.
    pub limits: Limits<'a>,
}

/// Memory that threads of a launch which may be left may have, all of them together.
#[derive(Debug)]
pub struct Room(AtomicU64);

impl Room {
    /// So many bytes.
    pub const fn new(bytes: u64) -> Self {
        Room(AtomicU64::new(bytes))
    }

    /// Takes so many bytes, if they are there.
    pub fn take(&self, bytes: u64) -> bool {
        let left = |left: u64| left.checked_sub(bytes);
        (self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, left))
        .is_ok()
    }

    /// Bytes that are there.
    pub fn left(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Gives back what was taken.
    pub fn give(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Memory that a worker needs to run CTAs that are never left, used again for each.
#[derive(Debug)]
pub struct Scratch {
    /// The CTA's shared memory.
    pub shared: Buffer,
    /// One thread's local memory.
    pub local: Buffer,
}

impl Scratch {
    /// Zeroed memory of these sizes in bytes, or `None` if it cannot be had.
    pub fn try_new(shared: usize, local: usize) -> Option<Self> {
        Some(Scratch {
            shared: Buffer::try_zeroed(shared)?,
            local: Buffer::try_zeroed(local)?,
        })
    }
}

/// Zeroed host memory, aligned to 256 bytes. It is reached through raw pointers by many threads; nobody ever holds a
/// reference into it while a kernel runs.
#[derive(Debug)]
pub struct Buffer {
    base: NonNull<u8>,
    len: usize,
    /// What was allocated; `base` lies in it.
    allocated: NonNull<u8>,
    layout: Layout,
}

#[repr(align(256))]
struct Aligned;

/// Alignment of all device memory in bytes.
pub const ALIGN: usize = 256;

impl Buffer {
    /// No bytes.
    pub const EMPTY: Buffer = Buffer {
        base: NonNull::<Aligned>::dangling().cast(),
        len: 0,
        allocated: NonNull::dangling(),
        layout: Layout::new::<()>(),
    };

    /// `len` zeroed bytes, or `None` if they cannot be had.
    pub fn try_zeroed(len: usize) -> Option<Self> {
        if len == 0 {
            return Some(Buffer::EMPTY);
        }
        // Where no more alignment is asked for than all allocations have, pages are zero without being written, and there
        // only once they are used: thousands of CTAs have local memory of which they use little.
        let layout = Layout::from_size_align(len.checked_add(ALIGN)?, align_of::<u64>()).ok()?;
        // SAFETY: the layout has a size.
        let allocated = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let past = allocated.addr().get() % ALIGN;
        // SAFETY: at most ALIGN bytes on, and there are so many more than `len`.
        let base = unsafe { allocated.add((ALIGN - past) % ALIGN) };
        base.as_ptr().expose_provenance();
        Some(Buffer {
            base,
            len,
            allocated,
            layout,
        })
    }

    /// A copy of these bytes, or `None` if there is no memory for it.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let buffer = Buffer::try_zeroed(bytes.len())?;
        // SAFETY: it has as many bytes, and nobody else knows it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.as_ptr(), bytes.len()) };
        Some(buffer)
    }

    /// The first byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// It as a window.
    pub fn window(&self) -> Window {
        Window {
            base: self.as_ptr(),
            len: self.len() as u64,
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.layout.size() != 0 {
            // SAFETY: allocated with this layout in `try_zeroed`.
            unsafe { dealloc(self.allocated.as_ptr(), self.layout) }
        }
    }
}

// SAFETY: the memory is owned; whoever reads or writes it through `as_ptr` answers for how.
unsafe impl Send for Buffer {}
// SAFETY: as above; `Buffer` itself gives no references to the contents.
unsafe impl Sync for Buffer {}
