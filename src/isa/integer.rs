//! Integer arithmetic. PTX ISA, "Integer Arithmetic Instructions".

use super::convert::pure;
use super::form::{
    Arg, Build, Choice, Complaint, Emit, Form, OperandKind, Param, Slot, SlotName, T, TypeOf, U32,
    Word, dst, first, form, param, src, word,
};
use super::types::TyKind;
use super::words::{INTEGERS, MAYBE_SAT, ONLY_S32, RELU, SAT, SIGNED, WORDS, from_ty, ty};
use crate::ir::integer::{Op, PackedOp, Part};
use crate::ir::{Operand, PureOp};

const HALVES: Slot = first(SlotName::Variant, &[word("lo"), word("hi")]);
const ONLY_WIDE: Slot = first(SlotName::Variant, &[word("wide")]);
const NARROW: &[Word] = &[word("u16"), word("s16"), word("u32"), word("s32")];
const HALF_LANES: &[Word] = &[word("u16x2"), word("s16x2")];
const BYTE_LANES: &[Word] = &[word("u8x4"), word("s8x4")];
/// The targets that have bytes in lanes, by their variants.
const LANE_TARGETS: &[u32] = &[107, 120, 121];
const WIDE: TypeOf = TypeOf::Wide(SlotName::Type);

const A: &[Param] = &[dst(T), src("a", T)];
const AB: &[Param] = &[dst(T), src("a", T), src("b", T)];
const ABC: &[Param] = &[dst(T), src("a", T), src("b", T), src("c", T)];
const DOT: &[Param] = &[
    dst(U32),
    src("a", T),
    src("b", TypeOf::Slot(SlotName::FromType)),
    src("c", U32),
];
const LANES_AB: &[Param] = &[
    dst(T),
    param("a", OperandKind::RegSrc, T),
    param("b", OperandKind::RegSrc, T),
];

/// The rows.
pub(super) const FORMS: &[Form] = &[
    form(
        "add",
        &[ty(INTEGERS)],
        AB,
        Build::Pure(|c, _| {
            integer(Op::Add {
                ty: c.int(SlotName::Type)?,
                sat: false,
            })
        }),
        "d = a + b",
    ),
    form(
        "add",
        &[SAT, ty(ONLY_S32)],
        AB,
        Build::Pure(|c, _| {
            integer(Op::Add {
                ty: c.int(SlotName::Type)?,
                sat: true,
            })
        }),
        "d = a + b, clamped to MININT..MAXINT",
    ),
    form(
        "add",
        &[ty(HALF_LANES)],
        LANES_AB,
        Build::Pure(|c, _| packed(c, PackedOp::Add)),
        "d.h0 = a.h0 + b.h0; d.h1 = a.h1 + b.h1",
    )
    .needs((8, 0), 90),
    form(
        "add",
        &[SAT, ty(&[word("u32")])],
        AB,
        Build::Pure(|c, _| {
            integer(Op::Add {
                ty: c.int(SlotName::Type)?,
                sat: true,
            })
        }),
        "d = a + b, no greater than MAXINT",
    )
    .needs((9, 2), 107)
    .only_variants(LANE_TARGETS),
    form(
        "add",
        &[SAT, ty(HALF_LANES)],
        LANES_AB,
        Build::Pure(|c, _| packed(c, PackedOp::Add)),
        "d.hi = a.hi + b.hi in each half, clamped",
    )
    .needs((9, 2), 107)
    .only_variants(LANE_TARGETS),
    form(
        "add",
        &[MAYBE_SAT, ty(BYTE_LANES)],
        LANES_AB,
        Build::Pure(|c, _| packed(c, PackedOp::Add)),
        "d.bi = a.bi + b.bi in each byte; .sat: clamped",
    )
    .needs((9, 2), 107)
    .only_variants(LANE_TARGETS),
    form(
        "sub",
        &[ty(INTEGERS)],
        AB,
        Build::Pure(|c, _| {
            integer(Op::Sub {
                ty: c.int(SlotName::Type)?,
                sat: false,
            })
        }),
        "d = a - b",
    ),
    form(
        "sub",
        &[SAT, ty(ONLY_S32)],
        AB,
        Build::Pure(|c, _| {
            integer(Op::Sub {
                ty: c.int(SlotName::Type)?,
                sat: true,
            })
        }),
        "d = a - b, clamped to MININT..MAXINT",
    ),
    form(
        "sub",
        &[MAYBE_SAT, ty(BYTE_LANES)],
        LANES_AB,
        Build::Pure(|c, _| packed(c, PackedOp::Sub)),
        "d.bi = a.bi - b.bi in each byte; .sat: clamped",
    )
    .needs((9, 2), 107)
    .only_variants(LANE_TARGETS),
    form(
        "mul",
        &[HALVES, ty(INTEGERS)],
        AB,
        Build::Pure(multiply),
        "d = the low or high half of a * b",
    ),
    form(
        "mul",
        &[ONLY_WIDE, ty(NARROW)],
        &[dst(WIDE), src("a", T), src("b", T)],
        Build::Pure(multiply),
        "d = a * b, twice as wide",
    ),
    form(
        "mad",
        &[HALVES, ty(INTEGERS)],
        ABC,
        Build::Pure(multiply_add),
        "d = (the low or high half of a * b) + c",
    ),
    form(
        "mad",
        &[first(SlotName::Variant, &[word("hi")]), SAT, ty(ONLY_S32)],
        ABC,
        Build::Pure(multiply_add),
        "d = (the high half of a * b) + c, clamped to MININT..MAXINT",
    ),
    form(
        "mad",
        &[ONLY_WIDE, ty(NARROW)],
        &[dst(WIDE), src("a", T), src("b", T), src("c", WIDE)],
        Build::Pure(multiply_add),
        "d = a * b + c, twice as wide",
    ),
    form(
        "mul24",
        &[HALVES, ty(WORDS)],
        AB,
        Build::Pure(|c, _| {
            integer(Op::Mul24 {
                high: high(c),
                signed: c.signed(SlotName::Type),
            })
        }),
        "d = bits 31..0 or 47..16 of the product of the low 24 bits of a and b",
    ),
    form(
        "mad24",
        &[HALVES, ty(WORDS)],
        ABC,
        Build::Pure(multiply_add_24),
        "d = (bits 31..0 or 47..16 of the product of the low 24 bits of a and b) + c",
    ),
    form(
        "mad24",
        &[first(SlotName::Variant, &[word("hi")]), SAT, ty(ONLY_S32)],
        ABC,
        Build::Pure(multiply_add_24),
        "d = (bits 47..16 of the product of the low 24 bits of a and b) + c, clamped to MININT..MAXINT",
    ),
    form(
        "sad",
        &[ty(INTEGERS)],
        ABC,
        Build::Pure(|c, _| {
            integer(Op::Sad {
                ty: c.int(SlotName::Type)?,
            })
        }),
        "d = c + |a - b|",
    ),
    form(
        "div",
        &[ty(INTEGERS)],
        AB,
        Build::Pure(|c, _| {
            integer(Op::Div {
                ty: c.int(SlotName::Type)?,
            })
        }),
        "d = a / b towards zero; all ones if b is zero",
    ),
    form(
        "rem",
        &[ty(INTEGERS)],
        AB,
        Build::Pure(|c, _| {
            integer(Op::Rem {
                ty: c.int(SlotName::Type)?,
            })
        }),
        "d = a - (a / b) * b; all ones if b is zero",
    ),
    form(
        "abs",
        &[ty(SIGNED)],
        A,
        Build::Pure(|c, _| {
            integer(Op::Abs {
                ty: c.int(SlotName::Type)?,
            })
        }),
        "d = |a|",
    ),
    form(
        "neg",
        &[ty(SIGNED)],
        A,
        Build::Pure(|c, _| {
            integer(Op::Neg {
                ty: c.int(SlotName::Type)?,
            })
        }),
        "d = -a",
    ),
    form(
        "neg",
        &[ty(&[word("s8x4")])],
        &[dst(T), param("a", OperandKind::RegSrc, T)],
        Build::Emit(negate_lanes),
        "d.bi = -a.bi in each byte",
    )
    .needs((9, 2), 107)
    .only_variants(LANE_TARGETS),
    form(
        "min",
        &[ty(INTEGERS)],
        AB,
        Build::Pure(minimum),
        "d = the smaller of a and b",
    ),
    form(
        "min",
        &[RELU, ty(ONLY_S32)],
        AB,
        Build::Pure(minimum),
        "d = the smaller of a and b, 0 if negative",
    )
    .needs((8, 0), 90),
    form(
        "min",
        &[ty(HALF_LANES)],
        LANES_AB,
        Build::Pure(|c, _| packed(c, PackedOp::Min)),
        "d = the smaller of a and b in each half",
    )
    .needs((8, 0), 90),
    form(
        "min",
        &[RELU, ty(&[word("s16x2")])],
        LANES_AB,
        Build::Pure(|c, _| packed(c, PackedOp::Min)),
        "d = the smaller of a and b in each half, 0 if negative",
    )
    .needs((8, 0), 90),
    form(
        "max",
        &[ty(INTEGERS)],
        AB,
        Build::Pure(maximum),
        "d = the larger of a and b",
    ),
    form(
        "max",
        &[RELU, ty(ONLY_S32)],
        AB,
        Build::Pure(maximum),
        "d = the larger of a and b, 0 if negative",
    )
    .needs((8, 0), 90),
    form(
        "max",
        &[ty(HALF_LANES)],
        LANES_AB,
        Build::Pure(|c, _| packed(c, PackedOp::Max)),
        "d = the larger of a and b in each half",
    )
    .needs((8, 0), 90),
    form(
        "max",
        &[RELU, ty(&[word("s16x2")])],
        LANES_AB,
        Build::Pure(|c, _| packed(c, PackedOp::Max)),
        "d = the larger of a and b in each half, 0 if negative",
    )
    .needs((8, 0), 90),
    form(
        "min",
        &[ty(BYTE_LANES)],
        LANES_AB,
        Build::Pure(|c, _| packed(c, PackedOp::Min)),
        "d = the smaller of a and b in each byte",
    )
    .needs((9, 2), 107)
    .only_variants(LANE_TARGETS),
    form(
        "min",
        &[RELU, ty(&[word("s8x4")])],
        LANES_AB,
        Build::Pure(|c, _| packed(c, PackedOp::Min)),
        "d = the smaller of a and b in each byte, 0 if negative",
    )
    .needs((9, 2), 107)
    .only_variants(LANE_TARGETS),
    form(
        "max",
        &[ty(BYTE_LANES)],
        LANES_AB,
        Build::Pure(|c, _| packed(c, PackedOp::Max)),
        "d = the larger of a and b in each byte",
    )
    .needs((9, 2), 107)
    .only_variants(LANE_TARGETS),
    form(
        "max",
        &[RELU, ty(&[word("s8x4")])],
        LANES_AB,
        Build::Pure(|c, _| packed(c, PackedOp::Max)),
        "d = the larger of a and b in each byte, 0 if negative",
    )
    .needs((9, 2), 107)
    .only_variants(LANE_TARGETS),
    form(
        "dp4a",
        &[ty(WORDS), from_ty(WORDS)],
        DOT,
        Build::Pure(|c, _| {
            integer(Op::Dp4a {
                a_signed: c.signed(SlotName::Type),
                b_signed: c.signed(SlotName::FromType),
            })
        }),
        "d = c + a.b0 * b.b0 + a.b1 * b.b1 + a.b2 * b.b2 + a.b3 * b.b3",
    )
    .needs((5, 0), 61),
    form(
        "dp2a",
        &[HALVES, ty(WORDS), from_ty(WORDS)],
        DOT,
        Build::Pure(|c, _| {
            integer(Op::Dp2a {
                a_signed: c.signed(SlotName::Type),
                b_signed: c.signed(SlotName::FromType),
                high: high(c),
            })
        }),
        "d = c + a.h0 * b.b0 + a.h1 * b.b1, with .hi b.b2 and b.b3",
    )
    .needs((5, 0), 61),
];

fn integer(op: Op) -> Result<PureOp, Complaint> {
    Ok(PureOp::Integer(op))
}

fn high(choice: &Choice<'_>) -> bool {
    choice.word(SlotName::Variant) == Some("hi")
}

fn part(choice: &Choice<'_>) -> Result<Part, Complaint> {
    match choice.required(SlotName::Variant)? {
        "lo" => Ok(Part::Lo),
        "hi" => Ok(Part::Hi),
        "wide" => Ok(Part::Wide),
        other => Err(Complaint::row(format!("`{other}` is no part of a product"))),
    }
}

fn multiply(choice: &Choice<'_>, _: &[Arg]) -> Result<PureOp, Complaint> {
    integer(Op::Mul {
        part: part(choice)?,
        ty: choice.int(SlotName::Type)?,
    })
}

fn multiply_add(choice: &Choice<'_>, _: &[Arg]) -> Result<PureOp, Complaint> {
    integer(Op::Mad {
        part: part(choice)?,
        ty: choice.int(SlotName::Type)?,
        sat: choice.has(SlotName::Saturate),
    })
}

fn multiply_add_24(choice: &Choice<'_>, _: &[Arg]) -> Result<PureOp, Complaint> {
    integer(Op::Mad24 {
        high: high(choice),
        signed: choice.signed(SlotName::Type),
        sat: choice.has(SlotName::Saturate),
    })
}

fn minimum(choice: &Choice<'_>, _: &[Arg]) -> Result<PureOp, Complaint> {
    integer(Op::Min {
        ty: choice.int(SlotName::Type)?,
        relu: choice.has(SlotName::Relu),
    })
}

fn maximum(choice: &Choice<'_>, _: &[Arg]) -> Result<PureOp, Complaint> {
    integer(Op::Max {
        ty: choice.int(SlotName::Type)?,
        relu: choice.has(SlotName::Relu),
    })
}

fn packed(choice: &Choice<'_>, op: PackedOp) -> Result<PureOp, Complaint> {
    let TyKind::PackedInt { signed, lanes } = choice.ty(SlotName::Type)?.kind else {
        return Err(Complaint::row("no lanes"));
    };
    integer(Op::Packed {
        op,
        lanes,
        signed,
        relu: choice.has(SlotName::Relu),
        sat: choice.has(SlotName::Saturate),
    })
}

/// Lanes from 0.
fn negate_lanes(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let [Arg::Dst(Some(dst), _), Arg::Src(value, _)] = args else {
        return Err(Complaint::row("neg has one source"));
    };
    let op = packed(choice, PackedOp::Sub)?;
    out.emit(pure(op, *dst, &[Operand::Imm(0), *value]));
    Ok(())
}
