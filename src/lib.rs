//! Runs NVIDIA PTX on the CPU.

mod check;
pub mod diag;
pub mod error;
pub mod interp;
pub mod ir;
pub mod jit;
pub mod machine;
pub mod semantics;
mod runtime;
pub mod syntax;

pub use diag::Diagnostics;
pub use error::{Error, Unsupported, Usage};
pub use machine::{Fault, FaultKind};
pub use runtime::*;
