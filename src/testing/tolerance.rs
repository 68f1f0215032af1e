//! How much an output may differ from what is expected.

use super::FormatError;
use super::contents::ElemTy;

/// The tolerance of a buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// Bytes equal.
    Exact,
    /// For floats: both NaN, or equal, or `|g - e| <= rel * max(|g|, |e|) + abs`.
    Close {
        /// R
        rel: f64,
        /// A
        abs: f64,
    },
}

impl Tolerance {
    /// Reads `exact`, `rel=R`, `rel=R abs=A`.
    ///
    /// # Errors
    /// Anything else, or a relative tolerance of an integer type.
    pub fn parse(text: &str, ty: ElemTy) -> Result<Self, FormatError> {
        let bad = || {
            FormatError::new(format!(
                "`{text}` is no tolerance; write `exact`, `rel=R` or `rel=R abs=A`"
            ))
        };
        if text.trim() == "exact" {
            return Ok(Tolerance::Exact);
        }
        let (mut rel, mut abs) = (None, None);
        for word in text.split_whitespace() {
            let (key, value) = word.split_once('=').ok_or_else(bad)?;
            let value: f64 = value.parse().map_err(|_| bad())?;
            let place = match key {
                "rel" => &mut rel,
                "abs" => &mut abs,
                _ => return Err(bad()),
            };
            if value.is_nan() || value < 0.0 || place.replace(value).is_some() {
                return Err(bad());
            }
        }
        let rel = rel.ok_or_else(bad)?;
        if !ty.is_float() {
            return Err(FormatError::new(format!(
                "`{text}` is for floating-point types, not {ty}"
            )));
        }
        Ok(Tolerance::Close {
            rel,
            abs: abs.unwrap_or(0.0),
        })
    }

    /// Whether the element `got` will do where `expected` is expected.
    fn accepts(self, ty: ElemTy, got: &[u8], expected: &[u8]) -> bool {
        match self {
            Tolerance::Exact => got == expected,
            Tolerance::Close { rel, abs } => {
                let (g, e) = (ty.to_f64(got), ty.to_f64(expected));
                (g.is_nan() && e.is_nan())
                    || g == e
                    || (g - e).abs() <= rel * g.abs().max(e.abs()) + abs
            }
        }
    }

    /// Compares buffers element by element.
    ///
    /// # Errors
    /// The first element that differs too much, and how many do. Lengths must agree.
    pub fn compare(self, ty: ElemTy, got: &[u8], expected: &[u8]) -> Result<(), Mismatch> {
        let size = ty.bytes();
        let mut first = None;
        let mut count = 0;
        for (index, (g, e)) in got.chunks(size).zip(expected.chunks(size)).enumerate() {
            if !self.accepts(ty, g, e) {
                count += 1;
                first.get_or_insert((index, g, e));
            }
        }
        match first {
            None if got.len() == expected.len() => Ok(()),
            None => Err(Mismatch {
                index: got.len().min(expected.len()) / size,
                expected: format!("{} bytes", expected.len()),
                got: format!("{} bytes", got.len()),
                count: 1,
                of: expected.len() / size,
            }),
            Some((index, g, e)) => Err(Mismatch {
                index,
                expected: show(ty, e),
                got: show(ty, g),
                count,
                of: expected.len() / size,
            }),
        }
    }
}

fn show(ty: ElemTy, bytes: &[u8]) -> String {
    format!("{} ({})", ty.show_hex(bytes), ty.show(bytes))
}

/// Where a buffer differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The first element that differs.
    pub index: usize,
    /// What it should be, in hexadecimal and decimal.
    pub expected: String,
    /// What it is.
    pub got: String,
    /// How many elements differ.
    pub count: usize,
    /// How many there are.
    pub of: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32s(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    #[test]
    fn relative_and_absolute_parts_add_up() {
        let close = Tolerance::parse("rel=1e-2 abs=1", ElemTy::F32).unwrap();
        let expected = f32s(&[100.0, f32::NAN, -0.0, f32::INFINITY]);
        let good = f32s(&[101.9, f32::NAN, 0.0, f32::INFINITY]);
        assert_eq!(close.compare(ElemTy::F32, &good, &expected), Ok(()));
        let bad = f32s(&[102.1, 0.0, -0.0, f32::NEG_INFINITY]);
        let miss = close.compare(ElemTy::F32, &bad, &expected).unwrap_err();
        // The formula lets an infinity pass for another: the difference and the allowance are both infinite.
        assert_eq!((miss.index, miss.count, miss.of), (0, 2, 4));
        assert!(miss.got.starts_with("42cc3333"), "{}", miss.got);
    }

    #[test]
    fn exact_compares_bits() {
        let zero = f32s(&[0.0]);
        let minus = f32s(&[-0.0]);
        assert!(
            Tolerance::Exact
                .compare(ElemTy::F32, &zero, &minus)
                .is_err()
        );
        assert!(Tolerance::Exact.compare(ElemTy::F32, &zero, &zero).is_ok());
        assert!(Tolerance::Exact.compare(ElemTy::F32, &zero, &[]).is_err());
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in ["", "rel", "rel=x", "abs=1", "rel=-1", "rel=1 rel=2", "near"] {
            assert!(Tolerance::parse(bad, ElemTy::F32).is_err(), "{bad}");
        }
        assert!(Tolerance::parse("rel=1e-5", ElemTy::U32).is_err());
    }
}
