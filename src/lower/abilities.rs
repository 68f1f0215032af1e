//! What lowering asks of the machine that code is made for, in one place.

use cranelift_codegen::ir::{Endianness, MemFlagsData, Type};
use cranelift_codegen::isa::TargetIsa;
use target_lexicon::Architecture;

/// What a machine can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Whether ordinary loads and stores are as strong as acquire and release.
    pub(super) strong_memory: bool,
    /// Whether its own byte order is not that of PTX.
    pub(super) big_endian: bool,
}

impl Abilities {
    /// What a machine can do.
    pub fn of(isa: &dyn TargetIsa) -> Self {
        Abilities {
            strong_memory: matches!(
                isa.triple().architecture,
                Architecture::X86_64 | Architecture::S390x
            ),
            big_endian: isa.endianness() == Endianness::Big,
        }
    }

    /// Where in a word of 64 bits in memory its low part of a type lies.
    pub(super) fn low_part(self, ty: Type) -> i32 {
        match self.big_endian {
            true => 8 - ty.bytes() as i32,
            false => 0,
        }
    }

    /// Flags of accesses to what PTX sees, whose bytes lie in PTX's order on every machine.
    pub(super) fn of_ptx(self, flags: MemFlagsData) -> MemFlagsData {
        match self.big_endian {
            true => flags.with_endianness(Endianness::Little),
            false => flags,
        }
    }
}
