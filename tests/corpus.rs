//! Kernels as compilers and people wrote them, with their exact launches, each a test, in both engines.

mod support;

fn main() -> std::process::ExitCode {
    support::run("corpus", &[ptxlift::Reading::Text], &[1, 4, 8, 16, 32])
}
