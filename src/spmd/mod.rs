//! From IR to a plan for native code: control flow, values, provenance of addresses, facts about calls.
//!
//! A kernel without suspension points is one region: its threads run one after another, each to its end, in a loop
//! around the body. [`ModulePlan`] says which functions can be compiled and what is known of them; each has a
//! [`FunctionPlan`].

pub mod access;
mod cfg;
mod dump;
pub mod facts;
mod names;
mod provenance;
mod runs;
mod ssa;
#[cfg(test)]
mod tests;

pub use cfg::Cfg;
pub use dump::dump;
pub use facts::{Absent, Facts};
pub use names::{Name, Names, register_class};
pub use provenance::{Provenance, Root};
pub use runs::Run;
pub use ssa::Ssa;

use crate::ir::{Block, FuncId, Function, FunctionKind, Module};

/// Values that blocks hand on to others, for each instruction and beyond, all functions of a module together. What
/// compiling takes grows with them, and there may be as many as branches times registers. Real code has one or two for
/// an instruction.
const HANDED_ON_EACH: u64 = 16;
const HANDED_ON: u64 = 2_000_000;

/// How much work compiling a function is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// All that the settings ask for.
    Full,
    /// It is so large that quick code will do, unless that needs too much stack.
    Quick,
    /// Quick code will do whatever stack it needs, or optimising would take time out of proportion: loops nested in
    /// hundreds, thousands of values alive across thousands of blocks.
    Least,
}

/// The plan of a function.
#[derive(Debug)]
pub struct FunctionPlan {
    /// Control flow.
    pub cfg: Cfg,
    /// What holds values.
    pub names: Names,
    /// Where values meet.
    pub ssa: Ssa,
    /// Where addresses come from.
    pub provenance: Provenance,
    /// Accesses that are checked together, by block.
    pub runs: Vec<Vec<Run>>,
    /// How much work it is worth.
    pub effort: Effort,
}

impl FunctionPlan {
    /// Of a function with a body.
    ///
    /// # Errors
    /// One that is too large or too tangled.
    pub fn new(module: &Module, function: &Function) -> Result<Self, Absent> {
        let cfg = Cfg::new(function);
        let names = Names::new(function);
        let ssa = Ssa::new(function, &cfg, &names)?;
        let provenance = Provenance::new(module, function, &names);
        let runs = function
            .blocks
            .iter()
            .map(|b| runs::runs(module, function, &names, &provenance, b))
            .collect();
        let blocks = cfg.order().len() as u64;
        let deep = 40 * blocks + 50_000;
        let tangled =
            ssa.crowding() > 300_000 || ssa.arguments() > 100_000 || cfg.nesting(deep) > deep;
        let effort = match tangled {
            true => Effort::Least,
            false if facts::weight(function) <= 250_000 => Effort::Full,
            // A kernel may have so much stack.
            false if function.kind == FunctionKind::Kernel => Effort::Least,
            false => Effort::Quick,
        };
        Ok(FunctionPlan {
            cfg,
            names,
            ssa,
            provenance,
            runs,
            effort,
        })
    }

    /// Values that blocks hand on to others, past those that so large a function may have.
    fn handed_on(&self, function: &Function) -> u64 {
        let (mut values, mut instructions) = (0, 0);
        for &b in self.cfg.order() {
            let block = function.block(b);
            instructions += 1 + block.insts.len() as u64;
            (block.terminator).successors(|to| values += self.ssa.phis(to).len() as u64);
        }
        values.saturating_sub(HANDED_ON_EACH * instructions)
    }

    /// The runs of a block.
    pub fn runs(&self, block: Block) -> &[Run] {
        &self.runs[block.index()]
    }
}

/// The plan of a module.
#[derive(Debug)]
pub struct ModulePlan {
    /// The plans of functions that can be compiled.
    pub functions: Vec<Option<FunctionPlan>>,
    /// Why the others cannot.
    pub absent: Vec<Option<Absent>>,
    /// What is known of those that can.
    pub facts: Vec<Facts>,
}

impl ModulePlan {
    /// Of a module. `checked`: whether accesses are checked, and so may fault. `shallow`: calls nested no deeper than
    /// that are not counted.
    pub fn new(module: &Module, checked: bool, shallow: u32) -> Self {
        let mut functions = Vec::new();
        let mut refused = Vec::new();
        let mut left = HANDED_ON;
        for function in &module.functions {
            let plan = match facts::refuse(function) {
                Some(absent) => Err(absent),
                None => FunctionPlan::new(module, function).and_then(|plan| {
                    let count = plan.handed_on(function);
                    left = left.checked_sub(count).ok_or(Absent::TooLarge {
                        what: "values that blocks hand on",
                        count,
                        limit: left,
                    })?;
                    Ok(plan)
                }),
            };
            refused.push(plan.as_ref().err().copied());
            functions.push(plan.ok());
        }
        let absent = facts::absent(module, refused);
        for (plan, absent) in functions.iter_mut().zip(&absent) {
            if absent.is_some() {
                *plan = None;
            }
        }
        let known = facts::facts(module, &functions, checked, shallow);
        ModulePlan {
            functions,
            absent,
            facts: known,
        }
    }

    /// Takes a function out, and those that call it.
    pub fn refuse(&mut self, module: &Module, function: FuncId, why: Absent) {
        self.absent[function.index()] = Some(why);
        self.absent = facts::absent(module, std::mem::take(&mut self.absent));
        for (plan, absent) in self.functions.iter_mut().zip(&self.absent) {
            if absent.is_some() {
                *plan = None;
            }
        }
    }

    /// The plan of a function, if it can be compiled.
    pub fn function(&self, function: FuncId) -> Option<&FunctionPlan> {
        self.functions.get(function.index())?.as_ref()
    }
}
