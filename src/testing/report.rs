//! What came of test cases: lines for failures, a table by instruction, a last line with the sums.

use crate::runtime::EngineKind;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// As expected.
    Passed,
    /// Not as expected.
    Failed {
        /// What was expected.
        expected: String,
        /// What came.
        got: String,
    },
    /// It needs something that is not built yet: families such as `floating point`, `barriers`.
    Skipped {
        /// The families, sorted, each once.
        needs: Vec<String>,
    },
}

impl Outcome {
    /// Not as expected.
    pub fn failed(expected: impl Into<String>, got: impl Into<String>) -> Self {
        Outcome::Failed {
            expected: expected.into(),
            got: got.into(),
        }
    }

    /// Needs these families.
    pub fn skipped<S: Into<String>>(needs: impl IntoIterator<Item = S>) -> Self {
        let mut needs: Vec<String> = needs.into_iter().map(Into::into).collect();
        needs.sort();
        needs.dedup();
        Outcome::Skipped { needs }
    }
}

/// A case with what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseResult {
    /// The file.
    pub file: String,
    /// The line in it, for tables and function cases.
    pub line: Option<u32>,
    /// What the case is, beside its place: statements with operands, kernel and module.
    pub title: String,
    /// The row of the summary that it counts in: a mnemonic or a kind of case.
    pub group: String,
    /// Who executed it, if anyone did.
    pub engine: Option<EngineKind>,
    /// How many threads it took together, if several widths were tried.
    pub width: Option<u32>,
    /// What came of it.
    pub outcome: Outcome,
}

/// What `ptxlift` calls an engine.
pub fn engine_name(engine: EngineKind) -> &'static str {
    match engine {
        EngineKind::Interpreter => "interp",
        EngineKind::Native => "jit",
    }
}

/// The name of a case, which filters look at: `vectors/bfe.tsv:12: bfe.u32 %d, %a, %b, %c`.
pub fn case_name(file: &str, line: Option<u32>, title: &str) -> String {
    match line {
        Some(line) => format!("{file}:{line}: {title}"),
        None => format!("{file}: {title}"),
    }
}

impl CaseResult {
    /// Its name.
    pub fn name(&self) -> String {
        case_name(&self.file, self.line, &self.title)
    }
}

impl fmt::Display for CaseResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, more) = match &self.outcome {
            Outcome::Passed => ("passed", String::new()),
            Outcome::Failed { expected, got } => {
                ("FAILED", format!(": expected {expected}; got {got}"))
            }
            Outcome::Skipped { needs } => ("skipped", format!(": needs {}", needs.join(", "))),
        };
        write!(f, "{word} {}", self.name())?;
        match (self.engine.map(engine_name), self.width) {
            (Some(engine), Some(width)) => write!(f, " [{engine}, width {width}]")?,
            (Some(engine), None) => write!(f, " [{engine}]")?,
            (None, _) => {}
        }
        // A failure is one line, whatever the message.
        f.write_str(&more.replace('\n', " | "))
    }
}

/// Sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Cases that passed.
    pub passed: usize,
    /// Cases that failed.
    pub failed: usize,
    /// Cases that were skipped.
    pub skipped: usize,
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed { .. } => self.failed += 1,
            Outcome::Skipped { .. } => self.skipped += 1,
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }
}

/// All cases of a run, in the order of the files.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The cases.
    pub cases: Vec<CaseResult>,
}

impl Report {
    /// The sums over all cases.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.cases.iter().for_each(|c| counts.add(&c.outcome));
        counts
    }

    /// The cases that failed.
    pub fn failures(&self) -> impl Iterator<Item = &CaseResult> {
        self.cases
            .iter()
            .filter(|c| matches!(c.outcome, Outcome::Failed { .. }))
    }

    /// The cases that failed, or were skipped for something else than `needs`.
    pub fn unexpected(&self, needs: &[&str]) -> Vec<&CaseResult> {
        let is_unexpected = |case: &&CaseResult| match &case.outcome {
            Outcome::Passed => false,
            Outcome::Failed { .. } => true,
            Outcome::Skipped { needs: lacking } => {
                lacking.iter().any(|need| !needs.contains(&need.as_str()))
            }
        };
        self.cases.iter().filter(is_unexpected).collect()
    }

    /// Everything that skipped cases need, with how many need it.
    pub fn needs(&self) -> BTreeMap<&str, usize> {
        let mut needs = BTreeMap::new();
        for case in &self.cases {
            if let Outcome::Skipped { needs: list } = &case.outcome {
                for need in list {
                    *needs.entry(need.as_str()).or_default() += 1;
                }
            }
        }
        needs
    }

    /// Makes failures of skipped cases.
    pub fn be_strict(&mut self) {
        for case in &mut self.cases {
            if let Outcome::Skipped { needs } = &case.outcome {
                case.outcome = Outcome::failed(
                    "everything that it needs",
                    format!("unsupported: {}", needs.join(", ")),
                );
            }
        }
    }

    /// One line for each failing case.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_failures(&self, out: &mut dyn Write) -> io::Result<()> {
        self.failures().try_for_each(|case| writeln!(out, "{case}"))
    }

    /// The table by instruction, what skipped cases need, and the last line.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_summary(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_table(out)?;
        writeln!(out, "{}", self.counts())
    }

    /// The table by instruction, and what skipped cases need.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut groups: BTreeMap<&str, Counts> = BTreeMap::new();
        for case in &self.cases {
            groups.entry(&case.group).or_default().add(&case.outcome);
        }
        if !groups.is_empty() {
            let width = groups.keys().map(|g| g.chars().count()).max().unwrap_or(0);
            let width = width.max("instruction".len());
            writeln!(
                out,
                "{:width$}  {:>8} {:>8} {:>8}",
                "instruction", "passed", "failed", "skipped"
            )?;
            for (group, c) in groups {
                writeln!(
                    out,
                    "{group:width$}  {:>8} {:>8} {:>8}",
                    c.passed, c.failed, c.skipped
                )?;
            }
        }
        for (need, count) in self.needs() {
            let s = if count == 1 { "" } else { "s" };
            writeln!(out, "skipped for {need}: {count} case{s}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(group: &str, engine: Option<EngineKind>, outcome: Outcome) -> CaseResult {
        CaseResult {
            file: "t.tsv".to_string(),
            line: Some(3),
            title: format!("{group}.u32 %d, %a"),
            group: group.to_string(),
            engine,
            width: None,
            outcome,
        }
    }

    fn report() -> Report {
        Report {
            cases: vec![
                case("popc", Some(EngineKind::Native), Outcome::Passed),
                case(
                    "popc",
                    Some(EngineKind::Interpreter),
                    Outcome::failed("00000001", "two\nlines"),
                ),
                case(
                    "add",
                    None,
                    Outcome::skipped(["floating point", "floating point"]),
                ),
            ],
        }
    }

    fn written(write: impl Fn(&Report, &mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&report(), &mut out).expect("memory takes everything");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn failures_are_one_line_each() {
        assert_eq!(
            written(|r, out| r.write_failures(out)),
            "FAILED t.tsv:3: popc.u32 %d, %a [interp]: expected 00000001; got two | lines\n"
        );
    }

    #[test]
    fn the_last_line_stands_alone() {
        let text = written(|r, out| r.write_summary(out));
        assert!(
            text.contains("popc                1        1        0\n"),
            "{text}"
        );
        assert!(text.contains("skipped for floating point: 1 case\n"));
        assert!(text.ends_with("\n1 passed, 1 failed, 1 skipped\n"));
    }

    #[test]
    fn skips_may_be_expected() {
        let report = report();
        assert_eq!(report.unexpected(&["floating point"]).len(), 1);
        assert_eq!(report.unexpected(&["barriers"]).len(), 2);
    }

    #[test]
    fn strictness_turns_skips_into_failures() {
        let mut report = report();
        report.be_strict();
        assert_eq!(report.counts().failed, 2);
        assert_eq!(report.counts().skipped, 0);
    }
}
