//! Moves and conversions in Cranelift IR.

mod float;
mod small;

use super::emit::{Emit, clif_type};
use crate::ir::convert::{Op, PackTy};
use crate::ir::memory::Space;
use crate::ir::{IntTy, RegClass};
use crate::machine::window;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I64};
use cranelift_codegen::ir::{InstBuilder, Value};

impl Emit<'_, '_> {
    /// The result of an operator.
    pub(super) fn convert(&mut self, op: Op, srcs: &[Value]) -> Value {
        match op {
            Op::Mov { .. } => srcs[0],
            Op::Cvt { from, to, sat, dst } => self.cvt(from, to, sat, dst, srcs[0]),
            Op::Float(op) => self.float_convert(op, srcs[0]),
            Op::Small(op) => self.small_convert(op, srcs),
            Op::Pack { elem, count } => self.pack(elem, count, srcs),
            Op::Extract { elem, index, .. } => {
                let part = self.shr_k(srcs[0], elem.bits() * u32::from(index));
                self.resize(part, clif_type(elem), false)
            }
            Op::CvtPack { ty, onto } => {
                let a = self.cvt_pack_part(ty, srcs[0]);
                let b = self.cvt_pack_part(ty, srcs[1]);
                let a = self.shl_k(a, ty.bits());
                let pair = self.or(a, b);
                if onto {
                    let above = self.shl_k(srcs[2], 2 * ty.bits());
                    self.or(above, pair)
                } else {
                    pair
                }
            }
            Op::Cvta { space, to, .. } => match window::base(space, self.address_bits) {
                None => srcs[0],
                Some(base) => {
                    let offset = if to { base.wrapping_neg() } else { base };
                    self.add_k(srcs[0], offset)
                }
            },
            Op::Isspacep { space, .. } => self.isspacep(space, srcs[0]),
        }
    }

    fn cvt(&mut self, from: IntTy, to: IntTy, sat: bool, dst: RegClass, a: Value) -> Value {
        let mut a = a;
        if sat {
            let ends = |ty: IntTy| {
                if ty.signed() {
                    let most = i128::from(ty.mask() >> 1);
                    (-most - 1, most)
                } else {
                    (0, i128::from(ty.mask()))
                }
            };
            let ((least_from, most_from), (least, most)) = (ends(from), ends(to));
            if most < most_from {
                let most = self.k(self.ty(a), most as u64);
                a = if from.signed() {
                    self.ins().smin(a, most)
                } else {
                    self.ins().umin(a, most)
                };
            }
            if least > least_from {
                let least = self.k(self.ty(a), least as u64);
                a = self.ins().smax(a, least);
            }
        }
        let a = self.resize(a, clif_type(to.class()), from.signed());
        self.resize(a, clif_type(dst), to.signed())
    }

    fn pack(&mut self, elem: RegClass, count: u8, srcs: &[Value]) -> Value {
        let bits = elem.bits() * u32::from(count);
        let ty = clif_type(RegClass::of_bits(bits).unwrap_or(RegClass::B64));
        let mut d = self.resize(srcs[0], ty, false);
        for (i, &src) in (1..).zip(&srcs[1..]) {
            let part = self.resize(src, ty, false);
            let part = self.shl_k(part, elem.bits() * i);
            d = self.or(d, part);
        }
        d
    }

    /// The low bits of x clamped to `ty`.
    fn cvt_pack_part(&mut self, ty: PackTy, x: Value) -> Value {
        let bits = ty.bits();
        let (least, most) = if ty.signed() {
            (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1)
        } else {
            (0, (1i64 << bits) - 1)
        };
        let clamped = self.clamp_k(x, least, most);
        if ty.signed() {
            self.and_k(clamped, (1 << bits) - 1)
        } else {
            clamped
        }
    }

    /// Whether a generic address lies in a window; what lies in none is global.
    fn isspacep(&mut self, space: Space, a: Value) -> Value {
        let (shift, bias) = if self.address_bits == 32 {
            (28, 10)
        } else {
            (56, 0)
        };
        let a = self.resize(a, I64, false);
        let number = self.shr_k(a, shift);
        match window::base(space, self.address_bits) {
            Some(base) => self.cmp_k(IntCC::Equal, number, base >> shift),
            None if space == Space::Global => {
                let first = self.add_k(number, u64::wrapping_sub(0, bias + 1));
                self.cmp_k(IntCC::UnsignedGreaterThanOrEqual, first, 4)
            }
            None => self.k(I8, 0),
        }
    }
}
