//! What kernels do wrong, told alike by both engines.

use crate::{ENGINES, fault, instance, line};
use ptxlift::{
    Address, Arg, EngineConfig, EngineKind, Error, Fault, FaultKind, Instance, Launch, args,
};

pub(crate) const FAULTS: &str = "
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
        let mut fault = fault(kernel.launch(launch.clone().engine(kind), args(&instance)));
        // The words may differ.
        fault.detail = None;
        fault
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
        let fault = crate::fault(kernel.launch(Launch::grid(1).engine(kind), args![&buffer, 4u32]));
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

/// Blocks work as long as `work` says, then trap where `bad` says so.
const SOME_TRAP: &str = "
.version 7.0
.target sm_70
.address_size 64
.entry some_trap(.param .u64 work, .param .u64 bad)
{
    .reg .pred %p;
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %rd1, %r1, 4;
    ld.param.u64 %rd2, [work];
    add.u64 %rd2, %rd2, %rd1;
    ld.global.u32 %r2, [%rd2];
again:
    sub.u32 %r2, %r2, 1;
    setp.ne.u32 %p, %r2, 0;
    @%p bra again;
    ld.param.u64 %rd3, [bad];
    add.u64 %rd3, %rd3, %rd1;
    ld.global.u32 %r2, [%rd3];
    setp.ne.u32 %p, %r2, 0;
    @%p trap;
    ret;
}
";

#[test]
fn of_several_faults_that_of_the_first_block_is_told() {
    // Blocks of 64 are taken one by one, those of 1000 in chunks.
    for (kind, launches, blocks) in [
        (EngineKind::Native, 2000, 64),
        (EngineKind::Native, 700, 1000),
        (EngineKind::Interpreter, 300, 64),
    ] {
        let config = EngineConfig::default().kind(kind).threads(4);
        let instance = instance(SOME_TRAP, config);
        let kernel = instance.kernel("some_trap").unwrap();
        let work = instance.device().alloc_zeroed::<u32>(blocks).unwrap();
        let bad = instance.device().alloc_zeroed::<u32>(blocks).unwrap();
        let mut state = 1u64;
        let mut draw = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % below
        };
        let longest = match kind {
            EngineKind::Native => 3000,
            _ => 100,
        };
        for launch in 0..launches {
            let first = draw(blocks);
            // The later a block that traps, the sooner it does.
            let long = |block: usize| (longest * (blocks - block) / blocks).max(1) as u32;
            let traps: Vec<u32> = (0..blocks)
                .map(|block| u32::from(block == first || (block > first && draw(3) == 0)))
                .collect();
            let works: Vec<u32> = (0..blocks)
                .map(|block| {
                    if traps[block] == 1 {
                        long(block)
                    } else {
                        1 + draw(20) as u32
                    }
                })
                .collect();
            work.write(&works).unwrap();
            bad.write(&traps).unwrap();
            let launched = kernel.launch(Launch::grid(blocks as u32), args![&work, &bad]);
            let fault = fault(launched);
            assert_eq!(fault.kind, FaultKind::Trap);
            let told = fault.block[0] as usize;
            assert_eq!(told, first, "launch {launch}, {kind:?}, {blocks} blocks");
        }
    }
}

/// From a pointer into the middle of memory just the rest of it is reached, in either direction of a mistake.
#[test]
fn what_lies_behind_a_pointer_into_the_middle_ends_with_the_memory() {
    const TEXT: &str = "
.version 8.0
.target sm_80
.address_size 64
.entry fills(.param .u64 from, .param .u32 count)
{
    .reg .pred %p;
    .reg .b32 %r<3>;
    .reg .b64 %d;
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r2, [count];
    setp.ge.u32 %p, %r1, %r2;
    @%p ret;
    ld.param.u64 %d, [from];
    mad.wide.u32 %d, %r1, 4, %d;
    st.global.u32 [%d], %r1;
    ret;
}";
    for kind in ENGINES {
        let instance = instance(TEXT, EngineConfig::default().kind(kind));
        let device = instance.device();
        let kernel = instance.kernel("fills").unwrap();
        for words in [64u32, 65, 100] {
            for skipped in [1u32, 8, 32, 63] {
                let buffer = device.alloc_zeroed::<u32>(words as usize).unwrap();
                let from = buffer.address().0 + 4 * u64::from(skipped);
                let rest = words - skipped;
                let launch = || Launch::grid(1).block(128);
                kernel.launch(launch(), args![from, rest]).unwrap();
                assert_eq!(buffer.to_vec().unwrap()[words as usize - 1], rest - 1);
                let error = kernel.launch(launch(), args![from, rest + 1]).unwrap_err();
                let Error::Fault(fault) = error else {
                    panic!("{error}")
                };
                let end = buffer.address().0 + 4 * u64::from(words);
                assert_eq!(fault.address, Some((end, 4)), "{kind:?} {words} {skipped}");
            }
        }
    }
}
