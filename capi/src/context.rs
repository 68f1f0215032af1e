//! Contexts: an engine and a device. Buffers on the device.

use crate::error::{Failure, PtxliftStatus, guard};
use crate::text::{free, handle, place, string};
use lift::{Buffer, Device, DeviceConfig, Engine, EngineConfig, EngineKind, OptLevel, Reading};
use std::ffi::{c_char, c_void};
use std::time::Duration;

/// What a context is made like. See `ptxlift_options_set`.
#[derive(Debug, Clone, Default)]
pub struct PtxliftOptions {
    settings: Vec<(String, String)>,
}

/// An engine, which compiles and runs, and a device, which has the memory that kernels reach.
#[derive(Debug)]
pub struct PtxliftContext {
    pub(crate) engine: Engine,
    pub(crate) device: Device,
    pub(crate) reading: Reading,
}

/// Memory that kernels of a context reach.
#[derive(Debug)]
pub struct PtxliftBuffer {
    bytes: Buffer<u8>,
}

/// A time limit as people write it: seconds, or `none`.
pub(crate) fn time_limit(text: &str) -> Option<Option<Duration>> {
    if text == "none" {
        return Some(None);
    }
    let seconds: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().map(Some)
}

impl PtxliftOptions {
    fn context(&self) -> Result<PtxliftContext, Failure> {
        let mut engine = EngineConfig::default();
        let mut device = DeviceConfig::default();
        let mut reading = Reading::default();
        for (key, value) in &self.settings {
            let wrong = |expected: &str| {
                Failure::usage(format!(
                    "the option `{key}` cannot be `{value}`: expected {expected}"
                ))
            };
            let number = || value.parse::<u64>().map_err(|_| wrong("a number"));
            match key.as_str() {
                "engine" => {
                    let (kind, tiered) = match value.as_str() {
                        "native" => (EngineKind::Native, false),
                        "interpreter" => (EngineKind::Interpreter, false),
                        "tiered" => (EngineKind::Native, true),
                        _ => return Err(wrong("native, interpreter or tiered")),
                    };
                    engine = engine.kind(kind).tiered(tiered);
                }
                "memory" => match value.as_str() {
                    "registered" => {}
                    "host" => {
                        // SAFETY: whoever sets this option has been told by the header what it means.
                        device = unsafe { device.host_memory() };
                    }
                    _ => return Err(wrong("registered or host")),
                },
                "checks" => match value.as_str() {
                    "on" => {}
                    "off" => {
                        // SAFETY: as above.
                        engine = unsafe { engine.unchecked() };
                    }
                    _ => return Err(wrong("on or off")),
                },
                "reading" => {
                    reading = match value.as_str() {
                        "text" => Reading::Text,
                        "nvidia" => Reading::Nvidia,
                        _ => return Err(wrong("text or nvidia")),
                    };
                }
                "threads" => {
                    let threads = usize::try_from(number()?).map_err(|_| wrong("a number"))?;
                    engine = engine.threads(threads);
                }
                "time_limit" => {
                    let limit = time_limit(value).ok_or_else(|| wrong("seconds or none"))?;
                    engine = engine.time_limit(limit);
                }
                "opt_level" => {
                    engine = engine.opt_level(match value.as_str() {
                        "none" => OptLevel::None,
                        "speed" => OptLevel::Speed,
                        "speed_and_size" => OptLevel::SpeedAndSize,
                        _ => return Err(wrong("none, speed or speed_and_size")),
                    });
                }
                "memory_limit" => device = device.memory_limit(number()?),
                "heap" => device = device.heap(number()?),
                other => match other.strip_prefix("cranelift.") {
                    Some(setting) => engine = engine.setting(setting, value),
                    None => return Err(Failure::usage(format!("there is no option `{other}`"))),
                },
            }
        }
        Ok(PtxliftContext {
            engine: Engine::new(engine),
            device: Device::new(device)?,
            reading,
        })
    }
}

/// Options as by default; `ptxlift_options_free` frees them.
#[unsafe(no_mangle)]
pub extern "C" fn ptxlift_options_new() -> *mut PtxliftOptions {
    Box::into_raw(Box::default())
}

/// Sets an option; of several values for a key the last holds. They are looked at by `ptxlift_context_new`:
///
/// | key | value |
/// |---|---|
/// | `engine` | `native` (the default), `interpreter`, or `tiered`: native code is made when it pays |
/// | `memory` | `registered` (the default): kernels reach buffers and module variables, everything else is a fault. `host`: kernels reach all memory of the process by its addresses, and one that errs can crash or corrupt it |
/// | `checks` | `on` (the default), or `off`: native code does not check addresses at all, shared and local ones included |
/// | `reading` | `text` (the default): modules are read by the text of the PTX ISA, or `nvidia`: as NVIDIA's tools have it in the few places where they depart from it. `ptx_run` and the driver API always do so |
/// | `threads` | threads that share the blocks of a launch, 0 for as many as the machine runs at once |
/// | `time_limit` | seconds that a launch may take, 10 by default, or `none` |
/// | `opt_level` | `none`, `speed` (the default), `speed_and_size` |
/// | `memory_limit`, `heap` | bytes of all buffers together; of the heap for `malloc` in kernels |
/// | `cranelift.NAME` | a setting of Cranelift's |
///
/// # Safety
/// `options` came from `ptxlift_options_new`; no other thread uses it meanwhile. The strings end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_options_set(
    options: *mut PtxliftOptions,
    key: *const c_char,
    value: *const c_char,
) -> PtxliftStatus {
    guard(|| {
        // SAFETY: the caller vouches for it.
        let options = unsafe { options.as_mut() }
            .ok_or_else(|| Failure::usage("the options are a null pointer"))?;
        // SAFETY: the caller vouches for it.
        let key = unsafe { string(key, "the key") }?;
        // SAFETY: the caller vouches for it.
        let value = unsafe { string(value, "the value") }?;
        options.settings.push((key.to_string(), value.to_string()));
        Ok(())
    })
}

/// Frees options; null is allowed.
///
/// # Safety
/// `options` is null or came from `ptxlift_options_new`, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_options_free(options: *mut PtxliftOptions) {
    // SAFETY: the caller vouches for it.
    unsafe { free(options) };
}

/// Makes a context. `options` may be null, and may be freed afterwards. Several threads may use a context at once.
///
/// # Safety
/// `options` is null or came from `ptxlift_options_new`; `context` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_context_new(
    options: *const PtxliftOptions,
    context: *mut *mut PtxliftContext,
) -> PtxliftStatus {
    guard(|| {
        // SAFETY: the caller vouches for it.
        let context = unsafe { place(context, "the context") }?;
        // SAFETY: the caller vouches for it.
        let made = match unsafe { options.as_ref() } {
            Some(options) => options.context()?,
            None => PtxliftOptions::default().context()?,
        };
        context.give(made);
        Ok(())
    })
}

/// Frees a context; null is allowed. Modules, kernels and buffers that were made of it stay good.
///
/// # Safety
/// `context` is null or came from `ptxlift_context_new`, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_context_free(context: *mut PtxliftContext) {
    // SAFETY: the caller vouches for it.
    unsafe { free(context) };
}

/// A buffer of so many zeros.
///
/// # Safety
/// `context` came from `ptxlift_context_new`; `buffer` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_buffer_new(
    context: *const PtxliftContext,
    bytes: usize,
    buffer: *mut *mut PtxliftBuffer,
) -> PtxliftStatus {
    guard(|| {
        // SAFETY: the caller vouches for it.
        let buffer = unsafe { place(buffer, "the buffer") }?;
        // SAFETY: the caller vouches for it.
        let context = unsafe { handle(context, "the context") }?;
        let bytes = context.device.alloc_zeroed::<u8>(bytes)?;
        buffer.give(PtxliftBuffer { bytes });
        Ok(())
    })
}

/// Lets kernels reach memory of the caller's as a buffer, without a copy, until the buffer is freed. With `read_only`
/// other than 0 kernels may not store to it.
///
/// # Safety
/// `context` came from `ptxlift_context_new`; `memory` points to so many bytes, which stay there as long as the buffer and the
/// launches that began before it was freed; `buffer` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_buffer_register(
    context: *const PtxliftContext,
    memory: *mut c_void,
    bytes: usize,
    read_only: i32,
    buffer: *mut *mut PtxliftBuffer,
) -> PtxliftStatus {
    guard(|| {
        // SAFETY: the caller vouches for it.
        let buffer = unsafe { place(buffer, "the buffer") }?;
        // SAFETY: the caller vouches for it.
        let context = unsafe { handle(context, "the context") }?;
        // SAFETY: the caller vouches for it.
        let mut registered = unsafe { context.device.register(memory.cast::<u8>(), bytes) }?;
        if read_only != 0 {
            registered = registered.read_only();
        }
        buffer.give(PtxliftBuffer { bytes: registered });
        Ok(())
    })
}

/// The address of a buffer, as kernels know it: what a pointer parameter wants. 0 for a null pointer.
///
/// # Safety
/// `buffer` is null or came from this library and has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_buffer_address(buffer: *const PtxliftBuffer) -> u64 {
    // SAFETY: the caller vouches for it.
    unsafe { buffer.as_ref() }.map_or(0, |buffer| buffer.bytes.address().0)
}

/// Copies bytes of a buffer, from `offset` on, to `to`.
///
/// # Safety
/// `buffer` came from this library and has not been freed; `to` may be written for so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_buffer_read(
    buffer: *const PtxliftBuffer,
    offset: usize,
    to: *mut c_void,
    bytes: usize,
) -> PtxliftStatus {
    guard(|| {
        // SAFETY: the caller vouches for it.
        let buffer = unsafe { handle(buffer, "the buffer") }?;
        // SAFETY: the caller vouches for it.
        let to = unsafe { bytes_mut(to, bytes) }?;
        Ok(buffer.bytes.read_at(offset, to)?)
    })
}

/// Copies bytes from `from` into a buffer, from `offset` on.
///
/// # Safety
/// `buffer` came from this library and has not been freed; `from` may be read for so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_buffer_write(
    buffer: *const PtxliftBuffer,
    offset: usize,
    from: *const c_void,
    bytes: usize,
) -> PtxliftStatus {
    guard(|| {
        // SAFETY: the caller vouches for it.
        let buffer = unsafe { handle(buffer, "the buffer") }?;
        // SAFETY: the caller vouches for it.
        let from = unsafe { bytes_of(from, bytes) }?;
        Ok(buffer.bytes.write_at(offset, from)?)
    })
}

/// Frees a buffer, or ends the registration of one; null is allowed. Its memory stays until launches that began before
/// have ended.
///
/// # Safety
/// `buffer` is null or came from this library, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_buffer_free(buffer: *mut PtxliftBuffer) {
    // SAFETY: the caller vouches for it.
    unsafe { free(buffer) };
}

/// Bytes that C has.
///
/// # Safety
/// `from` is null or may be read for so many bytes.
pub(crate) unsafe fn bytes_of<'a>(from: *const c_void, bytes: usize) -> Result<&'a [u8], Failure> {
    match (from.is_null(), bytes) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::usage("a null pointer has no bytes")),
        // SAFETY: the caller vouches for it.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(from.cast(), bytes) }),
    }
}

/// Bytes that C has, to be written.
///
/// # Safety
/// `to` is null or may be written for so many bytes, which nobody else uses meanwhile.
pub(crate) unsafe fn bytes_mut<'a>(to: *mut c_void, bytes: usize) -> Result<&'a mut [u8], Failure> {
    match (to.is_null(), bytes) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(Failure::usage("a null pointer has no bytes")),
        // SAFETY: the caller vouches for it.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts_mut(to.cast(), bytes) }),
    }
}
