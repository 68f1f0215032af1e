//! Conversions to, from and among floating-point numbers in Cranelift IR.
//!
//! Cranelift's conversions round to the nearest. Directed modes compare what came with what it stands for, and step to the next
//! number where it lies on the wrong side; 64-bit integers become `F64` with the error known exactly.

use crate::ir::IntTy;
use crate::ir::convert::float::{INTEGRAL_NAN, Op, copies, flushes, nan_to_int};
use crate::ir::float::{Clamp, FloatTy, Mode, Rounding};
use crate::lower::emit::{Emit, clif_type};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, F64, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value};

/// Rounded to the nearest, and nothing else.
const NEAREST: Mode = Mode {
    rounding: Rounding::Rn,
    ftz: false,
    clamp: Clamp::None,
};

/// Whether a rounded number lies below what was rounded, and whether it lies above.
#[derive(Clone, Copy)]
struct Side {
    below: Value,
    above: Value,
}

impl Emit<'_, '_> {
    /// The result of an operator: of an integer type, or `F32` with a NaN of any bits where that means the canonical one.
    pub(super) fn float_convert(&mut self, op: Op, a: Value) -> Value {
        match op {
            Op::FromInt {
                from,
                to,
                rounding,
                sat,
            } => {
                if sat {
                    self.int_to_unit(from, to, a)
                } else {
                    self.int_to_float(from, to, rounding, a)
                }
            }
            Op::ToInt {
                from,
                to,
                rounding,
                ftz,
                dst,
            } => {
                let d = self.float_to_int(from, to, rounding, ftz, a);
                self.resize(d, clif_type(dst), to.signed())
            }
            Op::Between { from, to, mode } => {
                if copies(from, to, mode) {
                    a
                } else {
                    self.between(from, to, mode, a)
                }
            }
            Op::Integral { ty, mode } => self.integral(ty, mode, a),
        }
    }

    /// Of an integer clamped to 0.0..1.0 nothing is left but whether it is positive.
    fn int_to_unit(&mut self, from: IntTy, to: FloatTy, a: Value) -> Value {
        let positive = if from.signed() {
            self.cmp_k(IntCC::SignedGreaterThan, a, 0)
        } else {
            self.cmp_k(IntCC::NotEqual, a, 0)
        };
        let one = self.k(clif_type(to.class()), one(to));
        self.select_or_k(positive, one, 0)
    }

    /// The bits of an integer as a float, rounded.
    fn int_to_float(&mut self, from: IntTy, to: FloatTy, rounding: Rounding, a: Value) -> Value {
        match to.lane() {
            FloatTy::F64 => {
                if from.bits() == 64 && rounding != Rounding::Rn {
                    let (sum, side) = self.wide_int(from, a);
                    return self.directed(rounding, sum, side);
                }
                let d = self.int_to_nearest(from, F64, a);
                self.bits_of(d)
            }
            FloatTy::F32 | FloatTy::F32x2 => {
                if from.bits() <= 16 || rounding == Rounding::Rn {
                    let d = self.int_to_nearest(from, F32, a);
                    return self.bits_of(d);
                }
                let x = self.int_to_f64(from, a);
                self.f64_to_f32(x, rounding)
            }
            FloatTy::F16 | FloatTy::F16x2 => {
                // What is not exact as `F32` exceeds every `.f16` either way.
                let x = self.int_to_nearest(from, F32, a);
                self.rounded_half(FloatTy::F16, x, rounding)
            }
            FloatTy::Bf16 | FloatTy::Bf16x2 => {
                let x = if from.bits() <= 16 {
                    self.int_to_nearest(from, F32, a)
                } else {
                    self.int_to_f64(from, a)
                };
                self.rounded_half(FloatTy::Bf16, x, rounding)
            }
        }
    }

    /// An integer as a float of Cranelift, rounded to the nearest.
    fn int_to_nearest(&mut self, from: IntTy, to: Type, a: Value) -> Value {
        if from.bits() < 32 {
            let a = self.resize(a, I32, from.signed());
            self.ins().fcvt_from_sint(to, a)
        } else if from.signed() {
            self.ins().fcvt_from_sint(to, a)
        } else {
            self.ins().fcvt_from_uint(to, a)
        }
    }

    /// An integer as an `F64`: exact up to 32 bits; of 64 bits rounded to odd, so that it can be rounded to fewer bits once more.
    fn int_to_f64(&mut self, from: IntTy, a: Value) -> Value {
        if from.bits() < 64 {
            return self.int_to_nearest(from, F64, a);
        }
        let (sum, side) = self.wide_int(from, a);
        let bits = self.bits_of(sum);
        let even = self.ins().bnot(bits);
        let even = self.and_k(even, 1);
        let up = self.step(bits, true);
        let down = self.step(bits, false);
        let odd = self.select(side.above, down, bits);
        let odd = self.select(side.below, up, odd);
        let is_even = self.cmp_k(IntCC::NotEqual, even, 0);
        let odd = self.select(is_even, odd, bits);
        self.float_of(F64, odd)
    }

    /// An integer of 64 bits to the nearest `F64`, and on which side of it that is. The halves are exact; so is the error of their sum.
    fn wide_int(&mut self, from: IntTy, a: Value) -> (Value, Side) {
        let high = if from.signed() {
            self.sar_k(a, 32)
        } else {
            self.shr_k(a, 32)
        };
        let low = self.and_k(a, 0xffff_ffff);
        let high = self.ins().fcvt_from_sint(F64, high);
        let low = self.ins().fcvt_from_sint(F64, low);
        let scale = self.ins().f64const(4_294_967_296.0);
        let high = self.ins().fmul(high, scale);
        let sum = self.ins().fadd(high, low);
        let taken = self.ins().fsub(sum, high);
        let side = Side {
            below: self.ins().fcmp(FloatCC::LessThan, taken, low),
            above: self.ins().fcmp(FloatCC::GreaterThan, taken, low),
        };
        (sum, side)
    }

    /// The bits of a float.
    fn bits_of(&mut self, x: Value) -> Value {
        let int = self.ty(x).as_int();
        self.ins().bitcast(int, MemFlagsData::new(), x)
    }

    /// The float of bits.
    fn float_of(&mut self, ty: Type, bits: Value) -> Value {
        self.ins().bitcast(ty, MemFlagsData::new(), bits)
    }

    /// The bits of the next greater number, or of the next smaller one. Beyond the greatest finite number lies infinity.
    fn step(&mut self, bits: Value, up: bool) -> Value {
        let negative = self.sar_k(bits, self.ty(bits).bits() - 1);
        let one = self.k(self.ty(bits), 1);
        // One, or minus one for a negative number, whose magnitude shrinks as it grows.
        let one = self.or(negative, one);
        if up {
            self.ins().iadd(bits, one)
        } else {
            self.ins().isub(bits, one)
        }
    }

    /// The bits of a number rounded to the nearest, or of its neighbour where it lies on the wrong side.
    fn directed(&mut self, rounding: Rounding, nearest: Value, side: Side) -> Value {
        let bits = if self.ty(nearest).is_float() {
            self.bits_of(nearest)
        } else {
            nearest
        };
        let (wrong, neighbour) = match rounding {
            Rounding::Rn => return bits,
            Rounding::Rz => {
                let negative = self.cmp_k(IntCC::SignedLessThan, bits, 0);
                let beyond = self.select(negative, side.below, side.above);
                let ones = u64::MAX >> (64 - self.ty(bits).bits());
                (beyond, self.add_k(bits, ones))
            }
            Rounding::Rm => (side.above, self.step(bits, false)),
            Rounding::Rp => (side.below, self.step(bits, true)),
        };
        self.select(wrong, neighbour, bits)
    }

    /// On which side of x its rounded value lies: neither for NaN.
    fn side(&mut self, rounded: Value, x: Value) -> Side {
        Side {
            below: self.ins().fcmp(FloatCC::LessThan, rounded, x),
            above: self.ins().fcmp(FloatCC::GreaterThan, rounded, x),
        }
    }

    /// The bits of an `F64` rounded to `F32`; of a NaN any NaN.
    fn f64_to_f32(&mut self, x: Value, rounding: Rounding) -> Value {
        let nearest = self.ins().fdemote(F32, x);
        if rounding == Rounding::Rn {
            return self.bits_of(nearest);
        }
        let back = self.ins().fpromote(F64, nearest);
        let side = self.side(back, x);
        self.directed(rounding, nearest, side)
    }

    /// The bits of an `F32` or `F64` rounded to 16 bits. NaN becomes the canonical one.
    fn rounded_half(&mut self, ty: FloatTy, x: Value, rounding: Rounding) -> Value {
        let nearest = self.floats_to_halves(ty, &[x], NEAREST);
        if rounding == Rounding::Rn {
            return nearest;
        }
        let mut back = self.halves_to_f32(ty, nearest, false)[0];
        if self.ty(x) == F64 {
            back = self.ins().fpromote(F64, back);
        }
        let side = self.side(back, x);
        self.directed(rounding, nearest, side)
    }

    /// A float in `F32` or `F64`, exactly. `.ftz` of a `.f32`: without subnormal numbers.
    fn widened(&mut self, from: FloatTy, ftz: bool, a: Value) -> Value {
        match from.lane() {
            FloatTy::F16 | FloatTy::F16x2 | FloatTy::Bf16 | FloatTy::Bf16x2 => {
                self.halves_to_f32(from, a, false)[0]
            }
            FloatTy::F32 | FloatTy::F32x2 => {
                let a = if flushes(from, ftz) {
                    let bits = self.as_bits(a);
                    self.without_subnormal(bits)
                } else {
                    a
                };
                self.as_float(FloatTy::F32, a)
            }
            FloatTy::F64 => self.as_float(FloatTy::F64, a),
        }
    }

    /// The bits of a `.f32`, zero of the same sign for a subnormal number.
    fn without_subnormal(&mut self, bits: Value) -> Value {
        let exponent = self.and_k(bits, 0x7f80_0000);
        let is_normal = self.cmp_k(IntCC::NotEqual, exponent, 0);
        let zero = self.and_k(bits, 0x8000_0000);
        self.select(is_normal, bits, zero)
    }

    /// A float rounded to an integer and clamped.
    fn float_to_int(
        &mut self,
        from: FloatTy,
        to: IntTy,
        rounding: Rounding,
        ftz: bool,
        a: Value,
    ) -> Value {
        // A number so small that it makes a difference is rounded away from zero.
        let flush = ftz && matches!(rounding, Rounding::Rm | Rounding::Rp);
        let x = self.widened(from, flush, a);
        // The conversion cuts off by itself.
        let whole = if rounding == Rounding::Rz {
            x
        } else {
            self.rounded_whole(x, rounding)
        };
        let int = if to.bits() == 64 { I64 } else { I32 };
        let d = match to {
            IntTy::U32 | IntTy::U64 => self.ins().fcvt_to_uint_sat(int, whole),
            IntTy::S32 | IntTy::S64 => self.ins().fcvt_to_sint_sat(int, whole),
            IntTy::U8 | IntTy::U16 => {
                let d = self.ins().fcvt_to_sint_sat(int, whole);
                self.clamp_k(d, 0, to.mask() as i64)
            }
            IntTy::S8 | IntTy::S16 => {
                let d = self.ins().fcvt_to_sint_sat(int, whole);
                let most = (to.mask() >> 1) as i64;
                self.clamp_k(d, -most - 1, most)
            }
        };
        let d = self.resize(d, clif_type(to.class()), to.signed());
        match nan_to_int(from, to) {
            // As the conversion does.
            0 => d,
            nan => {
                let is_number = self.ins().fcmp(FloatCC::Ordered, x, x);
                self.select_or_k(is_number, d, nan)
            }
        }
    }

    /// A float rounded to an integer.
    fn rounded_whole(&mut self, x: Value, rounding: Rounding) -> Value {
        match rounding {
            Rounding::Rn => self.ins().nearest(x),
            Rounding::Rz => self.ins().trunc(x),
            Rounding::Rm => self.ins().floor(x),
            Rounding::Rp => self.ins().ceil(x),
        }
    }

    /// A float rounded to an integer in its own format.
    fn integral(&mut self, ty: FloatTy, mode: Mode, a: Value) -> Value {
        let x = self.widened(ty, mode.ftz, a);
        let whole = self.rounded_whole(x, mode.rounding);
        let bits = match ty.lane() {
            FloatTy::F16 | FloatTy::F16x2 | FloatTy::Bf16 | FloatTy::Bf16x2 => {
                self.rounded_half(ty, whole, Rounding::Rn)
            }
            FloatTy::F32 | FloatTy::F32x2 if mode.clamp == Clamp::None => return whole,
            FloatTy::F32 | FloatTy::F32x2 | FloatTy::F64 => self.bits_of(whole),
        };
        if ty == FloatTy::F64 && mode.clamp == Clamp::None {
            let is_number = self.ins().fcmp(FloatCC::Ordered, x, x);
            return self.select_or_k(is_number, bits, INTEGRAL_NAN);
        }
        self.clamped(ty, mode.clamp, bits)
    }

    /// A float in another format, or flushed or clamped in its own.
    fn between(&mut self, from: FloatTy, to: FloatTy, mode: Mode, a: Value) -> Value {
        let bits = match (from, to) {
            (FloatTy::Bf16, FloatTy::F32) if !mode.ftz => {
                let word = self.resize(a, I32, false);
                self.shl_k(word, 16)
            }
            (FloatTy::F64, FloatTy::F32) => {
                let x = self.as_float(FloatTy::F64, a);
                let d = self.f64_to_f32(x, mode.rounding);
                let d = if mode.ftz {
                    self.without_tiny(mode.rounding, x, d)
                } else {
                    d
                };
                if mode.clamp == Clamp::None {
                    return self.with_payload(x, d);
                }
                d
            }
            (FloatTy::F64, FloatTy::F64) => a,
            (_, FloatTy::F64) => {
                let x = self.widened(from, mode.ftz, a);
                let wide = self.ins().fpromote(F64, x);
                let bits = self.bits_of(wide);
                if mode.clamp == Clamp::None {
                    let is_number = self.ins().fcmp(FloatCC::Ordered, x, x);
                    return self.select_or_k(is_number, bits, 0x7fff_ffff_e000_0000);
                }
                bits
            }
            (FloatTy::Bf16, FloatTy::F32) => {
                let x = self.widened(from, false, a);
                let bits = self.bits_of(x);
                let bits = self.without_subnormal(bits);
                if mode.clamp == Clamp::None {
                    return self.float_of(F32, bits);
                }
                bits
            }
            (_, FloatTy::F32) => {
                let x = self.widened(from, mode.ftz, a);
                if mode.clamp == Clamp::None {
                    return x;
                }
                self.bits_of(x)
            }
            _ => {
                let x = self.widened(from, mode.ftz, a);
                self.rounded_half(to, x, mode.rounding)
            }
        };
        self.clamped(to, mode.clamp, bits)
    }

    /// The bits of an `F64` rounded to `F32`, zero where the result would be subnormal if exponents had no end.
    fn without_tiny(&mut self, rounding: Rounding, x: Value, bits: Value) -> Value {
        // The least number that is not: 2^-126, or what is rounded up to it.
        const LEAST: u64 = 0x3810_0000_0000_0000;
        const HALF_STEP: u64 = 1 << 28;
        let x = self.bits_of(x);
        let negative = self.cmp_k(IntCC::SignedLessThan, x, 0);
        let most_tiny = |this: &mut Self, away| {
            let most = if away {
                LEAST - 2 * HALF_STEP
            } else {
                LEAST - 1
            };
            this.k(I64, most)
        };
        let most = match rounding {
            Rounding::Rn => self.k(I64, LEAST - HALF_STEP - 1),
            Rounding::Rz => most_tiny(self, false),
            Rounding::Rm | Rounding::Rp => {
                let away = most_tiny(self, true);
                let towards = most_tiny(self, false);
                if rounding == Rounding::Rm {
                    self.select(negative, away, towards)
                } else {
                    self.select(negative, towards, away)
                }
            }
        };
        let magnitude = self.and_k(x, i64::MAX as u64);
        let tiny = self
            .ins()
            .icmp(IntCC::UnsignedLessThanOrEqual, magnitude, most);
        let zero = self.and_k(bits, 0x8000_0000);
        self.select(tiny, zero, bits)
    }

    /// The bits rounded to `F32` from an `F64`, of a NaN its upper bits and the one that makes it quiet.
    fn with_payload(&mut self, x: Value, bits: Value) -> Value {
        let is_number = self.ins().fcmp(FloatCC::Ordered, x, x);
        let x = self.bits_of(x);
        let sign = self.shr_k(x, 32);
        let sign = self.and_k(sign, 0x8000_0000);
        let payload = self.shr_k(x, 29);
        let payload = self.and_k(payload, 0x003f_ffff);
        let nan = self.or(sign, payload);
        let nan = self.resize(nan, I32, false);
        let quiet = self.k(I32, 0x7fc0_0000);
        let nan = self.or(nan, quiet);
        self.select(is_number, bits, nan)
    }

    /// Bits of a float clamped. Without a clamp NaN is canonical already.
    fn clamped(&mut self, ty: FloatTy, clamp: Clamp, bits: Value) -> Value {
        match clamp {
            Clamp::None => bits,
            Clamp::Relu | Clamp::Sat => {
                let positive = {
                    let zero = self.k(self.ty(bits), 0);
                    self.ins().smax(bits, zero)
                };
                if clamp == Clamp::Relu {
                    return positive;
                }
                let is_number = self.cmp_k(IntCC::UnsignedLessThanOrEqual, positive, infinity(ty));
                let least = self.umin_k(positive, one(ty));
                self.select_or_k(is_number, least, 0)
            }
        }
    }
}

/// 1.0
fn one(ty: FloatTy) -> u64 {
    match ty.lane() {
        FloatTy::F16 | FloatTy::F16x2 => 0x3c00,
        FloatTy::Bf16 | FloatTy::Bf16x2 => 0x3f80,
        FloatTy::F32 | FloatTy::F32x2 => 0x3f80_0000,
        FloatTy::F64 => 0x3ff0_0000_0000_0000,
    }
}

/// Infinity.
fn infinity(ty: FloatTy) -> u64 {
    match ty.lane() {
        FloatTy::F16 | FloatTy::F16x2 => 0x7c00,
        FloatTy::Bf16 | FloatTy::Bf16x2 => 0x7f80,
        FloatTy::F32 | FloatTy::F32x2 => 0x7f80_0000,
        FloatTy::F64 => 0x7ff0_0000_0000_0000,
    }
}
