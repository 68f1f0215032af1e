//! Logic, shifts, bit fields and bit counts. PTX ISA, "Logic and Shift Instructions", the bit instructions of
//! "Integer Arithmetic Instructions", and `prmt`.

use super::form::{
    Arg, B32, Build, Choice, Complaint, Form, OperandKind, Param, Slot, SlotName, T, U32, dst,
    first, form, maybe, one, param, src, word,
};
use super::words::{
    BITS, LOGIC, ONLY_B32, OVERRUN, WIDE, WIDE_BITS, WORDS, combination, ty, wraps,
};
use crate::ir::bits::{Op, PrmtMode};
use crate::ir::{PureOp, Reading};

const A: &[Param] = &[dst(T), src("a", T)];
const AB: &[Param] = &[dst(T), src("a", T), src("b", T)];
const ABC: &[Param] = &[dst(T), src("a", T), src("b", T), src("c", T)];
const COUNT: &[Param] = &[dst(U32), src("a", T)];
const SHIFT: &[Param] = &[dst(T), src("a", T), src("b", U32)];
const LUT: Param = param("immLut", OperandKind::AnyLiteral, B32);
const FIELD: OperandKind = OperandKind::Count(255);
const SHIFT_AMOUNT: Slot = maybe(SlotName::ShiftAmount, &[word("shiftamt")]);
const DIRECTION: Slot = first(SlotName::Variant, &[word("l"), word("r")]);

/// What NVIDIA's tools make of positions and lengths.
const LONG_FIELD: &str =
    "64-bit types: all bits of position and length count, not the low eight alone";

/// The rows.
pub(super) const FORMS: &[Form] = &[
    form(
        "and",
        &[ty(LOGIC)],
        AB,
        Build::Pure(|c, _| bits(Op::And { class: c.class(SlotName::Type)? })),
        "d = a & b",
    ),
    form(
        "or",
        &[ty(LOGIC)],
        AB,
        Build::Pure(|c, _| bits(Op::Or { class: c.class(SlotName::Type)? })),
        "d = a | b",
    ),
    form(
        "xor",
        &[ty(LOGIC)],
        AB,
        Build::Pure(|c, _| bits(Op::Xor { class: c.class(SlotName::Type)? })),
        "d = a ^ b",
    ),
    form(
        "not",
        &[ty(LOGIC)],
        A,
        Build::Pure(|c, _| bits(Op::Not { class: c.class(SlotName::Type)? })),
        "d = ~a",
    ),
    form(
        "cnot",
        &[ty(BITS)],
        A,
        Build::Pure(|c, _| bits(Op::Cnot { class: c.class(SlotName::Type)? })),
        "d = a == 0 ? 1 : 0",
    ),
    form(
        "lop3",
        &[ty(ONLY_B32)],
        &[dst(T), src("a", T), src("b", T), src("c", T), LUT],
        Build::Pure(|_, args| bits(Op::Lop3 { lut: lut(args)? })),
        "each bit of d = immLut at the index 4 a + 2 b + c of the bits of a, b, c",
    )
    .needs((4, 3), 50),
    form(
        "lop3",
        &[
            one(SlotName::Combine, &[word("and"), word("or")]),
            ty(ONLY_B32),
        ],
        &[
            param("d|p", OperandKind::PairDst, T),
            src("a", T),
            src("b", T),
            src("c", T),
            LUT,
            param("q", OperandKind::Pred, T),
        ],
        Build::Pure(|c, args| {
            bits(Op::Lop3Pred {
                lut: lut(args)?,
                combine: combination(c)?
                    .ok_or_else(|| Complaint::row("lop3 without an operator"))?,
            })
        }),
        "d as lop3 has it; p = (d != 0) op q",
    )
    .needs((8, 2), 70),
    form(
        "shf",
        &[DIRECTION, OVERRUN, ty(ONLY_B32)],
        &[dst(T), src("a", T), src("b", T), src("c", U32)],
        Build::Pure(|c, _| {
            bits(Op::Shf {
                left: c.word(SlotName::Variant) == Some("l"),
                wrap: wraps(c),
            })
        }),
        "n = c & 31 or min(c, 32); d = bits 63..32 of (b:a) << n, or bits 31..0 of (b:a) >> n",
    )
    .needs((3, 1), 32),
    form(
        "shl",
        &[ty(BITS)],
        SHIFT,
        Build::Pure(|c, _| bits(Op::Shl { class: c.class(SlotName::Type)? })),
        "d = a << b, 0 from the width on",
    ),
    form(
        "shr",
        &[ty(&[
            word("b16"),
            word("b32"),
            word("b64"),
            word("u16"),
            word("u32"),
            word("u64"),
            word("s16"),
            word("s32"),
            word("s64"),
        ])],
        SHIFT,
        Build::Pure(|c, _| bits(Op::Shr { ty: c.int(SlotName::Type)? })),
        "d = a >> b, filled with zeros or, for .s types, the sign",
    ),
    form(
        "prmt",
        &[
            ty(ONLY_B32),
            maybe(
                SlotName::Mode,
                &[
                    word("f4e"),
                    word("b4e"),
                    word("rc8"),
                    word("ecl"),
                    word("ecr"),
                    word("rc16"),
                ],
            ),
        ],
        ABC,
        Build::Pure(|c, _| bits(Op::Prmt { mode: prmt_mode(c)? })),
        "d = four bytes of b:a, each picked by a nibble of c, or by the mode and c",
    )
    .needs((2, 0), 20),
    form(
        "popc",
        &[ty(WIDE_BITS)],
        COUNT,
        Build::Pure(|c, _| bits(Op::Popc { class: c.class(SlotName::Type)? })),
        "d = number of ones in a",
    )
    .needs((2, 0), 20),
    form(
        "clz",
        &[ty(WIDE_BITS)],
        COUNT,
        Build::Pure(|c, _| bits(Op::Clz { class: c.class(SlotName::Type)? })),
        "d = number of zeros above the highest one of a",
    )
    .needs((2, 0), 20),
    form(
        "bfind",
        &[SHIFT_AMOUNT, ty(WIDE)],
        COUNT,
        Build::Pure(|c, _| {
            bits(Op::Bfind {
                ty: c.int(SlotName::Type)?,
                shiftamt: c.has(SlotName::ShiftAmount),
            })
        }),
        "d = position of the highest bit of a that is not its sign, or ffffffff; .shiftamt: the shift that moves it to the top",
    )
    .needs((2, 0), 20),
    form(
        "fns",
        &[ty(ONLY_B32)],
        &[
            dst(B32),
            src("mask", B32),
            src("base", B32),
            src("offset", B32),
        ],
        Build::Pure(|_, _| bits(Op::Fns { reading: Reading::Text })),
        "d = position of the offset-th one of mask, counted from base, or ffffffff",
    )
    .needs((5, 1), 30)
    .nvidia("an offset of 80000000 gives 0"),
    form(
        "brev",
        &[ty(WIDE_BITS)],
        A,
        Build::Pure(|c, _| bits(Op::Brev { class: c.class(SlotName::Type)? })),
        "d = the bits of a in reverse order",
    )
    .needs((2, 0), 20),
    form(
        "bfe",
        &[ty(WIDE)],
        &[dst(T), src("a", T), param("b", FIELD, U32), param("c", FIELD, U32)],
        Build::Pure(|c, _| {
            bits(Op::Bfe {
                ty: c.int(SlotName::Type)?,
                reading: Reading::Text,
            })
        }),
        "d = c bits of a from position b on, sign- or zero-extended",
    )
    .needs((2, 0), 20)
    .nvidia(LONG_FIELD),
    form(
        "bfi",
        &[ty(WIDE_BITS)],
        &[
            dst(T),
            src("a", T),
            src("b", T),
            param("c", FIELD, U32),
            param("d", FIELD, U32),
        ],
        Build::Pure(|c, _| {
            bits(Op::Bfi {
                class: c.class(SlotName::Type)?,
                reading: Reading::Text,
            })
        }),
        "f = b, with d bits from position c on replaced by the low bits of a",
    )
    .needs((2, 0), 20)
    .nvidia(LONG_FIELD),
    form(
        "bmsk",
        &[OVERRUN, ty(ONLY_B32)],
        &[dst(U32), src("a", U32), src("b", U32)],
        Build::Pure(|c, _| bits(Op::Bmsk { wrap: wraps(c) })),
        "d = b ones from position a on; .wrap: a & 31 and b & 31",
    )
    .needs((7, 6), 70),
    form(
        "szext",
        &[OVERRUN, ty(WORDS)],
        SHIFT,
        Build::Pure(|c, _| {
            bits(Op::Szext {
                signed: c.signed(SlotName::Type),
                wrap: wraps(c),
            })
        }),
        "d = the low b bits of a, sign- or zero-extended; .wrap: b & 31",
    )
    .needs((7, 6), 70),
];

fn bits(op: Op) -> Result<PureOp, Complaint> {
    Ok(PureOp::Bits(op))
}

/// The table of `lop3`: its low eight bits count.
fn lut(args: &[Arg]) -> Result<u8, Complaint> {
    match args.get(4) {
        Some(&Arg::Literal(value)) => Ok(value as u8),
        _ => Err(Complaint::row("lop3 without a table")),
    }
}

fn prmt_mode(choice: &Choice<'_>) -> Result<PrmtMode, Complaint> {
    match choice.word(SlotName::Mode) {
        None => Ok(PrmtMode::Index),
        Some("f4e") => Ok(PrmtMode::F4e),
        Some("b4e") => Ok(PrmtMode::B4e),
        Some("rc8") => Ok(PrmtMode::Rc8),
        Some("ecl") => Ok(PrmtMode::Ecl),
        Some("ecr") => Ok(PrmtMode::Ecr),
        Some("rc16") => Ok(PrmtMode::Rc16),
        Some(other) => Err(Complaint::row(format!("`{other}` is no mode of prmt"))),
    }
}
