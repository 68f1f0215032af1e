//! Logic, shifts, bit fields and bit counts. PTX ISA, "Logic and Shift Instructions" and the bit instructions of
//! "Integer Arithmetic Instructions"; `prmt` of "Data Movement and Conversion Instructions".

use super::compare::BoolOp;
use super::{IntTy, Reading, RegClass, Signature};

/// `prmt` modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum PrmtMode {
    Index,
    F4e,
    B4e,
    Rc8,
    Ecl,
    Ecr,
    Rc16,
}

/// The operators. Sources in PTX's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// d = a & b, predicates too.
    #[allow(missing_docs)]
    And { class: RegClass },
    /// d = a | b, predicates too.
    #[allow(missing_docs)]
    Or { class: RegClass },
    /// d = a ^ b, predicates too.
    #[allow(missing_docs)]
    Xor { class: RegClass },
    /// d = ~a, predicates too.
    #[allow(missing_docs)]
    Not { class: RegClass },
    /// d = a == 0
    #[allow(missing_docs)]
    Cnot { class: RegClass },
    /// Each bit of d is `lut` at the index made of the bits of a (4), b (2), c (1).
    #[allow(missing_docs)]
    Lop3 { lut: u8 },
    /// d as `Lop3`; p = (d != 0) combined with q. Sources a b c q; destinations d p.
    #[allow(missing_docs)]
    Lop3Pred { lut: u8, combine: BoolOp },
    /// Funnel shift of b:a by c; `left` gives the upper word, else the lower. `wrap`: c & 31, else min(c, 32).
    #[allow(missing_docs)]
    Shf { left: bool, wrap: bool },
    /// d = a << b, 0 from the width on; b is 32 bits wide, unsigned.
    #[allow(missing_docs)]
    Shl { class: RegClass },
    /// d = a >> b, sign-filling for signed types; b is 32 bits wide, unsigned, clamped.
    #[allow(missing_docs)]
    Shr { ty: IntTy },
    /// d = four bytes picked from b:a by c.
    #[allow(missing_docs)]
    Prmt { mode: PrmtMode },
    /// d (32 bits) = number of ones.
    #[allow(missing_docs)]
    Popc { class: RegClass },
    /// d (32 bits) = number of leading zeros.
    #[allow(missing_docs)]
    Clz { class: RegClass },
    /// d (32 bits) = position of the most significant bit that is not the sign; ffffffff if there is none.
    /// `shiftamt`: the shift that would move it to the top.
    #[allow(missing_docs)]
    Bfind { ty: IntTy, shiftamt: bool },
    /// d = position of the c-th set bit of a from b. Sources a b c. NVIDIA: 0 for the least c.
    #[allow(missing_docs)]
    Fns { reading: Reading },
    /// d = a with its bits in reverse order.
    #[allow(missing_docs)]
    Brev { class: RegClass },
    /// d = field of a at b, length c; b and c are 32 bits wide. The low eight bits of these count; NVIDIA, 64-bit types: all.
    #[allow(missing_docs)]
    Bfe { ty: IntTy, reading: Reading },
    /// d = b with the low bits of a at position c, length d (sources a b c d), which count as those of `Bfe`.
    #[allow(missing_docs)]
    Bfi { class: RegClass, reading: Reading },
    /// d = ones at a, number b.
    #[allow(missing_docs)]
    Bmsk { wrap: bool },
    /// d = a, of which only the low b bits count, sign- or zero-extended.
    #[allow(missing_docs)]
    Szext { signed: bool, wrap: bool },
}

impl Op {
    /// Classes of sources and destinations.
    pub fn signature(self) -> Signature {
        use RegClass::{B32, Pred};
        match self {
            Op::And { class } | Op::Or { class } | Op::Xor { class } => {
                Signature::new(&[class; 2], &[class])
            }
            Op::Not { class } | Op::Cnot { class } | Op::Brev { class } => {
                Signature::new(&[class], &[class])
            }
            Op::Lop3 { .. } | Op::Shf { .. } | Op::Prmt { .. } | Op::Fns { .. } => {
                Signature::new(&[B32; 3], &[B32])
            }
            Op::Lop3Pred { .. } => Signature::new(&[B32, B32, B32, Pred], &[B32, Pred]),
            Op::Shl { class } => Signature::new(&[class, B32], &[class]),
            Op::Shr { ty } => Signature::new(&[ty.class(), B32], &[ty.class()]),
            Op::Popc { class } | Op::Clz { class } => Signature::new(&[class], &[B32]),
            Op::Bfind { ty, .. } => Signature::new(&[ty.class()], &[B32]),
            Op::Bfe { ty, .. } => Signature::new(&[ty.class(), B32, B32], &[ty.class()]),
            Op::Bfi { class, .. } => Signature::new(&[class, class, B32, B32], &[class]),
            Op::Bmsk { .. } | Op::Szext { .. } => Signature::new(&[B32; 2], &[B32]),
        }
    }

    /// The operator as a reading has it.
    #[must_use]
    pub fn read_as(mut self, as_read: Reading) -> Op {
        match &mut self {
            Op::Bfe { ty, reading } if ty.bits() == 64 => *reading = as_read,
            Op::Bfi { class, reading } if class.bits() == 64 => *reading = as_read,
            Op::Fns { reading } => *reading = as_read,
            Op::Bfe { .. }
            | Op::Bfi { .. }
            | Op::And { .. }
            | Op::Or { .. }
            | Op::Xor { .. }
            | Op::Not { .. }
            | Op::Cnot { .. }
            | Op::Lop3 { .. }
            | Op::Lop3Pred { .. }
            | Op::Shf { .. }
            | Op::Shl { .. }
            | Op::Shr { .. }
            | Op::Prmt { .. }
            | Op::Popc { .. }
            | Op::Clz { .. }
            | Op::Bfind { .. }
            | Op::Brev { .. }
            | Op::Bmsk { .. }
            | Op::Szext { .. } => {}
        }
        self
    }
}
