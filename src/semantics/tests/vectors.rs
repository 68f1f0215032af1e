//! Every integer table of `tests/vectors`, evaluated operator by operator.

use super::templates::{Statement, parse};
use crate::ir::{PureOp, Reading, RegClass, convert};
use crate::semantics::eval;
use std::collections::HashMap;
use std::path::Path;

/// The value of a source: a register, its negation, or a number.
fn source(text: &str, registers: &HashMap<String, u64>) -> u64 {
    match text.strip_prefix('!') {
        Some(predicate) => registers[predicate] ^ 1,
        None => registers
            .get(text)
            .copied()
            .unwrap_or_else(|| text.parse().expect("a number")),
    }
}

/// Runs the statements. `widths` has the width of each destination that the table lists.
fn run(
    statements: &[Statement],
    registers: &mut HashMap<String, u64>,
    widths: &HashMap<String, u32>,
    reading: Reading,
) {
    for statement in statements {
        let mut op = statement.op.read_as(reading);
        if let PureOp::Convert(convert::Op::Cvt { dst, .. }) = &mut op {
            *dst = RegClass::of_bits(widths["%d"]).expect("a width");
        }
        let signature = op.signature();
        let srcs: Vec<u64> = statement
            .srcs
            .iter()
            .zip(&signature.srcs)
            .map(|(text, class)| source(text, registers) & class.mask())
            .collect();
        let results = eval(op, 64, &srcs);
        for (i, result) in results.iter().enumerate() {
            let mask = signature.dsts.get(i).map_or(0, |class| class.mask());
            assert_eq!(
                result & !mask,
                0,
                "{op:?} {srcs:x?} gives bits beyond its destination"
            );
        }
        for (dst, result) in statement.dsts.iter().zip(results) {
            registers.insert(dst.clone(), result);
        }
    }
}

/// Checks a table; returns how many rows there are and how many are of the integer families. `None` in the published
/// package, which comes without tables.
fn table(name: &str, expected_column: usize, reading: Reading) -> Option<(usize, usize)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if root.join("Cargo.toml.orig").exists() {
        return None;
    }
    let path = root.join(format!("tests/vectors/{name}.tsv"));
    let text = std::fs::read_to_string(&path).expect("a table");
    let path = path.display();
    let (mut rows, mut ours) = (0, 0);
    for (number, line) in text.lines().enumerate() {
        if line.starts_with('#') {
            continue;
        }
        rows += 1;
        let columns: Vec<&str> = line.split('\t').collect();
        let Some(statements) = parse(columns[0]) else {
            continue;
        };
        ours += 1;
        let words = |column: usize, names: &[&str]| -> Vec<(String, u64, u32)> {
            let present = names
                .iter()
                .filter(|name| columns[0].contains(**name))
                .map(|name| name.to_string());
            present
                .zip(columns[column].split(' '))
                .map(|(name, hex)| {
                    let value = u64::from_str_radix(hex, 16).expect("hex");
                    (name, value, hex.len() as u32 * 4)
                })
                .collect()
        };
        let mut registers: HashMap<String, u64> = words(1, &["%a", "%b", "%c", "%e"])
            .into_iter()
            .map(|(name, value, _)| (name, value))
            .collect();
        let expected = words(expected_column, &["%d", "%f", "%h"]);
        let widths = expected.iter().map(|(n, _, w)| (n.clone(), *w)).collect();
        run(&statements, &mut registers, &widths, reading);
        for (name, value, _) in expected {
            assert_eq!(
                registers[&name],
                value,
                "{path}:{}: {} {}: {name} is {:x}, expected {value:x}",
                number + 1,
                columns[0],
                columns[1],
                registers[&name]
            );
        }
    }
    Some((rows, ours))
}

/// Every row is of the integer families, and the same by both readings.
fn whole(name: &str) {
    all_of(name, 2, Reading::Text);
    all_of(name, 2, Reading::Nvidia);
}

/// Every row is of the integer families; the fifth column is what the ISA text says, the third what NVIDIA's tools do.
fn apart(name: &str) {
    all_of(name, 4, Reading::Text);
    all_of(name, 2, Reading::Nvidia);
}

fn all_of(name: &str, expected_column: usize, reading: Reading) {
    if let Some((rows, ours)) = table(name, expected_column, reading) {
        assert!(rows > 0 && ours == rows, "{name}: {ours} of {rows} rows");
    }
}

#[test]
fn integer_tables() {
    for name in ["arith", "divrem", "divrem_unspecified", "dp", "mul24"] {
        whole(name);
    }
}

#[test]
fn extended_tables() {
    whole("carry");
}

#[test]
fn bits_tables() {
    for name in [
        "bits",
        "bfe",
        "bfi",
        "bfind",
        "bmsk",
        "fns",
        "logic",
        "lop3",
        "lop3_pred",
        "prmt",
        "shf",
        "shl",
        "shr",
        "szext",
    ] {
        whole(name);
    }
    for name in ["bfe_vs_spec", "bfi_vs_spec", "fns_vs_spec"] {
        apart(name);
    }
}

#[test]
fn conversion_tables() {
    whole("cvt_int");
    whole("cvt_int16");
}

#[test]
fn comparison_tables() {
    // The other rows compare floats.
    for (name, ours) in [("select", 96), ("set", 813), ("setp", 902)] {
        if let Some((_, found)) = table(name, 2, Reading::Text) {
            assert_eq!(found, ours, "{name}");
        }
    }
}

#[test]
fn scalar_video_tables() {
    for name in ["vset", "vop", "vshift", "vmad", "video_loose"] {
        whole(name);
    }
    for name in [
        "vset_vs_spec",
        "vop_vs_spec",
        "vshift_vs_spec",
        "vmad_vs_spec",
    ] {
        apart(name);
    }
}

#[test]
fn simd_video_tables() {
    whole("simd2");
    whole("simd4");
}
