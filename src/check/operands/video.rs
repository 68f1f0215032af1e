//! Operands of video instructions: registers with a part of the word behind a point.

use super::values::{is_name, unexpected};
use super::{Fit, Register, Resolver};
use crate::check::context::Symbol;
use crate::diag::Diagnostic;
use crate::ir::Operand as Value;
use crate::ir::video::Selector;
use crate::isa::form::Arg;
use crate::isa::types::Ty;
use crate::syntax::ast::{Expr, Name, Operand, UnaryOp};
use smallvec::SmallVec;

/// `.b0`..`.b3`, `.h0`, `.h1`
fn selector(suffix: Option<Name<'_>>) -> Result<Selector, Diagnostic> {
    let Some(suffix) = suffix else {
        return Ok(Selector::Word);
    };
    match suffix.text {
        "b0" => Ok(Selector::Byte(0)),
        "b1" => Ok(Selector::Byte(1)),
        "b2" => Ok(Selector::Byte(2)),
        "b3" => Ok(Selector::Byte(3)),
        "h0" => Ok(Selector::Half(0)),
        "h1" => Ok(Selector::Half(1)),
        other => Err(Diagnostic::error(
            suffix.span,
            format!("`.{other}` selects no part of a word"),
        )
        .label("expected `.b0` to `.b3`, `.h0` or `.h1`")),
    }
}

/// `.h10`, `.b3210`: whether halves, and the digits.
fn lanes(suffix: Name<'_>) -> Option<(bool, SmallVec<[u8; 4]>)> {
    let mut letters = suffix.text.bytes();
    let halves = match letters.next()? {
        b'h' => true,
        b'b' => false,
        _ => return None,
    };
    let digits: SmallVec<[u8; 4]> = letters
        .map(|b| b.is_ascii_digit().then(|| b - b'0'))
        .collect::<Option<_>>()?;
    (1..=4).contains(&digits.len()).then_some((halves, digits))
}

/// A name behind a `-`, which is no constant expression.
fn sign<'e, 's>(expr: &'e Expr<'s>) -> (&'e Expr<'s>, bool) {
    match expr {
        Expr::Unary {
            op: UnaryOp::Neg,
            arg,
            ..
        } if is_name(arg) => (arg, true),
        _ => (expr, false),
    }
}

impl Resolver<'_, '_> {
    /// A register whose suffix is a selector.
    fn selected(
        &mut self,
        operand: &Operand<'_>,
        expr: &Expr<'_>,
        ty: Ty,
        fit: Fit,
    ) -> Result<(Register, Selector), Diagnostic> {
        let Expr::Name { name, suffix } = expr else {
            return Err(unexpected(operand));
        };
        // An element of a vector is no part of a word.
        if let Some(Symbol::Vector { .. }) = self.context.lookup(name.text) {
            return Err(Diagnostic::error(
                expr.span(),
                format!("`{}` is a vector, which cannot stand here", name.text),
            ));
        }
        let register = self.register(&Operand::Expr(Expr::Name {
            name: *name,
            suffix: None,
        }))?;
        self.check_fit(name.span, ty, &register, fit)?;
        Ok((register, selector(*suffix)?))
    }

    /// A destination with the part of the word that is written.
    pub(super) fn video_destination(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
        fit: Fit,
    ) -> Result<Arg, Diagnostic> {
        let Operand::Expr(expr) = operand else {
            return Err(unexpected(operand));
        };
        let (register, part) = self.selected(operand, expr, ty, fit)?;
        Ok(Arg::Part {
            value: Value::Reg(register.reg),
            part,
            negated: false,
        })
    }

    /// A source with the part of the word that is read, perhaps negated; or a constant.
    pub(super) fn video_source(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
        fit: Fit,
    ) -> Result<Arg, Diagnostic> {
        let Operand::Expr(expr) = operand else {
            return Err(unexpected(operand));
        };
        let (expr, negated) = sign(expr);
        if !is_name(expr) {
            return match self.constant(expr, ty)? {
                Arg::Src(value, _) => Ok(Arg::Part {
                    value,
                    part: Selector::Word,
                    negated,
                }),
                _ => Err(unexpected(operand)),
            };
        }
        if !negated
            && let Expr::Name { name, suffix: None } = expr
            && let Some(Symbol::Function(function)) = self.context.lookup(name.text)
        {
            return Ok(Arg::Part {
                value: self.function_address(function),
                part: Selector::Word,
                negated,
            });
        }
        let (register, part) = self.selected(operand, expr, ty, fit)?;
        Ok(Arg::Part {
            value: Value::Reg(register.reg),
            part,
            negated,
        })
    }

    /// A register with lanes.
    pub(super) fn simd(
        &mut self,
        operand: &Operand<'_>,
        ty: Ty,
        fit: Fit,
    ) -> Result<Arg, Diagnostic> {
        let Operand::Expr(expr) = operand else {
            return Err(unexpected(operand));
        };
        let (expr, negated) = sign(expr);
        let Expr::Name { name, suffix } = expr else {
            return Err(unexpected(operand));
        };
        let register = self.register(&Operand::Expr(Expr::Name {
            name: *name,
            suffix: None,
        }))?;
        self.check_fit(name.span, ty, &register, fit)?;
        let lanes = match suffix {
            None => None,
            Some(suffix) => match lanes(*suffix) {
                Some(lanes) => Some(lanes),
                None => {
                    return Err(Diagnostic::error(
                        suffix.span,
                        format!("`.{}` selects no lanes", suffix.text),
                    ));
                }
            },
        };
        Ok(Arg::Lanes {
            value: Value::Reg(register.reg),
            lanes,
            negated,
        })
    }
}
