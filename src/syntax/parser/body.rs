//! Bodies, statements and instructions.

use super::module::Owner;
use super::variable::{is_declaration_word, is_linkage, space_hint};
use super::{Parser, Result};
use crate::diag::Diagnostic;
use crate::syntax::ast::{
    Body, CallTable, CallTableKind, Guard, Instruction, Name, Pragma, Statement, Target,
};
use crate::syntax::lexer::{Kind, shorten};
use smallvec::SmallVec;

impl<'s> Parser<'s> {
    /// `{ ... }`. An error inside ends the statement, not the body.
    pub(super) fn body(&mut self) -> Result<Body<'s>> {
        let start = self.expect(Kind::LBrace, "`{`")?.span;
        let mut statements = Vec::new();
        loop {
            match self.token.kind {
                Kind::RBrace => {
                    self.bump();
                    break;
                }
                Kind::End => {
                    let error = Diagnostic::error(
                        self.token.span,
                        "expected `}`, found the end of the text",
                    )
                    .related(start, "this `{` is never closed");
                    self.error(error);
                    break;
                }
                _ => match self.statement() {
                    Ok(statement) => statements.push(statement),
                    Err(_) => self.skip_statement(),
                },
            }
        }
        Ok(Body {
            statements,
            span: self.span_from(start),
        })
    }

    fn statement(&mut self) -> Result<Statement<'s>> {
        self.spend::<Statement<'s>>()?;
        let labelled = self.at_label();
        match self.token.kind {
            Kind::Ident if labelled => {
                let label = self.name("a label")?;
                self.bump();
                if is_call_table(self.word()) {
                    return self.call_table(label).map(Statement::CallTable);
                }
                Ok(Statement::Label(label))
            }
            Kind::Ident => self.instruction(None).map(Statement::Instruction),
            Kind::At => self.guarded(),
            Kind::LBrace => self.nested("scopes", Self::body).map(Statement::Block),
            Kind::Word => self.directive_statement(),
            Kind::Semicolon => {
                let error = Diagnostic::error(self.token.span, "a `;` without a statement")
                    .hint("remove it");
                Err(self.error(error))
            }
            _ => Err(self.expected("an instruction, a label or a directive")),
        }
    }

    /// Whether `name:` stands here.
    fn at_label(&mut self) -> bool {
        self.at(Kind::Ident) && self.peek().kind == Kind::Colon
    }

    fn directive_statement(&mut self) -> Result<Statement<'s>> {
        let span = self.token.span;
        match self.word() {
            "pragma" => self.pragma().map(Statement::Pragma),
            "loc" => self.loc().map(Statement::Loc),
            word if is_call_table(word) => {
                let message = format!("`.{word}` without a label");
                Err(self.error(
                    Diagnostic::error(span, message).hint(format!("write `name: .{word} ...;`")),
                ))
            }
            word if is_linkage(word) => {
                let message = format!("`.{word}` inside a function");
                let error = Diagnostic::error(span, message)
                    .hint("only what stands outside functions has linkage");
                Err(self.error(error))
            }
            word if is_declaration_word(word) => self
                .declaration(Vec::new(), span)
                .map(|v| Statement::Variable(Box::new(v))),
            word => {
                let message = format!("`.{}` cannot begin a statement", shorten(word));
                let mut error = Diagnostic::error(span, message);
                error.hint = space_hint(word);
                Err(self.error(error))
            }
        }
    }

    /// An instruction, whose guard has been read.
    fn instruction(&mut self, guard: Option<Guard<'s>>) -> Result<Instruction<'s>> {
        let start = guard.as_ref().map_or(self.token.span, |guard| guard.span);
        let mnemonic = self.ident("an instruction")?;
        let mut modifiers = SmallVec::<[Name<'s>; 6]>::new();
        while self.at(Kind::Word) {
            self.spend::<Name<'s>>()?;
            modifiers.push(self.take_word());
        }
        let mut operands = Vec::new();
        if !self.at(Kind::Semicolon) && !self.token.first_on_line || self.starts_operand() {
            operands = self.list(if mnemonic.text == "call" {
                Self::call_operand
            } else {
                Self::operand
            })?;
        }
        let span = self.span_from(start);
        if mnemonic.text.starts_with('%') && operands.len() == 1 && self.at(Kind::Ident) {
            let message = format!(
                "`{}` in the place of an instruction",
                shorten(mnemonic.text)
            );
            let error = Diagnostic::error(mnemonic.span, message)
                .hint("a guard is written with an `@`: `@%p1`");
            return Err(self.error(error));
        }
        if mnemonic.text == "call" && self.at(Kind::LParen) {
            let error = Diagnostic::error(self.token.span, "expected `;`, found `(`")
                .hint("a list of arguments stands behind a comma: `call (r), f, (a);`");
            return Err(self.error(error));
        }
        self.semicolon()?;
        Ok(Instruction {
            guard,
            mnemonic,
            modifiers: modifiers.into_vec(),
            operands,
            span,
        })
    }

    /// Whether an operand could begin here.
    fn starts_operand(&self) -> bool {
        !matches!(
            self.token.kind,
            Kind::Semicolon | Kind::RBrace | Kind::End | Kind::At | Kind::Word
        )
    }

    /// `@p` or `@!p` and an instruction.
    fn guarded(&mut self) -> Result<Statement<'s>> {
        let start = self.bump().span;
        let negated = self.eat(Kind::Not);
        let predicate = self.name("a predicate register")?;
        let guard = Guard {
            negated,
            predicate,
            span: self.span_from(start),
        };
        if self.at_label() {
            let error = Diagnostic::error(self.token.span, "a label behind a guard")
                .hint("put it before the `@`");
            return Err(self.error(error));
        }
        match self.token.kind {
            Kind::Ident => self.instruction(Some(guard)).map(Statement::Instruction),
            Kind::LBrace => {
                let error = Diagnostic::error(guard.span, "a guard before a `{`")
                    .hint("a guard is for one instruction; branch around the scope instead");
                self.error(error);
                self.nested("scopes", Self::body).map(Statement::Block)
            }
            _ => Err(self.expected("an instruction behind the guard")),
        }
    }

    /// `.pragma "a", "b";`
    pub(super) fn pragma(&mut self) -> Result<Pragma<'s>> {
        let start = self.bump().span;
        let strings = self.list(Self::string)?;
        let span = self.span_from(start);
        self.semicolon()?;
        Ok(Pragma { strings, span })
    }

    /// A string, without its quotes.
    pub(super) fn string(&mut self) -> Result<Name<'s>> {
        let token = self.expect(Kind::Str, "a string")?;
        Ok(Name {
            text: self.text(token).trim_matches('"'),
            span: token.span,
        })
    }

    /// `.branchtargets`, `.calltargets` or `.callprototype`, whose label has been read.
    fn call_table(&mut self, label: Name<'s>) -> Result<CallTable<'s>> {
        let kind = match self.take_word().text {
            "branchtargets" => CallTableKind::BranchTargets(self.list(Self::target)?),
            "calltargets" => CallTableKind::CallTargets(self.list(Self::target)?),
            _ => {
                let returns = self.optional_parameters(true)?.unwrap_or_default();
                let name = self.ident("the prototype's name, `_`")?;
                if name.text != "_" {
                    let message = format!("expected `_`, found `{}`", shorten(name.text));
                    let error = Diagnostic::error(name.span, message)
                        .hint("the name of a prototype is its label");
                    return Err(self.error(error));
                }
                let params = self.optional_parameters(true)?.unwrap_or_default();
                let directives = self.function_directives(Owner::Prototype)?;
                CallTableKind::Prototype {
                    returns,
                    name,
                    params,
                    directives,
                }
            }
        };
        let span = self.span_from(label.span);
        self.semicolon()?;
        Ok(CallTable { label, kind, span })
    }

    fn target(&mut self) -> Result<Target<'s>> {
        Ok(Target {
            name: self.name("a label or function")?,
            range: self.range()?,
        })
    }
}

fn is_call_table(word: &str) -> bool {
    matches!(word, "branchtargets" | "calltargets" | "callprototype")
}
