//! Operands of instructions: one grammar for all of them, but that calls also have lists in parentheses.

use super::{Parser, Result};
use crate::diag::Span;
use crate::syntax::ast::{Address, BinaryOp, Expr, Operand, UnaryOp};
use crate::syntax::lexer::Kind;

impl<'s> Parser<'s> {
    /// An operand, at the top of an instruction or in an address behind a comma.
    pub(super) fn operand(&mut self) -> Result<Operand<'s>> {
        let start = self.token.span;
        let left = match self.token.kind {
            Kind::LBrace => self.nested("vectors", Self::vector)?,
            Kind::LBracket => {
                let address = self.nested("addresses", Self::address)?;
                return Ok(Operand::Address(Box::new(address)));
            }
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
                    return Ok(Operand::Address(Box::new(self.indexed(value, start)?)));
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
            _ => self.plain(),
        }
    }

    /// A name or a constant, as vectors and calls hold them.
    fn plain(&mut self) -> Result<Operand<'s>> {
        if self.at(Kind::Ident) && self.text(self.token) != "WARP_SZ" {
            return self.named().map(Operand::Expr);
        }
        self.value().map(Operand::Expr)
    }

    /// `[base+offset, ...]`
    fn address(&mut self) -> Result<Address<'s>> {
        self.spend::<Address<'s>>()?;
        let start = self.bump().span;
        let base = self.value()?;
        let mut rest = Vec::new();
        if self.eat(Kind::Comma) {
            rest = self.list(Self::operand)?;
        }
        self.expect(Kind::RBracket, "`]`")?;
        let suffix = self.at(Kind::Word).then(|| self.take_word());
        Ok(Address {
            base,
            rest,
            indexed: false,
            suffix,
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
            suffix: None,
            span: self.span_from(start),
        })
    }

    /// An operand of a call: a list in parentheses, or what other instructions have.
    pub(super) fn call_operand(&mut self) -> Result<Operand<'s>> {
        if !self.at(Kind::LParen) {
            return self.operand();
        }
        let start = self.bump().span;
        let mut elements = Vec::new();
        if !self.at(Kind::RParen) {
            elements = self.list(Self::plain)?;
        }
        self.expect(Kind::RParen, "`,` or `)`")?;
        Ok(Operand::List(elements, self.span_from(start)))
    }
}
