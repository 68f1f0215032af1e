//! `ptx_run`, as gpuocelot has it: a text is run, and compiled once however often it comes.

use crate::context::time_limit;
use crate::error::{self, Failure, caught, keep};
use crate::module::only_kernel;
use crate::text::string;
use lift::{
    Arg, Device, DeviceConfig, Engine, EngineConfig, Kernel, Launch, Module, ModuleConfig, Reading,
};
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Most texts that are kept compiled, and most bytes of them together.
const MOST_TEXTS: usize = 512;
const MOST_BYTES: usize = 64 << 20;
/// Seconds that a launch may take where `PTXLIFT_TIME_LIMIT` says nothing.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Compiled texts, by their content: callers use the same buffer for one text after the other.
#[derive(Debug, Default)]
struct Cache {
    kernels: HashMap<Arc<str>, Entry>,
    bytes: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    kernel: Kernel,
    used: u64,
}

impl Cache {
    fn get(&mut self, text: &str) -> Option<Kernel> {
        self.clock += 1;
        let entry = self.kernels.get_mut(text)?;
        entry.used = self.clock;
        Some(entry.kernel.clone())
    }

    /// Keeps a kernel; those that were not used for longest make room.
    fn put(&mut self, text: &str, kernel: Kernel) -> Vec<Entry> {
        let mut out = Vec::new();
        if text.len() > MOST_BYTES {
            return out;
        }
        while self.kernels.len() >= MOST_TEXTS || self.bytes + text.len() > MOST_BYTES {
            let oldest = self.kernels.iter().min_by_key(|(_, entry)| entry.used);
            let Some(oldest) = oldest.map(|(text, _)| Arc::clone(text)) else {
                break;
            };
            self.bytes -= oldest.len();
            out.extend(self.kernels.remove(&oldest));
        }
        self.clock += 1;
        let entry = Entry {
            kernel,
            used: self.clock,
        };
        match self.kernels.insert(Arc::from(text), entry) {
            // Another thread was first with the same text.
            Some(same) => out.push(same),
            None => self.bytes += text.len(),
        }
        out
    }
}

/// What all calls share.
struct Ocelot {
    engine: Engine,
    device: Device,
    cache: Mutex<Cache>,
}

/// Whether errors end the process.
fn aborts() -> bool {
    static ABORTS: OnceLock<bool> = OnceLock::new();
    *ABORTS.get_or_init(|| std::env::var_os("PTXLIFT_ABORT").is_some_and(|v| v != "0"))
}

fn shared() -> Result<&'static Ocelot, Failure> {
    static SHARED: OnceLock<Result<Ocelot, String>> = OnceLock::new();
    let made = SHARED.get_or_init(|| {
        let limit = match std::env::var("PTXLIFT_TIME_LIMIT") {
            Ok(text) => time_limit(&text).ok_or_else(|| {
                format!("PTXLIFT_TIME_LIMIT cannot be `{text}`: expected seconds or none")
            })?,
            Err(_) => Some(TIME_LIMIT),
        };
        let config = EngineConfig::default().tiered(true).time_limit(limit);
        // SAFETY: callers of `ptx_run` vouch for what their kernels do.
        let memory = unsafe { DeviceConfig::default().host_memory() };
        Ok(Ocelot {
            engine: Engine::new(config),
            device: Device::new(memory).map_err(|e| e.to_string())?,
            cache: Mutex::default(),
        })
    });
    made.as_ref().map_err(|e| Failure::usage(e.as_str()))
}

impl Ocelot {
    fn kernel(&self, text: &str) -> Result<Kernel, Failure> {
        let cache = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = cache().get(text) {
            return Ok(kernel);
        }
        // Callers compare with what NVIDIA's tools give.
        let config = ModuleConfig::default().reading(Reading::Nvidia);
        let module = match Module::parse_with(text, config.clone()) {
            Ok(module) => module,
            Err(refused) => Module::parse_with(within_isa(text).ok_or(refused)?, config)?,
        };
        let instance = self.engine.compile(&module)?.instantiate(&self.device)?;
        let kernel = only_kernel(&instance)?;
        // Code is freed after the cache is unlocked.
        let out = cache().put(text, kernel.clone());
        drop(out);
        Ok(kernel)
    }
}

/// A text that the ISA does not take, with such instructions of gpuocelot's as tinygrad writes for `double` made into those
/// of the ISA: `.f64` has no such approximations, so the results are the nearest ones. Nothing moves in its line.
fn within_isa(text: &str) -> Option<String> {
    const BEYOND: [(&str, &str); 2] = [
        ("rcp.approx.f64", "rcp.rn.f64    "),
        ("sqrt.approx.f64", "sqrt.rn.f64    "),
    ];
    let mut within = text.to_string();
    for (from, to) in BEYOND {
        let mut at = 0;
        while let Some(found) = within[at..].find(from) {
            let start = at + found;
            at = start + from.len();
            // Not the end of another word: `rsqrt`.
            let alone = !within[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            if alone {
                within.replace_range(start..at, to);
            }
        }
    }
    (within != text).then_some(within)
}

/// An extent of a grid or block.
fn extent(what: &str, extent: [c_int; 3]) -> Result<[u32; 3], Failure> {
    let mut out = [0; 3];
    for (to, from) in out.iter_mut().zip(extent) {
        *to = u32::try_from(from)
            .map_err(|_| Failure::usage(format!("a {what} cannot have an extent of {from}")))?;
    }
    Ok(out)
}

/// Runs the only kernel of a PTX text on a grid, and waits for its end: the entry point of gpuocelot that tinygrad's mock CUDA
/// calls. Instructions do as NVIDIA's tools have it where these depart from the text of the PTX ISA. Kernels reach all memory of the process by host addresses. Null pointers, misaligned addresses, and those
/// outside of shared, local and constant memory are errors all the same.
///
/// `args[i]` *is* the value of parameter i, an address or an integer, cut to the parameter's size; it does not point to
/// it. The same text may come again, at another address too: compiled kernels are kept by content, up to 512 texts.
/// Launches of few threads are interpreted, until compiling pays. Several threads may call it at once.
///
/// `rcp.approx.f64` and `sqrt.approx.f64`, which PTX lacks and tinygrad writes, give the nearest result.
///
/// What goes wrong is written to standard error, and `ptx_last_error` has it. With `PTXLIFT_ABORT` set in the
/// environment (and not 0) the process aborts then. `PTXLIFT_TIME_LIMIT` has the seconds that a launch may take, or `none`; 120
/// otherwise.
///
/// # Safety
/// `source` ends with a zero; `args` has `n_args` values; the kernel does nothing that the caller may not.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the signature is gpuocelot's")]
pub unsafe extern "C" fn ptx_run(
    source: *const c_char,
    n_args: c_int,
    args: *const *mut c_void,
    block_x: c_int,
    block_y: c_int,
    block_z: c_int,
    grid_x: c_int,
    grid_y: c_int,
    grid_z: c_int,
    shared_mem_size: c_int,
) {
    let done = caught(|| {
        // SAFETY: the caller vouches for it.
        let text = unsafe { string(source, "the source") }?;
        let ocelot = shared()?;
        let kernel = ocelot.kernel(text)?;
        let parameters = kernel.parameters();
        if usize::try_from(n_args) != Ok(parameters.len()) {
            return Err(Failure::usage(format!(
                "kernel `{}` has {} parameters, and {n_args} arguments were given",
                kernel.name(),
                parameters.len()
            )));
        }
        if args.is_null() && n_args != 0 {
            return Err(Failure::usage("the arguments are a null pointer"));
        }
        let mut values = Vec::with_capacity(parameters.len());
        for (index, parameter) in parameters.iter().enumerate() {
            // SAFETY: there are as many as parameters.
            let value = unsafe { args.add(index).read() }.addr() as u64;
            let bytes = value.to_le_bytes();
            let bytes = bytes.get(..parameter.size as usize).ok_or_else(|| {
                Failure::usage(format!(
                    "parameter {index} of kernel `{}` has {} bytes; values have 8 at most",
                    kernel.name(),
                    parameter.size
                ))
            })?;
            values.push(Arg::bytes(bytes));
        }
        let shared_bytes = u32::try_from(shared_mem_size)
            .map_err(|_| Failure::usage(format!("{shared_mem_size} bytes of shared memory")))?;
        let launch = Launch::grid(extent("grid", [grid_x, grid_y, grid_z])?)
            .block(extent("block", [block_x, block_y, block_z])?)
            .shared(shared_bytes);
        kernel.launch(launch, values)?;
        Ok(())
    });
    if let Err(failure) = done {
        keep(&failure.message);
        // Nobody may be there to read it.
        let _ = caught(|| {
            eprintln!("ptx_run: {}", failure.message);
            Ok(())
        });
        if aborts() {
            std::process::abort();
        }
    }
}

/// The message of the last `ptx_run` that failed on the calling thread; empty if none did. It is good until the next call on
/// this thread.
#[unsafe(no_mangle)]
pub extern "C" fn ptx_last_error() -> *const c_char {
    error::last()
}
