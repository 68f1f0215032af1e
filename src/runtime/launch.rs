//! What a launch is asked to do, and what it says afterwards.

use super::cancel::Cancel;
use super::engine::EngineKind;
use super::output::Output;
use std::fmt;
use std::time::Duration;

/// Extent of a grid in blocks or of a block in threads. Made of a number, a pair, a triple or an array of three.
///
/// ```
/// use ptxlift::Dim;
/// assert_eq!(Dim::from((16, 8)), Dim { x: 16, y: 8, z: 1 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dim {
    /// `%nctaid.x`, `%ntid.x`
    pub x: u32,
    /// `.y`
    pub y: u32,
    /// `.z`
    pub z: u32,
}

impl Dim {
    /// x, y, z.
    pub fn to_array(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

impl From<u32> for Dim {
    fn from(x: u32) -> Self {
        Dim { x, y: 1, z: 1 }
    }
}

impl From<(u32, u32)> for Dim {
    fn from((x, y): (u32, u32)) -> Self {
        Dim { x, y, z: 1 }
    }
}

impl From<(u32, u32, u32)> for Dim {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Dim { x, y, z }
    }
}

impl From<[u32; 3]> for Dim {
    fn from([x, y, z]: [u32; 3]) -> Self {
        Dim { x, y, z }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {}, {})", self.x, self.y, self.z)
    }
}

/// What a launch is asked to do, its arguments apart.
///
/// ```
/// use ptxlift::{EngineKind, Launch};
/// let launch = Launch::grid(1024).block((16, 16)).shared(4096).engine(EngineKind::Interpreter);
/// ```
#[derive(Debug, Clone)]
pub struct Launch {
    pub(super) grid: Dim,
    pub(super) block: Dim,
    pub(super) cluster: Option<Dim>,
    pub(super) workers: usize,
    pub(super) shared: u32,
    pub(super) engine: Option<EngineKind>,
    pub(super) time_limit: Option<Option<Duration>>,
    pub(super) cancel: Option<Cancel>,
    pub(super) output: Option<Output>,
    pub(super) seed: Option<u64>,
}

impl Launch {
    /// So many blocks (clusters of blocks, for a kernel with `.blocksareclusters`), of one thread each until [`Launch::block`] says otherwise.
    pub fn grid(blocks: impl Into<Dim>) -> Self {
        Launch {
            grid: blocks.into(),
            block: Dim::from(1),
            cluster: None,
            workers: usize::MAX,
            shared: 0,
            engine: None,
            time_limit: None,
            cancel: None,
            output: None,
            seed: None,
        }
    }

    /// So many threads in each block.
    #[must_use]
    pub fn block(mut self, threads: impl Into<Dim>) -> Self {
        self.block = threads.into();
        self
    }

    /// So many blocks in each cluster, 16 at most: neighbours in the grid, which is a multiple of it in each direction. They run
    /// together, and reach each other's shared memory. If it is not said, it is what `.reqnctapercluster` of the kernel says, or
    /// one.
    #[must_use]
    pub fn cluster(mut self, blocks: impl Into<Dim>) -> Self {
        self.cluster = Some(blocks.into());
        self
    }

    /// So many threads of the host at most, instead of all that the engine has: 0 is taken for 1. With one, blocks begin in the
    /// order of their index.
    ///
    /// ```
    /// # let module = ptxlift::Module::parse("
    /// #     .version 8.0
    /// #     .target sm_80
    /// #     .address_size 64
    /// #     .entry wait() {
    /// #         .reg .b32 %r; .reg .pred %p;
    /// #         mov.u32 %r, 0;
    /// #     again: add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 100; @%p bra again; ret;
    /// #     }
    /// # ")?;
    /// # let device = ptxlift::Device::new(ptxlift::DeviceConfig::default())?;
    /// # let engine = ptxlift::Engine::new(ptxlift::EngineConfig::default().threads(2));
    /// # let kernel = engine.compile(&module)?.instantiate(&device)?.kernel("wait")?;
    /// use ptxlift::{Launch, args};
    /// let launch = Launch::grid(1000).block(64);
    /// assert_eq!(kernel.launch(launch.clone(), args![])?.workers, 2);
    /// assert_eq!(kernel.launch(launch.workers(1), args![])?.workers, 1);
    /// # Ok::<(), ptxlift::Error>(())
    /// ```
    #[must_use]
    pub fn workers(mut self, threads: usize) -> Self {
        self.workers = threads.max(1);
        self
    }

    /// Bytes of dynamic shared memory for each block.
    #[must_use]
    pub fn shared(mut self, bytes: u32) -> Self {
        self.shared = bytes;
        self
    }

    /// Who executes, instead of the engine's choice. Native code of a program that was compiled for the interpreter is
    /// made at the first launch that wants it.
    #[must_use]
    pub fn engine(mut self, kind: EngineKind) -> Self {
        self.engine = Some(kind);
        self
    }

    /// How long it may take, instead of the engine's limit; `None` for as long as it wants.
    #[must_use]
    pub fn time_limit(mut self, limit: Option<Duration>) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Lets `cancel` end it.
    #[must_use]
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = Some(cancel.clone());
        self
    }

    /// Follows another schedule than the canonical one, the same for the same seed: blocks, warps and groups of a warp's
    /// threads run in another order, one block at a time. `None` for the canonical one.
    #[must_use]
    pub fn seed(mut self, seed: Option<u64>) -> Self {
        self.seed = seed;
        self
    }

    /// Keeps what it prints in `output`, instead of writing it to standard output.
    #[must_use]
    pub fn output(mut self, output: &Output) -> Self {
        self.output = Some(output.clone());
        self
    }
}

/// What happened during a launch that went well.
///
/// ```
/// # let module = ptxlift::Module::parse("
/// #     .version 8.0
/// #     .target sm_80
/// #     .address_size 64
/// #     .entry twice(.param .u64 p) {
/// #         .reg .b64 %rd; .reg .b32 %r;
/// #         ld.param.u64 %rd, [p]; ld.global.u32 %r, [%rd]; shl.b32 %r, %r, 1; st.global.u32 [%rd], %r; ret;
/// #     }
/// # ")?;
/// # let device = ptxlift::Device::new(ptxlift::DeviceConfig::default())?;
/// # let instance = ptxlift::Engine::default().compile(&module)?.instantiate(&device)?;
/// use ptxlift::{EngineKind, Launch, args};
/// # let number = device.alloc_from(&[21u32])?;
/// let launch = Launch::grid(1).engine(EngineKind::Interpreter);
/// let report = instance.kernel("twice")?.launch(launch, args![&number])?;
/// assert_eq!((report.blocks, report.threads, report.steps), (1, 1, Some(5)));
/// println!("{:.1?}", report.run_time);
/// # Ok::<(), ptxlift::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Who executed.
    pub engine: EngineKind,
    /// Blocks that ran: all of the grid.
    pub blocks: u64,
    /// Threads that ran, in all blocks together.
    pub threads: u64,
    /// Threads of the host that the blocks were spread over, at most.
    pub workers: usize,
    /// Of those, the ones that ran a block: a short launch is over before all have come.
    pub busy_workers: usize,
    /// Blocks of the worker that ran most of them.
    pub most_blocks: u64,
    /// How long it took to compile the program, whenever that was; nothing for the interpreter.
    pub compile_time: Duration,
    /// How long the launch took, from the check of its arguments to its end, without compiling.
    pub run_time: Duration,
    /// Instructions that were executed, all threads together; only the interpreter counts.
    pub steps: Option<u64>,
}
