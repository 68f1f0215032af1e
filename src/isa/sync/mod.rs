//! Threads that meet. PTX ISA, "Parallel Synchronization and Communication Instructions", "Asynchronous Copy".

pub(super) mod atomic;
pub(super) mod atomic_float;
pub(super) mod barrier;
pub(super) mod bulk;
pub(super) mod cluster;
pub(super) mod copy;
pub(super) mod fence;
pub(super) mod launch_control;
pub(super) mod mbarrier;
pub(super) mod multimem;
pub(super) mod warp;

use super::form::{
    Arg, Complaint, Emit, OperandKind, Param, Slot, SlotName, TypeOf, U32, Word, one, param, src,
    word,
};
use crate::ir::memory::{Address, Space};
use crate::ir::sync::{Meet, Op};
use crate::ir::{Kind, Operand, Reg};
use crate::isa::convert::space_at;
use smallvec::SmallVec;

/// `.sync`
const SYNC: Slot = one(SlotName::Sync, &[word("sync")]);
const SHARED_CTA: Word = word("shared::cta").needs((7, 8), 10);
const SHARED_CLUSTER: Word = word("shared::cluster").needs((7, 8), 90);
/// The lanes that take part.
const MASK: Param = src("membermask", U32);
/// `[a]`
const ADDRESS: Param = param("a", OperandKind::HintAddress, TypeOf::Address);

fn unexpected() -> Complaint {
    Complaint::row("operands of a kind that the form does not have")
}

/// An address and the space that it lies in.
fn place(arg: &Arg, space: Space) -> Result<(Space, Address), Complaint> {
    match arg {
        Arg::Address(address, variable) => Ok((space_at(space, *variable), *address)),
        _ => Err(unexpected()),
    }
}

/// Destinations and sources in the order of the operands.
type Operands = (SmallVec<[Option<Reg>; 2]>, SmallVec<[Operand; 4]>);

/// What the operands are made of, but for addresses; of 128 bits both halves.
fn operands(args: &[Arg]) -> Operands {
    let (mut dsts, mut srcs) = Operands::default();
    for (index, arg) in args.iter().enumerate() {
        match arg {
            Arg::Dst(reg, _) => dsts.push(*reg),
            Arg::Dsts(first, second) => dsts.extend([*first, *second]),
            Arg::Src(value, _) => srcs.push(*value),
            Arg::Quad(Operand::Reg(low), Operand::Reg(high)) if index == 0 => {
                dsts.extend([Some(*low), Some(*high)]);
            }
            Arg::Quad(low, high) => srcs.extend([*low, *high]),
            Arg::Absent
            | Arg::Literal(_)
            | Arg::Part { .. }
            | Arg::Lanes { .. }
            | Arg::Vector(_)
            | Arg::Address(..)
            | Arg::AddressOf(_)
            | Arg::Function(_)
            | Arg::Special(_) => {}
        }
    }
    (dsts, srcs)
}

/// The operation on the operands in their order.
fn meet(op: Op, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let (dsts, srcs) = operands(args);
    out.emit(Kind::Meet(Meet { op, dsts, srcs }));
    Ok(())
}
