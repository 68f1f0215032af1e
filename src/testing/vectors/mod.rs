//! Vector tables: instructions with operands and the results that they must have.
//!
//! [`table`] reads a file, [`template`] finds the registers of a statement and writes modules around it, [`bound`]
//! compares approximate results, `run` runs them.

pub mod bound;
pub(in crate::testing) mod run;
pub mod table;
pub mod template;
