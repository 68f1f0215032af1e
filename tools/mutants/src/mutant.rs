//! What a mutant is, and the list of `cargo mutants --list --json`.

use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A change of the source.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Mutant {
    /// The number that switches it on.
    pub id: u32,
    /// Path from the root of the tree.
    pub file: String,
    /// Of the function that it lies in.
    pub function: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The kind of change.
    pub genre: Genre,
    /// The words that are replaced, for the reader.
    pub original: String,
    /// What replaces them.
    pub replacement: String,
    /// Byte range of what is replaced.
    pub start: usize,
    /// Its end.
    pub end: usize,
    /// Whether it can be switched on.
    pub state: State,
    /// Whether the coverage pass finds out where it would change the value.
    #[serde(default)]
    pub compared: bool,
}

impl Mutant {
    /// What a reader calls it.
    pub fn title(&self) -> String {
        let Mutant {
            file,
            function,
            line,
            column,
            original,
            replacement,
            ..
        } = self;
        match self.genre {
            Genre::FnValue => {
                format!("{file}:{line}:{column}: `{function}` gives `{replacement}`")
            }
            Genre::MatchArm | Genre::StructField => {
                format!("{file}:{line}:{column}: `{original}` deleted in `{function}`")
            }
            _ => format!(
                "{file}:{line}:{column}: `{original}` becomes `{replacement}` in `{function}`"
            ),
        }
    }

    /// Names it in trees that differ a little, where lines have moved.
    pub fn key(&self) -> (&str, &str, Genre, &str, &str) {
        let Mutant {
            file,
            function,
            original,
            replacement,
            ..
        } = self;
        (file, function, self.genre, original, replacement)
    }
}

/// The kinds of change: those of cargo-mutants, and two of our own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Genre {
    /// A function gives a fixed value.
    FnValue,
    /// Another binary operator.
    BinaryOperator,
    /// A unary operator less.
    UnaryOperator,
    /// An arm of a match less.
    MatchArm,
    /// A guard of an arm that is always or never fulfilled.
    MatchArmGuard,
    /// A field of a struct expression with a base left to the base.
    StructField,
    /// Ours: an integer one larger, a truth value turned round.
    Literal,
    /// Ours: a method or condition replaced by its sibling (`ishl` by `ushr`, `any` by `all`).
    Operation,
}

/// Whether a mutant can be switched on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// It is in the build.
    Switched,
    /// In a constant or constant function, which is computed before any switch is set.
    Constant,
    /// This tool cannot write it as a switch.
    Unknown,
    /// It does not compile: what the compiler says.
    Uncompilable(String),
}

#[derive(Deserialize)]
struct Listed {
    file: String,
    function: Option<Function>,
    genre: Genre,
    replacement: String,
    span: Span,
}

#[derive(Deserialize)]
struct Function {
    function_name: String,
    return_type: String,
}

#[derive(Deserialize)]
struct Span {
    start: Place,
    end: Place,
}

#[derive(Deserialize)]
struct Place {
    line: usize,
    column: usize,
}

/// Reads the list of cargo-mutants. `tree` is the source that it was made of.
///
/// # Errors
/// The list or a file cannot be read, or they do not belong together.
pub fn read_list(path: &Path, tree: &Path) -> anyhow::Result<Vec<Mutant>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let listed: Vec<Listed> = serde_json::from_str(&text)?;
    let mut source = (String::new(), String::new());
    let mut mutants = Vec::with_capacity(listed.len());
    for one in listed {
        if source.0 != one.file {
            source.1 =
                std::fs::read_to_string(tree.join(&one.file)).with_context(|| one.file.clone())?;
            source.0 = one.file.clone();
        }
        let offset = |place: &Place| {
            offset(&source.1, place.line, place.column)
                .with_context(|| format!("{}:{} is beyond the file", one.file, place.line))
        };
        let (start, end) = (offset(&one.span.start)?, offset(&one.span.end)?);
        let words = source.1.get(start..end).unwrap_or_default();
        let original = match one.genre {
            Genre::FnValue => String::new(),
            Genre::MatchArm => words.split("=>").next().unwrap_or_default().to_string(),
            _ => words.to_string(),
        };
        let (function, returns) = one
            .function
            .map_or_else(Default::default, |f| (f.function_name, f.return_type));
        // Two ways out of a function with an opaque type give two types.
        let opaque = one.genre == Genre::FnValue && returns.contains("impl ");
        mutants.push(Mutant {
            id: 0,
            file: one.file,
            function,
            line: one.span.start.line,
            column: one.span.start.column,
            genre: one.genre,
            original: original.split_whitespace().collect::<Vec<_>>().join(" "),
            replacement: one.replacement,
            start,
            end,
            state: if opaque {
                State::Unknown
            } else {
                State::Switched
            },
            compared: false,
        });
    }
    Ok(mutants)
}

fn offset(text: &str, line: usize, column: usize) -> Option<usize> {
    let mut start = 0;
    for _ in 1..line {
        start += text[start..].find('\n')? + 1;
    }
    let rest = &text[start..];
    Some(
        start
            + rest
                .char_indices()
                .nth(column - 1)
                .map_or(rest.len(), |(i, _)| i),
    )
}

/// Line and column, from 1, of a byte.
pub fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |i| i + 1);
    (
        before.matches('\n').count() + 1,
        before[start..].chars().count() + 1,
    )
}
