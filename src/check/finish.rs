//! What can be said only when the whole module has been read.

use super::decls::Shape;
use super::functions::{self, Signature};
use super::module::Checker;
use crate::diag::Diagnostic;
use crate::ir::control::{Call, Callee, ParamTy, Slot, Terminator};
use crate::ir::memory::{Address, AddressOf, Base, CLUSTER_SHIFT, Load, Order, Space, Store, Var};
use crate::ir::{
    BasicBlock, FuncId, Function, FunctionKind, Inst, IntTy, Kind, Operand, Param, ParamKind, Pure,
    PureOp, Reg, RegClass, RegInfo, RelocationTarget, Special, StackVar, Unsupported, integer,
};
use crate::ir::{compare, convert};
use crate::machine::window;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;

/// Loads that copies of parameters may take in a whole module: a short text can ask for much.
pub(super) const MAX_PIECES: u32 = 1 << 18;

/// Refuses functions that are declared and not defined, and uses of such; and labels that are missing.
pub(super) fn undefined(checker: &mut Checker<'_>) {
    for index in 0..checker.functions.len() {
        let id = FuncId(index as u32);
        let function = &checker.functions[index];
        let info = &checker.infos[index];
        if function.defined || checker.aliases.contains_key(&id) {
            continue;
        }
        let name = &function.name;
        let nowhere = format!("function `{name}` is declared but defined nowhere");
        if info.linkage != "extern" {
            checker.reports.push(Diagnostic::error(info.span, nowhere));
            continue;
        }
        let uses = [checker.called.get(&id), checker.addressed.get(&id)];
        for &span in uses.into_iter().flatten() {
            checker
                .reports
                .push(Diagnostic::error(span, nowhere.clone()).related(info.span, "declared here"));
        }
    }
    for (id, &span) in &checker.open_uses {
        let variable = &checker.variables[id.index()];
        if variable.size == 0 && !variable.dynamic {
            let name = &variable.name;
            checker.reports.push(
                Diagnostic::error(
                    span,
                    format!("`{name}` is declared `.extern` without a size, and defined nowhere"),
                )
                .related(variable.span, "declared here"),
            );
        }
    }
    for (name, &span) in &checker.inlined {
        if !checker.section_labels.contains(name) {
            checker.reports.push(Diagnostic::error(
                span,
                format!("`{name}` is no label of a `.section`"),
            ));
        }
    }
}

/// Follows aliases of aliases to the end. Refuses those that have none.
pub(super) fn follow_aliases(checker: &mut Checker<'_>) {
    let mut ids: Vec<FuncId> = checker.aliases.keys().copied().collect();
    ids.sort_unstable();
    let mut ends: FxHashMap<FuncId, Option<FuncId>> = FxHashMap::default();
    for id in ids {
        let mut path = Vec::new();
        let mut on_path = FxHashSet::default();
        let mut at = id;
        let end = loop {
            if let Some(&end) = ends.get(&at) {
                break end;
            }
            if !on_path.insert(at) {
                break None;
            }
            match checker.aliases.get(&at) {
                Some(&(next, _)) => {
                    path.push(at);
                    at = next;
                }
                None => break checker.functions[at.index()].defined.then_some(at),
            }
        };
        for id in path {
            ends.insert(id, end);
        }
    }
    for (id, (real, span)) in &mut checker.aliases {
        match ends.get(id).copied().flatten() {
            Some(end) => *real = end,
            None => {
                let name = &checker.functions[id.index()].name;
                checker.reports.push(Diagnostic::error(
                    *span,
                    format!("`{name}` is an alias of no function that is defined"),
                ));
            }
        }
    }
}

/// Lets calls of aliases call what these stand for, and makes a body for the alias itself, which calls it too: for
/// those who look for it by name.
pub(super) fn aliases(checker: &mut Checker<'_>) {
    let aliases = &checker.aliases;
    if aliases.is_empty() {
        return;
    }
    let real = |id: FuncId| aliases.get(&id).map_or(id, |(real, _)| *real);
    for function in &mut checker.functions {
        for inst in function.blocks.iter_mut().flat_map(|b| &mut b.insts) {
            match &mut inst.kind {
                Kind::Call(Call {
                    callee: Callee::Direct(id),
                    ..
                })
                | Kind::FunctionAddress { function: id, .. } => *id = real(*id),
                Kind::Call(_)
                | Kind::Pure(_)
                | Kind::Load(_)
                | Kind::Store(_)
                | Kind::AddressOf(_)
                | Kind::Special { .. }
                | Kind::Meet(_)
                | Kind::Atomic(_)
                | Kind::Fence(_)
                | Kind::Mbarrier(_)
                | Kind::Copy(_)
                | Kind::Stack(_)
                | Kind::Hint { .. }
                | Kind::Unsupported => {}
            }
        }
    }
    for variable in &mut checker.variables {
        for relocation in &mut variable.init.relocations {
            if let RelocationTarget::Function(id) = &mut relocation.target {
                *id = real(*id);
            }
        }
    }
    let mut pieces = MAX_PIECES;
    let mut ids: Vec<FuncId> = aliases.keys().copied().collect();
    ids.sort_unstable();
    for id in ids {
        let signature = &checker.infos[id.index()].signature;
        let function = &mut checker.functions[id.index()];
        forward(function, signature, real(id), &mut pieces);
    }
}

/// For each parameter in the IR the class of its register, if it has one.
fn registers(shapes: &[Shape]) -> impl Iterator<Item = Option<RegClass>> {
    shapes.iter().flat_map(|shape| {
        let register = shape.register;
        let classes = functions::classes(shape).into_iter();
        classes.map(move |class| register.then_some(class))
    })
}

/// Makes a body that calls `real` with the function's own parameters.
fn forward(function: &mut Function, signature: &Signature, real: FuncId, pieces: &mut u32) {
    let mut args = Vec::new();
    let params = function.params.iter_mut().enumerate();
    for ((index, param), class) in params.zip(registers(&signature.params)) {
        args.push(match class {
            None => Slot::Param(index as u32),
            Some(class) => Slot::Value(Operand::Reg(take(&mut function.regs, param, class))),
        });
    }
    let mut results = Vec::new();
    let mut copies = Vec::new();
    let returns = function.returns.iter_mut().enumerate();
    for ((index, param), class) in returns.zip(registers(&signature.returns)) {
        results.push(match class {
            None => {
                let frame = function.frame.len() as u32;
                function.frame.push(StackVar {
                    name: param.name.clone(),
                    ty: param.ty,
                    offset: 0,
                });
                copies.push((Var::Frame(frame), Var::Return(index as u32), param.ty));
                Slot::Frame(frame)
            }
            Some(class) => Slot::Value(Operand::Reg(take(&mut function.regs, param, class))),
        });
    }
    let span = function.span;
    let location = u32::MAX;
    let mut insts = vec![Inst {
        guard: None,
        kind: Kind::Call(Call {
            callee: Callee::Direct(real),
            args,
            results,
        }),
        span,
        location,
    }];
    for (from, to, ty) in copies {
        let (from, to) = ((from, Space::Param), (to, Space::Param));
        copy(function, from, to, ty, &mut insts, pieces);
    }
    function.blocks = vec![BasicBlock {
        label: None,
        insts,
        terminator: Terminator::Return,
        span,
        location,
    }];
    function.defined = true;
}

/// A register for a parameter.
fn take(regs: &mut Vec<RegInfo>, param: &mut Param, class: RegClass) -> Reg {
    let reg = Reg(regs.len() as u32);
    regs.push(RegInfo {
        class,
        name: param.name.as_str().into(),
    });
    param.kind = ParamKind::Reg(reg);
    reg
}

/// Has `isspacep.shared` ask for the CTA's own shared memory, where addresses say in which CTA of the cluster they lie: whether
/// the distance from where that begins is one within it.
pub(super) fn own_shared(function: &mut Function, address_bits: u32) {
    let Function { blocks, regs, .. } = function;
    let mut fresh = |class| {
        let name = "".into();
        regs.push(RegInfo { class, name });
        Reg(regs.len() as u32 - 1)
    };
    let base = window::base(Space::Shared, address_bits).unwrap_or(0);
    for block in blocks {
        for mut inst in std::mem::take(&mut block.insts) {
            if let Kind::Pure(pure) = &mut inst.kind
                && let PureOp::Convert(convert::Op::Isspacep { space, class }) = pure.op
                && space == Space::Shared
                && let Some(address) = pure.srcs.first().copied()
            {
                let (ty, widen) = match class {
                    RegClass::B64 => (IntTy::U64, convert::Op::WIDEN),
                    _ => (IntTy::U32, convert::Op::Mov { class }),
                };
                let (low, start) = (fresh(RegClass::B32), fresh(class));
                let (within, distance) = (fresh(class), fresh(class));
                let sub = PureOp::Integer(integer::Op::Sub { ty, sat: false });
                let before = [
                    Kind::Special {
                        dst: low,
                        special: Special::SharedStart,
                    },
                    pure_of(PureOp::Convert(widen), start, &[Operand::Reg(low)]),
                    pure_of(sub, within, &[address, Operand::Reg(start)]),
                    pure_of(sub, distance, &[Operand::Reg(within), Operand::Imm(base)]),
                ];
                let (span, location) = (inst.span, inst.location);
                block.insts.extend(before.map(|kind| Inst {
                    guard: None,
                    kind,
                    span,
                    location,
                }));
                pure.op = PureOp::Compare(compare::Op::Setp {
                    cmp: compare::CmpOp::Lt,
                    ty,
                    combine: None,
                });
                pure.dsts.push(None);
                pure.srcs = smallvec![Operand::Reg(distance), Operand::Imm(1 << CLUSTER_SHIFT)];
            }
            block.insts.push(inst);
        }
    }
}

/// A pure instruction with one destination.
fn pure_of(op: PureOp, dst: Reg, srcs: &[Operand]) -> Kind {
    Kind::Pure(Pure {
        op,
        dsts: smallvec![Some(dst)],
        srcs: srcs.into(),
    })
}

/// Gives each parameter of a device function whose address is taken a copy in `.local` memory, which is made when the
/// function begins, and lets everything that names the parameter name the copy. PTX ISA, "Parameter State Space".
///
/// The address of a return parameter is treated alike; nothing reads what is written there.
pub(super) fn parameter_copies(function: &mut Function, pieces: &mut u32) {
    if function.kind != FunctionKind::Device {
        return;
    }
    let mut copies: FxHashMap<Var, u32> = FxHashMap::default();
    for inst in function.blocks.iter().flat_map(|b| &b.insts) {
        if let Kind::AddressOf(AddressOf { var, .. }) = &inst.kind
            && matches!(var, Var::Param(_) | Var::Return(_))
        {
            let next = (function.locals.len() + copies.len()) as u32;
            copies.entry(*var).or_insert(next);
        }
    }
    if copies.is_empty() {
        return;
    }
    for block in &mut function.blocks {
        let mut taken = None;
        for inst in &mut block.insts {
            rename(inst, &copies, &mut taken);
        }
    }
    let mut copies: Vec<(Var, u32)> = copies.into_iter().collect();
    copies.sort_unstable_by_key(|copy| copy.1);
    let mut prologue = Vec::new();
    for (var, local) in copies {
        let param = match var {
            Var::Param(index) => &function.params[index as usize],
            Var::Return(index) => &function.returns[index as usize],
            Var::Module(_) | Var::Local(_) | Var::Frame(_) => continue,
        };
        let ty = param.ty;
        function.locals.push(StackVar {
            name: param.name.clone(),
            ty,
            offset: 0,
        });
        if matches!(var, Var::Param(_)) {
            let (from, to) = ((var, Space::Param), (Var::Local(local), Space::Local));
            copy(function, from, to, ty, &mut prologue, pieces);
        }
    }
    if let Some(entry) = function.blocks.first_mut() {
        entry.insts.splice(0..0, prologue);
    }
}

/// Names the copy instead of the parameter. A return parameter is still written itself. `taken` is the register with the
/// address, where the instruction before took it: `cvta.param` of the parameter's name is built of both.
fn rename(inst: &mut Inst, copies: &FxHashMap<Var, u32>, taken: &mut Option<Reg>) {
    let before = taken.take();
    match &mut inst.kind {
        Kind::AddressOf(AddressOf { var, dst, .. }) => {
            if let Some(local) = copies.get(var) {
                *var = Var::Local(*local);
                *taken = Some(*dst);
            }
        }
        Kind::Pure(pure) => {
            if let PureOp::Convert(convert::Op::Cvta { space, .. }) = &mut pure.op
                && *space == Space::Param
                && before.is_some()
                && pure.srcs.first().and_then(|src| src.reg()) == before
            {
                *space = Space::Local;
            }
        }
        Kind::Load(load) => {
            if let Base::Var(var @ Var::Param(_)) = load.addr.base
                && let Some(local) = copies.get(&var)
            {
                load.space = Space::Local;
                load.addr.base = Base::Var(Var::Local(*local));
                load.read_only = false;
            }
        }
        Kind::Store(_)
        | Kind::FunctionAddress { .. }
        | Kind::Special { .. }
        | Kind::Call(_)
        | Kind::Meet(_)
        | Kind::Atomic(_)
        | Kind::Fence(_)
        | Kind::Mbarrier(_)
        | Kind::Copy(_)
        | Kind::Stack(_)
        | Kind::Hint { .. }
        | Kind::Unsupported => {}
    }
}

/// Loads and stores that copy a variable, in pieces as large as its alignment allows; `left` says how many there may
/// be in the whole module.
fn copy(
    function: &mut Function,
    (from, from_space): (Var, Space),
    (to, to_space): (Var, Space),
    ty: ParamTy,
    insts: &mut Vec<Inst>,
    left: &mut u32,
) {
    let span = function.span;
    let inst = |kind| Inst {
        guard: None,
        kind,
        span,
        location: u32::MAX,
    };
    let pieces = ty.size.div_ceil(ty.align.min(8)) + 3;
    let Some(rest) = left.checked_sub(pieces) else {
        function.unsupported.push(Unsupported {
            span,
            what: format!("a copy of a parameter of {} bytes", ty.size),
            family: "large parameters",
        });
        insts.push(inst(Kind::Unsupported));
        return;
    };
    *left = rest;
    let mut offset = 0;
    while offset < ty.size {
        let mut bytes = ty.align.min(8);
        while offset + bytes > ty.size {
            bytes /= 2;
        }
        let class = RegClass::of_bits(bytes * 8).unwrap_or(RegClass::B8);
        let reg = Reg(function.regs.len() as u32);
        let name = "".into();
        function.regs.push(RegInfo { class, name });
        let width = bytes as u8;
        let address = |var| Address {
            base: Base::Var(var),
            offset: i64::from(offset),
        };
        let load = Kind::Load(Load {
            space: from_space,
            bytes: width,
            signed: false,
            align: width,
            dsts: smallvec![Some(reg)],
            addr: address(from),
            order: Order::Weak,
            read_only: false,
        });
        let store = Kind::Store(Store {
            space: to_space,
            bytes: width,
            align: width,
            srcs: smallvec![Operand::Reg(reg)],
            addr: address(to),
            order: Order::Weak,
        });
        insts.extend([load, store].map(inst));
        offset += bytes;
    }
}
