//! The vector and acceptance tables, each file a test, in both engines, operands in registers and as literals.

mod support;

/// What the acceptance tables hold beyond what the vectors and launches need.
const LATER: &[&str] = &[
    "floating point",
    "barriers",
    "atomics",
    "warp operations",
    "system calls",
    "textures",
    "tensor cores",
    "asynchronous copies",
    "clusters",
    "multimem",
    "stack manipulation",
    "memory",
];

fn main() -> std::process::ExitCode {
    support::run("vectors", LATER)
}
