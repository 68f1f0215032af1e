//! Writes all mutants of a file into it, each behind its switch.
//!
//! An expression becomes `(if on(N) { mutated } else { original })`, where the original holds the switches of its parts and
//! the mutated text does not: one mutant is on at a time. Comments mark what belongs to which mutant, so that the
//! compiler's errors can be told apart.

use crate::find::{Arm, Places};
use crate::mutant::{Genre, Mutant, State, line_column};
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

#[derive(Debug)]
enum Edit {
    /// The name of a field before the value that was called by it.
    Name(String),
    /// At the head of a function's body: mutants and what they return.
    Head(Vec<(u32, String)>),
    /// Instead of an expression: mutants, their text, whether both can be compared.
    Expr(Vec<(u32, String, bool)>),
    /// Behind the pattern of an arm without guard: the mutants that delete it.
    Pattern(Vec<u32>),
    /// Instead of a guard; whether it is a chain with `let`.
    Guard(Vec<(u32, GuardChange)>, bool),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum GuardChange {
    Never,
    Always,
}

/// The edits of a file: by start, insertions first, then the outermost.
type Edits = BTreeMap<(usize, bool, std::cmp::Reverse<usize>), Edit>;

/// Sets the state of `mutants`, all of one file, and gives the file with those that can be switched. `plain` holds the
/// mutants that do not survive being compared with the original.
pub fn render(text: &str, places: &Places, mutants: &mut [Mutant], plain: &HashSet<u32>) -> String {
    let mut edits = Edits::new();
    for mutant in mutants {
        if mutant.state != State::Switched {
            continue;
        }
        mutant.state = add(text, places, mutant, plain, &mut edits);
    }
    let edits: Vec<_> = edits
        .into_iter()
        .map(|((start, _, end), edit)| (start..end.0, edit))
        .collect();
    let mut out = String::with_capacity(text.len() * 4);
    write(text, 0..text.len(), &edits, &mut out);
    out
}

fn at(edits: &mut Edits, range: Range<usize>, new: Edit) -> &mut Edit {
    let key = (range.start, !range.is_empty(), std::cmp::Reverse(range.end));
    edits.entry(key).or_insert(new)
}

fn add(
    text: &str,
    places: &Places,
    mutant: &Mutant,
    plain: &HashSet<u32>,
    edits: &mut Edits,
) -> State {
    let id = mutant.id;
    let paren = |r: &Range<usize>| format!("({})", &text[r.clone()]);
    let (range, mutated, pure) = match mutant.genre {
        Genre::FnValue => {
            let body = places
                .bodies
                .iter()
                .filter(|b| b.range.start <= mutant.start && mutant.end <= b.range.end)
                .min_by_key(|b| b.range.len());
            let Some(body) = body else {
                return State::Unknown;
            };
            if body.constant {
                return State::Constant;
            }
            let head = body.range.start + 1;
            if let Edit::Head(list) = at(edits, head..head, Edit::Head(vec![])) {
                list.push((id, mutant.replacement.clone()));
            }
            return State::Switched;
        }
        Genre::MatchArm | Genre::MatchArmGuard => return add_arm(places, mutant, edits),
        Genre::BinaryOperator => {
            let Some(binary) = places.binaries.get(&mutant.start) else {
                return State::Unknown;
            };
            if binary.place.constant {
                return State::Constant;
            }
            if binary.has_let {
                return State::Uncompilable("`let` stands only in chains of `&&`".to_string());
            }
            let (left, right) = (paren(&binary.left), paren(&binary.right));
            let mutated = format!("{left} {} {right}", mutant.replacement);
            let divides = mutant.replacement.starts_with(['/', '%']);
            (&binary.place.range, mutated, binary.place.pure && !divides)
        }
        Genre::UnaryOperator => {
            let Some((place, operand)) = places.unaries.get(&mutant.start) else {
                return State::Unknown;
            };
            if place.constant {
                return State::Constant;
            }
            (&place.range, paren(operand), place.pure)
        }
        Genre::Literal => {
            let place = places
                .literals
                .iter()
                .find(|p| p.range.start == mutant.start);
            let Some(place) = place else {
                return State::Unknown;
            };
            (&place.range, mutant.replacement.clone(), false)
        }
        Genre::Operation => {
            let word = places
                .words
                .iter()
                .find(|(_, word)| word.start == mutant.start);
            let Some((place, word)) = word else {
                return State::Unknown;
            };
            let before = &text[place.range.start..word.start];
            let behind = &text[word.end..place.range.end];
            let mutated = format!("{before}{}{behind}", mutant.replacement);
            (&place.range, mutated, place.pure)
        }
        Genre::StructField => {
            let Some(field) = places.fields.get(&mutant.start) else {
                return State::Unknown;
            };
            if field.place.constant {
                return State::Constant;
            }
            if let Some(name) = &field.shorthand {
                let here = mutant.start..mutant.start;
                at(edits, here, Edit::Name(name.clone()));
            }
            (&field.place.range, field.from_base.clone(), false)
        }
    };
    if let Edit::Expr(list) = at(edits, range.clone(), Edit::Expr(vec![])) {
        list.push((id, mutated, pure && !plain.contains(&id)));
    }
    State::Switched
}

fn add_arm(places: &Places, mutant: &Mutant, edits: &mut Edits) -> State {
    let found = match mutant.genre {
        Genre::MatchArm => places.arms.iter().find(|a| a.range.start == mutant.start),
        _ => places
            .arms
            .iter()
            .find(|a| a.guard.as_ref().is_some_and(|g| g.start == mutant.start)),
    };
    let Some(Arm {
        pattern_end,
        guard,
        has_let,
        constant,
        ..
    }) = found
    else {
        return State::Unknown;
    };
    if *constant {
        return State::Constant;
    }
    let Some(guard) = guard else {
        let pattern = *pattern_end..*pattern_end;
        if let Edit::Pattern(list) = at(edits, pattern, Edit::Pattern(vec![])) {
            list.push(mutant.id);
        }
        return State::Switched;
    };
    let change = match (mutant.genre, mutant.replacement.as_str()) {
        (Genre::MatchArmGuard, "true") => GuardChange::Always,
        _ => GuardChange::Never,
    };
    if *has_let && change == GuardChange::Always {
        return State::Uncompilable("the guard binds names".to_string());
    }
    // An expression that is the whole guard is an edit of the same range, which must lie within this one: an empty
    // stretch before it cannot hold it, so the guard's edit is one byte longer at the front.
    let range = guard.start - 1..guard.end;
    if let Edit::Guard(list, _) = at(edits, range, Edit::Guard(vec![], *has_let)) {
        list.push((mutant.id, change));
    }
    State::Switched
}

/// Writes the part `range` of the text. `edits` are those within it, in order.
fn write(text: &str, range: Range<usize>, edits: &[(Range<usize>, Edit)], out: &mut String) {
    let mut from = range.start;
    let mut i = 0;
    while i < edits.len() {
        let (here, edit) = &edits[i];
        let within = edits[i + 1..]
            .iter()
            .take_while(|(r, _)| !here.is_empty() && r.end <= here.end)
            .count();
        let inner = &edits[i + 1..i + 1 + within];
        out.push_str(&text[from..here.start]);
        write_edit(text, here, edit, inner, out);
        from = here.end;
        i += 1 + within;
    }
    out.push_str(&text[from..range.end]);
}

fn write_edit(
    text: &str,
    range: &Range<usize>,
    edit: &Edit,
    inner: &[(Range<usize>, Edit)],
    out: &mut String,
) {
    let group = match edit {
        Edit::Name(name) => {
            out.push_str(&format!("{name}: "));
            return;
        }
        Edit::Head(list) => list[0].0,
        Edit::Expr(list) => list[0].0,
        Edit::Pattern(list) => list[0],
        Edit::Guard(list, _) => list[0].0,
    };
    out.push_str(&format!("/*[[{group}*/"));
    match edit {
        Edit::Name(_) => {}
        Edit::Head(list) => {
            for (id, value) in list {
                out.push_str(&format!(
                    "/*[{id}*/ if crate::mutant::on({id}) {{ return {value}; }} /*{id}]*/"
                ));
            }
        }
        Edit::Expr(list) => {
            out.push('(');
            let original = &text[range.clone()];
            for (id, mutated, pure) in list {
                let condition = if *pure {
                    format!("crate::mutant::differs({id}, || ({mutated}) != ({original}))")
                } else {
                    format!("crate::mutant::on({id})")
                };
                out.push_str(&format!(
                    "/*[{id}*/ if {condition} {{ {mutated} }} /*{id}]*/ else "
                ));
            }
            out.push_str("{ ");
            write(text, range.clone(), inner, out);
            out.push_str(" })");
        }
        Edit::Pattern(list) => {
            out.push_str(" if true");
            for id in list {
                out.push_str(&format!(" && /*[{id}*/ !crate::mutant::on({id}) /*{id}]*/"));
            }
        }
        Edit::Guard(list, has_let) => {
            out.push(' ');
            for (id, change) in list {
                if *change == GuardChange::Never {
                    out.push_str(&format!("/*[{id}*/ !crate::mutant::on({id}) /*{id}]*/ && "));
                }
            }
            if !has_let {
                out.push('(');
            }
            for (id, change) in list {
                if *change == GuardChange::Always {
                    out.push_str(&format!("/*[{id}*/ crate::mutant::on({id}) /*{id}]*/ || "));
                }
            }
            write(text, range.clone(), inner, out);
            if !has_let {
                out.push(')');
            }
        }
    }
    out.push_str(&format!("/*{group}]]*/"));
}

/// Methods and conditions, and the siblings that replace them.
const SIBLINGS: &[(&str, &str)] = &[
    // Of Cranelift.
    ("iadd", "isub"),
    ("isub", "iadd"),
    ("imul", "iadd"),
    ("ishl", "ushr"),
    ("ushr", "sshr"),
    ("sshr", "ushr"),
    ("band", "bor"),
    ("bor", "bxor"),
    ("bxor", "bor"),
    ("umin", "umax"),
    ("umax", "umin"),
    ("smin", "smax"),
    ("smax", "smin"),
    ("rotl", "rotr"),
    ("rotr", "rotl"),
    ("uextend", "sextend"),
    ("sextend", "uextend"),
    ("clz", "ctz"),
    ("udiv", "sdiv"),
    ("sdiv", "udiv"),
    ("urem", "srem"),
    ("srem", "urem"),
    ("umulhi", "smulhi"),
    ("smulhi", "umulhi"),
    ("bnot", "ineg"),
    ("ineg", "bnot"),
    ("Equal", "NotEqual"),
    ("NotEqual", "Equal"),
    ("SignedLessThan", "UnsignedLessThan"),
    ("SignedLessThanOrEqual", "SignedLessThan"),
    ("SignedGreaterThan", "UnsignedGreaterThan"),
    ("SignedGreaterThanOrEqual", "SignedGreaterThan"),
    ("UnsignedLessThan", "UnsignedLessThanOrEqual"),
    ("UnsignedLessThanOrEqual", "UnsignedLessThan"),
    ("UnsignedGreaterThan", "UnsignedGreaterThanOrEqual"),
    ("UnsignedGreaterThanOrEqual", "UnsignedGreaterThan"),
    // Of `lower`.
    ("shl_k", "shr_k"),
    ("shr_k", "sar_k"),
    ("sar_k", "shr_k"),
    // Of Rust.
    ("all", "any"),
    ("any", "all"),
    ("is_none", "is_some"),
    ("is_some", "is_none"),
    ("max", "min"),
    ("min", "max"),
    ("leading_zeros", "trailing_zeros"),
    ("rotate_left", "rotate_right"),
    ("wrapping_add", "wrapping_sub"),
    ("wrapping_sub", "wrapping_add"),
    ("wrapping_mul", "wrapping_add"),
    ("saturating_add", "wrapping_add"),
    ("saturating_sub", "wrapping_sub"),
];

/// Mutants of our own in a file.
pub fn own(file: &str, text: &str, places: &Places) -> Vec<Mutant> {
    let literals = places
        .literals
        .iter()
        .map(|place| (Genre::Literal, place, place.range.clone()));
    let words = places
        .words
        .iter()
        .map(|(place, word)| (Genre::Operation, place, word.clone()));
    let mut mutants = Vec::new();
    for (genre, place, range) in literals.chain(words).filter(|(_, p, _)| !p.constant) {
        let original = &text[range.clone()];
        let replacement = match genre {
            Genre::Literal => other_literal(original),
            _ => SIBLINGS
                .iter()
                .find(|(word, _)| *word == original)
                .map(|(_, sibling)| (*sibling).to_string()),
        };
        let Some(replacement) = replacement else {
            continue;
        };
        let (line, column) = line_column(text, range.start);
        mutants.push(Mutant {
            id: 0,
            file: file.to_string(),
            function: place.function.clone(),
            line,
            column,
            genre,
            original: original.to_string(),
            replacement,
            start: range.start,
            end: range.end,
            state: State::Switched,
            compared: false,
        });
    }
    mutants
}

/// The next integer with the same suffix, the other truth value.
fn other_literal(text: &str) -> Option<String> {
    match text {
        "true" => return Some("false".to_string()),
        "false" => return Some("true".to_string()),
        _ => {}
    }
    let literal: syn::LitInt = syn::parse_str(text).ok()?;
    let next = literal.base10_parse::<u128>().ok()?.checked_add(1)?;
    Some(format!("{next}{}", literal.suffix()))
}

/// What an error of the compiler concerns: the mutants that the place in the written file belongs to.
pub fn blame(written: &str, place: Range<usize>) -> Option<Blame> {
    let mut open: Vec<(u32, bool)> = Vec::new();
    let mut i = 0;
    while let Some(found) = written[i..place.start].find("/*") {
        let start = i + found;
        let Some(end) = written[start..].find("*/").map(|n| start + n) else {
            break;
        };
        let comment = &written[start + 2..end];
        i = end + 2;
        if i > place.start {
            break;
        }
        if let Some(id) = comment.strip_prefix("[[").and_then(|n| n.parse().ok()) {
            open.push((id, true));
        } else if let Some(id) = comment.strip_prefix('[').and_then(|n| n.parse().ok()) {
            open.push((id, false));
        } else if let Some(id) = comment.strip_suffix("]]").and_then(|n| n.parse().ok()) {
            open.retain(|o| *o != (id, true));
        } else if let Some(id) = comment.strip_suffix(']').and_then(|n| n.parse().ok()) {
            open.retain(|o| *o != (id, false));
        }
    }
    open.last().map(|&(id, group)| match group {
        true => Blame::Group(id),
        false => Blame::Mutant(id),
    })
}

/// Whose fault an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    Mutant(u32),
    /// All that replace the same expression; the number of their first.
    Group(u32),
}

/// The first mutant behind `start` that deletes an arm of a match.
pub fn first_deleted_arm(written: &str, start: usize) -> Option<u32> {
    const SWITCH: &str = "!crate::mutant::on(";
    let found = start + written[start..].find(SWITCH)? + SWITCH.len();
    written[found..].split(')').next()?.parse().ok()
}

/// The mutants of a group in the written file.
pub fn group(written: &str, first: u32) -> Vec<u32> {
    let (open, close) = (format!("/*[[{first}*/"), format!("/*{first}]]*/"));
    let Some(start) = written.find(&open) else {
        return vec![first];
    };
    let end = written.find(&close).unwrap_or(written.len());
    let mut depth = 0;
    let mut ids = Vec::new();
    for comment in written[start + 2..end].split("/*") {
        let comment = comment.split("*/").next().unwrap_or_default();
        if comment.starts_with("[[") {
            depth += 1;
        } else if comment.ends_with("]]") {
            depth -= 1;
        } else if let (1, Some(id)) = (depth, comment.strip_prefix('[')) {
            ids.extend(id.parse::<u32>());
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;

    fn mutant(id: u32, text: &str, words: &str, genre: Genre, replacement: &str) -> Mutant {
        let start = text.find(words).expect("the words are there");
        Mutant {
            id,
            file: String::new(),
            function: String::new(),
            line: 1,
            column: 1,
            genre,
            original: words.to_string(),
            replacement: replacement.to_string(),
            start,
            end: start + words.len(),
            state: State::Switched,
            compared: false,
        }
    }

    /// The text with the mutants in it, without the marks.
    fn rendered(text: &str, mutants: &mut [Mutant]) -> String {
        let places = find::places(text).expect("it is Rust");
        let mut out = render(text, &places, mutants, &HashSet::new());
        assert!(syn::parse_file(&out).is_ok(), "{out}");
        while let (Some(start), Some(end)) = (out.find("/*"), out.find("*/")) {
            out.replace_range(start..end + 2, "");
        }
        out.replace("crate::mutant::", "")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .replace("( ", "(")
    }

    #[test]
    fn switches_within_switches() {
        let text = "fn f() -> bool { g() < 1 && h() }";
        let mut mutants = [
            mutant(0, text, "g() < 1 && h()", Genre::FnValue, "true"),
            mutant(1, text, "&&", Genre::BinaryOperator, "||"),
            mutant(2, text, "<", Genre::BinaryOperator, "=="),
            mutant(3, text, "<", Genre::BinaryOperator, ">"),
            mutant(4, text, "1", Genre::Literal, "2"),
        ];
        assert_eq!(
            rendered(text, &mut mutants),
            "fn f() -> bool { if on(0) { return true; } (if on(1) { (g() < 1) || (h()) } else { \
             (if on(2) { (g()) == (1) } else if on(3) { (g()) > (1) } else { \
             g() < (if on(4) { 2 } else { 1 }) }) && h() }) }"
        );
    }

    #[test]
    fn pure_expressions_are_compared() {
        let text = "fn f(a: u32) -> u32 { a + 1 }";
        let mut mutants = [mutant(5, text, "+", Genre::BinaryOperator, "-")];
        assert_eq!(
            rendered(text, &mut mutants),
            "fn f(a: u32) -> u32 { (if differs(5, || ((a) - (1)) != (a + 1)) { (a) - (1) } else { a + 1 }) }"
        );
    }

    #[test]
    fn arms_and_guards() {
        let text = "fn f(a: u32) { match a { 1 => x(), n if y(n) => z(), _ => {} } }";
        let mut mutants = [
            mutant(0, text, "1 => x()", Genre::MatchArm, ""),
            mutant(1, text, "n if y(n) => z()", Genre::MatchArm, ""),
            mutant(2, text, "y(n)", Genre::MatchArmGuard, "true"),
            mutant(3, text, "y(n)", Genre::MatchArmGuard, "false"),
        ];
        assert_eq!(
            rendered(text, &mut mutants),
            "fn f(a: u32) { match a { 1 if true && !on(0) => x(), \
             n if !on(1) && !on(3) && (on(2) || y(n)) => z(), _ => {} } }"
        );
    }

    #[test]
    fn constants_have_no_switch() {
        let text = "const A: u32 = 1 << 4; const fn f() -> u32 { 2 + A }";
        let mut mutants = [
            mutant(0, text, "<<", Genre::BinaryOperator, ">>"),
            mutant(1, text, "+", Genre::BinaryOperator, "-"),
        ];
        rendered(text, &mut mutants);
        assert!(mutants.iter().all(|m| m.state == State::Constant));
    }

    #[test]
    fn errors_find_their_mutant() {
        let text = "fn f() -> bool { g() < h() }";
        let places = find::places(text).expect("it is Rust");
        let mut mutants = [
            mutant(7, text, "<", Genre::BinaryOperator, "=="),
            mutant(8, text, "<", Genre::BinaryOperator, ">"),
        ];
        let out = render(text, &places, &mut mutants, &HashSet::new());
        let at = |words: &str| {
            let start = out.find(words).expect("the words are there");
            blame(&out, start..start + words.len())
        };
        assert_eq!(at("(g()) =="), Some(Blame::Mutant(7)));
        assert_eq!(at("(g()) >"), Some(Blame::Mutant(8)));
        assert_eq!(at("g() < h()"), Some(Blame::Group(7)));
        assert_eq!(at("fn f"), None);
        assert_eq!(group(&out, 7), [7, 8]);
    }
}
