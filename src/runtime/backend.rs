//! The two engines behind one face.

use super::engine::{EngineConfig, EngineKind};
use super::program::Program;
use super::value::describe;
use crate::error::{Error, Internal, Missing, Unsupported, Usage};
use crate::interp::{Interpreter, NoTrace, Resumable, Trace};
use crate::ir::{self, FuncId};
#[cfg(feature = "clif")]
use crate::jit::ReadError;
use crate::jit::{
    self, Absent, Code, CompileError, DumpError, Given, Misuse, Prepared, Settings, Stage,
};
use crate::machine::schedule::{Progress, Schedule, Shuffle, Standing};
use crate::machine::{Fault, Launch, Room, Scratch, Seat};
use std::sync::Arc;

/// Compiles a module.
pub(super) fn compile(
    module: &Arc<ir::Module>,
    config: &EngineConfig,
    given: Given,
) -> Result<Code, Error> {
    let settings = settings(config)?;
    Internal::catch("compiling a module", || {
        Code::compile(module, &settings, given)
    })?
    .map_err(|e| compile_error(module, e))
}

/// Reads functions of a module from Cranelift IR.
#[cfg(feature = "clif")]
pub(super) fn read_clif(
    module: &ir::Module,
    config: &EngineConfig,
    text: &str,
) -> Result<Given, Error> {
    let settings = settings(config)?;
    Internal::catch("reading Cranelift IR", || {
        jit::read(module, &settings, text)
    })?
    .map_err(|error| match error {
        ReadError::Text(error) => Usage::Clif {
            line: error.line,
            problem: error.message,
        }
        .into(),
        ReadError::Compile(error) => compile_error(module, error),
    })
}

/// A function at a stage of its way to native code.
pub(super) fn dump(
    module: &ir::Module,
    config: &EngineConfig,
    function: FuncId,
    stage: Stage,
) -> Result<String, Error> {
    let settings = settings(config)?;
    Internal::catch("compiling a function", || {
        jit::dump(module, &settings, function, stage)
    })?
    .map_err(|error| match error {
        DumpError::Absent(absent) => lacks(module, function, format!("native code: {absent}")),
        DumpError::Compile(error) => compile_error(module, error),
    })
}

fn settings(config: &EngineConfig) -> Result<Settings, Error> {
    let mut settings = Settings {
        opt_level: config.opt_level,
        checked: config.checked,
        verify: config.verify,
        ..Settings::default()
    };
    for (name, value) in &config.settings {
        jit::choose(&mut settings, name, value)
            .map_err(|problem| Usage::Configuration { problem })?;
    }
    Ok(settings)
}

fn compile_error(module: &ir::Module, error: CompileError) -> Error {
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
}

/// The error for a function that lacks something as a whole.
fn lacks(module: &ir::Module, function: FuncId, what: String) -> Error {
    let ir = &module.functions[function.index()];
    Unsupported {
        wanted_by: describe(ir),
        missing: vec![Missing::new(&module.source, ir.span, what, "size")],
    }
    .into()
}

/// Why there is no native code for a function whose instructions are all supported.
pub(super) fn absent(module: &ir::Module, function: FuncId, code: &Code) -> Option<Error> {
    let what = match code.absent(function)? {
        Absent::Calls(callee) => format!(
            "native code, and it calls `{}`, which has none: {}",
            module.functions[callee.index()].name,
            code.absent(callee)
                .map_or_else(String::new, |why| why.to_string())
        ),
        absent @ (Absent::Undefined
        | Absent::Unsupported
        | Absent::Interpreted
        | Absent::TooLarge { .. }
        | Absent::Limit) => {
            format!("native code: {absent}")
        }
    };
    Some(lacks(module, function, what))
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

    /// Whether threads may have to be left before they are over: [`Runner::begin_block`].
    pub(super) fn suspends(&self) -> bool {
        match self {
            Runner::Interpreter(interpreter, kernel, _) => interpreter.suspends(*kernel),
            Runner::Native(prepared) => prepared.stops(),
        }
    }

    /// Whether threads that never have to be left can be run in another order all the same.
    pub(super) fn can_shuffle(&self) -> bool {
        match self {
            Runner::Interpreter(..) => true,
            Runner::Native(_) => false,
        }
    }

    /// A CTA that may be left, with memory of its own out of `room`, its shared memory apart; `None` if there is not enough.
    pub(super) fn begin_block<'r>(
        &'r self,
        room: &'r Room,
        seat: Seat<'r>,
        block: [u32; 3],
        shuffle: Option<Shuffle>,
    ) -> Option<Resident<'r>> {
        match self {
            Runner::Interpreter(interpreter, kernel, launch) => interpreter
                .begin_block(*kernel, launch, room, seat, block, shuffle)
                .map(Resident::Interpreter),
            Runner::Native(prepared) => prepared
                .begin(room, seat, block, shuffle)
                .map(Resident::Native),
        }
    }

    /// Runs CTAs that never have to be left: the first, and then what `next` gives. Gives the number of executed instructions, 0 for native code. Only
    /// the interpreter traces.
    pub(super) fn run_blocks(
        &self,
        scratch: &Scratch,
        first: [u32; 3],
        mut next: impl FnMut() -> Option<[u32; 3]>,
        trace: &mut impl Trace,
    ) -> Result<u64, Fault> {
        match self {
            Runner::Interpreter(interpreter, kernel, launch) => {
                let mut steps = 0;
                let mut block = Some(first);
                while let Some(id) = block {
                    steps += interpreter.run_block(*kernel, launch, scratch, id, trace)?;
                    block = next();
                }
                Ok(steps)
            }
            Runner::Native(prepared) => prepared.run_blocks(scratch, first, next).map(|()| 0),
        }
    }
}

/// A CTA that has begun and is not over.
pub(super) enum Resident<'a> {
    Interpreter(Resumable<'a>),
    Native(jit::Resident<'a>),
}

impl<'a> Resident<'a> {
    /// Makes one that is over another CTA of the launch, in the same memory; `false` where that cannot be used again.
    pub(super) fn restart(&mut self, block: [u32; 3], shuffle: Option<Shuffle>) -> bool {
        match self {
            Resident::Interpreter(_) => false,
            Resident::Native(cta) => {
                cta.restart(block, shuffle);
                true
            }
        }
    }

    /// Runs it until it is over or should let others run. Native code may make one that is over what `next` gives, as
    /// [`Resident::restart`] does, and go on.
    pub(super) fn run(
        &mut self,
        trace: &mut impl Trace,
        next: impl FnMut() -> Option<[u32; 3]>,
    ) -> Result<Progress, Fault> {
        match self {
            Resident::Interpreter(cta) => cta.run(trace),
            Resident::Native(cta) => cta.run(next),
        }
    }

    /// Where its threads wait, none of which can go on.
    pub(super) fn standing(&mut self) -> Result<Standing, Fault> {
        match self {
            Resident::Interpreter(cta) => Ok(cta.standing()),
            Resident::Native(cta) => cta.standing(),
        }
    }

    /// How far its threads have come.
    pub(super) fn schedule(&mut self) -> &mut Schedule {
        match self {
            Resident::Interpreter(cta) => cta.schedule(),
            Resident::Native(cta) => cta.schedule(),
        }
    }

    /// `%ctaid`
    pub(super) fn block(&self) -> [u32; 3] {
        match self {
            Resident::Interpreter(cta) => cta.block(),
            Resident::Native(cta) => cta.block(),
        }
    }

    /// Lets it know which CTAs of its cluster are over, ranks as bits.
    pub(super) fn others_are_over(&mut self, over: u32) {
        match self {
            Resident::Interpreter(cta) => cta.others_are_over(over),
            Resident::Native(cta) => cta.others_are_over(over),
        }
    }

    /// Instructions that were executed, 0 for native code.
    pub(super) fn steps(&self) -> u64 {
        match self {
            Resident::Interpreter(cta) => cta.steps(),
            Resident::Native(_) => 0,
        }
    }
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
