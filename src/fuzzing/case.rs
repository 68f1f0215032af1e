//! Writes a program as a launch case: `//@` lines, with what the interpreter leaves as expectations.

use super::oracle::{Oracle, Verdict};
use super::program::Program;
use crate::testing::launch::ArgValue;
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
    for (number, launch) in program.launches.iter().enumerate() {
        let _ = writeln!(out, "//@ entry {}", launch.kernel);
        let three = |n: [u32; 3]| format!("{} {} {}", n[0], n[1], n[2]);
        let _ = writeln!(out, "//@ grid {}", three(launch.grid));
        let _ = writeln!(out, "//@ block {}", three(launch.block));
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
                Ok(_) => {
                    let buffers = launch
                        .args
                        .iter()
                        .filter(|arg| matches!(arg.value, ArgValue::Buffer { .. }));
                    for (arg, bytes) in buffers.zip(&left.buffers) {
                        let list = listed(&words(bytes));
                        if arg.name != "in" && !list.is_empty() {
                            let _ = writeln!(out, "//@ expect {} {list}", arg.name);
                        }
                    }
                    for (name, bytes) in &left.globals {
                        let list = listed(&words(bytes));
                        if !list.is_empty() && name == "grw" {
                            let _ = writeln!(out, "//@ expect-global {name} {list}");
                        }
                    }
                }
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
