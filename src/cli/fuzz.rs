//! `ptxlift fuzz`

use super::error::Failure;
use super::interrupt;
use super::json;
use super::numbers;
use super::out::{Out, warn};
use super::progress::Progress;
use super::{EngineArg, ReadingArg, settings};
use crate::fuzzing::{self, Campaign, Options, Totals, Verdict, listing, rows};
use crate::runtime::EngineKind;
use serde_json::json as object;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// After so many programs every row has its turn several times: one that never ran then is a failure.
const ENOUGH: u64 = 1000;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Ctrl-C ends it early: it says what it has come to until then.

Examples:
  ptxlift fuzz --seconds 60 --jobs 2
  ptxlift fuzz --seed 7 --programs 1 --print
  ptxlift fuzz --seconds 60 --seeds 5
  ptxlift fuzz --seconds 600 --out failures; ptxlift test failures")]
pub(super) struct Args {
    /// Begin no further program after so many seconds [default: 10, without --programs]
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
    /// Seed of the first program; the others have the next ones [default: by the clock]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Run no more than so many programs
    #[arg(long, value_name = "N")]
    programs: Option<u64>,
    /// Who executes
    #[arg(long, value_enum, default_value = "both")]
    engine: EngineArg,
    /// Programs that run at the same time
    #[arg(long, value_name = "N", value_parser = numbers::count, default_value = "1", alias = "threads")]
    jobs: NonZeroUsize,
    /// Write programs that fail into this folder, as launch cases [default: to standard output]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run each launch by so many schedules other than the canonical one [default: one or two in some programs]
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,
    /// Read all programs so where NVIDIA's tools depart from the text of the PTX ISA [default: by the text, some by the tools]
    #[arg(long, value_enum)]
    reading: Option<ReadingArg>,
    /// Leave programs that fail as large as they are
    #[arg(long)]
    no_shrink: bool,
    /// Print counts of all rows, not only a summary
    #[arg(long)]
    rows: bool,
    /// Print the text of the first program, and run nothing
    #[arg(long, conflicts_with = "json")]
    print: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    set: settings::Set,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    args.set.check()?;
    let seed = args.seed.unwrap_or_else(seed_by_the_clock);
    if args.print {
        out.text(format_args!("{}", fuzzing::Program::from_seed(seed).text()));
        return Ok(());
    }
    let time = args.seconds.or(match args.programs {
        Some(_) => None,
        None => Some(10.0),
    });
    let time = time
        .map(Duration::try_from_secs_f64)
        .transpose()
        .map_err(|e| Failure::Usage(format!("`--seconds`: {e}")))?;
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder)
            .map_err(|e| Failure::Input(format!("{}: {e}", folder.display())))?;
    }
    let kinds = args.engine.kinds();
    let campaign = Campaign {
        seed,
        programs: args.programs,
        time,
        jobs: args.jobs.get(),
        cancel: interrupt::cancel()?,
        options: Options {
            interpreter: kinds.contains(&EngineKind::Interpreter),
            native: kinds.contains(&EngineKind::Native),
            seeds: args.seeds,
            reading: args.reading.map(ReadingArg::reading),
            settings: args.set.pairs(),
            ..Options::default()
        },
        shrink: !args.no_shrink,
    };
    let totals = interrupt::cancellable(|| watched(&campaign, args.json));
    let files = write_failures(args, &totals)?;
    if args.json {
        json::write(out, "fuzz", &to_json(&campaign, &totals, &files))?;
    } else {
        report(args, &campaign, &totals, &files, out);
    }
    let never = if campaign.options.interpreter && totals.programs >= ENOUGH {
        totals.never_run().len()
    } else {
        0
    };
    if never > 0 {
        warn(
            &mut Out::stderr(),
            "error",
            &format!("{never} rows never ran in {} programs", totals.programs),
        );
    }
    let bugs = |v: &Verdict| matches!(v, Verdict::Bug(_));
    if !totals.failures.is_empty() || !totals.broken.is_empty() || never > 0 {
        let only_bugs = !totals.failures.is_empty()
            && totals.failures.iter().all(|failure| bugs(&failure.verdict));
        return Err(Failure::Said(if only_bugs { 70 } else { 1 }));
    }
    match campaign.cancel.is_cancelled() {
        true => Err(Failure::Said(interrupt::EXIT_CODE)),
        false => Ok(()),
    }
}

/// Another one each time.
fn seed_by_the_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanoseconds = since.map_or(0, |t| t.as_nanos() as u64);
    // Short enough to be copied by hand.
    nanoseconds.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

/// Runs a campaign, with a line of progress on a terminal.
fn watched(campaign: &Campaign, json: bool) -> Totals {
    let progress = match json {
        true => Progress::NONE,
        false => Progress::new("fuzz", 1),
    };
    fuzzing::run(campaign, &|totals: &Totals| {
        progress.say(|| {
            format!(
                "{} programs, {:.0} a second, each row {} times or more, {} failures",
                totals.programs,
                rate(totals),
                totals.fewest(),
                totals.failures.len()
            )
        });
    })
}

fn rate(totals: &Totals) -> f64 {
    totals.programs as f64 / totals.elapsed.as_secs_f64().max(1e-3)
}

/// Writes the cases of failures, where a folder is given; gives their names.
fn write_failures(args: &Args, totals: &Totals) -> Result<Vec<PathBuf>, Failure> {
    let Some(folder) = &args.out else {
        return Ok(Vec::new());
    };
    let mut files = Vec::new();
    for failure in &totals.failures {
        let file = Path::new(folder).join(format!("fuzz-{}.ptx", failure.seed));
        std::fs::write(&file, &failure.case)
            .map_err(|e| Failure::Input(format!("{}: {e}", file.display())))?;
        files.push(file);
    }
    Ok(files)
}

/// What came of a failure, in a line.
fn headline(verdict: &Verdict) -> String {
    let text = match verdict {
        Verdict::Agree => "the engines agree".to_string(),
        Verdict::Differ(difference) => {
            format!(
                "the engines differ ({}): {}",
                difference.variant, difference.what
            )
        }
        Verdict::Refused(why) => format!("the checker refuses it: {why}"),
        Verdict::Bug(what) => format!("a bug: {what}"),
        Verdict::TimeLimit => "it runs out of time".to_string(),
    };
    text.lines().next().unwrap_or_default().to_string()
}

fn report(args: &Args, campaign: &Campaign, totals: &Totals, files: &[PathBuf], out: &mut Out) {
    for (index, failure) in totals.failures.iter().enumerate() {
        out.text(format_args!(
            "seed {}: {}\n",
            failure.seed,
            headline(&failure.verdict)
        ));
        match files.get(index) {
            Some(file) => out.text(format_args!("  written to {}\n", file.display())),
            None => out.text(format_args!("{}\n", failure.case)),
        }
        let reading = campaign.options.reading.map(|r| format!(" --reading {r}"));
        out.text(format_args!(
            "  again: ptxlift fuzz --seed {} --programs 1{}\n\n",
            failure.seed,
            reading.unwrap_or_default()
        ));
    }
    for broken in &totals.broken {
        out.text(format_args!("a row is wrong: {broken}\n"));
    }
    if args.rows {
        out.text(format_args!(
            "{:>12} {:>12}  row\n",
            "executed", "generated"
        ));
        for (row, count) in rows().iter().zip(&totals.rows) {
            out.text(format_args!(
                "{:>12} {:>12}  {}\n",
                count.executed,
                count.generated,
                listing(row)
            ));
        }
        out.text(format_args!("\n"));
    }
    let seconds = totals.elapsed.as_secs_f64();
    out.text(format_args!(
        "seed {}: {} programs, {} launches, {} executed instructions in {seconds:.1} s; {:.0} programs a second\n",
        campaign.seed,
        totals.programs,
        totals.launches,
        totals.steps,
        rate(totals)
    ));
    out.text(format_args!(
        "{} launches by other schedules, {} of them of programs that leave the same by all\n",
        totals.shuffled, totals.fixed
    ));
    if campaign.options.native {
        out.text(format_args!(
            "native code left {} launches to the interpreter\n",
            totals.left
        ));
    }
    let faults: Vec<String> = totals
        .faults
        .iter()
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    if !faults.is_empty() {
        out.text(format_args!(
            "faults in both engines: {}\n",
            faults.join(", ")
        ));
    }
    if campaign.options.interpreter {
        out.text(format_args!(
            "{} rows, each executed {} times or more; {} never\n",
            totals.rows.len(),
            totals.fewest(),
            totals.never_run().len()
        ));
        for row in totals.never_run() {
            out.text(format_args!("  never: {}\n", listing(rows()[row])));
        }
    }
    out.text(format_args!(
        "{} combinations refused by the rows' own rules; {} failures\n",
        totals.combinations_refused,
        totals.failures.len()
    ));
}

fn to_json(campaign: &Campaign, totals: &Totals, files: &[PathBuf]) -> serde_json::Value {
    let counts: Vec<_> = rows()
        .iter()
        .zip(&totals.rows)
        .map(|(row, count)| {
            object!({
                "row": listing(row),
                "generated": count.generated,
                "executed": count.executed,
            })
        })
        .collect();
    let failures: Vec<_> = totals
        .failures
        .iter()
        .enumerate()
        .map(|(index, failure)| {
            object!({
                "seed": failure.seed,
                "what": headline(&failure.verdict),
                "file": files.get(index).map(|f| f.display().to_string()),
                "case": failure.case,
            })
        })
        .collect();
    object!({
        "seed": campaign.seed,
        "programs": totals.programs,
        "launches": totals.launches,
        "shuffled_launches": totals.shuffled,
        "shuffled_launches_fixed": totals.fixed,
        "left_to_interpreter": totals.left,
        "executed": totals.steps,
        "seconds": totals.elapsed.as_secs_f64(),
        "faults": totals.faults,
        "combinations_refused": totals.combinations_refused,
        "broken_rows": totals.broken,
        "rows": counts,
        "failures": failures,
    })
}
