//! Compile time, execution and overhead. Native code beside the interpreter and beside C, on the same work in the same
//! run, one thread, checked and with the time limit on.
//!
//! The C references are compiled here, with `gcc -O3 -march=native -fno-tree-vectorize`; where there is no gcc they are
//! left out. The table at the end is measured apart from criterion, all contestants in turn.

use criterion::{BenchmarkId, Criterion, Throughput};
use libloading::Library;
use ptxlift::{
    Arg, Buffer, Device, DeviceConfig, Engine, EngineConfig, EngineKind, Instance, Kernel, Launch,
    Module, args,
};
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A kernel with `n` threads in blocks of 256, and the same work in C.
struct Case {
    name: &'static str,
    text: &'static str,
    /// Words of input and of output for each thread.
    words: [usize; 2],
    /// Threads of a launch: in native code and C, in the interpreter.
    native: u32,
    interpreted: u32,
}

const CASES: [Case; 2] = [
    Case {
        name: "bitmix",
        text: include_str!("../tests/kernels/bitmix/kernel.ptx"),
        words: [1, 1],
        native: 1 << 15,
        interpreted: 1 << 9,
    },
    Case {
        name: "sha256",
        text: include_str!("../tests/kernels/sha256/kernel.ptx"),
        words: [16, 8],
        native: 1 << 13,
        interpreted: 1 << 8,
    },
];

/// `NAME_ref(in, out, begin, end)`
type Reference = unsafe extern "C" fn(*const u32, *mut u32, usize, usize);

/// A case made ready to be run in every way.
struct Contest {
    case: &'static Case,
    kernel: Kernel,
    input: Vec<u32>,
    device_input: Buffer<u32>,
    device_output: Buffer<u32>,
    output: Vec<u32>,
    reference: Option<Library>,
}

impl Contest {
    fn new(case: &'static Case) -> Self {
        let instance = instance(case.text, EngineKind::Native);
        let n = case.native as usize;
        let input: Vec<u32> = (0..(n * case.words[0]) as u32)
            .map(|i| i.wrapping_mul(0x9e37_79b9) ^ (i >> 7))
            .collect();
        let device = instance.device();
        let contest = Contest {
            kernel: instance.kernel(case.name).expect("the kernel"),
            device_input: device.alloc_from(&input).expect("memory").read_only(),
            device_output: device.alloc_zeroed(n * case.words[1]).expect("memory"),
            output: vec![0; n * case.words[1]],
            reference: compile_reference(case.name),
            input,
            case,
        };
        contest.check()
    }

    /// All three give the same words.
    fn check(mut self) -> Self {
        self.launch(EngineKind::Native, self.case.native);
        let native = self.device_output.to_vec().expect("memory");
        self.launch(EngineKind::Interpreter, self.case.interpreted);
        assert_eq!(native, self.device_output.to_vec().expect("memory"));
        if self.call_reference(self.case.native) {
            assert_eq!(native, self.output);
        }
        self
    }

    /// Gives the number of executed instructions, which only the interpreter counts.
    fn launch(&self, kind: EngineKind, n: u32) -> Option<u64> {
        let launch = Launch::grid(n.div_ceil(256)).block(256).engine(kind);
        let args: [Arg; 3] = args![&self.device_input, &self.device_output, n];
        self.kernel.launch(launch, args).expect("no fault").steps
    }

    /// Whether there is a reference.
    fn call_reference(&mut self, n: u32) -> bool {
        let Some(library) = &self.reference else {
            return false;
        };
        let symbol = format!("{}_ref", self.case.name);
        // SAFETY: the C source defines it with this type, and the buffers have the words that `n` threads use.
        unsafe {
            let reference = library
                .get::<Reference>(symbol.as_bytes())
                .expect("the reference");
            reference(self.input.as_ptr(), self.output.as_mut_ptr(), 0, n as usize);
        }
        true
    }
}

fn instance(text: &str, kind: EngineKind) -> Instance {
    let module = Module::parse(text).expect("a module");
    let config = EngineConfig::default().kind(kind).threads(1).verify(false);
    let program = Engine::new(config).compile(&module).expect("a program");
    let device = Device::new(DeviceConfig::default()).expect("a device");
    program.instantiate(&device).expect("an instance")
}

fn compile_reference(name: &str) -> Option<Library> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/kernels")
        .join(name)
        .join("ref.c");
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}_ref.so"));
    let compiled = Command::new("gcc")
        .args([
            "-O3",
            "-march=native",
            "-fno-tree-vectorize",
            "-shared",
            "-fPIC",
            "-o",
        ])
        .args([&library, &source])
        .status();
    match compiled {
        Ok(status) if status.success() => {
            // SAFETY: the library was just made of the source in the repository, which has no initialisers.
            Some(unsafe { Library::new(library) }.expect("a library that loads"))
        }
        Ok(status) => {
            eprintln!("{name}: no C reference: gcc ended with {status}");
            None
        }
        Err(error) => {
            eprintln!("{name}: no C reference: gcc cannot be run: {error}");
            None
        }
    }
}

fn compile(c: &mut Criterion) {
    let mut group = c.benchmark_group("compile");
    for case in &CASES {
        group.bench_function(BenchmarkId::new("check", case.name), |b| {
            b.iter(|| Module::parse(black_box(case.text)).expect("a module"));
        });
        let module = Module::parse(case.text).expect("a module");
        let engine = Engine::new(EngineConfig::default().verify(false));
        group.sample_size(10);
        group.bench_function(BenchmarkId::new("native", case.name), |b| {
            b.iter(|| engine.compile(black_box(&module)).expect("a program"));
        });
    }
}

fn execute(c: &mut Criterion, contests: &mut [Contest]) {
    for contest in contests {
        let case = contest.case;
        let mut group = c.benchmark_group(format!("execute/{}", case.name));
        group.sample_size(20);
        group.throughput(Throughput::Elements(u64::from(case.native)));
        group.bench_function("native", |b| {
            b.iter(|| contest.launch(EngineKind::Native, case.native));
        });
        if contest.reference.is_some() {
            group.bench_function("c", |b| b.iter(|| contest.call_reference(case.native)));
        }
        group.throughput(Throughput::Elements(u64::from(case.interpreted)));
        group.bench_function("interpreter", |b| {
            b.iter(|| contest.launch(EngineKind::Interpreter, case.interpreted));
        });
    }
}

const SMALL: &str = "
.version 7.0
.target sm_70
.address_size 64

.visible .entry empty() { ret; }

.visible .func (.param .u32 d) extract(.param .u32 a, .param .u32 b, .param .u32 c)
{
    .reg .b32 %r<5>;
    ld.param.u32 %r1, [a];
    ld.param.u32 %r2, [b];
    ld.param.u32 %r3, [c];
    bfe.u32 %r4, %r1, %r2, %r3;
    st.param.u32 [d], %r4;
    ret;
}

.visible .func (.param .u32 d) triangle(.param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 0;
again:
    add.u32 %r2, %r2, %r1;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p, %r1, 0;
    @%p bra again;
    st.param.u32 [d], %r2;
    ret;
}
";

fn overhead(c: &mut Criterion) {
    let mut group = c.benchmark_group("launch/overhead");
    let instance = instance(SMALL, EngineKind::Native);
    let empty = instance.kernel("empty").expect("the kernel");
    for kind in [EngineKind::Native, EngineKind::Interpreter] {
        for blocks in [1u32, 1000] {
            let id = BenchmarkId::new(format!("{kind:?}"), format!("{blocks} blocks of 1"));
            group.bench_function(id, |b| {
                b.iter(|| {
                    empty
                        .launch(Launch::grid(blocks).engine(kind), args![])
                        .expect("no fault")
                });
            });
        }
    }
    let extract = instance
        .function::<(u32, u32, u32), u32>("extract")
        .expect("the function");
    group.bench_function("call of a leaf", |b| {
        b.iter(|| {
            extract
                .call((black_box(0xdead_beef), 4, 8))
                .expect("no fault")
        });
    });
    if let Some(pointer) = extract.pointer() {
        group.bench_function("its pointer", |b| {
            // SAFETY: `extract` lives.
            b.iter(|| unsafe { pointer(black_box(0xdead_beef), 4, 8) });
        });
    }
    let triangle = instance
        .function::<(u32,), u32>("triangle")
        .expect("the function");
    group.bench_function("call of a short loop", |b| {
        b.iter(|| triangle.call((black_box(3),)).expect("no fault"));
    });
}

/// Nanoseconds for each of `n` threads, the best of some rounds.
#[derive(Clone, Copy)]
struct Best {
    n: u32,
    time: Duration,
}

impl Best {
    fn of(n: u32) -> Self {
        Best {
            n,
            time: Duration::MAX,
        }
    }

    fn measure<T>(&mut self, f: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = f();
        self.time = self.time.min(start.elapsed());
        result
    }

    fn nanoseconds(self) -> f64 {
        self.time.as_secs_f64() * 1e9 / f64::from(self.n)
    }
}

/// All contestants in turn, the best of each.
fn compare(contests: &mut [Contest], rounds: u32) {
    println!("\nns a thread, best of {rounds} rounds; one thread of the host");
    println!(
        "{:<8} {:>10} {:>10} {:>12} {:>10} {:>14} {:>16}",
        "kernel", "native", "C", "interpreter", "native/C", "interp/native", "interp Minstr/s"
    );
    for contest in contests {
        let Case {
            name,
            native: n,
            interpreted,
            ..
        } = *contest.case;
        let [mut native, mut c] = [Best::of(n); 2];
        let mut interpreter = Best::of(interpreted);
        let mut steps = 0;
        for _ in 0..rounds {
            native.measure(|| contest.launch(EngineKind::Native, n));
            c.measure(|| contest.call_reference(n));
            steps = interpreter
                .measure(|| contest.launch(EngineKind::Interpreter, interpreted))
                .unwrap_or(0);
        }
        let (c_time, ratio) = match contest.reference {
            Some(_) => (
                format!("{:.1}", c.nanoseconds()),
                format!("{:.2}", native.nanoseconds() / c.nanoseconds()),
            ),
            None => ("none".to_string(), "none".to_string()),
        };
        println!(
            "{name:<8} {:>10.1} {c_time:>10} {:>12.1} {ratio:>10} {:>14.1} {:>16.1}",
            native.nanoseconds(),
            interpreter.nanoseconds(),
            interpreter.nanoseconds() / native.nanoseconds(),
            steps as f64 / interpreter.time.as_secs_f64() / 1e6,
        );
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    let mut contests: Vec<Contest> = CASES.iter().map(Contest::new).collect();
    compile(&mut criterion);
    execute(&mut criterion, &mut contests);
    overhead(&mut criterion);
    criterion.final_summary();
    let smoke = std::env::args().any(|arg| arg == "--test" || arg == "--list");
    compare(&mut contests, if smoke { 1 } else { 30 });
}
