//! Reading, compiling, executing, and what entering native code costs. Native code stands beside the interpreter and
//! beside C, on the same work in the same run; checked and with the time limit on.
//!
//! The C references are compiled here, with `gcc -O3 -march=native -fno-tree-vectorize`, and for the table of kernels without the
//! last; where there is no gcc they are left out. The table of kernels has the same in OpenCL, too, where pocl is installed
//! (Debian's `pocl-opencl-icd`). What is measured is also compared: all ways give the same words, and what a description says.
//!
//! Criterion measures one bench after the other. The summary at the end (`target/bench/summary.md`, and charts beside it)
//! is measured apart from it, the benches of a group by turns; it is left out where a filter chooses some benches. So is the table
//! of kernels at full size (`target/bench/kernels.md`, `kernels.svg`); the argument `kernels` chooses it alone.

mod charts;
mod floats;
mod groups;
mod kernels;
mod measure;
mod pocl;
mod reference;
mod stages;
mod subject;
mod summary;

use criterion::{BenchmarkId, Criterion, Throughput};
use groups::{Bench, Work};
use measure::Effort;
use pocl::Pocl;
use stages::Stages;
use std::path::{Path, PathBuf};
use std::time::Duration;
use subject::Subject;
use summary::Results;

/// Has criterion measure the benches of a group.
fn measure(criterion: &mut Criterion, benches: &mut [Bench<'_>]) {
    for bench in benches {
        let mut group = criterion.benchmark_group(bench.group.clone());
        group.sample_size(10);
        match bench.work {
            Work::Bytes(n) => drop(group.throughput(Throughput::Bytes(n))),
            Work::Units(n) => drop(group.throughput(Throughput::Elements(n))),
            Work::None => {}
        }
        let id = BenchmarkId::from_parameter(&bench.name);
        group.bench_function(id, |b| b.iter_custom(|times| (bench.run)(times)));
    }
}

/// Both ways of measuring.
struct Suite {
    criterion: Criterion,
    /// Nothing if there is to be no summary.
    effort: Option<Effort>,
    results: Results,
}

impl Suite {
    fn run(&mut self, mut benches: Vec<Bench<'_>>) {
        measure(&mut self.criterion, &mut benches);
        if let Some(effort) = self.effort {
            let measured = measure::alternate(&mut benches, effort);
            self.results.measured.extend(measured);
        }
    }

    fn run_subject(&mut self, subject: &mut Subject, whole: bool) {
        self.run(groups::compiling(subject));
        self.run(groups::executing(subject));
        self.run(groups::settings(subject));
        if whole {
            self.run(groups::spreading(subject));
        }
        if let Some(effort) = self.effort {
            let stages = Stages::measure(subject, effort);
            self.results.stages.push(stages);
        }
    }
}

/// The argument that chooses the table of kernels alone.
const KERNELS: &str = "kernels";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let smoke = args.iter().any(|arg| arg == "--test" || arg == "--list");
    // Cargo gives `--bench` itself.
    let chosen = args
        .iter()
        .filter(|arg| *arg != "--bench" && *arg != "--test");
    let chosen: Vec<&str> = chosen.map(String::as_str).collect();
    let whole = chosen.is_empty();
    let with_table = whole || chosen == [KERNELS];
    // Before any thread is started.
    let pocl = with_table.then(Pocl::load).flatten();
    if chosen != [KERNELS] {
        measure_engines(whole, smoke);
    }
    if with_table {
        let table = kernels::Table::measure(smoke, pocl.as_ref());
        write_table(&table, smoke).expect("a table that can be written");
    }
}

/// All but the table of kernels; what criterion's arguments choose.
fn measure_engines(whole: bool, smoke: bool) {
    let effort = if smoke { Effort::SMOKE } else { Effort::FULL };
    let mut suite = Suite {
        criterion: Criterion::default()
            .warm_up_time(Duration::from_millis(200))
            .measurement_time(Duration::from_millis(800))
            .configure_from_args(),
        effort: whole.then_some(effort),
        results: Results::default(),
    };
    suite.run(groups::reading());
    suite.run(groups::entering());
    for subject in &mut subject::kernels() {
        suite.run_subject(subject, true);
    }
    for subject in &mut subject::kernels_that_meet() {
        suite.run(groups::executing(subject));
    }
    for subject in &mut subject::kernels_of_floats() {
        suite.run(groups::executing(subject));
    }
    let (subjects, lacking) = subject::corpus();
    suite.results.lacking = lacking;
    for mut subject in subjects {
        suite.run_subject(&mut subject, false);
    }
    suite.criterion.final_summary();
    if whole {
        write(&suite.results, smoke).expect("a summary that can be written");
    }
}

/// Where results are written; those of single turns, which say nothing, do not replace any that do.
fn folder(smoke: bool) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    let folder = target.ok_or("no target folder")?.join("bench");
    let folder = if smoke { folder.join("smoke") } else { folder };
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Writes the summary.
fn write(results: &Results, smoke: bool) -> Result<(), Box<dyn std::error::Error>> {
    let folder = folder(smoke)?;
    let text = summary::markdown(results);
    std::fs::write(folder.join("summary.md"), &text)?;
    charts::engines(&folder.join("engines.svg"), results)?;
    charts::stages(&folder.join("stages.svg"), results)?;
    println!(
        "\n{text}The summary with its charts is in {}",
        folder.display()
    );
    Ok(())
}

/// Writes the table of kernels.
fn write_table(table: &kernels::Table, smoke: bool) -> charts::Drawn {
    let folder = folder(smoke)?;
    let text = table.markdown();
    std::fs::write(folder.join("kernels.md"), &text)?;
    table.chart(&folder.join("kernels.svg"))?;
    println!(
        "\n{text}The table with its chart is in {}",
        folder.display()
    );
    Ok(())
}
