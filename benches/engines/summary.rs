//! The summary in Markdown.

use crate::groups::{SETTINGS, named, workers};
use crate::measure::Measured;
use crate::stages::{STAGES, Stages};
use crate::subject::MEETING;
use std::fmt::Write;

/// Everything that was measured.
#[derive(Debug, Default)]
pub struct Results {
    pub measured: Vec<Measured>,
    pub stages: Vec<Stages>,
    /// Launches of the corpus that cannot be run yet, or end in a trap.
    pub lacking: usize,
}

impl Results {
    pub fn find(&self, group: &str, name: &str) -> Option<&Measured> {
        let mut measured = self.measured.iter();
        measured.find(|m| m.group == group && m.name == name)
    }

    /// The subjects of a group, in order.
    pub fn subjects(&self, group: &str) -> Vec<&str> {
        let mut subjects: Vec<&str> = Vec::new();
        for measured in &self.measured {
            let subject = measured.group.strip_prefix(group);
            if let Some(subject) = subject.and_then(|s| s.strip_prefix('/'))
                && !subjects.contains(&subject)
            {
                subjects.push(subject);
            }
        }
        subjects
    }
}

/// A table: the first column to the left, the others to the right.
pub fn table(text: &mut String, head: &[&str], rows: &[Vec<String>]) {
    let line = |text: &mut String, cells: &[String]| {
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    };
    line(
        text,
        &head.iter().map(|h| h.to_string()).collect::<Vec<_>>(),
    );
    let rule: Vec<String> = (0..head.len())
        .map(|i| if i == 0 { "---" } else { "---:" }.to_string())
        .collect();
    line(text, &rule);
    for row in rows {
        line(text, row);
    }
    text.push('\n');
}

/// Three digits.
pub fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        v if v >= 0.1 => 3,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

/// Three digits and a unit of time.
fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{} s", digits(s)),
        s if s >= 1e-3 => format!("{} ms", digits(s * 1e3)),
        s if s >= 1e-6 => format!("{} µs", digits(s * 1e6)),
        s => format!("{} ns", digits(s * 1e9)),
    }
}

/// The summary.
pub fn markdown(results: &Results) -> String {
    let mut text = String::from(
        "# Benchmarks\n\nMedians of one run on one machine; what stands in one row, or under one heading for one kernel, was\n\
         measured by turns, so that ratios hold where times do not. ± leads to the farther quartile. All checks and\n\
         the time limit are on; \"c\" is `gcc -O3 -march=native -fno-tree-vectorize` on one thread.\n\n",
    );
    read(&mut text, results);
    execute(&mut text, results);
    stages(&mut text, results);
    settings(&mut text, results);
    spread(&mut text, results);
    overhead(&mut text, results);
    text
}

fn read(text: &mut String, results: &Results) {
    text.push_str("## Reading the PTX of the corpus\n\n");
    let rows: Vec<Vec<String>> = (results.measured.iter())
        .filter(|m| m.group == "read")
        .map(|m| {
            let spread = format!("±{:.0} %", m.spread());
            vec![m.name.clone(), digits(m.megabytes()), spread]
        })
        .collect();
    table(text, &["", "MB/s", ""], &rows);
}

fn execute(text: &mut String, results: &Results) {
    text.push_str("## Native code, C and interpreter\n\nns for each thread of the launch, on one thread of the host. ");
    let _ = writeln!(
        text,
        "Of the corpus, {} launches are left out: they cannot be run yet, or end in a trap.\n",
        results.lacking
    );
    let mut rows = Vec::new();
    for subject in results.subjects("execute") {
        let find = |name| results.find(&format!("execute/{subject}"), name);
        let (Some(native), Some(interpreter)) = (find("native"), find("interpreter")) else {
            continue;
        };
        let (c, together) = (find("c"), find("8 together"));
        let none = || "".to_string();
        rows.push(vec![
            subject.to_string(),
            digits(native.per_unit()),
            format!("±{:.0} %", native.spread()),
            together.map_or_else(none, |t| digits(t.per_unit())),
            c.map_or_else(none, |c| digits(c.per_unit())),
            digits(interpreter.per_unit()),
            c.map_or_else(none, |c| digits(native.per_unit() / c.per_unit())),
            together
                .zip(c)
                .map_or_else(none, |(t, c)| digits(t.per_unit() / c.per_unit())),
            digits(interpreter.per_unit() / native.per_unit()),
        ]);
    }
    let head = [
        "kernel",
        "native",
        "",
        "8 threads together",
        "c",
        "interpreter",
        "native / c",
        "together / c",
        "interpreter / native",
    ];
    table(text, &head, &rows);
    meet(text, results);
}

/// What a barrier costs, with what a thread does from one to the next.
fn meet(text: &mut String, results: &Results) {
    for (subject, times) in MEETING {
        let find = |name| results.find(&format!("execute/{subject}"), name);
        let (Some(native), Some(interpreter)) = (find("native"), find("interpreter")) else {
            continue;
        };
        let each = |measured: &Measured| digits(measured.per_unit() / f64::from(times));
        let _ = writeln!(
            text,
            "The threads of `{subject}` come to {times} barriers with 8 live values, a few additions apart: {} ns for each thread \
             and barrier in native code, {} ns in the interpreter.\n",
            each(native),
            each(interpreter)
        );
    }
}

fn stages(text: &mut String, results: &Results) {
    text.push_str(
        "## From text to native code, cold\n\nWhole modules; each stage's share in percent.\n\n",
    );
    let mut head = vec!["kernel", "instructions", "code", "time"];
    head.extend(STAGES);
    let rows: Vec<Vec<String>> = (results.stages.iter())
        .map(|stages| {
            let mut row = vec![
                stages.name.clone(),
                stages.instructions.to_string(),
                format!("{} B", stages.code_bytes),
                time(stages.total()),
            ];
            let shares = (0..STAGES.len()).map(|i| format!("{:.0}", 100.0 * stages.share(i)));
            row.extend(shares);
            row
        })
        .collect();
    table(text, &head, &rows);
}

fn settings(text: &mut String, results: &Results) {
    text.push_str("## Optimisation level and register allocation\n\nTime to compile, and to launch, relative to the first.\n\n");
    let names: Vec<String> = SETTINGS.iter().map(|s| named(s)).collect();
    let mut head = vec!["kernel", ""];
    head.extend(names.iter().map(String::as_str));
    let mut rows = Vec::new();
    for subject in results.subjects("settings") {
        for (group, what) in [("compile", "compile"), ("settings", "launch")] {
            let group = format!("{group}/{subject}");
            let median = |name: &String| results.find(&group, name).map(Measured::median);
            let Some(first) = median(&names[0]) else {
                continue;
            };
            let mut row = vec![subject.to_string(), format!("{what} ({})", time(first))];
            let relative = |name| median(name).map_or_else(String::new, |m| digits(m / first));
            row.extend(names.iter().map(relative));
            rows.push(row);
        }
    }
    table(text, &head, &rows);
}

fn spread(text: &mut String, results: &Results) {
    text.push_str("## Worker threads\n\nHow many times as fast as on one.\n\n");
    let workers: Vec<String> = workers().iter().map(usize::to_string).collect();
    let mut head = vec!["kernel"];
    head.extend(workers.iter().map(String::as_str));
    let mut rows = Vec::new();
    for subject in results.subjects("threads") {
        let median = |n: &String| {
            let found = results.find(&format!("threads/{subject}"), n);
            found.map(Measured::median)
        };
        let Some(one) = median(&workers[0]) else {
            continue;
        };
        let mut row = vec![subject.to_string()];
        let times = |n| median(n).map_or_else(String::new, |m| digits(one / m));
        row.extend(workers.iter().map(times));
        rows.push(row);
    }
    table(text, &head, &rows);
}

fn overhead(text: &mut String, results: &Results) {
    text.push_str("## Launches and calls that do next to nothing\n\n");
    let rows: Vec<Vec<String>> = (results.measured.iter())
        .filter(|m| m.group == "overhead")
        .map(|m| {
            let spread = format!("±{:.0} %", m.spread());
            vec![m.name.clone(), time(m.median()), spread]
        })
        .collect();
    table(text, &["", "time", ""], &rows);
}
