//! Launches that end at their time limit, or are cancelled, although threads wait: who waits where is told, and the end
//! comes soon.

use ptxlift::{
    Cancel, Device, DeviceConfig, Engine, EngineConfig, EngineKind, Error, Fault, FaultKind,
    Kernel, Launch, Module,
};
use std::time::{Duration, Instant};

const ENGINES: [EngineKind; 2] = [EngineKind::Interpreter, EngineKind::Native];

/// The kernel `k` of a module.
fn kernel(body: &str) -> Kernel {
    let text = format!(".version 8.0\n.target sm_80\n.address_size 64\n{body}");
    let module = Module::parse_named("t.ptx", &text).unwrap_or_else(|e| panic!("{e}"));
    let config = EngineConfig::default().threads(1).steps(u64::MAX);
    let program = Engine::new(config).compile(&module).unwrap();
    let device = Device::new(DeviceConfig::default()).unwrap();
    let instance = program.instantiate(&device).unwrap();
    instance.kernel("k").unwrap()
}

/// The fault with which a launch ends in each engine.
fn faults(body: &str, launch: &Launch) -> Vec<Fault> {
    let kernel = kernel(body);
    let one = |engine| match kernel.launch(launch.clone().engine(engine), &[]) {
        Err(Error::Fault(fault)) => *fault,
        Err(error) => panic!("{engine:?}: {error}"),
        Ok(report) => panic!("{report:?}"),
    };
    ENGINES.into_iter().map(one).collect()
}

/// Half a second.
fn limited(blocks: u32, threads: u32) -> Launch {
    let limit = Duration::from_millis(500);
    Launch::grid(blocks).block(threads).time_limit(Some(limit))
}

/// Warp 1 spins for ever, and never comes to the barrier at which warp 0 waits.
#[test]
fn who_waits_at_a_barrier_beside_a_spinning_warp_is_told() {
    let body = "
        .global .u32 flag;
        .entry k()
        {
            .reg .pred %p; .reg .b32 %r;
            mov.u32 %r, %tid.x;
            setp.ge.u32 %p, %r, 32;
            @%p bra SPIN;
            bar.sync 3;
            ret;
        SPIN:
            ld.volatile.global.u32 %r, [flag];
            setp.eq.u32 %p, %r, 0;
            @%p bra SPIN;
            bar.sync 3;
            ret;
        }";
    for fault in faults(body, &limited(1, 64)) {
        assert_eq!(fault.kind, FaultKind::TimeLimit, "{fault}");
        let detail = fault.detail.unwrap_or_default();
        let lines: Vec<&str> = detail.lines().map(str::trim).collect();
        let expected = [
            "not done after 500ms",
            "threads 0-31 wait at t.ptx:12:13: bar.sync 3 (barrier 3 misses threads 32-63)",
        ];
        assert_eq!(lines, expected);
    }
}

/// Lanes 0 to 7 wait for a lane that spins; of another block all spin, and nobody waits.
#[test]
fn who_waits_within_a_warp_is_told_of_the_block_where_somebody_does() {
    let body = "
        .global .u32 flag;
        .entry k()
        {
            .reg .pred %p, %q; .reg .b32 %r;
            mov.u32 %r, %ctaid.x;
            setp.eq.u32 %q, %r, 0;
            @%q bra SPIN;
            mov.u32 %r, %tid.x;
            setp.ge.u32 %p, %r, 8;
            @%p bra SPIN;
            bar.warp.sync 0x1ff;
            ret;
        SPIN:
            ld.volatile.global.u32 %r, [flag];
            setp.eq.u32 %p, %r, 0;
            @%p bra SPIN;
            ret;
        }";
    for fault in faults(body, &limited(2, 32)) {
        assert_eq!(fault.kind, FaultKind::TimeLimit, "{fault}");
        let detail = fault.detail.unwrap_or_default();
        let expected = "threads 0-7 wait at t.ptx:15:13: bar.warp.sync 0x1ff (mask 0x000001ff misses thread 8)";
        let lines: Vec<&str> = detail.lines().map(str::trim).collect();
        assert_eq!(lines[1..], [expected], "{detail}");
        assert_eq!(fault.block, [1, 0, 0]);
    }
}

/// Where nobody waits nothing more is told.
#[test]
fn who_only_spins_does_not_wait() {
    let body = "
        .global .u32 flag;
        .entry k()
        {
            .reg .pred %p; .reg .b32 %r;
        SPIN:
            ld.volatile.global.u32 %r, [flag];
            setp.eq.u32 %p, %r, 0;
            @%p bra SPIN;
            ret;
        }";
    for fault in faults(body, &limited(3, 64)) {
        assert_eq!(fault.kind, FaultKind::TimeLimit, "{fault}");
        assert_eq!(fault.detail.as_deref(), Some("not done after 500ms"));
    }
}

/// Thousands of blocks spin, each with four megabytes of local memory of which it uses little.
const MANY: &str = "
    .global .u32 flag;
    .entry k()
    {
        .reg .pred %p; .reg .b32 %r, %s;
        .local .b8 own[4096];
        mov.u32 %s, %tid.x;
        st.local.u32 [own], %s;
    SPIN:
        nanosleep.u32 1;
        ld.volatile.global.u32 %r, [flag];
        setp.eq.u32 %p, %r, 0;
        @%p bra SPIN;
        ld.local.u32 %s, [own];
        st.volatile.global.u32 [flag], %s;
        ret;
    }";

/// The end comes soon after the limit, and after somebody cancelled, also where thousands of blocks have begun.
#[test]
fn launches_with_many_blocks_that_wait_end_soon() {
    // Far more than it takes, and less than it took: machines may be busy.
    let soon = Duration::from_secs(20);
    let kernel = kernel(MANY);
    for engine in ENGINES {
        for threads in [32, 1024] {
            let limit = Duration::from_secs(1);
            let launch = Launch::grid(1_000_000).block(threads).engine(engine);
            let start = Instant::now();
            let ended = kernel.launch(launch.clone().time_limit(Some(limit)), &[]);
            assert!(matches!(ended, Err(Error::Fault(f)) if f.kind == FaultKind::TimeLimit));
            assert!(
                start.elapsed() < limit + soon,
                "{engine:?}, {threads} threads: {:?}",
                start.elapsed()
            );

            let cancel = Cancel::new();
            let from_elsewhere = cancel.clone();
            let canceller = std::thread::spawn(move || {
                std::thread::sleep(limit);
                from_elsewhere.cancel();
            });
            let start = Instant::now();
            let ended = kernel.launch(launch.cancel(&cancel).time_limit(None), &[]);
            assert!(matches!(ended, Err(Error::Fault(f)) if f.kind == FaultKind::TimeLimit));
            assert!(
                start.elapsed() < limit + soon,
                "{engine:?}, {threads} threads: {:?}",
                start.elapsed()
            );
            canceller.join().unwrap();
        }
    }
}
