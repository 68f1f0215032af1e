//! Tokens to syntax tree, by recursive descent.
//!
//! No part of the grammar depends on which instruction stands there. After an error the parser goes on at the next
//! statement or directive, so one run reports all errors, up to a cap. Nesting, the size of an expression and the
//! size of the tree are bounded: hostile text gets an error, never a stack overflow or a memory without end.

mod body;
mod debug;
mod expr;
mod module;
mod operand;
mod variable;

use super::ast::{Module, Name};
use super::lexer::{Kind, Lexer, Token, shorten};
use crate::diag::{Diagnostic, Severity, Source, Span};
use smallvec::SmallVec;

/// The longest text that is read, in bytes: spans are 32 bits wide.
const MAX_TEXT: usize = 1 << 30;
/// How deep scopes, parentheses and braces may nest.
const MAX_DEPTH: u32 = 128;
/// How many operators an expression may have.
const MAX_OPERATORS: u32 = 1024;
/// How many bytes the tree may take. The longest real modules need some hundreds of megabytes.
const MAX_TREE: u64 = 4 << 30;
/// How many errors are reported before the parser gives up.
const MAX_ERRORS: usize = 100;

/// What [`parse`] makes of a text.
#[derive(Debug)]
pub struct Parsed<'s> {
    /// What could be read. Where there were errors, statements are missing from it.
    pub module: Module<'s>,
    /// Errors and warnings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed<'_> {
    /// Whether the text was read without an error.
    pub fn is_ok(&self) -> bool {
        !self
            .diagnostics
            .iter()
            .any(|d| d.severity == Severity::Error)
    }
}

/// Reads a module. `PTX ISA`, chapter "Syntax".
///
/// Knows directives, but no instructions: any word with any modifiers and operands is one. Never fails as a whole; all
/// that is wrong is in [`Parsed::diagnostics`] (at most some 100 errors, the last of which says that reading stopped).
pub fn parse(source: &Source) -> Parsed<'_> {
    let text = source.text();
    if text.len() > MAX_TEXT {
        let message = format!(
            "the text is too long: {} bytes, at most {MAX_TEXT} are read",
            text.len()
        );
        let error = Diagnostic::error(Span::default(), message);
        return Parsed {
            module: Module::default(),
            diagnostics: vec![error],
        };
    }
    let mut parser = Parser::new(text);
    let module = parser.module();
    Parsed {
        module,
        diagnostics: parser.finish(),
    }
}

/// An error that has been reported; the parser is to go on at a place where it can.
struct Reported;

type Result<T> = std::result::Result<T, Reported>;

struct Parser<'s> {
    lexer: Lexer<'s>,
    /// The token to be read next.
    token: Token,
    /// The one behind it, where it had to be looked at.
    ahead: Option<Token>,
    /// The token read last.
    last: Span,
    depth: u32,
    /// How many braces of operands and initialisers are open.
    braces: u32,
    operators: u32,
    /// How many bytes the tree may still take.
    budget: u64,
    warnings: Vec<Diagnostic>,
    /// Set when no more is read: too many errors, or too large a tree.
    stopped: bool,
}

impl<'s> Parser<'s> {
    fn new(text: &'s str) -> Self {
        let mut lexer = Lexer::new(text);
        let token = lexer.next();
        Parser {
            lexer,
            token,
            ahead: None,
            last: Span::default(),
            depth: 0,
            braces: 0,
            operators: 0,
            budget: MAX_TREE,
            warnings: Vec::new(),
            stopped: false,
        }
    }

    fn finish(self) -> Vec<Diagnostic> {
        let mut diagnostics = self.lexer.errors;
        diagnostics.extend(self.warnings);
        diagnostics.sort_by_key(|d| d.span.start);
        diagnostics
    }

    /// Moves past the current token and returns it.
    fn bump(&mut self) -> Token {
        let token = self.token;
        self.last = token.span;
        self.token = match self.ahead.take() {
            Some(ahead) => ahead,
            None if self.stopped => self.end_token(),
            None => self.lexer.next(),
        };
        if self.lexer.errors.len() >= MAX_ERRORS && !self.stopped {
            self.stop(format!(
                "too many errors; reading stopped after {MAX_ERRORS}"
            ));
        }
        token
    }

    /// The token behind the current one.
    fn peek(&mut self) -> Token {
        if self.stopped {
            return self.end_token();
        }
        *self.ahead.get_or_insert_with(|| self.lexer.next())
    }

    fn end_token(&self) -> Token {
        Token {
            kind: Kind::End,
            span: Span::new(self.token.span.end, self.token.span.end),
            first_on_line: true,
        }
    }

    /// Gives up reading: from here on there are only end tokens.
    fn stop(&mut self, message: String) {
        self.lexer.give_up(message);
        self.stopped = true;
        self.token = self.end_token();
        self.ahead = None;
    }

    fn at(&self, kind: Kind) -> bool {
        self.token.kind == kind
    }

    fn eat(&mut self, kind: Kind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    /// Takes a token of that kind, or reports that `what` was expected.
    fn expect(&mut self, kind: Kind, what: &str) -> Result<Token> {
        if self.at(kind) {
            Ok(self.bump())
        } else {
            Err(self.expected(what))
        }
    }

    fn text(&self, token: Token) -> &'s str {
        self.lexer.slice(token.span)
    }

    /// The text of the current token if it is a dotted word, without its point; empty otherwise.
    fn word(&self) -> &'s str {
        if self.at(Kind::Word) {
            &self.text(self.token)[1..]
        } else {
            ""
        }
    }

    /// Takes a dotted word.
    fn take_word(&mut self) -> Name<'s> {
        let text = self.word();
        Name {
            text,
            span: self.bump().span,
        }
    }

    /// Takes an identifier, whatever it is.
    fn ident(&mut self, what: &str) -> Result<Name<'s>> {
        let token = self.expect(Kind::Ident, what)?;
        Ok(Name {
            text: self.text(token),
            span: token.span,
        })
    }

    /// Takes an identifier that may name something: not `_`, nor the constant `WARP_SZ`.
    fn name(&mut self, what: &str) -> Result<Name<'s>> {
        let name = self.ident(what)?;
        if matches!(name.text, "_" | "WARP_SZ") {
            let why = if name.text == "_" {
                "it stands for what is thrown away"
            } else {
                "it is a constant"
            };
            return Err(self.error(Diagnostic::error(
                name.span,
                format!("`{}` cannot be a name: {why}", name.text),
            )));
        }
        Ok(name)
    }

    /// From `start` to the end of the token read last.
    fn span_from(&self, start: Span) -> Span {
        start.to(self.last)
    }

    /// Counts a part of the tree.
    fn spend<T>(&mut self) -> Result<()> {
        match self.budget.checked_sub(size_of::<T>() as u64) {
            Some(rest) => {
                self.budget = rest;
                Ok(())
            }
            None => {
                if !self.stopped {
                    self.stop("the module is too large: what was read up to here fills the memory allowed".into());
                }
                Err(Reported)
            }
        }
    }

    /// Runs `inner` one level deeper.
    fn nested<T>(&mut self, what: &str, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            let message = format!("{what} nested too deep: more than {MAX_DEPTH} levels");
            return Err(self.error(Diagnostic::error(self.token.span, message)));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// One or more things with commas between.
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        // Most lists are short: collected in place, they need no more memory than they keep.
        let mut list = SmallVec::<[T; 4]>::new();
        loop {
            self.spend::<T>()?;
            list.push(one(self)?);
            if !self.eat(Kind::Comma) {
                return Ok(list.into_vec());
            }
        }
    }

    /// `{ ... }` around one or more things, and its span.
    fn braced<T>(&mut self, one: impl FnMut(&mut Self) -> Result<T>) -> Result<(Vec<T>, Span)> {
        let start = self.bump().span;
        self.braces += 1;
        let list = self.list(one)?;
        self.expect(Kind::RBrace, "`,` or `}`")?;
        self.braces -= 1;
        Ok((list, self.span_from(start)))
    }

    /// Reports a warning; past a number of them no more are kept.
    fn warn(&mut self, warning: Diagnostic) {
        if self.warnings.len() < MAX_ERRORS {
            self.warnings.push(warning);
        }
    }

    /// Reports an error.
    fn error(&mut self, error: Diagnostic) -> Reported {
        if !self.stopped {
            self.lexer.errors.push(error);
        }
        Reported
    }

    /// Reports that something else was expected at the current token.
    fn expected(&mut self, what: &str) -> Reported {
        match self.token.kind {
            // What the lexer could make nothing of has been reported.
            Kind::Invalid => Reported,
            _ => {
                let message = format!("expected {what}, found {}", self.describe(self.token));
                self.error(Diagnostic::error(self.token.span, message))
            }
        }
    }

    fn describe(&self, token: Token) -> String {
        match token.kind {
            Kind::End => "the end of the text".into(),
            _ => format!("`{}`", shorten(self.text(token))),
        }
    }

    /// Takes the `;` that ends something.
    ///
    /// Where it is missing at the end of a line, what follows is read as if it stood there.
    fn semicolon(&mut self) -> Result<()> {
        if self.eat(Kind::Semicolon) {
            return Ok(());
        }
        let ends_here = self.token.first_on_line || self.at(Kind::RBrace) || self.at(Kind::End);
        if ends_here && !self.at(Kind::Invalid) {
            let message = format!("expected `;`, found {}", self.describe(self.token));
            let place = Span::new(
                self.last.end.saturating_sub(1).max(self.last.start),
                self.last.end,
            );
            self.error(Diagnostic::error(place, message).label("`;` is missing after this"));
            return Ok(());
        }
        Err(self.expected("`;`"))
    }

    /// After an error in a body: moves behind the next `;`, or before a `}` that closes the body.
    fn skip_statement(&mut self) {
        let mut open = std::mem::take(&mut self.braces);
        loop {
            match self.token.kind {
                Kind::End => return,
                Kind::Semicolon => {
                    self.bump();
                    return;
                }
                Kind::LBrace => open += 1,
                Kind::RBrace if open == 0 => return,
                Kind::RBrace => open -= 1,
                _ => {}
            }
            self.bump();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_the_tree_is_bounded() {
        let cases = [
            format!(".global .b8 t[] = {{{}1}};", "1, ".repeat(10_000)),
            format!(".global .b32 t = 1{};", "+1".repeat(1000)),
            format!(".global .b32 t{};", "[1]".repeat(10_000)),
            format!(".entry k() {{{}}}", "L:".repeat(10_000)),
            format!(".entry k() {{{}}}", ".reg .b32 a;".repeat(1000)),
            format!(".entry k() {{ mov{} a; }}", ".b32".repeat(10_000)),
            format!(".entry k() {{ mov {{{}a}}, b; }}", "a, ".repeat(10_000)),
            ".pragma \"a\";".repeat(1000),
        ];
        for text in cases {
            let read = |budget| {
                let mut parser = Parser::new(&text);
                parser.budget = budget;
                parser.module();
                parser.finish()
            };
            assert!(read(MAX_TREE).is_empty(), "{}", &text[..40]);
            let [error] = &read(50_000)[..] else {
                panic!("{}", &text[..40])
            };
            assert!(error.message.contains("too large"));
        }
    }
}
