//! The machine that both engines run on: faults, the map of memory, the parts of a launch.
//!
//! Engines reach memory only through [`View::access`], or through checks that accept no more than it does.
//!
//! # What the engines agree on
//! * When a CTA begins, its shared memory (static and dynamic) is zero; so is that of all CTAs of its cluster, which begin
//!   together. When it is over, its shared memory is out of bounds for the others. Its threads run in order of their linear index,
//!   x fastest. A call from the host is a CTA of one thread.
//! * When a thread or a call begins, all its registers, return parameters and `.param` variables of the body are zero.
//! * Local memory is a stack of frames. That of the kernel, or of the function called from the host, begins at 0; that
//!   of a call begins at the first multiple of [`Function::local_align`](crate::ir::Function::local_align) at or above
//!   the end of the caller's. A function without `.local` variables has none and leaves the end where it is. A frame is
//!   zeroed when its function begins. The window ends where the innermost frame ends ([`View::local`]).
//! * What `alloca` gives begins at the first multiple of its alignment (8 at least) at or above the end of the frame, which
//!   ends behind it then, and is zeroed up to there. It is refused, at the instruction, where that would pass
//!   [`Limits::local_bytes`] (stack overflow). `stackrestore` takes what lies between the end of the function's variables and
//!   that of its frame (out of bounds).
//! * A call is refused, at the call instruction, for the first of these reasons: the callee is not a function of the
//!   type that the call says, or has no body (bad call); the depth would pass [`Limits::call_depth`]; the local memory
//!   would pass [`Limits::local_bytes`] (stack overflow). The first frame's local memory is refused where the
//!   function's name stands.
//! * Parameters of a device function, and `.param` variables of bodies, lie in buffers of their own. An access by name
//!   is misaligned if its offset in the buffer ([`Param::offset`](crate::ir::Param::offset),
//!   [`StackVar::offset`](crate::ir::StackVar::offset), plus the constant) is, and out of bounds if it leaves the
//!   variable. Parameters of a kernel are the window of `.param`.

mod clock;
mod cluster;
mod fault;
mod heap;
mod launch;
pub mod local;
pub mod memory;
mod printf;
pub mod schedule;
mod stack;
pub mod sync;
mod system;

pub use clock::nanoseconds;
pub use cluster::{Clusters, Neighbours, Seat, SharedMemory};
pub use fault::{Fault, FaultKind, Nearest};
pub use heap::Heap;
pub use launch::{ALIGN, Buffer, Launch, Limits, Room, Scratch, Stop};
pub(crate) use stack::with_stack;
pub use system::{Host, Output};

pub use memory::{Access, AddressMap, Region, View, window};
