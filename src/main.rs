//! The `ptxlift` command.

fn main() {}
