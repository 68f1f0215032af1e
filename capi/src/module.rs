//! Modules, kernels and module variables.

use crate::context::PtxliftContext;
use crate::context::{bytes_mut, bytes_of};
use crate::error::{Failure, PtxliftStatus, guard};
use crate::text::{free, handle, place, string};
use lift::{Instance, Kernel, Module, ModuleConfig};
use std::ffi::{c_char, c_void};

/// A module: its code, and memory for its variables.
#[derive(Debug)]
pub struct PtxliftModule {
    pub(crate) instance: Instance,
}

/// A kernel of a module.
#[derive(Debug)]
pub struct PtxliftKernel {
    pub(crate) kernel: Kernel,
}

/// Compiles a PTX text, which ends with a zero or after `length` bytes if that is not 0. The module stays good without its
/// context.
///
/// # Safety
/// `context` came from `ptxlift_context_new`; `text` may be read as far as it goes; `module` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_module_new(
    context: *const PtxliftContext,
    text: *const c_char,
    length: usize,
    module: *mut *mut PtxliftModule,
) -> PtxliftStatus {
    guard(|| {
        // SAFETY: the caller vouches for it.
        let module = unsafe { place(module, "the module") }?;
        // SAFETY: the caller vouches for it.
        let context = unsafe { handle(context, "the context") }?;
        let text = if length == 0 {
            // SAFETY: the caller vouches for it.
            unsafe { string(text, "the text") }?
        } else {
            // SAFETY: the caller vouches for it.
            let bytes = unsafe { bytes_of(text.cast(), length) }?;
            // The zero of a literal may be counted.
            let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
            std::str::from_utf8(bytes)
                .map_err(|e| Failure::usage(format!("the text is not UTF-8: {e}")))?
        };
        let config = ModuleConfig::default().reading(context.reading);
        let parsed = Module::parse_with(text, config)?;
        let instance = context
            .engine
            .compile(&parsed)?
            .instantiate(&context.device)?;
        module.give(PtxliftModule { instance });
        Ok(())
    })
}

/// Frees a module; null is allowed. Its kernels stay good.
///
/// # Safety
/// `module` is null or came from `ptxlift_module_new`, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_module_free(module: *mut PtxliftModule) {
    // SAFETY: the caller vouches for it.
    unsafe { free(module) };
}

/// A kernel of a module by its name; a null pointer as name means the only one.
///
/// # Safety
/// `module` came from `ptxlift_module_new`; `name` is null or ends with a zero; `kernel` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_module_kernel(
    module: *const PtxliftModule,
    name: *const c_char,
    kernel: *mut *mut PtxliftKernel,
) -> PtxliftStatus {
    guard(|| {
        // SAFETY: the caller vouches for it.
        let kernel = unsafe { place(kernel, "the kernel") }?;
        // SAFETY: the caller vouches for it.
        let module = unsafe { handle(module, "the module") }?;
        let found = if name.is_null() {
            only_kernel(&module.instance)?
        } else {
            // SAFETY: the caller vouches for it.
            let name = unsafe { string(name, "the name") }?;
            module.instance.kernel(name)?
        };
        kernel.give(PtxliftKernel { kernel: found });
        Ok(())
    })
}

/// The kernel of a module that has just one.
pub(crate) fn only_kernel(instance: &Instance) -> Result<Kernel, Failure> {
    let module = instance.program().module();
    let mut kernels = module.kernels().filter(|k| k.is_defined());
    match (kernels.next(), kernels.next()) {
        (Some(kernel), None) => Ok(instance.kernel(kernel.name())?),
        (None, _) => Err(Failure::usage("the module has no kernel")),
        (Some(_), Some(_)) => Err(Failure::usage(
            "the module has several kernels: which one is to be named",
        )),
    }
}

/// Frees a kernel; null is allowed.
///
/// # Safety
/// `kernel` is null or came from `ptxlift_module_kernel`, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_kernel_free(kernel: *mut PtxliftKernel) {
    // SAFETY: the caller vouches for it.
    unsafe { free(kernel) };
}

/// The number of parameters of a kernel; 0 for a null pointer.
///
/// # Safety
/// `kernel` is null or came from `ptxlift_module_kernel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_kernel_parameters(kernel: *const PtxliftKernel) -> usize {
    // SAFETY: the caller vouches for it.
    unsafe { kernel.as_ref() }.map_or(0, |kernel| kernel.kernel.parameters().len())
}

/// The size in bytes of a parameter, counted from 0; 0 for a null pointer or one that the kernel does not have.
///
/// # Safety
/// `kernel` is null or came from `ptxlift_module_kernel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_kernel_parameter_size(
    kernel: *const PtxliftKernel,
    index: usize,
) -> usize {
    // SAFETY: the caller vouches for it.
    unsafe { kernel.as_ref() }
        .and_then(|kernel| Some(kernel.kernel.parameters().get(index)?.size as usize))
        .unwrap_or(0)
}

/// Where a `.global` variable of a module lies, as kernels know it, and its size in bytes. Either place may be null.
///
/// # Safety
/// `module` came from `ptxlift_module_new`; `name` ends with a zero; `address` and `bytes` are null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_module_variable(
    module: *const PtxliftModule,
    name: *const c_char,
    address: *mut u64,
    bytes: *mut usize,
) -> PtxliftStatus {
    guard(|| {
        // SAFETY: the caller vouches for it.
        let module = unsafe { handle(module, "the module") }?;
        // SAFETY: the caller vouches for it.
        let variable = module
            .instance
            .global(unsafe { string(name, "the name") }?)?;
        // SAFETY: the caller vouches for it.
        if let Some(address) = unsafe { address.as_mut() } {
            *address = variable.address().0;
        }
        // SAFETY: the caller vouches for it.
        if let Some(bytes) = unsafe { bytes.as_mut() } {
            *bytes = variable.bytes() as usize;
        }
        Ok(())
    })
}

/// Copies a `.global` or `.const` variable, from its beginning, to `to`.
///
/// # Safety
/// `module` came from `ptxlift_module_new`; `name` ends with a zero; `to` may be written for so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_module_read(
    module: *const PtxliftModule,
    name: *const c_char,
    to: *mut c_void,
    bytes: usize,
) -> PtxliftStatus {
    guard(|| {
        // SAFETY: the caller vouches for it.
        let module = unsafe { handle(module, "the module") }?;
        // SAFETY: the caller vouches for it.
        let variable = module
            .instance
            .global(unsafe { string(name, "the name") }?)?;
        // SAFETY: the caller vouches for it.
        let to = unsafe { bytes_mut(to, bytes) }?;
        let contents = variable.read::<u8>()?;
        let Some(contents) = contents.get(..bytes) else {
            return Err(Failure::usage(format!(
                "variable `{}` has {} bytes, not {bytes}",
                variable.name(),
                variable.bytes()
            )));
        };
        to.copy_from_slice(contents);
        Ok(())
    })
}

/// Copies bytes from `from` to the beginning of a `.global` or `.const` variable.
///
/// # Safety
/// `module` came from `ptxlift_module_new`; `name` ends with a zero; `from` may be read for so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptxlift_module_write(
    module: *const PtxliftModule,
    name: *const c_char,
    from: *const c_void,
    bytes: usize,
) -> PtxliftStatus {
    guard(|| {
        // SAFETY: the caller vouches for it.
        let module = unsafe { handle(module, "the module") }?;
        // SAFETY: the caller vouches for it.
        let variable = module
            .instance
            .global(unsafe { string(name, "the name") }?)?;
        // SAFETY: the caller vouches for it.
        let from = unsafe { bytes_of(from, bytes) }?;
        Ok(variable.write(from)?)
    })
}
