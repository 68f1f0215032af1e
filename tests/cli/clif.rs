//! `ptxlift run --unsafe-clif`

use super::*;

const TEXT: &str = ".version 8.0
.target sm_80
.address_size 64
.func (.reg .u32 r) less(.reg .u32 a)
{
    sub.u32 r, a, 7;
    ret;
}
.visible .entry k(.param .u64 out, .param .u32 n)
{
    .reg .b64 %p, %i;
    .reg .b32 %r<4>;
    ld.param.u64 %p, [out];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %i, %r1, 4;
    add.u64 %p, %p, %i;
    call (%r2), less, (%r0);
    mad.lo.u32 %r3, %r1, 10, %r2;
    st.global.u32 [%p], %r3;
    ret;
}
";

/// The PTX, and its Cranelift IR after an edit.
fn edited(folder: &Folder, edit: impl Fn(&str) -> String) -> [String; 2] {
    let ptx = folder.file("k.ptx", TEXT);
    let output = ptxlift(&["dump", "--stage", "clif", &ptx]);
    code(&output, 0);
    let clif = edit(&stdout(&output));
    [ptx, folder.file("k.clif", clif)]
}

fn run([ptx, clif]: &[String; 2]) -> Output {
    let args = ["--arg", "u32[4]:zeros", "--arg", "u32:107", "--block", "4"];
    ptxlift(&[&["run", ptx, "--unsafe-clif", clif][..], &args].concat())
}

/// Replaces what must be there.
fn replace(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from} in {text}");
    text.replace(from, to)
}

#[test]
fn what_was_not_edited_does_the_same() {
    let folder = Folder::new();
    let output = run(&edited(&folder, str::to_string));
    code(&output, 0);
    assert!(stdout(&output).contains("does what the interpreter does"));
}

#[test]
fn names_of_the_module_stand_for_numbers() {
    let folder = Folder::new();
    let files = edited(&folder, |clif| {
        let clif = replace(clif, "function u0:7(", "function %k(");
        replace(&clif, "colocated u0:4 ", "colocated %less ")
    });
    let output = run(&files);
    code(&output, 0);
}

#[test]
fn what_is_different_is_shown() {
    let folder = Folder::new();
    let output = run(&edited(&folder, |clif| {
        replace(clif, "isub.i32", "iadd.i32")
    }));
    code(&output, 1);
    let text = stdout(&output);
    assert!(text.contains("differs from the interpreter"), "{text}");
    for (index, (expected, got)) in [(100, 114), (110, 124), (120, 134), (130, 144)]
        .iter()
        .enumerate()
    {
        let line = format!("argument 0[{index}]: expected {expected}, got {got}");
        assert!(text.contains(&line), "{line} in {text}");
    }
}

#[test]
fn one_function_may_be_given_alone() {
    let folder = Folder::new();
    let files = edited(&folder, |clif| {
        let end = clif.find("; k\n").expect("the kernel");
        replace(&clif[..end], "isub.i32", "iadd.i32")
    });
    let output = run(&files);
    code(&output, 1);
    assert!(stdout(&output).contains("argument 0[1]: expected 110, got 124"));
}

#[test]
fn mistakes_are_told_with_their_lines() {
    let folder = Folder::new();
    let line = |text: &str, of: &str| {
        let found = text.lines().position(|line| line.contains(of));
        found.unwrap_or_else(|| panic!("{of} in {text}")) + 1
    };
    for (from, to, at, word) in [
        ("isub.i32", "isubb.i32", "isubb.i32", "isubb"),
        ("isub.i32 ", "isub.i64 ", "isub.i64 ", "v1"),
        (
            "function u0:4(i64, i32) -> i32, i32 ",
            "function u0:4(i64, i64) -> i32, i32 ",
            "function u0:4",
            "has the signature",
        ),
        (
            "function u0:4(",
            "function u0:10(",
            "function u0:10",
            "u0:10",
        ),
        (
            "function u0:4(",
            "function %more(",
            "function %more",
            "%more",
        ),
        (
            "colocated u0:4 ",
            "colocated u0:5 ",
            "colocated u0:5 ",
            "u0:5",
        ),
        ("colocated u0:4 ", "u0:4 ", "= u0:4 ", "colocated"),
        (
            "colocated u0:4 ",
            "colocated %sin ",
            "colocated %sin ",
            "%sin",
        ),
    ] {
        let files = edited(&folder, |clif| replace(clif, from, to));
        let output = run(&files);
        code(&output, 1);
        let clif = std::fs::read_to_string(&files[1]).expect("the file");
        let place = format!("k.clif:{}: ", line(&clif, at));
        let text = stderr(&output);
        assert!(text.contains(&place), "{from}: {place} in {text}");
        assert!(text.contains(word), "{from}: {word} in {text}");
    }
    let head = "function u0:4(i64, i32) -> i32, i32 system_v {\n";
    for (body, place, word) in [
        ("}\n", "k.clif:1: ", "has no block"),
        (
            "block0(v0: i64, v1: i32):\n    v4000000000 = iconst.i32 0\n    trap user1\n}\n",
            "k.clif:3: ",
            "`v4000000000`",
        ),
        (
            "block0(v0: i64, v1: i32):\n    jump block99999999999\n}\n",
            "k.clif:3: ",
            "`block99999999999`",
        ),
    ] {
        let output = run(&edited(&folder, |_| format!("{head}{body}")));
        code(&output, 1);
        let text = stderr(&output);
        assert!(text.contains(place) && text.contains(word), "{text}");
    }
    let output = run(&edited(&folder, |_| "; nothing\n".to_string()));
    code(&output, 1);
    assert!(stderr(&output).contains("there is no function in it"));
}

#[test]
fn kernels_of_compilers_come_back_as_they_were() {
    let folder = Folder::new();
    for name in ["keccak256", "md5_many", "fn_pointers"] {
        let case = format!("tests/corpus/{name}");
        let output = ptxlift(&["dump", "--stage", "clif", &format!("{case}/kernel.ptx")]);
        let clif = folder.file("k.clif", stdout(&output));
        let description = format!("{case}/launch.toml");
        let output = ptxlift(&["run", &description, "--unsafe-clif", &clif]);
        code(&output, 0);
        assert!(stdout(&output).contains("does what the interpreter does"));
    }
}

#[test]
fn what_has_no_meaning_beside_it_is_refused() {
    for option in ["--json", "--stats", "--trace"] {
        let output = ptxlift(&["run", "k.ptx", "--unsafe-clif", "k.clif", option]);
        code(&output, 2);
        let text = stderr(&output);
        assert!(text.contains("cannot be used with"), "{text}");
    }
}
