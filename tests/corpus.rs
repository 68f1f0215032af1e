//! Kernels as compilers and people wrote them, with their exact launches, each a test, in both engines.

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
    support::run("corpus", LATER)
}
