//! Operands by their kind and type, as text and as the row's build function sees them.

use super::body::Body;
use super::choices::Choices;
use super::copies::{Completes, is_of_move};
use super::rows::Target;
use crate::ir::memory::{AddressOf, Var};
use crate::ir::video::Selector;
use crate::ir::{FuncId, Operand, Reg, RegClass};
use crate::isa::form::{Arg, Choice, OperandKind, Param, SlotName};
use crate::isa::special::{self, SPECIALS, SpecialName};
use crate::isa::types::{Ty, TyKind};
use smallvec::SmallVec;

/// A register that instructions may read and write.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Register {
    /// `%r3`, or the element `%v.x`.
    pub name: String,
    /// The declared kind.
    pub kind: TyKind,
    pub bits: u32,
    /// The name of the vector register that it is an element of.
    pub vector: Option<String>,
}

/// How the width of a register compares with the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Exact,
    Wider,
}

impl Register {
    /// Whether it may stand where `ty` is asked. Narrower than what the checker takes.
    fn fits(&self, ty: Ty, fit: Fit) -> bool {
        let width = match fit {
            Fit::Exact => self.bits == ty.bits,
            Fit::Wider => self.bits >= ty.bits,
        };
        match (ty.kind, self.kind) {
            (TyKind::Pred, TyKind::Pred) => true,
            (TyKind::Pred, _) | (_, TyKind::Pred) => false,
            (TyKind::Bits, _) | (TyKind::Float, TyKind::Bits) => width,
            (TyKind::Unsigned | TyKind::Signed, TyKind::Float) => false,
            (TyKind::Unsigned | TyKind::Signed, _) => width,
            (TyKind::Float, TyKind::Float) => self.bits == ty.bits,
            (TyKind::Float, _) => false,
            (TyKind::PackedInt { .. } | TyKind::PackedFloat | TyKind::Alternate(_), kind) => {
                kind == TyKind::Bits && self.bits == ty.bits
            }
        }
    }
}

/// Values at which instructions change their behaviour.
const EDGES: &[u64] = &[
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    15,
    16,
    17,
    24,
    31,
    32,
    33,
    63,
    64,
    65,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
    u64::MAX - 1,
    0xffff_ffff_8000_0000,
    0x5555_5555_5555_5555,
    0xaaaa_aaaa_aaaa_aaaa,
    0x00ff_00ff_00ff_00ff,
    0x8000_8000_8000_8000,
    0x8080_8080_8080_8080,
    0x7f80_7f80_7f80_7f80,
    0x0123_4567_89ab_cdef,
];

/// Counts of bits around the widths of registers.
const COUNTS: &[u64] = &[0, 1, 7, 8, 16, 31, 32, 33, 63, 64, 65, 255];

/// The low bits of a value.
pub(super) fn cut(value: u64, bits: u32) -> u64 {
    if bits >= 64 {
        value
    } else {
        value & ((1 << bits) - 1)
    }
}

/// A value of some bits, likely one at an edge.
pub(super) fn value(choices: &mut Choices<'_>, bits: u32) -> u64 {
    let value = match choices.below(8) {
        0 => choices.bits(),
        // One bit, or all below or above it.
        1 => {
            let one = 1u64 << choices.below(bits.clamp(1, 64) as usize);
            *choices.pick(&[one, one - 1, !one, one.wrapping_neg()])
        }
        2 => choices.below(80) as u64,
        _ => *choices.pick(EDGES),
    };
    cut(value, bits)
}

/// An operand: as written, and as resolved.
pub(super) type Made = (String, Arg);

impl Body<'_, '_> {
    /// A value of some bits, likely one at an edge.
    pub(super) fn value(&mut self, bits: u32) -> u64 {
        value(self.choices, bits)
    }

    /// A literal of a type, and its bits.
    pub(super) fn literal(&mut self, ty: Ty) -> (String, u64) {
        if ty.kind == TyKind::Pred {
            let bit = self.choices.below(2) as u64;
            return (bit.to_string(), bit);
        }
        let bits = ty.bits.min(64);
        let value = self.value(bits);
        if ty.kind == TyKind::Float {
            let text = if bits == 64 {
                format!("0d{value:016X}")
            } else {
                format!("0f{value:08X}")
            };
            return (text, value);
        }
        let negative = |value: u64| {
            let unused = 64 - bits;
            ((value << unused) as i64 >> unused).unsigned_abs()
        };
        let text = match self.choices.below(8) {
            0 => format!("0x{value:X}U"),
            1 | 2 => format!("{value}"),
            3 if value != 0 => format!("0{value:o}"),
            4 if value < 0x1_0000 => format!("0b{value:b}"),
            5 | 6 if value >> (bits - 1) == 1 => format!("-{}", negative(value)),
            _ => format!("0x{value:x}"),
        };
        (text, value)
    }

    fn literal_arg(&mut self, ty: Ty) -> Made {
        let (text, value) = self.literal(ty);
        let arg = match ty.class() {
            Some(class) => Arg::Src(Operand::Imm(value), class),
            None => Arg::Quad(Operand::Imm(value), Operand::Imm(0)),
        };
        (text, arg)
    }

    /// Index of a register that fits.
    fn find(&mut self, ty: Ty, fit: Fit, elements: bool) -> Option<usize> {
        let list: SmallVec<[usize; 32]> = self
            .regs
            .iter()
            .enumerate()
            .filter(|(_, r)| r.fits(ty, fit) && (elements || r.vector.is_none()))
            .map(|(index, _)| index)
            .collect();
        if list.is_empty() {
            return None;
        }
        Some(*self.choices.pick(&list))
    }

    /// The name of a register of exactly a type, of whose value nothing is known.
    pub(super) fn any_register(&mut self, ty: Ty) -> Option<String> {
        let index = self.find(ty, Fit::Exact, false)?;
        Some(self.regs[index].name.clone())
    }

    fn reg(&mut self, ty: Ty, fit: Fit, written: bool, elements: bool) -> Option<Made> {
        let index = self.find(ty, fit, elements)?;
        let register = &self.regs[index];
        let (low, high) = (Reg(2 * index as u32), Reg(2 * index as u32 + 1));
        let class = Ty {
            bits: register.bits,
            ..ty
        }
        .class();
        let arg = match (class, written) {
            (Some(class), true) => Arg::Dst(Some(low), class),
            (Some(class), false) => Arg::Src(Operand::Reg(low), class),
            (None, _) => Arg::Quad(Operand::Reg(low), Operand::Reg(high)),
        };
        Some((register.name.clone(), arg))
    }

    fn source(&mut self, ty: Ty, fit: Fit) -> Option<Made> {
        if ty.kind == TyKind::Pred {
            return self.predicate();
        }
        if ty.has_constants() && self.choices.chance(25) {
            return Some(self.literal_arg(ty));
        }
        self.reg(ty, fit, false, true)
    }

    /// `p`, `!p`, 0 or 1.
    pub(super) fn predicate(&mut self) -> Option<Made> {
        if self.choices.chance(10) {
            return Some(self.literal_arg(Ty::PRED));
        }
        let (name, arg) = self.reg(Ty::PRED, Fit::Exact, false, false)?;
        let not = if self.choices.chance(30) { "!" } else { "" };
        Some((format!("{not}{name}"), arg))
    }

    /// The operand for a parameter of the row. `before` are those written already. `None` if this function has nothing
    /// to put there.
    pub(super) fn operand(
        &mut self,
        choice: &Choice<'static>,
        param: &Param,
        before: &[Made],
    ) -> Option<Made> {
        let address = if self.module.target.address_bits == 32 {
            Ty::B32
        } else {
            Ty::B64
        };
        let ty = choice.type_of(param.ty, address).ok()?;
        if let Some(made) = self.of_meeting(choice.form, param.name) {
            return Some(made);
        }
        if let Some(made) = self.of_stack(choice, param) {
            return Some(made);
        }
        if Completes::of(choice.form).is_some() && is_of_move(param.name) {
            return self.of_move(choice, param);
        }
        match param.kind {
            OperandKind::Dst => self.reg(ty, Fit::Exact, true, true),
            OperandKind::WideDst => self.reg(ty, Fit::Wider, true, true),
            OperandKind::Src => self.source(ty, Fit::Exact),
            OperandKind::WideSrc => self.source(ty, Fit::Wider),
            OperandKind::ConvertSrc => {
                if self.choices.chance(5)
                    && let Some(made) = self.special(ty, true)
                {
                    return Some(made);
                }
                self.source(ty, Fit::Wider)
            }
            OperandKind::AnyWidthSrc => {
                let ty = *self.choices.pick(&[Ty::B32, Ty::B64]);
                if self.choices.chance(25) {
                    return Some(self.literal_arg(Ty::B64));
                }
                let (name, arg) = self.reg(ty, Fit::Exact, false, false)?;
                let float = |r: &Register| r.name == name && r.kind == TyKind::Float;
                (!self.regs.iter().any(float)).then_some((name, arg))
            }
            OperandKind::RegSrc => self.reg(ty, Fit::Exact, false, true),
            OperandKind::Count(most) => {
                if self.choices.chance(40) {
                    let value = match self.choices.below(2) {
                        0 => (*self.choices.pick(COUNTS)).min(most),
                        _ => self.value(8).min(most),
                    };
                    let class = ty.class()?;
                    return Some((value.to_string(), Arg::Src(Operand::Imm(value), class)));
                }
                self.reg(ty, Fit::Exact, false, true)
            }
            OperandKind::Literal(least, most) => {
                let range = most.abs_diff(least) as usize;
                let value = least + self.choices.between(0, range) as i64;
                Some((value.to_string(), Arg::Literal(value)))
            }
            OperandKind::AnyLiteral => {
                let wide = self.choices.chance(5);
                let value = self.value(if wide { 32 } else { 8 });
                Some((format!("0x{value:x}"), Arg::Literal(value as i64)))
            }
            OperandKind::Fraction => {
                if self.choices.chance(50) {
                    let value = *self.choices.pick(&[1.0f32, 0.5, f32::MIN_POSITIVE, 0.999]);
                    let bits = value.to_bits();
                    let arg = Arg::Src(Operand::Imm(bits.into()), RegClass::B32);
                    return Some((format!("0f{bits:08X}"), arg));
                }
                self.reg(ty, Fit::Exact, false, true)
            }
            OperandKind::SetpDst => self.setp_destination(),
            OperandKind::SetpOneDst => {
                let (p, reg) = self.reg(Ty::PRED, Fit::Exact, true, false).map(written)?;
                let sink = if self.choices.chance(20) { "|_" } else { "" };
                Some((format!("{p}{sink}"), Arg::Dsts(reg, None)))
            }
            OperandKind::PairDst => {
                let (value, reg) = match self.choices.below(5) {
                    0 => ("_".to_string(), None),
                    _ => self.reg(ty, Fit::Exact, true, true).map(written)?,
                };
                let (p, predicate) = self.reg(Ty::PRED, Fit::Exact, true, false).map(written)?;
                Some((format!("{value}|{p}"), Arg::Dsts(reg, predicate)))
            }
            OperandKind::MaybePairDst | OperandKind::MaybePairSinkDst => {
                let sinks = param.kind == OperandKind::MaybePairSinkDst;
                let (value, reg) = match self.choices.below(5) {
                    0 if sinks => ("_".to_string(), None),
                    _ => self.reg(ty, Fit::Exact, true, true).map(written)?,
                };
                if self.choices.chance(50) {
                    return Some((value, Arg::Dsts(reg, None)));
                }
                let (p, predicate) = self.reg(Ty::PRED, Fit::Exact, true, false).map(written)?;
                Some((format!("{value}|{p}"), Arg::Dsts(reg, predicate)))
            }
            OperandKind::SinkDst => {
                if self.choices.chance(10) {
                    let class = ty.class().unwrap_or(RegClass::B64);
                    return Some(("_".to_string(), Arg::Dst(None, class)));
                }
                self.reg(ty, Fit::Exact, true, true)
            }
            OperandKind::Pred => self.predicate(),
            OperandKind::VideoDst => self.video(ty, true),
            OperandKind::VideoSrc => self.video(ty, false),
            OperandKind::SimdDst => self.simd(ty, true),
            OperandKind::SimdSrc => self.simd(ty, false),
            OperandKind::Address => self.place(choice, false),
            OperandKind::HintAddress => self.place(choice, true),
            OperandKind::UnreadAddress => Some(("[0]".to_string(), Arg::Absent)),
            OperandKind::AsyncAddress(_) | OperandKind::MbarrierAddress => self.place(choice, true),
            OperandKind::Sink => Some(("_".to_string(), Arg::Dst(None, RegClass::B64))),
            OperandKind::AsyncSrc => self.elements(choice, ty, Fit::Exact, false),
            OperandKind::FourSrc => self.braces(ty, 4, Fit::Exact, false),
            OperandKind::SizeOrPred => {
                if self.choices.chance(50) {
                    return self.predicate();
                }
                self.source(ty, Fit::Exact)
            }
            OperandKind::LoadDst => self.elements(choice, ty, Fit::Wider, true),
            OperandKind::AtomDst => self.elements(choice, ty, Fit::Exact, true),
            OperandKind::StoreSrc => self.elements(choice, ty, Fit::Wider, false),
            OperandKind::MovDst => self.mov_destination(choice, ty),
            OperandKind::MovSrc => self.mov_source(choice, ty, before),
            OperandKind::AddressSrc => self.address_source(choice, ty),
            OperandKind::SharedSrc => self.source(ty, Fit::Exact),
        }
    }

    /// `p`, `p|q`, `p|_`, `_|q`.
    fn setp_destination(&mut self) -> Option<Made> {
        let (p, first) = self.reg(Ty::PRED, Fit::Exact, true, false).map(written)?;
        let (q, second) = self.reg(Ty::PRED, Fit::Exact, true, false).map(written)?;
        Some(match self.choices.below(6) {
            0 if p != q => (format!("{p}|{q}"), Arg::Dsts(first, second)),
            1 => (format!("{p}|_"), Arg::Dsts(first, None)),
            2 => (format!("_|{q}"), Arg::Dsts(None, second)),
            _ => (p, Arg::Dsts(first, None)),
        })
    }

    /// `%r1.b2`, `-%r1.h0`, a literal.
    fn video(&mut self, ty: Ty, written: bool) -> Option<Made> {
        if !written && self.choices.chance(20) {
            let (text, value) = self.literal(ty);
            let value = Operand::Imm(value);
            let part = Selector::Word;
            let negated = false;
            return Some((
                text,
                Arg::Part {
                    value,
                    part,
                    negated,
                },
            ));
        }
        let (name, arg) = self.reg(ty, Fit::Exact, written, false)?;
        let value = source_of(&arg)?;
        let (suffix, part) = match self.choices.below(10) {
            n @ 0..=3 => (format!(".b{n}"), Selector::Byte(n as u8)),
            n @ 4..=5 => (format!(".h{}", n - 4), Selector::Half(n as u8 - 4)),
            _ => (String::new(), Selector::Word),
        };
        let negated = !written && self.choices.chance(15);
        let minus = if negated { "-" } else { "" };
        Some((
            format!("{minus}{name}{suffix}"),
            Arg::Part {
                value,
                part,
                negated,
            },
        ))
    }

    /// `%r1.h10`, `%r1.b7610`.
    fn simd(&mut self, ty: Ty, written: bool) -> Option<Made> {
        let (name, arg) = self.reg(ty, Fit::Exact, written, false)?;
        let value = source_of(&arg)?;
        let negated = false;
        if self.choices.chance(50) {
            let lanes = None;
            return Some((
                name,
                Arg::Lanes {
                    value,
                    lanes,
                    negated,
                },
            ));
        }
        let halves = self.choices.chance(50);
        let lanes = if halves { 2u8 } else { 4 };
        let digits: SmallVec<[u8; 4]> = if written {
            // A mask: some lanes, the highest first.
            let mask = 1 + self.choices.below((1 << lanes) - 1);
            (0..lanes).rev().filter(|l| mask >> l & 1 == 1).collect()
        } else {
            let all = 2 * usize::from(lanes);
            (0..lanes).map(|_| self.choices.below(all) as u8).collect()
        };
        let letter = if halves { 'h' } else { 'b' };
        let text: String = digits.iter().map(u8::to_string).collect();
        Some((
            format!("{name}.{letter}{text}"),
            Arg::Lanes {
                value,
                lanes: Some((halves, digits)),
                negated,
            },
        ))
    }

    /// What `ld` writes or `st` reads: one register, or as many as `.vN` says, in braces or as a vector register.
    fn elements(
        &mut self,
        choice: &Choice<'static>,
        ty: Ty,
        fit: Fit,
        writes: bool,
    ) -> Option<Made> {
        let count = length(choice);
        if count == 1 {
            return if writes {
                self.reg(ty, fit, true, true)
            } else {
                self.source(ty, fit)
            };
        }
        if self.choices.chance(25)
            && let Some(made) = self.vector(ty, count, fit, writes)
        {
            return Some(made);
        }
        self.braces(ty, count, fit, writes)
    }

    /// A vector register of so many elements.
    fn vector(&mut self, ty: Ty, count: usize, fit: Fit, writes: bool) -> Option<Made> {
        let mut vectors: Vec<(String, Vec<usize>)> = Vec::new();
        for (index, register) in self.regs.iter().enumerate() {
            let Some(vector) = register.vector.as_ref().filter(|_| register.fits(ty, fit)) else {
                continue;
            };
            match vectors.iter_mut().find(|(name, _)| name == vector) {
                Some((_, elements)) => elements.push(index),
                None => vectors.push((vector.clone(), vec![index])),
            }
        }
        vectors.retain(|(_, elements)| elements.len() == count);
        if vectors.is_empty() {
            return None;
        }
        let (name, elements) = self.choices.pick(&vectors).clone();
        let args = elements.iter().map(|&index| {
            let class = RegClass::of_bits(self.regs[index].bits).unwrap_or(RegClass::B64);
            let reg = Reg(2 * index as u32);
            if writes {
                Arg::Dst(Some(reg), class)
            } else {
                Arg::Src(Operand::Reg(reg), class)
            }
        });
        let args = args.collect();
        Some((name, Arg::Vector(args)))
    }

    /// `{%r1, _, %r2}`, `{%r1, 5}`. No register is written twice.
    fn braces(&mut self, ty: Ty, count: usize, fit: Fit, writes: bool) -> Option<Made> {
        let mut texts: Vec<String> = Vec::new();
        let mut args = Vec::new();
        for index in 0..count {
            let last = index + 1 == count;
            let nothing = texts.iter().all(|t| t == "_");
            if writes && self.choices.chance(10) && !(last && nothing) {
                texts.push("_".to_string());
                args.push(Arg::Dst(None, ty.class()?));
                continue;
            }
            let (text, arg) = if writes {
                let fresh = (0..16).find_map(|_| {
                    let made = self.reg(ty, fit, true, true)?;
                    (!texts.contains(&made.0)).then_some(made)
                });
                match fresh {
                    Some(made) => made,
                    None if !nothing => ("_".to_string(), Arg::Dst(None, ty.class()?)),
                    None => return None,
                }
            } else {
                self.source(ty, fit)?
            };
            texts.push(text);
            args.push(arg);
        }
        Some((format!("{{{}}}", texts.join(", ")), Arg::Vector(args)))
    }

    /// The type of an element when a value of this type is made of so many.
    fn element(&mut self, ty: Ty) -> Option<(Ty, usize)> {
        if ty.kind != TyKind::Bits {
            return None;
        }
        let count = *self.choices.pick(&[2, 4]);
        let element = Ty {
            bits: ty.bits / count as u32,
            ..ty
        };
        let class = RegClass::of_bits(element.bits)?;
        (class != RegClass::Pred).then_some((element, count))
    }

    fn mov_destination(&mut self, choice: &Choice<'static>, ty: Ty) -> Option<Made> {
        if choice.has(SlotName::Vector) {
            return match self.choices.below(3) {
                0 => self.vector(ty, length(choice), Fit::Exact, true),
                _ => self.braces(ty, length(choice), Fit::Exact, true),
            };
        }
        if self.choices.chance(30)
            && let Some((element, count)) = self.element(ty)
        {
            return self.braces(element, count, Fit::Exact, true);
        }
        self.reg(ty, Fit::Exact, true, true)
    }

    fn mov_source(&mut self, choice: &Choice<'static>, ty: Ty, before: &[Made]) -> Option<Made> {
        if choice.has(SlotName::Vector) {
            return match self.choices.below(3) {
                0 => self.vector(ty, length(choice), Fit::Exact, false),
                _ => self.braces(ty, length(choice), Fit::Exact, false),
            };
        }
        let unpacks = matches!(before.first(), Some((_, Arg::Vector(_))));
        match self.choices.below(10) {
            0 | 1 if !unpacks => {
                let (element, count) = self.element(ty)?;
                self.braces(element, count, Fit::Exact, false)
            }
            2 | 3 => self.special(ty, false),
            4 => self.address_of(ty),
            _ => self.source(ty, Fit::Exact),
        }
    }

    /// The address of a variable or function. Not of those in global memory, which is another one in each process.
    fn address_of(&mut self, ty: Ty) -> Option<Made> {
        let integer = matches!(ty.kind, TyKind::Bits | TyKind::Unsigned | TyKind::Signed);
        if !integer || ty.bits < 32 || ty.bits > 64 {
            return None;
        }
        if ty.bits == self.module.target.address_bits && self.choices.chance(20) {
            let function = self.module.functions.first()?;
            return Some((function.name.clone(), Arg::Function(FuncId(0))));
        }
        let windows = self.windows();
        if windows.is_empty() {
            return None;
        }
        let (name, _) = self.choices.pick(&windows).clone();
        let offset = self.choices.below(4);
        let text = match offset {
            0 => name,
            _ => format!("{name}+{offset}"),
        };
        Some((text, Arg::AddressOf(somewhere())))
    }

    /// What `cvta` takes: a register, a literal, a variable of the space.
    fn address_source(&mut self, choice: &Choice<'static>, ty: Ty) -> Option<Made> {
        let word = choice.word(SlotName::Space)?;
        let space = word.split("::").next().unwrap_or_default();
        let windows: Vec<(String, &str)> = self
            .windows()
            .into_iter()
            .filter(|(_, of)| *of == space)
            .collect();
        if self.choices.chance(30) && !windows.is_empty() {
            let (name, _) = self.choices.pick(&windows).clone();
            return Some((name, Arg::AddressOf(somewhere())));
        }
        self.source(ty, Fit::Exact)
    }

    /// A special register that is the same in every run.
    fn special(&mut self, ty: Ty, wider: bool) -> Option<Made> {
        let target = self.module.target;
        let list: Vec<&SpecialName> = SPECIALS
            .iter()
            .filter(|s| readable(s, ty, wider, &target) && !s.special.tells_time())
            .collect();
        if list.is_empty() {
            return None;
        }
        let chosen = *self.choices.pick(&list);
        if !chosen.vector {
            return Some((chosen.name.to_string(), Arg::Special(chosen.special)));
        }
        let element = self.choices.below(4);
        let suffix = ["x", "y", "z", "w"][element];
        let arg = match special::element(chosen.special, element as u8) {
            Some(special) => Arg::Special(special),
            None => Arg::Src(Operand::Imm(0), ty.class()?),
        };
        Some((format!("{}.{suffix}", chosen.name), arg))
    }
}

/// Whether a special register may be read as a type.
fn readable(special: &SpecialName, ty: Ty, wider: bool, target: &Target) -> bool {
    let kind = match ty.kind {
        TyKind::Pred => special.bits == 1,
        TyKind::Bits | TyKind::Unsigned | TyKind::Signed => special.bits > 1,
        TyKind::Float | TyKind::PackedInt { .. } | TyKind::PackedFloat | TyKind::Alternate(_) => {
            false
        }
    };
    let width = ty.bits == special.bits
        || (wider && ty.bits < special.bits)
        || (special.narrow && ty.bits >= 16 && ty.bits < special.bits);
    kind && width && target.has(special.since, special.target)
}

/// The number of elements that `.vN` says; 1 without it.
pub(super) fn length(choice: &Choice<'static>) -> usize {
    choice
        .word(SlotName::Vector)
        .and_then(|word| word.strip_prefix('v')?.parse().ok())
        .unwrap_or(1)
}

/// The register of a destination.
fn written((text, arg): Made) -> (String, Option<Reg>) {
    match arg {
        Arg::Dst(reg, _) => (text, reg),
        _ => (text, None),
    }
}

/// The register of a source or destination, as video instructions have it.
fn source_of(arg: &Arg) -> Option<Operand> {
    match arg {
        Arg::Src(value, _) => Some(*value),
        Arg::Dst(Some(reg), _) => Some(Operand::Reg(*reg)),
        _ => None,
    }
}

/// Some variable's address.
fn somewhere() -> AddressOf {
    AddressOf {
        dst: Reg(u32::MAX),
        var: Var::Local(0),
        offset: 0,
    }
}
