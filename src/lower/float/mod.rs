//! Floating-point arithmetic in Cranelift IR.
//!
//! What arithmetic computes is a value of a Cranelift float type, whose NaN may have any bits: arithmetic on it does not care. Where
//! the bits can be seen, [`Emit::settled`] makes the NaN canonical. A result of an integer type is exact as it is.

mod approx;
mod arith;
mod compare;
mod double;
mod half;
mod half_compare;
mod round;

use super::emit::Emit;
use crate::ir::float::{Arith, FloatTy, Mixed, Op};
use arith::Exact;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::{Ieee32, Ieee64};
use cranelift_codegen::ir::types::{F32, F64, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Opcode, Type, Value};
use smallvec::{SmallVec, smallvec};

/// A power of two.
fn power(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

impl Emit<'_, '_> {
    /// The results of an operator, of integer types, or of float types with NaN of any bits.
    pub(super) fn float(&mut self, op: Op, srcs: &[Value]) -> SmallVec<[Value; 2]> {
        if let Some(results) = self.of_halves(op, srcs) {
            return results;
        }
        match op {
            Op::Arith { op, ty, mode } => {
                let op = match op {
                    Arith::Add => Exact::Add,
                    Arith::Sub => Exact::Sub,
                    Arith::Mul => Exact::Mul,
                    Arith::Div => Exact::Div,
                };
                smallvec![self.lanes(ty, srcs, |e, s| e.exact(op, ty.lane(), mode, s))]
            }
            Op::Fma { ty, mode } | Op::FmaOob { ty, mode } => {
                smallvec![self.lanes(ty, srcs, |e, s| e.exact(Exact::Fma, ty.lane(), mode, s))]
            }
            Op::Mixed { op, from, mode } => {
                let halves = srcs.len() - 1;
                let mut wide: SmallVec<[Value; 3]> = SmallVec::new();
                for &half in &srcs[..halves] {
                    wide.extend(self.halves_to_f32(from, half, false));
                }
                wide.push(srcs[halves]);
                let op = match op {
                    Mixed::Add => Exact::Add,
                    Mixed::Sub => Exact::Sub,
                    Mixed::Fma => Exact::Fma,
                };
                smallvec![self.exact(op, FloatTy::F32, mode, &wide)]
            }
            Op::Rcp { ty, mode } => {
                let one = self.float_k(ty, 1.0);
                smallvec![self.exact(Exact::Div, ty, mode, &[one, srcs[0]])]
            }
            Op::Sqrt { ty, mode } => smallvec![self.exact(Exact::Sqrt, ty, mode, srcs)],
            Op::Sign { op, ty, ftz } => smallvec![self.sign(op, ty, ftz, srcs[0])],
            Op::Copysign { ty } => smallvec![self.copysign(ty, srcs[0], srcs[1])],
            Op::Extreme(extreme) => smallvec![self.extreme(extreme, srcs)],
            Op::Testp { class, ty } => smallvec![self.testp(class, ty, srcs[0])],
            Op::Setp {
                cmp,
                ty,
                ftz,
                combine,
            } => self.float_setp(cmp, ty, ftz, combine, srcs),
            Op::Set {
                cmp,
                ty,
                ftz,
                combine,
                to,
            } => {
                let mut t = self.holds(cmp, ty, ftz, srcs);
                if let Some(combine) = combine {
                    t = self.combine(combine, t, srcs[2]);
                }
                smallvec![self.marked(t, to)]
            }
            Op::Slct { ftz, .. } => smallvec![self.float_slct(ftz, srcs)],
            Op::Approx { op, ty, ftz } => smallvec![self.approx(op, ty, ftz, srcs)],
        }
    }

    /// The results of an operator of numbers of 16 bits, if it is one.
    fn of_halves(&mut self, op: Op, srcs: &[Value]) -> Option<SmallVec<[Value; 2]>> {
        let is_half = |ty: FloatTy| matches!(ty.lane(), FloatTy::F16 | FloatTy::Bf16);
        let result = match op {
            Op::Arith { op, ty, mode } if is_half(ty) => self.half_arith(op, ty, mode, srcs),
            Op::Fma { ty, mode } if is_half(ty) => self.half_fma(ty, mode, false, srcs),
            Op::FmaOob { ty, mode } if is_half(ty) => self.half_fma(ty, mode, true, srcs),
            Op::Sign { op, ty, ftz } if is_half(ty) => self.half_sign(op, ty, ftz, srcs[0]),
            Op::Extreme(extreme) if is_half(extreme.ty) => self.half_extreme(extreme, srcs),
            Op::Setp {
                cmp,
                ty,
                ftz,
                combine,
            } if is_half(ty) => return Some(self.half_setp(cmp, ty, ftz, combine, srcs)),
            Op::Set {
                cmp,
                ty,
                ftz,
                combine,
                to,
            } if is_half(ty) => self.half_set(cmp, ty, ftz, combine, to, srcs),
            Op::Arith { .. }
            | Op::Fma { .. }
            | Op::FmaOob { .. }
            | Op::Mixed { .. }
            | Op::Rcp { .. }
            | Op::Sqrt { .. }
            | Op::Sign { .. }
            | Op::Copysign { .. }
            | Op::Extreme(_)
            | Op::Testp { .. }
            | Op::Setp { .. }
            | Op::Set { .. }
            | Op::Slct { .. }
            | Op::Approx { .. } => return None,
        };
        Some(smallvec![result])
    }

    /// `f` of each lane of packed formats, of the sources themselves where there is one.
    fn lanes(
        &mut self,
        ty: FloatTy,
        srcs: &[Value],
        f: impl Fn(&mut Self, &[Value]) -> Value,
    ) -> Value {
        if ty.lanes() == 1 {
            return f(self, srcs);
        }
        let bits = ty.lane().bits();
        let lane = super::emit::clif_type(ty.lane().class());
        let whole = super::emit::clif_type(ty.class());
        let [low, high] = [0, bits].map(|at| {
            let srcs: SmallVec<[Value; 3]> = (srcs.iter())
                .map(|&src| {
                    let src = self.shr_k(src, at);
                    self.ins().ireduce(lane, src)
                })
                .collect();
            let d = f(self, &srcs);
            let d = self.settled(d);
            self.resize(d, whole, false)
        });
        let high = self.shl_k(high, bits);
        self.or(low, high)
    }

    /// A constant of a format that Cranelift has.
    pub(super) fn float_k(&mut self, ty: FloatTy, value: f64) -> Value {
        if ty == FloatTy::F64 {
            self.ins().f64const(Ieee64::with_float(value))
        } else {
            self.ins().f32const(Ieee32::with_float(value as f32))
        }
    }

    /// The bits of a `.f32` or `.f64` as a value of that Cranelift type.
    pub(super) fn as_float(&mut self, ty: FloatTy, value: Value) -> Value {
        let ty = if ty == FloatTy::F64 { F64 } else { F32 };
        if self.ty(value) == ty {
            return value;
        }
        match (self.constant(value), ty) {
            (Some(bits), F64) => self.ins().f64const(Ieee64::with_bits(bits)),
            (Some(bits), _) => self.ins().f32const(Ieee32::with_bits(bits as u32)),
            (None, _) => self.ins().bitcast(ty, MemFlagsData::new(), value),
        }
    }

    /// The bits of a value of a float type, whatever its NaN.
    pub(super) fn as_bits(&mut self, value: Value) -> Value {
        let int = match self.ty(value) {
            F32 => I32,
            F64 => I64,
            _ => return value,
        };
        self.ins().bitcast(int, MemFlagsData::new(), value)
    }

    /// A comparison with a constant.
    fn fcmp_k(&mut self, cc: FloatCC, x: Value, y: f64) -> Value {
        let y = if self.ty(x) == F64 {
            self.float_k(FloatTy::F64, y)
        } else {
            self.float_k(FloatTy::F32, y)
        };
        self.ins().fcmp(cc, x, y)
    }

    /// x's sign on a zero.
    fn zero_of(&mut self, x: Value) -> Value {
        let sign = if self.ty(x) == F64 {
            self.float_k(FloatTy::F64, -0.0)
        } else {
            self.float_k(FloatTy::F32, -0.0)
        };
        self.ins().band(x, sign)
    }

    /// An operand of an operation of `.f32` or `.f64`, with `.ftz` a zero of its sign for a subnormal one.
    ///
    /// A select of floats is a jump over a move: subnormal numbers are rare, so it is foreseen and takes no time.
    fn operand(&mut self, ty: FloatTy, ftz: bool, value: Value) -> Value {
        let x = self.as_float(ty, value);
        if !ftz || ty == FloatTy::F64 {
            return x;
        }
        match self.constant(value) {
            None => {
                let magnitude = self.ins().fabs(x);
                self.flush_if_below(x, magnitude, power(-126))
            }
            Some(bits) if bits & 0x7f80_0000 == 0 => {
                let zero = Ieee32::with_bits(bits as u32 & 0x8000_0000);
                self.ins().f32const(zero)
            }
            Some(_) => x,
        }
    }

    /// A zero of x's sign where `judged` lies below `limit`, otherwise x.
    fn flush_if_below(&mut self, x: Value, judged: Value, limit: f64) -> Value {
        let tiny = self.fcmp_k(FloatCC::LessThan, judged, limit);
        let zero = self.zero_of(x);
        self.select(tiny, zero, x)
    }

    /// The bits of a value, NaN made canonical if it is a result of arithmetic.
    pub(super) fn settled(&mut self, value: Value) -> Value {
        let Some((int, infinity, nan)) = layout(self.ty(value)) else {
            return value;
        };
        let bits = self.ins().bitcast(int, MemFlagsData::new(), value);
        if self.is_loaded(value) {
            return bits;
        }
        let magnitude = self.and_k(bits, (1 << (int.bits() - 1)) - 1);
        let is_nan = self.cmp_k(IntCC::UnsignedGreaterThan, magnitude, infinity);
        let nan = self.k(int, nan);
        self.select(is_nan, nan, bits)
    }

    /// Whether it is a result of arithmetic, a NaN in which may have any bits.
    pub(super) fn is_unsettled(&self, value: Value) -> bool {
        self.ty(value).is_float() && !self.is_loaded(value)
    }

    /// The canonical NaN of a float type.
    pub(super) fn canonical_nan(&mut self, ty: Type) -> Value {
        if ty == F64 {
            self.ins().f64const(Ieee64::with_bits(NAN_64))
        } else {
            self.ins().f32const(Ieee32::with_bits(NAN_32))
        }
    }

    /// Whether a value of a float type comes from memory, with whatever NaN is there.
    fn is_loaded(&self, value: Value) -> bool {
        let dfg = &self.b.func.dfg;
        let inst = dfg.value_def(dfg.resolve_aliases(value)).inst();
        inst.is_some_and(|inst| dfg.insts[inst].opcode() == Opcode::Load)
    }

    /// Selects between results of arithmetic and constants that are finite, and gives such a result; `None` if there is anything else.
    ///
    /// It is of the bits: a select of floats is a jump, which not every condition foresees.
    pub(super) fn select_results(&mut self, cond: Value, a: Value, b: Value) -> Option<Value> {
        let mut types = [a, b].into_iter().map(|x| self.ty(x));
        let float = types.find(|ty| ty.is_float())?;
        let (_, infinity, _) = layout(float)?;
        for x in [a, b] {
            let fits = match self.constant(x) {
                Some(bits) => bits & infinity != infinity,
                None => self.ty(x) == float && !self.is_loaded(x),
            };
            if !fits {
                return None;
            }
        }
        let [a, b] = [a, b].map(|x| self.as_bits(x));
        let bits = self.select(cond, a, b);
        Some(self.ins().bitcast(float, MemFlagsData::new(), bits))
    }
}

/// The canonical NaN of `.f32`.
pub(super) const NAN_32: u32 = 0x7fff_ffff;
/// That of `.f64`.
pub(super) const NAN_64: u64 = 0xfff8_0000_0000_0000;

/// The integer type of a float type's bits, infinity, and the canonical NaN.
fn layout(ty: Type) -> Option<(Type, u64, u64)> {
    match ty {
        F32 => Some((I32, 0x7f80_0000, NAN_32.into())),
        F64 => Some((I64, 0x7ff0_0000_0000_0000, NAN_64)),
        _ => None,
    }
}
