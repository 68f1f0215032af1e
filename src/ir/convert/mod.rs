//! Moves and conversions. PTX ISA, "Data Movement and Conversion Instructions".

pub mod float;
pub mod small;

use super::memory::Space;
use super::{IntTy, Reading, RegClass, Signature};

/// Narrow integer types of `cvt.pack`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum PackTy {
    U2,
    S2,
    U4,
    S4,
    U8,
    S8,
    U16,
    S16,
}

impl PackTy {
    /// Width in bits.
    pub fn bits(self) -> u32 {
        match self {
            PackTy::U2 | PackTy::S2 => 2,
            PackTy::U4 | PackTy::S4 => 4,
            PackTy::U8 | PackTy::S8 => 8,
            PackTy::U16 | PackTy::S16 => 16,
        }
    }

    /// Whether signed.
    pub fn signed(self) -> bool {
        matches!(self, PackTy::S2 | PackTy::S4 | PackTy::S8 | PackTy::S16)
    }
}

/// The operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// d = a, bits unchanged; predicates too.
    #[allow(missing_docs)]
    Mov { class: RegClass },
    /// d = a as `from`, converted to `to` (truncated, or clamped if `sat`), then extended by the sign of `to` to
    /// the class `dst` of d. `dst` is at least as wide as `to`.
    #[allow(missing_docs)]
    Cvt {
        from: IntTy,
        to: IntTy,
        sat: bool,
        dst: RegClass,
    },
    /// To, from or among floating-point numbers.
    Float(float::Op),
    /// To and from packed and small formats.
    Small(small::Op),
    /// d = elements side by side, the first in the low bits. `count` sources of class `elem`.
    #[allow(missing_docs)]
    Pack { elem: RegClass, count: u8 },
    /// d = element `index` of a, counted from the low bits.
    #[allow(missing_docs)]
    Extract {
        elem: RegClass,
        index: u8,
        src: RegClass,
    },
    /// `cvt.pack.sat`: a and b (`.s32`) clamped to `ty`; d = (a' : b'), a' above b'. With `onto` (8 bits and less): d = (c << 2 * bits) | (a' : b').
    #[allow(missing_docs)]
    CvtPack { ty: PackTy, onto: bool },
    /// Address in the window of `space` to generic address, or back if `to`. 64 bits, or 32 under `.address_size 32`.
    #[allow(missing_docs)]
    Cvta {
        space: Space,
        to: bool,
        class: RegClass,
    },
    /// p = the generic address a lies in the window of `space`.
    #[allow(missing_docs)]
    Isspacep { space: Space, class: RegClass },
}

impl Op {
    /// 32 bits zero-extended to 64.
    pub const WIDEN: Op = Op::Cvt {
        from: IntTy::U32,
        to: IntTy::U32,
        sat: false,
        dst: RegClass::B64,
    };

    /// Classes of sources and destinations.
    pub fn signature(self) -> Signature {
        use RegClass::{B32, Pred};
        match self {
            Op::Mov { class } | Op::Cvta { class, .. } => Signature::new(&[class], &[class]),
            Op::Cvt { from, dst, .. } => Signature::new(&[from.class()], &[dst]),
            Op::Float(op) => op.signature(),
            Op::Small(op) => op.signature(),
            Op::Pack { elem, count } => {
                let bits = elem.bits() * u32::from(count);
                Signature::new(
                    &vec![elem; usize::from(count)],
                    &[RegClass::of_bits(bits).unwrap_or(RegClass::B64)],
                )
            }
            Op::Extract { elem, src, .. } => Signature::new(&[src], &[elem]),
            Op::CvtPack { onto, .. } => {
                Signature::new(&vec![B32; if onto { 3 } else { 2 }], &[B32])
            }
            Op::Isspacep { class, .. } => Signature::new(&[class], &[Pred]),
        }
    }

    /// The operator as a reading has it.
    #[must_use]
    pub fn read_as(self, reading: Reading) -> Op {
        match self {
            Op::Float(op) => Op::Float(op.read_as(reading)),
            Op::Mov { .. }
            | Op::Cvt { .. }
            | Op::Small(_)
            | Op::Pack { .. }
            | Op::Extract { .. }
            | Op::CvtPack { .. }
            | Op::Cvta { .. }
            | Op::Isspacep { .. } => self,
        }
    }
}
