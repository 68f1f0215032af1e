//! Conversions to and from packed and small formats. PTX ISA, `cvt`.

use super::number::{Finite, Layout, Number, Rest};
use crate::ir::convert::small::{Narrow, Op, SmallRounding, SmallTy, Widen};
use crate::ir::float::Rounding;
use crate::semantics::src;

/// 1 as `.ue8m0`.
const SCALE_ONE: u64 = 0x7f;

/// The result of an operator.
pub(super) fn eval(op: Op, srcs: &[u64]) -> u64 {
    match op {
        Op::Narrow(narrow) => packed(narrow, srcs),
        Op::Widen(widen) => unpacked(widen, src(srcs, 0), src(srcs, 1)),
    }
}

/// How the bits of an element divide. The formats that have none are no floats.
fn layout(ty: SmallTy) -> Option<Layout> {
    let (exponent, fraction) = match ty {
        SmallTy::F16 => (5, 10),
        SmallTy::Bf16 => (8, 7),
        SmallTy::Tf32 => (8, 10),
        SmallTy::E4m3 => (4, 3),
        SmallTy::E5m2 => (5, 2),
        SmallTy::E2m3 => (2, 3),
        SmallTy::E3m2 => (3, 2),
        SmallTy::E2m1 => (2, 1),
        SmallTy::Ue8m0 | SmallTy::S2f6 => return None,
    };
    Some(Layout { exponent, fraction })
}

/// Exponent and fraction of the greatest number.
fn greatest(ty: SmallTy, layout: Layout) -> u64 {
    match ty {
        // All ones are NaN.
        SmallTy::E4m3 => layout.sign() - 2,
        SmallTy::E2m3 | SmallTy::E3m2 | SmallTy::E2m1 => layout.sign() - 1,
        SmallTy::F16
        | SmallTy::Bf16
        | SmallTy::Tf32
        | SmallTy::E5m2
        | SmallTy::Ue8m0
        | SmallTy::S2f6 => layout.infinity() - 1,
    }
}

/// Elements, the first uppermost.
fn packed(narrow: Narrow, srcs: &[u64]) -> u64 {
    let layout = Layout::of(narrow.from);
    let (width, values) = match narrow.from.lanes() {
        1 => (32, narrow.lanes),
        _ => (16, 1),
    };
    let mut rest = srcs.iter().skip(values as usize).copied();
    let random = match narrow.rounding {
        SmallRounding::Rs => rest.next().unwrap_or(0),
        _ => 0,
    };
    let scales = match narrow.scaled {
        true => rest.next().unwrap_or(0),
        false => SCALE_ONE << 8 | SCALE_ONE,
    };
    (0..narrow.lanes).fold(0, |d, lane| {
        // Of one source the upper half first.
        let below = narrow.lanes - 1 - lane;
        let bits = if values == 1 {
            src(srcs, 0) >> (width * below) & (u64::MAX >> (64 - width))
        } else {
            src(srcs, lane as usize)
        };
        let scale = scales >> (8 * below.min(1)) & 0xff;
        let random = random >> narrow.random_shift(lane) & ((1 << narrow.random_bits()) - 1);
        let number = scaled(layout.number(bits), scale, true);
        d << narrow.to.bits() | element(narrow, number, random)
    })
}

/// The number divided or multiplied by the power of two that the bits of a `.ue8m0` stand for.
fn scaled(number: Number, scale: u64, divide: bool) -> Number {
    let power = scale as i32 - SCALE_ONE as i32;
    match number {
        _ if scale == 0xff => Number::Nan,
        Number::Finite(x) => Number::Finite(Finite {
            exponent: if divide {
                x.exponent - power
            } else {
                x.exponent + power
            },
            ..x
        }),
        other => other,
    }
}

/// The bits of one element.
fn element(narrow: Narrow, number: Number, random: u64) -> u64 {
    match layout(narrow.to) {
        Some(layout) => float(narrow, layout, number, random),
        None if narrow.to == SmallTy::Ue8m0 => power(narrow, number),
        None => fixed(narrow, number),
    }
}

/// A float. NaN becomes that of the format, or the greatest number where it has none. Above the greatest number stands infinity, in
/// the formats that have it; those without are always saturated.
fn float(narrow: Narrow, layout: Layout, number: Number, random: u64) -> u64 {
    let most = greatest(narrow.to, layout);
    let shift = if narrow.to == SmallTy::Tf32 { 13 } else { 0 };
    let (negative, magnitude) = match number {
        Number::Nan => return (layout.sign() - 1) << shift,
        Number::Infinity { negative } => (negative, most + 1),
        Number::Finite(x) => {
            let magnitude = x.encoded(layout, |rest| up(narrow, rest, random));
            let most_of_all = match narrow.rounding {
                SmallRounding::Rz => most,
                SmallRounding::Rn | SmallRounding::Rp | SmallRounding::Rna | SmallRounding::Rs => {
                    most + 1
                }
            };
            (x.negative, magnitude.min(most_of_all))
        }
    };
    let magnitude = if narrow.satfinite {
        magnitude.min(most)
    } else {
        magnitude
    };
    let bits = match negative {
        true if narrow.relu => 0,
        true => layout.sign() | magnitude,
        false => magnitude,
    };
    bits << shift
}

/// Whether a magnitude is rounded up.
fn up(narrow: Narrow, rest: Rest, random: u64) -> bool {
    match narrow.rounding {
        SmallRounding::Rn => rest.up(Rounding::Rn),
        SmallRounding::Rz => false,
        SmallRounding::Rp => rest.up(Rounding::Rp),
        SmallRounding::Rna => rest.half.is_ge(),
        SmallRounding::Rs => rest.carries(random, narrow.random_bits()),
    }
}

/// A power of two, at or below the magnitude (`.rz`) or at or above it (`.rp`). The least one stands for all that is no greater.
fn power(narrow: Narrow, number: Number) -> u64 {
    let most = if narrow.satfinite { 0xfe } else { 0xff };
    let x = match number {
        Number::Nan => return 0xff,
        Number::Infinity { .. } => return most,
        Number::Finite(x) if x.magnitude == 0 => return 0,
        Number::Finite(x) => x,
    };
    let lead = x.exponent + 63 - x.magnitude.leading_zeros() as i32;
    let exact = x.magnitude.is_power_of_two();
    let above = narrow.rounding == SmallRounding::Rp && !exact;
    let biased = lead + i32::from(above) + SCALE_ONE as i32;
    (biased.max(0) as u64).min(most)
}

/// A signed number of 64ths.
fn fixed(narrow: Narrow, number: Number) -> u64 {
    let value = match number {
        Number::Nan => i128::MAX,
        Number::Infinity { negative: true } => i128::MIN,
        Number::Infinity { negative: false } => i128::MAX,
        Number::Finite(x) => {
            let whole = Finite {
                exponent: x.exponent + 6,
                ..x
            };
            let magnitude = whole.rounded(Rounding::Rn).cast_signed();
            if x.negative { -magnitude } else { magnitude }
        }
    };
    let least = if narrow.relu { 0 } else { -128 };
    value.clamp(least, 127) as u64 & 0xff
}

/// Two elements in a greater format.
fn unpacked(widen: Widen, a: u64, scales: u64) -> u64 {
    let width = widen.from.bits();
    let scales = if widen.scaled {
        scales
    } else {
        SCALE_ONE << 8 | SCALE_ONE
    };
    [1, 0].into_iter().fold(0, |d, lane| {
        let bits = a >> (width * lane) & ((1 << width) - 1);
        let number = scaled(number(widen.from, bits), scales >> (8 * lane) & 0xff, false);
        d << 16 | lane_of(widen, number)
    })
}

/// What the bits of an element stand for.
fn number(ty: SmallTy, bits: u64) -> Number {
    match (ty, layout(ty)) {
        (SmallTy::Ue8m0, _) if bits == 0xff => Number::Nan,
        (SmallTy::Ue8m0, _) => Number::Finite(Finite {
            negative: false,
            magnitude: 1,
            exponent: bits as i32 - SCALE_ONE as i32,
        }),
        (_, None) => Number::Finite(Finite {
            exponent: -6,
            ..Finite::integer(i128::from(bits as u8 as i8))
        }),
        (SmallTy::E4m3, Some(_)) if bits & 0x7f == 0x7f => Number::Nan,
        (SmallTy::E4m3 | SmallTy::E2m3 | SmallTy::E3m2 | SmallTy::E2m1, Some(layout)) => {
            Number::Finite(layout.finite(bits))
        }
        (_, Some(layout)) => layout.number(bits),
    }
}

/// A number as `.f16` or `.bf16`.
fn lane_of(widen: Widen, number: Number) -> u64 {
    let layout = Layout::of(widen.to);
    let (negative, magnitude) = match number {
        Number::Nan => return 0x7fff,
        Number::Infinity { negative } => (negative, layout.infinity()),
        Number::Finite(x) => {
            let magnitude = x.encoded(layout, |rest| rest.up(Rounding::Rn));
            (x.negative, magnitude.min(layout.infinity()))
        }
    };
    let magnitude = if widen.satfinite {
        magnitude.min(layout.infinity() - 1)
    } else {
        magnitude
    };
    match negative {
        true if widen.relu => 0,
        true => layout.sign() | magnitude,
        false => magnitude,
    }
}
