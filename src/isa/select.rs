//! Finds the form that a mnemonic and its modifiers mean.
//!
//! Each modifier goes into the first empty slot that knows its word; the first ones into the slots that belong to the
//! mnemonic. Types keep their order, and so do state spaces. Of the forms that fail, the one that got
//! furthest says what is wrong.

use super::form::{Choice, Complaint, Form, Need, Slot, SlotName};
use super::{FORMS, names};
use crate::diag::nearest;
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use std::sync::LazyLock;

/// What a mnemonic and modifiers mean.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Selection {
    /// These forms, which differ by their operands.
    Forms(Vec<Choice<'static>>),
    /// A form that is known and not built yet, of this family.
    Unbuilt(&'static str),
}

/// Why nothing was found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Refusal {
    /// No instruction has this name; a similar one, if there is one.
    Mnemonic(Option<&'static str>),
    /// This modifier does not fit; what would, and a similar word.
    Modifier {
        /// Index of the modifier.
        index: usize,
        /// Whether the word is one that may stand here once only.
        repeated: bool,
        /// The words that may stand there.
        expected: Vec<&'static str>,
        /// The expected or known word that looks most like it.
        similar: Option<&'static str>,
    },
    /// A modifier is missing; which words may stand in it.
    Missing {
        /// What the missing one decides.
        slot: SlotName,
        /// The words.
        expected: Vec<&'static str>,
    },
    /// The words fit and do not go together.
    Rule(Box<Choice<'static>>, Complaint),
}

/// Finds the forms of an instruction. Modifiers come without their dots.
///
/// # Errors
/// Why there is none.
pub fn select(mnemonic: &str, modifiers: &[&str]) -> Result<Selection, Refusal> {
    if forms(mnemonic).next().is_none() && names::find(mnemonic).is_none() {
        return Err(Refusal::Mnemonic(nearest(
            mnemonic,
            names::MNEMONICS.iter().map(|m| m.name),
        )));
    }
    let mut fitting = Vec::new();
    let mut broken_rule = None;
    for form in forms(mnemonic) {
        let Attempt {
            choice,
            reached,
            missing,
            ..
        } = attempt(form, modifiers);
        if reached < modifiers.len() || missing.is_some() {
            continue;
        }
        match form.rule.map(|rule| rule(&choice)) {
            Some(Err(complaint)) => {
                broken_rule.get_or_insert((choice, complaint));
            }
            Some(Ok(())) | None => fitting.push(choice),
        }
    }
    if !fitting.is_empty() {
        return Ok(Selection::Forms(fitting));
    }
    if let Some(family) = lacking_family(mnemonic, modifiers) {
        return Ok(Selection::Unbuilt(family));
    }
    if let Some((choice, complaint)) = broken_rule {
        return Err(Refusal::Rule(Box::new(choice), complaint));
    }
    let candidates: Vec<Attempt> = forms(mnemonic).map(|f| attempt(f, modifiers)).collect();
    Err(explain(&candidates, modifiers))
}

/// The rows of a mnemonic.
pub fn forms(mnemonic: &str) -> impl Iterator<Item = &'static Form> {
    static ROWS: LazyLock<FxHashMap<&str, Vec<&Form>>> = LazyLock::new(|| {
        let mut rows: FxHashMap<_, Vec<_>> = FxHashMap::default();
        for form in FORMS.iter().flat_map(|room| room.iter()) {
            rows.entry(form.mnemonic).or_default().push(form);
        }
        rows
    });
    ROWS.get(mnemonic).into_iter().flatten().copied()
}

/// The family of a form that is known and not built yet, judged by its mnemonic and the words that mark it.
pub fn lacking_family(mnemonic: &str, modifiers: &[&str]) -> Option<&'static str> {
    let known = names::find(mnemonic)?;
    if known.family == names::CONTROL {
        return None;
    }
    if forms(mnemonic).next().is_none() {
        return Some(known.family);
    }
    names::UNBUILT
        .iter()
        .find(|u| u.mnemonic == known.name && modifiers.iter().any(|m| u.words.contains(m)))
        .map(|u| u.family)
}

/// How far a form got.
struct Attempt {
    choice: Choice<'static>,
    /// Slots of the mnemonic that have been passed.
    lead: usize,
    /// Modifiers that found a slot, from the first on.
    reached: usize,
    /// The modifier that did not is in a slot already.
    repeated: bool,
    /// The first required slot that stayed empty.
    missing: Option<usize>,
}

/// Flags of one word that the assembler takes twice.
fn may_repeat(name: SlotName) -> bool {
    matches!(
        name,
        SlotName::Saturate
            | SlotName::Relu
            | SlotName::Nan
            | SlotName::Finite
            | SlotName::Carry
            | SlotName::ShiftAmount
            | SlotName::Sync
    )
}

fn attempt(form: &'static Form, modifiers: &[&str]) -> Attempt {
    let mut choice = Choice {
        form,
        filled: smallvec![None; form.slots.len()],
    };
    let leads = form.slots.iter().take_while(|s| s.need.leads()).count();
    let mut lead = 0;
    let mut reached = 0;
    let mut repeated = false;
    for (at, modifier) in modifiers.iter().enumerate() {
        let mut fits = false;
        let position = |slot: &Slot| slot.words.iter().position(|w| w.text == *modifier);
        while lead < leads && !fits {
            let slot = &form.slots[lead];
            if let Some(word) = position(slot) {
                choice.filled[lead] = Some((word, at));
                fits = true;
            } else if !slot.need.is_optional() {
                break;
            }
            lead += 1;
        }
        if fits {
            reached += 1;
            continue;
        }
        if lead < leads {
            break;
        }
        for (index, slot) in form.slots.iter().enumerate().skip(leads) {
            let Some(word) = position(slot) else {
                continue;
            };
            if let Some((filled, _)) = choice.filled[index] {
                // Another type is no second one.
                repeated |= filled == word || !slot.name.is_type();
                fits |= may_repeat(slot.name);
                continue;
            }
            if slot.name.is_type() && earlier_type_is_empty(form, &choice, index) {
                continue;
            }
            if slot.name == SlotName::FromSpace && !choice.has(SlotName::Space) {
                continue;
            }
            choice.filled[index] = Some((word, at));
            fits = true;
            break;
        }
        if !fits {
            break;
        }
        reached += 1;
        repeated = false;
    }
    let missing = form
        .slots
        .iter()
        .enumerate()
        .position(|(index, slot)| !slot.need.is_optional() && choice.filled[index].is_none());
    Attempt {
        choice,
        lead,
        reached,
        repeated,
        missing,
    }
}

/// Several types keep the order of their slots.
fn earlier_type_is_empty(form: &Form, choice: &Choice<'_>, index: usize) -> bool {
    form.slots[..index]
        .iter()
        .zip(&choice.filled)
        .any(|(slot, filled)| slot.name.is_type() && filled.is_none())
}

/// Words that may come next in a form.
fn open_words(attempt: &Attempt) -> impl Iterator<Item = &'static str> {
    let slots = attempt.choice.form.slots;
    let rest = &slots[attempt.lead..];
    // Up to the first slot of the mnemonic that must be filled.
    let required = rest.iter().position(|s| s.need == Need::First);
    rest[..required.map_or(rest.len(), |at| at + 1)]
        .iter()
        .zip(&attempt.choice.filled[attempt.lead..])
        .filter(|(_, filled)| filled.is_none())
        .flat_map(|(slot, _)| slot.words.iter().map(|w| w.text))
}

fn explain(candidates: &[Attempt], modifiers: &[&str]) -> Refusal {
    let furthest = candidates.iter().map(|c| c.reached).max().unwrap_or(0);
    let best: Vec<&Attempt> = candidates
        .iter()
        .filter(|c| c.reached == furthest)
        .collect();
    let mut expected = Vec::new();
    let mut expect = |word| {
        if !expected.contains(&word) {
            expected.push(word);
        }
    };
    if let Some(word) = modifiers.get(furthest) {
        best.iter()
            .flat_map(|c| open_words(c))
            .for_each(&mut expect);
        let known = || {
            FORMS
                .iter()
                .flat_map(|room| room.iter())
                .flat_map(|f| f.slots)
                .flat_map(|s| s.words)
                .map(|w| w.text)
        };
        return Refusal::Modifier {
            index: furthest,
            repeated: best.iter().any(|c| c.repeated),
            similar: nearest(word, expected.iter().copied()).or_else(|| {
                // A word that exists is misplaced, not misspelt.
                if known().any(|k| k == *word) {
                    None
                } else {
                    nearest(word, known())
                }
            }),
            expected,
        };
    }
    let mut slot = SlotName::Type;
    for candidate in best.iter().rev() {
        if let Some(missing) = candidate.missing {
            let missing = candidate.choice.form.slots[missing];
            slot = missing.name;
        }
    }
    for candidate in &best {
        for (index, open) in candidate.choice.form.slots.iter().enumerate() {
            if open.name == slot && candidate.choice.filled[index].is_none() {
                open.words.iter().map(|w| w.text).for_each(&mut expect);
            }
        }
    }
    Refusal::Missing { slot, expected }
}
