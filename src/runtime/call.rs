//! Calls of device functions on the calling thread.

use super::backend;
use super::cancel::Cancel;
use super::engine::EngineKind;
use super::grid::{explain, stopped};
use super::instance::Instance;
use super::scratch::with_scratch;
use super::ticker::Slot;
use super::watchdog;
use crate::error::{Error, Internal};
use crate::ir::FuncId;
use crate::jit::Simple;
use crate::machine::{self, AddressMap, Clusters, Host, Limits, Output, Scratch, Stop};
use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

/// How a function is called.
#[derive(Debug, Clone)]
pub(super) struct Options {
    kind: EngineKind,
    /// The quickest way in, if `kind` has one.
    simple: Option<Simple>,
    pub time_limit: Option<Duration>,
    pub cancel: Option<Cancel>,
    /// What the function needs, looked up once: see [`Facts`](super::facts::Facts).
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
        let options = Options {
            kind: config.kind,
            simple: None,
            time_limit: config.time_limit,
            cancel: None,
            unbounded: facts.unbounded,
            // Engines insist on the module's variables, used or not.
            global_memory: facts.global_memory || program.ir().global_bytes > 0,
            shared: program.ir().functions[function.index()].shared_bytes as usize,
            local: config.local_bytes as usize,
        };
        options.engine(config.kind, instance, function)
    }

    /// Chooses the engine. The function is the one that the options were made for.
    pub(super) fn engine(
        mut self,
        kind: EngineKind,
        instance: &Instance,
        function: FuncId,
    ) -> Self {
        self.kind = instance.program().runs(function, kind);
        self.simple = match self.kind {
            EngineKind::Interpreter => None,
            EngineKind::Native => instance.program().made().and_then(|c| c.simple(function)),
        };
        self
    }
}

thread_local! {
    static SLOT: OnceCell<Arc<Slot>> = const { OnceCell::new() };
}

/// Runs `f` with the thread's slot.
fn with_slot<T>(f: impl FnOnce(&Slot) -> Result<T, Error>) -> Result<T, Error> {
    let slot = SLOT.try_with(|cell| match cell.get() {
        Some(slot) => Ok(Arc::clone(slot)),
        None => Slot::new().map(|new| Arc::clone(cell.get_or_init(|| new))),
    });
    // While the thread's own values are being dropped it has no slot any more.
    f(&*slot.unwrap_or_else(|_| Slot::new())?)
}

/// Calls `function` with a buffer of parameters; results go to `results`.
#[inline]
pub(super) fn call(
    instance: &Instance,
    function: FuncId,
    options: &Options,
    args: &[u8],
    results: &mut [u8],
) -> Result<(), Error> {
    match options.simple {
        Some(simple) if options.cancel.is_none() => {
            // SAFETY: the options were made for a function of this instance, which keeps its program and that its code.
            unsafe { simple.call(args, results) };
            Ok(())
        }
        Some(_) | None => call_in_context(instance, function, options, args, results),
    }
}

fn call_in_context(
    instance: &Instance,
    function: FuncId,
    options: &Options,
    args: &[u8],
    results: &mut [u8],
) -> Result<(), Error> {
    with_scratch(options.shared, options.local, |scratch| {
        let mut enter =
            |stop: &Stop| enter(instance, function, options, stop, scratch, args, results);
        let cancel = options.cancel.as_ref();
        match options.time_limit {
            limit if cancel.is_some() => {
                let stop = Arc::new(Stop::new());
                let done = watched(options, &stop, || {
                    if stop.is_raised() {
                        return Err(stopped(instance.ir(), function, [0; 3]).into());
                    }
                    enter(&stop)
                });
                done.map_err(|e| explain(e, &stop, cancel, limit))
            }
            Some(limit) if options.unbounded => with_slot(|slot| {
                let entered = slot.enter(limit);
                let done = enter(slot.stop());
                let done = done.map_err(|e| explain(e, slot.stop(), None, Some(limit)));
                drop(entered);
                done
            }),
            Some(_) | None => enter(&NEVER),
        }
    })?
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
    let host = Host {
        output: Output::Standard,
        heap: instance.heap(function)?,
    };
    let snapshot = options.global_memory.then(|| instance.device().snapshot());
    let launch = machine::Launch {
        grid: [1; 3],
        block: [1; 3],
        clusters: Clusters::ALONE,
        params: &[],
        dynamic_shared: 0,
        map: snapshot.as_ref().map_or(&nothing, |s| &s.map),
        globals: instance.globals(),
        constants: instance.constants(),
        host: &host,
        together: false,
        limits: Limits {
            stop,
            steps: config.steps,
            call_depth: config.call_depth,
            local_bytes: config.local_bytes,
        },
    };
    Internal::catch("calling a function", || {
        let kind = options.kind;
        backend::call(program, kind, function, &launch, scratch, args, results)
    })?
}
