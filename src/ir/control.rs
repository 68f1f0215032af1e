//! Control flow. PTX ISA, "Control Flow Instructions" and "Miscellaneous Instructions".

use super::{Block, FuncId, Operand, Reg};

/// How a block ends.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Terminator {
    /// `bra`, or falling into the next block.
    Jump(Block),
    /// A guarded branch.
    Branch {
        /// The predicate.
        cond: Reg,
        /// Taken where `cond` is 1.
        then: Block,
        /// Taken where `cond` is 0.
        other: Block,
    },
    /// `brx.idx`: an index past the targets is a fault ([`FaultKind::BadCall`](crate::machine::FaultKind)).
    Table {
        /// The index, 32 bits, unsigned.
        index: Operand,
        /// The targets.
        targets: Vec<Block>,
    },
    /// `ret`: ends the function; in a kernel the thread.
    Return,
    /// `exit`: ends the thread.
    Exit,
    /// `trap`, `brkpt`: ends the launch with a fault.
    Trap,
}

impl Terminator {
    /// Calls `f` with each block that control may go to.
    pub fn successors(&self, mut f: impl FnMut(Block)) {
        match self {
            Terminator::Jump(b) => f(*b),
            Terminator::Branch { then, other, .. } => {
                f(*then);
                f(*other);
            }
            Terminator::Table { targets, .. } => targets.iter().copied().for_each(f),
            Terminator::Return | Terminator::Exit | Terminator::Trap => {}
        }
    }

    /// Replaces each block that control may go to.
    pub fn map_successors(&mut self, f: impl Fn(Block) -> Block) {
        match self {
            Terminator::Jump(b) => *b = f(*b),
            Terminator::Branch { then, other, .. } => {
                *then = f(*then);
                *other = f(*other);
            }
            Terminator::Table { targets, .. } => targets.iter_mut().for_each(|b| *b = f(*b)),
            Terminator::Return | Terminator::Exit | Terminator::Trap => {}
        }
    }

    /// The register that decides.
    pub fn uses(&self) -> Option<Reg> {
        match self {
            Terminator::Branch { cond, .. } => Some(*cond),
            Terminator::Table { index, .. } => index.reg(),
            Terminator::Jump(_) | Terminator::Return | Terminator::Exit | Terminator::Trap => None,
        }
    }
}

/// Size and alignment of a parameter, in bytes. Calls through pointers compare these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ParamTy {
    /// Size in bytes, at least 1.
    pub size: u32,
    /// Alignment in bytes, a power of two.
    pub align: u32,
}

/// What a function takes and gives.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct CallType {
    /// Parameters in order.
    pub params: Vec<ParamTy>,
    /// Return parameters in order.
    pub returns: Vec<ParamTy>,
}

/// Who is called.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Callee {
    /// A function by name.
    Direct(FuncId),
    /// The function whose address is in the operand; if it is not one of this type, a fault.
    Indirect {
        /// The address.
        target: Operand,
        /// The type that the prototype or table gives.
        ty: CallType,
    },
}

/// An argument, or the place for a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Slot {
    /// A register or constant, of the parameter's size.
    Value(Operand),
    /// A `.param` variable of the body: index into [`Function::frame`](super::Function::frame).
    Frame(u32),
    /// An input parameter of the calling function itself, passed on.
    Param(u32),
    /// `_`: the result is dropped.
    Sink,
}

/// `call`
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// Who.
    pub callee: Callee,
    /// Arguments.
    pub args: Vec<Slot>,
    /// Places for the results; values are registers.
    pub results: Vec<Slot>,
}
