//! Launches.

use crate::error::{Failure, PtxliftStatus, guard};
use crate::module::PtxliftKernel;
use crate::text::handle;
use lift::{Arg, Dim, EngineKind, Kernel, Launch};
use std::ffi::c_void;
use std::time::Duration;

/// What a launch is asked to do. All zeros mean one thread in one block, and everything else as the context says.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PtxliftLaunch {
    /// Blocks of the grid in x, y and z; 0 counts as 1.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z; 0 counts as 1.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory for each block.
    pub shared_bytes: u32,
    /// Who executes: 0 for the context's choice, 1 for the interpreter, 2 for native code.
    pub engine: u32,
    /// Seconds that it may take; 0 for the context's limit, a negative number for no limit.
    pub time_limit: f64,
}

/// An extent; 0 counts as 1.
fn dim(extent: [u32; 3]) -> Dim {
    Dim::from(extent.map(|n| n.max(1)))
}

impl PtxliftLaunch {
    fn launch(&self) -> Result<Launch, Failure> {
        let mut launch = Launch::grid(dim(self.grid))
            .block(dim(self.block))
            .shared(self.shared_bytes);
        match self.engine {
            0 => {}
            1 => launch = launch.engine(EngineKind::Interpreter),
            2 => launch = launch.engine(EngineKind::Native),
            other => return Err(Failure::usage(format!("there is no engine {other}"))),
        }
        if self.time_limit < 0.0 {
            launch = launch.time_limit(None);
        } else if self.time_limit != 0.0 {
            let limit = Duration::try_from_secs_f64(self.time_limit)
                .map_err(|_| Failure::usage(format!("{} is no time limit", self.time_limit)))?;
            launch = launch.time_limit(Some(limit));
        }
        Ok(launch)
    }
}

/// Arguments of a kernel from pointers to their values.
///
/// # Safety
/// `values` is null or points to `count` pointers, each of which may be read for the size of its parameter.
pub(crate) unsafe fn arguments(
    kernel: &Kernel,
    values: *const *const c_void,
    count: usize,
) -> Result<Vec<Arg>, Failure> {
    let parameters = kernel.parameters();
    if count != parameters.len() {
        return Err(Failure::usage(format!(
            "kernel `{}` has {} parameters, and {count} arguments were given",
            kernel.name(),
            parameters.len()
        )));
    }
    if values.is_null() && count != 0 {
        return Err(Failure::usage("the arguments are a null pointer"));
    }
    let mut args = Vec::with_capacity(count);
    for (index, parameter) in parameters.iter().enumerate() {
        // SAFETY: there are as many pointers as parameters.
        let value = unsafe { values.add(index).read() };
        if value.is_null() {
            return Err(Failure::usage(format!(
                "the pointer to argument {index} is null"
            )));
        }
        // SAFETY: the caller vouches for so many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(value.cast(), parameter.size as usize) };
        args.push(Arg::bytes(bytes));
    }
    Ok(args)
}

/// Runs a kernel for all threads of a grid, and waits for their end. `values` has a pointer to the value of each parameter, as
/// for `cuLaunchKernel`: a pointer parameter's value is an address, of a buffer, or of host memory if the context says so.
/// Several threads may launch a kernel at once.
///
/// # Safety
/// `kernel` came from `ptxlift_module_kernel`; `launch` may be read; `values` points to `count` pointers, each of which may be
/// read for the size of its parameter. In a context whose memory is `host` the kernel does nothing that the caller may not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_launch(
    kernel: *const PtxliftKernel,
    launch: *const PtxliftLaunch,
    values: *const *const c_void,
    count: usize,
) -> PtxliftStatus {
    guard(|| {
        // SAFETY: the caller vouches for it.
        let kernel = &unsafe { handle(kernel, "the kernel") }?.kernel;
        // SAFETY: the caller vouches for it.
        let launch = unsafe { handle(launch, "the launch") }?.launch()?;
        // SAFETY: the caller vouches for it.
        let args = unsafe { arguments(kernel, values, count) }?;
        kernel.launch(launch, args)?;
        Ok(())
    })
}
