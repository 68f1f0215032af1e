//! The reference engine: executes IR one thread after another, by what `semantics` says.
//!
//! An [`Interpreter`] is made of a module once and shared by all workers; it decodes each function when it is first
//! entered. Everything that a CTA changes lies in its [`Scratch`] and in global memory.
//!
//! # What the engines agree on
//! * Shared memory (static and dynamic) is zero when a CTA begins.
//! * Threads of a CTA run in order of their linear index, `x` fastest, each to its end.

mod trace;

pub use trace::{NoTrace, Step, Trace};

use crate::ir::{FuncId, Module};
use crate::machine::{Fault, FaultKind, Launch, Scratch};

/// Runs one CTA of a kernel. `block` is its `%ctaid`. Without trace; see [`Interpreter::run_block`].
///
/// # Errors
/// What a thread did wrong.
pub fn run_block(
    module: &Module,
    kernel: FuncId,
    launch: &Launch<'_>,
    scratch: &Scratch,
    block: [u32; 3],
) -> Result<(), Fault> {
    Interpreter::new(module)
        .run_block(kernel, launch, scratch, block, &mut NoTrace)
        .map(drop)
}

/// Calls a device function from the host. Without trace; see [`Interpreter::call`].
///
/// # Errors
/// What it did wrong.
pub fn call(
    module: &Module,
    function: FuncId,
    launch: &Launch<'_>,
    scratch: &Scratch,
    args: &[u8],
    results: &mut [u8],
) -> Result<(), Fault> {
    Interpreter::new(module)
        .call(function, launch, scratch, args, results, &mut NoTrace)
        .map(drop)
}

/// A module made ready to be interpreted. Cheap to make, shared by all workers.
#[derive(Debug)]
pub struct Interpreter<'m> {
    module: &'m Module,
}

impl<'m> Interpreter<'m> {
    /// Of a module.
    pub fn new(module: &'m Module) -> Self {
        Interpreter { module }
    }

    /// Runs one CTA of a kernel. `block` is its `%ctaid`; `trace` sees each instruction. The shared memory of
    /// `scratch` holds at least the kernel's static and the launch's dynamic bytes. Gives the number of executed
    /// instructions, those that their guard switched off included.
    ///
    /// # Errors
    /// What a thread did wrong.
    pub fn run_block(
        &self,
        kernel: FuncId,
        _launch: &Launch<'_>,
        _scratch: &Scratch,
        block: [u32; 3],
        _trace: &mut impl Trace,
    ) -> Result<u64, Fault> {
        Err(self.unbuilt(kernel).by(block, [0; 3]))
    }

    /// Calls a device function from the host. `args` and `results` are laid out by
    /// [`Param::offset`](crate::ir::Param::offset), little-endian. Gives the number of executed instructions.
    ///
    /// # Errors
    /// What it did wrong.
    pub fn call(
        &self,
        function: FuncId,
        _launch: &Launch<'_>,
        _scratch: &Scratch,
        _args: &[u8],
        _results: &mut [u8],
        _trace: &mut impl Trace,
    ) -> Result<u64, Fault> {
        Err(self.unbuilt(function))
    }

    fn unbuilt(&self, function: FuncId) -> Fault {
        let span = self.module.functions[function.index()].span;
        Fault::new(FaultKind::Trap, self.module, function, span, u32::MAX)
            .detail("the interpreter is not built yet")
    }
}
