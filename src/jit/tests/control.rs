//! Branches, calls, ways out and their faults, beside the interpreter.

use super::{Outcome, Trial, compile, parse, with_launch};
use crate::ir::FuncId;
use crate::jit::Misuse;
use crate::machine::FaultKind;
use crate::spmd::Absent;
use std::time::Duration;

const ENTRY: &str = ".visible .entry k(.param .u64 a, .param .u64 n) {\n\
    .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %d<20>;\n\
    ld.param.u64 %d1, [a]; ld.param.u64 %d2, [n]; cvt.u32.u64 %r2, %d2; mov.u32 %r1, %tid.x;\n\
    mad.wide.u32 %d3, %r1, 4, %d1;\n";

fn trial(n: u64) -> Trial {
    Trial {
        buffers: vec![vec![0; 64]],
        scalars: n.to_le_bytes().to_vec(),
        ..Trial::default()
    }
}

fn kind(outcome: &Outcome) -> Option<FaultKind> {
    outcome.fault.as_ref().map(|fault| fault.kind)
}

fn word(outcome: &Outcome, index: usize) -> u32 {
    let bytes = &outcome.buffers[0][4 * index..][..4];
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

#[test]
fn threads_of_a_block_run_x_fastest() {
    let body = format!(
        "{ENTRY} mov.u32 %r3, %tid.y; mov.u32 %r4, %tid.z; mov.u32 %r5, %laneid;\n\
         ld.global.u32 %r6, [%d1]; mul.lo.u32 %r6, %r6, 31; add.u32 %r6, %r6, %r1;\n\
         mul.lo.u32 %r6, %r6, 31; add.u32 %r6, %r6, %r3; mul.lo.u32 %r6, %r6, 31;\n\
         add.u32 %r6, %r6, %r4; add.u32 %r6, %r6, %r5; st.global.u32 [%d1], %r6; ret; }}"
    );
    let mut trial = trial(0);
    trial.block = [3, 5, 4];
    trial.grid = [2, 2, 2];
    assert_eq!(kind(&trial.run(&body)), None);
}

#[test]
fn registers_are_zero_when_a_thread_begins() {
    let body = format!(
        "{ENTRY} @%p1 bra L; st.global.u32 [%d3], %r9; mov.u32 %r9, 5; setp.eq.u32 %p1, 0, 0; \
         ret; L: st.global.u32 [%d3], 99; ret; }}"
    );
    let mut trial = trial(0);
    trial.block = [4, 1, 1];
    let outcome = trial.run(&body);
    assert_eq!([0, 1, 2, 3].map(|i| word(&outcome, i)), [0; 4]);
}

#[test]
fn loops_of_every_shape() {
    // Nested, with several ways out, into the middle (irreducible), on itself, at the entry.
    let body = format!(
        "{ENTRY} mov.u32 %r3, 0; mov.u32 %r4, 0; setp.gt.u32 %p1, %r2, 5; @%p1 bra IN;\n\
         OUT: add.u32 %r3, %r3, 1; mov.u32 %r5, 0;\n\
         IN: add.u32 %r5, %r5, 1; mad.lo.u32 %r4, %r4, 3, %r5; setp.eq.u32 %p2, %r4, 77; @%p2 bra END;\n\
         setp.lt.u32 %p3, %r5, 7; @%p3 bra IN; setp.lt.u32 %p3, %r3, %r2; @%p3 bra OUT;\n\
         SELF: sub.u32 %r2, %r2, 1; xor.b32 %r4, %r4, %r2; setp.ne.u32 %p1, %r2, 0; @%p1 bra SELF;\n\
         END: st.global.u32 [%d3], %r4; ret; }}"
    );
    for n in 1..12 {
        let mut trial = trial(n);
        trial.block = [4, 1, 1];
        assert_eq!(kind(&trial.run(&body)), None);
    }
}

#[test]
fn tables_jump_and_fault_past_their_end() {
    let body = format!(
        "{ENTRY} ts: .branchtargets A, B, A, C;\n brx.idx %r2, ts;\n\
         A: st.global.u32 [%d3], 1; ret; B: st.global.u32 [%d3], 2; ret; C: st.global.u32 [%d3], 3; ret; }}"
    );
    for (n, expected) in [(0u64, 1), (1, 2), (2, 1), (3, 3)] {
        assert_eq!(word(&trial(n).run(&body), 0), expected);
    }
    for n in [4u64, 0xffff_ffff] {
        let outcome = trial(n).run(&body);
        assert_eq!(kind(&outcome), Some(FaultKind::BadCall));
    }
}

#[test]
fn exits_in_functions_end_the_thread_and_give_its_memory_back() {
    let body = format!(
        ".func deep(.param .b64 p, .param .b32 x) {{ .local .b32 l[4]; .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<4>;\n\
         ld.param.b64 %d1, [p]; ld.param.b32 %r1, [x]; st.local.b32 [l+4], %r1; ld.local.b32 %r2, [l];\n\
         st.global.b32 [%d1], %r2; setp.eq.b32 %p, %r1, 2; @%p exit; ret; }}\n\
         .func mid(.param .b64 p, .param .b32 x) {{ .local .b32 l[4]; .reg .b32 %r<4>; .reg .b64 %d<4>;\n\
         ld.param.b64 %d1, [p]; ld.param.b32 %r1, [x]; st.local.b32 [l+4], 3;\n\
         call deep, (%d1, %r1); ld.local.b32 %r2, [l+4]; st.global.b32 [%d1], %r2; ret; }}\n\
         {ENTRY} call mid, (%d3, %r1); ld.global.u32 %r4, [%d3]; add.u32 %r4, %r4, 10;\n\
         st.global.u32 [%d3], %r4; ret; }}"
    );
    let mut trial = trial(0);
    trial.block = [4, 1, 1];
    trial.local_bytes = 48;
    let outcome = trial.run(&body);
    assert_eq!([0, 1, 2, 3].map(|i| word(&outcome, i)), [13, 13, 0, 13]);
    trial.local_bytes = 31;
    assert_eq!(kind(&trial.run(&body)), Some(FaultKind::StackOverflow));
}

const SUM: &str = ".func (.param .b32 r) sum(.param .b32 x) {\n\
    .reg .pred %p; .reg .b32 %r<4>;\n\
    ld.param.b32 %r1, [x]; setp.eq.u32 %p, %r1, 0; @%p bra ZERO;\n\
    sub.u32 %r2, %r1, 1; call (%r3), sum, (%r2); add.u32 %r3, %r3, %r1;\n\
    ZERO: st.param.b32 [r], %r3; ret; }\n";

#[test]
fn recursion_goes_as_deep_as_the_launch_allows() {
    let body = format!("{SUM}{ENTRY} call (%r4), sum, (%r2); st.global.u32 [%d3], %r4; ret; }}");
    for limit in [0, 1, 7, 40, 1000] {
        let mut fine = trial(limit.max(1) - 1);
        fine.call_depth = limit as u32;
        let outcome = fine.run(&body);
        if limit > 0 {
            assert_eq!(word(&outcome, 0) as u64, (limit - 1) * limit / 2);
        }
        let mut deeper = trial(limit);
        deeper.call_depth = limit as u32;
        assert_eq!(kind(&deeper.run(&body)), Some(FaultKind::StackOverflow));
    }
}

#[test]
fn endless_recursion_ends_in_native_code_that_has_no_limit_to_speak_of() {
    let module = parse(
        ".func f(.param .b32 x) { .reg .b32 %r<2>; ld.param.b32 %r1, [x]; add.u32 %r1, %r1, 1;\n\
         call f, (%r1); call f, (%r1); ret; }\n",
    );
    let code = compile(&module);
    with_launch(u32::MAX, |launch, scratch, _| {
        let fault = code
            .call(FuncId(0), launch, scratch, &[0; 4], &mut [])
            .expect("a call that fits")
            .expect_err("a fault");
        assert_eq!(fault.kind, FaultKind::StackOverflow);
    });
}

#[test]
fn static_chains_are_counted_only_where_they_matter() {
    // f0 calls f1 calls ... f40, no recursion.
    let mut body = ".func f40() { ret; }\n".to_string();
    for i in (0..40).rev() {
        body += &format!(".func f{i}() {{ call f{}; ret; }}\n", i + 1);
    }
    body += &format!("{ENTRY} call f0; st.global.u32 [%d3], 1; ret; }}");
    for (limit, expected) in [
        (41, None),
        (40, Some(FaultKind::StackOverflow)),
        (33, Some(FaultKind::StackOverflow)),
        (3, Some(FaultKind::StackOverflow)),
        (0, Some(FaultKind::StackOverflow)),
    ] {
        let mut trial = trial(0);
        trial.call_depth = limit;
        assert_eq!(kind(&trial.run(&body)), expected, "{limit}");
    }
}

#[test]
fn indirect_calls_check_what_they_call() {
    let body = format!(
        ".func (.param .b32 r) inc(.param .b32 x) {{ .reg .b32 %r<2>; ld.param.b32 %r1, [x]; add.u32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }}\n\
         .func (.param .b32 r) dbl(.param .b32 x) {{ .reg .b32 %r<2>; ld.param.b32 %r1, [x]; add.u32 %r1, %r1, %r1; st.param.b32 [r], %r1; ret; }}\n\
         .func other(.param .b64 x) {{ ret; }}\n\
         {ENTRY} mov.u64 %d4, inc; mov.u64 %d5, dbl; setp.eq.u32 %p1, %r2, 1; selp.b64 %d4, %d5, %d4, %p1;\n\
         setp.eq.u32 %p1, %r2, 2; mov.u64 %d5, other; selp.b64 %d4, %d5, %d4, %p1;\n\
         setp.gt.u64 %p1, %d2, 2; selp.b64 %d4, %d2, %d4, %p1;\n\
         proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
         call (%r4), %d4, (21), proto; st.global.u32 [%d3], %r4; ret; }}"
    );
    assert_eq!(word(&trial(0).run(&body), 0), 22);
    assert_eq!(word(&trial(1).run(&body), 0), 42);
    for wrong in [2, 3, 5 << 56, (5 << 56) + 17, (5 << 56) + 16 * 5, u64::MAX] {
        let outcome = trial(wrong).run(&body);
        assert_eq!(kind(&outcome), Some(FaultKind::BadCall), "{wrong:#x}");
    }
}

#[test]
fn parameters_of_every_shape_travel() {
    let body = format!(
        ".func (.param .align 8 .b8 r[16]) f(.param .align 8 .b8 p[16], .param .b64 q, .param .b8 t, .param .b16 u) {{\n\
         .reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n\
         ld.param.b64 %d1, [p]; ld.param.b32 %r1, [p+8]; ld.param.b32 %r2, [p+12]; ld.param.b64 %d2, [q];\n\
         ld.param.s8 %r3, [t]; ld.param.u16 %r4, [u]; ld.param.b32 %r5, [q+4];\n\
         add.u64 %d1, %d1, %d2; add.u32 %r1, %r1, %r3; add.u32 %r2, %r2, %r4; add.u32 %r2, %r2, %r5;\n\
         st.param.b64 [r], %d1; st.param.v2.b32 [r+8], {{%r1, %r2}}; ret; }}\n\
         {ENTRY} {{ .param .align 8 .b8 x[16]; .param .align 8 .b8 y[16]; .param .b64 q; .param .b8 t; .param .b16 u;\n\
         .reg .b16 %h<4>; mov.u16 %h1, 0xff; st.param.b64 [x], 1000; st.param.b64 [x+8], 0x500000007;\n\
         st.param.b64 [q], 0x300000002; st.param.b8 [t], %h1; st.param.b16 [u], 40000;\n\
         call (y), f, (x, q, t, u);\n\
         ld.param.b64 %d5, [y]; st.global.u64 [%d1], %d5; ld.param.v2.b32 {{%r5, %r6}}, [y+8];\n\
         st.global.v2.u32 [%d1+8], {{%r5, %r6}}; }} ret; }}"
    );
    let outcome = trial(0).run(&body);
    assert_eq!(kind(&outcome), None);
    let words = [0, 1, 2, 3].map(|i| word(&outcome, i));
    assert_eq!(words, [1002, 3, 6, 40008]);
}

#[test]
fn several_results_travel() {
    let body = format!(
        ".func (.reg .b32 q, .reg .b64 s, .reg .b16 t) f(.reg .b32 x) {{\n\
         add.u32 q, x, 1; cvt.u64.u32 s, x; shl.b64 s, s, 33; cvt.u16.u32 t, x; ret; }}\n\
         {ENTRY} {{ .reg .b16 %h<3>; call (%r4, %d5, %h1), f, (%r2); call (_, %d6, _), f, (7);\n\
         st.global.u32 [%d1], %r4; st.global.u64 [%d1+8], %d5; st.global.u16 [%d1+16], %h1;\n\
         st.global.u64 [%d1+24], %d6; }} ret; }}"
    );
    let outcome = trial(70_000).run(&body);
    assert_eq!(kind(&outcome), None);
    let words = [0, 3, 4, 7].map(|i| word(&outcome, i));
    assert_eq!(words, [70_001, 140_000, 70_000 - 65536, 14]);
}

#[test]
fn results_may_be_arguments_of_the_same_call() {
    let body = format!(
        ".func (.param .align 8 .b8 r[16]) swap(.param .align 8 .b8 p[16]) {{ .reg .b64 %d<3>;\n\
         ld.param.b64 %d1, [p]; st.param.b64 [r+8], %d1; ld.param.b64 %d2, [p+8]; st.param.b64 [r], %d2; ret; }}\n\
         {ENTRY} {{ .param .align 8 .b8 x[16]; st.param.b64 [x], 1; st.param.b64 [x+8], 2;\n\
         call (x), swap, (x); ld.param.b64 %d5, [x]; ld.param.b64 %d6, [x+8];\n\
         st.global.u64 [%d1], %d5; st.global.u64 [%d1+8], %d6; }} ret; }}"
    );
    let outcome = trial(0).run(&body);
    assert_eq!([0, 2].map(|i| word(&outcome, i)), [2, 1]);
}

#[test]
fn guarded_calls_keep_results_where_they_do_not_happen() {
    let body = format!(
        ".func (.reg .b32 r) f(.reg .b32 x) {{ add.u32 r, x, 100; ret; }}\n\
         {ENTRY} mov.u32 %r4, 7; and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 1;\n\
         @%p1 call (%r4), f, (%r1); st.global.u32 [%d3], %r4; ret; }}"
    );
    let mut trial = trial(0);
    trial.block = [4, 1, 1];
    let outcome = trial.run(&body);
    assert_eq!([0, 1, 2, 3].map(|i| word(&outcome, i)), [7, 101, 7, 103]);
}

#[test]
fn traps_tell_where_and_who() {
    let body =
        format!("{ENTRY} setp.eq.u32 %p1, %r1, 2; @%p1 trap; st.global.u32 [%d3], 1; ret; }}");
    let mut trial = trial(0);
    trial.block = [4, 1, 1];
    let outcome = trial.run(&body);
    assert_eq!(kind(&outcome), Some(FaultKind::Trap));
    assert_eq!(outcome.fault.map(|f| f.thread), Some([2, 0, 0]));
}

#[test]
fn endless_loops_and_endless_trees_of_calls_can_be_stopped() {
    let mut tree = ".func f30() { ret; }\n".to_string();
    for i in (0..30).rev() {
        tree += &format!(
            ".func f{i}() {{ call f{0}; call f{0}; call f{0}; ret; }}\n",
            i + 1
        );
    }
    for (body, function) in [
        (".func f() { L: bra L; }\n".to_string(), "f"),
        (
            ".func f() { .reg .pred %p; .reg .b32 %r; A: add.u32 %r, %r, 1; B: sub.u32 %r, %r, 1;\n\
             setp.eq.u32 %p, %r, 5; @%p bra A; bra B; }\n"
                .to_string(),
            "f",
        ),
        (tree, "f0"),
    ] {
        let module = parse(&body);
        let code = compile(&module);
        let id = module.function(function).expect("the function");
        with_launch(64, |launch, scratch, stop| {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(30));
                    stop.raise();
                });
                let fault = code
                    .call(id, launch, scratch, &[], &mut [])
                    .expect("a call that fits")
                    .expect_err("a fault");
                assert_eq!(fault.kind, FaultKind::TimeLimit);
            });
        });
    }
}

#[test]
fn long_rows_of_instructions_can_be_stopped() {
    let row = "not.b32 %r, %r;\n".repeat(5_000);
    let module = parse(&format!(
        ".func leaf() {{ .reg .b32 %r; {row} ret; }}\n.func calls() {{ call leaf; ret; }}\n\
         .visible .entry k() {{ .reg .b32 %r; {row} ret; }}\n"
    ));
    let code = compile(&module);
    with_launch(64, |launch, scratch, stop| {
        stop.raise();
        let called = code.call(FuncId(1), launch, scratch, &[], &mut []);
        let fault = called.expect("a call that fits").expect_err("a fault");
        assert_eq!(fault.kind, FaultKind::TimeLimit);
        let kernel = code.prepare(FuncId(2), launch).expect("a launch that fits");
        let fault = kernel
            .run_blocks(scratch, [0; 3], || None)
            .expect_err("a fault");
        assert_eq!(fault.kind, FaultKind::TimeLimit);
    });
}

#[test]
fn simple_functions_have_pointers_and_others_have_none() {
    let module = parse(
        ".func (.reg .b32 r) pure(.reg .b32 x, .reg .b64 y) { cvt.u32.u64 r, y; sub.u32 r, r, x; ret; }\n\
         .func (.reg .b32 r) calls(.reg .b32 x) { call (r), pure, (x, 100); ret; }\n\
         .func (.reg .b32 r) loops(.reg .b32 x) { .reg .pred %p; L: add.u32 r, r, x; setp.lt.u32 %p, r, 9; @%p bra L; ret; }\n\
         .func (.reg .b32 r) looks(.reg .b32 x) { mov.u32 r, %tid.x; ret; }\n\
         .func (.reg .b32 r) reads(.reg .b64 x) { ld.u32 r, [x]; ret; }\n\
         .func (.reg .b32 r) leaves(.reg .b32 x) { exit; }\n",
    );
    let code = compile(&module);
    let has: Vec<bool> = (0..6).map(|i| code.pointer(FuncId(i)).is_some()).collect();
    assert_eq!(has, [true, true, false, false, false, false]);
    let pointer = code.pointer(FuncId(0)).expect("a pointer");
    // SAFETY: the function takes and gives these.
    let pure: extern "C" fn(u32, u64) -> u32 = unsafe { std::mem::transmute(pointer) };
    assert_eq!(pure(3, 0xff_0000_000a), 7);
    with_launch(64, |launch, scratch, _| {
        let mut result = [0xff; 4];
        code.call(FuncId(5), launch, scratch, &[0; 4], &mut result)
            .expect("a call that fits")
            .expect("no fault");
        assert_eq!(result, [0; 4]);
    });
}

#[test]
fn what_cannot_be_compiled_leaves_the_rest() {
    let module = parse(
        ".func (.reg .f32 r) f(.reg .f32 x) { .reg .u64 t; tex.1d.v4.f32.f32 {r, r, r, r}, [t, {x}]; ret; }\n\
         .func (.reg .f32 r) g(.reg .f32 x) { call (r), f, (x); ret; }\n\
         .func (.reg .b32 r) h(.reg .b32 x) { add.u32 r, x, x; ret; }\n",
    );
    let code = compile(&module);
    let absent = [0, 1, 2].map(|i| code.absent(FuncId(i)));
    assert_eq!(
        absent,
        [
            Some(Absent::Unsupported),
            Some(Absent::Calls(FuncId(0))),
            None
        ]
    );
    with_launch(64, |launch, scratch, _| {
        let refused = code.call(FuncId(1), launch, scratch, &[0; 4], &mut [0; 4]);
        assert_eq!(refused, Err(Misuse::Absent(Absent::Calls(FuncId(0)))));
        let mut result = [0; 4];
        code.call(FuncId(2), launch, scratch, &[21, 0, 0, 0], &mut result)
            .expect("a call that fits")
            .expect("no fault");
        assert_eq!(result, [42, 0, 0, 0]);
        let short = code.call(FuncId(2), launch, scratch, &[1], &mut result);
        assert!(matches!(short, Err(Misuse::Size { .. })));
        assert_eq!(code.prepare(FuncId(2), launch).err(), Some(Misuse::Kind));
    });
}

#[test]
fn an_instruction_may_write_the_predicate_that_guards_it() {
    let body = format!(
        "{ENTRY} setp.eq.u32 %p1, %r1, 0; @%p1 setp.ne.u32 %p1|%p2, %r1, 0;\n\
         selp.u32 %r4, 1, 0, %p1; selp.u32 %r5, 2, 0, %p2; add.u32 %r4, %r4, %r5;\n\
         st.global.u32 [%d3], %r4; ret; }}"
    );
    let mut trial = trial(0);
    trial.block = [2, 1, 1];
    let outcome = trial.run(&body);
    assert_eq!([0, 1].map(|i| word(&outcome, i)), [2, 0]);
}
