//! Types as instructions spell them. PTX ISA, "Fundamental Types".

use crate::ir::float::FloatTy;
use crate::ir::{IntTy, RegClass};

/// What a type says beside its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TyKind {
    /// `.pred`
    Pred,
    /// `.bN`: untyped bits.
    Bits,
    /// `.uN`
    Unsigned,
    /// `.sN`
    Signed,
    /// `.f16`, `.f32`, `.f64`
    Float,
    /// `.u16x2`, `.s16x2`, `.u8x4`, `.s8x4`: integer lanes in 32 bits.
    PackedInt {
        /// `.s16x2`, `.s8x4`
        signed: bool,
        /// 2 or 4.
        lanes: u8,
    },
    /// `.f16x2`, `.f32x2`: floating-point lanes.
    PackedFloat,
    /// `.bf16`, `.bf16x2` and other alternate formats, by their word: they live in untyped registers.
    Alternate(&'static str),
}

/// A type of an instruction or operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ty {
    /// Untyped, integer, float.
    pub kind: TyKind,
    /// Width in bits; 1 for `.pred`, up to 128.
    pub bits: u32,
}

impl Ty {
    /// `.pred`
    pub const PRED: Ty = Ty::new(TyKind::Pred, 1);
    /// `.b32`
    pub const B32: Ty = Ty::new(TyKind::Bits, 32);
    /// `.b64`
    pub const B64: Ty = Ty::new(TyKind::Bits, 64);
    /// `.u16`
    pub const U16: Ty = Ty::new(TyKind::Unsigned, 16);
    /// `.u32`
    pub const U32: Ty = Ty::new(TyKind::Unsigned, 32);
    /// `.s32`
    pub const S32: Ty = Ty::new(TyKind::Signed, 32);
    /// `.u64`
    pub const U64: Ty = Ty::new(TyKind::Unsigned, 64);
    /// `.f32`
    pub const F32: Ty = Ty::new(TyKind::Float, 32);
    /// `.b16`, of registers that are declared as such.
    pub const RAW_B16: Ty = Ty::new(TyKind::Alternate("b16"), 16);
    /// `.b32`, of registers that are declared as such.
    pub const RAW_B32: Ty = Ty::new(TyKind::Alternate("b32"), 32);

    const fn new(kind: TyKind, bits: u32) -> Ty {
        Ty { kind, bits }
    }

    const fn packed(signed: bool, lanes: u8) -> Ty {
        Ty::new(TyKind::PackedInt { signed, lanes }, 32)
    }

    /// The type that a word names, without its dot. Narrow types of `cvt.pack` are not among them.
    pub fn parse(word: &str) -> Option<Ty> {
        let kind = match word {
            "pred" => return Some(Ty::PRED),
            "u16x2" => return Some(Ty::packed(false, 2)),
            "s16x2" => return Some(Ty::packed(true, 2)),
            "u8x4" => return Some(Ty::packed(false, 4)),
            "s8x4" => return Some(Ty::packed(true, 4)),
            "f16x2" => return Some(Ty::new(TyKind::PackedFloat, 32)),
            "f32x2" => return Some(Ty::new(TyKind::PackedFloat, 64)),
            "bf16" => return Some(Ty::new(TyKind::Alternate("bf16"), 16)),
            "bf16x2" => return Some(Ty::new(TyKind::Alternate("bf16x2"), 32)),
            "tf32" => return Some(Ty::new(TyKind::Alternate("tf32"), 32)),
            "e4m3" => return Some(Ty::new(TyKind::Alternate("e4m3"), 8)),
            "e5m2" => return Some(Ty::new(TyKind::Alternate("e5m2"), 8)),
            "e2m1x2" => return Some(Ty::new(TyKind::Alternate("e2m1x2"), 8)),
            "e4m3x2" => return Some(Ty::new(TyKind::Alternate("e4m3x2"), 16)),
            "e5m2x2" => return Some(Ty::new(TyKind::Alternate("e5m2x2"), 16)),
            "e2m3x2" => return Some(Ty::new(TyKind::Alternate("e2m3x2"), 16)),
            "e3m2x2" => return Some(Ty::new(TyKind::Alternate("e3m2x2"), 16)),
            "ue8m0x2" => return Some(Ty::new(TyKind::Alternate("ue8m0x2"), 16)),
            "s2f6x2" => return Some(Ty::new(TyKind::Alternate("s2f6x2"), 16)),
            "e2m1x4" => return Some(Ty::new(TyKind::Alternate("e2m1x4"), 16)),
            "e4m3x4" => return Some(Ty::new(TyKind::Alternate("e4m3x4"), 32)),
            "e5m2x4" => return Some(Ty::new(TyKind::Alternate("e5m2x4"), 32)),
            "e2m3x4" => return Some(Ty::new(TyKind::Alternate("e2m3x4"), 32)),
            "e3m2x4" => return Some(Ty::new(TyKind::Alternate("e3m2x4"), 32)),
            _ => match word.as_bytes().first()? {
                b'b' => TyKind::Bits,
                b'u' => TyKind::Unsigned,
                b's' => TyKind::Signed,
                b'f' => TyKind::Float,
                _ => return None,
            },
        };
        let bits = match word.get(1..)? {
            "8" => 8,
            "16" => 16,
            "32" => 32,
            "64" => 64,
            "128" => 128,
            _ => return None,
        };
        Some(Ty { kind, bits })
    }

    /// The integer type; `.bN` and packed lanes count as unsigned words.
    pub fn int(self) -> Option<IntTy> {
        match self.kind {
            TyKind::Bits | TyKind::Unsigned | TyKind::PackedInt { .. } => {
                IntTy::new(self.class()?, false)
            }
            TyKind::Signed => IntTy::new(self.class()?, true),
            TyKind::Pred | TyKind::Float | TyKind::PackedFloat | TyKind::Alternate(_) => None,
        }
    }

    /// The floating-point format that arithmetic has for the type.
    pub fn float(self) -> Option<FloatTy> {
        match (self.kind, self.bits) {
            (TyKind::Float, 16) => Some(FloatTy::F16),
            (TyKind::Float, 32) => Some(FloatTy::F32),
            (TyKind::Float, 64) => Some(FloatTy::F64),
            (TyKind::PackedFloat, 32) => Some(FloatTy::F16x2),
            (TyKind::PackedFloat, 64) => Some(FloatTy::F32x2),
            (TyKind::Alternate("bf16"), _) => Some(FloatTy::Bf16),
            (TyKind::Alternate("bf16x2"), _) => Some(FloatTy::Bf16x2),
            (
                TyKind::Pred
                | TyKind::Bits
                | TyKind::Unsigned
                | TyKind::Signed
                | TyKind::Float
                | TyKind::PackedInt { .. }
                | TyKind::PackedFloat
                | TyKind::Alternate(_),
                _,
            ) => None,
        }
    }

    /// Whether a constant may stand for an operand of the type: all but floating-point numbers of 16 bits and packed ones.
    pub fn has_constants(self) -> bool {
        match self.kind {
            TyKind::Float => self.bits > 16,
            TyKind::PackedFloat | TyKind::Alternate(_) => false,
            TyKind::Pred
            | TyKind::Bits
            | TyKind::Unsigned
            | TyKind::Signed
            | TyKind::PackedInt { .. } => true,
        }
    }

    /// The register class; `None` for 128 bits.
    pub fn class(self) -> Option<RegClass> {
        match self.bits {
            1 => Some(RegClass::Pred),
            bits => RegClass::of_bits(bits),
        }
    }

    /// The type of the same kind and twice the width, as `.wide` gives it.
    #[must_use]
    pub fn widened(self) -> Ty {
        Ty::new(self.kind, self.bits * 2)
    }
}

impl std::fmt::Display for Ty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            TyKind::Pred => f.write_str(".pred"),
            TyKind::Bits => write!(f, ".b{}", self.bits),
            TyKind::Unsigned => write!(f, ".u{}", self.bits),
            TyKind::Signed => write!(f, ".s{}", self.bits),
            TyKind::Float => write!(f, ".f{}", self.bits),
            TyKind::PackedInt { signed, lanes } => write!(
                f,
                ".{}{}x{lanes}",
                if signed { 's' } else { 'u' },
                32 / u32::from(lanes)
            ),
            TyKind::PackedFloat => write!(f, ".f{}x2", self.bits / 2),
            TyKind::Alternate(word) => write!(f, ".{word}"),
        }
    }
}
