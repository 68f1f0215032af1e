//! `ptxlift test`

use super::error::Failure;
use super::out::Out;
use super::{EngineArg, ReadingArg};
use crate::testing::{discover, suite};
use regex::Regex;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files and folders; folders are searched deeply
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Who executes
    #[arg(long, value_enum, default_value = "both")]
    engine: EngineArg,
    /// Worker threads of a launch [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<std::num::NonZeroUsize>,
    #[arg(long, value_name = "N", hide = true)]
    seeds: Option<u64>,
    #[arg(long, value_name = "W", hide = true)]
    width: Option<String>,
    /// Which meaning is expected where NVIDIA's tools depart from the text of the PTX ISA
    #[arg(long, value_enum, default_value = "isa")]
    reading: ReadingArg,
    /// Only cases whose name (FILE:LINE: TITLE) matches
    #[arg(long, value_name = "REGEX")]
    filter: Option<String>,
    /// Cases that run at the same time [default: as many as the machine runs threads]
    #[arg(long, value_name = "N")]
    jobs: Option<std::num::NonZeroUsize>,
    /// Print one JSON object for each case; the summary goes to standard error
    #[arg(long)]
    json: bool,
    /// Count what is unsupported as failed
    #[arg(long)]
    strict: bool,
    /// Most seconds that a launch may take
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    timeout: f64,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    args.reading.require_isa()?;
    super::require_width_1(args.width.as_deref())?;
    if args.seeds.is_some_and(|n| n > 0) {
        return Err(Failure::not_yet(
            "`--seeds`",
            "every launch follows the canonical schedule",
        ));
    }
    let filter = args
        .filter
        .as_deref()
        .map(Regex::new)
        .transpose()
        .map_err(|e| Failure::Usage(format!("`--filter`: {e}")))?;
    let files = discover::discover(&args.paths).map_err(|e| Failure::Input(e.to_string()))?;
    let mut report = suite::run(
        &files,
        &suite::Options {
            engines: args.engine.kinds(),
            threads: args.threads.map_or(0, Into::into),
            filter,
            jobs: args.jobs.map_or(0, Into::into),
            time_limit: Duration::try_from_secs_f64(args.timeout)
                .map_err(|e| Failure::Usage(format!("`--timeout`: {e}")))?,
        },
    );
    if args.strict {
        report.be_strict();
    }
    if args.json {
        report.write_json(out)?;
        report.write_failures(&mut Out::stderr())?;
        report.write_summary(&mut Out::stderr())?;
    } else {
        report.write_failures(out)?;
        report.write_summary(out)?;
    }
    match report.counts().failed {
        0 => Ok(()),
        _ => Err(Failure::Said(1)),
    }
}
