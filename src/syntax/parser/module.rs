//! Modules, functions and their directives.

use super::variable::{is_declaration_word, is_linkage, space_hint};
use super::{Parser, Result};
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{Directive, Function, FunctionKind, Item, Module, Name, Pragma};
use crate::syntax::lexer::{Kind, shorten};

/// What a performance or ABI directive belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Kernel,
    Function,
    Prototype,
}

/// How many numbers a directive between parameters and body takes, at least and at most; `None` if it does not exist
/// there.
fn directive_arity(owner: Owner, word: &str) -> Option<(usize, usize)> {
    Some(match (owner, word) {
        (Owner::Kernel, "maxntid" | "reqntid" | "reqnctapercluster") => (1, 3),
        (
            Owner::Kernel,
            "maxnreg" | "local_maxnreg" | "minnctapersm" | "maxnctapersm" | "maxclusterrank",
        ) => (1, 1),
        (Owner::Kernel, "explicitcluster" | "blocksareclusters") => (0, 0),
        (Owner::Function | Owner::Prototype, "noreturn") => (0, 0),
        (Owner::Function | Owner::Prototype, "abi_preserve" | "abi_preserve_control") => (1, 1),
        _ => return None,
    })
}

/// Whether an item begins with that word, rather than a parameter or a statement: where to go on after an error.
fn begins_item(word: &str) -> bool {
    is_linkage(word)
        || matches!(
            word,
            "version"
                | "target"
                | "address_size"
                | "entry"
                | "func"
                | "alias"
                | "file"
                | "section"
                | "pragma"
                | "global"
                | "const"
                | "shared"
        )
}

impl<'s> Parser<'s> {
    /// The whole text.
    pub(super) fn module(&mut self) -> Module<'s> {
        let mut items = Vec::new();
        while !self.at(Kind::End) {
            let start = self.token.span;
            match self.spend::<Item<'s>>().and_then(|()| self.item()) {
                Ok(item) => items.push(item),
                Err(_) => {
                    self.skip_item();
                    // An item that cannot even begin must not be tried again.
                    if self.token.span == start {
                        self.bump();
                    }
                }
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
            "section" => self.section().map(Item::Section),
            "pragma" => self.pragma().map(Item::Pragma),
            "entry" | "func" => self.function_or_variable(),
            word if is_declaration_word(word) => self.function_or_variable(),
            "" if self.at(Kind::RBrace) => {
                let error = Diagnostic::error(start, "a `}` that closes nothing");
                Err(self.error(error))
            }
            "" if self.at(Kind::Semicolon) => {
                let error = Diagnostic::error(start, "a `;` that ends nothing")
                    .hint("remove it: a body and directives such as `.version` end without one");
                Err(self.error(error))
            }
            "" => Err(self.expected("a directive")),
            word => {
                let message = format!("`.{}` cannot stand outside a function", shorten(word));
                let mut error = Diagnostic::error(start, message);
                error.hint = space_hint(word);
                Err(self.error(error))
            }
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
        let between = Span::new(start.end, token.span.start);
        if self
            .lexer
            .slice(between)
            .contains(|c| !matches!(c, ' ' | '\t'))
        {
            let error = Diagnostic::error(start, "`.version` without a number behind it")
                .hint("the number stands on the same line, with nothing but blanks between");
            return Err(self.error(error));
        }
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
        let linkage = self.linkage()?;
        let kind = match self.word() {
            "entry" => FunctionKind::Entry,
            "func" => FunctionKind::Func,
            _ => {
                return self.declaration(linkage, start).map(Item::Variable);
            }
        };
        if let Some(common) = linkage.iter().find(|name| name.text == "common") {
            let error = Diagnostic::error(common.span, "`.common` is for variables in `.global`");
            return Err(self.error(error));
        }
        self.bump();
        let mut attributes = Vec::new();
        while kind == FunctionKind::Func && self.word() == "attribute" {
            self.attributes(&mut attributes)?;
        }
        if kind == FunctionKind::Entry && self.at(Kind::LParen) {
            let error = Diagnostic::error(self.token.span, "expected a name, found `(`")
                .hint("a kernel has no return parameters");
            return Err(self.error(error));
        }
        let returns = self.optional_parameters(false)?.unwrap_or_default();
        let name = self.name("the function's name")?;
        let params = self.optional_parameters(kind == FunctionKind::Entry)?;
        let span = self.span_from(start);
        let owner = match kind {
            FunctionKind::Entry => Owner::Kernel,
            FunctionKind::Func => Owner::Function,
        };
        let directives = self.function_directives(owner)?;
        let body = match self.token.kind {
            Kind::LBrace => Some(self.body()?),
            Kind::Semicolon if kind == FunctionKind::Func || directives.is_empty() => {
                self.bump();
                None
            }
            // As in ptxas, the `;` behind the declaration of a device function may be missing.
            Kind::Word
                if kind == FunctionKind::Func
                    && (begins_item(self.word()) || is_declaration_word(self.word())) =>
            {
                None
            }
            Kind::End if kind == FunctionKind::Func => None,
            Kind::Word => {
                let message = format!(
                    "`.{}` between a function's parameters and its body",
                    shorten(self.word())
                );
                return Err(self.error(Diagnostic::error(self.token.span, message)));
            }
            _ => return Err(self.expected("`{`")),
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
    pub(super) fn function_directives(&mut self, owner: Owner) -> Result<Vec<Directive<'s>>> {
        let mut directives = Vec::new();
        while self.at(Kind::Word) {
            self.spend::<Directive<'s>>()?;
            if self.word() == "pragma" && owner == Owner::Kernel {
                let Pragma { strings, span } = self.pragma()?;
                let name = Name {
                    text: "pragma",
                    span,
                };
                directives.push(Directive {
                    name,
                    values: Vec::new(),
                    strings,
                    span,
                });
                continue;
            }
            let word = self.word();
            let Some((least, most)) = directive_arity(owner, word) else {
                break;
            };
            let name = self.take_word();
            let values = if least == 0 {
                Vec::new()
            } else {
                self.list(|p| p.int_expr("a number"))?
            };
            if values.len() > most {
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
