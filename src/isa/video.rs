//! Video instructions. PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions".
//!
//! Selectors stand at the operands: `d.b1`, `a.h10`. The rows leave to the build functions which of them go together.

use super::form::{
    Arg, Build, Choice, Complaint, Form, OperandKind, Operator, Param, Slot, SlotName, TypeOf, U32,
    Word, form, maybe, one, param, word,
};
use super::words::{MAYBE_SAT, OVERRUN, SAT, WORDS, comparison, from_ty, ty, wraps};
use crate::ir::video::{Op, ScalarOp, Second, Selector, SimdOp, Source};
use crate::ir::{PureOp, Reading};

const T: TypeOf = TypeOf::Slot(SlotName::Type);
const FROM: TypeOf = TypeOf::Slot(SlotName::FromType);
const SECOND: TypeOf = TypeOf::Slot(SlotName::SecondType);

const D: Slot = ty(WORDS);
const A: Slot = from_ty(WORDS);
const B: Slot = one(SlotName::SecondType, WORDS);
const ONLY_U32: Slot = one(SlotName::SecondType, &[word("u32")]);
const OPERATION: Slot = one(SlotName::Second, &[word("add"), word("min"), word("max")]);
const ADD: Slot = one(SlotName::Second, &[word("add")]);
const COMPARISONS: &[Word] = &[
    word("eq"),
    word("ne"),
    word("lt"),
    word("le"),
    word("gt"),
    word("ge"),
];
const COMPARISON: Slot = one(SlotName::Compare, COMPARISONS);

/// What NVIDIA's tools make of `.sat`.
const SATURATION: &str = "saturated .u32 has no upper limit; of a part that is selected, negative values become the greatest";
/// What they make of `.sat` and of `.min` and `.max`, which compare intermediate values with c.
const SUM_SECOND: &str = "saturated .u32 has no upper limit; .min, .max compare the low word, sign-extended to 64 bits, unsigned for .u32";
const EXACT_SECOND: &str = "saturated .u32 has no upper limit; .min, .max of .u32 take negative values as greater than any c";
const SHIFT_SATURATION: &str =
    "saturation looks at two bits above the word only, and is to 32 bits whatever part is selected";
const SHIFT_SECOND: &str = "saturation looks at two bits above the word only; .min, .max compare 64 bits, unsigned for .u32, a saturated word as sign-extended";
const SET_SECOND_SIGN: &str = ".min, .max take c as signed if the first type is .s32";
const MULTIPLY_SIGN: &str =
    "whole words and c are signed whatever the types say, which .sat, .shr7, .shr15 show";

const fn part(name: &'static str, ty: TypeOf) -> Param {
    param(name, OperandKind::VideoSrc, ty)
}

const fn lanes(name: &'static str, ty: TypeOf) -> Param {
    param(name, OperandKind::SimdSrc, ty)
}

const SCALAR: &[Param] = &[
    param("d", OperandKind::VideoDst, T),
    part("a", FROM),
    part("b", SECOND),
    part("c", T).optional(),
];
const SCALAR_SECOND: &[Param] = &[
    param("d", OperandKind::VideoDst, T),
    part("a", FROM),
    part("b", SECOND),
    part("c", T),
];
const SET: &[Param] = &[
    param("d", OperandKind::VideoDst, U32),
    part("a", FROM),
    part("b", SECOND),
    part("c", U32).optional(),
];
const SET_SECOND: &[Param] = &[
    param("d", OperandKind::VideoDst, U32),
    part("a", FROM),
    part("b", SECOND),
    part("c", U32),
];
const SIMD: &[Param] = &[
    param("d", OperandKind::SimdDst, T),
    lanes("a", FROM),
    lanes("b", SECOND),
    lanes("c", T),
];
const SIMD_SET: &[Param] = &[
    param("d", OperandKind::SimdDst, U32),
    lanes("a", FROM),
    lanes("b", SECOND),
    lanes("c", U32),
];

const fn scalar(mnemonic: &'static str, operator: Operator, doc: &'static str) -> Form {
    form(
        mnemonic,
        &[D, A, B, MAYBE_SAT],
        SCALAR,
        Build::Pure(operator),
        doc,
    )
    .needs((2, 0), 20)
    .nvidia(SATURATION)
}

const fn scalar_second(
    mnemonic: &'static str,
    operator: Operator,
    doc: &'static str,
    nvidia: &'static str,
) -> Form {
    form(
        mnemonic,
        &[D, A, B, MAYBE_SAT, OPERATION],
        SCALAR_SECOND,
        Build::Pure(operator),
        doc,
    )
    .needs((2, 0), 20)
    .nvidia(nvidia)
}

const fn shift(mnemonic: &'static str, operator: Operator, doc: &'static str) -> Form {
    form(
        mnemonic,
        &[D, A, ONLY_U32, MAYBE_SAT, OVERRUN],
        SCALAR,
        Build::Pure(operator),
        doc,
    )
    .needs((2, 0), 20)
    .nvidia(SHIFT_SATURATION)
}

const fn shift_second(mnemonic: &'static str, operator: Operator, doc: &'static str) -> Form {
    form(
        mnemonic,
        &[D, A, ONLY_U32, MAYBE_SAT, OVERRUN, OPERATION],
        SCALAR_SECOND,
        Build::Pure(operator),
        doc,
    )
    .needs((2, 0), 20)
    .nvidia(SHIFT_SECOND)
}

const fn simd(mnemonic: &'static str, operator: Operator, doc: &'static str) -> Form {
    form(mnemonic, &[D, A, B], SIMD, Build::Pure(operator), doc).needs((3, 0), 30)
}

const fn simd_sat(mnemonic: &'static str, operator: Operator, doc: &'static str) -> Form {
    form(mnemonic, &[D, A, B, SAT], SIMD, Build::Pure(operator), doc).needs((3, 0), 30)
}

const fn simd_add(mnemonic: &'static str, operator: Operator, doc: &'static str) -> Form {
    form(mnemonic, &[D, A, B, ADD], SIMD, Build::Pure(operator), doc).needs((3, 0), 30)
}

const fn simd_set(mnemonic: &'static str, operator: Operator, doc: &'static str) -> Form {
    form(
        mnemonic,
        &[A, B, COMPARISON],
        SIMD_SET,
        Build::Pure(operator),
        doc,
    )
    .needs((3, 0), 30)
}

const fn simd_set_add(mnemonic: &'static str, operator: Operator, doc: &'static str) -> Form {
    form(
        mnemonic,
        &[A, B, COMPARISON, ADD],
        SIMD_SET,
        Build::Pure(operator),
        doc,
    )
    .needs((3, 0), 30)
}

/// The rows.
pub(super) const FORMS: &[Form] = &[
    scalar(
        "vadd",
        |c, a| scalar_op(c, a, ScalarOp::Add),
        "d = a + b; d.sel: the rest of d from c",
    ),
    scalar_second(
        "vadd",
        |c, a| scalar_op(c, a, ScalarOp::Add),
        "d = (a + b) op c",
        SUM_SECOND,
    ),
    scalar(
        "vsub",
        |c, a| scalar_op(c, a, ScalarOp::Sub),
        "d = a - b; d.sel: the rest of d from c",
    ),
    scalar_second(
        "vsub",
        |c, a| scalar_op(c, a, ScalarOp::Sub),
        "d = (a - b) op c",
        SUM_SECOND,
    ),
    scalar(
        "vabsdiff",
        |c, a| scalar_op(c, a, ScalarOp::AbsDiff),
        "d = |a - b|; d.sel: the rest of d from c",
    ),
    scalar_second(
        "vabsdiff",
        |c, a| scalar_op(c, a, ScalarOp::AbsDiff),
        "d = |a - b| op c",
        EXACT_SECOND,
    ),
    scalar(
        "vmin",
        |c, a| scalar_op(c, a, ScalarOp::Min),
        "d = min(a, b); d.sel: the rest of d from c",
    ),
    scalar_second(
        "vmin",
        |c, a| scalar_op(c, a, ScalarOp::Min),
        "d = min(a, b) op c",
        EXACT_SECOND,
    ),
    scalar(
        "vmax",
        |c, a| scalar_op(c, a, ScalarOp::Max),
        "d = max(a, b); d.sel: the rest of d from c",
    ),
    scalar_second(
        "vmax",
        |c, a| scalar_op(c, a, ScalarOp::Max),
        "d = max(a, b) op c",
        EXACT_SECOND,
    ),
    shift(
        "vshl",
        |c, a| scalar_op(c, a, ScalarOp::Shl { wrap: wraps(c) }),
        "d = a << b, b clamped to 32 or b & 31; d.sel: the rest of d from c",
    ),
    shift_second(
        "vshl",
        |c, a| scalar_op(c, a, ScalarOp::Shl { wrap: wraps(c) }),
        "d = (a << b) op c",
    ),
    shift(
        "vshr",
        |c, a| scalar_op(c, a, ScalarOp::Shr { wrap: wraps(c) }),
        "d = a >> b, b clamped to 32 or b & 31; d.sel: the rest of d from c",
    ),
    shift_second(
        "vshr",
        |c, a| scalar_op(c, a, ScalarOp::Shr { wrap: wraps(c) }),
        "d = (a >> b) op c",
    ),
    form(
        "vmad",
        &[
            D,
            A,
            B,
            maybe(SlotName::PlusOne, &[word("po")]),
            MAYBE_SAT,
            maybe(SlotName::Scale, &[word("shr7"), word("shr15")]),
        ],
        SCALAR_SECOND,
        Build::Pure(multiply_add),
        "d = (±(a * b) ± c, + 1 with .po) >> scale",
    )
    .needs((2, 0), 20)
    .nvidia(MULTIPLY_SIGN),
    form(
        "vset",
        &[A, B, COMPARISON],
        SET,
        Build::Pure(|c, a| scalar_op(c, a, ScalarOp::Set(comparison(c)?))),
        "d = a cmp b ? 1 : 0; d.sel: the rest of d from c",
    )
    .needs((2, 0), 20),
    form(
        "vset",
        &[A, B, COMPARISON, OPERATION],
        SET_SECOND,
        Build::Pure(|c, a| scalar_op(c, a, ScalarOp::Set(comparison(c)?))),
        "d = (a cmp b ? 1 : 0) op c",
    )
    .needs((2, 0), 20)
    .nvidia(SET_SECOND_SIGN),
    simd(
        "vadd2",
        |c, a| simd_op(c, a, 2, SimdOp::Add),
        "d.hi = a.hi + b.hi in each half",
    ),
    simd_sat(
        "vadd2",
        |c, a| simd_op(c, a, 2, SimdOp::Add),
        "d.hi = a.hi + b.hi in each half, clamped",
    ),
    simd_add(
        "vadd2",
        |c, a| simd_op(c, a, 2, SimdOp::Add),
        "d = c + the sum of a.hi + b.hi",
    ),
    simd(
        "vsub2",
        |c, a| simd_op(c, a, 2, SimdOp::Sub),
        "d.hi = a.hi - b.hi in each half",
    ),
    simd_sat(
        "vsub2",
        |c, a| simd_op(c, a, 2, SimdOp::Sub),
        "d.hi = a.hi - b.hi in each half, clamped",
    ),
    simd_add(
        "vsub2",
        |c, a| simd_op(c, a, 2, SimdOp::Sub),
        "d = c + the sum of a.hi - b.hi",
    ),
    simd(
        "vavrg2",
        |c, a| simd_op(c, a, 2, SimdOp::Avrg),
        "d.hi = rounded average of a.hi and b.hi in each half",
    ),
    simd_sat(
        "vavrg2",
        |c, a| simd_op(c, a, 2, SimdOp::Avrg),
        "d.hi = rounded average of a.hi and b.hi in each half, clamped",
    ),
    simd_add(
        "vavrg2",
        |c, a| simd_op(c, a, 2, SimdOp::Avrg),
        "d = c + the sum of the rounded averages",
    ),
    simd(
        "vabsdiff2",
        |c, a| simd_op(c, a, 2, SimdOp::AbsDiff),
        "d.hi = |a.hi - b.hi| in each half",
    ),
    simd_sat(
        "vabsdiff2",
        |c, a| simd_op(c, a, 2, SimdOp::AbsDiff),
        "d.hi = |a.hi - b.hi| in each half, clamped",
    ),
    simd_add(
        "vabsdiff2",
        |c, a| simd_op(c, a, 2, SimdOp::AbsDiff),
        "d = c + the sum of |a.hi - b.hi|",
    ),
    simd(
        "vmin2",
        |c, a| simd_op(c, a, 2, SimdOp::Min),
        "d.hi = min(a.hi, b.hi) in each half",
    ),
    simd_sat(
        "vmin2",
        |c, a| simd_op(c, a, 2, SimdOp::Min),
        "d.hi = min(a.hi, b.hi) in each half, clamped",
    ),
    simd_add(
        "vmin2",
        |c, a| simd_op(c, a, 2, SimdOp::Min),
        "d = c + the sum of min(a.hi, b.hi)",
    ),
    simd(
        "vmax2",
        |c, a| simd_op(c, a, 2, SimdOp::Max),
        "d.hi = max(a.hi, b.hi) in each half",
    ),
    simd_sat(
        "vmax2",
        |c, a| simd_op(c, a, 2, SimdOp::Max),
        "d.hi = max(a.hi, b.hi) in each half, clamped",
    ),
    simd_add(
        "vmax2",
        |c, a| simd_op(c, a, 2, SimdOp::Max),
        "d = c + the sum of max(a.hi, b.hi)",
    ),
    simd_set(
        "vset2",
        |c, a| simd_op(c, a, 2, SimdOp::Set(comparison(c)?)),
        "d.hi = a.hi cmp b.hi ? 1 : 0 in each half",
    ),
    simd_set_add(
        "vset2",
        |c, a| simd_op(c, a, 2, SimdOp::Set(comparison(c)?)),
        "d = c + the number of halves where a.hi cmp b.hi",
    ),
    simd(
        "vadd4",
        |c, a| simd_op(c, a, 4, SimdOp::Add),
        "d.bi = a.bi + b.bi in each byte",
    ),
    simd_sat(
        "vadd4",
        |c, a| simd_op(c, a, 4, SimdOp::Add),
        "d.bi = a.bi + b.bi in each byte, clamped",
    ),
    simd_add(
        "vadd4",
        |c, a| simd_op(c, a, 4, SimdOp::Add),
        "d = c + the sum of a.bi + b.bi",
    ),
    simd(
        "vsub4",
        |c, a| simd_op(c, a, 4, SimdOp::Sub),
        "d.bi = a.bi - b.bi in each byte",
    ),
    simd_sat(
        "vsub4",
        |c, a| simd_op(c, a, 4, SimdOp::Sub),
        "d.bi = a.bi - b.bi in each byte, clamped",
    ),
    simd_add(
        "vsub4",
        |c, a| simd_op(c, a, 4, SimdOp::Sub),
        "d = c + the sum of a.bi - b.bi",
    ),
    simd(
        "vavrg4",
        |c, a| simd_op(c, a, 4, SimdOp::Avrg),
        "d.bi = rounded average of a.bi and b.bi in each byte",
    ),
    simd_sat(
        "vavrg4",
        |c, a| simd_op(c, a, 4, SimdOp::Avrg),
        "d.bi = rounded average of a.bi and b.bi in each byte, clamped",
    ),
    simd_add(
        "vavrg4",
        |c, a| simd_op(c, a, 4, SimdOp::Avrg),
        "d = c + the sum of the rounded averages",
    ),
    simd(
        "vabsdiff4",
        |c, a| simd_op(c, a, 4, SimdOp::AbsDiff),
        "d.bi = |a.bi - b.bi| in each byte",
    ),
    simd_sat(
        "vabsdiff4",
        |c, a| simd_op(c, a, 4, SimdOp::AbsDiff),
        "d.bi = |a.bi - b.bi| in each byte, clamped",
    ),
    simd_add(
        "vabsdiff4",
        |c, a| simd_op(c, a, 4, SimdOp::AbsDiff),
        "d = c + the sum of |a.bi - b.bi|",
    ),
    simd(
        "vmin4",
        |c, a| simd_op(c, a, 4, SimdOp::Min),
        "d.bi = min(a.bi, b.bi) in each byte",
    ),
    simd_sat(
        "vmin4",
        |c, a| simd_op(c, a, 4, SimdOp::Min),
        "d.bi = min(a.bi, b.bi) in each byte, clamped",
    ),
    simd_add(
        "vmin4",
        |c, a| simd_op(c, a, 4, SimdOp::Min),
        "d = c + the sum of min(a.bi, b.bi)",
    ),
    simd(
        "vmax4",
        |c, a| simd_op(c, a, 4, SimdOp::Max),
        "d.bi = max(a.bi, b.bi) in each byte",
    ),
    simd_sat(
        "vmax4",
        |c, a| simd_op(c, a, 4, SimdOp::Max),
        "d.bi = max(a.bi, b.bi) in each byte, clamped",
    ),
    simd_add(
        "vmax4",
        |c, a| simd_op(c, a, 4, SimdOp::Max),
        "d = c + the sum of max(a.bi, b.bi)",
    ),
    simd_set(
        "vset4",
        |c, a| simd_op(c, a, 4, SimdOp::Set(comparison(c)?)),
        "d.bi = a.bi cmp b.bi ? 1 : 0 in each byte",
    ),
    simd_set_add(
        "vset4",
        |c, a| simd_op(c, a, 4, SimdOp::Set(comparison(c)?)),
        "d = c + the number of bytes where a.bi cmp b.bi",
    ),
];

/// Part and sign of each operand of a scalar instruction.
struct Parts<'a> {
    d: Selector,
    a: (Selector, bool),
    b: (Selector, bool),
    c: Option<(&'a Arg, bool)>,
}

fn parts(args: &[Arg]) -> Result<Parts<'_>, Complaint> {
    let get = |index: usize| match args.get(index) {
        Some(Arg::Part { part, negated, .. }) => Ok((*part, *negated)),
        _ => Err(Complaint::row("not an operand of a video instruction")),
    };
    let (d, _) = get(0)?;
    let c = match args.get(3) {
        None | Some(Arg::Absent) => None,
        Some(arg) => {
            let (part, negated) = get(3)?;
            if part != Selector::Word {
                return Err(Complaint::operand(3, "operand c takes no selector"));
            }
            Some((arg, negated))
        }
    };
    Ok(Parts {
        d,
        a: get(1)?,
        b: get(2)?,
        c,
    })
}

fn sources(choice: &Choice<'_>, parts: &Parts<'_>) -> (Source, Source) {
    (
        Source {
            signed: choice.signed(SlotName::FromType),
            part: parts.a.0,
        },
        Source {
            signed: choice.signed(SlotName::SecondType),
            part: parts.b.0,
        },
    )
}

/// What is done with the third operand. One that no second operation and no selector asks for is ignored.
fn second(choice: &Choice<'_>, parts: &Parts<'_>) -> Result<Second, Complaint> {
    match (choice.word(SlotName::Second), parts.d) {
        (None, Selector::Word) => Ok(Second::None),
        (None, part) if parts.c.is_some() => Ok(Second::Merge(part)),
        (None, _) => Err(Complaint::operand(
            0,
            "a selector on the destination needs a third source for the rest of it",
        )),
        (Some(_), part) if part != Selector::Word => Err(Complaint::operand(
            0,
            "a selector on the destination and a second operation exclude each other",
        )),
        (Some("add"), _) => Ok(Second::Add),
        (Some("min"), _) => Ok(Second::Min),
        (Some("max"), _) => Ok(Second::Max),
        (Some(other), _) => Err(Complaint::row(format!("`{other}` is no second operation"))),
    }
}

/// Two signs are taken and mean nothing; the assembler has it so.
fn refuse_signs(a: bool, b: bool, c: bool) -> Result<(), Complaint> {
    let at = match (a, b, c) {
        (_, _, true) => 3,
        (true, false, false) => 1,
        (false, true, false) => 2,
        (true, true, false) | (false, false, false) => return Ok(()),
    };
    Err(Complaint::operand(
        at,
        "this instruction does not negate its sources",
    ))
}

fn scalar_op(choice: &Choice<'_>, args: &[Arg], op: ScalarOp) -> Result<PureOp, Complaint> {
    let parts = parts(args)?;
    refuse_signs(
        parts.a.1,
        parts.b.1,
        parts.c.is_some_and(|(_, negated)| negated),
    )?;
    let (a, b) = sources(choice, &parts);
    Ok(PureOp::Video(Op::Scalar {
        op,
        signed: choice.signed(SlotName::Type),
        a,
        b,
        sat: choice.has(SlotName::Saturate),
        second: second(choice, &parts)?,
        reading: Reading::Text,
    }))
}

fn multiply_add(choice: &Choice<'_>, args: &[Arg]) -> Result<PureOp, Complaint> {
    let parts = parts(args)?;
    if parts.d != Selector::Word {
        return Err(Complaint::operand(0, "vmad writes the whole word"));
    }
    let (neg_a, neg_b) = (parts.a.1, parts.b.1);
    let neg_c = parts.c.is_some_and(|(_, negated)| negated);
    let plus_one = choice.has(SlotName::PlusOne);
    if plus_one && (neg_a != neg_b || neg_c) {
        return Err(Complaint::slot(
            SlotName::PlusOne,
            "`.po` and a negated operand exclude each other",
        ));
    }
    if neg_a != neg_b && neg_c {
        return Err(Complaint::operand(
            3,
            "the product and c cannot both be negated",
        ));
    }
    let (a, b) = sources(choice, &parts);
    Ok(PureOp::Video(Op::Mad {
        signed: choice.signed(SlotName::Type),
        a,
        b,
        neg_a,
        neg_b,
        neg_c,
        plus_one,
        sat: choice.has(SlotName::Saturate),
        shift: match choice.word(SlotName::Scale) {
            Some("shr7") => 7,
            Some("shr15") => 15,
            _ => 0,
        },
        reading: Reading::Text,
    }))
}

/// Lanes as written, the highest first, to lanes with the lowest first.
fn lane_array(written: &[u8]) -> [u8; 4] {
    let mut lanes = [0; 4];
    for (lane, from) in lanes.iter_mut().zip(written.iter().rev()) {
        *lane = *from;
    }
    lanes
}

fn simd_op(choice: &Choice<'_>, args: &[Arg], lanes: u8, op: SimdOp) -> Result<PureOp, Complaint> {
    let get = |index: usize| match args.get(index) {
        Some(Arg::Lanes { lanes: None, .. }) => Ok(None),
        Some(Arg::Lanes {
            lanes: Some((halves, digits)),
            ..
        }) => {
            if *halves == (lanes == 2) {
                Ok(Some(digits.as_slice()))
            } else {
                Err(Complaint::operand(
                    index,
                    format!("this instruction works on {lanes} lanes"),
                ))
            }
        }
        Some(_) | None => Err(Complaint::row("not an operand of a SIMD instruction")),
    };
    let all = |index: usize| {
        Complaint::operand(
            index,
            format!("a selector names {lanes} lanes of 0 to {}", 2 * lanes - 1),
        )
    };
    let source = |index: usize, first: u8| match get(index)? {
        None => Ok([first, first + 1, first + 2, first + 3]),
        Some(written)
            if written.len() == usize::from(lanes) && written.iter().all(|l| *l < 2 * lanes) =>
        {
            Ok(lane_array(written))
        }
        Some(_) => Err(all(index)),
    };
    let mask = match get(0)? {
        None => (1 << lanes) - 1,
        Some(written) => {
            let descending = written.windows(2).all(|w| w[0] > w[1]);
            if !descending || written.iter().any(|l| *l >= lanes) {
                return Err(Complaint::operand(
                    0,
                    format!(
                        "a mask names lanes of 0 to {}, the highest first",
                        lanes - 1
                    ),
                ));
            }
            written.iter().fold(0, |mask, lane| mask | 1 << lane)
        }
    };
    let negated = |index: usize| matches!(args.get(index), Some(Arg::Lanes { negated: true, .. }));
    if negated(0) {
        return Err(Complaint::operand(0, "a destination has no sign"));
    }
    refuse_signs(negated(1), negated(2), negated(3))?;
    if get(3)?.is_some() {
        return Err(Complaint::operand(3, "operand c takes no selector"));
    }
    let mut a_lanes = source(1, 0)?;
    let mut b_lanes = source(2, lanes)?;
    for unused in [&mut a_lanes, &mut b_lanes] {
        unused[usize::from(lanes)..].fill(0);
    }
    Ok(PureOp::Video(Op::Simd {
        op,
        lanes,
        signed: choice.signed(SlotName::Type),
        a_signed: choice.signed(SlotName::FromType),
        b_signed: choice.signed(SlotName::SecondType),
        a_lanes,
        b_lanes,
        mask,
        sat: choice.has(SlotName::Saturate),
        add: choice.has(SlotName::Second),
    }))
}
