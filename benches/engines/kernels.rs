//! The kernels of `tests/kernels` at the sizes that their description gives, beside `gcc -O3 -march=native`: what stands in
//! `kernels.md` and its chart; where there is pocl, beside the same kernel in OpenCL, too. Each launch that is timed is compared with
//! what C computes.

use crate::charts::{self, Drawn};
use crate::groups::{Bench, Run, Work, launched, timed};
use crate::measure::{self, Effort, Measured};
use crate::pocl::Pocl;
use crate::reference::Gcc;
use crate::subject::{self, Expected, Subject, engine};
use crate::summary::{digits, table};
use ptxlift::testing::exec::{Outcome, Prepared};
use ptxlift::testing::launch::LaunchSpec;
use ptxlift::{EngineKind, Module};
use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

/// A kernel of the table. Sizes are what its definition counts: blocks, or the side of a matrix or picture.
struct Kernel {
    /// The entry, and the folder that it is in.
    name: &'static str,
    /// The same in OpenCL.
    opencl: &'static str,
    /// The size in native code and C.
    full: u32,
    /// The size in the interpreter.
    small: u32,
    /// What is counted, in the singular.
    unit: &'static str,
    /// How many units there are at a size.
    units: fn(u64) -> u64,
}

/// Units of kernels with blocks of 256 threads, of which each does one.
const OF_THREADS: fn(u64) -> u64 = |blocks| 256 * blocks;

/// Units of a product of matrices.
const OF_PRODUCT: fn(u64) -> u64 = |side| side * side * side;

const KERNELS: [Kernel; 10] = [
    Kernel {
        name: "vecadd",
        opencl: include_str!("../../tests/kernels/vecadd/kernel.cl"),
        full: 65_536,
        small: 16,
        unit: "element",
        units: OF_THREADS,
    },
    Kernel {
        name: "bitmix",
        opencl: include_str!("../../tests/kernels/bitmix/kernel.cl"),
        full: 4_096,
        small: 2,
        unit: "element",
        units: OF_THREADS,
    },
    Kernel {
        name: "sha256",
        opencl: include_str!("../../tests/kernels/sha256/kernel.cl"),
        full: 1_024,
        small: 1,
        unit: "64-byte block",
        units: OF_THREADS,
    },
    Kernel {
        name: "matmul_naive",
        opencl: include_str!("../../tests/kernels/matmul_naive/kernel.cl"),
        full: 512,
        small: 64,
        unit: "multiply-add",
        units: OF_PRODUCT,
    },
    Kernel {
        name: "matmul_tiled",
        opencl: include_str!("../../tests/kernels/matmul_tiled/kernel.cl"),
        full: 512,
        small: 64,
        unit: "multiply-add",
        units: OF_PRODUCT,
    },
    Kernel {
        name: "reduce_smem",
        opencl: include_str!("../../tests/kernels/reduce_smem/kernel.cl"),
        full: 65_536,
        small: 8,
        unit: "element",
        units: OF_THREADS,
    },
    Kernel {
        name: "reduce_shfl",
        opencl: include_str!("../../tests/kernels/reduce_shfl/kernel.cl"),
        full: 65_536,
        small: 8,
        unit: "element",
        units: OF_THREADS,
    },
    Kernel {
        name: "histogram",
        opencl: include_str!("../../tests/kernels/histogram/kernel.cl"),
        full: 4_096,
        small: 4,
        unit: "byte",
        units: |blocks| 4_096 * blocks,
    },
    Kernel {
        name: "mandelbrot",
        opencl: include_str!("../../tests/kernels/mandelbrot/kernel.cl"),
        full: 1_024,
        small: 32,
        unit: "pixel",
        units: |side| side * side,
    },
    Kernel {
        name: "nbody",
        opencl: include_str!("../../tests/kernels/nbody/kernel.cl"),
        full: 16,
        small: 1,
        unit: "interaction",
        units: |blocks| (256 * blocks) * (256 * blocks),
    },
];

/// In smoke mode native code and C do so small a part of the full size.
const SMOKE_PART: u32 = 8;

/// Launches after which native code stays what it is: code in which threads go together is made in the course of some, and judged
/// after four of its own.
const WARM_UP: usize = 8;

/// How often the making of that code is timed, at most: each time takes launches of the full size.
const WIDENINGS: usize = 3;

/// Who does the work, in the order of the table.
const COLUMNS: [&str; 6] = ["interpreter", "scalar", "widened", "all", "gcc", "pocl"];

/// The first column of native code, which scalar code is, and the one after the last.
const SCALAR: usize = 1;
const GCC: usize = 4;

/// The column of native code that is compared with pocl's: both have one thread of the host.
const WIDENED: usize = 2;
const POCL: usize = 5;

/// The benches that compile, beside the columns.
const COMPILE: &str = "compile";
const POCL_COMPILE: &str = "pocl compile";

/// What was measured of a kernel.
struct Row {
    /// As in [`Kernel`].
    name: &'static str,
    unit: &'static str,
    /// Nanoseconds for each unit, by [`COLUMNS`]; nothing where there is no gcc, no pocl.
    times: [Option<f64>; COLUMNS.len()],
    /// Milliseconds from the text to code that can be launched.
    compile: f64,
    /// Milliseconds that making code took in which threads go together; nothing if no launch was worth it.
    widen: Option<f64>,
    /// Milliseconds from the text to the end of pocl's first launch, of one work-group.
    pocl_compile: Option<f64>,
}

impl Row {
    /// A column's time over another's.
    fn ratio(&self, column: usize, base: usize) -> Option<f64> {
        Some(self.times[column]? / self.times[base]?)
    }

    /// All numbers of the row, in the order of the table.
    fn numbers(&self) -> Vec<Option<f64>> {
        let mut numbers = self.times.to_vec();
        numbers.extend((SCALAR..GCC).map(|column| self.ratio(column, GCC)));
        numbers.push(self.ratio(WIDENED, POCL));
        let times_as_long = self.pocl_compile.map(|ms| ms / self.compile);
        numbers.extend([
            Some(self.compile),
            self.widen,
            self.pocl_compile,
            times_as_long,
        ]);
        numbers
    }
}

/// The table.
pub struct Table {
    /// One for each kernel.
    rows: Vec<Row>,
    /// Worker threads of the column `all`.
    workers: usize,
    /// How it was measured.
    effort: Effort,
    /// The version of pocl, if there is one.
    pocl: Option<String>,
}

impl Table {
    /// Measures all kernels; in smoke mode small, and once.
    pub fn measure(smoke: bool, pocl: Option<&Pocl>) -> Self {
        let effort = if smoke { Effort::SMOKE } else { Effort::LONG };
        let part = if smoke { SMOKE_PART } else { 1 };
        let row = |kernel: &Kernel| {
            println!("kernels/{}", kernel.name);
            kernel.row(kernel.full / part, effort, pocl)
        };
        Table {
            rows: KERNELS.iter().map(row).collect(),
            workers: engine(EngineKind::Native, 0, &[]).threads(),
            effort,
            pocl: pocl.map(|pocl| pocl.version.clone()),
        }
    }

    /// `2 threads`
    fn workers(&self) -> String {
        match self.workers {
            1 => "1 thread".to_string(),
            n => format!("{n} threads"),
        }
    }

    /// The table in Markdown, under a word on where and how it was measured.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "Measured on {machine}{and_pocl}.\n\n\
             Nanoseconds for each unit of work, the least of {turns} turns that the columns of a row take; all checks and the time limit are\n\
             on; less is better. Scalar code takes threads one by one, widened code side by side in vectors. gcc is `gcc -O3 -march=native`\n\
             on one thread. The interpreter runs a smaller launch. Compile: from the text to scalar code, cold; widen: what comes on top\n\
             for widened code, which is made in the course of a launch.{pocl}\n\n",
            machine = machine(),
            and_pocl =
                (self.pocl.as_ref()).map_or_else(String::new, |version| format!("; {version}")),
            turns = self.effort.turns,
            pocl = self.pocl.as_ref().map_or("", |_| ABOUT_POCL),
        );
        let together = format!("widened, {}", self.workers());
        let ratio = format!("{} / gcc", self.workers());
        let head = [
            "kernel",
            "unit",
            "interpreter",
            "scalar",
            "widened, 1 thread",
            &together,
            "gcc",
            "pocl",
            "scalar / gcc",
            "widened / gcc",
            &ratio,
            "widened / pocl",
            "compile ms",
            "widen ms",
            "pocl compile ms",
            "pocl compile / compile",
        ];
        let numbers: Vec<Vec<Option<f64>>> = self.rows.iter().map(Row::numbers).collect();
        let means = (0..numbers[0].len()).map(|i| mean(numbers.iter().map(|row| row[i])));
        let means: Vec<Option<f64>> = means.collect();
        let names = self.rows.iter().map(|row| [row.name, row.unit]);
        // Where there is no pocl, there are no columns of it.
        let shown = |column: &usize| self.pocl.is_some() || !head[*column].contains("pocl");
        let shown: Vec<usize> = (0..head.len()).filter(shown).collect();
        let rows: Vec<Vec<String>> = (names.chain([["geometric mean", ""]]))
            .zip(numbers.iter().chain([&means]))
            .map(|(names, numbers)| {
                let numbers = numbers.iter().map(|n| n.map_or_else(String::new, digits));
                let names = names.map(str::to_string).into_iter();
                let cells: Vec<String> = names.chain(numbers).collect();
                shown.iter().map(|&column| cells[column].clone()).collect()
            })
            .collect();
        let head: Vec<&str> = shown.iter().map(|&column| head[column]).collect();
        table(&mut text, &head, &rows);
        text
    }

    /// Draws the times of native code and pocl over gcc's; over those of scalar code where there is no gcc.
    pub fn chart(&self, path: &Path) -> Drawn {
        let (base, name) = match self.rows.iter().all(|row| row.times[GCC].is_some()) {
            true => (GCC, "gcc -O3 -march=native on one thread"),
            false => (SCALAR, "scalar code"),
        };
        let together = format!("widened, {}", self.workers());
        let mut names = vec!["scalar", "widened, 1 thread", &together];
        names.extend(self.pocl.as_ref().map(|_| "pocl, 1 thread"));
        let ratios: Vec<(&str, Vec<f64>)> = (self.rows.iter())
            .map(|row| {
                let columns = (SCALAR..GCC).chain([POCL]);
                let ratios = columns.filter_map(|column| row.ratio(column, base));
                (row.name, ratios.collect())
            })
            .collect();
        let title = format!("Time over that of {name} (logarithmic; less is better)");
        charts::ratios(path, &title, &names, &ratios)
    }
}

/// What the table says where there is pocl.
const ABOUT_POCL: &str = "\n\
    pocl makes native code of the same kernel in OpenCL, with LLVM, and runs it on one thread. Its compile, cold too, is from the text to\n\
    the end of a launch of one work-group: it finishes code in the first launch.";

/// The geometric mean, if there are all.
fn mean(numbers: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let logarithms: Vec<f64> = numbers.map(|n| n.map(f64::ln)).collect::<Option<_>>()?;
    Some((logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

impl Kernel {
    /// Measures the kernel at a size in native code, C and OpenCL.
    fn row(&self, size: u32, effort: Effort, pocl: Option<&Pocl>) -> Row {
        let mut subject = subject::sized(self.name, [size, self.small], Gcc::Vectors);
        let widen = widening(&subject, WIDENINGS.min(effort.turns));
        let measured = measure::alternate(&mut self.benches(size, &mut subject, pocl), effort);
        let find = |name: &str| {
            let found = measured.iter().find(|m| m.name == name);
            found.map(Measured::least_per_unit)
        };
        Row {
            name: self.name,
            unit: self.unit,
            times: COLUMNS.map(find),
            compile: find(COMPILE).expect("it was compiled") * 1e-6,
            widen: widen.map(|seconds| seconds * 1e3),
            pocl_compile: find(POCL_COMPILE).map(|ns| ns * 1e-6),
        }
    }

    /// The columns, ready to be measured: native code is what it will stay.
    fn benches<'a>(
        &self,
        size: u32,
        subject: &'a mut Subject,
        pocl: Option<&'a Pocl>,
    ) -> Vec<Bench<'a>> {
        let native = |threads, settings: &[_]| {
            let engine = engine(EngineKind::Native, threads, settings);
            subject.prepare(&subject.native, &engine).expect("a launch")
        };
        let (scalar, widened, all) = (native(1, &[("width", "1")]), native(1, &[]), native(0, &[]));
        let interpreter = engine(EngineKind::Interpreter, 1, &[]);
        let interpreted = subject.prepare(&subject.interpreted, &interpreter);
        let interpreted = interpreted.expect("a launch");
        let (name, source) = (subject.name.clone(), subject.text.clone());
        // Without C the columns are compared with each other.
        let expected = subject.expected().unwrap_or_else(|| {
            let outcome = scalar.run(EngineKind::Native).expect("an outcome");
            Expected::new(self.name, outcome.buffers, subject.tolerance)
        });
        let expected = Rc::new(expected);
        let bench = |name: &str, work, run| Bench {
            group: format!("kernels/{}", self.name),
            name: name.to_string(),
            work,
            run,
        };
        let units = |size: u32| Work::Units((self.units)(size.into()));
        let compiler = engine(EngineKind::Native, 1, &[]);
        let compile = timed(move || {
            let module = Module::parse_named(&*name, &*source).expect("a module");
            compiler.compile(&module).expect("a program")
        });
        let run = launched(interpreted, EngineKind::Interpreter, |_| ());
        let mut benches = vec![
            bench(COMPILE, Work::None, compile),
            bench(COLUMNS[0], units(self.small), run),
        ];
        for (name, prepared) in COLUMNS[SCALAR..GCC].iter().zip([scalar, widened, all]) {
            let expected = Rc::clone(&expected);
            let compare = move |outcome: &Outcome| expected.compare(&outcome.buffers);
            let mut run = launched(prepared, EngineKind::Native, compare);
            run(WARM_UP as u64);
            benches.push(bench(name, units(size), run));
        }
        if let Some(reference) = &mut subject.reference {
            let run = Box::new(|times| (0..times).map(|_| reference.call()).sum());
            benches.push(bench(COLUMNS[GCC], units(size), run));
        }
        let compiled = pocl.and_then(|pocl| self.in_opencl(pocl, &subject.native, expected));
        if let Some([run, compile]) = compiled {
            benches.push(bench(COLUMNS[POCL], units(size), run));
            benches.push(bench(POCL_COMPILE, Work::None, compile));
        }
        benches
    }

    /// Launches of the same kernel in OpenCL, and compiling it; `None`, with a word on standard error, where pocl cannot.
    fn in_opencl<'a>(
        &self,
        pocl: &'a Pocl,
        spec: &'a LaunchSpec,
        expected: Rc<Expected>,
    ) -> Option<[Run<'a>; 2]> {
        let source = self.opencl;
        let mut compiled = match pocl.compile(source, spec) {
            Ok(compiled) => compiled,
            Err(error) => {
                eprintln!("{}: not in OpenCL: {error}", self.name);
                return None;
            }
        };
        let mut once = move || {
            let time = compiled.launch().expect("a launch");
            expected.compare(&compiled.read().expect("buffers that can be read"));
            time
        };
        // For a grid of many work-groups pocl makes other code than for one.
        once();
        let compile = || pocl.compile(source, spec).expect("a kernel").compile_time;
        Some([
            Box::new(move |times| (0..times).map(|_| once()).sum()),
            Box::new(move |times| (0..times).map(|_| compile()).sum()),
        ])
    }
}

/// Seconds to make code in which threads go together, the least of so many times; `None` if launches are not worth it.
fn widening(subject: &Subject, times: usize) -> Option<f64> {
    let engine = engine(EngineKind::Native, 1, &[]);
    let module = subject.module();
    let once = |_| {
        let program = engine.compile(&module).expect("a program");
        let before = program.compile_time();
        let prepared = Prepared::of_program(&program, &subject.native).expect("a launch");
        (0..WARM_UP).find_map(|_| {
            let outcome = prepared.run(EngineKind::Native).expect("an outcome");
            outcome.end.expect("no fault");
            let more = program.compile_time() - before;
            (!more.is_zero()).then_some(more.as_secs_f64())
        })
    };
    let seconds: Vec<f64> = (0..times).map(once).collect::<Option<_>>()?;
    seconds.into_iter().reduce(f64::min)
}

/// The processor, how many threads it runs at once, and the versions of the two compilers.
fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let model = lines.find(|(key, _)| key.trim() == "model name");
    let model = model.map_or(std::env::consts::ARCH, |(_, model)| model.trim());
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let version = |program: &str| {
        let output = Command::new(program).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().next().map(str::to_string)
    };
    let [gcc, rustc] =
        ["gcc", "rustc"].map(|program| version(program).unwrap_or_else(|| format!("no {program}")));
    format!("{model}, {cores} cores; {gcc}; {rustc}")
}
