//! `.file`, `.loc` and `.section`. `PTX ISA`, "Debugging Directives". None of them ends in a `;`.

use super::{Parser, Result};
use crate::diag::{Diagnostic, Span};
use crate::syntax::ast::{File, Loc, Name, Section};
use crate::syntax::lexer::{Kind, shorten};

impl<'s> Parser<'s> {
    /// `.file 1 "name", timestamp, size`
    pub(super) fn file(&mut self) -> Result<File<'s>> {
        let start = self.bump().span;
        let index = self.integer32("the file's number")?;
        let name = self.string()?;
        let mut details = None;
        if self.eat(Kind::Comma) {
            let (timestamp, _) = self.integer("a time stamp")?;
            let size = if self.eat(Kind::Comma) {
                self.integer("the file's size")?.0
            } else {
                0
            };
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
        if self.eat(Kind::Comma) {
            self.keyword("function_name")?;
            let label = self.name("a label")?;
            let offset = if self.eat(Kind::Plus) {
                self.integer("an offset")?.0
            } else {
                0
            };
            function = Some((label, offset));
            self.expect(Kind::Comma, "`,` and `inlined_at`")?;
            self.keyword("inlined_at")?;
            inlined_at = Some(self.place()?);
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

    fn keyword(&mut self, keyword: &str) -> Result<()> {
        if self.at(Kind::Ident) && self.text(self.token) == keyword {
            self.bump();
            return Ok(());
        }
        Err(self.expected(&format!("`{keyword}`")))
    }

    fn place(&mut self) -> Result<(u32, u32, u32)> {
        Ok((
            self.integer32("a file's number")?,
            self.integer32("a line")?,
            self.integer32("a column")?,
        ))
    }

    /// `.section .name { ... }`: what stands between the braces is checked, but kept as text.
    pub(super) fn section(&mut self) -> Result<Section<'s>> {
        let start = self.bump().span;
        if !self.at(Kind::Word) {
            return Err(self.expected("the section's name"));
        }
        let name = self.take_word();
        let open = self.expect(Kind::LBrace, "`{`")?.span;
        self.braces += 1;
        while !self.at(Kind::RBrace) {
            self.section_line()?;
        }
        self.braces -= 1;
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

    /// `label:` or `.b8 1, 2`
    fn section_line(&mut self) -> Result<()> {
        if self.at(Kind::Ident) {
            self.name("a label")?;
            self.expect(Kind::Colon, "`:`")?;
            return Ok(());
        }
        let bits = match self.word() {
            "b8" => 8,
            "b16" => 16,
            "b32" => 32,
            "b64" => 64,
            "" => return Err(self.expected("a label, `}` or data (`.b8`, `.b16`, `.b32`, `.b64`)")),
            word => {
                let message = format!("`.{}` in a section", shorten(word));
                let error = Diagnostic::error(self.token.span, message)
                    .label("expected `.b8`, `.b16`, `.b32` or `.b64`");
                return Err(self.error(error));
            }
        };
        self.bump();
        loop {
            self.section_value(bits)?;
            if !self.eat(Kind::Comma) {
                return Ok(());
            }
        }
    }

    /// A number, a label with an offset, the distance of two labels, or a section with an offset.
    fn section_value(&mut self, bits: u32) -> Result<()> {
        let start = self.token.span;
        match self.token.kind {
            Kind::Int | Kind::Minus => {
                let negative = self.eat(Kind::Minus);
                let token = self.token;
                let (value, _) = self
                    .expect(Kind::Int, "a number")
                    .and_then(|_| self.int_of(token))?;
                let fits = if negative {
                    value <= 1 << (bits - 1)
                } else {
                    bits >= 32 || value < 1 << bits
                };
                if !fits {
                    return Err(self.too_large(self.span_from(start), bits));
                }
            }
            Kind::Ident | Kind::Word => {
                if bits < 32 {
                    let error = Diagnostic::error(start, format!("an address in {bits} bits"))
                        .hint("addresses take `.b32` or `.b64`");
                    return Err(self.error(error));
                }
                if self.bump().kind == Kind::Ident && self.eat(Kind::Minus) {
                    self.name("a label")?;
                } else if self.eat(Kind::Plus) {
                    self.integer("an offset")?;
                }
            }
            _ => return Err(self.expected("a number, a label or a section")),
        }
        Ok(())
    }
}
