//! `.f32` with operands of 16 bits. PTX ISA, "Mixed Precision Floating Point Instructions".

use super::mode;
use crate::ir::PureOp;
use crate::ir::float::{Mixed, Op};
use crate::isa::form::{
    Build, Choice, Complaint, Form, Param, Slot, SlotName, T, TypeOf, Word, dst, form, maybe, one,
    src, word,
};
use crate::isa::words::{MAYBE_SAT, from_ty, ty};

const FROM: TypeOf = TypeOf::Slot(SlotName::FromType);
const ROUNDINGS: &[Word] = &[word("rn"), word("rz"), word("rm"), word("rp")];
const F32: Slot = ty(&[word("f32")]);
const HALVES: Slot = from_ty(&[word("f16"), word("bf16")]);

const SUM: &[Slot] = &[maybe(SlotName::Rounding, ROUNDINGS), MAYBE_SAT, F32, HALVES];
const FMA: &[Slot] = &[one(SlotName::Rounding, ROUNDINGS), MAYBE_SAT, F32, HALVES];
const AC: &[Param] = &[dst(T), src("a", FROM), src("c", T)];
const ABC: &[Param] = &[dst(T), src("a", FROM), src("b", FROM), src("c", T)];

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    form(
        "add",
        SUM,
        AC,
        Build::Pure(|c, _| mixed(c, Mixed::Add)),
        "d = a + c, rounded once",
    )
    .needs((8, 6), 100),
    form(
        "sub",
        SUM,
        AC,
        Build::Pure(|c, _| mixed(c, Mixed::Sub)),
        "d = a - c, rounded once",
    )
    .needs((8, 6), 100),
    form(
        "fma",
        FMA,
        ABC,
        Build::Pure(|c, _| mixed(c, Mixed::Fma)),
        "d = a * b + c, rounded once",
    )
    .needs((8, 6), 100),
];

fn mixed(choice: &Choice<'_>, op: Mixed) -> Result<PureOp, Complaint> {
    Ok(PureOp::Float(Op::Mixed {
        op,
        from: choice.float(SlotName::FromType)?,
        mode: mode(choice)?,
    }))
}
