//! Function cases: `// run: %name(1, 0xff) == 0xfe`.

use super::FormatError;
use super::contents::parse_integer;
use std::fmt;

/// A call with its expected results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLine {
    /// Its line, from 1.
    pub line: u32,
    /// The call and the results as written.
    pub text: String,
    /// The function's name without the `%` before it.
    pub function: String,
    /// The arguments.
    pub args: Vec<Literal>,
    /// The results.
    pub results: Vec<Expected>,
}

/// A number as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Literal {
    /// An integer of any width.
    Int(i128),
    /// `0f` and eight hexadecimal digits.
    F32(u32),
    /// `0d` and sixteen hexadecimal digits.
    F64(u64),
}

/// An expected result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// The value.
    pub value: Literal,
    /// `~ulp N`: how many representable values it may be off.
    pub ulps: Option<u64>,
}

impl Literal {
    /// The value in `bytes` bytes (1 to 16), little-endian.
    ///
    /// # Errors
    /// It does not fit, neither as a signed nor as an unsigned number.
    pub fn to_bytes(self, bytes: usize) -> Result<Vec<u8>, FormatError> {
        let misfit = || FormatError::new(format!("{self} does not fit into {bytes} bytes"));
        let (value, exact) = match self {
            Literal::Int(v) => (v, None),
            Literal::F32(bits) => (i128::from(bits), Some(4)),
            Literal::F64(bits) => (i128::from(bits), Some(8)),
        };
        if bytes == 0 || bytes > 16 || exact.is_some_and(|n| n != bytes) {
            return Err(misfit());
        }
        let bits = 8 * bytes as u32;
        if bits < 128 && (value >> bits > 0 || value < -(1i128 << (bits - 1))) {
            return Err(misfit());
        }
        Ok(value.to_le_bytes()[..bytes].to_vec())
    }

    fn parse(text: &str) -> Result<Self, FormatError> {
        let bad = || FormatError::new(format!("`{text}` is no number"));
        match text.get(..2) {
            Some("0f" | "0F") if text.len() == 10 => u32::from_str_radix(&text[2..], 16)
                .map(Literal::F32)
                .map_err(|_| bad()),
            Some("0d" | "0D") if text.len() == 18 => u64::from_str_radix(&text[2..], 16)
                .map(Literal::F64)
                .map_err(|_| bad()),
            _ => parse_integer(text).map(Literal::Int).ok_or_else(bad),
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Int(v) if *v < 0 => write!(f, "{v}"),
            Literal::Int(v) => write!(f, "{v:#x}"),
            Literal::F32(bits) => write!(f, "0f{bits:08x}"),
            Literal::F64(bits) => write!(f, "0d{bits:016x}"),
        }
    }
}

/// What follows `// run:` on a line.
fn command(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("//")?;
    rest.trim_start().strip_prefix("run:").map(str::trim)
}

/// Whether `text` has a function case.
pub fn has_cases(text: &str) -> bool {
    text.lines().any(|l| command(l).is_some())
}

/// Reads the function cases of a file. Lines that cannot be read are errors in their places.
pub fn parse(text: &str) -> Vec<Result<RunLine, FormatError>> {
    text.lines()
        .enumerate()
        .filter_map(|(i, line)| command(line).map(|c| (i as u32 + 1, c)))
        .map(|(line, text)| parse_line(line, text).map_err(|e| e.at(line)))
        .collect()
}

fn parse_line(line: u32, text: &str) -> Result<RunLine, FormatError> {
    let form = || FormatError::new("a function case is `// run: %name(1, 2) == 3`");
    let (call, results) = match text.split_once("==") {
        Some((call, results)) => (call.trim(), Some(results.trim())),
        None => (text, None),
    };
    let (name, args) = call.split_once('(').ok_or_else(form)?;
    let function = name.trim().strip_prefix('%').ok_or_else(form)?;
    let args = args.strip_suffix(')').ok_or_else(form)?;
    let results = match results {
        None => Vec::new(),
        Some(results) => match results.strip_prefix('(') {
            Some(list) => list_of(list.strip_suffix(')').ok_or_else(form)?, expected)?,
            None => vec![expected(results)?],
        },
    };
    Ok(RunLine {
        line,
        text: text.to_string(),
        function: function.to_string(),
        args: list_of(args, Literal::parse)?,
        results,
    })
}

fn list_of<T>(
    list: &str,
    item: impl Fn(&str) -> Result<T, FormatError>,
) -> Result<Vec<T>, FormatError> {
    if list.trim().is_empty() {
        return Ok(Vec::new());
    }
    list.split(',').map(|text| item(text.trim())).collect()
}

fn expected(text: &str) -> Result<Expected, FormatError> {
    let (value, ulps) = match text.split_once("~ulp") {
        None => (text, None),
        Some((value, ulps)) => {
            let ulps = ulps.trim();
            let ulps = ulps
                .parse()
                .map_err(|_| FormatError::new(format!("`~ulp {ulps}` is no number of units")))?;
            (value.trim(), Some(ulps))
        }
    };
    let value = Literal::parse(value)?;
    if ulps.is_some() && matches!(value, Literal::Int(_)) {
        return Err(FormatError::new(
            "`~ulp` stands behind a float, 0f... or 0d...",
        ));
    }
    Ok(Expected { value, ulps })
}

impl Expected {
    /// Whether `got`, as many bytes as the result has, will do.
    ///
    /// # Errors
    /// The expected value does not fit the result's size.
    pub fn accepts(&self, got: &[u8]) -> Result<bool, FormatError> {
        let expected = self.value.to_bytes(got.len())?;
        let Some(ulps) = self.ulps else {
            return Ok(got == expected);
        };
        Ok(match self.value {
            Literal::Int(_) => got == expected,
            Literal::F32(bits) => {
                let got = u32::from_le_bytes([got[0], got[1], got[2], got[3]]);
                distance(
                    u64::from(got),
                    u64::from(bits),
                    32,
                    f32::INFINITY.to_bits().into(),
                )
                .is_some_and(|d| d <= ulps)
            }
            Literal::F64(bits) => {
                let mut word = [0; 8];
                word.copy_from_slice(got);
                distance(u64::from_le_bytes(word), bits, 64, f64::INFINITY.to_bits())
                    .is_some_and(|d| d <= ulps)
            }
        })
    }
}

/// How many representable values apart two floats of `width` bits are; `infinity` is the bits of positive infinity.
/// Two NaNs are 0 apart, a NaN and a number are not comparable. -0 and +0 are 0 apart.
pub(crate) fn distance(a: u64, b: u64, width: u32, infinity: u64) -> Option<u64> {
    let sign = 1u64 << (width - 1);
    let magnitude = |bits: u64| bits & (sign - 1);
    match (magnitude(a) > infinity, magnitude(b) > infinity) {
        (true, true) => return Some(0),
        (true, false) | (false, true) => return None,
        (false, false) => {}
    }
    let order = |bits: u64| {
        let m = magnitude(bits) as i128;
        if bits & sign == 0 { m } else { -m }
    };
    u64::try_from((order(a) - order(b)).abs()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Result<RunLine, FormatError> {
        let mut lines = parse(text);
        assert_eq!(lines.len(), 1);
        lines.remove(0)
    }

    #[test]
    fn calls_and_results() {
        let line = one("\n // run: %bmsk(4, 0x8) == 0xff0\n").expect("well formed");
        assert_eq!((line.line, line.function.as_str()), (2, "bmsk"));
        assert_eq!(line.args, [Literal::Int(4), Literal::Int(8)]);
        assert_eq!(line.results[0].value, Literal::Int(0xff0));
        let line = one("//run: %f() == (-1, 0f3F800000 ~ulp 2)").expect("well formed");
        assert_eq!(line.args, []);
        assert_eq!(line.results[0].value, Literal::Int(-1));
        assert_eq!(line.results[1].value, Literal::F32(0x3f80_0000));
        assert_eq!(line.results[1].ulps, Some(2));
        assert_eq!(one("// run: %f(1)").expect("no results").results, []);
        assert!(!has_cases("// running: %f(1)"));
    }

    #[test]
    fn mistakes_are_errors() {
        for bad in [
            "// run: f(1) == 2",
            "// run: %f == 2",
            "// run: %f(1 == 2",
            "// run: %f(1,) == 2",
            "// run: %f(x) == 2",
            "// run: %f(1) == (2",
            "// run: %f(1) == 2 ~ulp 1",
            "// run: %f(1) == 0f3f800000 ~ulp x",
        ] {
            assert_eq!(one(bad).expect_err(bad).line, Some(1));
        }
    }

    #[test]
    fn literals_fit_or_not() {
        let bytes = |v: i128, n| Literal::Int(v).to_bytes(n);
        assert_eq!(bytes(255, 1), Ok(vec![255]));
        assert_eq!(bytes(-128, 1), Ok(vec![128]));
        assert_eq!(bytes(-1, 2), Ok(vec![255, 255]));
        assert!(bytes(256, 1).is_err());
        assert!(bytes(-129, 1).is_err());
        assert!(Literal::F32(0).to_bytes(8).is_err());
        assert_eq!(Literal::F64(1).to_bytes(8).map(|b| b[0]), Ok(1));
    }

    #[test]
    fn ulps_count_across_zero() {
        let one = Expected {
            value: Literal::F32(0x3f80_0000),
            ulps: Some(1),
        };
        assert_eq!(one.accepts(&0x3f80_0001u32.to_le_bytes()), Ok(true));
        assert_eq!(one.accepts(&0x3f80_0002u32.to_le_bytes()), Ok(false));
        assert_eq!(one.accepts(&0x7fc0_0000u32.to_le_bytes()), Ok(false));
        assert_eq!(distance(0x8000_0001, 1, 32, 0x7f80_0000), Some(2));
    }
}
