//! Shared memory of other CTAs of a cluster. PTX ISA, `mapa`, `getctarank`; and hints about launches and registers.

use super::{SHARED_CLUSTER, SYNC, unexpected};
use crate::ir::bits::Op as BitsOp;
use crate::ir::convert::Op as ConvertOp;
use crate::ir::integer::Op as IntegerOp;
use crate::ir::memory::{CLUSTER_BITS, CLUSTER_SHIFT};
use crate::ir::{IntTy, Kind, Operand, PureOp, Reading, RegClass};
use crate::isa::convert::pure;
use crate::isa::form::{
    Arg, Build, Choice, Complaint, Emit, Form, OperandKind, Param, Slot, SlotName, T, U32, dst,
    first, form, maybe, one, param, src, word,
};
use crate::isa::words::{WORDS, ty};

const SPACE: Slot = maybe(SlotName::Space, &[SHARED_CLUSTER]);
const ADDRESSES: Slot = ty(&[word("u32"), word("u64")]);
const ADDRESS: Param = param("a", OperandKind::SharedSrc, T);
/// The targets whose variants can move registers between warps.
const REGISTER_TARGETS: &[u32] = &[90, 100, 103, 107, 110, 120, 121];

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    form(
        "mapa",
        &[SPACE, ADDRESSES],
        &[dst(T), ADDRESS, src("b", U32)],
        Build::Emit(map),
        "d = the address that a has in the shared memory of CTA b of the cluster",
    )
    .needs((7, 8), 90),
    form(
        "getctarank",
        &[SPACE, ADDRESSES],
        &[dst(U32), ADDRESS],
        Build::Emit(rank),
        "d = the rank of the CTA in whose shared memory a lies",
    )
    .needs((7, 8), 90),
    form(
        "griddepcontrol",
        &[one(
            SlotName::Variant,
            &[word("launch_dependents"), word("wait")],
        )],
        &[],
        Build::Hint,
        "nothing: grids that depend on each other run one after the other",
    )
    .needs((7, 8), 90),
    form(
        "setmaxnreg",
        &[
            first(SlotName::Variant, &[word("inc"), word("dec")]),
            SYNC,
            one(SlotName::Aligned, &[word("aligned")]),
            ty(WORDS),
        ],
        &[param("count", OperandKind::Literal(24, 256), U32)],
        Build::Emit(registers),
        "nothing: a hint about how many registers the warp needs",
    )
    .needs((8, 0), 90)
    .only_variants(REGISTER_TARGETS),
];

/// The rank of a CTA stands above the offset in an address of its shared memory.
fn map(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let [
        Arg::Dst(Some(dst), class),
        Arg::Src(address, _),
        Arg::Src(rank, _),
    ] = args
    else {
        return Err(unexpected());
    };
    let class = *class;
    // A rank that no cluster has stays one when it is cut to its field.
    let most = (1 << CLUSTER_BITS) - 1;
    let mut field = match *rank {
        Operand::Imm(rank) => Operand::Imm(rank.min(most)),
        reg @ Operand::Reg(_) => {
            let clamped = out.fresh(RegClass::B32);
            let least = PureOp::Integer(IntegerOp::Min {
                ty: IntTy::U32,
                relu: false,
            });
            out.prepare(pure(least, clamped, &[reg, Operand::Imm(most)]));
            Operand::Reg(clamped)
        }
    };
    if choice.class(SlotName::Type)? == RegClass::B64
        && let Operand::Reg(_) = field
    {
        let wide = out.fresh(RegClass::B64);
        let widen = PureOp::Convert(ConvertOp::WIDEN);
        out.prepare(pure(widen, wide, &[field]));
        field = Operand::Reg(wide);
    }
    out.emit(pure(
        PureOp::Bits(BitsOp::Bfi {
            class,
            reading: Reading::Text,
        }),
        *dst,
        &[
            field,
            *address,
            Operand::Imm(CLUSTER_SHIFT.into()),
            Operand::Imm(CLUSTER_BITS.into()),
        ],
    ));
    Ok(())
}

fn rank(_: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let [Arg::Dst(Some(dst), class), Arg::Src(address, _)] = args else {
        return Err(unexpected());
    };
    // The rank lies in the lower half of an address, and a source may be wider.
    let low = match address {
        Operand::Imm(value) => Operand::Imm(value & class.mask()),
        reg @ Operand::Reg(_) => *reg,
    };
    let ty = IntTy::U32;
    out.emit(pure(
        PureOp::Bits(BitsOp::Bfe {
            ty,
            reading: Reading::Text,
        }),
        *dst,
        &[
            low,
            Operand::Imm(CLUSTER_SHIFT.into()),
            Operand::Imm(CLUSTER_BITS.into()),
        ],
    ));
    Ok(())
}

fn registers(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    match args {
        [Arg::Literal(count)] if count % 8 == 0 => {
            out.emit(Kind::Hint {
                name: choice.form.mnemonic,
            });
            Ok(())
        }
        [Arg::Literal(count)] => Err(Complaint::operand(
            0,
            format!("{count} registers are no multiple of 8"),
        )),
        _ => Err(unexpected()),
    }
}
