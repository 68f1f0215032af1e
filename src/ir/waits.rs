//! Where threads may have to be left and taken up again: which functions hold such places, which blocks are soft points, and
//! the numbers of the instructions at which threads meet. Both engines go by it.

use super::control::{CallType, Callee};
use super::memory::Order;
use super::sync::MbarrierOp;
use super::{Block, FuncId, Function, FunctionKind, Kind, Module};
use rustc_hash::FxHashMap;

/// An instruction at which threads meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The function.
    pub function: FuncId,
    /// The block.
    pub block: Block,
    /// Index in the block.
    pub inst: u32,
}

/// What is known of a module.
///
/// A block is a *soft point* if an edge leads to it from a block of the same or a later index in the same strongly connected
/// component, and that contains something that may wait for another thread: a load that is volatile, relaxed or acquire, an
/// atomic whose result is used, a test of an mbarrier, `nanosleep`, a fence together with a load, a call of a function that
/// contains such a thing. Every endless loop around such a thing thus has one. Each time that a thread comes to the beginning
/// of one counts, before its first instruction; at `machine::schedule::TURN` it stops there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waits {
    functions: Vec<Known>,
    sites: Vec<Site>,
}

/// What is known of a function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Known {
    suspends: bool,
    /// Sorted.
    soft: Vec<Block>,
}

/// What a function or a loop does that is of interest, with all that it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Does {
    /// Something that waits by itself.
    polls: bool,
    fences: bool,
    loads: bool,
    /// Meets others, or has a soft point.
    suspends: bool,
}

impl Does {
    fn add(&mut self, other: Does) {
        self.polls |= other.polls;
        self.fences |= other.fences;
        self.loads |= other.loads;
        self.suspends |= other.suspends;
    }

    fn may_wait(self) -> bool {
        self.polls || (self.fences && self.loads)
    }

    /// What an instruction does by itself.
    fn of(kind: &Kind) -> Does {
        let mut does = Does::default();
        match kind {
            Kind::Load(load) => {
                does.loads = !load.read_only;
                does.polls = match load.order {
                    Order::Volatile | Order::Relaxed | Order::Acquire | Order::AcquireRelease => {
                        true
                    }
                    Order::Weak | Order::Release => false,
                };
            }
            Kind::Atomic(atomic) => does.polls = atomic.dsts.iter().any(Option::is_some),
            Kind::Mbarrier(mbarrier) => {
                does.polls = matches!(mbarrier.op, MbarrierOp::Test { .. });
            }
            Kind::Fence(_) => does.fences = true,
            Kind::Hint { name } => does.polls = *name == "nanosleep",
            Kind::Meet(_) => does.suspends = true,
            Kind::Pure(_)
            | Kind::Store(_)
            | Kind::AddressOf(_)
            | Kind::FunctionAddress { .. }
            | Kind::Special { .. }
            | Kind::Call(_)
            | Kind::Copy(_)
            | Kind::Stack(_)
            | Kind::Unsupported => {}
        }
        does
    }
}

impl Waits {
    /// Looks through a module.
    pub fn new(module: &Module) -> Waits {
        let calls = Calls::new(module);
        let mut does: Vec<Does> = (module.functions.iter())
            .map(|function| {
                let mut does = Does::default();
                insts(function).for_each(|(_, _, kind)| does.add(Does::of(kind)));
                does
            })
            .collect();
        calls.spread(&mut does);
        let mut functions: Vec<Known> = (module.functions.iter())
            .enumerate()
            .map(|(i, function)| Known {
                suspends: false,
                soft: if does[i].may_wait() {
                    soft_points(function, |kind| calls.does(kind, &does))
                } else {
                    Vec::new()
                },
            })
            .collect();
        for (does, known) in does.iter_mut().zip(&functions) {
            does.suspends |= !known.soft.is_empty();
        }
        calls.spread(&mut does);
        for (known, does) in functions.iter_mut().zip(&does) {
            known.suspends = does.suspends;
        }
        let sites = (module.functions.iter().enumerate())
            .flat_map(|(i, function)| {
                let meets = insts(function).filter(|(_, _, kind)| matches!(kind, Kind::Meet(_)));
                meets.map(move |(block, inst, _)| Site {
                    function: FuncId(i as u32),
                    block,
                    inst,
                })
            })
            .collect();
        Waits { functions, sites }
    }

    /// Whether a thread may have to be left within a function, or in what it calls.
    pub fn suspends(&self, function: FuncId) -> bool {
        (self.functions.get(function.index())).is_some_and(|known| known.suspends)
    }

    /// The soft points of a function, ascending.
    pub fn soft_points(&self, function: FuncId) -> &[Block] {
        (self.functions.get(function.index())).map_or(&[], |known| &known.soft)
    }

    /// Whether a block is a soft point.
    pub fn is_soft(&self, function: FuncId, block: Block) -> bool {
        self.soft_points(function).binary_search(&block).is_ok()
    }

    /// All instructions at which threads meet, in order of the text.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// The index of an instruction in [`Waits::sites`], if threads meet there.
    pub fn site(&self, function: FuncId, block: Block, inst: usize) -> Option<u32> {
        let site = Site {
            function,
            block,
            inst: u32::try_from(inst).ok()?,
        };
        (self.sites.binary_search(&site).ok()).map(|index| index as u32)
    }
}

/// All instructions of a function with their places.
fn insts(function: &Function) -> impl Iterator<Item = (Block, u32, &Kind)> {
    (0..).zip(&function.blocks).flat_map(|(block, body)| {
        let insts = (0..).zip(&body.insts);
        insts.map(move |(index, inst)| (Block(block), index, &inst.kind))
    })
}

/// Who calls whom. Nodes are the functions, then one for each type that is called through pointers.
struct Calls {
    types: FxHashMap<CallType, usize>,
    callers: Vec<Vec<usize>>,
}

impl Calls {
    fn new(module: &Module) -> Self {
        let count = module.functions.len();
        let mut calls = Calls {
            types: FxHashMap::default(),
            callers: vec![Vec::new(); count],
        };
        for (caller, function) in module.functions.iter().enumerate() {
            for (_, _, kind) in insts(function) {
                let Kind::Call(call) = kind else { continue };
                let node = match &call.callee {
                    Callee::Direct(callee) => callee.index(),
                    Callee::Indirect { ty, .. } => {
                        let next = count + calls.types.len();
                        *calls.types.entry(ty.clone()).or_insert(next)
                    }
                };
                let nodes = calls.callers.len().max(node + 1);
                calls.callers.resize(nodes, Vec::new());
                if calls.callers[node].last() != Some(&caller) {
                    calls.callers[node].push(caller);
                }
            }
        }
        if calls.types.is_empty() {
            return calls;
        }
        for (i, function) in module.functions.iter().enumerate() {
            if function.kind == FunctionKind::Device
                && let Some(&node) = calls.types.get(&function.call_type())
            {
                calls.callers[i].push(node);
            }
        }
        calls
    }

    /// Adds what callees do to what callers do. Afterwards there is an entry for each node.
    fn spread(&self, does: &mut Vec<Does>) {
        does.resize(self.callers.len(), Does::default());
        let mut stack: Vec<usize> = (0..does.len()).collect();
        while let Some(callee) = stack.pop() {
            for &caller in &self.callers[callee] {
                let mut sum = does[caller];
                sum.add(does[callee]);
                if sum != does[caller] {
                    does[caller] = sum;
                    stack.push(caller);
                }
            }
        }
    }

    /// What an instruction does, with all that it calls.
    fn does(&self, kind: &Kind, does: &[Does]) -> Does {
        let Kind::Call(call) = kind else {
            return Does::of(kind);
        };
        let node = match &call.callee {
            Callee::Direct(callee) => Some(callee.index()),
            Callee::Indirect { ty, .. } => self.types.get(ty).copied(),
        };
        node.and_then(|node| does.get(node).copied())
            .unwrap_or_default()
    }
}

/// The soft points of a function.
fn soft_points(function: &Function, does: impl Fn(&Kind) -> Does) -> Vec<Block> {
    let component = components(function);
    let mut loops = vec![Does::default(); function.blocks.len()];
    let mut back = vec![false; function.blocks.len()];
    for (i, block) in function.blocks.iter().enumerate() {
        for inst in &block.insts {
            loops[component[i]].add(does(&inst.kind));
        }
        block.terminator.successors(|to| {
            // A component of one block is a loop only if that has an edge to itself.
            back[to.index()] |= to.index() <= i && component[to.index()] == component[i];
        });
    }
    (0..function.blocks.len())
        .filter(|&i| back[i] && loops[component[i]].may_wait())
        .map(|i| Block(i as u32))
        .collect()
}

/// For each block its strongly connected component, by Tarjan's algorithm.
fn components(function: &Function) -> Vec<usize> {
    const NEW: usize = usize::MAX;
    let count = function.blocks.len();
    let successors = |block: usize| {
        let mut list = Vec::new();
        (function.blocks[block].terminator).successors(|to| list.push(to.index()));
        list
    };
    let mut number = vec![NEW; count];
    let mut low = vec![NEW; count];
    let mut component = vec![NEW; count];
    let mut open = Vec::new();
    let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
    let (mut numbers, mut components) = (0, 0);
    for root in 0..count {
        if number[root] != NEW {
            continue;
        }
        path.push((root, successors(root)));
        (number[root], low[root]) = (numbers, numbers);
        numbers += 1;
        open.push(root);
        while let Some((block, rest)) = path.last_mut() {
            let block = *block;
            match rest.pop() {
                Some(to) if number[to] == NEW => {
                    (number[to], low[to]) = (numbers, numbers);
                    numbers += 1;
                    open.push(to);
                    path.push((to, successors(to)));
                }
                Some(to) if component[to] == NEW => low[block] = low[block].min(number[to]),
                Some(_) => {}
                None => {
                    path.pop();
                    if let Some((parent, _)) = path.last() {
                        low[*parent] = low[*parent].min(low[block]);
                    }
                    if low[block] == number[block] {
                        while let Some(member) = open.pop() {
                            component[member] = components;
                            if member == block {
                                break;
                            }
                        }
                        components += 1;
                    }
                }
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::Waits;
    use crate::diag::Source;
    use crate::ir::Module;

    const TEXT: &str = "
.version 7.0
.target sm_70
.address_size 64
.func (.reg .u32 v) polls(.reg .u64 p) { ld.volatile.global.u32 v, [p]; ret; }

.func counts(.reg .u64 p, .reg .u32 n)
{
    .reg .pred q;
    .reg .u32 v;
again:
    ld.global.u32 v, [p];
    sub.u32 n, n, v;
    setp.ne.u32 q, n, 0;
    @q bra again;
    ld.volatile.global.u32 v, [p];
    ret;
}

.func spins(.reg .u64 p)
{
    .reg .pred q;
    .reg .u32 v;
again:
    ld.volatile.global.u32 v, [p];
    setp.eq.u32 q, v, 0;
    @q bra again;
    ret;
}

.func spins_by_calls(.reg .u64 p)
{
    .reg .pred q;
    .reg .u32 v, n;
    mov.u32 n, 0;
outer:
    add.u32 n, n, 1;
inner:
    call (v), polls, (p);
    setp.eq.u32 q, v, 0;
    @q bra inner;
    setp.lt.u32 q, n, 5;
    @q bra outer;
    ret;
}

.func sleeps_in_two_blocks(.reg .u64 p)
{
    .reg .pred q;
    .reg .u32 v;
    bra second;
first:
    ld.global.u32 v, [p];
    setp.ne.u32 q, v, 0;
    @q bra done;
    bra second;
second:
    nanosleep.u32 20;
    bra first;
done:
    ret;
}

.func calls_one_that_spins(.reg .u64 p) { call spins, (p); ret; }
.func calls_one_that_polls(.reg .u64 p) { .reg .u32 v; call (v), polls, (p); ret; }
";

    fn module() -> Module {
        crate::check::parse_and_check(Source::new("waits.ptx", TEXT))
            .unwrap_or_else(|e| panic!("{e}"))
    }

    /// The labels of the soft points.
    fn soft(name: &str) -> Vec<String> {
        let module = module();
        let waits = Waits::new(&module);
        let id = module.function(name).unwrap();
        let function = &module.functions[id.index()];
        let soft = waits.soft_points(id).iter();
        soft.map(|b| {
            let label = function.block(*b).label.as_deref();
            label.unwrap_or_default().to_string()
        })
        .collect()
    }

    #[test]
    fn loops_that_may_wait_have_soft_points() {
        assert_eq!(soft("spins"), ["again"]);
        assert_eq!(soft("spins_by_calls"), ["outer", "inner"]);
        assert_eq!(soft("sleeps_in_two_blocks"), ["first"]);
    }

    #[test]
    fn loops_that_only_count_have_none() {
        for name in ["counts", "polls", "calls_one_that_polls"] {
            assert_eq!(soft(name), [""; 0], "{name}");
        }
    }

    #[test]
    fn who_calls_what_suspends_does_too() {
        let module = module();
        let waits = Waits::new(&module);
        let suspends = |name| waits.suspends(module.function(name).unwrap());
        for name in [
            "spins",
            "spins_by_calls",
            "sleeps_in_two_blocks",
            "calls_one_that_spins",
        ] {
            assert!(suspends(name), "{name}");
        }
        for name in ["polls", "counts", "calls_one_that_polls"] {
            assert!(!suspends(name), "{name}");
        }
        assert!(waits.sites().is_empty());
    }
}
