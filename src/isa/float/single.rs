//! Arithmetic of `.f32`, `.f32x2` and `.f64`. PTX ISA, "Floating Point Instructions".

use super::{FLUSH, mode};
use crate::ir::PureOp;
use crate::ir::float::{Arith, FloatTy, Op, Sign};
use crate::isa::form::{
    Build, Choice, Complaint, Form, Param, Slot, SlotName, T, Word, dst, form, maybe, one, src,
    word,
};
use crate::isa::words::{MAYBE_SAT, ty};

const F32: Slot = ty(&[word("f32")]);
const F64: Slot = ty(&[word("f64")]);
const F32X2: Slot = ty(&[word("f32x2")]);

/// Roundings of `.f32` sums and products.
const ROUNDED: &[Word] = &[
    word("rn"),
    word("rz"),
    word("rm").needs((2, 0), 20),
    word("rp").needs((2, 0), 20),
];
/// Roundings of `.f64` sums and products.
const ROUNDED_DOUBLE: &[Word] = &[
    word("rn"),
    word("rz"),
    word("rm").needs((1, 0), 13),
    word("rp").needs((1, 0), 13),
];
/// Roundings of `.f64` quotients and roots.
const DIVIDED_DOUBLE: &[Word] = &[
    word("rn"),
    word("rz").needs((1, 0), 20),
    word("rm").needs((1, 0), 20),
    word("rp").needs((1, 0), 20),
];
/// Roundings where all are equally old.
const ALL: &[Word] = &[word("rn"), word("rz"), word("rm"), word("rp")];

const fn maybe_rounded(words: &'static [Word]) -> Slot {
    maybe(SlotName::Rounding, words)
}

const fn rounded(words: &'static [Word]) -> Slot {
    one(SlotName::Rounding, words)
}

const A: &[Param] = &[dst(T), src("a", T)];
const AB: &[Param] = &[dst(T), src("a", T), src("b", T)];
const ABC: &[Param] = &[dst(T), src("a", T), src("b", T), src("c", T)];

const ADD: Build = Build::Pure(|c, _| arith(c, Arith::Add));
const SUB: Build = Build::Pure(|c, _| arith(c, Arith::Sub));
const MUL: Build = Build::Pure(|c, _| arith(c, Arith::Mul));
const DIV: Build = Build::Pure(|c, _| arith(c, Arith::Div));
const FMA: Build = Build::Pure(|c, _| {
    let (ty, mode) = (c.float(SlotName::Type)?, mode(c)?);
    Ok(PureOp::Float(Op::Fma { ty, mode }))
});
const RCP: Build = Build::Pure(|c, _| {
    let (ty, mut mode) = (c.float(SlotName::Type)?, mode(c)?);
    mode.ftz &= ty != FloatTy::F64;
    Ok(PureOp::Float(Op::Rcp { ty, mode }))
});
const SQRT: Build = Build::Pure(|c, _| {
    let (ty, mode) = (c.float(SlotName::Type)?, mode(c)?);
    Ok(PureOp::Float(Op::Sqrt { ty, mode }))
});

const ADD_DOC: &str = "d = a + b, rounded once";
const SUB_DOC: &str = "d = a - b, rounded once";
const MUL_DOC: &str = "d = a * b, rounded once";
const FMA_DOC: &str = "d = a * b + c, rounded once";
const DIV_DOC: &str = "d = a / b, rounded once";
const RCP_DOC: &str = "d = 1 / a, rounded once";
const SQRT_DOC: &str = "d = the square root of a, rounded once";

const SUM_SINGLE: &[Slot] = &[maybe_rounded(ROUNDED), FLUSH, MAYBE_SAT, F32];
const SUM_DOUBLE: &[Slot] = &[maybe_rounded(ROUNDED_DOUBLE), F64];
const SUM_PACKED: &[Slot] = &[maybe_rounded(ALL), FLUSH, F32X2];
const FMA_SINGLE: &[Slot] = &[rounded(ALL), FLUSH, MAYBE_SAT, F32];
const FMA_DOUBLE: &[Slot] = &[rounded(ROUNDED_DOUBLE), F64];

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    form("add", SUM_SINGLE, AB, ADD, ADD_DOC),
    form("add", SUM_DOUBLE, AB, ADD, ADD_DOC),
    form("add", SUM_PACKED, AB, ADD, ADD_DOC).needs((8, 6), 100),
    form("sub", SUM_SINGLE, AB, SUB, SUB_DOC),
    form("sub", SUM_DOUBLE, AB, SUB, SUB_DOC),
    form("sub", SUM_PACKED, AB, SUB, SUB_DOC).needs((8, 6), 100),
    form("mul", SUM_SINGLE, AB, MUL, MUL_DOC),
    form("mul", SUM_DOUBLE, AB, MUL, MUL_DOC),
    form("mul", SUM_PACKED, AB, MUL, MUL_DOC).needs((8, 6), 100),
    form("fma", FMA_SINGLE, ABC, FMA, FMA_DOC).needs((2, 0), 20),
    form("fma", FMA_DOUBLE, ABC, FMA, FMA_DOC).needs((1, 4), 10),
    form("fma", &[rounded(ALL), FLUSH, F32X2], ABC, FMA, FMA_DOC).needs((8, 6), 100),
    form("mad", FMA_SINGLE, ABC, FMA, FMA_DOC).needs((2, 0), 20),
    form("mad", &[FLUSH, MAYBE_SAT, F32], ABC, FMA, FMA_DOC).ends((3, 2), 20),
    form("mad", FMA_DOUBLE, ABC, FMA, FMA_DOC),
    form("mad", &[F64], ABC, FMA, FMA_DOC).ends((1, 4), 10),
    form("div", &[rounded(ALL), FLUSH, F32], AB, DIV, DIV_DOC).needs((1, 4), 20),
    form("div", &[rounded(DIVIDED_DOUBLE), F64], AB, DIV, DIV_DOC),
    form("div", &[F64], AB, DIV, DIV_DOC).ends((1, 4), 10),
    form("rcp", &[rounded(ALL), FLUSH, F32], A, RCP, RCP_DOC).needs((1, 4), 20),
    // `.ftz` does nothing to `.f64`.
    form(
        "rcp",
        &[rounded(DIVIDED_DOUBLE), FLUSH, F64],
        A,
        RCP,
        RCP_DOC,
    )
    .needs((1, 4), 10),
    form("sqrt", &[rounded(ALL), FLUSH, F32], A, SQRT, SQRT_DOC).needs((1, 4), 20),
    form("sqrt", &[rounded(DIVIDED_DOUBLE), F64], A, SQRT, SQRT_DOC),
    form("sqrt", &[F64], A, SQRT, SQRT_DOC).ends((1, 4), 10),
    form("abs", &[FLUSH, F32], A, ABS, "d = |a|"),
    form("abs", &[F64], A, ABS, "d = |a|"),
    form("neg", &[FLUSH, F32], A, NEG, "d = -a"),
    form("neg", &[F64], A, NEG, "d = -a"),
];

const ABS: Build = Build::Pure(|c, _| sign(c, Sign::Abs));
const NEG: Build = Build::Pure(|c, _| sign(c, Sign::Neg));

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
