//! Text to syntax tree and back.
//!
//! [`parse`] reads a module, [`print()`] writes one that parses to the same tree, spans aside. Neither knows an
//! instruction: what a word means is decided later.
//!
//! Public for experiments: it may change with every minor version.
//!
//! ```
//! use ptxlift::diag::Source;
//! use ptxlift::syntax::{ast::Item, parse, print};
//!
//! let source = Source::new("k.ptx", ".version 8.0 .target sm_80 .entry k() { add.s32 %r1, %r2, -1; }");
//! let parsed = parse(&source);
//! assert!(parsed.diagnostics.is_empty());
//! let kernels = parsed.module.items.iter().filter(|item| matches!(item, Item::Function(_)));
//! assert_eq!(kernels.count(), 1);
//! assert!(print(&parsed.module).contains("add.s32 %r1, %r2, -1;"));
//! ```

pub mod ast;
pub(crate) mod lexer;
mod literal;
mod parser;
mod print;

pub use parser::{Parsed, parse};
pub use print::print;
