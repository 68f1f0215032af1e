//! Compiled modules.

use super::backend;
use super::device::Device;
use super::engine::{Engine, EngineKind};
use super::facts::Facts;
use super::instance::Instance;
use super::module::Module;
use crate::error::Error;
use crate::interp::Interpreter;
use crate::ir::{self, FuncId};
use crate::jit::{Code, FunctionStats, Given, Stats};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Code of a [`Module`], ready to be given memory. Cloning it is cheap; the code is freed with the last handle of the
/// program and of everything made of it.
///
/// ```
/// # let module = ptxlift::Module::parse("
/// #     .version 8.0
/// #     .target sm_80
/// #     .address_size 64
/// #     .global .u32 counter = 5;
/// # ")?;
/// use ptxlift::{Device, DeviceConfig, Engine};
/// let program = Engine::default().compile(&module)?;
/// let device = Device::new(DeviceConfig::default())?;
/// let (one, two) = (program.instantiate(&device)?, program.instantiate(&device)?);
/// one.global("counter")?.write(&[6u32])?;
/// assert_eq!(two.global("counter")?.read::<u32>()?, [5], "variables of its own");
/// # Ok::<(), ptxlift::Error>(())
/// ```
#[derive(Clone)]
pub struct Program {
    shared: Arc<Shared>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("module", self.module())
            .finish_non_exhaustive()
    }
}

struct Shared {
    engine: Engine,
    module: Module,
    facts: Vec<OnceLock<Facts>>,
    interpreter: Interpreter,
    native: OnceLock<(Result<Code, Error>, Duration)>,
    /// Functions that native code has from elsewhere.
    given: Given,
}

impl Program {
    pub(super) fn compile(engine: Engine, module: &Module, given: Given) -> Result<Self, Error> {
        let kind = engine.config().kind;
        let program = Program {
            shared: Arc::new(Shared {
                engine,
                facts: module
                    .ir()
                    .functions
                    .iter()
                    .map(|_| OnceLock::new())
                    .collect(),
                interpreter: Interpreter::new(Arc::clone(module.ir())),
                module: module.clone(),
                native: OnceLock::new(),
                given,
            }),
        };
        match kind {
            EngineKind::Native => drop(program.native()?),
            EngineKind::Interpreter => {}
        }
        Ok(program)
    }

    /// Gives the module's variables a place on `device`, with their initial contents.
    ///
    /// # Errors
    /// [`Usage::OutOfMemory`](crate::error::Usage::OutOfMemory).
    pub fn instantiate(&self, device: &Device) -> Result<Instance, Error> {
        Instance::new(self, device)
    }

    /// The module that it was made of.
    pub fn module(&self) -> &Module {
        &self.shared.module
    }

    /// The engine that made it.
    pub fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    /// How long it took to make native code; nothing if that has not been done.
    pub fn compile_time(&self) -> Duration {
        self.shared
            .native
            .get()
            .map_or(Duration::ZERO, |(_, time)| *time)
    }

    /// What making native code took and gave; `None` if that has not been done.
    pub fn compile_stats(&self) -> Option<&Stats> {
        self.made().map(Code::stats)
    }

    /// What making native code of the kernel or function of this name took and gave; `None` if that has not been done, or
    /// it has none.
    pub fn function_stats(&self, name: &str) -> Option<FunctionStats> {
        self.made()?.function_stats(self.ir().function(name)?)
    }

    pub(super) fn ir(&self) -> &ir::Module {
        self.shared.module.ir()
    }

    pub(super) fn interpreter(&self) -> &Interpreter {
        &self.shared.interpreter
    }

    /// Its native code, made now if it is not there.
    pub(super) fn native(&self) -> Result<&Code, Error> {
        let (native, _) = self.shared.native.get_or_init(|| {
            let start = Instant::now();
            let native = backend::compile(
                self.shared.module.ir(),
                self.engine().config(),
                self.shared.given.clone(),
            );
            (native, start.elapsed())
        });
        native.as_ref().map_err(Clone::clone)
    }

    /// Its native code, if it has been made.
    pub(super) fn made(&self) -> Option<&Code> {
        let (native, _) = self.shared.native.get()?;
        native.as_ref().ok()
    }

    /// Whether a function can be run by an engine of this kind.
    pub(super) fn require(&self, function: FuncId, kind: EngineKind) -> Result<(), Error> {
        if let Some(unsupported) = &self.facts(function).unsupported {
            return Err(unsupported.clone().into());
        }
        match self.runs(function, kind) {
            EngineKind::Interpreter => Ok(()),
            EngineKind::Native => match backend::absent(self.ir(), function, self.native()?) {
                Some(error) => Err(error),
                None => Ok(()),
            },
        }
    }

    /// Who runs a function, if `kind` is asked for: what native code does not have yet
    /// ([`Absent::Interpreted`](crate::jit::Absent::Interpreted)) the interpreter runs.
    pub(super) fn runs(&self, function: FuncId, kind: EngineKind) -> EngineKind {
        match kind {
            EngineKind::Native if self.native().is_ok_and(|code| code.interpreted(function)) => {
                EngineKind::Interpreter
            }
            EngineKind::Native | EngineKind::Interpreter => kind,
        }
    }

    pub(super) fn facts(&self, function: FuncId) -> &Facts {
        self.shared.facts[function.index()].get_or_init(|| Facts::of(self.ir(), function))
    }
}
