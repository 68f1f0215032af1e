//! Runs NVIDIA PTX on the CPU.

pub mod diag;
pub mod syntax;
