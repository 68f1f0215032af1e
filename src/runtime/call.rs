//! Calls of device functions on the calling thread.

use super::backend;
use super::engine::EngineKind;
use super::instance::Instance;
use super::pool::STACK;
use super::program::Program;
use super::watchdog;
use crate::error::{Error, Internal};
use crate::ir::FuncId;
use crate::machine::{self, AddressMap, Limits, Scratch, Stop};
use std::sync::Arc;

/// Stack that code without calls gets at least.
const LEAF_STACK: usize = 1 << 20;

/// Calls `function` with a buffer of parameters; results go to `results`.
pub(super) fn call(
    instance: &Instance,
    function: FuncId,
    kind: EngineKind,
    args: &[u8],
    results: &mut [u8],
) -> Result<(), Error> {
    let program = instance.program();
    let config = program.engine().config();
    let facts = program.facts(function);
    let stop = Arc::new(Stop::new());
    let _watch = match config.time_limit {
        Some(limit) if facts.unbounded => Some(watchdog::watch(&stop, limit)?),
        Some(_) | None => None,
    };
    let nothing = AddressMap::default();
    let snapshot = facts.global_memory.then(|| instance.device().snapshot());
    let launch = machine::Launch {
        grid: [1; 3],
        block: [1; 3],
        params: &[],
        dynamic_shared: 0,
        map: snapshot.as_ref().map_or(&nothing, |s| &s.map),
        globals: instance.globals(),
        constants: instance.constants(),
        limits: Limits {
            stop: &stop,
            steps: config.steps,
            call_depth: config.call_depth,
            local_bytes: config.local_bytes,
        },
    };
    let shared = program.ir().functions[function.index()].shared_bytes;
    let scratch = Scratch::new(shared as usize, config.local_bytes as usize);
    with_stack(program, function, || {
        Internal::catch("calling a function", || {
            backend::call(program, kind, function, &launch, &scratch, args, results)
        })
    })??;
    Ok(())
}

/// Runs `f` with as much stack as the deepest nesting of calls may take.
pub(super) fn with_stack<T>(program: &Program, function: FuncId, f: impl FnOnce() -> T) -> T {
    if program.facts(function).calls {
        stacker::maybe_grow(STACK / 2, STACK, f)
    } else {
        stacker::maybe_grow(LEAF_STACK, 2 * LEAF_STACK, f)
    }
}
