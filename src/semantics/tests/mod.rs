//! Values from outside this crate ([`vectors`]), and the same meanings computed in other ways ([`properties`]).

mod properties;
mod templates;
mod vectors;
