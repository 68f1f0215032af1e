//! Mutation testing with all mutants in one build. See README.md.

mod find;
mod mutant;
mod render;
mod report;
mod run;
mod tests;
mod tree;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use tree::Work;

#[derive(Parser)]
struct Arguments {
    /// The folder of this run: the mutated copy of the source, the build, the results
    #[arg(long, global = true, default_value = "target/mutants")]
    work: PathBuf,
    /// Processes at the same time
    #[arg(long, global = true, default_value_t = 2)]
    jobs: usize,
    #[command(subcommand)]
    step: Step,
}

#[derive(Subcommand)]
enum Step {
    /// Copies the source, writes all mutants into the copy, takes out what does not compile
    Prepare {
        /// The tree that is copied
        #[arg(long, default_value = ".")]
        source: PathBuf,
        /// Output of `cargo mutants --list --json`
        #[arg(long)]
        list: PathBuf,
        /// Mutants of cargo-mutants only
        #[arg(long)]
        listed_only: bool,
        /// Only those that were not caught in the run of this folder, or that it did not have
        #[arg(long)]
        again: Option<PathBuf>,
    },
    /// Builds the tests of the copy and finds out which test reaches which mutant
    Cover,
    /// Runs each mutant against the tests that reach it, as far as that has not been done
    Run {
        /// Only these, by number
        #[arg(long, value_delimiter = ',')]
        only: Vec<u32>,
        /// Only those that were not caught in the run of this folder, or that it did not have
        #[arg(long)]
        again: Option<PathBuf>,
        /// Seconds of tests for a mutant; what has passed them all waits for a later run
        #[arg(long, default_value_t = f64::INFINITY)]
        budget: f64,
    },
    /// Prints totals, and the mutants that were not caught
    Report,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    std::fs::create_dir_all(&arguments.work)?;
    let work = Work {
        root: arguments.work.canonicalize()?,
    };
    match arguments.step {
        Step::Prepare {
            source,
            list,
            listed_only,
            again,
        } => {
            let mutants = mutant::read_list(&list, &source)?;
            let before = again.map(run::Before::read).transpose()?;
            tree::prepare(&source, &work, mutants, !listed_only, before.as_ref())
        }
        Step::Cover => run::cover(&work, &tree::build(&work)?, arguments.jobs),
        Step::Run {
            only,
            again,
            budget,
        } => {
            let mut mutants = work.read_mutants()?;
            if !only.is_empty() {
                mutants.retain(|m| only.contains(&m.id));
            }
            if let Some(root) = again {
                let before = run::Before::read(root)?;
                mutants.retain(|m| before.leaves(m));
            }
            run::run(&work, &mutants, arguments.jobs, budget)
        }
        Step::Report => {
            let (mutants, results) = (work.read_mutants()?, run::read_results(&work)?);
            print!("{}", report::report(&mutants, &results));
            Ok(())
        }
    }
}
