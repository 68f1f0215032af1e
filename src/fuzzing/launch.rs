//! Runs all that is in a module, in both engines, and compares what they leave behind.

#![expect(clippy::panic, reason = "fuzzers find bugs by panics")]

use crate::error::Error;
use crate::isa::special;
use crate::machine::FaultKind;
use crate::runtime::{
    Device, DeviceConfig, Engine, EngineConfig, EngineKind, FunctionInfo, Instance, Module,
    Parameter, Program,
};
use crate::testing::contents::{ElemTy, SplitMix64, fnv1a64};
use crate::testing::exec::{self, CallOutcome, Outcome, Prepared, PreparedCall};
use crate::testing::launch::{Arg, ArgValue, LaunchSpec};
use std::sync::LazyLock;
use std::time::Duration;

/// Kernels and functions of a module that are run; more would make one input take too long.
const MOST_FUNCTIONS: usize = 8;
/// Bytes of module variables, of a parameter, and of a block's shared memory, past which nothing is run.
const MOST_BYTES: u64 = 1 << 20;
/// Bytes of a buffer.
const BUFFER: usize = 1024;
/// Bytes of dynamic shared memory.
const SHARED: u32 = 256;
/// How often a function is called, each time with other arguments.
const CALLS: u64 = 3;
/// Instructions of a thread after which the interpreter gives up.
const STEPS: u64 = 20_000;
/// How long a launch in native code may take.
const TIME: Duration = Duration::from_millis(500);
/// The same, where the interpreter came to no end: only that native code can be stopped is of interest.
const ENDLESS: Duration = Duration::from_millis(10);

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    Engine::new(
        EngineConfig::default()
            .threads(1)
            .steps(STEPS)
            .time_limit(Some(TIME))
            .call_depth(64)
            .local_bytes(64 << 10)
            .verify(true),
    )
});

/// How many launches and calls were made, and what came of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Ended alike without a fault.
    pub well: u32,
    /// Ended alike with a fault.
    pub faults: u32,
    /// Took too long in one of the engines.
    pub endless: u32,
}

/// Launches the kernels and calls the functions of a module that can be run, each in both engines: kernels with one
/// thread and with several blocks of several, functions with several sets of arguments. Pointers point to buffers of
/// their own, other arguments are drawn from the text.
///
/// # Panics
/// If an engine has a bug, or the engines differ in results, memory, or kind or place of a fault. Time limits are no
/// difference.
pub fn run(module: &Module) -> Tally {
    let mut tally = Tally::default();
    let ir = module.ir();
    if ir.global_bytes.saturating_add(ir.const_bytes.into()) > MOST_BYTES || reads_clock(module) {
        return tally;
    }
    let program = expected(ENGINE.compile(module));
    let Some(program) = program else { return tally };
    let runnable = module
        .functions()
        .filter(|f| f.is_defined() && f.unsupported().next().is_none());
    for function in runnable.take(MOST_FUNCTIONS) {
        let parameters = function.parameters();
        let bytes: u64 = parameters.iter().map(|p| u64::from(p.size)).sum();
        if bytes > MOST_BYTES || u64::from(function.shared_bytes()) > MOST_BYTES {
            continue;
        }
        if function.is_kernel() {
            for threads in [1, 3] {
                launch(&program, function, threads, &mut tally);
            }
        } else {
            call(&program, function, &mut tally);
        }
    }
    tally
}

/// What runs one after the other finds another time on the clock.
fn reads_clock(module: &Module) -> bool {
    let text = module.source().text();
    special::SPECIALS
        .iter()
        .any(|s| s.special.tells_time() && text.contains(s.name))
}

/// What came, unless it is unsupported or out of range.
fn expected<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Error::Unsupported(_) | Error::Usage(_)) => None,
        Err(other) => panic!("{other}"),
    }
}

fn launch(program: &Program, kernel: FunctionInfo<'_>, threads: u32, tally: &mut Tally) {
    let module = program.module();
    let limits = module
        .ir()
        .functions
        .iter()
        .find(|f| f.name == kernel.name())
        .map(|f| f.threads)
        .unwrap_or_default();
    let block = limits.required.unwrap_or([threads, 1, 1]);
    if block.iter().map(|&n| u64::from(n)).product::<u64>() > 64 {
        return;
    }
    let mut random = SplitMix64::new(fnv1a64(module.source().text().as_bytes()));
    let args = kernel.parameters().into_iter().map(|p| Arg {
        value: argument(&p, module.address_bits(), &mut random),
        name: p.name,
    });
    let spec = LaunchSpec {
        kernel: kernel.name().to_string(),
        grid: [threads.min(2), 1, 1],
        block,
        cluster: None,
        workers: None,
        dynamic_shared: SHARED,
        args: args.collect(),
    };
    let prepared = instance(program).and_then(|i| expected(Prepared::of_instance(&i, &spec)));
    let Some(prepared) = prepared else { return };
    let Some(interpreter) = expected(prepared.run(EngineKind::Interpreter)) else {
        return;
    };
    let endless = took_too_long(&interpreter.end);
    let prepared = prepared.time_limit(Some(if endless { ENDLESS } else { TIME }));
    let Some(native) = expected(prepared.run(EngineKind::Native)) else {
        return;
    };
    if endless || took_too_long(&native.end) {
        tally.endless += 1;
        return;
    }
    count(tally, interpreter.end.is_ok());
    if let Some(difference) = exec::difference(&interpreter, &native) {
        let Outcome { end, .. } = interpreter;
        panic!(
            "kernel `{}` with {threads} threads in a block: {difference}\n{end:?}\n{spec:?}",
            spec.kernel
        );
    }
}

fn call(program: &Program, function: FunctionInfo<'_>, tally: &mut Tally) {
    let prepared =
        instance(program).and_then(|i| expected(PreparedCall::of_instance(&i, function.name())));
    let Some(prepared) = prepared else { return };
    let text = program.module().source().text();
    for seed in 0..CALLS {
        let mut random = SplitMix64::new(fnv1a64(text.as_bytes()).wrapping_add(seed));
        let args: Vec<_> = function
            .parameters()
            .iter()
            .map(|p| bytes(p, &mut random))
            .collect();
        let Some(interpreter) = expected(prepared.run(&args, EngineKind::Interpreter)) else {
            return;
        };
        let Some(native) = expected(prepared.run(&args, EngineKind::Native)) else {
            return;
        };
        if took_too_long(&interpreter.end) || took_too_long(&native.end) {
            tally.endless += 1;
            return;
        }
        count(tally, interpreter.end.is_ok());
        if let Some(difference) = exec::call_difference(&interpreter, &native) {
            let CallOutcome { end, .. } = interpreter;
            panic!(
                "function `{}` of {args:02x?}: {difference}\n{end:?}",
                function.name()
            );
        }
    }
}

fn instance(program: &Program) -> Option<Instance> {
    let config = DeviceConfig::default()
        .memory_limit(16 * MOST_BYTES)
        .address_bits(program.module().address_bits());
    let device = expected(Device::new(config))?;
    expected(program.instantiate(&device))
}

fn took_too_long<T>(end: &Result<T, Box<crate::machine::Fault>>) -> bool {
    matches!(end, Err(fault) if fault.kind == FaultKind::TimeLimit)
}

fn count(tally: &mut Tally, well: bool) {
    if well {
        tally.well += 1;
    } else {
        tally.faults += 1;
    }
}

/// A buffer where the parameter may be a pointer, other bytes where it cannot.
fn argument(parameter: &Parameter, address_bits: u32, random: &mut SplitMix64) -> ArgValue {
    let float = parameter.declared.starts_with('f');
    if parameter.array || float || parameter.size * 8 != address_bits {
        return ArgValue::Bytes(bytes(parameter, random));
    }
    // Small numbers first, as indices; then any.
    let words = (0..BUFFER / 8).flat_map(|i| {
        let word = random.draw();
        if i < BUFFER / 16 {
            word & 0x1f_0000_001f
        } else {
            word
        }
        .to_le_bytes()
    });
    ArgValue::Buffer {
        ty: ElemTy::U32,
        contents: words.collect(),
    }
}

/// The bytes of an argument: a small number, one at a border, or any.
fn bytes(parameter: &Parameter, random: &mut SplitMix64) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..parameter.size.div_ceil(8))
        .flat_map(|_| {
            let any = random.draw();
            let word = match random.draw() % 4 {
                0 => any % 40,
                1 => 1 << (any % 64),
                2 => (1u64 << (any % 64)).wrapping_neg(),
                _ => any,
            };
            word.to_le_bytes()
        })
        .collect();
    bytes.truncate(parameter.size as usize);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzzing::{mutate, text};
    use crate::testing::discover::discover;
    use std::path::Path;

    /// Texts of `tests/`, short ones, in an order that does not change.
    fn texts() -> Vec<String> {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let found = discover(&[tests]).expect("test files");
        let ptx = found
            .iter()
            .filter(|f| f.path.extension().is_some_and(|e| e == "ptx"));
        ptx.filter_map(|f| std::fs::read_to_string(&f.path).ok())
            .filter(|text| text.len() < 6000)
            .collect()
    }

    #[test]
    fn modules_and_what_mutation_makes_of_them_keep_all_promises() {
        let mut tally = Tally::default();
        let texts = texts();
        let mut keeps = |text: &str| {
            text::lex(text.as_bytes());
            text::parse(text.as_bytes());
            if let Some(module) = text::check(text.as_bytes()) {
                let one = run(&module);
                tally.well += one.well;
                tally.faults += one.faults;
                tally.endless += one.endless;
            }
        };
        for (seed, original) in (0..).zip(&texts).step_by(6) {
            keeps(original);
            let other = &texts[(seed as usize + 7) % texts.len()];
            let changed = [
                mutate::mutate(original, 8000, seed),
                mutate::cross(original, other, 8000, seed),
            ];
            for text in changed.into_iter().flatten() {
                keeps(&text);
            }
        }
        assert!(tally.well > 100, "{tally:?}");
        assert!(tally.faults > 10, "{tally:?}");
    }
}
