//! How much the register allocator will have to do.

use cranelift_codegen::ir::{Function, InstructionData, Opcode, Value, ValueDef};

/// What there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pressure {
    /// Instructions.
    pub instructions: u64,
    /// How many values are live at an instruction, roughly: all instructions together.
    pub live: u64,
}

/// Of a function.
///
/// In the order of the blocks, a value is taken to live from its definition to its last use, and on to the end of
/// each loop that has begun in between. Constants are made where they are used.
pub(super) fn measure(function: &Function) -> Pressure {
    let dfg = &function.dfg;
    let count = dfg.num_values();
    let mut first = vec![u32::MAX; count];
    let mut last = vec![0u32; count];
    let mut starts = vec![0u32; dfg.num_blocks()];
    let mut position = 0u32;
    for block in function.layout.blocks() {
        starts[block.as_u32() as usize] = position;
        for &param in dfg.block_params(block) {
            first[param.as_u32() as usize] = position;
        }
        for inst in function.layout.block_insts(block) {
            position += 1;
            dfg.inst_values(inst)
                .for_each(|value: Value| last[value.as_u32() as usize] = position);
            for &result in dfg.inst_results(inst) {
                first[result.as_u32() as usize] = position;
            }
        }
    }
    let loops = Loops::new(function, &starts);
    let constant = |value: Value| match dfg.value_def(value) {
        ValueDef::Result(inst, _) => matches!(
            dfg.insts[inst],
            InstructionData::UnaryImm {
                opcode: Opcode::Iconst,
                ..
            }
        ),
        ValueDef::Param(..) | ValueDef::Union(..) => false,
    };
    let live = dfg
        .values()
        .filter(|value| last[value.as_u32() as usize] > first[value.as_u32() as usize])
        .filter(|&value| !constant(value))
        .map(|value| {
            let first = first[value.as_u32() as usize];
            u64::from(loops.leave(first, last[value.as_u32() as usize]) - first)
        })
        .sum();
    Pressure {
        instructions: position.into(),
        live,
    }
}

/// The most vectors that live at once, roughly, outside blocks that are cold.
pub(super) fn vectors(function: &Function) -> u32 {
    let (dfg, layout) = (&function.dfg, &function.layout);
    let mut range = vec![(u32::MAX, 0u32); dfg.num_values()];
    let mut starts = vec![u32::MAX; dfg.num_blocks()];
    let mut position = 0u32;
    for block in layout.blocks() {
        starts[block.as_u32() as usize] = position;
        let warm = !layout.is_cold(block);
        for &param in dfg.block_params(block).iter().filter(|_| warm) {
            range[param.as_u32() as usize].0 = position;
        }
        for inst in layout.block_insts(block) {
            position += 1;
            if !warm {
                continue;
            }
            dfg.inst_values(inst)
                .for_each(|v| range[dfg.resolve_aliases(v).as_u32() as usize].1 = position);
            for &result in dfg.inst_results(inst) {
                range[result.as_u32() as usize].0 = position;
            }
        }
    }
    let loops = Loops::new(function, &starts);
    let constant = |value: Value| match dfg.value_def(value) {
        ValueDef::Result(inst, _) => dfg.insts[inst].opcode() == Opcode::Vconst,
        ValueDef::Param(..) | ValueDef::Union(..) => false,
    };
    let mut changes = vec![0i32; position as usize + 2];
    for value in dfg.values() {
        let (first, last) = range[value.as_u32() as usize];
        if last > first && dfg.value_type(value).is_vector() && !constant(value) {
            changes[first as usize] += 1;
            changes[loops.leave(first, last) as usize] -= 1;
        }
    }
    let live = changes.iter().scan(0, |live, change| {
        *live += change;
        Some(*live)
    });
    live.max().map_or(0, |most| most as u32)
}

/// Edges that go back, by the position that they go to.
struct Loops {
    /// Where they go to, in order.
    heads: Vec<u32>,
    /// `latest[k][i]`: the latest position from which one of the 2^k edges from `i` on goes back.
    latest: Vec<Vec<u32>>,
}

impl Loops {
    fn new(function: &Function, starts: &[u32]) -> Self {
        let mut edges = Vec::new();
        let mut position = 0;
        for block in function.layout.blocks() {
            let mut end = position;
            for inst in function.layout.block_insts(block) {
                end += 1;
                let tables = &function.dfg.jump_tables;
                let exceptions = &function.dfg.exception_tables;
                for to in function.dfg.insts[inst].branch_destination(tables, exceptions) {
                    let head = starts[to.block(&function.dfg.value_lists).as_u32() as usize];
                    if head <= end {
                        edges.push((head, end));
                    }
                }
            }
            position = end;
        }
        edges.sort_unstable();
        let heads = edges.iter().map(|&(head, _)| head).collect();
        let mut latest = vec![edges.iter().map(|&(_, from)| from).collect::<Vec<_>>()];
        for k in 0..edges.len().checked_ilog2().unwrap_or(0) {
            let half = 1 << k;
            let row = &latest[k as usize];
            let next = row.windows(half + 1).map(|w| w[0].max(w[half])).collect();
            latest.push(next);
        }
        Loops { heads, latest }
    }

    /// Where a value is last live that is defined at `first` and used at `last`.
    fn leave(&self, first: u32, mut last: u32) -> u32 {
        /// Loops within loops come fewer at a time.
        const ROUNDS: usize = 8;
        let from = self.heads.partition_point(|&head| head <= first);
        for _ in 0..ROUNDS {
            let to = self.heads.partition_point(|&head| head <= last);
            let Some(k) = to.saturating_sub(from).checked_ilog2() else {
                break;
            };
            let row = &self.latest[k as usize];
            let latest = row[from].max(row[to - (1 << k)]);
            if latest <= last {
                break;
            }
            last = latest;
        }
        last
    }
}
