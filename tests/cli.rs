//! The `ptxlift` command: what it prints, where, and with which exit code.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

fn ptxlift(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ptxlift"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()
        .expect("the command starts")
}

fn ptxlift_with_input(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ptxlift"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input).expect("it reads its input");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

#[track_caller]
fn code(output: &Output, expected: i32) {
    assert_eq!(
        output.status.code(),
        Some(expected),
        "standard output:\n{}\nstandard error:\n{}",
        stdout(output),
        stderr(output)
    );
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder that is removed with the value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "ptxlift-cli-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, contents).expect("a temporary file");
        path
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// `out[i] = in[i] + n` for each thread; a kernel that traps; one that needs a barrier; one without end.
const KERNELS: &str = r#".version 8.0
.target sm_80
.address_size 64

.visible .entry add_n(.param .u64 out, .param .u64 in, .param .u32 n)
{
    .reg .b64 %p, %q, %i;
    .reg .b32 %r<4>;
    ld.param.u64 %p, [out];
    ld.param.u64 %q, [in];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %i, %r1, 4;
    add.u64 %p, %p, %i;
    add.u64 %q, %q, %i;
    ld.global.u32 %r2, [%q];
    add.u32 %r3, %r2, %r0;
    st.global.u32 [%p], %r3;
    ret;
}

.visible .entry traps()
{
    trap;
}

.visible .entry meets()
{
    bar.sync 0;
    ret;
}

.visible .entry endless()
{
LOOP:
    bra LOOP;
}
"#;

const DESCRIPTION: &str = r#"format = 1
name = "add"
modules = ["kernels.ptx"]
entry = "add_n"
grid = [1, 1, 1]
block = [4, 1, 1]
expect = "ok"

[[param]]
name = "out"
kind = "buffer"
type = "u32"
count = 4
init = "zeros"
output = true
tol = "exact"
expected = "expected.bin"

[[param]]
name = "in"
kind = "buffer"
type = "u32"
count = 4
init = "iota start=10 step=1"

[[param]]
name = "n"
kind = "scalar"
type = "u32"
bits = "0x00000005"
"#;

fn words(list: &[u32]) -> Vec<u8> {
    list.iter().flat_map(|w| w.to_le_bytes()).collect()
}

mod usage {
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
}

mod test {
    use super::*;

    const ROWS: &str = "popc.b32 %d, %a\t00000007\t00000003\tfold\n\
                        popc.b32 %d, %a\tffffffff\t00000020\tfold\n\
                        clz.b32 %d, %a\t00000001\t0000001f\tfold\n";

    #[test]
    fn rows_that_pass() {
        let folder = Folder::new();
        folder.file("bits.tsv", ROWS);
        let output = ptxlift(&["test", &folder.path("")]);
        code(&output, 0);
        let text = stdout(&output);
        let popc = text.lines().find(|l| l.starts_with("popc"));
        let popc: Vec<&str> = popc.expect("a row").split_whitespace().collect();
        assert_eq!(popc, ["popc", "4", "0", "0"]);
        assert!(
            text.ends_with("\n6 passed, 0 failed, 0 skipped\n"),
            "{text}"
        );
        let output = ptxlift(&[
            "test",
            "--engine",
            "interp",
            "--threads",
            "1",
            &folder.path(""),
        ]);
        code(&output, 0);
        assert!(stdout(&output).ends_with("\n3 passed, 0 failed, 0 skipped\n"));
    }

    #[test]
    fn a_row_that_fails_names_file_line_engine_and_values() {
        let folder = Folder::new();
        let file = folder.file(
            "bits.tsv",
            "# wrong on purpose\npopc.b32 %d, %a\t00000007\t00000004\tfold\n",
        );
        let output = ptxlift(&["test", "--engine", "jit", &file]);
        code(&output, 1);
        let text = stdout(&output);
        let line = text.lines().next().expect("a line");
        for part in [
            "bits.tsv:2:",
            "[jit]",
            "popc.b32 %d, %a",
            "expected 00000004",
            "got 00000003",
        ] {
            assert!(line.contains(part), "{part} in {line}");
        }
        assert!(
            text.ends_with("\n0 passed, 1 failed, 0 skipped\n"),
            "{text}"
        );
    }

    #[test]
    fn literals_are_tried_too() {
        // The register form is right for any count; only the literal form shows the wrong expectation's spelling.
        let folder = Folder::new();
        let file = folder.file(
            "t.tsv",
            "add.u32 %d, %a, %b\t00000001 00000002\t00000003\tfold\n",
        );
        let output = ptxlift(&["test", &file]);
        code(&output, 0);
        let file = folder.file(
            "bad.tsv",
            "bfe.b32 %d, %a, %b, %c\t00000001 00000002 00000003\t00000003\tfold\n",
        );
        let output = ptxlift(&["test", &file]);
        code(&output, 1);
        assert!(stdout(&output).contains("refused"), "{}", stdout(&output));
    }

    #[test]
    fn filters_strictness_and_json() {
        let folder = Folder::new();
        let rows = format!("{ROWS}add.rn.f32 %d, %a, %b\t3f800000 3f800000\t40000000\tfold\n");
        let file = folder.file("t.tsv", rows);
        let output = ptxlift(&["test", "--filter", "clz", &file]);
        assert!(stdout(&output).ends_with("\n2 passed, 0 failed, 0 skipped\n"));
        let output = ptxlift(&["test", "--filter", ":4:", &file]);
        assert!(stdout(&output).ends_with("0 passed, 0 failed, 2 skipped\n"));
        assert!(stdout(&output).contains("skipped for floating point: 2 cases"));
        let output = ptxlift(&["test", "--strict", &file]);
        code(&output, 1);
        assert!(stdout(&output).ends_with("\n6 passed, 2 failed, 0 skipped\n"));
        code(&ptxlift(&["test", "--filter", "(", &file]), 2);

        let output = ptxlift(&["test", "--json", "--jobs", "1", &file]);
        code(&output, 0);
        let cases: Vec<serde_json::Value> = stdout(&output)
            .lines()
            .map(|l| serde_json::from_str(l).expect("one object a line"))
            .collect();
        assert_eq!(cases.len(), 8);
        let count = |outcome: &str| cases.iter().filter(|c| c["outcome"] == outcome).count();
        assert_eq!((count("passed"), count("skipped")), (6, 2));
        assert!(
            cases
                .iter()
                .all(|c| c["file"].is_string() && c["line"].is_u64())
        );
        assert!(stderr(&output).ends_with("\n6 passed, 0 failed, 2 skipped\n"));
    }

    #[test]
    fn acceptance_tables() {
        let folder = Folder::new();
        folder.file(
            "statements.tsv",
            "# statement\taccept|reject\n\
             add.u32 %r0, %r1, %r2;\taccept\n\
             add.u33 %r0, %r1, %r2;\treject\n\
             ld.shared.u32 %r0, [s];\taccept\tmodule:.shared .b32 s;\n\
             mov.b8 %b0, %b1;\treject\tbody:.reg .b8 %b<2>;\n\
             add.rn.f32 %r0, %r1, %r2;\taccept\n",
        );
        folder.file(
            "versions.tsv",
            "# versions\nshf.l.wrap.b32 %r0, %r1, %r2, %r3;\t3.1\tsm_32\t\n",
        );
        folder.file(
            "modules.tsv",
            "# module\n.version 8.0\\n.target sm_80\\n.entry k() { ret; }\taccept\n\
             .target sm_80\\n.entry k() { ret; }\treject\tno .version\n",
        );
        let output = ptxlift(&["test", &folder.path("")]);
        code(&output, 0);
        let text = stdout(&output);
        assert!(
            text.ends_with("\n7 passed, 0 failed, 1 skipped\n"),
            "{text}"
        );
        let wrong = folder.file(
            "wrong.tsv",
            "# statement\nadd.u32 %r0, %r1;\taccept\nret;\treject\n",
        );
        let output = ptxlift(&["test", &wrong]);
        code(&output, 1);
        assert!(stdout(&output).ends_with("\n0 passed, 2 failed, 0 skipped\n"));
    }

    #[test]
    fn launches_and_functions() {
        let folder = Folder::new();
        folder.file("kernels.ptx", KERNELS);
        folder.file("launch.toml", DESCRIPTION);
        folder.file("expected.bin", words(&[15, 16, 17, 18]));
        let case = format!(
            "//@ entry add_n\n//@ block 4 1 1\n//@ arg out ptr u32[4] init all deadbeef\n\
             //@ arg in ptr u32[4] init 1 2 3 4\n//@ arg n val u32 10\n//@ expect out 11 12 13 14\n\
             //@ entry traps\n//@ expect-fault trap\n\
             //@ entry endless\n//@ expect-fault time limit\n\
             //@ entry meets\n//@ expect-fault deadlock\n{KERNELS}"
        );
        folder.file("case.ptx", case);
        folder.file(
            "function.ptx",
            ".version 8.0\n.target sm_80\n.address_size 64\n\
             .visible .func (.param .b32 r) twice(.param .b32 a)\n{\n.reg .b32 %r;\nld.param.b32 %r, [a];\n\
             add.u32 %r, %r, %r;\nst.param.b32 [r], %r;\nret;\n}\n// run: %twice(21) == 0x2a\n// run: %twice(-1) == -2\n",
        );
        let output = ptxlift(&["test", &folder.path("")]);
        code(&output, 0);
        let text = stdout(&output);
        // In each engine: a description, three launches and a skipped one, two calls.
        assert!(
            text.ends_with("\n12 passed, 0 failed, 2 skipped\n"),
            "{text}"
        );
        assert!(text.contains("skipped for barriers: 2 cases"), "{text}");
        folder.file("expected.bin", words(&[15, 16, 17, 19]));
        let output = ptxlift(&["test", &folder.path("launch.toml")]);
        code(&output, 1);
        let text = stdout(&output);
        assert!(
            text.contains("expected out[3] = 00000013 (19); got 00000012 (18)"),
            "{text}"
        );
    }

    #[test]
    fn expected_refusals() {
        let folder = Folder::new();
        let case = |text: &str| {
            format!(
                "//@ entry k\n//@ expect-error {text}\n.version 8.0\n.target sm_80\n.entry k() {{ frobnicate; }}\n"
            )
        };
        let file = folder.file("right.ptx", case("frobnicate"));
        code(&ptxlift(&["test", &file]), 0);
        let file = folder.file("wrong.ptx", case("flibber"));
        code(&ptxlift(&["test", &file]), 1);
    }

    #[test]
    fn paths_that_give_nothing_are_errors() {
        let folder = Folder::new();
        let output = ptxlift(&["test", &folder.path("absent")]);
        code(&output, 1);
        assert!(stderr(&output).contains("absent"));
        folder.file("plain.ptx", KERNELS);
        let output = ptxlift(&["test", &folder.path("")]);
        code(&output, 1);
        assert!(stderr(&output).contains("no test cases"));
    }
}

mod check {
    use super::*;

    #[test]
    fn resources_of_kernels() {
        let folder = Folder::new();
        let text = KERNELS.replace("bar.sync 0;", "");
        let file = folder.file("kernels.ptx", text);
        let output = ptxlift(&["check", &file]);
        code(&output, 0);
        let text = stdout(&output);
        assert!(
            text.contains("kernels.ptx:5: kernel add_n(.u64 out, .u64 in, .u32 n)"),
            "{text}"
        );
        assert!(
            text.contains("registers: 0 pred, 0 b8, 0 b16, 4 b32, 3 b64"),
            "{text}"
        );
        assert!(text.contains("shared: 0 bytes, local: 0 bytes"), "{text}");
    }

    #[test]
    fn all_errors_with_their_lines() {
        let folder = Folder::new();
        let file = folder.file(
            "bad.ptx",
            ".version 8.0\n.target sm_80\n.entry k()\n{\n.reg .b32 %r<2>;\nfrobnicate %r0;\nadd.u32 %r0, %r1, %r7;\nret;\n}\n",
        );
        let output = ptxlift(&["check", &file]);
        code(&output, 1);
        let text = stderr(&output);
        for part in ["frobnicate", "%r7", "bad.ptx:6", "bad.ptx:7"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(stdout(&output), "");
        let output = ptxlift(&["check", "--json", &file]);
        code(&output, 1);
        let report: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("an object");
        assert_eq!(report["errors"][0]["line"], 6);
        assert_eq!(report["errors"][1]["line"], 7);
    }

    #[test]
    fn unsupported_instructions_with_their_lines() {
        let folder = Folder::new();
        let file = folder.file("kernels.ptx", KERNELS);
        let output = ptxlift(&["check", &file]);
        code(&output, 4);
        assert!(stdout(&output).contains("line 29: `bar.sync` is not supported (barriers)"));
        let output = ptxlift(&["check", "--json", &file]);
        code(&output, 4);
        let report: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("an object");
        assert_eq!(report["functions"][2]["unsupported"][0]["line"], 29);
        assert_eq!(report["functions"][0]["registers"]["b64"], 3);
    }

    #[test]
    fn standard_input_and_files_that_are_no_text() {
        let output = ptxlift_with_input(
            &["check", "-"],
            b".version 8.0\n.target sm_80\n.entry k() { ret; }\n",
        );
        code(&output, 0);
        assert!(stdout(&output).contains("<stdin>:3: kernel k()"));
        let output = ptxlift_with_input(&["check", "-"], b".version 8.0\n\xff\xfe\n");
        code(&output, 1);
        assert!(stderr(&output).contains("not UTF-8 from byte 13 on, in line 2"));
        let output = ptxlift(&["check", "no-such-file.ptx"]);
        code(&output, 1);
        assert!(stderr(&output).contains("no-such-file.ptx"));
    }
}

mod run {
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
            (&["--kernel", "traps", "--print", "0"], 2, "no buffer"),
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
            [
                "(0,0,0) (2,0,0) 17: add.u32 %r3, %r2, %r0 | %r2=00000003 %r0=00000010 -> %r3=00000013"
            ]
        );
    }
}

mod eval {
    use super::*;

    #[test]
    fn both_engines_in_four_notations() {
        let output = ptxlift(&[
            "eval",
            "shf.l.wrap.b32 %d, %a, %b, %c",
            "0x1",
            "0x80000000",
            "3",
        ]);
        code(&output, 0);
        let text = stdout(&output);
        let zeros = "0b00000000_00000000_00000000_00000000";
        assert!(
            text.contains(&format!("interp  %d = 0x00000000  0  0  {zeros}")),
            "{text}"
        );
        assert!(
            text.contains(&format!("jit     %d = 0x00000000  0  0  {zeros}")),
            "{text}"
        );
    }

    #[test]
    fn widths_follow_from_the_statement() {
        for (args, result) in [
            (
                &["mul.wide.s32 %d, %a, %b", "-2", "3"][..],
                "0xfffffffffffffffa  18446744073709551610  -6",
            ),
            (
                &["add.s16 %d, %a, %b", "32767", "1"],
                "0x8000  32768  -32768",
            ),
            (&["shr.s64 %d, %a, %b", "-16", "2"], "0xfffffffffffffffc"),
            (&["setp.lt.s32 %p, %a, %b", "-1", "0"], "0x00000001  1  1"),
            (
                &[
                    "add.cc.u32 %d, %a, %b; addc.u32 %f, 0, 0",
                    "0xffffffff",
                    "1",
                ],
                "%f = 0x00000001",
            ),
        ] {
            let mut all = vec!["eval"];
            all.extend(args);
            let output = ptxlift(&all);
            code(&output, 0);
            assert!(
                stdout(&output).contains(result),
                "{args:?}: {}",
                stdout(&output)
            );
        }
    }

    #[test]
    fn mistakes() {
        let output = ptxlift(&["eval", "bfe.b32 %d, %a, %b, %c", "1", "2", "3"]);
        code(&output, 1);
        assert!(stderr(&output).contains("b32"), "{}", stderr(&output));
        code(&ptxlift(&["eval", "add.rn.f32 %d, %a, %b", "1", "2"]), 4);
        code(&ptxlift(&["eval", "popc.b32 %d, %a"]), 2);
        code(&ptxlift(&["eval", "popc.b32 %d, %a", "many"]), 2);
        code(&ptxlift(&["eval", "bar.sync 0"]), 2);
    }
}

mod dump {
    use super::*;

    #[test]
    fn stages_with_the_text_as_comments() {
        let folder = Folder::new();
        let file = folder.file("kernels.ptx", KERNELS);
        for stage in ["ast", "ir"] {
            let output = ptxlift(&["dump", "--stage", stage, &file, "--kernel", "add_n"]);
            code(&output, 0);
            let text = stdout(&output);
            assert!(text.contains("add.u32 %r3, %r2, %r0"), "{stage}: {text}");
            assert!(!text.contains("traps"), "{stage}: {text}");
        }
        code(
            &ptxlift(&["dump", "--stage", "ast", &file, "--kernel", "nobody"]),
            2,
        );
        code(&ptxlift(&["dump", "--stage", "soup", &file]), 2);
        let bad = folder.file(
            "bad.ptx",
            ".version 8.0\n.target sm_80\n.entry k() { add; }\n",
        );
        code(&ptxlift(&["dump", "--stage", "ir", &bad]), 1);
    }
}

mod isa {
    use super::*;

    #[test]
    fn families_and_forms() {
        let output = ptxlift(&["isa"]);
        code(&output, 0);
        let text = stdout(&output);
        for word in ["bfe", "vset4", "madc", "floating point", "not built yet"] {
            assert!(text.contains(word), "{word} in {text}");
        }
        let output = ptxlift(&["isa", "bfe"]);
        code(&output, 0);
        let text = stdout(&output);
        for word in [
            "u64",
            "2.0",
            "sm_20",
            "v_bfe_u32",
            "v_bfe_i32",
            "s_bfe_u32",
            "native",
        ] {
            assert!(text.contains(word), "{word} in {text}");
        }
        assert!(stdout(&ptxlift(&["isa", "shf"])).contains("v_alignbit_b32"));
        let output = ptxlift(&["isa", "bfx"]);
        code(&output, 2);
        assert!(stderr(&output).contains("bfe"), "{}", stderr(&output));
    }
}
