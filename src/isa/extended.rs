//! Extended-precision integer arithmetic. PTX ISA, "Extended-Precision Integer Arithmetic Instructions".
//!
//! The carry CC.CF is not among the operands; whoever builds the instruction adds it as the last source and
//! destination.

use super::form::{
    Build, Choice, Complaint, Form, Param, Slot, SlotName, T, dst, first, form, one, src, word,
};
use super::words::{CARRY_OUT, INTEGERS, ty};
use crate::ir::PureOp;
use crate::ir::extended::Op;

const CC: Slot = one(SlotName::Carry, &[word("cc")]);
const HALVES: Slot = first(SlotName::Variant, &[word("lo"), word("hi")]);
const AB: &[Param] = &[dst(T), src("a", T), src("b", T)];
const ABC: &[Param] = &[dst(T), src("a", T), src("b", T), src("c", T)];

/// The rows.
pub(super) const FORMS: &[Form] = &[
    form(
        "add",
        &[CC, ty(CARRY_OUT)],
        AB,
        Build::Pure(|c, _| add(c, false)),
        "d = a + b; CF = carry out",
    )
    .needs((1, 2), 10),
    form(
        "addc",
        &[CC, ty(CARRY_OUT)],
        AB,
        Build::Pure(|c, _| add(c, true)),
        "d = a + b + CF; CF = carry out",
    )
    .needs((1, 2), 10),
    form(
        "addc",
        &[ty(INTEGERS)],
        AB,
        Build::Pure(|c, _| add(c, true)),
        "d = a + b + CF",
    )
    .needs((1, 2), 10),
    form(
        "sub",
        &[CC, ty(CARRY_OUT)],
        AB,
        Build::Pure(|c, _| subtract(c, false)),
        "d = a + ~b + 1; CF = carry out: 1 where there is no borrow",
    )
    .needs((1, 3), 10),
    form(
        "subc",
        &[CC, ty(CARRY_OUT)],
        AB,
        Build::Pure(|c, _| subtract(c, true)),
        "d = a + ~b + CF; CF = carry out: 1 where there is no borrow",
    )
    .needs((1, 3), 10),
    form(
        "subc",
        &[ty(INTEGERS)],
        AB,
        Build::Pure(|c, _| subtract(c, true)),
        "d = a + ~b + CF",
    )
    .needs((1, 3), 10),
    form(
        "mad",
        &[HALVES, CC, ty(CARRY_OUT)],
        ABC,
        Build::Pure(|c, _| multiply_add(c, false)),
        "d = (the low or high half of a * b) + c; CF = carry out",
    )
    .needs((3, 0), 20),
    form(
        "madc",
        &[HALVES, CC, ty(CARRY_OUT)],
        ABC,
        Build::Pure(|c, _| multiply_add(c, true)),
        "d = (the low or high half of a * b) + c + CF; CF = carry out",
    )
    .needs((3, 0), 20),
    form(
        "madc",
        &[HALVES, ty(INTEGERS)],
        ABC,
        Build::Pure(|c, _| multiply_add(c, true)),
        "d = (the low or high half of a * b) + c + CF",
    )
    .needs((3, 0), 20),
];

fn add(choice: &Choice<'_>, carry_in: bool) -> Result<PureOp, Complaint> {
    Ok(PureOp::Extended(Op::Add {
        ty: choice.int(SlotName::Type)?,
        carry_in,
        carry_out: choice.has(SlotName::Carry),
    }))
}

fn subtract(choice: &Choice<'_>, carry_in: bool) -> Result<PureOp, Complaint> {
    Ok(PureOp::Extended(Op::Sub {
        ty: choice.int(SlotName::Type)?,
        carry_in,
        carry_out: choice.has(SlotName::Carry),
    }))
}

fn multiply_add(choice: &Choice<'_>, carry_in: bool) -> Result<PureOp, Complaint> {
    Ok(PureOp::Extended(Op::Mad {
        high: choice.word(SlotName::Variant) == Some("hi"),
        ty: choice.int(SlotName::Type)?,
        carry_in,
        carry_out: choice.has(SlotName::Carry),
    }))
}
