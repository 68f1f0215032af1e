//! Every form of the instruction set has a test: an instruction in a function that a `// run:` line of
//! `tests/filetests` calls, or in a kernel that a `//@ entry` there launches.
//!
//! Of a row's modifiers those that decide what is computed count in all their combinations: every operation with every
//! type, with `.sat` and without. Those that decide where or how memory is reached count word by word.

use ptxlift::diag::Source;
use ptxlift::isa::form::{Choice, Form, SlotName};
use ptxlift::isa::special::SPECIALS;
use ptxlift::isa::{Selection, select};
use ptxlift::syntax::ast::{Address, Body, Expr, Function, Instruction, Item, Operand, Statement};
use ptxlift::syntax::parse;
use ptxlift::testing::launch_lines::{self, Expect};
use ptxlift::testing::run_lines;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

/// Branches, calls and returns, which have no rows.
const CONTROL: &[&str] = &[
    "bra",
    "bra.uni",
    "brx.idx",
    "brx.idx.uni",
    "call",
    "call.uni",
    "ret",
    "ret.uni",
    "exit",
    "trap",
    "brkpt",
];

/// What the test files execute.
#[derive(Default)]
struct Executed {
    /// Of each row, by its number: the words in its slots, one list for each instruction.
    words: HashMap<usize, HashSet<Vec<Option<&'static str>>>>,
    /// Instructions as written, without operands.
    instructions: HashSet<String>,
    /// Names among the operands.
    names: HashSet<String>,
}

#[test]
fn every_form_is_executed() {
    let executed = Executed::by_the_files();
    let mut untested = Vec::new();
    for (number, form) in rows().enumerate() {
        let lists = executed.words.get(&number);
        for combination in combinations(form) {
            let is_in = |list: &Vec<Option<&str>>| {
                combination.iter().all(|&(slot, word)| list[slot] == word)
            };
            if !lists.into_iter().flatten().any(is_in) {
                untested.push(listing(form, &combination));
            }
        }
    }
    assert!(
        untested.is_empty(),
        "{} forms without a test:\n{}",
        untested.len(),
        untested.join("\n")
    );
}

#[test]
fn every_branch_and_call_is_executed() {
    let executed = Executed::by_the_files();
    let missing: Vec<_> = CONTROL
        .iter()
        .filter(|written| !executed.instructions.contains(**written))
        .collect();
    assert!(missing.is_empty(), "without a test: {missing:?}");
}

#[test]
fn every_special_register_is_read() {
    let executed = Executed::by_the_files();
    let missing: Vec<_> = SPECIALS
        .iter()
        .map(|special| special.name)
        .filter(|name| !executed.names.contains(*name))
        .collect();
    assert!(missing.is_empty(), "without a test: {missing:?}");
}

/// Those that random programs have, too.
fn rows() -> impl Iterator<Item = &'static Form> {
    ptxlift::fuzzing::rows().iter().copied()
}

/// Which row a form is.
fn number(form: &Form) -> Option<usize> {
    let same = |row: &Form| {
        row.mnemonic == form.mnemonic && row.slots == form.slots && row.operands == form.operands
    };
    rows().position(same)
}

/// Slots whose words count one by one: they do not change what is computed from the operands, or not by themselves.
fn counts_alone(form: &Form, name: SlotName) -> bool {
    match name {
        SlotName::Space
        | SlotName::Order
        | SlotName::Mmio
        | SlotName::Scope
        | SlotName::Cache
        | SlotName::NonCoherent
        | SlotName::EvictL1
        | SlotName::EvictL2
        | SlotName::CacheHint
        | SlotName::PrefetchSize
        | SlotName::Level
        | SlotName::SecondPriority
        | SlotName::Proxy
        | SlotName::Restriction
        | SlotName::Group
        | SlotName::Aligned
        | SlotName::Asynchronous
        | SlotName::FromSpace
        | SlotName::Reading
        | SlotName::Accumulator => true,
        SlotName::Variant
        | SlotName::Rounding
        | SlotName::Flush
        | SlotName::Saturate
        | SlotName::Relu
        | SlotName::OutOfBounds
        | SlotName::Nan
        | SlotName::XorSign
        | SlotName::Abs
        | SlotName::Finite
        | SlotName::Scaled
        | SlotName::Carry
        | SlotName::Overrun
        | SlotName::Compare
        | SlotName::Combine
        | SlotName::ShiftAmount
        | SlotName::Mode
        | SlotName::Second
        | SlotName::PlusOne
        | SlotName::Scale
        | SlotName::To
        | SlotName::Sync
        | SlotName::Operation
        | SlotName::NoComplete
        | SlotName::Bulk
        | SlotName::Step
        | SlotName::Completion
        | SlotName::Multicast
        | SlotName::Masked => false,
        // The plain rows of `ld` and `st` have every vector of every type; the others load and store as they do.
        SlotName::Vector
        | SlotName::Type
        | SlotName::FromType
        | SlotName::SecondType
        | SlotName::ThirdType => {
            let plain = form.slots.iter().all(|slot| match slot.name {
                SlotName::NonCoherent | SlotName::CacheHint | SlotName::Mmio => false,
                SlotName::Order | SlotName::Space => slot.words.len() > 1,
                _ => true,
            });
            matches!(form.mnemonic, "ld" | "ldu" | "st") && !plain
        }
    }
}

/// What must be tested of a form: slots with the words in them, `None` for empty.
fn combinations(form: &'static Form) -> Vec<Vec<(usize, Option<&'static str>)>> {
    let mut crossed: Vec<Vec<(usize, Option<&'static str>)>> = vec![Vec::new()];
    let mut alone = Vec::new();
    for (index, slot) in form.slots.iter().enumerate() {
        let words = slot.words.iter().map(|word| Some(word.text));
        if counts_alone(form, slot.name) {
            alone.extend(words.map(|word| vec![(index, word)]));
            continue;
        }
        let empty = slot.need.is_optional().then_some(None);
        let words: Vec<_> = words.chain(empty).collect();
        crossed = crossed
            .iter()
            .flat_map(|before| {
                words
                    .iter()
                    .map(|&word| [&before[..], &[(index, word)]].concat())
            })
            .collect();
    }
    crossed.extend(alone);
    crossed.retain(|combination| is_legal(form, combination));
    crossed
}

/// Whether the row's own rule takes the words, with any order and scope where it has these.
fn is_legal(form: &'static Form, combination: &[(usize, Option<&'static str>)]) -> bool {
    let Some(rule) = form.rule else {
        return true;
    };
    // What must be there and can only be one word is.
    let mut filled = Vec::new();
    for slot in form.slots {
        let only = !slot.need.is_optional() && slot.words.len() == 1;
        filled.push(only.then_some((0, 0)));
    }
    for &(index, word) in combination {
        let words = form.slots[index].words;
        let position = words.iter().position(|w| Some(w.text) == word);
        filled[index] = position.map(|word| (word, 0));
    }
    let mut tries = vec![filled];
    for (index, slot) in form.slots.iter().enumerate() {
        let given = combination.iter().any(|(i, _)| *i == index);
        if given || !matches!(slot.name, SlotName::Order | SlotName::Scope) {
            continue;
        }
        for filled in tries.clone() {
            tries.extend((0..slot.words.len()).map(|word| {
                let mut filled = filled.clone();
                filled[index] = Some((word, 0));
                filled
            }));
        }
    }
    tries.into_iter().any(|filled| {
        let filled = filled.into();
        rule(&Choice { form, filled }).is_ok()
    })
}

/// `ld.global.u32`: the words of a combination in the order of the slots.
fn listing(form: &Form, combination: &[(usize, Option<&'static str>)]) -> String {
    let mut text = form.mnemonic.to_string();
    for (index, slot) in form.slots.iter().enumerate() {
        match combination.iter().find(|(i, _)| *i == index) {
            Some((_, Some(word))) => text.extend([".", *word]),
            Some((_, None)) => {}
            None if slot.need.is_optional() => {}
            None => text.push_str(".*"),
        }
    }
    text
}

impl Executed {
    fn by_the_files() -> Executed {
        let mut executed = Executed::default();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
        let mut folders = vec![root];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder of tests") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "ptx") {
                    executed.file(&fs::read_to_string(&path).expect("text"));
                }
            }
        }
        executed
    }

    fn file(&mut self, text: &str) {
        let mut called: Vec<String> = Vec::new();
        for line in run_lines::parse(text).into_iter().flatten() {
            called.push(line.function);
        }
        for case in launch_lines::parse(text).into_iter().flatten() {
            match case.expect {
                Expect::Memory { .. } | Expect::Fault(_) => called.push(case.spec.kernel),
                Expect::Error(_) => {}
            }
        }
        let source = Source::new("", text);
        let module = parse(&source).module;
        let functions: HashMap<&str, &Function<'_>> = module
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Function(function) if function.body.is_some() => {
                    Some((function.name.text, function))
                }
                _ => None,
            })
            .collect();
        let mut seen = HashSet::new();
        while let Some(name) = called.pop() {
            let Some(function) = functions.get(name.as_str()) else {
                continue;
            };
            if !seen.insert(name) {
                continue;
            }
            let mut instructions = Vec::new();
            collect(function.body.as_ref(), &mut instructions);
            for instruction in instructions {
                let mut names = Vec::new();
                instruction
                    .operands
                    .iter()
                    .for_each(|o| names_of(o, &mut names));
                // A function that is named may be called.
                called.extend(
                    names
                        .iter()
                        .filter(|n| functions.contains_key(n.as_str()))
                        .cloned(),
                );
                self.names.extend(names);
                self.instruction(instruction);
            }
        }
    }

    fn instruction(&mut self, instruction: &Instruction<'_>) {
        let modifiers: Vec<&str> = instruction.modifiers.iter().map(|m| m.text).collect();
        let mnemonic = instruction.mnemonic.text;
        let mut written = vec![mnemonic];
        written.extend(&modifiers);
        self.instructions.insert(written.join("."));
        let Ok(Selection::Forms(choices)) = select(mnemonic, &modifiers) else {
            return;
        };
        let count = instruction.operands.len();
        for choice in choices {
            let (fewest, most) = choice.form.operand_count();
            if let Some(row) = number(choice.form).filter(|_| (fewest..=most).contains(&count)) {
                let words = choice.form.slots.iter().map(|slot| choice.word(slot.name));
                self.words.entry(row).or_default().insert(words.collect());
            }
        }
    }
}

fn collect<'a, 's>(body: Option<&'a Body<'s>>, to: &mut Vec<&'a Instruction<'s>>) {
    for statement in body.iter().flat_map(|b| &b.statements) {
        match statement {
            Statement::Instruction(instruction) => to.push(instruction),
            Statement::Block(inner) => collect(Some(inner), to),
            Statement::Label(_)
            | Statement::Variable(_)
            | Statement::Pragma(_)
            | Statement::Loc(_)
            | Statement::CallTable(_) => {}
        }
    }
}

fn names_of(operand: &Operand<'_>, to: &mut Vec<String>) {
    match operand {
        Operand::Expr(expr) | Operand::Not(expr, _) => names_in(expr, to),
        Operand::Pair(left, right, _) => {
            names_of(left, to);
            names_of(right, to);
        }
        Operand::Vector(list, _) | Operand::List(list, _) => {
            list.iter().for_each(|o| names_of(o, to));
        }
        Operand::Address(address) => {
            let Address { base, .. } = &**address;
            names_in(base, to);
        }
    }
}

fn names_in(expr: &Expr<'_>, to: &mut Vec<String>) {
    match expr {
        Expr::Name { name, .. } => to.push(name.text.to_string()),
        Expr::Unary { arg, .. } | Expr::Cast { arg, .. } | Expr::Apply { arg, .. } => {
            names_in(arg, to)
        }
        Expr::Binary { lhs, rhs, .. } => {
            names_in(lhs, to);
            names_in(rhs, to);
        }
        Expr::Conditional { .. } | Expr::Int { .. } | Expr::F64 { .. } | Expr::F32 { .. } => {}
    }
}
