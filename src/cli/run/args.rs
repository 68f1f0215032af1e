//! The options of `ptxlift run`.

use super::super::error::Failure;
use super::super::numbers::{self, TimeLimit};
use super::super::{EngineArg, ReadingArg, settings};
use super::trace;
use crate::runtime::{Engine, EngineConfig, EngineKind};
use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Arguments are TYPE:VALUE, bytes:HEX, or TYPE[COUNT]:CONTENTS; types are u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64;
contents are zeros, fill value=V, iota start=S step=T, splitmix64 seed=N [mod=M add=A | lo=L hi=H], @FILE.

Examples:
  ptxlift run case/launch.toml
  ptxlift run saxpy.ptx --kernel saxpy --grid 4 --block 256 --arg f32:2.5 \\
    --arg 'f32[1000]:splitmix64 seed=1 lo=0 hi=1' --arg f32[1000]:zeros --arg u32:1000 --print 2
  ptxlift run case/launch.toml --repeat 100 --stats
  ptxlift run case/launch.toml --trace --trace-thread 0-3 --trace-line 20-35
  ptxlift run case/launch.toml --json | jq .run_seconds")]
pub(in crate::cli) struct Args {
    /// A launch.toml, or a PTX file
    #[arg(value_name = "LAUNCH.toml|FILE.ptx")]
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) launch: LaunchArgs,
    /// Print buffer parameter N, counted from 0, afterwards
    #[arg(long, value_name = "N", value_parser = numbers::parameter)]
    pub(super) print: Vec<usize>,
    /// Write buffer parameter N to a file afterwards
    #[arg(long, value_name = "N=FILE", value_parser = parse_output)]
    pub(super) out: Vec<(usize, PathBuf)>,
    /// Who executes [default: jit; interp with --trace]
    #[arg(long, value_enum)]
    pub(super) engine: Option<EngineArg>,
    /// Worker threads [default: all]
    #[arg(long, value_name = "N", value_parser = numbers::count)]
    pub(super) threads: Option<NonZeroUsize>,
    /// Most seconds that the launch may take; 0 for no limit
    #[arg(long, value_name = "SECONDS", value_parser = numbers::time_limit, default_value = "10")]
    pub(super) timeout: TimeLimit,
    /// Launch so many times
    #[arg(long, value_name = "N", value_parser = numbers::times, default_value = "1")]
    pub(super) repeat: NonZeroU32,
    #[command(flatten)]
    pub(super) set: settings::Set,
    /// Make native code of edited Cranelift IR, and compare it with the interpreter
    #[arg(
        long,
        value_name = "FILE",
        long_help = UNSAFE_CLIF,
        conflicts_with_all = ["engine", "json", "out", "print", "repeat", "stats", "trace"]
    )]
    pub(super) unsafe_clif: Option<PathBuf>,
    /// Also say what compiling and running took, stage by stage
    #[arg(long)]
    pub(super) stats: bool,
    /// Print one JSON object for each module and engine
    #[arg(long)]
    pub(super) json: bool,
    /// Follow another schedule than the canonical one: blocks, warps, groups of a warp in another order, one at a time
    #[arg(long, value_name = "S")]
    pub(super) seed: Option<u64>,
    #[command(flatten)]
    pub(super) trace: trace::Filter,
}

/// What is launched of a PTX file, and how; how its instructions are read.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct LaunchArgs {
    /// Which meaning is followed where NVIDIA's tools depart from the text of the PTX ISA
    #[arg(long, value_enum, default_value = "text")]
    pub(in crate::cli) reading: ReadingArg,
    /// The kernel [default: the only one]
    #[arg(long, value_name = "K")]
    pub(super) kernel: Option<String>,
    /// Blocks [default: 1,1,1]
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_extent)]
    pub(super) grid: Option<Extent>,
    /// Threads of a block [default: 1,1,1]
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_extent)]
    pub(super) block: Option<Extent>,
    /// Blocks of a cluster, 16 at most [default: as the kernel says, or 1,1,1]
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_extent)]
    pub(super) cluster: Option<Extent>,
    /// Bytes of dynamic shared memory [default: 0]
    #[arg(long, value_name = "BYTES", value_parser = numbers::bytes)]
    pub(super) shared: Option<u32>,
    /// The next argument of the kernel, such as u32:5 or f32[256]:zeros
    #[arg(long = "arg", value_name = "TYPE:VALUE")]
    pub(super) args: Vec<String>,
}

const UNSAFE_CLIF: &str = "\
Make native code of edited Cranelift IR, and compare it with the interpreter.

The file is what `ptxlift dump --stage clif` prints, for the first module of a launch.toml, or some of the functions in
it; the others are compiled as usual. It is unsafe because nothing confines it: it may access anything, and crash.";

#[derive(Debug, Clone, Copy)]
pub(super) struct Extent(pub(super) [u32; 3]);

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "{x},{y},{z}")
    }
}

fn parse_extent(text: &str) -> Result<Extent, String> {
    let mut extent = [1; 3];
    let numbers: Vec<&str> = text.split(',').collect();
    if numbers.len() > 3 {
        return Err("at most three numbers, X,Y,Z".to_string());
    }
    for (to, number) in extent.iter_mut().zip(numbers) {
        *to = number
            .trim()
            .parse()
            .map_err(|_| format!("`{number}` is not a number; write X, X,Y or X,Y,Z"))?;
    }
    Ok(Extent(extent))
}

fn parse_output(text: &str) -> Result<(usize, PathBuf), String> {
    let (index, file) = text.split_once('=').ok_or("write N=FILE")?;
    Ok((numbers::parameter(index)?, file.into()))
}

impl Args {
    /// Refuses options that do not go together.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.set.check_one()?;
        if self.trace.trace && self.engine == Some(EngineArg::Jit) {
            return Err(Failure::Usage(
                "`--trace` shows what the interpreter does; native code cannot be watched"
                    .to_string(),
            )
            .hint(
                "leave out `--engine jit`, or look at the code with `ptxlift dump --stage asm`",
            ));
        }
        Ok(())
    }

    /// Who executes.
    pub(super) fn engines(&self) -> EngineArg {
        let usual = if self.trace.trace {
            EngineArg::Interp
        } else {
            EngineArg::Jit
        };
        self.engine.unwrap_or(usual)
    }

    pub(super) fn engine(&self) -> Engine {
        let kind = match self.engines() {
            EngineArg::Jit => EngineKind::Native,
            EngineArg::Interp | EngineArg::Both => EngineKind::Interpreter,
        };
        let config = EngineConfig::default()
            .kind(kind)
            .threads(self.threads.map_or(0, Into::into))
            .time_limit(self.timeout.0);
        Engine::new(self.set.apply(config))
    }
}
