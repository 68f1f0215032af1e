//! Zeros in shared memory. PTX ISA, `st.bulk`.

use super::{place, unexpected};
use crate::ir::integer::Op as IntOp;
use crate::ir::sync::Copy;
use crate::ir::{IntTy, Kind, Operand, PureOp, RegClass};
use crate::isa::convert::{pure, space};
use crate::isa::form::{
    Arg, Build, Choice, Complaint, Emit, Form, OperandKind, Param, Slot, SlotName, TypeOf, U32,
    first, form, maybe, param, word,
};
use crate::isa::types::Ty;

const BULK: Slot = first(SlotName::Bulk, &[word("bulk")]);
const WEAK: Slot = maybe(SlotName::Order, &[word("weak")]);
const SPACE: Slot = maybe(SlotName::Space, &[word("shared::cta")]);
const TO: Param = param(
    "dst",
    OperandKind::AsyncAddress(SlotName::Space),
    TypeOf::Address,
);
const SIZE: Param = param("size", OperandKind::AnyWidthSrc, TypeOf::Fixed(Ty::U64));
const ZERO: Param = param("initval", OperandKind::Literal(0, 0), U32);

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[form(
    "st",
    &[BULK, WEAK, SPACE],
    &[TO, SIZE, ZERO],
    Build::Emit(clear),
    "the size bytes at dst = 0",
)
.needs((8, 6), 100)];

fn clear(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    const MOST: u64 = 1 << 24;
    let [to, Arg::Src(bytes, class), _] = args else {
        return Err(unexpected());
    };
    let to = place(to, space(choice)?)?;
    let bytes = match *bytes {
        Operand::Imm(bytes) if bytes > MOST || bytes % 8 != 0 => {
            return Err(Complaint::operand(
                1,
                format!("{bytes} bytes are no multiple of 8 up to {MOST}"),
            ));
        }
        // More than there can be stays more, whatever its lower half is.
        Operand::Reg(_) if *class == RegClass::B64 => {
            let least = out.fresh(RegClass::B64);
            let ty = IntTy::new(RegClass::B64, false).ok_or_else(unexpected)?;
            let min = PureOp::Integer(IntOp::Min { ty, relu: false });
            out.prepare(pure(
                min,
                least,
                &[*bytes, Operand::Imm(u32::MAX as u64 - 7)],
            ));
            Operand::Reg(least)
        }
        other => other,
    };
    out.emit(Kind::Copy(Box::new(Copy {
        read: Some(Operand::Imm(0)),
        ..Copy::new(to, to, bytes, 8)
    })));
    Ok(())
}
