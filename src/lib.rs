//! Runs NVIDIA PTX on the CPU.

mod check;
pub mod diag;
pub mod error;
pub mod interp;
pub mod ir;
pub mod jit;
pub mod machine;
mod runtime;
pub mod semantics;
pub mod syntax;
#[cfg(feature = "cli")]
pub mod testing;

pub use diag::Diagnostics;
pub use error::{Error, Unsupported, Usage};
pub use jit::OptLevel;
pub use machine::{Fault, FaultKind};
pub use runtime::*;
