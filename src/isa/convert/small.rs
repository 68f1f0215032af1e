//! Conversions to and from packed and small formats. PTX ISA, `cvt`.

use super::FROM;
use super::float::{emit, split};
use crate::ir::PureOp;
use crate::ir::convert::Op as ConvertOp;
use crate::ir::convert::small::{Narrow, Op, SmallRounding, SmallTy, Widen};
use crate::isa::form::{
    Arg, Build, Choice, Complaint, Emit, Form, OperandKind, Param, Slot, SlotName, T, TypeOf, Word,
    dst, form, maybe, one, param, src, word,
};
use crate::isa::types::Ty;
use crate::isa::words::{from_ty, ty};

const F32: &[Word] = &[word("f32")];
const F16X2: &[Word] = &[word("f16x2")];
const BF16X2: &[Word] = &[word("bf16x2")];
const F16: &[Word] = &[word("f16")];
const BF16: &[Word] = &[word("bf16")];
const PACKED_HALVES: &[Word] = &[word("f16x2"), word("bf16x2")];
const TF32: &[Word] = &[word("tf32")];
const EIGHTS: &[Word] = &[word("e4m3x2"), word("e5m2x2")];
const SIXES: &[Word] = &[word("e2m3x2"), word("e3m2x2"), word("e2m1x2")];
const NARROW: &[Word] = &[
    word("e4m3x2"),
    word("e5m2x2"),
    word("e2m3x2"),
    word("e3m2x2"),
    word("e2m1x2"),
];
const FOURS: &[Word] = &[
    word("e4m3x4"),
    word("e5m2x4"),
    word("e2m3x4"),
    word("e3m2x4"),
    word("e2m1x4"),
];
const UE8M0: &[Word] = &[word("ue8m0x2")];
const S2F6: &[Word] = &[word("s2f6x2")];

const RN: Slot = one(SlotName::Rounding, &[word("rn")]);
const RN_RZ: Slot = one(SlotName::Rounding, &[word("rn"), word("rz")]);
const RZ_RP: Slot = one(SlotName::Rounding, &[word("rz"), word("rp")]);
const RNA: Slot = one(SlotName::Rounding, &[word("rna")]);
const RS: Slot = one(SlotName::Rounding, &[word("rs")]);
const RELU: Slot = one(SlotName::Relu, &[word("relu")]);
const MAYBE_RELU: Slot = maybe(SlotName::Relu, &[word("relu")]);
const FINITE: Slot = one(SlotName::Finite, &[word("satfinite")]);
const MAYBE_FINITE: Slot = maybe(SlotName::Finite, &[word("satfinite")]);
const LATER_FINITE: Slot = maybe(SlotName::Finite, &[word("satfinite").needs((8, 1), 80)]);
const TF32_FINITE: Slot = maybe(SlotName::Finite, &[word("satfinite").needs((8, 6), 100)]);
const SCALED: Slot = one(SlotName::Scaled, &[word("scaled::n2::ue8m0")]);

/// Targets whose variants `a` and `f` have more formats.
const FAMILIES: &[u32] = &[100, 103, 107, 110, 120, 121];
/// Targets whose variant `a` rounds by random bits.
const STOCHASTIC: &[u32] = &[100, 103, 107];

const A: Param = src("a", FROM);
const B: Param = src("b", FROM);
const WIDE_D: Param = param("d", OperandKind::WideDst, T);
const WIDE_A: Param = param("a", OperandKind::WideSrc, FROM);
const WIDE_B: Param = param("b", OperandKind::WideSrc, FROM);
const PACKED: Param = param("a", OperandKind::RegSrc, FROM);
const RANDOM: Param = param("rbits", OperandKind::RegSrc, TypeOf::Fixed(Ty::RAW_B32));
const SCALES: Param = param("scale", OperandKind::RegSrc, TypeOf::Fixed(Ty::RAW_B16));

const DA: &[Param] = &[dst(T), A];
const DAB: &[Param] = &[dst(T), A, B];
const DAB_RANDOM: &[Param] = &[dst(T), A, B, RANDOM];
/// Of `.f16` and `.f16x2` alone registers may be wider than their types.
const WIDE_DA: &[Param] = &[WIDE_D, WIDE_A];
const WIDE_DAB: &[Param] = &[WIDE_D, WIDE_A, WIDE_B];
const WIDE_DAB_RANDOM: &[Param] = &[WIDE_D, WIDE_A, WIDE_B, RANDOM];
const D4_RANDOM: &[Param] = &[
    dst(T),
    param("{a, b, e, f}", OperandKind::FourSrc, FROM),
    RANDOM,
];
const DAB_SCALES: &[Param] = &[dst(T), A, B, SCALES];
const D_PACKED: &[Param] = &[dst(T), PACKED];
const D_PACKED_SCALES: &[Param] = &[dst(T), PACKED, SCALES];

const fn narrow(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form(
        "cvt",
        slots,
        operands,
        Build::Emit(build_narrow),
        "d = a, above b (a, b, e, f), each rounded; .satfinite: at most the greatest number; .relu: at least 0; .rs: rounded by random bits; .scaled: divided by powers of two",
    )
}

const fn widen(slots: &'static [Slot], operands: &'static [Param]) -> Form {
    form(
        "cvt",
        slots,
        operands,
        Build::Emit(build_widen),
        "d = both elements of a in a greater format; .relu: at least 0; .satfinite: at most the greatest number; .scaled: multiplied by powers of two",
    )
}

/// The rows.
pub(in crate::isa) const FORMS: &[Form] = &[
    narrow(&[RN_RZ, RELU, LATER_FINITE, ty(F16), from_ty(F32)], WIDE_DA).needs((7, 0), 80),
    narrow(&[RN_RZ, RELU, LATER_FINITE, ty(BF16), from_ty(F32)], DA).needs((7, 0), 80),
    narrow(&[RN_RZ, FINITE, ty(F16), from_ty(F32)], WIDE_DA).needs((8, 1), 70),
    narrow(&[RN_RZ, FINITE, ty(BF16), from_ty(F32)], DA).needs((8, 1), 80),
    narrow(
        &[RN_RZ, MAYBE_RELU, LATER_FINITE, ty(F16X2), from_ty(F32)],
        WIDE_DAB,
    )
    .needs((7, 0), 80),
    narrow(
        &[RN_RZ, MAYBE_RELU, LATER_FINITE, ty(BF16X2), from_ty(F32)],
        DAB,
    )
    .needs((7, 0), 80),
    narrow(
        &[RS, MAYBE_RELU, MAYBE_FINITE, ty(F16X2), from_ty(F32)],
        WIDE_DAB_RANDOM,
    )
    .needs((8, 7), 100)
    .only_architectures(STOCHASTIC),
    narrow(
        &[RS, MAYBE_RELU, MAYBE_FINITE, ty(BF16X2), from_ty(F32)],
        DAB_RANDOM,
    )
    .needs((8, 7), 100)
    .only_architectures(STOCHASTIC),
    narrow(&[RNA, LATER_FINITE, ty(TF32), from_ty(F32)], DA).needs((7, 0), 80),
    narrow(
        &[RN_RZ, MAYBE_RELU, TF32_FINITE, ty(TF32), from_ty(F32)],
        DA,
    )
    .needs((7, 8), 90),
    narrow(&[RN, FINITE, MAYBE_RELU, ty(EIGHTS), from_ty(F32)], DAB)
        .needs((8, 1), 89)
        .or_needs((7, 8), 90),
    narrow(
        &[RN, FINITE, MAYBE_RELU, ty(EIGHTS), from_ty(F16X2)],
        D_PACKED,
    )
    .needs((8, 1), 89)
    .or_needs((7, 8), 90),
    narrow(
        &[RN, FINITE, MAYBE_RELU, ty(EIGHTS), from_ty(BF16X2)],
        D_PACKED,
    )
    .needs((9, 1), 100)
    .only_variants(FAMILIES),
    narrow(&[RN, FINITE, MAYBE_RELU, ty(SIXES), from_ty(F32)], DAB)
        .needs((8, 6), 100)
        .only_variants(FAMILIES),
    narrow(
        &[RN, FINITE, MAYBE_RELU, ty(SIXES), from_ty(PACKED_HALVES)],
        D_PACKED,
    )
    .needs((9, 1), 100)
    .only_variants(FAMILIES),
    narrow(
        &[RS, FINITE, MAYBE_RELU, ty(FOURS), from_ty(F32)],
        D4_RANDOM,
    )
    .needs((8, 7), 100)
    .only_architectures(STOCHASTIC),
    narrow(&[RZ_RP, MAYBE_FINITE, ty(UE8M0), from_ty(F32)], DAB)
        .needs((8, 6), 100)
        .only_variants(FAMILIES),
    narrow(&[RZ_RP, MAYBE_FINITE, ty(UE8M0), from_ty(BF16X2)], D_PACKED)
        .needs((8, 6), 100)
        .only_variants(FAMILIES),
    narrow(&[RN, FINITE, MAYBE_RELU, ty(S2F6), from_ty(F32)], DAB)
        .needs((9, 1), 100)
        .only_architectures(FAMILIES),
    narrow(
        &[RN, FINITE, MAYBE_RELU, SCALED, ty(S2F6), from_ty(F32)],
        DAB_SCALES,
    )
    .needs((9, 1), 100)
    .only_architectures(FAMILIES),
    narrow(
        &[RN, FINITE, MAYBE_RELU, ty(S2F6), from_ty(BF16X2)],
        D_PACKED,
    )
    .needs((9, 1), 100)
    .only_architectures(FAMILIES),
    narrow(
        &[RN, FINITE, MAYBE_RELU, SCALED, ty(S2F6), from_ty(BF16X2)],
        D_PACKED_SCALES,
    )
    .needs((9, 1), 100)
    .only_architectures(FAMILIES),
    widen(&[RN, MAYBE_RELU, ty(F16X2), from_ty(EIGHTS)], D_PACKED)
        .needs((8, 1), 89)
        .or_needs((7, 8), 90),
    widen(&[RN, MAYBE_RELU, ty(F16X2), from_ty(SIXES)], D_PACKED)
        .needs((8, 6), 100)
        .only_variants(FAMILIES),
    widen(&[RN, ty(BF16X2), from_ty(UE8M0)], D_PACKED)
        .needs((8, 6), 100)
        .only_variants(FAMILIES),
    widen(
        &[RN, MAYBE_FINITE, MAYBE_RELU, ty(BF16X2), from_ty(NARROW)],
        D_PACKED,
    )
    .needs((9, 2), 100)
    .only_variants(FAMILIES),
    widen(
        &[
            RN,
            MAYBE_FINITE,
            MAYBE_RELU,
            SCALED,
            ty(BF16X2),
            from_ty(NARROW),
        ],
        D_PACKED_SCALES,
    )
    .needs((9, 2), 100)
    .only_variants(FAMILIES),
    widen(
        &[RN, MAYBE_FINITE, MAYBE_RELU, ty(BF16X2), from_ty(S2F6)],
        D_PACKED,
    )
    .needs((9, 1), 100)
    .only_architectures(FAMILIES),
    widen(
        &[
            RN,
            MAYBE_FINITE,
            MAYBE_RELU,
            SCALED,
            ty(BF16X2),
            from_ty(S2F6),
        ],
        D_PACKED_SCALES,
    )
    .needs((9, 1), 100)
    .only_architectures(FAMILIES),
];

/// The format of an element, and how many there are.
fn small(word: &str) -> Result<(SmallTy, u32), Complaint> {
    Ok(match word {
        "f16" => (SmallTy::F16, 1),
        "bf16" => (SmallTy::Bf16, 1),
        "f16x2" => (SmallTy::F16, 2),
        "bf16x2" => (SmallTy::Bf16, 2),
        "tf32" => (SmallTy::Tf32, 1),
        "e4m3x2" => (SmallTy::E4m3, 2),
        "e5m2x2" => (SmallTy::E5m2, 2),
        "e2m3x2" => (SmallTy::E2m3, 2),
        "e3m2x2" => (SmallTy::E3m2, 2),
        "e2m1x2" => (SmallTy::E2m1, 2),
        "e4m3x4" => (SmallTy::E4m3, 4),
        "e5m2x4" => (SmallTy::E5m2, 4),
        "e2m3x4" => (SmallTy::E2m3, 4),
        "e3m2x4" => (SmallTy::E3m2, 4),
        "e2m1x4" => (SmallTy::E2m1, 4),
        "ue8m0x2" => (SmallTy::Ue8m0, 2),
        "s2f6x2" => (SmallTy::S2f6, 2),
        other => return Err(Complaint::row(format!("`{other}` is no small format"))),
    })
}

fn rounding(choice: &Choice<'_>) -> Result<SmallRounding, Complaint> {
    match choice.required(SlotName::Rounding)? {
        "rn" => Ok(SmallRounding::Rn),
        "rz" => Ok(SmallRounding::Rz),
        "rp" => Ok(SmallRounding::Rp),
        "rna" => Ok(SmallRounding::Rna),
        "rs" => Ok(SmallRounding::Rs),
        other => Err(Complaint::row(format!("`{other}` rounds nothing"))),
    }
}

fn build_narrow(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let (format, lanes) = small(choice.required(SlotName::Type)?)?;
    let op = Op::Narrow(Narrow {
        from: choice.float(SlotName::FromType)?,
        to: format,
        lanes,
        rounding: rounding(choice)?,
        satfinite: choice.has(SlotName::Finite),
        relu: choice.has(SlotName::Relu),
        scaled: choice.has(SlotName::Scaled),
    });
    build(op, args, out)
}

fn build_widen(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let (format, _) = small(choice.required(SlotName::FromType)?)?;
    let op = Op::Widen(Widen {
        from: format,
        to: choice.float(SlotName::Type)?,
        satfinite: choice.has(SlotName::Finite),
        relu: choice.has(SlotName::Relu),
        scaled: choice.has(SlotName::Scaled),
    });
    build(op, args, out)
}

fn build(op: Op, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let (to, srcs) = split(args)?;
    let Some(&class) = op.signature().dsts.first() else {
        return Err(super::unexpected());
    };
    emit(PureOp::Convert(ConvertOp::Small(op)), class, to, &srcs, out)
}
