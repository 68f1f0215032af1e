//! Help, usage errors, what comes later, closed pipes.

use super::*;

#[test]
fn help_is_no_error_and_nonsense_is() {
    let help = ptxlift(&["--help"]);
    code(&help, 0);
    for command in [
        "run",
        "test",
        "check",
        "eval",
        "dump",
        "isa",
        "settings",
        "bench",
        "fuzz",
        "completions",
        "man",
    ] {
        assert!(stdout(&help).contains(command), "{command}");
        let help = ptxlift(&[command, "--help"]);
        code(&help, 0);
        let example = format!("Examples:\n  ptxlift {command}");
        assert!(stdout(&help).contains(&example), "{}", stdout(&help));
    }
    code(&ptxlift(&["--version"]), 0);
    code(&ptxlift(&[]), 2);
    code(&ptxlift(&["frobnicate"]), 2);
    code(&ptxlift(&["test"]), 2);
    code(&ptxlift(&["test", "--engine", "magic", "tests"]), 2);
}

#[test]
fn vectors_side_by_side() {
    let file = "tests/corpus/keccak256/launch.toml";
    for options in [
        &["--interleave", "2"][..],
        &["--interleave", "4", "--width", "4"],
        &["--interleave", "8", "--width", "32"],
    ] {
        code(&ptxlift(&[&["run", file], options].concat()), 0);
    }
    let asm = |options: &[&str]| {
        let output = ptxlift(
            &[
                &["dump", "--stage", "asm", "tests/kernels/vecadd/kernel.ptx"],
                options,
            ]
            .concat(),
        );
        code(&output, 0);
        stdout(&output)
    };
    assert_eq!(asm(&["--interleave", "4"]), asm(&["--width", "16"]));
    assert_ne!(asm(&["--interleave", "4"]), asm(&["--interleave", "2"]));
    for command in ["run", "test", "bench"] {
        let output = ptxlift(&[command, "--interleave", "2", "--width", "16", file]);
        code(&output, 2);
        let said = stderr(&output);
        assert!(
            said.contains("takes 8 threads together"),
            "{command}: {said}"
        );
    }
    for vectors in ["0", "3", "1073741824", "two"] {
        let output = ptxlift(&["run", "--interleave", vectors, file]);
        code(&output, 2);
        assert!(stderr(&output).contains("it is 1, 2, 4 or 8"));
    }
}

/// 1, 4, 8, 16 and 32.
const WIDTHS: u64 = 5;

#[test]
fn widths() {
    let file = "tests/vectors/bmsk.tsv";
    let cases = |args: &[&str]| {
        let output = ptxlift(&[args, &[file]].concat());
        code(&output, 0);
        let last = stdout(&output).lines().last().map(str::to_string);
        let passed = last.and_then(|l| l.split(' ').next().map(str::to_string));
        passed.and_then(|n| n.parse::<u64>().ok()).expect("a count")
    };
    let native = cases(&["test", "--engine", "jit"]);
    assert!(native > 0);
    for width in ["8", "32", "auto"] {
        assert_eq!(
            cases(&["test", "--engine", "jit", "--width", width]),
            native
        );
    }
    assert_eq!(
        cases(&["test", "--engine", "jit", "--width", "all"]),
        WIDTHS * native
    );
    // The interpreter has no width.
    assert_eq!(
        cases(&["test", "--width", "all"]),
        cases(&["test", "--engine", "interp"]) + WIDTHS * native
    );
    for args in [
        &["test", "--width", "3", file][..],
        &["run", "--width", "all", "x.ptx"],
        &["fuzz", "--width", "x"],
    ] {
        let output = ptxlift(args);
        code(&output, 2);
        assert!(stderr(&output).contains("1, 4, 8"), "{args:?}");
    }
}

/// Where NVIDIA's tools depart from the text: ffffffff + 2 is saturated by the text alone.
#[test]
fn commands_read_in_either_way() {
    let folder = Folder::new();
    let file = folder.file(
        "sum.ptx",
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry sum(.param .u64 to) {\n\
         .reg .b32 %r<2>; .reg .b64 %d;\nld.param.u64 %d, [to];\nmov.u32 %r0, 0xffffffff;\n\
         vadd.u32.u32.u32.sat %r1, %r0, 2;\nst.global.u32 [%d], %r1;\nret;\n}\n",
    );
    for (reading, sum) in [
        (&[][..], "4294967295"),
        (&["--reading", "text"], "4294967295"),
        (&["--reading", "isa"], "4294967295"),
        (&["--reading", "nvidia"], "1"),
    ] {
        let args = [
            "run",
            "--engine",
            "both",
            &file,
            "--arg",
            "u32[1]:zeros",
            "--print",
            "0",
        ];
        let output = ptxlift(&[&args[..], reading].concat());
        code(&output, 0);
        let text = stdout(&output);
        assert!(
            text.lines()
                .any(|l| l.split_whitespace().last() == Some(sum)),
            "{text}"
        );
        let statement = ["vadd.u32.u32.u32.sat %d, %a, %b", "0xffffffff", "2"];
        let output = ptxlift(&[&["eval"][..], reading, &statement].concat());
        code(&output, 0);
        let shown = format!("  {sum}  ");
        assert_eq!(
            stdout(&output).matches(&shown).count(),
            2,
            "{}",
            stdout(&output)
        );
        let args = ["bench", &file, "--arg", "u32[1]:zeros", "--time", "0"];
        code(&ptxlift(&[&args[..], reading].concat()), 0);
        for stage in ["ir", "clif"] {
            let output = ptxlift(&[&["dump", "--stage", stage, &file][..], reading].concat());
            code(&output, 0);
            let nvidia = reading.contains(&"nvidia");
            if stage == "ir" {
                assert_eq!(
                    stdout(&output).contains("Nvidia"),
                    nvidia,
                    "{}",
                    stdout(&output)
                );
            } else {
                // The upper limit.
                let clamps = stdout(&output).contains("smin");
                assert_eq!(clamps, !nvidia, "{}", stdout(&output));
            }
        }
    }
    for args in [["fuzz", "--programs", "3"], ["run", "--kernel", "k"]] {
        let output = ptxlift(&[&args[..], &["--reading", "amd"]].concat());
        code(&output, 2);
        assert!(stderr(&output).contains("nvidia"), "{}", stderr(&output));
    }
    for reading in ["text", "nvidia"] {
        code(
            &ptxlift(&[
                "fuzz",
                "--programs",
                "5",
                "--seed",
                "1",
                "--reading",
                reading,
            ]),
            0,
        );
    }
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

#[test]
fn numbers_say_what_they_may_be() {
    for (args, said) in [
        (
            &["run", "--repeat", "0", "x.ptx"][..],
            "invalid value '0' for '--repeat <N>': a whole number from 1 to 4294967295 is wanted",
        ),
        (
            &["run", "--print", "x", "x.ptx"],
            "invalid value 'x' for '--print <N>': the number of a parameter is wanted, counted from 0",
        ),
        (
            &["run", "--out", "x=out.bin", "x.ptx"],
            "invalid value 'x=out.bin' for '--out <N=FILE>': the number of a parameter is wanted",
        ),
        (
            &["run", "--threads", "-1", "x.ptx"],
            "unexpected argument '-1' found",
        ),
        (
            &["run", "--timeout", "soon", "x.ptx"],
            "a number of seconds is wanted, such as 10 or 0.5",
        ),
        (
            &["run", "--timeout=-1", "x.ptx"],
            "a time limit is neither negative nor endless; 0 means none",
        ),
        (
            &["run", "--shared", "4k", "x.ptx"],
            "a number of bytes is wanted, such as 4096",
        ),
        (
            &["test", "--jobs", "0", "tests"],
            "a whole number from 1 on is wanted",
        ),
        (
            &["run", "--trace", "--trace-line", "9-3", "x.ptx"],
            "`9-3` ends before it begins",
        ),
    ] {
        let output = ptxlift(args);
        code(&output, 2);
        assert!(
            stderr(&output).contains(said),
            "{args:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn a_file_is_no_command() {
    let output = ptxlift(&["Cargo.toml"]);
    code(&output, 2);
    let hint =
        "hint: a command comes first: `ptxlift run Cargo.toml`, `ptxlift check Cargo.toml`\n";
    assert!(stderr(&output).ends_with(hint), "{}", stderr(&output));
}

#[test]
fn colours_only_where_they_are_wanted() {
    let colour = |args: &[&str], variables: &[(&str, &str)]| {
        let output = Command::new(env!("CARGO_BIN_EXE_ptxlift"))
            .args(args)
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .envs(variables.iter().copied())
            .output()
            .expect("the command starts");
        let escapes = |bytes: &[u8]| bytes.contains(&0x1b);
        (escapes(&output.stdout), escapes(&output.stderr))
    };
    // Neither stream is a terminal here.
    assert_eq!(colour(&["isa", "bfe"], &[]), (false, false));
    assert_eq!(
        colour(&["isa", "bfe"], &[("CLICOLOR_FORCE", "1")]),
        (true, false)
    );
    let both = [("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")];
    assert_eq!(colour(&["isa", "bfe"], &both), (false, false));
    assert_eq!(
        colour(&["--color", "always", "isa", "bfe"], &both),
        (true, false)
    );
    assert_eq!(
        colour(&["isa", "bfx", "--color=always"], &[]),
        (false, true)
    );
    // What clap says, too.
    assert_eq!(colour(&["--color=always", "--help"], &[]), (true, false));
    assert_eq!(
        colour(&["--color=always", "frobnicate"], &[]),
        (false, true)
    );
    assert_eq!(colour(&["frobnicate"], &[]), (false, false));
    code(&ptxlift(&["--color", "sometimes", "isa"]), 2);
}

#[test]
fn completions_are_scripts_of_their_shells() {
    for (shell, line) in [
        ("bash", "complete -F _ptxlift"),
        ("zsh", "#compdef ptxlift"),
        ("fish", "complete -c ptxlift"),
        ("elvish", "edit:completion:arg-completer[ptxlift]"),
        (
            "powershell",
            "Register-ArgumentCompleter -Native -CommandName 'ptxlift'",
        ),
    ] {
        let output = ptxlift(&["completions", shell]);
        code(&output, 0);
        let script = stdout(&output);
        for part in [line, "trace-thread", "engine"] {
            assert!(script.contains(part), "{part} in {shell}");
        }
    }
    code(&ptxlift(&["completions", "csh"]), 2);
    let folder = Folder::new();
    let script = folder.file("ptxlift.bash", stdout(&ptxlift(&["completions", "bash"])));
    if let Ok(checked) = Command::new("bash").args(["-n", &script]).output() {
        code(&checked, 0);
        assert_eq!(stderr(&checked), "");
        // What `ptxlift che<TAB>` gives.
        let ask = format!(
            "source {script}; COMP_WORDS=(ptxlift che); COMP_CWORD=1; _ptxlift ptxlift che ptxlift; echo \"${{COMPREPLY[@]}}\""
        );
        let answer = Command::new("bash").args(["-c", &ask]).output();
        assert_eq!(stdout(&answer.expect("bash was here")), "check\n");
    }
}

#[test]
fn a_manual_page_for_each_command() {
    let output = ptxlift(&["man"]);
    code(&output, 0);
    let page = stdout(&output);
    let title = page
        .lines()
        .find(|line| !line.starts_with(".ie") && !line.starts_with(".el"));
    assert!(
        title.is_some_and(|l| l.starts_with(".TH ptxlift 1")),
        "{title:?}"
    );
    assert!(page.contains("Exit codes"));
    let folder = Folder::new();
    let pages = folder.path("man/man1");
    code(&ptxlift(&["man", &pages]), 0);
    for (name, part) in [
        ("ptxlift.1", ".SH SUBCOMMANDS"),
        ("ptxlift-run.1", "trace"),
        ("ptxlift-check.1", "json"),
        ("ptxlift-eval.1", "STATEMENT"),
        ("ptxlift-isa.1", ".SH EXAMPLES\n.nf\n  ptxlift isa\n"),
    ] {
        let page = std::fs::read_to_string(Path::new(&pages).join(name)).expect(name);
        assert!(
            page.contains(".TH ") && page.contains(part),
            "{part} in {name}"
        );
    }
    let file = folder.file("file", "");
    code(&ptxlift(&["man", &file]), 1);
}
