//! A run over test files: cases are spread over threads, results come back in the order of the files.

use super::discover::{FileKind, TestFile};
use super::report::{CaseResult, Outcome, Report, case_name};
use super::{acceptance, cases, vectors};
use crate::error::{Error, Unsupported};
use crate::ir::Reading;
use crate::runtime::{Engine, EngineConfig, EngineKind, Module, ModuleConfig};
use rayon::prelude::*;
use regex::Regex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a run does.
#[derive(Debug, Clone)]
pub struct Options {
    /// The engines; with both, their outcomes are also compared with each other.
    pub engines: Vec<EngineKind>,
    /// Which meaning instructions have, and tables of differences expect, where there are two; a file may say another.
    pub reading: Reading,
    /// Worker threads of a launch; 0 for all.
    pub threads: usize,
    /// Schedules besides the canonical one that each launch follows.
    pub seeds: u64,
    /// Only cases whose name matches.
    pub filter: Option<Regex>,
    /// Cases that run at the same time; 0 for as many as the machine runs threads.
    pub jobs: usize,
    /// How long a launch may take; `None` for as long as it wants.
    pub time_limit: Option<Duration>,
    /// Settings of Cranelift's, by name and value.
    pub settings: Vec<(String, String)>,
    /// How many threads native code takes together, one after another; none for as many as the settings say.
    pub widths: Vec<u32>,
}

impl Default for Options {
    /// Both engines, all threads, all cases.
    fn default() -> Self {
        Options {
            engines: vec![EngineKind::Interpreter, EngineKind::Native],
            reading: Reading::Text,
            threads: 0,
            seeds: 0,
            filter: None,
            jobs: 0,
            time_limit: Some(Duration::from_secs(10)),
            settings: Vec::new(),
            widths: Vec::new(),
        }
    }
}

impl Options {
    /// Whether the case of this name runs.
    pub(super) fn wants(&self, file: &str, line: Option<u32>, title: &str) -> bool {
        self.filter
            .as_ref()
            .is_none_or(|f| f.is_match(&case_name(file, line, title)))
    }
}

/// A piece of work that gives the results of some cases.
pub(super) type Job<'a> = Box<dyn FnOnce() -> Vec<CaseResult> + Send + 'a>;

/// More threads than any machine has use for.
const MOST_JOBS: usize = 1024;

/// What jobs share.
#[derive(Debug)]
pub(super) struct Shared<'a> {
    pub options: &'a Options,
    pub engine: Engine,
}

impl Shared<'_> {
    /// Reads a module as the options say.
    pub(super) fn module(
        &self,
        name: impl Into<String>,
        text: impl Into<String>,
    ) -> Result<Module, Error> {
        let config = ModuleConfig::default().name(name);
        Module::parse_with(text, config.reading(self.options.reading))
    }
}

/// What [`run_watched`] counts up to.
pub const STEPS: u64 = 1000;

/// Runs all cases of `files`.
pub fn run(files: &[TestFile], options: &Options) -> Report {
    run_watched(files, options, &|_| {})
}

/// Runs all cases of `files`; `watch` is told now and then how much is done, in parts of [`STEPS`].
pub fn run_watched(files: &[TestFile], options: &Options, watch: &(dyn Fn(u64) + Sync)) -> Report {
    let (mut cases, count) = (Vec::new(), options.widths.len() as u64);
    for (i, &width) in (0..).zip(&options.widths) {
        let mut options = options.clone();
        options.widths.clear();
        let width_is = (crate::jit::WIDTH.to_string(), width.to_string());
        options.settings.push(width_is);
        let alone = !options.engines.contains(&EngineKind::Native);
        if i > 0 && alone {
            break;
        }
        let watch = |done| watch((i * STEPS + done) / count);
        let mut report = run_watched(files, &options, &watch);
        for case in &mut report.cases {
            case.width = (case.engine == Some(EngineKind::Native)).then_some(width);
        }
        // What the interpreter does, or nobody, is the same at every width; native code is compared with it at each.
        let native = |engine: Option<EngineKind>| engine == Some(EngineKind::Native);
        cases.extend((report.cases).extract_if(.., |c| i == 0 || native(c.engine)));
    }
    if count > 0 {
        return Report { cases };
    }
    let config = EngineConfig::default()
        .kind(EngineKind::Interpreter)
        .threads(options.threads)
        .time_limit(options.time_limit);
    let settings = options.settings.iter();
    let shared = Shared {
        options,
        engine: Engine::new(settings.fold(config, |config, (k, v)| config.setting(k, v))),
    };
    let shared = &shared;
    let jobs: Vec<Job<'_>> = files.iter().flat_map(|file| jobs(shared, file)).collect();
    let (done, all) = (AtomicU64::new(0), jobs.len() as u64);
    let threads = options.jobs.min(jobs.len()).min(MOST_JOBS);
    let run = || {
        jobs.into_par_iter()
            .with_max_len(1)
            .map(|job| {
                let results = job();
                watch((done.fetch_add(1, Ordering::Relaxed) + 1) * STEPS / all);
                results
            })
            .collect::<Vec<_>>()
    };
    let results = match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(run),
        Err(_) => run(),
    };
    Report {
        cases: results.into_iter().flatten().collect(),
    }
}

/// Runs the cases of one file in both engines, native code at each of `widths`, as a test of its own, with instructions read in this
/// way.
///
/// # Errors
/// The first of the cases that fail, or need something else than `needs`; or that there are none.
pub fn expect(
    file: &TestFile,
    reading: Reading,
    widths: &[u32],
    needs: &[&str],
) -> Result<(), String> {
    const SHOWN: usize = 20;
    let options = Options {
        jobs: 1,
        reading,
        widths: widths.to_vec(),
        ..Options::default()
    };
    let report = run(std::slice::from_ref(file), &options);
    if report.cases.is_empty() {
        return Err("there are no cases".to_string());
    }
    let unexpected = report.unexpected(needs);
    if unexpected.is_empty() {
        return Ok(());
    }
    let mut lines: Vec<String> = unexpected
        .iter()
        .take(SHOWN)
        .map(|case| case.to_string())
        .collect();
    if unexpected.len() > SHOWN {
        lines.push(format!("and {} more", unexpected.len() - SHOWN));
    }
    Err(lines.join("\n"))
}

fn jobs<'a>(shared: &'a Shared<'a>, file: &'a TestFile) -> Vec<Job<'a>> {
    match file.kind {
        FileKind::Vectors => vectors::run::jobs(shared, file),
        FileKind::Statements => acceptance::statements(shared, file),
        FileKind::Versions => acceptance::versions(shared, file),
        FileKind::Modules => acceptance::modules(shared, file),
        FileKind::LaunchToml => vec![Box::new(move || cases::launch_toml(shared, file))],
        FileKind::Ptx => vec![Box::new(move || cases::ptx(shared, file))],
    }
}

/// What an error means for a case that expected to run: skipped if something is lacking, else failed.
pub(super) fn outcome_of_error(expected: &str, error: &Error) -> Outcome {
    match error {
        Error::Unsupported(lacks) => Outcome::skipped(families(lacks)),
        Error::Diagnostics(_) | Error::Usage(_) | Error::Fault(_) | Error::Internal(_) => {
            Outcome::failed(expected, error.to_string())
        }
    }
}

/// The families that are lacking; what belongs to none names itself.
pub(super) fn families(unsupported: &Unsupported) -> Vec<String> {
    unsupported
        .missing
        .iter()
        .map(|m| match m.family {
            "" => m.what.clone(),
            family => family.to_string(),
        })
        .collect()
}
