//! Random legal programs, as the bytes decide, in both engines.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptxlift::fuzzing::{Options, Oracle, Program, Verdict};
use std::sync::LazyLock;

static ORACLE: LazyLock<Oracle> = LazyLock::new(|| Oracle::new(Options::default()));

fuzz_target!(|bytes: &[u8]| {
    let program = Program::from_bytes(bytes);
    match ORACLE.run(&program).verdict {
        Verdict::Agree | Verdict::TimeLimit => {}
        verdict => panic!("{verdict:#?}\n{}", program.text()),
    }
});
