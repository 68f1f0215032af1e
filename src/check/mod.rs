//! Syntax tree to IR: names, types, layout; refuses what `ptxas` refuses.
//!
//! [`target`] reads the directives at the top, [`module`] walks over the items. [`variables`], with [`decls`] and
//! [`initialiser`], declares what lies in memory; [`functions`] reads the head of a function and [`builder`] its body,
//! statement by statement: control flow goes to [`blocks`] and [`calls`], any other instruction to [`instruction`],
//! which meets the builder through [`context`]. When all has been read, [`finish`] and [`layout`] say the rest.

mod blocks;
mod builder;
mod calls;
mod constant;
mod context;
mod decls;
mod directives;
mod finish;
mod functions;
mod initialiser;
mod instruction;
mod layout;
mod module;
mod names;
mod operands;
mod report;
mod scope;
mod target;
mod variables;

use crate::diag::{Diagnostic, Diagnostics, Source};
use crate::ir::{self, Reading};
use crate::syntax::{self, ast};
use module::Checker;
use report::Reports;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Reads and checks a module.
///
/// # Errors
/// Everything that is wrong with the text, at once.
#[cfg(test)]
pub(crate) fn parse_and_check(source: Source) -> Result<ir::Module, Diagnostics> {
    timed(source, Reading::Text).map(|(module, _)| module)
}

/// How long it took to read a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ParseStats {
    /// Time for making a syntax tree of it (`syntax`).
    pub parse: Duration,
    /// Time for checking it and making the intermediate representation (`check`).
    pub check: Duration,
}

/// Reads and checks a module, and says how long that took. Instructions that have two meanings have that of `reading`.
///
/// # Errors
/// Everything that is wrong with the text, at once.
pub(crate) fn timed(
    source: Source,
    reading: Reading,
) -> Result<(ir::Module, ParseStats), Diagnostics> {
    let source = Arc::new(source);
    let start = Instant::now();
    let parsed = syntax::parse(&source);
    let parse = start.elapsed();
    let module = check(source.clone(), &parsed.module, parsed.diagnostics, reading)?;
    let check = start.elapsed() - parse;
    Ok((module, ParseStats { parse, check }))
}

/// Checks a module. `parse_diagnostics` is what the parser said about it.
///
/// # Errors
/// Everything that is wrong with the text, at once.
pub(crate) fn check(
    source: Arc<Source>,
    module: &ast::Module<'_>,
    parse_diagnostics: Vec<Diagnostic>,
    reading: Reading,
) -> Result<ir::Module, Diagnostics> {
    let mut reports = Reports::new(source.clone(), parse_diagnostics);
    if reports.has_errors() {
        // Statements are missing from the tree: what is said about the rest would mostly be wrong.
        return Err(Diagnostics::new(source, reports.finish()));
    }
    let (target, items) = target::header(&module.items, &mut reports);
    let mut checker = Checker::new(source, reports, target, reading);
    checker.items(items);
    finish::undefined(&mut checker);
    finish::follow_aliases(&mut checker);
    let (global_bytes, const_bytes) = layout::memory(&mut checker);
    layout::shared(&mut checker);
    finish::aliases(&mut checker);
    let mut pieces = finish::MAX_PIECES;
    for function in &mut checker.functions {
        if checker.clusters {
            finish::own_shared(function, checker.target.address_bits);
        }
        finish::parameter_copies(function, &mut pieces);
        layout::stack(function, &mut checker.reports);
    }
    let Checker {
        source,
        reports,
        target,
        reading,
        functions,
        variables,
        files,
        locations,
        clusters,
        ..
    } = checker;
    if reports.has_errors() {
        return Err(Diagnostics::new(source, reports.finish()));
    }
    let module = ir::Module {
        warnings: Diagnostics::new(source.clone(), reports.finish()),
        source,
        version: target.version,
        target: target.name,
        address_bits: target.address_bits,
        reading,
        functions,
        variables,
        global_bytes,
        const_bytes,
        files,
        locations,
        clusters,
    };
    if cfg!(debug_assertions)
        && let Err(violation) = ir::verify::verify(&module)
    {
        #[expect(
            clippy::panic,
            reason = "in debug builds, where callers make an internal error of it"
        )]
        {
            panic!("{violation}");
        }
    }
    Ok(module)
}
