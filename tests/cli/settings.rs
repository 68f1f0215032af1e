//! `ptxlift settings` and `--set`

use super::*;

#[test]
fn settings_are_listed_with_their_values() {
    let output = ptxlift(&["settings"]);
    code(&output, 0);
    let text = stdout(&output);
    for part in [
        "opt_level: ",
        "none or speed or speed_and_size, by default speed",
        "regalloc_algorithm: ",
        "enable_pinned_reg: it takes a register",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let output = ptxlift(&["settings", "--json"]);
    code(&output, 0);
    let list = json::objects_of(&output, "setting");
    let find = |name: &str| {
        let found = list.iter().find(|s| s["name"] == name);
        found.unwrap_or_else(|| panic!("{name}")).clone()
    };
    assert_eq!(find("regalloc_algorithm")["default"], "backtracking");
    assert_eq!(find("regalloc_algorithm")["values"][1], "single_pass");
    assert!(find("is_pic")["fixed"].is_string());
}

#[test]
fn every_command_that_makes_code_takes_them() {
    let folder = Folder::new();
    let file = folder.file("kernels.ptx", KERNELS);
    let none = ["--set", "opt_level=none"];
    for command in [
        &["test", "tests/vectors/bmsk.tsv"][..],
        &["run", "tests/corpus/murmur3/launch.toml"],
        &["dump", "--stage", "asm", &file, "--kernel", "add_n"],
    ] {
        code(&ptxlift(&[command, &none].concat()), 0);
        let output = ptxlift(&[command, &["--set", "opt_level=fast"]].concat());
        code(&output, 2);
        let text = stderr(&output);
        assert!(
            text.contains("it is none or speed or speed_and_size"),
            "{text}"
        );
        let output = ptxlift(&[command, &["--set", "is_pic=true"]].concat());
        code(&output, 2);
        assert!(stderr(&output).contains("cannot be chosen"));
    }
    let eval = [
        "eval",
        "--set",
        "regalloc_algorithm=single_pass",
        "popc.b32 %d, %a",
        "7",
    ];
    let output = ptxlift(&eval);
    code(&output, 0);
    assert!(stdout(&output).contains("jit     %d = 0x00000003"));
}

#[test]
fn a_setting_changes_the_code() {
    let folder = Folder::new();
    let file = folder.file("kernels.ptx", KERNELS);
    let dump = |set: &[&str]| {
        let args = ["dump", "--stage", "asm", &file, "--kernel", "add_n"];
        let output = ptxlift(&[&args[..], set].concat());
        code(&output, 0);
        stdout(&output)
    };
    let usual = dump(&[]);
    assert_eq!(usual, dump(&["--set", "opt_level=speed"]));
    assert_ne!(usual, dump(&["--set", "opt_level=none"]));
    assert_ne!(usual, dump(&["--set", "regalloc_algorithm=single_pass"]));
}
