//! Floating-point arithmetic. PTX ISA, "Floating Point Instructions".
//!
//! A NaN result is the canonical one of its format ([`nan`]): 7fffffff for `.f32`, 7fff for `.f16` and `.bf16`. The text leaves
//! that of `.f64` open; here it is fff8000000000000, which NVIDIA's assembler folds for invalid operations. Quotients and roots of an `.f64`
//! NaN are that NaN, quiet, and `abs` and `neg` change its sign alone, as NVIDIA's code does.

mod approx;
mod arith;
mod compare;
mod format;
mod soft;

use super::{Results, src};
use crate::ir::float::{Arith, FloatTy, Mark, Mixed, Mode, OOB_NAN, Op};
use format::{nan, one};
use soft::Exact;

/// The results of an operator.
pub(super) fn eval(op: Op, srcs: &[u64]) -> Results {
    let arith =
        |op: Exact, ty, mode: Mode| lanes(ty, srcs, |s| arith::eval(op, ty.lane(), mode, s));
    let d = match op {
        Op::Arith { op, ty, mode } => arith(
            match op {
                Arith::Add => Exact::Add,
                Arith::Sub => Exact::Sub,
                Arith::Mul => Exact::Mul,
                Arith::Div => Exact::Div,
            },
            ty,
            mode,
        ),
        Op::Fma { ty, mode } => arith(Exact::Fma, ty, mode),
        Op::FmaOob { ty, mode } => lanes(ty, srcs, |s| match s {
            [OOB_NAN, ..] | [_, OOB_NAN, ..] => 0,
            _ => arith::eval(Exact::Fma, ty.lane(), mode, s),
        }),
        Op::Mixed { op, from, mode } => mixed(op, from, mode, srcs),
        Op::Rcp { ty, mode } => arith::eval(Exact::Div, ty, mode, &[one(ty), src(srcs, 0)]),
        Op::Sqrt { ty, mode } => arith(Exact::Sqrt, ty, mode),
        Op::Sign { op, ty, ftz } => lanes(ty, srcs, |s| compare::sign(op, ty, ftz, src(s, 0))),
        Op::Copysign { ty } => lanes(ty, srcs, |s| compare::copysign(ty, src(s, 0), src(s, 1))),
        Op::Extreme(extreme) => lanes(extreme.ty, srcs, |s| compare::extreme(extreme, s)),
        Op::Testp { class, ty } => compare::is_of_class(class, ty, src(srcs, 0)).into(),
        Op::Setp {
            cmp,
            ty,
            ftz,
            combine,
        } => {
            let holds = match ty.lanes() {
                1 => {
                    let t = compare::holds(cmp, ty, ftz, srcs);
                    [t, !t]
                }
                _ => [0, 1].map(|i| compare::holds(cmp, ty.lane(), ftz, &lane(ty, srcs, i))),
            };
            let c = src(srcs, 2) & 1 != 0;
            return holds.map(|t| super::compare::combined(combine, t, c).into());
        }
        Op::Set {
            cmp,
            ty,
            ftz,
            combine,
            to,
        } => {
            let c = src(srcs, 2) & 1 != 0;
            let of_lane = |s: &[u64]| {
                let t = compare::holds(cmp, ty.lane(), ftz, s);
                if super::compare::combined(combine, t, c) {
                    mark(to.of_lane(ty))
                } else {
                    0
                }
            };
            if ty.lanes() == 1 {
                of_lane(srcs)
            } else {
                lanes(ty, srcs, of_lane)
            }
        }
        Op::Slct { ftz, .. } => src(
            srcs,
            if compare::is_positive(ftz, src(srcs, 2)) {
                0
            } else {
                1
            },
        ),
        Op::Approx { op, ty, ftz } => lanes(ty, srcs, |s| approx::eval(op, ty.lane(), ftz, s)),
    };
    [d, 0]
}

/// What `set` writes where the comparison holds.
pub(super) fn mark(to: Mark) -> u64 {
    match to {
        Mark::Ones(class) => class.mask(),
        Mark::One(ty) => one(ty),
    }
}

/// `.f32` of operands of which the first ones are of 16 bits.
fn mixed(op: Mixed, from: FloatTy, mode: Mode, srcs: &[u64]) -> u64 {
    let wide = |i| soft::half_to_single(from, src(srcs, i));
    let (op, srcs) = match op {
        Mixed::Add => (Exact::Add, [wide(0), src(srcs, 1), 0]),
        Mixed::Sub => (Exact::Sub, [wide(0), src(srcs, 1), 0]),
        Mixed::Fma => (Exact::Fma, [wide(0), wide(1), src(srcs, 2)]),
    };
    arith::eval(op, FloatTy::F32, mode, &srcs)
}

/// The sources of a lane, in the low bits.
fn lane(ty: FloatTy, srcs: &[u64], lane: u32) -> [u64; 3] {
    let at = lane * ty.lane().bits();
    let mask = ty.lane().class().mask();
    [0, 1, 2].map(|i| src(srcs, i) >> at & mask)
}

/// `f` of each lane.
fn lanes(ty: FloatTy, srcs: &[u64], f: impl Fn(&[u64]) -> u64) -> u64 {
    let bits = ty.lane().bits();
    let mask = ty.lane().class().mask();
    (0..ty.lanes()).fold(0, |d, i| d | (f(&lane(ty, srcs, i)) & mask) << (i * bits))
}
