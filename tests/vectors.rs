//! The vector and acceptance tables, each file a test, in both engines, operands in registers and as literals.

mod support;

fn main() -> std::process::ExitCode {
    support::run("vectors")
}
