//! Variants of native code that a program is run by.

use crate::jit::{OptLevel, WIDTH};
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
    /// With them, four threads together; Cranelift's verifier looks at what it is given.
    Wide4,
    /// Eight threads together, likewise.
    Wide8,
    /// Sixteen threads together, likewise.
    Wide16,
    /// Thirty-two, a whole warp, likewise.
    Wide32,
    /// With them, without checks of memory accesses. Only run where the interpreter found nothing wrong.
    Unchecked,
}

impl Variant {
    /// All of them.
    pub const ALL: [Variant; 8] = [
        Variant::Speed,
        Variant::Plain,
        Variant::SinglePass,
        Variant::Wide4,
        Variant::Wide8,
        Variant::Wide16,
        Variant::Wide32,
        Variant::Unchecked,
    ];

    /// The configuration of its engine; the rest is as `base` has it.
    pub(super) fn config(self, base: EngineConfig) -> EngineConfig {
        let base = base.kind(EngineKind::Native);
        let wide = |width| {
            // A width that was asked for holds for all.
            let base = match base.settings.iter().any(|(name, _)| name == WIDTH) {
                true => base.clone(),
                false => base.clone().width(width),
            };
            base.opt_level(OptLevel::Speed).verify(true)
        };
        match self {
            Variant::Speed => base.opt_level(OptLevel::Speed),
            Variant::Plain => base.opt_level(OptLevel::None).verify(true),
            Variant::SinglePass => base
                .opt_level(OptLevel::Speed)
                .setting("regalloc_algorithm", "single_pass"),
            Variant::Wide4 => wide(4),
            Variant::Wide8 => wide(8),
            Variant::Wide16 => wide(16),
            Variant::Wide32 => wide(32),
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
            Variant::Wide4 => "opt_level speed, width 4",
            Variant::Wide8 => "opt_level speed, width 8",
            Variant::Wide16 => "opt_level speed, width 16",
            Variant::Wide32 => "opt_level speed, width 32",
            Variant::Unchecked => "opt_level speed, unchecked",
        })
    }
}
