//! Literals to values. `PTX ISA`, "Constants".

/// The 64 bits of an integer literal and whether it is unsigned; `None` if it does not fit.
///
/// `text` is what the lexer took for an integer: decimal, octal (`0...`), hex (`0x`) or binary (`0b`), with or without `U`.
pub(super) fn int(text: &str) -> Option<(u64, bool)> {
    let digits = text.strip_suffix('U').unwrap_or(text);
    let value = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => u64::from_str_radix(&digits[2..], 16),
        [b'0', b'b' | b'B', ..] => u64::from_str_radix(&digits[2..], 2),
        [b'0', _, ..] => u64::from_str_radix(digits, 8),
        _ => digits.parse(),
    }
    .ok()?;
    Some((
        value,
        digits.len() < text.len() || i64::try_from(value).is_err(),
    ))
}

/// The bits of a decimal floating-point literal as an f64; `None` if it is out of range.
pub(super) fn decimal(text: &str) -> Option<u64> {
    let value: f64 = text.parse().ok()?;
    let is_zero = || {
        text.bytes()
            .take_while(|b| !matches!(b, b'e' | b'E'))
            .all(|b| matches!(b, b'0' | b'.'))
    };
    (value.is_finite() && (value != 0.0 || is_zero())).then(|| value.to_bits())
}

/// The bits of `0f...` or `0d...`.
pub(super) fn bits(text: &str) -> u64 {
    text.get(2..)
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .unwrap_or(0)
}
