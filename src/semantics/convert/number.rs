//! What the bits of a format stand for, exactly, and rounding to a format once.

use crate::ir::float::{FloatTy, Rounding};

/// What bits stand for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    /// No number.
    Nan,
    /// Infinity, of this sign.
    Infinity { negative: bool },
    /// A number.
    Finite(Finite),
}

/// magnitude * 2^exponent, negated if `negative`: zero has a sign, too.
#[derive(Debug, Clone, Copy)]
pub(super) struct Finite {
    pub negative: bool,
    pub magnitude: u64,
    pub exponent: i32,
}

/// How the bits of a format divide: a sign, an exponent, a fraction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Bits of the exponent, of which a constant is taken away: half of what they hold.
    pub exponent: u32,
    /// Bits of the fraction.
    pub fraction: u32,
}

impl Layout {
    /// That of a format of arithmetic, or of one of its lanes.
    pub(super) fn of(ty: FloatTy) -> Layout {
        let (exponent, fraction) = match ty.lane() {
            FloatTy::F16 | FloatTy::F16x2 => (5, 10),
            FloatTy::Bf16 | FloatTy::Bf16x2 => (8, 7),
            FloatTy::F32 | FloatTy::F32x2 => (8, 23),
            FloatTy::F64 => (11, 52),
        };
        Layout { exponent, fraction }
    }

    /// The sign's bit.
    pub(super) fn sign(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }

    /// All ones in the exponent.
    pub(super) fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    /// 1.0
    pub(super) fn one(self) -> u64 {
        ((1 << (self.exponent - 1)) - 1) << self.fraction
    }

    /// The exponent of the least normal number, a power of two.
    fn least(self) -> i32 {
        2 - (1 << (self.exponent - 1))
    }

    /// The finite number that bits stand for, whatever their exponent.
    pub(super) fn finite(self, bits: u64) -> Finite {
        let field = (bits >> self.fraction) & ((1 << self.exponent) - 1);
        let fraction = bits & ((1 << self.fraction) - 1);
        let lead = u64::from(field != 0) << self.fraction;
        Finite {
            negative: bits & self.sign() != 0,
            magnitude: lead | fraction,
            exponent: self.least() - self.fraction as i32 + field.max(1) as i32 - 1,
        }
    }

    /// What bits stand for where all ones in the exponent are infinity and NaN.
    pub(super) fn number(self, bits: u64) -> Number {
        let magnitude = bits & (self.sign() - 1);
        if magnitude > self.infinity() {
            Number::Nan
        } else if magnitude == self.infinity() {
            Number::Infinity {
                negative: bits & self.sign() != 0,
            }
        } else {
            Number::Finite(self.finite(bits))
        }
    }
}

impl Finite {
    /// An integer.
    pub(super) fn integer(value: i128) -> Finite {
        Finite {
            negative: value < 0,
            magnitude: value.unsigned_abs() as u64,
            exponent: 0,
        }
    }

    /// The exponent of the leading bit; of zero anything.
    fn lead(self) -> i32 {
        self.exponent + 63 - self.magnitude.leading_zeros() as i32
    }

    /// The magnitude in units of 2^unit, rounded to a whole number by `up`, which is told whether the number is negative, the whole
    /// number below, and how the rest compares with half a unit.
    fn whole(self, unit: i32, up: impl Fn(Rest) -> bool) -> u128 {
        let magnitude = u128::from(self.magnitude);
        let cut = unit.saturating_sub(self.exponent);
        if cut <= 0 {
            // At most 64 bits are moved by 64: what would be greater is greater than any integer either way.
            return magnitude << cut.unsigned_abs().min(64);
        }
        // 64 bits lie below half of such a unit.
        let cut = cut.min(100);
        let below = magnitude >> cut;
        let rest = magnitude - (below << cut);
        below
            + u128::from(up(Rest {
                negative: self.negative,
                odd: below & 1 != 0,
                exact: rest == 0,
                half: rest.cmp(&(1 << (cut - 1))),
                rest: rest as u64,
                cut: cut.cast_unsigned(),
            }))
    }

    /// The magnitude rounded to an integer.
    pub(super) fn rounded(self, rounding: Rounding) -> u128 {
        self.whole(0, |rest| rest.up(rounding))
    }

    /// The magnitude rounded, as the bits of exponent and fraction. The exponent goes on without an end: what it has too many of are
    /// numbers too great.
    pub(super) fn encoded(self, layout: Layout, up: impl Fn(Rest) -> bool) -> u64 {
        if self.magnitude == 0 {
            return 0;
        }
        let lead = self.lead().max(layout.least());
        let units = self.whole(lead - layout.fraction as i32, up) as u64;
        // The leading bit of a normal number is one of the units, and counts in the exponent.
        (((lead - layout.least()) as u64) << layout.fraction) + units
    }

    /// Whether the number, rounded as if exponents had no end, lies below the least normal number of the format.
    pub(super) fn is_tiny(self, layout: Layout, rounding: Rounding) -> bool {
        let lead = self.lead();
        let units = self.whole(lead - layout.fraction as i32, |rest| rest.up(rounding));
        let carries = units >> (layout.fraction + 1) != 0;
        self.magnitude != 0 && lead + i32::from(carries) < layout.least()
    }
}

/// What is left when a magnitude is cut to a whole number of units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rest {
    /// Whether the number is negative.
    pub negative: bool,
    /// Whether the whole number is odd.
    pub odd: bool,
    /// Whether nothing is left.
    pub exact: bool,
    /// How what is left compares with half a unit.
    pub half: std::cmp::Ordering,
    /// What is left, below 2^cut.
    rest: u64,
    cut: u32,
}

impl Rest {
    /// Whether the upper `count` bits of what is left and random bits, added, carry. PTX ISA, `cvt`, `.rs`.
    pub(super) fn carries(self, random: u64, count: u32) -> bool {
        let upper = (u128::from(self.rest) << count) >> self.cut;
        upper + u128::from(random) >= 1 << count
    }

    /// Whether the magnitude is rounded up. PTX ISA, "Rounding Modifiers".
    pub(super) fn up(self, rounding: Rounding) -> bool {
        match rounding {
            Rounding::Rn => self.half.is_gt() || self.half.is_eq() && self.odd,
            Rounding::Rz => false,
            Rounding::Rm => !self.exact && self.negative,
            Rounding::Rp => !self.exact && !self.negative,
        }
    }
}
