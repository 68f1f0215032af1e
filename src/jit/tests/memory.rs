//! Accesses, their checks and their faults, beside the interpreter.

use super::{Outcome, Settings, Trial};
use crate::machine::FaultKind;

/// One buffer of words 0, 1, 2...
fn words(count: u32) -> Vec<u8> {
    (0..count).flat_map(u32::to_le_bytes).collect()
}

/// A kernel with a buffer `a`, perhaps a buffer `b`, then a word `n`; some registers.
fn kernel(body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 n) {{\n\
         .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<20>; .reg .b64 %d<20>;\n\
         ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [n];\n\
         mov.u32 %r1, %tid.x;\n{body}\nret;\n}}\n"
    )
}

fn trial(n: u64) -> Trial {
    Trial {
        buffers: vec![words(16), words(16)],
        scalars: n.to_le_bytes().to_vec(),
        ..Trial::default()
    }
}

fn kind(outcome: &Outcome) -> Option<FaultKind> {
    outcome.fault.as_ref().map(|fault| fault.kind)
}

/// Line of the fault in the kernel's body, from 1.
fn line(outcome: &Outcome) -> u32 {
    // Three lines of header, four before the body.
    outcome.fault.as_ref().map_or(0, |f| f.position.line - 7)
}

#[test]
fn an_element_past_the_end_faults_and_the_last_does_not() {
    for (ty, bytes) in [
        ("u8", 1u64),
        ("u16", 2),
        ("u32", 4),
        ("u64", 8),
        ("v2.u32", 8),
        ("v4.u32", 16),
    ] {
        let list = match ty {
            "v2.u32" => "{%r4, %r5}",
            "v4.u32" => "{%r4, %r5, %r6, %r7}",
            "u64" => "%d4",
            "u16" => "%h1",
            _ => "%r4",
        };
        for space in [".global", ""] {
            for (write, last) in [(false, false), (false, true), (true, false), (true, true)] {
                let access = if write {
                    format!("st{space}.{ty} [%d5], {list};")
                } else {
                    format!("ld{space}.{ty} {list}, [%d5];")
                };
                let at = if last { 64 - bytes } else { 64 };
                let outcome = trial(at).run(&kernel(&format!("add.u64 %d5, %d1, %d3;\n{access}")));
                let expected = (!last).then_some(FaultKind::OutOfBounds);
                assert_eq!(kind(&outcome), expected, "{access} at {at}");
                let below = trial(0u64.wrapping_sub(bytes));
                let outcome = below.run(&kernel(&format!("add.u64 %d5, %d1, %d3;\n{access}")));
                assert_eq!(kind(&outcome), Some(FaultKind::OutOfBounds));
            }
        }
    }
}

#[test]
fn misalignment_is_told_before_bounds_and_bounds_before_writing() {
    let body = kernel("add.u64 %d5, %d1, %d3;\nst.global.u32 [%d5], %r1;");
    let mut trial = trial(2);
    trial.read_only = vec![0];
    for (at, expected) in [
        (0u64, FaultKind::ReadOnly),
        (2, FaultKind::Misaligned),
        (62, FaultKind::Misaligned),
        (64, FaultKind::OutOfBounds),
        (1 << 40, FaultKind::OutOfBounds),
        ((1 << 40) + 1, FaultKind::Misaligned),
    ] {
        trial.scalars = at.to_le_bytes().to_vec();
        assert_eq!(kind(&trial.run(&body)), Some(expected), "{at:#x}");
    }
}

#[test]
fn null_and_window_addresses_are_not_global_memory() {
    for address in [
        0u64,
        4,
        1 << 56,
        2 << 56,
        3 << 56,
        4 << 56,
        (5 << 56) + 16,
        u64::MAX - 3,
    ] {
        for space in [".global", ""] {
            for access in ["ld{}.u32 %r4, [%d3];", "st{}.u32 [%d3], %r1;"] {
                let access = access.replace("{}", space);
                let outcome = trial(address).run(&kernel(&access));
                // The kernel's parameters are there to be read, and nothing else.
                let fine = address == 4 << 56 && access == "ld.u32 %r4, [%d3];";
                assert_eq!(kind(&outcome).is_none(), fine, "{access} {address:#x}");
            }
        }
    }
}

#[test]
fn a_pointer_reaches_the_other_buffer_by_way_of_the_host() {
    // b - a is a distance; adding it to a derives from a and lies in b.
    let body = kernel(
        "sub.u64 %d4, %d2, %d1;\nadd.u64 %d5, %d1, %d4;\n\
         ld.global.u32 %r4, [%d5+8];\nst.global.u32 [%d5+12], %r4;\n\
         ld.u32 %r5, [%d5+16];\nst.u32 [%d5+20], %r5;",
    );
    let outcome = trial(0).run(&body);
    assert_eq!(kind(&outcome), None);
    assert_eq!(outcome.buffers[1][12..16], 2u32.to_le_bytes());
    assert_eq!(outcome.buffers[1][20..24], 4u32.to_le_bytes());
}

#[test]
fn pointers_may_begin_anywhere_in_a_buffer_and_past_its_end() {
    for offset in [-4i64, 0, 4, 6, 32, 60, 64, 68] {
        let mut trial = trial(0);
        trial.offsets = vec![offset];
        for access in ["ld.global.u32 %r4, [%d1];", "ld.global.u32 %r4, [%d1+-4];"] {
            let outcome = trial.run(&kernel(access));
            let at = offset - if access.contains("+-4") { 4 } else { 0 };
            let fine = at % 4 == 0 && (0..64).contains(&at);
            assert_eq!(kind(&outcome).is_none(), fine, "{access} {offset}");
        }
    }
}

#[test]
fn pointers_from_memory_are_looked_up() {
    // Buffer a holds a pointer to b, written by the kernel itself.
    let body = kernel(
        "st.global.u64 [%d1], %d2;\nld.global.u64 %d5, [%d1];\n\
         mad.wide.u32 %d6, %r1, 4, %d5;\nld.global.u32 %r4, [%d6];\n\
         add.u32 %r4, %r4, 100;\nst.global.u32 [%d6], %r4;\nst.global.u64 [%d1], 0;",
    );
    let mut trial = trial(0);
    trial.block = [16, 1, 1];
    let outcome = trial.run(&body);
    assert_eq!(kind(&outcome), None);
    assert_eq!(outcome.buffers[1][60..64], 115u32.to_le_bytes());
    trial.block = [17, 1, 1];
    let outcome = trial.run(&body);
    assert_eq!(kind(&outcome), Some(FaultKind::OutOfBounds));
    assert_eq!(outcome.fault.map(|f| f.thread), Some([16, 0, 0]));
}

#[test]
fn a_pointer_that_alternates_between_buffers_is_right_each_time() {
    let body = kernel(
        "mov.u32 %r2, 0;\nmov.u64 %d4, %d1;\nmov.u64 %d5, %d2;\n\
         L:\nmad.wide.u32 %d6, %r2, 4, %d4;\nld.global.u32 %r4, [%d6];\n\
         add.u32 %r4, %r4, 7;\nst.global.u32 [%d6], %r4;\n\
         mov.u64 %d7, %d4;\nmov.u64 %d4, %d5;\nmov.u64 %d5, %d7;\n\
         add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 16;\n@%p1 bra L;",
    );
    let outcome = trial(0).run(&body);
    assert_eq!(kind(&outcome), None);
    assert_eq!(outcome.buffers[0][8..12], 9u32.to_le_bytes());
    assert_eq!(outcome.buffers[1][8..12], 2u32.to_le_bytes());
}

#[test]
fn a_run_of_accesses_tells_the_first_that_is_wrong() {
    // Sixteen words; the run begins at word n.
    let body = kernel(
        "add.u64 %d5, %d1, %d3;\nld.global.u32 %r4, [%d5];\nld.global.u32 %r5, [%d5+4];\n\
         ld.global.v2.u32 {%r6, %r7}, [%d5+8];\nadd.u32 %r8, %r4, %r5;\n\
         st.global.u32 [%d5+16], %r8;\nld.global.u8 %r9, [%d5+20];\nst.global.u16 [%d5+22], %h1;",
    );
    for at in (-24i64..72).chain([1 << 33]) {
        let outcome = trial(at as u64).run(&body);
        let accesses = [
            (2, 0i64, 4i64),
            (3, 4, 4),
            (4, 8, 8),
            (6, 16, 4),
            (7, 20, 1),
            (8, 22, 2),
        ];
        let expected = accesses.into_iter().find_map(|(line, offset, size)| {
            let first = at + offset;
            if first % size != 0 {
                Some((line, FaultKind::Misaligned))
            } else if first < 0 || first + size > 64 {
                Some((line, FaultKind::OutOfBounds))
            } else {
                None
            }
        });
        let found = kind(&outcome).map(|kind| (line(&outcome), kind));
        assert_eq!(found, expected, "at {at}");
    }
}

#[test]
fn a_run_that_stores_into_read_only_memory_tells_the_store() {
    let body = kernel(
        "ld.global.u32 %r4, [%d1];\nld.global.u32 %r5, [%d1+4];\nst.global.u32 [%d1+8], %r5;",
    );
    let mut trial = trial(0);
    trial.read_only = vec![0];
    let outcome = trial.run(&body);
    assert_eq!(
        (line(&outcome), kind(&outcome)),
        (3, Some(FaultKind::ReadOnly))
    );
}

#[test]
fn a_run_ends_where_its_register_changes_or_something_else_may_fault() {
    let body = kernel(
        "add.u64 %d5, %d1, %d3;\nld.global.u32 %r4, [%d5];\nadd.u64 %d5, %d5, 4;\n\
         ld.global.u32 %r5, [%d5+4];\nld.global.u64 %d6, [%d2+60];\nld.global.u32 %r6, [%d5+8];",
    );
    for (at, expected) in [(0, 5), (56, 4), (64, 2)] {
        assert_eq!(line(&trial(at).run(&body)), expected, "at {at}");
    }
}

#[test]
fn shared_memory_is_checked_against_what_the_launch_has() {
    let body = format!(
        ".shared .align 4 .b8 s[32]; .extern .shared .align 4 .b8 dyn[];\n{}",
        kernel(
            "cvt.u32.u64 %r2, %d3;\nmov.u32 %r3, s;\nadd.u32 %r3, %r3, %r2;\n\
             st.shared.u32 [%r3], %r1;\nld.shared.u32 %r4, [%r3];\nst.global.u32 [%d1], %r4;\n\
             mov.u32 %r5, dyn;\nst.global.u32 [%d1+4], %r5;\n\
             cvta.shared.u64 %d4, 0;\ncvt.u64.u32 %d5, %r3;\nadd.u64 %d6, %d4, %d5;\n\
             ld.u32 %r6, [%d6];\nst.global.u32 [%d1+8], %r6;"
        )
    );
    for (at, dynamic, expected) in [
        (0u64, 0, None),
        (28, 0, None),
        (30, 0, Some(FaultKind::Misaligned)),
        (32, 0, Some(FaultKind::OutOfBounds)),
        (32, 16, None),
        (48, 16, Some(FaultKind::OutOfBounds)),
        (0xffff_fffc, 16, Some(FaultKind::OutOfBounds)),
    ] {
        let mut trial = trial(at);
        trial.dynamic_shared = dynamic;
        assert_eq!(kind(&trial.run(&body)), expected, "{at:#x} of 32+{dynamic}");
    }
}

#[test]
fn constants_are_read_and_not_written() {
    let body = format!(
        ".const .align 4 .b32 c[4] = {{10, 20, 30, 40}};\n{}",
        kernel(
            "cvt.u32.u64 %r2, %d3;\nld.const.u32 %r3, [c+8];\nld.const.u32 %r4, [%r2];\n\
             add.u32 %r3, %r3, %r4;\nst.global.u32 [%d1], %r3;\n\
             cvta.const.u64 %d4, 0;\nadd.u64 %d4, %d4, %d3;\nld.u32 %r5, [%d4];\n\
             st.global.u32 [%d1+4], %r5;\nst.u32 [%d4], %r5;"
        )
    );
    for (at, expected) in [
        (4u64, FaultKind::ReadOnly),
        (12, FaultKind::ReadOnly),
        (16, FaultKind::OutOfBounds),
        (3, FaultKind::Misaligned),
    ] {
        assert_eq!(kind(&trial(at).run(&body)), Some(expected), "{at}");
    }
}

#[test]
fn each_module_variable_ends_by_itself() {
    let body = format!(
        ".global .align 4 .b32 g[3]; .global .align 16 .b32 h[4];\n{}",
        kernel(
            "mov.u64 %d4, g;\nadd.u64 %d5, %d4, %d3;\nst.global.u32 [%d5], 7;\n\
             ld.global.u32 %r4, [%d5];\nst.global.u32 [g+8], %r4;\nld.global.u32 %r5, [h+12];\n\
             ld.u32 %r6, [%d5];\nst.global.u32 [%d1], %r6;"
        )
    );
    let module = super::parse(&body);
    let [g, h] = ["g", "h"].map(|name| {
        let id = module.variable(name).expect("the variable");
        module.variables[id.index()].offset
    });
    let h = h.wrapping_sub(g);
    for (at, expected) in [
        (0u64, None),
        (8, None),
        (12, Some(FaultKind::OutOfBounds)),
        (h, None),
        (h + 12, None),
        (h + 16, Some(FaultKind::OutOfBounds)),
        (5, Some(FaultKind::Misaligned)),
    ] {
        assert_eq!(kind(&trial(at).run(&body)), expected, "{at}");
    }
}

#[test]
fn an_access_that_variables_do_not_align_for_is_judged_by_its_address() {
    // `g` begins at 4: the distance from it does not tell what 8 bytes want.
    let body = format!(
        ".global .align 4 .b32 f; .global .align 4 .b32 g[5];\n{}",
        kernel(
            "mov.u64 %d4, g;\nadd.u64 %d5, %d4, %d3;\nld.global.u64 %d6, [%d5];\nst.global.u64 [%d1], %d6;"
        )
    );
    for at in [0u64, 4, 8, 12, 16, 20] {
        let found = kind(&trial(at).run(&body));
        let expected = match at {
            4 | 12 => None,
            20 => Some(FaultKind::OutOfBounds),
            _ => Some(FaultKind::Misaligned),
        };
        assert_eq!(found, expected, "{at}");
    }
}

#[test]
fn kernel_parameters_are_a_window() {
    let body = kernel(
        "mov.u32 %r2, a;\ncvt.u32.u64 %r3, %d3;\nadd.u32 %r3, %r3, %r2;\nld.param.u32 %r4, [%r3];\n\
         st.global.u32 [%d1], %r4;",
    );
    for (at, expected) in [
        (16u64, None),
        (20, None),
        (22, Some(FaultKind::Misaligned)),
        (24, Some(FaultKind::OutOfBounds)),
    ] {
        assert_eq!(kind(&trial(at).run(&body)), expected, "{at}");
    }
}

#[test]
fn local_memory_is_zero_when_a_thread_begins_and_ends_with_the_frame() {
    for bytes in [16u32, 200] {
        let body = format!(
            ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 n) {{\n\
             .local .align 8 .b8 l[{bytes}]; .reg .b32 %r<9>; .reg .b64 %d<9>;\n\
             ld.param.u64 %d1, [a]; ld.param.u64 %d3, [n]; mov.u32 %r1, %tid.x;\n\
             mov.u64 %d4, l; add.u64 %d5, %d4, %d3;\n\
             ld.local.u32 %r4, [%d5]; mad.wide.u32 %d6, %r1, 4, %d1; add.u32 %r4, %r4, 1;\n\
             st.global.u32 [%d6], %r4; st.local.u32 [%d5], 9;\n\
             cvta.local.u64 %d7, %d5; ld.u32 %r5, [%d7]; st.global.u32 [%d6+32], %r5;\n\
             ret; }}\n"
        );
        let mut fine = trial(u64::from(bytes) - 4);
        fine.block = [8, 1, 1];
        let outcome = fine.run(&body);
        assert_eq!(kind(&outcome), None);
        assert_eq!(outcome.buffers[0][28..32], 1u32.to_le_bytes());
        assert_eq!(outcome.buffers[0][60..64], 9u32.to_le_bytes());
        let beyond = trial(u64::from(bytes).next_multiple_of(16));
        assert_eq!(kind(&beyond.run(&body)), Some(FaultKind::OutOfBounds));
    }
}

#[test]
fn strong_accesses_stay_and_are_checked() {
    for order in [".volatile", ".relaxed.gpu", ".acquire.gpu"] {
        let store = if order == ".acquire.gpu" {
            ".release.gpu"
        } else {
            order
        };
        let body = kernel(&format!(
            "add.u64 %d5, %d1, %d3;\nst{store}.global.u32 [%d5], 5;\nst{store}.global.u32 [%d5], 6;\n\
             ld{order}.global.u32 %r4, [%d5];\nld{order}.global.u32 %r5, [%d5];\n\
             add.u32 %r4, %r4, %r5;\nst.global.u32 [%d1+8], %r4;"
        ));
        let outcome = trial(4).run(&body);
        assert_eq!(outcome.buffers[0][8..12], 12u32.to_le_bytes());
        assert_eq!(kind(&trial(64).run(&body)), Some(FaultKind::OutOfBounds));
    }
}

#[test]
fn guarded_accesses_fault_only_where_they_execute() {
    let body = kernel(
        "setp.eq.u32 %p1, %r1, 3;\nmov.u32 %r4, 77;\n@%p1 ld.global.u32 %r4, [%d1+64];\n\
         @!%p1 st.global.u32 [%d1], %r4;",
    );
    let mut trial = trial(0);
    trial.block = [3, 1, 1];
    let outcome = trial.run(&body);
    assert_eq!(outcome.buffers[0][..4], 77u32.to_le_bytes());
    trial.block = [4, 1, 1];
    let outcome = trial.run(&body);
    assert_eq!(outcome.fault.map(|f| f.thread), Some([3, 0, 0]));
}

#[test]
fn unchecked_code_reaches_windows_and_memory() {
    let body = format!(
        ".shared .align 4 .b8 s[32];\n{}",
        kernel(
            "st.shared.u32 [s+4], 5;\ncvta.shared.u64 %d4, 4;\nld.u32 %r4, [%d4];\n\
             st.u32 [%d1], %r4;\nld.global.u32 %r5, [%d2+8];\nst.global.u32 [%d1+4], %r5;\n\
             mov.u32 %r6, 4;\nld.shared.u32 %r7, [%r6];\nst.global.u32 [%d1+8], %r7;"
        )
    );
    let mut trial = trial(0);
    trial.settings = Settings {
        checked: false,
        ..Settings::default()
    };
    let outcome = trial.run(&body);
    assert_eq!(outcome.buffers[0][..4], 5u32.to_le_bytes());
    assert_eq!(outcome.buffers[0][4..8], 2u32.to_le_bytes());
    assert_eq!(outcome.buffers[0][8..12], 5u32.to_le_bytes());
}

/// Addresses of 32 bits: memory below 4 GiB is the runtime's to get.
#[test]
fn narrow_addresses_wrap_and_are_checked() {
    use crate::{
        Device, DeviceConfig, Engine, EngineConfig, EngineKind, Error, Launch, Module, args,
    };
    let text = ".version 8.0\n.target sm_50\n.address_size 32\n\
        .global .align 4 .b32 g[4] = {1, 2, 3, 4}; .shared .align 4 .b8 s[64];\n\
        .func (.reg .b32 r) get(.reg .b32 p) { ld.u32 r, [p+4]; ret; }\n\
        .visible .entry k(.param .u32 a, .param .u32 n) {\n\
        .reg .b32 %r<20>; .local .b32 l[4];\n\
        ld.param.u32 %r1, [a]; ld.param.u32 %r2, [n]; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r3, 4, %r1;\n\
        ld.global.u32 %r5, [%r4]; mov.u32 %r6, g; ld.global.u32 %r7, [%r6+8]; add.u32 %r5, %r5, %r7;\n\
        mov.u32 %r8, s; st.shared.u32 [%r8+8], 5; cvta.shared.u32 %r9, %r8; ld.u32 %r10, [%r9+8];\n\
        add.u32 %r5, %r5, %r10; mov.u32 %r11, l; st.local.u32 [%r11+4], 1000; cvta.local.u32 %r12, %r11;\n\
        call (%r13), get, (%r12); add.u32 %r5, %r5, %r13; call (%r14), get, (%r6); add.u32 %r5, %r5, %r14;\n\
        mov.u32 %r15, get; proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n\
        call (%r16), %r15, (%r1), proto; add.u32 %r5, %r5, %r16;\n\
        add.u32 %r17, %r4, %r2; st.global.u32 [%r17+0], %r5;\n\
        sub.u32 %r18, %r17, 64; st.global.u32 [%r18+64], %r5; ret; }\n";
    let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}"));
    for (n, expected) in [
        (0u32, None),
        (4, Some(FaultKind::OutOfBounds)),
        (2, Some(FaultKind::Misaligned)),
        (0u32.wrapping_sub(4), Some(FaultKind::OutOfBounds)),
        (0u32.wrapping_sub(0x1000_0000), Some(FaultKind::OutOfBounds)),
    ] {
        for kind in [EngineKind::Interpreter, EngineKind::Native] {
            let config = EngineConfig::default().kind(kind).threads(1);
            let program = Engine::new(config).compile(&module).expect("code");
            let Ok(device) = Device::new(DeviceConfig::default().address_bits(32)) else {
                return;
            };
            let instance = program.instantiate(&device).expect("an instance");
            let a = device
                .alloc_from(&[0u32, 1, 2, 3, 4, 5, 6, 7])
                .expect("memory");
            let kernel = instance.kernel("k").expect("the kernel");
            match kernel.launch(Launch::grid(1).block(8), args![&a, n]) {
                Ok(_) => {
                    // a[i] + 3 + 5 + 1000 + 2 + a[1], and the second thread sees what the first did to a[0].
                    let words = a.to_vec().expect("memory");
                    assert_eq!(words[..3], [1011, 1012, 2024], "{kind:?}");
                    assert_eq!(expected, None, "{kind:?} {n:#x}");
                }
                Err(Error::Fault(fault)) => {
                    assert_eq!(Some(fault.kind), expected, "{kind:?} {n:#x}")
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}
