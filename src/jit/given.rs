//! Functions that are not lowered, but given.

use crate::ir::FuncId;
use cranelift_codegen::ir::Function;

/// Functions of a module as Cranelift IR, to be compiled in place of what `lower` makes of them.
#[derive(Debug, Clone, Default)]
pub struct Given {
    functions: Vec<(FuncId, Function)>,
}

impl Given {
    /// What was given for a function.
    pub(super) fn of(&self, function: FuncId) -> Option<&Function> {
        let mut functions = self.functions.iter();
        let found = functions.find(|(id, _)| *id == function);
        found.map(|(_, clif)| clif)
    }

    /// Whether nothing was given.
    pub(super) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Gives a function; `false` if it was there already.
    #[cfg(feature = "clif")]
    pub(super) fn add(&mut self, function: FuncId, clif: Function) -> bool {
        let new = self.of(function).is_none();
        self.functions.push((function, clif));
        new
    }
}
