//! Text to tokens, one at a time.
//!
//! Works on bytes; a token is its kind and span, never a copy. Every token but [`Kind::Invalid`] is plain ASCII, so a
//! span never splits a character.

use crate::diag::{Diagnostic, Span};

/// What kind of token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The end of the text.
    End,
    /// `mov`, `%r1`, `$L__BB0_2`, `_`.
    Ident,
    /// `.b32`, `.shared::cta`, `.2d`: a point and what hangs on it.
    Word,
    /// `12`, `0x1fU`.
    Int,
    /// `1.5`, `.5`, `1e5`.
    Decimal,
    /// `0f3f800000`.
    F32,
    /// `0d3ff0000000000000`.
    F64,
    /// `"..."`.
    Str,
    Comma,
    Semicolon,
    Colon,
    LParen,
    RParen,
    LBracket,
    RBracket,
    LBrace,
    RBrace,
    Lt,
    Gt,
    Le,
    Ge,
    Shl,
    Shr,
    Assign,
    Eq,
    Ne,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    And,
    AndAnd,
    Or,
    OrOr,
    Caret,
    Tilde,
    Not,
    Question,
    At,
    /// Something that is no token. It has been reported.
    Invalid,
}

/// A token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub kind: Kind,
    pub span: Span,
    /// Whether a line break stands between the token before and this one.
    pub first_on_line: bool,
}

/// Whether `b` may stand in an identifier after its first character.
fn is_follow(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$'
}

/// Splits a text into tokens.
pub(crate) struct Lexer<'s> {
    text: &'s str,
    bytes: &'s [u8],
    pos: usize,
    /// What was found wrong.
    pub errors: Vec<Diagnostic>,
}

impl<'s> Lexer<'s> {
    /// A lexer at the start of `text`, which must be short enough for 32-bit offsets.
    pub fn new(text: &'s str) -> Self {
        Lexer {
            text,
            bytes: text.as_bytes(),
            pos: 0,
            errors: Vec::new(),
        }
    }

    /// Reports that reading ends here.
    pub fn give_up(&mut self, message: String) {
        self.errors
            .push(Diagnostic::error(self.span_from(self.pos), message));
    }

    /// The text of a span.
    pub fn slice(&self, span: Span) -> &'s str {
        self.text.get(span.range()).unwrap_or("")
    }

    fn byte(&self, ahead: usize) -> u8 {
        // 0 stands for the end here: a NUL in the text is no part of any token, just like the end.
        self.bytes.get(self.pos + ahead).copied().unwrap_or(0)
    }

    fn span_from(&self, start: usize) -> Span {
        Span::new(start as u32, self.pos as u32)
    }

    fn skip_while(&mut self, mut keep: impl FnMut(u8) -> bool) {
        while self.bytes.get(self.pos).is_some_and(|&b| keep(b)) {
            self.pos += 1;
        }
    }

    /// Passes over blanks and comments; says whether a line break was among them.
    fn skip_blanks(&mut self) -> bool {
        let mut broke = self.pos == 0;
        loop {
            match self.byte(0) {
                b'\n' => {
                    broke = true;
                    self.pos += 1;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.pos += 1,
                b'/' if self.byte(1) == b'/' => self.skip_while(|b| b != b'\n'),
                b'/' if self.byte(1) == b'*' => {
                    let start = self.pos;
                    self.pos += 2;
                    loop {
                        if self.pos >= self.bytes.len() {
                            let opening = Span::new(start as u32, start as u32 + 2);
                            self.errors.push(
                                Diagnostic::error(opening, "this comment is never closed")
                                    .hint("close it with `*/`"),
                            );
                            break;
                        }
                        if self.byte(0) == b'*' && self.byte(1) == b'/' {
                            self.pos += 2;
                            break;
                        }
                        broke |= self.byte(0) == b'\n';
                        self.pos += 1;
                    }
                }
                b'#' if self.at_line_directive() => self.skip_while(|b| b != b'\n'),
                _ => return broke,
            }
        }
    }

    /// Whether `#line 12 ...`, which C preprocessors leave behind, stands here at the start of its line.
    fn at_line_directive(&self) -> bool {
        let first = self.pos == 0 || self.bytes[self.pos - 1] == b'\n';
        let number = self.bytes[self.pos..]
            .strip_prefix(b"#line")
            .map(<[u8]>::trim_ascii_start);
        first && number.is_some_and(|number| number.first().is_some_and(u8::is_ascii_digit))
    }

    /// The next token.
    pub fn next(&mut self) -> Token {
        let first_on_line = self.skip_blanks();
        let start = self.pos;
        let kind = self.kind();
        Token {
            kind,
            span: self.span_from(start),
            first_on_line,
        }
    }

    /// Takes a token of `length` bytes.
    fn take(&mut self, length: usize, kind: Kind) -> Kind {
        self.pos += length;
        kind
    }

    fn kind(&mut self) -> Kind {
        let Some(&first) = self.bytes.get(self.pos) else {
            return Kind::End;
        };
        let second = self.byte(1);
        match first {
            b'a'..=b'z' | b'A'..=b'Z' => self.ident(),
            b'_' | b'$' => {
                if first == b'$' && !is_follow(second) {
                    return self.invalid("`$` alone is no name");
                }
                self.ident()
            }
            b'%' if is_follow(second) => {
                self.pos += 1;
                self.ident()
            }
            b'0'..=b'9' => self.number(),
            b'.' => self.dotted(),
            b'"' => self.string(),
            b',' => self.take(1, Kind::Comma),
            b';' => self.take(1, Kind::Semicolon),
            b':' => self.take(1, Kind::Colon),
            b'(' => self.take(1, Kind::LParen),
            b')' => self.take(1, Kind::RParen),
            b'[' => self.take(1, Kind::LBracket),
            b']' => self.take(1, Kind::RBracket),
            b'{' => self.take(1, Kind::LBrace),
            b'}' => self.take(1, Kind::RBrace),
            b'<' if second == b'<' => self.take(2, Kind::Shl),
            b'<' if second == b'=' => self.take(2, Kind::Le),
            b'<' => self.take(1, Kind::Lt),
            b'>' if second == b'>' => self.take(2, Kind::Shr),
            b'>' if second == b'=' => self.take(2, Kind::Ge),
            b'>' => self.take(1, Kind::Gt),
            b'=' if second == b'=' => self.take(2, Kind::Eq),
            b'=' => self.take(1, Kind::Assign),
            b'!' if second == b'=' => self.take(2, Kind::Ne),
            b'!' => self.take(1, Kind::Not),
            b'&' if second == b'&' => self.take(2, Kind::AndAnd),
            b'&' => self.take(1, Kind::And),
            b'|' if second == b'|' => self.take(2, Kind::OrOr),
            b'|' => self.take(1, Kind::Or),
            b'+' => self.take(1, Kind::Plus),
            b'-' => self.take(1, Kind::Minus),
            b'*' => self.take(1, Kind::Star),
            b'/' => self.take(1, Kind::Slash),
            b'%' => self.take(1, Kind::Percent),
            b'^' => self.take(1, Kind::Caret),
            b'~' => self.take(1, Kind::Tilde),
            b'?' => self.take(1, Kind::Question),
            b'@' => self.take(1, Kind::At),
            b'\'' => self.character(),
            _ => self.stray(),
        }
    }

    fn ident(&mut self) -> Kind {
        self.skip_while(is_follow);
        Kind::Ident
    }

    /// `.word`, or a number that begins with a point.
    fn dotted(&mut self) -> Kind {
        let start = self.pos;
        self.pos += 1;
        self.skip_while(|b| b.is_ascii_digit());
        if self.pos > start + 1 {
            // `.5` and `.5e3` are numbers, `.2d` and `.16x64b` are words.
            let fraction_end = self.pos;
            let exponent = self.exponent();
            if !is_follow(self.byte(0)) {
                return Kind::Decimal;
            }
            if exponent {
                self.pos = fraction_end;
            }
        }
        self.skip_while(is_follow);
        if self.pos == start + 1 {
            self.pos = start;
            return self.invalid("a lone `.`");
        }
        while self.byte(0) == b':' && self.byte(1) == b':' && is_follow(self.byte(2)) {
            self.pos += 2;
            self.skip_while(is_follow);
        }
        Kind::Word
    }

    /// Takes `e+5` if it stands here.
    fn exponent(&mut self) -> bool {
        if !matches!(self.byte(0), b'e' | b'E') {
            return false;
        }
        let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
        if !self.byte(1 + sign).is_ascii_digit() {
            return false;
        }
        self.pos += 1 + sign;
        self.skip_while(|b| b.is_ascii_digit());
        true
    }

    fn number(&mut self) -> Kind {
        let start = self.pos;
        let kind = match (self.byte(0), self.byte(1) | 0x20) {
            (b'0', b'x') => self.based(|b| b.is_ascii_hexdigit()),
            (b'0', b'b') => self.based(|b| matches!(b, b'0' | b'1')),
            (b'0', b'f') => self.bits(8, Kind::F32),
            (b'0', b'd') => self.bits(16, Kind::F64),
            _ => self.decimal(),
        };
        if is_follow(self.byte(0)) || kind == Kind::Invalid {
            self.skip_while(is_follow);
            let span = self.span_from(start);
            let shown = shorten(self.slice(span));
            let mut error = Diagnostic::error(span, format!("`{shown}` is no number"));
            if let Some(hint) = number_hint(self.slice(span)) {
                error = error.hint(hint);
            }
            self.errors.push(error);
            return Kind::Invalid;
        }
        kind
    }

    fn based(&mut self, digit: impl Fn(u8) -> bool) -> Kind {
        self.pos += 2;
        let digits = self.pos;
        self.skip_while(digit);
        if self.pos == digits {
            return Kind::Invalid;
        }
        self.suffix()
    }

    fn suffix(&mut self) -> Kind {
        if self.byte(0) == b'U' {
            self.pos += 1;
        }
        Kind::Int
    }

    fn bits(&mut self, digits: usize, kind: Kind) -> Kind {
        self.pos += 2;
        let start = self.pos;
        self.skip_while(|b| b.is_ascii_hexdigit());
        if self.pos - start == digits {
            kind
        } else {
            Kind::Invalid
        }
    }

    fn decimal(&mut self) -> Kind {
        let start = self.pos;
        self.skip_while(|b| b.is_ascii_digit());
        let mut float = false;
        if self.byte(0) == b'.' {
            float = true;
            self.pos += 1;
            self.skip_while(|b| b.is_ascii_digit());
        }
        float |= self.exponent();
        if float {
            return Kind::Decimal;
        }
        if self.bytes[start] == b'0' && self.bytes[start..self.pos].iter().any(|&b| b > b'7') {
            return Kind::Invalid;
        }
        self.suffix()
    }

    fn string(&mut self) -> Kind {
        let start = self.pos;
        self.pos += 1;
        self.skip_while(|b| b != b'"' && b != b'\n');
        if self.byte(0) == b'"' {
            self.pos += 1;
            return Kind::Str;
        }
        let span = Span::new(start as u32, start as u32 + 1);
        self.errors.push(Diagnostic::error(
            span,
            "this string is not closed on its line",
        ));
        Kind::Invalid
    }

    fn invalid(&mut self, message: &str) -> Kind {
        self.pos += 1;
        let span = self.span_from(self.pos - 1);
        self.errors.push(Diagnostic::error(span, message));
        Kind::Invalid
    }

    /// `'a'`, up to the closing quote if there is one near.
    fn character(&mut self) -> Kind {
        const LONGEST: usize = 12;
        let start = self.pos;
        let rest = &self.bytes[start + 1..self.bytes.len().min(start + LONGEST)];
        let quote = rest
            .iter()
            .position(|&b| b == b'\'' || b == b'\n')
            .filter(|&i| rest[i] == b'\'');
        self.pos += quote.map_or(1, |i| i + 2);
        self.errors.push(
            Diagnostic::error(self.span_from(start), "PTX has no character literals")
                .hint("write the character's code as a number"),
        );
        Kind::Invalid
    }

    /// A character that begins no token: one report for a whole run of them.
    fn stray(&mut self) -> Kind {
        let start = self.pos;
        let first = self.text[start..].chars().next().unwrap_or('\0');
        let message = if first.is_ascii() {
            self.skip_while(|b| b == first as u8);
            format!("a stray {}", name_char(first))
        } else {
            self.skip_while(|b| !b.is_ascii());
            format!(
                "{} is outside ASCII; PTX allows it in comments and strings only",
                name_char(first)
            )
        };
        let span = self.span_from(start);
        self.errors.push(Diagnostic::error(span, message));
        Kind::Invalid
    }
}

/// A character for a message: visible even if it is none.
fn name_char(c: char) -> String {
    if c.is_control() || !c.is_alphanumeric() && !c.is_ascii_punctuation() {
        format!("character U+{:04X}", c as u32)
    } else {
        format!("`{c}`")
    }
}

/// A word of the text for a message, cut to a readable length.
pub(super) fn shorten(word: &str) -> String {
    const LONGEST: usize = 60;
    match word.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &word[..end]),
        None => word.to_owned(),
    }
}

fn number_hint(text: &str) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    if lower.starts_with("0f") {
        Some("`0f` takes exactly 8 hex digits")
    } else if lower.starts_with("0d") {
        Some("`0d` takes exactly 16 hex digits")
    } else if text.contains('_') {
        Some("digits are written without `_` between them")
    } else if text.contains('.') && lower.ends_with('f') {
        Some("floating-point literals have no suffix: the instruction's type decides")
    } else if lower.ends_with('u') {
        Some("the suffix for unsigned is a capital `U`")
    } else if text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit()) {
        Some("a leading 0 makes it octal")
    } else {
        None
    }
}
