//! What each stage takes of the way from text to native code.

use crate::measure::Effort;
use crate::subject::{Subject, engine};
use ptxlift::diag::Source;
use ptxlift::{EngineKind, syntax};
use std::time::{Duration, Instant};

/// The stages in order.
pub const STAGES: [&str; 6] = ["parse", "check", "plan", "lower", "Cranelift", "link"];

/// Median seconds for each stage, and what came of it.
#[derive(Debug, Clone)]
pub struct Stages {
    pub name: String,
    pub seconds: [f64; STAGES.len()],
    pub instructions: usize,
    pub code_bytes: usize,
}

impl Stages {
    pub fn total(&self) -> f64 {
        self.seconds.iter().sum()
    }

    /// A stage's part of the whole, from 0 to 1.
    pub fn share(&self, stage: usize) -> f64 {
        self.seconds[stage] / self.total()
    }

    /// Compiles a subject from its text, again and again.
    pub fn measure(subject: &Subject, effort: Effort) -> Self {
        let engine = engine(EngineKind::Native, 1, &[]);
        let source = Source::new(subject.name.clone(), subject.text.clone());
        let mut times: [Vec<Duration>; STAGES.len()] = Default::default();
        let (mut instructions, mut code_bytes) = (0, 0);
        let mut spent = Duration::ZERO;
        while times[0].len() < effort.turns || spent < effort.budget {
            let start = Instant::now();
            let parsed = syntax::parse(&source);
            assert!(parsed.is_ok(), "{}", subject.name);
            let parse = start.elapsed();
            let start = Instant::now();
            let module = subject.module();
            let both = start.elapsed();
            let program = engine.compile(&module).expect("a program");
            spent += start.elapsed();
            let stats = program.compile_stats().expect("native code");
            let check = both.saturating_sub(parse);
            let all = [
                parse,
                check,
                stats.plan,
                stats.lower,
                stats.compile,
                stats.link,
            ];
            for (times, time) in times.iter_mut().zip(all) {
                times.push(time);
            }
            instructions = stats.instructions;
            code_bytes = stats.code_bytes;
        }
        let median = |mut times: Vec<Duration>| {
            times.sort_unstable();
            times[times.len() / 2].as_secs_f64()
        };
        Stages {
            name: subject.name.clone(),
            seconds: times.map(median),
            instructions,
            code_bytes,
        }
    }
}
