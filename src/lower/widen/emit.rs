//! Small things with vectors that rooms use to make Cranelift instructions.

use super::super::emit::Emit;
use super::super::float::{NAN_32, NAN_64};
use super::super::together::as_little;
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::types::{F32X4, F64X2, I8X16, I32X4, I64X2};
use cranelift_codegen::ir::{ConstantData, InstBuilder, Type, Value};

impl Emit<'_, '_> {
    /// One value in each lane.
    pub(in super::super) fn all_lanes(&mut self, ty: Type, value: Value) -> Value {
        self.ins().splat(ty, value)
    }

    /// A constant of integer lanes.
    pub(in super::super) fn lanes_k(&mut self, ty: Type, lanes: &[i64]) -> Value {
        let bytes = ty.lane_type().bytes() as usize;
        let data: Vec<u8> = (lanes.iter())
            .flat_map(|lane| lane.to_le_bytes().into_iter().take(bytes))
            .collect();
        let constant = self.b.func.dfg.constants.insert(ConstantData::from(data));
        self.ins().vconst(ty, constant)
    }

    /// A vector as one of another type.
    pub(in super::super) fn cast(&mut self, ty: Type, value: Value) -> Value {
        if self.ty(value) == ty {
            return value;
        }
        self.ins().bitcast(ty, as_little(), value)
    }

    /// Bytes picked from two vectors.
    pub(in super::super) fn pick_bytes(&mut self, a: Value, b: Value, bytes: [u8; 16]) -> Value {
        let [a, b] = [a, b].map(|v| self.cast(I8X16, v));
        let immediate = (self.b.func.dfg.immediates).push(ConstantData::from(&bytes[..]));
        self.ins().shuffle(a, b, immediate)
    }

    /// Words of four bytes picked from two vectors.
    pub(in super::super) fn pick_words(&mut self, a: Value, b: Value, words: [u8; 4]) -> Value {
        let bytes = std::array::from_fn(|i| 4 * words[i / 4] + i as u8 % 4);
        let picked = self.pick_bytes(a, b, bytes);
        self.cast(I32X4, picked)
    }

    /// How many ones there are in each lane of 32 bits.
    pub(super) fn ones_of_lanes(&mut self, value: Value) -> Value {
        let ones = self.lanes_k(I32X4, &[0x0101_0101; 4]);
        let bytes = self.cast(I8X16, value);
        let counts = self.ins().popcnt(bytes);
        let counts = self.cast(I32X4, counts);
        let sums = self.ins().imul(counts, ones);
        self.shr_k(sums, 24)
    }

    /// The bits of a vector, NaN canonical where arithmetic computed it.
    pub(in super::super) fn settled_vector(&mut self, value: Value) -> Value {
        // A constant in memory: one that is made in registers would take several instructions each time there is no register to keep it.
        let (int, nan) = match self.ty(value) {
            F32X4 => (I32X4, self.lanes_k(I32X4, &[NAN_32.into(); 4])),
            F64X2 => (I64X2, self.lanes_k(I64X2, &[NAN_64 as i64; 2])),
            _ => return value,
        };
        let is_nan = self.ins().fcmp(FloatCC::Unordered, value, value);
        let bits = self.ins().bitcast(int, as_little(), value);
        self.ins().bitselect(is_nan, nan, bits)
    }
}
