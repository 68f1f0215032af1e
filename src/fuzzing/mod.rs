//! Random programs over the rows of the instruction set, and the oracle that compares the engines on them.
//!
//! [`Choices`] decide: by a seed, or by the bytes of a coverage-guided fuzzer. `generate` makes a module of them, whose
//! instructions come from the rows of [`isa`](crate::isa) alone: which words go together, what the operands may be. It knows nothing of what
//! the rows compute or become, so that a new row is generated without a change here. Programs end, and access memory where
//! they may, except for some that are wild on purpose: the fault is then part of the outcome. What [fixed](Program::is_fixed)
//! programs leave does not depend on the order in which threads run.
//!
//! An [`Oracle`] runs a [`Program`] in the interpreter and in [variants](Variant) of native code and compares what is
//! left: buffers, module variables, faults with line, thread and address. It does so under the canonical schedule and under
//! those of some seeds, by which the engines must agree as well; what a fixed program leaves must be the same by all of them.
//!
//! Other input than that of the generator: [`text`] says what holds of any bytes as PTX, [`mutate`] changes PTX into other
//! PTX that is often legal, and [`launch`] runs whatever is in a module in both engines. [`dictionary`] lists the words.
//! The targets of cargo-fuzz in `fuzz/` are made of all these.
//!
//! ```no_run
//! use ptxlift::fuzzing::{Oracle, Options, Program, Verdict};
//!
//! let program = Program::from_seed(1);
//! let outcome = Oracle::new(Options::default()).run(&program);
//! assert_eq!(outcome.verdict, Verdict::Agree, "{}", program.text());
//! ```

mod arrivals;
mod body;
mod calls;
mod campaign;
mod case;
mod choices;
mod copies;
pub mod dictionary;
mod functions;
mod generate;
pub mod launch;
mod meetings;
pub mod mutate;
mod operands;
mod oracle;
mod places;
mod program;
mod rows;
mod shrink;
mod stack;
pub mod text;
mod variant;

pub use campaign::{Campaign, Failure, RowCount, Totals, run};
pub use choices::Choices;
pub use generate::Generated;
pub use oracle::{Difference, Options, Oracle, Outcome, Sort, Verdict};
pub use program::Program;
pub use rows::{listing, rows};
pub use shrink::shrink;
pub use variant::Variant;

impl Generated {
    /// The program of a seed: the same on every host. Programs of consecutive seeds prefer all rows in turn.
    pub fn from_seed(seed: u64) -> Self {
        generate::generate(&mut Choices::seeded(seed), seed)
    }

    /// The program that bytes decide on.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut choices = Choices::from_bytes(bytes);
        let turn = choices.below(0x1_0000) as u64;
        generate::generate(&mut choices, turn)
    }
}

impl Program {
    /// The program of a seed; see [`Generated::from_seed`].
    pub fn from_seed(seed: u64) -> Self {
        Generated::from_seed(seed).program
    }

    /// The program that bytes decide on: any bytes are one. A longer list has more instructions.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Generated::from_bytes(bytes).program
    }
}
