//! Extended-precision arithmetic. PTX ISA, "Extended-Precision Integer Arithmetic Instructions".
//!
//! The carry is the machine's, in all of them: bit n of the n-bit sum. Subtraction adds the complement, so it sets the
//! carry where there is no borrow.

use super::{Results, integer, src};
use crate::ir::IntTy;
use crate::ir::extended::Op;
use crate::ir::integer::Part;

/// The result of an operator and, with `carry_out`, the carry.
pub(super) fn eval(op: Op, srcs: &[u64]) -> Results {
    match op {
        // d = a + b (+ CF). `add.cc`, `addc`.
        Op::Add {
            ty,
            carry_in,
            carry_out,
        } => {
            let carry = if carry_in { src(srcs, 2) } else { 0 };
            sum(ty, src(srcs, 0), src(srcs, 1), carry, carry_out)
        }
        // d = a - b = a + ~b + 1; with a borrow, that is without CF, a + ~b. `sub.cc`, `subc`.
        Op::Sub {
            ty,
            carry_in,
            carry_out,
        } => {
            let carry = if carry_in { src(srcs, 2) } else { 1 };
            sum(ty, src(srcs, 0), !src(srcs, 1), carry, carry_out)
        }
        // d = (a * b).lo or .hi + c (+ CF). `mad.cc`, `madc`.
        Op::Mad {
            high,
            ty,
            carry_in,
            carry_out,
        } => {
            let part = if high { Part::Hi } else { Part::Lo };
            let product = integer::eval(crate::ir::integer::Op::Mul { part, ty }, srcs);
            let carry = if carry_in { src(srcs, 3) } else { 0 };
            sum(ty, product, src(srcs, 2), carry, carry_out)
        }
    }
}

/// The low n bits of x + y + carry, and bit n if it is asked for.
fn sum(ty: IntTy, x: u64, y: u64, carry: u64, carry_out: bool) -> Results {
    let sum = u128::from(x & ty.mask()) + u128::from(y & ty.mask()) + u128::from(carry & 1);
    let out = (sum >> ty.bits()) as u64 & 1;
    [sum as u64 & ty.mask(), if carry_out { out } else { 0 }]
}
