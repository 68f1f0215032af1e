//! Constant expressions. `PTX ISA`, "Constant Expressions".
//!
//! As in ptxas, a name may only stand first, with a constant expression behind a `+`: `table+8`, `%r1+-4`. Inside
//! there are only literals, `WARP_SZ`, operators and casts; initialisers also have `generic(x)` and masks.

use super::{MAX_OPERATORS, Parser, Reported, Result};
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{BinaryOp, Expr, Name, UnaryOp};
use crate::syntax::lexer::{Kind, Token, shorten};
use crate::syntax::literal;

/// The operator with two operands that a token is.
fn binary(kind: Kind) -> Option<BinaryOp> {
    Some(match kind {
        Kind::Star => BinaryOp::Mul,
        Kind::Slash => BinaryOp::Div,
        Kind::Percent => BinaryOp::Rem,
        Kind::Plus => BinaryOp::Add,
        Kind::Minus => BinaryOp::Sub,
        Kind::Shl => BinaryOp::Shl,
        Kind::Shr => BinaryOp::Shr,
        Kind::Lt => BinaryOp::Lt,
        Kind::Le => BinaryOp::Le,
        Kind::Gt => BinaryOp::Gt,
        Kind::Ge => BinaryOp::Ge,
        Kind::Eq => BinaryOp::Eq,
        Kind::Ne => BinaryOp::Ne,
        Kind::And => BinaryOp::And,
        Kind::Caret => BinaryOp::Xor,
        Kind::Or => BinaryOp::Or,
        Kind::AndAnd => BinaryOp::LogicalAnd,
        Kind::OrOr => BinaryOp::LogicalOr,
        _ => return None,
    })
}

impl<'s> Parser<'s> {
    /// A whole operand or initialiser value: a name with an optional offset, or a constant expression.
    pub(super) fn value(&mut self) -> Result<Expr<'s>> {
        self.operators = 0;
        if self.at(Kind::Ident) && self.text(self.token) != "WARP_SZ" {
            let base = self.named()?;
            return self.offset(base);
        }
        self.constant()
    }

    /// The `+ constant` behind a name or an application.
    pub(super) fn offset(&mut self, base: Expr<'s>) -> Result<Expr<'s>> {
        match self.token.kind {
            Kind::Plus => {
                self.bump();
                let rhs = Box::new(self.constant()?);
                Ok(Expr::Binary {
                    op: BinaryOp::Add,
                    lhs: Box::new(base),
                    rhs,
                })
            }
            Kind::Minus => {
                let error = Diagnostic::error(self.token.span, "expected `+`, found `-`")
                    .hint("a negative offset is written with a plus: `name+-8`");
                Err(self.error(error))
            }
            _ => Ok(base),
        }
    }

    /// A name with an optional suffix: `%r1`, `%tid.x`, `%r1.b0`.
    pub(super) fn named(&mut self) -> Result<Expr<'s>> {
        let name = self.ident("a name")?;
        let suffix = self.at(Kind::Word).then(|| self.take_word());
        Ok(Expr::Name { name, suffix })
    }

    /// A constant expression, or an `0f` literal, which takes no operators.
    fn constant(&mut self) -> Result<Expr<'s>> {
        if self.at(Kind::F32) {
            let token = self.bump();
            return Ok(Expr::F32 {
                bits: literal::bits(self.text(token)) as u32,
                span: token.span,
            });
        }
        self.conditional()
    }

    fn conditional(&mut self) -> Result<Expr<'s>> {
        let first = self.unary()?;
        self.constant_from(first)
    }

    /// A constant expression whose first part has been read.
    fn constant_from(&mut self, first: Expr<'s>) -> Result<Expr<'s>> {
        let cond = self.binary_from(first, 0)?;
        if !self.at(Kind::Question) {
            return Ok(cond);
        }
        self.operator()?;
        self.nested("conditional expressions", |p| {
            let then = Box::new(p.conditional()?);
            p.expect(Kind::Colon, "`:` of the conditional expression")?;
            let other = Box::new(p.conditional()?);
            Ok(Expr::Conditional {
                cond: Box::new(cond),
                then,
                other,
            })
        })
    }

    /// Operators that bind tighter than `floor`, by precedence climbing.
    fn binary_from(&mut self, mut lhs: Expr<'s>, floor: u8) -> Result<Expr<'s>> {
        while let Some(op) = binary(self.token.kind) {
            let strength = op.strength();
            if strength <= floor {
                break;
            }
            self.operator()?;
            let rhs = self.unary()?;
            let rhs = Box::new(self.binary_from(rhs, strength)?);
            lhs = Expr::Binary {
                op,
                lhs: Box::new(lhs),
                rhs,
            };
        }
        Ok(lhs)
    }

    /// Takes an operator and counts it.
    fn operator(&mut self) -> Result<Span> {
        self.spend::<[Expr<'s>; 2]>()?;
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            let message =
                format!("the expression is too long: more than {MAX_OPERATORS} operators");
            return Err(self.error(Diagnostic::error(self.token.span, message)));
        }
        Ok(self.bump().span)
    }

    fn unary(&mut self) -> Result<Expr<'s>> {
        let op = match self.token.kind {
            Kind::Plus => UnaryOp::Plus,
            Kind::Minus => UnaryOp::Neg,
            Kind::Tilde => UnaryOp::Not,
            Kind::Not => UnaryOp::LogicalNot,
            _ => return self.primary(),
        };
        let start = self.operator()?;
        self.nested("operators", |p| {
            let arg = Box::new(p.unary()?);
            Ok(Expr::Unary {
                op,
                arg,
                span: p.span_from(start),
            })
        })
    }

    fn primary(&mut self) -> Result<Expr<'s>> {
        let token = self.token;
        let span = token.span;
        match token.kind {
            Kind::Int => {
                let (value, unsigned) = self.int_value()?;
                Ok(Expr::Int {
                    value,
                    unsigned,
                    span,
                })
            }
            Kind::Decimal => {
                self.bump();
                match literal::decimal(self.text(token)) {
                    Some(bits) => Ok(Expr::F64 { bits, span }),
                    None => {
                        let message = format!(
                            "`{}` is no normal number of 64 bits",
                            shorten(self.text(token))
                        );
                        let error = Diagnostic::error(span, message)
                            .hint("other values are written as bits: `0d` and 16 hex digits");
                        Err(self.error(error))
                    }
                }
            }
            Kind::F64 => {
                self.bump();
                Ok(Expr::F64 {
                    bits: literal::bits(self.text(token)),
                    span,
                })
            }
            Kind::F32 => {
                let error =
                    Diagnostic::error(span, format!("`{}` behind an operator", self.text(token)))
                        .hint("put the sign into its first digit, or write it in parentheses");
                Err(self.error(error))
            }
            Kind::Ident if self.text(token) == "WARP_SZ" => {
                self.bump();
                Ok(Expr::Name {
                    name: Name {
                        text: self.text(token),
                        span,
                    },
                    suffix: None,
                })
            }
            Kind::Ident => {
                let message = format!(
                    "`{}` inside a constant expression",
                    shorten(self.text(token))
                );
                let error = Diagnostic::error(span, message)
                    .hint("a name may only stand first, with a constant behind it: `name+8`");
                Err(self.error(error))
            }
            Kind::LParen => {
                let start = self.operator()?;
                self.nested("parentheses", |p| p.parenthesised(start))
            }
            _ => Err(self.expected("an operand")),
        }
    }

    /// What follows a `(`: `.s64) x` of a cast, or an expression and `)`.
    fn parenthesised(&mut self, start: Span) -> Result<Expr<'s>> {
        if self.at(Kind::Word) {
            let ty = self.take_word();
            self.expect(Kind::RParen, "`)`")?;
            let arg = Box::new(self.unary()?);
            return Ok(Expr::Cast {
                ty,
                arg,
                span: self.span_from(start),
            });
        }
        let inner = self.constant()?;
        self.expect(Kind::RParen, "`)`")?;
        Ok(inner)
    }

    /// Takes an integer literal: its value, and whether it is unsigned.
    fn int_value(&mut self) -> Result<(u64, bool)> {
        let token = self.bump();
        self.int_of(token)
    }

    /// The value of an integer literal that has been read, and whether it is unsigned.
    pub(super) fn int_of(&mut self, token: Token) -> Result<(u64, bool)> {
        let text = self.text(token);
        let Some(int) = literal::int(text) else {
            return Err(self.too_large(token.span, 64));
        };
        if int.lost_bits {
            let message = format!("`{}` does not fit 64 bits", shorten(text));
            let label = format!("its low 64 bits, {:#x}, are used", int.value);
            self.warn(Diagnostic::warning(token.span, message).label(label));
        }
        Ok((int.value, int.unsigned))
    }

    pub(super) fn too_large(&mut self, span: Span, bits: u32) -> Reported {
        let text = shorten(self.lexer.slice(span));
        self.error(Diagnostic::error(
            span,
            format!("`{text}` does not fit {bits} bits"),
        ))
    }

    /// An integer literal or `WARP_SZ`, as alignments, ranges and sizes are written.
    pub(super) fn int_expr(&mut self, what: &str) -> Result<Expr<'s>> {
        let warp_size = self.at(Kind::Ident) && self.text(self.token) == "WARP_SZ";
        if warp_size || self.at(Kind::Int) {
            self.primary()
        } else {
            Err(self.expected(what))
        }
    }

    /// The value of an integer literal or `WARP_SZ`.
    pub(super) fn integer(&mut self, what: &str) -> Result<(u64, Span)> {
        match self.int_expr(what)? {
            Expr::Int { value, span, .. } => Ok((value, span)),
            warp_size => Ok((32, warp_size.span())),
        }
    }

    /// An integer literal of at most 32 bits.
    pub(super) fn integer32(&mut self, what: &str) -> Result<u32> {
        let (value, span) = self.integer(what)?;
        u32::try_from(value).map_err(|_| self.too_large(span, 32))
    }
}
