//! What can go wrong before native code runs.

use crate::spmd::Absent;
use std::time::Duration;

/// Compiling failed for a reason that is not the module's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// A setting that Cranelift does not know, or a value that it does not take.
    #[error("Cranelift refuses the setting {name}={value}: {message}")]
    Setting {
        /// The setting.
        name: String,
        /// Its value.
        value: String,
        /// What Cranelift says.
        message: String,
    },
    /// Cranelift does not know this machine, or memory for the code cannot be had.
    #[error("no native code on this machine: {0}")]
    Host(String),
    /// A bug of ours or of Cranelift's.
    #[error("internal error while compiling `{function}`: {message}")]
    Internal {
        /// The function that was compiled.
        function: String,
        /// What went wrong.
        message: String,
    },
}

/// Code was entered in a way that does not fit it: a bug of the caller, found before any harm is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    /// There is no machine code.
    #[error("the function has no machine code: {0}")]
    Absent(Absent),
    /// A kernel was called, or a device function launched.
    #[error("kernels are launched, device functions are called")]
    Kind,
    /// A buffer has too few bytes.
    #[error("{what}: {wanted} bytes wanted, {given} given")]
    Size {
        /// Which: `parameters`, `arguments`, `results`, `constants`, `shared memory`, `local memory`.
        what: &'static str,
        /// How many bytes there should be at least.
        wanted: u64,
        /// How many there are.
        given: u64,
    },
    /// The module's variables are not regions of the launch's map, or not writable.
    #[error("the module's variables are not in the launch's map of memory")]
    Globals,
    /// A block of no threads, or of more than 2^31.
    #[error("the block is empty or too large")]
    Block,
    /// Code that counts every call could not be compiled.
    #[error("no code for so few nested calls")]
    Depth,
}

/// What compiling one function or kernel took and gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FunctionStats {
    /// Instructions of the IR, the ways out of blocks included.
    pub instructions: usize,
    /// Instructions of Cranelift's IR, before its optimiser.
    pub clif_instructions: usize,
    /// Time for making Cranelift IR (`lower`).
    pub lower: Duration,
    /// Time that Cranelift took.
    pub compile: Duration,
    /// Bytes of machine code, the ways into it included.
    pub code_bytes: usize,
    /// Bytes of its frame on the native stack: spilled and saved registers.
    pub frame_bytes: usize,
    /// The most vectors that it has at once, roughly; 0 where threads go one by one.
    pub vectors: u32,
}

/// What compiling took and gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Functions and kernels with machine code.
    pub functions: usize,
    /// Instructions of theirs, those of the IR.
    pub instructions: usize,
    /// Time for analysis (`spmd`).
    pub plan: Duration,
    /// Time for making Cranelift IR (`lower`).
    pub lower: Duration,
    /// Time that Cranelift took.
    pub compile: Duration,
    /// Time for placing the code in memory.
    pub link: Duration,
    /// Bytes of machine code.
    pub code_bytes: usize,
}

impl Stats {
    /// Counts a function.
    pub(super) fn add(&mut self, function: &FunctionStats) {
        self.functions += 1;
        self.instructions += function.instructions;
        self.lower += function.lower;
        self.compile += function.compile;
    }
}
