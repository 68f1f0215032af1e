//! Floating-point arithmetic. PTX ISA, "Floating Point Instructions", "Half Precision Floating Point Instructions",
//! "Mixed Precision Floating Point Instructions".

pub mod approx;
mod compare;

pub use approx::Approx;
pub use compare::{Class, Extreme, Mark, Relation, Sign, Signs};

use super::compare::BoolOp;
use super::{RegClass, Signature};
use std::fmt;

/// A floating-point format of arithmetic. PTX ISA, "Fundamental Types", "Alternate Floating-Point Data Formats",
/// "Packed Data Types". Packed ones are lanes side by side, the first in the low bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum FloatTy {
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F32x2,
    F64,
}

impl FloatTy {
    /// All of them.
    pub const ALL: [FloatTy; 7] = [
        FloatTy::F16,
        FloatTy::F16x2,
        FloatTy::Bf16,
        FloatTy::Bf16x2,
        FloatTy::F32,
        FloatTy::F32x2,
        FloatTy::F64,
    ];

    /// The format of one lane; itself where there is one.
    #[must_use]
    pub fn lane(self) -> FloatTy {
        match self {
            FloatTy::F16 | FloatTy::F16x2 => FloatTy::F16,
            FloatTy::Bf16 | FloatTy::Bf16x2 => FloatTy::Bf16,
            FloatTy::F32 | FloatTy::F32x2 => FloatTy::F32,
            FloatTy::F64 => FloatTy::F64,
        }
    }

    /// The number of lanes, 1 or 2.
    pub fn lanes(self) -> u32 {
        match self {
            FloatTy::F16 | FloatTy::Bf16 | FloatTy::F32 | FloatTy::F64 => 1,
            FloatTy::F16x2 | FloatTy::Bf16x2 | FloatTy::F32x2 => 2,
        }
    }

    /// Width in bits, of all lanes together.
    pub fn bits(self) -> u32 {
        self.class().bits()
    }

    /// The register class of the same width.
    pub fn class(self) -> RegClass {
        match self {
            FloatTy::F16 | FloatTy::Bf16 => RegClass::B16,
            FloatTy::F16x2 | FloatTy::Bf16x2 | FloatTy::F32 => RegClass::B32,
            FloatTy::F32x2 | FloatTy::F64 => RegClass::B64,
        }
    }
}

impl fmt::Display for FloatTy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FloatTy::F16 => "f16",
            FloatTy::F16x2 => "f16x2",
            FloatTy::Bf16 => "bf16",
            FloatTy::Bf16x2 => "bf16x2",
            FloatTy::F32 => "f32",
            FloatTy::F32x2 => "f32x2",
            FloatTy::F64 => "f64",
        })
    }
}

/// How a result is rounded. PTX ISA, "Rounding Modifiers".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// `.rn`: to the nearest, ties to even.
    Rn,
    /// `.rz`: towards zero.
    Rz,
    /// `.rm`: towards negative infinity.
    Rm,
    /// `.rp`: towards positive infinity.
    Rp,
}

/// What is done to a result beyond rounding it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Clamp {
    /// Nothing.
    None,
    /// `.sat`: clamped to 0.0..1.0, NaN becomes +0.
    Sat,
    /// `.relu`: negative results become 0, NaN stays.
    Relu,
}

/// How an operation of arithmetic treats operands and result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mode {
    /// How the result is rounded.
    pub rounding: Rounding,
    /// `.ftz`: subnormal operands and results become zeros of their sign.
    pub ftz: bool,
    /// What is done to the rounded result.
    pub clamp: Clamp,
}

/// Operators of two operands that round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Arith {
    Add,
    Sub,
    Mul,
    Div,
}

/// Operators of mixed precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Mixed {
    Add,
    Sub,
    Fma,
}

/// The NaN of what is out of bounds, of `.f16` and `.bf16`. The text names it and does not say which one it is; tensor copies are
/// seen to fill this one in.
pub const OOB_NAN: u64 = 0x7ff7;

/// The operators. Packed formats: the same in each lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// d = a op b, rounded once. NaN results are the canonical NaN, but quotients of an `.f64` NaN are that.
    #[allow(missing_docs)]
    Arith { op: Arith, ty: FloatTy, mode: Mode },
    /// d = a * b + c, rounded once.
    #[allow(missing_docs)]
    Fma { ty: FloatTy, mode: Mode },
    /// As [`Op::Fma`], and +0 in each lane where a or b is the NaN that copies of tensors fill in for what is out of bounds:
    /// [`OOB_NAN`]. `.f16`, `.bf16` and packed ones only.
    #[allow(missing_docs)]
    FmaOob { ty: FloatTy, mode: Mode },
    /// `.f32` of operands of which the first, and the second of three, are `from`.
    #[allow(missing_docs)]
    Mixed {
        op: Mixed,
        from: FloatTy,
        mode: Mode,
    },
    /// d = 1 / a, rounded once. `.f32` and `.f64` only; of an `.f64` NaN that.
    #[allow(missing_docs)]
    Rcp { ty: FloatTy, mode: Mode },
    /// d = the square root of a, rounded once. `.f32` and `.f64` only; of an `.f64` NaN that.
    #[allow(missing_docs)]
    Sqrt { ty: FloatTy, mode: Mode },
    /// d = a with another sign. NaN gives the canonical NaN, or, of `.f64`, itself with that sign.
    #[allow(missing_docs)]
    Sign { op: Sign, ty: FloatTy, ftz: bool },
    /// d = b with the sign of a, bit for bit.
    #[allow(missing_docs)]
    Copysign { ty: FloatTy },
    /// d = the least or greatest of two or three operands.
    Extreme(Extreme),
    /// p = whether a is of the class.
    #[allow(missing_docs)]
    Testp { class: Class, ty: FloatTy },
    /// t = a cmp b. Destinations p = t, q = !t; with `combine` (source c): p = t op c, q = !t op c. Packed formats: p for the first
    /// lane, q for the second.
    #[allow(missing_docs)]
    Setp {
        cmp: Relation,
        ty: FloatTy,
        ftz: bool,
        combine: Option<BoolOp>,
    },
    /// d = the mark of true where t (combined with source c), else 0. Packed formats: in each lane.
    #[allow(missing_docs)]
    Set {
        cmp: Relation,
        ty: FloatTy,
        ftz: bool,
        combine: Option<BoolOp>,
        to: Mark,
    },
    /// d = c >= 0 ? a : b, c `.f32`; NaN chooses b. Sources a b c.
    #[allow(missing_docs)]
    Slct { class: RegClass, ftz: bool },
    /// d = an approximation, within the bounds of the ISA.
    #[allow(missing_docs)]
    Approx { op: Approx, ty: FloatTy, ftz: bool },
}

impl Op {
    /// The format, if it is `.f32` or `.f64`: what registers for floating-point numbers hold.
    pub fn scalar(self) -> Option<FloatTy> {
        let ty = match self {
            Op::Arith { ty, .. }
            | Op::Fma { ty, .. }
            | Op::FmaOob { ty, .. }
            | Op::Rcp { ty, .. }
            | Op::Sqrt { ty, .. }
            | Op::Sign { ty, .. }
            | Op::Copysign { ty }
            | Op::Extreme(Extreme { ty, .. })
            | Op::Testp { ty, .. }
            | Op::Setp { ty, .. }
            | Op::Set { ty, .. }
            | Op::Approx { ty, .. } => ty,
            Op::Mixed { .. } | Op::Slct { .. } => FloatTy::F32,
        };
        matches!(ty, FloatTy::F32 | FloatTy::F64).then_some(ty)
    }

    /// The format of the result, if that is `.f32` or `.f64` and any NaN in it the canonical one.
    pub fn canonical(self) -> Option<FloatTy> {
        match self {
            Op::Arith {
                op: Arith::Add | Arith::Sub | Arith::Mul,
                ..
            }
            | Op::Fma { .. }
            | Op::FmaOob { .. }
            | Op::Mixed { .. }
            | Op::Extreme(_) => self.scalar(),
            // NaN of `.f64` passes through these.
            Op::Arith { op: Arith::Div, .. }
            | Op::Rcp { .. }
            | Op::Sqrt { .. }
            | Op::Sign { .. } => self.scalar().filter(|ty| *ty == FloatTy::F32),
            // NaN of the upper words of `.f64` is another.
            Op::Approx { ty, ftz, .. } => self.scalar().filter(|_| ty != FloatTy::F64 || !ftz),
            Op::Copysign { .. }
            | Op::Testp { .. }
            | Op::Setp { .. }
            | Op::Set { .. }
            | Op::Slct { .. } => None,
        }
    }

    /// Classes of sources and destinations.
    pub fn signature(self) -> Signature {
        use RegClass::{B32, Pred};
        let same = |ty: FloatTy, count: usize| {
            Signature::new(&[ty.class(); 3][..count.min(3)], &[ty.class()])
        };
        let compared = |ty: FloatTy, combine: Option<BoolOp>, dsts: &[RegClass]| {
            let mut signature = Signature::new(&[ty.class(); 2], dsts);
            signature.srcs.extend(combine.map(|_| Pred));
            signature
        };
        match self {
            Op::Arith { ty, .. } | Op::Copysign { ty } => same(ty, 2),
            Op::Fma { ty, .. } | Op::FmaOob { ty, .. } => same(ty, 3),
            Op::Mixed { op, from, .. } => {
                let halves = if op == Mixed::Fma { 2 } else { 1 };
                let mut signature = Signature::new(&[from.class(); 2][..halves], &[B32]);
                signature.srcs.push(B32);
                signature
            }
            Op::Rcp { ty, .. } | Op::Sqrt { ty, .. } | Op::Sign { ty, .. } => same(ty, 1),
            Op::Extreme(Extreme { ty, three, .. }) => same(ty, if three { 3 } else { 2 }),
            Op::Testp { ty, .. } => Signature::new(&[ty.class()], &[Pred]),
            Op::Setp { ty, combine, .. } => compared(ty, combine, &[Pred, Pred]),
            Op::Set {
                ty, combine, to, ..
            } => compared(ty, combine, &[to.class()]),
            Op::Slct { class, .. } => Signature::new(&[class, class, B32], &[class]),
            Op::Approx { op, ty, .. } => same(ty, op.operands()),
        }
    }
    /// The operator as targets before sm_20 have it, which flush subnormal `.f32` operands and results always. PTX ISA, the notes on
    /// subnormal numbers of each instruction.
    #[must_use]
    pub fn flushing(mut self) -> Op {
        let (ty, ftz) = match &mut self {
            Op::Arith { ty, mode, .. }
            | Op::Fma { ty, mode }
            | Op::FmaOob { ty, mode }
            | Op::Rcp { ty, mode }
            | Op::Sqrt { ty, mode } => (*ty, &mut mode.ftz),
            Op::Sign { ty, ftz, .. }
            | Op::Setp { ty, ftz, .. }
            | Op::Set { ty, ftz, .. }
            | Op::Approx { ty, ftz, .. } => (*ty, ftz),
            Op::Extreme(Extreme { ty, ftz, .. }) => (*ty, ftz),
            Op::Mixed { mode, .. } => (FloatTy::F32, &mut mode.ftz),
            Op::Slct { ftz, .. } => (FloatTy::F32, ftz),
            Op::Copysign { .. } | Op::Testp { .. } => return self,
        };
        *ftz |= ty == FloatTy::F32;
        self
    }
}
