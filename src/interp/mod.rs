//! The reference engine: executes IR one thread after another, by what [`semantics`](crate::semantics) says.
//!
//! An [`Interpreter`] is made of a module once and shared by all workers; it decodes each function when it is first
//! entered. Everything that a CTA changes lies in its [`Scratch`] and in global memory. What both engines agree on
//! stands in [`machine`](crate::machine).

mod code;
mod cta;
mod memory;
mod resumable;
mod special;
mod sync;
mod thread;
mod trace;

#[cfg(test)]
mod tests;

pub use resumable::Resumable;
pub use trace::{NoTrace, Step, Trace};

use crate::ir::waits::Waits;
use crate::ir::{FuncId, Module};
use crate::machine::memory::Window;
use crate::machine::schedule::{Progress, Shuffle};
use crate::machine::{Fault, FaultKind, Launch, Neighbours, Room, Scratch, Seat, SharedMemory};
use code::Code;
use cta::Cta;
use std::sync::{Arc, OnceLock};
use thread::{End, Thread};

/// A module made ready to be interpreted. Cheap to make, shared by all workers.
#[derive(Debug)]
pub struct Interpreter {
    module: Arc<Module>,
    waits: OnceLock<Waits>,
    code: Box<[OnceLock<Code>]>,
}

impl Interpreter {
    /// Of a module.
    pub fn new(module: Arc<Module>) -> Self {
        Interpreter {
            code: module.functions.iter().map(|_| OnceLock::new()).collect(),
            waits: OnceLock::new(),
            module,
        }
    }

    /// Whether threads of a kernel or function may have to be left before their end: [`Interpreter::begin_block`] runs it.
    pub fn suspends(&self, function: FuncId) -> bool {
        self.waits().suspends(function)
    }

    /// A CTA of a kernel, at its place in its cluster, none of whose threads has begun; as [`Interpreter::run_block`], with memory of its own, that of its
    /// threads out of `room`. It follows the canonical schedule, unless that is to be shuffled. `None` if there is not enough.
    pub fn begin_block<'a>(
        &'a self,
        kernel: FuncId,
        launch: &'a Launch<'_>,
        room: &'a Room,
        seat: Seat<'a>,
        block: [u32; 3],
        shuffle: Option<Shuffle>,
    ) -> Option<Resumable<'a>> {
        Resumable::new(self, kernel, launch, room, seat, block, shuffle)
    }

    /// Runs one CTA of a kernel whose threads never have to be left. `block` is its `%ctaid`; `trace` sees each instruction. `scratch` holds at least the
    /// kernel's static and the launch's dynamic shared memory, and [`Limits::local_bytes`] of local memory. Gives the
    /// number of executed instructions of the IR, with those that their guard switched off and the ways out of blocks.
    ///
    /// [`Limits::local_bytes`]: crate::machine::Limits::local_bytes
    ///
    /// # Errors
    /// What a thread did wrong.
    pub fn run_block(
        &self,
        kernel: FuncId,
        launch: &Launch<'_>,
        scratch: &Scratch,
        block: [u32; 3],
        trace: &mut impl Trace,
    ) -> Result<u64, Fault> {
        let mut params = aligned(launch.params);
        let param = Window {
            base: params.as_mut_ptr().cast(),
            len: launch.params.len() as u64,
        };
        let cta = Cta::new(
            self,
            kernel,
            launch,
            scratch.shared.window(),
            Neighbours::NONE,
            scratch.local.window(),
            param,
            block,
        );
        let mut thread = Thread::new(&cta);
        let mut steps = 0;
        let [nx, ny, nz] = launch.block;
        let mut linear = 0;
        for z in 0..nz {
            for y in 0..ny {
                for x in 0..nx {
                    thread.start(&cta, kernel, linear, [x, y, z])?;
                    thread.run(&cta, trace)?;
                    steps += thread.steps();
                    linear = linear.wrapping_add(1);
                }
            }
        }
        Ok(steps)
    }

    /// Calls a device function from the host. `args` and `results` are laid out by
    /// [`Param::offset`](crate::ir::Param::offset), little-endian. If the function ends by `exit`, the results are 0.
    /// Gives the number of executed instructions, as [`Interpreter::run_block`] does.
    ///
    /// # Errors
    /// What it did wrong.
    pub fn call(
        &self,
        function: FuncId,
        launch: &Launch<'_>,
        scratch: &Scratch,
        args: &[u8],
        results: &mut [u8],
        trace: &mut impl Trace,
    ) -> Result<u64, Fault> {
        if self.suspends(function) {
            return self.call_meeting(function, launch, args, results, trace);
        }
        let (shared, local) = (scratch.shared.window(), scratch.local.window());
        let param = Window::EMPTY;
        let cta = Cta::new(
            self,
            function,
            launch,
            shared,
            Neighbours::NONE,
            local,
            param,
            [0; 3],
        );
        let mut thread = Thread::new(&cta);
        thread.start(&cta, function, 0, [0; 3])?;
        thread.set_params(args);
        match thread.run(&cta, trace)? {
            End::Returned => thread.results(self.code(function), results),
            End::Exited | End::Met(_) | End::Yielded => results.fill(0),
        }
        Ok(thread.steps())
    }

    /// Calls a function that meets others, of whom there are none.
    fn call_meeting(
        &self,
        function: FuncId,
        launch: &Launch<'_>,
        args: &[u8],
        results: &mut [u8],
        trace: &mut impl Trace,
    ) -> Result<u64, Fault> {
        let room = Room::new(launch.limits.local_bytes.into());
        let shared = self.module.functions[function.index()].shared_window(launch.dynamic_shared);
        let shared = SharedMemory::new(&room, shared, 1, self.module.clusters);
        let cta = shared.and_then(|shared| {
            let seat = Seat::new(&shared, 0);
            Resumable::new(self, function, launch, &room, seat, [0; 3], None)
        });
        let Some(mut cta) = cta else {
            let span = self.module.functions[function.index()].span;
            let kind = FaultKind::StackOverflow;
            return Err(Fault::new(kind, &self.module, function, span, u32::MAX));
        };
        cta.set_params(args)?;
        while cta.run(trace)? != Progress::Done {
            std::thread::yield_now();
        }
        cta.results(results);
        Ok(cta.steps())
    }

    /// Where threads may have to be left.
    fn waits(&self) -> &Waits {
        self.waits.get_or_init(|| Waits::new(&self.module))
    }

    /// A function's code, decoded when it is first asked for.
    fn code(&self, function: FuncId) -> &Code {
        self.code[function.index()].get_or_init(|| Code::new(&self.module, self.waits(), function))
    }
}

/// A copy of a kernel's parameters that begins where a window may.
fn aligned(params: &[u8]) -> Vec<u128> {
    params
        .chunks(16)
        .map(|chunk| {
            let mut whole = [0; 16];
            whole[..chunk.len()].copy_from_slice(chunk);
            u128::from_ne_bytes(whole)
        })
        .collect()
}
