//! Comparison and selection. PTX ISA, "Comparison and Selection Instructions".

use super::form::{
    B32, Build, Choice, Complaint, Form, OperandKind, Param, Slot, SlotName, T, TypeOf, Word, dst,
    form, one, param, src, word,
};
use super::words::{COMBINE, combination, comparison, from_ty, ty};
use crate::ir::PureOp;
use crate::ir::compare::Op;
use crate::ir::float::Mark;

const FROM: TypeOf = TypeOf::Slot(SlotName::FromType);
pub(super) const PREDICATE: Param = param("c", OperandKind::Pred, B32);
pub(super) const SETP_DST: Param = param("p|q", OperandKind::SetpDst, B32);

/// Types that know only equality.
const EQUALITY: &[Word] = &[word("b16"), word("b32"), word("b64")];
const UNSIGNED: &[Word] = &[word("u16"), word("u32"), word("u64")];
const SIGNED: &[Word] = &[word("s16"), word("s32"), word("s64")];
const EQ_NE: Slot = one(SlotName::Compare, &[word("eq"), word("ne")]);
const ORDER: Slot = one(
    SlotName::Compare,
    &[
        word("eq"),
        word("ne"),
        word("lt"),
        word("le"),
        word("gt"),
        word("ge"),
    ],
);
const UNSIGNED_ORDER: Slot = one(
    SlotName::Compare,
    &[
        word("eq"),
        word("ne"),
        word("lt"),
        word("le"),
        word("gt"),
        word("ge"),
        word("lo"),
        word("ls"),
        word("hi"),
        word("hs"),
    ],
);
/// What `set` may write: all ones or 1.0.
const SET_TYPES: &[Word] = &[
    word("u32"),
    word("s32"),
    word("f32"),
    word("f16").needs((4, 2), 53),
    word("bf16").needs((7, 8), 90),
];
/// What `selp` and `slct` may pick.
pub(super) const MOVABLE: &[Word] = &[
    word("b16"),
    word("b32"),
    word("b64"),
    word("u16"),
    word("u32"),
    word("u64"),
    word("s16"),
    word("s32"),
    word("s64"),
    word("f32"),
    word("f64"),
];

const SETP: &[Param] = &[SETP_DST, src("a", T), src("b", T)];
const SETP_COMBINED: &[Param] = &[SETP_DST, src("a", T), src("b", T), PREDICATE];
const SETP_DOC: &str = "t = a CmpOp b; p = t; q = !t";
const SETP_COMBINED_DOC: &str = "t = a CmpOp b; p = t BoolOp c; q = !t BoolOp c";
const SET: &[Param] = &[dst(T), src("a", FROM), src("b", FROM)];
const SET_COMBINED: &[Param] = &[dst(T), src("a", FROM), src("b", FROM), PREDICATE];
const SET_DOC: &str = "d = a CmpOp b ? ffffffff or 1.0 : 0";
const SET_COMBINED_DOC: &str = "d = (a CmpOp b) BoolOp c ? ffffffff or 1.0 : 0";

/// The rows.
pub(super) const FORMS: &[Form] = &[
    form(
        "setp",
        &[EQ_NE, ty(EQUALITY)],
        SETP,
        Build::Pure(|c, _| setp(c)),
        SETP_DOC,
    ),
    form(
        "setp",
        &[ORDER, ty(SIGNED)],
        SETP,
        Build::Pure(|c, _| setp(c)),
        SETP_DOC,
    ),
    form(
        "setp",
        &[UNSIGNED_ORDER, ty(UNSIGNED)],
        SETP,
        Build::Pure(|c, _| setp(c)),
        SETP_DOC,
    ),
    form(
        "setp",
        &[EQ_NE, COMBINE, ty(EQUALITY)],
        SETP_COMBINED,
        Build::Pure(|c, _| setp(c)),
        SETP_COMBINED_DOC,
    ),
    form(
        "setp",
        &[ORDER, COMBINE, ty(SIGNED)],
        SETP_COMBINED,
        Build::Pure(|c, _| setp(c)),
        SETP_COMBINED_DOC,
    ),
    form(
        "setp",
        &[UNSIGNED_ORDER, COMBINE, ty(UNSIGNED)],
        SETP_COMBINED,
        Build::Pure(|c, _| setp(c)),
        SETP_COMBINED_DOC,
    ),
    form(
        "set",
        &[EQ_NE, ty(SET_TYPES), from_ty(EQUALITY)],
        SET,
        Build::Pure(|c, _| set(c)),
        SET_DOC,
    ),
    form(
        "set",
        &[ORDER, ty(SET_TYPES), from_ty(SIGNED)],
        SET,
        Build::Pure(|c, _| set(c)),
        SET_DOC,
    ),
    form(
        "set",
        &[UNSIGNED_ORDER, ty(SET_TYPES), from_ty(UNSIGNED)],
        SET,
        Build::Pure(|c, _| set(c)),
        SET_DOC,
    ),
    form(
        "set",
        &[EQ_NE, COMBINE, ty(SET_TYPES), from_ty(EQUALITY)],
        SET_COMBINED,
        Build::Pure(|c, _| set(c)),
        SET_COMBINED_DOC,
    ),
    form(
        "set",
        &[ORDER, COMBINE, ty(SET_TYPES), from_ty(SIGNED)],
        SET_COMBINED,
        Build::Pure(|c, _| set(c)),
        SET_COMBINED_DOC,
    ),
    form(
        "set",
        &[UNSIGNED_ORDER, COMBINE, ty(SET_TYPES), from_ty(UNSIGNED)],
        SET_COMBINED,
        Build::Pure(|c, _| set(c)),
        SET_COMBINED_DOC,
    ),
    form(
        "selp",
        &[ty(MOVABLE)],
        &[dst(T), src("a", T), src("b", T), PREDICATE],
        Build::Pure(|c, _| {
            Ok(PureOp::Compare(Op::Selp {
                class: c.class(SlotName::Type)?,
            }))
        }),
        "d = c ? a : b",
    ),
    form(
        "slct",
        &[ty(MOVABLE), from_ty(&[word("s32")])],
        &[dst(T), src("a", T), src("b", T), src("c", FROM)],
        Build::Pure(|c, _| {
            Ok(PureOp::Compare(Op::Slct {
                class: c.class(SlotName::Type)?,
            }))
        }),
        "d = c >= 0 ? a : b",
    ),
];

fn setp(choice: &Choice<'_>) -> Result<PureOp, Complaint> {
    Ok(PureOp::Compare(Op::Setp {
        cmp: comparison(choice)?,
        ty: choice.int(SlotName::Type)?,
        combine: combination(choice)?,
    }))
}

fn set(choice: &Choice<'_>) -> Result<PureOp, Complaint> {
    Ok(PureOp::Compare(Op::Set {
        cmp: comparison(choice)?,
        ty: choice.int(SlotName::FromType)?,
        combine: combination(choice)?,
        to: mark(choice)?,
    }))
}

/// What `set` of the type in [`SlotName::Type`] writes where the comparison holds.
pub(super) fn mark(choice: &Choice<'_>) -> Result<Mark, Complaint> {
    Ok(match choice.ty(SlotName::Type)?.float() {
        Some(ty) => Mark::One(ty),
        None => Mark::Ones(choice.class(SlotName::Type)?),
    })
}
