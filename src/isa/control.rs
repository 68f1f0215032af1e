//! Hints among the control and miscellaneous instructions. PTX ISA, "Miscellaneous Instructions".
//!
//! Branches, calls and returns have no rows: whoever builds the control flow graph reads them.

use super::form::{Build, Form, OperandKind, Slot, SlotName, U32, first, form, param, src, word};
use super::words::ty;

const MASK: Slot = first(SlotName::Variant, &[word("mask")]);

/// The rows.
pub(super) const FORMS: &[Form] = &[
    form(
        "pmevent",
        &[],
        &[param("a", OperandKind::Literal(0, 15), U32)],
        Build::Hint,
        "triggers a performance monitor event: nothing here",
    )
    .needs((1, 4), 10),
    form(
        "pmevent",
        &[MASK],
        &[param("a", OperandKind::Literal(0, 0xffff), U32)],
        Build::Hint,
        "triggers performance monitor events: nothing here",
    )
    .needs((3, 0), 20),
    form(
        "nanosleep",
        &[ty(&[word("u32")])],
        &[src("t", U32)],
        Build::Hint,
        "sleeps up to 2 t nanoseconds: no time at all here",
    )
    .needs((6, 2), 70),
];
