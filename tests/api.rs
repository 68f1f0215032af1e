//! The public face: launches, calls, faults, wrong uses, lifetimes.

use ptxlift::{
    Address, Arg, ByValue, Cancel, Device, DeviceConfig, Engine, EngineConfig, EngineKind, Error,
    Fault, FaultKind, Instance, Launch, Module, OptLevel, Report, Stage, Step, Usage, args,
};
use std::time::{Duration, Instant};

const ENGINES: [EngineKind; 2] = [EngineKind::Interpreter, EngineKind::Native];

fn device() -> Device {
    Device::new(DeviceConfig::default()).unwrap()
}

fn instance(text: &str, config: EngineConfig) -> Instance {
    let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let program = Engine::new(config).compile(&module).unwrap();
    program.instantiate(&device()).unwrap()
}

fn fault(result: Result<Report, Error>) -> Fault {
    match result {
        Err(Error::Fault(fault)) => *fault,
        other => panic!("a fault was expected, not {other:?}"),
    }
}

fn usage<T: std::fmt::Debug>(result: Result<T, Error>) -> Usage {
    match result {
        Err(Error::Usage(usage)) => *usage,
        other => panic!("a usage error was expected, not {other:?}"),
    }
}

/// The line, from 1, that ends in `// here: NAME`.
fn line(text: &str, name: &str) -> u32 {
    let mark = format!("// here: {name}");
    let found = text.lines().position(|l| l.ends_with(&mark));
    found.unwrap_or_else(|| panic!("no {mark}")) as u32 + 1
}

const SCALE: &str = "
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
    for stage in [Stage::Plan, Stage::Clif, Stage::Vcode, Stage::Asm] {
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

const FAULTS: &str = "
.version 7.0
.target sm_70
.address_size 64

.global .align 4 .b8 before[64];
.global .align 4 .u32 table[4] = {1, 2, 3, 4};
.global .align 4 .b8 after[64];
.const .align 4 .u32 fixed[4] = {1, 2, 3, 4};

.entry load(.param .u64 p)
{
    .reg .pred %p<3>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %tid.y;
    setp.eq.u32 %p1, %r1, 2;
    setp.eq.and.u32 %p1, %r2, 3, %p1;
    @!%p1 ret;
    ld.global.u32 %r3, [%rd1]; // here: load
    ret;
}

.entry load_generic(.param .u64 p)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    ld.u32 %r2, [%rd1]; // here: load_generic
    ret;
}

.entry store_element(.param .u64 p, .param .u32 index)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r1, [index];
    mul.wide.s32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r1; // here: store_element
    ret;
}

.entry table_element(.param .u32 index)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u32 %r1, [index];
    mov.u64 %rd1, table;
    mad.wide.s32 %rd1, %r1, 4, %rd1;
    ld.global.u32 %r2, [%rd1]; // here: table_element
    ret;
}

.entry const_element(.param .u32 index)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u32 %r1, [index];
    mov.u64 %rd1, fixed;
    mad.wide.s32 %rd1, %r1, 4, %rd1;
    ld.const.u32 %r2, [%rd1]; // here: const_element
    ret;
}

.entry shared_element(.param .u32 index)
{
    .reg .b32 %r<3>;
    .shared .align 4 .b8 tile[64];
    ld.param.u32 %r1, [index];
    mov.u32 %r2, tile;
    mad.lo.u32 %r2, %r1, 4, %r2;
    st.shared.u32 [%r2], %r1; // here: shared_element
    ret;
}

.entry local_element(.param .u32 index)
{
    .reg .b32 %r<3>;
    .local .align 16 .b8 scratch[64];
    ld.param.u32 %r1, [index];
    mov.u32 %r2, scratch;
    mad.lo.u32 %r2, %r1, 4, %r2;
    st.local.u32 [%r2], %r1; // here: local_element
    ret;
}

.entry endless()
{
    .reg .b32 %r<2>;
again:
    add.u32 %r1, %r1, 1;
    bra again;
}

.entry trapping()
{
    .reg .pred %p;
    .reg .b32 %r<2>;
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p, %r1, 33;
    @%p trap; // here: trapping
    ret;
}

.func (.param .u32 result) deeper(.param .u32 n)
{
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [n];
    add.u32 %r1, %r1, 1;
    {
        .param .u32 give;
        .param .u32 take;
        st.param.u32 [give], %r1;
        call (take), deeper, (give); // here: deeper
        ld.param.u32 %r2, [take];
    }
    st.param.u32 [result], %r2;
    ret;
}

.entry recursion()
{
    .reg .b32 %r<2>;
    {
        .param .u32 give;
        .param .u32 take;
        st.param.u32 [give], 0;
        call (take), deeper, (give);
        ld.param.u32 %r1, [take];
    }
    ret;
}

.entry calls_pointer(.param .u64 target)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [target];
prototype: .callprototype _ ();
    call %rd1, prototype; // here: calls_pointer
    ret;
}
";

/// What both engines make of a launch that ends in a fault.
fn fault_in_both(
    kernel: &str,
    launch: Launch,
    args: impl Fn(&Instance) -> Vec<Arg>,
) -> (Instance, Fault) {
    let instance = instance(FAULTS, EngineConfig::default());
    let [one, two] = ENGINES.map(|kind| {
        let kernel = instance.kernel(kernel).unwrap();
        let fault = fault(kernel.launch(launch.clone().engine(kind), args(&instance)));
        // The words may differ.
        Fault {
            detail: None,
            ..fault
        }
    });
    assert_eq!(one, two, "{one}\n{two}");
    (instance, one)
}

#[test]
fn a_wild_address() {
    let launch = Launch::grid(4).block((2, 4));
    let (_, fault) = fault_in_both("load", launch, |_| vec![Address(0x1234_5678_0000).into()]);
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    assert_eq!(fault.position.line, line(FAULTS, "load"));
    assert_eq!((fault.block, fault.thread), ([2, 0, 0], [0, 3, 0]));
    assert_eq!(fault.address, Some((0x1234_5678_0000, 4)));
    assert_eq!(fault.function, "load");
    let text = fault.to_string();
    for part in [
        "out of bounds",
        "0x123456780000",
        "ld.global.u32 %r3, [%rd1]",
        "(2, 0, 0)",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_null_pointer() {
    let launch = Launch::grid(4).block((2, 4));
    let (_, fault) = fault_in_both("load", launch, |_| args![Address::NULL].into());
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    assert_eq!(fault.address, Some((0, 4)));
    assert_eq!(fault.position.line, line(FAULTS, "load"));
}

#[test]
fn wild_and_null_generic_addresses() {
    for address in [
        0,
        0x1234_5678_0000,
        u64::MAX - 3,
        0x0100_0000_0000_0000,
        5 << 56,
    ] {
        let args = |_: &Instance| args![Address(address)].into();
        let (_, fault) = fault_in_both("load_generic", Launch::grid(1), args);
        assert_eq!(fault.kind, FaultKind::OutOfBounds);
        assert_eq!(fault.address, Some((address, 4)));
        assert_eq!(fault.position.line, line(FAULTS, "load_generic"));
    }
}

#[test]
fn a_misaligned_address() {
    let instance = instance(FAULTS, EngineConfig::default());
    let buffer = instance.device().alloc_zeroed::<u32>(4).unwrap();
    for kind in ENGINES {
        let launch = Launch::grid(4).block((2, 4)).engine(kind);
        let kernel = instance.kernel("load").unwrap();
        let fault = fault(kernel.launch(launch, args![buffer.address() + 2]));
        assert_eq!(fault.kind, FaultKind::Misaligned);
        assert_eq!(fault.address, Some((buffer.address().0 + 2, 4)));
        assert_eq!(fault.position.line, line(FAULTS, "load"));
        assert_eq!((fault.block, fault.thread), ([2, 0, 0], [0, 3, 0]));
    }
}

#[test]
fn a_buffer_ends_exactly_where_it_ends() {
    let instance = instance(FAULTS, EngineConfig::default());
    let neighbours: Vec<_> = (0..8)
        .map(|_| instance.device().alloc_zeroed::<u32>(64).unwrap())
        .collect();
    let buffer = &neighbours[4];
    let kernel = instance.kernel("store_element").unwrap();
    for kind in ENGINES {
        for index in [0u32, 63] {
            kernel
                .launch(Launch::grid(1).engine(kind), args![buffer, index])
                .unwrap();
        }
        for index in [-1i32, 64] {
            let fault = fault(kernel.launch(Launch::grid(1).engine(kind), args![buffer, index]));
            assert_eq!(fault.kind, FaultKind::OutOfBounds);
            let address = buffer.address().0.wrapping_add_signed(i64::from(index) * 4);
            assert_eq!(fault.address, Some((address, 4)));
            assert_eq!(fault.position.line, line(FAULTS, "store_element"));
            let nearest = fault.nearest.unwrap();
            assert_eq!(nearest.size, 256);
            assert_eq!(nearest.offset, i64::from(index) * 4);
        }
    }
    assert_eq!(buffer.to_vec().unwrap()[63], 63);
}

#[test]
fn a_freed_buffer_is_out_of_bounds() {
    let instance = instance(FAULTS, EngineConfig::default());
    let address = instance.device().alloc_zeroed::<u32>(4).unwrap().address();
    for kind in ENGINES {
        let launch = Launch::grid(4).block((2, 4)).engine(kind);
        let fault = fault(
            instance
                .kernel("load")
                .unwrap()
                .launch(launch, args![address]),
        );
        assert_eq!(fault.kind, FaultKind::OutOfBounds);
    }
}

#[test]
fn a_read_only_buffer() {
    let instance = instance(FAULTS, EngineConfig::default());
    let buffer = instance
        .device()
        .alloc_from(&[9u32; 4])
        .unwrap()
        .read_only();
    let kernel = instance.kernel("store_element").unwrap();
    for kind in ENGINES {
        let fault = fault(kernel.launch(Launch::grid(1).engine(kind), args![&buffer, 1u32]));
        assert_eq!(fault.kind, FaultKind::ReadOnly);
        assert_eq!(fault.address, Some((buffer.address().0 + 4, 4)));
        assert_eq!(fault.position.line, line(FAULTS, "store_element"));
        // Past the end it is out of bounds before it is read-only.
        let fault = self::fault(kernel.launch(Launch::grid(1).engine(kind), args![&buffer, 4u32]));
        assert_eq!(fault.kind, FaultKind::OutOfBounds);
    }
    assert_eq!(buffer.to_vec().unwrap(), [9; 4]);
    buffer.write(&[8; 4]).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [8; 4]);
}

#[test]
fn variables_end_exactly_where_they_end() {
    for (kernel, elements) in [
        ("table_element", 4i32),
        ("const_element", 4),
        ("shared_element", 16),
        ("local_element", 16),
    ] {
        let instance = instance(FAULTS, EngineConfig::default());
        let kernel_handle = instance.kernel(kernel).unwrap();
        for kind in ENGINES {
            let launch = Launch::grid(1).engine(kind);
            for index in [0, elements - 1] {
                kernel_handle.launch(launch.clone(), args![index]).unwrap();
            }
        }
        for index in [-1, elements] {
            let (_, fault) = fault_in_both(kernel, Launch::grid(1), |_| args![index].into());
            assert_eq!(fault.kind, FaultKind::OutOfBounds, "{kernel}");
            assert_eq!(fault.position.line, line(FAULTS, kernel));
        }
    }
}

#[test]
fn a_trap_names_the_thread() {
    let (_, fault) = fault_in_both("trapping", Launch::grid(3).block(64), |_| vec![]);
    assert_eq!(fault.kind, FaultKind::Trap);
    assert_eq!((fault.block, fault.thread), ([0, 0, 0], [33, 0, 0]));
    assert_eq!(fault.position.line, line(FAULTS, "trapping"));
}

#[test]
fn runaway_recursion() {
    let (_, fault) = fault_in_both("recursion", Launch::grid(1), |_| vec![]);
    assert_eq!(fault.kind, FaultKind::StackOverflow);
    assert_eq!(fault.function, "deeper");
    assert_eq!(fault.position.line, line(FAULTS, "deeper"));
}

#[test]
fn the_deepest_recursion_that_can_be_configured_fits_the_stack() {
    for kind in ENGINES {
        let config = EngineConfig::default().kind(kind).call_depth(u32::MAX);
        let instance = instance(FAULTS, config);
        let kernel = instance.kernel("recursion").unwrap();
        let fault = fault(kernel.launch(Launch::grid(4), args![]));
        assert_eq!(fault.kind, FaultKind::StackOverflow);
        let deeper = instance.function::<(u32,), u32>("deeper").unwrap();
        let Err(Error::Fault(fault)) = deeper.call((0,)) else {
            panic!("no fault")
        };
        assert_eq!(fault.kind, FaultKind::StackOverflow);
    }
}

#[test]
fn threads_with_little_stack_launch_and_call() {
    let instance = instance(FAULTS, EngineConfig::default().threads(1));
    let small = std::thread::Builder::new().stack_size(64 << 10);
    let running = small.spawn(move || {
        for kind in ENGINES {
            let kernel = instance.kernel("recursion").unwrap();
            let fault = fault(kernel.launch(Launch::grid(1).engine(kind), args![]));
            assert_eq!(fault.kind, FaultKind::StackOverflow);
            let deeper = instance
                .function::<(u32,), u32>("deeper")
                .unwrap()
                .engine(kind);
            assert!(
                deeper
                    .call((0,))
                    .unwrap_err()
                    .to_string()
                    .contains("stack overflow")
            );
        }
    });
    running.unwrap().join().unwrap();
}

#[test]
fn a_call_of_something_that_is_no_function() {
    for target in [0u64, 8, 0x0500_0000_0000_0000, 0x0500_0000_0000_7ff0] {
        let args = |_: &Instance| args![target].into();
        let (_, fault) = fault_in_both("calls_pointer", Launch::grid(1), args);
        assert_eq!(fault.kind, FaultKind::BadCall);
        assert_eq!(fault.position.line, line(FAULTS, "calls_pointer"));
    }
}

#[test]
fn endless_kernels_end_at_the_time_limit() {
    for kind in ENGINES {
        let limit = Duration::from_millis(100);
        let config = EngineConfig::default().kind(kind).time_limit(Some(limit));
        let instance = instance(FAULTS, config);
        let start = Instant::now();
        let fault = fault(
            instance
                .kernel("endless")
                .unwrap()
                .launch(Launch::grid(5), args![]),
        );
        assert!(start.elapsed() >= limit);
        assert_eq!(fault.kind, FaultKind::TimeLimit);
        assert_eq!(fault.function, "endless");
        assert!(fault.to_string().contains("100ms"), "{fault}");
    }
}

#[test]
fn the_interpreter_counts_steps() {
    let config = EngineConfig::default()
        .kind(EngineKind::Interpreter)
        .steps(1000);
    let instance = instance(FAULTS, config);
    let fault = fault(
        instance
            .kernel("endless")
            .unwrap()
            .launch(Launch::grid(1), args![]),
    );
    assert_eq!(fault.kind, FaultKind::TimeLimit);
}

#[test]
fn the_largest_grid_ends_at_the_time_limit() {
    for kind in ENGINES {
        let instance = instance(SCALE, EngineConfig::default().kind(kind));
        let a = instance.device().alloc_zeroed::<u32>(1).unwrap();
        let launch = Launch::grid((i32::MAX as u32, 65535, 65535))
            .block(1024)
            .time_limit(Some(Duration::from_millis(200)));
        let kernel = instance.kernel("scale").unwrap();
        let fault = fault(kernel.launch(launch, args![&a, &a, 0u32, 1u32]));
        assert_eq!(fault.kind, FaultKind::TimeLimit);
    }
}

#[test]
fn a_cancelled_launch_ends() {
    for kind in ENGINES {
        let config = EngineConfig::default().kind(kind).time_limit(None);
        let instance = instance(FAULTS, config);
        let kernel = instance.kernel("endless").unwrap();
        let cancel = Cancel::new();
        let launch = Launch::grid(3).cancel(&cancel);
        let fault = std::thread::scope(|scope| {
            let running = scope.spawn(|| fault(kernel.launch(launch.clone(), args![])));
            std::thread::sleep(Duration::from_millis(50));
            assert!(!running.is_finished());
            cancel.cancel();
            running.join().unwrap()
        });
        assert_eq!(fault.kind, FaultKind::TimeLimit);
        assert!(fault.to_string().contains("cancelled"), "{fault}");
        // It stays cancelled.
        let again = self::fault(kernel.launch(launch, args![]));
        assert_eq!(again.kind, FaultKind::TimeLimit);
    }
}

#[test]
fn the_fault_of_the_first_block_wins() {
    let text = "
.version 7.0
.target sm_70
.address_size 64
.entry k()
{
    .reg .pred %p;
    .reg .b32 %r<3>;
    mov.u32 %r1, %ctaid.x;
    setp.ge.u32 %p, %r1, 300;
    @%p trap;
    mov.u32 %r2, 0;
again:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p, %r2, 200;
    @%p bra again;
    ret;
}
";
    for kind in ENGINES {
        let instance = instance(text, EngineConfig::default().kind(kind).threads(4));
        for _ in 0..4 {
            let fault = fault(
                instance
                    .kernel("k")
                    .unwrap()
                    .launch(Launch::grid(1000), args![]),
            );
            assert_eq!(fault.block, [300, 0, 0]);
        }
    }
}

#[test]
fn wrong_names_are_told_with_hints() {
    let instance = instance(FAULTS, EngineConfig::default());
    let text = usage(instance.kernel("trappin")).to_string();
    assert!(text.contains("no kernel `trappin`"), "{text}");
    assert!(text.contains("did you mean `trapping`?"), "{text}");
    let text = usage(instance.kernel("deeper")).to_string();
    assert!(text.contains("it is a device function"), "{text}");
    let text = usage(instance.any_function("load")).to_string();
    assert!(text.contains("it is a kernel"), "{text}");
    let text = usage(instance.global("tabel")).to_string();
    assert!(text.contains("did you mean `table`?"), "{text}");
    let text = usage(instance.kernel("something else altogether")).to_string();
    assert!(
        !text.contains("did you mean") && text.contains("`load`"),
        "{text}"
    );
}

#[test]
fn wrong_arguments_are_told_with_what_the_kernel_wants() {
    let instance = instance(SCALE, EngineConfig::default());
    let kernel = instance.kernel("scale").unwrap();
    let a = instance.device().alloc_zeroed::<u32>(1).unwrap();
    let launch = Launch::grid(1);
    let wrong: [(Vec<Arg>, &str); 5] = [
        (args![&a, &a, 1u32].into(), "3 arguments instead of 4"),
        (
            args![&a, &a, 1u64, 1u32].into(),
            "argument 2 does not fit: `.u32 n` has 4 bytes, `u64` has 8",
        ),
        (
            args![1u32, &a, 1u32, 1u32].into(),
            "argument 0 does not fit: `.u64 from` has 8 bytes, `u32` has 4",
        ),
        (
            args![&a, &a, &a, 1u32].into(),
            "argument 2 does not fit: `.u32 n` has 4 bytes, an address has 8",
        ),
        (
            args![&a, &a, 1u32, 1f32].into(),
            "argument 3 does not fit: `.u32 factor` is not `f32`",
        ),
    ];
    for (args, expected) in wrong {
        let error = usage(kernel.launch(launch.clone(), args));
        assert!(matches!(error, Usage::Arguments { .. }));
        let text = error.to_string();
        assert!(text.contains(expected), "{text}");
        let wants = "kernel `scale` wants (.u64 from, .u64 to, .u32 n, .u32 factor)";
        assert!(text.contains(wants), "{text}");
    }
    let elsewhere = device().alloc_zeroed::<u32>(1).unwrap();
    let error = usage(kernel.launch(launch, args![&a, &elsewhere, 1u32, 1u32]));
    assert!(
        matches!(error, Usage::OtherDevice { argument: 1, .. }),
        "{error}"
    );
}

#[test]
fn grids_and_blocks_out_of_range() {
    let text = "
.version 7.0
.target sm_70
.address_size 64
.entry any() { ret; }
.entry most() .maxntid 16, 4 { ret; }
.entry exact() .reqntid 32, 2 { ret; }
.entry shared() { .shared .b8 tile[1024]; ret; }
";
    let instance = instance(text, EngineConfig::default());
    let launch =
        |name: &str, launch: Launch| instance.kernel(name).unwrap().launch(launch, args![]);
    for wrong in [
        Launch::grid(0),
        Launch::grid((1, 0)),
        Launch::grid((1, 1, 65536)),
        Launch::grid(0x8000_0000),
        Launch::grid(1).block(0),
        Launch::grid(1).block(1025),
        Launch::grid(1).block((1, 1, 65)),
        Launch::grid(1).block((32, 33)),
    ] {
        let error = usage(launch("any", wrong));
        assert!(matches!(error, Usage::Dimensions { .. }), "{error}");
    }
    launch("any", Launch::grid((2, 2, 2)).block((16, 4, 16))).unwrap();
    launch("most", Launch::grid(1).block(64)).unwrap();
    let text = usage(launch("most", Launch::grid(1).block(65))).to_string();
    assert!(text.contains("`.maxntid` allows 64 threads"), "{text}");
    launch("exact", Launch::grid(1).block((32, 2))).unwrap();
    let text = usage(launch("exact", Launch::grid(1).block(64))).to_string();
    assert!(
        text.contains("`.reqntid` wants a block of (32, 2, 1), not (64, 1, 1)"),
        "{text}"
    );
    launch("shared", Launch::grid(1).shared(226 * 1024)).unwrap();
    let error = usage(launch("shared", Launch::grid(1).shared(226 * 1024 + 1)));
    assert!(
        matches!(error, Usage::SharedMemory { fixed: 1024, .. }),
        "{error}"
    );
}

const FUNCTIONS: &str = "
.version 7.0
.target sm_70
.address_size 64

.global .align 8 .u64 counter;
.global .align 8 .u64 pointer = generic(counter);
.global .align 4 .u32 numbers[3] = {7, 8};
.const .align 4 .u32 fixed[2] = {0x11223344, 5};

.func (.param .u32 d) extract(.param .u32 a, .param .u32 b, .param .u32 c)
{
    .reg .b32 %r<5>;
    ld.param.u32 %r1, [a];
    ld.param.u32 %r2, [b];
    ld.param.u32 %r3, [c];
    bfe.u32 %r4, %r1, %r2, %r3;
    st.param.u32 [d], %r4;
    ret;
}

.func (.reg .u64 d) registers(.reg .u64 a, .reg .u16 b)
{
    cvt.u64.u16 d, b;
    add.u64 d, d, a;
    ret;
}

.func nothing() { ret; }

.func (.param .u8 d) narrow(.param .u8 a, .param .s16 b)
{
    .reg .b16 %h<4>;
    ld.param.u8 %h1, [a];
    ld.param.s16 %h2, [b];
    add.u16 %h3, %h1, %h2;
    st.param.u8 [d], %h3;
    ret;
}

.func (.param .s16 d) negate(.param .s16 a)
{
    .reg .b16 %h<3>;
    ld.param.s16 %h1, [a];
    neg.s16 %h2, %h1;
    st.param.s16 [d], %h2;
    ret;
}

.func (.reg .b32 low, .reg .b32 high) halves(.param .b64 a)
{
    .reg .b64 %rd<2>;
    ld.param.b64 %rd1, [a];
    mov.b64 {low, high}, %rd1;
    ret;
}

.func (.param .align 4 .b8 d[8]) swap(.param .align 4 .b8 a[8])
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [a];
    ld.param.b32 %r2, [a+4];
    st.param.b32 [d], %r2;
    st.param.b32 [d+4], %r1;
    ret;
}

.func (.param .f32 d) same(.param .f32 a)
{
    .reg .f32 %f;
    ld.param.f32 %f, [a];
    st.param.f32 [d], %f;
    ret;
}

.func (.param .u64 d) count(.param .u64 by)
{
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [by];
    ld.global.u64 %rd2, [pointer];
    ld.u64 %rd3, [%rd2];
    add.u64 %rd3, %rd3, %rd1;
    st.u64 [%rd2], %rd3;
    st.param.u64 [d], %rd3;
    ret;
}

.func (.param .u32 d) sum(.param .u64 p, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 0;
next:
    setp.eq.u32 %p, %r1, 0;
    @%p bra done;
    ld.u32 %r3, [%rd1];
    add.u32 %r2, %r2, %r3;
    add.u64 %rd1, %rd1, 4;
    sub.u32 %r1, %r1, 1;
    bra next;
done:
    st.param.u32 [d], %r2;
    ret;
}

.func spin()
{
again:
    bra again;
}

.entry touch() { ret; }
";

#[test]
fn functions_take_and_give_values_of_all_kinds() {
    let instance = instance(FUNCTIONS, EngineConfig::default());
    for kind in ENGINES {
        let extract = instance
            .function::<(u32, u32, u32), u32>("extract")
            .unwrap()
            .engine(kind);
        assert_eq!(extract.call((0xdead_beef, 4, 8)).unwrap(), 0xee);
        let registers = instance
            .function::<(u64, u16), i64>("registers")
            .unwrap()
            .engine(kind);
        assert_eq!(
            registers.call((1 << 40, 0xffff)).unwrap(),
            (1 << 40) + 0xffff
        );
        let nothing = instance.function::<(), ()>("nothing").unwrap().engine(kind);
        nothing.call(()).unwrap();
        let halves = instance
            .function::<(u64,), (u32, i32)>("halves")
            .unwrap()
            .engine(kind);
        assert_eq!(halves.call((0xffff_ffff_0000_0005,)).unwrap(), (5, -1));
        type Pair = ByValue<[u32; 2]>;
        let swap = instance
            .function::<(Pair,), Pair>("swap")
            .unwrap()
            .engine(kind);
        assert_eq!(swap.call((ByValue([1, 2]),)).unwrap(), ByValue([2, 1]));
        let same = instance
            .function::<(f32,), f32>("same")
            .unwrap()
            .engine(kind);
        assert_eq!(same.call((-0.0,)).unwrap().to_bits(), 0x8000_0000);
        let sum = instance
            .function::<(Address, u32), u32>("sum")
            .unwrap()
            .engine(kind);
        let buffer = instance.device().alloc_from(&[1u32, 2, 3]).unwrap();
        assert_eq!(sum.call((buffer.address(), 3)).unwrap(), 6);
        let Err(Error::Fault(fault)) = sum.call((buffer.address(), 4)) else {
            panic!("no fault")
        };
        assert_eq!(fault.kind, FaultKind::OutOfBounds);
        assert_eq!(fault.address, Some((buffer.address().0 + 12, 4)));

        let any = instance.any_function("halves").unwrap().engine(kind);
        let bytes = any.call(args![0x1122_3344_5566_7788u64]).unwrap();
        assert_eq!(
            bytes,
            [0x5566_7788u32.to_le_bytes(), 0x1122_3344u32.to_le_bytes()]
        );
    }
}

#[test]
fn functions_of_other_types_are_refused() {
    let instance = instance(FUNCTIONS, EngineConfig::default());
    let text = usage(instance.function::<(u32, u32), u32>("extract")).to_string();
    assert!(text.contains("2 arguments instead of 3"), "{text}");
    assert!(
        text.contains("function `extract` wants (.u32 a, .u32 b, .u32 c)"),
        "{text}"
    );
    let text = usage(instance.function::<(u32, u32, u8), u32>("extract")).to_string();
    assert!(
        text.contains("argument 2 does not fit: `.u32 c` has 4 bytes, `u8` has 1"),
        "{text}"
    );
    let text = usage(instance.function::<(u32, u32, u32), ()>("extract")).to_string();
    assert!(text.contains("0 results instead of 1"), "{text}");
    assert!(text.contains("function `extract` gives (.u32 d)"), "{text}");
    let text = usage(instance.function::<(u32,), f32>("same")).to_string();
    assert!(text.contains("`.f32 a` is not `u32`"), "{text}");
}

#[test]
fn variables_are_read_written_and_pointed_to() {
    let instance = instance(FUNCTIONS, EngineConfig::default());
    let counter = instance.global("counter").unwrap();
    let pointer = instance.global("pointer").unwrap();
    assert_eq!(pointer.read::<u64>().unwrap(), [counter.address().0]);
    for kind in ENGINES {
        counter.write(&[10u64]).unwrap();
        let count = instance
            .function::<(u64,), u64>("count")
            .unwrap()
            .engine(kind);
        assert_eq!(count.call((5,)).unwrap(), 15);
        assert_eq!(count.call((5,)).unwrap(), 20);
        assert_eq!(counter.read::<u64>().unwrap(), [20]);
    }
    assert_eq!(
        instance.global("numbers").unwrap().read::<u32>().unwrap(),
        [7, 8, 0]
    );
    let fixed = instance.global("fixed").unwrap();
    assert_eq!(
        fixed.read::<u8>().unwrap(),
        [0x44, 0x33, 0x22, 0x11, 5, 0, 0, 0]
    );
    fixed.write(&[1u8]).unwrap();
    assert_eq!(fixed.read::<u32>().unwrap(), [0x1122_3301, 5]);
    let error = usage(instance.global("counter").unwrap().write(&[1u64, 2]));
    assert!(matches!(error, Usage::Length { .. }), "{error}");
    // Another instance has variables of its own.
    let other = instance.program().instantiate(instance.device()).unwrap();
    assert_eq!(other.global("counter").unwrap().read::<u64>().unwrap(), [0]);
}

#[test]
fn endless_calls_end_and_the_next_call_is_not_stopped() {
    let instance = instance(FUNCTIONS, EngineConfig::default());
    let buffer = instance.device().alloc_from(&[1u32, 2, 3]).unwrap();
    for kind in ENGINES {
        let limit = Duration::from_millis(50);
        let spin = instance.function::<(), ()>("spin").unwrap().engine(kind);
        let spin = spin.time_limit(Some(limit));
        for _ in 0..2 {
            let start = Instant::now();
            let Err(Error::Fault(fault)) = spin.call(()) else {
                panic!("no fault")
            };
            assert_eq!(fault.kind, FaultKind::TimeLimit);
            assert!(fault.to_string().contains("50ms"), "{fault}");
            assert!(start.elapsed() >= limit);
            let sum = instance
                .function::<(Address, u32), u32>("sum")
                .unwrap()
                .engine(kind);
            assert_eq!(sum.call((buffer.address(), 3)).unwrap(), 6);
        }
        let cancel = Cancel::new();
        let spin = spin.time_limit(None).cancel(&cancel);
        let done = std::thread::scope(|scope| {
            let running = scope.spawn(|| spin.call(()));
            std::thread::sleep(Duration::from_millis(30));
            cancel.cancel();
            running.join().unwrap()
        });
        assert!(done.unwrap_err().to_string().contains("cancelled"));
    }
}

#[test]
fn native_pointers_exist_where_nothing_can_go_wrong() {
    let instance = instance(FUNCTIONS, EngineConfig::default());
    let extract = instance
        .function::<(u32, u32, u32), u32>("extract")
        .unwrap();
    let pointer = extract.pointer().unwrap();
    // SAFETY: `extract` lives.
    assert_eq!(unsafe { pointer(0xdead_beef, 4, 8) }, 0xee);
    // The narrow values that come back are as wide as C expects them.
    let narrow = instance.function::<(u8, i16), u8>("narrow").unwrap();
    let pointer = narrow.pointer().unwrap();
    for a in 0..=255u8 {
        for b in [i16::MIN, -300, -1, 0, 1, 56, 300, i16::MAX] {
            let expected = u64::from(a).wrapping_add_signed(b.into()) & 0xff;
            // SAFETY: `narrow` lives.
            assert_eq!(u64::from(unsafe { pointer(a, b) }), expected);
            assert_eq!(u64::from(narrow.call((a, b)).unwrap()), expected);
        }
    }
    let negate = instance.function::<(i16,), i16>("negate").unwrap();
    let pointer = negate.pointer().unwrap();
    for (a, expected) in [(1, -1i64), (-1, 1), (i16::MIN, -32768), (300, -300)] {
        // SAFETY: `negate` lives.
        assert_eq!(i64::from(unsafe { pointer(a) }), expected);
    }
    assert!(
        instance
            .function::<(Address, u32), u32>("sum")
            .unwrap()
            .pointer()
            .is_none()
    );
    assert!(
        instance
            .function::<(), ()>("spin")
            .unwrap()
            .pointer()
            .is_none()
    );
    assert!(
        instance
            .function::<(u64,), u64>("count")
            .unwrap()
            .pointer()
            .is_none()
    );
}

#[test]
fn handles_keep_alive_what_they_need() {
    let (function, variable, buffer) = {
        let device = device();
        let module = Module::parse(FUNCTIONS).unwrap();
        let program = Engine::default().compile(&module).unwrap();
        let instance = program.instantiate(&device).unwrap();
        let buffer = device.alloc_from(&[1u32, 2, 3]).unwrap();
        let function = instance.function::<(u64,), u64>("count").unwrap();
        (function, instance.global("counter").unwrap(), buffer)
    };
    assert_eq!(function.call((2,)).unwrap(), 2);
    assert_eq!(variable.read::<u64>().unwrap(), [2]);
    drop(function);
    assert_eq!(variable.read::<u64>().unwrap(), [2]);
    let device = buffer.device().clone();
    drop(variable);
    assert_eq!(device.memory_used(), 512, "one buffer and its gap");
    assert_eq!(buffer.to_vec().unwrap(), [1, 2, 3]);
    drop(buffer);
    assert_eq!(device.memory_used(), 0);
}

#[test]
fn what_is_unsupported_is_refused_when_it_is_asked_for() {
    let text = "
.version 7.0
.target sm_70
.address_size 64
.func helper()
{
    .reg .f32 %f<2>;
    sin.approx.f32 %f1, %f0;
    ret;
}
.entry direct()
{
    bar.sync 0;
    bar.sync 1;
    ret;
}
.entry through()
{
    call helper;
    ret;
}
.entry fine() { ret; }
";
    let module = Module::parse(text).unwrap();
    for kind in ENGINES {
        let program = Engine::new(EngineConfig::default().kind(kind))
            .compile(&module)
            .unwrap();
        let instance = program.instantiate(&device()).unwrap();
        instance
            .kernel("fine")
            .unwrap()
            .launch(Launch::grid(1), args![])
            .unwrap();
        let Err(Error::Unsupported(direct)) = instance.kernel("direct") else {
            panic!("supported")
        };
        assert_eq!(direct.wanted_by, "kernel `direct`");
        let lines: Vec<u32> = direct
            .missing
            .iter()
            .map(|m| m.at.as_ref().unwrap().1.line)
            .collect();
        assert_eq!(lines, [13, 14]);
        assert!(direct.to_string().contains("bar.sync"), "{direct}");
        let Err(Error::Unsupported(through)) = instance.kernel("through") else {
            panic!("supported")
        };
        assert_eq!(through.missing[0].what, "sin.approx.f32");
    }
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
fn wrong_texts_are_diagnostics() {
    let text = ".version 7.0\n.target sm_70\n.entry k() {\n add.u32 %r1, %r2;\n frob.u32;\n}\n";
    let Err(Error::Diagnostics(diagnostics)) = Module::parse_named("wrong.ptx", text) else {
        panic!("accepted")
    };
    assert!(diagnostics.has_errors());
    let text = diagnostics.to_string();
    assert!(text.contains("wrong.ptx:4"), "{text}");
    assert!(text.contains("wrong.ptx:5"), "{text}");
}

#[test]
fn a_setting_that_cranelift_does_not_know() {
    let module = Module::parse(SCALE).unwrap();
    let engine = Engine::new(EngineConfig::default().setting("no_such_setting", "1"));
    let error = usage(engine.compile(&module));
    assert!(error.to_string().contains("no_such_setting"), "{error}");
}

#[test]
fn handles_are_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>() {}
    shared::<Module>();
    shared::<Engine>();
    shared::<ptxlift::Program>();
    shared::<Device>();
    shared::<Instance>();
    shared::<ptxlift::Kernel>();
    shared::<ptxlift::Function<(u32,), u32>>();
    shared::<ptxlift::AnyFunction>();
    shared::<ptxlift::Buffer<u32>>();
    shared::<ptxlift::Variable>();
    shared::<Cancel>();
    fn error<T: std::error::Error + Send + Sync>() {}
    error::<Error>();
}
