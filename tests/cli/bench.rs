//! `ptxlift bench`

use super::*;

const MURMUR: &str = "tests/corpus/murmur3/launch.toml";

#[test]
fn settings_and_engines_side_by_side() {
    let output = ptxlift(&[
        "bench",
        MURMUR,
        "--vary",
        "opt_level=none,speed",
        "--vary",
        "regalloc_algorithm=backtracking,single_pass",
        "--time",
        "0",
        "--threads",
        "1",
    ]);
    code(&output, 0);
    let text = stdout(&output);
    for row in [
        "jit opt_level=none regalloc_algorithm=backtracking ",
        "jit opt_level=none regalloc_algorithm=single_pass ",
        "jit opt_level=speed regalloc_algorithm=backtracking ",
        "jit opt_level=speed regalloc_algorithm=single_pass ",
        "interp ",
    ] {
        let of_row = text.lines().filter(|l| l.trim_start().starts_with(row));
        // A row for each of the description's modules.
        assert!(of_row.count() >= 1, "{row} in {text}");
    }
    assert_eq!(stderr(&output), "");
}

#[test]
fn rows_as_json() {
    let args = [
        "bench",
        MURMUR,
        "--json",
        "--time",
        "0",
        "--vary",
        "threads=1,2",
    ];
    let output = ptxlift(&args);
    code(&output, 0);
    let rows = json::objects_of(&output, "measurement");
    let engines: Vec<&str> = rows
        .iter()
        .filter_map(|r| r["engine"].as_str())
        .take(4)
        .collect();
    assert_eq!(engines, ["jit", "jit", "interp", "interp"]);
    assert_eq!(rows[1]["varied"]["threads"], "2");
    assert_eq!(rows[0]["relative"], 1.0);
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    for row in &rows {
        let times = &row["run_seconds"];
        assert!(number(&times["count"]) >= 5.0);
        assert!(number(&times["least"]) > 0.0);
        assert!(number(&times["least"]) <= number(&times["median"]));
        let threads = number(&row["threads"]);
        let a_thread = number(&row["thread_seconds"]);
        assert!((a_thread * threads / number(&times["median"]) - 1.0).abs() < 1e-6);
        match row["engine"].as_str() {
            Some("jit") => {
                assert!(number(&row["code_bytes"]) > 0.0);
                assert!(number(&row["compile_seconds"]["median"]) > 0.0);
            }
            _ => assert!(row.get("code_bytes").is_none() && row.get("compile_seconds").is_none()),
        }
    }
}

#[test]
fn kernels_of_ptx_files_with_their_arguments() {
    let folder = Folder::new();
    let file = folder.file("kernels.ptx", KERNELS);
    let args = ["--kernel", "add_n", "--block", "4", "--arg", "u32[4]:zeros"];
    let bench = ["bench", &file, "--engine", "jit", "--time", "0"];
    let rest = ["--arg", "u32[4]:zeros", "--arg", "u32:1"];
    let output = ptxlift(&[&bench[..], &args, &rest].concat());
    code(&output, 0);
    let text = stdout(&output);
    assert!(
        text.contains("kernel add_n, 4 threads in 1 block"),
        "{text}"
    );
    let output = ptxlift(&[&bench[..], &args].concat());
    code(&output, 2);
}

#[test]
fn what_is_wrong_is_not_timed() {
    let folder = Folder::new();
    folder.file("kernels.ptx", KERNELS);
    folder.file("expected.bin", words(&[15, 16, 17, 19]));
    let file = folder.file("launch.toml", DESCRIPTION);
    let output = ptxlift(&["bench", &file, "--time", "0"]);
    code(&output, 1);
    assert!(stderr(&output).contains("out[3]"), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    for (vary, word) in [
        ("opt_level=fast", "it is none or speed"),
        ("threads=none", "no number of threads"),
        ("colour=red", "no setting `colour`"),
    ] {
        let output = ptxlift(&["bench", MURMUR, "--vary", vary]);
        code(&output, 2);
        assert!(stderr(&output).contains(word), "{}", stderr(&output));
    }
    let twice = ["--vary", "opt_level=none", "--vary", "opt_level=speed"];
    let output = ptxlift(&[&["bench", MURMUR][..], &twice].concat());
    code(&output, 2);
    assert!(stderr(&output).contains("is there twice"));
    let mut args = vec!["bench", "k.ptx"];
    for key in [
        "opt_level=none,speed,speed_and_size",
        "log2_min_function_alignment=0,1,2,3,4,5,6,7,8,9",
        "threads=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34",
    ] {
        args.extend(["--vary", key]);
    }
    let output = ptxlift(&args);
    code(&output, 2);
    assert!(stderr(&output).contains("1020 combinations"));
}
