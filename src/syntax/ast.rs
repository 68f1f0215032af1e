//! The syntax tree: what stands in the text, untyped.
//!
//! Nothing here knows which instructions exist. Names borrow from the text; every node has a span.
//! `PTX ISA` chapters "Syntax" and "State Spaces, Types, and Variables" define what is mirrored here.

use crate::diag::Span;

/// A word of the text: an identifier, a mnemonic, or a dotted word without its dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name<'s> {
    /// The word. Dotted words (`.global`, `.b32`, `.shared::cta`) come without the leading dot.
    pub text: &'s str,
    /// Where it stands (with the dot, if it has one).
    pub span: Span,
}

/// A whole module.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Module<'s> {
    /// Directives, variables and functions in the order of the text.
    pub items: Vec<Item<'s>>,
}

/// What may stand at the top of a module.
#[derive(Debug, Clone, PartialEq)]
pub enum Item<'s> {
    /// `.version 8.7`
    Version {
        /// Before the point.
        major: u32,
        /// After the point.
        minor: u32,
        /// The whole directive.
        span: Span,
    },
    /// `.target sm_90, debug`
    Target {
        /// The architecture and options, in order.
        names: Vec<Name<'s>>,
        /// The whole directive.
        span: Span,
    },
    /// `.address_size 64`
    AddressSize {
        /// The number written.
        bits: u64,
        /// The whole directive.
        span: Span,
    },
    /// `.global .align 4 .b32 x[4] = {1, 2};` and the other state spaces.
    Variable(Variable<'s>),
    /// `.entry` or `.func`, with or without a body.
    Function(Function<'s>),
    /// `.alias a, b;`
    Alias {
        /// The new name.
        name: Name<'s>,
        /// The function that it stands for.
        target: Name<'s>,
        /// The whole directive.
        span: Span,
    },
    /// `.file 1 "name", 123, 456`
    File(File<'s>),
    /// `.section .debug_info { ... }`
    Section(Section<'s>),
    /// `.pragma "...";`
    Pragma(Pragma<'s>),
}

/// A declaration of one or more variables, registers or parameters that share space and type.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable<'s> {
    /// `.extern`, `.visible`, `.weak`, `.common`, in the order written.
    pub linkage: Vec<Name<'s>>,
    /// `reg`, `const`, `global`, `local`, `param`, `shared` or `tex`.
    pub space: Name<'s>,
    /// `.const[3]`: the bank, in text written for PTX before 2.2.
    pub bank: Option<(u64, Span)>,
    /// `.align 8`
    pub align: Option<(u64, Span)>,
    /// `.attribute(.managed, .unified(1, 2))`
    pub attributes: Vec<Attribute<'s>>,
    /// `.v2` or `.v4`.
    pub vector: Option<Name<'s>>,
    /// `b32`, `pred`, `texref`, ...; absent only in text that `check` refuses.
    pub ty: Option<Name<'s>>,
    /// `.ptr .global .align 16` of a kernel parameter.
    pub ptr: Option<Ptr<'s>>,
    /// The names, at least one.
    pub declarators: Vec<Declarator<'s>>,
    /// The whole declaration.
    pub span: Span,
}

/// `.ptr .space .align N` of a kernel parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Ptr<'s> {
    /// The space pointed to; generic if absent.
    pub space: Option<Name<'s>>,
    /// The alignment of what is pointed to.
    pub align: Option<(u64, Span)>,
    /// `.ptr` and what follows it.
    pub span: Span,
}

/// One entry of an `.attribute(...)` list.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute<'s> {
    /// `managed`, `unified`.
    pub name: Name<'s>,
    /// Values in parentheses.
    pub values: Vec<Expr<'s>>,
}

/// One name of a declaration with its shape and initial value.
#[derive(Debug, Clone, PartialEq)]
pub struct Declarator<'s> {
    /// The name; `_` in prototypes.
    pub name: Name<'s>,
    /// `%r<8>` declares %r0 to %r7.
    pub range: Option<(u64, Span)>,
    /// `[4][]`: the sizes, outermost first; `None` for an unsized dimension.
    pub dims: Vec<(Option<Expr<'s>>, Span)>,
    /// `= ...`
    pub init: Option<Init<'s>>,
}

/// An initialiser.
#[derive(Debug, Clone, PartialEq)]
pub enum Init<'s> {
    /// A value.
    Value(Expr<'s>),
    /// `{ ... }`, nested as written.
    List(Vec<Init<'s>>, Span),
    /// `addr_mode_0 = nearest`, in the list of a texture, sampler or surface.
    Field(Name<'s>, Box<Expr<'s>>),
}

/// What kind of function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionKind {
    /// `.entry`: a kernel.
    Entry,
    /// `.func`: a device function.
    Func,
}

/// A kernel or a device function.
#[derive(Debug, Clone, PartialEq)]
pub struct Function<'s> {
    /// `.extern`, `.visible`, `.weak`.
    pub linkage: Vec<Name<'s>>,
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// `.attribute(...)`.
    pub attributes: Vec<Attribute<'s>>,
    /// `(.param .b32 r)` before the name.
    pub returns: Vec<Variable<'s>>,
    /// The name.
    pub name: Name<'s>,
    /// Whether a parameter list was written at all (`.entry k { }` has none).
    pub has_params: bool,
    /// The parameters. Each `Variable` has one declarator.
    pub params: Vec<Variable<'s>>,
    /// `.maxntid 128, 1, 1`, `.noreturn`, `.pragma "..."` and so on, between the parameters and the body.
    pub directives: Vec<Directive<'s>>,
    /// The body, absent in declarations.
    pub body: Option<Body<'s>>,
    /// From the first linkage word to the end of the parameter list.
    pub span: Span,
}

/// A performance or ABI directive of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct Directive<'s> {
    /// `maxntid`, `noreturn`, `pragma`, ...
    pub name: Name<'s>,
    /// Its numbers.
    pub values: Vec<Expr<'s>>,
    /// Its strings (`.pragma "a", "b"`), without quotes.
    pub strings: Vec<Name<'s>>,
    /// The whole directive.
    pub span: Span,
}

/// `{ ... }`: a scope of names.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Body<'s> {
    /// The statements in order.
    pub statements: Vec<Statement<'s>>,
    /// The opening and closing brace and all between.
    pub span: Span,
}

/// What may stand in a body.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement<'s> {
    /// `name:`
    Label(Name<'s>),
    /// An instruction.
    Instruction(Instruction<'s>),
    /// `.reg`, `.local`, `.shared`, `.param` and so on.
    Variable(Box<Variable<'s>>),
    /// A nested scope.
    Block(Body<'s>),
    /// `.pragma "nounroll";`
    Pragma(Pragma<'s>),
    /// `.loc 1 7 9`
    Loc(Loc<'s>),
    /// `T: .branchtargets L1, L2;`, `.calltargets`, `.callprototype`.
    CallTable(CallTable<'s>),
}

/// An instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction<'s> {
    /// `@p` or `@!p`.
    pub guard: Option<Guard<'s>>,
    /// The word before the first point.
    pub mnemonic: Name<'s>,
    /// The dotted words, in the order written: `global`, `L2::cache_hint`, `u32`.
    pub modifiers: Vec<Name<'s>>,
    /// The operands, in the order written, commas apart.
    pub operands: Vec<Operand<'s>>,
    /// From the guard to before the `;`.
    pub span: Span,
}

/// `@p` or `@!p`.
#[derive(Debug, Clone, PartialEq)]
pub struct Guard<'s> {
    /// Whether `!` was written.
    pub negated: bool,
    /// The predicate register.
    pub predicate: Name<'s>,
    /// From the `@`.
    pub span: Span,
}

/// An operand of an instruction.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand<'s> {
    /// A register, symbol, label, literal or constant expression; also `-a` and `a.h1`, and `_`.
    Expr(Expr<'s>),
    /// `!p`
    Not(Expr<'s>, Span),
    /// `d|p`; either side may be `_`. The left side may be anything that `d` may be.
    Pair(Box<Operand<'s>>, Box<Operand<'s>>, Span),
    /// `{a, b}`, elements as operands.
    Vector(Vec<Operand<'s>>, Span),
    /// `[...]`
    Address(Box<Address<'s>>),
    /// `(a, b)` of a call.
    List(Vec<Operand<'s>>, Span),
}

/// `[base+offset]`, or `[base, {x, y}]` of textures and tensors; `name[3]` without brackets around it is also one.
#[derive(Debug, Clone, PartialEq)]
pub struct Address<'s> {
    /// What stands before the first comma: a register, a symbol, a literal, or sums of them.
    pub base: Expr<'s>,
    /// What follows commas inside the brackets.
    pub rest: Vec<Operand<'s>>,
    /// Whether it was written `name[index]`: then `base` is `name + index`.
    pub indexed: bool,
    /// `.unified` behind the brackets.
    pub suffix: Option<Name<'s>>,
    /// The brackets and all between.
    pub span: Span,
}

/// A constant expression, or a name with a constant offset. `PTX ISA`, "Constant Expressions".
///
/// A name other than `WARP_SZ` stands alone, behind the `-` of an operand, in [`Expr::Apply`], or on the left of a
/// [`BinaryOp::Add`] that is not part of anything else.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr<'s> {
    /// An integer literal.
    Int {
        /// Its 64 bits.
        value: u64,
        /// Whether it is unsigned: by suffix `U`, or because it does not fit `.s64`.
        unsigned: bool,
        /// The literal.
        span: Span,
    },
    /// A decimal floating-point literal or `0d...`: 64 bits of an f64.
    F64 {
        /// The bits.
        bits: u64,
        /// The literal.
        span: Span,
    },
    /// `0f...`: 32 bits of an f32.
    F32 {
        /// The bits.
        bits: u32,
        /// The literal.
        span: Span,
    },
    /// A name: register, variable, function, label, `_`, `WARP_SZ`, with a dotted suffix (`%tid.x`, `%r1.b0`, `v.x`).
    Name {
        /// The name.
        name: Name<'s>,
        /// The word after the point.
        suffix: Option<Name<'s>>,
    },
    /// `-x`, `+x`, `~x`, `!x`.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its operand.
        arg: Box<Expr<'s>>,
        /// The whole.
        span: Span,
    },
    /// `a + b` and so on.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Left.
        lhs: Box<Expr<'s>>,
        /// Right.
        rhs: Box<Expr<'s>>,
    },
    /// `c ? a : b`
    Conditional {
        /// The condition.
        cond: Box<Expr<'s>>,
        /// If it is not zero.
        then: Box<Expr<'s>>,
        /// If it is zero.
        other: Box<Expr<'s>>,
    },
    /// `(.s64) x`, `(.u64) x`.
    Cast {
        /// `s64` or `u64`; others are refused by `check`.
        ty: Name<'s>,
        /// What is cast.
        arg: Box<Expr<'s>>,
        /// The whole.
        span: Span,
    },
    /// `generic(x)`, and `0xff00(x)`, the mask operator of initialisers.
    Apply {
        /// `generic` or the mask.
        function: Box<Expr<'s>>,
        /// What stands in the parentheses.
        arg: Box<Expr<'s>>,
        /// The whole.
        span: Span,
    },
}

/// Operators with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum UnaryOp {
    Plus,
    Neg,
    Not,
    LogicalNot,
}

/// Operators with two operands, as in C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    And,
    Xor,
    Or,
    LogicalAnd,
    LogicalOr,
}

/// `.pragma "a", "b";`
#[derive(Debug, Clone, PartialEq)]
pub struct Pragma<'s> {
    /// The strings, without quotes.
    pub strings: Vec<Name<'s>>,
    /// The whole.
    pub span: Span,
}

/// `.loc file line column [, function_name label [+ offset], inlined_at file line column]`
#[derive(Debug, Clone, PartialEq)]
pub struct Loc<'s> {
    /// Index of a `.file`.
    pub file: u32,
    /// Line in it.
    pub line: u32,
    /// Column in it.
    pub column: u32,
    /// `function_name label [+ offset]`
    pub function: Option<(Name<'s>, u64)>,
    /// `inlined_at file line column`
    pub inlined_at: Option<(u32, u32, u32)>,
    /// The whole.
    pub span: Span,
}

/// `.file index "name" [, timestamp, size]`
#[derive(Debug, Clone, PartialEq)]
pub struct File<'s> {
    /// The number that `.loc` uses.
    pub index: u32,
    /// The name, without quotes.
    pub name: Name<'s>,
    /// Time stamp and size, where written.
    pub details: Option<(u64, u64)>,
    /// The whole.
    pub span: Span,
}

/// `.section .name { ... }`: kept as text.
#[derive(Debug, Clone, PartialEq)]
pub struct Section<'s> {
    /// The section's name.
    pub name: Name<'s>,
    /// All between the braces.
    pub text: Name<'s>,
    /// The whole.
    pub span: Span,
}

/// A labelled table or prototype.
#[derive(Debug, Clone, PartialEq)]
pub struct CallTable<'s> {
    /// The label before the colon.
    pub label: Name<'s>,
    /// What it lists.
    pub kind: CallTableKind<'s>,
    /// From the label to before the `;`.
    pub span: Span,
}

/// An entry of `.branchtargets` or `.calltargets`.
#[derive(Debug, Clone, PartialEq)]
pub struct Target<'s> {
    /// A label or function, or what its numbered names begin with.
    pub name: Name<'s>,
    /// `L<4>`: how many numbered names it stands for.
    pub range: Option<(u64, Span)>,
}

/// What a [`CallTable`] lists.
#[derive(Debug, Clone, PartialEq)]
pub enum CallTableKind<'s> {
    /// `.branchtargets L1, L2`; `L<4>` stands for `L0` to `L3`.
    BranchTargets(Vec<Target<'s>>),
    /// `.calltargets f, g`
    CallTargets(Vec<Target<'s>>),
    /// `.callprototype (returns) name (params)`
    Prototype {
        /// The return parameters.
        returns: Vec<Variable<'s>>,
        /// The name, mostly `_`.
        name: Name<'s>,
        /// The parameters.
        params: Vec<Variable<'s>>,
        /// `.noreturn` and the ABI directives.
        directives: Vec<Directive<'s>>,
    },
}

impl Expr<'_> {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Expr::Int { span, .. }
            | Expr::F64 { span, .. }
            | Expr::F32 { span, .. }
            | Expr::Unary { span, .. }
            | Expr::Cast { span, .. }
            | Expr::Apply { span, .. } => *span,
            Expr::Name { name, suffix } => suffix.map_or(name.span, |s| name.span.to(s.span)),
            Expr::Binary { lhs, rhs, .. } => lhs.span().to(rhs.span()),
            Expr::Conditional { cond, other, .. } => cond.span().to(other.span()),
        }
    }
}

impl Operand<'_> {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Operand::Expr(e) => e.span(),
            Operand::Not(_, span)
            | Operand::Pair(_, _, span)
            | Operand::Vector(_, span)
            | Operand::List(_, span) => *span,
            Operand::Address(a) => a.span,
        }
    }
}
