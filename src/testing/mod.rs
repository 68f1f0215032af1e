//! The test formats, and the machinery that runs them: what `ptxlift test` and `ptxlift run` are made of, and what
//! this project's own integration tests call, and may change at any time.
//!
//! Each format has a file that reads it and knows nothing of engines: [`contents`] (seeded buffers), [`tolerance`],
//! [`launch_toml`] (launch descriptions), [`launch_lines`] (`//@` lines), [`run_lines`] (`// run:` lines),
//! [`vectors`] (tables of instructions with operands and results), `acceptance` (tables of statements and whether they
//! are legal). [`exec`] launches and calls, [`lockstep`] does so in both engines and compares; [`discover`] finds test
//! files, [`suite`] runs them, [`report`] says what came of it. [`targets`] compiles for other machines.
//!
//! ```
//! use ptxlift::testing::run_lines::{Literal, parse};
//!
//! let line = parse("// run: %bmsk(4, 8) == 0xff0").remove(0)?;
//! assert_eq!(line.function, "bmsk");
//! assert_eq!(line.args, [Literal::Int(4), Literal::Int(8)]);
//! # Ok::<(), ptxlift::testing::FormatError>(())
//! ```

mod acceptance;
pub mod cases;
pub mod contents;
pub mod discover;
pub mod exec;
pub(crate) mod files;
pub mod launch;
pub mod launch_lines;
pub mod launch_toml;
pub mod lockstep;
pub mod report;
pub mod run_lines;
pub mod suite;
pub mod targets;
pub mod tolerance;
pub mod vectors;

use std::fmt;

/// A test file says something that its format does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError {
    /// The line, from 1, where one is to blame.
    pub line: Option<u32>,
    /// What is wrong with it.
    pub message: String,
}

impl FormatError {
    /// An error of the file as a whole, or of a line yet to be named.
    pub fn new(message: impl Into<String>) -> Self {
        FormatError {
            line: None,
            message: message.into(),
        }
    }

    /// Names the line.
    #[must_use]
    pub fn at(mut self, line: u32) -> Self {
        self.line = Some(line);
        self
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for FormatError {}
