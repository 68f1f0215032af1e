//! Tables of what was measured.

use super::super::error::Failure;
use super::super::json;
use super::super::out::{Out, counted};
use super::measure::Times;
use super::{Row, Table};
use crate::runtime::EngineKind;
use crate::testing::report::engine_name;
use serde::Serialize;
use std::collections::BTreeMap;

/// Threads and blocks of the launch.
fn extent(table: &Table<'_>) -> (u64, u64) {
    let product = |e: [u32; 3]| e.iter().map(|&n| u64::from(n)).product::<u64>();
    let (grid, block) = (table.job.spec.grid, table.job.spec.block);
    (product(grid) * product(block), product(grid))
}

/// A table for people: medians, and how far the middle half of the times lies from them.
pub(super) fn text(table: &Table<'_>, out: &mut Out) {
    let (threads, blocks) = extent(table);
    out.text(format_args!(
        "{}: kernel {}, {} in {}\n",
        table.module,
        table.job.spec.kernel,
        counted(threads, "thread"),
        counted(blocks, "block")
    ));
    let head = [
        "", "compile", "", "code", "launch", "", "a thread", "compile", "launch",
    ];
    let mut lines = vec![head.map(str::to_string)];
    for row in &table.rows {
        lines.push(cells(row, &table.rows[0], threads));
    }
    let mut widths = [0; 9];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for line in &lines {
        let mut text = format!("  {:<width$}", line[0], width = widths[0]);
        for (index, (cell, width)) in line.iter().zip(widths).enumerate().skip(1) {
            let gap = if matches!(index, 2 | 5) { 1 } else { 3 };
            text.push_str(&format!("{:gap$}{cell:>width$}", ""));
        }
        out.text(format_args!("{}\n", text.trim_end()));
    }
    out.text(format_args!(
        "  medians; ± to the farther quartile; the last columns relative to the first row\n"
    ));
}

fn cells(row: &Row, first: &Row, threads: u64) -> [String; 9] {
    let spread = |times: &Times| format!("±{:.0}%", 100.0 * times.spread());
    let relative = |a: f64, b: f64| match b > 0.0 {
        true => format!("{:.2}", a / b),
        false => String::new(),
    };
    let (compile, compile_spread, compile_ratio) = match (&row.compile, &first.compile) {
        (Some(times), first) => (
            time(times.median()),
            spread(times),
            first
                .as_ref()
                .map_or_else(String::new, |f| relative(times.median(), f.median())),
        ),
        (None, _) => Default::default(),
    };
    let code = match row.configuration.kind {
        EngineKind::Native => format!("{} B", row.code_bytes),
        EngineKind::Interpreter => String::new(),
    };
    let launch = row.launch.median();
    [
        row.configuration.to_string(),
        compile,
        compile_spread,
        code,
        time(launch),
        spread(&row.launch),
        time(launch / threads.max(1) as f64),
        compile_ratio,
        relative(launch, first.launch.median()),
    ]
}

/// Three digits and a unit.
fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s if s >= 1e-6 => (s * 1e6, "µs"),
        s => (s * 1e9, "ns"),
    };
    let decimals = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

/// A row, for programs; times in seconds.
#[derive(Serialize)]
struct Object<'a> {
    module: &'a str,
    kernel: &'a str,
    engine: &'static str,
    varied: BTreeMap<&'a str, &'a str>,
    threads: u64,
    blocks: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    compile_seconds: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code_bytes: Option<usize>,
    run_seconds: Seconds,
    thread_seconds: f64,
    /// The launch's time by that of the first row.
    relative: f64,
}

#[derive(Serialize)]
struct Seconds {
    median: f64,
    quartiles: [f64; 2],
    least: f64,
    count: usize,
}

impl From<&Times> for Seconds {
    fn from(times: &Times) -> Self {
        Seconds {
            median: times.median(),
            quartiles: [times.quantile(0.25), times.quantile(0.75)],
            least: times.quantile(0.0),
            count: times.count(),
        }
    }
}

/// One object for each row.
pub(super) fn json(table: &Table<'_>, out: &mut Out) -> Result<(), Failure> {
    let (threads, blocks) = extent(table);
    let first = table.rows.first().map_or(0.0, |r| r.launch.median());
    for row in &table.rows {
        let launch = row.launch.median();
        let varied = row.configuration.varied.iter();
        let native = row.configuration.kind == EngineKind::Native;
        let object = Object {
            module: table.module,
            kernel: &table.job.spec.kernel,
            engine: engine_name(row.configuration.kind),
            varied: varied.map(|(k, v)| (k.as_str(), v.as_str())).collect(),
            threads,
            blocks,
            compile_seconds: row.compile.as_ref().map(Seconds::from),
            code_bytes: native.then_some(row.code_bytes),
            run_seconds: Seconds::from(&row.launch),
            thread_seconds: launch / threads.max(1) as f64,
            relative: launch / first.max(f64::MIN_POSITIVE),
        };
        json::write(out, "measurement", &object)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        let shown: Vec<String> = [2.5, 0.0123, 999e-6, 4.567e-8, 123e-9].map(time).to_vec();
        assert_eq!(shown, ["2.50 s", "12.3 ms", "999 µs", "45.7 ns", "123 ns"]);
    }
}
