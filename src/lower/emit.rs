//! Small things that all family rooms use to make Cranelift instructions.
//!
//! Values are uniform or of one thread; each room sees plain scalars of the operator's classes.

use crate::ir::compare::CmpOp;
use crate::ir::{IntTy, RegClass};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::instructions::InstructionData;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Opcode, Type, Value};
use cranelift_frontend::{FuncInstBuilder, FunctionBuilder};

/// The Cranelift type of a register class. Predicates are 0 or 1 in a byte.
pub(crate) fn clif_type(class: RegClass) -> Type {
    match class {
        RegClass::Pred | RegClass::B8 => I8,
        RegClass::B16 => I16,
        RegClass::B32 => I32,
        RegClass::B64 => I64,
    }
}

/// The condition of a comparison.
pub(super) fn condition(cmp: CmpOp, signed: bool) -> IntCC {
    match (cmp, signed) {
        (CmpOp::Eq, _) => IntCC::Equal,
        (CmpOp::Ne, _) => IntCC::NotEqual,
        (CmpOp::Lt, true) => IntCC::SignedLessThan,
        (CmpOp::Le, true) => IntCC::SignedLessThanOrEqual,
        (CmpOp::Gt, true) => IntCC::SignedGreaterThan,
        (CmpOp::Ge, true) => IntCC::SignedGreaterThanOrEqual,
        (CmpOp::Lt, false) => IntCC::UnsignedLessThan,
        (CmpOp::Le, false) => IntCC::UnsignedLessThanOrEqual,
        (CmpOp::Gt, false) => IntCC::UnsignedGreaterThan,
        (CmpOp::Ge, false) => IntCC::UnsignedGreaterThanOrEqual,
    }
}

/// Where instructions are made.
pub(super) struct Emit<'a, 'f> {
    pub(super) b: &'a mut FunctionBuilder<'f>,
    /// Of the module, 32 or 64.
    pub(super) address_bits: u32,
}

impl<'f> Emit<'_, 'f> {
    /// The next instruction.
    pub(super) fn ins(&mut self) -> FuncInstBuilder<'_, 'f> {
        self.b.ins()
    }

    /// The type of a value.
    pub(super) fn ty(&self, value: Value) -> Type {
        self.b.func.dfg.value_type(value)
    }

    /// A constant.
    pub(super) fn k(&mut self, ty: Type, value: u64) -> Value {
        self.ins().iconst(ty, value as i64)
    }

    /// The constant that a value is, zero-extended.
    pub(super) fn constant(&self, value: Value) -> Option<u64> {
        let dfg = &self.b.func.dfg;
        let inst = dfg.value_def(dfg.resolve_aliases(value)).inst()?;
        match dfg.insts[inst] {
            InstructionData::UnaryImm {
                opcode: Opcode::Iconst,
                imm,
            } => Some(imm.bits() as u64 & (u64::MAX >> (64 - self.ty(value).bits()))),
            _ => None,
        }
    }

    /// The value without a mask that keeps its low `bits` bits alone.
    pub(super) fn without_mask(&self, value: Value, bits: u32) -> Value {
        let dfg = &self.b.func.dfg;
        let Some(inst) = dfg.value_def(dfg.resolve_aliases(value)).inst() else {
            return value;
        };
        if dfg.insts[inst].opcode() != Opcode::Band {
            return value;
        }
        let [x, mask] = [0, 1].map(|i| dfg.inst_args(inst)[i]);
        let low = (1u64 << bits) - 1;
        match self.constant(mask) {
            Some(mask) if mask & low == low => x,
            _ => value,
        }
    }

    /// The value as one that is widened from 32 bits or fewer, times a power of two; and which.
    pub(super) fn scaled(&self, value: Value) -> Option<(Value, u32)> {
        let dfg = &self.b.func.dfg;
        let def = |value: Value| {
            let inst = dfg.value_def(dfg.resolve_aliases(value)).inst()?;
            Some((dfg.insts[inst].opcode(), dfg.inst_args(inst)))
        };
        let (opcode, args) = def(value)?;
        let (index, scale) = match opcode {
            Opcode::Imul => {
                let factor = self.constant(args[1]).filter(|k| k.is_power_of_two())?;
                (args[0], factor.ilog2())
            }
            Opcode::Ishl => (args[0], u32::try_from(self.constant(args[1])?).ok()?),
            _ => return None,
        };
        let (opcode, from) = def(index)?;
        let widened = matches!(opcode, Opcode::Uextend | Opcode::Sextend);
        (widened && self.ty(from[0]).bits() <= 32).then_some((index, scale))
    }

    pub(super) fn and_k(&mut self, x: Value, mask: u64) -> Value {
        let mask = self.k(self.ty(x), mask);
        self.ins().band(x, mask)
    }

    pub(super) fn or(&mut self, x: Value, y: Value) -> Value {
        self.ins().bor(x, y)
    }

    pub(super) fn add_k(&mut self, x: Value, y: u64) -> Value {
        if y == 0 {
            return x;
        }
        let y = self.k(self.ty(x), y);
        self.ins().iadd(x, y)
    }

    /// x << n, n below the width.
    pub(super) fn shl_k(&mut self, x: Value, n: u32) -> Value {
        if n == 0 {
            return x;
        }
        let n = self.k(I32, n.into());
        self.ins().ishl(x, n)
    }

    /// x >> n without sign, n below the width.
    pub(super) fn shr_k(&mut self, x: Value, n: u32) -> Value {
        if n == 0 {
            return x;
        }
        let n = self.k(I32, n.into());
        self.ins().ushr(x, n)
    }

    /// x >> n with sign, n below the width.
    pub(super) fn sar_k(&mut self, x: Value, n: u32) -> Value {
        if n == 0 {
            return x;
        }
        let n = self.k(I32, n.into());
        self.ins().sshr(x, n)
    }

    /// A comparison with a constant.
    pub(super) fn cmp_k(&mut self, cc: IntCC, x: Value, y: u64) -> Value {
        let y = self.k(self.ty(x), y);
        self.ins().icmp(cc, x, y)
    }

    /// The unsigned minimum of x and a constant.
    pub(super) fn umin_k(&mut self, x: Value, most: u64) -> Value {
        let most = self.k(self.ty(x), most);
        self.ins().umin(x, most)
    }

    /// x clamped between signed constants.
    pub(super) fn clamp_k(&mut self, x: Value, least: i64, most: i64) -> Value {
        let least = self.k(self.ty(x), least as u64);
        let most = self.k(self.ty(x), most as u64);
        let x = self.ins().smax(x, least);
        self.ins().smin(x, most)
    }

    /// c ? x : y
    pub(super) fn select(&mut self, c: Value, x: Value, y: Value) -> Value {
        self.ins().select(c, x, y)
    }

    /// c ? x : constant
    pub(super) fn select_or_k(&mut self, c: Value, x: Value, y: u64) -> Value {
        let y = self.k(self.ty(x), y);
        self.ins().select(c, x, y)
    }

    /// The value with `ty`'s width, truncated or extended.
    pub(super) fn resize(&mut self, value: Value, ty: Type, signed: bool) -> Value {
        let from = self.ty(value);
        if from == ty {
            value
        } else if from.bits() > ty.bits() {
            self.ins().ireduce(ty, value)
        } else if let (Some(constant), ..=64) = (self.constant(value), ty.bits()) {
            let shift = 64 - from.bits();
            let constant = if signed {
                ((constant << shift) as i64 >> shift) as u64
            } else {
                constant
            };
            self.k(ty, constant & (u64::MAX >> (64 - ty.bits())))
        } else if signed {
            self.ins().sextend(ty, value)
        } else {
            self.ins().uextend(ty, value)
        }
    }

    /// The value widened as a number of type `from`.
    pub(super) fn widen(&mut self, value: Value, from: IntTy, ty: Type) -> Value {
        self.resize(value, ty, from.signed())
    }
}
