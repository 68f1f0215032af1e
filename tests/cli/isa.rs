//! `ptxlift isa`

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

#[test]
fn both_readings_where_they_differ() {
    for (name, words) in [
        ("vset", "--reading nvidia: .min, .max"),
        ("vadd", "--reading nvidia: saturated .u32"),
        ("vshl", "--reading nvidia: saturation looks at two bits"),
        ("vmad", "--reading nvidia: whole words and c are signed"),
        ("bfe", "--reading nvidia: 64-bit types"),
        ("bfi", "--reading nvidia: 64-bit types"),
        ("fns", "--reading nvidia: an offset of 80000000"),
        ("cvt", "--reading nvidia: .rm, .rp: .ftz is ignored"),
    ] {
        let text = stdout(&ptxlift(&["isa", name]));
        assert!(text.contains(words), "{words} in {text}");
    }
    assert!(!stdout(&ptxlift(&["isa", "add"])).contains("nvidia"));
}

#[test]
fn lines_are_no_longer_than_a_page_is_wide() {
    for name in ["ld", "st", "cvt", "vmad", "prefetch"] {
        let output = ptxlift(&["isa", name]);
        code(&output, 0);
        let longest = stdout(&output).lines().map(|l| l.chars().count()).max();
        assert!(longest <= Some(100), "{name}: {longest:?}");
    }
    code(&ptxlift(&["isa"]), 0);
}

#[test]
fn only_near_words_are_guessed_at() {
    let said = |name| {
        let output = ptxlift(&["isa", name]);
        code(&output, 2);
        stderr(&output)
    };
    assert!(said("bfx").contains("did you mean `bfe`?"));
    assert!(said("mvo").contains("did you mean `mov`?"));
    for name in ["foo", "frobnicate", "x"] {
        assert!(!said(name).contains("did you mean"), "{}", said(name));
    }
    let output = ptxlift_with_input(
        &["check", "-"],
        b".version 8.0\n.target sm_80\n.entry k() { foo; ret; }\n",
    );
    code(&output, 1);
    assert!(
        !stderr(&output).contains("did you mean"),
        "{}",
        stderr(&output)
    );
}
