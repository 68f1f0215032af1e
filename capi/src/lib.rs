//! The C library of ptxlift.
//!
//! [`module`] and [`launch`] are its own interface (`ptxlift_*`: compile once, launch many), over the handles of [`context`];
//! [`ocelot`] is `ptx_run`, the entry point of gpuocelot that tinygrad calls; [`driver`] a part of the CUDA driver API.
//! `include/ptxlift.h` is made of the docstrings here.
//!
//! Nothing unwinds into C: each function ends in [`error::guard`], which makes a status of errors and panics, and
//! keeps the message for the thread.

mod context;
/// cbindgen:ignore
#[allow(non_snake_case, reason = "the names are those of cuda.h")]
mod driver;
mod error;
mod launch;
mod module;
mod ocelot;
mod text;
