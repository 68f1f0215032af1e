//! Places in memory: addresses in every space, nearly always inside what the thread may reach, and aligned.
//!
//! No two threads write the same bytes, and none reads what another writes, but by atomics and strong accesses in regions
//! that are there for that, and across meetings. Otherwise only wild accesses may reach another thread's bytes. The oracle runs
//! threads by the canonical schedule.

use super::body::Body;
use super::meetings::is_strong;
use super::operands::{Made, cut, length};
use crate::ir::Reg;
use crate::ir::memory::{Address, Base, Space, Var};
use crate::isa::form::{Arg, Choice, SlotName};
use crate::isa::types::{Ty, TyKind};

/// Bytes of the regions that accesses go to; a power of two, no less than the widest access.
pub(super) const REGION: usize = 64;

/// How a region is reached.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Way {
    /// By the register that holds its first address.
    Register(String),
    /// By name. An array of elements of so many bytes may also be indexed.
    Name {
        name: String,
        /// 0 if it is no array.
        element: usize,
    },
    /// By a number: the kernel's first local variable.
    Number,
}

/// Memory that may be accessed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Region {
    pub way: Way,
    /// The space by whose word it is reached; generic for a generic address.
    pub space: Space,
    /// The space it lies in.
    pub lies: Space,
    pub bytes: usize,
    pub reads: bool,
    pub writes: bool,
    /// Whether other threads write it too: only atomics and strong accesses go there.
    pub common: bool,
    /// Whether it is an mbarrier, which other instructions leave alone.
    pub object: bool,
    /// Whether what goes there need not be there before the launch is over.
    pub later: bool,
}

impl Region {
    /// Memory that may be read, and perhaps written.
    pub(super) fn new(way: Way, space: Space, lies: Space, writes: bool) -> Region {
        Region {
            way,
            space,
            lies,
            bytes: REGION,
            reads: true,
            writes,
            common: false,
            object: false,
            later: false,
        }
    }
}

/// Where, in memory that several threads change in an order of which nothing is known, a reduction may go: words are changed
/// by one operation each, so that what they hold in the end is the same by any order.
pub(super) fn place_of(operation: &str, ty: Ty) -> Option<usize> {
    // Sums of numbers differ by their order.
    if !matches!(ty.kind, TyKind::Bits | TyKind::Unsigned | TyKind::Signed) {
        return None;
    }
    let signed = ty.kind == TyKind::Signed;
    let place = match operation {
        "and" => 0,
        "or" => 1,
        "xor" => 2,
        "add" => 3,
        "min" if signed => 4,
        "min" => 5,
        "max" if signed => 6,
        "max" => 7,
        _ => return None,
    };
    match ty.bits {
        32 => Some(4 * place),
        64 if place < 4 => Some(REGION / 2 + 8 * place),
        _ => None,
    }
}

/// The instruction that does the same to a place: of multicast objects there is one member.
fn access(choice: &Choice<'static>) -> &'static str {
    match (choice.form.mnemonic, choice.word(SlotName::Variant)) {
        ("multimem", Some("ld_reduce")) => "ld",
        ("multimem", Some(variant)) => variant,
        (mnemonic, _) => mnemonic,
    }
}

/// What an instruction wants of a place.
struct Wanted {
    /// Bytes of the whole access, to which it is aligned.
    bytes: usize,
    store: bool,
    /// In memory that nobody writes during the launch.
    constant: bool,
    /// By an atomic, or a strong access.
    atomic: bool,
    strong: bool,
    /// Where in memory that all change it may go, if that is not anywhere.
    common: Option<usize>,
    /// Only `[...]`.
    brackets: bool,
}

impl Body<'_, '_> {
    /// An address for an instruction. What it needs is computed by instructions before it. `None` if there is no such
    /// memory in this function.
    pub(super) fn place(&mut self, choice: &Choice<'static>, hint: bool) -> Option<Made> {
        let ty = choice.ty(SlotName::Type).ok();
        let arrives = choice.has(SlotName::Step) && choice.word(SlotName::Bulk) == Some("mbarrier");
        let object = choice.form.mnemonic == "mbarrier" || arrives;
        let name = access(choice);
        let atomic = matches!(name, "atom" | "red");
        let reaches = name != choice.form.mnemonic || atomic || object;
        let ty = if hint && !reaches { None } else { ty };
        let wanted = Wanted {
            bytes: ty.map_or(1, |ty| ty.bits as usize / 8 * length(choice)),
            store: name == "st" || atomic,
            constant: choice.has(SlotName::NonCoherent) || choice.form.mnemonic == "ldu",
            atomic,
            strong: atomic || is_strong(choice),
            common: self.common_place(choice),
            brackets: hint,
        };
        let fixed = self.module.fixed;
        let wild = self.wild > 0 && self.choices.chance(self.wild);
        let word = choice.word(SlotName::Space);
        // Where `.global` is all that may be said, a generic address must be one of global memory.
        let only_global = choice.form.slots.iter().any(|slot| {
            slot.name == SlotName::Space && slot.words.iter().all(|w| w.text == "global")
        });
        let fits: Vec<Region> = self
            .regions
            .iter()
            .filter(|region| {
                self.said(word, region)
                    && (!only_global || region.lies == Space::Global)
                    && region.bytes >= wanted.bytes
                    && (!region.common || (wanted.strong && (!fixed || wanted.common.is_some())))
                    && !region.later
                    && object == region.object
                    && (wild
                        || !wanted.atomic
                        || matches!(region.lies, Space::Global | Space::Shared))
                    && (if wanted.store {
                        // A wild store also goes where it may not.
                        region.writes || (wild && region.lies == Space::Const)
                    } else {
                        region.reads
                    })
                    && !(wanted.constant && region.writes)
            })
            .cloned()
            .collect();
        if fits.is_empty() {
            return None;
        }
        let mut region = self.choices.pick(&fits).clone();
        // There is one place where nobody may store.
        if wild && wanted.store && self.choices.chance(30) {
            let closed = fits.iter().find(|region| !region.writes);
            region = closed.cloned().unwrap_or(region);
        }
        if let Some(offset) = wanted.common.filter(|_| region.common && fixed) {
            let (name, arg) = match &region.way {
                Way::Register(base) => (base, at(Base::Reg(Reg(u32::MAX)), None)),
                Way::Name { name, .. } => (name, at(Base::Var(Var::Local(0)), Some(region.lies))),
                Way::Number => return None,
            };
            return Some((format!("[{name}+{offset}]"), arg));
        }
        match &region.way {
            Way::Register(base) => Some(self.by_register(base, &region, &wanted, wild)),
            Way::Name { name, element } => self.by_name(name, *element, &region, &wanted, wild),
            Way::Number => {
                let offset = self.offset(&region, &wanted, wild);
                Some((format!("[{offset}]"), at(Base::Absolute, None)))
            }
        }
    }

    /// Where a reduction may go in memory that all change, whoever comes first.
    fn common_place(&self, choice: &Choice<'static>) -> Option<usize> {
        if access(choice) != "red" {
            return None;
        }
        let operation = choice.word(SlotName::Operation)?;
        place_of(operation, choice.ty(SlotName::Type).ok()?)
    }

    /// Whether the word of an instruction reaches a region.
    pub(super) fn said(&self, word: Option<&str>, region: &Region) -> bool {
        let by_name = matches!(region.way, Way::Name { .. });
        match word {
            None => match region.space {
                Space::Generic => true,
                // A name says where it lies.
                Space::Global | Space::Shared | Space::Local => by_name,
                Space::Cluster | Space::Const | Space::Param => false,
            },
            Some("global") => region.space == Space::Global,
            Some("shared" | "shared::cta" | "shared::cluster") => region.space == Space::Shared,
            Some("local") => region.space == Space::Local,
            Some("const") => region.space == Space::Const,
            Some("param") => region.space == Space::Param,
            Some("param::entry") => region.space == Space::Param && self.kernel,
            Some("param::func") => region.space == Space::Param && !self.kernel && by_name,
            Some(_) => false,
        }
    }

    /// An offset at which an access lies in a region; a wild one may not.
    fn offset(&mut self, region: &Region, wanted: &Wanted, wild: bool) -> i64 {
        let steps = (region.bytes - wanted.bytes) / wanted.bytes + 1;
        let offset = (self.choices.below(steps) * wanted.bytes) as i64;
        if !wild {
            return offset;
        }
        match self.choices.below(4) {
            0 => offset + 1,
            1 => offset - region.bytes as i64,
            2 => offset + region.bytes as i64,
            _ => offset + (1 << self.choices.below(31)),
        }
    }

    fn by_register(&mut self, base: &str, region: &Region, wanted: &Wanted, wild: bool) -> Made {
        let register = at(Base::Reg(Reg(u32::MAX)), None);
        if wild && self.choices.chance(20) {
            let wide = matches!(region.space, Space::Generic | Space::Global)
                && self.module.target.address_bits == 64;
            let ty = if wide { Ty::B64 } else { Ty::B32 };
            if let Some(name) = self.integer_register(ty) {
                return (format!("[{name}]"), register);
            }
        }
        if self.choices.chance(50) {
            let offset = self.offset(region, wanted, wild);
            let text = match offset {
                0 => format!("[{base}]"),
                _ => format!("[{base}+{offset}]"),
            };
            return (text, register);
        }
        let Some(index) = self.integer_register(Ty::B32) else {
            return (format!("[{base}]"), register);
        };
        // An index of so many values, and what is left for the constant.
        let steps = region.bytes / wanted.bytes;
        let used = if steps > 1 {
            1 << self.choices.below(steps.ilog2() as usize + 1)
        } else {
            1
        };
        let mask = if wild { 2 * steps - 1 } else { used - 1 };
        let offset = self.choices.below(steps - used + 1) * wanted.bytes;
        let scale = if wild && self.choices.chance(30) {
            1
        } else {
            wanted.bytes
        };
        self.emit("and.b32", &["%t0", &index, &mask.to_string()]);
        let held = self.held(base);
        let (head, at) = match (held, scale) {
            (64, _) => ("mad.wide.u32", "%at"),
            (_, _) => ("mad.lo.u32", "%t1"),
        };
        self.emit(head, &[at, "%t0", &scale.to_string(), base]);
        let text = match offset {
            0 => format!("[{at}]"),
            _ => format!("[{at}+{offset}]"),
        };
        (text, register)
    }

    /// A register of the general ones that may be an index.
    pub(super) fn integer_register(&mut self, ty: Ty) -> Option<String> {
        (0..8).find_map(|_| {
            let name = self.any_register(ty)?;
            let integer = self
                .regs
                .iter()
                .any(|r| r.name == name && r.kind != TyKind::Float);
            integer.then_some(name)
        })
    }

    fn by_name(
        &mut self,
        name: &str,
        element: usize,
        region: &Region,
        wanted: &Wanted,
        wild: bool,
    ) -> Option<Made> {
        let arg = at(Base::Var(Var::Local(0)), Some(region.lies));
        let offset = self.offset(region, wanted, wild && region.space != Space::Param);
        if element == 0 || wanted.brackets || !self.choices.chance(30) {
            let text = match offset {
                0 => format!("[{name}]"),
                _ => format!("[{name}+{offset}]"),
            };
            return Some((text, arg));
        }
        if !(offset as u64).is_multiple_of(element as u64) {
            return Some((format!("[{name}+{offset}]"), arg));
        }
        if element >= wanted.bytes && self.choices.chance(60) {
            let index = self.integer_register(Ty::B32)?;
            let mask = region.bytes / element - 1;
            self.emit("and.b32", &["%t0", &index, &mask.to_string()]);
            let indexed = at(Base::Reg(Reg(u32::MAX)), Some(region.lies));
            return Some((format!("{name}[%t0]"), indexed));
        }
        let index = cut(offset as u64, 32) as usize / element;
        Some((format!("{name}[{index}]"), arg))
    }

    /// Variables of the windows that have the same address in every process, with the words of their spaces.
    pub(super) fn windows(&self) -> Vec<(String, &'static str)> {
        let mut list = Vec::new();
        for region in &self.regions {
            let Way::Name { name, .. } = &region.way else {
                continue;
            };
            let space = match region.lies {
                Space::Shared => "shared",
                Space::Local => "local",
                Space::Const => "const",
                Space::Param if region.reads && self.kernel => "param",
                Space::Cluster | Space::Param | Space::Global | Space::Generic => continue,
            };
            list.push((name.clone(), space));
        }
        list
    }
}

fn at(base: Base, space: Option<Space>) -> Arg {
    Arg::Address(Address { base, offset: 0 }, space)
}
