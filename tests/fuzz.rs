//! Random programs: they are legal, they reach every row, both engines agree on them; and the machinery around them
//! sees, shrinks and repeats what it should.

use ptxlift::Cancel;
use ptxlift::fuzzing::{
    self, Campaign, Generated, Options, Oracle, Program, Sort, Totals, Verdict, listing, rows,
};
use ptxlift::testing::launch_lines;

/// Programs of the main test: every row has its turn, and some seconds pass.
const PROGRAMS: u64 = 600;

fn campaign(seed: u64, programs: u64) -> Campaign {
    Campaign {
        seed,
        programs: Some(programs),
        time: None,
        jobs: 1,
        cancel: Cancel::new(),
        options: Options::default(),
        shrink: true,
    }
}

fn run(campaign: &Campaign) -> Totals {
    fuzzing::run(campaign, &|_| {})
}

#[test]
fn engines_agree_on_programs_of_every_row() {
    let totals = run(&campaign(0, PROGRAMS));
    let failures: Vec<_> = totals
        .failures
        .iter()
        .map(|f| format!("seed {}: {:?}\n{}", f.seed, f.verdict, f.case))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(totals.broken, Vec::<String>::new());
    assert_eq!(totals.time_limits, 0);
    let never: Vec<_> = totals.never_run();
    let never: Vec<_> = never.iter().map(|row| listing(rows()[*row])).collect();
    assert!(never.is_empty(), "never executed: {never:#?}");
    assert_eq!(totals.programs, PROGRAMS);
    // Faults are part of what is compared, and not all of it.
    let faulted: u64 = totals.faults.values().sum();
    assert!(faulted > totals.launches / 50, "{:?}", totals.faults);
    assert!(faulted < totals.launches / 3, "{:?}", totals.faults);
    for kind in ["out of bounds", "misaligned", "trap"] {
        assert!(totals.faults.contains_key(kind), "{:?}", totals.faults);
    }
}

/// By the schedules of seeds, too; and those that are fixed leave the same by each.
#[test]
fn engines_agree_by_other_schedules() {
    let options = Options {
        seeds: Some(3),
        ..Options::default()
    };
    let totals = run(&Campaign {
        options,
        ..campaign(5000, 60)
    });
    let failures: Vec<_> = totals
        .failures
        .iter()
        .map(|f| format!("seed {}: {:?}\n{}", f.seed, f.verdict, f.case))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(totals.fixed >= 30, "{}", totals.fixed);
    assert!(totals.shuffled > totals.fixed, "{}", totals.shuffled);
}

#[test]
fn a_seed_is_a_program() {
    for seed in [0, 1, 7, u64::MAX] {
        assert_eq!(Program::from_seed(seed), Program::from_seed(seed));
    }
    assert_ne!(Program::from_seed(1).text(), Program::from_seed(2).text());
    let (one, two) = (run(&campaign(40, 30)), run(&campaign(40, 30)));
    assert_eq!(one.rows, two.rows);
    assert_eq!((one.steps, &one.faults), (two.steps, &two.faults));
}

/// Any bytes are a program, few of them a short one.
#[test]
fn bytes_are_programs() {
    let oracle = Oracle::new(Options::default());
    let mut bytes = Vec::new();
    for n in 0..200u32 {
        let program = Program::from_bytes(&bytes);
        let verdict = oracle.run(&program).verdict;
        assert_eq!(verdict, Verdict::Agree, "{bytes:?}\n{}", program.text());
        let noise = n.wrapping_mul(0x9e37_79b9) ^ n << 7;
        bytes.extend(noise.to_le_bytes());
    }
    for byte in [0, 1, 0x7f, 0xff] {
        for length in [1, 100, 1000] {
            let program = Program::from_bytes(&vec![byte; length]);
            let verdict = oracle.run(&program).verdict;
            assert_eq!(
                verdict,
                Verdict::Agree,
                "{byte} {length}\n{}",
                program.text()
            );
        }
    }
}

fn flip_a_bit(_: &Program, left: &mut ptxlift::testing::exec::Outcome) {
    if let Some(byte) = left
        .buffers
        .last_mut()
        .and_then(|buffer| buffer.get_mut(64))
    {
        *byte ^= 4;
    }
}

/// One wrong bit in one buffer is seen, and what is shrunk is a case that says so.
#[test]
fn wrong_memory_is_seen() {
    let options = Options {
        tamper: Some(flip_a_bit),
        ..Options::default()
    };
    let totals = run(&Campaign {
        options,
        ..campaign(3, 4)
    });
    let seen: Vec<_> = totals
        .failures
        .iter()
        .filter(|f| matches!(&f.verdict, Verdict::Differ(d) if d.sort == Sort::Memory))
        .collect();
    assert!(!seen.is_empty());
    for failure in seen {
        let lines = failure.case.lines().count();
        assert!(lines < 25, "{lines} lines:\n{}", failure.case);
        let cases = launch_lines::parse(&failure.case);
        assert_eq!(cases.map(|list| list.len()), Ok(1), "{}", failure.case);
    }
}

fn forget_the_fault(_: &Program, left: &mut ptxlift::testing::exec::Outcome) {
    if let Err(fault) = &mut left.end {
        fault.thread[0] += 1;
    }
}

/// A fault of another thread is another fault.
#[test]
fn wrong_faults_are_seen() {
    let options = Options {
        tamper: Some(forget_the_fault),
        ..Options::default()
    };
    let totals = run(&Campaign {
        options,
        shrink: false,
        ..campaign(0, 100)
    });
    let place = |v: &Verdict| matches!(v, Verdict::Differ(d) if matches!(d.sort, Sort::Place(_)));
    assert!(totals.failures.iter().any(|f| place(&f.verdict)));
    assert!(totals.failures.iter().all(|f| place(&f.verdict)));
}

/// The shrinker finds the instruction that matters among all others: here a row that must be executed.
#[test]
fn programs_shrink_to_what_matters() {
    let interpreter = Oracle::new(Options {
        native: false,
        ..Options::default()
    });
    let bfe = rows().iter().position(|row| row.mnemonic == "bfe");
    let bfe = bfe.expect("a row of bfe");
    let executes = |program: &Program| {
        let outcome = interpreter.run(program);
        outcome.verdict == Verdict::Agree && outcome.executed.iter().any(|(row, _)| *row == bfe)
    };
    let large = (0..500)
        .map(Program::from_seed)
        .find(|program| program.text().len() > 4000 && executes(program));
    let large = large.expect("a program with bfe");
    let small = fuzzing::shrink(&large, &mut |program| executes(program));
    let text = small.text();
    assert!(text.contains("bfe."), "{text}");
    assert!(text.lines().count() < 12, "{text}");
    assert_eq!(small.launches().len(), 1);
    assert_eq!(small.launches()[0].block, [1; 3]);
}

/// What no rule of a row took is tried again, never put into a program.
#[test]
fn refused_combinations_are_counted() {
    let refused: u64 = (0..50).map(|seed| Generated::from_seed(seed).refused).sum();
    assert!(refused > 0);
}
