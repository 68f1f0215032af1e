//! The two engines behind one face.

use super::engine::{EngineConfig, EngineKind};
use super::program::Program;
use crate::error::{Error, Internal};
use crate::interp::{Interpreter, NoTrace};
use crate::ir::{self, FuncId};
use crate::machine::{Fault, Launch, Scratch};
use std::sync::Arc;

/// The native code of a module.
#[derive(Debug)]
pub(super) struct Native(());

impl Native {
    pub(super) fn compile(
        _module: &Arc<ir::Module>,
        _config: &EngineConfig,
    ) -> Result<Self, Error> {
        Err(Internal::new("native code is not built yet").into())
    }
}

/// An engine made ready for a launch or call on one thread.
pub(super) enum Backend<'a> {
    Interpreter(Interpreter<'a>),
    Native(&'a Native),
}

impl<'a> Backend<'a> {
    pub(super) fn new(program: &'a Program, kind: EngineKind) -> Result<Self, Error> {
        Ok(match kind {
            EngineKind::Interpreter => Backend::Interpreter(Interpreter::new(program.ir())),
            EngineKind::Native => Backend::Native(program.native()?),
        })
    }

    /// Runs one CTA; gives the number of executed instructions.
    pub(super) fn run_block(
        &self,
        kernel: FuncId,
        launch: &Launch<'_>,
        scratch: &Scratch,
        block: [u32; 3],
    ) -> Result<u64, Fault> {
        match self {
            Backend::Interpreter(interpreter) => {
                interpreter.run_block(kernel, launch, scratch, block, &mut NoTrace)
            }
            Backend::Native(_) => Ok(0),
        }
    }

    /// Calls a function. `args` and `results` are laid out by [`Param::offset`](ir::Param::offset).
    pub(super) fn call(
        &self,
        function: FuncId,
        launch: &Launch<'_>,
        scratch: &Scratch,
        args: &[u8],
        results: &mut [u8],
    ) -> Result<(), Fault> {
        match self {
            Backend::Interpreter(interpreter) => interpreter
                .call(function, launch, scratch, args, results, &mut NoTrace)
                .map(drop),
            Backend::Native(_) => Ok(()),
        }
    }
}
