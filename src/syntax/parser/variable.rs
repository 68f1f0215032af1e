//! Declarations of variables, registers and parameters. `PTX ISA`, "Variables".

use super::{Parser, Result};
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{Attribute, Declarator, Expr, Init, Name, Ptr, Variable};
use crate::syntax::lexer::{Kind, shorten};

fn is_space(word: &str) -> bool {
    let space = word.split_once("::").map_or(word, |(space, _)| space);
    matches!(
        space,
        "reg" | "sreg" | "const" | "global" | "local" | "param" | "shared" | "tex"
    )
}

pub(super) fn is_linkage(word: &str) -> bool {
    matches!(word, "extern" | "visible" | "weak" | "common")
}

/// Whether a declaration in a body may begin with that word.
pub(super) fn is_declaration_word(word: &str) -> bool {
    is_space(word) || is_linkage(word) || word == "attribute"
}

impl<'s> Parser<'s> {
    /// At most one linkage directive.
    pub(super) fn linkage(&mut self) -> Result<Vec<Name<'s>>> {
        let mut linkage = Vec::new();
        while is_linkage(self.word()) {
            let name = self.take_word();
            if let Some(first) = linkage.first() {
                let first: &Name<'s> = first;
                let message = format!(
                    "`.{}` behind `.{}`: there is one linkage directive at most",
                    name.text, first.text
                );
                return Err(self.error(Diagnostic::error(name.span, message)));
            }
            linkage.push(name);
        }
        Ok(linkage)
    }

    /// A declaration up to its `;`; linkage directives and attributes before `start` may have been read.
    pub(super) fn declaration(
        &mut self,
        attributes: Vec<Attribute<'s>>,
        start: Span,
    ) -> Result<Variable<'s>> {
        let linkage = self.linkage()?;
        self.declaration_behind(linkage, attributes, start)
    }

    /// A declaration whose linkage directives have been read.
    pub(super) fn declaration_behind(
        &mut self,
        linkage: Vec<Name<'s>>,
        attributes: Vec<Attribute<'s>>,
        start: Span,
    ) -> Result<Variable<'s>> {
        let mut variable = self.specifiers(linkage, attributes)?;
        variable.declarators = self.list(|p| {
            let name = p.name("a name")?;
            p.declarator(name, true)
        })?;
        variable.span = self.span_from(start);
        self.semicolon()?;
        Ok(variable)
    }

    /// Space, alignment, attributes, vector size and type, in the order in which they must stand.
    fn specifiers(
        &mut self,
        linkage: Vec<Name<'s>>,
        mut attributes: Vec<Attribute<'s>>,
    ) -> Result<Variable<'s>> {
        while self.word() == "attribute" {
            self.attributes(&mut attributes)?;
        }
        if !is_space(self.word()) {
            return Err(self.expected("a state space (`.reg`, `.global`, `.shared`, ...)"));
        }
        let space = self.take_word();
        let mut bank = None;
        if self.at(Kind::LBracket) {
            self.bump();
            bank = Some(self.integer("the number of a bank")?);
            self.expect(Kind::RBracket, "`]`")?;
        }
        let mut align = None;
        loop {
            match self.word() {
                "align" => align = Some(self.alignment()?),
                "attribute" => self.attributes(&mut attributes)?,
                _ => break,
            }
        }
        let vector = is_vector(self.word()).then(|| self.take_word());
        if !self.at(Kind::Word) {
            return Err(self.expected("a type (`.b32`, `.f64`, ...)"));
        }
        let ty = Some(self.take_word());
        let ptr = if self.word() == "ptr" {
            Some(self.pointer()?)
        } else {
            None
        };
        if self.at(Kind::Word) {
            let word = shorten(self.word());
            let error = Diagnostic::error(self.token.span, format!("`.{word}` behind the type"))
                .label("expected a name")
                .hint("the order is space, alignment, vector size, type, name");
            return Err(self.error(error));
        }
        Ok(Variable {
            linkage,
            space,
            bank,
            align,
            attributes,
            vector,
            ty,
            ptr,
            declarators: Vec::new(),
            span: space.span,
        })
    }

    /// `.align 8`
    fn alignment(&mut self) -> Result<(u64, Span)> {
        self.bump();
        self.integer("an alignment in bytes")
    }

    /// `.ptr .global .align 16`
    fn pointer(&mut self) -> Result<Ptr<'s>> {
        let start = self.bump().span;
        let space = is_space(self.word()).then(|| self.take_word());
        let align = if self.word() == "align" {
            Some(self.alignment()?)
        } else {
            None
        };
        Ok(Ptr {
            space,
            align,
            span: self.span_from(start),
        })
    }

    /// `.attribute(.managed, .unified(1, 2))`
    pub(super) fn attributes(&mut self, attributes: &mut Vec<Attribute<'s>>) -> Result<()> {
        self.bump();
        self.expect(Kind::LParen, "`(`")?;
        let more = self.list(|p| {
            if !p.at(Kind::Word) {
                return Err(p.expected("an attribute"));
            }
            let name = p.take_word();
            let mut values = Vec::new();
            if p.eat(Kind::LParen) {
                values = p.list(Self::value)?;
                p.expect(Kind::RParen, "`)`")?;
            }
            Ok(Attribute { name, values })
        })?;
        attributes.extend(more);
        self.expect(Kind::RParen, "`)`")?;
        Ok(())
    }

    /// `<8>` behind a name.
    pub(super) fn range(&mut self) -> Result<Option<(u64, Span)>> {
        if !self.eat(Kind::Lt) {
            return Ok(None);
        }
        let count = self.integer("a number of registers")?;
        self.expect(Kind::Gt, "`>`")?;
        Ok(Some(count))
    }

    /// What follows a declared name: a range or array sizes, and an initialiser.
    fn declarator(&mut self, name: Name<'s>, init: bool) -> Result<Declarator<'s>> {
        let range = self.range()?;
        let mut dims = Vec::new();
        while range.is_none() && self.at(Kind::LBracket) {
            self.node()?;
            let start = self.bump().span;
            let size = if self.at(Kind::RBracket) {
                None
            } else {
                Some(self.array_size()?)
            };
            self.expect(Kind::RBracket, "`]`")?;
            dims.push((size, self.span_from(start)));
        }
        let init = if init && self.eat(Kind::Assign) {
            Some(self.initialiser()?)
        } else {
            None
        };
        Ok(Declarator {
            name,
            range,
            dims,
            init,
        })
    }

    /// A literal or `WARP_SZ`: ptxas takes no expressions here.
    fn array_size(&mut self) -> Result<Expr<'s>> {
        if self.at(Kind::Ident) {
            return self.value();
        }
        self.int_expr("an array size")
    }

    fn initialiser(&mut self) -> Result<Init<'s>> {
        if self.at(Kind::LBrace) {
            return self.nested("initialisers", |p| {
                let (list, span) = p.braced(Self::initialiser)?;
                Ok(Init::List(list, span))
            });
        }
        if self.at(Kind::Ident) && self.peek().kind == Kind::Assign {
            let field = self.name("a name")?;
            self.bump();
            return Ok(Init::Field(field, self.value()?));
        }
        self.initial_value().map(Init::Value)
    }

    /// A value, `generic(x)`, or a mask applied to either; each with an optional offset.
    fn initial_value(&mut self) -> Result<Expr<'s>> {
        self.operators = 0;
        let applies =
            matches!(self.token.kind, Kind::Ident | Kind::Int) && self.peek().kind == Kind::LParen;
        if !applies {
            return self.value();
        }
        let start = self.token.span;
        let function = if self.at(Kind::Ident) {
            Expr::Name {
                name: self.ident("`generic`")?,
                suffix: None,
            }
        } else {
            self.int_expr("a mask")?
        };
        self.bump();
        let arg = Box::new(self.nested("parentheses", Self::initial_value)?);
        self.expect(Kind::RParen, "`)`")?;
        let apply = Expr::Apply {
            function: Box::new(function),
            arg,
            span: self.span_from(start),
        };
        self.offset(apply)
    }

    /// `(...)` of a function or prototype, if it stands here.
    pub(super) fn optional_parameters(
        &mut self,
        prototype: bool,
    ) -> Result<Option<Vec<Variable<'s>>>> {
        if !self.eat(Kind::LParen) {
            return Ok(None);
        }
        if self.eat(Kind::RParen) {
            return Ok(Some(Vec::new()));
        }
        let params = self.list(|p| p.parameter(prototype))?;
        self.expect(Kind::RParen, "`,` or `)`")?;
        Ok(Some(params))
    }

    fn parameter(&mut self, prototype: bool) -> Result<Variable<'s>> {
        let start = self.token.span;
        let mut variable = self.specifiers(Vec::new(), Vec::new())?;
        let name = if prototype {
            self.ident("a name or `_`")?
        } else {
            self.name("a name")?
        };
        variable.declarators = vec![self.declarator(name, false)?];
        variable.span = self.span_from(start);
        Ok(variable)
    }
}

/// `.v2`, `.v4`, `.v8`; the sizes that exist are not told apart here.
fn is_vector(word: &str) -> bool {
    word.strip_prefix('v')
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}
