//! `ptxlift run`

use super::*;

#[test]
fn a_description() {
    let folder = Folder::new();
    folder.file("kernels.ptx", KERNELS);
    let launch = folder.file("launch.toml", DESCRIPTION);
    folder.file("expected.bin", words(&[15, 16, 17, 18]));
    for engine in ["jit", "interp", "both"] {
        let output = ptxlift(&["run", "--engine", engine, &launch]);
        code(&output, 0);
        let text = stdout(&output);
        assert!(text.contains("the outputs are as expected"), "{text}");
        assert!(text.contains("ran in"), "{text}");
    }
    folder.file("expected.bin", words(&[0, 16, 17, 18]));
    let output = ptxlift(&["run", &launch]);
    code(&output, 1);
    assert!(stderr(&output).contains("out[0]"), "{}", stderr(&output));
    let output = ptxlift(&["run", &launch, "--grid", "2"]);
    code(&output, 2);
}

#[test]
fn an_expected_trap_is_fine() {
    let folder = Folder::new();
    folder.file("kernels.ptx", KERNELS);
    let launch = folder.file(
        "launch.toml",
        "format = 1\nmodules = [\"kernels.ptx\"]\nentry = \"traps\"\ngrid = [1, 1, 1]\nblock = [1, 1, 1]\nexpect = \"trap\"\n",
    );
    let output = ptxlift(&["run", &launch]);
    code(&output, 0);
    assert!(
        stdout(&output).contains("as expected: trap"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn options_instead_of_a_description() {
    let folder = Folder::new();
    let file = folder.file("kernels.ptx", KERNELS);
    let input = folder.file("in.bin", words(&[1, 2, 3, 4]));
    let result = folder.path("out.bin");
    let output = ptxlift(&[
        "run",
        &file,
        "--kernel",
        "add_n",
        "--grid",
        "1,1,1",
        "--block",
        "4",
        "--arg",
        "u32[4]:zeros",
        "--arg",
        &format!("u32[4]:@{input}"),
        "--arg",
        "u32:0x10",
        "--print",
        "0",
        "--out",
        &format!("0={result}"),
        "--repeat",
        "3",
        "--threads",
        "1",
        "--set",
        "opt_level=none",
        "--set",
        "regalloc_algorithm=single_pass",
    ]);
    code(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("     0: 17 18 19 20\n"), "{text}");
    assert!(text.contains("ran 3 times"), "{text}");
    assert_eq!(
        std::fs::read(Path::new(&result)).expect("written"),
        words(&[17, 18, 19, 20])
    );
}

#[test]
fn mistakes_are_told_with_what_is_wanted() {
    let folder = Folder::new();
    let file = folder.file("kernels.ptx", KERNELS);
    let with = |args: &[&str]| {
        let mut all = vec!["run", &file];
        all.extend(args);
        ptxlift(&all)
    };
    for (args, exit, part) in [
        (&["--kernel", "add_m"][..], 2, "add_n"),
        (&[], 2, "--kernel"),
        (&["--kernel", "add_n", "--arg", "u64:1"], 2, "wants"),
        (
            &["--kernel", "add_n", "--arg", "u32:1"],
            2,
            "parameter 0 of kernel `add_n` is `.u64 out` of 8 bytes, `u32:1` has 4",
        ),
        (
            &["--kernel", "traps", "--set", "is_pic=true"],
            2,
            "cannot be set",
        ),
        (
            &["--kernel", "traps", "--set", "opt_level=fast"],
            2,
            "opt_level",
        ),
        (&["--kernel", "add_n", "--arg", "u32"], 2, "TYPE:VALUE"),
        (&["--kernel", "traps", "--grid", "0"], 2, "grid"),
        (&["--kernel", "traps", "--block", "1,2,3,4"], 2, "three"),
        (&["--kernel", "traps", "--print", "0"], 2, "not a buffer"),
        (&["--kernel", "traps"], 3, "trap"),
        (&["--kernel", "meets"], 4, "bar.sync"),
        (&["--kernel", "endless", "--timeout", "0.2"], 3, "--timeout"),
    ] {
        let output = with(args);
        code(&output, exit);
        assert!(
            stderr(&output).contains(part),
            "{args:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn a_trace_shows_instructions_with_values() {
    let folder = Folder::new();
    let file = folder.file("kernels.ptx", KERNELS);
    let output = ptxlift(&[
        "run",
        &file,
        "--kernel",
        "add_n",
        "--block",
        "4",
        "--engine",
        "interp",
        "--arg",
        "u32[4]:zeros",
        "--arg",
        "u32[4]:iota start=1 step=1",
        "--arg",
        "u32:16",
        "--trace",
        "--trace-thread",
        "2",
        "--trace-line",
        "17",
    ]);
    code(&output, 0);
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().filter(|l| l.starts_with("(0,0,0)")).collect();
    assert_eq!(
        lines,
        ["(0,0,0) (2,0,0) 17: add.u32 %r3, %r2, %r0 | %r2=00000003 %r0=00000010 -> %r3=00000013"]
    );
}
