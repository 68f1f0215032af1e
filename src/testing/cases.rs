//! Launch descriptions, launch cases and function cases as tests.

use super::discover::TestFile;
use super::exec::{self, Prepared, PreparedCall};
use super::launch::ArgValue;
use super::launch_lines::{self, Expect, LaunchCase};
use super::launch_toml::{LaunchFile, Output, Stdout};
use super::report::{CaseResult, Outcome};
use super::run_lines::{self, RunLine};
use super::suite::{Shared, outcome_of_error};
use super::{FormatError, files};
use crate::diag::Severity;
use crate::error::Error;
use crate::machine::{Fault, FaultKind};
use crate::runtime::{EngineKind, Module, ModuleConfig, Program};
use std::time::Duration;

const DESCRIPTIONS: &str = "(launch description)";
const LAUNCHES: &str = "(launch case)";
const FUNCTIONS: &str = "(function case)";

/// How long a launch that is expected to run out of time is given.
const SHORT: Duration = Duration::from_millis(500);

/// Collects the results of a file.
struct Cases<'a> {
    shared: &'a Shared<'a>,
    file: &'a TestFile,
    results: Vec<CaseResult>,
}

impl Cases<'_> {
    fn push(
        &mut self,
        group: &str,
        line: Option<u32>,
        title: &str,
        engine: Option<EngineKind>,
        outcome: Outcome,
    ) {
        self.results.push(CaseResult {
            file: self.file.name.clone(),
            line,
            title: title.to_string(),
            group: group.to_string(),
            engine,
            width: None,
            outcome,
        });
    }

    /// Runs a case in each engine under the canonical schedule, and lets it fail where the engines differ from each other; then
    /// under as many others as there should be.
    fn each_engine<T>(
        &mut self,
        (group, line, title): (&str, Option<u32>, &str),
        mut run: impl FnMut(EngineKind, Option<u64>) -> Result<T, Error>,
        judge: impl Fn(Result<T, Error>) -> (Outcome, Option<T>),
        difference: impl Fn(&T, &T) -> Option<String>,
    ) {
        let mut first: Option<T> = None;
        for &engine in &self.shared.options.engines {
            let (mut outcome, left) = judge(run(engine, None));
            if let (Some(first), Some(left)) = (&first, &left)
                && outcome == Outcome::Passed
                && let Some(text) = difference(first, left)
            {
                outcome = Outcome::failed("the same in both engines", text);
            }
            for seed in 0..self.shared.options.seeds {
                if outcome != Outcome::Passed {
                    break;
                }
                if let (Outcome::Failed { expected, got }, _) = judge(run(engine, Some(seed))) {
                    outcome = Outcome::failed(format!("{expected}, with seed {seed}"), got);
                }
            }
            self.push(group, line, title, Some(engine), outcome);
            first = first.or(left);
        }
    }

    fn format_error(&mut self, group: &str, error: &FormatError) {
        let outcome = Outcome::failed("a case that can be read", error.message.clone());
        self.push(group, error.line, "a test case", None, outcome);
    }
}

/// The cases of a launch description: each module.
pub(super) fn launch_toml(shared: &Shared<'_>, file: &TestFile) -> Vec<CaseResult> {
    let mut cases = Cases {
        shared,
        file,
        results: Vec::new(),
    };
    let folder = file.path.parent().unwrap_or(&file.path).to_path_buf();
    let description = match LaunchFile::parse(&file.text, &mut |name| files::read_in(&folder, name))
    {
        Ok(description) => description,
        Err(error) => {
            cases.format_error(DESCRIPTIONS, &error);
            return cases.results;
        }
    };
    for name in &description.modules {
        let title = format!("{} of {name}", description.spec.kernel);
        if !shared.options.wants(&file.name, None, &title) {
            continue;
        }
        let prepared = files::read_text(&folder.join(name))
            .map_err(|e| Outcome::failed("a module that can be read", e.message))
            .and_then(|(path, text)| {
                shared
                    .module(path, text)
                    .and_then(|module| Prepared::new(&module, &description.spec, &shared.engine))
                    .map_err(|e| outcome_of_error("a launch", &e))
            });
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(outcome) => {
                for &engine in &shared.options.engines {
                    cases.push(DESCRIPTIONS, None, &title, Some(engine), outcome.clone());
                }
                continue;
            }
        };
        cases.each_engine(
            (DESCRIPTIONS, None, &title),
            |engine, seed| prepared.clone().seed(seed).run(engine),
            |left| match left {
                Ok(left) => (judge_description(&description, &left), Some(left)),
                Err(error) => (outcome_of_error("a launch", &error), None),
            },
            exec::difference,
        );
    }
    cases.results
}

/// Whether a launch did what its description expects.
pub(crate) fn judge_description(description: &LaunchFile, left: &exec::Outcome) -> Outcome {
    match &left.end {
        Err(fault) if description.trap && fault.kind != FaultKind::TimeLimit => Outcome::Passed,
        Err(fault) if description.trap => Outcome::failed("a trap", fault.to_string()),
        Err(fault) => Outcome::failed("a launch that ends well", fault.to_string()),
        Ok(_) if description.trap => Outcome::failed("a trap", "a launch that ends well"),
        Ok(_) => description
            .outputs
            .iter()
            .find_map(|output| wrong_output(description, left, output))
            .or_else(|| wrong_text(description.stdout.as_ref()?, &left.printed))
            .unwrap_or(Outcome::Passed),
    }
}

/// How what was printed differs from what is expected.
fn wrong_text(expected: &Stdout, printed: &[u8]) -> Option<Outcome> {
    let lines = |text: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(text).into_owned();
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_string).collect();
        if expected.any_order {
            lines.sort_unstable();
        }
        lines
    };
    let (expected, printed) = (lines(&expected.text), lines(printed));
    let count = expected.len().max(printed.len());
    let line = |list: &[String], index: usize| match list.get(index) {
        Some(line) => format!("prints {line:?}"),
        None => format!("{} lines printed", list.len()),
    };
    let index = (0..count).find(|&i| expected.get(i) != printed.get(i))?;
    Some(Outcome::failed(
        line(&expected, index),
        line(&printed, index),
    ))
}

/// How an output differs from what is expected.
fn wrong_output(
    description: &LaunchFile,
    left: &exec::Outcome,
    output: &Output,
) -> Option<Outcome> {
    let args = &description.spec.args;
    let ArgValue::Buffer { ty, .. } = args.get(output.arg)?.value else {
        return None;
    };
    let got = left.buffers.get(buffer_index(args, output.arg))?;
    let miss = output.tolerance.compare(ty, got, &output.expected).err()?;
    let name = &args[output.arg].name;
    Some(Outcome::failed(
        format!("{name}[{}] = {}", miss.index, miss.expected),
        format!("{} ({} of {} differ)", miss.got, miss.count, miss.of),
    ))
}

/// Which of the buffers argument `arg` is.
fn buffer_index(args: &[super::launch::Arg], arg: usize) -> usize {
    let buffers = args[..arg].iter();
    buffers
        .filter(|a| matches!(a.value, ArgValue::Buffer { .. }))
        .count()
}

/// The cases of a PTX file.
pub(super) fn ptx(shared: &Shared<'_>, file: &TestFile) -> Vec<CaseResult> {
    let mut cases = Cases {
        shared,
        file,
        results: Vec::new(),
    };
    let reading = match launch_lines::reading(&file.text) {
        Ok(reading) => reading.unwrap_or(shared.options.reading),
        Err(error) => {
            cases.format_error(LAUNCHES, &error);
            return cases.results;
        }
    };
    let config = ModuleConfig::default().name(&file.name).reading(reading);
    let program =
        Module::parse_with(&*file.text, config).and_then(|module| shared.engine.compile(&module));
    match launch_lines::parse(&file.text) {
        Ok(list) => list
            .iter()
            .for_each(|case| launch_case(&mut cases, &program, case)),
        Err(error) => cases.format_error(LAUNCHES, &error),
    }
    for line in run_lines::parse(&file.text) {
        match line {
            Ok(line) => function_case(&mut cases, &program, &line),
            Err(error) => cases.format_error(FUNCTIONS, &error),
        }
    }
    cases.results
}

fn launch_case(cases: &mut Cases<'_>, program: &Result<Program, Error>, case: &LaunchCase) {
    let title = format!("kernel {}", case.spec.kernel);
    let place = (LAUNCHES, Some(case.line), title.as_str());
    let options = cases.shared.options;
    if !options.wants(&cases.file.name, place.1, &title) {
        return;
    }
    if let Expect::Error(text) = &case.expect {
        let outcome = refused_with(program, text);
        cases.push(LAUNCHES, Some(case.line), &title, None, outcome);
        return;
    }
    let mut limit = options.time_limit;
    if matches!(&case.expect, Expect::Fault(text) if text.contains("time limit")) {
        limit = Some(limit.map_or(SHORT, |limit| limit.min(SHORT)));
    }
    let prepared = program
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|program| Prepared::of_program(program, &case.spec))
        .map(|prepared| prepared.time_limit(limit));
    cases.each_engine(
        place,
        |engine, seed| match &prepared {
            Ok(prepared) => prepared.clone().seed(seed).run(engine),
            Err(error) => Err(error.clone()),
        },
        |left| match left {
            Ok(left) => (judge_case(case, &left), Some(left)),
            Err(error) => (outcome_of_error("a launch", &error), None),
        },
        exec::difference,
    );
}

/// Whether a module is refused with an error that contains `text` and names a line.
fn refused_with(program: &Result<Program, Error>, text: &str) -> Outcome {
    let expected = format!("an error that contains `{text}`");
    match program {
        Ok(_) => Outcome::failed(expected, "a module without errors"),
        Err(Error::Diagnostics(diagnostics)) => {
            let contains = |s: &str| s.contains(text);
            let mut errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
            let found = errors.any(|d| {
                let underlined = diagnostics.source().slice(d.span);
                let said = contains(underlined)
                    || contains(&d.message)
                    || contains(&d.label)
                    || d.hint.as_deref().is_some_and(contains);
                // At the end of the text nothing is left to underline.
                said && (!underlined.is_empty() || d.span.start > 0)
            });
            if found {
                Outcome::Passed
            } else {
                Outcome::failed(expected, diagnostics.to_string())
            }
        }
        Err(error) => outcome_of_error(&expected, error),
    }
}

fn judge_case(case: &LaunchCase, left: &exec::Outcome) -> Outcome {
    let (buffers, globals) = match (&case.expect, &left.end) {
        (Expect::Fault(text), end) => {
            return match end {
                Err(fault) if fault.to_string().contains(text.as_str()) => Outcome::Passed,
                Err(fault) => Outcome::failed(format!("a fault: {text}"), fault.to_string()),
                Ok(_) => Outcome::failed(format!("a fault: {text}"), "a launch that ends well"),
            };
        }
        (Expect::Error(text), _) => {
            return Outcome::failed(format!("an error: {text}"), "a module without errors");
        }
        (Expect::Memory { .. }, Err(fault)) => {
            return Outcome::failed("a launch that ends well", fault.to_string());
        }
        (Expect::Memory { buffers, globals }, Ok(_)) => (buffers, globals),
    };
    for (arg, words) in buffers {
        let args = &case.spec.args;
        let memory = left.buffers.get(buffer_index(args, *arg));
        if let Some(outcome) = wrong_word(&args[*arg].name, memory, words) {
            return outcome;
        }
    }
    for (name, words) in globals {
        let variable = left.globals.iter().find(|(n, _)| n == name);
        if let Some(outcome) = wrong_word(name, variable.map(|(_, bytes)| bytes), words) {
            return outcome;
        }
    }
    Outcome::Passed
}

/// The first word that differs.
fn wrong_word(name: &str, memory: Option<&Vec<u8>>, words: &[u32]) -> Option<Outcome> {
    let Some(memory) = memory else {
        return Some(Outcome::failed(
            format!("a variable `{name}`"),
            "no such variable in .global memory",
        ));
    };
    let mut chunks = memory.chunks_exact(4);
    words.iter().enumerate().find_map(|(i, &expected)| {
        let got = chunks
            .next()
            .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]));
        (got != Some(expected)).then(|| {
            Outcome::failed(
                format!("{name}[{i}] = {expected:08x}"),
                got.map_or_else(|| "the end of memory".to_string(), |g| format!("{g:08x}")),
            )
        })
    })
}

fn function_case(cases: &mut Cases<'_>, program: &Result<Program, Error>, line: &RunLine) {
    let place = (FUNCTIONS, Some(line.line), line.text.as_str());
    if !cases
        .shared
        .options
        .wants(&cases.file.name, place.1, &line.text)
    {
        return;
    }
    let prepared = program.as_ref().map_err(Clone::clone).and_then(|program| {
        let module = program.module();
        // The `%` may belong to the name.
        let with_percent = format!("%{}", line.function);
        let name = match module.function(&line.function) {
            None if module.function(&with_percent).is_some() => &with_percent,
            _ => &line.function,
        };
        PreparedCall::of_program(program, name)
    });
    let args = match &prepared {
        Ok(prepared) => arguments(line, &prepared.parameter_sizes()),
        Err(_) => Ok(Vec::new()),
    };
    let args = match args {
        Ok(args) => args,
        Err(error) => return cases.format_error(FUNCTIONS, &error.at(line.line)),
    };
    cases.each_engine(
        place,
        |engine, _| match &prepared {
            Ok(prepared) => prepared.run(&args, engine),
            Err(error) => Err(error.clone()),
        },
        |left| match left {
            Ok(left) => (judge_call(line, &left.end), Some(left)),
            Err(error) => (outcome_of_error("a call", &error), None),
        },
        exec::call_difference,
    );
}

/// The bytes of the arguments. Their number is left to the call to check.
fn arguments(line: &RunLine, sizes: &[usize]) -> Result<Vec<Vec<u8>>, FormatError> {
    if line.args.len() != sizes.len() {
        return Err(FormatError::new(format!(
            "%{} takes {} arguments, not {}",
            line.function,
            sizes.len(),
            line.args.len()
        )));
    }
    let pairs = line.args.iter().zip(sizes);
    pairs.map(|(arg, &size)| arg.to_bytes(size)).collect()
}

fn judge_call(line: &RunLine, end: &Result<Vec<Vec<u8>>, Box<Fault>>) -> Outcome {
    let expected: Vec<String> = line.results.iter().map(|r| r.value.to_string()).collect();
    let expected = expected.join(", ");
    let results = match end {
        Ok(results) => results,
        Err(fault) => return Outcome::failed(expected, fault.to_string()),
    };
    if results.len() != line.results.len() {
        return Outcome::failed(
            format!("{} results", line.results.len()),
            format!("{}: {}", results.len(), exec::show_results(results)),
        );
    }
    for (result, wanted) in results.iter().zip(&line.results) {
        match wanted.accepts(result) {
            Ok(true) => {}
            Ok(false) => return Outcome::failed(expected, exec::show_results(results)),
            Err(error) => return Outcome::failed(expected, error.message),
        }
    }
    Outcome::Passed
}
