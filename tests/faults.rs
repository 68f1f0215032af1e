//! What is told about a kernel that does wrong: kind, place in the text, function, thread, address, what lies near.

use ptxlift::{
    Arg, Device, DeviceConfig, Engine, EngineConfig, EngineKind, Error, Instance, Launch, Module,
    args,
};
use ptxlift::{Fault, FaultKind};
use std::time::Duration;

/// Who must tell the same.
const ENGINES: [EngineKind; 2] = [EngineKind::Interpreter, EngineKind::Native];

const HEADER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

fn config() -> EngineConfig {
    let kind = EngineKind::Native;
    EngineConfig::default()
        .kind(kind)
        .threads(1)
        .steps(1_000_000)
}

fn instance(config: EngineConfig, text: &str) -> Instance {
    let module = Module::parse_named("test.ptx", text).unwrap_or_else(|e| panic!("{e}"));
    let device = Device::new(DeviceConfig::default()).unwrap();
    let program = Engine::new(config).compile(&module).unwrap();
    program.instantiate(&device).unwrap()
}

/// The fault of a launch of the only kernel of `body`, in each engine. A line that ends in `// here` is where it must be.
fn faults(config: EngineConfig, launch: Launch, args: &[Arg], body: &str) -> Vec<Fault> {
    let text = format!("{HEADER}{body}");
    let module = Module::parse(text.as_str()).unwrap_or_else(|e| panic!("{e}"));
    let kernel = module.kernels().next().unwrap().name().to_string();
    let here = text
        .lines()
        .enumerate()
        .find(|(_, line)| line.ends_with("// here"))
        .map(|(index, line)| {
            let column = line.len() - line.trim_start().len() + 1;
            (index as u32 + 1, column as u32)
        });
    ENGINES
        .into_iter()
        .map(|engine| {
            let kernel = instance(config.clone(), &text).kernel(&kernel).unwrap();
            let fault = match kernel.launch(launch.clone().engine(engine), args) {
                Err(Error::Fault(fault)) => *fault,
                Err(error) => panic!("{engine:?}: {error}"),
                Ok(report) => panic!("{report:?}"),
            };
            assert_eq!(fault.file, "test.ptx");
            if let Some((line, column)) = here {
                let position = fault.position;
                assert_eq!(
                    (position.line, position.column),
                    (line, column),
                    "{engine:?}: {fault}"
                );
            }
            fault
        })
        .collect()
}

/// Each engine's fault is of this kind.
fn expect(kind: FaultKind, body: &str) {
    for fault in faults(config(), Launch::grid(1), &[], body) {
        assert_eq!(fault.kind, kind, "{fault}");
    }
}

#[test]
fn the_message_says_what_where_and_who() {
    let text = format!(
        "{HEADER}.file 3 \"pairs.cu\"\n\
         .entry k(.param .u64 out)\n\
         {{\n\
         .reg .b64 %out, %at; .reg .b32 %t;\n\
         ld.param.u64 %out, [out];\n\
         mov.u32 %t, %tid.y;\n\
         mad.wide.u32 %at, %t, 8, %out;\n\
         .loc 3 12 5\n\
         st.global.v2.u32\n   [%at+8],   {{%t, %t}};\n\
         ret;\n\
         }}\n"
    );
    for engine in ENGINES {
        let instance = instance(config(), &text);
        // The threads of the second row write past the end.
        let buffer = instance.device().alloc_zeroed::<u32>(4).unwrap();
        let address = buffer.address().0;
        let launch = Launch::grid((2, 2)).block((2, 2)).engine(engine);
        let kernel = instance.kernel("k").unwrap();
        let Err(Error::Fault(fault)) = kernel.launch(launch, args![&buffer]) else {
            panic!("no fault");
        };
        assert_eq!(fault.kind, FaultKind::OutOfBounds);
        assert_eq!(fault.function, "k");
        assert_eq!(fault.instruction, "st.global.v2.u32 [%at+8], {%t, %t}");
        assert_eq!(fault.position.line, 12);
        assert_eq!(fault.source, Some(("pairs.cu".to_string(), 12)));
        assert_eq!((fault.block, fault.thread), ([0, 0, 0], [0, 1, 0]));
        assert_eq!(fault.address, Some((address + 16, 8)));
        let nearest = fault.nearest.clone().unwrap();
        assert_eq!((nearest.offset, nearest.size), (16, 16));
        let message = fault.to_string();
        for words in [
            "out of bounds",
            "test.ptx:12:1",
            "pairs.cu:12",
            "thread (0, 1, 0)",
        ] {
            assert!(message.contains(words), "{message}");
        }
    }
}

#[test]
fn a_fault_in_a_call_names_the_function_that_did_it() {
    let body = "
        .func inner(.reg .b64 p)
        {
            .reg .b32 %r;
            ld.global.u32 %r, [p]; // here
            ret;
        }
        .func outer(.reg .b64 p)
        {
            add.u64 p, p, 4;
            call inner, (p);
            ret;
        }
        .entry k()
        {
            .reg .b64 %p;
            mov.u64 %p, 0;
            call outer, (%p);
            ret;
        }";
    for fault in faults(config(), Launch::grid(1), &[], body) {
        assert_eq!(
            (fault.kind, &*fault.function),
            (FaultKind::OutOfBounds, "inner")
        );
        assert_eq!(fault.address, Some((4, 4)));
    }
}

#[test]
fn guarded_instructions_fault_only_where_they_execute() {
    let body = "
        .entry k()
        {
            .reg .pred %p; .reg .b32 %t, %r; .reg .b64 %null;
            mov.u32 %t, %tid.x;
            mov.u64 %null, 0;
            setp.eq.u32 %p, %t, 9;
            @%p ld.global.u32 %r, [%null]; // here
            ret;
        }";
    for fault in faults(config(), Launch::grid(1).block(32), &[], body) {
        assert_eq!(
            (fault.kind, fault.thread),
            (FaultKind::OutOfBounds, [9, 0, 0])
        );
    }
}

#[test]
fn the_first_of_accesses_from_several_registers_is_told() {
    // Of 16 bytes; each register's accesses are checked together, at the first.
    for accesses in [
        "[%a]; [%b+4]; [%b+8] // here; [%a+16]",
        "[%a]; [%b+4]; [%a+16] // here; [%b+8]",
        "[%a]; [%b+8] // here; [%a+16]; [%b+4]",
        "[%a]; [%b+4]; [%c+8] // here; [%b+8]; [%c]; [%a+16]",
        "[%a]; [%b+4]; [%a+8]; [%b+8] // here; [%c+8]",
    ] {
        let mut body = "
            .entry k()
            {
                .shared .align 4 .b32 s[4];
                .reg .b32 %a, %b, %c, %r;
                mov.u32 %a, %tid.x;
                add.u32 %b, %a, 8;
                add.u32 %c, %a, 12;
                st.shared.u32 [s], %a;\n"
            .to_string();
        for access in accesses.split("; ") {
            let (address, here) = access.split_once(' ').unwrap_or((access, ""));
            body += &format!("ld.shared.u32 %r, {address}; {here}\n");
        }
        for fault in faults(config(), Launch::grid(1), &[], &(body + "ret; }")) {
            assert_eq!(fault.kind, FaultKind::OutOfBounds, "{accesses}");
        }
    }
}

#[test]
fn scaled_indices_reach_what_there_is() {
    for (product, indices) in [
        ("mul.wide.s32", [0, 2, 3, 4, -1, -2, i32::MAX, i32::MIN]),
        ("mul.wide.u32", [0, 1, 3, 4, 5, -1, i32::MAX, i32::MIN]),
    ] {
        for offset in [0, 4, -4, 8, 2, -12] {
            let text = format!(
                "{HEADER}.entry k(.param .u64 p, .param .u32 i)
                {{
                    .reg .b64 %p, %d; .reg .b32 %i, %r;
                    ld.param.u64 %p, [p];
                    ld.param.u32 %i, [i];
                    {product} %d, %i, 4;
                    add.u64 %d, %p, %d;
                    ld.global.u32 %r, [%d+{offset}];
                    ret;
                }}"
            );
            let instance = instance(config(), &text);
            let buffer = instance.device().alloc_zeroed::<u32>(4).unwrap();
            let kernel = instance.kernel("k").unwrap();
            for index in indices {
                let wide = match product {
                    "mul.wide.s32" => i64::from(index),
                    _ => i64::from(index as u32),
                };
                let distance = 4 * wide + offset;
                let kind = match distance {
                    d if d % 4 != 0 => Some(FaultKind::Misaligned),
                    0..16 => None,
                    _ => Some(FaultKind::OutOfBounds),
                };
                for engine in ENGINES {
                    let launch = Launch::grid(1).engine(engine);
                    let found = match kernel.launch(launch, args![&buffer, index]) {
                        Ok(_) => None,
                        Err(Error::Fault(fault)) => Some(fault.kind),
                        Err(error) => panic!("{error}"),
                    };
                    assert_eq!(found, kind, "{engine:?}: {product} {index}, {offset}");
                }
            }
        }
    }
}

#[test]
fn traps() {
    expect(FaultKind::Trap, ".entry k() {\n  trap; // here\n}");
    expect(FaultKind::Trap, ".entry k() {\n  brkpt; // here\n ret;\n}");
}

#[test]
fn an_earlier_block_is_told_before_a_later_one() {
    let body = "
        .entry k()
        {
            .reg .pred %p; .reg .b32 %c;
            mov.u32 %c, %ctaid.x;
            setp.ge.u32 %p, %c, 5;
            @%p trap; // here
            ret;
        }";
    let config = config().threads(2);
    for fault in faults(config, Launch::grid(64), &[], body) {
        assert_eq!(fault.block, [5, 0, 0]);
    }
}

#[test]
fn shared_memory_ends_where_the_launch_says() {
    let body = "
        .extern .shared .align 4 .b8 s[];
        .entry k()
        {
            .reg .b64 %s; .reg .b32 %r;
            mov.u64 %s, s;
            st.shared.u32 [%s+36], 1;
            cvta.shared.u64 %s, %s;
            st.u32 [%s+40], 1; // here
            ret;
        }";
    for fault in faults(config(), Launch::grid(1).shared(40), &[], body) {
        assert_eq!(fault.kind, FaultKind::OutOfBounds);
        let nearest = fault.nearest.unwrap();
        assert_eq!(
            (&*nearest.what, nearest.offset, nearest.size),
            ("shared memory", 40, 40)
        );
    }
}

#[test]
fn local_memory_ends_with_the_innermost_frame() {
    // The callee may look into its caller's frame, by its address; nobody past the end of his own.
    let body = "
        .func (.reg .b32 r) callee(.reg .b64 p)
        {
            .local .b32 own[4];
            .reg .b64 %own;
            st.local.b32 [own], 1;
            ld.u32 r, [p];
            mov.u64 %own, own;
            ld.local.u32 r, [%own+16]; // here
            ret;
        }
        .entry k()
        {
            .local .b32 x[2];
            .reg .b64 %x; .reg .b32 %r;
            st.local.b32 [x+4], 7;
            mov.u64 %x, x;
            cvta.local.u64 %x, %x;
            add.u64 %x, %x, 4;
            call (%r), callee, (%x);
            ret;
        }";
    for fault in faults(config(), Launch::grid(1), &[], body) {
        assert_eq!(
            (fault.kind, &*fault.function),
            (FaultKind::OutOfBounds, "callee")
        );
        // The frames: 8 bytes, then 16 at the next multiple of 16.
        assert_eq!(fault.address, Some((32, 4)));
    }
}

#[test]
fn parameters_of_functions_end_where_each_does() {
    let access = |load: &str| {
        format!(
            "
            .func f(.param .b32 a, .param .align 8 .b8 s[12], .param .b32 z)
            {{
                .reg .b32 %r; .reg .b64 %d;
                {load} // here
                ret;
            }}
            .entry k() {{
                .param .align 8 .b8 x[12];
                .reg .b32 %r;
                st.param.b32 [x+8], 1;
                call f, (1, x, 2);
                ret;
            }}"
        )
    };
    for (load, kind, nearest) in [
        (
            "ld.param.u8 %r, [s+12];",
            FaultKind::OutOfBounds,
            ("parameter `s`", 12, 12),
        ),
        (
            "ld.param.u32 %r, [a+4];",
            FaultKind::OutOfBounds,
            ("parameter `a`", 4, 4),
        ),
        (
            "ld.param.u32 %r, [z+-4];",
            FaultKind::OutOfBounds,
            ("parameter `z`", -4, 4),
        ),
        (
            "ld.param.u64 %d, [s+8];",
            FaultKind::OutOfBounds,
            ("parameter `s`", 8, 12),
        ),
        (
            "ld.param.u64 %d, [s+4];",
            FaultKind::Misaligned,
            ("parameter `s`", 4, 12),
        ),
        (
            "ld.param.u32 %r, [s+10];",
            FaultKind::Misaligned,
            ("parameter `s`", 10, 12),
        ),
    ] {
        for fault in faults(config(), Launch::grid(1), &[], &access(load)) {
            let told = fault.nearest.clone().unwrap();
            assert_eq!(fault.kind, kind, "{fault}");
            assert_eq!((&*told.what, told.offset, told.size), nearest, "{fault}");
        }
    }
}

#[test]
fn a_read_only_buffer_is_not_written() {
    let text = format!(
        "{HEADER}.entry k(.param .u64 p)
        {{
            .reg .b64 %p; .reg .b32 %r;
            ld.param.u64 %p, [p];
            ld.global.u32 %r, [%p];
            st.global.u32 [%p], %r;
            ret;
        }}"
    );
    for engine in ENGINES {
        let instance = instance(config(), &text);
        let buffer = instance.device().alloc_from(&[5u32]).unwrap().read_only();
        let kernel = instance.kernel("k").unwrap();
        let Err(Error::Fault(fault)) =
            kernel.launch(Launch::grid(1).engine(engine), args![&buffer])
        else {
            panic!("no fault");
        };
        assert_eq!((fault.kind, fault.position.line), (FaultKind::ReadOnly, 9));
        assert_eq!(buffer.to_vec().unwrap(), [5]);
    }
}

#[test]
fn bad_calls() {
    expect(
        FaultKind::BadCall,
        "
        .func f(.param .b32 a) { ret; }
        .entry k()
        {
            .reg .b64 %f;
            wide: .callprototype _ (.param .b64 _);
            mov.u64 %f, f;
            call %f, (5), wide; // here
            ret;
        }",
    );
    expect(
        FaultKind::BadCall,
        "
        .func f() { ret; }
        .entry k()
        {
            .reg .b64 %f;
            plain: .callprototype _ ();
            mov.u64 %f, 16;
            call %f, plain; // here
            ret;
        }",
    );
    expect(
        FaultKind::BadCall,
        "
        .entry k()
        {
            .reg .b32 %i;
            ts: .branchtargets a, b;
            mov.u32 %i, -1;
            brx.idx %i, ts; // here
            a: ret;
            b: ret;
        }",
    );
}

#[test]
fn recursion_ends_at_the_call_that_is_one_too_deep() {
    let body = "
        .func (.reg .b32 r) down(.reg .b32 n)
        {
            .reg .pred %p;
            setp.eq.u32 %p, n, 0;
            @%p ret;
            sub.u32 n, n, 1;
            call (r), down, (n); // here
            ret;
        }
        .entry k(.param .u32 n)
        {
            .reg .b32 %n;
            ld.param.u32 %n, [n];
            call (%n), down, (%n);
            ret;
        }";
    let config = config().call_depth(8);
    for fault in faults(config.clone(), Launch::grid(1), &args![8u32], body) {
        assert_eq!(
            (fault.kind, &*fault.function),
            (FaultKind::StackOverflow, "down")
        );
    }
    // One less is allowed.
    for engine in ENGINES {
        let kernel = instance(config.clone(), &format!("{HEADER}{body}"));
        let kernel = kernel.kernel("k").unwrap();
        let report = kernel.launch(Launch::grid(1).engine(engine), args![7u32]);
        assert!(report.is_ok(), "{report:?}");
    }
}

#[test]
fn recursion_ends_where_local_memory_does() {
    let body = "
        .func down()
        {
            .local .b8 x[1000];
            st.local.u8 [x+999], 1;
            call down; // here
            ret;
        }
        .entry k() { call down; ret; }";
    for fault in faults(config().local_bytes(10_000), Launch::grid(1), &[], body) {
        assert_eq!(
            (fault.kind, &*fault.function),
            (FaultKind::StackOverflow, "down")
        );
    }
    let body = "
        .entry k()
        {
            .local .b8 x[1000];
            st.local.u8 [x], 1;
            ret;
        }";
    for fault in faults(config().local_bytes(999), Launch::grid(1), &[], body) {
        assert_eq!(
            (fault.kind, &*fault.instruction),
            (FaultKind::StackOverflow, "k")
        );
    }
}

/// Two bytes of local memory are left, too few for what comes next to be aligned.
#[test]
fn functions_without_variables_need_no_local_memory() {
    let body = |callee: &str| {
        format!(
            "
        .func nothing() {{ ret; }}
        .func byte() {{ .local .b8 x; st.local.u8 [x], 1; ret; }}
        .entry k()
        {{
            .local .b8 x[98];
            .reg .b64 %f;
            p: .callprototype _ ();
            st.local.u8 [x], 1;
            mov.b64 %f, {callee};
            call %f, p;
            ret;
        }}"
        )
    };
    let config = config().local_bytes(100);
    for engine in ENGINES {
        let kernel = instance(config.clone(), &format!("{HEADER}{}", body("nothing")));
        let launch = Launch::grid(1).engine(engine);
        let report = kernel.kernel("k").unwrap().launch(launch, &[]);
        assert!(report.is_ok(), "{report:?}");
    }
    for fault in faults(config, Launch::grid(1), &[], &body("byte")) {
        assert_eq!(fault.kind, FaultKind::StackOverflow, "{fault}");
    }
}

#[test]
fn endless_loops_run_into_the_time_limit() {
    let bodies = [
        ".entry k() { l: bra l; }",
        ".entry k() { .reg .b32 %r; l: add.u32 %r, %r, 1; bra.uni l; }",
        ".func f() { ret; } .entry k() { l: call f; bra l; }",
    ];
    for body in bodies {
        let launch = Launch::grid(1).time_limit(Some(Duration::from_millis(50)));
        for fault in faults(config().steps(u64::MAX), launch, &[], body) {
            assert_eq!(fault.kind, FaultKind::TimeLimit, "{fault}");
        }
    }
}

#[test]
fn the_interpreter_has_a_budget_of_steps_for_each_thread() {
    let text = format!(
        "{HEADER}.entry k(.param .u32 n)
        {{
            .reg .pred %p; .reg .b32 %n;
            ld.param.u32 %n, [n];
            l: sub.u32 %n, %n, 1;
            setp.ne.u32 %p, %n, 0;
            @%p bra l;
            ret;
        }}"
    );
    let run = |n: u32| {
        let kernel = instance(config().steps(1000), &text).kernel("k").unwrap();
        let launch = Launch::grid(2).block(3).engine(EngineKind::Interpreter);
        kernel.launch(launch, args![n])
    };
    let steps = |n: u32| run(n).unwrap().steps.unwrap();
    // Six threads, three instructions a turn.
    assert_eq!(steps(11) - steps(1), 6 * 10 * 3);
    assert!(run(300).is_ok());
    let Err(Error::Fault(fault)) = run(340) else {
        panic!("no fault");
    };
    assert_eq!(fault.kind, FaultKind::TimeLimit);
}

#[test]
fn functions_called_from_the_host_fault_too() {
    let text = format!(
        "{HEADER}.func (.reg .b32 r) f(.reg .b32 a)
        {{
            .reg .pred %p;
            setp.eq.u32 %p, a, 0;
            @%p trap;
            add.u32 r, a, 1;
            ret;
        }}"
    );
    for engine in ENGINES {
        let instance = instance(config(), &text);
        let f = instance
            .function::<(u32,), u32>("f")
            .unwrap()
            .engine(engine);
        assert_eq!(f.call((41,)).unwrap(), 42);
        let Err(Error::Fault(fault)) = f.call((0,)) else {
            panic!("no fault");
        };
        assert_eq!((fault.kind, fault.position.line), (FaultKind::Trap, 8));
        assert_eq!((fault.block, fault.thread), ([0; 3], [0; 3]));
    }
}
