//! Instructions, and what code outside the family rooms may ask of them.

use super::control::{Call, Callee, Slot};
use super::memory::{Address, AddressOf, Base, Load, Stack, Store};
use super::sync::{Atomic, Copy, Fence, Mbarrier, Meet};
use super::{FuncId, Operand, Reading, Reg, RegClass, Special};
use super::{bits, compare, convert, extended, float, integer, video};
use crate::diag::Span;
use smallvec::SmallVec;

/// An instruction with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inst {
    /// `@p`: without it the instruction does nothing, its destinations keep their values.
    pub guard: Option<Guard>,
    /// What it does.
    pub kind: Kind,
    /// Where it stands.
    pub span: Span,
    /// Index into [`Module::locations`](super::Module::locations) of the last `.loc`; `u32::MAX` for none.
    pub location: u32,
}

/// `@p` or `@!p`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The predicate register.
    pub reg: Reg,
    /// Executes where the register is 0.
    pub negated: bool,
}

/// What an instruction does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Results from operands alone.
    Pure(Pure),
    /// `ld`
    Load(Load),
    /// `st`
    Store(Store),
    /// Address of a variable.
    AddressOf(AddressOf),
    /// Address of a function, as `mov` gives it.
    FunctionAddress {
        /// Destination, 64 bits (32 under `.address_size 32`).
        dst: Reg,
        /// The function.
        function: FuncId,
    },
    /// Reads a special register, zero-extended or truncated to the destination.
    Special {
        /// Destination.
        dst: Reg,
        /// Which.
        special: Special,
    },
    /// `call`
    Call(Call),
    /// A barrier or warp operation.
    Meet(Meet),
    /// `atom`, `red`
    Atomic(Atomic),
    /// `fence`, `membar`
    Fence(Fence),
    /// `mbarrier`
    Mbarrier(Mbarrier),
    /// Asynchronous copies and reductions.
    Copy(Box<Copy>),
    /// `alloca`, `stacksave`, `stackrestore`
    Stack(Stack),
    /// Something without effect on a CPU: `prefetch`, `discard`, `pmevent`, `nanosleep` and so on.
    Hint {
        /// The mnemonic, for dumps.
        name: &'static str,
    },
    /// An instruction that is known and not built yet; [`Function::unsupported`](super::Function::unsupported)
    /// says more. Never executed.
    Unsupported,
}

impl Kind {
    /// The call that it is.
    pub fn call(&self) -> Option<&Call> {
        match self {
            Kind::Call(call) => Some(call),
            Kind::Pure(_)
            | Kind::Load(_)
            | Kind::Store(_)
            | Kind::AddressOf(_)
            | Kind::FunctionAddress { .. }
            | Kind::Special { .. }
            | Kind::Meet(_)
            | Kind::Atomic(_)
            | Kind::Fence(_)
            | Kind::Mbarrier(_)
            | Kind::Copy(_)
            | Kind::Stack(_)
            | Kind::Hint { .. }
            | Kind::Unsupported => None,
        }
    }
}

/// A pure instruction: `dsts = op(srcs)`, as `op`'s [`Signature`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pure {
    /// The operator.
    pub op: PureOp,
    /// Destinations, each of exactly the signature's class; `None` for `_`.
    pub dsts: SmallVec<[Option<Reg>; 2]>,
    /// Sources; registers at least as wide as the signature says.
    pub srcs: SmallVec<[Operand; 4]>,
}

/// The operators of pure instructions, by family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum PureOp {
    Integer(integer::Op),
    Extended(extended::Op),
    Bits(bits::Op),
    Video(video::Op),
    Compare(compare::Op),
    Convert(convert::Op),
    Float(float::Op),
}

/// Classes of the sources and destinations of an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Sources in order.
    pub srcs: SmallVec<[RegClass; 5]>,
    /// Destinations in order.
    pub dsts: SmallVec<[RegClass; 2]>,
}

impl Signature {
    /// Sources and destinations.
    pub fn new(srcs: &[RegClass], dsts: &[RegClass]) -> Self {
        Signature {
            srcs: SmallVec::from_slice(srcs),
            dsts: SmallVec::from_slice(dsts),
        }
    }
}

impl PureOp {
    /// Whether it is arithmetic on `.f32` or `.f64`, to which it does not matter which NaN a source is.
    pub fn takes_numbers(self) -> bool {
        match self {
            PureOp::Float(op) => op.scalar().is_some(),
            PureOp::Convert(convert::Op::Float(op)) => op.takes_number(),
            PureOp::Integer(_)
            | PureOp::Extended(_)
            | PureOp::Bits(_)
            | PureOp::Video(_)
            | PureOp::Compare(_)
            | PureOp::Convert(_) => false,
        }
    }

    /// Whether the first two sources may change places: the result has the same bits.
    pub fn commutes(self) -> bool {
        match self {
            PureOp::Integer(op) => matches!(
                op,
                integer::Op::Add { .. }
                    | integer::Op::Mul { .. }
                    | integer::Op::Mad { .. }
                    | integer::Op::Min { .. }
                    | integer::Op::Max { .. }
            ),
            PureOp::Bits(op) => matches!(
                op,
                bits::Op::And { .. } | bits::Op::Or { .. } | bits::Op::Xor { .. }
            ),
            PureOp::Float(op) => {
                use float::Arith::{Add, Mul};
                matches!(
                    op,
                    float::Op::Arith { op: Add | Mul, .. }
                        | float::Op::Extreme(_)
                        | float::Op::Fma { .. }
                )
            }
            PureOp::Extended(_) | PureOp::Video(_) | PureOp::Compare(_) | PureOp::Convert(_) => {
                false
            }
        }
    }

    /// The operator as a reading has it.
    #[must_use]
    pub fn read_as(self, reading: Reading) -> PureOp {
        match self {
            PureOp::Bits(op) => PureOp::Bits(op.read_as(reading)),
            PureOp::Video(op) => PureOp::Video(op.read_as(reading)),
            PureOp::Convert(op) => PureOp::Convert(op.read_as(reading)),
            PureOp::Integer(_) | PureOp::Extended(_) | PureOp::Compare(_) | PureOp::Float(_) => {
                self
            }
        }
    }

    /// Classes of sources and destinations.
    pub fn signature(self) -> Signature {
        match self {
            PureOp::Integer(op) => op.signature(),
            PureOp::Extended(op) => op.signature(),
            PureOp::Bits(op) => op.signature(),
            PureOp::Video(op) => op.signature(),
            PureOp::Compare(op) => op.signature(),
            PureOp::Convert(op) => op.signature(),
            PureOp::Float(op) => op.signature(),
        }
    }
}

/// What an instruction does besides writing its destinations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Effects {
    /// Reads memory.
    pub reads: bool,
    /// Writes memory.
    pub writes: bool,
    /// May end the thread or the launch.
    pub faults: bool,
    /// Calls a function.
    pub calls: bool,
}

impl Inst {
    /// Calls `f` with each register that it writes.
    pub fn defs(&self, mut f: impl FnMut(Reg)) {
        match &self.kind {
            Kind::Pure(p) => p.dsts.iter().flatten().copied().for_each(f),
            Kind::Load(l) => l.dsts.iter().flatten().copied().for_each(f),
            Kind::AddressOf(AddressOf { dst, .. })
            | Kind::FunctionAddress { dst, .. }
            | Kind::Special { dst, .. } => f(*dst),
            Kind::Call(c) => c.results.iter().filter_map(slot_reg).for_each(f),
            Kind::Meet(m) => m.dsts.iter().flatten().copied().for_each(f),
            Kind::Atomic(a) => a.dsts.iter().flatten().copied().for_each(f),
            Kind::Mbarrier(m) => m.dst.into_iter().for_each(f),
            Kind::Stack(Stack::Allocate { dst, .. } | Stack::Save { dst }) => f(*dst),
            Kind::Store(_)
            | Kind::Fence(_)
            | Kind::Copy(_)
            | Kind::Stack(Stack::Restore { .. })
            | Kind::Hint { .. }
            | Kind::Unsupported => {}
        }
    }

    /// Calls `f` with each register that it reads, its guard included. (A guarded instruction also keeps the old
    /// values of its destinations; that is for the caller to remember.)
    pub fn uses(&self, mut f: impl FnMut(Reg)) {
        if let Some(guard) = self.guard {
            f(guard.reg);
        }
        match &self.kind {
            Kind::Pure(p) => p.srcs.iter().filter_map(|s| s.reg()).for_each(f),
            Kind::Load(l) => address_reg(&l.addr).into_iter().for_each(f),
            Kind::Store(s) => {
                address_reg(&s.addr).into_iter().for_each(&mut f);
                s.srcs.iter().filter_map(|s| s.reg()).for_each(f);
            }
            Kind::Call(c) => {
                if let Callee::Indirect {
                    target: Operand::Reg(r),
                    ..
                } = c.callee
                {
                    f(r);
                }
                c.args.iter().filter_map(slot_reg).for_each(f);
            }
            Kind::Meet(m) => m.srcs.iter().filter_map(|s| s.reg()).for_each(f),
            Kind::Atomic(a) => {
                address_reg(&a.addr).into_iter().for_each(&mut f);
                a.srcs.iter().filter_map(|s| s.reg()).for_each(f);
            }
            Kind::Mbarrier(m) => {
                address_reg(&m.addr).into_iter().for_each(&mut f);
                m.srcs.iter().filter_map(|s| s.reg()).for_each(f);
            }
            Kind::Copy(c) => {
                let addresses = [Some(&c.to), Some(&c.from), c.mbarrier.as_ref()];
                let bases = addresses.into_iter().flatten();
                bases
                    .filter_map(|(_, addr)| address_reg(addr))
                    .for_each(&mut f);
                c.operands().filter_map(|o| o.reg()).for_each(f);
            }
            Kind::Stack(Stack::Allocate { size, .. }) => size.reg().into_iter().for_each(f),
            Kind::Stack(Stack::Restore { src }) => f(*src),
            Kind::Fence(_)
            | Kind::AddressOf(_)
            | Kind::FunctionAddress { .. }
            | Kind::Special { .. }
            | Kind::Stack(Stack::Save { .. })
            | Kind::Hint { .. }
            | Kind::Unsupported => {}
        }
    }

    /// What it does besides.
    pub fn effects(&self) -> Effects {
        match &self.kind {
            Kind::Load(_) => Effects {
                reads: true,
                faults: true,
                ..Effects::default()
            },
            Kind::Store(_) => Effects {
                writes: true,
                faults: true,
                ..Effects::default()
            },
            Kind::Call(_) => Effects {
                reads: true,
                writes: true,
                faults: true,
                calls: true,
            },
            // What was local memory may be none afterwards.
            Kind::Stack(_) => Effects {
                writes: true,
                faults: true,
                ..Effects::default()
            },
            // Others may have changed memory when the thread goes on, and may see what it wrote.
            Kind::Meet(_) | Kind::Atomic(_) | Kind::Mbarrier(_) | Kind::Copy(_) => Effects {
                reads: true,
                writes: true,
                faults: true,
                ..Effects::default()
            },
            Kind::Fence(_) => Effects {
                reads: true,
                writes: true,
                ..Effects::default()
            },
            Kind::Pure(_)
            | Kind::AddressOf(_)
            | Kind::FunctionAddress { .. }
            | Kind::Special { .. }
            | Kind::Hint { .. } => Effects::default(),
            Kind::Unsupported => Effects {
                faults: true,
                ..Effects::default()
            },
        }
    }
}

fn slot_reg(slot: &Slot) -> Option<Reg> {
    match slot {
        Slot::Value(operand) => operand.reg(),
        Slot::Frame(_) | Slot::Param(_) | Slot::Sink => None,
    }
}

fn address_reg(addr: &Address) -> Option<Reg> {
    match addr.base {
        Base::Reg(r) => Some(r),
        Base::Var(_) | Base::Absolute => None,
    }
}
