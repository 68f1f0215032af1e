//! How programs are compiled and run.

use super::pool::Pool;
use super::{Module, Program, backend, instance};
use crate::error::Error;
use crate::jit::{Given, OptLevel, Stage};
use std::sync::Arc;
use std::time::Duration;

/// Most that [`EngineConfig`] takes.
const CALL_DEPTH: u32 = 16384;
const LOCAL_BYTES: u32 = 64 << 20;

/// Who executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum EngineKind {
    /// The reference: one instruction after the other.
    Interpreter,
    /// Native code, through Cranelift.
    #[default]
    Native,
}

/// What an [`Engine`] does and how far programs may go. Begin with `EngineConfig::default()` and chain what differs:
///
/// ```
/// use ptxlift::{Engine, EngineConfig, EngineKind};
/// use std::time::Duration;
/// let engine = Engine::new(
///     EngineConfig::default()
///         .kind(EngineKind::Interpreter)
///         .threads(1)
///         .time_limit(Some(Duration::from_secs(1))),
/// );
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct EngineConfig {
    pub(crate) kind: EngineKind,
    pub(crate) tiered: bool,
    pub(crate) opt_level: OptLevel,
    pub(crate) verify: bool,
    pub(crate) checked: bool,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) threads: usize,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) steps: u64,
    pub(crate) call_depth: u32,
    pub(crate) local_bytes: u32,
}

impl Default for EngineConfig {
    /// Optimised native code, as many threads as the machine runs at once, 10 seconds a launch.
    fn default() -> Self {
        EngineConfig {
            kind: EngineKind::default(),
            tiered: false,
            opt_level: OptLevel::default(),
            verify: cfg!(debug_assertions),
            checked: true,
            settings: Vec::new(),
            threads: 0,
            time_limit: Some(Duration::from_secs(10)),
            steps: u64::MAX,
            call_depth: 1024,
            local_bytes: 512 * 1024,
        }
    }
}

impl EngineConfig {
    /// Who executes, where a launch or function handle does not say otherwise.
    #[must_use]
    pub fn kind(mut self, kind: EngineKind) -> Self {
        self.kind = kind;
        self
    }

    /// Whether native code is made only when it pays: launches of few threads of a short kernel are then run by the
    /// interpreter, until together they would have cost more than compiling. Both give the same bits;
    /// [`Report::engine`](super::Report::engine) says who did it. It is for programs that launch many modules once.
    #[must_use]
    pub fn tiered(mut self, tiered: bool) -> Self {
        self.tiered = tiered;
        self
    }

    /// How much work goes into native code.
    #[must_use]
    pub fn opt_level(mut self, level: OptLevel) -> Self {
        self.opt_level = level;
        self
    }

    /// Whether Cranelift's verifier checks what it is given; by default in debug builds.
    #[must_use]
    pub fn verify(mut self, verify: bool) -> Self {
        self.verify = verify;
        self
    }

    /// A setting of Cranelift's, by name, of those that change neither what code computes nor what keeps it confined:
    /// [`cranelift_settings`](crate::cranelift_settings) lists them with their values. Others, and unknown ones, are told
    /// when a module is compiled. What is set here goes before [`EngineConfig::opt_level`] and [`EngineConfig::verify`];
    /// of several values for a name the last holds.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// How many threads of a kernel native code takes together, their values side by side in vectors: 4, 8, 16 or 32, or 1 for
    /// one thread after another; other numbers are told when a module is compiled. Where threads of whole warps do something together, the
    /// warp goes together, whichever it is.
    ///
    /// By default threads go one after another at first. Code in which they go together takes ten times as long to make, and is made of a kernel
    /// during or before a launch that is worth it, seen by how long it and those before it run.
    ///
    /// Results are the same, bit for bit, as far as they do not depend on the order in which threads come to atomics: those that go together
    /// do each instruction before any does the next. Kernels that call functions, or have local memory, are executed thread by thread whatever it says.
    ///
    /// Likewise, of several threads of a block that would fault another one may be reported.
    #[must_use]
    pub fn width(self, threads: u32) -> Self {
        self.setting(crate::jit::WIDTH, threads.to_string())
    }

    /// Leaves out the checks that confine native code to live device memory.
    ///
    /// # Safety
    /// No kernel or function that an engine of this configuration runs may access anything but live buffers, module
    /// variables and its own windows, within their bounds and aligned, and store to read-only memory.
    #[must_use]
    pub unsafe fn unchecked(mut self) -> Self {
        self.checked = false;
        self
    }

    /// Threads that share the blocks of a launch, the calling one included; 0 for as many as the machine runs at once.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// How long a launch or call may take before it ends in a fault; `None` for no limit.
    #[must_use]
    pub fn time_limit(mut self, limit: Option<Duration>) -> Self {
        self.time_limit = limit;
        self
    }

    /// Most instructions that the interpreter executes for one thread before it ends in a fault.
    #[must_use]
    pub fn steps(mut self, steps: u64) -> Self {
        self.steps = steps;
        self
    }

    /// Deepest nesting of calls before they end in a fault; no more than 16384.
    #[must_use]
    pub fn call_depth(mut self, depth: u32) -> Self {
        self.call_depth = depth.min(CALL_DEPTH);
        self
    }

    /// Bytes of `.local` memory that each thread has for all its frames together, with what `alloca` gives; no more than
    /// 64 MiB. 512 KiB by default, as on GPUs.
    #[must_use]
    pub fn local_bytes(mut self, bytes: u32) -> Self {
        self.local_bytes = bytes.min(LOCAL_BYTES);
        self
    }
}

/// Makes [`Program`]s of [`Module`]s. Cloning it is cheap; engines with the same number of threads share them.
///
/// ```
/// # let module = ptxlift::Module::parse("
/// #     .version 8.0
/// #     .target sm_80
/// #     .address_size 64
/// #     .entry k() { ret; }
/// # ")?;
/// use ptxlift::{Engine, EngineConfig, EngineKind};
/// let program = Engine::default().compile(&module)?;
/// assert!(program.compile_stats().is_some());
/// let interpreter = Engine::new(EngineConfig::default().kind(EngineKind::Interpreter));
/// assert!(interpreter.compile(&module)?.compile_stats().is_none(), "nothing was compiled");
/// # Ok::<(), ptxlift::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: EngineConfig,
    pool: Pool,
}

impl Engine {
    /// An engine so configured. Values that cannot be are told by [`Engine::compile`].
    pub fn new(config: EngineConfig) -> Self {
        let pool = Pool::new(config.threads);
        Engine {
            shared: Arc::new(Shared { config, pool }),
        }
    }

    /// The interpreter, otherwise as by default.
    pub fn interpreter() -> Self {
        Engine::new(EngineConfig::default().kind(EngineKind::Interpreter))
    }

    /// Threads that share the blocks of a launch, the calling one included.
    pub fn threads(&self) -> usize {
        self.shared.pool.threads()
    }

    /// Its configuration.
    pub fn config(&self) -> &EngineConfig {
        &self.shared.config
    }

    /// Compiles everything in a module that is supported. What is not is refused when it is asked for.
    ///
    /// # Errors
    /// [`Error::Usage`] for a configuration that cannot be, [`Error::Unsupported`] for a machine that Cranelift has no
    /// code for.
    pub fn compile(&self, module: &Module) -> Result<Program, Error> {
        Program::compile(self.clone(), module, Given::default())
    }

    /// As [`Engine::compile`]; but kernels and functions that stand in `clif`, in Cranelift's textual IR, become the
    /// native code that is made of that instead. It is meant for text that [`Engine::dump`] gave for
    /// [`Stage::Clif`], after an edit: the signatures are those of the dump, functions of the module are called `u0:N` as in
    /// the dump or `%NAME`. The interpreter, and what is not in the text, do as the module says.
    ///
    /// # Safety
    /// Nothing confines such code: when it is entered, with the arguments that it is given, it must access nothing but
    /// what the code that it stands for may access, must come back as that does, and must keep what the context holds.
    ///
    /// # Errors
    /// As [`Engine::compile`], and [`Usage::Clif`](crate::Usage::Clif) for text that is not Cranelift IR, functions that
    /// the module does not have or has with another signature, and what Cranelift's verifier refuses.
    #[cfg(feature = "clif")]
    pub unsafe fn compile_with_clif(&self, module: &Module, clif: &str) -> Result<Program, Error> {
        let given = backend::read_clif(module.ir(), self.config(), clif)?;
        Program::compile(self.clone(), module, given)
    }

    /// A kernel or function of `module` at a stage of its way to native code, as text for people to read.
    ///
    /// ```
    /// # let module = ptxlift::Module::parse("
    /// #     .version 8.0
    /// #     .target sm_80
    /// #     .address_size 64
    /// #     .func (.reg .u32 d) same(.reg .u32 a) { add.u32 d, a, 0; ret; }
    /// # ")?;
    /// use ptxlift::{Engine, EngineConfig, OptLevel, Stage};
    /// let engine = Engine::new(EngineConfig::default().opt_level(OptLevel::Speed));
    /// assert!(engine.dump(&module, "same", Stage::Clif)?.contains("iadd"));
    /// assert!(!engine.dump(&module, "same", Stage::Optimized)?.contains("iadd"));
    /// # Ok::<(), ptxlift::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Usage::NoSuchName`](crate::error::Usage::NoSuchName), and as [`Engine::compile`]; [`Error::Unsupported`] if it
    /// cannot be compiled.
    pub fn dump(&self, module: &Module, function: &str, stage: Stage) -> Result<String, Error> {
        let id = instance::find(module.ir(), function, None)?;
        backend::dump(module.ir(), self.config(), id, stage)
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.shared.pool
    }
}

impl Default for Engine {
    fn default() -> Self {
        Engine::new(EngineConfig::default())
    }
}
