//! `.file`, `.loc` and `.section`. `PTX ISA`, "Debugging Directives". None of them ends in a `;`.

use super::{Parser, Result};
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{File, Loc, Name, Section};
use crate::syntax::lexer::Kind;

impl<'s> Parser<'s> {
    /// `.file 1 "name", timestamp, size`
    pub(super) fn file(&mut self) -> Result<File<'s>> {
        let start = self.bump().span;
        let index = self.integer32("the file's number")?;
        let name = self.string()?;
        let mut details = None;
        if self.eat(Kind::Comma) {
            let (timestamp, _) = self.integer("a time stamp")?;
            self.expect(Kind::Comma, "`,` and the file's size")?;
            let (size, _) = self.integer("the file's size")?;
            details = Some((timestamp, size));
        }
        Ok(File {
            index,
            name,
            details,
            span: self.span_from(start),
        })
    }

    /// `.loc 1 7 9, function_name label + 4, inlined_at 1 3 5`
    pub(super) fn loc(&mut self) -> Result<Loc<'s>> {
        let start = self.bump().span;
        let (file, line, column) = self.place()?;
        let mut function = None;
        let mut inlined_at = None;
        while self.eat(Kind::Comma) {
            let word = self.ident("`function_name` or `inlined_at`")?;
            match word.text {
                "function_name" => {
                    let label = self.name("a label")?;
                    let offset = if self.eat(Kind::Plus) {
                        self.integer("an offset")?.0
                    } else {
                        0
                    };
                    function = Some((label, offset));
                }
                "inlined_at" => inlined_at = Some(self.place()?),
                _ => {
                    let message = format!(
                        "expected `function_name` or `inlined_at`, found `{}`",
                        word.text
                    );
                    return Err(self.error(Diagnostic::error(word.span, message)));
                }
            }
        }
        Ok(Loc {
            file,
            line,
            column,
            function,
            inlined_at,
            span: self.span_from(start),
        })
    }

    fn place(&mut self) -> Result<(u32, u32, u32)> {
        Ok((
            self.integer32("a file's number")?,
            self.integer32("a line")?,
            self.integer32("a column")?,
        ))
    }

    /// `.section .name { ... }`: what stands between the braces is not looked into.
    pub(super) fn section(&mut self) -> Result<Section<'s>> {
        let start = self.bump().span;
        if !self.at(Kind::Word) {
            return Err(self.expected("the section's name"));
        }
        let name = self.take_word();
        let open = self.expect(Kind::LBrace, "`{`")?.span;
        while !self.at(Kind::RBrace) {
            if self.at(Kind::End) {
                let error =
                    Diagnostic::error(self.token.span, "expected `}`, found the end of the text")
                        .related(open, "this `{` is never closed");
                return Err(self.error(error));
            }
            self.bump();
        }
        let inner = Span::new(open.end, self.token.span.start);
        self.bump();
        let text = Name {
            text: self.lexer.slice(inner),
            span: inner,
        };
        Ok(Section {
            name,
            text,
            span: self.span_from(start),
        })
    }
}
