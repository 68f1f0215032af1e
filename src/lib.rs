//! Runs NVIDIA PTX on the CPU.

mod check;
pub mod diag;
pub mod interp;
pub mod ir;
pub mod jit;
pub mod machine;
pub mod semantics;
pub mod syntax;
