//! Syntax tree to IR: names, types, layout; refuses what `ptxas` refuses.

mod context;
