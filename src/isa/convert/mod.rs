//! Moves and conversions. PTX ISA, "Data Movement and Conversion Instructions".

pub(super) mod float;
pub(super) mod small;

use super::form::{
    Arg, B32, Build, Choice, Complaint, Emit, Form, OperandKind, Param, Slot, SlotName, T, TypeOf,
    Word, dst, first, form, one, param, src, word,
};
use super::types::TyKind;
use super::words::{MAYBE_SAT, ONLY_S32, SAT, from_ty, ty};
use crate::ir::convert::{Op, PackTy};
use crate::ir::memory::{AddressOf, Space};
use crate::ir::{IntTy, Kind, Operand, Pure, PureOp, Reg, RegClass};
use smallvec::smallvec;

const FROM: TypeOf = TypeOf::Slot(SlotName::FromType);

const NARROW_INTEGERS: &[Word] = &[
    word("u8"),
    word("s8"),
    word("u16"),
    word("s16"),
    word("u32"),
    word("s32"),
    word("u64"),
    word("s64"),
];
const MOVABLE: &[Word] = &[
    word("pred"),
    word("b16"),
    word("b32"),
    word("b64"),
    word("b128").needs((8, 3), 70),
    word("u16"),
    word("u32"),
    word("u64"),
    word("s16"),
    word("s32"),
    word("s64"),
    word("f32"),
    word("f64"),
];
const MOVABLE_ELEMENTS: &[Word] = &[
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
const VECTOR: Slot = one(SlotName::Vector, &[word("v2"), word("v4")]);
const PACK: Slot = first(SlotName::Variant, &[word("pack")]);
const MOV: &[Param] = &[
    param("d", OperandKind::MovDst, T),
    param("a", OperandKind::MovSrc, T),
];
const ADDRESS_TYPES: &[Word] = &[word("u32"), word("u64")];
/// The windows of the generic address space.
const WINDOWS: &[Word] = &[
    word("global"),
    word("local"),
    word("shared"),
    word("shared::cta").needs((7, 8), 20),
    word("shared::cluster").needs((7, 8), 90),
    word("const").needs((3, 1), 20),
    word("param").needs((7, 7), 70),
    word("param::entry").needs((8, 3), 70),
];

/// The rows.
pub(super) const FORMS: &[Form] = &[
    form("mov", &[ty(MOVABLE)], MOV, Build::Emit(mov), "d = a; also packs {..} into d and unpacks a into {..}, the first element in the low bits"),
    form(
        "mov",
        &[VECTOR, ty(MOVABLE_ELEMENTS)],
        MOV,
        Build::Emit(mov_vector),
        "each element of d = that of a",
    )
    .rule(vector_fits),
    form(
        "cvt",
        &[MAYBE_SAT, ty(NARROW_INTEGERS), from_ty(NARROW_INTEGERS)],
        &[
            param("d", OperandKind::WideDst, T),
            param("a", OperandKind::ConvertSrc, FROM),
        ],
        Build::Emit(cvt),
        "d = a, truncated or extended; .sat: clamped to the range of the destination type",
    )
    .rule(saturation_has_an_effect),
    form(
        "cvt",
        &[
            PACK,
            SAT,
            ty(&[word("u16"), word("s16")]),
            from_ty(ONLY_S32),
        ],
        &[
            param("d", OperandKind::WideDst, FROM),
            param("a", OperandKind::WideSrc, FROM),
            param("b", OperandKind::WideSrc, FROM),
        ],
        Build::Emit(cvt_pack),
        "d = a clamped to the type, above b clamped to it",
    )
    .needs((6, 5), 72),
    form(
        "cvt",
        &[
            PACK,
            SAT,
            ty(&[
                word("u8"),
                word("s8"),
                word("u4").needs((6, 5), 75),
                word("s4").needs((6, 5), 75),
                word("u2").needs((6, 5), 75),
                word("s2").needs((6, 5), 75),
            ]),
            from_ty(ONLY_S32),
            one(SlotName::ThirdType, &[word("b32")]),
        ],
        &[
            param("d", OperandKind::WideDst, FROM),
            param("a", OperandKind::WideSrc, FROM),
            param("b", OperandKind::WideSrc, FROM),
            param("c", OperandKind::WideSrc, B32),
        ],
        Build::Emit(cvt_pack),
        "d = c shifted left by twice the type's width, below it a clamped to the type, then b clamped to it",
    )
    .needs((6, 5), 72),
    form(
        "cvta",
        &[one(SlotName::Space, WINDOWS), ty(ADDRESS_TYPES)],
        &[
            dst(T),
            param("a", OperandKind::AddressSrc, T),
        ],
        Build::Emit(cvta),
        "d = generic address of the address a in the space",
    )
    .needs((2, 0), 20),
    form(
        "cvta",
        &[
            first(SlotName::To, &[word("to")]),
            one(SlotName::Space, WINDOWS),
            ty(ADDRESS_TYPES),
        ],
        &[dst(T), src("a", T)],
        Build::Emit(cvta),
        "d = address in the space of the generic address a",
    )
    .needs((2, 0), 20),
    form(
        "isspacep",
        &[one(SlotName::Space, WINDOWS)],
        &[
            param("p", OperandKind::Dst, TypeOf::Fixed(super::types::Ty::PRED)),
            param("a", OperandKind::AnyWidthSrc, TypeOf::Address),
        ],
        Build::Pure(|c, args| match args {
            [_, Arg::Src(_, class)] => Ok(PureOp::Convert(Op::Isspacep {
                space: space(c)?,
                class: *class,
            })),
            _ => Err(Complaint::row("isspacep takes one source")),
        }),
        "p = the generic address a lies in the space",
    )
    .needs((2, 0), 20),
];

/// Four elements of 64 bits are too many.
fn vector_fits(choice: &Choice<'_>) -> Result<(), Complaint> {
    let ty = choice.ty(SlotName::Type)?;
    if choice.word(SlotName::Vector) == Some("v4") && ty.bits == 64 {
        return Err(Complaint::slot(
            SlotName::Vector,
            format!("4 elements of `{ty}` do not fit into 128 bits"),
        ));
    }
    Ok(())
}

/// Between integers `.sat` is only legal where the destination cannot hold every value of the source.
fn saturation_has_an_effect(choice: &Choice<'_>) -> Result<(), Complaint> {
    if !choice.has(SlotName::Saturate) {
        return Ok(());
    }
    let (to, from) = (choice.int(SlotName::Type)?, choice.int(SlotName::FromType)?);
    let holds_all = match (to.signed(), from.signed()) {
        (true, true) | (false, false) => to.bits() >= from.bits(),
        (true, false) => to.bits() > from.bits(),
        (false, true) => false,
    };
    if holds_all {
        return Err(Complaint::slot(
            SlotName::Saturate,
            format!("`.sat` is not allowed here: every `.{from}` is a `.{to}`"),
        ));
    }
    Ok(())
}

/// The state space in [`SlotName::Space`]; generic if it is empty.
pub(super) fn space(choice: &Choice<'_>) -> Result<Space, Complaint> {
    match choice.word(SlotName::Space) {
        None => Ok(Space::Generic),
        Some("global") => Ok(Space::Global),
        Some("shared" | "shared::cta") => Ok(Space::Shared),
        Some("shared::cluster") => Ok(Space::Cluster),
        Some("local") => Ok(Space::Local),
        Some("const") => Ok(Space::Const),
        Some("param" | "param::entry" | "param::func") => Ok(Space::Param),
        Some(other) => Err(Complaint::row(format!("`{other}` is no state space"))),
    }
}

/// The space of an access where the form says `space`, to a variable in a space of its own if it names one: a generic access
/// is one to that space, and one to the shared memory of a cluster is one to the CTA's own.
pub(super) fn space_at(space: Space, variable: Option<Space>) -> Space {
    match (space, variable) {
        (Space::Generic | Space::Cluster, Some(variable)) => variable,
        (space, _) => space,
    }
}

/// A pure instruction with one destination.
pub(super) fn pure(op: PureOp, dst: Reg, srcs: &[Operand]) -> Kind {
    Kind::Pure(Pure {
        op,
        dsts: smallvec![Some(dst)],
        srcs: srcs.into(),
    })
}

/// `dst = src`, the low bits if the source is wider.
pub(super) fn copy(class: RegClass, dst: Reg, src: Operand) -> Kind {
    pure(PureOp::Convert(Op::Mov { class }), dst, &[src])
}

fn unexpected() -> Complaint {
    Complaint::row("operands of a kind that the form does not have")
}

fn mov(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let [to, from] = args else {
        return Err(unexpected());
    };
    match (to, from) {
        (Arg::Dst(Some(dst), class), Arg::Src(value, _)) => out.emit(copy(*class, *dst, *value)),
        (Arg::Dst(Some(dst), RegClass::Pred), Arg::Function(_)) => {
            // No function lies at address 0.
            out.emit(copy(RegClass::Pred, *dst, Operand::Imm(1)));
        }
        (Arg::Dst(Some(dst), class), Arg::Special(special)) => {
            let _ = class;
            out.emit(Kind::Special {
                dst: *dst,
                special: *special,
            });
        }
        (Arg::Dst(Some(dst), class), Arg::AddressOf(_) | Arg::Function(_))
            if *class == RegClass::B64 || *class == RegClass::B32 =>
        {
            out.emit(address(*dst, from)?);
        }
        (Arg::Dst(Some(dst), class), Arg::AddressOf(_) | Arg::Function(_)) => {
            let whole = out.fresh(out.address_class());
            out.prepare(address(whole, from)?);
            out.emit(copy(*class, *dst, Operand::Reg(whole)));
        }
        (Arg::Dst(Some(dst), class), Arg::Vector(elements)) => {
            let (elem, values) = element_values(elements, class.bits(), choice)?;
            pack(out, *dst, *class, elem, &values);
        }
        (Arg::Quad(Operand::Reg(low), Operand::Reg(high)), Arg::Quad(from_low, from_high)) => {
            out.emit(copy(RegClass::B64, *low, *from_low));
            out.emit(copy(RegClass::B64, *high, *from_high));
        }
        (Arg::Quad(Operand::Reg(low), Operand::Reg(high)), Arg::Vector(elements)) => {
            let (elem, values) = element_values(elements, 128, choice)?;
            let (lows, highs) = values.split_at(values.len() / 2);
            pack(out, *low, RegClass::B64, elem, lows);
            pack(out, *high, RegClass::B64, elem, highs);
        }
        // An address plus an index.
        (Arg::Quad(Operand::Reg(low), Operand::Reg(high)), Arg::Src(value, _)) => {
            out.emit(copy(RegClass::B64, *low, *value));
            out.emit(copy(RegClass::B64, *high, Operand::Imm(0)));
        }
        (
            Arg::Quad(Operand::Reg(low), Operand::Reg(high)),
            Arg::AddressOf(_) | Arg::Function(_),
        ) => {
            out.emit(address(*low, from)?);
            out.emit(copy(RegClass::B64, *high, Operand::Imm(0)));
        }
        (Arg::Vector(elements), Arg::Quad(low, high)) => {
            let (lows, highs) = elements.split_at(elements.len() / 2);
            unpack(out, lows, *low, RegClass::B64);
            unpack(out, highs, *high, RegClass::B64);
        }
        (Arg::Vector(elements), Arg::Src(value, class)) => {
            let whole = whole_class(choice)?;
            let value = widened(out, *value, *class, whole);
            unpack(out, elements, value, whole);
        }
        (Arg::Vector(elements), Arg::Special(special)) => {
            let class = choice.class(SlotName::Type)?;
            let whole = out.fresh(class);
            out.prepare(Kind::Special {
                dst: whole,
                special: *special,
            });
            unpack(out, elements, Operand::Reg(whole), class);
        }
        (Arg::Vector(elements), Arg::AddressOf(_) | Arg::Function(_)) => {
            let class = whole_class(choice)?;
            let whole = out.fresh(class);
            out.prepare(address(whole, from)?);
            unpack(out, elements, Operand::Reg(whole), class);
        }
        _ => return Err(unexpected()),
    }
    Ok(())
}

/// What is unpacked into elements: the type of the `mov`, of which registers hold at most 64 bits.
fn whole_class(choice: &Choice<'_>) -> Result<RegClass, Complaint> {
    Ok(choice.ty(SlotName::Type)?.class().unwrap_or(RegClass::B64))
}

/// An address of 32 bits, zero-extended where more are moved.
fn widened(out: &mut dyn Emit, value: Operand, from: RegClass, to: RegClass) -> Operand {
    if from != RegClass::B32 || to != RegClass::B64 || matches!(value, Operand::Imm(_)) {
        return value;
    }
    let dst = out.fresh(to);
    out.prepare(pure(PureOp::Convert(Op::WIDEN), dst, &[value]));
    Operand::Reg(dst)
}

/// The address of a variable or function into `dst`.
pub(super) fn address(dst: Reg, of: &Arg) -> Result<Kind, Complaint> {
    match of {
        Arg::AddressOf(variable) => Ok(Kind::AddressOf(AddressOf { dst, ..*variable })),
        Arg::Function(function) => Ok(Kind::FunctionAddress {
            dst,
            function: *function,
        }),
        _ => Err(unexpected()),
    }
}

/// The elements of a pack and their class.
fn element_values(
    elements: &[Arg],
    bits: u32,
    choice: &Choice<'_>,
) -> Result<(RegClass, Vec<Operand>), Complaint> {
    if choice.ty(SlotName::Type)?.kind != TyKind::Bits {
        return Err(Complaint::slot(
            SlotName::Type,
            "only `.b` types can be packed",
        ));
    }
    let elem = u32::try_from(elements.len())
        .ok()
        .filter(|n| *n > 0)
        .and_then(|n| RegClass::of_bits(bits / n))
        .ok_or_else(unexpected)?;
    let values = elements
        .iter()
        .map(|e| match e {
            Arg::Src(value, _) => Ok(*value),
            _ => Err(unexpected()),
        })
        .collect::<Result<_, _>>()?;
    Ok((elem, values))
}

fn pack(out: &mut dyn Emit, dst: Reg, class: RegClass, elem: RegClass, values: &[Operand]) {
    match values {
        [value] => out.emit(copy(class, dst, *value)),
        _ => out.emit(pure(
            PureOp::Convert(Op::Pack {
                elem,
                count: values.len() as u8,
            }),
            dst,
            values,
        )),
    }
}

fn unpack(out: &mut dyn Emit, elements: &[Arg], value: Operand, src: RegClass) {
    for (index, element) in elements.iter().enumerate() {
        let Arg::Dst(Some(dst), elem) = element else {
            continue;
        };
        if elements.len() == 1 {
            out.emit(copy(*elem, *dst, value));
        } else if index as u32 * elem.bits() >= src.bits() {
            // Of 128 bits an address fills 64.
            out.emit(copy(*elem, *dst, Operand::Imm(0)));
        } else {
            out.emit(pure(
                PureOp::Convert(Op::Extract {
                    elem: *elem,
                    index: index as u8,
                    src,
                }),
                *dst,
                &[value],
            ));
        }
    }
}

fn mov_vector(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let [Arg::Vector(to), Arg::Vector(from)] = args else {
        return Err(unexpected());
    };
    let class = choice.class(SlotName::Type)?;
    // A destination may be the source of a later element.
    let mut values = Vec::with_capacity(from.len());
    for element in from {
        values.push(match element {
            Arg::Src(Operand::Reg(reg), _) => {
                let held = out.fresh(class);
                out.prepare(copy(class, held, Operand::Reg(*reg)));
                Operand::Reg(held)
            }
            Arg::Src(value, _) => *value,
            Arg::Special(special) => {
                let held = out.fresh(class);
                out.prepare(Kind::Special {
                    dst: held,
                    special: *special,
                });
                Operand::Reg(held)
            }
            _ => return Err(unexpected()),
        });
    }
    for (element, value) in to.iter().zip(values) {
        if let Arg::Dst(Some(dst), _) = element {
            out.emit(copy(class, *dst, value));
        }
    }
    Ok(())
}

fn cvt(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let [to, from] = args else {
        return Err(unexpected());
    };
    let (to_ty, from_ty) = (choice.int(SlotName::Type)?, choice.int(SlotName::FromType)?);
    let op = |dst| {
        PureOp::Convert(Op::Cvt {
            from: from_ty,
            to: to_ty,
            sat: choice.has(SlotName::Saturate),
            dst,
        })
    };
    let value = match from {
        Arg::Src(value, _) => *value,
        Arg::Quad(low, _) => *low,
        Arg::Special(special) => {
            let held = out.fresh(from_ty.class());
            out.prepare(Kind::Special {
                dst: held,
                special: *special,
            });
            Operand::Reg(held)
        }
        _ => return Err(unexpected()),
    };
    match to {
        Arg::Dst(Some(dst), class) => out.emit(pure(op(*class), *dst, &[value])),
        Arg::Quad(Operand::Reg(low), Operand::Reg(high)) => {
            out.emit(pure(op(RegClass::B64), *low, &[value]));
            out.emit(upper_half(*low, *high, to_ty.signed()));
        }
        _ => return Err(unexpected()),
    }
    Ok(())
}

/// The upper half of a 128-bit register whose lower one has just been extended to 64 bits.
pub(super) fn upper_half(low: Reg, high: Reg, signed: bool) -> Kind {
    if signed {
        pure(
            PureOp::Bits(crate::ir::bits::Op::Shr { ty: IntTy::S64 }),
            high,
            &[Operand::Reg(low), Operand::Imm(63)],
        )
    } else {
        copy(RegClass::B64, high, Operand::Imm(0))
    }
}

fn cvt_pack(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let ty = match choice.required(SlotName::Type)? {
        "u2" => PackTy::U2,
        "s2" => PackTy::S2,
        "u4" => PackTy::U4,
        "s4" => PackTy::S4,
        "u8" => PackTy::U8,
        "s8" => PackTy::S8,
        "u16" => PackTy::U16,
        "s16" => PackTy::S16,
        other => return Err(Complaint::row(format!("`{other}` is no type of cvt.pack"))),
    };
    let Some((to, sources)) = args.split_first() else {
        return Err(unexpected());
    };
    let mut values = Vec::with_capacity(sources.len());
    for source in sources {
        let (Arg::Src(value, _) | Arg::Quad(value, _)) = source else {
            return Err(unexpected());
        };
        values.push(*value);
    }
    let op = PureOp::Convert(Op::CvtPack {
        ty,
        onto: values.len() == 3,
    });
    match to {
        Arg::Dst(Some(dst), RegClass::B32) => out.emit(pure(op, *dst, &values)),
        _ => {
            let word = out.fresh(RegClass::B32);
            out.prepare(pure(op, word, &values));
            extend(out, to, word, RegClass::B32)?;
        }
    }
    Ok(())
}

/// A result of a class zero-extended into a wider destination.
fn extend(out: &mut dyn Emit, to: &Arg, narrow: Reg, class: RegClass) -> Result<(), Complaint> {
    let Some(ty) = IntTy::new(class, false) else {
        return Err(unexpected());
    };
    let op = |dst| {
        PureOp::Convert(Op::Cvt {
            from: ty,
            to: ty,
            sat: false,
            dst,
        })
    };
    match to {
        Arg::Dst(Some(dst), class) => out.emit(pure(op(*class), *dst, &[Operand::Reg(narrow)])),
        Arg::Quad(Operand::Reg(low), Operand::Reg(high)) => {
            out.emit(pure(op(RegClass::B64), *low, &[Operand::Reg(narrow)]));
            out.emit(upper_half(*low, *high, false));
        }
        _ => return Err(unexpected()),
    }
    Ok(())
}

fn cvta(choice: &Choice<'_>, args: &[Arg], out: &mut dyn Emit) -> Result<(), Complaint> {
    let [Arg::Dst(Some(dst), class), from] = args else {
        return Err(unexpected());
    };
    if *class < out.address_class() {
        return Err(Complaint::slot(
            SlotName::Type,
            "addresses of this module are 64 bits wide",
        ));
    }
    let value = match from {
        Arg::Src(value, _) => *value,
        Arg::AddressOf(_) => {
            let held = out.fresh(*class);
            out.prepare(address(held, from)?);
            Operand::Reg(held)
        }
        _ => return Err(unexpected()),
    };
    out.emit(pure(
        PureOp::Convert(Op::Cvta {
            space: space(choice)?,
            to: choice.has(SlotName::To),
            class: *class,
        }),
        *dst,
        &[value],
    ));
    Ok(())
}
