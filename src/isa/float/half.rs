//! Arithmetic of `.f16`, `.bf16` and their packed forms. PTX ISA, "Half Precision Floating Point Instructions".

use super::mode;
use crate::ir::PureOp;
use crate::ir::float::{Arith, Op, Sign};
use crate::isa::form::{
    Build, Choice, Complaint, Form, Param, Slot, SlotName, T, dst, form, maybe, one, src, word,
};
use crate::isa::words::{MAYBE_RELU, MAYBE_SAT, RELU, SAT, ty};

const MAYBE_NEAREST: Slot = maybe(SlotName::Rounding, &[word("rn")]);
const NEAREST: Slot = one(SlotName::Rounding, &[word("rn")]);
/// The assembler takes these of `.bf16`, the text `.rn` alone.
const ROUNDED: Slot = one(
    SlotName::Rounding,
    &[word("rn"), word("rz"), word("rm"), word("rp")],
);
pub(super) const FLUSH: Slot = maybe(SlotName::Flush, &[word("ftz")]);
const OOB: Slot = one(SlotName::OutOfBounds, &[word("oob")]);

pub(super) const F16: Slot = ty(&[word("f16"), word("f16x2")]);
pub(super) const BF16: Slot = ty(&[word("bf16"), word("bf16x2")]);

const A: &[Param] = &[dst(T), src("a", T)];
const AB: &[Param] = &[dst(T), src("a", T), src("b", T)];
const ABC: &[Param] = &[dst(T), src("a", T), src("b", T), src("c", T)];

const ADD: Build = Build::Pure(|c, _| arith(c, Arith::Add));
const SUB: Build = Build::Pure(|c, _| arith(c, Arith::Sub));
const MUL: Build = Build::Pure(|c, _| arith(c, Arith::Mul));
const FMA: Build = Build::Pure(|c, _| {
    let (ty, mode) = (c.float(SlotName::Type)?, mode(c)?);
    Ok(PureOp::Float(if c.has(SlotName::OutOfBounds) {
        Op::FmaOob { ty, mode }
    } else {
        Op::Fma { ty, mode }
    }))
});
const ABS: Build = Build::Pure(|c, _| sign(c, Sign::Abs));
const NEG: Build = Build::Pure(|c, _| sign(c, Sign::Neg));

const ADD_DOC: &str = "d = a + b, rounded once";
const SUB_DOC: &str = "d = a - b, rounded once";
const MUL_DOC: &str = "d = a * b, rounded once";
const FMA_DOC: &str = "d = a * b + c, rounded once";
const RELU_DOC: &str = "d = a * b + c, rounded once; negative becomes 0";
const OOB_DOC: &str = "d = a * b + c, rounded once; 0 if a or b is the NaN of out of bounds";

const ARITH_F16: &[Slot] = &[MAYBE_NEAREST, FLUSH, MAYBE_SAT, F16];
const ARITH_BF16: &[Slot] = &[MAYBE_NEAREST, BF16];

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    form("add", ARITH_F16, AB, ADD, ADD_DOC).needs((4, 2), 53),
    form("add", ARITH_BF16, AB, ADD, ADD_DOC).needs((7, 8), 90),
    form("sub", ARITH_F16, AB, SUB, SUB_DOC).needs((4, 2), 53),
    form("sub", ARITH_BF16, AB, SUB, SUB_DOC).needs((7, 8), 90),
    form("mul", ARITH_F16, AB, MUL, MUL_DOC).needs((4, 2), 53),
    form("mul", ARITH_BF16, AB, MUL, MUL_DOC).needs((7, 8), 90),
    form("fma", &[NEAREST, FLUSH, MAYBE_SAT, F16], ABC, FMA, FMA_DOC).needs((4, 2), 53),
    form("fma", &[NEAREST, FLUSH, RELU, F16], ABC, FMA, RELU_DOC).needs((7, 0), 80),
    form("fma", &[ROUNDED, MAYBE_RELU, BF16], ABC, FMA, FMA_DOC).needs((7, 0), 80),
    form("fma", &[NEAREST, OOB, MAYBE_RELU, F16], ABC, FMA, OOB_DOC).needs((8, 1), 90),
    form("fma", &[NEAREST, OOB, SAT, F16], ABC, FMA, OOB_DOC).needs((8, 1), 90),
    form("fma", &[ROUNDED, OOB, MAYBE_RELU, BF16], ABC, FMA, OOB_DOC).needs((8, 1), 90),
    form("abs", &[FLUSH, F16], A, ABS, "d = |a|").needs((6, 5), 53),
    form("abs", &[BF16], A, ABS, "d = |a|").needs((7, 0), 80),
    form("neg", &[FLUSH, F16], A, NEG, "d = -a").needs((6, 0), 53),
    form("neg", &[BF16], A, NEG, "d = -a").needs((7, 0), 80),
];

fn arith(choice: &Choice<'_>, op: Arith) -> Result<PureOp, Complaint> {
    Ok(PureOp::Float(Op::Arith {
        op,
        ty: choice.float(SlotName::Type)?,
        mode: mode(choice)?,
    }))
}

fn sign(choice: &Choice<'_>, op: Sign) -> Result<PureOp, Complaint> {
    Ok(PureOp::Float(Op::Sign {
        op,
        ty: choice.float(SlotName::Type)?,
        ftz: choice.has(SlotName::Flush),
    }))
}
