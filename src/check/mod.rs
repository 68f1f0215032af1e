//! Syntax tree to IR: names, types, layout; refuses what `ptxas` refuses.

mod constant;
mod context;
mod instruction;

use crate::diag::{Diagnostic, Diagnostics, Source};
use crate::ir;
use crate::syntax::ast;
use std::sync::Arc;

/// Reads and checks a module.
///
/// # Errors
/// Everything that is wrong with the text, at once.
pub(crate) fn parse_and_check(source: Source) -> Result<ir::Module, Diagnostics> {
    check(Arc::new(source), &ast::Module::default(), Vec::new())
}

/// Checks a module. `parse_diagnostics` is what the parser said about it.
///
/// # Errors
/// Everything that is wrong with the text, at once.
pub(crate) fn check(
    source: Arc<Source>,
    _module: &ast::Module<'_>,
    parse_diagnostics: Vec<Diagnostic>,
) -> Result<ir::Module, Diagnostics> {
    Err(Diagnostics::new(source, parse_diagnostics))
}
