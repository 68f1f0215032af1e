//! Time limits, budgets of steps, cancellation.

use crate::calls::FUNCTIONS;
use crate::faults::FAULTS;
use crate::launches::SCALE;
use crate::{ENGINES, fault, instance};
use ptxlift::{Address, Cancel, EngineConfig, EngineKind, Error, FaultKind, Launch, args};
use std::time::{Duration, Instant};

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
fn kernels_that_meet_without_end_end_at_the_time_limit() {
    const MEETING: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
        .entry barrier() { again: bar.sync 0; bra again; }\n\
        .entry warp() { again: bar.warp.sync -1; bra again; }\n";
    for kind in ENGINES {
        let config = EngineConfig::default().kind(kind);
        let instance = instance(MEETING, config.time_limit(Some(Duration::from_millis(100))));
        for name in ["barrier", "warp"] {
            let kernel = instance.kernel(name).unwrap();
            let fault = fault(kernel.launch(Launch::grid(3).block(64), args![]));
            assert_eq!(fault.kind, FaultKind::TimeLimit);
            assert_eq!(fault.function, name);
        }
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
        let again = crate::fault(kernel.launch(launch, args![]));
        assert_eq!(again.kind, FaultKind::TimeLimit);
    }
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
        let nothing = instance.function::<(), ()>("nothing").unwrap().engine(kind);
        nothing.call(()).unwrap();
        let late = nothing.cancel(&cancel).call(()).unwrap_err();
        assert!(late.to_string().contains("cancelled"), "{late}");
    }
}
