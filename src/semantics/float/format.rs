//! Bits of the formats of one lane.

use crate::ir::float::FloatTy;

/// The sign's bit.
pub(super) fn sign(ty: FloatTy) -> u64 {
    1 << (ty.lane().bits() - 1)
}

/// Infinity.
pub(super) fn infinity(ty: FloatTy) -> u64 {
    match ty.lane() {
        FloatTy::F16 | FloatTy::F16x2 => 0x7c00,
        FloatTy::Bf16 | FloatTy::Bf16x2 => 0x7f80,
        FloatTy::F32 | FloatTy::F32x2 => 0x7f80_0000,
        FloatTy::F64 => 0x7ff0_0000_0000_0000,
    }
}

/// 1.0
pub(super) fn one(ty: FloatTy) -> u64 {
    match ty.lane() {
        FloatTy::F16 | FloatTy::F16x2 => 0x3c00,
        FloatTy::Bf16 | FloatTy::Bf16x2 => 0x3f80,
        FloatTy::F32 | FloatTy::F32x2 => 0x3f80_0000,
        FloatTy::F64 => 0x3ff0_0000_0000_0000,
    }
}

/// The canonical NaN.
pub(super) fn nan(ty: FloatTy) -> u64 {
    match ty.lane() {
        FloatTy::F32 | FloatTy::F32x2 => 0x7fff_ffff,
        FloatTy::F64 => 0xfff8_0000_0000_0000,
        FloatTy::F16 | FloatTy::F16x2 | FloatTy::Bf16 | FloatTy::Bf16x2 => 0x7fff,
    }
}

/// Whether it is NaN.
pub(super) fn is_nan(ty: FloatTy, x: u64) -> bool {
    x & !sign(ty) > infinity(ty)
}

/// The operand, with `.ftz` a zero of its sign for a subnormal one.
pub(super) fn flushed(ty: FloatTy, ftz: bool, x: u64) -> u64 {
    let subnormal = x & infinity(ty) == 0;
    if ftz && subnormal { x & sign(ty) } else { x }
}
