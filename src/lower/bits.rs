//! Logic, shifts, bit fields and bit counts in Cranelift IR.

use super::emit::{Emit, clif_type};
use super::{lop3, prmt};
use crate::ir::bits::Op;
use crate::ir::{IntTy, Reading, RegClass};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use smallvec::{SmallVec, smallvec};

impl Emit<'_, '_> {
    /// The results of an operator.
    pub(super) fn bits(&mut self, op: Op, srcs: &[Value]) -> SmallVec<[Value; 2]> {
        let d = match op {
            Op::And { .. } => self.ins().band(srcs[0], srcs[1]),
            Op::Or { .. } => self.ins().bor(srcs[0], srcs[1]),
            Op::Xor { .. } => self.ins().bxor(srcs[0], srcs[1]),
            Op::Not {
                class: RegClass::Pred,
            } => {
                let one = self.k(self.ty(srcs[0]), 1);
                self.ins().bxor(srcs[0], one)
            }
            Op::Not { .. } => self.ins().bnot(srcs[0]),
            Op::Cnot { class } => {
                let zero = self.cmp_k(IntCC::Equal, srcs[0], 0);
                self.resize(zero, clif_type(class), false)
            }
            Op::Lop3 { lut } => lop3::lower(self, lut, [srcs[0], srcs[1], srcs[2]]),
            Op::Lop3Pred { lut, combine } => {
                let d = lop3::lower(self, lut, [srcs[0], srcs[1], srcs[2]]);
                let nonzero = self.cmp_k(IntCC::NotEqual, d, 0);
                return smallvec![d, self.combine(combine, nonzero, srcs[3])];
            }
            Op::Shf { left, wrap } => self.shf(left, wrap, srcs[0], srcs[1], srcs[2]),
            Op::Shl { class } => self.shl(class, srcs[0], srcs[1]),
            Op::Shr { ty } => self.shr(ty, srcs[0], srcs[1]),
            Op::Prmt { mode } => prmt::lower(self, mode, srcs[0], srcs[1], srcs[2]),
            Op::Popc { .. } => {
                let count = self.ins().popcnt(srcs[0]);
                self.resize(count, I32, false)
            }
            Op::Clz { .. } => {
                let count = self.ins().clz(srcs[0]);
                self.resize(count, I32, false)
            }
            Op::Bfind { ty, shiftamt } => self.bfind(ty, shiftamt, srcs[0]),
            Op::Fns { reading } => {
                let d = self.fns(srcs[0], srcs[1], srcs[2]);
                match reading {
                    Reading::Text => d,
                    Reading::Nvidia => {
                        let least = self.cmp_k(IntCC::Equal, srcs[2], 0x8000_0000);
                        let zero = self.k(I32, 0);
                        self.select(least, zero, d)
                    }
                }
            }
            Op::Brev { class } => self.brev(class, srcs[0]),
            Op::Bfe { ty, reading } => {
                let [pos, len] = [srcs[1], srcs[2]].map(|x| self.extent(reading, x));
                self.bfe(ty, srcs[0], pos, len)
            }
            Op::Bfi { class, reading } => {
                let [pos, len] = [srcs[2], srcs[3]].map(|x| self.extent(reading, x));
                self.bfi(class, srcs[0], srcs[1], pos, len)
            }
            Op::Bmsk { wrap } => self.bmsk(wrap, srcs[0], srcs[1]),
            Op::Szext { signed, wrap } => self.szext(signed, wrap, srcs[0], srcs[1]),
        };
        smallvec![d]
    }

    fn shf(&mut self, left: bool, wrap: bool, a: Value, b: Value, c: Value) -> Value {
        if let Some(count) = self.constant(c) {
            let n = if wrap { count & 31 } else { count.min(32) } as u32;
            return match (left, n) {
                (true, 0) | (false, 32) => b,
                (false, 0) | (true, 32) => a,
                (true, n) if a == b => self.rotate_left_k(a, n),
                (false, n) if a == b => self.rotate_left_k(a, 32 - n),
                (left, n) => {
                    let up = if left { n } else { 32 - n };
                    let high = self.shl_k(b, up);
                    let low = self.shr_k(a, 32 - up);
                    self.or(high, low)
                }
            };
        }
        if !wrap {
            let [low, high] = [a, b].map(|x| self.resize(x, I64, false));
            let high = self.shl_k(high, 32);
            let both = self.or(high, low);
            let n = self.umin_k(c, 32);
            let shifted = if left {
                let shifted = self.ins().ishl(both, n);
                self.shr_k(shifted, 32)
            } else {
                self.ins().ushr(both, n)
            };
            return self.resize(shifted, I32, false);
        }
        // Shift counts are taken modulo the width by Cranelift too.
        let c = self.without_mask(c, 5);
        if a == b {
            return if left {
                self.ins().rotl(a, c)
            } else {
                self.ins().rotr(a, c)
            };
        }
        // The other word moves by 32 - n, in two steps since n may be 0.
        let rest = self.ins().bnot(c);
        if left {
            let high = self.ins().ishl(b, c);
            let low = self.shr_k(a, 1);
            let low = self.ins().ushr(low, rest);
            self.or(high, low)
        } else {
            let low = self.ins().ushr(a, c);
            let high = self.shl_k(b, 1);
            let high = self.ins().ishl(high, rest);
            self.or(high, low)
        }
    }

    pub(super) fn rotate_left_k(&mut self, x: Value, n: u32) -> Value {
        let n = self.k(I32, n.into());
        self.ins().rotl(x, n)
    }

    fn shl(&mut self, class: RegClass, a: Value, count: Value) -> Value {
        let bits = class.bits();
        if let Some(n) = self.constant(count) {
            return if n < bits.into() {
                self.shl_k(a, n as u32)
            } else {
                self.k(clif_type(class), 0)
            };
        }
        let shifted = self.ins().ishl(a, count);
        let within = self.cmp_k(IntCC::UnsignedLessThan, count, bits.into());
        self.select_or_k(within, shifted, 0)
    }

    fn shr(&mut self, ty: IntTy, a: Value, count: Value) -> Value {
        let bits = ty.bits();
        match (self.constant(count), ty.signed()) {
            (Some(n), true) => self.sar_k(a, n.min(u64::from(bits) - 1) as u32),
            (Some(n), false) if n < bits.into() => self.shr_k(a, n as u32),
            (Some(_), false) => self.k(clif_type(ty.class()), 0),
            (None, true) => {
                let n = self.umin_k(count, u64::from(bits) - 1);
                self.ins().sshr(a, n)
            }
            (None, false) => {
                let shifted = self.ins().ushr(a, count);
                let within = self.cmp_k(IntCC::UnsignedLessThan, count, bits.into());
                self.select_or_k(within, shifted, 0)
            }
        }
    }

    fn bfind(&mut self, ty: IntTy, shiftamt: bool, a: Value) -> Value {
        let a = if ty.signed() {
            let sign = self.sar_k(a, ty.bits() - 1);
            self.ins().bxor(a, sign)
        } else {
            a
        };
        let zeros = self.ins().clz(a);
        let zeros = self.resize(zeros, I32, false);
        if shiftamt {
            let none = self.cmp_k(IntCC::Equal, a, 0);
            let ones = self.k(I32, u64::MAX);
            self.select(none, ones, zeros)
        } else {
            // No bit: all zeros, which gives -1.
            let top = self.k(I32, u64::from(ty.bits()) - 1);
            self.ins().isub(top, zeros)
        }
    }

    /// The n-th one counted from `base`, by halving the word: how many ones has the lower half?
    fn fns(&mut self, mask: Value, base: Value, n: Value) -> Value {
        let ones = self.k(I32, u64::MAX);
        // Bits from base up, or for negative n from base down.
        let up = self.ins().ishl(ones, base);
        let rest = self.ins().bnot(base);
        let down = self.ins().ushr(ones, rest);
        let negative = self.cmp_k(IntCC::SignedLessThan, n, 0);
        let range = self.select(negative, down, up);
        let candidates = self.ins().band(mask, range);
        // Which one that is from the lowest candidate up, from 1.
        let count = self.ins().popcnt(candidates);
        let from_top = self.ins().iadd(count, n);
        let from_top = self.add_k(from_top, 1);
        let wanted = self.select(negative, from_top, n);
        // Negative and too large ones are found wanting by one unsigned comparison.
        let index = self.add_k(wanted, u64::MAX);
        let exists = self.ins().icmp(IntCC::UnsignedLessThan, index, count);
        let mut word = candidates;
        let mut left = wanted;
        let mut position = self.k(I32, 0);
        for half in [16, 8, 4, 2, 1] {
            let low = self.and_k(word, (1 << half) - 1);
            let low_count = self.ins().popcnt(low);
            let above = self.ins().icmp(IntCC::UnsignedGreaterThan, left, low_count);
            let reduced = self.ins().isub(left, low_count);
            let high = self.shr_k(word, half);
            let advanced = self.add_k(position, half.into());
            left = self.select(above, reduced, left);
            word = self.select(above, high, word);
            position = self.select(above, advanced, position);
        }
        let found = self.select_or_k(exists, position, u64::MAX);
        // n = 0: whether the bit at base itself is set.
        let shifted = self.ins().ushr(mask, base);
        let bit = self.and_k(shifted, 1);
        let own = self.select_or_k(bit, base, u64::MAX);
        let zero = self.cmp_k(IntCC::Equal, n, 0);
        let result = self.select(zero, own, found);
        let inside = self.cmp_k(IntCC::UnsignedLessThan, base, 32);
        self.select_or_k(inside, result, u64::MAX)
    }

    /// Reversed bytes, then halves, pairs and bits of each byte: shorter than Cranelift's own `bitrev`.
    fn brev(&mut self, class: RegClass, a: Value) -> Value {
        if !matches!(class, RegClass::B32 | RegClass::B64) {
            return self.ins().bitrev(a);
        }
        let mut x = self.ins().bswap(a);
        for (shift, mask) in [
            (4, 0x0f0f_0f0f_0f0f_0f0f),
            (2, 0x3333_3333_3333_3333),
            (1, 0x5555_5555_5555_5555),
        ] {
            let down = self.shr_k(x, shift);
            let down = self.and_k(down, mask & class.mask());
            let up = self.and_k(x, mask & class.mask());
            let up = self.shl_k(up, shift);
            x = self.or(down, up);
        }
        x
    }

    /// What counts of a position or length: the low 8 bits by the text, all by NVIDIA's tools.
    fn extent(&mut self, reading: Reading, x: Value) -> Value {
        match (reading, self.constant(x)) {
            (Reading::Nvidia, _) => x,
            (Reading::Text, Some(constant)) => self.k(I32, constant & 0xff),
            (Reading::Text, None) => self.and_k(x, 0xff),
        }
    }

    fn bfe(&mut self, ty: IntTy, a: Value, pos: Value, len: Value) -> Value {
        let bits = ty.bits();
        if let (Some(pos), Some(len)) = (self.constant(pos), self.constant(len)) {
            return self.bfe_k(ty, a, pos as u32, len as u32);
        }
        // 32-bit fields are cut out of 64 bits, where no count is at the width.
        let x = self.resize(a, I64, ty.signed());
        let empty = self.cmp_k(IntCC::Equal, len, 0);
        if ty.signed() {
            let pos = self.umin_k(pos, 63);
            let moved = self.ins().sshr(x, pos);
            // 64 - n, modulo 64; right for n = 64 too.
            let len = self.umin_k(len, if bits == 64 { 64 } else { 63 });
            let unused = self.ins().ineg(len);
            let field = self.ins().ishl(moved, unused);
            let field = self.ins().sshr(field, unused);
            let field = self.resize(field, clif_type(ty.class()), false);
            let zero = self.k(clif_type(ty.class()), 0);
            self.select(empty, zero, field)
        } else if bits == 64 {
            let moved = self.shl_or_shr(false, x, pos);
            let ones = self.low_ones(len);
            self.ins().band(moved, ones)
        } else {
            let pos = self.umin_k(pos, 63);
            let moved = self.ins().ushr(x, pos);
            let len = self.umin_k(len, 63);
            let ones = self.ones(I64, len);
            let field = self.ins().band(moved, ones);
            self.resize(field, clif_type(ty.class()), false)
        }
    }

    fn bfe_k(&mut self, ty: IntTy, a: Value, pos: u32, len: u32) -> Value {
        let bits = ty.bits();
        if len == 0 || (pos >= bits && !ty.signed()) {
            return self.k(clif_type(ty.class()), 0);
        }
        if ty.signed() {
            let pos = pos.min(bits - 1);
            let len = len.min(bits - pos);
            let up = self.shl_k(a, bits - pos - len);
            return self.sar_k(up, bits - len);
        }
        let moved = self.shr_k(a, pos);
        if len >= bits - pos {
            moved
        } else {
            self.and_k(moved, (1 << len) - 1)
        }
    }

    fn bfi(&mut self, class: RegClass, a: Value, b: Value, pos: Value, len: Value) -> Value {
        let bits = class.bits();
        if let (Some(pos), Some(len)) = (self.constant(pos), self.constant(len)) {
            let ones = u64::MAX.checked_shl(len as u32).map_or(u64::MAX, |x| !x);
            let field = ones.checked_shl(pos as u32).unwrap_or(0) & class.mask();
            if field == 0 {
                return b;
            }
            let moved = self.shl_k(a, pos as u32);
            if field == class.mask() {
                return moved;
            }
            let inside = self.and_k(moved, field);
            let outside = self.and_k(b, !field & class.mask());
            return self.or(inside, outside);
        }
        let (field, moved) = if bits == 64 {
            let ones = self.low_ones(len);
            let field = self.shl_or_shr(true, ones, pos);
            (field, self.ins().ishl(a, pos))
        } else {
            let (pos, len) = (self.umin_k(pos, 63), self.umin_k(len, 63));
            let ones = self.ones(I64, len);
            let field = self.ins().ishl(ones, pos);
            let x = self.resize(a, I64, false);
            let moved = self.ins().ishl(x, pos);
            let narrow = clif_type(class);
            (
                self.resize(field, narrow, false),
                self.resize(moved, narrow, false),
            )
        };
        let change = self.ins().bxor(moved, b);
        let change = self.ins().band(change, field);
        self.ins().bxor(change, b)
    }

    /// The low n bits set, n below the width of `ty` (or taken modulo it).
    fn ones(&mut self, ty: cranelift_codegen::ir::Type, n: Value) -> Value {
        let one = self.k(ty, 1);
        let power = self.ins().ishl(one, n);
        self.add_k(power, u64::MAX)
    }

    /// The low n of 64 bits set, all of them from n = 64 on.
    fn low_ones(&mut self, n: Value) -> Value {
        let some = self.ones(I64, n);
        let within = self.cmp_k(IntCC::UnsignedLessThan, n, 64);
        self.select_or_k(within, some, u64::MAX)
    }

    /// x << n or x >> n of 64 bits, 0 from n = 64 on.
    fn shl_or_shr(&mut self, left: bool, x: Value, n: Value) -> Value {
        let shifted = if left {
            self.ins().ishl(x, n)
        } else {
            self.ins().ushr(x, n)
        };
        let within = self.cmp_k(IntCC::UnsignedLessThan, n, 64);
        self.select_or_k(within, shifted, 0)
    }

    fn bmsk(&mut self, wrap: bool, a: Value, b: Value) -> Value {
        if wrap {
            let ones = self.ones(I32, b);
            return self.ins().ishl(ones, a);
        }
        let (a, b) = (self.umin_k(a, 63), self.umin_k(b, 63));
        let ones = self.ones(I64, b);
        let mask = self.ins().ishl(ones, a);
        self.resize(mask, I32, false)
    }

    fn szext(&mut self, signed: bool, wrap: bool, a: Value, b: Value) -> Value {
        let n = if wrap {
            self.and_k(b, 31)
        } else {
            self.umin_k(b, 32)
        };
        // 32 - n, modulo 32; right for n = 32 too.
        let unused = self.ins().ineg(n);
        let up = self.ins().ishl(a, unused);
        let extended = if signed {
            self.ins().sshr(up, unused)
        } else {
            self.ins().ushr(up, unused)
        };
        let empty = self.cmp_k(IntCC::Equal, n, 0);
        let zero = self.k(I32, 0);
        self.select(empty, zero, extended)
    }
}
