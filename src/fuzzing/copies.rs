//! Asynchronous copies, stores and reductions: where they go, and how a thread waits for them before anybody looks.
//!
//! What they write is the thread's own, what they read nobody writes meanwhile, and the wait comes before the next
//! instruction that could see it. Bytes are counted on an mbarrier of the thread, made anew for each such instruction, which
//! expects each byte once. What completes nowhere goes to memory that nobody reads before the launch is over.

use super::body::Body;
use super::meetings::Meeting;
use super::operands::{Made, length};
use super::places::{REGION, Region, Way};
use super::rows::rows;
use crate::ir::memory::{Address, Base, Space, Var};
use crate::ir::{Operand, Reg, RegClass};
use crate::isa::form::{Arg, Choice, Form, Need, OperandKind, Param, SlotName};
use crate::isa::types::Ty;

/// How a thread learns that what an instruction does is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completes {
    /// `cp.async.wait_all`, and groups of the same.
    Group,
    /// `cp.async.bulk.wait_group`
    BulkGroup,
    /// An mbarrier counts its bytes.
    Bytes,
    /// Not at all.
    Never,
    /// It is done at once: `st.bulk`.
    AtOnce,
}

impl Completes {
    /// Of the instructions of a row, if they move something asynchronously.
    pub(super) fn of(form: &Form) -> Option<Completes> {
        let bulk = |word: &crate::isa::form::Word| word.text == "bulk";
        if form.mnemonic == "st" && form.slots[0].words.iter().any(bulk) {
            return Some(Completes::AtOnce);
        }
        let asynchronous = form.slots.iter().any(|slot| {
            slot.need == Need::First && slot.words.iter().any(|word| word.text == "async")
        });
        let moves = matches!(form.mnemonic, "cp" | "st" | "red" | "clusterlaunchcontrol");
        if !asynchronous || !moves || form.slots.iter().any(|slot| slot.name == SlotName::Step) {
            return None;
        }
        let completion = form.slots.iter().find(|s| s.name == SlotName::Completion);
        let word = completion.and_then(|slot| slot.words.first());
        Some(match word {
            Some(word) if word.text == "bulk_group" => Completes::BulkGroup,
            Some(_) => Completes::Bytes,
            None if form.mnemonic == "cp" => Completes::Group,
            None => Completes::Never,
        })
    }
}

/// Whether [`Body::of_move`] decides on an operand of this name.
pub(super) fn is_of_move(name: &str) -> bool {
    matches!(
        name,
        "cp-size"
            | "src-size"
            | "size"
            | "ctaMask"
            | "ignoreBytesLeft"
            | "ignoreBytesRight"
            | "mbar"
            | "dst"
            | "src"
    )
}

/// What is decided about the next asynchronous instruction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Move {
    pub bytes: usize,
    /// Bytes that are left out at the left.
    left: usize,
    /// Whether the mbarrier expects its bytes and an arrival after it rather than before.
    later: bool,
}

/// Copies that are waited for together, of which each writes other bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Batch {
    /// The piece of a region that is next, of [`PIECE`] bytes.
    piece: usize,
    completes: Completes,
}

/// Bytes of a piece of a region.
const PIECE: usize = 16;

impl Body<'_, '_> {
    /// Decides on the size of what a row moves, and lets an mbarrier expect it. Whether it may stand here.
    pub(super) fn begin_move(&mut self, choice: &Choice<'static>, completes: Completes) -> bool {
        let within = self.batch.is_some();
        let shared_only = choice.word(SlotName::FromSpace) == Some("shared::cta")
            && choice.word(SlotName::Space) != Some("global");
        let bytes = match completes {
            Completes::Group => {
                let sixteen = |p: &Param| p.kind == OperandKind::Literal(16, 16);
                match choice.form.operands.iter().any(sixteen) {
                    true => 16,
                    false => *self.choices.pick(&[4, 8, 16]),
                }
            }
            Completes::BulkGroup | Completes::Bytes if choice.form.mnemonic == "cp" => {
                match (within, shared_only) {
                    (true, _) => PIECE,
                    (false, true) => *self.choices.pick(&[16, 32]),
                    (false, false) => *self.choices.pick(&[16, 16, 32, 48, 64]),
                }
            }
            Completes::AtOnce => *self.choices.pick(&[8, 16, 32]),
            Completes::BulkGroup | Completes::Bytes | Completes::Never => {
                let bits = choice.ty(SlotName::Type).map_or(32, |ty| ty.bits);
                bits as usize / 8 * length(choice)
            }
        };
        let later = self.choices.chance(30);
        self.decided.moves = Move {
            bytes,
            left: 0,
            later,
        };
        if completes != Completes::Bytes {
            return true;
        }
        // Whoever waits may have to be left.
        if self.module.meeting == Meeting::Never {
            return false;
        }
        self.decided.guard = Some(String::new());
        self.emit("mbarrier.init.shared.b64", &["[%w5]", "1"]);
        if !later {
            self.expect_bytes(bytes);
        }
        true
    }

    fn expect_bytes(&mut self, bytes: usize) {
        let bytes = bytes.to_string();
        if self.choices.chance(50) {
            let head = "mbarrier.arrive.expect_tx.shared.b64";
            self.emit(head, &["%ts", "[%w5]", &bytes]);
        } else {
            self.emit(
                "mbarrier.expect_tx.relaxed.cta.shared.b64",
                &["[%w5]", &bytes],
            );
            self.emit("mbarrier.arrive.shared.b64", &["%ts", "[%w5]"]);
        }
    }

    /// Waits for what an instruction moves.
    pub(super) fn end_move(&mut self, completes: Completes) {
        match completes {
            Completes::Group | Completes::BulkGroup if self.batch.is_some() => {}
            Completes::Group | Completes::BulkGroup => self.wait_for_group(completes),
            Completes::Bytes => {
                let Move { bytes, later, .. } = self.decided.moves;
                if later {
                    self.expect_bytes(bytes);
                }
                // A wild access may have destroyed the mbarrier: nobody waits for it then.
                let again = (self.module.wild == 0).then(|| self.name("L"));
                if let Some(again) = &again {
                    self.plain(format!("{again}:"));
                }
                // The state is that before the arrival, in the first phase in any case.
                match self.choices.below(3) {
                    0 => self.emit("mbarrier.try_wait.shared.b64", &["%pf", "[%w5]", "%ts"]),
                    1 => {
                        let head = "mbarrier.try_wait.parity.shared.b64";
                        self.emit(head, &["%pf", "[%w5]", "0", "100"]);
                    }
                    _ => {
                        let head = "mbarrier.test_wait.parity.acquire.cta.shared.b64";
                        self.emit(head, &["%pf", "[%w5]", "0"]);
                    }
                }
                if let Some(again) = again {
                    self.emit_guarded("@!%pf ", "bra", &[&again]);
                }
                self.emit("mbarrier.inval.shared.b64", &["[%w5]"]);
            }
            Completes::Never | Completes::AtOnce => {}
        }
    }

    fn wait_for_group(&mut self, completes: Completes) {
        let bulk = completes == Completes::BulkGroup;
        if !bulk && self.choices.chance(50) {
            return self.emit("cp.async.wait_all", &[]);
        }
        let kind = if bulk { "cp.async.bulk" } else { "cp.async" };
        self.emit(&format!("{kind}.commit_group"), &[]);
        self.emit(&format!("{kind}.wait_group"), &["0"]);
    }

    /// Several copies at a time, or one.
    pub(super) fn copies(&mut self) {
        if !self.module.target.has((7, 0), 80) {
            return;
        }
        let completes = *self.choices.pick(&[
            Completes::Group,
            Completes::BulkGroup,
            Completes::Bytes,
            Completes::Never,
        ]);
        let list: Vec<usize> = (0..rows().len())
            .filter(|&row| Completes::of(rows()[row]) == Some(completes))
            .collect();
        let together = matches!(completes, Completes::Group | Completes::BulkGroup);
        if !together || self.choices.chance(30) {
            return self.some_of(&list);
        }
        let mut made = false;
        for piece in 0..self.choices.between(2, REGION / PIECE) {
            self.batch = Some(Batch { piece, completes });
            let row = *self.choices.pick(&list);
            made |= self.row(row);
        }
        self.batch = None;
        if made {
            self.wait_for_group(completes);
        }
    }

    /// An operand of what moves something: sizes, masks, and addresses.
    pub(super) fn of_move(&mut self, choice: &Choice<'static>, param: &Param) -> Option<Made> {
        let completes = Completes::of(choice.form);
        let Move { bytes, left, .. } = self.decided.moves;
        let number = |bytes: usize| {
            let arg = Arg::Src(Operand::Imm(bytes as u64), RegClass::B32);
            (bytes.to_string(), arg)
        };
        match (completes?, param.name) {
            (Completes::Group, "cp-size") => Some((bytes.to_string(), Arg::Literal(bytes as i64))),
            (Completes::Group, "src-size") => match self.choices.below(3) {
                0 => self.predicate(),
                1 => Some(number(self.choices.below(bytes + 1))),
                _ => {
                    let value = self.integer_register(Ty::B32)?;
                    self.emit("min.u32", &["%tb", &value, &bytes.to_string()]);
                    let arg = Arg::Src(Operand::Reg(Reg(u32::MAX)), RegClass::B32);
                    Some(("%tb".to_string(), arg))
                }
            },
            (_, "size") => Some(self.number(bytes as u64, "%tb")),
            // The only CTA of its cluster.
            (_, "ctaMask") => Some(("1".to_string(), Arg::Src(Operand::Imm(1), RegClass::B16))),
            (_, "ignoreBytesLeft") => {
                self.decided.moves.left = self.choices.below(16);
                Some(number(self.decided.moves.left))
            }
            (_, "ignoreBytesRight") => {
                let right = self.choices.below(16.min(bytes - left + 1));
                Some(self.number(right as u64, "%tn"))
            }
            (_, "mbar") => Some(self.own_mbarrier(choice, param)),
            (completes, "dst" | "src") => self.end_of_move(choice, param, completes),
            (_, _) => None,
        }
    }

    /// The mbarrier that counts bytes, in the space of the destination where that is asked for.
    fn own_mbarrier(&mut self, choice: &Choice<'static>, param: &Param) -> Made {
        let generic = param.kind != OperandKind::MbarrierAddress && !choice.has(SlotName::Space);
        if self.module.block_threads == 1 && !generic && self.choices.chance(30) {
            let arg = Address {
                base: Base::Var(Var::Local(0)),
                offset: 0,
            };
            return ("[txs]".to_string(), Arg::Address(arg, Some(Space::Shared)));
        }
        let text = if generic { "[%a15]" } else { "[%w5]" };
        (text.to_string(), somewhere())
    }

    /// Where something is moved to or from.
    fn end_of_move(
        &mut self,
        choice: &Choice<'static>,
        param: &Param,
        completes: Completes,
    ) -> Option<Made> {
        let store = param.name == "dst";
        let slot = if store {
            SlotName::Space
        } else {
            SlotName::FromSpace
        };
        let word = choice.word(slot);
        let bytes = self.decided.moves.bytes;
        let wild = self.wild > 0 && self.choices.chance(self.wild);
        let fits: Vec<Region> = self
            .regions
            .iter()
            .filter(|region| {
                self.said(word, region)
                    && !region.common
                    && !region.object
                    && region.way != Way::Number
                    && region.later == (completes == Completes::Never)
                    && (!matches!(completes, Completes::Bytes | Completes::AtOnce)
                        || word.is_some()
                        || region.lies == Space::Shared)
                    && region.bytes >= REGION
                    && (if store { region.writes } else { region.reads })
            })
            .cloned()
            .collect();
        if fits.is_empty() {
            return None;
        }
        let region = self.choices.pick(&fits).clone();
        // What is moved within shared memory goes from one half of a region to the other.
        let shared_only = choice.word(SlotName::FromSpace) == Some("shared::cta")
            && choice.word(SlotName::Space) != Some("global");
        let (first, end) = match (self.batch, shared_only) {
            (Some(batch), _) if store => (PIECE * batch.piece, PIECE * (batch.piece + 1)),
            (_, true) if store => (0, REGION / 2),
            (_, true) => (REGION / 2, REGION),
            (_, false) => (0, region.bytes),
        };
        let align = match completes {
            Completes::BulkGroup | Completes::Bytes if choice.form.mnemonic == "cp" => 16,
            _ => bytes,
        };
        let steps = (end - first).checked_sub(bytes)? / align + 1;
        let mut offset = (first + align * self.choices.below(steps)) as i64;
        if wild {
            offset = match self.choices.below(3) {
                0 => offset + 1,
                1 => offset + REGION as i64,
                _ => offset + (1 << self.choices.below(31)),
            };
        }
        let text = |base: &str| match offset {
            0 => format!("[{base}]"),
            _ => format!("[{base}+{offset}]"),
        };
        Some(match &region.way {
            Way::Register(base) => (text(base), somewhere()),
            Way::Name { name, .. } => {
                let base = Base::Var(Var::Local(0));
                let address = Address { base, offset: 0 };
                (text(name), Arg::Address(address, Some(region.lies)))
            }
            Way::Number => return None,
        })
    }
}

/// An address in a register.
fn somewhere() -> Arg {
    let base = Base::Reg(Reg(u32::MAX));
    Arg::Address(Address { base, offset: 0 }, None)
}
