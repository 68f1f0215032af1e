//! Indices, register classes and integer types.

use std::fmt;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);
        impl $name {
            /// The index as a `usize`.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

index!(
    /// A virtual register of a function: index into [`Function::regs`](super::Function::regs).
    Reg, "r"
);
index!(
    /// A basic block of a function: index into [`Function::blocks`](super::Function::blocks).
    Block, "block"
);
index!(
    /// A function of a module: index into [`Module::functions`](super::Module::functions).
    FuncId, "fn"
);
index!(
    /// A module-level variable, or a `.shared`/`.global`/`.const` one declared in a function: index into
    /// [`Module::variables`](super::Module::variables).
    VarId, "var"
);

/// What a register holds, by width alone. Register values live in the low bits of a `u64`; the bits above the
/// width are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RegClass {
    /// `.pred`: 0 or 1.
    Pred,
    /// 8 bits.
    B8,
    /// 16 bits.
    B16,
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
}

impl RegClass {
    /// Width in bits; 1 for a predicate.
    pub fn bits(self) -> u32 {
        match self {
            RegClass::Pred => 1,
            RegClass::B8 => 8,
            RegClass::B16 => 16,
            RegClass::B32 => 32,
            RegClass::B64 => 64,
        }
    }

    /// All ones in the width.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The class of a width of 8, 16, 32 or 64 bits.
    pub fn of_bits(bits: u32) -> Option<RegClass> {
        match bits {
            8 => Some(RegClass::B8),
            16 => Some(RegClass::B16),
            32 => Some(RegClass::B32),
            64 => Some(RegClass::B64),
            _ => None,
        }
    }
}

impl fmt::Display for RegClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RegClass::Pred => "pred",
            RegClass::B8 => "b8",
            RegClass::B16 => "b16",
            RegClass::B32 => "b32",
            RegClass::B64 => "b64",
        })
    }
}

/// An integer type of an instruction. PTX ISA, "Fundamental Types". `.bN` types count as unsigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum IntTy {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
}

impl IntTy {
    /// All of them.
    pub const ALL: [IntTy; 8] = [
        IntTy::U8,
        IntTy::S8,
        IntTy::U16,
        IntTy::S16,
        IntTy::U32,
        IntTy::S32,
        IntTy::U64,
        IntTy::S64,
    ];

    /// Width in bits.
    pub fn bits(self) -> u32 {
        match self {
            IntTy::U8 | IntTy::S8 => 8,
            IntTy::U16 | IntTy::S16 => 16,
            IntTy::U32 | IntTy::S32 => 32,
            IntTy::U64 | IntTy::S64 => 64,
        }
    }

    /// Whether `.sN`.
    pub fn signed(self) -> bool {
        matches!(self, IntTy::S8 | IntTy::S16 | IntTy::S32 | IntTy::S64)
    }

    /// The register class of the same width.
    pub fn class(self) -> RegClass {
        match self {
            IntTy::U8 | IntTy::S8 => RegClass::B8,
            IntTy::U16 | IntTy::S16 => RegClass::B16,
            IntTy::U32 | IntTy::S32 => RegClass::B32,
            IntTy::U64 | IntTy::S64 => RegClass::B64,
        }
    }

    /// The type of this width and sign.
    pub fn new(class: RegClass, signed: bool) -> Option<IntTy> {
        match (class, signed) {
            (RegClass::Pred, _) => None,
            (RegClass::B8, false) => Some(IntTy::U8),
            (RegClass::B8, true) => Some(IntTy::S8),
            (RegClass::B16, false) => Some(IntTy::U16),
            (RegClass::B16, true) => Some(IntTy::S16),
            (RegClass::B32, false) => Some(IntTy::U32),
            (RegClass::B32, true) => Some(IntTy::S32),
            (RegClass::B64, false) => Some(IntTy::U64),
            (RegClass::B64, true) => Some(IntTy::S64),
        }
    }

    /// All ones in the width.
    pub fn mask(self) -> u64 {
        self.class().mask()
    }
}

impl fmt::Display for IntTy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}{}",
            if self.signed() { 's' } else { 'u' },
            self.bits()
        )
    }
}

/// A source of an instruction. Where the register is wider than the instruction's signature asks, the low bits
/// are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register.
    Reg(Reg),
    /// A constant, truncated to the width that the signature asks for.
    Imm(u64),
}

impl Operand {
    /// The register, if it is one.
    pub fn reg(self) -> Option<Reg> {
        match self {
            Operand::Reg(r) => Some(r),
            Operand::Imm(_) => None,
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Reg(r) => write!(f, "{r}"),
            Operand::Imm(v) => write!(f, "{v:#x}"),
        }
    }
}
