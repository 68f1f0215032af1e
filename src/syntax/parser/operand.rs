//! Operands of instructions: one grammar for all of them.

use super::{Parser, Result};
use crate::diag::Span;
use crate::syntax::ast::{Address, BinaryOp, Expr, Operand, UnaryOp};
use crate::syntax::lexer::Kind;

impl<'s> Parser<'s> {
    /// An operand, at the top of an instruction or in an address behind a comma.
    pub(super) fn operand(&mut self) -> Result<Operand<'s>> {
        self.node()?;
        let start = self.token.span;
        let left = match self.token.kind {
            Kind::LBrace => self.nested("vectors", Self::vector)?,
            Kind::LBracket => {
                return self
                    .nested("addresses", Self::address)
                    .map(Operand::Address);
            }
            Kind::LParen => return self.list_or_expr(),
            Kind::Not => {
                if !self.name_follows() {
                    return self.value().map(Operand::Expr);
                }
                self.bump();
                let predicate = self.named()?;
                return Ok(Operand::Not(predicate, self.span_from(start)));
            }
            Kind::Minus => {
                if !self.name_follows() {
                    return self.value().map(Operand::Expr);
                }
                self.bump();
                let arg = Box::new(self.named()?);
                let negated = Expr::Unary {
                    op: UnaryOp::Neg,
                    arg,
                    span: self.span_from(start),
                };
                return Ok(Operand::Expr(negated));
            }
            _ => {
                let value = self.value()?;
                if self.at(Kind::LBracket) && matches!(value, Expr::Name { .. }) {
                    return self.indexed(value, start).map(Operand::Address);
                }
                Operand::Expr(value)
            }
        };
        if !self.at(Kind::Or) {
            return Ok(left);
        }
        self.bump();
        let right = Operand::Expr(self.named()?);
        Ok(Operand::Pair(
            Box::new(left),
            Box::new(right),
            self.span_from(start),
        ))
    }

    /// Whether a name stands behind the current token.
    fn name_follows(&mut self) -> bool {
        let next = self.peek();
        next.kind == Kind::Ident && self.text(next) != "WARP_SZ"
    }

    /// `{a, b}`; the elements are names, constants or vectors.
    fn vector(&mut self) -> Result<Operand<'s>> {
        let (elements, span) = self.braced(Self::element)?;
        Ok(Operand::Vector(elements, span))
    }

    fn element(&mut self) -> Result<Operand<'s>> {
        match self.token.kind {
            Kind::LBrace => self.nested("vectors", Self::vector),
            Kind::Ident if self.text(self.token) != "WARP_SZ" => self.named().map(Operand::Expr),
            _ => self.value().map(Operand::Expr),
        }
    }

    /// `[base+offset, ...]`
    fn address(&mut self) -> Result<Address<'s>> {
        let start = self.bump().span;
        let base = self.value()?;
        let mut rest = Vec::new();
        if self.eat(Kind::Comma) {
            rest = self.list(Self::operand)?;
        }
        self.expect(Kind::RBracket, "`]`")?;
        Ok(Address {
            base,
            rest,
            indexed: false,
            span: self.span_from(start),
        })
    }

    /// `name[3]`, whose name has been read.
    fn indexed(&mut self, name: Expr<'s>, start: Span) -> Result<Address<'s>> {
        self.bump();
        let index = Box::new(self.value()?);
        self.expect(Kind::RBracket, "`]`")?;
        let base = Expr::Binary {
            op: BinaryOp::Add,
            lhs: Box::new(name),
            rhs: index,
        };
        Ok(Address {
            base,
            rest: Vec::new(),
            indexed: true,
            span: self.span_from(start),
        })
    }

    /// `(a, b)`, or an expression that begins with a parenthesis.
    ///
    /// `(1)` alone could be either: it is read as a list here, and as an expression where the instruction is no call.
    fn list_or_expr(&mut self) -> Result<Operand<'s>> {
        self.operators = 0;
        let start = self.bump().span;
        if self.at(Kind::Word) {
            let cast = self.parenthesised(start)?;
            return self.constant_from(cast).map(Operand::Expr);
        }
        let mut elements = Vec::new();
        if !self.at(Kind::RParen) {
            elements = self.nested("parentheses", |p| p.list(Self::argument))?;
        }
        self.expect(Kind::RParen, "`)`")?;
        let list = Operand::List(elements, self.span_from(start));
        if matches!(self.token.kind, Kind::Comma | Kind::Semicolon) {
            return Ok(list);
        }
        match single(list) {
            Ok(inner) => self.constant_from(inner).map(Operand::Expr),
            Err(list) => Ok(list),
        }
    }

    /// An element of a list: what a call passes or receives.
    fn argument(&mut self) -> Result<Operand<'s>> {
        match self.token.kind {
            Kind::LParen => self.value().map(Operand::Expr),
            _ => self.operand(),
        }
    }
}

/// Takes the constant out of a list that holds nothing else.
pub(super) fn single(operand: Operand<'_>) -> std::result::Result<Expr<'_>, Operand<'_>> {
    match operand {
        Operand::List(mut list, span) => match list.pop() {
            Some(Operand::Expr(inner)) if list.is_empty() => Ok(inner),
            Some(last) => {
                list.push(last);
                Err(Operand::List(list, span))
            }
            None => Err(Operand::List(list, span)),
        },
        other => Err(other),
    }
}
