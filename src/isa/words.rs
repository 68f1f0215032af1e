//! Words that several families share, and what they mean in the IR.

use super::form::{Choice, Complaint, Slot, SlotName, Word, maybe, one, word};
use crate::ir::compare::{BoolOp, CmpOp};

/// Integer types of arithmetic.
pub(super) const INTEGERS: &[Word] = &[
    word("u16"),
    word("s16"),
    word("u32"),
    word("s32"),
    word("u64"),
    word("s64"),
];
/// Signed types of arithmetic.
pub(super) const SIGNED: &[Word] = &[word("s16"), word("s32"), word("s64")];
/// 32-bit integer types.
pub(super) const WORDS: &[Word] = &[word("u32"), word("s32")];
/// 32- and 64-bit integer types.
pub(super) const WIDE: &[Word] = &[word("u32"), word("s32"), word("u64"), word("s64")];
/// As [`WIDE`], with `.cc`.
pub(super) const CARRY_OUT: &[Word] = &[
    word("u32"),
    word("s32"),
    word("u64").needs((4, 3), 20),
    word("s64").needs((4, 3), 20),
];
/// Untyped words and predicates.
pub(super) const LOGIC: &[Word] = &[word("pred"), word("b16"), word("b32"), word("b64")];
/// Untyped words.
pub(super) const BITS: &[Word] = &[word("b16"), word("b32"), word("b64")];
/// `.b32` and `.b64`
pub(super) const WIDE_BITS: &[Word] = &[word("b32"), word("b64")];
/// `.b32`
pub(super) const ONLY_B32: &[Word] = &[word("b32")];
/// `.s32`
pub(super) const ONLY_S32: &[Word] = &[word("s32")];

/// `.sat`, required.
pub(super) const SAT: Slot = one(SlotName::Saturate, &[word("sat")]);
/// `.sat`, optional.
pub(super) const MAYBE_SAT: Slot = maybe(SlotName::Saturate, &[word("sat")]);
/// `.relu`, required.
pub(super) const RELU: Slot = one(SlotName::Relu, &[word("relu")]);
/// `.relu`, optional.
pub(super) const MAYBE_RELU: Slot = maybe(SlotName::Relu, &[word("relu")]);
/// `.clamp` or `.wrap`, required.
pub(super) const OVERRUN: Slot = one(SlotName::Overrun, &[word("clamp"), word("wrap")]);
/// `.and`, `.or`, `.xor`, required.
pub(super) const COMBINE: Slot = one(SlotName::Combine, &[word("and"), word("or"), word("xor")]);

/// A slot for a type.
pub(super) const fn ty(words: &'static [Word]) -> Slot {
    one(SlotName::Type, words)
}

/// A slot for the type of the first source.
pub(super) const fn from_ty(words: &'static [Word]) -> Slot {
    one(SlotName::FromType, words)
}

/// Whether `.wrap` rather than `.clamp`.
pub(super) fn wraps(choice: &Choice<'_>) -> bool {
    choice.word(SlotName::Overrun) == Some("wrap")
}

/// The comparison in [`SlotName::Compare`].
pub(super) fn comparison(choice: &Choice<'_>) -> Result<CmpOp, Complaint> {
    match choice.required(SlotName::Compare)? {
        "eq" => Ok(CmpOp::Eq),
        "ne" => Ok(CmpOp::Ne),
        "lt" | "lo" => Ok(CmpOp::Lt),
        "le" | "ls" => Ok(CmpOp::Le),
        "gt" | "hi" => Ok(CmpOp::Gt),
        "ge" | "hs" => Ok(CmpOp::Ge),
        other => Err(Complaint::row(format!("`{other}` is no comparison"))),
    }
}

/// The operator in [`SlotName::Combine`], if it is filled.
pub(super) fn combination(choice: &Choice<'_>) -> Result<Option<BoolOp>, Complaint> {
    match choice.word(SlotName::Combine) {
        None => Ok(None),
        Some("and") => Ok(Some(BoolOp::And)),
        Some("or") => Ok(Some(BoolOp::Or)),
        Some("xor") => Ok(Some(BoolOp::Xor)),
        Some(other) => Err(Complaint::row(format!("`{other}` combines nothing"))),
    }
}
