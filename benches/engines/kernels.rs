//! The kernels of `tests/kernels` at the sizes that their description gives, beside `gcc -O3 -march=native`: what stands in
//! `kernels.md` and its chart. Each launch that is timed is compared with what C computes.

use crate::charts::{self, Drawn};
use crate::groups::{Bench, Work, launched, timed};
use crate::measure::{self, Effort, Measured};
use crate::reference::Gcc;
use crate::subject::{self, Expected, Subject, engine};
use crate::summary::{digits, table};
use ptxlift::testing::exec::Prepared;
use ptxlift::{EngineKind, Module};
use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

/// A kernel of the table. Sizes are what its definition counts: blocks, or the side of a matrix or picture.
struct Kernel {
    /// The entry, and the folder that it is in.
    name: &'static str,
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
        full: 65_536,
        small: 16,
        unit: "element",
        units: OF_THREADS,
    },
    Kernel {
        name: "bitmix",
        full: 4_096,
        small: 2,
        unit: "element",
        units: OF_THREADS,
    },
    Kernel {
        name: "sha256",
        full: 1_024,
        small: 1,
        unit: "64-byte block",
        units: OF_THREADS,
    },
    Kernel {
        name: "matmul_naive",
        full: 512,
        small: 64,
        unit: "multiply-add",
        units: OF_PRODUCT,
    },
    Kernel {
        name: "matmul_tiled",
        full: 512,
        small: 64,
        unit: "multiply-add",
        units: OF_PRODUCT,
    },
    Kernel {
        name: "reduce_smem",
        full: 65_536,
        small: 8,
        unit: "element",
        units: OF_THREADS,
    },
    Kernel {
        name: "reduce_shfl",
        full: 65_536,
        small: 8,
        unit: "element",
        units: OF_THREADS,
    },
    Kernel {
        name: "histogram",
        full: 4_096,
        small: 4,
        unit: "byte",
        units: |blocks| 4_096 * blocks,
    },
    Kernel {
        name: "mandelbrot",
        full: 1_024,
        small: 32,
        unit: "pixel",
        units: |side| side * side,
    },
    Kernel {
        name: "nbody",
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
const COLUMNS: [&str; 5] = ["interpreter", "scalar", "widened", "all", "gcc"];

/// The first column of native code, which scalar code is, and the one after the last.
const SCALAR: usize = 1;
const GCC: usize = 4;

/// The bench that compiles, beside the columns.
const COMPILE: &str = "compile";

/// What was measured of a kernel.
struct Row {
    /// As in [`Kernel`].
    name: &'static str,
    unit: &'static str,
    /// Nanoseconds for each unit, by [`COLUMNS`]; nothing where there is no gcc.
    times: [Option<f64>; COLUMNS.len()],
    /// Milliseconds from the text to code that can be launched.
    compile: f64,
    /// Milliseconds that making code took in which threads go together; nothing if no launch was worth it.
    widen: Option<f64>,
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
        numbers.extend([Some(self.compile), self.widen]);
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
}

impl Table {
    /// Measures all kernels; in smoke mode small, and once.
    pub fn measure(smoke: bool) -> Self {
        let effort = if smoke { Effort::SMOKE } else { Effort::LONG };
        let part = if smoke { SMOKE_PART } else { 1 };
        let row = |kernel: &Kernel| {
            println!("kernels/{}", kernel.name);
            kernel.row(kernel.full / part, effort)
        };
        Table {
            rows: KERNELS.iter().map(row).collect(),
            workers: engine(EngineKind::Native, 0, &[]).threads(),
            effort,
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
            "Measured on {machine}.\n\n\
             Nanoseconds for each unit of work, the least of {turns} turns that the columns of a row take; all checks and the time limit are\n\
             on; less is better. Scalar code takes threads one by one, widened code side by side in vectors. gcc is `gcc -O3 -march=native`\n\
             on one thread. The interpreter runs a smaller launch. Compile: from the text to scalar code, cold; widen: what comes on top\n\
             for widened code, which is made in the course of a launch.\n\n",
            machine = machine(),
            turns = self.effort.turns,
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
            "scalar / gcc",
            "widened / gcc",
            &ratio,
            "compile ms",
            "widen ms",
        ];
        let numbers: Vec<Vec<Option<f64>>> = self.rows.iter().map(Row::numbers).collect();
        let means = (0..numbers[0].len()).map(|i| mean(numbers.iter().map(|row| row[i])));
        let means: Vec<Option<f64>> = means.collect();
        let names = self.rows.iter().map(|row| [row.name, row.unit]);
        let rows: Vec<Vec<String>> = (names.chain([["geometric mean", ""]]))
            .zip(numbers.iter().chain([&means]))
            .map(|(names, numbers)| {
                let numbers = numbers.iter().map(|n| n.map_or_else(String::new, digits));
                names
                    .map(str::to_string)
                    .into_iter()
                    .chain(numbers)
                    .collect()
            })
            .collect();
        table(&mut text, &head, &rows);
        text
    }

    /// Draws native code's times over gcc's; over those of scalar code where there is no gcc.
    pub fn chart(&self, path: &Path) -> Drawn {
        let (base, name) = match self.rows.iter().all(|row| row.times[GCC].is_some()) {
            true => (GCC, "gcc -O3 -march=native on one thread"),
            false => (SCALAR, "scalar code"),
        };
        let names = [
            "scalar".to_string(),
            "widened, 1 thread".to_string(),
            format!("widened, {}", self.workers()),
        ];
        let ratios: Vec<(&str, Vec<f64>)> = (self.rows.iter())
            .map(|row| {
                let ratios = (SCALAR..GCC).filter_map(|column| row.ratio(column, base));
                (row.name, ratios.collect())
            })
            .collect();
        let title = format!("Time over that of {name} (logarithmic; less is better)");
        charts::ratios(path, &title, &names.each_ref().map(String::as_str), &ratios)
    }
}

/// The geometric mean, if there are all.
fn mean(numbers: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let logarithms: Vec<f64> = numbers.map(|n| n.map(f64::ln)).collect::<Option<_>>()?;
    Some((logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

impl Kernel {
    /// Measures the kernel at a size in native code and C.
    fn row(&self, size: u32, effort: Effort) -> Row {
        let mut subject = subject::sized(self.name, [size, self.small], Gcc::Vectors);
        let widen = widening(&subject, WIDENINGS.min(effort.turns));
        let measured = measure::alternate(&mut self.benches(size, &mut subject), effort);
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
        }
    }

    /// The columns, ready to be measured: native code is what it will stay.
    fn benches<'a>(&self, size: u32, subject: &'a mut Subject) -> Vec<Bench<'a>> {
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
            Expected::exactly(self.name, outcome.buffers)
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
            let compare = move |outcome: &_| expected.compare(outcome);
            let mut run = launched(prepared, EngineKind::Native, compare);
            run(WARM_UP as u64);
            benches.push(bench(name, units(size), run));
        }
        if let Some(reference) = &mut subject.reference {
            let run = Box::new(|times| (0..times).map(|_| reference.call()).sum());
            benches.push(bench(COLUMNS[GCC], units(size), run));
        }
        benches
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
