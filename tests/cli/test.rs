//! `ptxlift test`

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
fn rows_that_are_no_statements_spoil_no_others() {
    let folder = Folder::new();
    let rows = "/* %d\t\t00000000\tfold\n} ret; .entry z() { mov.u32 %d, 1\t\t00000001\tfold\n\
                {{{ %d\t\t00000000\tfold\nadd.u32 %d, %a, %b // x\t00000001 00000002\t00000003\tfold\n";
    let file = folder.file("t.tsv", format!("{rows}{ROWS}"));
    let output = ptxlift(&["test", "--engine", "interp", &file]);
    code(&output, 1);
    let text = stdout(&output);
    assert!(
        text.ends_with("\n3 passed, 4 failed, 0 skipped\n"),
        "{text}"
    );
}

#[test]
fn filters_strictness_and_json() {
    let folder = Folder::new();
    let rows =
        format!("{ROWS}movmatrix.sync.aligned.m8n8.trans.b16 %d, %a\t3f800000\t40000000\tfold\n");
    let file = folder.file("t.tsv", rows);
    let output = ptxlift(&["test", "--filter", "clz", &file]);
    assert!(stdout(&output).ends_with("\n2 passed, 0 failed, 0 skipped\n"));
    let output = ptxlift(&["test", "--filter", ":4:", &file]);
    assert!(stdout(&output).ends_with("0 passed, 0 failed, 2 skipped\n"));
    assert!(stdout(&output).contains("skipped for tensor cores: 2 cases"));
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
         movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;\taccept\n",
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
    assert!(text.contains("skipped for tensor cores: 2 cases"), "{text}");
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

#[test]
fn a_filter_that_matches_nothing_is_an_error() {
    let folder = Folder::new();
    let file = folder.file("bits.tsv", ROWS);
    let output = ptxlift(&["test", "--filter", "bfe", &file]);
    code(&output, 2);
    assert!(stdout(&output).ends_with("0 passed, 0 failed, 0 skipped\n"));
    let text = stderr(&output);
    assert!(
        text.contains("`--filter bfe`: no case has such a name"),
        "{text}"
    );
    assert!(text.contains("hint: a name is FILE:LINE: TITLE"), "{text}");
}

#[test]
fn cases_on_standard_input() {
    let sums = |input: &str, exit| {
        let output = ptxlift_with_input(&["test", "-"], input.as_bytes());
        code(&output, exit);
        let text = stdout(&output);
        text.lines().last().unwrap_or_default().to_string()
    };
    assert_eq!(sums(ROWS, 0), "6 passed, 0 failed, 0 skipped");
    let table = "# statement\taccept|reject\nadd.u32 %r0, %r1, %r2;\taccept\n";
    assert_eq!(sums(table, 0), "1 passed, 0 failed, 0 skipped");
    let modules = "# module\n.version 8.0\\n.target sm_80\\n.entry k() { ret; }\taccept\n";
    assert_eq!(sums(modules, 0), "1 passed, 0 failed, 0 skipped");
    let case = format!("//@ entry traps\n//@ expect-fault trap\n{KERNELS}");
    assert_eq!(sums(&case, 0), "2 passed, 0 failed, 0 skipped");
    let description = "format = 1\nmodules = [\"no-such.ptx\"]\nentry = \"k\"\ngrid = [1, 1, 1]\nblock = [1, 1, 1]\n";
    assert_eq!(sums(description, 1), "0 passed, 2 failed, 0 skipped");
    let output = ptxlift_with_input(&["test", "-"], KERNELS.as_bytes());
    code(&output, 1);
    assert!(
        stderr(&output).contains("<stdin>: no test cases"),
        "{}",
        stderr(&output)
    );
}

/// Each lane draws a ticket: which one depends on the schedule.
const TICKETS: &str = "\
//@ entry tickets
//@ grid 1 1 1
//@ block 64 1 1
//@ arg out ptr u32[64] init all 0
//@ expect out 00000000 00000001 00000002 00000003
.version 8.0
.target sm_80
.address_size 64
.global .u32 next;
.entry tickets(.param .u64 out)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x;
    mad.wide.u32 %rd0, %r0, 4, %rd0;
    bar.warp.sync 0xffffffff;
    atom.global.add.u32 %r1, [next], 1;
    st.global.u32 [%rd0], %r1;
    ret;
}
";

#[test]
fn seeds_find_what_depends_on_the_schedule() {
    let folder = Folder::new();
    let file = folder.file("tickets.ptx", TICKETS);
    let output = ptxlift(&["test", "--engine", "interp", "--threads", "1", &file]);
    code(&output, 0);
    let output = ptxlift(&["test", "--engine", "interp", "--seeds", "5", &file]);
    code(&output, 1);
    let text = stdout(&output);
    assert!(text.contains(", with seed "), "{text}");
}

/// A row of a table of differences, and a file that is read in one way whatever the command says.
#[test]
fn readings_of_tables_and_files() {
    let folder = Folder::new();
    folder.file(
        "fns_vs_spec.tsv",
        "fns.b32 %d, %a, %b, %c\t00000100 0000001a 80000000\t00000000\tfold\tffffffff\n",
    );
    folder.file("bits.tsv", ROWS);
    let function = ".version 8.0\n.target sm_80\n.func (.reg .u32 d) f(.reg .u32 a) {\n\
                    fns.b32 d, a, 26, 0x80000000;\nret;\n}\n";
    folder.file(
        "fixed.ptx",
        format!("//@ reading nvidia\n{function}// run: %f(0x100) == 0\n"),
    );
    for reading in ["text", "nvidia"] {
        let output = ptxlift(&["test", "--reading", reading, &folder.path("")]);
        code(&output, 0);
        let text = stdout(&output);
        assert!(
            text.ends_with("\n10 passed, 0 failed, 0 skipped\n"),
            "{text}"
        );
    }
    let open = folder.file("open.ptx", format!("{function}// run: %f(0x100) == 0\n"));
    code(&ptxlift(&["test", "--reading", "nvidia", &open]), 0);
    code(&ptxlift(&["test", &open]), 1);
    let bad = folder.file(
        "bad.ptx",
        format!("//@ reading amd\n{function}// run: %f(1) == 0\n"),
    );
    let output = ptxlift(&["test", &bad]);
    code(&output, 1);
    assert!(
        stdout(&output).contains("text or nvidia"),
        "{}",
        stdout(&output)
    );
}
