//! `ptxlift run --stats`: what compiling and running took.

use super::super::check::Registers;
use super::super::out::{Out, counted};
use super::{Seen, mnemonic};
use crate::diag::{Source, Span};
use crate::interp::Step;
use crate::runtime::{Module, Program, Report};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::time::Duration;

/// What compiling and running took. Times are in seconds.
#[derive(Debug, Serialize)]
pub(super) struct Stats {
    parse_seconds: f64,
    check_seconds: f64,
    /// Of native code.
    #[serde(skip_serializing_if = "Option::is_none")]
    compile: Option<Compile>,
    kernel: Kernel,
    launch: Launch,
    /// Instructions that the interpreter executed, those that a guard switched off included; the most frequent first.
    #[serde(skip_serializing_if = "Option::is_none")]
    executed: Option<Vec<Executed>>,
}

/// Of the whole module.
#[derive(Debug, Serialize)]
struct Compile {
    plan_seconds: f64,
    lower_seconds: f64,
    cranelift_seconds: f64,
    link_seconds: f64,
    total_seconds: f64,
    functions: usize,
    instructions: usize,
    code_bytes: usize,
}

#[derive(Debug, Serialize)]
struct Kernel {
    instructions: usize,
    blocks: usize,
    registers: Registers,
    shared_bytes: u32,
    local_bytes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    native: Option<NativeKernel>,
}

#[derive(Debug, Serialize)]
struct NativeKernel {
    clif_instructions: usize,
    code_bytes: usize,
    frame_bytes: usize,
    compile_seconds: f64,
}

/// Of the fastest launch.
#[derive(Debug, Serialize)]
struct Launch {
    threads: u64,
    blocks: u64,
    workers: usize,
    busy_workers: usize,
    most_blocks: u64,
    seconds: f64,
    nanoseconds_per_thread: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Executed {
    mnemonic: String,
    count: u64,
}

impl Stats {
    /// Of a launch in one engine: `fastest` is its shortest time.
    pub(super) fn new(
        program: &Program,
        kernel: &str,
        report: &Report,
        fastest: Duration,
        executed: Option<Counter>,
    ) -> Option<Self> {
        let module = program.module();
        let native = report.steps.is_none();
        let parse = module.parse_stats();
        let compile = program.compile_stats().filter(|_| native);
        Some(Stats {
            parse_seconds: parse.parse.as_secs_f64(),
            check_seconds: parse.check.as_secs_f64(),
            compile: compile.map(|stats| Compile {
                plan_seconds: stats.plan.as_secs_f64(),
                lower_seconds: stats.lower.as_secs_f64(),
                cranelift_seconds: stats.compile.as_secs_f64(),
                link_seconds: stats.link.as_secs_f64(),
                total_seconds: report.compile_time.as_secs_f64(),
                functions: stats.functions,
                instructions: stats.instructions,
                code_bytes: stats.code_bytes,
            }),
            kernel: Kernel::new(program, kernel, native)?,
            launch: Launch {
                threads: report.threads,
                blocks: report.blocks,
                workers: report.workers,
                busy_workers: report.busy_workers,
                most_blocks: report.most_blocks,
                seconds: fastest.as_secs_f64(),
                nanoseconds_per_thread: fastest.as_secs_f64() * 1e9 / report.threads.max(1) as f64,
                steps: report.steps,
            },
            executed: executed.map(|counter| counter.by_mnemonic(module)),
        })
    }

    pub(super) fn show(&self, out: &mut Out) {
        let time = |seconds: f64| format!("{:.3?}", Duration::from_secs_f64(seconds));
        let mut stages = vec![("parse", self.parse_seconds), ("check", self.check_seconds)];
        if let Some(compile) = &self.compile {
            stages.extend([
                ("plan", compile.plan_seconds),
                ("lower", compile.lower_seconds),
                ("cranelift", compile.cranelift_seconds),
                ("link", compile.link_seconds),
            ]);
        }
        for (stage, seconds) in stages {
            out.text(format_args!("  {stage:10}{:>12}\n", time(seconds)));
        }
        if let Some(compile) = &self.compile {
            out.text(format_args!(
                "  module: {}, {}, {} of machine code\n",
                counted(compile.functions as u64, "function"),
                counted(compile.instructions as u64, "instruction"),
                counted(compile.code_bytes as u64, "byte"),
            ));
        }
        self.kernel.show(out);
        let Launch {
            threads,
            blocks,
            workers,
            busy_workers,
            most_blocks,
            seconds,
            nanoseconds_per_thread,
            steps,
        } = &self.launch;
        out.text(format_args!(
            "  launch: {}, {nanoseconds_per_thread:.3} ns for each of {}\n",
            time(*seconds),
            counted(*threads, "thread"),
        ));
        out.text(format_args!(
            "  {} on {busy_workers} of {}, at most {most_blocks} on one\n",
            counted(*blocks, "block"),
            counted(*workers as u64, "worker"),
        ));
        if let Some(steps) = steps {
            out.text(format_args!(
                "  {}, {:.1} a thread\n",
                counted(*steps, "step"),
                *steps as f64 / (*threads).max(1) as f64
            ));
        }
        for Executed { mnemonic, count } in self.executed.iter().flatten() {
            out.text(format_args!("  {mnemonic:10}{count:>12}\n"));
        }
    }
}

impl Kernel {
    fn new(program: &Program, name: &str, native: bool) -> Option<Self> {
        let ir = program.module().ir();
        let function = ir.functions.iter().find(|f| f.name == name)?;
        let stats = program.function_stats(name).filter(|_| native);
        Some(Kernel {
            instructions: function.blocks.iter().map(|b| b.insts.len() + 1).sum(),
            blocks: function.blocks.len(),
            registers: Registers::of(function),
            shared_bytes: function.shared_bytes,
            local_bytes: function.local_bytes,
            native: stats.map(|stats| NativeKernel {
                clif_instructions: stats.clif_instructions,
                code_bytes: stats.code_bytes,
                frame_bytes: stats.frame_bytes,
                compile_seconds: (stats.lower + stats.compile).as_secs_f64(),
            }),
        })
    }

    fn show(&self, out: &mut Out) {
        out.text(format_args!(
            "  kernel: {} in {}; registers: {}; shared: {} bytes, local: {} bytes\n",
            counted(self.instructions as u64, "instruction"),
            counted(self.blocks as u64, "basic block"),
            self.registers,
            self.shared_bytes,
            self.local_bytes,
        ));
        if let Some(native) = &self.native {
            out.text(format_args!(
                "  its machine code: {} from {} of Cranelift's, with a stack frame of {}\n",
                counted(native.code_bytes as u64, "byte"),
                counted(native.clif_instructions as u64, "instruction"),
                counted(native.frame_bytes as u64, "byte"),
            ));
        }
    }
}

/// Counts instructions where they stand in the text.
#[derive(Debug, Default)]
pub(super) struct Counter(FxHashMap<Span, u64>);

impl Counter {
    /// Counts a step.
    pub(super) fn count(&mut self, source: &Source, step: &Step<'_>) {
        if Seen::of(source, step) != Seen::Nothing {
            *self.0.entry(step.span).or_default() += 1;
        }
    }

    fn by_mnemonic(self, module: &Module) -> Vec<Executed> {
        let mut counts: FxHashMap<String, u64> = FxHashMap::default();
        for (span, count) in self.0 {
            let text = module.source().slice(span);
            *counts.entry(mnemonic(text).to_string()).or_default() += count;
        }
        let mut list: Vec<Executed> = counts
            .into_iter()
            .map(|(mnemonic, count)| Executed { mnemonic, count })
            .collect();
        list.sort_by(|a, b| {
            b.count
                .cmp(&a.count)
                .then_with(|| a.mnemonic.cmp(&b.mnemonic))
        });
        list
    }
}
