//! Diagnostics as text with source lines.
//!
//! Lines may be very long (a table of bytes on one line, a whole module on one line), so only a window around each
//! place is shown, and no work grows with the length of a line times the number of diagnostics.

use super::{Diagnostic, Severity, Source, Span};
use codespan_reporting::diagnostic::{self as report, Label, LabelStyle};
use codespan_reporting::files::{Error, Files};
use codespan_reporting::term::{self, Config, Styles, StylesWriter, termcolor};
use std::ops::Range;

/// Lines up to this many characters are shown whole.
const WHOLE: usize = 160;
/// How many characters are shown before a place in a longer line, and how many from its start on.
const BEFORE: usize = 60;
const AFTER: usize = 90;
const ELLIPSIS: &str = "...";

/// Renders diagnostics, best in the order of the text, each followed by an empty line.
pub(super) fn render(source: &Source, list: &[Diagnostic], colour: bool) -> String {
    let mut out = termcolor::Buffer::ansi();
    let mut plain = String::new();
    let config = Config::default();
    let styles = Styles::default();
    for diagnostic in list {
        let (excerpt, shown) = excerpt(source, diagnostic);
        let result = if colour {
            term::emit_to_write_style(
                &mut StylesWriter::new(&mut out, &styles),
                &config,
                &excerpt,
                &shown,
            )
        } else {
            term::emit_to_string(&mut plain, &config, &excerpt, &shown)
        };
        debug_assert!(result.is_ok(), "a place outside its excerpt");
    }
    if colour {
        String::from_utf8_lossy(out.as_slice()).into_owned()
    } else {
        plain
    }
}

/// One shown line, or the window of a long one.
struct Line {
    number: u32,
    /// The part of the source that is shown.
    window: Range<usize>,
    /// Where the shown text lies in [`Excerpt::text`], with its line break.
    range: Range<usize>,
}

/// The shown lines as a text of their own.
struct Excerpt<'a> {
    name: &'a str,
    text: String,
    lines: Vec<Line>,
    /// Column of the diagnostic's own place.
    column: usize,
}

fn excerpt<'a>(
    source: &'a Source,
    diagnostic: &Diagnostic,
) -> (Excerpt<'a>, report::Diagnostic<()>) {
    let related = diagnostic
        .related
        .iter()
        .map(|(span, label)| (*span, label.as_str(), LabelStyle::Secondary));
    let places: Vec<_> = std::iter::once((
        diagnostic.span,
        diagnostic.label.as_str(),
        LabelStyle::Primary,
    ))
    .chain(related)
    .map(|(span, label, style)| (clamp(source, span), label, style))
    .collect();
    let column = source.position(places[0].0.start).column as usize;

    let mut windows: Vec<(u32, Range<usize>)> = Vec::new();
    for &(span, ..) in &places {
        let line = source.line(span.start);
        let known = |(number, window): &(u32, Range<usize>)| {
            *number == line
                && window.start <= span.start as usize
                && span.end as usize <= window.end
        };
        if !windows.iter().any(known) {
            windows.push((line, window(source, line, span)));
        }
    }
    windows.sort_by_key(|(number, window)| (*number, window.start));
    windows.dedup();

    let mut excerpt = Excerpt {
        name: source.name(),
        text: String::new(),
        lines: Vec::new(),
        column,
    };
    for (number, window) in windows {
        let whole = source.line_span(number).range();
        let start = excerpt.text.len();
        excerpt.text.push_str(if window.start > whole.start {
            ELLIPSIS
        } else {
            ""
        });
        excerpt
            .text
            .extend(source.text()[window.clone()].chars().map(visible));
        excerpt
            .text
            .push_str(if window.end < whole.end { ELLIPSIS } else { "" });
        excerpt.text.push('\n');
        excerpt.lines.push(Line {
            number,
            window,
            range: start..excerpt.text.len(),
        });
    }
    let labels = places
        .into_iter()
        .map(|(span, label, style)| {
            Label::new(style, (), excerpt.locate(source, span)).with_message(clean(label))
        })
        .collect();
    let severity = match diagnostic.severity {
        Severity::Error => report::Severity::Error,
        Severity::Warning => report::Severity::Warning,
    };
    let shown = report::Diagnostic::new(severity)
        .with_message(clean(&diagnostic.message))
        .with_labels(labels)
        .with_notes(
            diagnostic
                .hint
                .iter()
                .map(|hint| format!("hint: {}", clean(hint)))
                .collect(),
        );
    (excerpt, shown)
}

/// The part of a span that lies on its first line, on character borders inside the text.
fn clamp(source: &Source, span: Span) -> Span {
    let text = source.text();
    let line = source.line_span(source.line(span.start));
    let start = text.floor_char_boundary((span.start.min(line.end)) as usize);
    let end = text.floor_char_boundary(span.end.clamp(start as u32, line.end) as usize);
    Span::new(start as u32, end.max(start) as u32)
}

/// The part of a line to show around a span of it.
fn window(source: &Source, line: u32, span: Span) -> Range<usize> {
    let whole = source.line_span(line).range();
    let text = &source.text()[whole.clone()];
    if text.char_indices().nth(WHOLE).is_none() {
        return whole;
    }
    let place = span.start as usize - whole.start;
    let start = text[..place]
        .char_indices()
        .rev()
        .take(BEFORE)
        .last()
        .map_or(place, |(i, _)| i);
    let end = text[place..]
        .char_indices()
        .nth(AFTER)
        .map_or(text.len(), |(i, _)| place + i);
    whole.start + start..whole.start + end
}

/// A character as it may be shown: control characters would act on the terminal.
fn visible(c: char) -> char {
    if c.is_control() && c != '\t' {
        char::REPLACEMENT_CHARACTER
    } else {
        c
    }
}

/// A line of text as it may be shown.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c == '\t' { ' ' } else { visible(c) })
        .collect()
}

impl Excerpt<'_> {
    /// Where a span of the source lies in the excerpt.
    fn locate(&self, source: &Source, span: Span) -> Range<usize> {
        let number = source.line(span.start);
        let line = self.lines.iter().find(|l| {
            l.number == number
                && l.window.start <= span.start as usize
                && span.start as usize <= l.window.end
        });
        let Some(line) = line else { return 0..0 };
        let length = |range: Range<usize>| {
            source.text()[range]
                .chars()
                .map(|c| visible(c).len_utf8())
                .sum::<usize>()
        };
        let cut = if line.window.start > source.line_span(number).start as usize {
            ELLIPSIS.len()
        } else {
            0
        };
        let start = line.range.start + cut + length(line.window.start..span.start as usize);
        start..start + length(span.start as usize..(span.end as usize).min(line.window.end))
    }
}

impl<'a> Files<'a> for Excerpt<'_> {
    type FileId = ();
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, (): ()) -> Result<&'a str, Error> {
        Ok(self.name)
    }

    fn source(&'a self, (): ()) -> Result<&'a str, Error> {
        Ok(&self.text)
    }

    fn line_index(&'a self, (): (), byte: usize) -> Result<usize, Error> {
        Ok(self
            .lines
            .partition_point(|line| line.range.end <= byte)
            .min(self.lines.len() - 1))
    }

    fn line_number(&'a self, (): (), index: usize) -> Result<usize, Error> {
        Ok(self.lines[index].number as usize)
    }

    fn column_number(&'a self, (): (), _: usize, _: usize) -> Result<usize, Error> {
        // Only the diagnostic's own place is ever asked for.
        Ok(self.column)
    }

    fn line_range(&'a self, (): (), index: usize) -> Result<Range<usize>, Error> {
        let max = self.lines.len();
        self.lines
            .get(index)
            .map(|line| line.range.clone())
            .ok_or(Error::LineTooLarge { given: index, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, list: &[Diagnostic]) -> String {
        render(&Source::new("test.ptx", text), list, false)
    }

    fn at(start: usize, end: usize) -> Span {
        Span::new(start as u32, end as u32)
    }

    #[test]
    fn shows_place_label_related_places_and_hint() {
        let text = "first line\n\tmov.b32 %r1, %r2;\nlast\n";
        let list = [Diagnostic::error(at(20, 23), "no `%r1`")
            .label("used here")
            .related(at(0, 5), "should be declared here")
            .hint("declare it")];
        let expected = "\
error: no `%r1`
  ┌─ test.ptx:2:10
  │
1 │ first line
  │ ----- should be declared here
2 │     mov.b32 %r1, %r2;
  │             ^^^ used here
  │
  = hint: declare it

";
        assert_eq!(shown(text, &list), expected);
    }

    #[test]
    fn long_lines_are_cut_around_each_place() {
        let text = format!(
            "a\n.global .b8 t[] = {{{}x{}}};\nb",
            "12, ".repeat(500),
            ", 13".repeat(500)
        );
        let x = text.find('x').unwrap();
        let list = [Diagnostic::error(at(x, x + 1), "no number")
            .label("here")
            .related(at(2, 9), "in this table")];
        let expected = "\
error: no number
  ┌─ test.ptx:2:2020
  │
2 │ .global .b8 t[] = {12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12,...
  │ ------- in this table
2 │ ...12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, x, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13,...
  │                                                                ^ here

";
        assert_eq!(shown(&text, &list), expected);
    }

    #[test]
    fn many_errors_in_a_very_long_line_cost_little() {
        let text = "x, ".repeat(2_000_000);
        let list: Vec<_> = (0..1000)
            .map(|i| Diagnostic::error(at(i * 6000, i * 6000 + 1), "no"))
            .collect();
        let out = shown(&text, &list);
        assert!(out.len() < 500_000);
        assert!(out.contains("test.ptx:1:5994001"));
    }

    #[test]
    fn places_outside_the_text_do_no_harm() {
        let list = [(0, 0), (0, 99), (50, 99), (9, 2), (3, 3), (4, 5)]
            .map(|(a, b)| Diagnostic::warning(at(a, b), "odd"));
        for text in ["", "a", "\n\n", "ab\ncd\n", "a\u{e9}\u{1f600}b\r\n"] {
            assert_eq!(
                shown(text, &list).matches("warning: odd").count(),
                list.len()
            );
        }
    }

    #[test]
    fn columns_count_characters() {
        let text = "\u{e9}\u{1f600}x";
        assert!(shown(text, &[Diagnostic::error(at(6, 7), "x")]).contains("test.ptx:1:3"));
    }

    #[test]
    fn nothing_of_the_text_acts_on_the_terminal() {
        let list = [Diagnostic::error(at(0, 3), "\u{1b}[2J")
            .label("\u{7}\n")
            .hint("\u{1b}")];
        let out = shown("\u{1b}[2J\u{0}", &list);
        assert!(!out.contains(['\u{1b}', '\u{7}', '\u{0}']), "{out:?}");
    }

    #[test]
    fn colours_only_if_asked() {
        let list = [Diagnostic::error(at(0, 1), "e")];
        let source = Source::new("test.ptx", "x");
        assert!(render(&source, &list, true).contains('\u{1b}'));
        assert!(!render(&source, &list, false).contains('\u{1b}'));
    }
}
