//! A module: functions, variables, source lines.

use super::memory::Space;
use super::{FuncId, Function, Reading, VarId};
use crate::diag::{Diagnostics, Source, Span};
use std::sync::Arc;

/// A checked module.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Module {
    /// The text.
    pub source: Arc<Source>,
    /// `.version`
    pub version: (u32, u32),
    /// The architecture of `.target`, such as `sm_90a`.
    pub target: String,
    /// 32 or 64.
    pub address_bits: u32,
    /// Which meaning instructions have where NVIDIA's tools depart from the text.
    pub reading: Reading,
    /// Kernels and device functions, declared ones included.
    pub functions: Vec<Function>,
    /// Module variables, and the `.global`, `.const` and `.shared` ones that functions declare.
    pub variables: Vec<Variable>,
    /// Bytes of the block of all `.global` variables.
    pub global_bytes: u64,
    /// Bytes of the window of all `.const` variables.
    pub const_bytes: u32,
    /// Files of `.file`.
    pub files: Vec<SourceFile>,
    /// Places of `.loc`.
    pub locations: Vec<Location>,
    /// Whether addresses of shared memory say in which CTA of the cluster they lie: `mapa`, `getctarank` or
    /// `.multicast::cluster` occurs.
    pub clusters: bool,
    /// What was said about the text; warnings only.
    pub warnings: Diagnostics,
}

impl Module {
    /// A function by name.
    pub fn function(&self, name: &str) -> Option<FuncId> {
        self.functions
            .iter()
            .position(|f| f.name == name)
            .map(|i| FuncId(i as u32))
    }

    /// A variable by name. Variables declared inside functions are not found.
    pub fn variable(&self, name: &str) -> Option<VarId> {
        self.variables
            .iter()
            .position(|v| v.name == name && !v.scoped)
            .map(|i| VarId(i as u32))
    }
}

/// `.extern`, `.visible` and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum Linkage {
    #[default]
    None,
    Extern,
    Visible,
    Weak,
    Common,
}

/// A `.global`, `.const` or `.shared` variable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
    /// `.global`, `.const` or `.shared`.
    pub space: Space,
    /// Linkage.
    pub linkage: Linkage,
    /// Whether it is declared inside a function.
    pub scoped: bool,
    /// The element type as written, without its dot.
    pub declared: String,
    /// Bytes. 0 for unsized `.extern .shared` arrays, whose size comes with the launch.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u32,
    /// `.global`: offset in the instance's block of globals; behind each variable lies a gap of at least 16 bytes, so that one element
    /// past its end is out of bounds. `.const`: offset in the window. `.shared`: offset in the CTA's window;
    /// for unsized arrays [`Variable::dynamic`] says that it is [`Function::dynamic_shared`] of the kernel.
    pub offset: u64,
    /// Unsized `.extern .shared`: begins where the kernel's static shared memory ends.
    pub dynamic: bool,
    /// Initial contents.
    pub init: Init,
}

/// Initial contents of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Init {
    /// The leading bytes; the rest is zero.
    pub bytes: Vec<u8>,
    /// Addresses to be added in.
    pub relocations: Vec<Relocation>,
}

/// An address in an initialiser.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Relocation {
    /// Offset in the variable.
    pub offset: u64,
    /// Bytes that are written, 1 to 8.
    pub bytes: u8,
    /// What is pointed to.
    pub target: RelocationTarget,
    /// Whether `generic()` was written: the generic address rather than that in the variable's own window.
    pub generic: bool,
    /// Added to the address.
    pub addend: i64,
    /// The bits of the address that are written are those above this many (`0xff00(x)`: 8), as many as `bytes` holds.
    pub shift: u8,
}

/// What a [`Relocation`] points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum RelocationTarget {
    Variable(VarId),
    Function(FuncId),
}

/// A file of `.file`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceFile {
    /// The number that `.loc` uses.
    pub index: u32,
    /// Its name.
    pub name: String,
}

/// A place of `.loc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Location {
    /// The number of its file.
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// Something that PTX has and we lack.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsupported {
    /// Where it stands.
    pub span: Span,
    /// The instruction or directive with its modifiers, as written: `bar.sync`, `add.f32`.
    pub what: String,
    /// The family that it belongs to, for a summary: `floating point`, `barriers`, `atomics`, `warp operations`,
    /// `system calls`, `textures`, `tensor cores`, `asynchronous copies`, ...
    pub family: &'static str,
}
