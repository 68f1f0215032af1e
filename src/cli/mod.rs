//! The `ptxlift` command: its options, what each command prints, its exit codes. Public for its binary alone.
//!
//! Results go to standard output, errors to standard error. A reader that closes the pipe early does no harm.

mod check;
mod dump;
mod error;
mod eval;
mod fuzz;
mod isa;
mod out;
mod run;
mod test;

use clap::{Parser, Subcommand, ValueEnum};
use error::Failure;
use out::Out;
use std::io::Write as _;
use std::process::ExitCode;

/// Runs NVIDIA PTX on the CPU.
#[derive(Debug, Parser)]
#[command(
    name = "ptxlift",
    version,
    about,
    after_help = "PTX files given as `-` come from standard input.\n\
                  Exit codes: 0 fine, 1 the input is at fault or a comparison failed, 2 usage, 3 the kernel faulted, \
                  4 unsupported, 70 a bug of ptxlift."
)]
struct Cli {
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
    /// Measure launches (not built yet)
    #[command(hide = true)]
    Bench(Later),
    /// Compare the engines on random programs
    Fuzz(fuzz::Args),
}

/// Arguments of a command that is not built yet.
#[derive(Debug, clap::Args)]
struct Later {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _rest: Vec<String>,
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
    Isa,
    /// NVIDIA's tools (not built yet)
    Nvidia,
}

impl ReadingArg {
    /// Only the text is followed yet.
    fn require_isa(self) -> Result<(), Failure> {
        match self {
            ReadingArg::Isa => Ok(()),
            ReadingArg::Nvidia => Err(Failure::not_yet(
                "`--reading nvidia`",
                "the text of the PTX ISA is followed",
            )),
        }
    }
}

/// `--width` other than 1.
fn require_width_1(width: Option<&str>) -> Result<(), Failure> {
    match width {
        None | Some("1") => Ok(()),
        Some(other @ ("4" | "8" | "16" | "all")) => Err(Failure::not_yet(
            &format!("`--width {other}`"),
            "threads are executed one by one",
        )),
        Some(other) => Err(Failure::Usage(format!(
            "`--width {other}`: it is 1, 4, 8, 16 or all"
        ))),
    }
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing can be done where not even this can be written.
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    let mut out = Out::stdout();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        dispatch(cli.command, &mut out)
    }));
    let code = match result {
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => {
            // What came before the error stands before it; a broken stream is remembered for `finish`.
            let _ = out.flush();
            failure.show(&mut Out::stderr());
            failure.exit_code()
        }
        Err(_) => {
            Failure::bug("a panic; please report it with the input that led to it").show_and_code()
        }
    };
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
        Command::Bench(_) => Err(Failure::not_yet(
            "`ptxlift bench`",
            "see `ptxlift run --repeat`",
        )),
        Command::Fuzz(args) => fuzz::run(&args, out),
    }
}
