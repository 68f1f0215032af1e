//! Why a command did not do what it should, and which exit code tells so.

use super::interrupt;
use super::json::{self, FaultReport, Lacking, Remark};
use super::out::{Out, counted, warn};
use crate::diag::{Diagnostics, Severity};
use crate::error::{Error, Usage};
use crate::machine::{Fault, FaultKind};
use serde::Serialize;
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
    /// Ctrl-C ended a launch; where it was.
    Interrupted(Box<Fault>),
    /// A failure, and what can be done about it.
    Hinted(Box<Failure>, String),
}

/// A failure for programs to read.
#[derive(Serialize)]
struct Report {
    class: &'static str,
    exit_code: u8,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diagnostics: Vec<Remark>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unsupported: Vec<Lacking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<FaultReport>,
}

impl Failure {
    pub(super) fn bug(message: impl Into<String>) -> Self {
        Failure::Bug(message.into())
    }

    /// Adds what can be done about it.
    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Failure::Hinted(Box::new(self), hint.into())
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
            Failure::Interrupted(_) => interrupt::EXIT_CODE,
            Failure::Hinted(failure, _) => failure.exit_code(),
        }
    }

    /// Says it in words.
    pub(super) fn show(&self, err: &mut Out) {
        match self {
            Failure::Said(_) => {}
            Failure::Library(Error::Diagnostics(diagnostics)) => show_diagnostics(diagnostics, err),
            Failure::Usage(message) | Failure::Input(message) | Failure::Unsupported(message) => {
                warn(err, "error", message);
            }
            Failure::Bug(message) => warn(err, "internal error", message),
            Failure::Interrupted(fault) => warn(err, "interrupted", &place(fault)),
            Failure::Library(error) => {
                warn(err, "error", &error.to_string());
                if let Some(hint) = hint(error) {
                    warn(err, "hint", hint);
                }
            }
            Failure::Hinted(failure, hint) => {
                failure.show(err);
                warn(err, "hint", hint);
            }
        }
    }

    /// Says it on standard error; for programs also on standard output.
    pub(super) fn say(&self, out: &mut Out, json: bool) {
        if json {
            self.report_to(out);
        }
        // What came before the error stands before it.
        let _ = out.flush();
        self.show(&mut Out::stderr());
    }

    /// Says it to programs, unless it has been said already.
    pub(super) fn report_to(&self, out: &mut Out) {
        if let Some(report) = self.report() {
            // A broken stream is remembered until the end.
            let _ = json::write(out, "error", &report);
        }
    }

    /// Says it on standard error.
    pub(super) fn show_and_code(&self) -> u8 {
        self.show(&mut Out::stderr());
        self.exit_code()
    }

    /// It as programs read it; `None` if it has been said already.
    fn report(&self) -> Option<Report> {
        let report = |class, message: &str| Report {
            class,
            exit_code: self.exit_code(),
            message: message.to_string(),
            hints: Vec::new(),
            diagnostics: Vec::new(),
            unsupported: Vec::new(),
            fault: None,
        };
        Some(match self {
            Failure::Said(_) => return None,
            Failure::Usage(message) => report("usage", message),
            Failure::Input(message) => report("input", message),
            Failure::Unsupported(message) => report("unsupported", message),
            Failure::Bug(message) => report("internal", message),
            Failure::Interrupted(fault) => Report {
                fault: Some(FaultReport::new(fault)),
                ..report("interrupted", &place(fault))
            },
            Failure::Library(Error::Diagnostics(diagnostics)) => Report {
                diagnostics: Remark::all(diagnostics),
                ..report("text", &summary(diagnostics))
            },
            Failure::Library(Error::Unsupported(unsupported)) => Report {
                unsupported: Lacking::all(unsupported),
                ..report("unsupported", &unsupported.to_string())
            },
            Failure::Library(error @ Error::Usage(_)) => Report {
                hints: hint(error).map(str::to_string).into_iter().collect(),
                ..report("usage", &error.to_string())
            },
            Failure::Library(error @ Error::Fault(fault)) => Report {
                hints: hint(error).map(str::to_string).into_iter().collect(),
                fault: Some(FaultReport::new(fault)),
                ..report("fault", &fault.to_string())
            },
            Failure::Library(Error::Internal(internal)) => report("internal", internal.message()),
            Failure::Hinted(failure, hint) => {
                let mut report = failure.report()?;
                report.hints.push(hint.clone());
                report
            }
        })
    }
}

/// Where a kernel was when it was cancelled.
fn place(fault: &Fault) -> String {
    let said = fault.to_string();
    let lines = said.split_once('\n').map_or("", |(_, lines)| lines);
    format!("the launch was cancelled\n{lines}")
}

/// How many errors there are, and in what.
fn summary(diagnostics: &Diagnostics) -> String {
    let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
    let errors = counted(errors.count() as u64, "error");
    format!("{errors} in {}", diagnostics.source().name())
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
