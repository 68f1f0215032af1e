//! Sites: places in the text that native code names by number when something goes wrong.

use crate::diag::Span;
use crate::ir::FuncId;
use crate::ir::memory::Space;
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

/// What can go wrong at a [`Site`].
#[derive(Debug, Clone)]
pub enum Cause {
    /// An access to an address that is found out at run time.
    Access {
        /// The state space.
        space: Space,
        /// Size, alignment, read or write.
        access: Access,
    },
    /// One of several accesses that are checked together: sites, and distances from the address that is asked about.
    Run(Vec<(u32, i64)>),
    /// This.
    Fault(FaultKind),
    /// An access that always goes wrong, at this address in the space of parameters.
    Wrong {
        /// What is wrong.
        kind: FaultKind,
        /// The address: an offset in the variable.
        address: u64,
        /// Bytes of the access.
        bytes: u32,
    },
}
