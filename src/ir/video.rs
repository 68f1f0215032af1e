//! Video instructions, scalar and SIMD. PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions".

use super::compare::CmpOp;
use super::{Reading, RegClass, Signature};

/// A byte, half or the whole of a 32-bit word: `.b0`..`.b3`, `.h0`, `.h1`, none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Selector {
    /// The word.
    Word,
    /// Byte 0 to 3.
    Byte(u8),
    /// Half 0 or 1.
    Half(u8),
}

/// A source of a scalar video instruction: what of the register, and as what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Source {
    /// `.s32` rather than `.u32`: the part is sign-extended.
    pub signed: bool,
    /// The part.
    pub part: Selector,
}

/// The first operation of a scalar video instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum ScalarOp {
    Add,
    Sub,
    AbsDiff,
    Min,
    Max,
    Shl { wrap: bool },
    Shr { wrap: bool },
    Set(CmpOp),
}

/// The second operation: with operand c.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Second {
    /// None; there is no c.
    None,
    /// result + c
    Add,
    /// the smaller of result and c
    Min,
    /// the larger of result and c
    Max,
    /// c with the result put into this part.
    Merge(Selector),
}

/// The operation on each lane of a SIMD video instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum SimdOp {
    Add,
    Sub,
    AbsDiff,
    Min,
    Max,
    Avrg,
    Set(CmpOp),
}

/// The operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// `vadd vsub vabsdiff vmin vmax vshl vshr vset`. Sources a b, and c if there is a second operation. As the text has it, values are
    /// exact up to the end. NVIDIA saturates and compares as the machine code does that stands for these instructions.
    #[allow(missing_docs)]
    Scalar {
        op: ScalarOp,
        signed: bool,
        a: Source,
        b: Source,
        sat: bool,
        second: Second,
        reading: Reading,
    },
    /// `vmad`: d = (±(a * b) ± c (+ 1 if `plus_one`)) >> `shift`. Sources a b c. NVIDIA: words and c are signed whatever the types say.
    #[allow(missing_docs)]
    Mad {
        signed: bool,
        a: Source,
        b: Source,
        neg_a: bool,
        neg_b: bool,
        neg_c: bool,
        plus_one: bool,
        sat: bool,
        shift: u8,
        reading: Reading,
    },
    /// `vadd2`, `vadd4` and so on. Sources a b c.
    Simd {
        /// The operation.
        op: SimdOp,
        /// 2 or 4.
        lanes: u8,
        /// `.s32` destination.
        signed: bool,
        /// `.s32` first type.
        a_signed: bool,
        /// `.s32` second type.
        b_signed: bool,
        /// Lane i of the first source is this lane of b:a (0 up: a's lanes, then b's), lowest lane first.
        a_lanes: [u8; 4],
        /// Likewise for the second source.
        b_lanes: [u8; 4],
        /// Bit i: lane i of d is written; the others come from c. With `add`: lanes that take part in the sum.
        mask: u8,
        /// `.sat`
        sat: bool,
        /// `.add`: d = c + the sum of the lanes' results.
        add: bool,
    },
}

impl Op {
    /// Classes of sources and destinations.
    pub fn signature(self) -> Signature {
        let sources = match self {
            Op::Scalar {
                second: Second::None,
                ..
            } => 2,
            Op::Scalar { .. } | Op::Mad { .. } | Op::Simd { .. } => 3,
        };
        Signature::new(&vec![RegClass::B32; sources], &[RegClass::B32])
    }

    /// The operator as a reading has it.
    #[must_use]
    pub fn read_as(mut self, as_read: Reading) -> Op {
        match &mut self {
            Op::Scalar {
                op,
                signed,
                a,
                b: _,
                sat,
                second,
                reading,
            } => {
                let compares = matches!(second, Second::Min | Second::Max);
                let differs = match op {
                    ScalarOp::Set(_) => compares && a.signed,
                    ScalarOp::Shl { .. } | ScalarOp::Shr { .. } => *sat || compares,
                    ScalarOp::Add
                    | ScalarOp::Sub
                    | ScalarOp::AbsDiff
                    | ScalarOp::Min
                    | ScalarOp::Max => {
                        compares || *sat && (!*signed || matches!(second, Second::Merge(_)))
                    }
                };
                if differs {
                    *reading = as_read;
                }
            }
            // The low word of the sum is the same.
            Op::Mad {
                sat,
                shift,
                reading,
                ..
            } if *sat || *shift > 0 => *reading = as_read,
            Op::Mad { .. } | Op::Simd { .. } => {}
        }
        self
    }
}
