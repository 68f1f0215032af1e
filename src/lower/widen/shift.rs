//! Shifts and rotations of lanes. Cranelift has those by one count for all lanes; a count for each is multiplication by powers of 2.

use super::{All, Vectors, Widen};
use cranelift_codegen::ir::types::{I8X16, I32, I32X4, I64};
use cranelift_codegen::ir::{InstBuilder, Opcode, Type, Value};

impl Widen<'_, '_> {
    /// Shifts and rotations; the count is taken modulo the width.
    pub(super) fn shift(&mut self, opcode: Opcode, args: &[Value], ty: Type) -> Option<All> {
        use Opcode as Op;
        let bits = ty.bits();
        let x = match (opcode, ty) {
            (_, I64) => self.lanes(args[0])?,
            (Op::Sshr, _) => self.extended(args[0], true)?,
            (_, I32) | (Op::Ishl, _) => self.lanes(args[0])?,
            (Op::Ushr, _) => self.extended(args[0], false)?,
            _ => return None,
        };
        match self.all(args[1]) {
            All::One(count) => {
                let count = self.emit.resize(count, I32, false);
                let count = self.emit.and_k(count, u64::from(bits) - 1);
                if matches!(opcode, Op::Rotl | Op::Rotr) {
                    let rest = self.emit.ins().ineg(count);
                    let rest = self.emit.and_k(rest, u64::from(bits) - 1);
                    let (left, right) = match opcode {
                        Op::Rotl => (count, rest),
                        _ => (rest, count),
                    };
                    return Some(self.each(&x, |e, v| {
                        let high = e.ins().ishl(v, left);
                        let low = e.ins().ushr(v, right);
                        e.or(high, low)
                    }));
                }
                Some(self.each(&x, |e, v| match opcode {
                    Op::Ishl => e.ins().ishl(v, count),
                    Op::Ushr => e.ins().ushr(v, count),
                    _ => e.ins().sshr(v, count),
                }))
            }
            All::Mask(_) => None,
            All::Lanes(_) => {
                if ty != I32 {
                    return None;
                }
                let counts = match self.emit.ty(args[1]) {
                    I64 => {
                        let counts = self.lanes(args[1])?;
                        self.even_words(&counts)
                    }
                    _ => self.lanes(args[1])?,
                };
                let most = self.emit.lanes_k(I32X4, &[31; 4]);
                let counts: Vectors = (counts.into_iter())
                    .map(|c| self.emit.ins().band(c, most))
                    .collect();
                Some(All::Lanes(self.shift_lanes(opcode, &x, &counts)))
            }
        }
    }

    /// Each lane of 32 bits by a count of its own, below 32.
    fn shift_lanes(&mut self, opcode: Opcode, x: &[Value], counts: &[Value]) -> Vectors {
        use Opcode as Op;
        let most = self.emit.lanes_k(I32X4, &[31; 4]);
        (x.iter().zip(counts))
            .map(|(&x, &count)| match opcode {
                Op::Ishl => {
                    let power = self.powers(count);
                    self.emit.ins().imul(x, power)
                }
                Op::Rotl | Op::Rotr => {
                    let count = match opcode {
                        Op::Rotl => count,
                        _ => {
                            let left = self.emit.ins().ineg(count);
                            self.emit.ins().band(left, most)
                        }
                    };
                    let power = self.powers(count);
                    let products = self.products(&[x], &[power], false);
                    let low = self.picked_words(&products, [0, 2, 4, 6])[0];
                    let high = self.picked_words(&products, [1, 3, 5, 7])[0];
                    self.emit.or(low, high)
                }
                _ => {
                    // Of a negative number the complement is shifted.
                    let sign = (opcode == Op::Sshr).then(|| self.emit.sar_k(x, 31));
                    let x = match sign {
                        Some(sign) => self.emit.ins().bxor(x, sign),
                        None => x,
                    };
                    // x * 2^(31 - count) / 2^31
                    let left = self.emit.ins().isub(most, count);
                    let power = self.powers(left);
                    let products = self.products(&[x], &[power], false);
                    let shifted: Vectors =
                        (products.iter()).map(|&p| self.emit.shr_k(p, 31)).collect();
                    let d = self.even_words(&shifted)[0];
                    match sign {
                        Some(sign) => self.emit.ins().bxor(d, sign),
                        None => d,
                    }
                }
            })
            .collect()
    }

    /// 2 to the power of each lane, which is below 32: each byte of a lane looks up whether it has the bit.
    fn powers(&mut self, exponents: Value) -> Value {
        let all_bytes = std::array::from_fn(|i| 4 * (i as u8 / 4));
        let spread = self.emit.pick_bytes(exponents, exponents, all_bytes);
        let first_bits: Vec<i64> = (0..16).map(|i| 8 * (i % 4)).collect();
        let first_bits = self.emit.lanes_k(I8X16, &first_bits);
        let index = self.emit.ins().isub(spread, first_bits);
        let table: Vec<i64> = (0..16).map(|i| if i < 8 { 1 << i } else { 0 }).collect();
        let table = self.emit.lanes_k(I8X16, &table);
        let bytes = self.emit.ins().swizzle(table, index);
        self.emit.cast(I32X4, bytes)
    }
}
