//! Hostile input: an answer comes, the right one, in bounded time and memory, and the process goes on.
//!
//! Each case runs in a process of its own: through the library, with a good kernel after it in the same process, and
//! through the command. Checked are what is said, where, the processor time, and the most memory that was resident.
//! `cargo test --release --test hostile -- --nocapture` shows all of it as a table in the end.

mod api;
mod case;
mod files;
mod kernels;
mod measure;
mod texts;
mod values;

use case::{Case, Expect};
use libtest_mimic::{Arguments, Failed, Trial};
use measure::{Measured, Temporary, measure};
use std::io::Write as _;
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Who executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Native,
    Interpreter,
}

/// How a case goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    Library(Who),
    Command(Who),
}

impl Door {
    fn name(self) -> &'static str {
        match self {
            Door::Library(Who::Native) => "library",
            Door::Library(Who::Interpreter) => "library, interpreter",
            Door::Command(Who::Native) => "command",
            Door::Command(Who::Interpreter) => "command, interpreter",
        }
    }
}

/// A line of the table.
struct Row {
    input: String,
    door: &'static str,
    said: String,
    cpu: f64,
    wall: f64,
    megabytes: u64,
}

type Rows = Arc<Mutex<Vec<Row>>>;

/// How much slower other machines may be than that on which the bounds were found, and builds without optimisation.
const SLOWER: f64 = if cfg!(debug_assertions) { 40.0 } else { 4.0 };

fn cases() -> Vec<Case> {
    [texts::cases(), kernels::cases()]
        .into_iter()
        .flatten()
        .collect()
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    if let [_, child, door, name] = &words[..]
        && child == "child"
    {
        return child_main(door, name);
    }
    let rows = Rows::default();
    let mut trials: Vec<Trial> = values::TESTS.map(|(name, _)| values_trial(name)).into();
    for case in cases().into_iter().map(Arc::new) {
        let engines: &[Who] = match case.launch {
            Some(_) if !case.native_only => &[Who::Native, Who::Interpreter],
            Some(_) | None => &[Who::Native],
        };
        for door in engines
            .iter()
            .flat_map(|&e| [Door::Library(e), Door::Command(e)])
        {
            let (case, rows) = (Arc::clone(&case), Arc::clone(&rows));
            let name = format!("{}: {}", case.name, door.name());
            trials.push(Trial::test(name, move || {
                let done = enter(&case, door);
                let said = judge(&case, door, &done);
                note(&rows, case.name, door.name(), said.clone(), &done);
                within(case.seconds, case.megabytes, &done)?;
                said.map(drop)
            }));
        }
    }
    trials.extend(files::trials(&rows));
    let arguments = Arguments::from_args();
    let conclusion = libtest_mimic::run(&arguments, trials);
    if arguments.nocapture {
        show(&rows);
    }
    conclusion.exit_code()
}

/// Runs one of [`values::TESTS`] in a process of its own: this one must stay small.
fn values_trial(name: &'static str) -> Trial {
    Trial::test(name, move || {
        let done = measure(&mut child("values", name), patience(20.0));
        within(20.0, 1000, &done)?;
        match done.code {
            Some(0) => Ok(()),
            _ => Err(String::from_utf8_lossy(&done.stderr).into_owned().into()),
        }
    })
}

/// The process that a trial starts: tries a case, or writes its text.
fn child_main(door: &str, name: &str) -> ExitCode {
    if let Some((_, test)) = values::TESTS.iter().find(|(n, _)| *n == name) {
        values::run(*test);
        return ExitCode::SUCCESS;
    }
    let Some(case) = cases().into_iter().find(|c| c.name == name) else {
        return ExitCode::from(2);
    };
    match door {
        "native" => api::run(&case, Who::Native),
        "interpreter" => api::run(&case, Who::Interpreter),
        _ => std::io::stdout()
            .write_all(&(case.text)())
            .expect("a place for the text"),
    }
    ExitCode::SUCCESS
}

fn child(door: &str, name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["child", door, name]);
    command
}

/// Longest that a process may go on.
fn patience(seconds: f64) -> Duration {
    Duration::from_secs_f64(20.0 + 4.0 * seconds * SLOWER)
}

fn enter(case: &Case, door: Door) -> Measured {
    let patience = patience(case.seconds);
    let kind = match door {
        Door::Library(Who::Native) => {
            return measure(&mut child("native", case.name), patience);
        }
        Door::Library(Who::Interpreter) => {
            return measure(&mut child("interpreter", case.name), patience);
        }
        Door::Command(kind) => kind,
    };
    let input = Temporary::new(".ptx");
    let file = std::fs::File::create(&input.0).expect("a temporary file");
    let written = child("text", case.name).stdout(file).status();
    assert!(written.is_ok_and(|s| s.success()), "the text is written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptxlift"));
    match &case.launch {
        None => {
            command.arg("check").arg(&input.0);
        }
        Some(launch) => {
            let extent = |[x, y, z]: [u32; 3]| format!("{x},{y},{z}");
            command.arg("run").arg(&input.0).args(["--kernel", "k"]);
            command.args([
                "--grid",
                &extent(launch.grid),
                "--block",
                &extent(launch.block),
            ]);
            command.args(["--shared", &launch.shared.to_string()]);
            command.args(["--timeout", &format!("{}e-3", launch.limit)]);
            command.args([
                "--engine",
                if kind == Who::Native { "jit" } else { "interp" },
            ]);
            if let Some(elements) = launch.buffer {
                command.args(["--arg", &format!("u32[{elements}]:zeros")]);
            }
        }
    }
    measure(&mut command, patience)
}

/// What was said, if it is what must be said.
fn judge(case: &Case, door: Door, done: &Measured) -> Result<String, Failed> {
    let out = String::from_utf8_lossy(&done.stdout);
    let err = String::from_utf8_lossy(&done.stderr);
    let wrong = |why: &str| -> Result<String, Failed> {
        let cut = |text: &str| text.chars().take(4000).collect::<String>();
        let (out, err) = (cut(&out), cut(&err));
        Err(format!(
            "{why}\nwanted {:?}\ncode {:?}\nstdout:\n{out}\nstderr:\n{err}",
            case.expect, done.code
        )
        .into())
    };
    match door {
        Door::Library(_) => {
            let mut lines = out.lines();
            let mut fields = lines.next().unwrap_or_default().splitn(3, '\t');
            let mut field = || fields.next().unwrap_or_default();
            let (kind, line, words) = (field(), field().parse().unwrap_or(0), field());
            let right = match &case.expect {
                Expect::Fine => kind == "fine",
                Expect::Refused(at, message) => {
                    kind == "refused" && line == *at && words == message
                }
                Expect::Unsupported(message) => kind == "unsupported" && words.contains(message),
                Expect::Usage(message) => kind == "usage" && words.contains(message),
                Expect::Fault(at, what) => {
                    kind == "fault"
                        && (*at == 0 || line == *at)
                        && words.contains(&what.to_string())
                }
            };
            if done.code != Some(0) || !right {
                return wrong("something else came of it");
            }
            if lines.next() != Some(api::GOOD) {
                return wrong("the process did not go on");
            }
            Ok(words.to_string())
        }
        Door::Command(_) => {
            let (code, right) = match &case.expect {
                Expect::Fine => (0, !err.contains("error")),
                Expect::Refused(line, message) => {
                    let at = format!(".ptx:{line}:");
                    let place = err.lines().find(|l| l.contains("┌─"));
                    let there = *line == 0 || place.is_some_and(|l| l.contains(&at));
                    (1, err.starts_with(&format!("error: {message}\n")) && there)
                }
                Expect::Unsupported(message) => (4, err.contains(message.as_str())),
                Expect::Usage(message) => (2, err.contains(message.as_str())),
                Expect::Fault(line, what) => {
                    let there = *line == 0 || err.contains(&format!(".ptx:{line}:"));
                    (3, err.contains(&what.to_string()) && there)
                }
            };
            if done.code != Some(code) || !right {
                return wrong("something else came of it");
            }
            if done.stderr.len() as u64 == measure::MOST_SAID {
                return wrong("too much is said");
            }
            Ok(err.lines().next().unwrap_or_default().to_string())
        }
    }
}

/// Whether time and memory are within bounds.
fn within(seconds: f64, megabytes: u64, done: &Measured) -> Result<(), Failed> {
    if done.cpu > seconds * SLOWER {
        return Err(format!("{:.2} s of {seconds}", done.cpu).into());
    }
    if done.megabytes > megabytes {
        return Err(format!("{} MiB of {megabytes}", done.megabytes).into());
    }
    Ok(())
}

fn note(
    rows: &Rows,
    input: &str,
    door: &'static str,
    said: Result<String, Failed>,
    done: &Measured,
) {
    let said = said.unwrap_or_else(|_| "WRONG".to_string());
    rows.lock().expect("no trial panics with it").push(Row {
        input: input.to_string(),
        door,
        said,
        cpu: done.cpu,
        wall: done.wall,
        megabytes: done.megabytes,
    });
}

fn show(rows: &Rows) {
    let mut rows = rows.lock().expect("no trial panics with it");
    rows.sort_by(|a, b| (&a.input, a.door).cmp(&(&b.input, b.door)));
    println!(
        "| input | through | said | s, processor | s, clock | MiB |\n|---|---|---|--:|--:|--:|"
    );
    for row in rows.iter() {
        let said: String = row.said.chars().take(100).collect();
        println!(
            "| {} | {} | {} | {:.2} | {:.2} | {} |",
            row.input,
            row.door,
            said.replace('|', "\\|"),
            row.cpu,
            row.wall,
            row.megabytes
        );
    }
}
