//! Facts about functions and their calls: which can be compiled, which can fault, recurse, and so on.

use super::FunctionPlan;
use super::access::{Place, Reach};
use crate::ir::System;
use crate::ir::control::{CallType, Callee, Terminator};
use crate::ir::float::{self, FloatTy, Mode, Rounding};
use crate::ir::{FuncId, Function, FunctionKind, Kind, Module, PureOp, bits, convert};
use rustc_hash::FxHashMap;

/// Why a function has no machine code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Absent {
    /// It has no body.
    #[error("it has no body")]
    Undefined,
    /// It has instructions that are not built yet ([`Function::unsupported`](crate::ir::Function::unsupported)).
    #[error("it has unsupported instructions")]
    Unsupported,
    /// It calls a function that has no machine code.
    #[error("it calls a function that cannot be compiled")]
    Calls(FuncId),
    /// It is larger than what Cranelift is given.
    #[error("too many {what}: {count}, where {limit} are the limit")]
    TooLarge {
        /// What there is too much of: `instructions`, `bytes of parameters`.
        what: &'static str,
        /// How much there is.
        count: u64,
        /// How much there may be.
        limit: u64,
    },
    /// Only the interpreter has what it needs: threads that wait for each other in a device function that cannot be put in the
    /// place of its calls, or copies of which parts are left out.
    #[error("only the interpreter has what it needs yet")]
    Interpreted,
    /// Cranelift says that it is too large.
    #[error("Cranelift says that it is too large")]
    Limit,
}

/// Most instructions of a function.
pub const MOST_INSTRUCTIONS: u64 = 400_000;
/// Most instructions that a function becomes in Cranelift IR, by estimate. They take some seconds.
pub const MOST_WEIGHT: u64 = 2_000_000;
/// Most blocks of a function.
pub const MOST_BLOCKS: u64 = 100_000;
/// Most registers of a function.
pub const MOST_REGISTERS: u64 = 1_000_000;
/// Most parameters of a device function, return parameters included.
pub const MOST_PARAMETERS: u64 = 512;
/// Most bytes of parameters and `.param` variables that a device function keeps on the native stack.
pub const MOST_FRAME: u64 = 64 << 10;

/// Functions of more than so many Cranelift instructions may take long, even without a loop: some microseconds, which
/// a thousand threads and a hundred calls make a second of.
const LONG: u64 = 5_000;

/// Calls nested no deeper than this, and without recursion, are not counted.
pub const SHALLOW: u32 = 32;

/// What is known of a function, with all that it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// Something in it may fault, a time limit included.
    pub faults: bool,
    /// `exit` may be executed.
    pub exits: bool,
    /// It may call something that faults, exits or reads what the context says of the thread.
    pub calls: bool,
    /// Its code reads or writes the context for something else than faults and calls.
    pub context: bool,
    /// It may stand at a depth of calls that is not known to be small.
    pub deep: bool,
    /// A deep function may be reached from it (itself included): calls to it are counted.
    pub counted: bool,
    /// It may take long, loops and calls apart.
    pub long: bool,
    /// Whether time is up is looked at before it is called: for it may take long, loops apart.
    pub polled: bool,
}

impl Facts {
    /// Whether it computes its results from its arguments and always comes to its end.
    pub fn is_simple(self) -> bool {
        !self.faults && !self.exits && !self.context && !self.deep
    }
}

/// What is wrong with a function by itself; `suspends`: its threads may stop.
pub fn refuse(function: &Function, suspends: bool) -> Option<Absent> {
    let too_large = |what, count: u64, limit| {
        (count > limit).then_some(Absent::TooLarge { what, count, limit })
    };
    if !function.unsupported.is_empty() {
        return Some(Absent::Unsupported);
    }
    if !function.defined || function.blocks.is_empty() {
        return Some(Absent::Undefined);
    }
    if suspends && function.kind == FunctionKind::Device {
        return Some(Absent::Interpreted);
    }
    let instructions = function
        .blocks
        .iter()
        .map(|b| 1 + b.insts.len() as u64)
        .sum();
    let frame = u64::from(function.frame_bytes);
    let device = function.kind == FunctionKind::Device;
    let passed = u64::from(function.param_bytes) + u64::from(function.return_bytes);
    let parameters = (function.params.len() + function.returns.len()) as u64;
    too_large("instructions", instructions, MOST_INSTRUCTIONS)
        .or_else(|| too_large("Cranelift instructions", weight(function), MOST_WEIGHT))
        .or_else(|| too_large("blocks", function.blocks.len() as u64, MOST_BLOCKS))
        .or_else(|| too_large("registers", function.regs.len() as u64, MOST_REGISTERS))
        .or_else(|| too_large("parameters", parameters, MOST_PARAMETERS).filter(|_| device))
        .or_else(|| too_large("bytes of parameters", frame + passed, MOST_FRAME))
}

/// About how many instructions of Cranelift a function becomes.
pub(super) fn weight(function: &Function) -> u64 {
    let of_inst = |kind: &Kind| match kind {
        Kind::Pure(pure) => match pure.op {
            PureOp::Video(_) => 30,
            PureOp::Float(op) => float_weight(op),
            PureOp::Convert(convert::Op::Float(_)) => 25,
            PureOp::Convert(convert::Op::Small(_)) => 60,
            PureOp::Bits(bits::Op::Fns { .. }) => 70,
            PureOp::Bits(
                bits::Op::Brev { .. }
                | bits::Op::Bfe { .. }
                | bits::Op::Bfi { .. }
                | bits::Op::Prmt { .. },
            ) => 20,
            PureOp::Bits(_)
            | PureOp::Integer(_)
            | PureOp::Extended(_)
            | PureOp::Compare(_)
            | PureOp::Convert(_) => 2,
        },
        Kind::Load(load) => 15 + 2 * load.dsts.len() as u64,
        Kind::Store(store) => 15 + 2 * store.srcs.len() as u64,
        // Twice that if it is counted.
        Kind::Call(call) => 14 + (call.args.len() + call.results.len()) as u64,
        Kind::AddressOf(_)
        | Kind::FunctionAddress { .. }
        | Kind::Special { .. }
        | Kind::Fence(_)
        | Kind::Hint { .. }
        | Kind::Unsupported => 2,
        Kind::Stack(_) => 20,
        Kind::Meet(_) | Kind::Atomic(_) | Kind::Mbarrier(_) | Kind::Copy(_) => 30,
    };
    let of_terminator = |terminator: &Terminator| match terminator {
        Terminator::Table { targets, .. } => targets.len() as u64,
        Terminator::Jump(_)
        | Terminator::Branch { .. }
        | Terminator::Return
        | Terminator::Exit
        | Terminator::Trap => 2,
    };
    (function.blocks.iter())
        .map(|b| {
            of_terminator(&b.terminator) + b.insts.iter().map(|i| of_inst(&i.kind)).sum::<u64>()
        })
        .sum()
}

/// About how many instructions of the host a floating-point operator takes, with making NaN canonical: numbers of 16 bits are
/// made wide and narrow again, and directed rounding corrects what the host rounds to the nearest.
fn float_weight(op: float::Op) -> u64 {
    use float::Op;
    let arith = |ty: FloatTy, mode: Mode, nearest: u64, directed: u64| {
        let flush = if mode.ftz { 14 } else { 0 };
        let of_lane = match (ty.lane(), mode.rounding) {
            (FloatTy::F16 | FloatTy::Bf16, _) => 40,
            (_, Rounding::Rn) => nearest + flush,
            (_, Rounding::Rz | Rounding::Rm | Rounding::Rp) => directed + flush,
        };
        of_lane * u64::from(ty.lanes())
    };
    let other = |ty: FloatTy, single: u64| {
        let of_lane = match ty.lane() {
            FloatTy::F16 | FloatTy::Bf16 => 20,
            _ => single,
        };
        of_lane * u64::from(ty.lanes())
    };
    match op {
        Op::Arith { ty, mode, .. } => arith(ty, mode, 8, 35),
        Op::Fma { ty, mode } if ty == FloatTy::F64 => arith(ty, mode, 8, 90),
        Op::Fma { ty, mode } => arith(ty, mode, 8, 40),
        Op::Rcp { ty, mode } | Op::Sqrt { ty, mode } => arith(ty, mode, 20, 35),
        Op::FmaOob { ty, .. } => 40 * u64::from(ty.lanes()),
        Op::Extreme(float::Extreme { ty, .. }) => other(ty, 16),
        Op::Sign { ty, .. } | Op::Setp { ty, .. } | Op::Set { ty, .. } => other(ty, 6),
        Op::Mixed { .. } => 12,
        Op::Approx { ty, .. } => other(ty, 60),
        Op::Copysign { .. } | Op::Testp { .. } | Op::Slct { .. } => 6,
    }
}

/// The graph of calls. Nodes are the functions, then one for each type that is called through pointers.
struct Graph {
    callees: Vec<Vec<u32>>,
    callers: Vec<Vec<u32>>,
}

impl Graph {
    fn new(module: &Module) -> Self {
        let count = module.functions.len();
        let mut types: FxHashMap<CallType, u32> = FxHashMap::default();
        let mut callees: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (i, function) in module.functions.iter().enumerate() {
            for inst in function.blocks.iter().flat_map(|b| &b.insts) {
                if let Kind::Call(call) = &inst.kind {
                    let next = (count + types.len()) as u32;
                    let node = match &call.callee {
                        Callee::Direct(f) => f.0,
                        Callee::Indirect { ty, .. } => *types.entry(ty.clone()).or_insert(next),
                    };
                    callees[i].push(node);
                }
            }
            callees[i].sort_unstable();
            callees[i].dedup();
        }
        callees.resize(count + types.len(), Vec::new());
        if !types.is_empty() {
            for (i, function) in module.functions.iter().enumerate() {
                if function.kind == FunctionKind::Device
                    && let Some(&node) = types.get(&function.call_type())
                {
                    callees[node as usize].push(i as u32);
                }
            }
        }
        let mut callers = vec![Vec::new(); callees.len()];
        for (i, list) in callees.iter().enumerate() {
            for &callee in list {
                callers[callee as usize].push(i as u32);
            }
        }
        Graph { callees, callers }
    }

    /// Marks all nodes from which a marked one can be reached.
    fn spread_to_callers(&self, marks: &mut [bool]) {
        let mut stack: Vec<u32> = (0..marks.len() as u32)
            .filter(|&i| marks[i as usize])
            .collect();
        while let Some(i) = stack.pop() {
            for &caller in &self.callers[i as usize] {
                if !std::mem::replace(&mut marks[caller as usize], true) {
                    stack.push(caller);
                }
            }
        }
    }

    /// Functions that lie in a cycle, can be reached from one, or can be nested deeper than `shallow`.
    fn deep(&self, shallow: u32) -> Vec<bool> {
        let mut waiting: Vec<u32> = self.callers.iter().map(|c| c.len() as u32).collect();
        let mut level = vec![0u32; waiting.len()];
        let mut deep = vec![true; waiting.len()];
        let mut stack: Vec<u32> = (0..waiting.len() as u32)
            .filter(|&i| waiting[i as usize] == 0)
            .collect();
        while let Some(i) = stack.pop() {
            deep[i as usize] = level[i as usize] > shallow;
            for &callee in &self.callees[i as usize] {
                let callee = callee as usize;
                level[callee] = level[callee].max(level[i as usize] + 1);
                waiting[callee] -= 1;
                if waiting[callee] == 0 {
                    stack.push(callee as u32);
                }
            }
        }
        deep
    }
}

/// Which functions have no machine code, and why: those without a plan, and what calls them. `planned` says what is wrong with each by itself.
pub fn absent(
    module: &Module,
    plans: &[Option<FunctionPlan>],
    planned: Vec<Option<Absent>>,
) -> Vec<Option<Absent>> {
    let mut callers: Vec<Vec<u32>> = vec![Vec::new(); module.functions.len()];
    for (i, (function, plan)) in module.functions.iter().zip(plans).enumerate() {
        let function = plan.as_ref().map_or(function, |p| p.function(function));
        for inst in function.blocks.iter().flat_map(|b| &b.insts) {
            if let Kind::Call(call) = &inst.kind
                && let Callee::Direct(f) = &call.callee
                && System::of(&module.functions[f.index()]).is_none()
            {
                callers[f.index()].push(i as u32);
            }
        }
    }
    let mut absent = planned;
    let mut stack: Vec<usize> = (0..absent.len()).filter(|&i| absent[i].is_some()).collect();
    while let Some(i) = stack.pop() {
        for &caller in &callers[i] {
            let entry = &mut absent[caller as usize];
            if entry.is_none() {
                *entry = Some(Absent::Calls(FuncId(i as u32)));
                stack.push(caller as usize);
            }
        }
    }
    absent
}

/// The facts of all functions that have a plan.
pub fn facts(
    module: &Module,
    plans: &[Option<FunctionPlan>],
    checked: bool,
    shallow: u32,
) -> Vec<Facts> {
    let graph = Graph::new(module);
    let nodes = graph.callees.len();
    let deep = graph.deep(shallow);
    let mut counted = deep.clone();
    let [mut faults, mut exits, mut context] = [(); 3].map(|()| vec![false; nodes]);
    // A call through a pointer may always go wrong.
    for node in module.functions.len()..nodes {
        (faults[node], context[node]) = (true, true);
    }
    let functions = || module.functions.iter();
    let long: Vec<bool> = functions().map(|f| weight(f) > LONG).collect();
    let polled: Vec<bool> = (functions().zip(&long))
        .map(|(f, long)| *long || calls(module, f))
        .collect();
    for (i, function) in functions().enumerate() {
        let Some(plan) = &plans[i] else {
            // What the host does may go wrong, and looks at the thread.
            let system = System::of(function).is_some();
            (faults[i], context[i]) = (system, system);
            continue;
        };
        let own = own_facts(module, function, plan, checked, &polled);
        faults[i] = own.faults || deep[i];
        (exits[i], context[i]) = (own.exits, own.context);
    }
    for marks in [&mut faults, &mut exits, &mut context, &mut counted] {
        graph.spread_to_callers(marks);
    }
    (0..module.functions.len())
        .map(|i| Facts {
            faults: faults[i],
            exits: exits[i],
            calls: (graph.callees[i].iter().map(|&c| c as usize))
                .any(|c| faults[c] || exits[c] || context[c]),
            context: context[i],
            deep: deep[i],
            counted: counted[i],
            long: long[i],
            polled: polled[i],
        })
        .collect()
}

/// Whether a function calls others, system calls apart.
pub(super) fn calls(module: &Module, function: &Function) -> bool {
    let insts = function.blocks.iter().flat_map(|b| &b.insts);
    (insts.filter_map(|inst| inst.kind.call())).any(|call| match call.callee {
        Callee::Direct(f) => System::of(&module.functions[f.index()]).is_none(),
        Callee::Indirect { .. } => true,
    })
}

/// Whether a function has local memory behind its variables.
pub(super) fn has_stack(function: &Function) -> bool {
    let mut insts = function.blocks.iter().flat_map(|b| &b.insts);
    insts.any(|inst| matches!(inst.kind, Kind::Stack(_)))
}

/// What holds for a function's own instructions.
fn own_facts(
    module: &Module,
    function: &Function,
    plan: &FunctionPlan,
    checked: bool,
    polled: &[bool],
) -> Facts {
    let mut facts = Facts {
        faults: plan.flow.cfg.has_loops(),
        context: function.local_bytes > 0,
        ..Facts::default()
    };
    let function = plan.function(function);
    for &b in plan.flow.cfg.order() {
        let block = function.block(b);
        for inst in &block.insts {
            match &inst.kind {
                Kind::Load(_) | Kind::Store(_) | Kind::Atomic(_) => {
                    let place = Reach::of(inst)
                        .map(|r| r.place(module, function, &plan.names, &plan.provenance));
                    match place {
                        Some(Place::Name(_)) | None => {}
                        Some(Place::Fixed(..)) => facts.context = true,
                        Some(Place::Checked(_)) => {
                            facts.context = true;
                            facts.faults |= checked;
                        }
                        Some(Place::Wrong(..)) => facts.faults = true,
                    }
                }
                Kind::AddressOf(_) | Kind::Special { .. } => facts.context = true,
                // Time may be up; there may be no room for `.local` variables.
                Kind::Call(call) => match &call.callee {
                    Callee::Direct(f) => {
                        let callee = &module.functions[f.index()];
                        facts.faults |= callee.local_bytes > 0 || polled[f.index()];
                    }
                    Callee::Indirect { .. } => facts.faults = true,
                },
                Kind::Pure(_) | Kind::FunctionAddress { .. } | Kind::Hint { .. } => {}
                Kind::Fence(_) => {}
                Kind::Mbarrier(_) | Kind::Copy(_) | Kind::Stack(_) => {
                    facts.context = true;
                    facts.faults = true;
                }
                Kind::Meet(_) | Kind::Unsupported => facts.faults = true,
            }
        }
        match &block.terminator {
            Terminator::Table { .. } | Terminator::Trap => facts.faults = true,
            Terminator::Exit => facts.exits = true,
            Terminator::Jump(_) | Terminator::Branch { .. } | Terminator::Return => {}
        }
    }
    facts
}
