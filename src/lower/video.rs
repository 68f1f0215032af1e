//! Video instructions in Cranelift IR.
//!
//! Scalar ones work on 64-bit numbers, which hold all intermediate values exactly but for two: a left shift by 32, and
//! the product of two words, see there. SIMD ones widen their lanes to vectors of 16 or 32 bits, which are exact.

use super::emit::{Emit, condition};
use crate::ir::Reading;
use crate::ir::video::{Op, ScalarOp, Second, Selector, SimdOp, Source};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8X16, I16X8, I32, I32X4, I64, I64X2, I128};
use cranelift_codegen::ir::{InstBuilder, Type, Value};

/// A number.
#[derive(Clone, Copy)]
struct Number {
    /// It modulo 2^64.
    low: Value,
    /// It, or something that compares with every number of 33 bits as it does.
    order: Value,
}

impl Number {
    fn exact(value: Value) -> Self {
        Number {
            low: value,
            order: value,
        }
    }
}

/// Lowest bit and width of a part.
fn place(part: Selector) -> (u32, u32) {
    match part {
        Selector::Word => (0, 32),
        Selector::Byte(i) => (8 * (u32::from(i) & 3), 8),
        Selector::Half(i) => (16 * (u32::from(i) & 1), 16),
    }
}

/// The range of `bits` bits.
fn range(bits: u32, signed: bool) -> (i64, i64) {
    if signed {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    }
}

impl Emit<'_, '_> {
    /// The result of an operator.
    pub(super) fn video(&mut self, op: Op, srcs: &[Value]) -> Value {
        match op {
            Op::Scalar {
                op,
                signed,
                a,
                b,
                sat,
                second,
                reading,
            } => {
                let x = self.selected(a, srcs[0]);
                let y = self.selected(b, srcs[1]);
                let value = self.video_scalar(op, a.signed, x, y);
                let c = srcs.get(2).copied();
                match (reading, op) {
                    (Reading::Text, _) => self.video_finish(value, signed, sat, second, c),
                    (Reading::Nvidia, ScalarOp::Set(_)) => {
                        self.video_finish(value, a.signed, sat, second, c)
                    }
                    (Reading::Nvidia, _) => {
                        let mut value = value.low;
                        if sat {
                            value = self.nvidia_saturate(op, value, signed, second);
                        }
                        self.nvidia_second(op, value, signed, sat, second, c)
                    }
                }
            }
            Op::Mad {
                signed: _,
                a,
                b,
                neg_a,
                neg_b,
                neg_c,
                plus_one,
                sat,
                shift,
                reading,
            } => {
                let mad = Mad {
                    words: a.part == Selector::Word && b.part == Selector::Word,
                    reading,
                    negated: neg_a != neg_b,
                    neg_c,
                    plus_one,
                    shift: shift.into(),
                    sat,
                    signed: a.signed || b.signed || neg_a != neg_b || neg_c,
                };
                let factor = |e: &mut Self, mut source: Source, word| {
                    source.signed |= reading == Reading::Nvidia && source.part == Selector::Word;
                    e.selected(source, word)
                };
                let x = factor(self, a, srcs[0]);
                let y = factor(self, b, srcs[1]);
                self.vmad(&mad, x, y, srcs[2])
            }
            Op::Simd {
                op,
                lanes,
                signed,
                a_signed,
                b_signed,
                a_lanes,
                b_lanes,
                mask,
                sat,
                add,
            } => {
                let lanes = Lanes::new(lanes);
                let both = self.both(srcs[0], srcs[1]);
                let a = self.simd_source(&lanes, both, a_lanes, a_signed);
                let b = self.simd_source(&lanes, both, b_lanes, b_signed);
                let mut d = self.simd_lane(&lanes, op, a, b);
                if sat {
                    let (least, most) = range(lanes.bits, signed);
                    let least = self.splat(&lanes, least);
                    let most = self.splat(&lanes, most);
                    d = self.ins().smax(d, least);
                    d = self.ins().smin(d, most);
                }
                if add {
                    let sum = self.simd_sum(&lanes, d, mask);
                    self.ins().iadd(srcs[2], sum)
                } else {
                    self.simd_merge(&lanes, d, mask, srcs[2])
                }
            }
        }
    }

    /// The part of a source, extended to 64 bits by the sign of its type.
    fn selected(&mut self, source: Source, word: Value) -> Value {
        let (shift, bits) = place(source.part);
        let part = if bits == 32 {
            word
        } else if source.signed {
            let up = self.shl_k(word, 32 - bits - shift);
            self.sar_k(up, 32 - bits)
        } else {
            let down = self.shr_k(word, shift);
            self.and_k(down, (1 << bits) - 1)
        };
        self.resize(part, I64, source.signed)
    }

    fn video_scalar(&mut self, op: ScalarOp, a_signed: bool, a: Value, b: Value) -> Number {
        Number::exact(match op {
            ScalarOp::Add => self.ins().iadd(a, b),
            ScalarOp::Sub => self.ins().isub(a, b),
            ScalarOp::AbsDiff => {
                let difference = self.ins().isub(a, b);
                self.ins().iabs(difference)
            }
            ScalarOp::Min => self.ins().smin(a, b),
            ScalarOp::Max => self.ins().smax(a, b),
            ScalarOp::Shl { wrap } => {
                let count = self.video_count(wrap, b);
                let low = self.ins().ishl(a, count);
                if a_signed {
                    return Number::exact(low);
                }
                // A word shifted by 32 needs all 64 bits; as a signed number it would be negative.
                let order = self.umin_k(low, 1 << 62);
                return Number { low, order };
            }
            ScalarOp::Shr { wrap } => {
                let count = self.video_count(wrap, b);
                self.ins().sshr(a, count)
            }
            ScalarOp::Set(cmp) => {
                let t = self.ins().icmp(condition(cmp, true), a, b);
                self.resize(t, I64, false)
            }
        })
    }

    fn video_count(&mut self, wrap: bool, b: Value) -> Value {
        if wrap {
            self.and_k(b, 31)
        } else {
            self.clamp_k(b, 0, 32)
        }
    }

    /// Saturation, second operation or merge. `signed` is the sign of the destination, and of c.
    fn video_finish(
        &mut self,
        value: Number,
        signed: bool,
        sat: bool,
        second: Second,
        c: Option<Value>,
    ) -> Value {
        let bits = match second {
            Second::Merge(part) => place(part).1,
            Second::None | Second::Add | Second::Min | Second::Max => 32,
        };
        let value = if sat {
            let (least, most) = range(bits, signed);
            Number::exact(self.clamp_k(value.order, least, most))
        } else {
            value
        };
        let word = |e: &mut Self, x| e.resize(x, I32, false);
        let (Some(c), true) = (c, second != Second::None) else {
            return word(self, value.low);
        };
        let other = self.resize(c, I64, signed);
        match second {
            Second::None => word(self, value.low),
            Second::Add => {
                let low = word(self, value.low);
                self.ins().iadd(low, c)
            }
            Second::Min | Second::Max => {
                let cc = if second == Second::Min {
                    IntCC::SignedLessThan
                } else {
                    IntCC::SignedGreaterThan
                };
                let wins = self.ins().icmp(cc, value.order, other);
                let low = word(self, value.low);
                self.select(wins, low, c)
            }
            Second::Merge(part) => {
                let (shift, bits) = place(part);
                let low = word(self, value.low);
                if bits == 32 {
                    return low;
                }
                let mask = ((1u64 << bits) - 1) << shift;
                let moved = self.shl_k(low, shift);
                let inside = self.and_k(moved, mask);
                let outside = self.and_k(c, !mask & 0xffff_ffff);
                self.or(inside, outside)
            }
        }
    }

    /// `.sat` of NVIDIA's tools, of everything but `vset`. See `semantics`.
    fn nvidia_saturate(
        &mut self,
        op: ScalarOp,
        value: Value,
        signed: bool,
        second: Second,
    ) -> Value {
        if matches!(op, ScalarOp::Shl { .. } | ScalarOp::Shr { .. }) {
            let above = self.shl_k(value, 30);
            let above = self.sar_k(above, 62);
            let word = self.resize(value, I32, false);
            let word = self.resize(word, I64, signed);
            let (least, most) = range(32, signed);
            let [least, most] = [least, most].map(|x| self.k(I64, x as u64));
            let negative = self.cmp_k(IntCC::SignedLessThan, above, 0);
            let end = self.select(negative, least, most);
            let sign = self.sar_k(word, 32);
            let fits = self.ins().icmp(IntCC::Equal, above, sign);
            return self.select(fits, word, end);
        }
        match second {
            Second::Merge(part) => {
                let (_, most) = range(place(part).1, signed);
                self.umin_k(value, most as u64)
            }
            Second::None | Second::Add | Second::Min | Second::Max if signed => {
                let (least, most) = range(32, true);
                self.clamp_k(value, least, most)
            }
            Second::None | Second::Add | Second::Min | Second::Max => {
                let zero = self.k(I64, 0);
                self.ins().smax(value, zero)
            }
        }
    }

    /// Second operation or merge of NVIDIA's tools, of everything but `vset`. See `semantics`.
    fn nvidia_second(
        &mut self,
        op: ScalarOp,
        value: Value,
        signed: bool,
        sat: bool,
        second: Second,
        c: Option<Value>,
    ) -> Value {
        let less = match second {
            Second::Min => true,
            Second::Max => false,
            Second::None | Second::Add | Second::Merge(_) => {
                return self.video_finish(Number::exact(value), signed, false, second, c);
            }
        };
        let word = self.resize(value, I32, false);
        let Some(c) = c else {
            return word;
        };
        let value = match op {
            ScalarOp::Add | ScalarOp::Sub => self.resize(word, I64, true),
            ScalarOp::Shl { .. } | ScalarOp::Shr { .. } if sat => self.resize(word, I64, true),
            ScalarOp::Shl { .. }
            | ScalarOp::Shr { .. }
            | ScalarOp::AbsDiff
            | ScalarOp::Min
            | ScalarOp::Max
            | ScalarOp::Set(_) => value,
        };
        let other = self.resize(c, I64, signed);
        let cc = match (less, signed) {
            (true, true) => IntCC::SignedLessThan,
            (true, false) => IntCC::UnsignedLessThan,
            (false, true) => IntCC::SignedGreaterThan,
            (false, false) => IntCC::UnsignedGreaterThan,
        };
        let wins = self.ins().icmp(cc, value, other);
        self.select(wins, word, c)
    }

    fn vmad(&mut self, mad: &Mad, a: Value, b: Value, c: Value) -> Value {
        // Without saturation the result lies in the low 64 bits even where the sum needs more.
        let nvidia = mad.reading == Reading::Nvidia;
        let wide = mad.words && mad.sat && !nvidia;
        let ty = if wide { I128 } else { I64 };
        let c = self.resize(c, I64, mad.signed || nvidia);
        let [a, b, c] = [a, b, c].map(|x| if wide { self.ins().sextend(I128, x) } else { x });
        let mut sum = self.ins().imul(a, b);
        if mad.negated {
            sum = self.ins().ineg(sum);
        }
        sum = if mad.neg_c {
            self.ins().isub(sum, c)
        } else {
            self.ins().iadd(sum, c)
        };
        if mad.plus_one {
            let one = self.k(I64, 1);
            let one = self.resize(one, ty, false);
            sum = self.ins().iadd(sum, one);
        }
        let scaled = if nvidia && !mad.signed && mad.shift > 0 {
            self.shr_k(sum, mad.shift)
        } else {
            self.sar_k(sum, mad.shift)
        };
        if !mad.sat {
            return self.resize(scaled, I32, false);
        }
        let (least, most) = range(32, mad.signed);
        if !wide {
            let clamped = self.clamp_k(scaled, least, most);
            return self.resize(clamped, I32, false);
        }
        // It fits if clamping its low word changes nothing, and that word with its sign is the whole of it.
        let (low, high) = self.ins().isplit(scaled);
        let clamped = self.clamp_k(low, least, most);
        let same = self.ins().icmp(IntCC::Equal, clamped, low);
        let sign = self.sar_k(low, 63);
        let whole = self.ins().icmp(IntCC::Equal, sign, high);
        let fits = self.ins().band(same, whole);
        let negative = self.cmp_k(IntCC::SignedLessThan, high, 0);
        let [least, most] = [least, most].map(|x| self.k(I64, x as u64));
        let end = self.select(negative, least, most);
        let result = self.select(fits, low, end);
        self.resize(result, I32, false)
    }

    /// The bytes of a, then those of b.
    fn both(&mut self, a: Value, b: Value) -> Value {
        let [low, high] = [a, b].map(|x| self.resize(x, I64, false));
        let high = self.shl_k(high, 32);
        let both = self.or(high, low);
        let both = self.ins().scalar_to_vector(I64X2, both);
        self.vector_cast(both, I8X16)
    }

    /// Lanes picked from `both`, widened.
    fn simd_source(&mut self, lanes: &Lanes, both: Value, picks: [u8; 4], signed: bool) -> Value {
        let bytes = lanes.bits as usize / 8;
        let first = picks[0];
        let in_order = (0..lanes.count).all(|i| picks[i] == first + i as u8);
        let picked = if in_order && first == 0 {
            both
        } else {
            let mut indices = [0xffu8; 16];
            for (i, pick) in picks[..lanes.count].iter().enumerate() {
                for byte in 0..bytes {
                    let pick = usize::from(*pick) % (2 * lanes.count);
                    indices[i * bytes + byte] = (pick * bytes + byte) as u8;
                }
            }
            let indices = self.vector_k(I8X16, &indices);
            self.ins().swizzle(both, indices)
        };
        let picked = self.vector_cast(picked, lanes.narrow);
        if signed {
            self.ins().swiden_low(picked)
        } else {
            self.ins().uwiden_low(picked)
        }
    }

    fn vector_k(&mut self, ty: Type, bytes: &[u8]) -> Value {
        let constant = self.b.func.dfg.constants.insert(bytes.into());
        self.ins().vconst(ty, constant)
    }

    fn splat(&mut self, lanes: &Lanes, value: i64) -> Value {
        let bytes: Vec<u8> = if lanes.bits == 8 {
            std::iter::repeat_n((value as i16).to_le_bytes(), 8)
                .flatten()
                .collect()
        } else {
            std::iter::repeat_n((value as i32).to_le_bytes(), 4)
                .flatten()
                .collect()
        };
        self.vector_k(lanes.wide, &bytes)
    }

    fn simd_lane(&mut self, lanes: &Lanes, op: SimdOp, a: Value, b: Value) -> Value {
        match op {
            SimdOp::Add => self.ins().iadd(a, b),
            SimdOp::Sub => self.ins().isub(a, b),
            SimdOp::AbsDiff => {
                let difference = self.ins().isub(a, b);
                self.ins().iabs(difference)
            }
            SimdOp::Min => self.ins().smin(a, b),
            SimdOp::Max => self.ins().smax(a, b),
            SimdOp::Avrg => {
                // Halves are rounded away from zero: (s + 1 - (s < 0)) >> 1.
                let sum = self.ins().iadd(a, b);
                let sign = self.sar_k(sum, 2 * lanes.bits - 1);
                let one = self.splat(lanes, 1);
                let rounded = self.ins().iadd(sum, one);
                let rounded = self.ins().iadd(rounded, sign);
                self.sar_k(rounded, 1)
            }
            SimdOp::Set(cmp) => {
                let t = self.ins().icmp(condition(cmp, true), a, b);
                let one = self.splat(lanes, 1);
                self.ins().band(t, one)
            }
        }
    }

    /// The sum of the lanes in `mask`, modulo 2^32.
    fn simd_sum(&mut self, lanes: &Lanes, d: Value, mask: u8) -> Value {
        if lanes.count == 2 {
            let mut sum = self.k(I32, 0);
            for i in (0..2).filter(|i| mask >> i & 1 != 0) {
                let lane = self.ins().extractlane(d, i);
                sum = self.ins().iadd(sum, lane);
            }
            return sum;
        }
        // The sum of four fits 16 bits too.
        let kept: Vec<u8> = (0..8)
            .flat_map(|i| [if i < 4 && mask >> i & 1 != 0 { 0xff } else { 0 }; 2])
            .collect();
        let kept = self.vector_k(I16X8, &kept);
        let kept = self.ins().band(d, kept);
        let pairs = self.ins().iadd_pairwise(kept, kept);
        let sums = self.ins().iadd_pairwise(pairs, pairs);
        let sum = self.ins().extractlane(sums, 0);
        self.resize(sum, I32, true)
    }

    /// c with the low parts of the lanes in `mask`.
    fn simd_merge(&mut self, lanes: &Lanes, d: Value, mask: u8, c: Value) -> Value {
        let bytes = lanes.bits as usize / 8;
        let mut indices = [0xffu8; 16];
        for (i, index) in indices[..4].iter_mut().enumerate() {
            *index = (i / bytes * 2 * bytes + i % bytes) as u8;
        }
        let d = self.vector_cast(d, I8X16);
        let indices = self.vector_k(I8X16, &indices);
        let word = self.ins().swizzle(d, indices);
        let word = self.low_word(word);
        let field = (0..lanes.count as u32)
            .filter(|i| mask >> i & 1 != 0)
            .fold(0u64, |field, i| {
                field | ((1 << lanes.bits) - 1) << (lanes.bits * i)
            });
        if field == 0xffff_ffff {
            return word;
        }
        let inside = self.and_k(word, field);
        let outside = self.and_k(c, !field & 0xffff_ffff);
        self.or(inside, outside)
    }
}

/// What `vmad` does with the product.
struct Mad {
    /// Both factors are whole words.
    words: bool,
    /// By NVIDIA's tools words and c are signed, so that all fits into 64 bits; the sum is not, and shifted so.
    reading: Reading,
    /// The product is negated.
    negated: bool,
    neg_c: bool,
    plus_one: bool,
    shift: u32,
    sat: bool,
    /// Whether c and the result are signed.
    signed: bool,
}

/// Lanes of a SIMD instruction and of the vectors that hold them.
struct Lanes {
    count: usize,
    bits: u32,
    narrow: Type,
    wide: Type,
}

impl Lanes {
    fn new(count: u8) -> Self {
        if count == 2 {
            Lanes {
                count: 2,
                bits: 16,
                narrow: I16X8,
                wide: I32X4,
            }
        } else {
            Lanes {
                count: 4,
                bits: 8,
                narrow: I8X16,
                wide: I16X8,
            }
        }
    }
}
