//! Conversions to and from packed and small formats. PTX ISA, `cvt`, "Alternate Floating-Point Data Formats".

use crate::ir::float::FloatTy;
use crate::ir::{RegClass, Signature};

/// The format of one element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum SmallTy {
    F16,
    Bf16,
    /// In the upper 19 of 32 bits.
    Tf32,
    E4m3,
    E5m2,
    /// As [`E3m2`](Self::E3m2), in the lower 6 of 8 bits.
    E2m3,
    E3m2,
    E2m1,
    /// A power of two without a sign.
    Ue8m0,
    /// A signed integer of 8 bits, of which one stands for 1/64.
    S2f6,
}

impl SmallTy {
    /// The width of an element where several are packed.
    pub fn bits(self) -> u32 {
        match self {
            SmallTy::Tf32 => 32,
            SmallTy::F16 | SmallTy::Bf16 => 16,
            SmallTy::E2m1 => 4,
            SmallTy::E4m3
            | SmallTy::E5m2
            | SmallTy::E2m3
            | SmallTy::E3m2
            | SmallTy::Ue8m0
            | SmallTy::S2f6 => 8,
        }
    }

    /// The class of a register with this many elements.
    fn class(self, lanes: u32) -> RegClass {
        RegClass::of_bits(self.bits() * lanes).unwrap_or(RegClass::B32)
    }
}

/// How a number is rounded to a small format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SmallRounding {
    /// `.rn`: to the nearest, ties to even.
    Rn,
    /// `.rz`: towards zero.
    Rz,
    /// `.rp`: up.
    Rp,
    /// `.rna`: to the nearest, ties away from zero.
    Rna,
    /// `.rs`: away from zero if the bits cut off and random bits, added, carry.
    Rs,
}

/// A conversion to a small format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Narrow {
    /// `F32`: one source for each element, the first for the uppermost. `F16x2`, `Bf16x2`: one source for both.
    pub from: FloatTy,
    /// The format of the elements.
    pub to: SmallTy,
    /// The number of elements.
    pub lanes: u32,
    /// How they are rounded. `.rs` has one more source, of random bits.
    pub rounding: SmallRounding,
    /// `.satfinite`: what is too great, and infinity, becomes the greatest number.
    pub satfinite: bool,
    /// `.relu`: what is negative becomes 0.
    pub relu: bool,
    /// `.scaled::n2::ue8m0`: divided by powers of two, one for each element in one more source.
    pub scaled: bool,
}

/// A conversion of two elements from a small format. Exact, if not for the scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Widen {
    /// The format of the elements.
    pub from: SmallTy,
    /// `F16x2` or `Bf16x2`.
    pub to: FloatTy,
    /// `.satfinite`
    pub satfinite: bool,
    /// `.relu`
    pub relu: bool,
    /// `.scaled::n2::ue8m0`: multiplied by powers of two.
    pub scaled: bool,
}

/// The operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// d = elements of a small format.
    Narrow(Narrow),
    /// d = two elements of a small format in a greater one.
    Widen(Widen),
}

impl Narrow {
    /// The number of random bits for one element.
    pub fn random_bits(self) -> u32 {
        match self.to {
            SmallTy::F16 => 13,
            SmallTy::Bf16 => 16,
            SmallTy::Tf32
            | SmallTy::E4m3
            | SmallTy::E5m2
            | SmallTy::E2m3
            | SmallTy::E3m2
            | SmallTy::E2m1
            | SmallTy::Ue8m0
            | SmallTy::S2f6 => 8,
        }
    }

    /// Where the random bits for an element begin, elements counted from the uppermost.
    ///
    /// Two elements have one half each, four elements a byte each, in their order; but of `.e2m1x4` a and b have the upper byte of
    /// either half, e and f the lower one.
    pub fn random_shift(self, lane: u32) -> u32 {
        match (self.lanes, self.to) {
            (4, SmallTy::E2m1) => [24, 8, 16, 0].get(lane as usize).copied().unwrap_or(0),
            (4, _) => 24 - 8 * lane.min(3),
            _ => 16 - 16 * lane.min(1),
        }
    }
}

impl Op {
    /// Classes of sources and destinations.
    pub fn signature(self) -> Signature {
        match self {
            Op::Narrow(narrow) => {
                let values = if narrow.from == FloatTy::F32 {
                    narrow.lanes as usize
                } else {
                    1
                };
                let mut srcs = vec![RegClass::B32; values];
                if narrow.rounding == SmallRounding::Rs {
                    srcs.push(RegClass::B32);
                }
                if narrow.scaled {
                    srcs.push(RegClass::B16);
                }
                Signature::new(&srcs, &[narrow.to.class(narrow.lanes)])
            }
            Op::Widen(widen) => {
                let srcs = [widen.from.class(2), RegClass::B16];
                let count = if widen.scaled { 2 } else { 1 };
                Signature::new(&srcs[..count], &[RegClass::B32])
            }
        }
    }
}
