//! The programs in `tests/c`, each compiled by the machine's C compiler against the header and the library, and run.
//! They say what went wrong and exit with 1.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder of the library. Tests cannot depend on a library for C, so it is built here; Cargo has done so already, or waits
/// for nobody: while tests run it builds nothing.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--locked", "--lib", "--manifest-path"]);
        cargo.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name(PROFILE);
        cargo
            .arg("--target-dir")
            .arg(folder.parent().expect("a target folder"));
        if PROFILE == "release" {
            cargo.arg("--release");
        }
        let built = cargo.output().expect("Cargo");
        assert!(
            built.status.success(),
            "{}",
            String::from_utf8_lossy(&built.stderr)
        );
        folder
    })
}

const PROFILE: &str = if cfg!(debug_assertions) {
    "debug"
} else {
    "release"
};

fn run(name: &str, environment: &[(&str, &str)]) -> std::process::Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = library();
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("capi_{name}"));
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_string());
    let compiled = Command::new(compiler)
        .args([
            "-std=c11",
            "-D_GNU_SOURCE",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O1",
            "-pthread",
        ])
        .arg("-I")
        .arg(root.join("include"))
        .arg(root.join(format!("tests/c/{name}.c")))
        .arg("-L")
        .arg(folder)
        .arg("-lptxlift")
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .arg("-o")
        .arg(&program)
        .output()
        .expect("a C compiler");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    Command::new(program)
        .envs(environment.iter().copied())
        .output()
        .expect("the program")
}

fn passes(name: &str) {
    let out = run(name, &[]);
    assert!(
        out.status.success(),
        "{name}: {}\n{}{}",
        out.status,
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
}

#[test]
fn compile_once_launch_many() {
    passes("launches");
}

#[test]
fn a_thousand_threads_at_once() {
    passes("threads");
}

#[test]
fn ptx_run_runs_what_it_is_given() {
    passes("ocelot");
}

#[test]
fn nvidias_doors_read_as_nvidias_tools_do() {
    passes("readings");
}

#[test]
fn the_driver_api() {
    passes("driver");
}

#[test]
fn ptx_run_aborts_if_it_is_told_to() {
    use std::os::unix::process::ExitStatusExt;
    let out = run("aborts", &[("PTXLIFT_ABORT", "1")]);
    assert_eq!(out.status.signal(), Some(6), "{}", out.status);
    let message = String::from_utf8_lossy(&out.stderr);
    assert!(message.contains("`frobnicate`"), "{message}");
    assert!(run("aborts", &[]).status.success());
    let odd = [("PTXLIFT_ABORT", "1"), ("PTXLIFT_TIME_LIMIT", "5s")];
    assert_eq!(run("aborts", &odd).status.signal(), Some(6));
}

#[test]
fn time_limits_hold_in_forked_processes() {
    let out = run("fork", &[("PTXLIFT_TIME_LIMIT", "1")]);
    assert!(out.status.success(), "{out:?}");
}
