//! Makes over what the backtracking register allocator takes time for that grows with the square.
//!
//! * A block that thousands lead to: dominators are found by walking up from the end of each edge. The edges are
//!   gathered by blocks that do nothing else, a few at a time.
//! * Thousands of values that blocks hand on to one another: the allocator wants one register for all of them, and looks
//!   at all that it has gathered for each that it adds. Long chains are cut by copies.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{
    Block, BlockArg, Function, Inst, InstBuilder, InstructionData, Opcode, Value,
};

/// Smaller functions take too little time to bother.
const LARGE: usize = 4_000;
/// Most edges that a block keeps.
const EDGES: usize = 32;
/// Most values in a chain and uses of them.
const CHAIN: u32 = 256;

/// Of a function that has been through the mid-end, which would undo it.
pub(super) fn loosen(function: &mut Function) {
    if function.dfg.num_insts() < LARGE {
        return;
    }
    gather(function);
    cut(function);
}

/// An edge: the branch, and which of its destinations.
type Edge = (Inst, usize);

/// Where the branches of a function lead to.
fn edges(function: &Function) -> Vec<(Edge, Block)> {
    let dfg = &function.dfg;
    let mut edges = Vec::new();
    for inst in (function.layout.blocks()).filter_map(|b| function.layout.last_inst(b)) {
        let to = dfg.insts[inst].branch_destination(&dfg.jump_tables, &dfg.exception_tables);
        edges.extend(
            (to.iter().enumerate()).map(|(i, call)| ((inst, i), call.block(&dfg.value_lists))),
        );
    }
    edges
}

/// Leaves each block with few edges.
fn gather(function: &mut Function) {
    let mut into = vec![Vec::new(); function.dfg.num_blocks()];
    for (edge, block) in edges(function) {
        into[block.as_u32() as usize].push(edge);
    }
    for (number, mut edges) in (0..).zip(into) {
        let target = Block::from_u32(number);
        while edges.len() > EDGES {
            edges = (edges.chunks(EDGES))
                .map(|few| (gathered(function, few, target), 0))
                .collect();
        }
    }
}

/// Leads edges to a block that goes on to the target: its jump.
fn gathered(function: &mut Function, edges: &[Edge], target: Block) -> Inst {
    let dfg = &mut function.dfg;
    let block = dfg.make_block();
    let types: Vec<_> = (dfg.block_params(target).iter())
        .map(|&param| dfg.value_type(param))
        .collect();
    let params: Vec<BlockArg> = (types.into_iter())
        .map(|ty| dfg.append_block_param(block, ty).into())
        .collect();
    for &(inst, i) in edges {
        let calls =
            dfg.insts[inst].branch_destination_mut(&mut dfg.jump_tables, &mut dfg.exception_tables);
        calls[i].set_block(block, &mut dfg.value_lists);
    }
    let destination = dfg.block_call(target, &params);
    let jump = dfg.make_inst(InstructionData::Jump {
        opcode: Opcode::Jump,
        destination,
    });
    function.layout.insert_block(block, target);
    if function.layout.is_cold(target) {
        function.layout.set_cold(block);
    }
    function.layout.append_inst(jump, block);
    jump
}

/// Cuts long chains.
fn cut(function: &mut Function) {
    let mut chains = Chains::new(function);
    let mut position = vec![0u32; function.dfg.num_blocks()];
    for (i, block) in (0..).zip(function.layout.blocks()) {
        position[block.as_u32() as usize] = i;
    }
    // Loops first, so that it is not within them that chains are cut.
    let (back, on): (Vec<_>, Vec<_>) =
        (edges(function).into_iter()).partition(|&((inst, _), to)| {
            (function.layout.inst_block(inst)).is_some_and(|from| {
                position[to.as_u32() as usize] <= position[from.as_u32() as usize]
            })
        });
    for (edge, to) in back.into_iter().chain(on) {
        for i in 0..function.dfg.block_params(to).len() {
            let param = function.dfg.block_params(to)[i];
            if let Some(value) = argument(function, edge, i)
                && function.dfg.value_type(param).is_int()
                && !chains.join(value, param)
            {
                copy(function, edge, i, value);
            }
        }
    }
}

/// What an edge hands on to a parameter.
fn argument(function: &Function, (inst, i): Edge, param: usize) -> Option<Value> {
    let dfg = &function.dfg;
    let calls = dfg.insts[inst].branch_destination(&dfg.jump_tables, &dfg.exception_tables);
    let value = calls
        .get(i)?
        .args(&dfg.value_lists)
        .nth(param)?
        .as_value()?;
    Some(dfg.resolve_aliases(value))
}

/// Has an edge hand on a copy: a sum with zero, which nothing sees through after the mid-end.
fn copy(function: &mut Function, (inst, i): Edge, param: usize, value: Value) {
    let ty = function.dfg.value_type(value);
    let mut cursor = FuncCursor::new(function).at_inst(inst);
    cursor.use_srcloc(inst);
    let zero = cursor.ins().iconst(ty, 0);
    let copy = cursor.ins().iadd(value, zero);
    let dfg = &mut function.dfg;
    let calls =
        dfg.insts[inst].branch_destination_mut(&mut dfg.jump_tables, &mut dfg.exception_tables);
    let mut at = 0;
    calls[i].update_args(&mut dfg.value_lists, |arg| {
        at += 1;
        if at == param + 1 { copy.into() } else { arg }
    });
}

/// Which values are handed on to which, through any number of blocks.
struct Chains {
    /// Another of the same chain, or itself.
    parents: Vec<u32>,
    /// Where a value is its own parent, the values of its chain and uses of them.
    sizes: Vec<u32>,
}

impl Chains {
    /// Each value by itself.
    fn new(function: &Function) -> Self {
        let count = function.dfg.num_values();
        let mut sizes = vec![1u32; count];
        let blocks = function.layout.blocks();
        for inst in blocks.flat_map(|b| function.layout.block_insts(b)) {
            for value in function.dfg.inst_values(inst) {
                sizes[function.dfg.resolve_aliases(value).as_u32() as usize] += 1;
            }
        }
        Chains {
            parents: (0..count as u32).collect(),
            sizes,
        }
    }

    fn chain(&mut self, value: Value) -> usize {
        let mut at = value.as_u32();
        while self.parents[at as usize] != at {
            let parent = self.parents[at as usize];
            self.parents[at as usize] = self.parents[parent as usize];
            at = parent;
        }
        at as usize
    }

    /// Joins the chains of two values, unless that were too long: then a copy of the first joins the second's.
    fn join(&mut self, value: Value, param: Value) -> bool {
        let (from, to) = (self.chain(value), self.chain(param));
        let size = self.sizes[from].saturating_add(self.sizes[to]);
        if from == to {
            return true;
        }
        if size > CHAIN {
            self.sizes[to] += 2;
            return false;
        }
        let (small, large) = if self.sizes[from] < self.sizes[to] {
            (from, to)
        } else {
            (to, from)
        };
        self.parents[small] = large as u32;
        self.sizes[large] = size;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{CHAIN, Chains, EDGES, LARGE, cut, edges, gather, loosen};
    use cranelift_codegen::ir::condcodes::IntCC;
    use cranelift_codegen::ir::types::I32;
    use cranelift_codegen::ir::{AbiParam, Block, Function, InstBuilder, Signature};
    use cranelift_codegen::isa::CallConv;
    use cranelift_codegen::settings::{Flags, builder};
    use cranelift_codegen::verify_function;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
    use rustc_hash::FxHashMap;

    /// So many loops after one another that hand on one value, each with a way to one end.
    fn loops(count: usize) -> Function {
        let mut function = Function::new();
        function.signature = Signature::new(CallConv::SystemV);
        function.signature.params.push(AbiParam::new(I32));
        function.signature.returns.push(AbiParam::new(I32));
        let mut context = FunctionBuilderContext::new();
        let mut b = FunctionBuilder::new(&mut function, &mut context);
        let (entry, end) = (b.create_block(), b.create_block());
        b.append_block_params_for_function_params(entry);
        let result = b.append_block_param(end, I32);
        b.switch_to_block(entry);
        let mut value = b.block_params(entry)[0];
        for _ in 0..count {
            let (head, after) = (b.create_block(), b.create_block());
            let here = b.append_block_param(head, I32);
            b.ins().jump(head, &[value.into()]);
            b.switch_to_block(head);
            value = b.ins().imul(here, here);
            let again = b.ins().icmp(IntCC::Equal, value, here);
            b.ins().brif(again, head, &[value.into()], after, &[]);
            b.switch_to_block(after);
            let next = b.create_block();
            b.ins().brif(here, end, &[here.into()], next, &[]);
            b.switch_to_block(next);
        }
        b.ins().jump(end, &[value.into()]);
        b.switch_to_block(end);
        b.ins().return_(&[result]);
        b.seal_all_blocks();
        b.finalize(cranelift_codegen::isa::TargetFrontendConfig {
            default_call_conv: CallConv::SystemV,
            pointer_width: target_lexicon::PointerWidth::U64,
            page_size_align_log2: 12,
        });
        function
    }

    fn verify(function: &Function) {
        let flags = Flags::new(builder());
        assert_eq!(
            verify_function(function, &flags).map_err(|e| e.to_string()),
            Ok(())
        );
    }

    #[test]
    fn no_block_keeps_many_edges() {
        let mut function = loops(5_000);
        gather(&mut function);
        verify(&function);
        let mut into: FxHashMap<Block, usize> = FxHashMap::default();
        for (_, to) in edges(&function) {
            *into.entry(to).or_default() += 1;
        }
        assert!(into.values().all(|&count| count <= EDGES));
    }

    #[test]
    fn chains_are_cut_once_and_not_within_loops() {
        let mut function = loops(5_000);
        gather(&mut function);
        let before = function.dfg.num_insts();
        cut(&mut function);
        verify(&function);
        // Copies, and a zero for each.
        let copies = (function.dfg.num_insts() - before) / 2;
        assert!(
            (5_000 / CHAIN as usize..5_000).contains(&copies),
            "{copies}"
        );
        let mut chains = Chains::new(&function);
        let mut joined = Vec::new();
        for ((inst, i), to) in edges(&function) {
            for (param, &to) in function.dfg.block_params(to).iter().enumerate() {
                joined.extend(super::argument(&function, (inst, i), param).map(|v| (v, to)));
            }
        }
        for (value, to) in joined {
            let (from, to) = (chains.chain(value), chains.chain(to));
            if from != to {
                chains.parents[from] = to as u32;
                chains.sizes[to] += chains.sizes[from];
            }
        }
        let longest = (chains.parents.iter().zip(&chains.sizes))
            .zip(0..)
            .filter(|((parent, _), i)| *parent == i)
            .map(|((_, size), _)| *size)
            .max();
        // Copies and their uses come on top.
        assert!(longest.is_some_and(|size| size <= CHAIN * 4), "{longest:?}");
    }

    #[test]
    fn small_functions_stay_as_they_are() {
        let mut function = loops(LARGE / 8);
        let before = function.display().to_string();
        loosen(&mut function);
        assert_eq!(function.display().to_string(), before);
    }
}
