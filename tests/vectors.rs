//! The vector and acceptance tables, each file a test, in both engines, operands in registers and as literals; tables of results by both
//! readings.

mod support;

use ptxlift::Reading;

fn main() -> std::process::ExitCode {
    support::run("vectors", &Reading::ALL, &[1, 8])
}
