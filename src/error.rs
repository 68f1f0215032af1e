//! What can go wrong, told apart by whose matter it is.
//!
//! ```
//! use ptxlift::{Error, Module};
//!
//! fn whose(error: &Error) -> &'static str {
//!     match error {
//!         Error::Diagnostics(_) => "the text's author",
//!         Error::Unsupported(_) | Error::Internal(_) => "ptxlift",
//!         Error::Usage(_) => "the caller",
//!         Error::Fault(_) => "the kernel's author, or whoever chose its arguments",
//!         _ => "a later version knows",
//!     }
//! }
//! assert_eq!(whose(&Module::parse("?").unwrap_err()), "the text's author");
//! ```

use crate::diag::{Diagnostics, Position, Source, Span};
use crate::machine::Fault;
use crate::runtime::Parameter;
use std::fmt;

/// Everything that the library answers with instead of a result.
///
/// Each kind has a type of its own; `Display` gives the whole message, over several lines where source lines or a
/// thread's place are shown.
///
/// ```
/// use ptxlift::{Error, Module};
/// match Module::parse(".version 8.0\n.target sm_80\n.entry k() { frobnicate; }") {
///     Ok(_) => unreachable!("no such instruction"),
///     Err(Error::Diagnostics(diagnostics)) => assert_eq!(diagnostics.len(), 1),
///     Err(Error::Internal(bug)) => panic!("please report it: {bug}"),
///     Err(other) => panic!("{other}"),
/// }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// The PTX text is wrong. All its errors, each with its source line.
    Diagnostics(Diagnostics),
    /// The text is right, and needs something that this library (or this machine) lacks.
    Unsupported(Unsupported),
    /// The library was used wrongly: no such kernel, arguments that do not fit, a grid out of range.
    Usage(Box<Usage>),
    /// The kernel or function did wrong while it ran, or ran too long.
    Fault(Box<Fault>),
    /// A bug of this library.
    Internal(Internal),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Diagnostics(e) => e.fmt(f),
            Error::Unsupported(e) => e.fmt(f),
            Error::Usage(e) => e.fmt(f),
            Error::Fault(e) => e.fmt(f),
            Error::Internal(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<Diagnostics> for Error {
    fn from(error: Diagnostics) -> Self {
        Error::Diagnostics(error)
    }
}

impl From<Unsupported> for Error {
    fn from(error: Unsupported) -> Self {
        Error::Unsupported(error)
    }
}

impl From<Usage> for Error {
    fn from(error: Usage) -> Self {
        Error::Usage(Box::new(error))
    }
}

impl From<Fault> for Error {
    fn from(error: Fault) -> Self {
        Error::Fault(Box::new(error))
    }
}

impl From<Internal> for Error {
    fn from(error: Internal) -> Self {
        Error::Internal(error)
    }
}

/// What is lacking, and who needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsupported {
    /// The kernel or function that was asked for, or the module as a whole.
    pub wanted_by: String,
    /// What is lacking: at least one thing, in the order of the text.
    pub missing: Vec<Missing>,
}

/// One thing that is lacking.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// The instruction or directive with its modifiers, as written, or a phrase.
    pub what: String,
    /// The family that it belongs to, for summaries: `floating point`, `barriers`, `atomics`.
    pub family: &'static str,
    /// The name of the text and the place in it; `None` for what stands nowhere in particular.
    pub at: Option<(String, Position)>,
}

impl Missing {
    /// Something that stands at `span` of a text.
    pub(crate) fn new(source: &Source, span: Span, what: String, family: &'static str) -> Self {
        Missing {
            what,
            family,
            at: Some((source.name().to_string(), source.position(span.start))),
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        if !self.family.is_empty() {
            write!(f, " ({})", self.family)?;
        }
        if let Some((file, position)) = &self.at {
            write!(f, " at {file}:{position}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        write!(f, "unsupported: {} needs ", self.wanted_by)?;
        if let [one] = &self.missing[..] {
            return write!(f, "{one}");
        }
        write!(f, "{} things that are lacking", self.missing.len())?;
        for missing in self.missing.iter().take(SHOWN) {
            write!(f, "\n  {missing}")?;
        }
        if self.missing.len() > SHOWN {
            write!(f, "\n  and {} more", self.missing.len() - SHOWN)?;
        }
        Ok(())
    }
}

impl std::error::Error for Unsupported {}

/// A bug of this library: please report it with the text that led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Internal {
    message: String,
}

impl Internal {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Internal {
            message: message.into(),
        }
    }

    /// Runs `f`; a panic in it becomes an error.
    pub(crate) fn catch<T>(doing: &str, f: impl FnOnce() -> T) -> Result<T, Internal> {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).map_err(|panic| {
            let what = panic
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
                .unwrap_or("a panic without words");
            Internal::new(format!("while {doing}: {what}"))
        })
    }

    /// What happened.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Internal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "internal error (a bug of ptxlift): {}", self.message)
    }
}

impl std::error::Error for Internal {}

/// How the library was used wrongly.
///
/// ```
/// use ptxlift::{Device, DeviceConfig, Error, Usage};
/// let device = Device::new(DeviceConfig::default().memory_limit(1000))?;
/// let Err(Error::Usage(usage)) = device.alloc_zeroed::<u64>(1000) else { panic!("8000 bytes of 1000") };
/// assert!(matches!(*usage, Usage::OutOfMemory { bytes: 8000, limit: 1000, .. }));
/// # Ok::<(), ptxlift::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Usage {
    /// The module has no kernel, function or variable of this name.
    #[non_exhaustive]
    NoSuchName {
        /// `kernel`, `function` or `variable`.
        wanted: &'static str,
        /// The name that was asked for.
        name: String,
        /// What the module has of the kind.
        available: Vec<String>,
        /// Something of another kind has the name (`a kernel`), or a name much like it is there.
        hint: Option<String>,
    },
    /// The arguments of a launch or call do not fit.
    #[non_exhaustive]
    Arguments {
        /// The kernel or function with what it is: ``kernel `sha256` ``.
        callee: String,
        /// What it wants.
        wants: Vec<Parameter>,
        /// What is wrong.
        problem: String,
    },
    /// The results that a function handle was asked for do not fit the function.
    #[non_exhaustive]
    Results {
        /// The function with what it is: ``function `extract` ``.
        callee: String,
        /// What it gives.
        gives: Vec<Parameter>,
        /// What is wrong.
        problem: String,
    },
    /// The grid or block is out of range.
    #[non_exhaustive]
    Dimensions {
        /// The kernel.
        kernel: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// More shared memory than a block may have.
    #[non_exhaustive]
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// Bytes that the kernel declares.
        fixed: u64,
        /// Bytes that the launch adds.
        dynamic: u64,
        /// Most that both may be together.
        limit: u64,
    },
    /// The device has no room for an allocation.
    #[non_exhaustive]
    OutOfMemory {
        /// Bytes that were asked for.
        bytes: u64,
        /// Bytes in use.
        used: u64,
        /// Most that may be in use.
        limit: u64,
    },
    /// The host has no room for so many bytes, for a copy of device memory or the memory of threads.
    #[non_exhaustive]
    HostMemory {
        /// Bytes that were asked for.
        bytes: u64,
    },
    /// A slice and a buffer or variable differ in length.
    #[non_exhaustive]
    Length {
        /// What was read or written.
        of: String,
        /// Its length in bytes.
        bytes: u64,
        /// Offset in bytes at which the access began.
        offset: u64,
        /// Length of the access in bytes.
        accessed: u64,
    },
    /// An argument is memory of another device than the kernel's.
    #[non_exhaustive]
    OtherDevice {
        /// The kernel or function with what it is.
        callee: String,
        /// The argument, from 0.
        argument: usize,
    },
    /// Bytes that are not all memory of the device.
    #[non_exhaustive]
    NoMemory {
        /// Where they begin.
        address: u64,
        /// How many they are.
        bytes: u64,
    },
    /// Memory that cannot be registered.
    #[non_exhaustive]
    Registration {
        /// Where it begins.
        address: u64,
        /// How long it is.
        bytes: u64,
        /// Why not.
        problem: String,
    },
    /// Cranelift IR that was given for functions of a module cannot stand for them.
    #[non_exhaustive]
    Clif {
        /// The line of the text, from 1; `None` if no line in particular is wrong.
        line: Option<u32>,
        /// What is wrong.
        problem: String,
    },
    /// An engine or device cannot be configured so.
    #[non_exhaustive]
    Configuration {
        /// The option, its value and what is wrong.
        problem: String,
    },
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Usage::NoSuchName {
                wanted,
                name,
                available,
                hint,
            } => {
                write!(f, "no {wanted} `{name}` in the module")?;
                if let Some(hint) = hint {
                    write!(f, "; {hint}")?;
                }
                write_names(f, wanted, available)
            }
            Usage::Arguments {
                callee,
                wants,
                problem,
            } => {
                write!(f, "{problem}\n  {callee} wants {}", Parameters(wants))
            }
            Usage::Results {
                callee,
                gives,
                problem,
            } => {
                write!(f, "{problem}\n  {callee} gives {}", Parameters(gives))
            }
            Usage::Dimensions { kernel, problem } => write!(f, "kernel `{kernel}`: {problem}"),
            Usage::SharedMemory {
                kernel,
                fixed,
                dynamic,
                limit,
            } => write!(
                f,
                "kernel `{kernel}`: {fixed} bytes of static and {dynamic} bytes of dynamic shared memory are more than \
                 the {limit} that a block may have"
            ),
            Usage::OutOfMemory { bytes, used, limit } => write!(
                f,
                "no room for {bytes} bytes of device memory: {used} of {limit} bytes are in use"
            ),
            Usage::HostMemory { bytes } => write!(f, "the host has no room for {bytes} bytes"),
            Usage::Length {
                of,
                bytes,
                offset,
                accessed,
            } => write!(
                f,
                "{accessed} bytes at offset {offset} do not fit {of} of {bytes} bytes"
            ),
            Usage::OtherDevice { callee, argument } => write!(
                f,
                "argument {argument} of {callee} is memory of another device"
            ),
            Usage::NoMemory { address, bytes } => write!(
                f,
                "the device has no memory for {bytes} bytes at {address:#x}"
            ),
            Usage::Registration {
                address,
                bytes,
                problem,
            } => write!(
                f,
                "{bytes} bytes at {address:#x} cannot be registered: {problem}"
            ),
            Usage::Clif { line, problem } => match line {
                Some(line) => write!(f, "Cranelift IR, line {line}: {problem}"),
                None => write!(f, "Cranelift IR: {problem}"),
            },
            Usage::Configuration { problem } => f.write_str(problem),
        }
    }
}

impl std::error::Error for Usage {}

fn write_names(f: &mut fmt::Formatter<'_>, wanted: &str, names: &[String]) -> fmt::Result {
    const SHOWN: usize = 12;
    if names.is_empty() {
        return write!(f, "\n  it has no {wanted}s");
    }
    write!(f, "\n  it has")?;
    for (i, name) in names.iter().take(SHOWN).enumerate() {
        write!(f, "{} `{name}`", if i == 0 { "" } else { "," })?;
    }
    if names.len() > SHOWN {
        write!(f, " and {} more", names.len() - SHOWN)?;
    }
    Ok(())
}

struct Parameters<'a>(&'a [Parameter]);

impl fmt::Display for Parameters<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nothing");
        }
        f.write_str("(")?;
        for (i, parameter) in self.0.iter().enumerate() {
            write!(f, "{}{parameter}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str(")")
    }
}
