//! What the threads of a CTA have in common.

use super::Interpreter;
use super::code::Code;
use super::memory::zero;
use crate::ir::{FuncId, Module};
use crate::machine::memory::Window;
use crate::machine::{Launch, Neighbours, View};

/// A CTA that runs.
pub(super) struct Cta<'a> {
    interpreter: &'a Interpreter,
    pub launch: &'a Launch<'a>,
    /// `%ctaid`
    pub block: [u32; 3],
    /// Where dynamic shared memory begins, as an offset.
    pub dynamic_shared: u64,
    /// What its threads reach; of local memory nothing yet.
    pub view: View<'a>,
    /// All the local memory that a thread may have.
    pub local: Window,
}

impl<'a> Cta<'a> {
    /// The CTA `block` of a kernel, or of a function called from the host, with its shared memory zeroed. Of `shared` and `local`
    /// it uses what it may have.
    #[expect(clippy::too_many_arguments, reason = "they are what a CTA has")]
    pub fn new(
        interpreter: &'a Interpreter,
        function: FuncId,
        launch: &'a Launch<'a>,
        shared: Window,
        neighbours: Neighbours,
        local: Window,
        param: Window,
        block: [u32; 3],
    ) -> Self {
        let module = &interpreter.module;
        let function = &module.functions[function.index()];
        let bytes = function.shared_window(launch.dynamic_shared);
        let shared = within(shared, bytes);
        zero(shared, 0);
        let local = within(local, launch.limits.local_bytes.into());
        Cta {
            interpreter,
            launch,
            block,
            dynamic_shared: function.dynamic_shared(),
            view: View {
                map: launch.map,
                address_bits: module.address_bits,
                shared,
                neighbours,
                local: within(local, 0),
                constant: launch.constants,
                param,
            },
            local,
        }
    }

    /// The module.
    pub fn module(&self) -> &'a Module {
        &self.interpreter.module
    }

    /// A function's code.
    pub fn code(&self, function: FuncId) -> &'a Code {
        self.interpreter.code(function)
    }

    /// Threads of the CTA.
    pub fn threads(&self) -> u64 {
        let sizes = self.launch.block.iter();
        sizes.fold(1, |n, size| n.saturating_mul(u64::from(*size)))
    }
}

/// The window, `len` bytes of it at most.
fn within(window: Window, len: u64) -> Window {
    Window {
        base: window.base,
        len: window.len.min(len),
    }
}
