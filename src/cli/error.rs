//! Why a command did not do what it should, and which exit code tells so.

use super::out::{Out, warn};
use crate::diag::Diagnostics;
use crate::error::{Error, Usage};
use crate::machine::FaultKind;
use crate::testing::FormatError;
use std::io::Write as _;

/// Why a command failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The command line asks for something that cannot be.
    Usage(String),
    /// A file cannot be read, or says something wrong.
    Input(String),
    /// Something that is not built yet is needed.
    Unsupported(String),
    /// A comparison failed, or files were refused; everything has been said already.
    Said(u8),
    /// What the library says.
    Library(Error),
    /// A bug of ours.
    Bug(String),
}

impl Failure {
    /// An option or command that is known and not built yet.
    pub(super) fn not_yet(what: &str, meanwhile: &str) -> Self {
        Failure::Usage(format!("{what} is not built yet; {meanwhile}"))
    }

    pub(super) fn bug(message: impl Into<String>) -> Self {
        Failure::Bug(message.into())
    }

    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Input(_) => 1,
            Failure::Said(code) => *code,
            Failure::Library(Error::Diagnostics(_)) => 1,
            Failure::Library(Error::Usage(_)) => 2,
            Failure::Library(Error::Fault(_)) => 3,
            Failure::Library(Error::Unsupported(_)) | Failure::Unsupported(_) => 4,
            Failure::Library(Error::Internal(_)) | Failure::Bug(_) => 70,
        }
    }

    pub(super) fn show(&self, err: &mut Out) {
        match self {
            Failure::Said(_) => {}
            Failure::Library(Error::Diagnostics(diagnostics)) => show_diagnostics(diagnostics, err),
            Failure::Usage(message) | Failure::Input(message) | Failure::Unsupported(message) => {
                warn(err, "error", message);
            }
            Failure::Bug(message) => warn(err, "internal error", message),
            Failure::Library(error @ Error::Internal(_)) => warn(err, "error", &error.to_string()),
            Failure::Library(error) => {
                warn(err, "error", &error.to_string());
                if let Some(hint) = hint(error) {
                    warn(err, "hint", hint);
                }
            }
        }
    }

    /// Says it on standard error.
    pub(super) fn show_and_code(&self) -> u8 {
        self.show(&mut Out::stderr());
        self.exit_code()
    }
}

/// What the command line can do about an error.
fn hint(error: &Error) -> Option<&'static str> {
    match error {
        Error::Fault(fault) if fault.kind == FaultKind::TimeLimit => {
            Some("`--timeout SECONDS` gives it more time, `--timeout 0` as much as it wants")
        }
        Error::Usage(usage) => match **usage {
            Usage::NoSuchName {
                wanted: "kernel", ..
            } => Some("`ptxlift check FILE` lists the kernels of a file"),
            Usage::Arguments { .. } => {
                Some("each parameter takes one `--arg`, such as u32:5 or f32[256]:zeros, in order")
            }
            _ => None,
        },
        _ => None,
    }
}

/// Renders what was said about a text, in colours where they are wanted.
pub(super) fn show_diagnostics(diagnostics: &Diagnostics, err: &mut Out) {
    let text = diagnostics.render(err.colour());
    err.text(format_args!("{}\n", text.trim_end()));
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Library(error)
    }
}

impl From<FormatError> for Failure {
    fn from(error: FormatError) -> Self {
        Failure::Input(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::Input(error.to_string())
    }
}

impl Out {
    /// Writes formatted text.
    pub(super) fn text(&mut self, text: std::fmt::Arguments<'_>) {
        // `Out` remembers errors itself.
        let _ = self.write_fmt(text);
    }
}
