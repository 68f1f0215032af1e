//! Approximate functions beside references in `.f64`: whether native results are within the bounds of the ISA, and those of the
//! interpreter equal. Some operands each time; all 2^32 with
//!
//!     cargo test --release --test approximate -- --ignored --nocapture --test-threads 1
//!
//! which takes hours of processor time, prints the table of `docs/approximate.md` and goes faster for one function (`EVERY` takes each so many
//! operands; `ONLY` picks functions by a part of their names): `EVERY=64 ONLY=sin cargo test ...`.

use ptxlift::{Engine, EngineConfig, EngineKind, Kernel, Launch, Module, args};
use std::time::{Duration, Instant};

/// What errors are counted in.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Unit {
    /// Numbers between the result and the correctly rounded one.
    Ulp,
    /// Parts of the exact value.
    Relative,
    /// As they are.
    Absolute,
}

/// A part of the operands.
#[derive(Clone, Copy)]
struct Range {
    name: &'static str,
    has: fn(f64) -> bool,
    unit: Unit,
    /// The ISA's bound in that unit, as the exponent of 2 unless in ulp; none where the text gives none.
    bound: Option<f64>,
}

/// A function of `.f32` (or of the upper words of `.f64`) with the statements that compute it.
struct Function {
    name: &'static str,
    /// From `%a` (and `%b`) to `%d`; the second one with `.ftz`, if there is one.
    plain: Option<&'static str>,
    ftz: Option<&'static str>,
    /// The value, in much more than the result's precision.
    exact: fn(f64, f64) -> f64,
    ranges: &'static [Range],
}

const fn range(name: &'static str, has: fn(f64) -> bool, unit: Unit, bound: Option<f64>) -> Range {
    Range {
        name,
        has,
        unit,
        bound,
    }
}

const TWO_PI: f64 = 2.0 * std::f64::consts::PI;
const HUNDRED_PI: f64 = 100.0 * std::f64::consts::PI;

const ANGLES: &[Range] = &[
    range(
        "[-2pi, 2pi]",
        |a| a.abs() <= TWO_PI,
        Unit::Absolute,
        Some(-20.5),
    ),
    range(
        "[-100pi, 100pi]",
        |a| a.abs() <= HUNDRED_PI,
        Unit::Absolute,
        Some(-14.7),
    ),
    range(
        "below 2^24",
        |a| a.abs() < 16_777_216.0,
        Unit::Absolute,
        None,
    ),
    range(
        "below 2^30",
        |a| a.abs() < 1_073_741_824.0,
        Unit::Absolute,
        None,
    ),
];

const FUNCTIONS: &[Function] = &[
    Function {
        name: "div.approx",
        plain: Some("div.approx.f32 %d, %a, %b;"),
        ftz: Some("div.approx.ftz.f32 %d, %a, %b;"),
        // What is divided by more than 2^126 is a zero, or NaN.
        exact: |a, b| {
            if b.abs() > 2f64.powi(126) {
                a / f64::INFINITY.copysign(b)
            } else {
                a / b
            }
        },
        ranges: &[range("2^32 pairs", |_| true, Unit::Ulp, Some(2.0))],
    },
    Function {
        name: "div.full",
        plain: Some("div.full.f32 %d, %a, %b;"),
        ftz: Some("div.full.ftz.f32 %d, %a, %b;"),
        exact: |a, b| a / b,
        ranges: &[range("2^32 pairs", |_| true, Unit::Ulp, Some(2.0))],
    },
    Function {
        name: "rcp.approx",
        plain: Some("rcp.approx.f32 %d, %a;"),
        ftz: Some("rcp.approx.ftz.f32 %d, %a;"),
        exact: |a, _| 1.0 / a,
        ranges: &[range("all", |_| true, Unit::Ulp, Some(1.0))],
    },
    Function {
        name: "sqrt.approx",
        plain: Some("sqrt.approx.f32 %d, %a;"),
        ftz: Some("sqrt.approx.ftz.f32 %d, %a;"),
        exact: |a, _| a.sqrt(),
        ranges: &[range("all", |_| true, Unit::Relative, Some(-23.0))],
    },
    Function {
        name: "rsqrt.approx",
        plain: Some("rsqrt.approx.f32 %d, %a;"),
        ftz: Some("rsqrt.approx.ftz.f32 %d, %a;"),
        exact: |a, _| 1.0 / a.sqrt(),
        ranges: &[range("all", |_| true, Unit::Relative, Some(-22.9))],
    },
    Function {
        name: "sin.approx",
        plain: Some("sin.approx.f32 %d, %a;"),
        ftz: Some("sin.approx.ftz.f32 %d, %a;"),
        exact: |a, _| a.sin(),
        ranges: ANGLES,
    },
    Function {
        name: "cos.approx",
        plain: Some("cos.approx.f32 %d, %a;"),
        ftz: Some("cos.approx.ftz.f32 %d, %a;"),
        exact: |a, _| a.cos(),
        ranges: ANGLES,
    },
    Function {
        name: "lg2.approx",
        plain: Some("lg2.approx.f32 %d, %a;"),
        ftz: Some("lg2.approx.ftz.f32 %d, %a;"),
        // Of both zeros.
        exact: |a, _| (a + 0.0).log2(),
        ranges: &[
            range(
                "(0.5, 2)",
                |a| a > 0.5 && a < 2.0,
                Unit::Absolute,
                Some(-22.0),
            ),
            range("other", |_| true, Unit::Relative, Some(-22.0)),
        ],
    },
    Function {
        name: "ex2.approx",
        plain: Some("ex2.approx.f32 %d, %a;"),
        ftz: Some("ex2.approx.ftz.f32 %d, %a;"),
        exact: |a, _| a.exp2(),
        ranges: &[range("all", |_| true, Unit::Ulp, Some(2.0))],
    },
    Function {
        name: "tanh.approx",
        plain: Some("tanh.approx.f32 %d, %a;"),
        ftz: None,
        exact: |a, _| a.tanh(),
        ranges: &[range("all", |_| true, Unit::Relative, Some(-11.0))],
    },
];

/// All operands in the order of a counter: the first is the counter's bits, the second scattered ones.
fn operands(x: u32) -> (u32, u32) {
    let b = (x ^ x >> 15).wrapping_mul(0x85eb_ca6b);
    (x, b ^ b >> 13)
}

/// A kernel that writes `%d` for the operands of `base + i * stride`, i the number of the thread.
fn kernel(statement: &str) -> Kernel {
    let text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 out, .param .u32 base, .param .u32 stride)
{{
    .reg .b64 %out;
    .reg .b32 %i, %n, %a, %b, %d, %base, %stride;
    mov.u32 %i, %ctaid.x;
    mov.u32 %n, %ntid.x;
    mad.lo.u32 %i, %i, %n, 0;
    mov.u32 %n, %tid.x;
    add.u32 %i, %i, %n;
    ld.param.u64 %out, [out];
    ld.param.u32 %base, [base];
    ld.param.u32 %stride, [stride];
    mad.lo.u32 %a, %i, %stride, %base;
    shr.u32 %b, %a, 15;
    xor.b32 %b, %b, %a;
    mul.lo.u32 %b, %b, 0x85ebca6b;
    shr.u32 %n, %b, 13;
    xor.b32 %b, %b, %n;
    mad.wide.u32 %out, %i, 4, %out;
    {{ {statement} }}
    st.global.b32 [%out], %d;
    ret;
}}"
    );
    let module = Module::parse(&text).expect("a module");
    let engine = Engine::new(EngineConfig::default().threads(1));
    let program = engine.compile(&module).expect("native code");
    let device = ptxlift::Device::new(Default::default()).expect("a device");
    let instance = program.instantiate(&device).expect("an instance");
    instance.kernel("k").expect("the kernel")
}

/// Results for `count` operands from `base` on, `stride` apart.
fn results(kernel: &Kernel, engine: EngineKind, base: u32, stride: u32, count: usize) -> Vec<u32> {
    let device = kernel.instance().device();
    let out = device.alloc_zeroed::<u32>(count).expect("memory");
    let launch = Launch::grid(count as u32 / 256).block(256).engine(engine);
    kernel
        .launch(launch, args![&out, base, stride])
        .expect("no fault");
    out.to_vec().expect("results")
}

fn flushed(x: f32) -> f32 {
    if x.is_subnormal() {
        0f32.copysign(x)
    } else {
        x
    }
}

/// Numbers in their order, so that neighbours differ by 1.
fn order(x: f32) -> i64 {
    let magnitude = i64::from(x.to_bits() & 0x7fff_ffff);
    if x.is_sign_negative() {
        -magnitude
    } else {
        magnitude
    }
}

/// The greatest error in each range, and its operand.
type Worst = Vec<(f64, u32)>;

fn no_error(f: &Function) -> Worst {
    vec![(0.0, 0); f.ranges.len()]
}

/// An operand pair of a function, the exact result, and where it belongs.
struct Case {
    x: u32,
    a: f32,
    /// None outside of all ranges.
    range: Option<usize>,
    exact: f64,
}

impl Case {
    fn new(f: &Function, ftz: bool, x: u32) -> Self {
        let (a, b) = operands(x);
        let [mut a, mut b] = [a, b].map(f32::from_bits);
        if ftz {
            [a, b] = [a, b].map(flushed);
        }
        let range = f.ranges.iter().position(|r| (r.has)(a.into()));
        let exact = range.map_or(f64::NAN, |_| (f.exact)(a.into(), b.into()));
        Case { x, a, range, exact }
    }

    /// Whether `.ftz` changes the operands.
    fn is_subnormal(x: u32) -> bool {
        let (a, b) = operands(x);
        f32::from_bits(a).is_subnormal() || f32::from_bits(b).is_subnormal()
    }

    /// Judges one result; `Err` says what it should be, whatever the bound.
    fn judge(&self, f: &Function, ftz: bool, got: f32, worst: &mut Worst) -> Result<(), f32> {
        let equal = |expected: f32| {
            let nan = expected.is_nan() && got.to_bits() == 0x7fff_ffff;
            if nan || got.to_bits() == expected.to_bits() {
                Ok(())
            } else {
                Err(expected)
            }
        };
        let Some(range) = self.range else {
            // Nothing is promised of a large angle but that its sine and cosine are such.
            let good = self.a.is_finite() && got.abs() <= 1.0;
            return if good { Ok(()) } else { equal(f32::NAN) };
        };
        let exact = self.exact;
        let mut rounded = exact as f32;
        if ftz {
            rounded = flushed(rounded);
        }
        let unit = f.ranges[range].unit;
        if exact == 0.0 || !exact.is_finite() || rounded == 0.0 && unit == Unit::Ulp {
            return equal(rounded);
        }
        let error = match unit {
            Unit::Ulp => (order(got) - order(rounded)).unsigned_abs() as f64,
            Unit::Relative => ((f64::from(got) - exact) / exact).abs(),
            Unit::Absolute => (f64::from(got) - exact).abs(),
        };
        if error > worst[range].0 || error.is_nan() {
            worst[range] = (error, self.x);
        }
        Ok(())
    }
}

/// Judges results for operands from `base` on, `stride` apart, of each form: whether it has `.ftz`, results, and what is worst so far.
fn judge_all(f: &Function, base: u32, stride: u32, forms: &mut [(bool, Vec<u32>, Worst)]) {
    let count = forms.iter().map(|form| form.1.len()).min().unwrap_or(0);
    for i in 0..count {
        let x = base.wrapping_add((i as u32).wrapping_mul(stride));
        let plain = Case::new(f, false, x);
        for (ftz, results, worst) in forms.iter_mut() {
            let got = f32::from_bits(results[i]);
            let judged = if *ftz && Case::is_subnormal(x) {
                Case::new(f, true, x).judge(f, true, got, worst)
            } else {
                plain.judge(f, *ftz, got, worst)
            };
            if let Err(expected) = judged {
                let (name, got, expected) = (f.name, got.to_bits(), expected.to_bits());
                panic!("{name} of {x:08x}: {got:08x}, expected {expected:08x}; .ftz: {ftz}");
            }
        }
    }
}

/// Panics where a bound is exceeded.
fn within_bounds(f: &Function, worst: &Worst) {
    for (range, &(error, x)) in f.ranges.iter().zip(worst) {
        let most = match (range.bound, range.unit) {
            (None, _) => f64::INFINITY,
            (Some(ulps), Unit::Ulp) => ulps,
            (Some(exponent), _) => exponent.exp2(),
        };
        assert!(
            error <= most,
            "{} {}: {error:e} at {x:08x}",
            f.name,
            range.name
        );
    }
}

/// The forms of a function: with `.ftz` or not, and the statement.
fn forms(f: &Function) -> impl Iterator<Item = (bool, &'static str)> {
    let plain = f.plain.map(|s| (false, s));
    plain.into_iter().chain(f.ftz.map(|s| (true, s)))
}

#[test]
fn some_operands_of_each_function() {
    const COUNT: usize = 1 << 16;
    const STRIDE: u32 = 65_537;
    for f in FUNCTIONS {
        for (ftz, statement) in forms(f) {
            let kernel = kernel(statement);
            // Spread over all numbers; and around 0, 1, 2^126, infinity.
            for (base, stride, count) in [
                (0, STRIDE, COUNT),
                (0u32.wrapping_sub(512), 1, 1024),
                (0x3f80_0000 - 512, 1, 1024),
                (0x7e80_0000 - 512, 1, 1024),
                (0x7f80_0000 - 512, 1, 1024),
                (0x8080_0000 - 512, 1, 1024),
                (0x0080_0000 - 512, 1, 1024),
            ] {
                let native = results(&kernel, EngineKind::Native, base, stride, count);
                let interpreted = results(&kernel, EngineKind::Interpreter, base, stride, count);
                let at = native.iter().zip(&interpreted).position(|(n, i)| n != i);
                assert_eq!(at, None, "{statement} from {base:x}, {stride} apart");
                let mut forms = [(ftz, native, no_error(f))];
                judge_all(f, base, stride, &mut forms);
                within_bounds(f, &forms[0].2);
            }
        }
    }
}

/// A number from the environment.
fn setting(name: &str, otherwise: u32) -> u32 {
    let text = std::env::var(name).ok();
    text.map_or(otherwise, |t| t.parse().expect("a number"))
}

#[test]
#[ignore = "all operands: hours"]
fn all_operands_of_each_function() {
    const CHUNK: usize = 1 << 20;
    let every = setting("EVERY", 1);
    let only = std::env::var("ONLY").unwrap_or_default();
    println!("| function | operands | bound | largest error | at |\n|---|---|---|---|---|");
    for f in FUNCTIONS.iter().filter(|f| f.name.contains(&only)) {
        let kernels: Vec<(bool, Kernel)> = forms(f).map(|(ftz, s)| (ftz, kernel(s))).collect();
        let mut worst: Vec<Worst> = kernels.iter().map(|_| no_error(f)).collect();
        let chunks = (1u64 << 32) / (CHUNK as u64 * u64::from(every));
        for chunk in 0..chunks {
            let base = (chunk * CHUNK as u64 * u64::from(every)) as u32;
            let mut forms: Vec<_> = (kernels.iter().zip(worst))
                .map(|((ftz, kernel), worst)| {
                    let results = results(kernel, EngineKind::Native, base, every, CHUNK);
                    (*ftz, results, worst)
                })
                .collect();
            judge_all(f, base, every, &mut forms);
            worst = forms.into_iter().map(|(_, _, worst)| worst).collect();
        }
        for ((ftz, _), worst) in kernels.iter().zip(&worst) {
            print_rows(f, *ftz, worst);
            within_bounds(f, worst);
        }
    }
}

/// The rows of the table.
fn print_rows(f: &Function, ftz: bool, worst: &Worst) {
    for (range, &(error, x)) in f.ranges.iter().zip(worst) {
        let (bound, error) = match range.unit {
            Unit::Ulp => (
                range
                    .bound
                    .map_or("none".to_string(), |b| format!("{b} ulp")),
                format!("{error} ulp"),
            ),
            Unit::Relative | Unit::Absolute => (
                range
                    .bound
                    .map_or("none".to_string(), |b| format!("2^{b} {:?}", range.unit)),
                format!("2^{:.3}", error.log2()),
            ),
        };
        let ftz = if ftz { ".ftz" } else { "" };
        println!(
            "| {}{ftz}.f32 | {} | {bound} | {error} | {x:08x} |",
            f.name, range.name
        );
    }
}

/// Of `.f64`, from upper words to upper words: statement, value. Lower words are not looked at, and 0 in results.
type Upper = (&'static str, fn(f64) -> f64);

const UPPER: &[Upper] = &[
    (
        "{ .reg .b64 %q; mov.b64 %q, {%b, %a}; rcp.approx.ftz.f64 %q, %q; mov.b64 {%b, %d}, %q; or.b32 %d, %d, %b; }",
        |a| 1.0 / a,
    ),
    (
        "{ .reg .b64 %q; mov.b64 %q, {%b, %a}; rsqrt.approx.ftz.f64 %q, %q; mov.b64 {%b, %d}, %q; or.b32 %d, %d, %b; }",
        |a| 1.0 / a.sqrt(),
    ),
];

fn flushed_double(x: f64) -> f64 {
    if x.is_subnormal() {
        0f64.copysign(x)
    } else {
        x
    }
}

/// The relative error of an upper word; what is not finite, or 0, must be as the text has it.
fn judge_upper(exact: fn(f64) -> f64, x: u32, got: u32) -> f64 {
    let a = flushed_double(f64::from_bits(u64::from(x) << 32));
    let exact = flushed_double(exact(a));
    let got_f64 = f64::from_bits(u64::from(got) << 32);
    if exact.is_nan() {
        assert_eq!(got, 0x7fff_ffff, "of {x:08x}");
    } else if exact == 0.0 || exact.is_infinite() {
        assert_eq!(got_f64.to_bits(), exact.to_bits(), "of {x:08x}");
    } else {
        return ((got_f64 - exact) / exact).abs();
    }
    0.0
}

/// The greatest relative error for `count` upper words from `base` on, `stride` apart.
fn judge_uppers(exact: fn(f64) -> f64, base: u32, stride: u32, results: &[u32]) -> f64 {
    (0u32..)
        .zip(results)
        .map(|(i, &got)| judge_upper(exact, base.wrapping_add(i.wrapping_mul(stride)), got))
        .fold(0.0, f64::max)
}

#[test]
fn some_upper_words() {
    const COUNT: usize = 1 << 16;
    for &(statement, exact) in UPPER {
        let kernel = kernel(statement);
        for (base, stride) in [(0, 65_537), (0x7fe0_0000 - 256, 8), (0x8010_0000 - 256, 8)] {
            let native = results(&kernel, EngineKind::Native, base, stride, COUNT);
            let interpreted = results(&kernel, EngineKind::Interpreter, base, stride, COUNT);
            assert!(native == interpreted, "{statement} from {base:x}");
            let error = judge_uppers(exact, base, stride, &native);
            // Twenty bits behind the point, rounded.
            assert!(error <= 2f64.powi(-21), "{statement}: {error:e}");
        }
    }
}

#[test]
#[ignore = "all operands: hours"]
fn all_upper_words() {
    const CHUNK: u32 = 1 << 20;
    let every = setting("EVERY", 1);
    for &(statement, exact) in UPPER {
        let kernel = kernel(statement);
        let mut worst = 0f64;
        for chunk in 0..(1u64 << 32) / (u64::from(CHUNK) * u64::from(every)) {
            let base = (chunk * u64::from(CHUNK) * u64::from(every)) as u32;
            let results = results(&kernel, EngineKind::Native, base, every, CHUNK as usize);
            worst = worst.max(judge_uppers(exact, base, every, &results));
        }
        println!(
            "| {statement} | all upper words | none | 2^{:.3} |",
            worst.log2()
        );
        assert!(worst <= 2f64.powi(-21), "{statement}: {worst:e}");
    }
}

/// The low and the high word of `rsqrt.approx.f64`.
const DOUBLE: [&str; 2] = [
    "{ .reg .b64 %q; mov.b64 %q, {%b, %a}; rsqrt.approx.f64 %q, %q; mov.b64 {%d, %b}, %q; }",
    "{ .reg .b64 %q; mov.b64 %q, {%b, %a}; rsqrt.approx.f64 %q, %q; mov.b64 {%b, %d}, %q; }",
];

/// How many units of the last place y is from 1 / sqrt x: of the exact 1 - x y^2 half is the relative error.
fn ulps_of_rsqrt(x: f64, y: f64) -> f64 {
    // Powers of 4, and of 2, that keep everything normal.
    let scale = if x < 1.0 {
        2f64.powi(300)
    } else {
        2f64.powi(-300)
    };
    let (x, y) = (x * scale * scale, y / scale);
    let product = x * y;
    let low = x.mul_add(y, -product);
    let rest = product.mul_add(y, -1.0) + low * y;
    let unit = f64::from_bits(y.to_bits() & 0x7ff0_0000_0000_0000) * f64::EPSILON;
    (rest / 2.0 * y / unit).abs()
}

#[test]
fn reciprocal_square_roots_of_doubles() {
    const COUNT: usize = 1 << 18;
    let kernels = DOUBLE.map(kernel);
    let mut worst = 0f64;
    let words = |engine| {
        kernels
            .each_ref()
            .map(|k| results(k, engine, 0, 16_411, COUNT))
    };
    let [low, high] = words(EngineKind::Native);
    assert!([&low, &high] == words(EngineKind::Interpreter).each_ref());
    for i in 0..COUNT {
        let (a, b) = operands((i as u32).wrapping_mul(16_411));
        let x = f64::from_bits(u64::from(a) << 32 | u64::from(b));
        let y = f64::from_bits(u64::from(high[i]) << 32 | u64::from(low[i]));
        if x.is_nan() || x < 0.0 {
            assert_eq!(y.to_bits(), 0xfff8_0000_0000_0000, "of {x:e}");
        } else if x == 0.0 || x.is_infinite() {
            assert_eq!(y, 1.0 / x, "of {x:e}");
        } else {
            worst = worst.max(ulps_of_rsqrt(x, y));
        }
    }
    println!("rsqrt.approx.f64: {worst:.3} ulp");
    assert!(worst <= 2.0, "{worst}");
}

/// Of 16 bits: statement from `%a` to `%d`, how to read a number, the value, the bound.
struct Half {
    statement: &'static str,
    read: fn(u32) -> f64,
    /// The least normal number.
    normal: f64,
    /// What is rounded to infinity: from half a unit above the greatest number on.
    overflow: f64,
    ftz: bool,
    exact: fn(f64) -> f64,
    unit: Unit,
    bound: f64,
}

/// A lane of `.f16` as a number.
fn f16(x: u32) -> f64 {
    let fraction = f64::from(x & 0x3ff) / 1024.0;
    let magnitude = match x >> 10 & 0x1f {
        0 => fraction * 2f64.powi(-14),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => return f64::NAN,
        exponent => (1.0 + fraction) * 2f64.powi(exponent as i32 - 15),
    };
    if x & 0x8000 == 0 {
        magnitude
    } else {
        -magnitude
    }
}

/// A lane of `.bf16` as a number.
fn bf16(x: u32) -> f64 {
    f64::from(f32::from_bits(x << 16))
}

const HALVES: &[Half] = &[
    Half {
        statement: "ex2.approx.f16x2 %d, %a;",
        read: f16,
        normal: 6.103_515_625e-5,
        overflow: 65_520.0,
        ftz: false,
        exact: f64::exp2,
        unit: Unit::Relative,
        bound: -9.9,
    },
    Half {
        statement: "ex2.approx.ftz.bf16x2 %d, %a;",
        read: bf16,
        normal: f32::MIN_POSITIVE as f64,
        // (2 - 2^-8) 2^127
        overflow: 3.396_177_5e38,
        ftz: true,
        exact: f64::exp2,
        unit: Unit::Relative,
        bound: -7.0,
    },
    Half {
        statement: "tanh.approx.f16x2 %d, %a;",
        read: f16,
        normal: 6.103_515_625e-5,
        overflow: 65_520.0,
        ftz: false,
        exact: f64::tanh,
        unit: Unit::Absolute,
        bound: -10.987,
    },
    Half {
        statement: "tanh.approx.bf16x2 %d, %a;",
        read: bf16,
        normal: f32::MIN_POSITIVE as f64,
        // (2 - 2^-8) 2^127
        overflow: 3.396_177_5e38,
        ftz: false,
        exact: f64::tanh,
        unit: Unit::Absolute,
        bound: -8.0,
    },
];

/// The error of a lane.
fn judge_half(half: &Half, a: u32, got: u32) -> f64 {
    let mut exact = (half.exact)((half.read)(a));
    let read = (half.read)(got);
    if half.ftz && exact < half.normal {
        exact = 0.0;
    }
    let infinite = exact >= half.overflow;
    if exact.is_nan() {
        assert_eq!(got, 0x7fff, "{} of {a:04x}", half.statement);
        return 0.0;
    }
    if exact == 0.0 || infinite {
        let expected = if infinite { f64::INFINITY } else { exact };
        assert_eq!(
            read.to_bits(),
            expected.to_bits(),
            "{} of {a:04x}",
            half.statement
        );
        return 0.0;
    }
    let error = (read - exact).abs();
    match half.unit {
        // What is subnormal has less bits; there half a unit of the last place, and somewhat.
        Unit::Relative if exact < half.normal => {
            assert!(
                error <= 0.501 * half.normal / 1024.0,
                "{} of {a:04x}",
                half.statement
            );
            0.0
        }
        Unit::Relative => error / exact,
        Unit::Ulp | Unit::Absolute => error,
    }
}

#[test]
fn all_operands_of_16_bits() {
    for half in HALVES {
        let kernel = kernel(half.statement);
        // Each number in the lower lane, and in the upper one another.
        let (base, stride) = (0x8000_0000, 0x0003_0001);
        let native = results(&kernel, EngineKind::Native, base, stride, 1 << 16);
        let interpreted = results(&kernel, EngineKind::Interpreter, base, stride, 1 << 16);
        assert!(native == interpreted, "{}", half.statement);
        let one = half.statement.replacen("x2 %d, %a;", "", 1);
        let lane =
            format!("{{ .reg .b16 %h; cvt.u16.u32 %h, %a; {one} %h, %h; cvt.u32.u16 %d, %h; }}");
        let lanes = results(&self::kernel(&lane), EngineKind::Native, 0, 1, 1 << 16);
        let mut worst = 0f64;
        for (i, &packed) in (0u32..).zip(&native) {
            let a = base.wrapping_add(i.wrapping_mul(stride));
            let (low, high) = (a & 0xffff, a >> 16);
            assert_eq!(
                packed,
                lanes[low as usize] | lanes[high as usize] << 16,
                "{a:x}"
            );
            worst = worst.max(judge_half(half, low, packed & 0xffff));
        }
        println!(
            "{} 2^{:.3}, bound 2^{}",
            half.statement,
            worst.log2(),
            half.bound
        );
        assert!(worst <= half.bound.exp2(), "{}: {worst:e}", half.statement);
    }
}

/// Nanoseconds that each result takes in native code on one thread: a kernel with it less one that moves the operand instead.
#[test]
#[ignore = "a measurement"]
fn time_of_each_function() {
    const COUNT: u32 = 1 << 22;
    let time = |statement: &str| {
        let kernel = kernel(statement);
        let device = kernel.instance().device();
        let out = device.alloc_zeroed::<u32>(COUNT as usize).expect("memory");
        let mut best = Duration::MAX;
        for _ in 0..15 {
            let launch = Launch::grid(COUNT / 1024).block(1024);
            let started = Instant::now();
            // Operands around 1 with all fractions, of both signs.
            kernel
                .launch(launch, args![&out, 0x3e80_0000u32, 7u32])
                .expect("no fault");
            best = best.min(started.elapsed());
        }
        best.as_secs_f64() * 1e9 / f64::from(COUNT)
    };
    let moved = time("mov.b32 %d, %a;");
    println!("mov: {moved:.2} ns");
    let singles = FUNCTIONS
        .iter()
        .flat_map(forms)
        .map(|(_, statement)| statement);
    let others = UPPER.iter().map(|u| u.0).chain([DOUBLE[1]]);
    let halves = HALVES.iter().map(|h| h.statement);
    for statement in singles.chain(others).chain(halves) {
        println!("{statement} {:.2} ns", time(statement) - moved);
    }
}
