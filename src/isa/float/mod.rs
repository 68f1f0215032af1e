//! Floating-point arithmetic: the rows, by format.

pub(super) mod approx;
pub(super) mod compare;
pub(super) mod half;
pub(super) mod half_compare;
pub(super) mod mixed;
pub(super) mod single;

use super::form::{Choice, Complaint, Slot, SlotName, maybe, word};
use crate::ir::float::{Clamp, Mode, Rounding};

/// `.ftz`
const FLUSH: Slot = maybe(SlotName::Flush, &[word("ftz").needs((1, 4), 10)]);

/// The rounding in [`SlotName::Rounding`]; to the nearest where none is written.
fn rounding(choice: &Choice<'_>) -> Result<Rounding, Complaint> {
    match choice.word(SlotName::Rounding) {
        None | Some("rn") => Ok(Rounding::Rn),
        Some("rz") => Ok(Rounding::Rz),
        Some("rm") => Ok(Rounding::Rm),
        Some("rp") => Ok(Rounding::Rp),
        Some(other) => Err(Complaint::row(format!("`{other}` rounds nothing"))),
    }
}

/// What the words say of operands and result.
fn mode(choice: &Choice<'_>) -> Result<Mode, Complaint> {
    Ok(Mode {
        rounding: rounding(choice)?,
        ftz: choice.has(SlotName::Flush),
        clamp: if choice.has(SlotName::Saturate) {
            Clamp::Sat
        } else if choice.has(SlotName::Relu) {
            Clamp::Relu
        } else {
            Clamp::None
        },
    })
}
