//! Reading, compiling, executing, and what entering native code costs. Native code stands beside the interpreter and
//! beside C, on the same work in the same run; checked and with the time limit on.
//!
//! The C references are compiled here, with `gcc -O3 -march=native -fno-tree-vectorize`; where there is no gcc they are
//! left out. What is measured is also compared: all ways give the same words, and what a description says.
//!
//! Criterion measures one bench after the other. The summary at the end (`target/bench/summary.md`, and charts beside it)
//! is measured apart from it, the benches of a group by turns; it is left out where a filter chooses some benches.

mod charts;
mod floats;
mod groups;
mod measure;
mod reference;
mod stages;
mod subject;
mod summary;

use criterion::{BenchmarkId, Criterion, Throughput};
use groups::{Bench, Work};
use measure::Effort;
use stages::Stages;
use std::path::Path;
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
            Work::Threads(n) => drop(group.throughput(Throughput::Elements(n))),
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

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let smoke = args.iter().any(|arg| arg == "--test" || arg == "--list");
    // Cargo gives `--bench` itself.
    let whole = args.iter().all(|arg| arg == "--bench" || arg == "--test");
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

/// Writes the summary; one of single turns, which says nothing, does not replace one that does.
fn write(results: &Results, smoke: bool) -> Result<(), Box<dyn std::error::Error>> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    let folder = target.ok_or("no target folder")?.join("bench");
    let folder = if smoke { folder.join("smoke") } else { folder };
    std::fs::create_dir_all(&folder)?;
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
