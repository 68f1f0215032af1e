//! Sites: places in the text that native code names by number when something goes wrong.

use crate::diag::Span;
use crate::ir::FuncId;
use crate::ir::System;
use crate::ir::control::CallType;
use crate::ir::memory::Space;
use crate::ir::sync::{AtomicOp, Copy, MbarrierOp};
use crate::machine::{Access, FaultKind};

/// A place where something can go wrong.
#[derive(Debug, Clone)]
pub struct Site {
    /// The function.
    pub function: FuncId,
    /// The instruction.
    pub span: Span,
    /// Its `.loc`, or `u32::MAX`.
    pub location: u32,
    /// What can go wrong.
    pub cause: Cause,
}

/// An access that is judged where the check of a run fails.
#[derive(Debug, Clone, Copy)]
pub struct Judged {
    /// The access.
    pub site: u32,
    /// From where its distance counts: 0 is the address that is asked about, n is element n - 1 of
    /// [`Context::between`](super::context::Context::between).
    pub which: usize,
    /// Bytes from there.
    pub distance: i64,
}

/// What can go wrong at a [`Site`].
#[derive(Debug, Clone)]
pub enum Cause {
    /// An access to an address that is found out at run time.
    Access {
        /// The state space.
        space: Space,
        /// Size, alignment, read or write.
        access: Access,
        /// The parameter that it names, if it does.
        parameter: Option<Parameter>,
    },
    /// One of several accesses that are checked together, in order.
    Run(Vec<Judged>),
    /// An access to a parameter or `.param` variable by name that is always wrong.
    Wrong {
        /// What is wrong.
        kind: FaultKind,
        /// The offset in the buffer of parameters.
        address: u64,
        /// Bytes of the access.
        bytes: u32,
        /// What it names.
        parameter: Option<Parameter>,
    },
    /// `trap`
    Trap,
    /// The launch was told to stop.
    Stop,
    /// Calls are nested too deep.
    Depth,
    /// The native stack is at its end.
    Stack,
    /// There is too little local memory; the value that goes with it is the number of bytes wanted.
    Locals,
    /// Local memory cannot end where `stackrestore` says: the value.
    Restore,
    /// A jump past the end of a table of so many; the value is the index.
    Table(u32),
    /// What the host does for native code; what is wrong it knows.
    Serve(Service),
    /// A call through an address, the value, that is not a function of this type.
    Callee(CallType),
}

/// What the host does for native code.
#[derive(Debug, Clone)]
pub enum Service {
    /// A system call, with its arguments; gives its result.
    System(System),
    /// An atomic of 16 bytes: address, operands; gives what was there.
    Atomic {
        /// The state space.
        space: Space,
        /// The operator.
        op: AtomicOp,
    },
    /// An mbarrier: address, operands; gives what the instruction does.
    Mbarrier {
        /// The state space.
        space: Space,
        /// The operation.
        op: MbarrierOp,
    },
    /// An asynchronous copy: addresses to and from, bytes, bytes that are read, whether all is ignored, address of the
    /// mbarrier, mask of CTAs, bytes that are left out at the left and at the right, mask of bytes.
    Copy(Box<Copy>),
    /// `alloca` of so many bytes, an argument; gives the address.
    Allocate {
        /// The alignment.
        align: u32,
    },
}

/// Most arguments of a service.
pub const ARGUMENTS: usize = 10;

/// A parameter or `.param` variable in its buffer.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its offset.
    pub offset: u32,
    /// Its size in bytes.
    pub size: u32,
}
