//! Element types, and the initial contents of buffers: zeros, a value, a sequence, seeded random values.

use super::FormatError;
use half::{bf16, f16};
use std::fmt;

/// The type of a scalar or of a buffer's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ElemTy {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    Bf16,
    F32,
    F64,
}

const NAMES: [(&str, ElemTy); 12] = [
    ("u8", ElemTy::U8),
    ("i8", ElemTy::I8),
    ("u16", ElemTy::U16),
    ("i16", ElemTy::I16),
    ("u32", ElemTy::U32),
    ("i32", ElemTy::I32),
    ("u64", ElemTy::U64),
    ("i64", ElemTy::I64),
    ("f16", ElemTy::F16),
    ("bf16", ElemTy::Bf16),
    ("f32", ElemTy::F32),
    ("f64", ElemTy::F64),
];

impl ElemTy {
    /// The type of a name: `u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64`; PTX's `s32` and `b32` are taken as
    /// `i32` and `u32`.
    ///
    /// # Errors
    /// Another word.
    pub fn parse(name: &str) -> Result<Self, FormatError> {
        let known = |name: &str| NAMES.iter().find(|(n, _)| *n == name).map(|&(_, ty)| ty);
        let respelt = match name.split_at_checked(1) {
            Some(("s", bits)) => Some(format!("i{bits}")),
            Some(("b", bits)) if !bits.starts_with('f') => Some(format!("u{bits}")),
            _ => None,
        };
        known(name)
            .or_else(|| respelt.and_then(|n| known(&n)))
            .ok_or_else(|| {
                let names: Vec<&str> = NAMES.iter().map(|(n, _)| *n).collect();
                FormatError::new(format!(
                    "`{name}` is not a type; types are {}",
                    names.join(" ")
                ))
            })
    }

    /// Size in bytes.
    pub fn bytes(self) -> usize {
        match self {
            ElemTy::U8 | ElemTy::I8 => 1,
            ElemTy::U16 | ElemTy::I16 | ElemTy::F16 | ElemTy::Bf16 => 2,
            ElemTy::U32 | ElemTy::I32 | ElemTy::F32 => 4,
            ElemTy::U64 | ElemTy::I64 | ElemTy::F64 => 8,
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, ElemTy::F16 | ElemTy::Bf16 | ElemTy::F32 | ElemTy::F64)
    }

    /// Whether negative integers are in its range.
    fn is_signed(self) -> bool {
        matches!(self, ElemTy::I8 | ElemTy::I16 | ElemTy::I32 | ElemTy::I64)
    }

    /// The element in the low bytes of `bytes` as an f64; integers above 2^53 are rounded.
    pub fn to_f64(self, bytes: &[u8]) -> f64 {
        let bits = self.to_bits(bytes);
        match self {
            ElemTy::U8 | ElemTy::U16 | ElemTy::U32 | ElemTy::U64 => bits as f64,
            ElemTy::I8 => f64::from(bits as i8),
            ElemTy::I16 => f64::from(bits as i16),
            ElemTy::I32 => f64::from(bits as i32),
            ElemTy::I64 => (bits as i64) as f64,
            ElemTy::F16 => f16::from_bits(bits as u16).to_f64(),
            ElemTy::Bf16 => bf16::from_bits(bits as u16).to_f64(),
            ElemTy::F32 => f64::from(f32::from_bits(bits as u32)),
            ElemTy::F64 => f64::from_bits(bits),
        }
    }

    /// The element in the low bytes of `bytes`, little-endian, zero-extended.
    pub fn to_bits(self, bytes: &[u8]) -> u64 {
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(bytes.iter().take(self.bytes())) {
            *to = *from;
        }
        u64::from_le_bytes(word)
    }

    /// `v` rounded to nearest even, as bits. f16 and bf16 go through f32; for float types only.
    fn round_f64(self, v: f64) -> u64 {
        match self {
            ElemTy::F64 => v.to_bits(),
            ElemTy::F16 => u64::from(f16::from_f32(v as f32).to_bits()),
            ElemTy::Bf16 => u64::from(bf16::from_f32(v as f32).to_bits()),
            _ => u64::from((v as f32).to_bits()),
        }
    }

    /// The bits of a value written in decimal (or, for integers, hexadecimal with `0x`; for floats `0f`/`0d` and
    /// hexadecimal bits as in PTX).
    ///
    /// # Errors
    /// Not a number, or out of the type's range.
    pub fn parse_value(self, text: &str) -> Result<u64, FormatError> {
        let bad = || FormatError::new(format!("`{text}` is not a value of type {self}"));
        if self.is_float() {
            let bits = text.get(2..).map(|digits| u64::from_str_radix(digits, 16));
            return match (text.get(..2), self, bits) {
                (Some("0f" | "0F"), ElemTy::F32, Some(Ok(bits))) if text.len() == 10 => Ok(bits),
                (Some("0d" | "0D"), ElemTy::F64, Some(Ok(bits))) if text.len() == 18 => Ok(bits),
                _ => text
                    .parse::<f64>()
                    .map(|v| self.round_f64(v))
                    .map_err(|_| bad()),
            };
        }
        let value = parse_integer(text).ok_or_else(bad)?;
        let bits = 8 * self.bytes() as u32;
        let (low, high) = if self.is_signed() {
            (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
        } else {
            (0, (1i128 << bits) - 1)
        };
        if value < low || value > high {
            return Err(FormatError::new(format!(
                "{text} is out of the range of {self}, {low} to {high}"
            )));
        }
        Ok(self.truncate(value as u64))
    }

    /// The bits of the type's width.
    fn truncate(self, bits: u64) -> u64 {
        bits & (u64::MAX >> (64 - 8 * self.bytes() as u32))
    }

    /// An element as people read it: decimal.
    pub fn show(self, bytes: &[u8]) -> String {
        let bits = self.to_bits(bytes);
        match self {
            ElemTy::U8 | ElemTy::U16 | ElemTy::U32 | ElemTy::U64 => bits.to_string(),
            ElemTy::I8 => (bits as i8).to_string(),
            ElemTy::I16 => (bits as i16).to_string(),
            ElemTy::I32 => (bits as i32).to_string(),
            ElemTy::I64 => (bits as i64).to_string(),
            ElemTy::F16 => f16::from_bits(bits as u16).to_string(),
            ElemTy::Bf16 => bf16::from_bits(bits as u16).to_string(),
            ElemTy::F32 => format!("{:?}", f32::from_bits(bits as u32)),
            ElemTy::F64 => format!("{:?}", f64::from_bits(bits)),
        }
    }

    /// An element as bits: hexadecimal digits of its whole width.
    pub fn show_hex(self, bytes: &[u8]) -> String {
        format!("{:0width$x}", self.to_bits(bytes), width = 2 * self.bytes())
    }
}

impl fmt::Display for ElemTy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, ty)| ty == self).map(|(n, _)| *n);
        f.write_str(name.unwrap_or_default())
    }
}

/// An integer in decimal, or with `0x`, `0b`, `0` before hexadecimal, binary, octal digits, with a sign.
pub(crate) fn parse_integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        Some(_) if digits.starts_with('0') => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = i128::from_str_radix(digits, radix).ok()?;
    Some(if negative { -magnitude } else { magnitude })
}

/// What a buffer holds at first.
#[derive(Debug, Clone, PartialEq)]
pub enum Init {
    /// All bytes zero.
    Zeros,
    /// The same bits in each element.
    Fill(u64),
    /// Element i is `start + i * step`.
    Iota {
        /// Element 0.
        start: Number,
        /// The difference.
        step: Number,
    },
    /// The bytes of a file.
    File,
    /// Integer elements: the low bits of draw i.
    Random {
        /// The seed.
        seed: u64,
    },
    /// Integer elements: draw i modulo `modulus`, plus `add`.
    RandomMod {
        /// The seed.
        seed: u64,
        /// M, not 0.
        modulus: u64,
        /// A.
        add: i128,
    },
    /// Float elements: `lo + u * (hi - lo)` with u from 0 to 1.
    RandomRange {
        /// The seed.
        seed: u64,
        /// L
        lo: f64,
        /// H
        hi: f64,
    },
}

/// A number of `iota`: an integer where it is written as one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An integer.
    Integer(i128),
    /// Another number.
    Float(f64),
}

impl Number {
    fn to_f64(self) -> f64 {
        match self {
            Number::Integer(v) => v as f64,
            Number::Float(v) => v,
        }
    }
}

impl Init {
    /// Reads `zeros`, `fill value=V`, `iota start=S step=T`, `file`, `splitmix64 seed=N ...`.
    ///
    /// # Errors
    /// Unknown words or keys, missing keys, values that are no numbers or do not fit `ty`.
    pub fn parse(text: &str, ty: ElemTy) -> Result<Self, FormatError> {
        let mut words = text.split_whitespace();
        let kind = words.next().unwrap_or_default();
        let mut keys = Keys::new(kind, words)?;
        let init = match kind {
            "zeros" => Init::Zeros,
            "file" => Init::File,
            "fill" => Init::Fill(ty.parse_value(keys.need("value")?)?),
            "iota" => Init::Iota {
                start: keys.number("start", ty)?,
                step: keys.number("step", ty)?,
            },
            "splitmix64" => {
                let seed = keys.integer("seed")?;
                let seed = u64::try_from(seed)
                    .map_err(|_| FormatError::new(format!("seed {seed} is not 64 bits wide")))?;
                keys.random(seed, ty)?
            }
            _ => {
                return Err(FormatError::new(format!(
                    "`{kind}` is not a kind of contents; there are zeros, fill, iota, file, splitmix64"
                )));
            }
        };
        keys.done()?;
        Ok(init)
    }

    /// The bytes of `count` elements. `None` for [`Init::File`], whose bytes stand elsewhere.
    ///
    /// # Errors
    /// More memory than [`MAX_BYTES`].
    pub fn generate(&self, ty: ElemTy, count: usize) -> Result<Option<Vec<u8>>, FormatError> {
        let mut bytes = room(ty, count)?;
        let mut fill = |f: &mut dyn FnMut(u64) -> u64| {
            for i in 0..count as u64 {
                bytes.extend_from_slice(&f(i).to_le_bytes()[..ty.bytes()]);
            }
        };
        match *self {
            Init::File => return Ok(None),
            // A loop over billions of elements takes long.
            Init::Zeros => bytes.resize(count * ty.bytes(), 0),
            Init::Fill(bits) => fill(&mut |_| bits),
            Init::Iota {
                start: Number::Integer(start),
                step: Number::Integer(step),
            } if !ty.is_float() => {
                fill(&mut |i| start.wrapping_add(step.wrapping_mul(i128::from(i))) as u64)
            }
            Init::Iota { start, step } => {
                fill(&mut |i| ty.round_f64(start.to_f64() + i as f64 * step.to_f64()));
            }
            Init::Random { seed } => {
                let mut random = SplitMix64::new(seed);
                fill(&mut |_| random.draw());
            }
            Init::RandomMod { seed, modulus, add } => {
                let mut random = SplitMix64::new(seed);
                fill(&mut |_| i128::from(random.draw() % modulus).wrapping_add(add) as u64);
            }
            Init::RandomRange { seed, lo, hi } => {
                let mut random = SplitMix64::new(seed);
                let width = hi - lo;
                fill(&mut |_| {
                    let u = (random.draw() >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
                    let p = u * width;
                    ty.round_f64(lo + p)
                });
            }
        }
        Ok(Some(bytes))
    }
}

/// The most bytes that a description may ask for one buffer, and a file for all of its buffers: 4 GiB.
pub const MAX_BYTES: usize = 4 << 30;

/// Takes the bytes of a buffer off those that are left for a file.
///
/// # Errors
/// There are not so many.
pub(super) fn reserve(left: &mut usize, ty: ElemTy, count: usize) -> Result<(), FormatError> {
    let bytes = size(ty, count).ok_or_else(|| too_large(ty, count))?;
    *left = left.checked_sub(bytes).ok_or_else(|| {
        FormatError::new(format!(
            "with this buffer all buffers of the file have more than {MAX_BYTES} bytes"
        ))
    })?;
    Ok(())
}

fn size(ty: ElemTy, count: usize) -> Option<usize> {
    count.checked_mul(ty.bytes()).filter(|&n| n <= MAX_BYTES)
}

fn too_large(ty: ElemTy, count: usize) -> FormatError {
    FormatError::new(format!(
        "a buffer of {count} elements of {ty} is too large; the most is {MAX_BYTES} bytes"
    ))
}

/// Room for a buffer's bytes, or why there is none.
fn room(ty: ElemTy, count: usize) -> Result<Vec<u8>, FormatError> {
    let mut bytes = Vec::new();
    match size(ty, count) {
        Some(total) if bytes.try_reserve_exact(total).is_ok() => Ok(bytes),
        Some(_) | None => Err(too_large(ty, count)),
    }
}

/// `key=value` pairs.
struct Keys<'a> {
    kind: &'a str,
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Keys<'a> {
    fn new(kind: &'a str, words: impl Iterator<Item = &'a str>) -> Result<Self, FormatError> {
        let pairs = words
            .map(|w| {
                w.split_once('=')
                    .ok_or_else(|| FormatError::new(format!("`{w}` is not of the form key=value")))
            })
            .collect::<Result<_, _>>()?;
        Ok(Keys { kind, pairs })
    }

    fn take(&mut self, key: &str) -> Option<&'a str> {
        let index = self.pairs.iter().position(|(k, _)| *k == key)?;
        Some(self.pairs.remove(index).1)
    }

    fn need(&mut self, key: &str) -> Result<&'a str, FormatError> {
        self.take(key)
            .ok_or_else(|| FormatError::new(format!("`{}` needs {key}=...", self.kind)))
    }

    fn integer(&mut self, key: &str) -> Result<i128, FormatError> {
        let text = self.need(key)?;
        integer(key, text)
    }

    fn float(&mut self, key: &str) -> Result<f64, FormatError> {
        let text = self.need(key)?;
        text.parse()
            .map_err(|_| FormatError::new(format!("{key}={text} is not a number")))
    }

    fn number(&mut self, key: &str, ty: ElemTy) -> Result<Number, FormatError> {
        let text = self.need(key)?;
        match (text.parse::<i128>(), text.parse::<f64>()) {
            (Ok(v), _) => Ok(Number::Integer(v)),
            (_, Ok(v)) if ty.is_float() => Ok(Number::Float(v)),
            _ => Err(FormatError::new(format!(
                "{key}={text} is not a value of type {ty}"
            ))),
        }
    }

    fn random(&mut self, seed: u64, ty: ElemTy) -> Result<Init, FormatError> {
        if ty.is_float() {
            return Ok(Init::RandomRange {
                seed,
                lo: self.float("lo")?,
                hi: self.float("hi")?,
            });
        }
        let Some(text) = self.take("mod") else {
            return Ok(Init::Random { seed });
        };
        let modulus = integer("mod", text)?;
        let add = match self.take("add") {
            Some(text) => integer("add", text)?,
            None => 0,
        };
        match u64::try_from(modulus) {
            Ok(modulus) if modulus != 0 => Ok(Init::RandomMod { seed, modulus, add }),
            _ => Err(FormatError::new(format!(
                "mod={text} is not from 1 to 2^64 - 1"
            ))),
        }
    }

    fn done(self) -> Result<(), FormatError> {
        match self.pairs.first() {
            Some((key, _)) => Err(FormatError::new(format!(
                "`{}` knows no key `{key}`",
                self.kind
            ))),
            None => Ok(()),
        }
    }
}

fn integer(key: &str, text: &str) -> Result<i128, FormatError> {
    text.parse()
        .map_err(|_| FormatError::new(format!("{key}={text} is not an integer")))
}

/// The generator of random contents.
#[derive(Debug, Clone)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// Begins with a seed.
    pub fn new(seed: u64) -> Self {
        SplitMix64 { state: seed }
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// The 64-bit FNV-1a checksum.
pub fn fnv1a64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, &b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(ty: ElemTy, init: &str, count: usize) -> Vec<u8> {
        let init = Init::parse(init, ty).expect("a good init");
        init.generate(ty, count).expect("small").expect("no file")
    }

    #[test]
    fn splitmix_gives_the_published_first_draws() {
        let mut random = SplitMix64::new(0);
        assert_eq!(random.draw(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.draw(), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(random.draw(), 0x06c4_5d18_8009_454f);
    }

    #[test]
    fn checksums_of_published_contents() {
        // From corpus descriptions: name, init, count, FNV-1a.
        let cases = [
            (ElemTy::F32, "zeros", 1000, 0x94eb_5aa7_3e18_6ba5),
            (
                ElemTy::I32,
                "iota start=0 step=1",
                32,
                0xf77b_12af_4e26_bfa5,
            ),
            (
                ElemTy::F32,
                "splitmix64 seed=11 lo=-4 hi=4",
                1000,
                0xd907_333c_7887_0bb6,
            ),
            (
                ElemTy::F16,
                "splitmix64 seed=491 lo=-4 hi=4",
                300,
                0xbc10_80d0_3c85_dbbe,
            ),
            (
                ElemTy::I32,
                "splitmix64 seed=421 mod=2000001 add=-1000000",
                32,
                0xcf69_63a1_5bd1_6fb8,
            ),
        ];
        for (ty, init, count, sum) in cases {
            assert_eq!(fnv1a64(&bytes(ty, init, count)), sum, "{ty} {init}");
        }
    }

    #[test]
    fn values_wrap_or_are_refused() {
        assert_eq!(
            bytes(ElemTy::U8, "iota start=254 step=1", 4),
            [254, 255, 0, 1]
        );
        assert_eq!(bytes(ElemTy::I16, "fill value=-2", 1), [0xfe, 0xff]);
        assert_eq!(
            bytes(ElemTy::F32, "fill value=1.5", 1),
            1.5f32.to_le_bytes()
        );
        for (ty, bad) in [
            (ElemTy::U8, "fill value=256"),
            (ElemTy::U8, "fill value=-1"),
            (ElemTy::U8, "fill"),
            (ElemTy::U8, "fill value=1 more=2"),
            (ElemTy::F32, "splitmix64 seed=1"),
            (ElemTy::U32, "splitmix64 seed=1 mod=0"),
            (ElemTy::U32, "splitmix64 seed=x"),
            (ElemTy::U32, "random"),
            (ElemTy::U32, ""),
        ] {
            assert!(Init::parse(bad, ty).is_err(), "{bad}");
        }
        assert!(Init::Zeros.generate(ElemTy::U64, usize::MAX).is_err());
    }

    #[test]
    fn buffers_of_a_file_are_bounded_together() {
        let mut left = MAX_BYTES;
        reserve(&mut left, ElemTy::U64, MAX_BYTES / 16).expect("a half");
        let error =
            reserve(&mut left, ElemTy::U8, MAX_BYTES / 2 + 1).expect_err("more than a half");
        assert!(error.message.contains("all buffers"), "{error}");
        reserve(&mut left, ElemTy::U8, MAX_BYTES / 2).expect("the other half");
        let error = reserve(&mut left, ElemTy::U64, usize::MAX).expect_err("no number of bytes");
        assert!(error.message.contains("too large"), "{error}");
    }

    #[test]
    fn values_are_read_in_every_spelling() {
        assert_eq!(ElemTy::U32.parse_value("0xff").unwrap(), 255);
        assert_eq!(ElemTy::I8.parse_value("-128").unwrap(), 0x80);
        assert_eq!(ElemTy::F32.parse_value("2.5").unwrap(), 0x4020_0000);
        assert_eq!(ElemTy::F32.parse_value("0f40200000").unwrap(), 0x4020_0000);
        assert_eq!(ElemTy::Bf16.parse_value("1").unwrap(), 0x3f80);
        assert!(ElemTy::I8.parse_value("128").is_err());
        assert!(ElemTy::U32.parse_value("five").is_err());
        assert!(ElemTy::U32.parse_value("--5").is_err());
        assert_eq!(ElemTy::parse("s32").unwrap(), ElemTy::I32);
        assert_eq!(ElemTy::parse("bf16").unwrap(), ElemTy::Bf16);
        assert!(ElemTy::parse("u128").is_err());
    }
}
