//! Where things stand in a text, and what is said about them.
//!
//! A [`Source`] is a named text; a [`Span`] is a range of its bytes; a [`Diagnostic`] is one thing to say about
//! a span. All diagnostics of a module travel together as [`Diagnostics`], an error type whose `Display` shows
//! each with its source line underlined.
//!
//! ```
//! use ptxlift::diag::{Diagnostic, Diagnostics, Source, Span};
//! use std::sync::Arc;
//!
//! let source = Arc::new(Source::new("k.ptx", ".version 8.0\n.target sm_1000\n"));
//! let word = Span::new(21, 28);
//! assert_eq!(source.slice(word), "sm_1000");
//! assert_eq!(source.position(word.start).to_string(), "2:9");
//! let said = Diagnostics::new(source, vec![Diagnostic::error(word, "no such target").hint("`sm_100`?")]);
//! assert!(said.to_string().contains("sm_1000"));
//! ```

mod near;
mod render;
mod source;

pub(crate) use near::nearest;
pub(crate) use render::clean;
pub use source::{Position, Source, Span};

use std::fmt;
use std::sync::Arc;

/// How serious a [`Diagnostic`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; the text is accepted.
    Warning,
    /// The text is refused.
    Error,
}

/// One thing to say about a place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Whether the text is refused for it.
    pub severity: Severity,
    /// What is wrong, in one line, naming the offending word of the text.
    pub message: String,
    /// The offending word.
    pub span: Span,
    /// What is written under the underlined word, such as what was expected there; may be empty.
    pub label: String,
    /// Further places that explain the first, such as an earlier declaration of the same name.
    pub related: Vec<(Span, String)>,
    /// What would be right, where that can be guessed.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, span, message)
    }

    /// A warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, span, message)
    }

    fn new(severity: Severity, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            severity,
            message: message.into(),
            span,
            label: String::new(),
            related: Vec::new(),
            hint: None,
        }
    }

    /// Sets the text under the underlined word.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds a further place.
    #[must_use]
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }

    /// Sets what would be right.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// All that is to be said about one text, in the order of the text.
///
/// As an error it holds at least one [`Severity::Error`]. `Display` renders every diagnostic with its source
/// line, without colours; [`Diagnostics::render`] chooses.
///
/// ```
/// use ptxlift::{Error, Module};
/// let text = ".version 8.0\n.target sm_80\n.entry k()\n{\n    .reg .b32 %r;\n    bfe.b32 %r, %r, 0, 8;\n}";
/// let Err(Error::Diagnostics(diagnostics)) = Module::parse_named("k.ptx", text) else { panic!() };
/// for diagnostic in &diagnostics {
///     let place = diagnostics.source().position(diagnostic.span.start);
///     println!("k.ptx:{place}: {}", diagnostic.message);
/// }
/// assert_eq!(diagnostics.source().slice(diagnostics.iter().next().unwrap().span), ".b32");
/// eprintln!("{}", diagnostics.render(true));        // with source lines, in colour
/// ```
#[derive(Debug, Clone)]
pub struct Diagnostics {
    source: Arc<Source>,
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Bundles what was said about `source`; sorts it by place.
    pub fn new(source: Arc<Source>, mut list: Vec<Diagnostic>) -> Self {
        list.sort_by_key(|d| d.span.start);
        Diagnostics { source, list }
    }

    /// The text that the spans refer to.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The diagnostics, in the order of the text.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether one of them refuses the text.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    /// Renders them with source lines, in colour if asked.
    pub fn render(&self, colour: bool) -> String {
        render::render(&self.source, &self.list, colour)
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(false).trim_end())
    }
}

impl std::error::Error for Diagnostics {}
