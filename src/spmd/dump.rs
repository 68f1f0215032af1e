//! Plans as text.

use super::wide::{Why, Wide};
use super::{Effort, FunctionPlan, ModulePlan, Root};
use super::{Name, Shape};
use crate::ir::{Block, FuncId, Function, Module, RegInfo};
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
    write_blocks(text, module, own.function(function), own)
}

fn write_blocks(
    text: &mut String,
    module: &Module,
    function: &Function,
    plan: &FunctionPlan,
) -> std::fmt::Result {
    let blocks = plan.flow.cfg.order().len();
    let s = if blocks == 1 { "" } else { "s" };
    let regions = match &plan.regions {
        None => "one region".to_string(),
        Some(regions) => match regions.points.len() {
            1 => "1 point, a region behind it".to_string(),
            count => format!("{count} points, a region behind each"),
        },
    };
    writeln!(text, "  {regions}, {blocks} block{s}")?;
    for &b in plan.flow.cfg.order() {
        let label = function.block(b).label.as_deref().unwrap_or("");
        write!(text, "  {b} {label}")?;
        if plan.flow.cfg.is_header(b) {
            write!(text, " loop header, polls")?;
        }
        let phis: Vec<String> = (plan.flow.ssa.phis(b).iter())
            .map(|n| format!("r{}", n.0))
            .collect();
        if !phis.is_empty() {
            write!(text, " meet: {}", phis.join(" "))?;
        }
        let behind = plan.regions.as_ref().and_then(|r| r.resumed(b));
        if let Some(point) = behind {
            write!(text, " behind point {point}")?;
        }
        writeln!(text)?;
        if let Some(point) = plan.regions.as_ref().and_then(|r| r.yields(b)) {
            write_point(text, plan, point, "may give up its turn")?;
        }
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
        if let Some(point) = plan.regions.as_ref().and_then(|r| r.meets(b)) {
            write_point(text, plan, point, "meets others")?;
        }
    }
    if let Some(wide) = &plan.wide {
        write_wide(text, function, wide)?;
    }
    for (i, reg) in function.regs.iter().enumerate() {
        let name = super::Name(i as u32);
        if let Some(root) = plan.provenance.root(name) {
            let shown = shown(i, reg);
            writeln!(text, "  {shown} derives from {}", describe(module, root))?;
        }
    }
    Ok(())
}

/// A register's name, or its number.
fn shown(index: usize, reg: &RegInfo) -> String {
    match reg.name.is_empty() {
        true => format!("r{index}"),
        false => reg.name.to_string(),
    }
}

/// How values differ between threads that go together, and where these may part.
fn write_wide(text: &mut String, function: &Function, wide: &Wide) -> std::fmt::Result {
    let all = || (0..).zip(&function.regs);
    let names = |wanted: fn(Shape) -> bool| -> Vec<String> {
        all()
            .filter(|(i, _)| wanted(wide.uniformity.of(Name(*i))))
            .map(|(i, reg)| shown(i as usize, reg))
            .collect()
    };
    let uniform = names(|s| s == Shape::Uniform);
    let varying = names(|s| s == Shape::Varying);
    for (what, names) in [("uniform", uniform), ("varying", varying)] {
        if !names.is_empty() {
            writeln!(text, "  {what}: {}", names.join(" "))?;
        }
    }
    for (i, reg) in all() {
        if let Shape::Affine(stride) = wide.uniformity.of(Name(i)) {
            writeln!(
                text,
                "  {} differs by {stride} from thread to thread",
                shown(i as usize, reg)
            )?;
        }
    }
    let parts = |why: &Why| matches!(why, Why::Parts);
    let branches = wide.leaves.iter().filter(|l| parts(&l.why)).count();
    let supposed = wide.leaves.len() - branches;
    let blocks = (0..wide.function.blocks.len() as u32).map(Block);
    let met = blocks.filter(|&b| wide.sides(b).is_some()).count();
    writeln!(
        text,
        "  threads part at {branches} branches, at {met} until they meet again, or where one of {supposed} things supposed of their values does not hold"
    )
}

/// What lives across a point.
fn write_point(text: &mut String, plan: &FunctionPlan, point: u32, what: &str) -> std::fmt::Result {
    write!(text, "    point {point}: {what}")?;
    let crossing = &plan.crossings[point as usize];
    for (what, names) in [
        ("keeps", &crossing.framed),
        ("finds again", &crossing.rebuilt),
    ] {
        let names: Vec<String> = names.iter().map(|n| format!("r{}", n.0)).collect();
        if !names.is_empty() {
            write!(text, ", {what} {}", names.join(" "))?;
        }
    }
    writeln!(text)
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
