//! `ptxlift run`

use super::error::Failure;
use super::out::{Out, counted, warn};
use super::{EngineArg, ReadingArg, trace};
use crate::error::Error;
use crate::interp::Step;
use crate::runtime::{Engine, EngineConfig, EngineKind, Module};
use crate::testing::cases::judge_description;
use crate::testing::contents::ElemTy;
use crate::testing::exec::{self, Outcome, Prepared};
use crate::testing::launch::{Arg, ArgValue, LaunchSpec};
use crate::testing::launch_toml::LaunchFile;
use crate::testing::report::{self, engine_name};
use crate::testing::{FormatError, files};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxlift run case/launch.toml
  ptxlift run saxpy.ptx --kernel saxpy --grid 4 --block 256 --arg f32:2.5 \\
    --arg 'f32[1000]:splitmix64 seed=1 lo=0 hi=1' --arg f32[1000]:zeros --arg u32:1000 --print 2

Arguments are TYPE:VALUE, bytes:HEX, or TYPE[COUNT]:CONTENTS; types are u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64;
contents are zeros, fill value=V, iota start=S step=T, splitmix64 seed=N [mod=M add=A | lo=L hi=H], @FILE.")]
pub(super) struct Args {
    /// A launch.toml, or a PTX file
    #[arg(value_name = "LAUNCH.toml|FILE.ptx")]
    file: PathBuf,
    /// The kernel [default: the only one]
    #[arg(long, value_name = "K")]
    kernel: Option<String>,
    /// Blocks [default: 1,1,1]
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_extent)]
    grid: Option<Extent>,
    /// Threads of a block [default: 1,1,1]
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_extent)]
    block: Option<Extent>,
    /// Bytes of dynamic shared memory [default: 0]
    #[arg(long, value_name = "BYTES")]
    shared: Option<u32>,
    /// The next argument of the kernel, such as u32:5 or f32[256]:zeros
    #[arg(long = "arg", value_name = "TYPE:VALUE")]
    args: Vec<String>,
    /// Print buffer parameter N, counted from 0, afterwards
    #[arg(long, value_name = "N")]
    print: Vec<usize>,
    /// Write buffer parameter N to a file afterwards
    #[arg(long, value_name = "N=FILE", value_parser = parse_output)]
    out: Vec<(usize, PathBuf)>,
    /// Who executes
    #[arg(long, value_enum, default_value = "jit")]
    engine: EngineArg,
    /// Which meaning is followed where NVIDIA's tools depart from the text of the PTX ISA
    #[arg(long, value_enum, default_value = "isa")]
    reading: ReadingArg,
    /// Worker threads [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<std::num::NonZeroUsize>,
    /// Most seconds that the launch may take; 0 for no limit
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    timeout: f64,
    /// Launch so many times
    #[arg(long, value_name = "N", default_value = "1")]
    repeat: std::num::NonZeroU32,
    /// A setting of Cranelift's
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting)]
    set: Vec<(String, String)>,
    #[arg(long, hide = true)]
    seed: Option<u64>,
    #[arg(long, hide = true)]
    width: Option<String>,
    #[arg(long, hide = true)]
    interleave: Option<u32>,
    #[arg(long, hide = true)]
    stats: bool,
    #[command(flatten)]
    trace: trace::Filter,
}

#[derive(Debug, Clone, Copy)]
struct Extent([u32; 3]);

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

/// The settings of Cranelift's that may differ without breaking what relies on the others.
const SETTINGS: [&str; 6] = [
    "opt_level",
    "regalloc_algorithm",
    "enable_alias_analysis",
    "enable_verifier",
    "log2_min_function_alignment",
    "preserve_frame_pointers",
];

fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    if !SETTINGS.contains(&key) {
        return Err(format!(
            "`{key}` cannot be set; these can: {}",
            SETTINGS.join(", ")
        ));
    }
    Ok((key.to_string(), value.to_string()))
}

/// What is launched.
struct Job {
    /// The modules to try: names in messages, texts.
    modules: Vec<(String, String)>,
    spec: LaunchSpec,
    /// What is expected of it.
    description: Option<LaunchFile>,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    args.refuse_what_comes_later()?;
    let job = if args.file.extension().is_some_and(|e| e == "toml") {
        args.described_job()?
    } else {
        args.given_job()?
    };
    for index in args.print.iter().chain(args.out.iter().map(|(i, _)| i)) {
        if !matches!(
            job.spec.args.get(*index).map(|a| &a.value),
            Some(ArgValue::Buffer { .. })
        ) {
            return Err(Failure::Usage(format!(
                "parameter {index} is not a buffer; the kernel is given {}, counted from 0",
                counted(job.spec.args.len() as u64, "argument")
            )));
        }
    }
    let engine = args.engine()?;
    let mut wrong = false;
    for (name, text) in &job.modules {
        let module = Module::parse_named(name, text)?;
        if job.description.is_none() {
            args.check_arguments(&module, &job.spec)?;
        }
        let prepared = match Prepared::new(&module, &job.spec, &engine) {
            // What a description says wrongly is the file's fault, not the command line's.
            Err(error @ Error::Usage(_)) if job.description.is_some() => {
                return Err(Failure::Input(format!("{}: {error}", args.file.display())));
            }
            prepared => prepared?,
        };
        wrong |= !args.launch(&job, name, &prepared, out)?;
    }
    if wrong {
        return Err(Failure::Said(1));
    }
    Ok(())
}

impl Args {
    fn refuse_what_comes_later(&self) -> Result<(), Failure> {
        self.reading.require_isa()?;
        super::require_width_1(self.width.as_deref())?;
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

    fn engine(&self) -> Result<Engine, Failure> {
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

    fn described_job(&self) -> Result<Job, Failure> {
        let launch_options = [
            ("--kernel", self.kernel.is_some()),
            ("--grid", self.grid.is_some()),
            ("--block", self.block.is_some()),
            ("--shared", self.shared.is_some()),
            ("--arg", !self.args.is_empty()),
        ];
        if let Some((option, _)) = launch_options.iter().find(|(_, given)| *given) {
            return Err(Failure::Usage(format!(
                "`{option}` is for PTX files; {} says it already",
                self.file.display()
            )));
        }
        let (name, text) = files::read_text(&self.file)?;
        let folder = self.file.parent().unwrap_or(Path::new(""));
        let description = LaunchFile::parse(&text, &mut |file| files::read_in(folder, file))
            .map_err(|e| Failure::Input(format!("{name}: {e}")))?;
        let modules = description
            .modules
            .iter()
            .map(|m| files::read_text(&folder.join(m)))
            .collect::<Result<_, _>>()?;
        Ok(Job {
            modules,
            spec: description.spec.clone(),
            description: Some(description),
        })
    }

    fn given_job(&self) -> Result<Job, Failure> {
        let (name, text) = files::read_text(&self.file)?;
        let kernel = match &self.kernel {
            Some(kernel) => kernel.clone(),
            None => only_kernel(&Module::parse_named(&name, &*text)?)?,
        };
        let mut read = |file: &str| {
            files::read(Path::new(file)).map_err(|e| FormatError::new(format!("{file}: {e}")))
        };
        let args = self
            .args
            .iter()
            .enumerate()
            .map(|(i, arg)| Arg::parse(i, arg, &mut read))
            .collect::<Result<_, _>>()
            .map_err(|e| Failure::Usage(format!("`--arg`: {e}")))?;
        Ok(Job {
            modules: vec![(name, text)],
            spec: LaunchSpec {
                kernel,
                grid: self.grid.map_or([1; 3], |e| e.0),
                block: self.block.map_or([1; 3], |e| e.0),
                dynamic_shared: self.shared.unwrap_or(0),
                args,
            },
            description: None,
        })
    }

    /// Whether the sizes of the arguments are those of the parameters. Their number is checked by the launch.
    fn check_arguments(&self, module: &Module, spec: &LaunchSpec) -> Result<(), Failure> {
        let Some(kernel) = module.kernels().find(|k| k.name() == spec.kernel) else {
            return Ok(());
        };
        let parameters = kernel.parameters();
        let arguments = self.args.iter().zip(&spec.args);
        for (index, ((text, arg), parameter)) in arguments.zip(&parameters).enumerate() {
            let (what, size) = match &arg.value {
                ArgValue::Bytes(bytes) => (format!("`{text}`"), bytes.len() as u32),
                ArgValue::Buffer { .. } => (
                    format!("the address of `{text}`"),
                    module.ir().address_bits / 8,
                ),
            };
            if size != parameter.size {
                return Err(Failure::Usage(format!(
                    "parameter {index} of kernel `{}` is `{parameter}` of {} bytes, {what} has {size}",
                    spec.kernel, parameter.size
                )));
            }
        }
        Ok(())
    }

    /// Launches in each engine; `false` if something is not as expected.
    fn launch(
        &self,
        job: &Job,
        module: &str,
        prepared: &Prepared,
        out: &mut Out,
    ) -> Result<bool, Failure> {
        let LaunchSpec {
            kernel,
            grid,
            block,
            ..
        } = &job.spec;
        let show = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
        out.text(format_args!(
            "{module}: kernel {kernel}, grid {}, block {}\n",
            show(*grid),
            show(*block)
        ));
        let mut good = true;
        let mut first: Option<Outcome> = None;
        for engine in self.engine.kinds() {
            let left = self.repeat(prepared, engine, out)?;
            match &job.description {
                Some(description) => good &= say_verdict(description, &left, engine, out),
                None => {
                    if let Err(fault) = left.end {
                        return Err(Failure::Library(Error::Fault(fault)));
                    }
                }
            }
            if let Some(first) = &first
                && let Some(difference) = exec::difference(first, &left)
            {
                return Err(Failure::bug(format!(
                    "the engines differ (or the threads race): {difference}"
                )));
            }
            first.get_or_insert(left);
        }
        if let Some(left) = first {
            self.show_buffers(job, &left, out)?;
        }
        Ok(good)
    }

    fn repeat(
        &self,
        prepared: &Prepared,
        engine: EngineKind,
        out: &mut Out,
    ) -> Result<Outcome, Failure> {
        let mut left = match engine {
            EngineKind::Interpreter if self.trace.trace => {
                let module = prepared.module().clone();
                prepared.run_traced(&mut |step: &Step<'_>| {
                    self.trace.show(module.ir(), step, out);
                })?
            }
            EngineKind::Interpreter | EngineKind::Native => prepared.run(engine)?,
        };
        let mut times = Vec::new();
        for turn in 1..=self.repeat.get() {
            if turn > 1 {
                left = prepared.run(engine)?;
            }
            match &left.end {
                Ok(report) => times.push(report.run_time),
                Err(_) => return Ok(left),
            }
        }
        if let Ok(report) = &left.end {
            let compiled = match engine {
                EngineKind::Native => format!("compiled in {:.3?}, ", report.compile_time),
                EngineKind::Interpreter => String::new(),
            };
            times.sort();
            let ran = match times[..] {
                [one] => format!("ran in {one:.3?}"),
                _ => format!(
                    "ran {} times: least {:.3?}, median {:.3?}",
                    times.len(),
                    times[0],
                    times[times.len() / 2]
                ),
            };
            out.text(format_args!(
                "{}: {compiled}{ran} ({} in {})\n",
                engine_name(engine),
                counted(report.threads, "thread"),
                counted(report.blocks, "block")
            ));
        }
        Ok(left)
    }

    /// What was asked for, and the first elements of the outputs that a description names.
    fn show_buffers(&self, job: &Job, left: &Outcome, out: &mut Out) -> Result<(), Failure> {
        let spec = &job.spec;
        let contents = |index: usize| {
            let arg = spec.args.get(index)?;
            let ArgValue::Buffer { ty, .. } = &arg.value else {
                return None;
            };
            let before = spec.args[..index].iter();
            let position = before
                .filter(|a| matches!(a.value, ArgValue::Buffer { .. }))
                .count();
            Some((arg, *ty, left.buffers.get(position)?))
        };
        let outputs = job.description.iter().flat_map(|d| &d.outputs);
        for output in outputs.filter(|o| !self.print.contains(&o.arg)) {
            if let Some((arg, ty, bytes)) = contents(output.arg) {
                print_beginning(&arg.name, ty, bytes, out);
            }
        }
        for &index in &self.print {
            if let Some((arg, ty, bytes)) = contents(index) {
                print_buffer(&arg.name, ty, bytes, out);
            }
        }
        for (index, file) in &self.out {
            if let Some((_, _, bytes)) = contents(*index) {
                std::fs::write(file, bytes)
                    .map_err(|e| Failure::Input(format!("{}: {e}", file.display())))?;
            }
        }
        Ok(())
    }
}

fn only_kernel(module: &Module) -> Result<String, Failure> {
    let names: Vec<&str> = module.kernels().map(|k| k.name()).collect();
    match names[..] {
        [one] => Ok(one.to_string()),
        [] => Err(Failure::Input(format!(
            "{}: the module has no kernel",
            module.source().name()
        ))),
        _ => Err(Failure::Usage(format!(
            "`--kernel` says which of the kernels: {}",
            names.join(", ")
        ))),
    }
}

/// Says whether a launch did what its description expects; gives it.
fn say_verdict(
    description: &LaunchFile,
    left: &Outcome,
    engine: EngineKind,
    out: &mut Out,
) -> bool {
    let engine = engine_name(engine);
    match judge_description(description, left) {
        report::Outcome::Failed { expected, got } => {
            let _ = out.flush();
            warn(
                &mut Out::stderr(),
                "error",
                &format!("{engine}: expected {expected}; got {got}"),
            );
            false
        }
        report::Outcome::Passed | report::Outcome::Skipped { .. } => {
            match &left.end {
                Err(fault) => out.text(format_args!("{engine}: a fault, as expected: {fault}\n")),
                Ok(_) if description.outputs.is_empty() => {}
                Ok(_) => out.text(format_args!("{engine}: the outputs are as expected\n")),
            }
            true
        }
    }
}

/// A buffer's first elements.
fn print_beginning(name: &str, ty: ElemTy, bytes: &[u8], out: &mut Out) {
    const SHOWN: usize = 4;
    let size = ty.bytes();
    let count = bytes.len() / size;
    out.text(format_args!("{name}: {ty}[{count}]:"));
    for element in bytes.chunks_exact(size).take(SHOWN) {
        out.text(format_args!(" {}", ty.show(element)));
    }
    out.text(format_args!(
        "{}\n",
        if count > SHOWN { " ..." } else { "" }
    ));
}

/// A buffer's elements, eight on a line.
fn print_buffer(name: &str, ty: ElemTy, bytes: &[u8], out: &mut Out) {
    const ON_A_LINE: usize = 8;
    let size = ty.bytes();
    out.text(format_args!("{name}: {ty}[{}]\n", bytes.len() / size));
    for (line, chunk) in bytes.chunks(ON_A_LINE * size).enumerate() {
        out.text(format_args!("{:>6}:", line * ON_A_LINE));
        for element in chunk.chunks_exact(size) {
            out.text(format_args!(" {}", ty.show(element)));
        }
        out.text(format_args!("\n"));
    }
}
