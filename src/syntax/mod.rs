//! Text to syntax tree and back.
//!
//! [`parse`] reads a module, [`print()`] writes one that parses to the same tree, spans aside. Neither knows an
//! instruction: what a word means is decided later.

pub mod ast;
mod lexer;
mod literal;
mod parser;
mod print;

pub use parser::{Parsed, parse};
pub use print::print;
