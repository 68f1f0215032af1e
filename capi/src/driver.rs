//! A part of the CUDA driver API: enough for programs that load a PTX text, copy, and launch.
//!
//! One device, `ptxlift`. Kernels reach what `cuMemAlloc` gave and module variables, and everything else is an error, as on a GPU.
//! All calls are synchronous; streams are there in name. Handles are numbers, so that a stale one is an error too. Names
//! and numbers are those of `cuda.h`; `ptxlift_last_error` has the message behind a result.

mod memory;

use crate::context::{bytes_mut, bytes_of, time_limit};
use crate::error::{Failure, PtxliftStatus, caught, keep};
use crate::launch::arguments;
use crate::text::string;
use lift::{
    Buffer, Device, DeviceConfig, Engine, EngineConfig, FaultKind, Instance, Kernel, Launch,
    Module, ModuleConfig, Reading,
};
use memory::Constants;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// `CUresult`
type CuResult = c_uint;
/// `CUdeviceptr`
type CuDevicePtr = u64;
/// `CUcontext`, `CUmodule`, `CUfunction`, `CUstream`: a number as a pointer.
type CuHandle = *mut c_void;

const SUCCESS: CuResult = 0;
const INVALID_VALUE: CuResult = 1;
const OUT_OF_MEMORY: CuResult = 2;
const INVALID_DEVICE: CuResult = 101;
const INVALID_PTX: CuResult = 218;
const INVALID_HANDLE: CuResult = 400;
const NOT_FOUND: CuResult = 500;
const ILLEGAL_ADDRESS: CuResult = 700;
const LAUNCH_TIMEOUT: CuResult = 702;
const ASSERT: CuResult = 710;
const HARDWARE_STACK_ERROR: CuResult = 714;
const MISALIGNED_ADDRESS: CuResult = 716;
const INVALID_PC: CuResult = 718;
const LAUNCH_FAILED: CuResult = 719;
const NOT_SUPPORTED: CuResult = 801;
const UNKNOWN: CuResult = 999;

/// Results with their names and what they mean.
const RESULTS: &[(CuResult, &CStr, &CStr)] = &[
    (SUCCESS, c"CUDA_SUCCESS", c"no error"),
    (
        INVALID_VALUE,
        c"CUDA_ERROR_INVALID_VALUE",
        c"invalid argument",
    ),
    (OUT_OF_MEMORY, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
    (
        INVALID_DEVICE,
        c"CUDA_ERROR_INVALID_DEVICE",
        c"invalid device ordinal",
    ),
    (
        INVALID_PTX,
        c"CUDA_ERROR_INVALID_PTX",
        c"a PTX JIT compilation failed",
    ),
    (
        INVALID_HANDLE,
        c"CUDA_ERROR_INVALID_HANDLE",
        c"invalid resource handle",
    ),
    (
        NOT_FOUND,
        c"CUDA_ERROR_NOT_FOUND",
        c"named symbol not found",
    ),
    (
        ILLEGAL_ADDRESS,
        c"CUDA_ERROR_ILLEGAL_ADDRESS",
        c"an illegal memory access was encountered",
    ),
    (
        LAUNCH_TIMEOUT,
        c"CUDA_ERROR_LAUNCH_TIMEOUT",
        c"the launch timed out and was terminated",
    ),
    (
        ASSERT,
        c"CUDA_ERROR_ASSERT",
        c"device-side assert triggered",
    ),
    (
        HARDWARE_STACK_ERROR,
        c"CUDA_ERROR_HARDWARE_STACK_ERROR",
        c"hardware stack error",
    ),
    (
        MISALIGNED_ADDRESS,
        c"CUDA_ERROR_MISALIGNED_ADDRESS",
        c"misaligned address",
    ),
    (
        INVALID_PC,
        c"CUDA_ERROR_INVALID_PC",
        c"invalid program counter",
    ),
    (
        LAUNCH_FAILED,
        c"CUDA_ERROR_LAUNCH_FAILED",
        c"unspecified launch failure",
    ),
    (
        NOT_SUPPORTED,
        c"CUDA_ERROR_NOT_SUPPORTED",
        c"operation not supported",
    ),
    (UNKNOWN, c"CUDA_ERROR_UNKNOWN", c"unknown error"),
];

/// What the driver has.
struct Driver {
    engine: Engine,
    device: Device,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The last handle that was given out.
    last: usize,
    contexts: Vec<usize>,
    streams: Vec<usize>,
    modules: HashMap<usize, Instance>,
    functions: HashMap<usize, Function>,
    memory: HashMap<u64, Buffer<u8>>,
    constants: Constants,
}

#[derive(Clone)]
struct Function {
    module: usize,
    kernel: Kernel,
}

/// A result with its message.
#[derive(Debug)]
struct Wrong(CuResult, String);

fn wrong<T>(result: CuResult, message: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong(result, message.into()))
}

impl From<Failure> for Wrong {
    fn from(failure: Failure) -> Self {
        let result = match (failure.status, failure.fault) {
            (_, Some(kind)) => match kind {
                FaultKind::OutOfBounds | FaultKind::ReadOnly => ILLEGAL_ADDRESS,
                FaultKind::Misaligned => MISALIGNED_ADDRESS,
                FaultKind::TimeLimit => LAUNCH_TIMEOUT,
                FaultKind::Assertion => ASSERT,
                FaultKind::StackOverflow => HARDWARE_STACK_ERROR,
                FaultKind::BadCall => INVALID_PC,
                _ => LAUNCH_FAILED,
            },
            (PtxliftStatus::Ok, None) => SUCCESS,
            (PtxliftStatus::Text, None) => INVALID_PTX,
            (PtxliftStatus::Usage, None) => INVALID_VALUE,
            (PtxliftStatus::Unsupported, None) => NOT_SUPPORTED,
            (PtxliftStatus::Fault, None) => LAUNCH_FAILED,
            (PtxliftStatus::Internal, None) => UNKNOWN,
        };
        Wrong(result, failure.message)
    }
}

impl From<lift::Error> for Wrong {
    fn from(error: lift::Error) -> Self {
        let result = match &error {
            lift::Error::Usage(usage) => match **usage {
                lift::Usage::OutOfMemory { .. } | lift::Usage::HostMemory { .. } => {
                    Some(OUT_OF_MEMORY)
                }
                lift::Usage::NoSuchName { .. } => Some(NOT_FOUND),
                _ => None,
            },
            _ => None,
        };
        let Wrong(general, message) = Failure::from(error).into();
        Wrong(result.unwrap_or(general), message)
    }
}

/// The driver; made by whatever is called first.
fn driver() -> Result<&'static Driver, Wrong> {
    static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();
    let made = DRIVER.get_or_init(|| {
        let limit = match std::env::var("PTXLIFT_TIME_LIMIT") {
            Ok(text) => {
                time_limit(&text).ok_or_else(|| format!("PTXLIFT_TIME_LIMIT cannot be `{text}`"))?
            }
            Err(_) => Some(Duration::from_secs(120)),
        };
        let config = EngineConfig::default().tiered(true).time_limit(limit);
        Ok(Driver {
            engine: Engine::new(config),
            device: Device::new(DeviceConfig::default()).map_err(|e| e.to_string())?,
            state: Mutex::default(),
        })
    });
    made.as_ref().map_err(|e| Wrong(UNKNOWN, e.clone()))
}

impl Driver {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn handle(&mut self) -> usize {
        // The default streams have 0, 1 and 2.
        self.last = self.last.max(2) + 1;
        self.last
    }
}

/// The result of what `f` does; its message is kept.
fn run(f: impl FnOnce(&'static Driver) -> Result<(), Wrong>) -> CuResult {
    let done = caught(|| Ok(driver().and_then(f)));
    let Err(Wrong(result, message)) = done.unwrap_or_else(|failure| Err(failure.into())) else {
        return SUCCESS;
    };
    keep(&message);
    result
}

/// Writes a result, which must have a place.
///
/// # Safety
/// `place` is null or may be written.
unsafe fn write<T>(place: *mut T, value: T) -> Result<(), Wrong> {
    if place.is_null() {
        return wrong(INVALID_VALUE, "the place for the result is a null pointer");
    }
    // SAFETY: the caller vouches for it.
    unsafe { place.write(value) };
    Ok(())
}

fn only_device(ordinal: c_int) -> Result<(), Wrong> {
    match ordinal {
        0 => Ok(()),
        other => wrong(INVALID_DEVICE, format!("there is no device {other}")),
    }
}

fn handle(number: usize) -> CuHandle {
    std::ptr::without_provenance_mut(number)
}

/// `cuInit`
#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: c_uint) -> CuResult {
    run(|_| match flags {
        0 => Ok(()),
        other => wrong(INVALID_VALUE, format!("cuInit has no flags {other:#x}")),
    })
}

/// `cuDriverGetVersion`: that of CUDA 12.8, whose PTX is 8.7.
///
/// # Safety
/// `version` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> CuResult {
    // SAFETY: the caller vouches for it.
    run(|_| unsafe { write(version, 12080) })
}

/// `cuDeviceGetCount`: 1.
///
/// # Safety
/// `count` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> CuResult {
    // SAFETY: the caller vouches for it.
    run(|_| unsafe { write(count, 1) })
}

/// `cuDeviceGet`
///
/// # Safety
/// `device` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> CuResult {
    run(|_| {
        only_device(ordinal)?;
        // SAFETY: the caller vouches for it.
        unsafe { write(device, 0) }
    })
}

/// `cuDeviceGetName`
///
/// # Safety
/// `name` may be written for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int) -> CuResult {
    run(|_| {
        only_device(device)?;
        let len = usize::try_from(len).unwrap_or(0);
        // SAFETY: the caller vouches for it.
        let name = unsafe { bytes_mut(name.cast(), len) }?;
        let text = b"ptxlift";
        let kept = text.len().min(name.len().saturating_sub(1));
        name.fill(0);
        name[..kept].copy_from_slice(&text[..kept]);
        Ok(())
    })
}

/// `cuDeviceGetAttribute`, as far as an attribute means something here; 0 for the others.
///
/// # Safety
/// `value` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(
    value: *mut c_int,
    attribute: c_uint,
    device: c_int,
) -> CuResult {
    run(|driver| {
        only_device(device)?;
        let answer = match attribute {
            // Threads of a block, and of its x and y; its z.
            1..=3 => 1024,
            4 => 64,
            // Blocks of a grid in x, y, z.
            5 => c_int::MAX,
            6 | 7 => 65535,
            // Shared memory of a block; with opt-in.
            8 => 48 * 1024,
            97 => 227 * 1024,
            // Constant memory; threads of a warp; registers.
            9 => 64 * 1024,
            10 => 32,
            12 => 65536,
            // Multiprocessors.
            16 => c_int::try_from(driver.engine.threads()).unwrap_or(1),
            // Unified addressing; compute capability.
            41 => 1,
            75 => 9,
            76 => 0,
            _ => 0,
        };
        // SAFETY: the caller vouches for it.
        unsafe { write(value, answer) }
    })
}

/// `cuDeviceTotalMem_v2`
///
/// # Safety
/// `bytes` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) -> CuResult {
    run(|driver| {
        only_device(device)?;
        let total = driver.device.memory_limit() as usize;
        // SAFETY: the caller vouches for it.
        unsafe { write(bytes, total) }
    })
}

/// `cuCtxCreate_v2`
///
/// # Safety
/// `context` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxCreate_v2(
    context: *mut CuHandle,
    _flags: c_uint,
    device: c_int,
) -> CuResult {
    run(|driver| {
        only_device(device)?;
        let mut state = driver.state();
        let number = state.handle();
        // SAFETY: the caller vouches for it.
        unsafe { write(context, handle(number)) }?;
        state.contexts.push(number);
        Ok(())
    })
}

/// `cuCtxDestroy_v2`: with the last context go modules and memory.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxDestroy_v2(context: CuHandle) -> CuResult {
    run(|driver| {
        let mut state = driver.state();
        let at = state.contexts.iter().position(|c| *c == context.addr());
        let Some(at) = at else {
            return wrong(INVALID_HANDLE, "there is no such context");
        };
        state.contexts.remove(at);
        if state.contexts.is_empty() {
            let last = state.last;
            let all = std::mem::take(&mut *state);
            state.last = last;
            drop(state);
            drop(all);
        }
        Ok(())
    })
}

/// `cuCtxSynchronize`: everything is done already.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize() -> CuResult {
    SUCCESS
}

/// `cuModuleLoadData`: a PTX text that ends with a zero, read as NVIDIA's tools do.
///
/// # Safety
/// `module` may be written; `image` ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(module: *mut CuHandle, image: *const c_void) -> CuResult {
    run(|driver| {
        // SAFETY: the caller vouches for it.
        let text = unsafe { string(image.cast(), "the image") }?;
        let config = ModuleConfig::default().reading(Reading::Nvidia);
        let parsed = Module::parse_with(text, config)?;
        for kernel in parsed.functions() {
            if let Some(missing) = kernel.unsupported().next() {
                return wrong(NOT_SUPPORTED, format!("unsupported: {missing}"));
            }
        }
        let instance = driver
            .engine
            .compile(&parsed)?
            .instantiate(&driver.device)?;
        let mut state = driver.state();
        let number = state.handle();
        // SAFETY: the caller vouches for it.
        unsafe { write(module, handle(number)) }?;
        state.modules.insert(number, instance);
        Ok(())
    })
}

/// `cuModuleLoadDataEx`: its options change nothing.
///
/// # Safety
/// As [`cuModuleLoadData`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut CuHandle,
    image: *const c_void,
    _count: c_uint,
    _options: *mut c_uint,
    _values: *mut *mut c_void,
) -> CuResult {
    // SAFETY: the caller vouches for it.
    unsafe { cuModuleLoadData(module, image) }
}

/// `cuModuleUnload`
#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: CuHandle) -> CuResult {
    run(|driver| {
        let mut state = driver.state();
        let Some(instance) = state.modules.remove(&module.addr()) else {
            return wrong(INVALID_HANDLE, "there is no such module");
        };
        let mut gone = Vec::new();
        let functions = &mut state.functions;
        let stale: Vec<usize> = functions
            .iter()
            .filter(|(_, f)| f.module == module.addr())
            .map(|(number, _)| *number)
            .collect();
        for number in stale {
            gone.extend(functions.remove(&number));
        }
        // Code is freed after the state is unlocked.
        let constants = state.constants.of(module.addr());
        drop(state);
        drop((instance, gone, constants));
        Ok(())
    })
}

impl Driver {
    fn module(&self, module: CuHandle) -> Result<Instance, Wrong> {
        match self.state().modules.get(&module.addr()) {
            Some(instance) => Ok(instance.clone()),
            None => wrong(INVALID_HANDLE, "there is no such module"),
        }
    }
}

/// `cuModuleGetFunction`
///
/// # Safety
/// `function` may be written; `name` ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    function: *mut CuHandle,
    module: CuHandle,
    name: *const c_char,
) -> CuResult {
    run(|driver| {
        // SAFETY: the caller vouches for it.
        let name = unsafe { string(name, "the name") }?;
        let kernel = driver.module(module)?.kernel(name)?;
        let mut state = driver.state();
        let number = state.handle();
        // SAFETY: the caller vouches for it.
        unsafe { write(function, handle(number)) }?;
        let module = module.addr();
        state.functions.insert(number, Function { module, kernel });
        Ok(())
    })
}

/// `cuModuleGetGlobal_v2`; either place may be null.
///
/// # Safety
/// `address` and `bytes` are null or may be written; `name` ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetGlobal_v2(
    address: *mut CuDevicePtr,
    bytes: *mut usize,
    module: CuHandle,
    name: *const c_char,
) -> CuResult {
    run(|driver| {
        // SAFETY: the caller vouches for it.
        let name = unsafe { string(name, "the name") }?;
        let variable = driver.module(module)?.global(name)?;
        let size = variable.bytes() as usize;
        // SAFETY: the caller vouches for it.
        if let Some(address) = unsafe { address.as_mut() } {
            *address = driver.address_of(module.addr(), variable);
        }
        // SAFETY: the caller vouches for it.
        if let Some(bytes) = unsafe { bytes.as_mut() } {
            *bytes = size;
        }
        Ok(())
    })
}

/// `cuMemAlloc_v2`
///
/// # Safety
/// `address` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(address: *mut CuDevicePtr, bytes: usize) -> CuResult {
    run(|driver| {
        if bytes == 0 {
            return wrong(INVALID_VALUE, "0 bytes are no memory");
        }
        let buffer = driver.device.alloc_zeroed::<u8>(bytes)?;
        let at = buffer.address().0;
        // SAFETY: the caller vouches for it.
        unsafe { write(address, at) }?;
        driver.state().memory.insert(at, buffer);
        Ok(())
    })
}

/// `cuMemFree_v2`
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: CuDevicePtr) -> CuResult {
    run(|driver| {
        let freed = driver.state().memory.remove(&address);
        match freed {
            Some(_) => Ok(()),
            None if address == 0 => Ok(()),
            None => wrong(
                INVALID_VALUE,
                format!("nothing was allocated at {address:#x}"),
            ),
        }
    })
}

/// `cuMemGetInfo_v2`
///
/// # Safety
/// `free` and `total` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> CuResult {
    run(|driver| {
        let limit = driver.device.memory_limit();
        let used = driver.device.memory_used();
        // SAFETY: the caller vouches for it.
        unsafe { write(free, limit.saturating_sub(used) as usize) }?;
        // SAFETY: the caller vouches for it.
        unsafe { write(total, limit as usize) }
    })
}

/// `cuMemcpyHtoD_v2`
///
/// # Safety
/// `from` may be read for so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoD_v2(
    to: CuDevicePtr,
    from: *const c_void,
    bytes: usize,
) -> CuResult {
    run(|driver| {
        // SAFETY: the caller vouches for it.
        let from = unsafe { bytes_of(from, bytes) }?;
        driver.write(to, from)
    })
}

/// `cuMemcpyDtoH_v2`
///
/// # Safety
/// `to` may be written for so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoH_v2(
    to: *mut c_void,
    from: CuDevicePtr,
    bytes: usize,
) -> CuResult {
    run(|driver| {
        // SAFETY: the caller vouches for it.
        let to = unsafe { bytes_mut(to, bytes) }?;
        driver.read(from, to)
    })
}

/// `cuMemcpyDtoD_v2`
#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoD_v2(to: CuDevicePtr, from: CuDevicePtr, bytes: usize) -> CuResult {
    run(|driver| driver.copy(to, from, bytes))
}

/// `cuMemsetD8_v2`
#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8_v2(to: CuDevicePtr, value: u8, count: usize) -> CuResult {
    run(|driver| driver.fill(to, &[value], count))
}

/// `cuMemsetD32_v2`
#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD32_v2(to: CuDevicePtr, value: c_uint, count: usize) -> CuResult {
    run(|driver| driver.fill(to, &value.to_le_bytes(), count))
}

/// `cuLaunchKernel`: runs the kernel and waits for its end, so that what it does wrong is its result. Arguments through
/// `extra` are not supported.
///
/// # Safety
/// `params` has a pointer to the value of each parameter of the kernel.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the signature is CUDA's")]
pub unsafe extern "C" fn cuLaunchKernel(
    function: CuHandle,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: CuHandle,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CuResult {
    run(|driver| {
        let Some(Function { kernel, .. }) = driver.state().functions.get(&function.addr()).cloned()
        else {
            return wrong(INVALID_HANDLE, "there is no such function");
        };
        known_stream(driver, stream)?;
        if !extra.is_null() {
            return wrong(NOT_SUPPORTED, "arguments through `extra` are not supported");
        }
        let count = kernel.parameters().len();
        // SAFETY: the caller vouches for it.
        let args = unsafe { arguments(&kernel, params.cast_const().cast(), count) }?;
        let launch = Launch::grid((grid_x, grid_y, grid_z))
            .block((block_x, block_y, block_z))
            .shared(shared_bytes);
        kernel.launch(launch, args)?;
        Ok(())
    })
}

/// `cuStreamCreate`
///
/// # Safety
/// `stream` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreate(stream: *mut CuHandle, _flags: c_uint) -> CuResult {
    run(|driver| {
        let mut state = driver.state();
        let number = state.handle();
        // SAFETY: the caller vouches for it.
        unsafe { write(stream, handle(number)) }?;
        state.streams.push(number);
        Ok(())
    })
}

/// `cuStreamDestroy_v2`
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(stream: CuHandle) -> CuResult {
    run(|driver| {
        let mut state = driver.state();
        match state.streams.iter().position(|s| *s == stream.addr()) {
            Some(at) => {
                state.streams.remove(at);
                Ok(())
            }
            None => wrong(INVALID_HANDLE, "there is no such stream"),
        }
    })
}

/// `cuStreamSynchronize`: everything is done already.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(stream: CuHandle) -> CuResult {
    run(|driver| known_stream(driver, stream))
}

fn known_stream(driver: &Driver, stream: CuHandle) -> Result<(), Wrong> {
    // 1 and 2 are the default streams of a process and of a thread, by their names in `cuda.h`.
    if stream.addr() <= 2 || driver.state().streams.contains(&stream.addr()) {
        Ok(())
    } else {
        wrong(INVALID_HANDLE, "there is no such stream")
    }
}

/// Writes what `pick` takes of a result's row, or a null pointer if there is no such result.
///
/// # Safety
/// `place` is null or may be written.
unsafe fn describe(
    result: CuResult,
    place: *mut *const c_char,
    pick: fn(&(CuResult, &'static CStr, &'static CStr)) -> &'static CStr,
) -> Result<(), Wrong> {
    let row = RESULTS.iter().find(|(number, ..)| *number == result);
    let text = row.map_or(std::ptr::null(), |row| pick(row).as_ptr());
    // SAFETY: the caller vouches for it.
    unsafe { write(place, text) }?;
    match row {
        Some(_) => Ok(()),
        None => wrong(INVALID_VALUE, format!("there is no result {result}")),
    }
}

/// `cuGetErrorName`
///
/// # Safety
/// `name` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(result: CuResult, name: *mut *const c_char) -> CuResult {
    // SAFETY: the caller vouches for it.
    run(|_| unsafe { describe(result, name, |row| row.1) })
}

/// `cuGetErrorString`
///
/// # Safety
/// `text` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(result: CuResult, text: *mut *const c_char) -> CuResult {
    // SAFETY: the caller vouches for it.
    run(|_| unsafe { describe(result, text, |row| row.2) })
}
