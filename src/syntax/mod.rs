//! Text to syntax tree and back.

pub mod ast;
