//! Time and memory that compiling takes, and settings.

use super::{compile, parse, with_launch};
use crate::ir::FuncId;
use crate::jit::{Code, CompileError, Given, OptLevel, Settings, Stage, dump};
use crate::spmd::Absent;
use crate::spmd::facts::MOST_INSTRUCTIONS;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// A function of so many instructions in blocks of twelve, all of whose registers live on.
fn large(instructions: usize) -> String {
    let mut text =
        ".func (.reg .b32 r) f(.reg .b32 x) {\n.reg .pred %p; .reg .b32 %r<16>;\n".to_string();
    for i in 0..instructions / 12 {
        for j in 0..10 {
            let (a, b, c) = ((i + j) % 16, (i * 7 + j) % 16, (i * 3 + j * 5) % 16);
            let _ = writeln!(text, "mad.lo.u32 %r{a}, %r{b}, %r{c}, {j};");
        }
        let _ = writeln!(
            text,
            "setp.lt.u32 %p, %r{}, x; @%p bra L{};\nL{i}:",
            i % 16,
            if i % 5 == 0 {
                i
            } else {
                i.saturating_sub(i % 5)
            }
        );
    }
    text += "mov.u32 r, %r3; ret; }\n";
    text
}

/// A function of so many instructions, of which half of the results are alive at once.
fn crowded(instructions: usize) -> String {
    let half = instructions / 2;
    let mut text =
        format!(".func (.reg .b32 r) f(.reg .b32 x) {{\n.reg .b32 %r<{half}>;\nmov.b32 %r0, x;\n");
    for i in 1..half {
        let _ = writeln!(text, "mad.lo.u32 %r{i}, %r{}, x, {i};", i - 1);
    }
    for i in (0..half).rev() {
        let _ = writeln!(text, "mad.lo.u32 r, r, 31, %r{i};");
    }
    text += "ret; }\n";
    text
}

#[test]
fn results_alive_at_once_are_kept() {
    let code = compile(&parse(&crowded(20_000)));
    let mut result = [0; 4];
    with_launch(64, |launch, scratch, _| {
        code.call(FuncId(0), launch, scratch, &[3, 0, 0, 0], &mut result)
            .expect("a call that fits")
            .expect("no fault");
    });
    let mut values = vec![3u32];
    for i in 1..10_000u32 {
        values.push(values[i as usize - 1].wrapping_mul(3).wrapping_add(i));
    }
    let expected = (values.iter().rev()).fold(0u32, |r, v| r.wrapping_mul(31).wrapping_add(*v));
    assert_eq!(u32::from_le_bytes(result), expected);
}

fn time(text: &str, settings: &Settings) -> Duration {
    let module = parse(text);
    let started = Instant::now();
    let code = Code::compile(&module, settings, Given::default()).expect("code");
    assert_eq!(code.absent(FuncId(0)), None);
    started.elapsed()
}

#[test]
fn compile_time_grows_no_faster_than_the_function() {
    for opt_level in [OptLevel::Speed, OptLevel::None] {
        let settings = Settings {
            opt_level,
            verify: false,
            ..Settings::default()
        };
        for text in [large, crowded] {
            let small = time(&text(2_000), &settings);
            let big = time(&text(40_000), &settings);
            // Twenty times as much; the rest is for noise.
            assert!(
                big < small * 80 + Duration::from_millis(500),
                "{small:?} {big:?}"
            );
        }
    }
}

#[test]
fn loops_nested_in_hundreds_do_not_take_for_ever() {
    let depth = 1000;
    let mut text = format!(".func f() {{\n.reg .pred %p; .reg .b32 %r<{depth}>;\n");
    for i in 0..depth {
        let _ = writeln!(text, "mov.u32 %r{i}, 0; L{i}:");
    }
    for i in (0..depth).rev() {
        let _ = writeln!(
            text,
            "add.u32 %r{i}, %r{i}, 1; setp.lt.u32 %p, %r{i}, 3; @%p bra L{i};"
        );
    }
    text += "ret; }\n";
    let settings = Settings {
        verify: false,
        ..Settings::default()
    };
    let taken = time(&text, &settings);
    assert!(taken < Duration::from_secs(20), "{taken:?}");
}

#[test]
fn many_values_alive_across_many_blocks_do_not_take_for_ever() {
    let (values, blocks) = (1000, 2000);
    let mut text = format!(".func f(.reg .b64 a) {{\n.reg .pred %p; .reg .b32 %x, %r<{values}>;\n");
    for i in 0..values {
        let _ = writeln!(text, "ld.volatile.global.u32 %r{i}, [a];");
    }
    for i in 0..blocks {
        let _ = writeln!(
            text,
            "ld.volatile.global.u32 %x, [a]; setp.eq.u32 %p, %x, {i}; @%p bra E;"
        );
    }
    for i in 0..values {
        let _ = writeln!(text, "st.volatile.global.u32 [a], %r{i};");
    }
    text += "E: ret; }\n";
    let settings = Settings {
        verify: false,
        ..Settings::default()
    };
    let taken = time(&text, &settings);
    assert!(taken < Duration::from_secs(20), "{taken:?}");
}

#[test]
fn functions_past_the_limit_are_refused_and_others_are_not() {
    let mut text = ".func f() {\n.reg .b32 %r<2>;\n".to_string();
    for _ in 0..=MOST_INSTRUCTIONS {
        text += "not.b32 %r1, %r1;";
    }
    text += "ret; }\n.func g() { ret; }\n.func h() { call f; ret; }\n";
    let code = compile(&parse(&text));
    assert!(matches!(
        code.absent(FuncId(0)),
        Some(Absent::TooLarge {
            what: "instructions",
            ..
        })
    ));
    assert_eq!(code.absent(FuncId(1)), None);
    assert_eq!(code.absent(FuncId(2)), Some(Absent::Calls(FuncId(0))));
}

#[test]
fn all_levels_give_the_same() {
    let module = parse(
        ".func (.reg .b32 r) f(.reg .b32 x) { .reg .pred %p; .reg .b32 %n; mov.u32 r, 1;\n\
         L: mad.lo.u32 r, r, 31, x; add.u32 %n, %n, 1; setp.lt.u32 %p, %n, 10; @%p bra L; ret; }\n",
    );
    let results = [OptLevel::None, OptLevel::Speed, OptLevel::SpeedAndSize].map(|opt_level| {
        let settings = Settings {
            opt_level,
            ..Settings::default()
        };
        let code = Code::compile(&module, &settings, Given::default()).expect("code");
        let mut result = [0; 4];
        with_launch(64, |launch, scratch, _| {
            code.call(FuncId(0), launch, scratch, &[3, 0, 0, 0], &mut result)
                .expect("a call that fits")
                .expect("no fault");
        });
        u32::from_le_bytes(result)
    });
    let expected = (0..10).fold(1u32, |r, _| r.wrapping_mul(31).wrapping_add(3));
    assert_eq!(results, [expected; 3]);
}

#[test]
fn settings_that_cranelift_does_not_know_are_told() {
    let module = parse(".func f() { ret; }\n");
    for (name, value) in [("no_such_setting", "1"), ("opt_level", "extreme")] {
        let settings = Settings {
            cranelift: vec![(name.to_string(), value.to_string())],
            ..Settings::default()
        };
        let error = Code::compile(&module, &settings, Given::default()).expect_err("refused");
        assert!(matches!(error, CompileError::Setting { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn statistics_count_what_was_compiled() {
    let code = compile(&parse(
        ".func f() { .reg .b32 %r; add.u32 %r, %r, 1; ret; }\n.func (.reg .f32 x) g() { .reg .u64 t; tex.1d.v4.f32.f32 {x, x, x, x}, [t, {x}]; ret; }\n",
    ));
    let stats = code.stats();
    assert_eq!((stats.functions, stats.instructions), (1, 2));
    assert!(stats.code_bytes > 0);
}

#[test]
fn dumps_show_the_ptx_beside_what_became_of_it() {
    let module = parse(
        ".visible .entry k(.param .u64 a) { .reg .b32 %r; .reg .b64 %d;\n\
         ld.param.u64 %d, [a];\n ld.global.u32 %r, [%d];\n add.u32 %r, %r, 41;\n st.global.u32 [%d], %r;\n ret; }\n",
    );
    let settings = Settings::default();
    let show = |stage| dump(&module, &settings, FuncId(0), stage).expect("a dump");
    let clif = show(Stage::Clif);
    assert!(clif.contains("; 7: add.u32 %r, %r, 41"), "{clif}");
    assert!(clif.contains("load.i32"), "{clif}");
    let plan = show(Stage::Plan);
    assert!(
        plan.contains("%d derives from the parameter at 0"),
        "{plan}"
    );
    assert!(plan.contains("2 accesses from"), "{plan}");
    assert!(show(Stage::Vcode).contains("ret"));
    assert!(show(Stage::Asm).contains("; 8: st.global.u32 [%d], %r"));
}

/// A function of so many loops and as many ways out, one value through all of them; and what it gives for 3 and 100.
fn winding(loops: u32) -> (String, u32) {
    let mut text =
        ".func (.reg .b32 r) f(.reg .b32 x, .reg .b32 y) {\n.reg .pred %p; .reg .b32 %i;\n"
            .to_string();
    for i in 0..loops {
        let _ = writeln!(
            text,
            "mov.u32 %i, 0; L{i}: mad.lo.u32 x, x, 5, {i}; div.u32 x, x, 3; add.u32 %i, %i, 1;\n\
             setp.lt.u32 %p, %i, 2; @%p bra L{i}; setp.eq.u32 %p, y, {i}; @%p bra END;"
        );
    }
    text += "add.u32 x, x, 7;\nEND: mov.u32 r, x; ret; }\n";
    let turn = |x: u32, i: u32| x.wrapping_mul(5).wrapping_add(i) / 3;
    let last = (0..=100u32).fold(3, |x, i| turn(turn(x, i), i));
    (text, last)
}

#[test]
fn long_chains_and_many_ways_to_one_end_compute_what_short_ones_do() {
    // The verifier is to agree with what is made over.
    for (loops, verify) in [(200, false), (2_000, false), (1_000, true)] {
        let (text, expected) = winding(loops);
        let settings = Settings {
            verify,
            ..Settings::default()
        };
        let code = Code::compile(&parse(&text), &settings, Given::default())
            .unwrap_or_else(|e| panic!("{e}"));
        let mut result = [0; 4];
        with_launch(64, |launch, scratch, _| {
            code.call(
                FuncId(0),
                launch,
                scratch,
                &[3, 0, 0, 0, 100, 0, 0, 0],
                &mut result,
            )
            .expect("a call that fits")
            .expect("no fault");
        });
        assert_eq!(u32::from_le_bytes(result), expected);
    }
}

#[test]
fn large_functions_need_little_stack() {
    const COUNT: u32 = 150_000;
    let mut text =
        ".func (.reg .b32 r) f(.reg .b32 x) {\n.reg .b32 %a; mov.u32 %a, x;\n".to_string();
    for i in 0..COUNT {
        let _ = writeln!(text, "mad.lo.u32 %a, %a, 3, {i};");
    }
    text += "mov.u32 r, %a; ret; }\n";
    let code = compile(&parse(&text));
    assert_eq!(code.absent(FuncId(0)), None);
    let mut result = [0; 4];
    with_launch(64, |launch, scratch, _| {
        code.call(FuncId(0), launch, scratch, &[3, 0, 0, 0], &mut result)
            .expect("a call that fits")
            .expect("no fault");
    });
    let expected = (0..COUNT).fold(3u32, |a, i| a.wrapping_mul(3).wrapping_add(i));
    assert_eq!(u32::from_le_bytes(result), expected);
}
