//! Machine code of a module, and the doors into it.

use super::engine::{self, Compiled, Stops};
use super::host::{self, Host};
use super::later::Later;
use super::resident::Resident;
use super::{CompileError, Given, Misuse, Settings};
use crate::diag::Span;
use crate::ir::sync::{Meet, as_meet};
use crate::ir::{FuncId, Function, FunctionKind, Module};
use crate::lower::LOCAL_TOP_BYTES;
use crate::lower::context::{self, Context, Extent, FaultRecord, Start};
use crate::machine::schedule::{Known, LANES, Shuffle};
use crate::machine::{Fault, FaultKind, Launch, Neighbours, Room, Scratch, Seat, with_stack};
use crate::spmd::facts::SHALLOW;
use crate::spmd::{Absent, Facts, MOST_BETWEEN, Root};
use std::cell::RefCell;
use std::ptr::null;
use std::sync::{Arc, Mutex, OnceLock};

use super::{FunctionStats, Stats};

/// Stack for what native code calls on the host's side, and for the entries themselves.
const HOST_STACK: usize = 128 << 10;

/// Most bytes of native stack that a recursive function gets, whatever the depth that a launch allows.
const MOST_STACK: usize = 256 << 20;

/// Machine code of all functions and kernels of a module that can be compiled. Its memory is freed when it drops.
#[derive(Debug)]
pub struct Code {
    pub(super) inner: Inner,
    pub(super) settings: Settings,
    pub(super) given: Given,
    /// The same with every call counted, for launches that allow only a few nested calls.
    counted: OnceLock<Result<Inner, CompileError>>,
    /// For each function what was made of it later.
    pub(super) wide: Vec<Later>,
}

/// Code that was compiled once.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) module: Arc<Module>,
    pub(super) sites: Vec<crate::lower::Site>,
    pub(super) compiled: Compiled,
}

// SAFETY: the pointers in it lead to machine code and tables that do not change and live as long as it does.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Inner {
    pub(super) fn compile(
        module: &Arc<Module>,
        settings: &Settings,
        shallow: u32,
        given: &Given,
        only: Option<FuncId>,
    ) -> Result<Self, CompileError> {
        let mut compiled = engine::compile(module, settings, shallow, given, only)?;
        Ok(Inner {
            module: Arc::clone(module),
            sites: std::mem::take(&mut compiled.sites),
            compiled,
        })
    }
}

impl Code {
    /// Compiles every function and kernel that is supported throughout, with all it calls; for functions that are given,
    /// whoever enters the code vouches. For the others [`Code::absent`] says why not.
    ///
    /// # Errors
    /// Bad settings, a host that Cranelift does not know, a bug.
    pub fn compile(
        module: &Arc<Module>,
        settings: &Settings,
        given: Given,
    ) -> Result<Code, CompileError> {
        Ok(Code {
            inner: Inner::compile(module, settings, SHALLOW, &given, None)?,
            settings: settings.clone(),
            wide: module.functions.iter().map(|_| Later::default()).collect(),
            given,
            counted: OnceLock::new(),
        })
    }

    /// What compiling took and gave.
    pub fn stats(&self) -> &Stats {
        &self.inner.compiled.stats
    }

    /// What compiling a function took and gave; `None` if it has no machine code.
    pub fn function_stats(&self, function: FuncId) -> Option<FunctionStats> {
        let stats = *self.inner.compiled.function_stats.get(function.index())?;
        self.absent(function).is_none().then_some(stats)
    }

    /// Why a function has no machine code; `None` if it has.
    pub fn absent(&self, function: FuncId) -> Option<Absent> {
        let absent = self.inner.compiled.absent.get(function.index());
        absent.copied().unwrap_or(Some(Absent::Undefined))
    }

    /// Whether what keeps a function from having machine code is something that the interpreter has.
    pub fn interpreted(&self, function: FuncId) -> bool {
        let mut absent = self.absent(function);
        // Each is absent because of the next; there are no circles.
        while let Some(Absent::Calls(callee)) = absent {
            absent = self.absent(callee);
        }
        absent == Some(Absent::Interpreted)
    }

    /// The code for a launch that allows so many nested calls.
    fn for_depth(&self, limit: u32) -> Result<&Inner, Misuse> {
        if limit >= SHALLOW {
            return Ok(&self.inner);
        }
        let counted = self.counted.get_or_init(|| {
            let module = &self.inner.module;
            Inner::compile(module, &self.settings, 0, &self.given, None)
        });
        counted.as_ref().map_err(|_| Misuse::Depth)
    }

    fn function(&self, function: FuncId, kind: FunctionKind) -> Result<&Function, Misuse> {
        if let Some(absent) = self.absent(function) {
            return Err(Misuse::Absent(absent));
        }
        let ir = &self.inner.module.functions[function.index()];
        if ir.kind == kind {
            Ok(ir)
        } else {
            Err(Misuse::Kind)
        }
    }

    /// Makes a kernel ready for a launch: pointers among the parameters are looked up in the map once, here.
    ///
    /// # Errors
    /// A launch that does not fit the kernel or the module.
    pub fn prepare<'a>(
        &'a self,
        kernel: FuncId,
        launch: &'a Launch<'a>,
    ) -> Result<Prepared<'a>, Misuse> {
        let ir = self.function(kernel, FunctionKind::Kernel)?;
        let inner = match self.wide_code(kernel).filter(|_| launch.together) {
            // It calls nothing.
            Some(wide) => wide,
            None => self.for_depth(launch.limits.call_depth)?,
        };
        size("parameters", ir.param_bytes.into(), launch.params.len())?;
        let entry = Entry::new(inner, kernel, launch)?;
        let roots = inner.compiled.entries[kernel.index()]
            .roots
            .iter()
            .map(|root| resolve_root(inner, root, launch))
            .collect();
        Ok(Prepared {
            entry,
            roots,
            tables: Mutex::new(Vec::new()),
        })
    }

    /// A device function that neither faults nor loops nor looks at the machine, ready to be called in a few nanoseconds;
    /// `None` if it is not one.
    pub fn simple(&self, function: FuncId) -> Option<Simple> {
        let ir = self.function(function, FunctionKind::Device).ok()?;
        let trampoline = self.inner.compiled.entries[function.index()].trampoline?;
        self.inner.compiled.simple[function.index()].then_some(Simple {
            trampoline,
            args: ir.param_bytes as usize,
            results: ir.return_bytes as usize,
        })
    }

    /// Calls a device function. `args` and `results` are laid out by [`Param::offset`](crate::ir::Param::offset),
    /// little-endian. If the function ends by `exit`, the results are 0.
    ///
    /// A context is set up first, unless [`Code::simple`] has something.
    ///
    /// # Errors
    /// [`Misuse`], before anything is done; within, what the function did wrong.
    pub fn call(
        &self,
        function: FuncId,
        launch: &Launch<'_>,
        scratch: &Scratch,
        args: &[u8],
        results: &mut [u8],
    ) -> Result<Result<(), Fault>, Misuse> {
        let ir = self.function(function, FunctionKind::Device)?;
        size("arguments", ir.param_bytes.into(), args.len())?;
        size("results", ir.return_bytes.into(), results.len())?;
        if let Some(simple) = self.simple(function) {
            // SAFETY: this code lives.
            unsafe { simple.call(args, results) };
            return Ok(Ok(()));
        }
        let inner = self.for_depth(launch.limits.call_depth)?;
        let entry = Entry::new(inner, function, launch)?;
        size(
            "shared memory",
            entry.shared_bytes() as u64,
            scratch.shared.len(),
        )?;
        size(
            "local memory",
            entry.local_bytes() as u64,
            scratch.local.len(),
        )?;
        if let Some(fault) = entry.no_room([0; 3]) {
            return Ok(Err(fault));
        }
        let Some(trampoline) = inner.compiled.entries[function.index()].trampoline else {
            return Err(Misuse::Kind);
        };
        let mut table = vec![Extent::default(); inner.compiled.answers as usize];
        let place = Place::alone(scratch, [0; 3]);
        // SAFETY: the memory is that large, and only this call uses it.
        unsafe { std::ptr::write_bytes(place.shared, 0, entry.shared_bytes()) };
        let steady = entry.local_steady();
        Ok(
            entry.within(&place, &[], &mut table, steady, |context, host| {
                // SAFETY: the context is complete; the buffers are as large as the trampoline reads and writes.
                match unsafe { enter(trampoline, context, args, results) } {
                    context::FAULT => return Err(host.fault(context)),
                    context::EXITED => results.fill(0),
                    _ => {}
                }
                Ok(())
            }),
        )
    }

    /// The address of a function as `extern "C"` code, for one that can neither fault nor run without end nor looks
    /// at the machine, whose parameters are all scalars and which returns nothing or a scalar. It lives as long as
    /// this `Code`.
    pub fn pointer(&self, function: FuncId) -> Option<*const u8> {
        self.inner.compiled.entries.get(function.index())?.plain
    }
}

fn size(what: &'static str, wanted: u64, given: usize) -> Result<(), Misuse> {
    if (given as u64) < wanted {
        return Err(Misuse::Size {
            what,
            wanted,
            given: given as u64,
        });
    }
    Ok(())
}

/// Where a sum of parameters points: where the first that points to memory does.
fn resolve_root(inner: &Inner, root: &Root, launch: &Launch<'_>) -> Start {
    let Root::Params(offsets) = root else {
        return Start::default();
    };
    let width = if inner.module.address_bits == 32 {
        4
    } else {
        8
    };
    offsets
        .iter()
        .find_map(|&offset| {
            let offset = offset as usize;
            let bytes = launch.params.get(offset..offset + width)?;
            let mut value = [0; 8];
            value[..width].copy_from_slice(bytes);
            host::start(launch.map, u64::from_le_bytes(value))
        })
        .unwrap_or_default()
}

/// What [`Code::simple`] gives.
#[derive(Debug, Clone, Copy)]
pub struct Simple {
    trampoline: *const u8,
    args: usize,
    results: usize,
}

// SAFETY: the pointer leads to machine code, which does not change.
unsafe impl Send for Simple {}
// SAFETY: as above.
unsafe impl Sync for Simple {}

impl Simple {
    /// Calls the function; buffers as for [`Code::call`].
    ///
    /// # Safety
    /// The [`Code`] that it came from lives.
    ///
    /// # Panics
    /// If a buffer is too small.
    #[inline]
    pub unsafe fn call(self, args: &[u8], results: &mut [u8]) {
        assert!(
            args.len() >= self.args && results.len() >= self.results,
            "buffers of a call are too small"
        );
        // SAFETY: it is the trampoline of a function that never looks at its context; the buffers are as large as it
        // reads and writes. It needs little stack, with all that it calls.
        unsafe { enter(self.trampoline, null(), args, results) };
    }
}

/// Enters a trampoline.
///
/// # Safety
/// `trampoline` is one; `context` is what its function needs; the buffers are as large as the function's parameters and
/// results.
#[inline]
unsafe fn enter(
    trampoline: *const u8,
    context: *const Context,
    args: &[u8],
    results: &mut [u8],
) -> u32 {
    // SAFETY: all trampolines have this signature.
    let trampoline: extern "C" fn(*const Context, *const u8, *mut u8) -> u32 =
        unsafe { std::mem::transmute(trampoline) };
    trampoline(context, args.as_ptr(), results.as_mut_ptr())
}

/// A CTA and its memory.
pub(super) struct Place {
    /// `%ctaid`
    pub(super) block: [u32; 3],
    /// Its shared memory.
    pub(super) shared: *mut u8,
    /// That of its cluster.
    pub(super) neighbours: Neighbours,
    /// Local memory of its threads.
    pub(super) local: *mut u8,
}

impl Place {
    /// That of a CTA which is alone in its cluster.
    fn alone(scratch: &Scratch, block: [u32; 3]) -> Self {
        Place {
            block,
            shared: scratch.shared.as_ptr(),
            neighbours: Neighbours::NONE,
            local: scratch.local.as_ptr(),
        }
    }
}

/// A function or kernel, and the launch to run it in.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    inner: &'a Inner,
    pub(super) function: FuncId,
    pub(super) launch: &'a Launch<'a>,
}

impl<'a> Entry<'a> {
    fn new(inner: &'a Inner, function: FuncId, launch: &'a Launch<'a>) -> Result<Self, Misuse> {
        let module = &inner.module;
        let threads = launch.block.iter();
        let threads = threads.fold(1u64, |n, &size| n.saturating_mul(size.into()));
        if !(1..=1 << 31).contains(&threads) {
            return Err(Misuse::Block);
        }
        size(
            "constants",
            module.const_bytes.into(),
            launch.constants.len as usize,
        )?;
        for variable in &module.variables {
            if variable.space != crate::ir::memory::Space::Global || variable.size == 0 {
                continue;
            }
            let address = launch.globals.wrapping_add(variable.offset);
            let region = launch.map.region(address).ok_or(Misuse::Globals)?;
            if region.len - (address - region.base) < variable.size || !region.writable {
                return Err(Misuse::Globals);
            }
        }
        Ok(Entry {
            inner,
            function,
            launch,
        })
    }

    fn ir(&self) -> &'a Function {
        &self.inner.module.functions[self.function.index()]
    }

    fn facts(&self) -> Facts {
        self.inner.compiled.facts[self.function.index()]
    }

    pub(super) fn module(&self) -> &'a Module {
        &self.inner.module
    }

    /// The kernel's code.
    pub(super) fn code(&self) -> Option<*const u8> {
        self.inner.compiled.entries[self.function.index()].code
    }

    /// How many last answers are kept.
    pub(super) fn answers(&self) -> usize {
        self.inner.compiled.answers as usize
    }

    /// How its threads stop; `None` for a kernel whose threads do not.
    pub(super) fn stops(&self) -> Option<&'a Stops> {
        let entry = &self.inner.compiled.entries[self.function.index()];
        entry.stops.as_deref()
    }

    /// What is known of the meetings of the module, by site.
    pub(super) fn known(&self) -> &'a [Known] {
        &self.inner.compiled.known
    }

    /// The meeting at a site, with its place: function, text, location.
    pub(super) fn meeting(&self, site: u32) -> Option<((FuncId, Span, u32), &'a Meet)> {
        let at = self.inner.compiled.waits.sites().get(site as usize)?;
        let block = self.module().functions[at.function.index()].block(at.block);
        let inst = block.insts.get(at.inst as usize)?;
        let place = (at.function, inst.span, inst.location);
        as_meet(&inst.kind).map(|meet| (place, meet))
    }

    /// Bytes of local memory from a thread to the next, where each has its own.
    pub(super) fn local_stride(&self) -> usize {
        let ir = self.ir();
        let entry = &self.inner.compiled.entries[self.function.index()];
        let bytes = match entry.calls || entry.stack {
            true => self.launch.limits.local_bytes,
            false => ir.local_bytes,
        };
        let kept = if entry.stack { LOCAL_TOP_BYTES } else { 0 };
        (bytes as usize + kept as usize).next_multiple_of(ir.local_align.max(16) as usize)
    }

    pub(super) fn shared_bytes(&self) -> usize {
        self.ir().shared_window(self.launch.dynamic_shared) as usize
    }

    /// Bytes of local memory that stay what they are as long as a thread runs.
    pub(super) fn local_steady(&self) -> u64 {
        self.ir().local_bytes.into()
    }

    /// Where local memory ends that a kernel has from the start.
    pub(super) fn local_top(&self) -> u64 {
        let ir = self.ir();
        match ir.kind {
            FunctionKind::Kernel => ir.local_bytes.into(),
            FunctionKind::Device => 0,
        }
    }

    pub(super) fn local_bytes(&self) -> usize {
        self.launch.limits.local_bytes as usize
    }

    /// The fault of a first frame that does not fit local memory.
    pub(super) fn no_room(&self, block: [u32; 3]) -> Option<Fault> {
        let ir = self.ir();
        if ir.local_bytes <= self.launch.limits.local_bytes {
            return None;
        }
        Some(self.first_overflow(block).detail(format!(
            "{} bytes of local memory wanted, there are {}",
            ir.local_bytes, self.launch.limits.local_bytes
        )))
    }

    /// The stack overflow of a CTA whose first thread cannot begin.
    pub(super) fn first_overflow(&self, block: [u32; 3]) -> Fault {
        let (module, span) = (&self.inner.module, self.ir().span);
        let kind = FaultKind::StackOverflow;
        Fault::new(kind, module, self.function, span, u32::MAX).by(block, [0; 3])
    }

    /// Sets a context up and hands it to `enter`, with enough native stack. Of local memory `steady_local` bytes stay what
    /// they are as long as the context is used.
    pub(super) fn within<T>(
        &self,
        place: &Place,
        roots: &[Start],
        answers: &mut [Extent],
        steady_local: u64,
        enter: impl FnOnce(&mut Context, &Host<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let launch = self.launch;
        let clusters = &launch.clusters;
        let ir = self.ir();
        let shared_len = self.shared_bytes();
        let &Place {
            block,
            shared,
            neighbours,
            local,
        } = place;
        let host = Host {
            code: self.inner,
            launch,
            neighbours,
            steady_local,
            failure: RefCell::new(None),
        };
        let threads: u64 = launch.block.iter().map(|&n| u64::from(n)).product();
        let kernel = ir.kind == FunctionKind::Kernel;
        let mut context = Context {
            stop: launch.limits.stop.as_ptr(),
            params: launch.params.as_ptr(),
            globals: launch.globals,
            constants: launch.constants.base,
            shared,
            local,
            functions: self.inner.compiled.table.as_ptr(),
            roots: roots.as_ptr(),
            answers: answers.as_mut_ptr(),
            params_len: if kernel {
                launch.params.len() as u64
            } else {
                0
            },
            constants_len: launch.constants.len,
            shared_len: shared_len as u64,
            local_limit: launch.limits.local_bytes.into(),
            dynamic_shared: ir.dynamic_shared(),
            stack_limit: 0,
            grid: launch.grid,
            block: launch.block,
            ctaid: block,
            linear_ctaid: context::linear(block, launch.grid),
            warps: threads.div_ceil(32) as u32,
            dynamic_shared_len: launch.dynamic_shared,
            depth_limit: launch.limits.call_depth,
            tid: [0; 3],
            depth: 0,
            local_top: self.local_top(),
            answer: std::ptr::null_mut(),
            lanes: 0,
            lane: 0,
            turn: 0,
            lanes_end: 0,
            record: std::ptr::null_mut(),
            frame: std::ptr::null_mut(),
            first_frame: std::ptr::null_mut(),
            warp: 0,
            locals: std::ptr::null_mut(),
            local_stride: 0,
            round_warps: 0,
            round_warp: 0,
            round_point: 0,
            round_lane: 0,
            round_beside: 0,
            round_others: 0,
            round_stood: [0; LANES],
            stood: 0,
            round_from: context::NOWHERE,
            last_of_line: 0,
            left: 0,
            runs: 0,
            between: [0; MOST_BETWEEN],
            fault: FaultRecord::default(),
            host: (&raw const host).cast(),
            shared_start: neighbours.start(),
            clusterid: clusters.divide(block),
            cluster_grid: clusters.divide(launch.grid),
            cluster_ctaid: clusters.place(block),
            cluster: clusters.shape,
            cluster_rank: clusters.rank(block),
            cluster_ctas: clusters.ctas(),
            explicit_cluster: clusters.explicit.into(),
        };
        let frame = self.inner.compiled.frame;
        let reserve = HOST_STACK + frame * (SHALLOW as usize + 2);
        let own = match kernel {
            true => self.inner.compiled.function_stats[self.function.index()].frame_bytes,
            false => 0,
        };
        let facts = self.facts();
        let deep = if facts.counted || facts.deep {
            (frame * launch.limits.call_depth as usize).min(MOST_STACK)
        } else {
            0
        };
        let outcome = with_stack(own + reserve + deep, own + 2 * reserve + deep, || {
            let here = (&raw const context) as usize;
            let lowest = stacker::remaining_stack()
                .map_or(here, |left| stack_pointer().saturating_sub(left));
            context.stack_limit = (lowest + reserve) as u64;
            enter(&mut context, &host)
        });
        match outcome {
            Ok(outcome) => outcome,
            Err(_) => Err(self.first_overflow(block).detail(format!(
                "the host has no room for {} bytes of stack",
                own + 2 * reserve + deep
            ))),
        }
    }
}

/// Roughly where the native stack is.
#[inline(never)]
fn stack_pointer() -> usize {
    let here = 0u8;
    (&raw const here) as usize
}

/// A kernel made ready for a launch; shared by all workers.
#[derive(Debug)]
pub struct Prepared<'a> {
    pub(super) entry: Entry<'a>,
    pub(super) roots: Vec<Start>,
    /// Tables of last answers that no worker uses now.
    tables: Mutex<Vec<Vec<Extent>>>,
}

impl Prepared<'_> {
    /// Bytes of shared memory that a [`Scratch`] must have, static and dynamic together.
    pub fn shared_bytes(&self) -> usize {
        self.entry.shared_bytes()
    }

    /// Bytes of local memory that a [`Scratch`] must have.
    pub fn local_bytes(&self) -> usize {
        self.entry.local_bytes()
    }

    /// Whether threads may stop: CTAs are begun with [`Prepared::begin`] then.
    pub fn stops(&self) -> bool {
        self.entry.stops().is_some()
    }

    /// A CTA that may be left, because its threads may stop or there are others in its cluster: not begun, with shared memory by
    /// its place in the cluster and other memory out of `room`; `None` if there is not enough.
    pub fn begin<'r>(
        &'r self,
        room: &'r Room,
        seat: Seat<'r>,
        block: [u32; 3],
        shuffle: Option<Shuffle>,
    ) -> Option<Resident<'r>> {
        Resident::new(self, room, seat, block, shuffle)
    }

    /// Runs CTAs of a kernel whose threads do not stop, which are alone in their clusters: that with `%ctaid` `first`, and then what `next` gives. The shared memory
    /// is zeroed before each.
    ///
    /// # Errors
    /// What a thread did wrong; no further CTA has been asked for.
    ///
    /// # Panics
    /// If `scratch` is smaller than [`Prepared::shared_bytes`] and [`Prepared::local_bytes`] say.
    pub fn run_blocks(
        &self,
        scratch: &Scratch,
        first: [u32; 3],
        mut next: impl FnMut() -> Option<[u32; 3]>,
    ) -> Result<(), Fault> {
        assert!(
            scratch.shared.len() >= self.shared_bytes()
                && scratch.local.len() >= self.local_bytes(),
            "scratch memory is too small"
        );
        let entry = &self.entry;
        if let Some(fault) = entry.no_room(first) {
            return Err(fault);
        }
        let Some(code) = entry.code() else {
            return Ok(());
        };
        let answers = entry.answers();
        let mut table = (answers > 0)
            .then(|| self.tables.lock().ok()?.pop())
            .flatten()
            .unwrap_or_default();
        // Answers about windows hold for one CTA only.
        table.clear();
        table.resize(answers, Extent::default());
        let place = Place::alone(scratch, first);
        let steady = entry.local_steady();
        let outcome = entry.within(&place, &self.roots, &mut table, steady, |context, host| {
            loop {
                // SAFETY: the scratch memory is that large; only this CTA uses it.
                unsafe { std::ptr::write_bytes(context.shared, 0, context.shared_len as usize) };
                // SAFETY: kernels have this signature; the context is complete.
                let status = unsafe {
                    let kernel: extern "C" fn(*mut Context) -> u32 = std::mem::transmute(code);
                    kernel(context)
                };
                if status == context::FAULT {
                    return Err(host.fault(context));
                }
                let Some(block) = next() else {
                    return Ok(());
                };
                context.turn_to(block, entry.local_top());
                // SAFETY: so many there are, and nobody else has them.
                unsafe { std::slice::from_raw_parts_mut(context.answers, answers) }
                    .fill(Extent::default());
            }
        });
        if answers > 0
            && let Ok(mut tables) = self.tables.lock()
        {
            tables.push(table);
        }
        outcome
    }
}

const _: () = {
    const fn shared_by_workers<T: Send + Sync>() {}
    shared_by_workers::<Code>();
    shared_by_workers::<Prepared<'_>>();
};
