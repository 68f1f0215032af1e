//! Runs vector tables: many templates as kernels of one module, operands in registers and again as literals.

use super::table::{self, Header, Row, Word, show};
use super::template::{Literals, ModuleText, SLOT, Spelling, Template, Widths};
use crate::diag::{Diagnostics, Severity};
use crate::error::Error;
use crate::runtime::{Device, DeviceConfig, Module};
use crate::testing::discover::TestFile;
use crate::testing::exec::Prepared;
use crate::testing::launch::{Arg, ArgValue, LaunchSpec};
use crate::testing::report::{CaseResult, Outcome};
use crate::testing::suite::{Job, Shared, families};
use crate::testing::{FormatError, contents::ElemTy};
use indexmap::IndexMap;
use std::ops::Range;

/// Most templates of a module.
const GROUPS_OF_BATCH: usize = 32;
/// Most rows of a module, unless one template has more.
const ROWS_OF_BATCH: usize = 256;
/// Threads of a block.
const BLOCK: usize = 128;

/// Rows of one template with the same widths.
struct Group {
    template: Template,
    widths: Widths,
    rows: Vec<Row>,
}

/// The work that a table makes.
pub(in crate::testing) fn jobs<'a>(shared: &'a Shared<'a>, file: &'a TestFile) -> Vec<Job<'a>> {
    let mut groups: IndexMap<(Header, String, Widths), Group> = IndexMap::new();
    let mut bad = Vec::new();
    for row in table::parse(&file.name, &file.text, shared.options.reading) {
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                bad.push(error);
                continue;
            }
        };
        if !shared
            .options
            .wants(&file.name, Some(row.line), &row.template.text)
        {
            continue;
        }
        let bits = |words: &[Word]| words.iter().map(|w| w.bits).collect();
        let widths = Widths {
            operands: bits(&row.operands),
            results: bits(&row.results),
        };
        let key = (
            row.header.clone(),
            row.template.text.clone(),
            widths.clone(),
        );
        let group = groups.entry(key).or_insert_with(|| Group {
            template: row.template.clone(),
            widths,
            rows: Vec::new(),
        });
        group.rows.push(row);
    }
    let mut jobs: Vec<Job<'a>> = Vec::new();
    if !bad.is_empty() {
        jobs.push(Box::new(move || bad_rows(file, &bad)));
    }
    let mut batch = Vec::new();
    let mut of_batch: Option<Header> = None;
    let mut rows = 0;
    for ((header, ..), group) in groups {
        let full = batch.len() >= GROUPS_OF_BATCH || rows + group.rows.len() > ROWS_OF_BATCH;
        if let Some(of_batch) = of_batch.replace(header.clone())
            && (full || of_batch != header)
        {
            let batch = std::mem::take(&mut batch);
            rows = 0;
            jobs.push(Box::new(move || run_batch(shared, file, &of_batch, &batch)));
        }
        rows += group.rows.len();
        batch.push(group);
    }
    if let Some(header) = of_batch {
        jobs.push(Box::new(move || run_batch(shared, file, &header, &batch)));
    }
    jobs
}

fn bad_rows(file: &TestFile, errors: &[FormatError]) -> Vec<CaseResult> {
    errors
        .iter()
        .map(|error| CaseResult {
            file: file.name.clone(),
            line: error.line,
            title: "a row of a vector table".to_string(),
            group: "(table)".to_string(),
            engine: None,
            width: None,
            outcome: Outcome::failed("a row that can be read", error.message.clone()),
        })
        .collect()
}

/// A kernel for some rows of a group.
#[derive(Clone)]
struct Work<'g> {
    group: &'g Group,
    /// `None`: all rows, operands in registers.
    literals: Option<Vec<Variant>>,
}

/// A row with some operands as literals.
#[derive(Clone)]
struct Variant {
    row: usize,
    spelling: Vec<Spelling>,
}

impl Work<'_> {
    /// Rows of operands in the buffers, one for each thread or variant.
    fn count(&self) -> usize {
        match &self.literals {
            None => self.group.rows.len(),
            Some(variants) => variants.len(),
        }
    }

    fn row(&self, index: usize) -> &Row {
        match &self.literals {
            None => &self.group.rows[index],
            Some(variants) => &self.group.rows[variants[index].row],
        }
    }

    fn write(&self, text: &mut ModuleText, kernel: &str) -> Vec<Range<usize>> {
        let Group {
            template, widths, ..
        } = self.group;
        match &self.literals {
            None => vec![text.register_kernel(kernel, template, widths)],
            Some(variants) => {
                let rows: Vec<Literals<'_>> = variants
                    .iter()
                    .map(|v| Literals {
                        operands: &self.group.rows[v.row].operands,
                        spelling: v.spelling.clone(),
                    })
                    .collect();
                text.literal_kernel(kernel, template, widths, &rows)
            }
        }
    }

    fn spec(&self, kernel: &str) -> LaunchSpec {
        let count = self.count();
        let (grid, block) = match self.literals {
            None => (count.div_ceil(BLOCK), count.min(BLOCK)),
            Some(_) => (1, 1),
        };
        let padded = count.max(grid * block);
        let mut input = vec![0; padded * SLOT * self.group.template.operands.len()];
        let words = (0..count).flat_map(|i| &self.row(i).operands);
        for (slot, word) in input.chunks_mut(SLOT).zip(words) {
            let bytes = word.to_bytes();
            slot[..bytes.len()].copy_from_slice(&bytes);
        }
        let output = vec![0xcd; padded * SLOT * self.group.template.results.len()];
        let buffer = |name: &str, contents| Arg {
            name: name.to_string(),
            value: ArgValue::Buffer {
                ty: ElemTy::U8,
                contents,
            },
        };
        LaunchSpec {
            kernel: kernel.to_string(),
            grid: [grid as u32, 1, 1],
            block: [block as u32, 1, 1],
            cluster: None,
            workers: None,
            dynamic_shared: 0,
            args: vec![buffer("in", input), buffer("out", output)],
        }
    }

    /// The results of row or variant `index` in the output buffer.
    fn results(&self, output: &[u8], index: usize) -> Vec<Word> {
        let widths = &self.group.widths.results;
        widths
            .iter()
            .enumerate()
            .map(|(i, &bits)| {
                let start = (index * widths.len() + i) * SLOT;
                Word::from_bytes(output.get(start..).unwrap_or_default(), bits)
            })
            .collect()
    }
}

/// Why a kernel gave no results.
#[derive(Debug, Clone)]
enum Trouble {
    /// It needs these families.
    Lacks(Vec<String>),
    /// It was refused, faulted, or met a bug.
    Failed(String),
}

/// The output buffer of each engine, in the order of the options.
type Outputs = Vec<Result<Vec<u8>, Trouble>>;

/// The name of kernel `index` of a module.
fn kernel_name(index: usize) -> String {
    format!("k{index}")
}

/// Writes a module of `works`; gives it with the ranges of each work's statements.
fn write_module(header: &Header, works: &[&Work<'_>]) -> (String, Vec<Vec<Range<usize>>>) {
    let mut text = ModuleText::new(&header.directives());
    let ranges = works
        .iter()
        .enumerate()
        .map(|(i, work)| work.write(&mut text, &kernel_name(i)))
        .collect();
    (text.as_str().to_string(), ranges)
}

/// The first error in each of `ranges` (by work, by statement). `Err` if an error lies in none of them.
fn errors_in(
    diagnostics: &Diagnostics,
    ranges: &[Vec<Range<usize>>],
) -> Result<Vec<(usize, usize, String)>, String> {
    // The ranges are in the order of the text.
    let flat: Vec<(usize, usize, &Range<usize>)> = ranges
        .iter()
        .enumerate()
        .flat_map(|(w, list)| list.iter().enumerate().map(move |(i, range)| (w, i, range)))
        .collect();
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    for d in diagnostics.iter().filter(|d| d.severity == Severity::Error) {
        let start = d.span.start as usize;
        let after = flat.partition_point(|(_, _, range)| range.start <= start);
        let Some(&(work, index, _)) = after
            .checked_sub(1)
            .map(|i| &flat[i])
            .filter(|(_, _, range)| start < range.end)
        else {
            return Err(d.message.clone());
        };
        if found
            .last()
            .is_none_or(|&(w, i, _)| (w, i) != (work, index))
        {
            found.push((work, index, d.message.clone()));
        }
    }
    Ok(found)
}

/// Runs kernels as one module, those that spoil it for the others by themselves.
fn run_works(shared: &Shared<'_>, header: &Header, works: &[Work<'_>]) -> Vec<Outputs> {
    let engines = shared.options.engines.len();
    let mut outputs: Vec<Option<Outputs>> = vec![None; works.len()];
    let all = |trouble: Trouble| Some(vec![Err(trouble); engines]);
    let alone = |index: usize| {
        run_works(shared, header, &works[index..=index])
            .pop()
            .unwrap_or_default()
    };
    let module = loop {
        let left: Vec<usize> = (0..works.len()).filter(|&i| outputs[i].is_none()).collect();
        if left.is_empty() {
            break None;
        }
        let list: Vec<&Work<'_>> = left.iter().map(|&i| &works[i]).collect();
        let (text, ranges) = write_module(header, &list);
        let error = match shared.module("vectors", text) {
            Ok(module) => break Some((module, left)),
            Err(error) => error,
        };
        let attributed = match &error {
            Error::Diagnostics(diagnostics) => errors_in(diagnostics, &ranges).ok(),
            Error::Unsupported(_) | Error::Usage(_) | Error::Fault(_) | Error::Internal(_) => None,
        };
        match attributed.filter(|list| !list.is_empty()) {
            Some(list) => {
                for (work, _, message) in list {
                    outputs[left[work]] = all(Trouble::Failed(format!("refused: {message}")));
                }
            }
            None if left.len() == 1 => outputs[left[0]] = all(Trouble::Failed(error.to_string())),
            None => left.iter().for_each(|&i| outputs[i] = Some(alone(i))),
        }
    };
    if let Some((module, left)) = module {
        let instance = Device::new(DeviceConfig::default())
            .and_then(|device| shared.engine.compile(&module)?.instantiate(&device));
        for (position, &index) in left.iter().enumerate() {
            let output = match &instance {
                Ok(instance) => {
                    let spec = works[index].spec(&kernel_name(position));
                    run_work(shared, Prepared::of_instance(instance, &spec))
                }
                Err(error) => Err(error.clone()),
            };
            outputs[index] = match output {
                Ok(outputs) => Some(outputs),
                Err(Error::Unsupported(lacks)) => all(Trouble::Lacks(families(&lacks))),
                Err(_) if left.len() > 1 => Some(alone(index)),
                Err(error) => all(Trouble::Failed(error.to_string())),
            };
        }
    }
    outputs.into_iter().map(Option::unwrap_or_default).collect()
}

/// Launches a kernel in each engine. Faults are outputs, other errors are not.
fn run_work(shared: &Shared<'_>, prepared: Result<Prepared, Error>) -> Result<Outputs, Error> {
    let prepared = prepared?;
    let mut outputs = Vec::new();
    for &engine in &shared.options.engines {
        let outcome = prepared.run(engine)?;
        outputs.push(match outcome.end {
            Ok(_) => Ok(outcome.buffers.into_iter().nth(1).unwrap_or_default()),
            Err(fault) => Err(Trouble::Failed(fault.to_string())),
        });
    }
    Ok(outputs)
}

/// Which of the variants are legal PTX. `Err` if the module has errors elsewhere.
fn legal(
    header: &Header,
    groups: &[Group],
    candidates: Vec<(usize, Variant)>,
) -> Result<Vec<(usize, Variant, bool)>, String> {
    let mut verdicts: Vec<(usize, Variant, bool)> = candidates
        .into_iter()
        .map(|(group, variant)| (group, variant, true))
        .collect();
    loop {
        // Candidates come in the order of groups: each run of them is a kernel.
        let left: Vec<usize> = (0..verdicts.len()).filter(|&i| verdicts[i].2).collect();
        let runs: Vec<&[usize]> = left
            .chunk_by(|&a, &b| verdicts[a].0 == verdicts[b].0)
            .collect();
        let works: Vec<Work<'_>> = runs
            .iter()
            .map(|run| Work {
                group: &groups[verdicts[run[0]].0],
                literals: Some(run.iter().map(|&i| verdicts[i].1.clone()).collect()),
            })
            .collect();
        let (text, ranges) = write_module(header, &works.iter().collect::<Vec<_>>());
        let diagnostics = match Module::parse_named("vectors", text) {
            Ok(_) => return Ok(verdicts),
            Err(Error::Diagnostics(diagnostics)) => diagnostics,
            Err(error) => return Err(error.to_string()),
        };
        let refused: Vec<usize> = errors_in(&diagnostics, &ranges)?
            .into_iter()
            .map(|(work, index, _)| runs[work][index])
            .collect();
        if refused.is_empty() {
            return Err("a module without errors was refused".to_string());
        }
        for index in refused {
            verdicts[index].2 = false;
        }
    }
}

/// For each group, its rows with literals wherever PTX allows them.
fn literal_variants(
    header: &Header,
    groups: &[Group],
    wanted: &[bool],
) -> Result<Vec<Vec<Variant>>, String> {
    let mut accepted: Vec<Vec<Variant>> = groups.iter().map(|_| Vec::new()).collect();
    // First everything at once.
    let mut candidates = Vec::new();
    for (g, group) in groups.iter().enumerate().filter(|(g, _)| wanted[*g]) {
        for (row, words) in group.rows.iter().enumerate() {
            let spelling: Vec<Spelling> = words
                .operands
                .iter()
                .enumerate()
                .map(|(i, &word)| {
                    if group.template.may_be_literal(i) && Spelling::Integer.fits(word) {
                        Spelling::Integer
                    } else {
                        Spelling::Register
                    }
                })
                .collect();
            if spelling.contains(&Spelling::Integer) {
                candidates.push((g, Variant { row, spelling }));
            }
        }
    }
    let mut refused = Vec::new();
    for (g, variant, ok) in legal(header, groups, candidates)? {
        if ok {
            accepted[g].push(variant);
        } else {
            refused.push((g, variant));
        }
    }
    // Then each operand of what was refused by itself, as an integer or as a float.
    let mut singles = Vec::new();
    for (g, variant) in &refused {
        let words = &groups[*g].rows[variant.row].operands;
        for (i, &word) in words.iter().enumerate() {
            for literal in [Spelling::Integer, Spelling::Float] {
                if variant.spelling[i] == Spelling::Integer && literal.fits(word) {
                    let mut spelling = vec![Spelling::Register; words.len()];
                    spelling[i] = literal;
                    singles.push((
                        *g,
                        Variant {
                            row: variant.row,
                            spelling,
                        },
                    ));
                }
            }
        }
    }
    let mut allowed: IndexMap<(usize, usize), Vec<Variant>> = IndexMap::new();
    for (g, variant, ok) in legal(header, groups, singles)? {
        if ok {
            allowed.entry((g, variant.row)).or_default().push(variant);
        }
    }
    // Then those that were allowed together.
    let mut unions = Vec::new();
    for (&(g, row), variants) in &allowed {
        let mut union = vec![Spelling::Register; groups[g].rows[row].operands.len()];
        for variant in variants {
            for (to, &from) in union.iter_mut().zip(&variant.spelling) {
                if *to == Spelling::Register {
                    *to = from;
                }
            }
        }
        unions.push((
            g,
            Variant {
                row,
                spelling: union,
            },
        ));
    }
    for (g, variant, ok) in legal(header, groups, unions)? {
        if ok {
            accepted[g].push(variant);
        } else if let Some(variants) = allowed.shift_remove(&(g, variant.row)) {
            accepted[g].extend(variants);
        }
    }
    Ok(accepted)
}

/// The results of all rows of some groups.
fn run_batch(
    shared: &Shared<'_>,
    file: &TestFile,
    header: &Header,
    groups: &[Group],
) -> Vec<CaseResult> {
    let works: Vec<Work<'_>> = groups
        .iter()
        .map(|group| Work {
            group,
            literals: None,
        })
        .collect();
    // By group, engine, row.
    let mut outcomes: Vec<Vec<Vec<Outcome>>> = run_works(shared, header, &works)
        .iter()
        .zip(&works)
        .map(|(outputs, work)| outputs.iter().map(|o| compare(work, o)).collect())
        .collect();
    let runs: Vec<bool> = outcomes
        .iter()
        .map(|engines| engines.iter().flatten().any(|o| *o == Outcome::Passed))
        .collect();
    match literal_variants(header, groups, &runs) {
        Ok(variants) => {
            let (indices, works): (Vec<usize>, Vec<Work<'_>>) = variants
                .into_iter()
                .enumerate()
                .filter(|(_, variants)| !variants.is_empty())
                .map(|(g, variants)| {
                    let work = Work {
                        group: &groups[g],
                        literals: Some(variants),
                    };
                    (g, work)
                })
                .unzip();
            let outputs = run_works(shared, header, &works);
            for ((g, work), outputs) in indices.into_iter().zip(&works).zip(&outputs) {
                for (engine, output) in outputs.iter().enumerate() {
                    merge(&mut outcomes[g][engine], work, compare(work, output));
                }
            }
        }
        Err(message) => {
            for outcome in outcomes.iter_mut().flatten().flatten() {
                if *outcome == Outcome::Passed {
                    *outcome = Outcome::failed(
                        "a module with literals that is refused for them alone, if at all",
                        message.clone(),
                    );
                }
            }
        }
    }
    let mut results = Vec::new();
    for (group, engines) in groups.iter().zip(outcomes) {
        for (&engine, rows) in shared.options.engines.iter().zip(engines) {
            for (row, outcome) in group.rows.iter().zip(rows) {
                results.push(CaseResult {
                    file: file.name.clone(),
                    line: Some(row.line),
                    title: group.template.text.clone(),
                    group: group.template.mnemonic().to_string(),
                    engine: Some(engine),
                    width: None,
                    outcome,
                });
            }
        }
    }
    results.sort_by_key(|r| r.line);
    results
}

/// What came of each row or variant of a kernel.
fn compare(work: &Work<'_>, output: &Result<Vec<u8>, Trouble>) -> Vec<Outcome> {
    (0..work.count())
        .map(|index| {
            let row = work.row(index);
            let expected = match row.bound {
                Some(bound) => format!("{} within {bound}", show(&row.results)),
                None => show(&row.results),
            };
            let output = match output {
                Ok(output) => output,
                Err(Trouble::Lacks(needs)) => return Outcome::skipped(needs.iter().cloned()),
                Err(Trouble::Failed(message)) => {
                    return Outcome::failed(expected, message.clone());
                }
            };
            let got = work.results(output, index);
            let good = match row.bound {
                Some(bound) => {
                    let mut pairs = got.iter().zip(&row.results);
                    pairs.all(|(&g, &e)| bound.accepts(&row.template.text, g, e))
                }
                None => got == row.results,
            };
            if good {
                return Outcome::Passed;
            }
            let how = match &work.literals {
                None => "in registers".to_string(),
                Some(variants) => format!(
                    "written as `{}`",
                    row.template
                        .with_literals(&row.operands, &variants[index].spelling)
                ),
            };
            Outcome::failed(
                expected,
                format!("{} for {} {how}", show(&got), show(&row.operands)),
            )
        })
        .collect()
}

/// Lets a row fail whose literal form does.
fn merge(rows: &mut [Outcome], work: &Work<'_>, variants: Vec<Outcome>) {
    let Some(literals) = &work.literals else {
        return;
    };
    for (variant, outcome) in literals.iter().zip(variants) {
        let row = &mut rows[variant.row];
        if *row == Outcome::Passed && outcome != Outcome::Passed {
            *row = outcome;
        }
    }
}
