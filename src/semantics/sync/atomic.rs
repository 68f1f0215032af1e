//! What `atom` and `red` write.

use super::super::{float, typed};
use crate::ir::sync::AtomicOp;

/// The new value of `bytes` (2, 4 or 8) bytes: of the old one and the operands, each within the width. `cas` compares with
/// `b` and writes `c`. PTX ISA, `atom`.
pub fn atomic(op: AtomicOp, bytes: u8, old: u64, b: u64, c: u64) -> u64 {
    let mask = u64::MAX >> (64 - 8 * u32::from(bytes.clamp(1, 8)));
    match op {
        AtomicOp::And => old & b,
        AtomicOp::Or => old | b,
        AtomicOp::Xor => old ^ b,
        AtomicOp::Add => old.wrapping_add(b) & mask,
        AtomicOp::Inc if old >= b => 0,
        AtomicOp::Inc => old + 1,
        AtomicOp::Dec if old == 0 || old > b => b,
        AtomicOp::Dec => old - 1,
        AtomicOp::Min { ty } if typed(ty, b) < typed(ty, old) => b,
        AtomicOp::Max { ty } if typed(ty, b) > typed(ty, old) => b,
        AtomicOp::Min { .. } | AtomicOp::Max { .. } => old,
        AtomicOp::Exch => b,
        AtomicOp::Cas if old == b => c,
        AtomicOp::Cas => old,
        AtomicOp::Float(op) => float::eval(op, &[old, b])[0],
    }
}
