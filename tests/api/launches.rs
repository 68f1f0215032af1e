//! Launches that go well, in every way.

use crate::{ENGINES, device, fault, instance, usage};
use ptxlift::{
    Device, DeviceConfig, Engine, EngineConfig, EngineKind, FaultKind, Launch, Module, OptLevel,
    Stage, Step, args,
};
use std::time::{Duration, Instant};

pub(crate) const SCALE: &str = "
.version 7.0
.target sm_70
.address_size 64

.visible .entry scale(.param .u64 from, .param .u64 to, .param .u32 n, .param .u32 factor)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    ld.param.u32 %r1, [n];
    ld.param.u32 %r2, [factor];
    cvta.to.global.u64 %rd1, %rd1;
    cvta.to.global.u64 %rd2, %rd2;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.u32 %r3, %r3, %r4, %r5;
    setp.ge.u32 %p, %r3, %r1;
    @%p ret;
    mul.wide.u32 %rd3, %r3, 4;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    ld.global.u32 %r5, [%rd4];
    mul.lo.u32 %r5, %r5, %r2;
    st.global.u32 [%rd5], %r5;
    ret;
}
";

const MEETS: &str = "
.version 8.0
.target sm_80
.address_size 64
.entry meets(.param .u64 sums)
{
    .reg .b32 %r<2>;
    .reg .b64 %d<2>;
    ld.param.u64 %d1, [sums];
    mov.u32 %r1, %tid.x;
    bar.sync 0;
    red.global.add.u32 [%d1], %r1;
    bar.sync 0;
    ret;
}
";

#[test]
fn a_launch_counts_threads_that_meet() {
    let threads = 37u64 * 70;
    let sum = 37 * (69 * 70 / 2);
    for kind in ENGINES {
        for workers in [1, 3] {
            let instance = instance(MEETS, EngineConfig::default().kind(kind).threads(workers));
            let sums = instance.device().alloc_zeroed::<u32>(1).unwrap();
            let kernel = instance.kernel("meets").unwrap();
            let launch = Launch::grid(37).block(70);
            let report = kernel.launch(launch, args![&sums]).unwrap();
            assert_eq!(sums.to_vec().unwrap(), [sum]);
            assert_eq!((report.blocks, report.threads), (37, threads));
            let steps = (kind == EngineKind::Interpreter).then_some(6 * threads);
            assert_eq!(report.steps, steps);
        }
    }
}

#[test]
fn a_launch_runs_every_thread_once_whatever_the_number_of_workers() {
    let n = 100_003u32;
    let input: Vec<u32> = (0..n).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let expected: Vec<u32> = input.iter().map(|x| x.wrapping_mul(3)).collect();
    for kind in ENGINES {
        for threads in [1, 2, 5] {
            let config = EngineConfig::default().kind(kind).threads(threads);
            let instance = instance(SCALE, config);
            let device = instance.device();
            let a = device.alloc_from(&input).unwrap().read_only();
            let b = device.alloc_zeroed::<u32>(n as usize).unwrap();
            let launch = Launch::grid(n.div_ceil(128)).block(128);
            let kernel = instance.kernel("scale").unwrap();
            let report = kernel.launch(launch, args![&a, &b, n, 3u32]).unwrap();
            assert_eq!(b.to_vec().unwrap(), expected);
            assert_eq!(report.blocks, u64::from(n.div_ceil(128)));
            assert_eq!(report.threads, report.blocks * 128);
            assert_eq!(report.engine, kind);
            let busy = report.busy_workers as u64;
            assert!(busy >= 1 && report.busy_workers <= report.workers);
            assert!(report.most_blocks <= report.blocks);
            assert!(report.most_blocks >= report.blocks.div_ceil(busy));
            // 19 instructions of each thread within range; the others take 11, then the branch that the guarded `ret`
            // is, then leave.
            let idle = report.threads - u64::from(n);
            let steps = u64::from(n) * 19 + idle * 13;
            assert_eq!(
                report.steps,
                (kind == EngineKind::Interpreter).then_some(steps)
            );
        }
    }
}

#[test]
fn one_program_runs_through_both_engines() {
    let instance = instance(SCALE, EngineConfig::default().kind(EngineKind::Interpreter));
    let a = instance.device().alloc_from(&[1u32, 2, 3]).unwrap();
    let b = instance.device().alloc_zeroed::<u32>(3).unwrap();
    for (kind, factor) in [(EngineKind::Native, 5u32), (EngineKind::Interpreter, 7)] {
        let launch = Launch::grid(1).block(3).engine(kind);
        let kernel = instance.kernel("scale").unwrap();
        let report = kernel.launch(launch, args![&a, &b, 3u32, factor]).unwrap();
        assert_eq!(report.engine, kind);
        assert_eq!(b.to_vec().unwrap(), [factor, 2 * factor, 3 * factor]);
    }
}

#[test]
fn every_way_of_compiling_gives_the_same() {
    // SAFETY: the kernel stays within its buffers.
    let unchecked = unsafe { EngineConfig::default().unchecked() };
    for config in [
        unchecked,
        EngineConfig::default().opt_level(OptLevel::None),
        EngineConfig::default().opt_level(OptLevel::SpeedAndSize),
        EngineConfig::default().verify(true),
        EngineConfig::default().setting("regalloc_algorithm", "single_pass"),
    ] {
        let instance = instance(SCALE, config);
        let input: Vec<u32> = (0..1000).collect();
        let a = instance.device().alloc_from(&input).unwrap();
        let b = instance.device().alloc_zeroed::<u32>(1000).unwrap();
        let kernel = instance.kernel("scale").unwrap();
        let launch = Launch::grid(8).block(128);
        let report = kernel.launch(launch, args![&a, &b, 1000u32, 3u32]).unwrap();
        let expected: Vec<u32> = (0..1000).map(|i| i * 3).collect();
        assert_eq!(b.to_vec().unwrap(), expected);
        assert!(report.compile_time > Duration::ZERO);
        let stats = *instance.program().compile_stats().unwrap();
        assert_eq!(stats.functions, 1);
        assert!(stats.code_bytes > 0);
        let kernel = instance.program().function_stats("scale").unwrap();
        assert_eq!(kernel.instructions, stats.instructions);
        assert!(kernel.code_bytes > 0 && kernel.code_bytes <= stats.code_bytes);
        assert!(kernel.compile <= stats.compile && kernel.lower <= stats.lower);
        assert!(instance.program().function_stats("nobody").is_none());
    }
}

#[test]
fn a_trace_shows_each_instruction_in_order() {
    let instance = instance(SCALE, EngineConfig::default());
    let kernel = instance.kernel("scale").unwrap();
    let a = instance.device().alloc_from(&[5u32, 6]).unwrap();
    let text = instance.program().module().source();
    let mut seen = Vec::new();
    let mut trace = |step: &Step<'_>| {
        seen.push((
            step.block,
            step.thread,
            text.line(step.span.start),
            step.writes.to_vec(),
        ));
    };
    let args = args![&a, &a, 2u32, 3u32];
    let launch = Launch::grid(2).block(1);
    let report = kernel.launch_traced(launch, args, &mut trace).unwrap();
    assert_eq!(report.steps, Some(seen.len() as u64));
    assert_eq!(report.workers, 1);
    assert_eq!(a.to_vec().unwrap(), [15, 18]);
    let blocks: Vec<u32> = seen.iter().map(|s| s.0[0]).collect();
    assert!(blocks.is_sorted() && blocks[0] == 0 && blocks.last() == Some(&1));
    let line = 1 + SCALE
        .lines()
        .position(|l| l.contains("mul.lo.u32 %r5, %r5"))
        .unwrap();
    let products: Vec<u64> = seen
        .iter()
        .filter(|s| s.2 as usize == line)
        .map(|s| s.3[0].1)
        .collect();
    assert_eq!(products, [15, 18]);
}

#[test]
fn a_stage_of_a_kernel_as_text() {
    let module = Module::parse(SCALE).unwrap();
    for stage in [
        Stage::Plan,
        Stage::Clif,
        Stage::Optimized,
        Stage::Vcode,
        Stage::Asm,
    ] {
        assert!(
            !Engine::default()
                .dump(&module, "scale", stage)
                .unwrap()
                .is_empty()
        );
    }
    let error = usage(Engine::default().dump(&module, "scal", Stage::Clif));
    assert!(
        error.to_string().contains("did you mean `scale`?"),
        "{error}"
    );
}

#[test]
fn optimised_clif_is_what_the_level_leaves_of_it() {
    let module = Module::parse(
        ".version 8.0
         .target sm_80
         .address_size 64
         .func (.reg .u32 d) same(.reg .u32 a) { add.u32 d, a, 0; ret; }",
    )
    .unwrap();
    let additions = |level, stage| {
        let engine = Engine::new(EngineConfig::default().opt_level(level));
        let text = engine.dump(&module, "same", stage).unwrap();
        text.matches("iadd").count()
    };
    assert_eq!(additions(OptLevel::Speed, Stage::Clif), 1);
    assert_eq!(additions(OptLevel::None, Stage::Optimized), 1);
    assert_eq!(additions(OptLevel::Speed, Stage::Optimized), 0);
}

#[test]
fn launches_from_several_threads_at_once() {
    let instance = instance(SCALE, EngineConfig::default().threads(2));
    let kernel = instance.kernel("scale").unwrap();
    std::thread::scope(|scope| {
        for factor in 1..=6u32 {
            let kernel = kernel.clone();
            scope.spawn(move || {
                for round in 0..20 {
                    let input: Vec<u32> = (round..round + 1000).collect();
                    let device = kernel.instance().device();
                    let a = device.alloc_from(&input).unwrap();
                    let b = device.alloc_zeroed::<u32>(1000).unwrap();
                    let launch = Launch::grid(10).block(100);
                    kernel
                        .launch(launch, args![&a, &b, 1000u32, factor])
                        .unwrap();
                    let expected: Vec<u32> = input.iter().map(|x| x * factor).collect();
                    assert_eq!(b.to_vec().unwrap(), expected);
                }
            });
        }
    });
    assert_eq!(instance.device().memory_used(), {
        // The module has no variables: two empty blocks with their gaps.
        2 * 256
    });
}

#[test]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn modules_of_32_bit_addresses_want_a_device_of_32_bit_addresses() {
    let text = "
.version 7.0
.target sm_70
.address_size 32
.global .align 4 .u32 factor = 3;
.global .align 4 .u32 where = factor;
.entry k(.param .u32 p)
{
    .reg .b32 %r<6>;
    ld.param.u32 %r1, [p];
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r1, %r2, 4, %r1;
    ld.global.u32 %r3, [where];
    ld.global.u32 %r4, [%r3];
    mul.lo.u32 %r4, %r4, %r2;
    st.global.u32 [%r1], %r4;
    ret;
}
";
    let module = Module::parse(text).unwrap();
    assert_eq!(module.address_bits(), 32);
    let program = Engine::default().compile(&module).unwrap();
    let error = usage(program.instantiate(&device()));
    assert!(error.to_string().contains(".address_size 32"), "{error}");
    let device = Device::new(DeviceConfig::default().address_bits(32)).unwrap();
    let instance = program.instantiate(&device).unwrap();
    let kernel = instance.kernel("k").unwrap();
    for kind in ENGINES {
        let buffer = device.alloc_zeroed::<u32>(5).unwrap();
        let launch = Launch::grid(1).engine(kind);
        kernel
            .launch(launch.clone().block(5), args![&buffer])
            .unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [0, 3, 6, 9, 12]);
        let fault = fault(kernel.launch(launch.block(6), args![&buffer]));
        assert_eq!(fault.kind, FaultKind::OutOfBounds);
        assert_eq!(fault.thread, [5, 0, 0]);
        assert_eq!(fault.address, Some((buffer.address().0 + 20, 4)));
    }
}

#[test]
fn a_kernel_that_waits_sees_what_the_host_writes() {
    for order in ["volatile", "relaxed.sys", "acquire.sys"] {
        let text = format!(
            "
.version 7.0
.target sm_70
.address_size 64
.entry answer(.param .u64 started, .param .u64 question, .param .u64 answer)
{{
    .reg .pred %p;
    .reg .b32 %r;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [started];
    ld.param.u64 %rd2, [question];
    ld.param.u64 %rd3, [answer];
    st.volatile.global.u32 [%rd1], 1;
wait:
    ld.{order}.global.u32 %r, [%rd2];
    setp.eq.u32 %p, %r, 0;
    @%p bra wait;
    add.u32 %r, %r, 1;
    st.global.u32 [%rd3], %r;
    ret;
}}
"
        );
        for kind in ENGINES {
            let instance = instance(&text, EngineConfig::default().kind(kind));
            let [started, question, answer] =
                [(); 3].map(|()| instance.device().alloc_zeroed::<u32>(1).unwrap());
            let kernel = instance.kernel("answer").unwrap();
            std::thread::scope(|scope| {
                let running = scope
                    .spawn(|| kernel.launch(Launch::grid(1), args![&started, &question, &answer]));
                let begin = Instant::now();
                while started.to_vec().unwrap() != [1] {
                    assert!(
                        begin.elapsed() < Duration::from_secs(5),
                        "{order}, {kind:?}"
                    );
                    std::thread::yield_now();
                }
                assert!(!running.is_finished(), "{order}, {kind:?}");
                question.write(&[41]).unwrap();
                let report = running.join().unwrap();
                report.unwrap_or_else(|e| panic!("{order}, {kind:?}: {e}"));
            });
            assert_eq!(answer.to_vec().unwrap(), [42]);
        }
    }
}
