//! Modules, functions and their directives.

use super::body::is_call_table;
use super::variable::is_declaration_word;
use super::{Parser, Result};
use crate::diag::Diagnostic;
use crate::syntax::ast::{Directive, Function, FunctionKind, Item, Module};
use crate::syntax::lexer::{Kind, shorten};

/// Directives between parameters and body, with how many numbers each takes.
const FUNCTION_DIRECTIVES: &[(&str, usize, usize)] = &[
    ("maxnreg", 1, 1),
    ("maxntid", 1, 3),
    ("reqntid", 1, 3),
    ("minnctapersm", 1, 1),
    ("maxnctapersm", 1, 1),
    ("noreturn", 0, 0),
    ("reqnctapercluster", 1, 3),
    ("explicitcluster", 0, 0),
    ("maxclusterrank", 1, 1),
    ("blocksareclusters", 0, 0),
    ("abi_preserve", 1, 1),
    ("abi_preserve_control", 1, 1),
];

/// Whether a word can begin an item: where to go on after an error.
fn begins_item(word: &str) -> bool {
    is_declaration_word(word)
        || matches!(
            word,
            "version"
                | "target"
                | "address_size"
                | "entry"
                | "func"
                | "alias"
                | "file"
                | "loc"
                | "section"
                | "pragma"
        )
}

impl<'s> Parser<'s> {
    /// The whole text.
    pub(super) fn module(&mut self) -> Module<'s> {
        let mut items = Vec::new();
        while !self.at(Kind::End) {
            match self.node().and_then(|()| self.item()) {
                Ok(item) => items.push(item),
                Err(_) => self.skip_item(),
            }
        }
        Module { items }
    }

    /// After an error outside bodies: moves to where an item can begin.
    fn skip_item(&mut self) {
        let mut open = std::mem::take(&mut self.braces);
        loop {
            match self.token.kind {
                Kind::End => return,
                Kind::LBrace => open += 1,
                Kind::RBrace => {
                    open = open.saturating_sub(1);
                    self.bump();
                    if open == 0 {
                        self.eat(Kind::Semicolon);
                        return;
                    }
                    continue;
                }
                Kind::Semicolon if open == 0 => {
                    self.bump();
                    return;
                }
                Kind::Word if open == 0 && self.token.first_on_line && begins_item(self.word()) => {
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    fn item(&mut self) -> Result<Item<'s>> {
        let start = self.token.span;
        match self.word() {
            "version" => self.version(),
            "target" => {
                self.bump();
                let names = self.list(|p| p.ident("an architecture"))?;
                Ok(Item::Target {
                    names,
                    span: self.span_from(start),
                })
            }
            "address_size" => {
                self.bump();
                let (bits, _) = self.integer("32 or 64")?;
                Ok(Item::AddressSize {
                    bits,
                    span: self.span_from(start),
                })
            }
            "alias" => self.alias(),
            "file" => self.file().map(Item::File),
            "loc" => self.loc().map(Item::Loc),
            "section" => self.section().map(Item::Section),
            "pragma" => self.pragma().map(Item::Pragma),
            word if is_call_table(word) => self.call_table(None).map(Item::CallTable),
            "entry" | "func" => self.function_or_variable(),
            word if is_declaration_word(word) => self.function_or_variable(),
            "" => self.labelled_item(),
            word => {
                let message = format!("`.{}` cannot stand outside a function", shorten(word));
                Err(self.error(Diagnostic::error(start, message)))
            }
        }
    }

    /// `name: .callprototype`; anything else without a point is an error.
    fn labelled_item(&mut self) -> Result<Item<'s>> {
        if self.at_label() {
            let label = self.name("a label")?;
            self.bump();
            if is_call_table(self.word()) {
                return self.call_table(Some(label)).map(Item::CallTable);
            }
            let error = Diagnostic::error(
                label.span,
                format!("label `{}` outside a function", shorten(label.text)),
            );
            return Err(self.error(error));
        }
        match self.token.kind {
            Kind::RBrace => {
                let error = Diagnostic::error(self.token.span, "a `}` that closes nothing");
                Err(self.error(error))
            }
            _ => Err(self.expected("a directive")),
        }
    }

    /// `.version 8.7`
    fn version(&mut self) -> Result<Item<'s>> {
        let start = self.bump().span;
        let token = self.token;
        let parts = self.text(token).split_once('.');
        let number = |text: &str| -> Option<u32> {
            let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| text.parse().ok()).flatten()
        };
        if token.kind == Kind::Decimal
            && let Some((major, minor)) = parts
            && let (Some(major), Some(minor)) = (number(major), number(minor))
        {
            self.bump();
            return Ok(Item::Version {
                major,
                minor,
                span: self.span_from(start),
            });
        }
        Err(self.expected("a version such as `8.7`"))
    }

    /// `.alias a, b;`
    fn alias(&mut self) -> Result<Item<'s>> {
        let start = self.bump().span;
        let name = self.name("the new name")?;
        self.expect(Kind::Comma, "`,`")?;
        let target = self.name("a function")?;
        let span = self.span_from(start);
        self.semicolon()?;
        Ok(Item::Alias { name, target, span })
    }

    fn function_or_variable(&mut self) -> Result<Item<'s>> {
        let start = self.token.span;
        let mut attributes = Vec::new();
        while self.word() == "attribute" {
            self.attributes(&mut attributes)?;
        }
        let linkage = self.linkage()?;
        let kind = match self.word() {
            "entry" => FunctionKind::Entry,
            "func" => FunctionKind::Func,
            _ => {
                return self
                    .declaration_behind(linkage, attributes, start)
                    .map(Item::Variable);
            }
        };
        if let Some(common) = linkage.iter().find(|name| name.text == "common") {
            let error = Diagnostic::error(common.span, "`.common` is for variables in `.global`");
            return Err(self.error(error));
        }
        self.bump();
        while self.word() == "attribute" {
            self.attributes(&mut attributes)?;
        }
        if kind == FunctionKind::Entry && self.at(Kind::LParen) {
            let error = Diagnostic::error(self.token.span, "expected a name, found `(`")
                .hint("a kernel has no return parameters");
            return Err(self.error(error));
        }
        let returns = self.optional_parameters(false)?.unwrap_or_default();
        let name = self.name("the function's name")?;
        let params = self.optional_parameters(false)?;
        let span = self.span_from(start);
        let directives = self.function_directives()?;
        let body = match self.token.kind {
            Kind::LBrace => Some(self.body()?),
            Kind::Semicolon => {
                self.bump();
                None
            }
            _ => return Err(self.expected("`{`, `;` or a performance directive")),
        };
        let has_params = params.is_some();
        let params = params.unwrap_or_default();
        Ok(Item::Function(Function {
            linkage,
            kind,
            attributes,
            returns,
            name,
            has_params,
            params,
            directives,
            body,
            span,
        }))
    }

    /// `.maxntid 128, 1, 1 .pragma "nounroll";` and so on.
    pub(super) fn function_directives(&mut self) -> Result<Vec<Directive<'s>>> {
        let mut directives = Vec::new();
        while self.at(Kind::Word) {
            self.node()?;
            if self.word() == "pragma" {
                let name = self.take_word();
                let strings = self.list(Self::string)?;
                let span = self.span_from(name.span);
                self.semicolon()?;
                directives.push(Directive {
                    name,
                    values: Vec::new(),
                    strings,
                    span,
                });
                continue;
            }
            let word = self.word();
            let Some(&(_, least, most)) = FUNCTION_DIRECTIVES.iter().find(|d| d.0 == word) else {
                break;
            };
            let name = self.take_word();
            let values = if most == 0 {
                Vec::new()
            } else {
                self.list(|p| p.int_expr("a number"))?
            };
            if values.len() < least || values.len() > most {
                let message = format!(
                    "`.{word}` takes at most {most} numbers, here are {}",
                    values.len()
                );
                return Err(self.error(Diagnostic::error(self.span_from(name.span), message)));
            }
            directives.push(Directive {
                name,
                values,
                strings: Vec::new(),
                span: self.span_from(name.span),
            });
        }
        Ok(directives)
    }
}
