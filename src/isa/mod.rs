//! The instruction set as data: which forms there are, what they may be written like, what they become.
//!
//! [`FORMS`] holds the rows by family, [`names`] every mnemonic of the ISA, also those without rows. [`select()`]
//! finds the form of an instruction. Nothing here knows the syntax tree: operands come resolved.
//!
//! Public for experiments: it may change with every minor version.
//!
//! ```
//! use ptxlift::isa::{FORMS, Selection, names, select};
//!
//! let Ok(Selection::Forms(forms)) = select("shf", &["l", "wrap", "b32"]) else { panic!() };
//! println!("{}", forms[0].form.doc);
//! assert!(select("shf", &["l", "b32"]).is_err(), "neither .wrap nor .clamp");
//! assert!(names::find("tex").is_some() && names::find("text").is_none());
//! assert!(FORMS.iter().flat_map(|family| family.iter()).any(|form| form.mnemonic == "bfe"));
//! ```

mod bits;
mod compare;
mod control;
mod convert;
mod extended;
mod float;
pub mod form;
mod integer;
mod memory;
pub mod names;
mod select;
pub mod special;
mod sync;
#[cfg(test)]
mod tests;
pub mod types;
mod video;
mod words;

pub use form::Form;
pub use select::{Refusal, Selection, forms, lacking_family, select};

/// The rows, a table a family.
pub const FORMS: &[&[Form]] = &[
    integer::FORMS,
    float::single::FORMS,
    float::compare::FORMS,
    float::half::FORMS,
    float::half_compare::FORMS,
    float::mixed::FORMS,
    float::approx::FORMS,
    extended::FORMS,
    bits::FORMS,
    compare::FORMS,
    convert::FORMS,
    convert::float::FORMS,
    convert::small::FORMS,
    memory::FORMS,
    memory::hints::FORMS,
    memory::stack::FORMS,
    video::FORMS,
    control::FORMS,
    sync::barrier::FORMS,
    sync::fence::FORMS,
    sync::atomic::FORMS,
    sync::atomic_float::FORMS,
    sync::warp::FORMS,
    sync::mbarrier::FORMS,
    sync::copy::FORMS,
    sync::cluster::FORMS,
    sync::multimem::FORMS,
    sync::launch_control::FORMS,
    sync::bulk::FORMS,
];
