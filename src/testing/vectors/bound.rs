//! Bounds on the error of approximate results.

use super::table::Word;
use crate::testing::FormatError;
use crate::testing::run_lines::distance;
use half::{bf16, f16};
use std::fmt;

/// The greatest error that the ISA text allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// Representable values from the correctly rounded result.
    Ulp(u64),
    /// Relative to the exact value.
    Relative(f64),
    /// Distance from the exact value.
    Absolute(f64),
}

/// The format of a lane of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    F16,
    Bf16,
    F32,
    F64,
}

impl Bound {
    /// Reads `ulp N`, `rel 2^-N`, `abs 2^-N`.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let bad = || FormatError::new(format!("`{text}` is not `ulp N`, `rel 2^-N` or `abs 2^-N`"));
        let (kind, value) = text.split_once(' ').ok_or_else(bad)?;
        if kind == "ulp" {
            return value.parse().map(Bound::Ulp).map_err(|_| bad());
        }
        let exponent: f64 = value
            .strip_prefix("2^")
            .and_then(|e| e.parse().ok())
            .ok_or_else(bad)?;
        match kind {
            "rel" => Ok(Bound::Relative(exponent.exp2())),
            "abs" => Ok(Bound::Absolute(exponent.exp2())),
            _ => Err(bad()),
        }
    }

    /// Whether `got` is near enough to `rounded`, the correctly rounded result of the instruction `template`.
    pub fn accepts(self, template: &str, got: Word, rounded: Word) -> bool {
        let (format, lanes) = match rounded.bits {
            16 if template.contains(".bf16") => (Format::Bf16, 1),
            16 => (Format::F16, 1),
            32 if template.contains(".bf16x2") => (Format::Bf16, 2),
            32 if template.contains(".f16x2") => (Format::F16, 2),
            32 => (Format::F32, 1),
            _ => (Format::F64, 1),
        };
        let width = format.width();
        (0..lanes).all(|lane| {
            let part = |w: Word| (w.value >> (lane * width)) as u64 & (u64::MAX >> (64 - width));
            self.accepts_lane(format, part(got), part(rounded))
        })
    }

    fn accepts_lane(self, format: Format, got: u64, rounded: u64) -> bool {
        let Some(apart) = distance(got, rounded, format.width(), format.infinity()) else {
            return false;
        };
        if apart == 0 {
            return true;
        }
        let (g, r) = (format.to_f64(got), format.to_f64(rounded));
        let allowed = match self {
            Bound::Ulp(n) => return apart <= n,
            Bound::Relative(bound) => bound * r.abs(),
            Bound::Absolute(bound) => bound,
        };
        if r.is_infinite() {
            return false;
        }
        // The exact value lies within half a unit of the rounded one.
        let next = format.to_f64(rounded + 1);
        let half_unit = if next.is_finite() {
            (next - r).abs() / 2.0
        } else {
            (r - format.to_f64(rounded - 1)).abs() / 2.0
        };
        (g - r).abs() <= allowed + half_unit
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Ulp(n) => write!(f, "ulp {n}"),
            Bound::Relative(v) => write!(f, "rel 2^{}", v.log2()),
            Bound::Absolute(v) => write!(f, "abs 2^{}", v.log2()),
        }
    }
}

impl Format {
    fn width(self) -> u32 {
        match self {
            Format::F16 | Format::Bf16 => 16,
            Format::F32 => 32,
            Format::F64 => 64,
        }
    }

    fn infinity(self) -> u64 {
        match self {
            Format::F16 => u64::from(f16::INFINITY.to_bits()),
            Format::Bf16 => u64::from(bf16::INFINITY.to_bits()),
            Format::F32 => u64::from(f32::INFINITY.to_bits()),
            Format::F64 => f64::INFINITY.to_bits(),
        }
    }

    fn to_f64(self, bits: u64) -> f64 {
        match self {
            Format::F16 => f16::from_bits(bits as u16).to_f64(),
            Format::Bf16 => bf16::from_bits(bits as u16).to_f64(),
            Format::F32 => f64::from(f32::from_bits(bits as u32)),
            Format::F64 => f64::from_bits(bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(bound: &str, template: &str, got: u32, rounded: u32, bits: u32) -> bool {
        let word = |value: u32| Word {
            value: u128::from(value),
            bits,
        };
        Bound::parse(bound)
            .expect("a bound")
            .accepts(template, word(got), word(rounded))
    }

    #[test]
    fn units_relative_and_absolute() {
        let t = "sin.approx.f32 %d, %a";
        assert!(accepts("ulp 1", t, 0x3f80_0001, 0x3f80_0000, 32));
        assert!(!accepts("ulp 1", t, 0x3f80_0002, 0x3f80_0000, 32));
        // 2^-23 relative of 1.0 is one unit, and half a unit more.
        assert!(accepts("rel 2^-23", t, 0x3f80_0001, 0x3f80_0000, 32));
        assert!(!accepts("rel 2^-23", t, 0x3f80_0002, 0x3f80_0000, 32));
        assert!(accepts("abs 2^-10.5", t, 0x3a00_0000, 0, 32));
        assert!(!accepts("abs 2^-12", t, 0x3a00_0000, 0, 32));
        assert!(!accepts("rel 2^-1", t, 0x7fc0_0000, 0x3f80_0000, 32));
        assert!(!accepts("rel 2^-1", t, 0x7f7f_ffff, 0x7f80_0000, 32));
    }

    #[test]
    fn half_formats_by_the_template() {
        assert!(accepts(
            "rel 2^-7",
            "tanh.approx.bf16 %d, %a",
            0x3f81,
            0x3f80,
            16
        ));
        assert!(!accepts(
            "rel 2^-9",
            "tanh.approx.f16 %d, %a",
            0x3c08,
            0x3c00,
            16
        ));
        let t = "tanh.approx.f16x2 %d, %a";
        assert!(accepts("ulp 1", t, 0x3c01_3c00, 0x3c00_3c01, 32));
        assert!(!accepts("ulp 1", t, 0x3c02_3c00, 0x3c00_3c00, 32));
        assert!(Bound::parse("ulp x").is_err() && Bound::parse("rel 3").is_err());
    }
}
