//! The text and places in it.

use std::fmt;

/// A range of bytes of a [`Source`], `start..end`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset past the last byte.
    pub end: u32,
}

impl Span {
    /// The span `start..end`.
    pub fn new(start: u32, end: u32) -> Self {
        Span { start, end }
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// The span as a range of indices.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// A line and column, both counted from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Characters are counted up to each so many bytes, so that columns are found quickly in the longest line.
const STRIDE: usize = 4096;

/// A text with the name it is known by (a path, or a placeholder such as `<input>`).
pub struct Source {
    name: String,
    text: String,
    /// Offset of the first byte of each line.
    lines: Vec<u32>,
    /// Characters in front of each multiple of [`STRIDE`] bytes.
    characters: Vec<usize>,
}

/// How many characters begin in these bytes of a text.
fn count(bytes: &[u8]) -> usize {
    let continues = |b: u8| b & 0xc0 == 0x80;
    bytes.iter().filter(|&&b| !continues(b)).count()
}

impl Source {
    /// Takes a text. Offsets are 32 bits wide: what lies past 4 GiB counts as one line, and the parser refuses it.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let breaks = text.bytes().enumerate().filter(|&(_, b)| b == b'\n');
        let starts = breaks.map_while(|(i, _)| u32::try_from(i + 1).ok());
        let lines = std::iter::once(0).chain(starts).collect();
        let mut before = 0;
        let mut characters = Vec::with_capacity(text.len() / STRIDE + 1);
        for chunk in text.as_bytes().chunks(STRIDE) {
            characters.push(before);
            before += count(chunk);
        }
        Source {
            name: name.into(),
            text,
            lines,
            characters,
        }
    }

    /// What the text is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a span; empty if the span does not lie in this text.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// Line of a byte offset, from 1.
    pub fn line(&self, offset: u32) -> u32 {
        self.lines.partition_point(|&start| start <= offset).max(1) as u32
    }

    /// Line and column of a byte offset.
    pub fn position(&self, offset: u32) -> Position {
        let line = self.line(offset);
        let start = self.lines[line as usize - 1] as usize;
        let column = self.characters_before(offset as usize) - self.characters_before(start);
        Position {
            line,
            column: column as u32 + 1,
        }
    }

    /// How many characters begin in front of a byte offset.
    fn characters_before(&self, offset: usize) -> usize {
        let bytes = self.text.as_bytes();
        let offset = offset.min(bytes.len());
        // Behind the last mark there are at most as many bytes as between two.
        let mark = (offset / STRIDE).min(self.characters.len().saturating_sub(1));
        let before = self.characters.get(mark).copied().unwrap_or(0);
        before + count(bytes.get(mark * STRIDE..offset).unwrap_or(&[]))
    }

    /// The text of line `line` (from 1) without its end; empty past the last line.
    pub fn line_text(&self, line: u32) -> &str {
        &self.text[self.line_span(line).range()]
    }

    /// The span of line `line` (from 1) without its end; the end of the text past the last line.
    pub(super) fn line_span(&self, line: u32) -> Span {
        let past = self.text.floor_char_boundary(u32::MAX as usize);
        let start_of = |index: usize| self.lines.get(index).map_or(past, |&start| start as usize);
        let end = start_of(line as usize);
        let start = if line == 0 {
            end
        } else {
            start_of(line as usize - 1)
        };
        let length = self.text[start..end].trim_end_matches(['\n', '\r']).len();
        Span::new(start as u32, (start + length) as u32)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({:?}, {} bytes)", self.name, self.text.len())
    }
}
