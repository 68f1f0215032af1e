//! A launch as the test formats describe it: which kernel, how many threads, which arguments.

use super::FormatError;
use super::contents::{ElemTy, Init};

/// A launch without what is expected of it.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchSpec {
    /// Name of the kernel.
    pub kernel: String,
    /// CTAs, x y z.
    pub grid: [u32; 3],
    /// Threads of a CTA, x y z.
    pub block: [u32; 3],
    /// CTAs of a cluster, x y z, if the launch says.
    pub cluster: Option<[u32; 3]>,
    /// Worker threads that take part at most, if the launch says: one, where what comes of it tells the order of blocks.
    pub workers: Option<usize>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Arguments in the order of the kernel's parameters.
    pub args: Vec<Arg>,
}

/// An argument.
#[derive(Debug, Clone, PartialEq)]
pub struct Arg {
    /// What it is called in messages.
    pub name: String,
    /// What is passed.
    pub value: ArgValue,
}

/// What is passed for a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgValue {
    /// A scalar's or aggregate's bytes.
    Bytes(Vec<u8>),
    /// The address of a buffer.
    Buffer {
        /// Type of its elements, for messages and comparisons.
        ty: ElemTy,
        /// What it holds at first.
        contents: Vec<u8>,
    },
}

impl Arg {
    /// Reads an argument of the command line: `u32:5`, `f32[1024]:splitmix64 seed=1 lo=0 hi=1`, `u32[256]:zeros`,
    /// `u32[64]:@in.bin`, `bytes:00ff`. `read` gives the bytes of a file.
    ///
    /// # Errors
    /// Another form, an unknown type, a value that does not fit it, a file of another size.
    pub fn parse(
        index: usize,
        text: &str,
        read: &mut dyn FnMut(&str) -> Result<Vec<u8>, FormatError>,
    ) -> Result<Self, FormatError> {
        let (ty, value) = text.split_once(':').ok_or_else(|| {
            FormatError::new(format!(
                "`{text}` is not an argument; write TYPE:VALUE or TYPE[COUNT]:CONTENTS, such as u32:5 or f32[256]:zeros"
            ))
        })?;
        let value = match ty.split_once('[') {
            None if ty == "bytes" => ArgValue::Bytes(parse_hex_bytes(value)?),
            None => scalar(ElemTy::parse(ty)?, value)?,
            Some((ty, count)) => {
                let ty = ElemTy::parse(ty)?;
                let count = parse_count(count)?;
                let contents = match value.strip_prefix('@') {
                    Some(file) => {
                        let contents = read(file)?;
                        check_size(file, &contents, ty, count)?;
                        contents
                    }
                    None => Init::parse(value, ty)?
                        .generate(ty, count)?
                        .ok_or_else(|| FormatError::new("write `@FILE` for the bytes of a file"))?,
                };
                ArgValue::Buffer { ty, contents }
            }
        };
        Ok(Arg {
            name: format!("argument {index}"),
            value,
        })
    }
}

/// A scalar argument.
pub(crate) fn scalar(ty: ElemTy, value: &str) -> Result<ArgValue, FormatError> {
    let bits = ty.parse_value(value)?;
    Ok(ArgValue::Bytes(bits.to_le_bytes()[..ty.bytes()].to_vec()))
}

/// `8]`
pub(crate) fn parse_count(text: &str) -> Result<usize, FormatError> {
    text.strip_suffix(']')
        .and_then(|n| n.trim().parse().ok())
        .ok_or_else(|| FormatError::new(format!("`[{text}` is no number of elements")))
}

/// The bytes of `file` fill a buffer.
pub(crate) fn check_size(
    file: &str,
    bytes: &[u8],
    ty: ElemTy,
    count: usize,
) -> Result<(), FormatError> {
    if count.checked_mul(ty.bytes()) == Some(bytes.len()) {
        return Ok(());
    }
    Err(FormatError::new(format!(
        "{file} holds {} bytes; {count} elements of {ty} are {} bytes",
        bytes.len(),
        count.saturating_mul(ty.bytes())
    )))
}

/// Pairs of hexadecimal digits, in memory order.
pub(crate) fn parse_hex_bytes(text: &str) -> Result<Vec<u8>, FormatError> {
    let bad = || {
        FormatError::new(format!(
            "`{text}` is not an even number of hexadecimal digits"
        ))
    };
    if !text.len().is_multiple_of(2) || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(bad());
    }
    (0..text.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&text[i..i + 2], 16).map_err(|_| bad()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ArgValue, FormatError> {
        let mut read = |file: &str| match file {
            "in.bin" => Ok(vec![1, 2, 3, 4]),
            _ => Err(FormatError::new("no such file")),
        };
        Arg::parse(0, text, &mut read).map(|a| a.value)
    }

    #[test]
    fn scalars_and_buffers() {
        let bytes = |b: &[u8]| Ok(ArgValue::Bytes(b.to_vec()));
        let buffer = |ty, contents: &[u8]| {
            Ok(ArgValue::Buffer {
                ty,
                contents: contents.to_vec(),
            })
        };
        assert_eq!(parse("u32:5"), bytes(&[5, 0, 0, 0]));
        assert_eq!(parse("i16:-2"), bytes(&[0xfe, 0xff]));
        assert_eq!(parse("bytes:00ff10"), bytes(&[0, 0xff, 0x10]));
        assert_eq!(parse("u16[2]:zeros"), buffer(ElemTy::U16, &[0; 4]));
        assert_eq!(
            parse("u16[3]:iota start=1 step=2"),
            buffer(ElemTy::U16, &[1, 0, 3, 0, 5, 0])
        );
        assert_eq!(parse("u16[2]:@in.bin"), buffer(ElemTy::U16, &[1, 2, 3, 4]));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, word) in [
            ("5", "TYPE:VALUE"),
            ("u33:5", "`u33` is not a type"),
            ("u32:x", "`x` is not a value of type u32"),
            ("u32[4:zeros", "number of elements"),
            ("u32[2]:@in.bin", "in.bin holds 4 bytes"),
            ("u32[2]:file", "@FILE"),
            ("u32[2]:@other", "no such file"),
            ("bytes:0", "hexadecimal"),
            ("bytes:é0", "hexadecimal"),
        ] {
            let message = parse(text).expect_err(text).message;
            assert!(message.contains(word), "{text}: {message}");
        }
    }
}
