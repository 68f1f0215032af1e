//! Acceptance tables: statements and modules, and whether they are legal.

mod built;
mod versions;

use super::FormatError;
use super::discover::TestFile;
use super::report::{CaseResult, Outcome};
use super::suite::{Job, Shared};
use super::vectors::table::Header;
use crate::diag::{Diagnostic, Severity};
use crate::error::Error;
use crate::runtime::Module;

pub(super) use versions::versions;

/// Rows of a job.
const ROWS_OF_JOB: usize = 64;

/// Registers that statements may use.
const REGISTERS: &str = ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n";

/// A statement in the module that it is tried in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Trial {
    text: String,
    /// Where the directives at the top end. Everything from here on is the row's to answer for: the statement and the
    /// declarations that come with it; the rest is right by itself.
    row: usize,
}

impl Trial {
    /// `parameters` of the kernel, texts before the kernel and at the start of its body.
    fn new(
        directives: &str,
        parameters: &str,
        before_kernel: &[&str],
        before_statement: &[&str],
        statement: &str,
    ) -> Self {
        let mut text = directives.to_string();
        let row = text.len();
        for declaration in before_kernel {
            text.push_str(declaration);
            text.push('\n');
        }
        text.push_str(&format!(".visible .entry k({parameters})\n{{\n{REGISTERS}"));
        for declaration in before_statement {
            text.push_str(declaration);
            text.push('\n');
        }
        text.push_str(statement);
        text.push_str("\nret;\n}\n");
        Trial { text, row }
    }

    fn check(&self) -> Verdict {
        check(&self.text, self.row)
    }
}

/// What `check` says of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    /// It is accepted.
    Accepted,
    /// It is accepted and needs families that are lacking.
    Lacks(Vec<String>),
    /// It is refused for the row.
    Refused(String),
    /// It is refused for the directives at the top.
    RefusedElsewhere(String),
    /// A bug of ours.
    Broken(String),
}

/// Checks a module; errors before `row` are not the row's.
fn check(text: &str, row: usize) -> Verdict {
    let error = match Module::parse_named("row", text) {
        Ok(module) => {
            let mut families: Vec<String> = module
                .functions()
                .flat_map(|f| f.unsupported())
                .map(|u| match u.family {
                    "" => u.what,
                    family => family.to_string(),
                })
                .collect();
            families.sort();
            families.dedup();
            return if families.is_empty() {
                Verdict::Accepted
            } else {
                Verdict::Lacks(families)
            };
        }
        Err(error) => error,
    };
    let diagnostics = match &error {
        Error::Diagnostics(diagnostics) => diagnostics,
        Error::Unsupported(lacks) => return Verdict::Lacks(super::suite::families(lacks)),
        Error::Usage(_) | Error::Fault(_) | Error::Internal(_) => {
            return Verdict::Broken(error.to_string());
        }
    };
    let errors = || diagnostics.iter().filter(|d| d.severity == Severity::Error);
    let at_row = |d: &&Diagnostic| d.span.start as usize >= row;
    match (errors().find(at_row), errors().next()) {
        (Some(d), _) => Verdict::Refused(d.message.clone()),
        (None, Some(d)) => Verdict::RefusedElsewhere(d.message.clone()),
        (None, None) => Verdict::Broken("refused without an error".to_string()),
    }
}

/// A row of a table of statements.
struct StatementRow {
    line: u32,
    statement: String,
    accept: bool,
    before_kernel: Vec<String>,
    before_statement: Vec<String>,
    header: Header,
}

impl StatementRow {
    fn parse(line: u32, text: &str) -> Result<Self, FormatError> {
        let mut columns = text.split('\t');
        let statement = columns.next().unwrap_or_default().to_string();
        let accept = parse_accept(columns.next())?;
        let mut before_kernel = Vec::new();
        let mut before_statement = Vec::new();
        let prelude = columns.next().unwrap_or_default();
        for part in prelude.split("||").filter(|p| !p.trim().is_empty()) {
            match part.trim().split_once(':') {
                Some(("module", text)) => before_kernel.push(text.trim().to_string()),
                Some(("body", text)) => before_statement.push(text.trim().to_string()),
                _ => {
                    return Err(FormatError::new(format!(
                        "`{part}` begins neither with `module:` nor with `body:`"
                    )));
                }
            }
        }
        Ok(StatementRow {
            line,
            statement,
            accept,
            before_kernel,
            before_statement,
            header: Header::parse(columns.next().unwrap_or_default())?,
        })
    }

    fn run(&self) -> Outcome {
        let refs = |list: &[String]| -> Vec<String> { list.to_vec() };
        let (kernel, body) = (refs(&self.before_kernel), refs(&self.before_statement));
        let trial = Trial::new(
            &self.header.directives(),
            ".param .b64 kp0, .param .b32 kp1, .param .align 16 .b8 kp2[32]",
            &kernel.iter().map(String::as_str).collect::<Vec<_>>(),
            &body.iter().map(String::as_str).collect::<Vec<_>>(),
            &self.statement,
        );
        judge(self.accept, built::lacking(&self.statement), trial.check())
    }
}

/// What came of a statement that should be accepted or refused. `lacking` is the family of a form that is known and
/// not built yet: whatever the verdict, such a row is skipped, unless the verdict is plainly wrong.
fn judge(accept: bool, lacking: Option<String>, verdict: Verdict) -> Outcome {
    let skipped = |family: String| Outcome::skipped([family]);
    match (accept, verdict) {
        (_, Verdict::Broken(message)) => Outcome::failed("an answer", message),
        (true, Verdict::Accepted) => Outcome::Passed,
        (true, Verdict::Lacks(families)) => Outcome::skipped(families),
        (true, Verdict::Refused(message)) => match lacking {
            Some(family) => skipped(family),
            None => Outcome::failed("accepted", format!("refused: {message}")),
        },
        (_, Verdict::RefusedElsewhere(_)) if lacking.is_some() => {
            skipped(lacking.unwrap_or_default())
        }
        (true, Verdict::RefusedElsewhere(message)) => Outcome::failed(
            "accepted",
            format!("refused before the statement: {message}"),
        ),
        (false, Verdict::Accepted) => match lacking {
            Some(family) => skipped(family),
            None => Outcome::failed("refused", "accepted"),
        },
        (false, Verdict::Lacks(families)) => match lacking {
            Some(family) => skipped(family),
            None => Outcome::failed(
                "refused",
                format!("known and lacking: {}", families.join(", ")),
            ),
        },
        (false, Verdict::Refused(_)) => match lacking {
            Some(family) => skipped(family),
            None => Outcome::Passed,
        },
        (false, Verdict::RefusedElsewhere(message)) => match lacking {
            Some(family) => skipped(family),
            None => Outcome::failed(
                "refused at the statement",
                format!("refused before it: {message}"),
            ),
        },
    }
}

fn parse_accept(word: Option<&str>) -> Result<bool, FormatError> {
    match word.map(str::trim) {
        Some("accept") => Ok(true),
        Some("reject") => Ok(false),
        _ => Err(FormatError::new("column 2 is neither accept nor reject")),
    }
}

/// A row that has been read, and the row of the summary that it counts in.
struct Readable<R> {
    line: u32,
    title: String,
    group: String,
    row: R,
}

/// Reads the lines of a table, leaves out what the filter does not want, and makes jobs of the rest.
fn table<'a, R: Send + 'a>(
    shared: &'a Shared<'a>,
    file: &'a TestFile,
    read: impl Fn(u32, &str) -> Result<Readable<R>, FormatError>,
    run: impl Fn(&R) -> Outcome + Copy + Send + 'a,
) -> Vec<Job<'a>> {
    let mut jobs: Vec<Job<'a>> = Vec::new();
    let mut rows = Vec::new();
    let mut bad = Vec::new();
    for (index, text) in file.text.lines().enumerate() {
        if text.starts_with('#') || text.trim().is_empty() {
            continue;
        }
        let line = index as u32 + 1;
        match read(line, text) {
            Ok(row) if shared.options.wants(&file.name, Some(line), &row.title) => rows.push(row),
            Ok(_) => {}
            Err(error) => bad.push(CaseResult {
                file: file.name.clone(),
                line: Some(line),
                title: "a row of an acceptance table".to_string(),
                group: "(table)".to_string(),
                engine: None,
                width: None,
                outcome: Outcome::failed("a row that can be read", error.message),
            }),
        }
    }
    if !bad.is_empty() {
        jobs.push(Box::new(move || bad));
    }
    while !rows.is_empty() {
        let rest = rows.split_off(rows.len().min(ROWS_OF_JOB));
        let chunk = std::mem::replace(&mut rows, rest);
        jobs.push(Box::new(move || {
            chunk
                .into_iter()
                .map(|r| CaseResult {
                    file: file.name.clone(),
                    line: Some(r.line),
                    outcome: run(&r.row),
                    title: r.title,
                    group: r.group,
                    engine: None,
                    width: None,
                })
                .collect()
        }));
    }
    jobs
}

/// The work of a table of statements.
pub(super) fn statements<'a>(shared: &'a Shared<'a>, file: &'a TestFile) -> Vec<Job<'a>> {
    table(
        shared,
        file,
        |line, text| {
            let row = StatementRow::parse(line, text)?;
            Ok(Readable {
                line: row.line,
                title: row.statement.clone(),
                group: built::mnemonic(&row.statement),
                row,
            })
        },
        StatementRow::run,
    )
}

/// A row of a table of modules.
struct ModuleRow {
    text: String,
    accept: bool,
}

impl ModuleRow {
    fn run(&self) -> Outcome {
        match (self.accept, check(&self.text, 0)) {
            (_, Verdict::Broken(message)) => Outcome::failed("an answer", message),
            (true, Verdict::Accepted) => Outcome::Passed,
            (_, Verdict::Lacks(families)) => Outcome::skipped(families),
            (true, Verdict::Refused(message) | Verdict::RefusedElsewhere(message)) => {
                Outcome::failed("accepted", format!("refused: {message}"))
            }
            (false, Verdict::Accepted) => Outcome::failed("refused", "accepted"),
            (false, Verdict::Refused(_) | Verdict::RefusedElsewhere(_)) => Outcome::Passed,
        }
    }
}

/// The work of a table of modules.
pub(super) fn modules<'a>(shared: &'a Shared<'a>, file: &'a TestFile) -> Vec<Job<'a>> {
    table(
        shared,
        file,
        |line, text| {
            let mut columns = text.split('\t');
            let module = columns.next().unwrap_or_default();
            Ok(Readable {
                line,
                title: module.to_string(),
                group: "(module)".to_string(),
                row: ModuleRow {
                    accept: parse_accept(columns.next())?,
                    text: module.replace("\\n", "\n"),
                },
            })
        },
        ModuleRow::run,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_preludes_and_versions() {
        let row = StatementRow::parse(
            7,
            "ld.global.u32 %r0, [g];\treject\tmodule:.global .b32 g;||body:.reg .b8 %b;\t8.8 sm_100",
        )
        .expect("well formed");
        assert!(!row.accept);
        assert_eq!(row.before_kernel, [".global .b32 g;"]);
        assert_eq!(row.before_statement, [".reg .b8 %b;"]);
        assert_eq!(row.header.target, "sm_100");
        assert!(StatementRow::parse(1, "ret;\tmaybe").is_err());
        assert!(StatementRow::parse(1, "ret;\taccept\tx:y").is_err());
    }

    #[test]
    fn the_row_begins_behind_the_directives() {
        let trial = Trial::new(".version 8.7\n", "", &["m"], &["b"], "ret;");
        assert_eq!(trial.row, ".version 8.7\n".len());
        assert!(trial.text.ends_with("b\nret;\nret;\n}\n"));
        assert!(
            trial
                .text
                .starts_with(".version 8.7\nm\n.visible .entry k()\n{\n")
        );
    }

    #[test]
    fn verdicts_pass_fail_or_skip() {
        let float = || Some("floating point".to_string());
        let refused = || Verdict::Refused("no".to_string());
        let lacks = || Verdict::Lacks(vec!["barriers".to_string()]);
        let passes = |o: Outcome| o == Outcome::Passed;
        let fails = |o: Outcome| matches!(o, Outcome::Failed { .. });
        let skips = |o: Outcome| matches!(o, Outcome::Skipped { .. });
        assert!(passes(judge(true, None, Verdict::Accepted)));
        assert!(passes(judge(false, None, refused())));
        assert!(fails(judge(true, None, refused())));
        assert!(fails(judge(false, None, Verdict::Accepted)));
        assert!(fails(judge(false, None, lacks())));
        assert!(fails(judge(
            false,
            None,
            Verdict::RefusedElsewhere("x".into())
        )));
        assert!(fails(judge(true, float(), Verdict::Broken("x".into()))));
        assert!(skips(judge(true, float(), refused())));
        assert!(skips(judge(false, float(), refused())));
        assert!(skips(judge(false, float(), lacks())));
        let elsewhere = Verdict::RefusedElsewhere("x".into());
        assert!(skips(judge(false, float(), elsewhere)));
        assert!(skips(judge(true, None, lacks())));
    }
}
