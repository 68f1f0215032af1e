//! The time to check and to compile grows with the length of a kernel, and no faster.
//!
//! The table of 12,500 to 200,000 instructions: `cargo test --release --test linear -- --ignored --nocapture`.

use ptxlift::{Engine, EngineConfig, Module};
use std::fmt::Write;

/// A way to fill a kernel: writes about so many instructions.
type Shape = (&'static str, fn(&mut String, usize));

const SHAPES: [Shape; 12] = [
    ("a straight line", straight),
    ("all results alive at once", crowded),
    ("branches around four instructions", branches),
    ("branches to one end", leaving),
    ("loops of four instructions", loops),
    ("loads and stores by a parameter", known),
    ("loads by unknown pointers", unknown),
    ("loops of loads by unknown pointers", unknown_loops),
    ("tables of sixteen targets", tables),
    ("one table of all blocks", one_table),
    ("calls", calls),
    ("loops of calls", call_loops),
];

/// Writes formatted text; that cannot fail.
macro_rules! put {
    ($text:expr, $($words:tt)*) => {
        let _ = writeln!($text, $($words)*);
    };
}

fn straight(text: &mut String, count: usize) {
    for i in 0..count {
        put!(
            text,
            "mad.lo.u32 %r{}, %r{}, %r{}, {i};",
            i % 64,
            i % 61,
            i % 59
        );
    }
}

fn crowded(text: &mut String, count: usize) {
    let half = count / 2;
    put!(text, ".reg .b32 %v<{half}>; mov.b32 %v0, %r1;");
    for i in 1..half {
        put!(text, "mad.lo.u32 %v{i}, %v{}, %r2, {i};", i - 1);
    }
    for i in (0..half).rev() {
        put!(text, "mad.lo.u32 %r3, %r3, 31, %v{i};");
    }
}

fn branches(text: &mut String, count: usize) {
    for i in 0..count / 6 {
        put!(
            text,
            "setp.lt.u32 %p, %r{}, %r{}; @%p bra B{i};",
            i % 32,
            i % 31
        );
        straight(text, 4);
        put!(text, "B{i}:");
    }
}

fn leaving(text: &mut String, count: usize) {
    for i in 0..count / 3 {
        put!(
            text,
            "add.u32 %r{0}, %r{1}, {i}; setp.lt.u32 %p, %r{0}, %r{2}; @%p bra END;",
            i % 32,
            i % 31,
            i % 29
        );
    }
}

fn loops(text: &mut String, count: usize) {
    for i in 0..count / 7 {
        put!(text, "C{i}:");
        straight(text, 4);
        put!(
            text,
            "add.u32 %r{0}, %r{0}, 1; setp.lt.u32 %p, %r{0}, %r{1}; @%p bra C{i};",
            i % 32,
            i % 31
        );
    }
}

fn known(text: &mut String, count: usize) {
    for i in 0..count / 4 {
        put!(
            text,
            "mad.wide.u32 %d1, %r{}, 4, %d0; ld.global.u32 %r{}, [%d1];",
            i % 32,
            i % 29
        );
        put!(
            text,
            "add.u32 %r{0}, %r{0}, %r{1}; st.global.u32 [%d1+4], %r{0};",
            i % 32,
            i % 29
        );
    }
}

fn unknown(text: &mut String, count: usize) {
    for i in 0..count / 2 {
        put!(text, "ld.global.u64 %d{}, [%d{}];", 2 + i % 7, 2 + i % 5);
        put!(text, "ld.global.u32 %r{}, [%d{}+8];", i % 32, 2 + i % 7);
    }
}

fn unknown_loops(text: &mut String, count: usize) {
    for i in 0..count / 4 {
        put!(
            text,
            "D{i}: ld.global.u64 %d2, [%d2]; ld.global.u32 %r{}, [%d2+8];",
            i % 32
        );
        put!(text, "setp.ne.u32 %p, %r{}, 0; @%p bra D{i};", i % 32);
    }
}

fn tables(text: &mut String, count: usize) {
    for i in 0..count / 64 {
        put!(
            text,
            "T{i}: .branchtargets E{i}_<16>;\nand.b32 %r1, %r1, 15; brx.idx %r1, T{i};"
        );
        for j in 0..16 {
            put!(
                text,
                "E{i}_{j}: add.u32 %r2, %r2, {j}; xor.b32 %r3, %r2, %r3;"
            );
            put!(text, "shl.b32 %r1, %r3, {j}; bra F{i};");
        }
        put!(text, "F{i}:");
    }
}

fn one_table(text: &mut String, count: usize) {
    let blocks = count / 4;
    put!(text, "T: .branchtargets G<{blocks}>;\nH: brx.idx %r1, T;");
    for i in 0..blocks {
        put!(
            text,
            "G{i}: add.u32 %r2, %r2, {i}; xor.b32 %r3, %r2, %r3; add.u32 %r1, %r3, 1; bra H;"
        );
    }
}

fn calls(text: &mut String, count: usize) {
    for i in 0..count {
        put!(
            text,
            "call (%r{}), step, (%r{}, %r{});",
            i % 32,
            i % 31,
            i % 29
        );
    }
}

fn call_loops(text: &mut String, count: usize) {
    for i in 0..count / 3 {
        put!(text, "I{i}: call (%r1), step, (%r1, %r2);");
        put!(text, "setp.gt.u32 %p, %r1, {i}; @%p bra I{i};");
    }
}

/// A module with one kernel of this shape.
fn text(write: fn(&mut String, usize), count: usize) -> String {
    let mut text = ".version 8.0\n.target sm_80\n.address_size 64\n\
        .func (.reg .b32 r) step(.reg .b32 a, .reg .b32 b) { .reg .pred %p; mad.lo.u32 r, a, 31, b; L: \
        add.u32 r, r, b; setp.lt.u32 %p, r, 100; @%p bra L; ret; }\n\
        .entry k(.param .u64 out) {\n.reg .pred %p; .reg .b32 %r<64>; .reg .b64 %d<9>;\n\
        ld.param.u64 %d0, [out];\n"
        .to_string();
    write(&mut text, count);
    // All of it is needed.
    for i in 0..64 {
        put!(text, "st.global.u32 [%d0+{}], %r{i};", 4 * i);
    }
    for i in 1..9 {
        put!(text, "st.global.u64 [%d0+{}], %d{i};", 8 * i);
    }
    text + "END: ret;\n}\n"
}

/// Seconds of processor time that this process has had: what others do on the machine does not count.
#[cfg(target_os = "linux")]
fn now() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is valid.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(done, 0, "a clock of the process");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Seconds of the clock.
#[cfg(not(target_os = "linux"))]
fn now() -> f64 {
    static START: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed().as_secs_f64()
}

/// Seconds to check and to compile; nothing if the kernel is past a limit.
fn time(text: String) -> Option<(f64, f64)> {
    let start = now();
    let module = Module::parse(text).expect("a module that is right");
    let checked = now() - start;
    let start = now();
    let engine = Engine::new(EngineConfig::default().verify(false));
    let program = engine.compile(&module).expect("a program");
    let compiled = now() - start;
    let stats = program.compile_stats().expect("native code");
    (stats.functions == 2).then_some((checked, compiled))
}

/// The least of three times: caches differ.
fn least(write: fn(&mut String, usize), count: usize) -> Option<(f64, f64)> {
    (0..3)
        .map(|_| time(text(write, count)))
        .reduce(|a, b| a.zip(b).map(|(a, b)| (a.0.min(b.0), a.1.min(b.1))))
        .flatten()
}

/// What grows with the square takes 64 times the time.
#[test]
fn eight_times_the_kernel_takes_about_eight_times_the_time() {
    for (name, write) in SHAPES {
        let [small, large] =
            [2_500, 20_000].map(|count| least(write, count).expect("the kernel is compiled"));
        for (what, small, large) in [("check", small.0, large.0), ("compile", small.1, large.1)] {
            assert!(
                large < 24.0 * small + 0.1,
                "{what} {name}: {small:.3} s, {large:.3} s"
            );
        }
    }
}

#[test]
#[ignore = "takes minutes"]
fn up_to_two_hundred_thousand_instructions() {
    println!("| shape | instructions | check, s | us each | compile, s | us each |");
    println!("|---|--:|--:|--:|--:|--:|");
    for (name, write) in SHAPES {
        let mut first = None;
        for count in [12_500, 25_000, 50_000, 100_000, 200_000] {
            let Some((checked, compiled)) = least(write, count) else {
                assert!(count > 100_000, "{name}: {count}");
                println!("| {name} | {count} | past a limit | | | |");
                continue;
            };
            let each = |seconds: f64| seconds * 1e6 / count as f64;
            println!(
                "| {name} | {count} | {checked:.3} | {:.2} | {compiled:.3} | {:.2} |",
                each(checked),
                each(compiled)
            );
            let first = *first.get_or_insert(each(compiled));
            assert!(each(compiled) < 3.0 * first, "{name}: {count}");
        }
    }
}
