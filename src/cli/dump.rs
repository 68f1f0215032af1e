//! `ptxlift dump`

use super::ReadingArg;
use super::error::Failure;
use super::input;
use super::out::Out;
use super::settings;
use crate::diag::{Source, Span, nearest};
use crate::ir::FuncId;
use crate::jit::{self, ARCHITECTURES, CompileError, Dump, Named, Target};
use crate::runtime::Module;
use crate::syntax::{self, ast};
use clap::ValueEnum;
use regex::Regex;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxlift dump --stage clif kernel.ptx --kernel mix
  ptxlift dump --stage asm kernel.ptx > kernel.s
  ptxlift dump --stage vcode --target riscv64 --width 4 kernel.ptx")]
pub(super) struct Args {
    /// Which stage
    #[arg(long, value_enum)]
    stage: Stage,
    /// A PTX file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only this kernel or function
    #[arg(long, value_name = "K")]
    kernel: Option<String>,
    /// Which meaning is followed where NVIDIA's tools depart from the text of the PTX ISA
    #[arg(long, value_enum, default_value = "text")]
    reading: ReadingArg,
    /// Code for another machine than this one: aarch64, riscv64, s390x or x86_64, or a triple such as
    /// `aarch64-apple-darwin`
    #[arg(long, value_name = "TRIPLE", value_parser = parse_target)]
    target: Option<Named>,
    #[command(flatten)]
    set: settings::Set,
}

/// A stage of the route from text to machine code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// The syntax tree
    Ast,
    /// The checked module
    Ir,
    /// Regions and frames
    Plan,
    /// Cranelift's intermediate representation
    Clif,
    /// The same, optimised
    Optimized,
    /// Cranelift's machine instructions with allocated registers
    Vcode,
    /// Machine code
    Asm,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    args.set.check_one()?;
    let input::Input { name, text } = input::read_ptx(&args.file)?;
    match args.stage {
        Stage::Ast => dump_ast(&Source::new(name, text), args.kernel.as_deref(), out),
        Stage::Ir => {
            let module = args.reading.module(name, text)?;
            let mut text = String::new();
            for (index, function) in module.ir().functions.iter().enumerate() {
                let wanted = args.kernel.as_ref().is_none_or(|k| *k == function.name);
                if wanted && function.defined {
                    text.push_str(&format!("{}\n", module.ir().display(index)));
                }
            }
            if text.is_empty() {
                return Err(no_such_function(
                    args.kernel.as_deref(),
                    module.source().name(),
                    defined(&module),
                ));
            }
            out.text(format_args!("{text}"));
            Ok(())
        }
        Stage::Plan => dump_native(&name, text, args, jit::Stage::Plan, out),
        Stage::Clif => dump_native(&name, text, args, jit::Stage::Clif, out),
        Stage::Optimized => dump_native(&name, text, args, jit::Stage::Optimized, out),
        Stage::Vcode => dump_native(&name, text, args, jit::Stage::Vcode, out),
        Stage::Asm => dump_native(&name, text, args, jit::Stage::Asm, out),
    }
}

fn parse_target(text: &str) -> Result<Named, String> {
    Named::new(text).ok_or_else(|| {
        let architecture = text.split('-').next().unwrap_or_default();
        let near =
            nearest(architecture, ARCHITECTURES.into_iter()).filter(|near| *near != architecture);
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let known = ARCHITECTURES.join(", ");
        format!("code can be made for {known}, each alone or in a triple{near}")
    })
}

/// The stages of the native engine.
fn dump_native(
    name: &str,
    text: String,
    args: &Args,
    stage: jit::Stage,
    out: &mut Out,
) -> Result<(), Failure> {
    let module = args.reading.module(name, text)?;
    let mut settings = jit::Settings::default();
    for (key, value) in args.set.pairs() {
        if let Some(target) = args.target.as_ref().filter(|_| key.starts_with("has_")) {
            return Err(Failure::Usage(format!(
                "`--set {key}={value}` is for this machine's features; those of `--target` are fixed: {}",
                target.description()
            )));
        }
        jit::choose(&mut settings, &key, &value).map_err(Failure::Usage)?;
    }
    let target = match &args.target {
        Some(named) => Target::Named(named.clone()),
        None => Target::Host,
    };
    let mut dump = Dump::new(module.ir(), &settings, &target).map_err(|error| match error {
        error @ CompileError::Setting { .. } => Failure::Usage(error.to_string()),
        error @ (CompileError::Host(_) | CompileError::Internal { .. }) => {
            Failure::bug(error.to_string())
        }
    })?;
    let mut shown = false;
    for (id, function) in (0..).map(FuncId).zip(&module.ir().functions) {
        let named = args.kernel.as_deref();
        if !function.defined || named.is_some_and(|wanted| wanted != function.name) {
            continue;
        }
        if let Some(target) = args.target.as_ref().filter(|_| !shown) {
            out.text(format_args!("; for {}\n", target.description()));
        }
        shown = true;
        match dump.function(id, stage) {
            Ok(text) => out.text(format_args!("; {}\n{text}\n", function.name)),
            Err(jit::DumpError::Compile(error)) => return Err(Failure::bug(error.to_string())),
            Err(error) if named.is_some() => {
                return Err(Failure::Unsupported(format!(
                    "`{}`: {error}",
                    function.name
                )));
            }
            Err(error) => out.text(format_args!("; {}: {error}\n", function.name)),
        }
    }
    match shown {
        true => Ok(()),
        false => Err(no_such_function(
            args.kernel.as_deref(),
            name,
            defined(&module),
        )),
    }
}

fn no_such_function<'a>(
    wanted: Option<&str>,
    file: &str,
    names: impl Iterator<Item = &'a str>,
) -> Failure {
    const SHOWN: usize = 20;
    let names: Vec<&str> = names.collect();
    let Some(wanted) = wanted else {
        return Failure::Input(format!("{file}: no kernel or function with a body"));
    };
    let failure = Failure::Usage(format!(
        "{file}: no kernel or function `{wanted}` with a body"
    ));
    match nearest(wanted, names.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None if names.is_empty() => failure,
        None if names.len() > SHOWN => {
            let more = names.len() - SHOWN;
            failure.hint(format!(
                "it has {} and {more} more",
                names[..SHOWN].join(", ")
            ))
        }
        None => failure.hint(format!("it has {}", names.join(", "))),
    }
}

/// The names of kernels and functions with a body.
fn defined(module: &Module) -> impl Iterator<Item = &str> {
    let functions = module.ir().functions.iter().filter(|f| f.defined);
    functions.map(|f| f.name.as_str())
}

fn dump_ast(source: &Source, kernel: Option<&str>, out: &mut Out) -> Result<(), Failure> {
    let parsed = syntax::parse(source);
    if !parsed.diagnostics.is_empty() {
        // The tree has gaps where the text is wrong.
        Module::parse_named(source.name(), source.text())?;
    }
    let dump = Tree {
        source,
        shorten: [
            (
                r#"Name \{ text: ("(?:[^"\\]|\\.)*"), span: \d+\.\.\d+ \}"#,
                "$1",
            ),
            (r"(?:, )?\b\w*span: \d+\.\.\d+", ""),
            (r"\{ , ", "{ "),
        ]
        .into_iter()
        .filter_map(|(pattern, with)| Some((Regex::new(pattern).ok()?, with)))
        .collect(),
    };
    let mut shown = false;
    for item in &parsed.module.items {
        match (kernel, item) {
            (None, _) => dump.item(item, out),
            (Some(wanted), ast::Item::Function(f)) if f.name.text == wanted => dump.item(item, out),
            (Some(_), _) => continue,
        }
        shown = true;
    }
    match shown {
        true => Ok(()),
        false => {
            let names = parsed.module.items.iter().filter_map(|item| match item {
                ast::Item::Function(f) => Some(f.name.text),
                _ => None,
            });
            Err(no_such_function(kernel, source.name(), names))
        }
    }
}

/// Prints a tree, a node a line, under the text that it was read from.
struct Tree<'a> {
    source: &'a Source,
    /// What of the nodes' `Debug` form tells nothing.
    shorten: Vec<(Regex, &'static str)>,
}

impl Tree<'_> {
    fn node(&self, depth: usize, span: Span, node: &dyn std::fmt::Debug, out: &mut Out) {
        const LONGEST: usize = 160;
        let indent = "  ".repeat(depth);
        let words: Vec<&str> = self.source.slice(span).split_whitespace().collect();
        let text: String = words.join(" ").chars().take(LONGEST).collect();
        out.text(format_args!(
            "{indent}// {}: {text}\n",
            self.source.line(span.start)
        ));
        let mut node = format!("{node:?}");
        for (pattern, with) in &self.shorten {
            node = pattern.replace_all(&node, *with).into_owned();
        }
        out.text(format_args!("{indent}{node}\n"));
    }

    fn item(&self, item: &ast::Item<'_>, out: &mut Out) {
        match item {
            ast::Item::Version { span, .. }
            | ast::Item::Target { span, .. }
            | ast::Item::AddressSize { span, .. }
            | ast::Item::Alias { span, .. } => self.node(0, *span, item, out),
            ast::Item::Variable(v) => self.node(0, v.span, item, out),
            ast::Item::File(f) => self.node(0, f.span, item, out),
            ast::Item::Section(s) => self.node(0, s.span, item, out),
            ast::Item::Pragma(p) => self.node(0, p.span, item, out),
            ast::Item::Function(function) => {
                let mut head = function.clone();
                let body = head.body.take();
                self.node(0, function.span, &head, out);
                if let Some(body) = body {
                    self.body(1, &body, out);
                }
            }
        }
    }

    /// Scopes nest no deeper than the parser allows.
    fn body(&self, depth: usize, body: &ast::Body<'_>, out: &mut Out) {
        for statement in &body.statements {
            match statement {
                ast::Statement::Label(l) => self.node(depth, l.span, statement, out),
                ast::Statement::Instruction(i) => self.node(depth, i.span, i, out),
                ast::Statement::Variable(v) => self.node(depth, v.span, v, out),
                ast::Statement::Pragma(p) => self.node(depth, p.span, p, out),
                ast::Statement::Loc(l) => self.node(depth, l.span, l, out),
                ast::Statement::CallTable(t) => self.node(depth, t.span, t, out),
                ast::Statement::Block(body) => {
                    out.text(format_args!("{}Block\n", "  ".repeat(depth)));
                    self.body(depth + 1, body, out);
                }
            }
        }
    }
}
