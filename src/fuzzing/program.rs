//! A generated program: pieces that can be taken away one by one, and how it is launched.

use super::variant::Variant;
use crate::ir::Reading;
use crate::testing::launch::LaunchSpec;
use std::fmt::Write as _;

/// A program, how it is launched, and by which variants of native code it is run.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// `.version`, `.target`, `.address_size`, a line each.
    pub(super) header: String,
    pub(super) items: Vec<Item>,
    /// Launches of its kernels, each on memory filled anew.
    pub(super) launches: Vec<LaunchSpec>,
    pub(super) variants: Vec<Variant>,
    /// By how many schedules, besides the canonical one, it is run where nothing else is said.
    pub(super) schedules: usize,
    /// How its instructions are read where nothing else is said.
    pub(super) reading: Reading,
    /// See [`Program::is_fixed`].
    pub(super) fixed: bool,
}

/// A piece of a module.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    /// A variable, or a function that is declared only.
    Declaration(String),
    Function(Function),
}

/// A kernel or function with a body.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Function {
    pub name: String,
    pub kernel: bool,
    /// As written, each.
    pub returns: Vec<String>,
    /// As written, each. Those of a kernel stand for the arguments of its launch, in order.
    pub params: Vec<String>,
    pub body: Vec<Statement>,
}

/// A piece of a body.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Statement {
    /// A declaration, label or table, as written.
    Plain(String),
    Instruction(Instruction),
    /// Statements in braces.
    Scope(Vec<Statement>),
}

/// An instruction of a body.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Instruction {
    /// `@%p0 `, or nothing.
    pub guard: String,
    /// Mnemonic and modifiers.
    pub head: String,
    pub operands: Vec<String>,
    /// The row that it was made of; `None` for control flow, and for what only prepares addresses and the like.
    pub row: Option<usize>,
}

/// A program as text, with its rows.
#[derive(Debug, Clone)]
pub(super) struct Text {
    pub text: String,
    /// Of each instruction that was made of a row: where it begins and ends in the text, and the row.
    pub rows: Vec<(usize, usize, usize)>,
}

impl Program {
    /// The module's text.
    pub fn text(&self) -> String {
        self.write().text
    }

    /// Whether what it leaves is the same whatever the order in which its threads run.
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// How its kernels are launched.
    pub fn launches(&self) -> &[LaunchSpec] {
        &self.launches
    }

    /// Indices into [`rows`](super::rows::rows) of the instructions in its text, one for each.
    pub fn rows(&self) -> Vec<usize> {
        self.write().rows.iter().map(|(.., row)| *row).collect()
    }

    /// The text, with the places of its rows.
    pub(super) fn write(&self) -> Text {
        let mut out = Text {
            text: self.header.clone(),
            rows: Vec::new(),
        };
        for item in &self.items {
            match item {
                Item::Declaration(text) => {
                    out.text.push_str(text);
                    out.text.push('\n');
                }
                Item::Function(function) => function.write(&mut out),
            }
        }
        out
    }
}

impl Function {
    /// The words before the body.
    pub(super) fn head(&self) -> String {
        let kind = if self.kernel {
            ".visible .entry"
        } else {
            ".func"
        };
        let returns = match &self.returns[..] {
            [] => String::new(),
            list => format!("({}) ", list.join(", ")),
        };
        format!("{kind} {returns}{}({})", self.name, self.params.join(", "))
    }

    fn write(&self, out: &mut Text) {
        // Writing to a string does not fail, here and below.
        let _ = writeln!(out.text, "{}\n{{", self.head());
        write_all(&self.body, 1, out);
        out.text.push_str("}\n");
    }
}

fn write_all(statements: &[Statement], depth: usize, out: &mut Text) {
    for statement in statements {
        out.text.extend(std::iter::repeat_n("    ", depth));
        match statement {
            Statement::Plain(text) => out.text.push_str(text),
            Statement::Instruction(instruction) => {
                let start = out.text.len();
                let Instruction {
                    guard,
                    head,
                    operands,
                    row,
                } = instruction;
                let space = if operands.is_empty() { "" } else { " " };
                let _ = write!(out.text, "{guard}{head}{space}{};", operands.join(", "));
                if let Some(row) = row {
                    out.rows.push((start, out.text.len(), *row));
                }
            }
            Statement::Scope(inner) => {
                out.text.push_str("{\n");
                write_all(inner, depth + 1, out);
                out.text.extend(std::iter::repeat_n("    ", depth));
                out.text.push('}');
            }
        }
        out.text.push('\n');
    }
}
