//! `ptxlift test`

use super::error::Failure;
use super::numbers::{self, TimeLimit};
use super::out::{Out, Style};
use super::progress::Progress;
use super::{EngineArg, ReadingArg, input, json, settings};
use crate::testing::discover::{self, DiscoverError};
use crate::testing::report::{CaseResult, Outcome, engine_name};
use crate::testing::suite;
use regex::Regex;
use serde::Serialize;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Files: launch.toml, *.tsv, and *.ptx with `//@ entry` or `// run:` lines. `-` is one such file on standard input.
The last line is `N passed, N failed, N skipped`; skipped is what needs something that is not built yet.

Examples:
  ptxlift test tests/vectors tests/cases
  ptxlift test --engine jit --filter 'bfe|bfi' tests/vectors
  ptxlift test --json tests/corpus | jq -r 'select(.outcome == \"failed\") | .name'")]
pub(super) struct Args {
    /// Files and folders; folders are searched deeply
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Who executes
    #[arg(long, value_enum, default_value = "both")]
    engine: EngineArg,
    /// Worker threads of a launch [default: all]
    #[arg(long, value_name = "N", value_parser = numbers::count)]
    threads: Option<NonZeroUsize>,
    /// Follow the canonical schedule and N others; expectations hold under each [implies --threads 1]
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// Which meaning is followed, and expected by *_vs_spec.tsv, where NVIDIA's tools depart from the text of the PTX ISA; files with
    /// `//@ reading` have their own
    #[arg(long, value_enum, default_value = "text")]
    reading: ReadingArg,
    /// Only cases whose name (FILE:LINE: TITLE) matches
    #[arg(long, value_name = "REGEX")]
    filter: Option<String>,
    /// Cases that run at the same time [default: as many as the machine runs threads]
    #[arg(long, value_name = "N", value_parser = numbers::count)]
    jobs: Option<NonZeroUsize>,
    /// Print one JSON object for each case; failures and summary go to standard error in words
    #[arg(long)]
    json: bool,
    /// Count what is unsupported as failed
    #[arg(long)]
    strict: bool,
    /// Most seconds that a launch may take; 0 for no limit
    #[arg(long, value_name = "SECONDS", value_parser = numbers::time_limit, default_value = "10")]
    timeout: TimeLimit,
    #[command(flatten)]
    set: settings::Set,
}

/// A case, for programs.
#[derive(Serialize)]
struct Case<'a> {
    name: String,
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    title: &'a str,
    instruction: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    got: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: Option<&'a [String]>,
}

impl<'a> Case<'a> {
    fn new(case: &'a CaseResult) -> Self {
        let (outcome, expected, got, needs) = match &case.outcome {
            Outcome::Passed => ("passed", None, None, None),
            Outcome::Failed { expected, got } => ("failed", Some(expected), Some(got), None),
            Outcome::Skipped { needs } => ("skipped", None, None, Some(&needs[..])),
        };
        Case {
            name: case.name(),
            file: &case.file,
            line: case.line,
            title: &case.title,
            instruction: &case.group,
            engine: case.engine.map(engine_name),
            width: case.width,
            outcome,
            expected: expected.map(String::as_str),
            got: got.map(String::as_str),
            needs,
        }
    }
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    args.set.check()?;
    let filter = args
        .filter
        .as_deref()
        .map(Regex::new)
        .transpose()
        .map_err(|e| Failure::Usage(format!("`--filter`: {e}")))?;
    let files = discover::discover(&args.paths).map_err(|error| match error {
        DiscoverError::Io { path, error } => input::unreadable(&path, &error),
        DiscoverError::NotText { .. } | DiscoverError::NoCases(_) => {
            Failure::Input(error.to_string())
        }
    })?;
    let progress = if args.json {
        Progress::NONE
    } else {
        Progress::new("test", suite::STEPS)
    };
    let options = suite::Options {
        engines: args.engine.kinds(),
        reading: args.reading.reading(),
        threads: match args.seeds {
            Some(_) => 1,
            None => args.threads.map_or(0, Into::into),
        },
        seeds: args.seeds.unwrap_or(0),
        filter,
        jobs: args.jobs.map_or(0, Into::into),
        time_limit: args.timeout.0,
        settings: args.set.pairs(),
        widths: args.set.widths().to_vec(),
    };
    let mut report = suite::run_watched(&files, &options, &|done| progress.at(done));
    drop(progress);
    if args.strict {
        report.be_strict();
    }
    let counts = report.counts();
    if args.json {
        for case in &report.cases {
            json::write(out, "case", &Case::new(case))?;
        }
        report.write_failures(&mut Out::stderr())?;
        report.write_summary(&mut Out::stderr())?;
    } else {
        for failure in report.failures() {
            let line = failure.to_string();
            let (word, rest) = line.split_at("FAILED".len());
            let word = out.paint(Style::Bad, word);
            out.text(format_args!("{word}{rest}\n"));
        }
        report.write_table(out)?;
        let style = match counts.failed {
            0 => Style::Good,
            _ => Style::Bad,
        };
        let sums = out.paint(style, &counts.to_string());
        writeln!(out, "{sums}")?;
    }
    match (counts.failed, report.cases.len(), &args.filter) {
        (0, 0, Some(filter)) => Err(Failure::Usage(format!(
            "`--filter {filter}`: no case has such a name"
        ))
        .hint("a name is FILE:LINE: TITLE; `ptxlift test --json` prints them all")),
        (0, ..) => Ok(()),
        _ => Err(Failure::Said(1)),
    }
}
