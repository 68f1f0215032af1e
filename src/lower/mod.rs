//! From IR and plan to Cranelift IR.
//!
//! One room for each family of pure operators ([`emit`] is what they share), rooms for memory, control and [`sync`],
//! [`region`] for kernels whose threads stop, and [`function`], which walks the blocks. Values are those of one thread, or uniform: the loop over the threads of a CTA
//! is around a kernel's body, so what does not depend on the thread is hoisted out of it by Cranelift. With a width, a kernel is lowered
//! once more for threads that go [`together`], whose values lie in vectors ([`widen`]).

mod abi;
mod abilities;
mod bits;
mod compare;
pub mod context;
mod control;
mod convert;
mod emit;
mod entry;
mod extended;
mod float;
mod function;
mod integer;
mod lop3;
mod memory;
mod prmt;
mod reach;
pub mod region;
pub mod site;
pub mod symbols;
mod sync;
mod together;
mod video;
mod widen;

pub use abilities::Abilities;
pub use entry::{plain, resolve, signature, trampoline};
pub use region::LOCAL_TOP_BYTES;
pub use site::{ARGUMENTS, Cause, Parameter, Service, Site};
pub use symbols::Symbol;

use crate::diag::Span;
use crate::ir::control::CallType;
use crate::ir::{FuncId, Module};
use crate::spmd::{Effort, ModulePlan, Root};
use cranelift_codegen::ir::{Function, UserFuncName};
use cranelift_codegen::isa::{TargetFrontendConfig, TargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use rustc_hash::FxHashMap;

/// How to lower.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether accesses are checked.
    pub checked: bool,
    /// How many threads go together, in kernels planned for it.
    pub width: u32,
    /// What the machine can do.
    pub abilities: Abilities,
}

/// What the functions of a module refer to by number.
#[derive(Debug, Default)]
pub struct Sites {
    /// Places of faults.
    pub list: Vec<Site>,
    /// How many last answers are kept.
    pub answers: u32,
    /// Numbers of the types of functions.
    pub types: FxHashMap<CallType, u32>,
}

impl Sites {
    /// Numbers the types of a module's functions.
    pub fn new(module: &Module) -> Self {
        let mut sites = Sites::default();
        for function in &module.functions {
            sites.type_number(&function.call_type());
        }
        sites
    }

    /// The number of a type.
    pub fn type_number(&mut self, ty: &CallType) -> u32 {
        if let Some(&known) = self.types.get(ty) {
            return known;
        }
        let next = self.types.len() as u32;
        self.types.insert(ty.clone(), next);
        next
    }
}

/// A function in Cranelift IR.
#[derive(Debug)]
pub struct Lowered {
    /// It.
    pub clif: Function,
    /// The text of each source location.
    pub spans: Vec<Span>,
    /// Sums of kernel parameters that point to memory, in the order of [`context::Context::roots`].
    pub roots: Vec<Root>,
    /// How much work it is worth.
    pub effort: Effort,
}

/// Lowers a function that has a plan.
pub fn lower(
    module: &Module,
    plan: &ModulePlan,
    id: FuncId,
    options: &Options,
    isa: &dyn TargetIsa,
    sites: &mut Sites,
    builder: &mut FunctionBuilderContext,
) -> Option<Lowered> {
    let function_plan = plan.function(id)?;
    let function = &module.functions[id.index()];
    let name = Symbol::Function(id).external();
    let mut clif = Function::with_name_signature(
        UserFuncName::user(name.namespace, name.index),
        abi::of_function(function, isa.default_call_conv()),
    );
    let b = FunctionBuilder::new(&mut clif, builder);
    let lower = function::Lower::new(module, plan, function_plan, id, options, sites, b);
    let (b, spans, roots) = lower.run();
    b.finalize(config(isa));
    Some(Lowered {
        clif,
        spans,
        roots,
        effort: function_plan.effort,
    })
}

fn config(isa: &dyn TargetIsa) -> TargetFrontendConfig {
    isa.frontend_config()
}
