//! Watching the interpreter.

use crate::diag::Span;
use crate::ir::{FuncId, Reg};

/// One executed instruction, or the way out of a block.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Step<'a> {
    /// The function in which it stands.
    pub function: FuncId,
    /// Where it stands in the text.
    pub span: Span,
    /// Index into [`Module::locations`](crate::ir::Module::locations), or `u32::MAX`.
    pub location: u32,
    /// `%ctaid`
    pub block: [u32; 3],
    /// `%tid`
    pub thread: [u32; 3],
    /// Depth of calls: 0 in the kernel.
    pub depth: u32,
    /// Whether its guard let it through.
    pub executed: bool,
    /// The registers that it reads, its guard included, with their values before it.
    pub reads: &'a [(Reg, u64)],
    /// Whether it ends the launch in a fault.
    pub faulted: bool,
    /// The registers that it writes, with their values after it. Empty for calls: their results arrive with the return.
    pub writes: &'a [(Reg, u64)],
    /// The instruction that a branch goes to, or where it just goes on.
    pub to: Option<Span>,
    /// Of a return into a function of the module: that function, and its registers that now hold the results.
    pub returned: Option<(FuncId, &'a [(Reg, u64)])>,
}

/// Sees each instruction that a thread executes, after it is done. One that faults is seen with no writes.
///
/// ```
/// # let module = ptxlift::Module::parse("
/// #     .version 8.0
/// #     .target sm_80
/// #     .address_size 64
/// #     .entry k() { .reg .b32 %r; mov.u32 %r, %tid.x; add.u32 %r, %r, 1; ret; }
/// # ")?;
/// # let device = ptxlift::Device::new(ptxlift::DeviceConfig::default())?;
/// # let instance = ptxlift::Engine::default().compile(&module)?.instantiate(&device)?;
/// use ptxlift::{Launch, Step, Trace, args};
///
/// /// Counts instructions that write something.
/// #[derive(Default)]
/// struct Writes(usize);
///
/// impl Trace for Writes {
///     fn step(&mut self, step: &Step<'_>) {
///         self.0 += usize::from(!step.writes.is_empty());
///     }
/// }
///
/// let mut writes = Writes::default();
/// instance.kernel("k")?.launch_traced(Launch::grid(1).block(3), args![], &mut writes)?;
/// assert_eq!(writes.0, 6);
/// # Ok::<(), ptxlift::Error>(())
/// ```
pub trait Trace {
    /// Whether [`Trace::step`] wants to be called. Constant, so that running without costs nothing.
    const ENABLED: bool = true;

    /// An instruction was executed.
    fn step(&mut self, step: &Step<'_>);
}

/// Sees nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTrace;

impl Trace for NoTrace {
    const ENABLED: bool = false;

    fn step(&mut self, _step: &Step<'_>) {}
}

impl<F: FnMut(&Step<'_>)> Trace for F {
    fn step(&mut self, step: &Step<'_>) {
        self(step);
    }
}
