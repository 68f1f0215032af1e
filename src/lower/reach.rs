//! How large a value can be, and which of its low bits are 0, as far as the instructions that make it tell.

use super::emit::Emit;
use cranelift_codegen::ir::instructions::InstructionData;
use cranelift_codegen::ir::{Inst, Opcode, Value};

/// So many instructions are looked at, one behind the other.
const DEPTH: u32 = 8;

/// What is known of a value, or of each lane of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bits {
    /// It is no larger, taken without sign.
    pub(super) most: u64,
    /// So many of its lowest bits are 0.
    pub(super) zeros: u32,
}

impl Bits {
    /// Of a value of so many bits, of which nothing is known.
    fn any(bits: u32) -> Self {
        Bits {
            most: u64::MAX >> (64 - bits),
            zeros: 0,
        }
    }

    fn constant(value: u64) -> Self {
        Bits {
            most: value,
            zeros: value.trailing_zeros(),
        }
    }

    /// Either of two.
    fn or_else(self, other: Self) -> Self {
        Bits {
            most: self.most.max(other.most),
            zeros: self.zeros.min(other.zeros),
        }
    }
}

impl Emit<'_, '_> {
    /// What is known of an integer of 64 bits at most, or of each lane of a vector of these.
    pub(super) fn known_bits(&self, value: Value) -> Bits {
        self.known_within(value, DEPTH)
    }

    fn known_within(&self, value: Value, depth: u32) -> Bits {
        let any = Bits::any(self.ty(value).lane_bits());
        let dfg = &self.b.func.dfg;
        let inst = dfg.value_def(dfg.resolve_aliases(value)).inst();
        let (Some(inst), Some(depth)) = (inst, depth.checked_sub(1)) else {
            return any;
        };
        // What overflows may be anything; but low bits stay 0.
        self.known_of_result(inst, value, depth)
            .map_or(any, |bits| match bits.most <= any.most {
                true => bits,
                false => Bits {
                    most: any.most,
                    ..bits
                },
            })
    }

    /// What is known of the result of an instruction, before it is cut to the bits of its type; `None` if nothing.
    fn known_of_result(&self, inst: Inst, value: Value, depth: u32) -> Option<Bits> {
        let dfg = &self.b.func.dfg;
        let args = dfg.inst_args(inst);
        let of = |i: usize| self.known_within(args[i], depth);
        let opcode = dfg.insts[inst].opcode();
        Some(match opcode {
            Opcode::Iconst => Bits::constant(self.constant(value)?),
            Opcode::Vconst => self.known_of_lanes(inst, value)?,
            Opcode::Splat | Opcode::Uextend | Opcode::UwidenLow | Opcode::UwidenHigh => of(0),
            Opcode::Extractlane | Opcode::Ireduce => of(0),
            Opcode::Band => Bits {
                most: of(0).most.min(of(1).most),
                zeros: of(0).zeros.max(of(1).zeros),
            },
            Opcode::Bor | Opcode::Bxor => {
                let either = of(0).or_else(of(1));
                Bits {
                    most: u64::MAX
                        .checked_shr(either.most.leading_zeros())
                        .unwrap_or(0),
                    ..either
                }
            }
            Opcode::Iadd => Bits {
                most: of(0).most.saturating_add(of(1).most),
                zeros: of(0).zeros.min(of(1).zeros),
            },
            Opcode::Imul => Bits {
                most: of(0).most.saturating_mul(of(1).most),
                zeros: of(0).zeros.saturating_add(of(1).zeros),
            },
            Opcode::Ishl => {
                let count = self.shift_count(value, args[1])?;
                Bits {
                    most: of(0).most.saturating_mul(1 << count),
                    zeros: of(0).zeros.saturating_add(count),
                }
            }
            Opcode::Ushr => {
                let count = self.shift_count(value, args[1])?;
                Bits {
                    most: of(0).most >> count,
                    zeros: of(0).zeros.saturating_sub(count),
                }
            }
            Opcode::Umin => Bits {
                most: of(0).most.min(of(1).most),
                zeros: of(0).zeros.min(of(1).zeros),
            },
            Opcode::Umax => of(0).or_else(of(1)),
            Opcode::Select => of(1).or_else(of(2)),
            Opcode::Uload8 => Bits::any(8),
            Opcode::Uload16 => Bits::any(16),
            Opcode::Uload32 => Bits::any(32),
            _ => return None,
        })
    }

    /// By how much a shift by a constant shifts.
    fn shift_count(&self, value: Value, count: Value) -> Option<u32> {
        let count = self.constant(count)? as u32;
        // Counts are taken modulo the width.
        Some(count & (self.ty(value).lane_bits() - 1))
    }

    /// Of a constant vector.
    fn known_of_lanes(&self, inst: Inst, value: Value) -> Option<Bits> {
        let dfg = &self.b.func.dfg;
        let InstructionData::UnaryConst {
            constant_handle, ..
        } = dfg.insts[inst]
        else {
            return None;
        };
        let bytes = self.ty(value).lane_type().bytes() as usize;
        let data = dfg.constants.get(constant_handle).as_slice();
        (data.chunks_exact(bytes))
            .map(|lane| {
                let mut word = [0; 8];
                word[..bytes].copy_from_slice(lane);
                Bits::constant(u64::from_le_bytes(word))
            })
            .reduce(Bits::or_else)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_codegen::ir::types::{I8, I16, I32, I32X4, I64};
    use cranelift_codegen::ir::{AbiParam, Function, InstBuilder, Signature};
    use cranelift_codegen::isa::CallConv;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    /// What is said of a value of which parts may be anything, given as values of 32 and 64 bits and of 16 and 8.
    fn said(make: impl FnOnce(&mut Emit<'_, '_>, [Value; 4]) -> Value) -> (u64, u32) {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params = [I32, I64, I16, I8].map(AbiParam::new).to_vec();
        let mut function = Function::with_name_signature(Default::default(), signature);
        let mut context = FunctionBuilderContext::new();
        let mut b = FunctionBuilder::new(&mut function, &mut context);
        let block = b.create_block();
        b.append_block_params_for_function_params(block);
        b.switch_to_block(block);
        let params = [0, 1, 2, 3].map(|i| b.block_params(block)[i]);
        let mut emit = Emit {
            b: &mut b,
            address_bits: 64,
        };
        let value = make(&mut emit, params);
        let bits = emit.known_bits(value);
        (bits.most, bits.zeros)
    }

    #[test]
    fn what_instructions_tell() {
        let any = u64::from(u32::MAX);
        assert_eq!(said(|_, [w, ..]| w), (any, 0));
        assert_eq!(said(|_, [_, d, ..]| d), (u64::MAX, 0));
        assert_eq!(said(|e, _| e.k(I32, 1020)), (1020, 2));
        assert_eq!(said(|e, _| e.k(I64, u64::MAX)), (u64::MAX, 0));
        assert_eq!(said(|e, [w, ..]| e.and_k(w, 1020)), (1020, 2));
        let widened = |e: &mut Emit<'_, '_>, w| {
            let index = e.and_k(w, 255);
            let index = e.ins().uextend(I64, index);
            let scaled = e.shl_k(index, 3);
            e.add_k(scaled, 64)
        };
        assert_eq!(said(|e, [w, ..]| widened(e, w)), (255 * 8 + 64, 3));
        assert_eq!(said(|e, [.., b]| e.ins().uextend(I32, b)), (255, 0));
        assert_eq!(said(|e, [w, ..]| e.shr_k(w, 30)), (3, 0));
        assert_eq!(said(|e, [_, _, h, _]| e.ins().uextend(I64, h)), (65535, 0));
        // Signs may be anywhere.
        assert_eq!(said(|e, [.., b]| e.ins().sextend(I32, b)), (any, 0));
        let shifted = |e: &mut Emit<'_, '_>, w| {
            let small = e.and_k(w, 12);
            let odd = e.k(I32, 19);
            e.ins().bxor(small, odd)
        };
        assert_eq!(said(|e, [w, ..]| shifted(e, w)), (31, 0));
    }

    #[test]
    fn what_overflows_may_be_anything() {
        let any = u64::from(u32::MAX);
        assert_eq!(said(|e, [w, ..]| e.add_k(w, 1)), (any, 0));
        assert_eq!(said(|e, [w, ..]| e.shl_k(w, 2)), (any, 2));
        let far = |e: &mut Emit<'_, '_>, w| {
            let a = e.and_k(w, 0xffff_0000);
            let k = e.k(I32, 0x1_0000);
            e.ins().iadd(a, k)
        };
        assert_eq!(said(|e, [w, ..]| far(e, w)), (any, 16));
        let product = |e: &mut Emit<'_, '_>, d| {
            let k = e.k(I64, 1 << 40);
            e.ins().imul(d, k)
        };
        assert_eq!(said(|e, [_, d, ..]| product(e, d)), (u64::MAX, 40));
        // A negative distance: the sum wraps around, and may be anything.
        let back = |e: &mut Emit<'_, '_>, w| {
            let index = e.and_k(w, 1020);
            e.add_k(index, 4u64.wrapping_neg())
        };
        assert_eq!(said(|e, [w, ..]| back(e, w)), (any, 2));
        // So is a count of the width or more.
        let around = |e: &mut Emit<'_, '_>, w| {
            let small = e.and_k(w, 15);
            let count = e.k(I32, 33);
            e.ins().ishl(small, count)
        };
        assert_eq!(said(|e, [w, ..]| around(e, w)), (30, 1));
    }

    #[test]
    fn vectors() {
        let lanes = |e: &mut Emit<'_, '_>, w| {
            let all = e.all_lanes(I32X4, w);
            let masks = e.lanes_k(I32X4, &[60, 4, 12, 1020]);
            e.ins().band(all, masks)
        };
        assert_eq!(said(|e, [w, ..]| lanes(e, w)), (1020, 2));
        let one = |e: &mut Emit<'_, '_>, w| {
            let lanes = lanes(e, w);
            let one = e.ins().extractlane(lanes, 3);
            e.ins().uextend(I64, one)
        };
        assert_eq!(said(|e, [w, ..]| one(e, w)), (1020, 2));
    }
}
