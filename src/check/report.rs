//! Collects what is said about a module, up to a cap.

use crate::diag::{Diagnostic, Severity, Source};
use std::sync::Arc;

/// How many errors are kept, and how many warnings.
const MAX: usize = 100;

/// The longest word of a message: names of the text have any length.
const MAX_WORD: usize = 400;

/// Cuts words that are too long.
fn shorten(message: String) -> String {
    if message.len() <= MAX_WORD {
        return message;
    }
    let cut = |word: &str| match word.char_indices().nth(MAX_WORD) {
        Some((end, _)) => format!("{}...", &word[..end]),
        None => word.to_string(),
    };
    let words: Vec<String> = message.split(' ').map(cut).collect();
    words.join(" ")
}

/// Names the underlined word, where a message does not and the word is short.
fn name_word(source: &Source, diagnostic: &mut Diagnostic) {
    const SHORT: usize = 40;
    let word = source.slice(diagnostic.span);
    let plain = !word.is_empty() && word.len() <= SHORT && !word.contains(['\n', '`']);
    if plain && !diagnostic.message.contains(word) {
        diagnostic.message = format!("`{word}`: {}", diagnostic.message);
    }
}

/// Diagnostics of one module.
#[derive(Debug)]
pub(super) struct Reports {
    source: Arc<Source>,
    list: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

impl Reports {
    /// Those that the parser has made already.
    pub(super) fn new(source: Arc<Source>, list: Vec<Diagnostic>) -> Self {
        let errors = list
            .iter()
            .filter(|d| d.severity == Severity::Error)
            .count();
        let warnings = list.len() - errors;
        Reports {
            source,
            list,
            errors,
            warnings,
        }
    }

    /// Adds one, unless there are enough of its kind.
    pub(super) fn push(&mut self, mut diagnostic: Diagnostic) {
        let count = match diagnostic.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *count += 1;
        if *count <= MAX {
            name_word(&self.source, &mut diagnostic);
            diagnostic.message = shorten(diagnostic.message);
            self.list.push(diagnostic);
        }
    }

    /// Whether the module is refused.
    pub(super) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Whether further errors would be dropped, so that what only looks for errors may end.
    pub(super) fn is_full(&self) -> bool {
        self.errors > MAX
    }

    /// All of them; the last error says how many were left out.
    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        let left_out = self.errors.saturating_sub(MAX);
        if left_out > 0
            && let Some(last) = self
                .list
                .iter_mut()
                .rfind(|d| d.severity == Severity::Error)
        {
            last.hint = Some(format!("{left_out} more errors are not shown"));
        }
        self.list
    }
}
