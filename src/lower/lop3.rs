//! `lop3`: a function of three bits, given by its table, in few logic operations.

use super::emit::Emit;
use cranelift_codegen::ir::{InstBuilder, Value};

/// A function of two bits x, y: bit 2x + y of the table is its value.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Pair(u8);

const ZERO: Pair = Pair(0b0000);
const ONES: Pair = Pair(0b1111);

impl Pair {
    /// Instructions that it takes.
    fn cost(self) -> u32 {
        match self.0 {
            0b0000 | 0b1111 | 0b1100 | 0b1010 => 0,
            // not x; not y; and, or, xor; and-not is one on most machines.
            0b0011 | 0b0101 | 0b1000 | 0b1110 | 0b0110 | 0b0100 | 0b0010 => 1,
            _ => 2,
        }
    }

    fn emit(self, e: &mut Emit<'_, '_>, x: Value, y: Value) -> Value {
        let not = |e: &mut Emit<'_, '_>, v| e.ins().bnot(v);
        match self.0 {
            0b0000 => e.k(e.ty(x), 0),
            0b0001 => {
                let either = e.ins().bor(x, y);
                not(e, either)
            }
            0b0010 => {
                let x = not(e, x);
                e.ins().band(y, x)
            }
            0b0011 => not(e, x),
            0b0100 => {
                let y = not(e, y);
                e.ins().band(x, y)
            }
            0b0101 => not(e, y),
            0b0110 => e.ins().bxor(x, y),
            0b0111 => {
                let both = e.ins().band(x, y);
                not(e, both)
            }
            0b1000 => e.ins().band(x, y),
            0b1001 => {
                let different = e.ins().bxor(x, y);
                not(e, different)
            }
            0b1010 => y,
            0b1011 => {
                let x = not(e, x);
                e.ins().bor(x, y)
            }
            0b1100 => x,
            0b1101 => {
                let y = not(e, y);
                e.ins().bor(x, y)
            }
            0b1110 => e.ins().bor(x, y),
            _ => e.k(e.ty(x), u64::MAX),
        }
    }
}

/// f = pivot ? one : zero, both functions of the other two operands.
struct Split {
    pivot: usize,
    zero: Pair,
    one: Pair,
}

impl Split {
    fn new(lut: u8, pivot: usize) -> Self {
        // Operands a, b, c stand for bits 2, 1, 0 of the index.
        let bit = 2 - pivot;
        let others: [usize; 2] = [[1, 0], [2, 0], [2, 1]][pivot];
        let table = |value: usize| {
            let mut table = 0;
            for x in 0..2 {
                for y in 0..2 {
                    let index = value << bit | x << others[0] | y << others[1];
                    table |= (lut >> index & 1) << (2 * x + y);
                }
            }
            Pair(table)
        };
        Split {
            pivot,
            zero: table(0),
            one: table(1),
        }
    }

    fn difference(&self) -> Pair {
        Pair(self.zero.0 ^ self.one.0)
    }

    fn cost(&self) -> u32 {
        let (zero, one) = (self.zero, self.one);
        match (zero, one, self.difference()) {
            (_, _, ZERO) => zero.cost(),
            (_, _, ONES) => zero.cost() + 1,
            (ZERO, _, _) | (_, ONES, _) => zero.cost() + one.cost() + 1,
            (_, ZERO, _) => zero.cost() + 1,
            (ONES, _, _) => one.cost() + 2,
            (_, _, difference) => zero.cost() + difference.cost() + 2,
        }
    }

    fn emit(&self, e: &mut Emit<'_, '_>, operands: [Value; 3]) -> Value {
        let p = operands[self.pivot];
        let [x, y] = [[1, 2], [0, 2], [0, 1]][self.pivot].map(|i: usize| operands[i]);
        let difference = self.difference();
        match (self.zero, self.one, difference) {
            (zero, _, ZERO) => zero.emit(e, x, y),
            (zero, _, ONES) => {
                let zero = zero.emit(e, x, y);
                e.ins().bxor(p, zero)
            }
            (ZERO, one, _) => {
                let one = one.emit(e, x, y);
                e.ins().band(p, one)
            }
            (zero, ONES, _) => {
                let zero = zero.emit(e, x, y);
                e.ins().bor(p, zero)
            }
            (zero, ZERO, _) => {
                let zero = zero.emit(e, x, y);
                let p = e.ins().bnot(p);
                e.ins().band(zero, p)
            }
            (ONES, one, _) => {
                let one = one.emit(e, x, y);
                let p = e.ins().bnot(p);
                e.ins().bor(one, p)
            }
            (zero, _, difference) => {
                let zero = zero.emit(e, x, y);
                let difference = difference.emit(e, x, y);
                let changed = e.ins().band(p, difference);
                e.ins().bxor(zero, changed)
            }
        }
    }
}

/// The result of `lop3` with a table.
pub(super) fn lower(e: &mut Emit<'_, '_>, lut: u8, operands: [Value; 3]) -> Value {
    let cheapest = [0, 1, 2]
        .map(|pivot| Split::new(lut, pivot))
        .into_iter()
        .min_by_key(Split::cost);
    match cheapest {
        Some(split) => split.emit(e, operands),
        None => operands[0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_codegen::ir::types::I32;
    use cranelift_codegen::ir::{AbiParam, Function, Opcode, Signature, UserFuncName};
    use cranelift_codegen::isa::CallConv;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    /// How many operations a split becomes, constants aside: at least, where every complement of an operand of `and` is
    /// part of the `and`, and at most.
    fn operations(split: &Split) -> (u32, u32) {
        let mut signature = Signature::new(CallConv::Fast);
        signature.params = vec![AbiParam::new(I32); 3];
        let mut function = Function::with_name_signature(UserFuncName::default(), signature);
        let mut context = FunctionBuilderContext::new();
        let mut b = FunctionBuilder::new(&mut function, &mut context);
        let block = b.create_block();
        b.append_block_params_for_function_params(block);
        b.switch_to_block(block);
        let operands = [0, 1, 2].map(|i| b.block_params(block)[i]);
        split.emit(
            &mut Emit {
                b: &mut b,
                address_bits: 64,
            },
            operands,
        );
        let opcode = |inst| b.func.dfg.insts[inst].opcode();
        let complement = |value: Value| {
            let inst = b.func.dfg.value_def(value).inst();
            inst.is_some_and(|inst| opcode(inst) == Opcode::Bnot)
        };
        let (mut least, mut most) = (0, 0);
        for inst in b.func.layout.block_insts(block) {
            let args = b.func.dfg.inst_args(inst);
            (least, most) = match opcode(inst) {
                Opcode::Iconst => (least, most),
                Opcode::Band if args.iter().any(|&v| complement(v)) => (least, most + 1),
                _ => (least + 1, most + 1),
            };
        }
        (least, most)
    }

    #[test]
    fn the_cost_is_about_what_is_emitted() {
        for lut in 0..=255 {
            for pivot in 0..3 {
                let split = Split::new(lut, pivot);
                let (cost, (least, most)) = (split.cost(), operations(&split));
                assert!(
                    least <= cost && cost <= most,
                    "{lut:#04x} by {pivot}: {cost}"
                );
            }
        }
    }

    #[test]
    fn the_cheapest_split_is_taken() {
        // a & b & c, a ^ b ^ c, a | b | c, majority, a ? b : c, and one of each operand alone.
        for (lut, most) in [
            (0x80, 2),
            (0x96, 2),
            (0xfe, 2),
            (0xe8, 4),
            (0xca, 3),
            (0xf0, 0),
            (0xcc, 0),
            (0xaa, 0),
        ] {
            let costs = [0, 1, 2].map(|pivot| Split::new(lut, pivot).cost());
            assert_eq!(costs.into_iter().min(), Some(most), "{lut:#04x}: {costs:?}");
        }
    }
}
