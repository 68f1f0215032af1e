//! `ptxlift check`

use super::*;

#[test]
fn resources_of_kernels() {
    let folder = Folder::new();
    let text = KERNELS.replace("wgmma.fence.sync.aligned;", "");
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
    assert!(
        stdout(&output)
            .contains("line 29: `wgmma.fence.sync.aligned` is not supported (tensor cores)")
    );
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

#[test]
fn functions_with_parameters_and_results() {
    let output = ptxlift_with_input(
        &["check", "-"],
        b".version 8.0\n.target sm_80\n.func (.reg .u32 d, .reg .u16 e) f(.reg .u64 a, .param .align 4 .b8 v[12]) { ret; }\n",
    );
    code(&output, 0);
    assert!(
        stdout(&output).contains("<stdin>:3: function (.u32 d, .u16 e) f(.u64 a, .b8 v[12])\n"),
        "{}",
        stdout(&output)
    );
}
