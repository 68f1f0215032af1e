//! The options of `ptxlift run`.

use super::super::error::Failure;
use super::super::{EngineArg, ReadingArg, require_width_1};
use super::settings::parse_setting;
use super::trace;
use crate::runtime::{Engine, EngineConfig, EngineKind};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxlift run case/launch.toml
  ptxlift run saxpy.ptx --kernel saxpy --grid 4 --block 256 --arg f32:2.5 \\
    --arg 'f32[1000]:splitmix64 seed=1 lo=0 hi=1' --arg f32[1000]:zeros --arg u32:1000 --print 2

Arguments are TYPE:VALUE, bytes:HEX, or TYPE[COUNT]:CONTENTS; types are u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64;
contents are zeros, fill value=V, iota start=S step=T, splitmix64 seed=N [mod=M add=A | lo=L hi=H], @FILE.")]
pub(in crate::cli) struct Args {
    /// A launch.toml, or a PTX file
    #[arg(value_name = "LAUNCH.toml|FILE.ptx")]
    pub(super) file: PathBuf,
    /// The kernel [default: the only one]
    #[arg(long, value_name = "K")]
    pub(super) kernel: Option<String>,
    /// Blocks [default: 1,1,1]
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_extent)]
    pub(super) grid: Option<Extent>,
    /// Threads of a block [default: 1,1,1]
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_extent)]
    pub(super) block: Option<Extent>,
    /// Bytes of dynamic shared memory [default: 0]
    #[arg(long, value_name = "BYTES")]
    pub(super) shared: Option<u32>,
    /// The next argument of the kernel, such as u32:5 or f32[256]:zeros
    #[arg(long = "arg", value_name = "TYPE:VALUE")]
    pub(super) args: Vec<String>,
    /// Print buffer parameter N, counted from 0, afterwards
    #[arg(long, value_name = "N")]
    pub(super) print: Vec<usize>,
    /// Write buffer parameter N to a file afterwards
    #[arg(long, value_name = "N=FILE", value_parser = parse_output)]
    pub(super) out: Vec<(usize, PathBuf)>,
    /// Who executes
    #[arg(long, value_enum, default_value = "jit")]
    pub(super) engine: EngineArg,
    /// Which meaning is followed where NVIDIA's tools depart from the text of the PTX ISA
    #[arg(long, value_enum, default_value = "isa")]
    pub(super) reading: ReadingArg,
    /// Worker threads [default: all]
    #[arg(long, value_name = "N")]
    pub(super) threads: Option<std::num::NonZeroUsize>,
    /// Most seconds that the launch may take; 0 for no limit
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    pub(super) timeout: f64,
    /// Launch so many times
    #[arg(long, value_name = "N", default_value = "1")]
    pub(super) repeat: std::num::NonZeroU32,
    /// A setting of Cranelift's
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting)]
    pub(super) set: Vec<(String, String)>,
    #[arg(long, hide = true)]
    pub(super) seed: Option<u64>,
    #[arg(long, hide = true)]
    pub(super) width: Option<String>,
    #[arg(long, hide = true)]
    pub(super) interleave: Option<u32>,
    #[arg(long, hide = true)]
    pub(super) stats: bool,
    #[command(flatten)]
    pub(super) trace: trace::Filter,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Extent(pub(super) [u32; 3]);

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
    let index = index
        .parse()
        .map_err(|_| format!("`{index}` is no number of a parameter"))?;
    Ok((index, file.into()))
}

impl Args {
    pub(super) fn refuse_what_comes_later(&self) -> Result<(), Failure> {
        self.reading.require_isa()?;
        require_width_1(self.width.as_deref())?;
        if self.seed.is_some() {
            return Err(Failure::not_yet(
                "`--seed`",
                "every launch follows the canonical schedule",
            ));
        }
        if self.interleave.is_some() {
            return Err(Failure::not_yet(
                "`--interleave`",
                "threads are executed one by one",
            ));
        }
        if self.stats {
            return Err(Failure::not_yet(
                "`--stats`",
                "the time to compile and to run is always shown",
            ));
        }
        if self.trace.trace && self.engine == EngineArg::Jit {
            return Err(Failure::Usage(
                "`--trace` is the interpreter's: add `--engine interp`".to_string(),
            ));
        }
        Ok(())
    }

    pub(super) fn engine(&self) -> Result<Engine, Failure> {
        let limit = Duration::try_from_secs_f64(self.timeout)
            .map_err(|e| Failure::Usage(format!("`--timeout`: {e}")))?;
        let kind = match self.engine {
            EngineArg::Jit => EngineKind::Native,
            EngineArg::Interp | EngineArg::Both => EngineKind::Interpreter,
        };
        let config = EngineConfig::default()
            .kind(kind)
            .threads(self.threads.map_or(0, Into::into))
            .time_limit((!limit.is_zero()).then_some(limit));
        let config = self
            .set
            .iter()
            .fold(config, |config, (key, value)| config.setting(key, value));
        Ok(Engine::new(config))
    }
}
