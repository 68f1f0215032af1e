//! What a kernel can do wrong.

use super::memory::View;
use crate::diag::{Position, Span, clean};
use crate::ir::memory::Space;
use crate::ir::{self, FuncId};
use std::fmt;

/// Kinds of fault. `Display` gives the words that the test formats use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access outside the live allocations, variables and windows.
    OutOfBounds,
    /// An address that is not a multiple of the access's size.
    Misaligned,
    /// A store to memory that may only be read.
    ReadOnly,
    /// Nobody can go on.
    Deadlock,
    /// A barrier that the threads of a warp do not reach together.
    DivergedBarrier,
    /// `trap` or `brkpt`.
    Trap,
    /// `__assertfail`.
    Assertion,
    /// The launch took longer than it may, or was cancelled.
    TimeLimit,
    /// Calls nested too deep, or too much `.local` memory.
    StackOverflow,
    /// The device heap is full.
    HeapExhausted,
    /// An indirect call to something that is not a function of the type, or a jump past the end of its table.
    BadCall,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FaultKind::OutOfBounds => "out of bounds",
            FaultKind::Misaligned => "misaligned",
            FaultKind::ReadOnly => "read-only",
            FaultKind::Deadlock => "deadlock",
            FaultKind::DivergedBarrier => "diverged barrier",
            FaultKind::Trap => "trap",
            FaultKind::Assertion => "assertion",
            FaultKind::TimeLimit => "time limit",
            FaultKind::StackOverflow => "stack overflow",
            FaultKind::HeapExhausted => "heap exhausted",
            FaultKind::BadCall => "bad call",
        })
    }
}

/// The allocation nearest to a bad address.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Nearest {
    /// What it is: `buffer of 1024 bytes at 0x...`, `shared memory`, `variable table`.
    pub what: String,
    /// Bytes from its start to the bad address; negative before it.
    pub offset: i64,
    /// Its size in bytes.
    pub size: u64,
}

/// A kernel or function did wrong: what, where, which thread.
///
/// ```
/// # let module = ptxlift::Module::parse("
/// #     .version 8.0
/// #     .target sm_80
/// #     .address_size 64
/// #     .entry k() { trap; }
/// # ")?;
/// # let device = ptxlift::Device::new(ptxlift::DeviceConfig::default())?;
/// # let instance = ptxlift::Engine::default().compile(&module)?.instantiate(&device)?;
/// use ptxlift::{Error, FaultKind, Launch, args};
/// let Err(Error::Fault(fault)) = instance.kernel("k")?.launch(Launch::grid(1), args![]) else { panic!("a trap") };
/// assert_eq!((fault.kind, fault.instruction.as_str()), (FaultKind::Trap, "trap"));
/// assert_eq!((fault.block, fault.thread), ([0; 3], [0; 3]));
/// # Ok::<(), ptxlift::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// The kernel or function in which the instruction stands.
    pub function: String,
    /// The instruction in the text.
    pub span: Span,
    /// The name of the text, and line and column of the instruction.
    pub file: String,
    /// Line and column of the instruction.
    pub position: Position,
    /// The instruction as written.
    pub instruction: String,
    /// File and line of the source that it was compiled from, if the text says (`.loc`).
    pub source: Option<(String, u32)>,
    /// `%ctaid`; zeros for a function called from the host.
    pub block: [u32; 3],
    /// `%tid`; zeros for a function called from the host.
    pub thread: [u32; 3],
    /// The address, where there is one, and the size of the access in bytes.
    pub address: Option<(u64, u32)>,
    /// What lies nearest to the address.
    pub nearest: Option<Nearest>,
    /// More words: the message of an assertion, why a call is bad.
    pub detail: Option<String>,
}

impl Fault {
    /// A fault of the instruction at `span` in `function`, with its lines looked up.
    ///
    /// `location` is an index into [`ir::Module::locations`], or `u32::MAX`.
    pub(crate) fn new(
        kind: FaultKind,
        module: &ir::Module,
        function: FuncId,
        span: Span,
        location: u32,
    ) -> Self {
        let source = module.locations.get(location as usize).map(|at| {
            let file = module.files.iter().find(|f| f.index == at.file);
            (
                file.map_or_else(|| format!("file {}", at.file), |f| clean(&f.name)),
                at.line,
            )
        });
        let text = module.source.slice(span);
        let mut instruction = clean(&text.split_whitespace().collect::<Vec<_>>().join(" "));
        if instruction.chars().count() > 160 {
            instruction = instruction.chars().take(157).chain("...".chars()).collect();
        }
        Fault {
            kind,
            function: module
                .functions
                .get(function.index())
                .map_or_else(String::new, |f| f.name.clone()),
            span,
            file: module.source.name().to_string(),
            position: module.source.position(span.start),
            instruction,
            source,
            block: [0; 3],
            thread: [0; 3],
            address: None,
            nearest: None,
            detail: None,
        }
    }

    /// Sets which thread did it.
    #[must_use]
    pub(crate) fn by(mut self, block: [u32; 3], thread: [u32; 3]) -> Self {
        self.block = block;
        self.thread = thread;
        self
    }

    /// Sets the address of the access, its size in bytes, and what of `view` lies nearest.
    #[must_use]
    pub(crate) fn accessing(
        mut self,
        view: &View<'_>,
        space: Space,
        address: u64,
        bytes: u32,
    ) -> Self {
        // As the view itself takes it.
        let address = if view.address_bits == 32 {
            address & 0xffff_ffff
        } else {
            address
        };
        self.address = Some((address, bytes));
        self.nearest = view.nearest(space, address);
        self
    }

    /// Sets more words.
    #[must_use]
    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if let Some((address, bytes)) = self.address {
            write!(
                f,
                ": access of {bytes} byte{} at {address:#x}",
                if bytes == 1 { "" } else { "s" }
            )?;
        }
        if let Some(detail) = &self.detail {
            write!(f, ": {detail}")?;
        }
        write!(
            f,
            "\n  at {}:{} in `{}`: {}",
            self.file, self.position, self.function, self.instruction
        )?;
        if let Some((file, line)) = &self.source {
            write!(f, "\n  from {file}:{line}")?;
        }
        let [bx, by, bz] = self.block;
        let [tx, ty, tz] = self.thread;
        write!(f, "\n  block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})")?;
        if let Some(nearest) = &self.nearest {
            write!(
                f,
                "\n  nearest: {} ({} bytes), offset {}",
                nearest.what, nearest.size, nearest.offset
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}
