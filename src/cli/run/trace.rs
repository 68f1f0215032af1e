//! `ptxlift run --trace`: every instruction of the interpreter, with its operands' values and its thread.

use super::super::out::Out;
use crate::interp::Step;
use crate::ir::{FuncId, Module, Reg};
use std::ops::RangeInclusive;

/// Which steps are shown.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Filter {
    /// Show every instruction that the interpreter executes
    #[arg(long)]
    pub(super) trace: bool,
    /// Only of the thread with this %tid
    #[arg(long, value_name = "X,Y,Z", requires = "trace", value_parser = parse_index)]
    trace_thread: Option<Index>,
    /// Only of the block with this %ctaid
    #[arg(long, value_name = "X,Y,Z", requires = "trace", value_parser = parse_index)]
    trace_block: Option<Index>,
    /// Only of these lines of the PTX file: N or FIRST-LAST
    #[arg(long, value_name = "LINES", requires = "trace", value_parser = parse_lines)]
    trace_line: Option<RangeInclusive<u32>>,
}

/// `%tid` or `%ctaid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Index([u32; 3]);

fn parse_index(text: &str) -> Result<Index, String> {
    let mut index = [0; 3];
    let numbers: Vec<&str> = text.split(',').collect();
    if numbers.len() > 3 {
        return Err("at most three numbers, X,Y,Z".to_string());
    }
    for (to, number) in index.iter_mut().zip(numbers) {
        *to = number
            .trim()
            .parse()
            .map_err(|_| format!("`{number}` is not a number"))?;
    }
    Ok(Index(index))
}

fn parse_lines(text: &str) -> Result<RangeInclusive<u32>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |n: &str| {
        n.trim()
            .parse()
            .map_err(|_| format!("`{n}` is not a line number"))
    };
    Ok(number(first)?..=number(last)?)
}

impl Filter {
    /// Writes a step, if it is wanted.
    pub(super) fn show(&self, module: &Module, step: &Step<'_>, out: &mut Out) {
        let line = module.source.line(step.span.start);
        let wanted = self.trace_thread.is_none_or(|t| t.0 == step.thread)
            && self.trace_block.is_none_or(|b| b.0 == step.block)
            && self
                .trace_line
                .as_ref()
                .is_none_or(|lines| lines.contains(&line));
        if !wanted {
            return;
        }
        let [bx, by, bz] = step.block;
        let [tx, ty, tz] = step.thread;
        let words: Vec<&str> = module.source.slice(step.span).split_whitespace().collect();
        let arrow = if step.executed { "->" } else { "-> skipped" };
        out.text(format_args!(
            "({bx},{by},{bz}) ({tx},{ty},{tz}) {:indent$}{line}: {} |{} {arrow}{}\n",
            "",
            words.join(" "),
            registers(module, step.function, step.reads),
            registers(module, step.function, step.writes),
            indent = 2 * step.depth as usize,
        ));
    }
}

/// Registers by name with their values.
fn registers(module: &Module, function: FuncId, list: &[(Reg, u64)]) -> String {
    let function = &module.functions[function.index()];
    list.iter()
        .map(|(reg, value)| {
            let info = &function.regs[reg.index()];
            let digits = (info.class.bits() / 4).max(1) as usize;
            if info.name.is_empty() {
                format!(" {reg}={value:0digits$x}")
            } else {
                format!(" {}={value:0digits$x}", info.name)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_numbers() {
        assert_eq!(parse_index("5"), Ok(Index([5, 0, 0])));
        assert_eq!(parse_index("1,2,3"), Ok(Index([1, 2, 3])));
        assert!(parse_index("1,2,3,4").is_err() && parse_index("x").is_err());
        assert_eq!(parse_lines("7"), Ok(7..=7));
        assert_eq!(parse_lines("7-9"), Ok(7..=9));
        assert!(parse_lines("a-b").is_err());
    }
}
