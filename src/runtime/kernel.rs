//! Kernels and their launches.

use super::args::{Arg, marshal};
use super::grid::Job;
use super::instance::Instance;
use super::launch::{Dim, Launch, Report};
use super::module::Parameter;
use super::output::Output;
use crate::error::{Error, Usage};
use crate::interp::{NoTrace, Trace};
use crate::ir::{self, FuncId};
use crate::machine::{self, Clusters, Host};

/// Most static and dynamic shared memory of a block: what an H100 has.
const SHARED_LIMIT: u64 = 227 * 1024;
/// Most blocks of a grid, and threads of a block, in each direction; most threads of a block. CUDA C++ Programming
/// Guide, "Technical Specifications per Compute Capability".
const GRID_LIMIT: [u32; 3] = [i32::MAX as u32, 65535, 65535];
const BLOCK_LIMIT: [u32; 3] = [1024, 1024, 64];
const THREAD_LIMIT: u64 = 1024;
/// Most blocks of a cluster: 8 on every GPU that has clusters, 16 where a kernel asks for it.
const CLUSTER_LIMIT: u64 = 16;

/// A kernel of an [`Instance`], which it keeps alive. Cloning it is cheap; several threads may launch it at once.
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
/// use ptxlift::{Launch, args};
/// let twice = instance.kernel("twice")?;
/// let parameters: Vec<String> = twice.parameters().iter().map(|p| p.to_string()).collect();
/// assert_eq!(parameters, [".u64 p"]);
/// let number = device.alloc_from(&[21u32])?;
/// twice.launch(Launch::grid(1).block(1), args![&number])?;
/// assert_eq!(number.to_vec()?, [42]);
/// # Ok::<(), ptxlift::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Kernel {
    instance: Instance,
    id: FuncId,
}

impl Kernel {
    pub(super) fn new(instance: Instance, id: FuncId) -> Self {
        Kernel { instance, id }
    }

    fn ir(&self) -> &ir::Function {
        &self.instance.ir().functions[self.id.index()]
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.ir().name
    }

    /// Its parameters in order.
    pub fn parameters(&self) -> Vec<Parameter> {
        self.ir().params.iter().map(Parameter::new).collect()
    }

    /// Whether its threads may have to be left before their end.
    #[cfg(feature = "cli")]
    pub(crate) fn suspends(&self) -> bool {
        self.instance.program().interpreter().suspends(self.id)
    }

    /// Whether what it leaves may depend on the order in which several workers run its blocks, which is not fixed.
    #[cfg(feature = "cli")]
    pub(crate) fn depends_on_workers(&self) -> bool {
        let program = self.instance.program();
        program.engine().pool().threads() > 1 && program.facts(self.id).meets
    }

    /// The instance that it belongs to.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Runs it for all threads of the grid, and waits for their end.
    ///
    /// Blocks begin in order of their index, spread over the engine's threads. All device memory that is alive now stays
    /// alive until the end. What kernels leave in memory does not depend on the number of threads, unless they race.
    ///
    /// # Errors
    /// [`Error::Usage`] for arguments that do not fit, or a grid, block or cluster that is out of range (PTX ISA, "Performance-Tuning
    /// Directives", and the limits of CUDA). [`Error::Fault`] for what a thread did wrong: of several, that of the
    /// block that comes first; memory is then what it happens to be.
    pub fn launch(&self, launch: Launch, args: impl AsRef<[Arg]>) -> Result<Report, Error> {
        self.run(launch, args.as_ref(), &mut NoTrace)
    }

    /// As [`Kernel::launch`]; the interpreter runs all threads in order on the calling thread, and `trace` sees each
    /// instruction.
    ///
    /// # Errors
    /// As [`Kernel::launch`].
    pub fn launch_traced(
        &self,
        launch: Launch,
        args: impl AsRef<[Arg]>,
        trace: &mut impl Trace,
    ) -> Result<Report, Error> {
        self.run(
            launch.engine(super::EngineKind::Interpreter),
            args.as_ref(),
            trace,
        )
    }

    fn run(&self, launch: Launch, args: &[Arg], trace: &mut impl Trace) -> Result<Report, Error> {
        let grid = self.check_dimensions(&launch)?;
        let program = self.instance.program();
        let threads = count(launch.grid).saturating_mul(count(launch.block));
        let kind = launch
            .engine
            .unwrap_or_else(|| program.tier(self.id, threads));
        program.require(self.id, kind)?;
        let kind = program.runs(self.id, kind);
        let device = self.instance.device();
        let params = marshal(self.instance.ir(), self.ir(), device, args)?;
        let host = Host {
            output: launch
                .output
                .as_ref()
                .map_or(machine::Output::Standard, Output::keep),
            heap: self.instance.heap(self.id)?,
        };
        Job::new(&self.instance, self.id, kind, &launch, grid, params, host).run(&launch, trace)
    }

    /// What is wrong with the extents of a launch.
    fn wrong<T>(&self, problem: String) -> Result<T, Error> {
        Err(Error::from(Usage::Dimensions {
            kernel: self.name().to_string(),
            problem,
        }))
    }

    /// The extent of the grid in blocks, and how it is divided.
    fn check_dimensions(&self, launch: &Launch) -> Result<([u32; 3], Clusters), Error> {
        let wrong = |problem: String| self.wrong(problem);
        let clusters = self.clusters(launch.cluster)?;
        let Launch { grid, block, .. } = launch;
        let mut blocks = grid.to_array();
        if self.ir().clusters.whole {
            for (blocks, shape) in blocks.iter_mut().zip(clusters.shape) {
                *blocks = blocks.saturating_mul(shape);
            }
        }
        let grid = &Dim::from(blocks);
        for (what, dim, limit) in [("grid", grid, GRID_LIMIT), ("block", block, BLOCK_LIMIT)] {
            let in_range = dim
                .to_array()
                .iter()
                .zip(limit)
                .all(|(&n, most)| (1..=most).contains(&n));
            if !in_range {
                let limit = Dim::from(limit);
                return wrong(format!(
                    "a {what} of {dim} is out of range: each from 1 to {limit}"
                ));
            }
        }
        if clusters.place(blocks) != [0; 3] {
            let shape = Dim::from(clusters.shape);
            return wrong(format!(
                "a grid of {grid} cannot be divided into clusters of {shape}"
            ));
        }
        let threads = count(*block);
        if threads > THREAD_LIMIT {
            return wrong(format!(
                "a block of {block} has {threads} threads, more than {THREAD_LIMIT}"
            ));
        }
        let limits = self.ir().threads;
        if let Some(required) = limits.required
            && required != block.to_array()
        {
            let required = Dim::from(required);
            return wrong(format!(
                "`.reqntid` wants a block of {required}, not {block}"
            ));
        }
        if let Some(max) = limits.max {
            let most = count(Dim::from(max));
            if threads > most {
                return wrong(format!(
                    "`.maxntid` allows {most} threads in a block, not {threads}"
                ));
            }
        }
        let fixed = u64::from(self.ir().shared_bytes);
        let dynamic = u64::from(launch.shared);
        if self.ir().shared_window(launch.shared) > SHARED_LIMIT {
            return Err(Usage::SharedMemory {
                kernel: self.name().to_string(),
                fixed,
                dynamic,
                limit: SHARED_LIMIT,
            }
            .into());
        }
        Ok((blocks, clusters))
    }

    /// How the kernel and a launch of it divide the grid.
    fn clusters(&self, given: Option<Dim>) -> Result<Clusters, Error> {
        let limits = self.ir().clusters;
        let required = limits.required.filter(|shape| !shape.contains(&0));
        if let (Some(required), Some(given)) = (required, given)
            && required != given.to_array()
        {
            let required = Dim::from(required);
            return self.wrong(format!(
                "`.reqnctapercluster` wants a cluster of {required}, not {given}"
            ));
        }
        let Some(shape) = given.or(required.map(Dim::from)) else {
            if limits.explicit {
                return self.wrong(
                    "`.explicitcluster` wants the launch to say how many blocks a cluster has"
                        .to_string(),
                );
            }
            return Ok(Clusters::ALONE);
        };
        let blocks = count(shape);
        if blocks == 0 || blocks > CLUSTER_LIMIT {
            return self.wrong(format!(
                "a cluster of {shape} has {blocks} blocks: from 1 to {CLUSTER_LIMIT}"
            ));
        }
        if let Some(most) = limits.most
            && blocks > most.into()
        {
            return self.wrong(format!(
                "`.maxclusterrank` allows {most} blocks in a cluster, not {blocks}"
            ));
        }
        Ok(Clusters {
            shape: shape.to_array(),
            explicit: true,
        })
    }
}

/// Elements of an extent.
fn count(dim: Dim) -> u64 {
    dim.to_array()
        .iter()
        .fold(1, |product: u64, &n| product.saturating_mul(u64::from(n)))
}
