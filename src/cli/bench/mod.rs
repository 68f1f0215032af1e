//! `ptxlift bench`

mod measure;
mod show;
mod vary;

use super::error::Failure;
use super::numbers::{self, TimeLimit};
use super::out::Out;
use super::run::LaunchArgs;
use super::run::job::Job;
use super::{EngineArg, interrupt, settings};
use crate::runtime::{Engine, EngineKind, Module};
use crate::testing::cases::judge_description;
use crate::testing::exec::{self, Outcome, Prepared};
use crate::testing::report;
use measure::Times;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;
use vary::{Configuration, Vary};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every configuration is compiled and launched in turn with the others, so that what slows the machine slows all of them.
Before anything is timed, outputs are compared with what is expected, and between the configurations.

Examples:
  ptxlift bench case/launch.toml
  ptxlift bench case/launch.toml --vary opt_level=none,speed --vary regalloc_algorithm=backtracking,single_pass
  ptxlift bench case/launch.toml --engine jit --vary threads=1,2,4 --time 5
  ptxlift bench scale.ptx --grid 100 --block 256 --arg u32[25600]:zeros --arg u32:3")]
pub(super) struct Args {
    /// Descriptions of launches, or PTX files
    #[arg(required = true, value_name = "LAUNCH.toml|FILE.ptx")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    launch: LaunchArgs,
    /// Measure with each of these values of a setting, or of `threads`; with several, every combination
    #[arg(long, value_name = "KEY=V1,V2", value_parser = vary::parse)]
    vary: Vec<Vary>,
    /// Who executes
    #[arg(long, value_enum, default_value = "both")]
    engine: EngineArg,
    /// Worker threads [default: all]
    #[arg(long, value_name = "N", value_parser = numbers::count)]
    threads: Option<NonZeroUsize>,
    /// Seconds for which each configuration is compiled, and launched
    #[arg(long, value_name = "SECONDS", value_parser = parse_time, default_value = "1")]
    time: Duration,
    /// Most seconds that a launch may take; 0 for no limit
    #[arg(long, value_name = "SECONDS", value_parser = numbers::time_limit, default_value = "10")]
    timeout: TimeLimit,
    /// Print one JSON object for each row
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    set: settings::Set,
}

/// More rows than anybody reads.
const MOST_COMBINATIONS: usize = 1000;

fn parse_time(text: &str) -> Result<Duration, String> {
    numbers::time_limit(text).map(|TimeLimit(time)| time.unwrap_or_default())
}

/// What was measured of a configuration.
struct Row {
    configuration: Configuration,
    /// Nothing for the interpreter.
    compile: Option<Times>,
    code_bytes: usize,
    launch: Times,
}

/// What was measured of a kernel.
struct Table<'a> {
    job: &'a Job,
    module: &'a str,
    rows: Vec<Row>,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    args.set.check_one()?;
    for (index, vary) in args.vary.iter().enumerate() {
        if args.vary[..index].iter().any(|v| v.key == vary.key) {
            return Err(Failure::Usage(format!(
                "`--vary {}=...` is there twice; write all values behind one",
                vary.key
            )));
        }
    }
    let count = args
        .vary
        .iter()
        .fold(1, |n: usize, vary| n.saturating_mul(vary.values.len()));
    if count > MOST_COMBINATIONS {
        return Err(Failure::Usage(format!(
            "`--vary`: these are {count} combinations, more than {MOST_COMBINATIONS}"
        )));
    }
    let configurations = vary::combinations(&args.vary, &args.engine.kinds());
    let engines: Vec<Engine> = configurations
        .iter()
        .map(|c| {
            c.engine(
                &args.set,
                args.threads.map_or(0, Into::into),
                args.timeout.0,
            )
        })
        .collect();
    for file in &args.files {
        let job = args.launch.job(file)?;
        for input in &job.modules {
            let module = args.launch.reading.module(&*input.name, &*input.text)?;
            if job.description.is_none() {
                args.launch.check_arguments(file, &module, &job.spec)?;
            }
            let rows = measure(&job, &module, &configurations, &engines, args.time)?;
            let table = Table {
                job: &job,
                module: &input.name,
                rows,
            };
            if args.json {
                show::json(&table, out)?;
            } else {
                show::text(&table, out);
            }
        }
    }
    Ok(())
}

fn measure(
    job: &Job,
    module: &Module,
    configurations: &[Configuration],
    engines: &[Engine],
    budget: Duration,
) -> Result<Vec<Row>, Failure> {
    let prepared = prepare(job, module, configurations, engines)?;
    let code_bytes: Vec<usize> = prepared
        .iter()
        .map(|(p, _)| p.program().compile_stats().map_or(0, |s| s.code_bytes))
        .collect();
    let compile = measure::compile(module, engines, budget)?;
    let launch = measure::launch(&prepared, budget)?;
    let rows = configurations.iter().zip(code_bytes);
    let rows = rows.zip(compile).zip(launch);
    Ok(rows
        .map(|(((configuration, code_bytes), compile), launch)| Row {
            configuration: configuration.clone(),
            compile,
            code_bytes,
            launch,
        })
        .collect())
}

/// Compiles, launches once and compares: what is wrong is not timed.
fn prepare(
    job: &Job,
    module: &Module,
    configurations: &[Configuration],
    engines: &[Engine],
) -> Result<Vec<(Prepared, EngineKind)>, Failure> {
    let cancel = interrupt::cancel()?;
    let mut all = Vec::new();
    let mut first: Option<Outcome> = None;
    for (configuration, engine) in configurations.iter().zip(engines) {
        let prepared = Prepared::new(module, &job.spec, engine)?.cancel(&cancel);
        let left = prepared.run(configuration.kind)?;
        let wrong = |what: String| {
            let name = module.source().name();
            Failure::Input(format!("{name}: {configuration}: {what}; it is not timed"))
        };
        if let Some(description) = &job.description
            && let report::Outcome::Failed { expected, got } = judge_description(description, &left)
        {
            return Err(wrong(format!("expected {expected}; got {got}")));
        }
        if let Err(fault) = left.end {
            return Err(wrong(format!("it ends in a fault: {fault}")));
        }
        match &first {
            None => first = Some(left),
            Some(first) => {
                if let Some(difference) = exec::difference(first, &left) {
                    return Err(wrong(format!(
                        "it differs from {}: {difference}",
                        configurations[0]
                    )));
                }
            }
        }
        all.push((prepared, configuration.kind));
    }
    Ok(all)
}
