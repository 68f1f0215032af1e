//! Calls of device functions on the calling thread.

use super::backend;
use super::cancel::Cancel;
use super::engine::EngineKind;
use super::grid::explain;
use super::instance::Instance;
use super::pool::STACK;
use super::ticker::Slot;
use super::watchdog;
use crate::error::{Error, Internal, Usage};
use crate::ir::FuncId;
use crate::machine::{self, AddressMap, Limits, Scratch, Stop};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

/// Stack that code without calls gets at least.
const LEAF_STACK: usize = 1 << 20;

/// How a function is called.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub kind: EngineKind,
    pub time_limit: Option<Duration>,
    pub cancel: Option<Cancel>,
    /// What the function needs, looked up once: see [`Facts`](super::facts::Facts).
    calls: bool,
    unbounded: bool,
    global_memory: bool,
    /// Bytes of the memory that it runs in.
    shared: usize,
    local: usize,
}

impl Options {
    pub(super) fn new(instance: &Instance, function: FuncId) -> Self {
        let program = instance.program();
        let config = program.engine().config();
        let facts = program.facts(function);
        Options {
            kind: config.kind,
            time_limit: config.time_limit,
            cancel: None,
            calls: facts.calls,
            unbounded: facts.unbounded,
            // Engines insist on the module's variables, used or not.
            global_memory: facts.global_memory || program.ir().global_bytes > 0,
            shared: program.ir().functions[function.index()].shared_bytes as usize,
            local: config.local_bytes as usize,
        }
    }
}

/// What a thread keeps from call to call.
struct Context {
    slot: Arc<Slot>,
    scratch: Scratch,
}

thread_local! {
    static CONTEXT: RefCell<Option<Context>> = const { RefCell::new(None) };
}

impl Context {
    fn new(options: &Options) -> Result<Context, Error> {
        Ok(Context {
            slot: Slot::new()?,
            scratch: scratch(options.shared, options.local)?,
        })
    }

    /// Makes the memory fit.
    fn fit(&mut self, options: &Options) -> Result<(), Error> {
        if self.scratch.shared.len() != options.shared || self.scratch.local.len() != options.local
        {
            self.scratch = scratch(options.shared, options.local)?;
        }
        Ok(())
    }
}

/// Memory for a worker, of these sizes in bytes.
pub(super) fn scratch(shared: usize, local: usize) -> Result<Scratch, Error> {
    Scratch::try_new(shared, local).ok_or_else(|| {
        let bytes = (shared + local) as u64;
        Usage::HostMemory { bytes }.into()
    })
}

/// Calls `function` with a buffer of parameters; results go to `results`.
pub(super) fn call(
    instance: &Instance,
    function: FuncId,
    options: &Options,
    args: &[u8],
    results: &mut [u8],
) -> Result<(), Error> {
    let mut run = |context: &mut Context| {
        context.fit(options)?;
        let Context { slot, scratch } = context;
        let mut enter =
            |stop: &Stop| enter(instance, function, options, stop, scratch, args, results);
        if options.cancel.is_some() {
            let stop = Arc::new(Stop::new());
            let done = watched(options, &stop, || enter(&stop));
            return done
                .map_err(|e| explain(e, &stop, options.cancel.as_ref(), options.time_limit));
        }
        match options.time_limit {
            Some(limit) if options.unbounded => {
                let entered = slot.enter(limit);
                let done = enter(slot.stop());
                let done = done.map_err(|e| explain(e, slot.stop(), None, Some(limit)));
                drop(entered);
                done
            }
            Some(_) | None => enter(&NEVER),
        }
    };
    // The thread's own context is gone when its thread-local values are being dropped.
    CONTEXT
        .try_with(|cell| {
            let mut cell = cell.try_borrow_mut().ok()?;
            Some(match &mut *cell {
                Some(context) => run(context),
                none => Context::new(options).and_then(|c| run(none.insert(c))),
            })
        })
        .ok()
        .flatten()
        .unwrap_or_else(|| run(&mut Context::new(options)?))
}

/// A flag that nobody raises.
static NEVER: Stop = Stop::new();

/// Runs `f` while `stop` is raised by the time limit or a cancellation.
fn watched<T>(
    options: &Options,
    stop: &Arc<Stop>,
    f: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    if let Some(cancel) = &options.cancel {
        cancel.watch(stop);
    }
    let limit = options.time_limit;
    let _watch = limit.map(|l| watchdog::watch(stop, l)).transpose()?;
    f()
}

fn enter(
    instance: &Instance,
    function: FuncId,
    options: &Options,
    stop: &Stop,
    scratch: &Scratch,
    args: &[u8],
    results: &mut [u8],
) -> Result<(), Error> {
    let program = instance.program();
    let config = program.engine().config();
    let nothing = AddressMap::default();
    let snapshot = options.global_memory.then(|| instance.device().snapshot());
    let launch = machine::Launch {
        grid: [1; 3],
        block: [1; 3],
        params: &[],
        dynamic_shared: 0,
        map: snapshot.as_ref().map_or(&nothing, |s| &s.map),
        globals: instance.globals(),
        constants: instance.constants(),
        limits: Limits {
            stop,
            steps: config.steps,
            call_depth: config.call_depth,
            local_bytes: config.local_bytes,
        },
    };
    with_stack(options.calls, || {
        Internal::catch("calling a function", || {
            backend::call(
                program,
                options.kind,
                function,
                &launch,
                scratch,
                args,
                results,
            )
        })
    })?
}

/// Runs `f` with as much stack as it may take: as the deepest nesting of calls, if it `calls`.
pub(super) fn with_stack<T>(calls: bool, f: impl FnOnce() -> T) -> T {
    if calls {
        stacker::maybe_grow(STACK / 2, STACK, f)
    } else {
        stacker::maybe_grow(LEAF_STACK, 2 * LEAF_STACK, f)
    }
}
