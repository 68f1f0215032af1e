//! Resident memory does not grow, however often something is compiled, launched or called.
//!
//! The full counts: `cargo test --release --test steady -- --ignored --nocapture`.
#![cfg(target_os = "linux")]

use ptxlift::{
    Device, DeviceConfig, Engine, EngineConfig, EngineKind, Launch, Module, Program, args,
};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Tests measure the process as a whole, and so run one after the other.
static ALONE: Mutex<()> = Mutex::new(());

/// Most KiB that may be resident afterwards and were not before: what allocators keep for the next time differs a little.
const GROWTH: u64 = 4096;

const TEXT: &str = "
.version 8.0
.target sm_80
.address_size 64
.global .u32 table[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
.func (.reg .b32 r) step(.reg .b32 x) { mad.lo.u32 r, x, 1664525, 1013904223; ret; }
.entry mix(.param .u64 out, .param .u32 rounds)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %d<5>;
    .shared .b32 tile[64];
    ld.param.u64 %d1, [out];
    ld.param.u32 %r1, [rounds];
    mov.u32 %r2, %tid.x;
    mad.wide.u32 %d1, %r2, 4, %d1;
    mov.u64 %d3, tile;
    mad.wide.u32 %d3, %r2, 4, %d3;
    ld.global.u32 %r3, [%d1];
L:  call (%r3), step, (%r3);
    and.b32 %r4, %r3, 15;
    mov.u64 %d2, table;
    mad.wide.u32 %d2, %r4, 4, %d2;
    ld.global.u32 %r4, [%d2];
    add.u32 %r3, %r3, %r4;
    st.shared.u32 [%d3], %r3;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p, %r1, 0;
    @%p bra L;
    ld.shared.u32 %r3, [%d3];
    st.global.u32 [%d1], %r3;
    ret;
}
";

/// KiB of this process that are resident.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").expect("the kernel tells");
    let line = text.lines().find_map(|l| l.strip_prefix("Rss:"));
    let kib = line.and_then(|l| l.trim().strip_suffix(" kB"));
    kib.and_then(|n| n.parse().ok()).expect("a number of KiB")
}

/// Does something `warm_up` times, then `count` times more, which must leave as much resident as there was.
fn steady(what: &str, warm_up: usize, count: usize, mut once: impl FnMut()) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    (0..warm_up).for_each(|_| once());
    let before = resident();
    let start = Instant::now();
    (0..count).for_each(|_| once());
    let (seconds, after) = (start.elapsed().as_secs_f64(), resident());
    println!("{count} {what}: {seconds:.1} s, resident before {before} KiB, after {after} KiB");
    assert!(
        after <= before + GROWTH,
        "{before} KiB before, {after} KiB after"
    );
}

fn program(kind: EngineKind) -> Program {
    let module = Module::parse(TEXT).expect("a module that is right");
    let config = EngineConfig::default().kind(kind).threads(2);
    Engine::new(config).compile(&module).expect("a program")
}

fn compile_and_drop(count: usize) {
    steady(
        "compilations, each launched once and dropped",
        200,
        count,
        || {
            let device = Device::new(DeviceConfig::default()).expect("a device");
            let instance = program(EngineKind::Native)
                .instantiate(&device)
                .expect("room");
            let out = device.alloc_zeroed::<u32>(32).expect("room");
            let kernel = instance.kernel("mix").expect("a kernel");
            kernel
                .launch(Launch::grid(1).block(32), args![&out, 2u32])
                .expect("it runs");
        },
    );
}

fn launch(kind: EngineKind, grid: u32, count: usize) {
    let device = Device::new(DeviceConfig::default()).expect("a device");
    let instance = program(kind).instantiate(&device).expect("room");
    let out = device.alloc_zeroed::<u32>(32).expect("room");
    let kernel = instance.kernel("mix").expect("a kernel");
    let what = format!("launches of {grid} blocks, {kind:?}");
    steady(&what, 1000, count, || {
        let launch = Launch::grid(grid).block(4);
        kernel.launch(launch, args![&out, 2u32]).expect("it runs");
    });
}

fn allocate_and_launch(count: usize) {
    let device = Device::new(DeviceConfig::default()).expect("a device");
    let instance = program(EngineKind::Native)
        .instantiate(&device)
        .expect("room");
    let kernel = instance.kernel("mix").expect("a kernel");
    let mut next = 0;
    steady(
        "launches, each with a buffer of its own",
        1000,
        count,
        || {
            next = (next * 5 + 1) % 4096;
            let out = device.alloc_zeroed::<u32>(32 + next).expect("room");
            let launch = Launch::grid(1).block(32);
            kernel.launch(launch, args![&out, 1u32]).expect("it runs");
        },
    );
    assert!(device.memory_used() < 4096, "{}", device.memory_used());
}

fn refuse(count: usize) {
    let wrong = format!("{TEXT} .entry k() {{ frob; bra nowhere; }}");
    let native = program(EngineKind::Native);
    let device = Device::new(DeviceConfig::default()).expect("a device");
    let kernel = native.instantiate(&device).and_then(|i| i.kernel("mix"));
    let kernel = kernel.expect("a kernel");
    steady(
        "refused texts, refused launches and faults",
        200,
        count,
        || {
            assert!(Module::parse(&*wrong).is_err());
            assert!(kernel.launch(Launch::grid(0), args![]).is_err());
            let null = args![ptxlift::Address::NULL, 1u32];
            assert!(kernel.launch(Launch::grid(2).block(2), null).is_err());
        },
    );
}

#[test]
fn some_compilations() {
    compile_and_drop(300);
}

#[test]
fn some_launches() {
    launch(EngineKind::Native, 1, 20_000);
    launch(EngineKind::Native, 64, 2_000);
    launch(EngineKind::Interpreter, 1, 5_000);
}

#[test]
fn some_buffers() {
    allocate_and_launch(5_000);
}

#[test]
fn some_errors() {
    refuse(2_000);
}

#[test]
#[ignore = "takes minutes"]
fn ten_thousand_compilations() {
    compile_and_drop(10_000);
}

#[test]
#[ignore = "takes minutes"]
fn a_million_launches() {
    launch(EngineKind::Native, 1, 1_000_000);
    launch(EngineKind::Native, 64, 100_000);
    launch(EngineKind::Interpreter, 1, 200_000);
}

#[test]
#[ignore = "takes minutes"]
fn a_million_buffers() {
    allocate_and_launch(1_000_000);
}

#[test]
#[ignore = "takes minutes"]
fn a_hundred_thousand_errors() {
    refuse(100_000);
}
