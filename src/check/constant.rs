//! Constant expressions. PTX ISA, "Constant Expressions".

use crate::diag::Diagnostic;
use crate::syntax::ast::Expr;

/// The value of a constant expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Constant {
    /// An integer of 64 bits.
    Int {
        /// Its bits.
        value: u64,
        /// `.u64` rather than `.s64`.
        unsigned: bool,
    },
    /// `0f...`: the bits of an f32.
    F32(u32),
    /// Any other floating-point constant: the bits of an f64.
    F64(u64),
}

/// Evaluates an expression without symbols.
///
/// # Errors
/// A diagnostic at the offending part: a name that is no constant, an operator on the wrong type, division by zero.
pub(crate) fn evaluate(expr: &Expr<'_>) -> Result<Constant, Diagnostic> {
    match expr {
        Expr::Int {
            value, unsigned, ..
        } => Ok(Constant::Int {
            value: *value,
            unsigned: *unsigned,
        }),
        Expr::F32 { bits, .. } => Ok(Constant::F32(*bits)),
        Expr::F64 { bits, .. } => Ok(Constant::F64(*bits)),
        Expr::Name { .. }
        | Expr::Unary { .. }
        | Expr::Binary { .. }
        | Expr::Conditional { .. }
        | Expr::Cast { .. }
        | Expr::Apply { .. } => Err(Diagnostic::error(expr.span(), "not a constant")),
    }
}
