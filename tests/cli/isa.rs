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
