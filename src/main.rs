//! The `ptxlift` command.

fn main() -> std::process::ExitCode {
    ptxlift::cli::main()
}
