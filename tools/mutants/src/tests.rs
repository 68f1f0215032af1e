//! The tests of the mutated tree: listing them, and running some of them.

use crate::tree::{TestProgram, Work};
use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A test, and what it reaches.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Test {
    /// Of the program.
    pub program: String,
    pub path: PathBuf,
    pub name: String,
    /// Whether the program takes several names at a time.
    pub batches: bool,
    /// How long it takes alone, while coverage is noted.
    pub seconds: f64,
    /// The mutants whose switch point it reaches.
    pub reached: Vec<u32>,
    /// Those among them that would give another value there.
    pub changed: Vec<u32>,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// With the name of the first test that failed, as far as the program said it.
    Failed(Option<String>),
    TimedOut,
}

/// Address space of a test, in KiB: what grows without end is stopped here.
const MEMORY: &str = "25165824";

/// Runs tests of one program. `environment` chooses the mutant.
///
/// # Errors
/// The program cannot be started.
pub fn run(
    work: &Work,
    program: &Path,
    names: &[&str],
    environment: (&str, &str),
    limit: Duration,
) -> anyhow::Result<(Outcome, Duration)> {
    let start = Instant::now();
    let output = Command::new("sh")
        .args(["-c", "ulimit -v $0; exec timeout -k 1 \"$@\"", MEMORY])
        .arg(format!("{:.3}", limit.as_secs_f64()))
        .arg(program)
        .args(["--exact", "--test-threads=1", "--color=never"])
        .args(names)
        .current_dir(work.tree())
        .env("CARGO_MANIFEST_DIR", work.tree())
        .env("RUST_BACKTRACE", "0")
        .env(environment.0, environment.1)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .with_context(|| program.display().to_string())?;
    let outcome = match output.status.code() {
        Some(0) => Outcome::Passed,
        Some(124 | 137) => Outcome::TimedOut,
        _ => Outcome::Failed(failed(&String::from_utf8_lossy(&output.stdout))),
    };
    Ok((outcome, start.elapsed()))
}

fn failed(output: &str) -> Option<String> {
    output.lines().find_map(|line| {
        let (name, verdict) = line.strip_prefix("test ")?.split_once(" ... ")?;
        verdict.contains("FAILED").then(|| name.trim().to_string())
    })
}

/// The tests of the programs, without what they reach.
///
/// # Errors
/// A program cannot say what tests it has.
pub fn list(programs: &[TestProgram], work: &Work) -> anyhow::Result<Vec<Test>> {
    let mut tests = Vec::new();
    for program in programs {
        let output = Command::new(&program.path)
            .arg("--list")
            .current_dir(work.tree())
            .output()?;
        ensure!(output.status.success(), "{} --list", program.name);
        let text = String::from_utf8(output.stdout)?;
        // libtest ends its list with a count, libtest-mimic does not; only libtest takes several names.
        let batches = text
            .lines()
            .last()
            .is_some_and(|l| l.contains("benchmarks"));
        for line in text.lines() {
            if let Some(name) = line.strip_suffix(": test") {
                tests.push(Test {
                    program: program.name.clone(),
                    path: program.path.clone(),
                    name: name.to_string(),
                    batches,
                    seconds: 0.0,
                    reached: Vec::new(),
                    changed: Vec::new(),
                });
            }
        }
    }
    Ok(tests)
}
