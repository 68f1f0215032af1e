//! The native engine: IR to machine code by way of Cranelift, and the doors into that code.
//!
//! [`Code`] holds the machine code of one module and is shared by all workers. A kernel is entered through
//! [`Code::prepare`], once for a launch, and [`Prepared::run_block`], once for a CTA; a device function through
//! [`Code::call`].

mod code;
mod settings;

pub use code::{Absent, Code, CompileError, Misuse, Prepared, Stats};
pub use settings::{OptLevel, Settings};
