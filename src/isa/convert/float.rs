//! Conversions to, from and among floating-point numbers. PTX ISA, `cvt`.

use super::{FROM, NARROW_INTEGERS, extend, pure, upper_half};
use crate::ir::convert::Op as ConvertOp;
use crate::ir::convert::float::Op;
use crate::ir::float::{Clamp, Mode, Rounding};
use crate::ir::{Kind, Operand, PureOp, Reg, RegClass};
use crate::isa::form::{
    Arg, Build, Choice, Complaint, Emit, Form, OperandKind, Param, Slot, SlotName, T, Word, dst,
    form, maybe, one, param, src, word,
};
use crate::isa::words::{INTEGERS, MAYBE_SAT, from_ty, ty};

const F16: &[Word] = &[word("f16")];
const F32: &[Word] = &[word("f32")];
const F64: &[Word] = &[word("f64")];
const F16_F64: &[Word] = &[word("f16"), word("f64")];
const BF16: &[Word] = &[word("bf16")];
const BYTES: &[Word] = &[word("u8"), word("s8")];
const UP_TO_32: &[Word] = &[
    word("u8"),
    word("s8"),
    word("u16"),
    word("s16"),
    word("u32"),
    word("s32"),
];
const QUADS: &[Word] = &[word("u64"), word("s64")];

const ROUNDINGS: &[Word] = &[word("rn"), word("rz"), word("rm"), word("rp")];
const INTEGRAL: &[Word] = &[word("rni"), word("rzi"), word("rmi"), word("rpi")];
const ROUND: Slot = one(SlotName::Rounding, ROUNDINGS);
const MAYBE_ROUND: Slot = maybe(SlotName::Rounding, ROUNDINGS);
const TO_INTEGER: Slot = one(SlotName::Rounding, INTEGRAL);
const MAYBE_TO_INTEGER: Slot = maybe(SlotName::Rounding, INTEGRAL);
const FLUSH: Slot = maybe(SlotName::Flush, &[word("ftz").needs((1, 4), 10)]);
/// As [`FLUSH`], for types that had it later.
const LATER_FLUSH: Slot = maybe(SlotName::Flush, &[word("ftz").needs((2, 0), 10)]);
const BF16_FLUSH: Slot = maybe(SlotName::Flush, &[word("ftz").needs((7, 8), 90)]);

const DA: &[Param] = &[
    param("d", OperandKind::WideDst, T),
    param("a", OperandKind::WideSrc, FROM),
];
/// Where `.bf16` takes part no register may be wider than its type.
const EXACT: &[Param] = &[dst(T), src("a", FROM)];

const fn from_integer(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form(
        "cvt",
        slots,
        operands,
        Build::Emit(build_from_int),
        "d = the integer a, rounded; .sat: clamped to 0.0..1.0",
    )
}

const fn to_integer(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form(
        "cvt",
        slots,
        operands,
        Build::Emit(build_to_int),
        "d = a rounded to an integer and clamped to the type's range; .ftz: subnormal a count as 0",
    )
}

const fn between(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form(
        "cvt",
        slots,
        operands,
        Build::Emit(build_between),
        "d = a in another format, rounded; .sat: clamped to 0.0..1.0; .ftz: subnormal .f32 become 0",
    )
}

const fn same(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form(
        "cvt",
        slots,
        operands,
        Build::Emit(build_same),
        "d = a, rounded to an integer where it says so; .sat: clamped to 0.0..1.0; .ftz: subnormal .f32 become 0",
    )
}

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    from_integer(
        &[ROUND, MAYBE_SAT, ty(F16_F64), from_ty(NARROW_INTEGERS)],
        DA,
    ),
    from_integer(&[ROUND, FLUSH, MAYBE_SAT, ty(F32), from_ty(INTEGERS)], DA),
    from_integer(
        &[ROUND, LATER_FLUSH, MAYBE_SAT, ty(F32), from_ty(BYTES)],
        DA,
    ),
    from_integer(&[ROUND, ty(BF16), from_ty(INTEGERS)], EXACT).needs((7, 8), 90),
    to_integer(
        &[TO_INTEGER, MAYBE_SAT, ty(NARROW_INTEGERS), from_ty(F16_F64)],
        DA,
    ),
    to_integer(
        &[TO_INTEGER, FLUSH, MAYBE_SAT, ty(UP_TO_32), from_ty(F32)],
        DA,
    ),
    to_integer(
        &[TO_INTEGER, LATER_FLUSH, MAYBE_SAT, ty(QUADS), from_ty(F32)],
        DA,
    ),
    to_integer(&[TO_INTEGER, ty(INTEGERS), from_ty(BF16)], EXACT).needs((7, 8), 90),
    between(&[MAYBE_SAT, ty(F64), from_ty(F16)], DA),
    between(&[FLUSH, MAYBE_SAT, ty(F32), from_ty(F16)], DA),
    between(&[LATER_FLUSH, MAYBE_SAT, ty(F64), from_ty(F32)], DA),
    between(&[ROUND, FLUSH, MAYBE_SAT, ty(F16), from_ty(F32)], DA)
        .nvidia(".rm, .rp: .ftz is ignored"),
    between(&[ROUND, FLUSH, MAYBE_SAT, ty(F32), from_ty(F64)], DA),
    between(&[ROUND, MAYBE_SAT, ty(F16), from_ty(F64)], DA),
    between(&[ROUND, FLUSH, ty(BF16), from_ty(F32)], EXACT).needs((7, 0), 80),
    between(&[ROUND, ty(BF16), from_ty(F64)], EXACT).needs((7, 8), 90),
    between(&[MAYBE_ROUND, ty(BF16), from_ty(F16)], EXACT).needs((7, 8), 90),
    between(&[MAYBE_ROUND, ty(F16_F64), from_ty(BF16)], EXACT).needs((7, 8), 90),
    between(&[MAYBE_ROUND, BF16_FLUSH, ty(F32), from_ty(BF16)], EXACT).needs((7, 1), 80),
    same(&[MAYBE_TO_INTEGER, MAYBE_SAT, ty(F16), from_ty(F16)], DA),
    same(
        &[MAYBE_TO_INTEGER, FLUSH, MAYBE_SAT, ty(F32), from_ty(F32)],
        DA,
    ),
    same(&[MAYBE_TO_INTEGER, MAYBE_SAT, ty(F64), from_ty(F64)], DA),
    same(&[MAYBE_TO_INTEGER, ty(BF16), from_ty(BF16)], EXACT).needs((7, 8), 90),
];

fn rounding(choice: &Choice<'_>) -> Result<Rounding, Complaint> {
    match choice.word(SlotName::Rounding) {
        None | Some("rn" | "rni") => Ok(Rounding::Rn),
        Some("rz" | "rzi") => Ok(Rounding::Rz),
        Some("rm" | "rmi") => Ok(Rounding::Rm),
        Some("rp" | "rpi") => Ok(Rounding::Rp),
        Some(other) => Err(Complaint::row(format!("`{other}` rounds nothing"))),
    }
}

fn mode(choice: &Choice<'_>) -> Result<Mode, Complaint> {
    Ok(Mode {
        rounding: rounding(choice)?,
        ftz: choice.has(SlotName::Flush),
        clamp: if choice.has(SlotName::Saturate) {
            Clamp::Sat
        } else {
            Clamp::None
        },
    })
}

/// Destination and sources.
pub(super) fn split(args: &[Arg]) -> Result<(&Arg, Vec<Operand>), Complaint> {
    let Some((to, sources)) = args.split_first() else {
        return Err(super::unexpected());
    };
    let mut values = Vec::new();
    for source in sources {
        let elements = match source {
            Arg::Vector(elements) => elements,
            single => std::slice::from_ref(single),
        };
        for element in elements {
            match element {
                Arg::Src(value, _) | Arg::Quad(value, _) => values.push(*value),
                _ => return Err(super::unexpected()),
            }
        }
    }
    Ok((to, values))
}

/// The instruction that writes a register.
fn converted(op: Op, dst: Reg, srcs: &[Operand]) -> Kind {
    pure(PureOp::Convert(ConvertOp::Float(op)), dst, srcs)
}

/// The instruction, and one that zero-extends its result where the destination is wider.
pub(super) fn emit(
    op: PureOp,
    class: RegClass,
    to: &Arg,
    srcs: &[Operand],
    out: &mut dyn Emit,
) -> Result<(), Complaint> {
    match to {
        Arg::Dst(Some(dst), wide) if *wide == class => {
            out.emit(pure(op, *dst, srcs));
            Ok(())
        }
        _ => {
            let narrow = out.fresh(class);
            out.prepare(pure(op, narrow, srcs));
            extend(out, to, narrow, class)
        }
    }
}

fn build_from_int(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let (to, srcs) = split(args)?;
    let ty = choice.float(SlotName::Type)?;
    let op = Op::FromInt {
        from: choice.int(SlotName::FromType)?,
        to: ty,
        rounding: rounding(choice)?,
        sat: choice.has(SlotName::Saturate),
    };
    let op = PureOp::Convert(ConvertOp::Float(op));
    emit(op, ty.class(), to, &srcs, out)
}

fn build_to_int(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let (to, srcs) = split(args)?;
    let ty = choice.int(SlotName::Type)?;
    let (from, rounding) = (choice.float(SlotName::FromType)?, rounding(choice)?);
    let op = |dst| Op::ToInt {
        from,
        to: ty,
        rounding,
        ftz: choice.has(SlotName::Flush),
        dst,
    };
    match to {
        Arg::Dst(Some(dst), class) => out.emit(converted(op(*class), *dst, &srcs)),
        Arg::Quad(Operand::Reg(low), Operand::Reg(high)) => {
            out.emit(converted(op(RegClass::B64), *low, &srcs));
            out.emit(upper_half(*low, *high, ty.signed()));
        }
        _ => return Err(super::unexpected()),
    }
    Ok(())
}

fn build_between(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let (to, srcs) = split(args)?;
    let ty = choice.float(SlotName::Type)?;
    let op = Op::Between {
        from: choice.float(SlotName::FromType)?,
        to: ty,
        mode: mode(choice)?,
    };
    let op = PureOp::Convert(ConvertOp::Float(op));
    emit(op, ty.class(), to, &srcs, out)
}

fn build_same(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    if !choice.has(SlotName::Rounding) {
        return build_between(choice, args, out);
    }
    let (to, srcs) = split(args)?;
    let ty = choice.float(SlotName::Type)?;
    let op = Op::Integral {
        ty,
        mode: mode(choice)?,
    };
    let op = PureOp::Convert(ConvertOp::Float(op));
    emit(op, ty.class(), to, &srcs, out)
}
