//! Conversions to and from packed and small formats in Cranelift IR.
//!
//! Elements are rounded one by one, as bits of an `F32`, which holds every number of the sources. Only two elements of 16 bits to the
//! nearest, which programs are full of, take the shorter way of arithmetic on them.

use crate::ir::convert::small::{Narrow, Op, SmallRounding, SmallTy, Widen};
use crate::ir::float::{Clamp, FloatTy, Mode, Rounding};
use crate::lower::emit::{Emit, clif_type};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, F64, I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};
use smallvec::SmallVec;

const INFINITY: u64 = 0x7f80_0000;
/// The bits of the exponent of 1 in an `F32`, which is also 1 as `.ue8m0`.
const BIAS: u64 = 127;

/// How an element is encoded.
struct Layout {
    /// Bits of the fraction.
    fraction: u32,
    /// What is added to exponents.
    bias: u64,
    /// Exponent and fraction of the greatest number.
    most: u64,
    /// The bits of NaN, or of what stands for it.
    nan: u64,
    /// Where the sign is.
    sign: u32,
}

/// Of a float format.
fn layout(ty: SmallTy) -> Layout {
    let (fraction, bias, most, nan, sign) = match ty {
        SmallTy::F16 => (10, 15, 0x7bff, 0x7fff, 15),
        SmallTy::Bf16 => (7, 127, 0x7f7f, 0x7fff, 15),
        // Ue8m0 and S2f6 have no such layout, and take other ways.
        SmallTy::Tf32 | SmallTy::Ue8m0 | SmallTy::S2f6 => (10, 127, 0x3_fbff, 0x3_ffff, 18),
        SmallTy::E4m3 => (3, 7, 0x7e, 0x7f, 7),
        SmallTy::E5m2 => (2, 15, 0x7b, 0x7f, 7),
        SmallTy::E2m3 => (3, 1, 0x1f, 0x1f, 5),
        SmallTy::E3m2 => (2, 3, 0x1f, 0x1f, 5),
        SmallTy::E2m1 => (1, 1, 0x7, 0x7, 3),
    };
    Layout {
        fraction,
        bias,
        most,
        nan,
        sign,
    }
}

/// To the nearest, clamped or not.
fn nearest(relu: bool) -> Mode {
    Mode {
        rounding: Rounding::Rn,
        ftz: false,
        clamp: if relu { Clamp::Relu } else { Clamp::None },
    }
}

impl Emit<'_, '_> {
    /// The result of an operator, of an integer type.
    pub(super) fn small_convert(&mut self, op: Op, srcs: &[Value]) -> Value {
        match op {
            Op::Narrow(narrow) => self.narrow(narrow, srcs),
            Op::Widen(widen) => self.widen_small(widen, srcs),
        }
    }

    /// Elements, the first uppermost.
    fn narrow(&mut self, narrow: Narrow, srcs: &[Value]) -> Value {
        let (values, rest): (SmallVec<[Value; 4]>, &[Value]) = match narrow.from {
            FloatTy::F16x2 | FloatTy::Bf16x2 => {
                let mut halves = self.halves_to_f32(narrow.from, srcs[0], false);
                halves.reverse();
                (halves.iter().copied().collect(), &srcs[1..])
            }
            FloatTy::F16 | FloatTy::Bf16 | FloatTy::F32 | FloatTy::F32x2 | FloatTy::F64 => {
                let (values, rest) = srcs.split_at(narrow.lanes as usize);
                let floats = values.iter().map(|v| self.as_float(FloatTy::F32, *v));
                (floats.collect(), rest)
            }
        };
        let plain = narrow.rounding == SmallRounding::Rn && !narrow.satfinite;
        match (narrow.to, narrow.lanes) {
            (SmallTy::F16, 2) if plain => {
                let lanes = [values[1], values[0]];
                return self.floats_to_halves(FloatTy::F16x2, &lanes, nearest(narrow.relu));
            }
            (SmallTy::Bf16, 2) if plain => {
                let lanes = [values[1], values[0]];
                return self.floats_to_halves(FloatTy::Bf16x2, &lanes, nearest(narrow.relu));
            }
            (SmallTy::F16, 1) if plain => {
                return self.floats_to_halves(FloatTy::F16, &values, nearest(narrow.relu));
            }
            (SmallTy::Bf16, 1) if plain => {
                return self.floats_to_halves(FloatTy::Bf16, &values, nearest(narrow.relu));
            }
            _ => {}
        }
        let random = (narrow.rounding == SmallRounding::Rs).then(|| rest[0]);
        let scales = narrow.scaled.then(|| rest[rest.len() - 1]);
        let mut d = None;
        for (lane, &x) in (0..).zip(&values) {
            let element = match narrow.to {
                SmallTy::Ue8m0 => self.power_of_two(narrow, x),
                SmallTy::S2f6 => {
                    let scale = scales.map(|scales| self.scale(scales, lane == 0));
                    self.fixed(narrow, x, scale)
                }
                SmallTy::F16
                | SmallTy::Bf16
                | SmallTy::Tf32
                | SmallTy::E4m3
                | SmallTy::E5m2
                | SmallTy::E2m3
                | SmallTy::E3m2
                | SmallTy::E2m1 => {
                    let random = random.map(|bits| {
                        let bits = self.shr_k(bits, narrow.random_shift(lane));
                        self.and_k(bits, (1 << narrow.random_bits()) - 1)
                    });
                    self.small_float(narrow, x, random)
                }
            };
            d = Some(match d {
                None => element,
                Some(above) => {
                    let above = self.shl_k(above, narrow.to.bits());
                    self.or(above, element)
                }
            });
        }
        let class = Op::Narrow(narrow).signature().dsts[0];
        match d {
            Some(d) => self.resize(d, clif_type(class), false),
            None => self.k(clif_type(class), 0),
        }
    }

    /// The bits of an `F32`, and those of its magnitude.
    fn bits_and_magnitude(&mut self, x: Value) -> (Value, Value) {
        let bits = self.ins().bitcast(I32, MemFlagsData::new(), x);
        (bits, self.and_k(bits, 0x7fff_ffff))
    }

    /// An `F32` rounded to a float of few bits, in an `I32`.
    fn small_float(&mut self, narrow: Narrow, x: Value, random: Option<Value>) -> Value {
        let to = layout(narrow.to);
        let (bits, magnitude) = self.bits_and_magnitude(x);
        let field = self.shr_k(magnitude, 23);
        let fraction = self.and_k(magnitude, 0x007f_ffff);
        // The leading bit, and the exponent, which counts from 1 for subnormal numbers, too.
        let is_normal = self.cmp_k(IntCC::NotEqual, field, 0);
        let is_normal = self.resize(is_normal, I32, false);
        let lead = self.shl_k(is_normal, 23);
        let digits = self.or(fraction, lead);
        let one = self.k(I32, 1);
        let exponent = self.ins().umax(field, one);
        // Results have the exponent of the least normal number at least, and lose as many more bits.
        let least = self.k(I32, BIAS - to.bias + 1);
        let raised = self.ins().umax(exponent, least);
        let more = self.ins().isub(raised, exponent);
        let cut = self.add_k(more, u64::from(23 - to.fraction));
        let units = match random {
            // Random bits have a place in what is cut off wherever that begins.
            Some(random) => {
                let cut = self.umin_k(cut, 63);
                let digits = self.resize(digits, I64, false);
                let random = self.resize(random, I64, false);
                let below = self.add_k(
                    cut,
                    u64::from(narrow.random_bits()).wrapping_neg() & 0xffff_ffff,
                );
                let random = self.ins().ishl(random, below);
                let sum = self.ins().iadd(digits, random);
                let units = self.ins().ushr(sum, cut);
                self.resize(units, I32, false)
            }
            None => {
                // Beyond that nothing is left of 24 bits, nor of a half of what is cut off.
                let cut = self.umin_k(cut, 31);
                let sum = match narrow.rounding {
                    SmallRounding::Rz => digits,
                    SmallRounding::Rna => {
                        let half = self.half_of(cut);
                        self.ins().iadd(digits, half)
                    }
                    SmallRounding::Rn | SmallRounding::Rp | SmallRounding::Rs => {
                        let half = self.half_of(cut);
                        let below = self.add_k(half, 0xffff_ffff);
                        let kept = self.ins().ushr(digits, cut);
                        let odd = self.and_k(kept, 1);
                        let sum = self.ins().iadd(digits, below);
                        self.ins().iadd(sum, odd)
                    }
                };
                self.ins().ushr(sum, cut)
            }
        };
        let above = self.add_k(raised, (BIAS - to.bias + 1).wrapping_neg() & 0xffff_ffff);
        let above = self.shl_k(above, to.fraction);
        let rounded = self.ins().iadd(units, above);
        let finite = if narrow.satfinite {
            self.umin_k(rounded, to.most)
        } else if narrow.rounding == SmallRounding::Rz {
            let finite = self.umin_k(rounded, to.most);
            let is_infinite = self.cmp_k(IntCC::Equal, magnitude, INFINITY);
            let infinity = self.k(I32, to.most + 1);
            self.select(is_infinite, infinity, finite)
        } else {
            self.umin_k(rounded, to.most + 1)
        };
        let signed = if narrow.relu {
            let negative = self.cmp_k(IntCC::SignedLessThan, bits, 0);
            let zero = self.k(I32, 0);
            self.select(negative, zero, finite)
        } else {
            let sign = self.shr_k(bits, 31);
            let sign = self.shl_k(sign, to.sign);
            self.or(finite, sign)
        };
        let is_nan = self.cmp_k(IntCC::UnsignedGreaterThan, magnitude, INFINITY);
        let nan = self.k(I32, to.nan);
        let element = self.select(is_nan, nan, signed);
        if narrow.to == SmallTy::Tf32 {
            return self.shl_k(element, 13);
        }
        element
    }

    /// 2^(cut - 1), `cut` above 0.
    fn half_of(&mut self, cut: Value) -> Value {
        let one = self.k(I32, 1);
        let place = self.add_k(cut, 0xffff_ffff);
        self.ins().ishl(one, place)
    }

    /// The exponent of an `F32`, for a number between two powers of two with `.rp` the next one.
    fn power_of_two(&mut self, narrow: Narrow, x: Value) -> Value {
        let (_, magnitude) = self.bits_and_magnitude(x);
        let power = if narrow.rounding == SmallRounding::Rp {
            // Below 2^-126 is 2^-127, and what is no greater is that, too.
            let subnormal = self.cmp_k(IntCC::UnsignedLessThan, magnitude, 0x0080_0000);
            let upper_half = self.cmp_k(IntCC::UnsignedGreaterThan, magnitude, 0x0040_0000);
            let upper_half = self.resize(upper_half, I32, false);
            let next = self.add_k(magnitude, 0x007f_ffff);
            let next = self.shr_k(next, 23);
            self.select(subnormal, upper_half, next)
        } else {
            self.shr_k(magnitude, 23)
        };
        let most = if narrow.satfinite { 0xfe } else { 0xff };
        let power = self.umin_k(power, most);
        let is_nan = self.cmp_k(IntCC::UnsignedGreaterThan, magnitude, INFINITY);
        let nan = self.k(I32, 0xff);
        self.select(is_nan, nan, power)
    }

    /// The scale of an element: one byte of two, in an `I32`.
    fn scale(&mut self, scales: Value, upper: bool) -> Value {
        let scales = self.resize(scales, I32, false);
        let scale = self.shr_k(scales, if upper { 8 } else { 0 });
        self.and_k(scale, 0xff)
    }

    /// An `F32` as a signed number of 64ths, divided by a scale.
    fn fixed(&mut self, narrow: Narrow, x: Value, scale: Option<Value>) -> Value {
        let wide = self.ins().fpromote(F64, x);
        // 2^6 over the scale: an exponent of an `F64` that is never near its ends.
        let (factor, is_number) = match scale {
            None => {
                let factor = self.ins().f64const(64.0);
                (factor, self.ins().fcmp(FloatCC::Ordered, x, x))
            }
            Some(scale) => {
                let scale = self.resize(scale, I64, false);
                let most = self.k(I64, 1023 + 6 + BIAS);
                let exponent = self.ins().isub(most, scale);
                let bits = self.shl_k(exponent, 52);
                let factor = self.ins().bitcast(F64, MemFlagsData::new(), bits);
                let ordered = self.ins().fcmp(FloatCC::Ordered, x, x);
                let scaled = self.cmp_k(IntCC::NotEqual, scale, 0xff);
                (factor, self.ins().band(ordered, scaled))
            }
        };
        let value = self.ins().fmul(wide, factor);
        let value = self.ins().nearest(value);
        let value = self.ins().fcvt_to_sint_sat(I32, value);
        let value = self.clamp_k(value, if narrow.relu { 0 } else { -128 }, 127);
        let value = self.and_k(value, 0xff);
        self.select_or_k(is_number, value, 0x7f)
    }

    /// Two elements in a greater format.
    fn widen_small(&mut self, widen: Widen, srcs: &[Value]) -> Value {
        let word = self.resize(srcs[0], I32, false);
        let width = widen.from.bits();
        let scales = widen.scaled.then(|| srcs[1]);
        let mut lanes = SmallVec::<[Value; 2]>::new();
        for lane in 0..2 {
            let element = self.shr_k(word, width * lane);
            let mut x = self.small_to_f32(widen.from, element);
            if let Some(scales) = scales {
                let scale = self.scale(scales, lane == 1);
                let power = self.power_to_f32(scale);
                x = self.ins().fmul(x, power);
            }
            if widen.satfinite {
                x = self.finite_bf16(x);
            }
            lanes.push(x);
        }
        self.floats_to_halves(widen.to, &lanes, nearest(widen.relu))
    }

    /// The number that the low bits stand for, as an `F32`.
    fn small_to_f32(&mut self, ty: SmallTy, element: Value) -> Value {
        let (fraction, digits, bias) = match ty {
            SmallTy::Ue8m0 => {
                let scale = self.and_k(element, 0xff);
                return self.power_to_f32(scale);
            }
            SmallTy::S2f6 => {
                let byte = self.resize(element, I8, false);
                let value = self.resize(byte, I32, true);
                let value = self.ins().fcvt_from_sint(F32, value);
                let unit = self.ins().f32const(1.0 / 64.0);
                return self.ins().fmul(value, unit);
            }
            SmallTy::F16 | SmallTy::Bf16 | SmallTy::Tf32 | SmallTy::E5m2 => {
                // The upper byte of a `.f16`.
                let half = self.shl_k(element, 8);
                let half = self.resize(half, I16, false);
                return self.halves_to_f32(FloatTy::F16, half, false)[0];
            }
            SmallTy::E4m3 => (3, 7, 7),
            SmallTy::E2m3 => (3, 5, 1),
            SmallTy::E3m2 => (2, 5, 3),
            SmallTy::E2m1 => (1, 3, 1),
        };
        // Exponent and fraction where an `F32` has them: too small a number, which a power of two mends.
        let magnitude = self.and_k(element, (1 << digits) - 1);
        let small = self.shl_k(magnitude, 23 - fraction);
        let sign = self.shr_k(element, digits);
        let sign = self.shl_k(sign, 31);
        let small = self.or(small, sign);
        let small = self.ins().bitcast(F32, MemFlagsData::new(), small);
        let scale = self.k(I32, (2 * BIAS - bias) << 23);
        let scale = self.ins().bitcast(F32, MemFlagsData::new(), scale);
        let x = self.ins().fmul(small, scale);
        if ty != SmallTy::E4m3 {
            return x;
        }
        let is_nan = self.cmp_k(IntCC::Equal, magnitude, 0x7f);
        let bits = self.ins().bitcast(I32, MemFlagsData::new(), x);
        let nan = self.k(I32, 0x7fc0_0000);
        let bits = self.select(is_nan, nan, bits);
        self.ins().bitcast(F32, MemFlagsData::new(), bits)
    }

    /// The power of two that a `.ue8m0` in an `I32` stands for, as an `F32`.
    fn power_to_f32(&mut self, scale: Value) -> Value {
        let bits = self.shl_k(scale, 23);
        let is_least = self.cmp_k(IntCC::Equal, scale, 0);
        let least = self.k(I32, 0x0040_0000);
        let bits = self.select(is_least, least, bits);
        let is_nan = self.cmp_k(IntCC::Equal, scale, 0xff);
        let nan = self.k(I32, 0x7fc0_0000);
        let bits = self.select(is_nan, nan, bits);
        self.ins().bitcast(F32, MemFlagsData::new(), bits)
    }

    /// An `F32` no greater than the greatest `.bf16`; NaN stays.
    fn finite_bf16(&mut self, x: Value) -> Value {
        let (bits, magnitude) = self.bits_and_magnitude(x);
        let least = self.umin_k(magnitude, 0x7f7f_0000);
        let is_nan = self.cmp_k(IntCC::UnsignedGreaterThan, magnitude, INFINITY);
        let magnitude = self.select(is_nan, magnitude, least);
        let sign = self.and_k(bits, 0x8000_0000);
        let bits = self.or(magnitude, sign);
        self.ins().bitcast(F32, MemFlagsData::new(), bits)
    }
}
