//! Variants of native code that a program is run by.

use crate::jit::OptLevel;
use crate::runtime::{EngineConfig, EngineKind};
use std::fmt;

/// How a program is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    /// With Cranelift's optimisations.
    Speed,
    /// Without them; Cranelift's verifier looks at what it is given.
    Plain,
    /// With them, and with the register allocator for large functions.
    SinglePass,
    /// With them, without checks of memory accesses. Only run where the interpreter found nothing wrong.
    Unchecked,
}

impl Variant {
    /// All of them.
    pub const ALL: [Variant; 4] = [
        Variant::Speed,
        Variant::Plain,
        Variant::SinglePass,
        Variant::Unchecked,
    ];

    /// The configuration of its engine; the rest is as `base` has it.
    pub(super) fn config(self, base: EngineConfig) -> EngineConfig {
        let base = base.kind(EngineKind::Native);
        match self {
            Variant::Speed => base.opt_level(OptLevel::Speed),
            Variant::Plain => base.opt_level(OptLevel::None).verify(true),
            Variant::SinglePass => base
                .opt_level(OptLevel::Speed)
                .setting("regalloc_algorithm", "single_pass"),
            // SAFETY: `oracle` runs this code only after the interpreter ran the same launch on the same memory, with
            // all checks, and found every access in bounds, aligned and allowed.
            Variant::Unchecked => unsafe { base.opt_level(OptLevel::Speed).unchecked() },
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Variant::Speed => "opt_level speed",
            Variant::Plain => "opt_level none",
            Variant::SinglePass => "opt_level speed, regalloc_algorithm single_pass",
            Variant::Unchecked => "opt_level speed, unchecked",
        })
    }
}
