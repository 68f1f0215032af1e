//! Fills `fuzz/corpus` with what the targets begin with, from the files in `tests/`, and writes `fuzz/ptx.dict`, the
//! dictionary of the targets that take any bytes.

use ptxlift::Reading;
use ptxlift::diag::Source;
use ptxlift::fuzzing::{dictionary, text};
use ptxlift::syntax::ast::{Item, Module};
use ptxlift::syntax::{parse, print};
use ptxlift::testing::contents::SplitMix64;
use ptxlift::testing::vectors::table;
use ptxlift::testing::vectors::template::{ModuleText, Widths};
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Longer ones make slow targets.
const MOST_BYTES: usize = 8 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut modules = BTreeSet::new();
    let mut templates = BTreeSet::new();
    for path in files(&fuzz.join("../tests"))? {
        let bytes = fs::read(&path)?;
        let Some(text) = text::of_bytes(&bytes) else {
            continue;
        };
        match path.extension().and_then(|e| e.to_str()) {
            Some("ptx") => {
                modules.insert(text.to_string());
            }
            Some("tsv") if path.components().any(|c| c.as_os_str() == "vectors") => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                templates.extend(template_modules(&name, text));
            }
            _ => {}
        }
    }
    let short: BTreeSet<_> = modules
        .iter()
        .filter(|m| m.len() <= MOST_BYTES)
        .cloned()
        .collect();
    for target in ["lexer", "parser", "check"] {
        write(&fuzz.join("corpus").join(target), &short)?;
    }
    let runnable = modules.iter().flat_map(|m| single_functions(m));
    let runnable = runnable.chain(templates).chain(short);
    let runnable = runnable
        .filter(|m| m.len() <= MOST_BYTES && text::check(m.as_bytes()).is_some())
        .collect();
    write(&fuzz.join("corpus/mutate"), &runnable)?;
    write(&fuzz.join("corpus/programs"), &decisions())?;
    fs::write(fuzz.join("ptx.dict"), dictionary::libfuzzer())?;
    Ok(())
}

fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

fn write(folder: &Path, inputs: &BTreeSet<impl AsRef<[u8]>>) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    for (i, input) in inputs.iter().enumerate() {
        fs::write(folder.join(format!("seed-{i:04}")), input)?;
    }
    println!("{}: {} files", folder.display(), inputs.len());
    Ok(())
}

/// A module for each function of one, without comments; of those that need others only they themselves remain, and
/// are refused later.
fn single_functions(module: &str) -> Vec<String> {
    let source = Source::new("seed", module);
    let parsed = parse(&source);
    if !parsed.is_ok() {
        return Vec::new();
    }
    let items = parsed.module.items;
    let is_body = |item: &Item<'_>| matches!(item, Item::Function(f) if f.body.is_some());
    let bodies = (0..items.len()).filter(|&i| is_body(&items[i]));
    let alone = bodies.map(|kept| {
        let part = (0..items.len()).filter(|&i| i == kept || !is_body(&items[i]));
        print(&Module {
            items: part.map(|i| items[i].clone()).collect(),
        })
    });
    alone.collect()
}

/// Random bytes of several lengths: the generator makes a program of any.
fn decisions() -> BTreeSet<Vec<u8>> {
    let mut random = SplitMix64::new(0);
    let lengths = (1..=64).cycle().take(200);
    lengths
        .map(|words| {
            (0..words)
                .flat_map(|_| random.draw().to_le_bytes())
                .collect()
        })
        .collect()
}

/// A module with a kernel for each sequence of instructions, operands aside, in a table of results.
fn template_modules(name: &str, table: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for row in table::parse(name, table, Reading::Text)
        .into_iter()
        .flatten()
    {
        let words = row.template.text.split([' ', ',', ';']);
        let instructions: Vec<_> = words
            .filter(|w| w.starts_with(|c: char| c.is_ascii_alphabetic()))
            .collect();
        if !seen.insert(instructions.join(" ")) {
            continue;
        }
        let widths = Widths {
            operands: row.operands.iter().map(|w| w.bits).collect(),
            results: row.results.iter().map(|w| w.bits).collect(),
        };
        let mut module = ModuleText::new(&row.header.directives());
        module.register_kernel("k", &row.template, &widths);
        found.push(module.as_str().to_string());
    }
    found
}
