//! Loads, stores and addresses. PTX ISA, "State Spaces" and "Data Movement and Conversion Instructions".

use super::{Operand, Reg, VarId};
use smallvec::SmallVec;

/// Where an address points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Space {
    /// Any window; the address itself tells.
    Generic,
    /// `.global`: a host address.
    Global,
    /// `.shared`, `.shared::cta`: an address in the CTA's own shared memory.
    Shared,
    /// `.shared::cluster`: an address in the shared memory of a CTA of the cluster ([`CLUSTER_SHIFT`]).
    Cluster,
    /// `.local`: an offset in the thread's local memory.
    Local,
    /// `.const`: an offset in the module's constants.
    Const,
    /// `.param`: an offset in the kernel's parameters, for addresses in registers. Parameters of device functions and of calls are
    /// reached by name only ([`Var::Param`], [`Var::Return`], [`Var::Frame`]).
    Param,
}

/// Where in an address of shared memory stands in which CTA of the cluster it lies: its rank, from this bit on, as on
/// hardware. The bits below are the offset. `mapa` and `getctarank` put it there and read it, in addresses of 32 bits and,
/// in the window of generic addresses, of 64. Addresses of a CTA's own variables have its own rank there, so that they mean
/// the same to all CTAs of the cluster. In a module that has no use for that ([`Module::clusters`](super::Module::clusters)),
/// or in a cluster of one CTA, an address is the offset.
pub const CLUSTER_SHIFT: u32 = 24;
/// See [`CLUSTER_SHIFT`].
pub const CLUSTER_BITS: u32 = 8;

/// What an access is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Base {
    /// A register, of 32 or 64 bits.
    Reg(Reg),
    /// A variable.
    Var(Var),
    /// Nothing: the offset is the address.
    Absolute,
}

/// A variable that an instruction names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Var {
    /// A `.global`, `.const` or `.shared` variable of the module.
    Module(VarId),
    /// A `.local` variable of the function: index into [`Function::locals`](super::Function::locals).
    Local(u32),
    /// An input parameter of the function: index into [`Function::params`](super::Function::params).
    Param(u32),
    /// A return parameter of the function: index into [`Function::returns`](super::Function::returns).
    Return(u32),
    /// A `.param` variable of the body, for calls: index into [`Function::frame`](super::Function::frame).
    Frame(u32),
}

/// An address: base plus offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address {
    /// The base.
    pub base: Base,
    /// Bytes from the base; wraps around.
    pub offset: i64,
}

/// Ordering of an access, as far as one thread can tell: what the compiler may not move or drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Order {
    Weak,
    Volatile,
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
}

/// `ld`, `ldu`, `ld.global.nc`. Elements lie side by side from the address on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Load {
    /// The state space of the address.
    pub space: Space,
    /// Bytes of an element: 1, 2, 4 or 8. (16-byte elements have become pairs.)
    pub bytes: u8,
    /// Whether an element is sign-extended into a wider destination.
    pub signed: bool,
    /// Required alignment of the address: the size of the whole access.
    pub align: u8,
    /// The destinations, at least as wide as an element; `None` for `_`.
    pub dsts: SmallVec<[Option<Reg>; 4]>,
    /// The address.
    pub addr: Address,
    /// Ordering.
    pub order: Order,
    /// `.nc`, `ldu`, `.const`, kernel parameters: nobody writes this memory during the launch, the program promises.
    pub read_only: bool,
}

/// `st`. Elements lie side by side from the address on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Store {
    /// The state space of the address.
    pub space: Space,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Required alignment of the address: the size of the whole access.
    pub align: u8,
    /// The elements; wider registers are truncated.
    pub srcs: SmallVec<[Operand; 4]>,
    /// The address.
    pub addr: Address,
    /// Ordering.
    pub order: Order,
}

/// `mov d, variable+offset`: the address in the variable's own space (not generic).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AddressOf {
    /// Destination, 32 or 64 bits wide.
    pub dst: Reg,
    /// The variable.
    pub var: Var,
    /// Bytes from its start.
    pub offset: i64,
}

/// `alloca`, `stacksave`, `stackrestore`: local memory of a function behind its variables, that of the functions it calls
/// behind it. It is given back when the function returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stack {
    /// `dst` = the address of new, zeroed memory.
    Allocate {
        /// Destination, 32 or 64 bits wide.
        dst: Reg,
        /// Bytes, as wide as `dst`, without sign.
        size: Operand,
        /// A power of two, no less than [`STACK_ALIGN`].
        align: u32,
    },
    /// `dst` = where the function's local memory ends.
    Save {
        /// Destination, 32 or 64 bits wide.
        dst: Reg,
    },
    /// It ends there again.
    Restore {
        /// What [`Stack::Save`] gave.
        src: Reg,
    },
}

/// The least alignment of what `alloca` gives.
pub const STACK_ALIGN: u32 = 8;
/// The largest.
pub const STACK_MOST_ALIGN: u32 = 1 << 23;
