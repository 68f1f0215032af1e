//! The work of a kernel in OpenCL, on one thread, compiled by pocl with LLVM. OpenCL is loaded when the benches run.

use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_CPU, Device};
use opencl3::error_codes::ClError;
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem};
use opencl3::platform::{Platform, get_platforms};
use opencl3::program::Program;
use opencl3::types::CL_BLOCKING;
use ptxlift::testing::launch::{ArgValue, LaunchSpec};
use std::path::{Path, PathBuf};
use std::ptr;
use std::time::{Duration, Instant};

/// What pocl calls its platform.
const PLATFORM: &str = "Portable Computing Language";

/// pocl's device of one thread.
pub struct Pocl {
    queue: CommandQueue,
    context: Context,
    /// Of pocl and LLVM, in words.
    pub version: String,
}

impl Pocl {
    /// Loads OpenCL; `None`, with a word on standard error, where there is no pocl. To be called while the process has one thread:
    /// pocl is told by the environment what to do.
    pub fn load() -> Option<Self> {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pocl");
        // What an earlier run has left; there need be nothing.
        let _ = std::fs::remove_dir_all(&cache);
        let settings = [
            // The driver that runs all work-groups on the caller's thread.
            ("POCL_DEVICES", PathBuf::from("basic")),
            // Each time is cold.
            ("POCL_KERNEL_CACHE", PathBuf::from("0")),
            ("POCL_CACHE_DIR", cache),
            // It takes no signals from code that is measured beside it.
            ("POCL_SIGFPE_HANDLER", PathBuf::from("0")),
            ("POCL_SIGUSR2_HANDLER", PathBuf::from("0")),
        ];
        for (name, value) in settings {
            // SAFETY: no other thread reads or writes the environment: the caller has started none.
            unsafe { std::env::set_var(name, value) };
        }
        let connected = Self::connect();
        connected
            .map_err(|error| eprintln!("no pocl: {error}"))
            .ok()
    }

    /// # Errors
    /// What OpenCL says, and what it lacks.
    fn connect() -> Result<Self, String> {
        let platforms =
            get_platforms().map_err(|error| format!("no platform of OpenCL: {error}"))?;
        let mut platforms = platforms.into_iter();
        let platform = platforms.find(|p| p.name().is_ok_and(|name| name == PLATFORM));
        let platform = platform.ok_or("not among the platforms of OpenCL")?;
        let devices = platform.get_devices(CL_DEVICE_TYPE_CPU)?;
        let mut devices = devices.into_iter().map(Device::new);
        let device = devices.find(|d| d.max_compute_units().is_ok_and(|threads| threads == 1));
        let context = Context::from_device(&device.ok_or("no device of one thread")?)?;
        Ok(Pocl {
            queue: CommandQueue::create_default(&context, 0)?,
            context,
            version: version(&platform)?,
        })
    }

    /// Compiles a kernel for a launch whose arguments are as `spec` has them.
    ///
    /// # Errors
    /// What OpenCL says, with the compiler's messages.
    pub fn compile<'a>(
        &'a self,
        source: &str,
        spec: &'a LaunchSpec,
    ) -> Result<Compiled<'a>, String> {
        let buffers = contents(spec).map(|contents| self.buffer(contents.len()));
        let mut buffers = buffers.collect::<Result<Vec<_>, _>>()?;
        self.fill(&mut buffers, spec)?;
        let start = Instant::now();
        let program = Program::create_and_build_from_source(&self.context, source, "")?;
        let kernel = Kernel::create(&program, &spec.kernel)?;
        let mut compiled = Compiled {
            pocl: self,
            kernel,
            buffers,
            spec,
            compile_time: Duration::ZERO,
        };
        compiled.set_arguments()?;
        // pocl makes native code when it knows the size of the work-groups: in the first launch.
        compiled.enqueue([1; 3])?;
        compiled.compile_time = start.elapsed();
        Ok(compiled)
    }

    /// So many bytes.
    fn buffer(&self, bytes: usize) -> Result<Buffer<u8>, ClError> {
        // SAFETY: no memory of the caller's is used.
        unsafe { Buffer::create(&self.context, CL_MEM_READ_WRITE, bytes, ptr::null_mut()) }
    }

    /// Fills buffers with what they hold before a launch.
    fn fill(&self, buffers: &mut [Buffer<u8>], spec: &LaunchSpec) -> Result<(), ClError> {
        for (buffer, contents) in buffers.iter_mut().zip(contents(spec)) {
            // SAFETY: it ends before it returns, and the buffer was made for as many bytes.
            unsafe { (self.queue).enqueue_write_buffer(buffer, CL_BLOCKING, 0, contents, &[])? };
        }
        Ok(())
    }
}

/// `PoCL 3.1, LLVM 15.0.6`
fn version(platform: &Platform) -> Result<String, ClError> {
    let version = platform.version()?;
    let words = version.split([' ', ',']).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let named = |name: &str| {
        let mut pairs = words.windows(2).filter(|pair| pair[0] == name);
        pairs.next().map(|pair| pair.join(" "))
    };
    let parts: Vec<String> = ["PoCL", "LLVM"].into_iter().filter_map(named).collect();
    Ok(parts.join(", "))
}

/// What the buffers hold before a launch, in the order of the arguments.
fn contents(spec: &LaunchSpec) -> impl Iterator<Item = &[u8]> {
    spec.args.iter().filter_map(|arg| match &arg.value {
        ArgValue::Buffer { contents, .. } => Some(&contents[..]),
        ArgValue::Bytes(_) => None,
    })
}

/// A kernel that can be launched, with memory of its own.
pub struct Compiled<'a> {
    pocl: &'a Pocl,
    kernel: Kernel,
    buffers: Vec<Buffer<u8>>,
    spec: &'a LaunchSpec,
    /// From the text to the end of a launch of one work-group.
    pub compile_time: Duration,
}

impl Compiled<'_> {
    /// Gives the kernel its arguments.
    fn set_arguments(&self) -> Result<(), ClError> {
        let mut buffers = self.buffers.iter();
        for (index, arg) in (0..).zip(&self.spec.args) {
            match &arg.value {
                ArgValue::Buffer { .. } => {
                    let buffer = buffers.next().expect("one for each").get();
                    // SAFETY: the buffer lives as long as the kernel; OpenCL refuses what is not of the parameter's size.
                    unsafe { self.kernel.set_arg(index, &buffer)? };
                }
                ArgValue::Bytes(bytes) => {
                    let word: [u8; 4] = bytes[..].try_into().expect("a word");
                    // SAFETY: OpenCL refuses what is not of the parameter's size.
                    unsafe { self.kernel.set_arg(index, &word)? };
                }
            }
        }
        Ok(())
    }

    /// Launches so many work-groups, and waits for them.
    fn enqueue(&mut self, groups: [u32; 3]) -> Result<(), ClError> {
        let local = self.spec.block.map(|n| n as usize);
        let global: [usize; 3] = std::array::from_fn(|i| groups[i] as usize * local[i]);
        let (kernel, queue) = (self.kernel.get(), &self.pocl.queue);
        // SAFETY: the arguments are set, the arrays have a number for each of three dimensions, and no thread of the kernel leaves
        // the buffers in a launch of `spec`, nor in a part of it.
        let launched = unsafe {
            queue.enqueue_nd_range_kernel(
                kernel,
                3,
                ptr::null(),
                global.as_ptr(),
                local.as_ptr(),
                &[],
            )
        };
        launched?;
        queue.finish()
    }

    /// Launches; gives the time. Filling the buffers anew does not count.
    ///
    /// # Errors
    /// What OpenCL says.
    pub fn launch(&mut self) -> Result<Duration, ClError> {
        self.pocl.fill(&mut self.buffers, self.spec)?;
        let start = Instant::now();
        self.enqueue(self.spec.grid)?;
        Ok(start.elapsed())
    }

    /// What the buffers hold.
    ///
    /// # Errors
    /// What OpenCL says.
    pub fn read(&self) -> Result<Vec<Vec<u8>>, ClError> {
        let read = |(buffer, contents): (&Buffer<u8>, &[u8])| {
            let mut bytes = vec![0; contents.len()];
            // SAFETY: it ends before it returns, and there is room for all bytes of the buffer.
            unsafe {
                (self.pocl.queue).enqueue_read_buffer(buffer, CL_BLOCKING, 0, &mut bytes, &[])?;
            }
            Ok(bytes)
        };
        self.buffers
            .iter()
            .zip(contents(self.spec))
            .map(read)
            .collect()
    }
}
