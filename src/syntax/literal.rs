//! Literals to values. `PTX ISA`, "Constants".

/// The value of an integer literal.
pub(super) struct Int {
    /// Its 64 bits.
    pub value: u64,
    /// Whether it is unsigned: by suffix, or because it does not fit `.s64`.
    pub unsigned: bool,
    /// Whether the literal is larger than 64 bits.
    pub lost_bits: bool,
}

/// Reads what the lexer took for an integer: decimal, octal (`0...`), hex (`0x`) or binary (`0b`), with or without `U`.
///
/// Larger literals are taken as ptxas takes them: bits beyond 64 are lost as the digits come in, and the literal is
/// refused (`None`) if the top bit is set when a further digit comes.
pub(super) fn int(text: &str) -> Option<Int> {
    let digits = text.strip_suffix('U').unwrap_or(text);
    let (radix, figures) = match digits.as_bytes() {
        [b'0', b'x' | b'X', figures @ ..] => (16, figures),
        [b'0', b'b' | b'B', figures @ ..] => (2, figures),
        [b'0', figures @ ..] => (8, figures),
        figures => (10, figures),
    };
    let mut value = 0u64;
    let mut lost_bits = false;
    for &figure in figures {
        let figure = u64::from(char::from(figure).to_digit(radix)?);
        if value >> 63 != 0 {
            return None;
        }
        let (product, lost) = value.overflowing_mul(u64::from(radix));
        let (sum, carried) = product.overflowing_add(figure);
        lost_bits |= lost | carried;
        value = sum;
    }
    let unsigned = digits.len() < text.len() || value >> 63 != 0;
    Some(Int {
        value,
        unsigned,
        lost_bits,
    })
}

/// The bits of a decimal floating-point literal as an f64; `None` if it is too large, or not zero and too small for a
/// normal number.
pub(super) fn decimal(text: &str) -> Option<u64> {
    let value: f64 = text.parse().ok()?;
    let written_zero = || {
        text.bytes()
            .take_while(|b| !matches!(b, b'e' | b'E'))
            .all(|b| matches!(b, b'0' | b'.'))
    };
    (value.is_normal() || value == 0.0 && written_zero()).then_some(value.to_bits())
}

/// The bits of `0f...` or `0d...`.
pub(super) fn bits(text: &str) -> u64 {
    text.get(2..)
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .unwrap_or(0)
}
