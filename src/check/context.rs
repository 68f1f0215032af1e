//! What the checker knows while it is inside a function: names, registers, blocks under construction.
//!
//! Module-level code and control flow (`blocks`, `calls`) and the operands of instructions (`operands`) meet here.

use crate::diag::{Diagnostic, Span};
use crate::ir::memory::{Space, Var};
use crate::ir::{Block, FuncId, Kind, Operand, Reading, Reg, RegClass};

/// A type as declared, by name: `u32`, `b128`, `pred`, `f16x2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeclTy {
    /// Untyped, integer, float.
    pub kind: DeclKind,
    /// Width in bits; 1 for `.pred`, up to 128.
    pub bits: u32,
}

/// The kinds of declared types; they matter to `ptxas`, which refuses a `.f32` register in `add.s32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeclKind {
    Pred,
    Bits,
    Unsigned,
    Signed,
    Float,
    /// `f16x2` and the like.
    PackedFloat,
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Symbol {
    /// A scalar register; `high` is the upper half of a 128-bit one.
    Reg {
        reg: Reg,
        high: Option<Reg>,
        ty: DeclTy,
    },
    /// A `.v2`/`.v4` register: its elements.
    Vector { elements: Vec<Reg>, ty: DeclTy },
    /// A variable or parameter. `space` is where its address lies.
    Var {
        var: Var,
        space: Space,
        ty: DeclTy,
        array: bool,
        bytes: u64,
    },
    /// A function or kernel.
    Function(FuncId),
    /// A label.
    Label(Block),
    /// `.branchtargets`, `.calltargets`, `.callprototype`: index into the function's tables.
    Table(u32),
    /// A texture, surface or sampler reference.
    Opaque,
}

/// What instruction building may ask and do. The function's builder implements it.
pub(crate) trait Context {
    /// The innermost meaning of a name.
    fn lookup(&mut self, name: &str) -> Option<Symbol>;
    /// A fresh register.
    fn fresh(&mut self, class: RegClass) -> Reg;
    /// The register that stands for CC.CF.
    fn carry(&mut self) -> Reg;
    /// Appends an instruction under the guard of the PTX instruction being built.
    fn emit(&mut self, kind: Kind);
    /// Appends an instruction that is not guarded, such as one that prepares an operand.
    fn emit_unguarded(&mut self, kind: Kind);
    /// Whether there are so many errors that further ones are only counted.
    fn is_full(&self) -> bool;
    /// Refuses something.
    fn report(&mut self, diagnostic: Diagnostic);
    /// Notes that the instruction being built is known and lacking; what and which family as in
    /// [`ir::Unsupported`](crate::ir::Unsupported). Emits [`Kind::Unsupported`].
    fn unsupported(&mut self, what: String, family: &'static str, span: Span);
    /// `(major, minor)` of `.version`.
    fn version(&self) -> (u32, u32);
    /// Number and suffix of `.target`, such as `(90, "a")`.
    fn target(&self) -> (u32, &str);
    /// Which meaning instructions have where there are two.
    fn reading(&self) -> Reading;
    /// 32 or 64.
    fn address_bits(&self) -> u32;
    /// Whether the function is a kernel.
    fn in_kernel(&self) -> bool;
    /// A predicate operand with `!` resolved: emits the negation if there is one.
    fn negated(&mut self, predicate: Operand, negate: bool) -> Operand;
    /// A visible name that is spelt much like one that [`Context::lookup`] does not know.
    fn near(&self, name: &str) -> Option<String>;
}
