//! The native engine: IR to machine code by way of Cranelift, and the doors into that code.
//!
//! [`Code`] holds the machine code of one module and is shared by all workers. A kernel is entered through
//! [`Code::prepare`], once for a launch, and [`Prepared::run_blocks`], for some of its CTAs; a device function through
//! [`Code::call`].

#[cfg(feature = "clif")]
mod clif;
mod code;
mod dump;
mod engine;
mod error;
mod flags;
mod given;
mod host;
mod later;
mod loosen;
mod memory;
mod pressure;
mod raise;
mod resident;
mod settings;
mod target;
#[cfg(test)]
mod tests;

pub use crate::spmd::Absent;
#[cfg(feature = "clif")]
pub use clif::{ReadError, read};
pub use code::{Code, Prepared, Simple};
#[cfg(feature = "cli")]
pub use dump::Dump;
pub use dump::{DumpError, Stage, dump};
pub use error::{CompileError, FunctionStats, Misuse, Stats};
#[cfg(feature = "cli")]
pub use flags::{AUTO, WIDTHS};
pub use flags::{CraneliftSetting, WIDTH, choose, cranelift_settings};
pub use given::Given;
pub use resident::Resident;
pub use settings::{OptLevel, Settings};
#[cfg(feature = "cli")]
pub use target::{ARCHITECTURES, Named, Target};
