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
            "cannot be chosen",
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
        (&["--kernel", "meets"], 4, "wgmma.fence"),
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

#[test]
fn mistakes_come_with_what_would_work() {
    let folder = Folder::new();
    let file = folder.file("kernels.ptx", KERNELS);
    let run = |args: &[&str]| ptxlift(&[&["run", file.as_str()], args].concat());
    let said = |args: &[&str]| {
        let output = run(args);
        code(&output, 2);
        stderr(&output)
    };
    // Several kernels, none of them named.
    let text = said(&[]);
    for part in [
        "kernels.ptx has 4 kernels; `--kernel` says which is launched\n  add_n(.u64 out, .u64 in, .u32 n)\n  traps()\n",
        "hint: for example `--kernel add_n`",
    ] {
        assert!(text.contains(part), "{text}");
    }
    // A name near another; one near none.
    assert!(said(&["--kernel", "ad_n"]).contains("did you mean `add_n`?"));
    let text = said(&["--kernel", "sha256"]);
    assert!(
        text.contains("it has `add_n`, `traps`, `meets`, `endless`"),
        "{text}"
    );
    assert!(!text.contains("did you mean"), "{text}");
    // Too few arguments: the example keeps those that fit, and works.
    let text = said(&["--kernel", "add_n", "--block", "4", "--arg", "u32[8]:zeros"]);
    assert!(
        text.contains(
            "kernel `add_n` wants 3 arguments, 1 is given\n  add_n(.u64 out, .u64 in, .u32 n)\n"
        ),
        "{text}"
    );
    assert!(
        text.contains("--block 4,1,1 --arg 'u32[8]:zeros' --arg 'u32[256]:zeros' --arg u32:1\n"),
        "{text}"
    );
    works(&text, "for example: ");
    let text = said(&["--kernel", "add_n"]);
    assert!(text.contains("wants 3 arguments, none is given"), "{text}");
    works(&text, "for example: ");
    // The wrong order.
    let text = said(&[
        "--kernel",
        "add_n",
        "--arg",
        "u32:7",
        "--arg",
        "u32[4]:zeros",
        "--arg",
        "u32[4]:iota start=0 step=1",
    ]);
    let part = "in another order they fit: ptxlift run";
    assert!(text.contains(part), "{text}");
    assert!(
        text.contains("--arg 'u32[4]:zeros' --arg 'u32[4]:iota start=0 step=1' --arg u32:7\n"),
        "{text}"
    );
    works(&text, "in another order they fit: ");
    // A parameter that is no buffer.
    let text = said(&[
        "--kernel",
        "add_n",
        "--print",
        "2",
        "--arg",
        "u32[4]:zeros",
        "--arg",
        "u32[4]:zeros",
        "--arg",
        "u32:1",
    ]);
    assert!(
        text.contains("parameter 2 is not a buffer; the kernel is given 3 arguments, counted from 0, and numbers 0, 1 are buffers"),
        "{text}"
    );
}

#[test]
fn bits_of_another_kind_of_number_are_told() {
    let folder = Folder::new();
    let file = folder.file(
        "k.ptx",
        ".version 8.0\n.target sm_80\n.entry k(.param .f32 x, .param .b32 y, .param .u32 z) { ret; }\n",
    );
    let run = |x, y, z| {
        let output = ptxlift(&["run", &file, "--arg", x, "--arg", y, "--arg", z]);
        code(&output, 0);
        stderr(&output)
    };
    assert_eq!(run("f32:1", "f32:1", "u32:1"), "");
    assert_eq!(run("f32:1", "u32:1", "i32:1"), "");
    assert_eq!(
        run("u32:1", "u32:1", "f32:1"),
        "warning: parameter `.f32 x` is given the bits of `u32:1`\n\
         warning: parameter `.u32 z` is given the bits of `f32:1`\n"
    );
}

/// Runs the command line behind some words of a message.
#[track_caller]
fn works(message: &str, words: &str) {
    let line = message.lines().find_map(|line| line.split(words).nth(1));
    let command =
        line.expect("a command line")
            .replacen("ptxlift", env!("CARGO_BIN_EXE_ptxlift"), 1);
    let Ok(output) = Command::new("sh").args(["-c", &command]).output() else {
        return;
    };
    code(&output, 0);
}

#[test]
fn files_that_are_something_else() {
    let folder = Folder::new();
    let mut cubin = b"\x7fELF\x02\x01\x01".to_vec();
    cubin.resize(64, 0);
    cubin[18] = 190;
    let launch = folder.file("launch.toml", DESCRIPTION);
    for (file, contents, said) in [
        (
            "k.cubin",
            &cubin[..],
            &[
                "is machine code of an NVIDIA GPU (a cubin), not PTX",
                "cuobjdump --dump-ptx",
            ][..],
        ),
        (
            "k.fatbin",
            b"\x50\xed\x55\xba\x01\x00\x10\x00",
            &["is a CUDA fat binary", "cuobjdump --dump-ptx"],
        ),
        (
            "k.cu",
            b"__global__ void k(int *p) { *p = 1; }\n",
            &["is CUDA C++ or C++", "nvcc --ptx"],
        ),
        (
            "k.ll",
            b"target triple = \"nvptx64-nvidia-cuda\"\n",
            &["is LLVM IR", "llc -march=nvptx64"],
        ),
        ("k.bc", b"BC\xc0\xde\x35\x14", &["is LLVM bitcode", "llc"]),
        ("empty.ptx", b"", &["is empty, not PTX"]),
        (
            "described.ptx",
            DESCRIPTION.as_bytes(),
            &["is a launch description, not PTX", "*.toml"],
        ),
        (
            "text.toml",
            KERNELS.as_bytes(),
            &["holds PTX, not a launch description", "--kernel"],
        ),
    ] {
        let file = folder.file(file, contents);
        let output = ptxlift(&["run", &file]);
        code(&output, 1);
        for part in said {
            assert!(
                stderr(&output).contains(part),
                "{part} in {}",
                stderr(&output)
            );
        }
    }
    let output = ptxlift(&["check", &launch]);
    code(&output, 1);
    assert!(
        stderr(&output).contains("hint: `ptxlift run "),
        "{}",
        stderr(&output)
    );
    // Names.
    let output = ptxlift(&["run", &folder.path("lunch.toml")]);
    code(&output, 1);
    assert!(
        stderr(&output).contains(&format!("did you mean `{launch}`?")),
        "{}",
        stderr(&output)
    );
    let output = ptxlift(&["check", &folder.path("empty")]);
    assert!(
        stderr(&output).contains("empty.ptx`?"),
        "{}",
        stderr(&output)
    );
    let output = ptxlift(&["run", &folder.path("")]);
    code(&output, 1);
    assert!(
        stderr(&output).contains("is a folder; a file is wanted"),
        "{}",
        stderr(&output)
    );
    assert!(
        stderr(&output).contains("launch.toml`?"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_description_on_standard_input() {
    let input = DESCRIPTION.replace("\"kernels.ptx\"", "\"tests/no.ptx\"");
    let output = ptxlift_with_input(&["run", "-"], input.as_bytes());
    code(&output, 1);
    assert!(
        stderr(&output).contains("expected.bin"),
        "{}",
        stderr(&output)
    );
    let input = "format = 1\nmodules = [\"tests/corpus/keccak256/nvcc.ptx\"]\nentry = \"none\"\ngrid = [1, 1, 1]\nblock = [1, 1, 1]\n";
    let output = ptxlift_with_input(&["run", "-"], input.as_bytes());
    assert!(
        stderr(&output).contains("no kernel `none`") || stderr(&output).contains("no such file"),
        "{}",
        stderr(&output)
    );
    let output = ptxlift_with_input(&["run", "-", "--kernel", "traps"], KERNELS.as_bytes());
    code(&output, 3);
    assert!(
        stderr(&output).contains("<stdin>:24:"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn statistics_stage_by_stage() {
    let folder = Folder::new();
    let file = folder.file("kernels.ptx", KERNELS);
    let run = |engine| {
        let output = ptxlift(&[
            "run",
            &file,
            "--kernel",
            "add_n",
            "--block",
            "4",
            "--engine",
            engine,
            "--stats",
            "--arg",
            "u32[4]:zeros",
            "--arg",
            "u32[4]:zeros",
            "--arg",
            "u32:1",
        ]);
        code(&output, 0);
        stdout(&output)
    };
    let has = |text: &str, words: &[&str]| {
        text.lines().any(|line| {
            let found: Vec<&str> = line.split_whitespace().collect();
            found.starts_with(words)
        })
    };
    let text = run("jit");
    for stage in ["parse", "check", "plan", "lower", "cranelift", "link"] {
        assert!(has(&text, &[stage]), "{stage} in {text}");
    }
    for part in [
        "kernel: 11 instructions in 1 basic block; registers: 0 pred, 0 b8, 0 b16, 4 b32, 3 b64; shared: 0 bytes, local: 0 bytes",
        "of machine code",
        "a stack frame of",
        "ns for each of 4 threads",
        "1 block on 1 of 1 worker, at most 1 on one",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let text = run("interp");
    assert!(!has(&text, &["cranelift"]), "{text}");
    assert!(text.contains("44 steps, 11.0 a thread"), "{text}");
    for (mnemonic, count) in [
        ("ld", "16"),
        ("add", "12"),
        ("mov", "4"),
        ("mul", "4"),
        ("st", "4"),
        ("ret", "4"),
    ] {
        assert!(has(&text, &[mnemonic, count]), "{mnemonic} in {text}");
    }
}

#[test]
fn a_trace_follows_calls_branches_and_guards() {
    let folder = Folder::new();
    let file = folder.file(
        "calls.ptx",
        r#".version 8.0
.target sm_80
.address_size 64
.file 1 "calls.cu"
.func (.reg .u32 d) twice(.reg .u32 a)
{
    add.u32 d, a, a;
    ret;
}
.entry k(.param .u64 p)
{
    .reg .pred %q;
    .reg .b32 %r<3>;
    .reg .b64 %rd;
    mov.u32 %r0, %tid.x;
    setp.eq.u32 %q, %r0, 0;
    .loc 1 42 7
    call (%r1), twice, (%r0);
    @%q mov.u32 %r1, 7;
    @%q bra DONE;
    bra.uni DONE;
DONE:
    @!%q ret;
    ld.param.u64 %rd, [p];
    st.global.u32 [%rd+4], %r1;
    ret;
}
"#,
    );
    let run = |more: &[&str]| {
        ptxlift(
            &[
                &[
                    "run",
                    &file,
                    "--kernel",
                    "k",
                    "--block",
                    "3",
                    "--arg",
                    "u32[1]:zeros",
                    "--trace",
                ],
                more,
            ]
            .concat(),
        )
    };
    let output = run(&["--trace-thread", "1-2", "--trace-line", "7-8,19-21"]);
    // Behind the buffer: the store faults.
    code(&output, 3);
    let text = stdout(&output);
    assert!(
        !text.contains("(1,0,0)"),
        "thread 0 faults before the others begin: {text}"
    );
    let output = run(&[]);
    code(&output, 3);
    let text = stdout(&output);
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|l| l.strip_prefix("(0,0,0) (0,0,0) "))
        .collect();
    for line in [
        "15: mov.u32 %r0, %tid.x | -> %r0=00000000",
        "16: setp.eq.u32 %q, %r0, 0 | %r0=00000000 -> %q=1",
        "  7: add.u32 d, a, a | a=00000000 a=00000000 -> d=00000000",
        "  8: ret | -> %r1=00000000 in k",
        "19: @%q mov.u32 %r1, 7 | %q=1 -> %r1=00000007  calls.cu:42",
        "20: @%q bra DONE | %q=1 -> line 23  calls.cu:42",
        "23: @!%q ret | %q=1 -> skipped  calls.cu:42",
    ] {
        assert!(lines.contains(&line), "{line} in {text}");
    }
    let last = lines.last().expect("lines");
    assert!(
        last.starts_with("25: st.global.u32 [%rd+4], %r1 | %rd="),
        "{last}"
    );
    assert!(last.contains(" -> fault"), "{last}");
    assert!(stderr(&output).contains("out of bounds"));
}

#[test]
fn a_trace_is_the_interpreters() {
    let folder = Folder::new();
    let file = folder.file("kernels.ptx", KERNELS);
    let output = ptxlift(&[
        "run", &file, "--kernel", "traps", "--trace", "--engine", "jit",
    ]);
    code(&output, 2);
    for part in [
        "native code cannot be watched",
        "hint: leave out `--engine jit`",
    ] {
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_launch_says_where_it_was() {
    let folder = Folder::new();
    let file = folder.file("kernels.ptx", KERNELS);
    for (engine, json) in [("jit", false), ("interp", true)] {
        let mut args = vec!["run", &file, "--kernel", "endless", "--timeout", "0"];
        args.extend(["--engine", engine]);
        args.extend(json.then_some("--json"));
        let output = interrupted(&args);
        code(&output, 130);
        let text = stderr(&output);
        assert!(
            text.starts_with("interrupted: the launch was cancelled\n"),
            "{text}"
        );
        assert!(text.contains("in `endless`: bra LOOP"), "{text}");
        assert!(text.contains("block (0, 0, 0), thread (0, 0, 0)"), "{text}");
        if json {
            let error: serde_json::Value =
                serde_json::from_str(&stdout(&output)).expect("an object");
            assert_eq!(error["class"], "interrupted");
        }
    }
}

/// `ptxlift run --trace ... | head -1` of a kernel that never ends.
#[test]
fn a_trace_that_nobody_reads_any_more_ends() {
    let folder = Folder::new();
    let file = folder.file("kernels.ptx", KERNELS);
    let mut child = Command::new(env!("CARGO_BIN_EXE_ptxlift"))
        .args([
            "run",
            &file,
            "--kernel",
            "endless",
            "--timeout",
            "0",
            "--trace",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut first = [0; 1];
    let read = child
        .stdout
        .as_mut()
        .map(|pipe| pipe.read_exact(&mut first));
    assert!(matches!(read, Some(Ok(()))));
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    code(&output, 0);
    assert_eq!(stderr(&output), "");
}

/// Control characters in comments and names do not reach the terminal.
#[test]
fn what_is_quoted_of_a_text_does_not_act_on_the_terminal() {
    let folder = Folder::new();
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"\x1b[31mk.cu\"\n\
                .entry k() {\n.reg .b64 %d;\n.loc 1 2 3\nmov.b64 %d, 0;\nst.global.u32 [%d] /* \x1b[31m\x07 */, 5;\n}\n";
    let file = folder.file("k.ptx", text);
    for trace in [None, Some("--trace")] {
        let args: Vec<&str> = ["run", &*file].into_iter().chain(trace).collect();
        let output = ptxlift(&args);
        code(&output, 3);
        let said = stdout(&output) + &stderr(&output);
        assert!(said.contains("[%d] /* \u{fffd}[31m\u{fffd} */"), "{said}");
        assert!(said.contains("\u{fffd}[31mk.cu"), "{said}");
        assert!(!said.contains(['\x1b', '\x07']), "{said}");
    }
}

const PRINTS: &str = "
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .b8 text[4] = {37, 100, 10, 0};
.entry prints()
{
    .local .u32 list;
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    mov.u32 %r0, %tid.x;
    st.local.u32 [list], %r0;
    mov.u64 %rd0, text;
    mov.u64 %rd1, list;
    cvta.local.u64 %rd1, %rd1;
    {
        .param .b64 f;
        .param .b64 a;
        .param .b32 r;
        st.param.b64 [f], %rd0;
        st.param.b64 [a], %rd1;
        call (r), vprintf, (f, a);
        ld.param.b32 %r1, [r];
    }
    ret;
}
";

#[test]
fn what_kernels_print_is_shown() {
    let folder = Folder::new();
    let file = folder.file("prints.ptx", PRINTS);
    let output = ptxlift(&["run", "--block", "3", &file]);
    code(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("\n0\n1\n2\n"), "{text}");
    let output = ptxlift(&["run", "--json", "--block", "3", &file]);
    code(&output, 0);
    let text = stdout(&output);
    assert!(text.contains(r#""printed":"0\n1\n2\n""#), "{text}");
}

#[test]
fn a_fault_is_told_once_when_both_engines_have_run() {
    let folder = Folder::new();
    let file = folder.file("kernels.ptx", KERNELS);
    let said = |engine: &str| {
        let output = ptxlift(&["run", &file, "--kernel", "traps", "--engine", engine]);
        code(&output, 3);
        stderr(&output)
    };
    let both = said("both");
    assert_eq!(
        both.matches("trap").count(),
        said("jit").matches("trap").count()
    );
    assert_eq!(both, said("interp"));
}
