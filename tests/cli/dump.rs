//! `ptxlift dump`

use super::*;

#[test]
fn stages_with_the_text_as_comments() {
    let folder = Folder::new();
    let file = folder.file("kernels.ptx", KERNELS);
    for stage in ["ast", "ir", "clif", "asm"] {
        let output = ptxlift(&["dump", "--stage", stage, &file, "--kernel", "add_n"]);
        code(&output, 0);
        let text = stdout(&output);
        for statement in ["ld.param.u64 %p, [out]", "add.u32 %r3, %r2, %r0"] {
            assert!(text.contains(statement), "{stage}: {text}");
        }
        assert!(!text.contains("traps"), "{stage}: {text}");
    }
    code(
        &ptxlift(&["dump", "--stage", "ast", &file, "--kernel", "nobody"]),
        2,
    );
    for stage in ["plan", "optimized", "vcode"] {
        let output = ptxlift(&["dump", "--stage", stage, &file, "--kernel", "add_n"]);
        code(&output, 0);
        assert!(stdout(&output).contains("add_n"), "{stage}");
    }
    code(&ptxlift(&["dump", "--stage", "soup", &file]), 2);
    let bad = folder.file(
        "bad.ptx",
        ".version 8.0\n.target sm_80\n.entry k() { add; }\n",
    );
    code(&ptxlift(&["dump", "--stage", "ir", &bad]), 1);
    let lacking = folder.file(
        "lacking.ptx",
        ".version 8.0\n.target sm_80\n.entry k() { wgmma.fence.sync.aligned; ret; }\n",
    );
    let args = ["dump", "--stage", "asm", &lacking];
    code(&ptxlift(&args), 0);
    code(&ptxlift(&[&args[..], &["--kernel", "k"]].concat()), 4);
}
