//! The two engines behind one face.

use super::engine::{EngineConfig, EngineKind};
use super::program::Program;
use super::value::describe;
use crate::error::{Error, Internal, Missing, Unsupported, Usage};
use crate::interp::{Interpreter, NoTrace, Trace};
use crate::ir::{self, FuncId};
use crate::jit::{Absent, Code, CompileError, Misuse, Prepared, Settings};
use crate::machine::{Fault, Launch, Scratch};
use std::sync::Arc;

/// Compiles a module.
pub(super) fn compile(module: &Arc<ir::Module>, config: &EngineConfig) -> Result<Code, Error> {
    let settings = Settings {
        opt_level: config.opt_level,
        checked: config.checked,
        verify: config.verify,
        cranelift: config.settings.clone(),
    };
    Internal::catch("compiling a module", || Code::compile(module, &settings))?.map_err(|error| {
        match error {
            CompileError::Setting { .. } => Usage::Configuration {
                problem: error.to_string(),
            }
            .into(),
            CompileError::Host(_) => Unsupported {
                wanted_by: format!("module `{}`", module.source.name()),
                missing: vec![Missing {
                    what: error.to_string(),
                    family: "",
                    at: None,
                }],
            }
            .into(),
            CompileError::Internal { .. } => Internal::new(error.to_string()).into(),
        }
    })
}

/// Why there is no native code for a function whose instructions are all supported.
pub(super) fn absent(module: &ir::Module, function: FuncId, code: &Code) -> Option<Error> {
    let absent = code.absent(function)?;
    let ir = &module.functions[function.index()];
    Some(
        Unsupported {
            wanted_by: describe(ir),
            missing: vec![Missing {
                what: match absent {
                    Absent::Calls(callee) => format!(
                        "native code, and it calls `{}`, which has none: {}",
                        module.functions[callee.index()].name,
                        code.absent(callee)
                            .map_or_else(String::new, |why| why.to_string())
                    ),
                    Absent::Undefined | Absent::Unsupported | Absent::TooLarge { .. } => {
                        format!("native code: {absent}")
                    }
                },
                family: "size",
                at: Some((
                    module.source.name().to_string(),
                    module.source.position(ir.span.start),
                )),
            }],
        }
        .into(),
    )
}

/// A kernel made ready for a launch by one of the engines.
pub(super) enum Runner<'a> {
    Interpreter(&'a Interpreter, FuncId, &'a Launch<'a>),
    Native(Prepared<'a>),
}

impl<'a> Runner<'a> {
    pub(super) fn new(
        program: &'a Program,
        kind: EngineKind,
        kernel: FuncId,
        launch: &'a Launch<'a>,
    ) -> Result<Self, Error> {
        Ok(match kind {
            EngineKind::Interpreter => Runner::Interpreter(program.interpreter(), kernel, launch),
            EngineKind::Native => {
                Runner::Native(program.native()?.prepare(kernel, launch).map_err(misuse)?)
            }
        })
    }

    /// Runs one CTA; gives the number of executed instructions, 0 for native code. Only the interpreter traces.
    pub(super) fn run_block(
        &self,
        scratch: &Scratch,
        block: [u32; 3],
        trace: &mut impl Trace,
    ) -> Result<u64, Fault> {
        match self {
            Runner::Interpreter(interpreter, kernel, launch) => {
                interpreter.run_block(*kernel, launch, scratch, block, trace)
            }
            Runner::Native(prepared) => prepared.run_block(scratch, block).map(|()| 0),
        }
    }
}

/// Calls a device function if nothing can go wrong in it; says whether it did.
#[inline]
pub(super) fn call_simple(
    program: &Program,
    function: FuncId,
    args: &[u8],
    results: &mut [u8],
) -> Result<bool, Error> {
    program
        .native()?
        .call_simple(function, args, results)
        .map_err(misuse)
}

/// Calls a device function. `args` and `results` are laid out by [`Param::offset`](ir::Param::offset).
pub(super) fn call(
    program: &Program,
    kind: EngineKind,
    function: FuncId,
    launch: &Launch<'_>,
    scratch: &Scratch,
    args: &[u8],
    results: &mut [u8],
) -> Result<(), Error> {
    match kind {
        EngineKind::Interpreter => program
            .interpreter()
            .call(function, launch, scratch, args, results, &mut NoTrace)
            .map(drop)?,
        EngineKind::Native => program
            .native()?
            .call(function, launch, scratch, args, results)
            .map_err(misuse)??,
    }
    Ok(())
}

/// The runtime checks what users give before an engine sees it.
fn misuse(misuse: Misuse) -> Error {
    Internal::new(format!("native code was entered wrongly: {misuse}")).into()
}
