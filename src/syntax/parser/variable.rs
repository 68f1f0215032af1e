//! Declarations of variables, registers and parameters. `PTX ISA`, "Variables".

use super::{Parser, Result};
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{Attribute, Declarator, Expr, Init, Name, Ptr, Variable};
use crate::syntax::lexer::{Kind, shorten};

fn is_space(word: &str) -> bool {
    matches!(
        word,
        "reg" | "const" | "global" | "local" | "param" | "shared" | "tex"
    )
}

pub(super) fn is_linkage(word: &str) -> bool {
    matches!(word, "extern" | "visible" | "weak" | "common")
}

/// Whether a declaration in a body may begin with that word.
pub(super) fn is_declaration_word(word: &str) -> bool {
    is_space(word) || is_linkage(word) || word == "attribute"
}

/// What to say where a declaration seems to begin with `word`.
pub(super) fn space_hint(word: &str) -> Option<String> {
    if let Some((space, _)) = word.split_once("::").filter(|(space, _)| is_space(space)) {
        return Some(format!("in declarations the space is just `.{space}`"));
    }
    let typed = word == "pred" || word.len() > 1 && word[1..].bytes().all(|b| b.is_ascii_digit());
    typed.then(|| "a declaration begins with its state space, such as `.reg` or `.global`".into())
}

impl<'s> Parser<'s> {
    /// At most one linkage directive.
    pub(super) fn linkage(&mut self) -> Result<Vec<Name<'s>>> {
        let mut linkage: Vec<Name<'s>> = Vec::new();
        while is_linkage(self.word()) {
            let name = self.take_word();
            if let Some(first) = linkage.first() {
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

    /// A declaration up to its `;`, whose linkage has been read; it begins at `start`.
    pub(super) fn declaration(
        &mut self,
        linkage: Vec<Name<'s>>,
        start: Span,
    ) -> Result<Variable<'s>> {
        let mut variable = self.specifiers(linkage)?;
        variable.declarators = self.list(|p| {
            let name = p.name("a name")?;
            p.declarator(name, true)
        })?;
        variable.span = self.span_from(start);
        self.semicolon()?;
        Ok(variable)
    }

    /// Space, alignment, attributes, vector size and type, in the order in which they must stand.
    fn specifiers(&mut self, linkage: Vec<Name<'s>>) -> Result<Variable<'s>> {
        self.spend::<Variable<'s>>()?;
        let mut attributes = Vec::new();
        while self.word() == "attribute" {
            self.attributes(&mut attributes)?;
        }
        if !is_space(self.word()) {
            return Err(self.expected("a state space (`.reg`, `.global`, `.shared`, ...)"));
        }
        let space = self.take_word();
        let mut bank = None;
        if space.text == "const"
            && self.at(Kind::LBracket)
            && self.token.span.start == space.span.end
        {
            self.bump();
            bank = Some(self.integer("the number of a bank")?);
            self.expect(Kind::RBracket, "`]`")?;
        }
        let mut align = None;
        loop {
            match self.word() {
                // Of several alignments the largest counts, as in ptxas.
                "align" => {
                    let next = self.alignment()?;
                    align = align.filter(|&(bytes, _)| bytes > next.0).or(Some(next));
                }
                "attribute" => self.attributes(&mut attributes)?,
                _ => break,
            }
        }
        let vector = self.vector_size()?;
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

    /// `.v2` or `.v4`
    fn vector_size(&mut self) -> Result<Option<Name<'s>>> {
        let word = self.word();
        let size = word
            .strip_prefix('v')
            .and_then(|size| size.parse::<u32>().ok());
        if size.is_none() {
            return Ok(None);
        }
        if !matches!(word, "v2" | "v4") {
            let error = Diagnostic::error(
                self.token.span,
                format!("`.{}` of a variable", shorten(word)),
            )
            .hint("vectors have 2 or 4 elements: `.v2`, `.v4`");
            return Err(self.error(error));
        }
        Ok(Some(self.take_word()))
    }

    /// `.align 8`
    fn alignment(&mut self) -> Result<(u64, Span)> {
        self.bump();
        self.integer("an alignment in bytes")
    }

    /// `.ptr .global .align 16`
    fn pointer(&mut self) -> Result<Ptr<'s>> {
        let start = self.bump().span;
        let space = matches!(self.word(), "const" | "global" | "local" | "shared")
            .then(|| self.take_word());
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
            self.spend::<(Option<Expr<'s>>, Span)>()?;
            let start = self.bump().span;
            let open = dims.is_empty() && self.at(Kind::RBracket);
            let size = if open {
                None
            } else {
                Some(self.int_expr("an array size")?)
            };
            self.expect(Kind::RBracket, "`]`")?;
            dims.push((size, self.span_from(start)));
        }
        let init = if init && range.is_none() && self.eat(Kind::Assign) {
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

    fn initialiser(&mut self) -> Result<Init<'s>> {
        // Tables of plain numbers may be very long.
        if self.at(Kind::Int) && matches!(self.peek().kind, Kind::Comma | Kind::RBrace) {
            return self.int_expr("a number").map(Init::Value);
        }
        if self.at(Kind::LBrace) {
            return self.nested("initialisers", |p| {
                if p.peek().kind == Kind::RBrace {
                    let start = p.bump().span;
                    p.bump();
                    return Ok(Init::List(Vec::new(), p.span_from(start)));
                }
                let (list, span) = p.braced(Self::initialiser)?;
                Ok(Init::List(list, span))
            });
        }
        if self.at(Kind::Ident) && self.peek().kind == Kind::Assign {
            let field = self.name("a name")?;
            self.bump();
            return Ok(Init::Field(field, Box::new(self.value()?)));
        }
        self.initial_value().map(Init::Value)
    }

    /// A value, `generic(x)+4`, or a mask applied to either: `0xff00(x+4)`.
    fn initial_value(&mut self) -> Result<Expr<'s>> {
        let applies =
            matches!(self.token.kind, Kind::Ident | Kind::Int) && self.peek().kind == Kind::LParen;
        if !applies {
            return self.value();
        }
        self.operators = 0;
        if self.at(Kind::Ident) {
            let apply = self.generic()?;
            return self.offset(apply);
        }
        let mask = self.int_expr("a mask")?;
        self.bump();
        let arg = if self.at(Kind::Ident) && self.peek().kind == Kind::LParen {
            self.generic()?
        } else {
            self.symbol()?
        };
        let arg = self.offset(arg)?;
        self.expect(Kind::RParen, "`)`")?;
        let span = self.span_from(mask.span());
        Ok(Expr::Apply {
            function: Box::new(mask),
            arg: Box::new(arg),
            span,
        })
    }

    /// `generic(x)`
    fn generic(&mut self) -> Result<Expr<'s>> {
        let name = self.ident("`generic`")?;
        if name.text != "generic" {
            let message = format!("`{}` is no operator", shorten(name.text));
            let error = Diagnostic::error(name.span, message)
                .hint("initialisers have `generic(x)` and masks `0xff(x)`");
            return Err(self.error(error));
        }
        self.bump();
        let arg = Box::new(self.symbol()?);
        self.expect(Kind::RParen, "`)`")?;
        let function = Box::new(Expr::Name { name, suffix: None });
        Ok(Expr::Apply {
            function,
            arg,
            span: self.span_from(name.span),
        })
    }

    fn symbol(&mut self) -> Result<Expr<'s>> {
        Ok(Expr::Name {
            name: self.name("a variable or function")?,
            suffix: None,
        })
    }

    /// `(...)` of a function or prototype, if it stands here.
    ///
    /// Where a parameter may stay without a name, `_` stands for it.
    pub(super) fn optional_parameters(
        &mut self,
        unnamed: bool,
    ) -> Result<Option<Vec<Variable<'s>>>> {
        if !self.eat(Kind::LParen) {
            return Ok(None);
        }
        if self.eat(Kind::RParen) {
            return Ok(Some(Vec::new()));
        }
        let params = self.list(|p| p.parameter(unnamed))?;
        self.expect(Kind::RParen, "`,` or `)`")?;
        Ok(Some(params))
    }

    fn parameter(&mut self, unnamed: bool) -> Result<Variable<'s>> {
        let start = self.token.span;
        let mut variable = self.specifiers(Vec::new())?;
        let name = if unnamed {
            self.ident("a name or `_`")?
        } else {
            self.name("a name")?
        };
        if self.at(Kind::Lt) {
            return Err(self.expected("`,` or `)`"));
        }
        variable.declarators = vec![self.declarator(name, false)?];
        variable.span = self.span_from(start);
        Ok(variable)
    }
}
