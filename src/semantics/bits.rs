//! Logic, shifts, bit fields and bit counts. PTX ISA, "Logic and Shift Instructions" and the bit instructions of
//! "Integer Arithmetic Instructions"; `prmt` of "Data Movement and Conversion Instructions".

use super::compare::combined;
use super::{Results, src, src32, typed};
use crate::ir::bits::{Op, PrmtMode};
use crate::ir::{IntTy, Reading, RegClass};

/// The results of an operator.
pub(super) fn eval(op: Op, srcs: &[u64]) -> Results {
    let (a, b) = (src(srcs, 0), src(srcs, 1));
    let word = |i| src32(srcs, i);
    let d = match op {
        Op::And { .. } => a & b,
        Op::Or { .. } => a | b,
        Op::Xor { .. } => a ^ b,
        Op::Not { class } => !a & class.mask(),
        Op::Cnot { .. } => u64::from(a == 0),
        Op::Lop3 { lut } => lop3(lut, word(0), word(1), word(2)).into(),
        Op::Lop3Pred { lut, combine } => {
            let d = lop3(lut, word(0), word(1), word(2));
            let p = combined(Some(combine), d != 0, src(srcs, 3) & 1 != 0);
            return [d.into(), p.into()];
        }
        Op::Shf { left, wrap } => shf(left, wrap, word(0), word(1), word(2)).into(),
        Op::Shl { class } => shl(class, a, word(1)),
        Op::Shr { ty } => shr(ty, a, word(1)),
        Op::Prmt { mode } => prmt(mode, word(0), word(1), word(2)).into(),
        Op::Popc { .. } => a.count_ones().into(),
        Op::Clz { class } => (a.leading_zeros() - (64 - class.bits())).into(),
        Op::Bfind { ty, shiftamt } => bfind(ty, shiftamt, a).into(),
        Op::Fns { reading } => fns(reading, word(0), word(1), word(2) as i32).into(),
        Op::Brev { class } => a.reverse_bits() >> (64 - class.bits()),
        Op::Bfe { ty, reading } => bfe(ty, a, extent(reading, word(1)), extent(reading, word(2))),
        Op::Bfi { class, reading } => bfi(
            class,
            a,
            b,
            extent(reading, word(2)),
            extent(reading, word(3)),
        ),
        Op::Bmsk { wrap } => bmsk(wrap, word(0), word(1)).into(),
        Op::Szext { signed, wrap } => szext(signed, wrap, word(0), word(1)).into(),
    };
    [d, 0]
}

/// d\[i\] = lut\[a\[i\]b\[i\]c\[i\]\]: the table is indexed by the three bits, a's the highest. PTX ISA, `lop3`.
fn lop3(lut: u8, a: u32, b: u32, c: u32) -> u32 {
    // One term for each row of the table that says 1: where the bits are those of the row's index.
    (0..8u32)
        .filter(|row| lut >> row & 1 != 0)
        .map(|row| {
            let pick = |x: u32, bit: u32| if row & bit != 0 { x } else { !x };
            pick(a, 4) & pick(b, 2) & pick(c, 1)
        })
        .fold(0, |d, term| d | term)
}

/// n = `.clamp`: min(c, 32), `.wrap`: c & 31; `.l`: the upper word of b:a << n, `.r`: the lower word of b:a >> n.
/// PTX ISA, `shf`.
fn shf(left: bool, wrap: bool, a: u32, b: u32, c: u32) -> u32 {
    let n = if wrap { c & 31 } else { c.min(32) };
    let both = u64::from(b) << 32 | u64::from(a);
    if left {
        ((both << n) >> 32) as u32
    } else {
        (both >> n) as u32
    }
}

/// d = a << b; counts at or over the width give 0. PTX ISA, `shl`.
fn shl(class: RegClass, a: u64, b: u32) -> u64 {
    a.checked_shl(b).unwrap_or(0) & class.mask()
}

/// d = a >> b; counts at or over the width give 0, or the sign of a signed type in all bits. PTX ISA, `shr`.
fn shr(ty: IntTy, a: u64, b: u32) -> u64 {
    (typed(ty, a) >> b.min(64)) as u64 & ty.mask()
}

/// Byte i of d is byte `s & 7` of b:a, or, if bit 3 of s is set, its sign in all bits; s is nibble i of c, or comes
/// from the low two bits of c by the table of the mode. PTX ISA, `prmt`.
fn prmt(mode: PrmtMode, a: u32, b: u32, c: u32) -> u32 {
    // Nibbles, the one for byte 3 first, for c & 3 = 0, 1, 2, 3.
    let table: [u32; 4] = match mode {
        PrmtMode::Index => [c; 4],
        PrmtMode::F4e => [0x3210, 0x4321, 0x5432, 0x6543],
        PrmtMode::B4e => [0x5670, 0x6701, 0x7012, 0x0123],
        PrmtMode::Rc8 => [0x0000, 0x1111, 0x2222, 0x3333],
        PrmtMode::Ecl => [0x3210, 0x3211, 0x3222, 0x3333],
        PrmtMode::Ecr => [0x0000, 0x1110, 0x2210, 0x3210],
        PrmtMode::Rc16 => [0x1010, 0x3232, 0x1010, 0x3232],
    };
    let selectors = table[(c & 3) as usize];
    let both = u64::from(b) << 32 | u64::from(a);
    let byte = |i: u32| {
        let s = selectors >> (4 * i);
        let byte = (both >> (8 * (s & 7))) as u8;
        if s & 8 == 0 {
            byte
        } else {
            (byte as i8 >> 7) as u8
        }
    };
    u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
}

/// The highest i with a\[i\] = 1, or, of a negative number, a\[i\] = 0; ffffffff if there is none. `.shiftamt`:
/// msb - i. PTX ISA, `bfind`.
fn bfind(ty: IntTy, shiftamt: bool, a: u64) -> u32 {
    let value = typed(ty, a);
    let bits = (if value < 0 { !value } else { value }) as u64;
    match bits.checked_ilog2() {
        None => u32::MAX,
        Some(i) if shiftamt => ty.bits() - 1 - i,
        Some(i) => i,
    }
}

/// The position of the |n|-th one of `mask`, counted from `base` (which counts) upwards, or downwards if n < 0;
/// n = 0: `base`, if a one is there. ffffffff where there is none. PTX ISA, `fns`.
fn fns(reading: Reading, mask: u32, base: u32, n: i32) -> u32 {
    if reading == Reading::Nvidia && n == i32::MIN {
        return 0;
    }
    if base > 31 {
        return u32::MAX;
    }
    let (positions, wanted) = match n {
        0 => (base..=base, 1),
        1.. => (base..=31, n.unsigned_abs()),
        _ => (0..=base, n.unsigned_abs()),
    };
    let mut ones = positions.filter(|i| mask >> i & 1 != 0);
    // No more than 32 are there, so the conversion loses nothing that matters.
    let index = wanted as usize - 1;
    let found = if n < 0 {
        ones.rev().nth(index)
    } else {
        ones.nth(index)
    };
    found.unwrap_or(u32::MAX)
}

/// A position or length: its low eight bits by the text, all of it by NVIDIA's tools.
fn extent(reading: Reading, word: u32) -> u32 {
    match reading {
        Reading::Text => word & 0xff,
        Reading::Nvidia => word,
    }
}

/// d\[i\] = i < len && pos + i <= msb ? a\[pos + i\] : sbit, where sbit is 0 for unsigned
/// types and for len = 0, else a\[min(pos + len - 1, msb)\]. PTX ISA, `bfe`.
fn bfe(ty: IntTy, a: u64, pos: u32, len: u32) -> u64 {
    if len == 0 {
        return 0;
    }
    // Shifting a signed number down repeats its sign above it, which is what the field's bits beyond the msb are.
    let from_pos = typed(ty, a) >> pos.min(64);
    let field = if len < 64 {
        super::number(from_pos as u64, len, ty.signed())
    } else {
        from_pos
    };
    field as u64 & ty.mask()
}

/// f = b, but f\[pos + i\] = a\[i\] for i < len, pos + i <= msb. PTX ISA, `bfi`.
fn bfi(class: RegClass, a: u64, b: u64, pos: u32, len: u32) -> u64 {
    let ones = u64::MAX.checked_shl(len).map_or(u64::MAX, |above| !above);
    let field = ones.checked_shl(pos).unwrap_or(0) & class.mask();
    (b & !field) | (a.checked_shl(pos).unwrap_or(0) & field)
}

/// Ones at a, a + 1, ..., a + b - 1, as far as they fall below 32. `.wrap`: a & 31, b & 31. PTX ISA, `bmsk`.
fn bmsk(wrap: bool, a: u32, b: u32) -> u32 {
    let (a, b) = if wrap { (a & 31, b & 31) } else { (a, b) };
    let ones = u32::MAX.checked_shl(b).map_or(u32::MAX, |above| !above);
    ones.checked_shl(a).unwrap_or(0)
}

/// The low n bits of a, sign- or zero-extended; n = `.wrap`: b & 31, `.clamp`: min(b, 32); n = 0 gives 0.
/// PTX ISA, `szext`.
fn szext(signed: bool, wrap: bool, a: u32, b: u32) -> u32 {
    match if wrap { b & 31 } else { b.min(32) } {
        0 => 0,
        n => super::number(a.into(), n, signed) as u32,
    }
}
