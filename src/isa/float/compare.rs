//! Comparison and selection of `.f32` and `.f64`. PTX ISA, "Comparison and Selection Instructions", `min`, `max`, `copysign`,
//! `testp`.

use super::FLUSH;
use crate::ir::PureOp;
use crate::ir::float::{Class, Extreme, Op, Relation, Signs};
use crate::isa::compare::{MOVABLE, PREDICATE, SETP_DST, mark};
use crate::isa::form::{
    Build, Choice, Complaint, Form, Param, Slot, SlotName, T, TypeOf, Word, dst, form, maybe, one,
    src, word,
};
use crate::isa::types::Ty;
use crate::isa::words::{COMBINE, combination, from_ty, ty};

const F32: &[Word] = &[word("f32")];
const F64: &[Word] = &[word("f64")];
const BOTH: &[Word] = &[word("f32"), word("f64")];
const FROM: TypeOf = TypeOf::Slot(SlotName::FromType);

/// Comparisons, ordered and not.
pub(in crate::isa) const RELATION: Slot = one(
    SlotName::Compare,
    &[
        word("eq"),
        word("ne"),
        word("lt"),
        word("le"),
        word("gt"),
        word("ge"),
        word("equ"),
        word("neu"),
        word("ltu"),
        word("leu"),
        word("gtu"),
        word("geu"),
        word("num"),
        word("nan"),
    ],
);

/// What `set` may write.
const MARKS: &[Word] = &[
    word("u32"),
    word("s32"),
    word("f32"),
    word("f16").needs((4, 2), 53),
];
/// The same, with what is not written with `.ftz`.
const ALL_MARKS: &[Word] = &[
    word("u32"),
    word("s32"),
    word("f32"),
    word("f16").needs((4, 2), 53),
    word("bf16").needs((7, 8), 90),
];
const BF16: &[Word] = &[word("bf16")];

pub(super) const NAN: Slot = maybe(SlotName::Nan, &[word("NaN").needs((7, 0), 80)]);
pub(super) const XOR_SIGN: Slot = one(SlotName::XorSign, &[word("xorsign")]);
pub(super) const ABS: Slot = one(SlotName::Abs, &[word("abs")]);
const MAYBE_ABS: Slot = maybe(SlotName::Abs, &[word("abs")]);
const CLASS: Slot = one(
    SlotName::Operation,
    &[
        word("finite"),
        word("infinite"),
        word("number"),
        word("notanumber"),
        word("normal"),
        word("subnormal"),
    ],
);

pub(super) const AB: &[Param] = &[dst(T), src("a", T), src("b", T)];
const ABC: &[Param] = &[dst(T), src("a", T), src("b", T), src("c", T)];
const SETP_AB: &[Param] = &[SETP_DST, src("a", T), src("b", T)];
const SETP_ABC: &[Param] = &[SETP_DST, src("a", T), src("b", T), PREDICATE];
pub(super) const SET_AB: &[Param] = &[dst(T), src("a", FROM), src("b", FROM)];
pub(super) const SET_ABC: &[Param] = &[dst(T), src("a", FROM), src("b", FROM), PREDICATE];

pub(super) const MIN: Build = Build::Pure(|c, _| extreme(c, false, false));
pub(super) const MAX: Build = Build::Pure(|c, _| extreme(c, true, false));
const MIN_OF_THREE: Build = Build::Pure(|c, _| extreme(c, false, true));
const MAX_OF_THREE: Build = Build::Pure(|c, _| extreme(c, true, true));
pub(super) const SETP: Build = Build::Pure(|c, _| setp(c));
pub(super) const SET: Build = Build::Pure(|c, _| set(c));

pub(super) const MIN_DOC: &str = "d = the least, -0 below +0; NaN only with .NaN, or of NaN alone";
pub(super) const MAX_DOC: &str =
    "d = the greatest, +0 above -0; NaN only with .NaN, or of NaN alone";
const SETP_DOC: &str = "t = a CmpOp b; p = t; q = !t";
const SETP_COMBINED_DOC: &str = "t = a CmpOp b; p = t BoolOp c; q = !t BoolOp c";
const SET_DOC: &str = "d = a CmpOp b ? ffffffff or 1.0 : 0";
const SET_COMBINED_DOC: &str = "d = (a CmpOp b) BoolOp c ? ffffffff or 1.0 : 0";

const EXTREME: &[Slot] = &[FLUSH, NAN, ty(F32)];
const EXTREME_XOR: &[Slot] = &[FLUSH, NAN, XOR_SIGN, ABS, ty(F32)];
const EXTREME_OF_THREE: &[Slot] = &[FLUSH, NAN, MAYBE_ABS, ty(F32)];

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    form("min", EXTREME, AB, MIN, MIN_DOC),
    form("min", EXTREME_XOR, AB, MIN, MIN_DOC).needs((7, 2), 86),
    form("min", EXTREME_OF_THREE, ABC, MIN_OF_THREE, MIN_DOC).needs((8, 8), 100),
    form("min", &[ty(F64)], AB, MIN, MIN_DOC),
    form("max", EXTREME, AB, MAX, MAX_DOC),
    form("max", EXTREME_XOR, AB, MAX, MAX_DOC).needs((7, 2), 86),
    form("max", EXTREME_OF_THREE, ABC, MAX_OF_THREE, MAX_DOC).needs((8, 8), 100),
    form("max", &[ty(F64)], AB, MAX, MAX_DOC),
    form(
        "copysign",
        &[ty(BOTH)],
        AB,
        Build::Pure(|c, _| {
            let ty = c.float(SlotName::Type)?;
            Ok(PureOp::Float(Op::Copysign { ty }))
        }),
        "d = b with the sign of a",
    )
    .needs((2, 0), 20),
    form(
        "testp",
        &[CLASS, ty(BOTH)],
        &[dst(TypeOf::Fixed(Ty::PRED)), src("a", T)],
        Build::Pure(|c, _| testp(c)),
        "d = whether a is of the class; zeros are normal",
    )
    .needs((2, 0), 20),
    form("setp", &[RELATION, FLUSH, ty(F32)], SETP_AB, SETP, SETP_DOC),
    form("setp", &[RELATION, ty(F64)], SETP_AB, SETP, SETP_DOC),
    form(
        "setp",
        &[RELATION, COMBINE, FLUSH, ty(F32)],
        SETP_ABC,
        SETP,
        SETP_COMBINED_DOC,
    ),
    form(
        "setp",
        &[RELATION, COMBINE, ty(F64)],
        SETP_ABC,
        SETP,
        SETP_COMBINED_DOC,
    ),
    form(
        "set",
        &[RELATION, FLUSH, ty(MARKS), from_ty(F32)],
        SET_AB,
        SET,
        SET_DOC,
    ),
    form(
        "set",
        &[RELATION, ty(BF16), from_ty(F32)],
        SET_AB,
        SET,
        SET_DOC,
    )
    .needs((7, 8), 90),
    form(
        "set",
        &[RELATION, ty(ALL_MARKS), from_ty(F64)],
        SET_AB,
        SET,
        SET_DOC,
    ),
    form(
        "set",
        &[RELATION, COMBINE, FLUSH, ty(MARKS), from_ty(F32)],
        SET_ABC,
        SET,
        SET_COMBINED_DOC,
    ),
    form(
        "set",
        &[RELATION, COMBINE, ty(BF16), from_ty(F32)],
        SET_ABC,
        SET,
        SET_COMBINED_DOC,
    )
    .needs((7, 8), 90),
    form(
        "set",
        &[RELATION, COMBINE, ty(ALL_MARKS), from_ty(F64)],
        SET_ABC,
        SET,
        SET_COMBINED_DOC,
    ),
    form(
        "slct",
        &[FLUSH, ty(MOVABLE), from_ty(F32)],
        &[dst(T), src("a", T), src("b", T), src("c", FROM)],
        Build::Pure(|c, _| {
            Ok(PureOp::Float(Op::Slct {
                class: c.class(SlotName::Type)?,
                ftz: c.has(SlotName::Flush),
            }))
        }),
        "d = c >= 0 ? a : b; NaN chooses b",
    ),
];

/// The comparison in [`SlotName::Compare`].
pub(in crate::isa) fn relation(choice: &Choice<'_>) -> Result<Relation, Complaint> {
    match choice.required(SlotName::Compare)? {
        "eq" => Ok(Relation::Eq),
        "ne" => Ok(Relation::Ne),
        "lt" => Ok(Relation::Lt),
        "le" => Ok(Relation::Le),
        "gt" => Ok(Relation::Gt),
        "ge" => Ok(Relation::Ge),
        "equ" => Ok(Relation::Equ),
        "neu" => Ok(Relation::Neu),
        "ltu" => Ok(Relation::Ltu),
        "leu" => Ok(Relation::Leu),
        "gtu" => Ok(Relation::Gtu),
        "geu" => Ok(Relation::Geu),
        "num" => Ok(Relation::Num),
        "nan" => Ok(Relation::Nan),
        other => Err(Complaint::row(format!("`{other}` is no comparison"))),
    }
}

fn setp(choice: &Choice<'_>) -> Result<PureOp, Complaint> {
    Ok(PureOp::Float(Op::Setp {
        cmp: relation(choice)?,
        ty: choice.float(SlotName::Type)?,
        ftz: choice.has(SlotName::Flush),
        combine: combination(choice)?,
    }))
}

fn set(choice: &Choice<'_>) -> Result<PureOp, Complaint> {
    Ok(PureOp::Float(Op::Set {
        cmp: relation(choice)?,
        ty: choice.float(SlotName::FromType)?,
        ftz: choice.has(SlotName::Flush),
        combine: combination(choice)?,
        to: mark(choice)?,
    }))
}

fn testp(choice: &Choice<'_>) -> Result<PureOp, Complaint> {
    let class = match choice.required(SlotName::Operation)? {
        "finite" => Class::Finite,
        "infinite" => Class::Infinite,
        "number" => Class::Number,
        "notanumber" => Class::NotANumber,
        "normal" => Class::Normal,
        "subnormal" => Class::Subnormal,
        other => return Err(Complaint::row(format!("`{other}` is no class of numbers"))),
    };
    let ty = choice.float(SlotName::Type)?;
    Ok(PureOp::Float(Op::Testp { class, ty }))
}

fn extreme(choice: &Choice<'_>, max: bool, three: bool) -> Result<PureOp, Complaint> {
    Ok(PureOp::Float(Op::Extreme(Extreme {
        max,
        ty: choice.float(SlotName::Type)?,
        ftz: choice.has(SlotName::Flush),
        nan: choice.has(SlotName::Nan),
        signs: if choice.has(SlotName::XorSign) {
            Signs::Xor
        } else if choice.has(SlotName::Abs) {
            Signs::Abs
        } else {
            Signs::Kept
        },
        three,
    })))
}
