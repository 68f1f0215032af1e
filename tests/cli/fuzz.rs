//! `ptxlift fuzz`

use super::*;

#[test]
fn programs_are_counted_by_row() {
    let output = ptxlift(&["fuzz", "--seed", "5", "--programs", "20", "--rows"]);
    code(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("seed 5: 20 programs, "), "{text}");
    assert!(text.contains("; 0 failures"), "{text}");
    let row = |line: &&str| line.ends_with("bmsk(.clamp|.wrap).b32");
    let line = text.lines().find(row).unwrap_or_else(|| panic!("{text}"));
    let numbers = line.split_whitespace().take(2).map(str::parse::<u64>);
    assert!(numbers.clone().all(|n| n.is_ok()), "{line}");
}

#[test]
fn a_seed_gives_the_same_counts_again() {
    let object = |jobs: &str| {
        let output = ptxlift(&[
            "fuzz",
            "--seed",
            "9",
            "--programs",
            "12",
            "--json",
            "--jobs",
            jobs,
        ]);
        code(&output, 0);
        let value: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        assert_eq!(value["programs"], 12);
        assert_eq!(value["failures"], serde_json::json!([]));
        (
            value["rows"].clone(),
            value["executed"].clone(),
            value["faults"].clone(),
        )
    };
    assert_eq!(object("1"), object("2"));
}

/// The text of a program is legal by itself.
#[test]
fn a_program_can_be_looked_at() {
    let output = ptxlift(&["fuzz", "--seed", "7", "--print"]);
    code(&output, 0);
    let text = stdout(&output);
    assert!(text.contains(".visible .entry k0("), "{text}");
    let checked = ptxlift_with_input(&["check", "-"], text.as_bytes());
    code(&checked, 0);
    code(&ptxlift(&["fuzz", "--seconds", "-1"]), 2);
    code(&ptxlift(&["fuzz", "--engine", "magic"]), 2);
    for engine in ["interp", "jit"] {
        code(
            &ptxlift(&["fuzz", "--engine", engine, "--programs", "3"]),
            0,
        );
    }
}

/// What a campaign has come to is worth something even if it is cut short.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_campaign_says_what_it_has_come_to() {
    let output = interrupted(&["fuzz", "--seconds", "60", "--json"]);
    code(&output, 130);
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(value["type"], "fuzz");
    assert!(value["programs"].as_u64().is_some_and(|n| n > 0));
    assert!(value["seconds"].as_f64().is_some_and(|s| s < 50.0));
}
