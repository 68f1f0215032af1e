//! Integer arithmetic. PTX ISA, "Integer Arithmetic Instructions".

use super::{IntTy, RegClass, Signature};

/// Which part of a product is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// `.lo`: the low half.
    Lo,
    /// `.hi`: the high half.
    Hi,
    /// `.wide`: all of it, in a register of twice the width.
    Wide,
}

/// Operators on lanes of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum PackedOp {
    Add,
    Sub,
    Min,
    Max,
}

/// The operators. Sources in PTX's order; all arithmetic is modulo the width unless it says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// d = a + b; `sat` clamps to the type's range (`.sat.s32`).
    #[allow(missing_docs)]
    Add { ty: IntTy, sat: bool },
    /// d = a - b; `sat` clamps.
    #[allow(missing_docs)]
    Sub { ty: IntTy, sat: bool },
    /// d = the part of a * b.
    #[allow(missing_docs)]
    Mul { part: Part, ty: IntTy },
    /// d = (the part of a * b) + c, `sat` clamps the sum (`.hi.sat.s32`). `.hi` adds c after taking the high half.
    #[allow(missing_docs)]
    Mad { part: Part, ty: IntTy, sat: bool },
    /// d = bits 31..0 (or 47..16 if `high`) of the product of the low 24 bits of a and b.
    #[allow(missing_docs)]
    Mul24 { high: bool, signed: bool },
    /// As `Mul24`, then + c; `sat` clamps the signed sum.
    #[allow(missing_docs)]
    Mad24 { high: bool, signed: bool, sat: bool },
    /// d = c + |a - b|
    #[allow(missing_docs)]
    Sad { ty: IntTy },
    /// d = a / b towards zero; all ones if b is zero; MIN / -1 = MIN.
    #[allow(missing_docs)]
    Div { ty: IntTy },
    /// d = a - (a / b) * b; all ones if b is zero; MIN rem -1 = 0.
    #[allow(missing_docs)]
    Rem { ty: IntTy },
    /// d = |a|, |MIN| = MIN
    #[allow(missing_docs)]
    Abs { ty: IntTy },
    /// d = -a
    #[allow(missing_docs)]
    Neg { ty: IntTy },
    /// d = the smaller; `relu` clamps negative results to 0.
    #[allow(missing_docs)]
    Min { ty: IntTy, relu: bool },
    /// d = the larger; `relu` clamps negative results to 0.
    #[allow(missing_docs)]
    Max { ty: IntTy, relu: bool },
    /// Two 16-bit or four 8-bit lanes, each by itself; `sat` clamps each to the range of its type.
    #[allow(missing_docs)]
    Packed {
        op: PackedOp,
        lanes: u8,
        signed: bool,
        relu: bool,
        sat: bool,
    },
    /// d = c + sum of the products of four bytes.
    #[allow(missing_docs)]
    Dp4a { a_signed: bool, b_signed: bool },
    /// d = c + sum of the products of the two halves of a with two bytes of b (`high`: bytes 2 and 3).
    #[allow(missing_docs)]
    Dp2a {
        a_signed: bool,
        b_signed: bool,
        high: bool,
    },
}

impl Op {
    /// Classes of sources and destinations.
    pub fn signature(self) -> Signature {
        use RegClass::B32;
        match self {
            Op::Add { ty, .. }
            | Op::Sub { ty, .. }
            | Op::Div { ty }
            | Op::Rem { ty }
            | Op::Min { ty, .. }
            | Op::Max { ty, .. } => Signature::new(&[ty.class(); 2], &[ty.class()]),
            Op::Mul { part, ty } => Signature::new(&[ty.class(); 2], &[product(part, ty)]),
            Op::Mad { part, ty, .. } => {
                let d = product(part, ty);
                Signature::new(&[ty.class(), ty.class(), d], &[d])
            }
            Op::Mul24 { .. } | Op::Packed { .. } => Signature::new(&[B32; 2], &[B32]),
            Op::Mad24 { .. } | Op::Dp4a { .. } | Op::Dp2a { .. } => {
                Signature::new(&[B32; 3], &[B32])
            }
            Op::Sad { ty } => Signature::new(&[ty.class(); 3], &[ty.class()]),
            Op::Abs { ty } | Op::Neg { ty } => Signature::new(&[ty.class()], &[ty.class()]),
        }
    }
}

/// The class of a product: twice the width for `.wide` (of 16 and 32 bits).
fn product(part: Part, ty: IntTy) -> RegClass {
    match part {
        Part::Lo | Part::Hi => ty.class(),
        Part::Wide => RegClass::of_bits(ty.bits() * 2).unwrap_or(RegClass::B64),
    }
}
