//! Launch cases for what is often got wrong, each file a test, in both engines.

mod support;

/// What is known and not built yet.
const LATER: &[&str] = &[
    "floating point",
    "barriers",
    "atomics",
    "warp operations",
    "asynchronous copies",
    "system calls",
];

fn main() -> std::process::ExitCode {
    support::run("cases", LATER)
}
