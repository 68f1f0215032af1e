//! What a kernel or function needs, with everything that it may call.

use crate::error::{Missing, Unsupported};
use crate::ir::control::Callee;
use crate::ir::memory::Space;
use crate::ir::{self, FuncId, Kind, RelocationTarget, System};

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
    /// Whether its threads meet others: barriers, warp operations, atomics and so on.
    pub meets: bool,
    /// Whether it may ask for memory of the device heap.
    pub heap: bool,
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
            meets: false,
            heap: false,
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
            if let Some(system) = System::of(function) {
                // Native code does not call these yet.
                facts.meets = true;
                facts.heap |= system == System::Malloc;
                facts.global_memory = true;
                continue;
            }
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
                    .map(|(span, what, family)| Missing::new(&module.source, span, what, family))
                    .collect(),
            });
        }
        facts
    }

    fn visit(&mut self, kind: &Kind, todo: &mut Vec<FuncId>, any_target: &mut bool) {
        match kind {
            Kind::Load(load) => self.access(load.space),
            Kind::Store(store) => self.access(store.space),
            Kind::FunctionAddress { function, .. } => todo.push(*function),
            Kind::Meet(_) | Kind::Fence(_) => self.meets = true,
            Kind::Atomic(atomic) => {
                self.meets = true;
                self.access(atomic.space);
            }
            Kind::Mbarrier(mbarrier) => {
                self.meets = true;
                self.access(mbarrier.space);
            }
            Kind::Copy(copy) => {
                self.meets = true;
                self.access(copy.to.0);
                self.access(copy.from.0);
            }
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
            | Kind::Stack(_)
            | Kind::Hint { .. }
            | Kind::Unsupported => {}
        }
    }

    fn access(&mut self, space: Space) {
        self.global_memory |= match space {
            Space::Generic | Space::Global => true,
            Space::Shared | Space::Cluster | Space::Local | Space::Const | Space::Param => false,
        };
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

#[cfg(test)]
mod tests {
    use super::Facts;
    use crate::diag::Source;

    const TEXT: &str = "
.version 7.0
.target sm_70
.address_size 64
.func leaf(.reg .u32 a) { .reg .u32 b; add.u32 b, a, 1; ret; }
.func waits() { .reg .f32 f; .reg .s32 i; .reg .u64 t; tex.1d.v4.f32.s32 {f, f, f, f}, [t, {i}]; ret; }
.global .u64 table[2] = {leaf, waits};

.func straight(.reg .u32 a)
{
    .reg .pred p;
    setp.eq.u32 p, a, 0;
    @p bra end;
    add.u32 a, a, 1;
end:
    ret;
}

.func loops(.reg .u32 a)
{
again:
    bra again;
}

.func calls(.reg .u32 a) { call leaf, (a); ret; }
.func waits_in_turn() { call waits; ret; }
.func reads(.reg .u64 p) { .reg .u32 r; ld.u32 r, [p]; ret; }
.func keeps() { .shared .u32 s; st.shared.u32 [s], 1; ret; }

.func through_table()
{
    .reg .u64 f;
    ld.global.u64 f, [table];
again: .callprototype _ ();
    call f, again;
    ret;
}
";

    fn facts(name: &str) -> Facts {
        let module = crate::check::parse_and_check(Source::new("facts.ptx", TEXT))
            .unwrap_or_else(|e| panic!("{e}"));
        Facts::of(&module, module.function(name).unwrap())
    }

    #[test]
    fn time_is_bounded_without_loops_and_calls() {
        let bounded = ["leaf", "straight", "reads", "keeps"].map(|f| facts(f).unbounded);
        assert_eq!(bounded, [false; 4]);
        assert!(facts("loops").unbounded && !facts("loops").calls);
        assert!(facts("calls").unbounded && facts("calls").calls);
    }

    #[test]
    fn global_memory_is_what_generic_addresses_reach_too() {
        assert!(facts("reads").global_memory);
        assert!(facts("through_table").global_memory);
        assert!(!facts("straight").global_memory && !facts("keeps").global_memory);
    }

    #[test]
    fn what_is_lacking_is_found_through_calls_and_tables() {
        assert_eq!(facts("calls").unsupported, None);
        for name in ["waits", "waits_in_turn", "through_table"] {
            let unsupported = facts(name).unsupported.unwrap();
            assert_eq!(unsupported.wanted_by, format!("function `{name}`"));
            let [missing] = &unsupported.missing[..] else {
                panic!("{unsupported}")
            };
            assert!(missing.what.starts_with("tex"), "{missing}");
            assert_eq!(missing.at.as_ref().unwrap().1.line, 6);
        }
    }
}
