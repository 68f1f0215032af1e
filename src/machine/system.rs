//! System calls of the CUDA device runtime: functions that are declared and never defined.

use super::FaultKind;
use super::heap::Heap;
use super::memory::View;
use super::printf::{self, Unreachable};
use crate::ir::Function;
use crate::ir::control::{CallType, ParamTy};
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Most bytes of printed text that are kept.
const KEPT: usize = 256 << 20;

/// A system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum System {
    /// `vprintf`: format and arguments; gives the number of arguments, or -1.
    Vprintf,
    /// `malloc`: bytes; gives a generic address.
    Malloc,
    /// `free`: what `malloc` gave, or 0.
    Free,
    /// `__assertfail`: message, file, line, function, size of a character. Does not return.
    AssertFail,
}

/// Why a system call ends the launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind of fault.
    pub kind: FaultKind,
    /// More words.
    pub detail: Option<String>,
    /// The access that is wrong.
    pub access: Option<Unreachable>,
}

impl From<Unreachable> for Failure {
    fn from(access: Unreachable) -> Self {
        Failure {
            kind: access.kind,
            detail: None,
            access: Some(access),
        }
    }
}

impl Failure {
    fn new(kind: FaultKind, detail: impl Into<String>) -> Self {
        Failure {
            kind,
            detail: Some(detail.into()),
            access: None,
        }
    }
}

/// Where printed text goes.
#[derive(Debug, Default)]
pub enum Output {
    /// Standard output.
    #[default]
    Standard,
    /// Kept until somebody takes it.
    Kept(Arc<Mutex<Vec<u8>>>),
}

/// What system calls reach, memory of the launch apart.
#[derive(Debug, Default)]
pub struct Host {
    /// Where printed text goes.
    pub output: Output,
    /// The device heap, if something asks for it.
    pub heap: Option<Arc<Heap>>,
}

impl System {
    /// The system call that a function without a body is.
    pub fn of(function: &Function) -> Option<System> {
        if function.defined {
            return None;
        }
        System::named(&function.name, &function.call_type())
    }

    /// The system call of this name, if it takes and gives so much.
    pub fn named(name: &str, ty: &CallType) -> Option<System> {
        let sizes = |list: &[ParamTy]| -> Vec<u32> { list.iter().map(|p| p.size).collect() };
        let (params, returns) = (sizes(&ty.params), sizes(&ty.returns));
        // With addresses of 64 and of 32 bits.
        let is = |wants: [&[u32]; 2], gives: [&[u32]; 2]| {
            (0..2).any(|i| params == wants[i] && returns == gives[i])
        };
        match name {
            "vprintf" if is([&[8, 8], &[4, 4]], [&[4], &[4]]) => Some(System::Vprintf),
            "malloc" if is([&[8], &[4]], [&[8], &[4]]) => Some(System::Malloc),
            "free" if is([&[8], &[4]], [&[], &[]]) => Some(System::Free),
            "__assertfail" if is([&[8, 8, 4, 8, 8], &[4, 4, 4, 4, 4]], [&[], &[]]) => {
                Some(System::AssertFail)
            }
            _ => None,
        }
    }

    /// Does it. `args` are the parameters, zero-extended; missing ones count as 0.
    ///
    /// # Errors
    /// Why the launch ends.
    pub fn call(self, host: &Host, view: &View<'_>, args: &[u64]) -> Result<u64, Failure> {
        let arg = |index: usize| args.get(index).copied().unwrap_or(0);
        match self {
            System::Vprintf => {
                let (text, count) = printf::vprintf(view, arg(0), arg(1))?;
                host.print(&text)?;
                Ok((count as u32).into())
            }
            System::Malloc => {
                let bytes = arg(0);
                let Some(heap) = &host.heap else {
                    return Ok(0);
                };
                heap.allocate(bytes).ok_or_else(|| {
                    let (used, size) = heap.used();
                    let detail = format!("{bytes} bytes wanted, {used} of {size} are in use");
                    Failure::new(FaultKind::HeapExhausted, detail)
                })
            }
            System::Free => {
                let known = arg(0) == 0 || host.heap.as_ref().is_some_and(|h| h.free(arg(0)));
                if known {
                    return Ok(0);
                }
                let detail = format!("`free` of {:#x}, which `malloc` has not given", arg(0));
                Err(Failure::new(FaultKind::BadCall, detail))
            }
            System::AssertFail => {
                let text = |index| {
                    let bytes = match arg(index) {
                        0 => Ok(Vec::new()),
                        address => printf::string(view, address),
                    };
                    // What cannot be read is left out: the assertion has failed all the same.
                    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
                };
                let detail = format!(
                    "`{}` failed at {}:{} in `{}`",
                    text(0),
                    text(1),
                    arg(2) as u32,
                    text(3)
                );
                Err(Failure::new(FaultKind::Assertion, detail))
            }
        }
    }
}

impl Host {
    fn print(&self, text: &[u8]) -> Result<(), Failure> {
        match &self.output {
            Output::Standard => {
                // Whoever closes standard output does not want to see it.
                let _ = std::io::stdout().lock().write_all(text);
            }
            Output::Kept(kept) => {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() + text.len() > KEPT {
                    let detail = format!("more than {KEPT} bytes have been printed");
                    return Err(Failure::new(FaultKind::HeapExhausted, detail));
                }
                kept.extend(text);
            }
        }
        Ok(())
    }
}
