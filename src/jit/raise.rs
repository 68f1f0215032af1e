//! Puts vector arithmetic back where its operands are ready.
//!
//! The mid-end computes what has no side effect where it is needed first. In a loop that loads and multiplies by turns, and stores
//! the sums in the end, that is the end: everything that has been loaded lives until then. Where an operand is used nowhere else,
//! an instruction right behind its operands takes no more registers than they do. What cold blocks compute for themselves, because they
//! come before the end, they have from there then.

use cranelift_codegen::Context;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{Block, Function, Inst, Opcode, Type, Value, ValueDef};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Of a function that has been through the mid-end.
pub(super) fn raise(context: &mut Context) {
    context.flowgraph();
    context.compute_loop_analysis();
    let uses = uses(&context.func);
    let order: Vec<Block> = context.domtree.cfg_rpo().copied().collect();
    let mut raised = FxHashMap::default();
    for &block in &order {
        if context.func.layout.is_cold(block) {
            continue;
        }
        let insts: Vec<Inst> = context.func.layout.block_insts(block).collect();
        for inst in insts {
            if is_raised(&context.func, inst, &uses) && put_back(context, block, inst) {
                let same: &mut Vec<Inst> = raised.entry(key(&mut context.func, inst)).or_default();
                same.push(inst);
            }
        }
    }
    if raised.is_empty() {
        return;
    }
    for block in order {
        let insts: Vec<Inst> = (context.func.layout.block_insts(block))
            .filter(|&inst| may_move(&context.func, inst))
            .collect();
        for inst in insts {
            let same = raised.get(&key(&mut context.func, inst));
            let (dfg, layout) = (&context.func.dfg, &context.func.layout);
            let before = same.into_iter().flatten().copied().find(|&other| {
                other != inst
                    && dfg.insts[other] == dfg.insts[inst]
                    && context.domtree.dominates(other, inst, layout)
            });
            let Some(before) = before else { continue };
            let [value, own] = [before, inst].map(|i| dfg.first_result(i));
            if dfg.value_type(value) == dfg.value_type(own) {
                context.func.layout.remove_inst(inst);
                context.func.dfg.clear_results(inst);
                context.func.dfg.change_to_alias(own, value);
            }
        }
    }
}

/// What instructions have in common that compute the same, as far as it can be told quickly; arguments have been followed to where they come from.
fn key(function: &mut Function, inst: Inst) -> (Opcode, SmallVec<[Value; 3]>) {
    let dfg = &mut function.dfg;
    let args: SmallVec<[Value; 3]> = dfg
        .inst_values(inst)
        .map(|v| dfg.resolve_aliases(v))
        .collect();
    let mut left = args.iter().copied();
    dfg.map_inst_values(inst, |v| left.next().unwrap_or(v));
    (dfg.insts[inst].opcode(), args)
}

/// How often blocks that are not cold use each value.
fn uses(function: &Function) -> Vec<u32> {
    let dfg = &function.dfg;
    let mut uses = vec![0; dfg.num_values()];
    for block in function
        .layout
        .blocks()
        .filter(|&b| !function.layout.is_cold(b))
    {
        for inst in function.layout.block_insts(block) {
            dfg.inst_values(inst)
                .for_each(|v| uses[dfg.resolve_aliases(v).as_u32() as usize] += 1);
        }
    }
    uses
}

/// Whether values of a type are in the registers of vectors.
fn is_in_vectors(ty: Type) -> bool {
    ty.is_vector() || ty.is_float()
}

/// Whether an instruction may stand anywhere behind its operands.
fn may_move(function: &Function, inst: Inst) -> bool {
    let opcode = function.dfg.insts[inst].opcode();
    let bound = opcode.is_terminator()
        || opcode.is_call()
        || opcode.can_load()
        || opcode.can_store()
        || opcode.can_trap()
        || opcode.other_side_effects();
    !bound && function.dfg.inst_results(inst).len() == 1
}

/// Whether it frees a register of vectors that it takes, too; or both that it takes, together with another instruction like it.
fn is_raised(function: &Function, inst: Inst, uses: &[u32]) -> bool {
    let dfg = &function.dfg;
    let mut values = dfg.inst_values(inst);
    let frees = match dfg.insts[inst].opcode() {
        Opcode::Shuffle => values.all(|v| is_freed(function, v, uses, 2)),
        _ => values.any(|v| is_freed(function, v, uses, 1)),
    };
    frees && may_move(function, inst) && dfg.value_type(dfg.first_result(inst)).is_vector()
}

/// Whether a register of vectors holds a value from early on, and no more instructions than these use it.
fn is_freed(function: &Function, value: Value, uses: &[u32], most: u32) -> bool {
    let dfg = &function.dfg;
    let value = dfg.resolve_aliases(value);
    let used = uses[value.as_u32() as usize];
    if !(1..=most).contains(&used) || !is_in_vectors(dfg.value_type(value)) {
        return false;
    }
    match dfg.value_def(value) {
        ValueDef::Param(..) => true,
        ValueDef::Result(inst, _) => match dfg.insts[inst].opcode() {
            Opcode::Vconst | Opcode::F32const | Opcode::F64const => false,
            // As early as what it is made of.
            Opcode::Bitcast | Opcode::Splat | Opcode::ScalarToVector => dfg
                .inst_values(inst)
                .all(|v| is_freed(function, v, uses, 1)),
            _ => true,
        },
        ValueDef::Union(..) => false,
    }
}

/// Moves an instruction of a block up to its operands, as far as nothing is computed in vain that way but where a cold block is turned to. Whether
/// it stands elsewhere then.
fn put_back(context: &mut Context, block: Block, inst: Inst) -> bool {
    let function = &context.func;
    let (dfg, layout) = (&function.dfg, &function.layout);
    // All of them dominate it, so that they stand in a row.
    let mut last: Option<(Block, Option<Inst>)> = None;
    for value in dfg.inst_values(inst) {
        let def = match dfg.value_def(dfg.resolve_aliases(value)) {
            ValueDef::Result(def, _) => match layout.inst_block(def) {
                Some(at) => (at, Some(def)),
                None => return false,
            },
            ValueDef::Param(at, _) => (at, None),
            ValueDef::Union(..) => return false,
        };
        last = Some(match last {
            None => def,
            Some(before) => later(context, before, def),
        });
    }
    let Some((home, def)) = last else {
        return false;
    };
    let innermost = context.loop_analysis.innermost_loop(block);
    let mut target = block;
    while target != home {
        let Some(above) = context.domtree.idom(target) else {
            break;
        };
        let follows = only_follows(&context.func, above);
        if !follows || context.loop_analysis.innermost_loop(above) != innermost {
            break;
        }
        target = above;
    }
    let behind = def.filter(|_| target == home);
    let function = &mut context.func;
    let in_place = behind.is_some_and(|def| function.layout.next_inst(def) == Some(inst));
    if in_place || target == block && behind.is_none() {
        return false;
    }
    function.layout.remove_inst(inst);
    let mut cursor = FuncCursor::new(function);
    match behind {
        Some(def) => cursor.goto_after_inst(def),
        None => cursor.goto_first_insertion_point(target),
    }
    cursor.insert_inst(inst);
    true
}

/// Which of two definitions, one of which dominates the other, comes later.
fn later(
    context: &Context,
    a: (Block, Option<Inst>),
    b: (Block, Option<Inst>),
) -> (Block, Option<Inst>) {
    if a.0 != b.0 {
        let b_is_later = context.domtree.block_dominates(a.0, b.0);
        return if b_is_later { b } else { a };
    }
    match (a.1, b.1) {
        (Some(x), Some(y)) => match context.func.layout.pp_cmp(x, y) {
            std::cmp::Ordering::Less => b,
            std::cmp::Ordering::Equal | std::cmp::Ordering::Greater => a,
        },
        (Some(_), None) => a,
        (None, _) => b,
    }
}

/// Whether a block leads to one that is not cold, and otherwise to cold ones.
fn only_follows(function: &Function, block: Block) -> bool {
    let dfg = &function.dfg;
    let Some(last) = function.layout.last_inst(block) else {
        return false;
    };
    let to = dfg.insts[last].branch_destination(&dfg.jump_tables, &dfg.exception_tables);
    let warm = to.iter().map(|call| call.block(&dfg.value_lists));
    warm.filter(|&b| !function.layout.is_cold(b)).count() == 1
}
