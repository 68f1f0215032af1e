//! The rows of the instruction set as the generator sees them: which there are, which words a module may use, what
//! an instruction becomes.

use super::choices::Choices;
use crate::ir::{Kind, Reg, RegClass};
use crate::isa::form::{Arg, At, Build, Choice, Complaint, Emit, Form, Need, SlotName, Version};
use crate::isa::{FORMS, Selection, select};
use smallvec::{SmallVec, smallvec};
use std::sync::LazyLock;

/// All rows of all families, in order; counts and [`Program::rows`](super::Program::rows) are by index into it.
pub fn rows() -> &'static [&'static Form] {
    static ROWS: LazyLock<Vec<&'static Form>> =
        LazyLock::new(|| FORMS.iter().copied().flatten().collect());
    &ROWS
}

/// A row as a listing names it: `mul(.lo|.hi).u16...`: each slot with its first word.
pub fn listing(form: &Form) -> String {
    const SHOWN: usize = 2;
    let mut text = form.mnemonic.to_string();
    for slot in form.slots {
        let mut words: Vec<String> = slot
            .words
            .iter()
            .take(SHOWN)
            .map(|word| format!(".{}", word.text))
            .collect();
        if slot.words.len() > SHOWN {
            words.push("..".to_string());
        }
        let words = words.join("|");
        text += &match (slot.need, slot.words.len()) {
            (Need::Optional | Need::MaybeFirst, _) => format!("{{{words}}}"),
            (Need::First | Need::Required, 1) => words,
            (Need::First | Need::Required, _) => format!("({words})"),
        };
    }
    text
}

/// Which row a form is; constants have no address of their own.
pub(super) fn number(form: &Form) -> Option<usize> {
    rows().iter().position(|row| {
        row.mnemonic == form.mnemonic && row.slots == form.slots && row.operands == form.operands
    })
}

/// The rows of a family, as indices, that are generated in chains: those that read or write the carry.
pub(super) fn chained() -> &'static [usize] {
    static CHAINED: LazyLock<Vec<usize>> = LazyLock::new(|| {
        let mut next = 0;
        let mut chained = Vec::new();
        for family in FORMS {
            let carries = |form: &Form| form.slots.iter().any(|s| s.name == SlotName::Carry);
            if family.iter().any(carries) {
                chained.extend(next..next + family.len());
            }
            next += family.len();
        }
        chained
    });
    &CHAINED
}

/// What the top of a module says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    pub version: Version,
    pub sm: u32,
    pub suffix: &'static str,
    pub address_bits: u32,
}

impl Target {
    const fn new(version: Version, sm: u32, suffix: &'static str, address_bits: u32) -> Target {
        Target {
            version,
            sm,
            suffix,
            address_bits,
        }
    }

    /// What programs are generated for. The first has every row that any has, but for those of [`Form::only_architectures`].
    pub(super) const ALL: [Target; 12] = [
        Target::new((9, 5), 121, "a", 64),
        Target::new((9, 4), 107, "f", 64),
        Target::new((9, 5), 120, "f", 64),
        Target::new((9, 5), 103, "a", 64),
        Target::new((8, 7), 90, "", 64),
        Target::new((8, 3), 80, "", 64),
        Target::new((8, 3), 80, "", 32),
        Target::new((7, 0), 75, "", 64),
        Target::new((6, 0), 61, "", 32),
        Target::new((4, 3), 50, "", 64),
        Target::new((3, 2), 35, "", 64),
        Target::new((3, 1), 30, "", 32),
    ];

    /// Whether the target has what needs these.
    pub(super) fn has(&self, since: Version, sm: u32) -> bool {
        self.version >= since && self.sm >= sm
    }

    /// Whether the target has some instruction of a row.
    pub(super) fn has_row(&self, form: &Form) -> bool {
        let (since, target) = form.needed(self.version, self.sm);
        self.has(since, target)
            && !form.is_gone(self.version, self.sm)
            && form.is_in(self.sm, self.suffix)
    }

    /// The class of an address.
    pub(super) fn address_class(&self) -> RegClass {
        if self.address_bits == 32 {
            RegClass::B32
        } else {
            RegClass::B64
        }
    }

    /// The first lines of a module.
    pub(super) fn header(&self) -> String {
        let Target {
            version: (major, minor),
            sm,
            suffix,
            address_bits,
        } = self;
        format!(".version {major}.{minor}\n.target sm_{sm}{suffix}\n.address_size {address_bits}\n")
    }
}

/// Whether every module that has the row is older than those that are generated.
pub(super) fn is_past(form: &Form) -> bool {
    (Target::ALL.iter()).all(|target| form.is_gone(target.version, target.sm))
}

/// The row with words in its slots that the target has and its rule takes; or `None`, if chance found none.
pub(super) fn fill(
    choices: &mut Choices<'_>,
    target: &Target,
    form: &'static Form,
) -> Option<Choice<'static>> {
    // Many optional words go together seldom.
    let percent = *choices.pick(&[0, 10, 30, 60]);
    let mut filled: SmallVec<[Option<(usize, usize)>; 12]> = smallvec![None; form.slots.len()];
    let mut modifier = 0;
    for (slot, place) in form.slots.iter().zip(&mut filled) {
        if slot.need.is_optional() && !choices.chance(percent) {
            continue;
        }
        let had: SmallVec<[usize; 16]> = (0..slot.words.len())
            .filter(|&w| target.has(slot.words[w].since, slot.words[w].target))
            .collect();
        if had.is_empty() {
            match slot.need {
                Need::Optional | Need::MaybeFirst => continue,
                Need::First | Need::Required => return None,
            }
        }
        *place = Some((*choices.pick(&had), modifier));
        modifier += 1;
    }
    let choice = Choice { form, filled };
    match form.rule {
        Some(rule) if rule(&choice).is_err() => None,
        Some(_) | None => Some(choice),
    }
}

/// The modifiers as written: in the order of the slots, or in another that means the same; and the row that is found
/// by them and this number of operands.
pub(super) fn written(
    choices: &mut Choices<'_>,
    choice: &Choice<'static>,
    operands: usize,
) -> Option<(Vec<&'static str>, usize)> {
    let filled = |choice: &Choice<'static>| -> Vec<Option<&'static str>> {
        let slots = choice.form.slots.iter();
        slots.map(|slot| choice.word(slot.name)).collect()
    };
    let mnemonic = choice.form.mnemonic;
    let mut words: Vec<&str> = filled(choice).into_iter().flatten().collect();
    let ordered = found(mnemonic, &words, operands)?;
    let row = number(ordered.form)?;
    if words.len() > 1 && choices.chance(10) {
        let (a, b) = (choices.below(words.len()), choices.below(words.len()));
        words.swap(a, b);
        let same = found(mnemonic, &words, operands).is_some_and(|other| {
            number(other.form) == Some(row) && filled(&other) == filled(&ordered)
        });
        if !same {
            words.swap(a, b);
        }
    }
    Some((words, row))
}

/// What the checker makes of an instruction.
fn found(mnemonic: &str, words: &[&str], operands: usize) -> Option<Choice<'static>> {
    let Ok(Selection::Forms(list)) = select(mnemonic, words) else {
        return None;
    };
    list.into_iter().find(|choice| {
        let (least, most) = choice.form.operand_count();
        (least..=most).contains(&operands)
    })
}

/// Whether the row's build function takes the operands.
///
/// # Errors
/// That the row is wrong.
pub(super) fn builds(
    target: &Target,
    choice: &Choice<'static>,
    args: &[Arg],
) -> Result<bool, String> {
    let result = match choice.form.build {
        Build::Pure(operator) => operator(choice, args).map(drop),
        Build::Emit(function) => function(choice, args, &mut Nowhere(target.address_class())),
        Build::Hint => Ok(()),
    };
    match result {
        Ok(()) => Ok(true),
        Err(Complaint {
            at: At::Row,
            message,
        }) => Err(format!("{}: {message}", listing(choice.form))),
        Err(_) => Ok(false),
    }
}

/// Takes what build functions append.
struct Nowhere(RegClass);

impl Emit for Nowhere {
    fn emit(&mut self, _: Kind) {}

    fn prepare(&mut self, _: Kind) {}

    fn fresh(&mut self, _: RegClass) -> Reg {
        Reg(u32::MAX)
    }

    fn carry(&mut self) -> Reg {
        Reg(u32::MAX)
    }

    fn address_class(&self) -> RegClass {
        self.0
    }
}
