//! `prmt`: bytes picked from two words.

use super::emit::Emit;
use crate::ir::bits::PrmtMode;
use cranelift_codegen::ir::types::{I8X16, I32, I64, I64X2};
use cranelift_codegen::ir::{InstBuilder, Value};

/// The selectors of a mode, for each value of the low two bits of c.
fn table(mode: PrmtMode) -> Option<[u16; 4]> {
    Some(match mode {
        PrmtMode::Index => return None,
        PrmtMode::F4e => [0x3210, 0x4321, 0x5432, 0x6543],
        PrmtMode::B4e => [0x5670, 0x6701, 0x7012, 0x0123],
        PrmtMode::Rc8 => [0x0000, 0x1111, 0x2222, 0x3333],
        PrmtMode::Ecl => [0x3210, 0x3211, 0x3222, 0x3333],
        PrmtMode::Ecr => [0x0000, 0x1110, 0x2210, 0x3210],
        PrmtMode::Rc16 => [0x1010, 0x3232, 0x1010, 0x3232],
    })
}

/// The result of `prmt`.
pub(super) fn lower(e: &mut Emit<'_, '_>, mode: PrmtMode, a: Value, b: Value, c: Value) -> Value {
    match (table(mode), e.constant(c)) {
        (None, Some(c)) => constant(e, a, b, c as u16),
        (Some(table), Some(c)) => constant(e, a, b, table[(c & 3) as usize]),
        (None, None) => variable(e, true, a, b, c),
        (Some(table), None) => {
            let all = table
                .iter()
                .rev()
                .fold(0, |all, &s| all << 16 | u64::from(s));
            let all = e.k(I64, all);
            let shift = e.and_k(c, 3);
            let shift = e.shl_k(shift, 4);
            let selector = e.ins().ushr(all, shift);
            let selector = e.resize(selector, I32, false);
            variable(e, false, a, b, selector)
        }
    }
}

/// Bytes that come from one word, moved by one distance; or repeated signs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A word, 0 or 1, shifted left by this many bytes (negative: right).
    Shifted(u32, i32),
    /// The sign of a byte of a word.
    Sign(u32, u32),
}

fn constant(e: &mut Emit<'_, '_>, a: Value, b: Value, selector: u16) -> Value {
    let words = [a, b];
    let picks = [0, 1, 2, 3].map(|i| u32::from(selector >> (4 * i) & 15));
    // All from one word, in its order or the reverse.
    let word = picks[0] >> 2 & 1;
    if picks.iter().all(|p| p & 8 == 0 && p >> 2 & 1 == word) {
        let x = words[word as usize];
        let bytes = picks.map(|p| p & 3);
        if bytes == [3, 2, 1, 0] {
            return e.ins().bswap(x);
        }
        let first = bytes[0];
        if (0..4).all(|i| bytes[i as usize] == (first + i) & 3) {
            return if first == 0 {
                x
            } else {
                e.rotate_left_k(x, 32 - 8 * first)
            };
        }
        if bytes == [first; 4] {
            let down = e.shr_k(x, 8 * first);
            let byte = e.and_k(down, 0xff);
            let ones = e.k(I32, 0x0101_0101);
            return e.ins().imul(byte, ones);
        }
    }
    let mut parts: Vec<(Source, u32)> = Vec::new();
    for (i, pick) in (0..).zip(picks) {
        let (word, byte) = (pick >> 2 & 1, pick & 3);
        let source = if pick & 8 != 0 {
            Source::Sign(word, byte)
        } else {
            Source::Shifted(word, i - byte as i32)
        };
        if e.constant(words[word as usize]) == Some(0) {
            continue;
        }
        let mask = 0xff << (8 * i);
        match parts.iter_mut().find(|(s, _)| *s == source) {
            Some((_, m)) => *m |= mask,
            None => parts.push((source, mask)),
        }
    }
    let mut result = None;
    for (source, mask) in parts {
        // `filled`: where the moved word has bits at all.
        let (moved, filled) = match source {
            Source::Shifted(word, by) => {
                let bits = 8 * by.unsigned_abs();
                let x = words[word as usize];
                if by >= 0 {
                    (e.shl_k(x, bits), u32::MAX << bits)
                } else {
                    (e.shr_k(x, bits), u32::MAX >> bits)
                }
            }
            Source::Sign(word, byte) => {
                let up = e.shl_k(words[word as usize], 24 - 8 * byte);
                (e.sar_k(up, 31), u32::MAX)
            }
        };
        let part = if filled & !mask == 0 {
            moved
        } else {
            e.and_k(moved, mask.into())
        };
        result = Some(match result {
            None => part,
            Some(others) => e.or(others, part),
        });
    }
    match result {
        Some(result) => result,
        None => e.k(I32, 0),
    }
}

/// By a byte shuffle. `signs`: selectors may ask for repeated signs.
fn variable(e: &mut Emit<'_, '_>, signs: bool, a: Value, b: Value, selector: Value) -> Value {
    let [low, high] = [a, b].map(|x| e.resize(x, I64, false));
    let high = e.shl_k(high, 32);
    let both = e.or(high, low);
    let both = e.ins().scalar_to_vector(I64X2, both);
    let both = e.vector_cast(both, I8X16);
    // One selector in each byte.
    let s = e.and_k(selector, 0xffff);
    let up = e.shl_k(s, 8);
    let s = e.or(s, up);
    let s = e.and_k(s, 0x00ff_00ff);
    let up = e.shl_k(s, 4);
    let s = e.or(s, up);
    let s = e.and_k(s, 0x0f0f_0f0f);
    let indices = if signs { e.and_k(s, 0x0707_0707) } else { s };
    let indices = e.vector_of(indices, I8X16);
    let bytes = e.ins().swizzle(both, indices);
    let bytes = e.low_word(bytes);
    if !signs {
        return bytes;
    }
    let mut each = |x: Value, shift| {
        let bit = e.shr_k(x, shift);
        let bit = e.and_k(bit, 0x0101_0101);
        let ones = e.k(I32, 0xff);
        e.ins().imul(bit, ones)
    };
    let (signs, wanted) = (each(bytes, 7), each(s, 3));
    let change = e.ins().bxor(bytes, signs);
    let change = e.ins().band(change, wanted);
    e.ins().bxor(bytes, change)
}
