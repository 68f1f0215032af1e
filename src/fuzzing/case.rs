//! Writes a program as a launch case: `//@` lines, with what the interpreter leaves as expectations.

use super::oracle::{Oracle, Verdict};
use super::program::Program;
use crate::ir::Reading;
use crate::testing::exec::Outcome;
use crate::testing::launch::{ArgValue, LaunchSpec};
use std::fmt::Write as _;

/// Words of a buffer's expectation in a line.
const MOST_WORDS: usize = 4096;

/// The case of a program that failed. The interpreter is the reference; where it cannot run, there are no
/// expectations.
pub(super) fn write(oracle: &Oracle, program: &Program, verdict: &Verdict, seed: u64) -> String {
    let mut out = String::new();
    let note = match verdict {
        Verdict::Agree => "all engines agree".to_string(),
        Verdict::Differ(difference) => format!("{}: {}", difference.variant, difference.what),
        Verdict::Refused(why) => format!("refused: {why}"),
        Verdict::Bug(what) => format!("a bug: {what}"),
        Verdict::TimeLimit => "it runs out of time".to_string(),
    };
    // Writing to a string does not fail, here and below.
    let _ = writeln!(
        out,
        "// Found by `ptxlift fuzz --seed {seed} --programs 1`."
    );
    for line in note.lines() {
        let _ = writeln!(out, "// {line}");
    }
    let reading = oracle.reading(program);
    if reading != Reading::Text {
        let _ = writeln!(out, "//@ reading {reading}");
    }
    for (number, launch) in program.launches.iter().enumerate() {
        let _ = writeln!(out, "//@ entry {}", launch.kernel);
        let three = |n: [u32; 3]| format!("{} {} {}", n[0], n[1], n[2]);
        let _ = writeln!(out, "//@ grid {}", three(launch.grid));
        let _ = writeln!(out, "//@ block {}", three(launch.block));
        if let Some(cluster) = launch.cluster {
            let _ = writeln!(out, "//@ cluster {}", three(cluster));
        }
        if launch.dynamic_shared > 0 {
            let _ = writeln!(out, "//@ dynamic-shared {}", launch.dynamic_shared);
        }
        for arg in &launch.args {
            let _ = match &arg.value {
                ArgValue::Buffer { contents, .. } => {
                    let init = init(&words(contents));
                    writeln!(
                        out,
                        "//@ arg {} ptr u32[{}]{init}",
                        arg.name,
                        contents.len() / 4
                    )
                }
                ArgValue::Bytes(bytes) => {
                    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
                    writeln!(out, "//@ arg {} val bytes {hex}", arg.name)
                }
            };
        }
        match oracle.reference(program, number) {
            Ok(left) => match left.end {
                Err(fault) => {
                    let _ = writeln!(out, "//@ expect-fault {}", fault.kind);
                }
                Ok(_) => expectations(launch, &left, &mut out),
            },
            Err(error) => {
                let first = error.to_string();
                let first = first.lines().next().unwrap_or_default();
                let _ = writeln!(out, "// The interpreter cannot run it: {first}");
            }
        }
    }
    out.push_str(&program.text());
    out
}

/// What memory holds afterwards: of the buffers and variables that changed, or else of all.
fn expectations(launch: &LaunchSpec, left: &Outcome, out: &mut String) {
    let given = launch.args.iter().filter_map(|arg| match &arg.value {
        ArgValue::Buffer { contents, .. } => Some((arg.name.as_str(), contents)),
        ArgValue::Bytes(_) => None,
    });
    let mut lines = Vec::new();
    let mut changed = Vec::new();
    for ((name, before), after) in given.zip(&left.buffers) {
        let line = format!("//@ expect {name} {}", listed(&words(after)));
        if before != after {
            changed.push(line.clone());
        }
        lines.push(line);
    }
    for (name, after) in &left.globals {
        // The only variables that programs write.
        if matches!(name.as_str(), "grw" | "all" | "asy") {
            let line = format!("//@ expect-global {name} {}", listed(&words(after)));
            changed.push(line.clone());
            lines.push(line);
        }
    }
    for line in if changed.is_empty() { lines } else { changed } {
        let _ = writeln!(out, "{line}");
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
        .collect()
}

/// ` init ...`, or nothing for zeros.
fn init(words: &[u32]) -> String {
    let used = words
        .iter()
        .rposition(|w| *w != 0)
        .map_or(0, |last| last + 1);
    if used == 0 {
        return String::new();
    }
    if words.iter().all(|w| *w == words[0]) {
        return format!(" init all {:x}", words[0]);
    }
    format!(" init {}", listed(&words[..used]))
}

fn listed(words: &[u32]) -> String {
    let words = words.iter().take(MOST_WORDS);
    words
        .map(|w| format!("{w:08x}"))
        .collect::<Vec<_>>()
        .join(" ")
}
