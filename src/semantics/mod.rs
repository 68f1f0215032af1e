//! What each operation computes: plain functions on plain integers, written to be read beside the PTX ISA text.
//!
//! One room for each family of [`ir`](crate::ir), and [`eval`] over those that are pure. Every function is total: no operator and no
//! operand panics or depends on anything else. The interpreter calls `eval`; the native engine computes the same in
//! its own way and is tested against it.
//!
//! Where the ISA text leaves a value open, it is that of NVIDIA's tools: division by zero gives all ones.

mod bits;
mod compare;
mod convert;
mod extended;
mod float;
mod integer;
pub mod sync;
mod video;

#[cfg(test)]
mod tests;

use crate::ir::{IntTy, PureOp};

/// The destinations' values, in order; 0 for those that an operator does not have.
pub type Results = [u64; 2];

/// What `op` computes. `address_bits` is that of the module, 32 or 64.
///
/// `srcs` are the sources in order, each within the mask of its class ([`PureOp::signature`]); missing ones count as
/// 0. The results lie within the masks of theirs.
pub fn eval(op: PureOp, address_bits: u32, srcs: &[u64]) -> Results {
    match op {
        PureOp::Integer(op) => [integer::eval(op, srcs), 0],
        PureOp::Extended(op) => extended::eval(op, srcs),
        PureOp::Bits(op) => bits::eval(op, srcs),
        PureOp::Video(op) => [video::eval(op, srcs), 0],
        PureOp::Compare(op) => compare::eval(op, srcs),
        PureOp::Convert(op) => [convert::eval(op, address_bits, srcs), 0],
        PureOp::Float(op) => float::eval(op, srcs),
    }
}

/// Source `index`.
#[inline]
fn src(srcs: &[u64], index: usize) -> u64 {
    srcs.get(index).copied().unwrap_or(0)
}

/// Source `index`, of 32 bits.
#[inline]
fn src32(srcs: &[u64], index: usize) -> u32 {
    src(srcs, index) as u32
}

/// The low `bits` (1 to 64) bits of `value` as a number.
#[inline]
fn number(value: u64, bits: u32, signed: bool) -> i128 {
    let shift = 64 - bits;
    if signed {
        i128::from(((value << shift) as i64) >> shift)
    } else {
        i128::from((value << shift) >> shift)
    }
}

/// `value` as a number of type `ty`.
#[inline]
fn typed(ty: IntTy, value: u64) -> i128 {
    number(value, ty.bits(), ty.signed())
}

/// The number nearest to `value` that `bits` (1 to 64) bits hold.
#[inline]
fn saturate(value: i128, bits: u32, signed: bool) -> i128 {
    if signed {
        let max = (1i128 << (bits - 1)) - 1;
        value.clamp(-max - 1, max)
    } else {
        value.clamp(0, (1i128 << bits) - 1)
    }
}
