//! Comparison of `.f16`, `.bf16` and their packed forms. PTX ISA, "Half Precision Comparison Instructions", `min`, `max`.

use super::compare::{
    AB, ABS, MAX, MAX_DOC, MIN, MIN_DOC, NAN, RELATION, SET, SET_AB, SET_ABC, SETP, XOR_SIGN,
};
use super::half::{BF16, F16, FLUSH};
use crate::isa::compare::{PREDICATE, SETP_DST};
use crate::isa::form::{Form, OperandKind, Param, Slot, T, Word, form, param, src, word};
use crate::isa::words::{COMBINE, from_ty, ty};

const ONLY_F16: &[Word] = &[word("f16")];
const ONLY_BF16: &[Word] = &[word("bf16")];
const F16X2: &[Word] = &[word("f16x2")];
const BF16X2: &[Word] = &[word("bf16x2")];

const SETP_ONE_DST: Param = param("p", OperandKind::SetpOneDst, T);
const ONE_AB: &[Param] = &[SETP_ONE_DST, src("a", T), src("b", T)];
const ONE_ABC: &[Param] = &[SETP_ONE_DST, src("a", T), src("b", T), PREDICATE];
const TWO_AB: &[Param] = &[SETP_DST, src("a", T), src("b", T)];
const TWO_ABC: &[Param] = &[SETP_DST, src("a", T), src("b", T), PREDICATE];

/// What `set` may write of `.f16`.
const MARKS_F16: &[Word] = &[
    word("f16"),
    word("u16").needs((6, 5), 53),
    word("s16").needs((6, 5), 53),
    word("u32").needs((6, 5), 53),
    word("s32").needs((6, 5), 53),
];
const MARKS_BF16: &[Word] = &[
    word("bf16"),
    word("u16"),
    word("s16"),
    word("u32"),
    word("s32"),
];
const MARKS_F16X2: &[Word] = &[
    word("f16x2"),
    word("u32").needs((6, 5), 53),
    word("s32").needs((6, 5), 53),
];
const MARKS_BF16X2: &[Word] = &[word("bf16x2"), word("u32"), word("s32")];

const SETP_DOC: &str = "p = a CmpOp b";
const SETP_COMBINED_DOC: &str = "p = (a CmpOp b) BoolOp c";
const SETP2_DOC: &str = "p, q = a CmpOp b of the lower, the upper lanes";
const SETP2_COMBINED_DOC: &str = "p, q = (a CmpOp b) BoolOp c of the lower, the upper lanes";
const SET_DOC: &str = "d = a CmpOp b ? all ones or 1.0 : 0";
const SET_COMBINED_DOC: &str = "d = (a CmpOp b) BoolOp c ? all ones or 1.0 : 0";
const SET2_DOC: &str = "d = a CmpOp b ? ffff or 1.0 : 0, lane by lane";
const SET2_COMBINED_DOC: &str = "d = (a CmpOp b) BoolOp c ? ffff or 1.0 : 0, lane by lane";

const SETP_F16: &[Slot] = &[RELATION, FLUSH, ty(ONLY_F16)];
const SETP_F16_COMBINED: &[Slot] = &[RELATION, COMBINE, FLUSH, ty(ONLY_F16)];
const SETP_F16X2: &[Slot] = &[RELATION, FLUSH, ty(F16X2)];
const SETP_F16X2_COMBINED: &[Slot] = &[RELATION, COMBINE, FLUSH, ty(F16X2)];
const SETP_BF16: &[Slot] = &[RELATION, ty(ONLY_BF16)];
const SETP_BF16_COMBINED: &[Slot] = &[RELATION, COMBINE, ty(ONLY_BF16)];
const SETP_BF16X2: &[Slot] = &[RELATION, ty(BF16X2)];
const SETP_BF16X2_COMBINED: &[Slot] = &[RELATION, COMBINE, ty(BF16X2)];

const SET_F16: &[Slot] = &[RELATION, FLUSH, ty(MARKS_F16), from_ty(ONLY_F16)];
const SET_F16_COMBINED: &[Slot] = &[RELATION, COMBINE, FLUSH, ty(MARKS_F16), from_ty(ONLY_F16)];
const SET_OTHER: &[Slot] = &[RELATION, ty(ONLY_BF16), from_ty(ONLY_F16)];
const SET_OTHER_COMBINED: &[Slot] = &[RELATION, COMBINE, ty(ONLY_BF16), from_ty(ONLY_F16)];
const SET_F16X2: &[Slot] = &[RELATION, FLUSH, ty(MARKS_F16X2), from_ty(F16X2)];
const SET_F16X2_COMBINED: &[Slot] = &[RELATION, COMBINE, FLUSH, ty(MARKS_F16X2), from_ty(F16X2)];
const SET_BF16: &[Slot] = &[RELATION, ty(MARKS_BF16), from_ty(ONLY_BF16)];
const SET_BF16_COMBINED: &[Slot] = &[RELATION, COMBINE, ty(MARKS_BF16), from_ty(ONLY_BF16)];
const SET_BF16X2: &[Slot] = &[RELATION, ty(MARKS_BF16X2), from_ty(BF16X2)];
const SET_BF16X2_COMBINED: &[Slot] = &[RELATION, COMBINE, ty(MARKS_BF16X2), from_ty(BF16X2)];

const EXTREME_F16: &[Slot] = &[FLUSH, NAN, F16];
const EXTREME_XOR_F16: &[Slot] = &[FLUSH, NAN, XOR_SIGN, ABS, F16];
const EXTREME_BF16: &[Slot] = &[NAN, BF16];
const EXTREME_XOR_BF16: &[Slot] = &[NAN, XOR_SIGN, ABS, BF16];

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    form("min", EXTREME_F16, AB, MIN, MIN_DOC).needs((7, 0), 80),
    form("min", EXTREME_XOR_F16, AB, MIN, MIN_DOC).needs((7, 2), 86),
    form("min", EXTREME_BF16, AB, MIN, MIN_DOC).needs((7, 0), 80),
    form("min", EXTREME_XOR_BF16, AB, MIN, MIN_DOC).needs((7, 2), 86),
    form("max", EXTREME_F16, AB, MAX, MAX_DOC).needs((7, 0), 80),
    form("max", EXTREME_XOR_F16, AB, MAX, MAX_DOC).needs((7, 2), 86),
    form("max", EXTREME_BF16, AB, MAX, MAX_DOC).needs((7, 0), 80),
    form("max", EXTREME_XOR_BF16, AB, MAX, MAX_DOC).needs((7, 2), 86),
    form("setp", SETP_F16, ONE_AB, SETP, SETP_DOC).needs((4, 2), 53),
    form("setp", SETP_F16_COMBINED, ONE_ABC, SETP, SETP_COMBINED_DOC).needs((4, 2), 53),
    form("setp", SETP_F16X2, TWO_AB, SETP, SETP2_DOC).needs((4, 2), 53),
    form(
        "setp",
        SETP_F16X2_COMBINED,
        TWO_ABC,
        SETP,
        SETP2_COMBINED_DOC,
    )
    .needs((4, 2), 53),
    form("setp", SETP_BF16, ONE_AB, SETP, SETP_DOC).needs((7, 8), 90),
    form("setp", SETP_BF16_COMBINED, ONE_ABC, SETP, SETP_COMBINED_DOC).needs((7, 8), 90),
    form("setp", SETP_BF16X2, TWO_AB, SETP, SETP2_DOC).needs((7, 8), 90),
    form(
        "setp",
        SETP_BF16X2_COMBINED,
        TWO_ABC,
        SETP,
        SETP2_COMBINED_DOC,
    )
    .needs((7, 8), 90),
    form("set", SET_F16, SET_AB, SET, SET_DOC).needs((4, 2), 53),
    form("set", SET_F16_COMBINED, SET_ABC, SET, SET_COMBINED_DOC).needs((4, 2), 53),
    form("set", SET_OTHER, SET_AB, SET, SET_DOC).needs((7, 8), 90),
    form("set", SET_OTHER_COMBINED, SET_ABC, SET, SET_COMBINED_DOC).needs((7, 8), 90),
    form("set", SET_F16X2, SET_AB, SET, SET2_DOC).needs((4, 2), 53),
    form("set", SET_F16X2_COMBINED, SET_ABC, SET, SET2_COMBINED_DOC).needs((4, 2), 53),
    form("set", SET_BF16, SET_AB, SET, SET_DOC).needs((7, 8), 90),
    form("set", SET_BF16_COMBINED, SET_ABC, SET, SET_COMBINED_DOC).needs((7, 8), 90),
    form("set", SET_BF16X2, SET_AB, SET, SET2_DOC).needs((7, 8), 90),
    form("set", SET_BF16X2_COMBINED, SET_ABC, SET, SET2_COMBINED_DOC).needs((7, 8), 90),
];
