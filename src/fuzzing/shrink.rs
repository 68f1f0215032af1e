//! Makes a program that fails small: takes pieces away and puts simpler ones in, as long as it still fails in the same
//! way. Whether what is left is legal the checker says.

use super::campaign::same_sort;
use super::oracle::{Difference, Oracle, Sort, Verdict};
use super::program::{Function, Instruction, Item, Program, Statement};
use crate::testing::launch::ArgValue;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Most programs that are tried.
const TRIES: usize = 6000;

/// The smallest program found for which `fails` holds, as it does for `program`.
pub fn shrink(program: &Program, fails: &mut dyn FnMut(&Program) -> bool) -> Program {
    let mut shrinker = Shrinker {
        best: program.clone(),
        fails,
        tries: 0,
    };
    let mut size = usize::MAX;
    // Each pass makes room for the others.
    while shrinker.best.text().len() < size && shrinker.tries < TRIES {
        size = shrinker.best.text().len();
        shrinker.pass();
    }
    shrinker.best
}

/// Makes a program small that the oracle gave this verdict; gives it with the verdict that it has then.
pub(super) fn shrink_failure(
    oracle: &Oracle,
    program: &Program,
    verdict: &Verdict,
) -> (Program, Verdict) {
    let mut last = verdict.clone();
    // What runs out of time takes too long to be tried often. What must not depend on the schedule does as soon as a wait is
    // taken away.
    let scheduled = |d: &Difference| d.sort == Sort::Schedule;
    if *verdict == Verdict::TimeLimit || matches!(verdict, Verdict::Differ(d) if scheduled(d)) {
        return (program.clone(), last);
    }
    // A piece less, and a loop may be endless: that is found out soon.
    let begun = Instant::now();
    oracle.run(program);
    let oracle = oracle.within((begun.elapsed() * 10).max(Duration::from_secs(1)));
    let small = shrink(program, &mut |candidate| {
        let found = oracle.run(candidate).verdict;
        let same = same_sort(verdict, &found);
        if same {
            last = found;
        }
        same
    });
    (small, last)
}

struct Shrinker<'f> {
    best: Program,
    fails: &'f mut dyn FnMut(&Program) -> bool,
    tries: usize,
}

impl Shrinker<'_> {
    /// Keeps a candidate that still fails.
    fn keep(&mut self, candidate: Program) -> bool {
        if candidate == self.best || self.tries >= TRIES {
            return false;
        }
        self.tries += 1;
        let fails = (self.fails)(&candidate);
        if fails {
            self.best = candidate;
        }
        fails
    }

    /// The best program changed by `change`, if it still fails.
    fn attempt(&mut self, change: impl FnOnce(&mut Program)) -> bool {
        let mut candidate = self.best.clone();
        change(&mut candidate);
        self.keep(candidate)
    }

    fn pass(&mut self) {
        self.launches();
        self.chunks(
            |program| program.items.len(),
            |program, gone| {
                let mut index = 0;
                program.items.retain(|_| {
                    index += 1;
                    !gone.contains(&(index - 1))
                });
            },
        );
        self.names();
        self.chunks(count_statements, remove_statements);
        self.unwrap_scopes();
        self.instructions();
        self.parameters();
        self.contents();
    }

    /// Takes away half of a list, then quarters, and so on down to single pieces.
    fn chunks(
        &mut self,
        count: impl Fn(&Program) -> usize,
        remove: impl Fn(&mut Program, &HashSet<usize>),
    ) {
        let mut size = count(&self.best).div_ceil(2).max(1);
        loop {
            // From the end, where nothing else needs what is there.
            let mut end = count(&self.best);
            while end > 0 {
                let start = end.saturating_sub(size);
                let gone: HashSet<usize> = (start..end).collect();
                self.attempt(|program| remove(program, &gone));
                end = start.min(count(&self.best));
            }
            if size == 1 {
                return;
            }
            size = size.div_ceil(2);
        }
    }

    fn launches(&mut self) {
        for index in (0..self.best.launches.len()).rev() {
            if self.best.launches.len() > 1 {
                self.attempt(|program| {
                    program.launches.remove(index);
                });
            }
        }
        for index in (0..self.best.variants.len()).rev() {
            if self.best.variants.len() > 1 {
                self.attempt(|program| {
                    program.variants.remove(index);
                });
            }
        }
        for index in 0..self.best.launches.len() {
            let one = [1; 3];
            let _ = self
                .attempt(|p| (p.launches[index].grid, p.launches[index].block) = (one, one))
                || self.attempt(|p| p.launches[index].grid = one)
                || self.attempt(|p| p.launches[index].block = one);
            self.attempt(|p| p.launches[index].dynamic_shared = 0);
        }
    }

    /// Takes away what is named, with all statements that name it: labels with their branches, functions with their
    /// calls.
    fn names(&mut self) {
        let mut names: Vec<String> = Vec::new();
        for item in &self.best.items {
            if let Item::Function(function) = item {
                visit(&function.body, &mut |statement| {
                    if let Statement::Plain(text) = statement
                        && let Some((name, _)) = text.split_once(':')
                    {
                        names.push(name.to_string());
                    }
                });
                if !function.kernel {
                    names.push(function.name.clone());
                }
            }
        }
        for name in names {
            self.attempt(|program| {
                program.items.retain(|item| match item {
                    Item::Declaration(text) => !mentions(text, &name),
                    Item::Function(function) => function.name != name,
                });
                for function in functions(program) {
                    remove_mentions(&mut function.body, &name);
                }
            });
        }
    }

    fn unwrap_scopes(&mut self) {
        let mut index = 0;
        while index < count_statements(&self.best) {
            let at = index;
            self.attempt(|program| {
                let mut next = 0;
                for function in functions(program) {
                    unwrap_at(&mut function.body, at, &mut next);
                }
            });
            index += 1;
        }
    }

    /// Guards, modifiers and operands.
    fn instructions(&mut self) {
        let mut index = 0;
        while let Some(instruction) = instruction(&mut self.best, index).cloned() {
            if !instruction.guard.is_empty() {
                self.attempt_at(index, |i| i.guard.clear());
            }
            let words = instruction.head.split('.').count();
            for word in (1..words).rev() {
                self.attempt_at(index, |i| {
                    let mut words: Vec<&str> = i.head.split('.').collect();
                    words.remove(word);
                    i.head = words.join(".");
                });
            }
            for operand in 0..instruction.operands.len() {
                for simple in ["0", "1"] {
                    if instruction.operands[operand] == simple
                        || self.attempt_at(index, |i| i.operands[operand] = simple.to_string())
                    {
                        break;
                    }
                }
            }
            index += 1;
        }
    }

    fn attempt_at(&mut self, index: usize, change: impl FnOnce(&mut Instruction)) -> bool {
        self.attempt(|program| {
            if let Some(instruction) = instruction(program, index) {
                change(instruction);
            }
        })
    }

    /// Parameters of kernels, with their arguments and all statements that name them.
    fn parameters(&mut self) {
        for launch in 0..self.best.launches.len() {
            for index in (0..self.best.launches[launch].args.len()).rev() {
                self.attempt(|program| {
                    let spec = &mut program.launches[launch];
                    let name = spec.args.remove(index).name;
                    let kernel = spec.kernel.clone();
                    for function in functions(program) {
                        if function.name == kernel {
                            function.params.remove(index);
                            remove_mentions(&mut function.body, &name);
                        }
                    }
                });
            }
        }
    }

    /// What buffers and scalars hold at first, and how large buffers are.
    fn contents(&mut self) {
        for launch in 0..self.best.launches.len() {
            for arg in 0..self.best.launches[launch].args.len() {
                let bytes =
                    |program: &mut Program| match &mut program.launches[launch].args[arg].value {
                        ArgValue::Buffer { contents, .. } | ArgValue::Bytes(contents) => {
                            std::mem::take(contents)
                        }
                    };
                let put = |program: &mut Program, new: Vec<u8>| match &mut program.launches[launch]
                    .args[arg]
                    .value
                {
                    ArgValue::Buffer { contents, .. } | ArgValue::Bytes(contents) => {
                        *contents = new;
                    }
                };
                self.attempt(|program| {
                    let zeros = vec![0; bytes(program).len()];
                    put(program, zeros);
                });
                let buffer = |program: &Program| {
                    let value = &program.launches[launch].args[arg].value;
                    matches!(value, ArgValue::Buffer { contents, .. } if contents.len() >= 8)
                };
                while buffer(&self.best)
                    && self.attempt(|program| {
                        let mut half = bytes(program);
                        half.truncate((half.len() / 2).next_multiple_of(4));
                        put(program, half);
                    })
                {}
            }
        }
    }
}

fn functions(program: &mut Program) -> impl Iterator<Item = &mut Function> {
    program.items.iter_mut().filter_map(|item| match item {
        Item::Function(function) => Some(function),
        Item::Declaration(_) => None,
    })
}

/// All statements, those of scopes behind the scopes.
fn visit<'s>(statements: &'s [Statement], see: &mut impl FnMut(&'s Statement)) {
    for statement in statements {
        see(statement);
        if let Statement::Scope(inner) = statement {
            visit(inner, see);
        }
    }
}

fn count_statements(program: &Program) -> usize {
    let mut count = 0;
    for item in &program.items {
        if let Item::Function(function) = item {
            visit(&function.body, &mut |_| count += 1);
        }
    }
    count
}

fn remove_statements(program: &mut Program, gone: &HashSet<usize>) {
    fn remove(statements: &mut Vec<Statement>, gone: &HashSet<usize>, next: &mut usize) {
        statements.retain_mut(|statement| {
            let keep = !gone.contains(next);
            *next += 1;
            if let Statement::Scope(inner) = statement {
                remove(inner, gone, next);
            }
            keep
        });
    }
    let mut next = 0;
    for function in functions(program) {
        remove(&mut function.body, gone, &mut next);
    }
}

/// Takes the braces of a statement away.
fn unwrap_at(statements: &mut Vec<Statement>, at: usize, next: &mut usize) {
    let mut index = 0;
    while index < statements.len() {
        let here = *next == at;
        *next += 1;
        if let Statement::Scope(inner) = &mut statements[index] {
            if here {
                let inner = std::mem::take(inner);
                *next += inner.len();
                statements.splice(index..=index, inner);
                continue;
            }
            unwrap_at(inner, at, next);
        }
        index += 1;
    }
}

/// The instruction with this number, counted through all bodies.
fn instruction(program: &mut Program, at: usize) -> Option<&mut Instruction> {
    fn find<'s>(statements: &'s mut [Statement], left: &mut usize) -> Option<&'s mut Instruction> {
        for statement in statements {
            match statement {
                Statement::Instruction(instruction) => {
                    if *left == 0 {
                        return Some(instruction);
                    }
                    *left -= 1;
                }
                Statement::Scope(inner) => {
                    if let Some(found) = find(inner, left) {
                        return Some(found);
                    }
                }
                Statement::Plain(_) => {}
            }
        }
        None
    }
    let mut left = at;
    functions(program).find_map(|function| find(&mut function.body, &mut left))
}

/// Whether a name stands in a text as a word.
fn mentions(text: &str, name: &str) -> bool {
    let part_of_a_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
    text.split(|c| !part_of_a_word(c)).any(|word| word == name)
}

fn remove_mentions(statements: &mut Vec<Statement>, name: &str) {
    statements.retain_mut(|statement| match statement {
        Statement::Plain(text) => !mentions(text, name),
        Statement::Instruction(instruction) => {
            !instruction.operands.iter().any(|o| mentions(o, name))
        }
        Statement::Scope(inner) => {
            remove_mentions(inner, name);
            !inner.is_empty()
        }
    });
}
