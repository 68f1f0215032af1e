//! `ptxlift run --trace`: every instruction of the interpreter, with its operands' values and its thread.

use super::super::error::Failure;
use super::super::json::{self, SourceLine};
use super::super::out::{Out, Style};
use super::Seen;
use crate::diag::clean;
use crate::interp::Step;
use crate::ir::{FuncId, Module, Reg};
use serde::Serialize;
use std::ops::RangeInclusive;

/// Which steps are shown.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Filter {
    /// Show every instruction that the interpreter executes, with the values that it reads and writes
    #[arg(long)]
    pub(super) trace: bool,
    /// Only of threads with such a %tid: each of X, Y, Z is a number, a range such as 0-31, or * for any; what is
    /// left out is 0
    #[arg(long, value_name = "X,Y,Z", requires = "trace", value_parser = parse_index)]
    trace_thread: Vec<Index>,
    /// Only of blocks with such a %ctaid
    #[arg(long, value_name = "X,Y,Z", requires = "trace", value_parser = parse_index)]
    trace_block: Vec<Index>,
    /// Only of these lines of the PTX file: N, FIRST-LAST, FIRST- or -LAST; several with commas
    #[arg(
        long,
        value_name = "LINES",
        requires = "trace",
        value_delimiter = ',',
        allow_hyphen_values = true,
        value_parser = parse_lines
    )]
    trace_line: Vec<Lines>,
}

type Range = RangeInclusive<u32>;

/// Some `%tid` or `%ctaid`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Index([Range; 3]);

/// Some lines.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lines(Range);

impl Index {
    fn contains(&self, index: [u32; 3]) -> bool {
        self.0
            .iter()
            .zip(index)
            .all(|(range, i)| range.contains(&i))
    }
}

fn parse_index(text: &str) -> Result<Index, String> {
    let mut index = [0..=0, 0..=0, 0..=0];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("at most three numbers or ranges, X,Y,Z".to_string());
    }
    for (to, part) in index.iter_mut().zip(parts) {
        *to = parse_range(part)?;
    }
    Ok(Index(index))
}

fn parse_lines(text: &str) -> Result<Lines, String> {
    parse_range(text).map(Lines)
}

/// `5`, `5-9`, `5-`, `-9`, `*`
fn parse_range(text: &str) -> Result<Range, String> {
    let number = |n: &str, otherwise: u32| match n.trim() {
        "" => Ok(otherwise),
        n => n
            .parse()
            .map_err(|_| format!("`{n}` is not a number; write N or FIRST-LAST")),
    };
    let range = match text.trim().split_once('-') {
        None if text.trim() == "*" => 0..=u32::MAX,
        None if text.trim().is_empty() => return Err("a number is wanted".to_string()),
        None => {
            let only = number(text, 0)?;
            only..=only
        }
        Some(("", "")) => return Err("`-` is not a range; write FIRST-LAST".to_string()),
        Some((first, last)) => number(first, 0)?..=number(last, u32::MAX)?,
    };
    if range.is_empty() {
        return Err(format!("`{text}` ends before it begins"));
    }
    Ok(range)
}

impl Filter {
    fn wants(&self, step: &Step<'_>, line: u32) -> bool {
        let any = |list: &[Index], index| list.is_empty() || list.iter().any(|i| i.contains(index));
        any(&self.trace_thread, step.thread)
            && any(&self.trace_block, step.block)
            && (self.trace_line.is_empty() || self.trace_line.iter().any(|l| l.0.contains(&line)))
    }

    /// Writes a step, if it is wanted: as a line of text or as an object.
    pub(super) fn show(
        &self,
        module: &Module,
        step: &Step<'_>,
        json: bool,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let seen = Seen::of(&module.source, step);
        if seen == Seen::Nothing {
            return Ok(());
        }
        let line = module.source.line(step.span.start);
        if !self.wants(step, line) {
            return Ok(());
        }
        let line = Line::new(module, step, line, seen);
        if json {
            return json::write(out, "step", &line);
        }
        line.show(out);
        Ok(())
    }
}

/// An executed instruction.
#[derive(Serialize)]
struct Line<'m> {
    block: [u32; 3],
    thread: [u32; 3],
    /// Of calls; 0 in the kernel.
    depth: u32,
    function: &'m str,
    line: u32,
    instruction: String,
    /// `done`, `skipped` by its guard, or `fault`.
    outcome: &'static str,
    reads: Vec<Value>,
    writes: Vec<Value>,
    /// The line that a jump goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    to_line: Option<u32>,
    /// The function that a return goes back to; the writes are its registers.
    #[serde(skip_serializing_if = "Option::is_none")]
    returns_to: Option<&'m str>,
    /// Where it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceLine>,
}

/// A register with its value in hexadecimal.
#[derive(Serialize)]
struct Value {
    register: String,
    value: String,
}

impl<'m> Line<'m> {
    fn new(module: &'m Module, step: &Step<'_>, line: u32, seen: Seen) -> Self {
        let words: Vec<&str> = module.source.slice(step.span).split_whitespace().collect();
        let name = |id: FuncId| module.functions[id.index()].name.as_str();
        let (written_in, writes) = step.returned.unwrap_or((step.function, step.writes));
        Line {
            block: step.block,
            thread: step.thread,
            depth: step.depth,
            function: name(step.function),
            line,
            instruction: clean(&words.join(" ")),
            outcome: match seen {
                _ if step.faulted => "fault",
                Seen::Skipped => "skipped",
                Seen::Done | Seen::Nothing => "done",
            },
            reads: registers(module, step.function, step.reads),
            writes: registers(module, written_in, writes),
            to_line: step
                .to
                .filter(|_| seen == Seen::Done)
                .map(|span| module.source.line(span.start)),
            returns_to: step.returned.map(|(id, _)| name(id)),
            source: source_line(module, step.location),
        }
    }

    fn show(&self, out: &mut Out) {
        let index = |[x, y, z]: [u32; 3]| format!("({x},{y},{z})");
        let list = |values: &[Value]| -> String {
            let values = values.iter();
            values
                .map(|v| format!(" {}={}", v.register, v.value))
                .collect()
        };
        let mut after = list(&self.writes);
        if let Some(function) = self.returns_to {
            after.push_str(&format!(" in {function}"));
        }
        if let Some(line) = self.to_line {
            after.push_str(&format!(" line {line}"));
        }
        if self.outcome != "done" {
            after.push_str(&format!(" {}", self.outcome));
        }
        let mut source = String::new();
        if let Some(SourceLine { file, line }) = &self.source {
            source = format!("  {file}:{line}");
        }
        let who = format!("{} {}", index(self.block), index(self.thread));
        out.text(format_args!(
            "{} {:indent$}{}: {} |{} ->{after}{}\n",
            out.paint(Style::Faint, &who),
            "",
            self.line,
            out.paint(Style::Strong, &self.instruction),
            list(&self.reads),
            out.paint(Style::Faint, &source),
            indent = 2 * self.depth as usize,
        ));
    }
}

/// Registers by name with their values.
fn registers(module: &Module, function: FuncId, list: &[(Reg, u64)]) -> Vec<Value> {
    let function = &module.functions[function.index()];
    list.iter()
        .map(|(reg, value)| {
            let info = &function.regs[reg.index()];
            let digits = (info.class.bits() / 4).max(1) as usize;
            Value {
                register: if info.name.is_empty() {
                    reg.to_string()
                } else {
                    info.name.to_string()
                },
                value: format!("{value:0digits$x}"),
            }
        })
        .collect()
}

/// The line of `.loc`.
fn source_line(module: &Module, location: u32) -> Option<SourceLine> {
    let at = module.locations.get(location as usize)?;
    let file = module.files.iter().find(|f| f.index == at.file)?;
    Some(SourceLine {
        file: clean(&file.name),
        line: at.line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_numbers_and_ranges() {
        assert_eq!(parse_index("5"), Ok(Index([5..=5, 0..=0, 0..=0])));
        assert_eq!(parse_index("1,2,3"), Ok(Index([1..=1, 2..=2, 3..=3])));
        assert_eq!(
            parse_index("0-3,*"),
            Ok(Index([0..=3, 0..=u32::MAX, 0..=0]))
        );
        assert!(parse_index("1,2,3,4").is_err() && parse_index("x").is_err());
        assert!(parse_index("").is_err() && parse_index("3-1").is_err());
        assert_eq!(parse_lines("7"), Ok(Lines(7..=7)));
        assert_eq!(parse_lines("7-9"), Ok(Lines(7..=9)));
        assert_eq!(parse_lines("7-"), Ok(Lines(7..=u32::MAX)));
        assert_eq!(parse_lines("-9"), Ok(Lines(0..=9)));
        assert!(parse_lines("a-b").is_err() && parse_lines("-").is_err());
    }
}
