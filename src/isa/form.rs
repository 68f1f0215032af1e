//! Rows of the instruction set: what may be written, and what it becomes.
//!
//! A [`Form`] is one shape of an instruction: a mnemonic, slots for its modifiers, operands. A slot is a named set of
//! alternative words. Modifiers may stand in any order, except that several types keep theirs and that a
//! [`Need::First`] slot belongs to the mnemonic. The rows are constants: the selector, listings, the generator of
//! programs and the coverage test walk the same ones.

use super::types::Ty;
use crate::ir::float::FloatTy;
use crate::ir::memory::{Address, AddressOf, Space};
use crate::ir::video::Selector;
use crate::ir::{FuncId, IntTy, Kind, Operand, PureOp, Reg, RegClass, Special};
use smallvec::SmallVec;

/// A `.version`: major, minor.
pub type Version = (u32, u32);

/// An alternative of a [`Slot`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// The word without its dot.
    pub text: &'static str,
    /// The smallest `.version` that has it.
    pub since: Version,
    /// The smallest `.target` that has it, as the number behind `sm_`.
    pub target: u32,
}

/// A word that is as old as its form.
pub(crate) const fn word(text: &'static str) -> Word {
    Word {
        text,
        since: (1, 0),
        target: 10,
    }
}

impl Word {
    /// The word with the `.version` and `.target` that it needs.
    #[must_use]
    pub(crate) const fn needs(self, since: Version, target: u32) -> Word {
        Word {
            since,
            target,
            ..self
        }
    }
}

/// What a slot decides. A form has each name once at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SlotName {
    /// The part of the mnemonic behind its first point: `.lo`, `.pack`, `.l`.
    Variant,
    /// The type, or that of the destination.
    Type,
    /// The type of the (first) source, where it has one of its own.
    FromType,
    /// The type of the second source.
    SecondType,
    /// The type of the third source.
    ThirdType,
    /// `.rn`, `.rz`, `.rm`, `.rp` and other roundings, `.approx`, `.full`
    Rounding,
    /// `.ftz`
    Flush,
    /// `.sat`
    Saturate,
    /// `.relu`
    Relu,
    /// `.oob`
    OutOfBounds,
    /// `.NaN`
    Nan,
    /// `.xorsign`
    XorSign,
    /// `.abs`
    Abs,
    /// `.satfinite`
    Finite,
    /// `.scaled::n2::ue8m0`
    Scaled,
    /// `.cc`
    Carry,
    /// `.clamp` or `.wrap`
    Overrun,
    /// `.eq` and the like.
    Compare,
    /// `.and`, `.or`, `.xor` that combine with a predicate.
    Combine,
    /// `.shiftamt`
    ShiftAmount,
    /// A mode of `prmt`.
    Mode,
    /// `.add`, `.min`, `.max` with a third operand.
    Second,
    /// `.po`
    PlusOne,
    /// `.shr7`, `.shr15`
    Scale,
    /// `.to` of `cvta`.
    To,
    /// The state space.
    Space,
    /// `.v2`, `.v4`, `.v8`
    Vector,
    /// `.weak`, `.volatile`, `.relaxed`, `.acquire`, `.release`
    Order,
    /// `.mmio`
    Mmio,
    /// `.cta`, `.cluster`, `.gpu`, `.sys`
    Scope,
    /// `.ca`, `.cg`, `.cs`, `.lu`, `.cv`, `.wb`, `.wt`
    Cache,
    /// `.nc`
    NonCoherent,
    /// `.L1::evict_last` and the like.
    EvictL1,
    /// `.L2::evict_last` and the like.
    EvictL2,
    /// `.L2::cache_hint`
    CacheHint,
    /// `.L2::64B`, `.L2::128B`, `.L2::256B`
    PrefetchSize,
    /// `.L1`, `.L2`
    Level,
    /// The second priority of `createpolicy`.
    SecondPriority,
    /// `.sync`
    Sync,
    /// `.aligned`
    Aligned,
    /// Whose barrier: `.cta`, `.warp`, `.cluster`.
    Group,
    /// The operator of `atom`, `red`, `redux`, `bar.red`.
    Operation,
    /// What a fence stands between: `.alias`, `.async`.
    Proxy,
    /// What a fence is for: `.mbarrier_init`, `.sync_restrict::shared::cta`.
    Restriction,
    /// `.noComplete`, `.noinc`
    NoComplete,
    /// The state space that a copy reads.
    FromSpace,
    /// `.async` behind `.reduce`.
    Asynchronous,
    /// `.bulk` or `.mbarrier` behind `.async`.
    Bulk,
    /// What is done with copies: `.commit_group`, `.wait_group`, `.prefetch`.
    Step,
    /// How the end of a copy is told: `.mbarrier::complete_tx::bytes`, `.bulk_group`
    Completion,
    /// `.multicast::cluster`
    Multicast,
    /// Which bytes are left out: `.cp_mask`, `.ignore_oob`
    Masked,
    /// `.read` of `wait_group`.
    Reading,
    /// The precision of a sum: `.acc::f32`, `.acc::f16`
    Accumulator,
}

impl SlotName {
    /// What the slot is called in messages.
    pub fn describe(self) -> &'static str {
        match self {
            SlotName::Variant => "variant",
            SlotName::Type | SlotName::FromType | SlotName::SecondType | SlotName::ThirdType => {
                "type"
            }
            SlotName::Rounding => "rounding",
            SlotName::Flush => "flush to zero",
            SlotName::Saturate => "saturation",
            SlotName::Relu => "clamping at zero",
            SlotName::OutOfBounds => "`.oob`",
            SlotName::Nan => "`.NaN`",
            SlotName::XorSign => "`.xorsign`",
            SlotName::Abs => "`.abs`",
            SlotName::Finite => "saturation to finite numbers",
            SlotName::Scaled => "scaling",
            SlotName::Carry => "carry",
            SlotName::Overrun => "overrun mode",
            SlotName::Compare => "comparison",
            SlotName::Combine => "boolean operator",
            SlotName::ShiftAmount => "shift amount",
            SlotName::Mode => "mode",
            SlotName::Second => "second operation",
            SlotName::PlusOne => "plus one",
            SlotName::Scale => "scale",
            SlotName::To => "direction",
            SlotName::Space => "state space",
            SlotName::Vector => "vector length",
            SlotName::Order => "memory order",
            SlotName::Mmio => "memory-mapped access",
            SlotName::Scope => "scope",
            SlotName::Cache => "cache operator",
            SlotName::NonCoherent => "non-coherent path",
            SlotName::EvictL1 => "L1 eviction priority",
            SlotName::EvictL2 => "L2 eviction priority",
            SlotName::CacheHint => "cache hint",
            SlotName::PrefetchSize => "prefetch size",
            SlotName::Level => "cache level",
            SlotName::SecondPriority => "second eviction priority",
            SlotName::Sync => "synchronization",
            SlotName::Aligned => "alignment",
            SlotName::Group => "group of threads",
            SlotName::Operation => "operation",
            SlotName::Proxy => "proxy",
            SlotName::Restriction => "restriction",
            SlotName::NoComplete => "completion mode",
            SlotName::FromSpace => "source state space",
            SlotName::Asynchronous => "`.async`",
            SlotName::Bulk => "kind of copy",
            SlotName::Step => "step",
            SlotName::Completion => "completion mechanism",
            SlotName::Multicast => "multicast",
            SlotName::Masked => "choice of bytes",
            SlotName::Reading => "`.read`",
            SlotName::Accumulator => "precision of the sum",
        }
    }

    /// [`describe`](Self::describe) behind `a` or `an`.
    pub fn with_article(self) -> String {
        let name = self.describe();
        // `L1`, `L2`: an "el".
        let vowel = name.starts_with(['a', 'e', 'i', 'o', 'u', 'L']);
        format!("{} {name}", if vowel { "an" } else { "a" })
    }

    /// Whether the slot holds a type: types keep the order of the slots.
    pub fn is_type(self) -> bool {
        matches!(
            self,
            SlotName::Type | SlotName::FromType | SlotName::SecondType | SlotName::ThirdType
        )
    }
}

/// Whether a slot must be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Need {
    /// Must be filled by the first modifier: it belongs to the mnemonic. Of several each by the next.
    First,
    /// As [`Need::First`], and may be left out.
    MaybeFirst,
    /// Must be filled, in any place.
    Required,
    /// May be left out.
    Optional,
}

impl Need {
    /// Whether the slot belongs to the mnemonic: it stands before all that do not, and so does its word.
    pub fn leads(self) -> bool {
        matches!(self, Need::First | Need::MaybeFirst)
    }

    /// Whether the slot may be left empty.
    pub fn is_optional(self) -> bool {
        matches!(self, Need::MaybeFirst | Need::Optional)
    }
}

/// A place for one modifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slot {
    /// What it decides.
    pub name: SlotName,
    /// The words that it takes.
    pub words: &'static [Word],
    /// Whether it must be filled.
    pub need: Need,
}

/// A slot that the first modifier fills.
pub(crate) const fn first(name: SlotName, words: &'static [Word]) -> Slot {
    Slot {
        name,
        words,
        need: Need::First,
    }
}

/// A slot that the first modifier fills, or nothing.
pub(crate) const fn maybe_first(name: SlotName, words: &'static [Word]) -> Slot {
    Slot {
        name,
        words,
        need: Need::MaybeFirst,
    }
}

/// A slot that must be filled.
pub(crate) const fn one(name: SlotName, words: &'static [Word]) -> Slot {
    Slot {
        name,
        words,
        need: Need::Required,
    }
}

/// A slot that may be left out.
pub(crate) const fn maybe(name: SlotName, words: &'static [Word]) -> Slot {
    Slot {
        name,
        words,
        need: Need::Optional,
    }
}

/// Where the type of an operand comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypeOf {
    /// The type in this slot.
    Slot(SlotName),
    /// Twice as wide as the type in this slot.
    Wide(SlotName),
    /// Always this.
    Fixed(Ty),
    /// An address: 64 bits, or 32 under `.address_size 32`.
    Address,
}

/// Shorthands for rows.
pub(crate) const T: TypeOf = TypeOf::Slot(SlotName::Type);
/// `.b32`: a register of 32 bits, whatever its type.
pub(crate) const B32: TypeOf = TypeOf::Fixed(Ty::B32);
/// `.u32`
pub(crate) const U32: TypeOf = TypeOf::Fixed(Ty::U32);

/// What an operand may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperandKind {
    /// A register that is written.
    Dst,
    /// A register that is written; it may be wider than the type.
    WideDst,
    /// A register or constant, or the address of a function.
    Src,
    /// A register that may be wider than the type, or a constant.
    WideSrc,
    /// A register that may be wider than the type, a constant, or a special register.
    ConvertSrc,
    /// A register of 32 or 64 bits, or a constant.
    AnyWidthSrc,
    /// A register.
    RegSrc,
    /// A register of the type, or a literal no greater than this and not negative.
    Count(u64),
    /// A literal between the two.
    Literal(i64, i64),
    /// A literal, any at all.
    AnyLiteral,
    /// A register, or a floating-point literal above 0 and no greater than 1.
    Fraction,
    /// Predicate or predicates that `setp` writes: `p`, `p|q`, with `_` for either.
    SetpDst,
    /// The predicate that `setp` of one lane of 16 bits writes: `p`, `p|_`.
    SetpOneDst,
    /// `d|p` of `lop3` and `elect`; `d` may be `_`.
    PairDst,
    /// `d` or `d|p`; `p` may be `_`.
    MaybePairDst,
    /// The same; `d` may be `_`, too.
    MaybePairSinkDst,
    /// A register that is written, or `_`.
    SinkDst,
    /// `_`
    Sink,
    /// A predicate register, `!p`, or a constant.
    Pred,
    /// A destination of a scalar video instruction: its part of the word.
    VideoDst,
    /// A source of a scalar video instruction: register with part of the word and `-`, or a constant.
    VideoSrc,
    /// A destination of a SIMD video instruction with its lane mask.
    SimdDst,
    /// A source of a SIMD video instruction with its lane selector.
    SimdSrc,
    /// `[...]` or `name[index]`
    Address,
    /// `[...]`
    HintAddress,
    /// `[...]` of any state space, where nothing is read or written.
    UnreadAddress,
    /// `[...]` in the state space of this slot; registers of 32 bits hold addresses of any.
    AsyncAddress(SlotName),
    /// `[...]` in shared memory.
    MbarrierAddress,
    /// What `ld` writes: a register (wider ones too), or a vector of as many as `.vN` says.
    LoadDst,
    /// What `st` reads, likewise.
    StoreSrc,
    /// What `atom` with `.vN` writes: registers of exactly the type, as many as it says, or `_`.
    AtomDst,
    /// What `st.async` reads: registers of exactly the type, or constants; as many as `.vN` says.
    AsyncSrc,
    /// A register or constant of the type, or a predicate.
    SizeOrPred,
    /// Four registers or constants in braces.
    FourSrc,
    /// What `mov` writes.
    MovDst,
    /// What `mov` reads: anything.
    MovSrc,
    /// A register, constant or variable whose address is meant, as `cvta` takes it.
    AddressSrc,
    /// The same, of shared memory.
    SharedSrc,
}

/// An operand of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Param {
    /// Its letter in the manual.
    pub name: &'static str,
    /// What it may be.
    pub kind: OperandKind,
    /// Its type.
    pub ty: TypeOf,
    /// Whether it may be left out (with all behind it).
    pub optional: bool,
}

/// An operand.
pub(crate) const fn param(name: &'static str, kind: OperandKind, ty: TypeOf) -> Param {
    Param {
        name,
        kind,
        ty,
        optional: false,
    }
}

impl Param {
    /// The same, to be left out at will.
    #[must_use]
    pub(crate) const fn optional(self) -> Param {
        Param {
            optional: true,
            ..self
        }
    }
}

/// A destination register.
pub(crate) const fn dst(ty: TypeOf) -> Param {
    param("d", OperandKind::Dst, ty)
}

/// A source register or constant.
pub(crate) const fn src(name: &'static str, ty: TypeOf) -> Param {
    param(name, OperandKind::Src, ty)
}

/// An operand as resolved: names have become registers, constants are folded and cut to their type.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Arg {
    /// Left out.
    Absent,
    /// A destination; `None` for `_`.
    Dst(Option<Reg>, RegClass),
    /// Two destinations; `None` for `_` or what was left out.
    Dsts(Option<Reg>, Option<Reg>),
    /// A source of this class.
    Src(Operand, RegClass),
    /// A number that is part of the instruction rather than a source.
    Literal(i64),
    /// A destination or source of a scalar video instruction.
    Part {
        /// The register (of a destination, too) or constant.
        value: Operand,
        /// Which part of the word.
        part: Selector,
        /// Whether `-` stood before it.
        negated: bool,
    },
    /// A destination or source of a SIMD video instruction.
    Lanes {
        /// The register (of a destination, too) or constant.
        value: Operand,
        /// The digits after the point, if there are any, and whether they count halves rather than bytes.
        lanes: Option<(bool, SmallVec<[u8; 4]>)>,
        /// Whether `-` stood before it.
        negated: bool,
    },
    /// A value of 128 bits, or the place for one: low and high half.
    Quad(Operand, Operand),
    /// Elements in braces, or of a vector register.
    Vector(Vec<Arg>),
    /// `[...]`; of a variable with the state space that it lies in.
    Address(Address, Option<Space>),
    /// A variable whose address is meant; the register is not set yet.
    AddressOf(AddressOf),
    /// A function whose address is meant.
    Function(FuncId),
    /// A special register.
    Special(Special),
}

/// What a build function may do.
pub trait Emit {
    /// Appends an instruction under the guard.
    fn emit(&mut self, kind: Kind);
    /// Appends one that is not guarded, to prepare an operand.
    fn prepare(&mut self, kind: Kind);
    /// A new register.
    fn fresh(&mut self, class: RegClass) -> Reg;
    /// The register that stands for CC.CF.
    fn carry(&mut self) -> Reg;
    /// The class of an address.
    fn address_class(&self) -> RegClass;
}

/// Where a [`Complaint`] points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The modifier in this slot; the mnemonic if it is empty.
    Slot(SlotName),
    /// The operand with this index.
    Operand(usize),
    /// A mistake of the row, not of the text.
    Row,
}

/// Why a combination of words or operands is refused, or that a row is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Complaint {
    /// What is at fault.
    pub at: At,
    /// What is wrong, in one line.
    pub message: String,
}

impl Complaint {
    /// About the modifier in a slot.
    pub fn slot(name: SlotName, message: impl Into<String>) -> Self {
        Complaint {
            at: At::Slot(name),
            message: message.into(),
        }
    }

    /// About an operand.
    pub fn operand(index: usize, message: impl Into<String>) -> Self {
        Complaint {
            at: At::Operand(index),
            message: message.into(),
        }
    }

    /// A row that does not fit its build function: a bug of ours.
    pub fn row(message: impl Into<String>) -> Self {
        Complaint {
            at: At::Row,
            message: message.into(),
        }
    }
}

/// The operator of a pure instruction from its words and operands.
pub type Operator = fn(&Choice<'_>, &[Arg]) -> Result<PureOp, Complaint>;

/// Whether the words of a form go together.
pub type Rule = fn(&Choice<'_>) -> Result<(), Complaint>;

/// What a form becomes.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Build {
    /// A pure instruction: destinations and sources are the operands in order; carries are added.
    Pure(Operator),
    /// Whatever the function appends.
    Emit(fn(&Choice<'_>, &[Arg], &mut dyn Emit) -> Result<(), Complaint>),
    /// Without effect here.
    Hint,
}

/// How a form is executed natively.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
    /// By instructions of the host.
    Native,
    /// By a call into the library.
    Call,
    /// Not at all.
    Nothing,
}

/// One form of an instruction.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Form {
    /// The word before the first point.
    pub mnemonic: &'static str,
    /// Its modifiers.
    pub slots: &'static [Slot],
    /// Its operands.
    pub operands: &'static [Param],
    /// The smallest `.version`; words may ask more.
    pub since: Version,
    /// The smallest `.target`; words may ask more.
    pub target: u32,
    /// The `.version` and `.target` from which on, both together, the form is no more.
    pub until: Option<(Version, u32)>,
    /// Another `.version` and `.target` from which on, both together, there is the form, if any.
    pub or: Option<(Version, u32)>,
    /// If there are any: only the architecture- and family-specific variants (`a`, `f`) of these targets have it.
    pub variants: &'static [u32],
    /// Whether of these variants the family-specific ones (`f`) have it, too.
    pub families: bool,
    /// What it computes.
    pub doc: &'static str,
    /// What NVIDIA's tools compute instead, where they depart from the text: see [`Reading`](crate::ir::Reading).
    pub nvidia: Option<&'static str>,
    /// How it is executed natively.
    pub code: Code,
    /// Combinations of words that are refused.
    pub rule: Option<Rule>,
    /// What it becomes.
    pub build: Build,
}

/// A form that has been there from the beginning.
pub(crate) const fn form(
    mnemonic: &'static str,
    slots: &'static [Slot],
    operands: &'static [Param],
    build: Build,
    doc: &'static str,
) -> Form {
    Form {
        mnemonic,
        slots,
        operands,
        since: (1, 0),
        target: 10,
        until: None,
        or: None,
        variants: &[],
        families: true,
        doc,
        nvidia: None,
        code: match build {
            Build::Pure(_) | Build::Emit(_) => Code::Native,
            Build::Hint => Code::Nothing,
        },
        rule: None,
        build,
    }
}

impl Form {
    /// The form with the `.version` and `.target` that it needs.
    #[must_use]
    pub(crate) const fn needs(self, since: Version, target: u32) -> Form {
        Form {
            since,
            target,
            ..self
        }
    }

    /// The form, which is gone from this `.version` and `.target` on.
    #[must_use]
    pub(crate) const fn ends(self, version: Version, target: u32) -> Form {
        Form {
            until: Some((version, target)),
            ..self
        }
    }

    /// The form, of which NVIDIA's tools compute something else than the text says.
    #[must_use]
    pub(crate) const fn nvidia(self, instead: &'static str) -> Form {
        Form {
            nvidia: Some(instead),
            ..self
        }
    }

    /// Whether a module of this `.version` and `.target` is too new for the form.
    pub fn is_gone(&self, version: Version, target: u32) -> bool {
        self.until
            .is_some_and(|(until, of)| version >= until && target >= of)
    }

    /// The form for the variants `a` and `f` of some targets only.
    #[must_use]
    pub(crate) const fn only_variants(self, variants: &'static [u32]) -> Form {
        Form { variants, ..self }
    }

    /// The form for the variants `a` of some targets only.
    #[must_use]
    pub(crate) const fn only_architectures(self, variants: &'static [u32]) -> Form {
        Form {
            variants,
            families: false,
            ..self
        }
    }

    /// The form, which is also there from another `.version` and `.target` on.
    #[must_use]
    pub(crate) const fn or_needs(self, since: Version, target: u32) -> Form {
        Form {
            or: Some((since, target)),
            ..self
        }
    }

    /// The `.version` and `.target` that a module of these must reach.
    pub fn needed(&self, version: Version, target: u32) -> (Version, u32) {
        match self.or {
            Some((since, least)) if version >= since && target >= least => (since, least),
            Some(_) | None => (self.since, self.target),
        }
    }

    /// Whether a target has the form, by its number and the letter behind it.
    pub fn is_in(&self, target: u32, suffix: &str) -> bool {
        self.variants.is_empty()
            || (self.variants.contains(&target)
                && (suffix == "a" || suffix == "f" && self.families))
    }

    /// The form with a rule about its words.
    #[must_use]
    pub(crate) const fn rule(self, rule: Rule) -> Form {
        Form {
            rule: Some(rule),
            ..self
        }
    }

    /// How few and how many operands it takes.
    pub fn operand_count(&self) -> (usize, usize) {
        let optional = self.operands.iter().filter(|o| o.optional).count();
        (self.operands.len() - optional, self.operands.len())
    }
}

/// A form with its slots filled.
#[derive(Debug, Clone)]
pub struct Choice<'f> {
    /// The form.
    pub form: &'f Form,
    /// For each slot: index into its words, and index of the modifier in the text.
    pub filled: SmallVec<[Option<(usize, usize)>; 12]>,
}

impl Choice<'_> {
    /// The word in a slot.
    pub fn word(&self, name: SlotName) -> Option<&'static str> {
        self.filled(name).map(|(word, _)| word.text)
    }

    /// Whether a slot is filled.
    pub fn has(&self, name: SlotName) -> bool {
        self.filled(name).is_some()
    }

    /// The word in a slot and the index of its modifier.
    pub fn filled(&self, name: SlotName) -> Option<(&'static Word, usize)> {
        let index = self.form.slots.iter().position(|s| s.name == name)?;
        let (word, modifier) = (*self.filled.get(index)?)?;
        Some((self.form.slots[index].words.get(word)?, modifier))
    }

    /// The word in a slot that the form requires.
    ///
    /// # Errors
    /// If the row has no such slot.
    pub fn required(&self, name: SlotName) -> Result<&'static str, Complaint> {
        self.word(name)
            .ok_or_else(|| Complaint::row(format!("no word for {name:?}")))
    }

    /// The type in a slot.
    ///
    /// # Errors
    /// If the row has none there.
    pub fn ty(&self, name: SlotName) -> Result<Ty, Complaint> {
        let word = self.required(name)?;
        Ty::parse(word).ok_or_else(|| Complaint::row(format!("`{word}` is no type")))
    }

    /// The integer type in a slot; `.bN` counts as unsigned.
    ///
    /// # Errors
    /// If the row has none there.
    pub fn int(&self, name: SlotName) -> Result<IntTy, Complaint> {
        let ty = self.ty(name)?;
        ty.int()
            .ok_or_else(|| Complaint::row(format!("`{ty}` is no integer type")))
    }

    /// The floating-point format in a slot.
    ///
    /// # Errors
    /// If the row has none there.
    pub fn float(&self, name: SlotName) -> Result<FloatTy, Complaint> {
        let ty = self.ty(name)?;
        ty.float()
            .ok_or_else(|| Complaint::row(format!("`{ty}` is no floating-point type")))
    }

    /// The register class of the type in a slot.
    ///
    /// # Errors
    /// If the row has none there.
    pub fn class(&self, name: SlotName) -> Result<RegClass, Complaint> {
        let ty = self.ty(name)?;
        ty.class()
            .ok_or_else(|| Complaint::row(format!("`{ty}` has no register class")))
    }

    /// Whether the type in a slot is signed; `false` if it is empty.
    pub fn signed(&self, name: SlotName) -> bool {
        self.word(name).is_some_and(|w| w.starts_with('s'))
    }

    /// The type of an operand; `address` is what addresses are.
    ///
    /// # Errors
    /// If the row has no such type.
    pub fn type_of(&self, ty: TypeOf, address: Ty) -> Result<Ty, Complaint> {
        match ty {
            TypeOf::Slot(name) => self.ty(name),
            TypeOf::Wide(name) => self.ty(name).map(Ty::widened),
            TypeOf::Fixed(ty) => Ok(ty),
            TypeOf::Address => Ok(address),
        }
    }
}
