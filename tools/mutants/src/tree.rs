//! The copy of the source that holds the mutants: writing it, finding out what compiles, building it.

use crate::find::{self, Places};
use crate::mutant::{Mutant, State};
use crate::render::{self, Blame};
use crate::run::Before;
use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where everything of a run lies.
#[derive(Debug, Clone)]
pub struct Work {
    pub root: PathBuf,
}

impl Work {
    /// The mutated copy.
    pub fn tree(&self) -> PathBuf {
        self.root.join("tree")
    }

    pub fn mutants(&self) -> PathBuf {
        self.root.join("mutants.json")
    }

    pub fn tests(&self) -> PathBuf {
        self.root.join("tests.json")
    }

    pub fn results(&self) -> PathBuf {
        self.root.join("results.jsonl")
    }

    fn target(&self) -> PathBuf {
        self.root.join("target")
    }

    /// # Errors
    /// It is not there yet, or damaged.
    pub fn read_mutants(&self) -> anyhow::Result<Vec<Mutant>> {
        let text = fs::read_to_string(self.mutants()).context("`prepare` comes first")?;
        Ok(serde_json::from_str(&text)?)
    }
}

/// Copies what git would: everything but the target folder and the history.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let (name, target) = (entry.file_name(), to.join(entry.file_name()));
        if name == "target" || name == ".git" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// What mutants may do: what is sure to fail at run time is caught there.
const ALLOWED: &str =
    "#![allow(warnings, arithmetic_overflow, overflowing_literals, unconditional_panic)]";

/// A file of the source that mutants lie in.
struct File {
    text: String,
    places: Places,
    mutants: Vec<Mutant>,
    written: String,
}

/// Copies the tree, writes the mutants into it, and takes out those that do not compile. `before` has the results that are
/// not wanted again.
///
/// # Errors
/// A file cannot be read or is no Rust; the compiler complains about something else than a mutant.
pub fn prepare(
    source: &Path,
    work: &Work,
    mut mutants: Vec<Mutant>,
    own: bool,
    before: Option<&Before>,
) -> anyhow::Result<()> {
    let tree = work.tree();
    if tree.exists() {
        fs::remove_dir_all(&tree)?;
    }
    copy(source, &tree)?;
    let lib = tree.join("src/lib.rs");
    let text = fs::read_to_string(&lib)?;
    fs::write(&lib, format!("{ALLOWED}\n{text}\nmod mutant;\n"))?;
    fs::write(tree.join("src/mutant.rs"), include_str!("switch.rs"))?;

    let mut files: BTreeMap<String, File> = BTreeMap::new();
    for mutant in mutants.drain(..) {
        if !files.contains_key(&mutant.file) {
            files.insert(mutant.file.clone(), File::read(&tree, &mutant.file)?);
        }
        if let Some(file) = files.get_mut(&mutant.file) {
            file.mutants.push(mutant);
        }
    }
    let mut id = 0;
    for (path, file) in &mut files {
        if own {
            let own = render::own(path, &file.text, &file.places);
            file.mutants.extend(own);
        }
        if let Some(before) = before {
            file.mutants.retain(|m| before.leaves(m));
        }
        for mutant in &mut file.mutants {
            mutant.id = id;
            id += 1;
        }
    }
    let mut plain = HashSet::new();
    for round in 1.. {
        for (path, file) in &mut files {
            file.written = render::render(&file.text, &file.places, &mut file.mutants, &plain);
            fs::write(tree.join(path), &file.written)?;
        }
        let errors = check(work)?;
        eprintln!("round {round}: {} errors", errors.len());
        if errors.is_empty() {
            break;
        }
        let mut blamed = BTreeMap::new();
        for error in &errors {
            let Some((path, ids)) = error.blame(&files) else {
                bail!("not about a mutant: {}", error.rendered);
            };
            for id in ids {
                blamed.insert(id, (path.clone(), error.message.clone()));
            }
        }
        for (id, (path, message)) in blamed {
            let compared = files[&path].written.contains(&format!("differs({id},"));
            if compared && plain.insert(id) {
                continue;
            }
            let file = files.get_mut(&path).context("a file of mutants")?;
            for mutant in file.mutants.iter_mut().filter(|m| m.id == id) {
                ensure!(
                    mutant.state == State::Switched,
                    "{} goes on failing",
                    mutant.title()
                );
                mutant.state = State::Uncompilable(message.clone());
            }
        }
    }
    for file in files.values_mut() {
        for mutant in &mut file.mutants {
            mutant.compared = file.written.contains(&format!("differs({},", mutant.id));
        }
    }
    let all: Vec<&Mutant> = files.values().flat_map(|f| &f.mutants).collect();
    fs::write(work.mutants(), serde_json::to_string_pretty(&all)?)?;
    Ok(())
}

impl File {
    fn read(tree: &Path, path: &str) -> anyhow::Result<Self> {
        let text = fs::read_to_string(tree.join(path)).with_context(|| path.to_string())?;
        let places = find::places(&text).with_context(|| path.to_string())?;
        Ok(File {
            text,
            places,
            mutants: Vec::new(),
            written: String::new(),
        })
    }
}

#[derive(Deserialize)]
struct CompilerError {
    message: String,
    rendered: String,
    spans: Vec<CompilerSpan>,
    children: Vec<CompilerChild>,
}

#[derive(Deserialize)]
struct CompilerChild {
    spans: Vec<CompilerSpan>,
}

#[derive(Deserialize, Clone)]
struct CompilerSpan {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
}

impl CompilerError {
    /// The file and mutants that the error is about.
    fn blame(&self, files: &BTreeMap<String, File>) -> Option<(String, Vec<u32>)> {
        let children = self.children.iter().flat_map(|c| &c.spans);
        let mut spans: Vec<&CompilerSpan> = self.spans.iter().chain(children).collect();
        spans.sort_by_key(|s| !s.is_primary);
        let mut groups = Vec::new();
        for span in spans {
            let Some(file) = files.get(&span.file_name) else {
                continue;
            };
            match render::blame(&file.written, span.byte_start..span.byte_end) {
                Some(Blame::Mutant(id)) => return Some((span.file_name.clone(), vec![id])),
                Some(Blame::Group(first)) => groups.push((span.file_name.clone(), first)),
                None if self.message.starts_with("non-exhaustive patterns") => {
                    let id = render::first_deleted_arm(&file.written, span.byte_end)?;
                    return Some((span.file_name.clone(), vec![id]));
                }
                None => {}
            }
        }
        let (path, first) = groups.into_iter().next()?;
        let ids = render::group(&files[&path].written, first);
        Some((path, ids))
    }
}

fn cargo(work: &Work, arguments: &[&str]) -> anyhow::Result<(bool, String)> {
    let output = Command::new("cargo")
        .args(arguments)
        .arg("--message-format=json")
        .current_dir(work.tree())
        .env("CARGO_TARGET_DIR", work.target())
        .stderr(Stdio::inherit())
        .output()?;
    Ok((output.status.success(), String::from_utf8(output.stdout)?))
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    message: Option<serde_json::Value>,
    executable: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

fn messages(text: &str) -> impl Iterator<Item = Message> {
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
}

fn check(work: &Work) -> anyhow::Result<Vec<CompilerError>> {
    let (success, text) = cargo(work, &["check", "--release", "--lib", "-q"])?;
    let mut errors = Vec::new();
    for message in messages(&text).filter(|m| m.reason == "compiler-message") {
        let Some(value) = message.message else {
            continue;
        };
        if value["level"] != "error" || value["spans"].as_array().is_none_or(Vec::is_empty) {
            continue;
        }
        errors.push(serde_json::from_value(value)?);
    }
    ensure!(
        success || !errors.is_empty(),
        "cargo fails without errors of the compiler"
    );
    Ok(errors)
}

/// A program with tests.
#[derive(Debug, Clone)]
pub struct TestProgram {
    pub name: String,
    pub path: PathBuf,
}

/// Builds the tests of the mutated tree.
///
/// # Errors
/// They do not build.
pub fn build(work: &Work) -> anyhow::Result<Vec<TestProgram>> {
    let (success, text) = cargo(work, &["test", "--release", "--no-run", "--lib", "--tests"])?;
    ensure!(success, "the tests do not build");
    let mut programs = Vec::new();
    for message in messages(&text) {
        if let (Some(path), Some(target), Some(Profile { test: true })) =
            (message.executable, message.target, message.profile)
        {
            let lib = target.kind.iter().any(|k| k == "lib");
            programs.push(TestProgram {
                name: if lib { "lib".to_string() } else { target.name },
                path,
            });
        }
    }
    Ok(programs)
}
