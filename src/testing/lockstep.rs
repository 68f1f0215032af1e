//! Both engines side by side: the same launch or call, everything that they leave behind compared.

use super::exec::{self, CallOutcome, Outcome, Prepared, PreparedCall};
use super::launch::LaunchSpec;
use crate::error::Error;
use crate::runtime::{Engine, EngineKind, Module};

/// Why two engines do not agree, or could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum LockstepError {
    /// One of them could not run.
    #[error(transparent)]
    Run(#[from] Error),
    /// They differ.
    #[error("the engines differ: {0}")]
    Differ(String),
}

/// Launches a kernel in both engines and compares memory, kind and position of faults.
///
/// # Errors
/// A difference, or why the kernel could not be launched.
pub fn launch(module: &Module, spec: &LaunchSpec) -> Result<Outcome, LockstepError> {
    let prepared = Prepared::new(module, spec, &Engine::interpreter())?;
    let interpreter = prepared.run(EngineKind::Interpreter)?;
    let native = prepared.run(EngineKind::Native)?;
    match exec::difference(&interpreter, &native) {
        Some(text) => Err(LockstepError::Differ(text)),
        None => Ok(native),
    }
}

/// Calls a device function in both engines and compares results, variables, kind and position of faults. `args` are
/// the bytes of each parameter.
///
/// # Errors
/// A difference, or why the function could not be called.
pub fn call(
    module: &Module,
    function: &str,
    args: &[Vec<u8>],
) -> Result<CallOutcome, LockstepError> {
    let prepared = PreparedCall::new(module, function, &Engine::interpreter())?;
    let interpreter = prepared.run(args, EngineKind::Interpreter)?;
    let native = prepared.run(args, EngineKind::Native)?;
    match exec::call_difference(&interpreter, &native) {
        Some(text) => Err(LockstepError::Differ(text)),
        None => Ok(native),
    }
}
