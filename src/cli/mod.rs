//! The `ptxlift` command: its options, what each command prints, its exit codes. Public for its binary alone.
//!
//! Results go to standard output, errors to standard error. A reader that closes the pipe early does no harm.

mod bench;
mod check;
mod dump;
mod error;
mod eval;
mod fuzz;
mod input;
mod install;
mod interrupt;
mod isa;
mod json;
mod numbers;
mod out;
mod progress;
mod run;
mod settings;
mod test;

use crate::ir::Reading;
use crate::runtime::{Module, ModuleConfig};
use clap::error::{ContextKind, ContextValue};
use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use error::Failure;
use out::{ColorArg, Out, warn};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Runs NVIDIA PTX on the CPU.
#[derive(Debug, Parser)]
#[command(
    name = "ptxlift",
    version,
    about,
    after_help = "\
Files given as `-` come from standard input.

Exit codes: 0 fine, 1 the input is at fault or a comparison failed, 2 usage, 3 the kernel faulted, 4 unsupported,
70 a bug of ptxlift, 130 interrupted.

Examples:
  ptxlift check kernel.ptx
  ptxlift run kernel.ptx --kernel mix --block 256 --arg 'u32[256]:zeros' --print 0
  ptxlift run case/launch.toml
  ptxlift eval 'bfe.u32 %d, %a, %b, %c' 0xdeadbeef 4 8
  ptxlift isa bfe"
)]
struct Cli {
    /// When to use colours
    #[arg(
        long,
        alias = "colour",
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = false
    )]
    color: ColorArg,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Launch a kernel, from a launch.toml or from a PTX file and options
    Run(Box<run::Args>),
    /// Run test cases: launch.toml, *.tsv, *.ptx with `//@ entry` or `// run:` lines
    Test(test::Args),
    /// Parse and check PTX files, and say what their kernels need
    Check(check::Args),
    /// Execute one instruction, in both engines
    Eval(eval::Args),
    /// Show a stage of the route from text to machine code
    Dump(dump::Args),
    /// List the supported instructions, or all forms of one
    Isa(isa::Args),
    /// List the settings of Cranelift's that `--set` takes
    Settings(settings::Args),
    /// Print a completion script for a shell
    Completions(install::Completions),
    /// Print the manual page, or write one for each command to a folder
    Man(install::Man),
    /// Measure compiling and launching: engines against each other, settings against each other
    Bench(bench::Args),
    /// Compare the engines on random programs
    Fuzz(fuzz::Args),
}

/// Who executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineArg {
    /// The interpreter
    Interp,
    /// Native code
    Jit,
    /// One after the other, outcomes compared
    Both,
}

impl EngineArg {
    fn kinds(self) -> Vec<crate::EngineKind> {
        use crate::EngineKind::{Interpreter, Native};
        match self {
            EngineArg::Interp => vec![Interpreter],
            EngineArg::Jit => vec![Native],
            EngineArg::Both => vec![Interpreter, Native],
        }
    }
}

/// Which of two meanings is followed where NVIDIA's tools depart from the text of the PTX ISA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReadingArg {
    /// The text
    #[value(alias = "isa")]
    Text,
    /// NVIDIA's tools
    Nvidia,
}

impl ReadingArg {
    fn reading(self) -> Reading {
        match self {
            ReadingArg::Text => Reading::Text,
            ReadingArg::Nvidia => Reading::Nvidia,
        }
    }

    /// Reads a module.
    fn module(
        self,
        name: impl Into<String>,
        text: impl Into<String>,
    ) -> Result<Module, crate::Error> {
        let config = ModuleConfig::default().name(name);
        Module::parse_with(text, config.reading(self.reading()))
    }
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    ColorArg::of_command_line(&words).choose();
    let json = words
        .iter()
        .take_while(|w| *w != "--")
        .any(|w| w == "--json");
    let mut out = Out::stdout();
    let cli = match parse(words, &out) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, json, out),
    };
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        dispatch(cli.command, &mut out)
    }));
    let result = result.unwrap_or_else(|_| {
        let problem = "a panic; please report it with the input that led to it";
        Err(Failure::bug(problem))
    });
    let code = match result {
        Ok(()) => 0,
        Err(failure) => {
            failure.say(&mut out, json);
            failure.exit_code()
        }
    };
    finish(out, code)
}

/// Reads a command line. Its help is coloured as standard output is.
fn parse(words: Vec<OsString>, out: &Out) -> Result<Cli, clap::Error> {
    let color = if out.colour() {
        ColorChoice::Always
    } else {
        ColorChoice::Never
    };
    let mut matches = Cli::command().color(color).try_get_matches_from(words)?;
    Cli::from_arg_matches_mut(&mut matches)
}

/// Help where it was asked for, or what is wrong with a command line.
fn refuse(error: &clap::Error, json: bool, mut out: Out) -> ExitCode {
    let said = error.render();
    if !error.use_stderr() {
        let said = if out.colour() {
            said.ansi().to_string()
        } else {
            said.to_string()
        };
        out.text(format_args!("{said}"));
        return finish(out, 0);
    }
    if json {
        let plain = said.to_string();
        Failure::Usage(usage_message(&plain)).report_to(&mut out);
    }
    let mut err = Out::stderr();
    let said = if err.colour() {
        said.ansi().to_string()
    } else {
        said.to_string()
    };
    err.text(format_args!("{said}"));
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && (Path::new(word).exists() || word.ends_with(".ptx") || word.ends_with(".toml"))
    {
        let hint = format!("a command comes first: `ptxlift run {word}`, `ptxlift check {word}`");
        warn(&mut err, "hint", &hint);
    }
    finish(out, error.exit_code() as u8)
}

/// What a message of clap's says, without its first word and the usage behind it.
fn usage_message(plain: &str) -> String {
    let message = plain.split("\n\nUsage:").next().unwrap_or(plain);
    let message = message.strip_prefix("error: ").unwrap_or(message);
    message.trim_end().to_string()
}

/// The exit code, after the last of the output.
fn finish(out: Out, code: u8) -> ExitCode {
    match out.finish() {
        Ok(()) => ExitCode::from(code),
        Err(error) => {
            ExitCode::from(Failure::Input(format!("standard output: {error}")).show_and_code())
        }
    }
}

fn dispatch(command: Command, out: &mut Out) -> Result<(), Failure> {
    match command {
        Command::Run(args) => run::run(&args, out),
        Command::Test(args) => test::run(&args, out),
        Command::Check(args) => check::run(&args, out),
        Command::Eval(args) => eval::run(&args, out),
        Command::Dump(args) => dump::run(&args, out),
        Command::Isa(args) => isa::run(&args, out),
        Command::Settings(args) => settings::run(&args, out),
        Command::Completions(args) => install::completions(&args, out),
        Command::Man(args) => install::man(&args, out),
        Command::Bench(args) => bench::run(&args, out),
        Command::Fuzz(args) => fuzz::run(&args, out),
    }
}
