//! Numbers of 16 bits: made wide without loss, computed with there, and rounded to 16 bits once.
//!
//! Where the wide sum, product or fused result is rounded too, that does not change what the second rounding gives. `F32` (24 bits) has
//! more than twice the 11 bits of `.f16` and the 8 of `.bf16` and two more, which is enough for sums and products; and what is
//! subnormal is exact, but for products of `.bf16` below half the least subnormal, which become 0 either way.

use super::power;
use crate::ir::float::{Arith, Clamp, FloatTy, Mode, OOB_NAN, Rounding};
use crate::lower::emit::Emit;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, F64, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value};
use smallvec::{SmallVec, smallvec};

/// How the bits of a format are divided.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// Width of the fraction.
    fraction: u32,
    /// What is added to exponents.
    bias: u64,
}

impl Layout {
    const F16: Layout = Layout {
        fraction: 10,
        bias: 15,
    };
    const BF16: Layout = Layout {
        fraction: 7,
        bias: 127,
    };
    const F32: Layout = Layout {
        fraction: 23,
        bias: 127,
    };
    const F64: Layout = Layout {
        fraction: 52,
        bias: 1023,
    };

    /// That of a format of 16 bits.
    pub(super) fn half(ty: FloatTy) -> Layout {
        match ty {
            FloatTy::F16 | FloatTy::F16x2 => Layout::F16,
            FloatTy::Bf16 | FloatTy::Bf16x2 | FloatTy::F32 | FloatTy::F32x2 | FloatTy::F64 => {
                Layout::BF16
            }
        }
    }

    /// 2^exponent
    fn power(self, exponent: i64) -> u64 {
        self.bias.wrapping_add_signed(exponent) << self.fraction
    }

    /// Infinity; all bits of the exponent.
    pub(super) fn infinity(self) -> u64 {
        (2 * self.bias + 1) << self.fraction
    }
}

impl Emit<'_, '_> {
    /// a op b, lane by lane.
    pub(super) fn half_arith(
        &mut self,
        op: Arith,
        ty: FloatTy,
        mode: Mode,
        srcs: &[Value],
    ) -> Value {
        let [a, b] = [0, 1].map(|i| self.halves_to_f32(ty, srcs[i], mode.ftz));
        let lanes: SmallVec<[Value; 2]> = (a.into_iter().zip(b))
            .map(|(a, b)| match op {
                Arith::Add => self.ins().fadd(a, b),
                Arith::Sub => self.ins().fsub(a, b),
                Arith::Mul => self.ins().fmul(a, b),
                Arith::Div => self.ins().fdiv(a, b),
            })
            .collect();
        self.floats_to_halves(ty, &lanes, mode)
    }

    /// a * b + c, lane by lane, in `F64`; with `oob` zero where a or b is the NaN of what is out of bounds.
    ///
    /// Products of `.f16` are exact as `F32`. The sum is one of 53 bits rounded once, and that again to 16 bits: this would be
    /// wrong only where the exact sum lies close to a tie and is not one, which takes a product that is one and an addend smaller by 2^40. In
    /// `.f16` that does not exist. In `.bf16` it does, so the sum is rounded to odd.
    pub(super) fn half_fma(&mut self, ty: FloatTy, mode: Mode, oob: bool, srcs: &[Value]) -> Value {
        let [a, b, c] = [0, 1, 2].map(|i| self.halves_to_f32(ty, srcs[i], mode.ftz));
        let mut lanes: SmallVec<[Value; 2]> = SmallVec::new();
        for ((a, b), c) in a.into_iter().zip(b).zip(c) {
            let c = self.ins().fpromote(F64, c);
            lanes.push(match ty.lane() {
                FloatTy::F16 => {
                    let product = self.ins().fmul(a, b);
                    let product = self.ins().fpromote(F64, product);
                    self.ins().fadd(product, c)
                }
                _ => {
                    let [a, b] = [a, b].map(|x| self.ins().fpromote(F64, x));
                    let product = self.ins().fmul(a, b);
                    self.odd_sum(mode.rounding, product, c)
                }
            });
        }
        let d = match mode.rounding {
            Rounding::Rn => self.floats_to_halves(ty, &lanes, mode),
            Rounding::Rz | Rounding::Rm | Rounding::Rp => self.directed_halves(ty, &lanes, mode),
        };
        if !oob {
            return d;
        }
        let [a, b] = [0, 1].map(|i| {
            let word = self.half_word(srcs[i], false);
            self.lanes_that_are(word, OOB_NAN)
        });
        let drop = self.or(a, b);
        let drop = self.resize(drop, self.ty(d), false);
        self.ins().band_not(d, drop)
    }

    /// Ones in the lanes that are `half`.
    fn lanes_that_are(&mut self, word: Value, half: u64) -> Value {
        let all = self.k(I32, half << 16 | half);
        let rest = self.ins().bxor(word, all);
        // Whatever bit is set below the sign carries into it.
        let below = self.and_k(rest, 0x7fff_7fff);
        let carries = self.add_k(below, 0x7fff_7fff);
        let differ = self.or(carries, rest);
        let signs = self.k(I32, 0x8000_8000);
        let same = self.ins().band_not(signs, differ);
        let units = self.shr_k(same, 15);
        let ones = self.ins().isub(same, units);
        self.or(ones, same)
    }

    /// `F64` lanes rounded in a direction: to the nearest, and a step back or on where that went the other way.
    fn directed_halves(&mut self, ty: FloatTy, lanes: &[Value], mode: Mode) -> Value {
        let nearest = Mode {
            rounding: Rounding::Rn,
            clamp: Clamp::None,
            ..mode
        };
        let mut words: SmallVec<[Value; 2]> = SmallVec::new();
        for &exact in lanes {
            let near = self.floats_to_halves(ty.lane(), &[exact], nearest);
            let back = self.halves_to_f32(ty.lane(), near, false)[0];
            let back = self.ins().fpromote(F64, back);
            let rounded = match mode.rounding {
                Rounding::Rn => near,
                Rounding::Rz => {
                    let [back, exact] = [back, exact].map(|x| self.ins().fabs(x));
                    let beyond = self.ins().fcmp(FloatCC::GreaterThan, back, exact);
                    let step = self.ins().uextend(I16, beyond);
                    self.ins().isub(near, step)
                }
                Rounding::Rm => {
                    let beyond = self.ins().fcmp(FloatCC::GreaterThan, back, exact);
                    let stepped = self.stepped(near, true);
                    self.select(beyond, stepped, near)
                }
                Rounding::Rp => {
                    let beyond = self.ins().fcmp(FloatCC::LessThan, back, exact);
                    let stepped = self.stepped(near, false);
                    self.select(beyond, stepped, near)
                }
            };
            let clamped = match mode.clamp {
                Clamp::None => rounded,
                Clamp::Relu => {
                    let zero = self.k(I16, 0);
                    self.ins().smax(rounded, zero)
                }
                Clamp::Sat => {
                    let one = Layout::half(ty).power(0) as i64;
                    let is_nan = self.cmp_k(IntCC::Equal, rounded, 0x7fff);
                    let zero = self.k(I16, 0);
                    let number = self.select(is_nan, zero, rounded);
                    self.clamp_k(number, 0, one)
                }
            };
            words.push(self.resize(clamped, I32, false));
        }
        self.joined(&words)
    }

    /// One or two lanes in an `I32`, subnormal `.f16` made zeros if `ftz`.
    pub(super) fn half_word(&mut self, bits: Value, ftz: bool) -> Value {
        let word = self.resize(bits, I32, false);
        if !ftz {
            return word;
        }
        // An exponent that is not zero carries into the place of the sign; from there it fills the lane below the sign.
        let exponents = self.and_k(word, 0x7c00_7c00);
        let carries = self.add_k(exponents, 0x7c00_7c00);
        let normal = self.and_k(carries, 0x8000_8000);
        let ones = self.shr_k(normal, 15);
        let keep = self.ins().isub(normal, ones);
        let signs = self.k(I32, 0x8000_8000);
        let keep = self.or(keep, signs);
        self.ins().band(word, keep)
    }

    /// The numbers that the lanes (or the only one) stand for, exactly, each as an `F32`; a NaN stays one. With `ftz` subnormal
    /// `.f16` are zeros.
    pub(in crate::lower) fn halves_to_f32(
        &mut self,
        ty: FloatTy,
        bits: Value,
        ftz: bool,
    ) -> SmallVec<[Value; 2]> {
        let lanes = self.halves_to_comparable(ty, bits, ftz);
        if ty.lane() == FloatTy::Bf16 {
            return lanes;
        }
        let scale = self.float_k(FloatTy::F32, power(112));
        (lanes.into_iter())
            .map(|lane| self.ins().fmul(lane, scale))
            .collect()
    }

    /// The lanes, each as an `F32` that compares with others of the format as the numbers do.
    pub(super) fn halves_to_comparable(
        &mut self,
        ty: FloatTy,
        bits: Value,
        ftz: bool,
    ) -> SmallVec<[Value; 2]> {
        let word = self.half_word(bits, ftz);
        let low = self.shl_k(word, 16);
        let mut lanes = smallvec![self.top_to_scaled(ty, low, true)];
        if ty.lanes() > 1 {
            lanes.push(self.top_to_scaled(ty, word, false));
        }
        lanes
    }

    /// The number in the upper 16 bits, of `.f16` too small by 2^112; `clear` tells that the lower bits are zero.
    fn top_to_scaled(&mut self, ty: FloatTy, top: Value, clear: bool) -> Value {
        let bits = if ty.lane() == FloatTy::Bf16 {
            if clear {
                top
            } else {
                self.and_k(top, 0xffff_0000)
            }
        } else {
            // Exponent and fraction where an `F32` has them; what is subnormal stays so.
            let shifted = self.sar_k(top, 3);
            let small = self.and_k(shifted, 0x8fff_e000);
            // An exponent of ones carries into the next bit; seven times that bit fills the longer exponent.
            let above = self.add_k(small, 0x0080_0000);
            let carry = self.and_k(above, 0x1000_0000);
            let seven = self.k(I32, 7);
            let rest = self.ins().imul(carry, seven);
            self.or(small, rest)
        };
        self.ins().bitcast(F32, MemFlagsData::new(), bits)
    }

    /// One `F32` or `F64` for each lane, rounded to the nearest number of 16 bits (whatever the mode says of rounding), and
    /// put together in the format's integer type. NaN becomes 7fff.
    pub(in crate::lower) fn floats_to_halves(
        &mut self,
        ty: FloatTy,
        lanes: &[Value],
        mode: Mode,
    ) -> Value {
        let words: SmallVec<[Value; 2]> = (lanes.iter())
            .map(|&lane| self.float_to_half_word(ty, lane, mode))
            .collect();
        self.joined(&words)
    }

    /// Zero-extended lanes put together in the format's integer type.
    fn joined(&mut self, words: &[Value]) -> Value {
        match *words {
            [low, high] => {
                let high = self.shl_k(high, 16);
                self.or(low, high)
            }
            _ => self.ins().ireduce(I16, words[0]),
        }
    }

    /// An `F32` or `F64` rounded, zero-extended in an `I32`.
    fn float_to_half_word(&mut self, ty: FloatTy, x: Value, mode: Mode) -> Value {
        let from = self.ty(x);
        let (int, wide) = wide_layout(from);
        let half = Layout::half(ty);
        let bits = self.ins().bitcast(int, MemFlagsData::new(), x);
        let magnitude = self.and_k(bits, (1 << (int.bits() - 1)) - 1);
        let rounded = if from == F32 && half.fraction == Layout::BF16.fraction {
            self.bf16_magnitude(magnitude)
        } else {
            self.half_magnitude(half, magnitude, from, mode.ftz)
        };
        self.finished(half, wide, Wide { bits, magnitude }, rounded, mode)
    }

    /// The magnitude of an `F32` rounded to `.bf16`: half of what is cut off is added, less the least bit if what stays is even.
    fn bf16_magnitude(&mut self, magnitude: Value) -> Value {
        let kept = self.shr_k(magnitude, 16);
        let odd = self.and_k(kept, 1);
        let sum = self.add_k(magnitude, 0x7fff);
        let sum = self.ins().iadd(sum, odd);
        self.shr_k(sum, 16)
    }

    /// The bits of a magnitude rounded to 16 bits, in an `I32`; of a NaN anything.
    ///
    /// Of an addend whose last bit is worth as much as that of the result, sums are rounded just there, and the sum less the
    /// addend, as bits, counts these units.
    fn half_magnitude(&mut self, half: Layout, magnitude: Value, from: Type, ftz: bool) -> Value {
        let (int, wide) = wide_layout(from);
        let cut = wide.fraction - half.fraction;
        let bias = half.bias as i64;
        // What is no less becomes infinity, as this does.
        let magnitude = self.umin_k(magnitude, wide.power(bias + 1));
        let mut exponent = self.and_k(magnitude, wide.infinity());
        if !ftz {
            let least = self.k(int, wide.power(1 - bias));
            exponent = self.ins().umax(exponent, least);
        }
        let addend = self.add_k(exponent, u64::from(cut) << wide.fraction);
        let float = self.ins().bitcast(from, MemFlagsData::new(), magnitude);
        let float_addend = self.ins().bitcast(from, MemFlagsData::new(), addend);
        let sum = self.ins().fadd(float, float_addend);
        let sum = self.ins().bitcast(int, MemFlagsData::new(), sum);
        let units = self.ins().isub(sum, addend);
        // The leading bit of a normal number is one of the units, and counts in the exponent.
        let scaled = self.shr_k(exponent, cut);
        let base = (wide.power(1 - bias) >> cut).wrapping_neg() & (u64::MAX >> (64 - int.bits()));
        let scaled = self.add_k(scaled, base);
        let rounded = self.ins().iadd(units, scaled);
        self.resize(rounded, I32, false)
    }

    /// Sign, NaN, and what the mode asks for.
    fn finished(
        &mut self,
        half: Layout,
        wide: Layout,
        x: Wide,
        rounded: Value,
        mode: Mode,
    ) -> Value {
        let mut rounded = rounded;
        if mode.ftz {
            // What would be rounded up to the least normal number if exponents had no end is kept.
            let cut = wide.fraction - half.fraction;
            let least = wide.power(1 - half.bias as i64) - (1 << (cut - 1));
            let tiny = self.cmp_k(IntCC::UnsignedLessThan, x.magnitude, least);
            let zero = self.k(I32, 0);
            rounded = self.select(tiny, zero, rounded);
        }
        let nan = self.k(I32, 0x7fff);
        let zero = self.k(I32, 0);
        match mode.clamp {
            Clamp::None => {
                let int = self.ty(x.bits);
                let sign = self.shr_k(x.bits, int.bits() - 16);
                let sign = self.resize(sign, I32, false);
                let sign = self.and_k(sign, 0x8000);
                let signed = self.or(rounded, sign);
                let is_nan = self.cmp_k(IntCC::UnsignedGreaterThan, x.magnitude, wide.infinity());
                self.select(is_nan, nan, signed)
            }
            Clamp::Relu => {
                let negative = self.cmp_k(IntCC::SignedLessThan, x.bits, 0);
                let positive = self.select(negative, zero, rounded);
                let is_nan = self.cmp_k(IntCC::UnsignedGreaterThan, x.magnitude, wide.infinity());
                self.select(is_nan, nan, positive)
            }
            Clamp::Sat => {
                let least = self.umin_k(rounded, half.power(0));
                // NaN, or the sign is set.
                let is_zero = self.cmp_k(IntCC::UnsignedGreaterThan, x.bits, wide.infinity());
                self.select(is_zero, zero, least)
            }
        }
    }
}

/// The bits of a wide number, with its sign and without.
struct Wide {
    bits: Value,
    magnitude: Value,
}

/// The integer type of the bits, and the layout, of `F32` or `F64`.
fn wide_layout(ty: Type) -> (Type, Layout) {
    if ty == F64 {
        (I64, Layout::F64)
    } else {
        (I32, Layout::F32)
    }
}
