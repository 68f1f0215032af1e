//! Which of two meanings an instruction has where NVIDIA's tools depart from the text of the PTX ISA.

use std::fmt;

/// Which meaning is followed where NVIDIA's assembler and GPUs depart from the text of the PTX ISA.
///
/// They do in few places: `vset` with `.min` or `.max`; saturation, and `.min` and `.max`, of `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`,
/// `vshl`, `vshr`; `vmad`; positions and lengths above 255 of `bfe` and `bfi` of 64 bits; `fns` with the least offset; `.ftz` of
/// `cvt.rm.f16.f32` and `cvt.rp.f16.f32`. Everything else is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Reading {
    /// That of the text, with exact, unbounded intermediate values.
    #[default]
    Text,
    /// That of NVIDIA's tools.
    Nvidia,
}

impl Reading {
    /// Both.
    pub const ALL: [Reading; 2] = [Reading::Text, Reading::Nvidia];

    /// The reading of a name: `text` (or `isa`), `nvidia`.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "text" | "isa" => Some(Reading::Text),
            "nvidia" => Some(Reading::Nvidia),
            _ => None,
        }
    }
}

/// `text` or `nvidia`.
impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reading::Text => "text",
            Reading::Nvidia => "nvidia",
        })
    }
}
