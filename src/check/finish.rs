//! What can be said only when the whole module has been read.

use super::module::Checker;
use crate::diag::Diagnostic;
use crate::ir::control::{Call, Callee};
use crate::ir::memory::{Address, AddressOf, Base, Load, Order, Space, Store, Var};
use crate::ir::{
    FuncId, Function, FunctionKind, Inst, Kind, Operand, Reg, RegClass, RegInfo, RelocationTarget,
    StackVar,
};
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// Refuses functions that are declared and not defined, and addresses of such.
pub(super) fn undefined(checker: &mut Checker<'_>) {
    for index in 0..checker.functions.len() {
        let id = FuncId(index as u32);
        let function = &checker.functions[index];
        let info = &checker.infos[index];
        let external = info.linkage == "extern";
        if function.defined || checker.aliases.contains_key(&id) {
            continue;
        }
        if !external {
            checker.reports.push(Diagnostic::error(
                info.span,
                format!(
                    "function `{}` is declared but defined nowhere",
                    function.name
                ),
            ));
        } else if let Some(&span) = checker.addressed.get(&id) {
            checker.reports.push(
                Diagnostic::error(
                    span,
                    format!(
                        "the address of `{}`, which is defined nowhere",
                        function.name
                    ),
                )
                .related(info.span, "declared here"),
            );
        }
    }
}

/// Replaces aliases by what they stand for.
pub(super) fn aliases(checker: &mut Checker<'_>) {
    if checker.aliases.is_empty() {
        return;
    }
    let real = |id: FuncId| checker.aliases.get(&id).copied().unwrap_or(id);
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
}

/// Gives each parameter of a device function whose address is taken a copy in `.local` memory, which is made when the
/// function begins, and lets everything that names the parameter name the copy. PTX ISA, "Parameter State Space".
///
/// The address of a return parameter is treated alike; nothing reads what is written there.
pub(super) fn parameter_copies(function: &mut Function) {
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
    for inst in function.blocks.iter_mut().flat_map(|b| &mut b.insts) {
        rename(inst, &copies);
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
            copy(function, var, local, &mut prologue);
        }
    }
    if let Some(entry) = function.blocks.first_mut() {
        entry.insts.splice(0..0, prologue);
    }
}

/// Names the copy instead of the parameter. A return parameter is still written itself.
fn rename(inst: &mut Inst, copies: &FxHashMap<Var, u32>) {
    match &mut inst.kind {
        Kind::AddressOf(AddressOf { var, .. }) => {
            if let Some(local) = copies.get(var) {
                *var = Var::Local(*local);
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
        | Kind::Pure(_)
        | Kind::FunctionAddress { .. }
        | Kind::Special { .. }
        | Kind::Call(_)
        | Kind::Hint { .. }
        | Kind::Unsupported => {}
    }
}

/// Loads and stores that copy a parameter, in pieces as large as its alignment allows.
fn copy(function: &mut Function, var: Var, local: u32, prologue: &mut Vec<Inst>) {
    let ty = function.locals[local as usize].ty;
    let mut offset = 0;
    while offset < ty.size {
        let mut bytes = ty.align.min(8);
        while offset + bytes > ty.size {
            bytes /= 2;
        }
        let class = RegClass::of_bits(bytes * 8).unwrap_or(RegClass::B8);
        let reg = Reg(function.regs.len() as u32);
        function.regs.push(RegInfo {
            class,
            name: "".into(),
        });
        let width = bytes as u8;
        let address = |var| Address {
            base: Base::Var(var),
            offset: i64::from(offset),
        };
        let load = Kind::Load(Load {
            space: Space::Param,
            bytes: width,
            signed: false,
            align: width,
            dsts: smallvec![Some(reg)],
            addr: address(var),
            order: Order::Weak,
            read_only: false,
        });
        let store = Kind::Store(Store {
            space: Space::Local,
            bytes: width,
            align: width,
            srcs: smallvec![Operand::Reg(reg)],
            addr: address(Var::Local(local)),
            order: Order::Weak,
        });
        for kind in [load, store] {
            prologue.push(Inst {
                guard: None,
                kind,
                span: function.span,
                location: u32::MAX,
            });
        }
        offset += bytes;
    }
}
