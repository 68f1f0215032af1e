//! Whole modules through the checker: what is accepted, what is said, what is made of them, and text that means harm.

mod acceptance;
mod hostile;
mod modules;

use ptxlift::diag::Diagnostics;
use ptxlift::{Error, Module};

/// The directives at the top of most modules here.
const HEADER: &str = ".version 8.7\n.target sm_90\n.address_size 64\n";

/// A module that is accepted; its first line behind the header is line 4.
fn accepted(text: &str) -> Module {
    match Module::parse(format!("{HEADER}{text}")) {
        Ok(module) => module,
        Err(error) => panic!("{error}"),
    }
}

/// What is said of a module that is refused.
fn refused(text: &str) -> Diagnostics {
    match Module::parse(format!("{HEADER}{text}")) {
        Err(Error::Diagnostics(diagnostics)) => diagnostics,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("accepted:\n{text}"),
    }
}
