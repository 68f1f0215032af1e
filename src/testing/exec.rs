//! Launches and calls as test cases want them: the same memory, filled anew, for each engine.

use super::launch::{ArgValue, LaunchSpec};
use crate::error::Error;
use crate::interp::Trace;
use crate::ir::memory::Space;
use crate::machine::{Fault, FaultKind};
use crate::runtime::{
    AnyFunction, Arg, Buffer, Cancel, Device, DeviceConfig, Engine, EngineKind, Instance, Kernel,
    Launch, Module, Output, Program, Report, Variable,
};
use std::time::Duration;

/// The `.global` variables of an instance with what they hold at first.
#[derive(Debug, Clone)]
struct Globals(Vec<(Variable, Vec<u8>)>);

impl Globals {
    fn of(instance: &Instance) -> Result<Self, Error> {
        let mut globals = Vec::new();
        for variable in &instance.program().module().ir().variables {
            if variable.space == Space::Global && !variable.scoped {
                let variable = instance.global(&variable.name)?;
                let contents = variable.read()?;
                globals.push((variable, contents));
            }
        }
        Ok(Globals(globals))
    }

    fn restore(&self) -> Result<(), Error> {
        self.0
            .iter()
            .try_for_each(|(variable, contents)| variable.write(contents))
    }

    fn read(&self) -> Result<Vec<(String, Vec<u8>)>, Error> {
        self.0
            .iter()
            .map(|(variable, _)| Ok((variable.name().to_string(), variable.read()?)))
            .collect()
    }
}

/// Gives a module's variables memory, on a device of their own.
fn instantiate(program: &Program) -> Result<Instance, Error> {
    let bits = program.module().address_bits();
    let device = Device::new(DeviceConfig::default().address_bits(bits))?;
    program.instantiate(&device)
}

/// A launch made ready: memory is allocated once, so that addresses are the same in each engine. Clones share it.
#[derive(Debug, Clone)]
pub struct Prepared {
    kernel: Kernel,
    launch: Launch,
    args: Vec<Arg>,
    /// Each buffer with what it holds at first.
    buffers: Vec<(Buffer<u8>, Vec<u8>)>,
    globals: Globals,
    /// What it prints.
    output: Output,
}

/// What a launch left behind.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How it ended.
    pub end: Result<Report, Box<Fault>>,
    /// What the buffers hold, in the order of their arguments.
    pub buffers: Vec<Vec<u8>>,
    /// What the `.global` variables hold.
    pub globals: Vec<(String, Vec<u8>)>,
    /// What it has printed.
    pub printed: Vec<u8>,
    /// Whether the order of its blocks was fixed, so that it leaves the same whoever runs it, or does not matter.
    pub ordered: bool,
}

impl Prepared {
    /// Compiles a module and allocates what `spec` asks for.
    ///
    /// # Errors
    /// What compiling, allocating and looking up the kernel say.
    pub fn new(module: &Module, spec: &LaunchSpec, engine: &Engine) -> Result<Self, Error> {
        Self::of_program(&engine.compile(module)?, spec)
    }

    /// As [`Prepared::new`], for a module that is compiled already.
    ///
    /// # Errors
    /// What allocating and looking up the kernel say.
    pub fn of_program(program: &Program, spec: &LaunchSpec) -> Result<Self, Error> {
        Self::of_instance(&instantiate(program)?, spec)
    }

    /// As [`Prepared::new`], for a module that has its memory already.
    ///
    /// # Errors
    /// What allocating and looking up the kernel say.
    pub fn of_instance(instance: &Instance, spec: &LaunchSpec) -> Result<Self, Error> {
        let kernel = instance.kernel(&spec.kernel)?;
        let mut args = Vec::new();
        let mut buffers = Vec::new();
        for arg in &spec.args {
            match &arg.value {
                ArgValue::Bytes(bytes) => args.push(Arg::bytes(bytes)),
                ArgValue::Buffer { contents, .. } => {
                    let buffer = instance.device().alloc_from(contents)?;
                    args.push(Arg::from(&buffer));
                    buffers.push((buffer, contents.clone()));
                }
            }
        }
        let output = Output::default();
        let mut launch = Launch::grid(spec.grid)
            .block(spec.block)
            .shared(spec.dynamic_shared)
            .output(&output);
        if let Some(cluster) = spec.cluster {
            launch = launch.cluster(cluster);
        }
        if let Some(workers) = spec.workers {
            launch = launch.workers(workers);
        }
        Ok(Prepared {
            kernel,
            launch,
            output,
            args,
            buffers,
            globals: Globals::of(instance)?,
        })
    }

    /// Changes how long the launch may take.
    #[must_use]
    pub fn time_limit(mut self, limit: Option<Duration>) -> Self {
        self.launch = self.launch.time_limit(limit);
        self
    }

    /// Lets `cancel` end its launches.
    #[must_use]
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.launch = self.launch.cancel(cancel);
        self
    }

    /// Follows the schedule of this seed, or the canonical one.
    #[must_use]
    pub fn seed(mut self, seed: Option<u64>) -> Self {
        self.launch = self.launch.seed(seed);
        self
    }

    /// Fills memory anew and launches.
    ///
    /// # Errors
    /// Everything but faults, which are an outcome.
    pub fn run(&self, engine: EngineKind) -> Result<Outcome, Error> {
        self.refill()?;
        let launch = self.launch.clone().engine(engine);
        self.outcome(self.kernel.launch(launch, &self.args))
    }

    /// As [`Prepared::run`], in the interpreter; `trace` sees each instruction.
    pub(crate) fn run_traced(&self, trace: &mut impl Trace) -> Result<Outcome, Error> {
        self.refill()?;
        let launch = self.launch.clone();
        self.outcome(self.kernel.launch_traced(launch, &self.args, trace))
    }

    /// Whether threads of the kernel may have to be left, so that both engines can follow a schedule.
    pub(crate) fn kernel_suspends(&self) -> bool {
        self.kernel.suspends()
    }

    /// The program that the kernel is of.
    pub(crate) fn program(&self) -> &Program {
        self.kernel.instance().program()
    }

    fn refill(&self) -> Result<(), Error> {
        for (buffer, contents) in &self.buffers {
            buffer.write(contents)?;
        }
        self.globals.restore()
    }

    fn outcome(&self, launched: Result<Report, Error>) -> Result<Outcome, Error> {
        let end = end(launched)?;
        let buffers = self.buffers.iter().map(|(buffer, _)| buffer.to_vec());
        Ok(Outcome {
            end,
            buffers: buffers.collect::<Result<_, _>>()?,
            globals: self.globals.read()?,
            printed: self.output.take(),
            ordered: !self.kernel.depends_on_workers(),
        })
    }
}

/// Tells faults from other errors.
fn end<T>(result: Result<T, Error>) -> Result<Result<T, Box<Fault>>, Error> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(Error::Fault(fault)) => Ok(Err(fault)),
        Err(other) => Err(other),
    }
}

/// A call of a device function made ready.
#[derive(Debug)]
pub struct PreparedCall {
    function: AnyFunction,
    globals: Globals,
}

/// What a call gave.
#[derive(Debug, Clone)]
pub struct CallOutcome {
    /// The bytes of each result, or a fault.
    pub end: Result<Vec<Vec<u8>>, Box<Fault>>,
    /// What the `.global` variables hold.
    pub globals: Vec<(String, Vec<u8>)>,
}

impl PreparedCall {
    /// Compiles a module and looks up a function.
    ///
    /// # Errors
    /// What compiling and looking up say.
    pub fn new(module: &Module, function: &str, engine: &Engine) -> Result<Self, Error> {
        Self::of_program(&engine.compile(module)?, function)
    }

    /// As [`PreparedCall::new`], for a module that is compiled already.
    ///
    /// # Errors
    /// What allocating and looking up say.
    pub fn of_program(program: &Program, function: &str) -> Result<Self, Error> {
        Self::of_instance(&instantiate(program)?, function)
    }

    /// As [`PreparedCall::new`], for a module that has its memory already.
    ///
    /// # Errors
    /// What looking up says.
    pub fn of_instance(instance: &Instance, function: &str) -> Result<Self, Error> {
        Ok(PreparedCall {
            function: instance.any_function(function)?,
            globals: Globals::of(instance)?,
        })
    }

    /// The sizes of the parameters in bytes.
    pub fn parameter_sizes(&self) -> Vec<usize> {
        let parameters = self.function.parameters();
        parameters.iter().map(|p| p.size as usize).collect()
    }

    /// Fills variables anew and calls; `args` are the bytes of each parameter.
    ///
    /// # Errors
    /// Everything but faults, which are an outcome.
    pub fn run(&self, args: &[Vec<u8>], engine: EngineKind) -> Result<CallOutcome, Error> {
        self.globals.restore()?;
        let args: Vec<Arg> = args.iter().map(|a| Arg::bytes(a)).collect();
        let end = end(self.function.clone().engine(engine).call(&args))?;
        Ok(CallOutcome {
            end,
            globals: self.globals.read()?,
        })
    }
}

/// Whether faults are of one kind and about one instruction; a time limit strikes anywhere.
fn same_fault(a: &Fault, b: &Fault) -> bool {
    a.kind == b.kind && (a.span == b.span || a.kind == FaultKind::TimeLimit)
}

/// How the outcomes of two engines differ: in kind or position of a fault, or in memory where there was none and its contents
/// do not depend on which worker came first.
pub fn difference(interpreter: &Outcome, native: &Outcome) -> Option<String> {
    match ends_differ(&interpreter.end, &native.end) {
        Ends::Differ(text) => return Some(text),
        Ends::SameFault => return None,
        Ends::Well => {}
    }
    // Several workers draw tickets as they come.
    if !(interpreter.ordered && native.ordered) {
        return None;
    }
    let buffers = interpreter.buffers.iter().zip(&native.buffers).enumerate();
    for (index, (a, b)) in buffers {
        if let Some(difference) = first_difference(a, b) {
            return Some(format!("buffer {index}, {difference}"));
        }
    }
    globals_difference(&interpreter.globals, &native.globals)
}

/// How the outcomes of two engines differ.
pub fn call_difference(interpreter: &CallOutcome, native: &CallOutcome) -> Option<String> {
    match ends_differ(&interpreter.end, &native.end) {
        Ends::Differ(text) => return Some(text),
        Ends::SameFault => return None,
        Ends::Well => {}
    }
    if let (Ok(a), Ok(b)) = (&interpreter.end, &native.end)
        && a != b
    {
        return Some(format!(
            "{} in the interpreter, {} in native code",
            show_results(a),
            show_results(b)
        ));
    }
    globals_difference(&interpreter.globals, &native.globals)
}

enum Ends {
    Well,
    SameFault,
    Differ(String),
}

fn ends_differ<T>(interpreter: &Result<T, Box<Fault>>, native: &Result<T, Box<Fault>>) -> Ends {
    let show = |end: &Result<T, Box<Fault>>| match end {
        Ok(_) => "no fault".to_string(),
        Err(fault) => fault.to_string(),
    };
    match (interpreter, native) {
        (Ok(_), Ok(_)) => Ends::Well,
        (Err(a), Err(b)) if same_fault(a, b) => Ends::SameFault,
        (a, b) => Ends::Differ(format!(
            "the interpreter ends with {}, native code with {}",
            show(a),
            show(b)
        )),
    }
}

fn globals_difference(a: &[(String, Vec<u8>)], b: &[(String, Vec<u8>)]) -> Option<String> {
    a.iter().zip(b).find_map(|((name, a), (_, b))| {
        first_difference(a, b).map(|difference| format!("variable {name}, {difference}"))
    })
}

fn first_difference(a: &[u8], b: &[u8]) -> Option<String> {
    let index = a.iter().zip(b).position(|(x, y)| x != y)?;
    Some(format!(
        "byte {index}: {:02x} in the interpreter, {:02x} in native code",
        a[index], b[index]
    ))
}

/// Results in hexadecimal.
pub fn show_results(results: &[Vec<u8>]) -> String {
    let words: Vec<String> = results
        .iter()
        .map(|bytes| bytes.iter().rev().map(|b| format!("{b:02x}")).collect())
        .collect();
    match &words[..] {
        [one] => one.clone(),
        _ => format!("({})", words.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{Position, Span};

    fn fault(kind: FaultKind, start: u32) -> Box<Fault> {
        Box::new(Fault {
            kind,
            function: "k".to_string(),
            span: Span::new(start, start + 4),
            file: "t.ptx".to_string(),
            position: Position { line: 1, column: 1 },
            instruction: "trap".to_string(),
            source: None,
            block: [0; 3],
            thread: [0; 3],
            address: None,
            nearest: None,
            detail: None,
        })
    }

    fn call(end: Result<Vec<Vec<u8>>, Box<Fault>>, global: u8) -> CallOutcome {
        CallOutcome {
            end,
            globals: vec![("g".to_string(), vec![0, global])],
        }
    }

    #[test]
    fn results_and_variables_are_compared() {
        let one = || Ok(vec![vec![1, 0, 0, 0]]);
        assert_eq!(call_difference(&call(one(), 7), &call(one(), 7)), None);
        let other = call_difference(&call(one(), 7), &call(Ok(vec![vec![2, 0, 0, 0]]), 7));
        let text = other.expect("results differ");
        assert!(
            text.contains("00000001 in the interpreter, 00000002 in native code"),
            "{text}"
        );
        let other = call_difference(&call(one(), 7), &call(one(), 8));
        let text = other.expect("variables differ");
        assert!(text.contains("variable g, byte 1: 07"), "{text}");
    }

    #[test]
    fn faults_are_compared_by_kind_and_place() {
        let difference = |a, b| call_difference(&call(Err(a), 0), &call(Err(b), 1));
        use FaultKind::{Misaligned, OutOfBounds, TimeLimit};
        assert_eq!(difference(fault(Misaligned, 9), fault(Misaligned, 9)), None);
        assert_eq!(difference(fault(TimeLimit, 9), fault(TimeLimit, 50)), None);
        assert!(difference(fault(Misaligned, 9), fault(Misaligned, 50)).is_some());
        assert!(difference(fault(Misaligned, 9), fault(OutOfBounds, 9)).is_some());
        let well = call(Ok(Vec::new()), 0);
        assert!(call_difference(&well, &call(Err(fault(Misaligned, 9)), 0)).is_some());
    }
}
