//! Help, usage errors, what comes later, closed pipes.

use super::*;

#[test]
fn help_is_no_error_and_nonsense_is() {
    let help = ptxlift(&["--help"]);
    code(&help, 0);
    for command in ["run", "test", "check", "eval", "dump", "isa"] {
        assert!(stdout(&help).contains(command), "{command}");
    }
    code(&ptxlift(&["--version"]), 0);
    code(&ptxlift(&[]), 2);
    code(&ptxlift(&["frobnicate"]), 2);
    code(&ptxlift(&["test"]), 2);
    code(&ptxlift(&["test", "--engine", "magic", "tests"]), 2);
}

#[test]
fn what_comes_later_says_so() {
    let file = "tests/vectors/popc.tsv";
    for args in [
        &["test", "--seeds", "3", file][..],
        &["test", "--width", "8", file],
        &["test", "--reading", "nvidia", file],
        &["run", "--seed", "1", "x.ptx"],
        &["run", "--width", "all", "x.ptx"],
        &["run", "--reading", "nvidia", "x.ptx"],
        &["dump", "--stage", "asm", "--target", "aarch64", "x.ptx"],
        &["bench", "x.toml"],
        &["fuzz", "--seconds", "1"],
    ] {
        let output = ptxlift(args);
        code(&output, 2);
        assert!(stderr(&output).contains("not built yet"), "{args:?}");
    }
    let output = ptxlift(&["test", "--width", "3", file]);
    code(&output, 2);
    assert!(stderr(&output).contains("1, 4, 8, 16 or all"));
}

#[test]
fn a_reader_that_goes_away_does_no_harm() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ptxlift"))
        .args(["dump", "--stage", "ast", "tests/kernels/sha256/kernel.ptx"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut first = [0; 16];
    let mut pipe = child.stdout.take().expect("a pipe");
    pipe.read_exact(&mut first).expect("some output");
    drop(pipe);
    let output = child.wait_with_output().expect("it ends");
    code(&output, 0);
    assert_eq!(stderr(&output), "");
}
