//! `ptxlift eval`

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
    code(
        &ptxlift(&["eval", "movmatrix.sync.aligned.m8n8.trans.b16 %d, %a", "1"]),
        4,
    );
    code(&ptxlift(&["eval", "popc.b32 %d, %a"]), 2);
    code(&ptxlift(&["eval", "popc.b32 %d, %a", "many"]), 2);
    let output = ptxlift(&["eval", "popc.b32 %d, %a", "1", "--target", "sm_50"]);
    code(&output, 2);
    assert!(
        stderr(&output).contains("before the statement"),
        "{}",
        stderr(&output)
    );
    code(&ptxlift(&["eval", "membar.gl"]), 2);
}

#[test]
fn errors_point_into_the_statement_as_it_was_typed() {
    let output = ptxlift(&["eval", "  bfe.b32 %d, %a, %b, %c", "1", "2", "3"]);
    code(&output, 1);
    let text = stderr(&output);
    for part in [
        "<statement>:1:6\n",
        "1 │   bfe.b32 %d, %a, %b, %c\n",
        "  │      ^^^^ expected `.u32`, `.s32`, `.u64` or `.s64`",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let output = ptxlift(&["eval", "add.u32 %d, %a, %nothing", "1"]);
    code(&output, 1);
    assert!(
        stderr(&output).contains("<statement>:1:17\n"),
        "{}",
        stderr(&output)
    );
    // A predicate as the only result: behind the statement stands one of ours, which is never shown.
    let output = ptxlift(&["eval", "setp.lt.s33 %p, %a, %b", "1", "2"]);
    code(&output, 1);
    assert!(
        stderr(&output).contains("<statement>:1:8\n"),
        "{}",
        stderr(&output)
    );
    assert!(!stderr(&output).contains("selp"), "{}", stderr(&output));
    for (args, said) in [
        (
            &["eval", "popc.b32 %d, %a"][..],
            "the statement has 1 source (%a), the command line 0 values",
        ),
        (
            &["eval", "popc.b32 %d, %a"],
            "hint: for example: ptxlift eval 'popc.b32 %d, %a' 1",
        ),
        (
            &["eval", "Cargo.toml"],
            "`Cargo.toml` is a file; `eval` wants a statement",
        ),
        (
            &["eval", "--target", "sm_999", "popc.b32 %d, %a", "1"],
            "`--target sm_999`",
        ),
    ] {
        let output = ptxlift(args);
        code(&output, 2);
        assert!(
            stderr(&output).contains(said),
            "{said} in {}",
            stderr(&output)
        );
    }
}
