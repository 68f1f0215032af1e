//! The machine that both engines run on: faults, the map of memory, the parts of a launch.
//!
//! Engines reach memory only through [`View::access`], or through checks that accept no more than it does.

mod fault;
mod launch;
pub mod memory;

pub use fault::{Fault, FaultKind, Nearest};
pub use launch::{ALIGN, Buffer, Launch, Limits, Scratch, Stop};
pub use memory::{Access, AddressMap, Region, View, window};
