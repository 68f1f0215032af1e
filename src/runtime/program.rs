//! Compiled modules.

use super::backend;
use super::device::Device;
use super::engine::{Engine, EngineKind};
use super::facts::Facts;
use super::instance::Instance;
use super::module::Module;
use super::pace::Pace;
use crate::error::Error;
use crate::interp::Interpreter;
use crate::ir::{self, FuncId};
use crate::jit::{Code, FunctionStats, Given, Stats};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// What compiling costs, in instructions that the interpreter executes meanwhile: for a module and for each instruction.
const COMPILING: u64 = 8_000;
const COMPILING_INSTRUCTION: u64 = 300;

/// Instructions of a thread that native code executes in a nanosecond, about.
const INSTRUCTIONS: u64 = 2;

/// How many times as long as making it takes has to be spent without code in which threads go together: it halves the time, about.
pub(super) const GAIN: u32 = 2;

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
    /// About how many instructions of each kernel the interpreter has been given under [`EngineConfig::tiered`](super::EngineConfig::tiered).
    interpreted: Vec<AtomicU64>,
    interpreter: Interpreter,
    native: OnceLock<(Result<Code, Error>, Duration)>,
    /// Nanoseconds that native code has run for launches of each kernel.
    spent: Vec<AtomicU64>,
    /// How fast they were.
    paces: Vec<Mutex<Pace>>,
    /// Functions that native code has from elsewhere.
    given: Given,
}

impl Program {
    pub(super) fn compile(engine: Engine, module: &Module, given: Given) -> Result<Self, Error> {
        let config = engine.config();
        let at_once = config.kind == EngineKind::Native && !config.tiered;
        let program = Program {
            shared: Arc::new(Shared {
                engine,
                facts: module
                    .ir()
                    .functions
                    .iter()
                    .map(|_| OnceLock::new())
                    .collect(),
                interpreted: module
                    .ir()
                    .functions
                    .iter()
                    .map(|_| AtomicU64::new(0))
                    .collect(),
                spent: module
                    .ir()
                    .functions
                    .iter()
                    .map(|_| AtomicU64::new(0))
                    .collect(),
                paces: module
                    .ir()
                    .functions
                    .iter()
                    .map(|_| Mutex::default())
                    .collect(),
                interpreter: Interpreter::new(Arc::clone(module.ir())),
                module: module.clone(),
                native: OnceLock::new(),
                given,
            }),
        };
        if at_once {
            program.native()?;
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

    /// How long it took to make native code, that of kernels whose threads [go together](super::EngineConfig::width) included; nothing if that
    /// has not been done.
    pub fn compile_time(&self) -> Duration {
        let at_once = self.shared.native.get();
        let later = self.made().map_or(Duration::ZERO, Code::later_time);
        at_once.map_or(Duration::ZERO, |(_, time)| *time) + later
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

    /// Who runs a launch of so many threads that leaves the choice to the engine.
    pub(super) fn tier(&self, function: FuncId, threads: u64) -> EngineKind {
        let config = self.engine().config();
        let facts = self.facts(function);
        let chosen = config.kind == EngineKind::Interpreter || !config.tiered;
        // How often a loop goes round is not known.
        if chosen || facts.unbounded || self.made().is_some() {
            return config.kind;
        }
        let work = threads.saturating_mul(facts.instructions);
        let counter = &self.shared.interpreted[function.index()];
        let before = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
            Some(n.saturating_add(work))
        });
        let before = before.unwrap_or_else(|n| n);
        let pays = COMPILING + COMPILING_INSTRUCTION * facts.instructions;
        if before.saturating_add(work) > pays {
            EngineKind::Native
        } else {
            EngineKind::Interpreter
        }
    }

    /// Before a launch of so many threads, `rows` in x in each block: makes native code in which they go together, if with the launches before it this one is worth it.
    pub(super) fn widen(&self, kernel: FuncId, rows: u32, threads: u64) {
        let Some(code) = self.made() else { return };
        let Some(takes) = code.widening_takes(kernel) else {
            return;
        };
        // How often a loop goes round is not known.
        let work = threads.saturating_mul(self.facts(kernel).instructions) / INSTRUCTIONS;
        let spent = self.shared.spent[kernel.index()].load(Ordering::Relaxed);
        if Duration::from_nanos(spent.saturating_add(work)) > takes * GAIN {
            code.make_wide(kernel, rows);
        }
    }

    /// Notes how long native code ran for a launch of a kernel, all workers together.
    pub(super) fn spend(&self, kernel: FuncId, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let spent = &self.shared.spent[kernel.index()];
        // So much that a sum of it is none that wraps around.
        spent.fetch_add(time.min(1 << 40), Ordering::Relaxed);
    }

    /// Notes how long a launch of a size took, all threads of which went together, or none.
    pub(super) fn pace(&self, kernel: FuncId, size: [[u32; 3]; 2], together: bool, time: Duration) {
        let pace = &self.shared.paces[kernel.index()];
        let slower = {
            let mut pace = pace.lock().unwrap_or_else(PoisonError::into_inner);
            pace.note(size, together, time)
        };
        if let Some(code) = self.made().filter(|_| slower) {
            code.give_up_wide(kernel);
        }
    }

    pub(super) fn facts(&self, function: FuncId) -> &Facts {
        self.shared.facts[function.index()].get_or_init(|| Facts::of(self.ir(), function))
    }
}
