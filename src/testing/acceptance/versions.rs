//! Tables of statements with the least `.version` and `.target` that they need.

use super::{Readable, Trial, Verdict, built, table};
use crate::testing::FormatError;
use crate::testing::discover::TestFile;
use crate::testing::report::Outcome;
use crate::testing::suite::{Job, Shared};

/// The versions of PTX in their order.
const VERSIONS: &[(u32, u32)] = &[
    (1, 0),
    (1, 1),
    (1, 2),
    (1, 3),
    (1, 4),
    (1, 5),
    (2, 0),
    (2, 1),
    (2, 2),
    (2, 3),
    (3, 0),
    (3, 1),
    (3, 2),
    (4, 0),
    (4, 1),
    (4, 2),
    (4, 3),
    (5, 0),
    (5, 1),
    (6, 0),
    (6, 1),
    (6, 2),
    (6, 3),
    (6, 4),
    (6, 5),
    (7, 0),
    (7, 1),
    (7, 2),
    (7, 3),
    (7, 4),
    (7, 5),
    (7, 6),
    (7, 7),
    (7, 8),
    (8, 0),
    (8, 1),
    (8, 2),
    (8, 3),
    (8, 4),
    (8, 5),
    (8, 6),
    (8, 7),
    (8, 8),
    (9, 0),
    (9, 1),
    (9, 2),
    (9, 3),
    (9, 4),
    (9, 5),
];

/// The version at which targets are tried.
const LATEST: (u32, u32) = (9, 5);

/// The numbers of the targets in their order.
const TARGETS: &[u32] = &[
    10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89,
    90, 100, 103, 107, 110, 120, 121,
];

struct VersionRow {
    statement: String,
    version: (u32, u32),
    target: String,
    exceptions: Exceptions,
}

/// Where a statement is refused above its least version and target.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Exceptions {
    None,
    /// Refused in versions above this.
    NotAbove((u32, u32)),
    /// Refused for these targets.
    NotAt(Vec<String>),
    /// Refused for all targets but these.
    Only(Vec<String>),
}

fn parse_version(text: &str) -> Result<(u32, u32), FormatError> {
    text.trim()
        .split_once('.')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
        .ok_or_else(|| FormatError::new(format!("`{text}` is no version")))
}

impl VersionRow {
    fn parse(text: &str) -> Result<Self, FormatError> {
        let columns: Vec<&str> = text.split('\t').collect();
        let (statement, version, target) = match columns[..] {
            [statement, version, target, ..] => (statement, version, target.trim()),
            _ => return Err(FormatError::new("three columns are needed")),
        };
        number_of(target)?;
        let exceptions = columns.get(3).copied().unwrap_or_default().trim();
        let list = |text: &str| text.split_whitespace().map(str::to_string).collect();
        let exceptions = if exceptions.is_empty() {
            Exceptions::None
        } else if let Some(version) = exceptions.strip_prefix("not above version ") {
            Exceptions::NotAbove(parse_version(version)?)
        } else if let Some(targets) = exceptions.strip_prefix("not at ") {
            Exceptions::NotAt(list(targets))
        } else if let Some(targets) = exceptions.strip_prefix("only ") {
            Exceptions::Only(list(targets))
        } else {
            return Err(FormatError::new(format!(
                "`{exceptions}` is no exception that is known"
            )));
        };
        Ok(VersionRow {
            statement: statement.to_string(),
            version: parse_version(version)?,
            target: target.to_string(),
            exceptions,
        })
    }

    fn run(&self) -> Outcome {
        let lacking = built::lacking(&self.statement);
        let mut first_skip = None;
        for (version, target, accept) in self.trials() {
            let outcome = match (self.check(version, &target), accept) {
                (Verdict::Broken(message), _) => Outcome::failed("an answer", message),
                (Verdict::Accepted | Verdict::RefusedElsewhere(_), true)
                | (Verdict::Refused(_), false) => Outcome::Passed,
                (Verdict::Lacks(families), _) => Outcome::skipped(families),
                (Verdict::Refused(message), true) => {
                    Outcome::failed("accepted", format!("refused: {message}"))
                }
                (Verdict::Accepted | Verdict::RefusedElsewhere(_), false) => {
                    Outcome::failed("refused", "accepted")
                }
            };
            match outcome {
                Outcome::Failed { expected, got } if lacking.is_none() => {
                    let (major, minor) = version;
                    let at = format!("at .version {major}.{minor} .target {target}");
                    return Outcome::failed(format!("{expected} {at}"), got);
                }
                Outcome::Skipped { .. } => first_skip = Some(outcome),
                Outcome::Failed { .. } | Outcome::Passed => {}
            }
        }
        match (lacking, first_skip) {
            (Some(family), _) => Outcome::skipped([family]),
            (None, Some(skip)) => skip,
            (None, None) => Outcome::Passed,
        }
    }

    /// Versions and targets to try, and whether the statement is accepted there.
    fn trials(&self) -> Vec<((u32, u32), String, bool)> {
        let mut trials = vec![(self.version, self.target.clone(), true)];
        if let Some(&below) = VERSIONS.iter().rfind(|&&v| v < self.version) {
            trials.push((below, self.target.clone(), false));
        }
        if let Some(below) = target_below(&self.target) {
            trials.push((LATEST, below, false));
        }
        match &self.exceptions {
            Exceptions::None => trials.push((LATEST, self.target.clone(), true)),
            Exceptions::NotAbove(version) => {
                trials.push((*version, self.target.clone(), true));
                if let Some(&above) = VERSIONS.iter().find(|&v| v > version) {
                    trials.push((above, self.target.clone(), false));
                }
            }
            Exceptions::NotAt(targets) => {
                trials.extend(targets.iter().map(|t| (LATEST, t.clone(), false)));
            }
            Exceptions::Only(targets) => {
                trials.extend(targets.iter().map(|t| (LATEST, t.clone(), true)));
                let others = TARGETS.iter().map(|n| format!("sm_{n}"));
                trials.extend(
                    others
                        .filter(|t| !targets.contains(t))
                        .map(|t| (LATEST, t, false)),
                );
            }
        }
        trials
    }

    /// What the `.target` asks of the `.version` is an error before the statement, and left aside.
    fn check(&self, (major, minor): (u32, u32), target: &str) -> Verdict {
        let address_size = if (major, minor) >= (2, 3) {
            ".address_size 64\n"
        } else {
            ""
        };
        let directives = format!(".version {major}.{minor}\n.target {target}\n{address_size}");
        Trial::new(&directives, "", &[], &[], &self.statement).check()
    }
}

/// The number and suffix of `sm_100a`.
fn number_of(target: &str) -> Result<(u32, &str), FormatError> {
    let bad = || FormatError::new(format!("`{target}` is no target"));
    let rest = target.strip_prefix("sm_").ok_or_else(bad)?;
    let digits = rest.trim_end_matches(['a', 'f']);
    Ok((digits.parse().map_err(|_| bad())?, &rest[digits.len()..]))
}

/// The target just below: the family of an architecture, the base of a family, the one before a base.
fn target_below(target: &str) -> Option<String> {
    let (number, suffix) = number_of(target).ok()?;
    match suffix {
        "a" if number >= 100 => Some(format!("sm_{number}f")),
        "" => TARGETS
            .iter()
            .rfind(|&&n| n < number)
            .map(|n| format!("sm_{n}")),
        _ => Some(format!("sm_{number}")),
    }
}

/// The work of a table of versions.
pub(in crate::testing) fn versions<'a>(shared: &'a Shared<'a>, file: &'a TestFile) -> Vec<Job<'a>> {
    table(
        shared,
        file,
        |line, text| {
            let row = VersionRow::parse(text)?;
            Ok(Readable {
                line,
                title: row.statement.clone(),
                group: built::mnemonic(&row.statement),
                row,
            })
        },
        VersionRow::run,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(text: &str) -> Vec<((u32, u32), String, bool)> {
        VersionRow::parse(text).expect("well formed").trials()
    }

    #[test]
    fn accepted_there_and_refused_just_below() {
        let at = |v, t: &str, accept| (v, t.to_string(), accept);
        assert_eq!(
            trials("szext.wrap.s32 %r0, %r1, %r2;\t7.6\tsm_70\t"),
            [
                at((7, 6), "sm_70", true),
                at((7, 5), "sm_70", false),
                at((9, 5), "sm_62", false),
                at((9, 5), "sm_70", true),
            ]
        );
        assert_eq!(
            trials("rcp.f32 %r0, %r1;\t1.0\tsm_10\tnot above version 1.3"),
            [
                at((1, 0), "sm_10", true),
                at((1, 3), "sm_10", true),
                at((1, 4), "sm_10", false),
            ]
        );
        let only = trials("x;\t8.7\tsm_100a\tonly sm_100a sm_110a");
        assert!(only.contains(&at((9, 5), "sm_100f", false)));
        assert!(only.contains(&at((9, 5), "sm_110a", true)));
        assert!(only.contains(&at((9, 5), "sm_100", false)));
        assert!(trials("x;\t2.0\tsm_20\tnot at sm_70 sm_72").contains(&at((9, 5), "sm_72", false)));
    }

    #[test]
    fn mistakes_are_errors() {
        for bad in [
            "x;",
            "x;\t8\tsm_90",
            "x;\t8.7\t90",
            "x;\t8.7\tsm_90\tsometimes",
        ] {
            assert!(VersionRow::parse(bad).is_err(), "{bad}");
        }
    }
}
