//! Comparison, and what only looks at signs and classes. PTX ISA, `set`, `setp`, `slct`, `min`, `max`, `abs`, `neg`,
//! `copysign`, `testp`.

use super::format::{flushed, infinity, is_nan, nan, sign as sign_bit};
use super::src;
use crate::ir::float::{Class, Extreme, FloatTy, Relation, Sign, Signs};
use std::cmp::Ordering;

/// A number that is greater for greater numbers, and for +0 than for -0.
fn rank(ty: FloatTy, x: u64) -> i64 {
    let magnitude = (x & !sign_bit(ty)) as i64;
    if x & sign_bit(ty) == 0 {
        magnitude
    } else {
        -1 - magnitude
    }
}

/// How two numbers compare; `None` where one is NaN. Zeros are equal.
fn order(ty: FloatTy, a: u64, b: u64) -> Option<Ordering> {
    if is_nan(ty, a) || is_nan(ty, b) {
        return None;
    }
    let is_zero = |x: u64| x & !sign_bit(ty) == 0;
    if is_zero(a) && is_zero(b) {
        return Some(Ordering::Equal);
    }
    Some(rank(ty, a).cmp(&rank(ty, b)))
}

/// a cmp b
pub(super) fn holds(cmp: Relation, ty: FloatTy, ftz: bool, srcs: &[u64]) -> bool {
    let [a, b] = [0, 1].map(|i| flushed(ty, ftz, src(srcs, i)));
    let order = order(ty, a, b);
    let is = |f: fn(Ordering) -> bool| order.is_some_and(f);
    let is_or_nan = |f: fn(Ordering) -> bool| order.is_none_or(f);
    match cmp {
        Relation::Eq => is(Ordering::is_eq),
        Relation::Ne => is(Ordering::is_ne),
        Relation::Lt => is(Ordering::is_lt),
        Relation::Le => is(Ordering::is_le),
        Relation::Gt => is(Ordering::is_gt),
        Relation::Ge => is(Ordering::is_ge),
        Relation::Equ => is_or_nan(Ordering::is_eq),
        Relation::Neu => is_or_nan(Ordering::is_ne),
        Relation::Ltu => is_or_nan(Ordering::is_lt),
        Relation::Leu => is_or_nan(Ordering::is_le),
        Relation::Gtu => is_or_nan(Ordering::is_gt),
        Relation::Geu => is_or_nan(Ordering::is_ge),
        Relation::Num => order.is_some(),
        Relation::Nan => order.is_none(),
    }
}

/// Whether an `.f32` is 0 or more: -0 is, NaN is not.
pub(super) fn is_positive(ftz: bool, c: u64) -> bool {
    holds(Relation::Ge, FloatTy::F32, ftz, &[c, 0])
}

/// |a| or -a in a format of one lane. NaN of `.f64` only changes its sign.
pub(super) fn sign(op: Sign, ty: FloatTy, ftz: bool, a: u64) -> u64 {
    if ty != FloatTy::F64 && is_nan(ty, a) {
        return nan(ty);
    }
    let a = flushed(ty, ftz, a);
    match op {
        Sign::Abs => a & !sign_bit(ty),
        Sign::Neg => a ^ sign_bit(ty),
    }
}

/// b with the sign of a.
pub(super) fn copysign(ty: FloatTy, a: u64, b: u64) -> u64 {
    a & sign_bit(ty) | b & !sign_bit(ty)
}

/// The least or greatest of the sources of one lane.
pub(super) fn extreme(extreme: Extreme, srcs: &[u64]) -> u64 {
    let Extreme {
        max,
        ty,
        ftz,
        nan: nan_wins,
        signs,
        three,
    } = extreme;
    let bit = sign_bit(ty);
    let [a, b, c] = [0, 1, 2].map(|i| flushed(ty, ftz, src(srcs, i)));
    let kept = match signs {
        Signs::Kept => !0,
        Signs::Abs | Signs::Xor => !bit,
    };
    let of_two = |a: u64, b: u64| match (is_nan(ty, a), is_nan(ty, b)) {
        (true, true) => nan(ty),
        (true, false) | (false, true) if nan_wins => nan(ty),
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            if (rank(ty, a) > rank(ty, b)) == max {
                a
            } else {
                b
            }
        }
    };
    let mut d = of_two(a & kept, b & kept);
    if three {
        d = of_two(d, c & kept);
    }
    match signs {
        Signs::Xor if !is_nan(ty, d) => d | (a ^ b) & bit,
        Signs::Kept | Signs::Abs | Signs::Xor => d,
    }
}

/// Whether a number is of a class. Zeros are normal.
pub(super) fn is_of_class(class: Class, ty: FloatTy, a: u64) -> bool {
    let magnitude = a & !sign_bit(ty);
    let subnormal = magnitude != 0 && a & infinity(ty) == 0;
    match class {
        Class::Finite => magnitude < infinity(ty),
        Class::Infinite => magnitude == infinity(ty),
        Class::Number => !is_nan(ty, a),
        Class::NotANumber => is_nan(ty, a),
        Class::Normal => magnitude < infinity(ty) && !subnormal,
        Class::Subnormal => subnormal,
    }
}
