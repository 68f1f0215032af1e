//! What `--json` prints: one object a line, as `docs/json.md` describes.

use super::error::Failure;
use super::out::Out;
use crate::diag::{Diagnostic, Diagnostics, Severity, Source, Span};
use crate::error::{Missing, Unsupported};
use crate::machine::Fault;
use serde::Serialize;

/// Changes when a field is taken away or changes its meaning; new fields may come any time.
const SCHEMA_VERSION: u32 = 1;

/// What every object begins with.
#[derive(Serialize)]
struct Object<'a, T> {
    schema_version: u32,
    #[serde(rename = "type")]
    ty: &'static str,
    #[serde(flatten)]
    contents: &'a T,
}

/// Prints an object of a type.
pub(super) fn write(
    out: &mut Out,
    ty: &'static str,
    contents: &impl Serialize,
) -> Result<(), Failure> {
    let object = Object {
        schema_version: SCHEMA_VERSION,
        ty,
        contents,
    };
    let line = serde_json::to_string(&object).map_err(|e| Failure::bug(e.to_string()))?;
    out.text(format_args!("{line}\n"));
    Ok(())
}

/// A place in a text: lines and columns count from 1, columns in characters; the end is behind the last one.
#[derive(Debug, Serialize)]
pub(super) struct Place {
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
}

impl Place {
    pub(super) fn new(source: &Source, span: Span) -> Self {
        let (start, end) = (source.position(span.start), source.position(span.end));
        Place {
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
        }
    }
}

/// An error or warning about a text.
#[derive(Debug, Serialize)]
pub(super) struct Remark {
    severity: &'static str,
    file: String,
    #[serde(flatten)]
    place: Place,
    message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<Related>,
}

/// A further place that explains a remark.
#[derive(Debug, Serialize)]
struct Related {
    #[serde(flatten)]
    place: Place,
    message: String,
}

impl Remark {
    fn new(source: &Source, diagnostic: &Diagnostic) -> Self {
        let related = diagnostic.related.iter().map(|(span, message)| Related {
            place: Place::new(source, *span),
            message: message.clone(),
        });
        Remark {
            severity: name(diagnostic.severity),
            file: source.name().to_string(),
            place: Place::new(source, diagnostic.span),
            message: diagnostic.message.clone(),
            label: diagnostic.label.clone(),
            hint: diagnostic.hint.clone(),
            related: related.collect(),
        }
    }

    /// Whether it is so severe.
    pub(super) fn is(&self, severity: Severity) -> bool {
        self.severity == name(severity)
    }

    /// All that was said about a text.
    pub(super) fn all(diagnostics: &Diagnostics) -> Vec<Self> {
        let source = diagnostics.source();
        diagnostics.iter().map(|d| Remark::new(source, d)).collect()
    }
}

fn name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Something that is not built yet.
#[derive(Debug, Serialize)]
pub(super) struct Lacking {
    what: String,
    family: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
}

impl Lacking {
    fn new(missing: &Missing) -> Self {
        let position = missing.at.as_ref().map(|(_, position)| position);
        Lacking {
            what: missing.what.clone(),
            family: missing.family,
            file: missing.at.as_ref().map(|(file, _)| file.clone()),
            line: position.map(|p| p.line),
            column: position.map(|p| p.column),
        }
    }

    pub(super) fn all(unsupported: &Unsupported) -> Vec<Self> {
        unsupported.missing.iter().map(Lacking::new).collect()
    }
}

/// What a kernel did wrong.
#[derive(Debug, Serialize)]
pub(super) struct FaultReport {
    kind: String,
    function: String,
    file: String,
    line: u32,
    column: u32,
    instruction: String,
    /// Of the language that it was compiled from.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceLine>,
    block: [u32; 3],
    thread: [u32; 3],
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<Access>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<NearestMemory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// A line of the language that a text was compiled from (`.loc`).
#[derive(Debug, Serialize)]
pub(super) struct SourceLine {
    pub(super) file: String,
    pub(super) line: u32,
}

#[derive(Debug, Serialize)]
struct Access {
    address: String,
    bytes: u32,
}

#[derive(Debug, Serialize)]
struct NearestMemory {
    what: String,
    offset: i64,
    bytes: u64,
}

impl FaultReport {
    pub(super) fn new(fault: &Fault) -> Self {
        FaultReport {
            kind: fault.kind.to_string(),
            function: fault.function.clone(),
            file: fault.file.clone(),
            line: fault.position.line,
            column: fault.position.column,
            instruction: fault.instruction.clone(),
            source: fault
                .source
                .clone()
                .map(|(file, line)| SourceLine { file, line }),
            block: fault.block,
            thread: fault.thread,
            access: fault.address.map(|(address, bytes)| Access {
                address: format!("{address:#x}"),
                bytes,
            }),
            nearest: fault.nearest.as_ref().map(|nearest| NearestMemory {
                what: nearest.what.clone(),
                offset: nearest.offset,
                bytes: nearest.size,
            }),
            detail: fault.detail.clone(),
        }
    }
}
