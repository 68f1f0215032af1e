//! What is measured of the subjects: a list, which criterion goes through, and the summary.

use crate::subject::{self, Subject, engine, texts};
use ptxlift::diag::Source;
use ptxlift::testing::exec::{Outcome, Prepared};
use ptxlift::{Device, DeviceConfig, EngineKind, Instance, Launch, Module, args, syntax};
use std::hint::black_box;
use std::num::NonZero;
use std::time::{Duration, Instant};

/// What one turn works through.
#[derive(Debug, Clone, Copy)]
pub enum Work {
    /// Bytes of text.
    Bytes(u64),
    /// Units of a launch's work: its threads, where nothing else is said.
    Units(u64),
    /// Nothing that is counted.
    None,
}

/// Does something so many times; gives the time that counts.
pub type Run<'a> = Box<dyn FnMut(u64) -> Duration + 'a>;

/// Something to measure. Those of a group are compared with each other.
pub struct Bench<'a> {
    pub group: String,
    pub name: String,
    pub work: Work,
    pub run: Run<'a>,
}

/// The four ways that are compared: optimisation level and register allocation.
pub const SETTINGS: [[(&str, &str); 2]; 4] = {
    const NONE: (&str, &str) = ("opt_level", "none");
    const SPEED: (&str, &str) = ("opt_level", "speed");
    const SINGLE: (&str, &str) = ("regalloc_algorithm", "single_pass");
    const BACK: (&str, &str) = ("regalloc_algorithm", "backtracking");
    [[SPEED, BACK], [SPEED, SINGLE], [NONE, BACK], [NONE, SINGLE]]
};

/// `speed, backtracking`
pub fn named(settings: &[(&str, &str)]) -> String {
    let values: Vec<&str> = settings.iter().map(|(_, value)| *value).collect();
    values.join(", ")
}

/// Times `f`, so many times.
pub fn timed<'a, T>(mut f: impl FnMut() -> T + 'a) -> Run<'a> {
    Box::new(move |times| {
        let start = Instant::now();
        for _ in 0..times {
            black_box(f());
        }
        start.elapsed()
    })
}

/// Launches, so many times, and shows each outcome to `see`; filling the memory anew does not count, nor does that.
pub fn launched<'a>(
    prepared: Prepared,
    kind: EngineKind,
    mut see: impl FnMut(&Outcome) + 'a,
) -> Run<'a> {
    Box::new(move |times| {
        let once = |_| {
            let outcome = prepared.run(kind).expect("an outcome");
            see(&outcome);
            outcome.end.expect("no fault").run_time
        };
        (0..times).map(once).sum()
    })
}

/// Reading and checking all texts of the repository's kernels.
pub fn reading<'a>() -> Vec<Bench<'a>> {
    let texts = texts();
    let bytes = Work::Bytes(texts.iter().map(|(_, text)| text.len() as u64).sum());
    let sources: Vec<_> = texts
        .iter()
        .map(|(name, text)| Source::new(name.clone(), text.clone()))
        .collect();
    let bench = |name: &str, run| Bench {
        group: "read".to_string(),
        name: name.to_string(),
        work: bytes,
        run,
    };
    let parse = timed(move || {
        for source in &sources {
            let parsed = syntax::parse(source);
            assert!(parsed.is_ok(), "{}", source.name());
            black_box(&parsed.module);
        }
    });
    let check = timed(move || {
        for (name, text) in &texts {
            black_box(Module::parse_named(&**name, &**text).expect("a module"));
        }
    });
    vec![bench("parse", parse), bench("parse and check", check)]
}

/// From text to code, with the four settings.
pub fn compiling<'a>(subject: &'a Subject) -> Vec<Bench<'a>> {
    let bench = |name: String, run| Bench {
        group: format!("compile/{}", subject.name),
        name,
        work: Work::None,
        run,
    };
    let mut benches = vec![bench("check".to_string(), timed(|| subject.module()))];
    for settings in SETTINGS {
        let engine = engine(EngineKind::Native, 1, &settings);
        let module = subject.module();
        let run = timed(move || engine.compile(&module).expect("a program"));
        benches.push(bench(named(&settings), run));
    }
    benches
}

fn launching<'a>(
    group: &str,
    name: String,
    subject: &Subject,
    kind: EngineKind,
    threads: usize,
    settings: &[(&str, &str)],
) -> Bench<'a> {
    let spec = match kind {
        EngineKind::Interpreter => &subject.interpreted,
        _ => &subject.native,
    };
    let engine = engine(kind, threads, settings);
    let prepared = subject.prepare(spec, &engine).expect("a launch");
    Bench {
        group: format!("{group}/{}", subject.name),
        name,
        work: Work::Units(subject::threads(spec)),
        run: launched(prepared, kind, |_| ()),
    }
}

/// Native code, also with eight threads of the kernel together, C and the interpreter, on one thread of the host.
pub fn executing(subject: &mut Subject) -> Vec<Bench<'_>> {
    const GROUP: &str = "execute";
    let engine = |kind, name: &str, settings: &[_]| {
        launching(GROUP, name.to_string(), subject, kind, 1, settings)
    };
    let mut benches = vec![
        engine(EngineKind::Native, "native", &[]),
        engine(EngineKind::Native, "8 together", &[("width", "8")]),
        engine(EngineKind::Interpreter, "interpreter", &[]),
    ];
    let work = benches[0].work;
    if let Some(reference) = &mut subject.reference {
        benches.push(Bench {
            group: format!("{GROUP}/{}", subject.name),
            name: "c".to_string(),
            work,
            run: Box::new(|times| (0..times).map(|_| reference.call()).sum()),
        });
    }
    benches
}

/// Native code made with the four settings.
pub fn settings<'a>(subject: &Subject) -> Vec<Bench<'a>> {
    let of = |settings: [(&str, &str); 2]| {
        let name = named(&settings);
        launching("settings", name, subject, EngineKind::Native, 1, &settings)
    };
    SETTINGS.into_iter().map(of).collect()
}

/// Numbers of worker threads: powers of two, and all that the machine runs at once.
pub fn workers() -> Vec<usize> {
    let all = std::thread::available_parallelism().map_or(1, NonZero::get);
    let powers = (0..usize::BITS).map(|shift| 1 << shift);
    let mut numbers: Vec<usize> = powers.take_while(|&n| n < all).collect();
    numbers.push(all);
    numbers
}

/// Native code on one thread of the host and more.
pub fn spreading<'a>(subject: &Subject) -> Vec<Bench<'a>> {
    let of = |n: usize| {
        let kind = EngineKind::Native;
        launching("threads", n.to_string(), subject, kind, n, &[])
    };
    workers().into_iter().map(of).collect()
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

fn small() -> Instance {
    let module = Module::parse(SMALL).expect("a module");
    let engine = engine(EngineKind::Native, 1, &[]);
    let program = engine.compile(&module).expect("a program");
    let device = Device::new(DeviceConfig::default()).expect("a device");
    program.instantiate(&device).expect("an instance")
}

/// What launches and calls cost that do next to nothing.
pub fn entering<'a>() -> Vec<Bench<'a>> {
    let instance = small();
    let bench = |name: String, run| Bench {
        group: "overhead".to_string(),
        name,
        work: Work::None,
        run,
    };
    let mut benches = Vec::new();
    for (engine, kind) in [
        ("native", EngineKind::Native),
        ("interpreter", EngineKind::Interpreter),
    ] {
        for (blocks, name) in [(1u32, "1 block"), (1000, "1000 blocks")] {
            let empty = instance.kernel("empty").expect("the kernel");
            let launch = Launch::grid(blocks).engine(kind);
            let run = timed(move || empty.launch(launch.clone(), args![]).expect("no fault"));
            let name = format!("launch of an empty kernel, {name}, {engine}");
            benches.push(bench(name, run));
        }
    }
    let extract = instance
        .function::<(u32, u32, u32), u32>("extract")
        .expect("the function");
    assert_eq!(extract.call((0xdead_beef, 4, 8)).expect("no fault"), 0xee);
    let pointer = extract.pointer().expect("a function without a context");
    let called = extract.clone();
    let run = timed(move || called.call((black_box(0xdead_beef), 4, 8)));
    benches.push(bench("call of a leaf".to_string(), run));
    let run = timed(move || {
        let _alive = &extract;
        // SAFETY: `extract` lives as long as this closure.
        unsafe { pointer(black_box(0xdead_beef), 4, 8) }
    });
    benches.push(bench("call of its pointer".to_string(), run));
    let triangle = instance
        .function::<(u32,), u32>("triangle")
        .expect("the function");
    assert_eq!(triangle.call((3,)).expect("no fault"), 6);
    let run = timed(move || triangle.call((black_box(3),)));
    benches.push(bench("call of a short loop".to_string(), run));
    benches
}
