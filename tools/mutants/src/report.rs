//! Totals by room, and the mutants that nothing catches.

use crate::mutant::{Genre, Mutant, State};
use crate::run::{Result, Verdict};
use std::collections::{BTreeMap, HashMap};

#[derive(Default)]
struct Row {
    counts: HashMap<Verdict, usize>,
    constant: usize,
    uncompilable: usize,
    unknown: usize,
    waiting: usize,
}

impl Row {
    fn add(&mut self, mutant: &Mutant, result: Option<&Result>) {
        match (&mutant.state, result) {
            (State::Constant, _) => self.constant += 1,
            (State::Uncompilable(_), _) => self.uncompilable += 1,
            (State::Unknown, _) => self.unknown += 1,
            (State::Switched, None) => self.waiting += 1,
            (State::Switched, Some(r)) => *self.counts.entry(r.verdict).or_default() += 1,
        }
    }

    fn line(&self, name: &str) -> String {
        let count = |v| self.counts.get(&v).copied().unwrap_or(0);
        let run = self.counts.values().sum::<usize>() - count(Verdict::Deferred);
        format!(
            "| {name} | {run} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            count(Verdict::Caught),
            count(Verdict::TimedOut),
            count(Verdict::Survived),
            count(Verdict::Unchanged),
            count(Verdict::Unreached),
            self.uncompilable,
            self.constant,
            self.unknown,
            self.waiting + count(Verdict::Deferred),
        )
    }
}

fn table(title: &str, rows: &BTreeMap<String, Row>, all: &Row) -> String {
    let mut lines = vec![
        format!(
            "| {title} | run | caught | timed out | survived | unchanged | unreached | do not compile | constant | no switch | not run |"
        ),
        "|---|---|---|---|---|---|---|---|---|---|---|".to_string(),
    ];
    lines.extend(rows.iter().map(|(name, row)| row.line(name)));
    lines.push(all.line("all"));
    lines.join("\n")
}

/// The report in Markdown.
pub fn report(mutants: &[Mutant], results: &[Result]) -> String {
    let results: HashMap<u32, &Result> = results.iter().map(|r| (r.id, r)).collect();
    let mut rooms: BTreeMap<String, Row> = BTreeMap::new();
    let mut genres: BTreeMap<Genre, Row> = BTreeMap::new();
    let mut all = Row::default();
    for mutant in mutants {
        let result = results.get(&mutant.id).copied();
        let room = mutant
            .file
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder);
        rooms
            .entry(room.to_string())
            .or_default()
            .add(mutant, result);
        genres.entry(mutant.genre).or_default().add(mutant, result);
        all.add(mutant, result);
    }
    let genres = genres
        .into_iter()
        .map(|(g, row)| (format!("{g:?}"), row))
        .collect();
    let mut text = table("room", &rooms, &all);
    text.push_str("\n\n");
    text.push_str(&table("kind", &genres, &all));
    text.push('\n');
    for verdict in [
        Verdict::Survived,
        Verdict::Unchanged,
        Verdict::Unreached,
        Verdict::Deferred,
    ] {
        text.push_str(&format!("\n## {verdict:?}\n\n"));
        for mutant in mutants {
            if results
                .get(&mutant.id)
                .is_some_and(|r| r.verdict == verdict)
            {
                text.push_str(&format!("* {} {}\n", mutant.id, mutant.title()));
            }
        }
    }
    text
}
