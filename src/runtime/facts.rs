//! What a kernel or function needs, with everything that it may call.

use crate::error::{Missing, Unsupported};
use crate::ir::control::Callee;
use crate::ir::memory::{Base, Space, Var};
use crate::ir::{self, FuncId, Kind, RelocationTarget};

/// Facts about a function and all that it may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Facts {
    /// What cannot be run yet.
    pub unsupported: Option<Unsupported>,
    /// Whether it calls anything.
    pub calls: bool,
    /// Whether its time is not bounded by the length of its text: it has a loop or a call.
    pub unbounded: bool,
    /// Instructions in all bodies together.
    pub instructions: u64,
    /// Whether it may reach global memory.
    pub global_memory: bool,
}

impl Facts {
    /// Looks through the bodies.
    pub(super) fn of(module: &ir::Module, root: FuncId) -> Facts {
        let mut facts = Facts {
            unsupported: None,
            calls: false,
            unbounded: false,
            instructions: 0,
            global_memory: false,
        };
        let mut missing = Vec::new();
        let mut seen = vec![false; module.functions.len()];
        let mut todo = vec![root];
        let mut any_target = false;
        while let Some(id) = todo.pop() {
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            let function = &module.functions[id.index()];
            missing.extend(
                function
                    .unsupported
                    .iter()
                    .map(|u| (u.span, u.what.clone(), u.family)),
            );
            if !function.defined {
                let what = format!("`{}`, which is declared without a body,", function.name);
                missing.push((function.span, what, ""));
            }
            for (index, block) in function.blocks.iter().enumerate() {
                facts.instructions += block.insts.len() as u64 + 1;
                for inst in &block.insts {
                    facts.visit(&inst.kind, &mut todo, &mut any_target);
                }
                block
                    .terminator
                    .successors(|to| facts.unbounded |= to.index() <= index);
            }
            if any_target && todo.is_empty() {
                todo.extend(functions_in_initialisers(module).filter(|f| !seen[f.index()]));
                any_target = !todo.is_empty();
            }
        }
        facts.unbounded |= facts.calls;
        missing.sort_by_key(|(span, ..)| span.start);
        missing.dedup();
        if !missing.is_empty() {
            facts.unsupported = Some(Unsupported {
                wanted_by: super::value::describe(&module.functions[root.index()]),
                missing: missing
                    .into_iter()
                    .map(|(span, what, family)| Missing {
                        what,
                        family,
                        at: Some((
                            module.source.name().to_string(),
                            module.source.position(span.start),
                        )),
                    })
                    .collect(),
            });
        }
        facts
    }

    fn visit(&mut self, kind: &Kind, todo: &mut Vec<FuncId>, any_target: &mut bool) {
        match kind {
            Kind::Load(load) => self.access(load.space, load.addr.base),
            Kind::Store(store) => self.access(store.space, store.addr.base),
            Kind::FunctionAddress { function, .. } => todo.push(*function),
            Kind::Call(call) => {
                self.calls = true;
                match &call.callee {
                    Callee::Direct(function) => todo.push(*function),
                    Callee::Indirect { .. } => *any_target = true,
                }
            }
            Kind::Pure(_)
            | Kind::AddressOf(_)
            | Kind::Special { .. }
            | Kind::Hint { .. }
            | Kind::Unsupported => {}
        }
    }

    fn access(&mut self, space: Space, base: Base) {
        self.global_memory |= match space {
            Space::Generic | Space::Global => true,
            Space::Shared | Space::Local | Space::Const | Space::Param => false,
        };
        self.global_memory |= matches!(base, Base::Var(Var::Module(_)));
    }
}

/// Functions whose addresses lie in memory from the start.
fn functions_in_initialisers(module: &ir::Module) -> impl Iterator<Item = FuncId> {
    module
        .variables
        .iter()
        .flat_map(|v| &v.init.relocations)
        .filter_map(|r| match r.target {
            RelocationTarget::Function(f) => Some(f),
            RelocationTarget::Variable(_) => None,
        })
}
