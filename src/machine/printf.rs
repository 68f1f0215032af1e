//! What `vprintf` writes: the formats of C, as the device runtime reads its arguments.

use super::FaultKind;
use super::memory::{Access, View, load};
use crate::ir::memory::Space;

/// Most bytes of a format, a string that it names, or the padding of a field.
const LONGEST: usize = 1 << 20;

/// What is wrong with an address of a format, its arguments or a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreachable {
    /// What is wrong.
    pub kind: FaultKind,
    /// The address, generic.
    pub address: u64,
    /// Bytes of the access.
    pub bytes: u32,
}

/// Formats what `vprintf(format, arguments)` prints, and counts its arguments; -1 for no format.
///
/// The arguments lie one after another as `va_arg` of the device finds them: 4 or 8 bytes, each at a multiple of its size.
///
/// # Errors
/// The first access that is wrong.
pub fn vprintf(
    view: &View<'_>,
    format: u64,
    arguments: u64,
) -> Result<(Vec<u8>, i32), Unreachable> {
    if format == 0 {
        return Ok((Vec::new(), -1));
    }
    let format = string(view, format)?;
    let mut arguments = Arguments {
        view,
        next: arguments,
        count: 0,
    };
    let mut out = Vec::new();
    let mut rest = &format[..];
    while let Some((&byte, after)) = rest.split_first() {
        if out.len() >= LONGEST {
            // Each of a million conversions may have a field as wide.
            break;
        }
        rest = after;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let (spec, after) = Spec::parse(rest, &mut arguments)?;
        match spec.kind {
            // Not a conversion: it is printed as it stands.
            None => out.push(b'%'),
            Some(kind) => {
                spec.convert(kind, &mut arguments, &mut out)?;
                rest = after;
            }
        }
    }
    Ok((out, arguments.count))
}

/// The bytes up to a 0.
///
/// # Errors
/// The access that is wrong.
pub fn string(view: &View<'_>, address: u64) -> Result<Vec<u8>, Unreachable> {
    let mut bytes = Vec::new();
    while bytes.len() < LONGEST {
        match read(view, address.wrapping_add(bytes.len() as u64), 1)? {
            0 => break,
            byte => bytes.push(byte as u8),
        }
    }
    Ok(bytes)
}

/// A number of 1, 4 or 8 bytes at a generic address.
fn read(view: &View<'_>, address: u64, bytes: u8) -> Result<u64, Unreachable> {
    let access = Access {
        write: false,
        bytes: bytes.into(),
        align: bytes.into(),
    };
    let pointer = view.access(Space::Generic, address, access);
    let pointer = pointer.map_err(|kind| Unreachable {
        kind,
        address,
        bytes: bytes.into(),
    })?;
    // SAFETY: the view has checked it; whoever runs the launch keeps its memory alive.
    Ok(unsafe { load(pointer, bytes) })
}

struct Arguments<'a> {
    view: &'a View<'a>,
    next: u64,
    count: i32,
}

impl Arguments<'_> {
    fn next(&mut self, bytes: u8) -> Result<u64, Unreachable> {
        let last = u64::from(bytes) - 1;
        let at = self.next.wrapping_add(last) & !last;
        self.next = at.wrapping_add(bytes.into());
        self.count += 1;
        read(self.view, at, bytes)
    }
}

/// A conversion: `%-08.3lld`.
#[derive(Debug, Default, Clone)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// Bytes of an integer.
    bytes: u8,
    kind: Option<u8>,
}

impl Spec {
    /// Reads what follows a `%`. Its kind is `None` if that is no conversion.
    fn parse<'t>(
        text: &'t [u8],
        arguments: &mut Arguments<'_>,
    ) -> Result<(Spec, &'t [u8]), Unreachable> {
        let mut spec = Spec {
            bytes: 4,
            ..Spec::default()
        };
        let mut rest = text;
        while let Some((flag, after)) = rest.split_first() {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                b'0' => spec.zero = true,
                _ => break,
            }
            rest = after;
        }
        let star = |rest: &mut &[u8], arguments: &mut Arguments<'_>| -> Result<_, Unreachable> {
            if let Some(after) = rest.strip_prefix(b"*") {
                *rest = after;
                return Ok(i64::from(arguments.next(4)? as i32));
            }
            let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
            let (number, after) = rest.split_at(digits);
            *rest = after;
            Ok(number.iter().fold(0i64, |n, digit| {
                (10 * n + i64::from(digit - b'0')).min(LONGEST as i64)
            }))
        };
        let width = star(&mut rest, arguments)?;
        spec.left |= width < 0;
        spec.width = (width.unsigned_abs() as usize).min(LONGEST);
        if let Some(after) = rest.strip_prefix(b".") {
            rest = after;
            let precision = star(&mut rest, arguments)?;
            // A negative one counts as none.
            spec.precision = usize::try_from(precision).ok().map(|p| p.min(LONGEST));
        }
        let lengths: [(&[u8], u8); 8] = [
            (b"hh", 1),
            (b"h", 2),
            (b"ll", 8),
            (b"l", 8),
            (b"j", 8),
            (b"z", 8),
            (b"t", 8),
            (b"L", 8),
        ];
        if let Some((length, bytes)) = lengths.iter().find(|(l, _)| rest.starts_with(l)) {
            rest = &rest[length.len()..];
            spec.bytes = *bytes;
        }
        let kind = rest.first().copied();
        spec.kind = kind.filter(|kind| b"diouxXpaAeEfFgGcs%".contains(kind));
        Ok((spec, rest.get(1..).unwrap_or(&[])))
    }

    fn convert(
        &self,
        kind: u8,
        arguments: &mut Arguments<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Unreachable> {
        match kind {
            b'%' => out.push(b'%'),
            b'c' => {
                let byte = arguments.next(4)? as u8;
                self.pad(out, "", &[byte], false);
            }
            b's' => {
                let text = match arguments.next(8)? {
                    0 => b"(null)".to_vec(),
                    address => string(arguments.view, address)?,
                };
                let len = self.precision.unwrap_or(usize::MAX).min(text.len());
                self.pad(out, "", &text[..len], false);
            }
            b'p' => {
                let address = arguments.next(8)?;
                let text = format!("{address:#x}");
                let text = if address == 0 { "(nil)" } else { &text };
                self.pad(out, "", text.as_bytes(), false);
            }
            b'd' | b'i' => {
                let value = self.argument(arguments)?;
                let shift = 64 - 8 * u32::from(self.bytes);
                let value = (value << shift) as i64 >> shift;
                let digits = value.unsigned_abs().to_string();
                self.integer(out, self.sign(value < 0), &digits, value == 0);
            }
            b'o' | b'u' | b'x' | b'X' => {
                let value = self.argument(arguments)?;
                let value = value & (u64::MAX >> (64 - 8 * u32::from(self.bytes)));
                let mut digits = match kind {
                    b'o' => format!("{value:o}"),
                    b'x' => format!("{value:x}"),
                    b'X' => format!("{value:X}"),
                    _ => value.to_string(),
                };
                if kind == b'o' && self.alternate && value != 0 {
                    digits.insert(0, '0');
                }
                let prefix = match kind {
                    b'x' if self.alternate && value != 0 => "0x",
                    b'X' if self.alternate && value != 0 => "0X",
                    _ => "",
                };
                self.integer(out, prefix, &digits, value == 0);
            }
            kind => {
                let value = f64::from_bits(arguments.next(8)?);
                let text = self.float(kind.to_ascii_lowercase(), value.abs());
                let upper = kind.is_ascii_uppercase();
                let text = if upper { text.to_uppercase() } else { text };
                let sign = self.sign(value.is_sign_negative());
                let (prefix, digits) = match text.strip_prefix(['0']) {
                    // The zeros of a width come behind `0x`.
                    Some(hex) if hex.starts_with(['x', 'X']) => {
                        (format!("{sign}0{}", &hex[..1]), &hex[1..])
                    }
                    _ => (sign.to_string(), &text[..]),
                };
                self.pad(
                    out,
                    &prefix,
                    digits.as_bytes(),
                    self.zero && value.is_finite(),
                );
            }
        }
        Ok(())
    }

    /// An integer; those of less than 4 bytes are passed as 4.
    fn argument(&self, arguments: &mut Arguments<'_>) -> Result<u64, Unreachable> {
        arguments.next(self.bytes.max(4))
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        }
    }

    fn integer(&self, out: &mut Vec<u8>, prefix: &str, digits: &str, is_zero: bool) {
        match self.precision {
            None => self.pad(out, prefix, digits.as_bytes(), self.zero),
            // With a precision of 0, 0 has no digits.
            Some(0) if is_zero => self.pad(out, prefix, b"", false),
            Some(least) => {
                let digits = zeros(least.saturating_sub(digits.len())) + digits;
                self.pad(out, prefix, digits.as_bytes(), false);
            }
        }
    }

    /// Fills a field of the width: on the right, on the left, or with zeros behind the prefix.
    fn pad(&self, out: &mut Vec<u8>, prefix: &str, text: &[u8], zeros: bool) {
        let fill = self.width.saturating_sub(prefix.len() + text.len());
        let (spaces, zeros, behind) = match (self.left, zeros) {
            (true, _) => (0, 0, fill),
            (false, true) => (0, fill, 0),
            (false, false) => (fill, 0, 0),
        };
        out.extend(std::iter::repeat_n(b' ', spaces));
        out.extend(prefix.as_bytes());
        out.extend(std::iter::repeat_n(b'0', zeros));
        out.extend(text);
        out.extend(std::iter::repeat_n(b' ', behind));
    }

    /// A floating-point number that is not negative, in lower case.
    fn float(&self, kind: u8, value: f64) -> String {
        if value.is_nan() {
            return "nan".to_string();
        }
        if value.is_infinite() {
            return "inf".to_string();
        }
        // More digits than a number has are zeros.
        let precision = self.precision.unwrap_or(6);
        match kind {
            b'a' => self.hexadecimal(value),
            b'e' => self.exponential(value, precision),
            b'f' => self.with_point(fixed(value, precision), precision),
            _ => self.general(value, precision.max(1)),
        }
    }

    /// `#` keeps the point where no digits follow it.
    fn with_point(&self, text: String, digits: usize) -> String {
        if self.alternate && digits == 0 {
            return text + ".";
        }
        text
    }

    fn exponential(&self, value: f64, precision: usize) -> String {
        let (digits, exponent) = scientific(value, precision);
        let digits = self.with_point(digits, precision);
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
    }

    fn general(&self, value: f64, precision: usize) -> String {
        let (_, exponent) = scientific(value, precision - 1);
        let bare = |text: &str| -> String {
            if self.alternate || !text.contains('.') {
                return text.to_string();
            }
            text.trim_end_matches('0').trim_end_matches('.').to_string()
        };
        if exponent < -4 || exponent >= precision as i32 {
            let text = self.exponential(value, precision - 1);
            let (digits, power) = text.split_once('e').unwrap_or((&text, "+00"));
            return format!("{}e{power}", bare(digits));
        }
        let digits = (precision as i32 - 1 - exponent).max(0) as usize;
        bare(&self.with_point(fixed(value, digits), digits))
    }

    /// `%a`: 0xh.hhhp+d; the first digit is 1, or 0 for numbers that are not normal.
    fn hexadecimal(&self, value: f64) -> String {
        const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;
        let bits = value.to_bits();
        let fraction = bits & ((1 << FRACTION) - 1);
        let biased = (bits >> FRACTION) as i32;
        let exponent = match (biased, fraction) {
            (0, 0) => 0,
            (0, _) => -1022,
            (biased, _) => biased - 1023,
        };
        let mut whole = u64::from(biased != 0) << FRACTION | fraction;
        let digits = match self.precision {
            Some(digits) if digits < 13 => {
                let cut = 52 - 4 * digits as u32;
                let half = 1u64 << (cut - 1);
                let rest = whole & ((1 << cut) - 1);
                whole = whole >> cut << cut;
                // To the nearest, and of two as near to the even one.
                if rest > half || (rest == half && whole >> cut & 1 == 1) {
                    whole += 1 << cut;
                }
                digits
            }
            Some(digits) => digits,
            None => 13,
        };
        let text = format!("{:013x}", whole & ((1 << FRACTION) - 1));
        let text = match self.precision {
            None => text.trim_end_matches('0').to_string(),
            Some(_) => text[..digits.min(13)].to_string() + &zeros(digits.saturating_sub(13)),
        };
        let point = if text.is_empty() && !self.alternate {
            ""
        } else {
            "."
        };
        format!("0x{}{point}{text}p{exponent:+}", whole >> FRACTION)
    }
}

/// Most digits behind the point of a `f64`, as an exact decimal number.
const EXACT: usize = 1074;

/// With so many digits behind the point.
fn fixed(value: f64, digits: usize) -> String {
    let more = zeros(digits.saturating_sub(EXACT));
    format!("{value:.*}{more}", digits.min(EXACT))
}

/// So many. Widths of Rust's own formatting end at 65,535.
fn zeros(count: usize) -> String {
    "0".repeat(count)
}

/// A digit, so many behind the point, and the power of ten.
fn scientific(value: f64, digits: usize) -> (String, i32) {
    let text = format!("{value:.*e}", digits.min(EXACT));
    let (number, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let more = zeros(digits.saturating_sub(EXACT));
    (format!("{number}{more}"), exponent.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::vprintf;
    use crate::machine::memory::{AddressMap, Region, View, Window};

    enum Arg {
        Int(i32),
        Long(i64),
        Double(f64),
        Text(&'static str),
    }
    use Arg::{Double, Int, Long, Text};

    /// What is printed, and how many arguments were counted.
    fn print(format: &str, args: &[Arg]) -> (String, i32) {
        let texts: Vec<Vec<u8>> = (args.iter())
            .map(|arg| match arg {
                Text(text) => [text.as_bytes(), b"\0"].concat(),
                _ => Vec::new(),
            })
            .collect();
        let format = [format.as_bytes(), b"\0"].concat();
        let mut list: Vec<u64> = vec![0; 2 * args.len() + 1];
        let mut bytes = Vec::new();
        for (arg, text) in args.iter().zip(&texts) {
            let value = match arg {
                Int(value) => {
                    bytes.extend(value.to_le_bytes());
                    continue;
                }
                Long(value) => *value as u64,
                Double(value) => value.to_bits(),
                Text(_) => text.as_ptr().expose_provenance() as u64,
            };
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes.extend(value.to_le_bytes());
        }
        for (word, chunk) in list.iter_mut().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..chunk.len()].copy_from_slice(chunk);
            *word = u64::from_le_bytes(whole);
        }
        let region = |base: *const u8, len: usize| Region {
            base: base.expose_provenance() as u64,
            len: len as u64,
            writable: false,
            what: String::new(),
        };
        let mut regions = vec![
            region(format.as_ptr(), format.len()),
            region(list.as_ptr().cast(), 8 * list.len()),
        ];
        regions.extend(texts.iter().map(|text| region(text.as_ptr(), text.len())));
        let map = AddressMap::new(regions);
        let view = View {
            map: &map,
            address_bits: 64,
            shared: Window::EMPTY,
            neighbours: crate::machine::Neighbours::NONE,
            local: Window::EMPTY,
            constant: Window::EMPTY,
            param: Window::EMPTY,
        };
        let at = |pointer: *const u8| pointer.expose_provenance() as u64;
        let (out, count) = vprintf(&view, at(format.as_ptr()), at(list.as_ptr().cast())).unwrap();
        (String::from_utf8(out).unwrap(), count)
    }

    /// What a C library prints for the same.
    #[test]
    fn fields_of_any_width_and_precision() {
        for (format, arg, len) in [
            ("%.70000d", Int(7), 70_000),
            ("%.70000x", Int(7), 70_000),
            ("%70000d", Int(7), 70_000),
            ("%.70000f", Double(1.0), 70_002),
            ("%.70000e", Double(1.0), 70_006),
            ("%.70000a", Double(1.0), 70_007),
        ] {
            assert_eq!(print(format, &[arg]).0.len(), len, "{format}");
        }
        let many = "%1000000d".repeat(50);
        let args: Vec<Arg> = (0..50).map(Int).collect();
        assert!(print(&many, &args).0.len() <= 2 << 20);
    }

    #[test]
    fn formats_of_c() {
        let cases: &[(&str, &[Arg], &str)] = &[
            ("100%%\n", &[], "100%\n"),
            (
                "[%5d|%-5d|%05d|%+d|% d]",
                &[Int(42), Int(42), Int(42), Int(42), Int(42)],
                "[   42|42   |00042|+42| 42]",
            ),
            (
                "%d %i %u",
                &[Int(-1), Int(i32::MIN), Int(-1)],
                "-1 -2147483648 4294967295",
            ),
            (
                "%ld %lld %llu",
                &[Long(i64::MIN), Long(-5), Long(-1)],
                "-9223372036854775808 -5 18446744073709551615",
            ),
            (
                "%hhd %hd %hu",
                &[Int(0x1ff), Int(0x18000), Int(-1)],
                "-1 -32768 65535",
            ),
            (
                "%x %X %#x %#o %o",
                &[Int(255), Int(255), Int(255), Int(8), Int(8)],
                "ff FF 0xff 010 10",
            ),
            (
                "%08x %#010x %-8x|",
                &[Int(0xc5a), Int(0xc5a), Int(0xc5a)],
                "00000c5a 0x00000c5a c5a     |",
            ),
            (
                "%.3d %8.3d %.0d|",
                &[Int(7), Int(-7), Int(0)],
                "007     -007 |",
            ),
            (
                "%*d %-*d|%.*d",
                &[Int(5), Int(1), Int(5), Int(2), Int(3), Int(4)],
                "    1 2    |004",
            ),
            ("%*d|", &[Int(-4), Int(3)], "3   |"),
            ("%c%c %3c|", &[Int(104), Int(105), Int(33)], "hi   !|"),
            (
                "%s %8s %-8s|%.2s",
                &[Text("odd"), Text("even"), Text("even"), Text("even")],
                "odd     even even    |ev",
            ),
            ("%s", &[Long(0)], "(null)"),
            ("%p %p", &[Long(0xabc), Long(0)], "0xabc (nil)"),
            (
                "%f %.3f %.0f %.0f %#.0f",
                &[
                    Double(0.5),
                    Double(2.0005),
                    Double(0.5),
                    Double(1.5),
                    Double(3.0),
                ],
                "0.500000 2.001 0 2 3.",
            ),
            (
                "%e %.2E %.0e",
                &[Double(12345.678), Double(-0.00012345), Double(5.0)],
                "1.234568e+04 -1.23E-04 5e+00",
            ),
            (
                "%g %g %g %g %g",
                &[
                    Double(0.0001),
                    Double(0.00001),
                    Double(100000.0),
                    Double(1e6),
                    Double(0.0),
                ],
                "0.0001 1e-05 100000 1e+06 0",
            ),
            (
                "%g %#g %.3g %G",
                &[Double(2.5), Double(2.5), Double(1234.0), Double(1e-10)],
                "2.5 2.50000 1.23e+03 1E-10",
            ),
            (
                "%08.2f|%-8.2f|%+.1f",
                &[Double(-2.34567), Double(2.34567), Double(2.0)],
                "-0002.35|2.35    |+2.0",
            ),
            (
                "%f %F %5.1f|%05f",
                &[
                    Double(f64::INFINITY),
                    Double(f64::NAN),
                    Double(f64::NEG_INFINITY),
                    Double(f64::INFINITY),
                ],
                "inf NAN  -inf|  inf",
            ),
            (
                "%a %a %.1a %A",
                &[Double(1.0), Double(0.1), Double(1.96875), Double(-2.0)],
                "0x1p+0 0x1.999999999999ap-4 0x2.0p+0 -0X1P+1",
            ),
            (
                "%d %lld %d %f %s",
                &[Int(1), Long(2), Int(3), Double(4.0), Text("five")],
                "1 2 3 4.000000 five",
            ),
            // `% o` is a conversion.
            ("50% of %d", &[Int(8), Int(3)], "5010f 3"),
            (
                "%.0a %.3a %#a %a",
                &[Double(1.5), Double(1.0), Double(1.0), Double(5e-324)],
                "0x2p+0 0x1.000p+0 0x1.p+0 0x0.0000000000001p-1022",
            ),
            ("%020a|", &[Double(1.0)], "0x000000000000001p+0|"),
        ];
        for (format, args, expected) in cases {
            let (out, count) = print(format, args);
            assert_eq!(out, *expected, "{format}");
            assert_eq!(count as usize, args.len(), "{format}");
        }
        assert_eq!(print("%y %", &[]).0, "%y %");
    }
}
