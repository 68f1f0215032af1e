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

#[test]
fn code_for_other_machines() {
    let folder = Folder::new();
    let file = folder.file("kernels.ptx", KERNELS);
    let dump = |stage, more: &[&str]| {
        let args = ["dump", "--stage", stage, &file, "--kernel", "add_n"];
        ptxlift(&[&args, more].concat())
    };
    // What each machine's code alone has.
    for (target, profile, word) in [
        ("aarch64", "Armv8.1-A", "ldp fp, lr"),
        ("aarch64-apple-darwin", "Armv8.1-A", "ldp fp, lr"),
        ("riscv64gc-unknown-linux-gnu", "RVA23", "addi sp,sp,"),
        ("s390x", "z15", "stmg %r"),
        ("x86_64", "x86-64-v3", "%rsp"),
    ] {
        for width in ["1", "4"] {
            let options = ["--target", target, "--width", width];
            let output = dump("vcode", &options);
            code(&output, 0);
            let text = stdout(&output);
            let head = format!("; for {target}, {profile}\n; add_n\n");
            assert!(text.starts_with(&head), "{text}");
            assert!(text.contains(word), "{target}: {text}");
            let output = dump("asm", &options);
            code(&output, 0);
            assert!(
                stdout(&output).contains("add.u32 %r3, %r2, %r0"),
                "{target}"
            );
        }
    }
    // PTX's byte order is not that of every machine; the context's is.
    let clif = |target| stdout(&dump("clif", &["--target", target]));
    let big = clif("s390x");
    let [theirs, own] = [true, false].map(|little| {
        let loads = big.lines().filter(|line| line.contains(" = load."));
        loads
            .filter(|line| line.contains(" little ") == little)
            .count()
    });
    assert!(theirs > 0 && own > 0, "{big}");
    assert!(!clif("aarch64").contains("little"));

    for (target, words) in [
        (
            "aarch46",
            "aarch64, riscv64, s390x, x86_64, each alone or in a triple; did you mean `aarch64`?",
        ),
        ("aarch64_be", "each alone or in a triple"),
        ("riscv32-unknown-linux-gnu", "each alone or in a triple"),
        ("x86_64-unknown-linux-gnux32", "each alone or in a triple\n"),
        ("", "each alone or in a triple"),
    ] {
        let output = dump("asm", &["--target", target]);
        code(&output, 2);
        assert!(
            stderr(&output).contains(words),
            "{target}: {}",
            stderr(&output)
        );
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn features_of_other_machines_are_fixed() {
    let folder = Folder::new();
    let file = folder.file("kernels.ptx", KERNELS);
    let args = ["dump", "--stage", "asm", &file, "--target", "riscv64"];
    let output = ptxlift(&[&args[..], &["--set", "has_sse3=false"]].concat());
    code(&output, 2);
    assert!(
        stderr(&output).contains("riscv64, RVA23"),
        "{}",
        stderr(&output)
    );
    code(
        &ptxlift(&[&args[..], &["--set", "opt_level=none"]].concat()),
        0,
    );
}
