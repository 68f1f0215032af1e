//! Plans as text.

use super::{Effort, FunctionPlan, ModulePlan, Root};
use crate::ir::{FuncId, Function, Module};
use std::fmt::Write;

/// The plan of a function as text, with the facts about it.
pub fn dump(module: &Module, plan: &ModulePlan, id: FuncId) -> String {
    let function = &module.functions[id.index()];
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_plan(&mut text, module, plan, id);
    if text.is_empty() {
        text = format!("{}: no plan\n", function.name);
    }
    text
}

fn write_plan(
    text: &mut String,
    module: &Module,
    plan: &ModulePlan,
    id: FuncId,
) -> std::fmt::Result {
    let function = &module.functions[id.index()];
    let Some(own) = plan.function(id) else {
        let why = plan.absent[id.index()].map_or_else(String::new, |a| a.to_string());
        return writeln!(text, "{}: not compiled: {why}", function.name);
    };
    let facts = plan.facts[id.index()];
    writeln!(text, "{}:", function.name)?;
    for (yes, what) in [
        (facts.faults, "may fault"),
        (facts.exits, "may exit"),
        (facts.context, "uses the context"),
        (facts.deep, "may be nested deep"),
        (facts.counted, "calls of it are counted"),
        (facts.is_simple(), "simple: no context needed"),
        (
            own.effort == Effort::Quick,
            "large: compiled without optimising",
        ),
        (
            own.effort == Effort::Least,
            "tangled: compiled without optimising",
        ),
    ] {
        if yes {
            writeln!(text, "  {what}")?;
        }
    }
    write_blocks(text, module, function, own)
}

fn write_blocks(
    text: &mut String,
    module: &Module,
    function: &Function,
    plan: &FunctionPlan,
) -> std::fmt::Result {
    let blocks = plan.cfg.order().len();
    let s = if blocks == 1 { "" } else { "s" };
    writeln!(text, "  one region, {blocks} block{s}")?;
    for &b in plan.cfg.order() {
        let label = function.block(b).label.as_deref().unwrap_or("");
        write!(text, "  {b} {label}")?;
        if plan.cfg.is_header(b) {
            write!(text, " loop header, polls")?;
        }
        let phis: Vec<String> = (plan.ssa.phis(b).iter())
            .map(|n| format!("r{}", n.0))
            .collect();
        if !phis.is_empty() {
            write!(text, " meet: {}", phis.join(" "))?;
        }
        writeln!(text)?;
        for run in plan.runs(b) {
            writeln!(
                text,
                "    {} accesses from [{}{:+}], {} bytes, checked together",
                run.members.len(),
                run.base,
                run.offset,
                run.bytes,
            )?;
        }
    }
    for (i, reg) in function.regs.iter().enumerate() {
        let name = super::Name(i as u32);
        if let Some(root) = plan.provenance.root(name) {
            let shown = if reg.name.is_empty() {
                format!("r{i}")
            } else {
                reg.name.to_string()
            };
            writeln!(text, "  {shown} derives from {}", describe(module, root))?;
        }
    }
    Ok(())
}

fn describe(module: &Module, root: &Root) -> String {
    match root {
        Root::Params(offsets) => {
            let offsets: Vec<String> = offsets.iter().map(u32::to_string).collect();
            format!("the parameter at {}", offsets.join(" or "))
        }
        Root::Variable(id) => format!("`{}`", module.variables[id.index()].name),
        Root::Window(space) => format!("the {space:?} window"),
    }
}
