//! Moves and conversions. PTX ISA, "Data Movement and Conversion Instructions".

mod float;
mod number;
mod small;

use super::{number, saturate, src, typed};
use crate::ir::convert::{Op, PackTy};
use crate::ir::memory::Space;
use crate::ir::{IntTy, RegClass};
use crate::machine::window;

/// The result of an operator.
pub(super) fn eval(op: Op, address_bits: u32, srcs: &[u64]) -> u64 {
    let a = src(srcs, 0);
    match op {
        Op::Mov { .. } => a,
        Op::Cvt { from, to, sat, dst } => cvt(from, to, sat, dst, a),
        Op::Float(op) => float::eval(op, srcs),
        Op::Small(op) => small::eval(op, srcs),
        Op::Pack { elem, count } => pack(elem, count, srcs),
        Op::Extract { elem, index, .. } => {
            a.checked_shr(elem.bits() * u32::from(index)).unwrap_or(0) & elem.mask()
        }
        Op::CvtPack { ty, onto } => cvt_pack(ty, onto, a, src(srcs, 1), src(srcs, 2)),
        Op::Cvta { space, to, class } => cvta(space, to, address_bits, a) & class.mask(),
        Op::Isspacep { space, .. } => {
            let window = window::base(space, address_bits);
            let lies_in = window::space_of(a, address_bits);
            u64::from(match window {
                Some(_) => window::base(lies_in, address_bits) == window,
                None => lies_in == space,
            })
        }
    }
}

/// t = a as `from`; `.sat`: clamped to the range of `to`; d = the low bits of t as `to`, extended by its sign.
/// PTX ISA, `cvt`.
fn cvt(from: IntTy, to: IntTy, sat: bool, dst: RegClass, a: u64) -> u64 {
    let value = typed(from, a);
    let value = if sat {
        saturate(value, to.bits(), to.signed())
    } else {
        value
    };
    typed(to, value as u64) as u64 & dst.mask()
}

/// d = a | b << n | c << 2n ..., n the width of an element. PTX ISA, `mov` from a vector.
fn pack(elem: RegClass, count: u8, srcs: &[u64]) -> u64 {
    (0..u32::from(count))
        .map(|i| {
            src(srcs, i as usize)
                .checked_shl(elem.bits() * i)
                .unwrap_or(0)
        })
        .fold(0, |d, part| d | part)
}

/// d\[n-1..0\] = clamp(b), d\[2n-1..n\] = clamp(a), n the width of `ty`; above them, with `onto`, the low bits of c.
/// PTX ISA, `cvt.pack`.
fn cvt_pack(ty: PackTy, onto: bool, a: u64, b: u64, c: u64) -> u64 {
    let bits = ty.bits();
    let clamped =
        |x| saturate(number(x, 32, true), bits, ty.signed()) as u64 & ((1u64 << bits) - 1);
    let pair = clamped(a) << bits | clamped(b);
    let above = if onto { c << (2 * bits) } else { 0 };
    (above | pair) & 0xffff_ffff
}

/// The generic address of `a` in the window of `space`; with `to`, the address in the window of the generic `a`.
/// PTX ISA, `cvta`.
fn cvta(space: Space, to: bool, address_bits: u32, a: u64) -> u64 {
    let base = window::base(space, address_bits).unwrap_or(0);
    if to {
        a.wrapping_sub(base)
    } else {
        a.wrapping_add(base)
    }
}
