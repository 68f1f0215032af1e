//! Launch cases for what is often got wrong, each file a test, in both engines.

mod support;

fn main() -> std::process::ExitCode {
    support::run("cases", &[ptxlift::Reading::Text], &[1, 4, 8, 16, 32])
}
