//! What system calls do, for both engines.

use super::FaultKind;
use super::heap::Heap;
use super::memory::View;
use super::printf::{self, Unreachable};
use crate::ir::System;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Most bytes of printed text that are kept.
const KEPT: usize = 256 << 20;

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
