//! Conversions to, from and among floating-point numbers. PTX ISA, `cvt`.

use crate::ir::float::{Clamp, FloatTy, Mode, Rounding};
use crate::ir::{IntTy, Reading, RegClass, Signature};

/// The operators. Formats have one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// d = the integer a, rounded; clamped to 0.0..1.0 if `sat`.
    #[allow(missing_docs)]
    FromInt {
        from: IntTy,
        to: FloatTy,
        rounding: Rounding,
        sat: bool,
    },
    /// d = a rounded to an integer, then clamped to `to`, then extended by the sign of `to` to the class `dst` of d. `ftz`: subnormal
    /// a count as zeros. [`nan_to_int`] of NaN.
    #[allow(missing_docs)]
    ToInt {
        from: FloatTy,
        to: IntTy,
        rounding: Rounding,
        ftz: bool,
        dst: RegClass,
    },
    /// d = a in another format, or in its own. Rounding matters where `to` does not hold every number of `from`. `.ftz`: as
    /// [`flushes`] says, and results of `.f32` become zeros where they are subnormal.
    #[allow(missing_docs)]
    Between {
        from: FloatTy,
        to: FloatTy,
        mode: Mode,
    },
    /// d = a rounded to an integer, in its own format.
    #[allow(missing_docs)]
    Integral { ty: FloatTy, mode: Mode },
}

impl Op {
    /// Classes of sources and destinations.
    pub fn signature(self) -> Signature {
        match self {
            Op::FromInt { from, to, .. } => Signature::new(&[from.class()], &[to.class()]),
            Op::ToInt { from, dst, .. } => Signature::new(&[from.class()], &[dst]),
            Op::Between { from, to, .. } => Signature::new(&[from.class()], &[to.class()]),
            Op::Integral { ty, .. } => Signature::new(&[ty.class()], &[ty.class()]),
        }
    }
}

impl Op {
    /// The operator as a reading has it: NVIDIA's tools ignore `.ftz` where a `.f32` is rounded up or down to a `.f16`.
    #[must_use]
    pub fn read_as(mut self, reading: Reading) -> Op {
        if let Op::Between {
            from: FloatTy::F32,
            to: FloatTy::F16,
            mode,
        } = &mut self
            && matches!(mode.rounding, Rounding::Rm | Rounding::Rp)
        {
            mode.ftz &= reading == Reading::Text;
        }
        self
    }

    /// Whether the source is a `.f32` or `.f64` whose NaN may have any payload: it is not looked at.
    pub fn takes_number(self) -> bool {
        let scalar = |ty| matches!(ty, FloatTy::F32 | FloatTy::F64);
        match self {
            Op::FromInt { .. } => false,
            Op::ToInt { from, .. } => scalar(from),
            Op::Integral { ty, .. } => scalar(ty),
            Op::Between { from, to, mode } => {
                scalar(from) && to != from && !(to == FloatTy::F32 && mode.clamp == Clamp::None)
            }
        }
    }

    /// The format of the result, if that is `.f32` or `.f64` and any NaN in it the canonical one.
    pub fn canonical(self) -> Option<FloatTy> {
        let to = match self {
            Op::FromInt { to, .. } => to,
            Op::Integral { ty, .. } => ty,
            Op::Between {
                from: FloatTy::F16,
                to: FloatTy::F32,
                ..
            } => FloatTy::F32,
            Op::Between { .. } | Op::ToInt { .. } => return None,
        };
        matches!(to, FloatTy::F32 | FloatTy::F64).then_some(to)
    }
}

/// What a NaN becomes as an integer: 0, but the upper bit alone where either side has 64 bits.
pub fn nan_to_int(from: FloatTy, to: IntTy) -> u64 {
    if from == FloatTy::F64 || to.bits() == 64 {
        1 << (to.bits() - 1)
    } else {
        0
    }
}

/// What a NaN of `.f64` rounded to an integer becomes: as in arithmetic.
pub const INTEGRAL_NAN: u64 = 0xfff8_0000_0000_0000;

/// Whether `.ftz` of a conversion makes zeros of subnormal sources: those of `.f32`.
pub fn flushes(from: FloatTy, ftz: bool) -> bool {
    ftz && from == FloatTy::F32
}

/// Whether a conversion leaves all bits as they are, those of a NaN, too: it is a copy for NVIDIA's assembler.
pub fn copies(from: FloatTy, to: FloatTy, mode: Mode) -> bool {
    let same = from == to && matches!(from, FloatTy::F32 | FloatTy::F64);
    same && !flushes(from, mode.ftz) && mode.clamp == Clamp::None
}
