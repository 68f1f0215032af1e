//! Threads that meet: which of them come somewhere together, and what they may do there.
//!
//! Where [`Meeting::Together`] holds, control flow is followed: a barrier stands only where all threads of the CTA come, or all
//! warps of a team, and a mask has just the lanes that come. Threads that left by `exit` are waited for by nobody. The
//! memory that several threads reach is accessed by atomics and strong accesses, whose order the canonical schedule fixes, or
//! across a meeting. What `activemask` and the forms without a mask give depends on that schedule too; both engines follow it.
//!
//! A program that is fixed has nothing of it that could be seen: who is active is not asked, how long one waited is forgotten,
//! and memory that several threads change is changed in ways whose order does not matter, and read when all have come.

use super::body::Body;
use super::copies::Move;
use super::operands::Made;
use super::places::place_of;
use super::rows::rows;
use crate::ir::{Operand, Reg, RegClass};
use crate::isa::form::{Arg, Choice, Form, SlotName};
use crate::isa::types::Ty;

/// How threads of a program meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meeting {
    /// Nobody waits: not for others, nor for what they write.
    Never,
    /// Control flow is any; a mask is that of a lane alone, or of those found active just before.
    Alone,
    /// Who comes is known.
    Together,
    /// Any, wherever they are: they may wait for ever, which is part of the outcome then.
    Anywhere,
}

/// What threads meet at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meets {
    Barrier { arrives: bool },
    ClusterArrive,
    ClusterWait,
    Masked,
    Unmasked,
}

impl Meets {
    /// What the instructions of a row are.
    pub(super) fn of(form: &Form) -> Option<Meets> {
        let says = |name, text| {
            let mut slots = form.slots.iter();
            slots.any(|s| s.name == name && s.words.iter().any(|w| w.text == text))
        };
        if form.operands.iter().any(|p| p.name == "membermask") {
            return Some(Meets::Masked);
        }
        match form.mnemonic {
            "bar" | "barrier" if says(SlotName::Group, "cluster") => {
                Some(if says(SlotName::Variant, "arrive") {
                    Meets::ClusterArrive
                } else {
                    Meets::ClusterWait
                })
            }
            "bar" | "barrier" => Some(Meets::Barrier {
                arrives: says(SlotName::Variant, "arrive"),
            }),
            "shfl" | "vote" | "activemask" => Some(Meets::Unmasked),
            _ => None,
        }
    }
}

/// Whether an instruction may wait, in a loop, for what others write.
pub(super) fn polls(choice: &Choice<'_>) -> bool {
    match choice.form.mnemonic {
        "atom" | "nanosleep" | "fence" | "membar" => true,
        "mbarrier" => matches!(
            choice.word(SlotName::Variant),
            Some("test_wait" | "try_wait")
        ),
        "ld" => is_strong(choice),
        _ => false,
    }
}

/// Whether several threads may do it to the same memory.
pub(super) fn is_strong(choice: &Choice<'_>) -> bool {
    choice.has(SlotName::Mmio)
        || choice
            .word(SlotName::Order)
            .is_some_and(|word| word != "weak")
}

/// Warps, from the first or up to the last, that come somewhere together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Team {
    pub warps: usize,
    /// The barriers that are theirs: the first and how many.
    pub barriers: (usize, usize),
}

/// Who comes to where code is generated.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Flow {
    /// All live threads of the CTA.
    pub cta: bool,
    pub team: Option<Team>,
    /// The lanes of the warp that come, as an operand, if that is known.
    pub mask: Option<String>,
}

impl Flow {
    /// Nobody knows.
    pub(super) const UNKNOWN: Flow = Flow {
        cta: false,
        team: None,
        mask: None,
    };

    fn of_lanes(mask: Option<String>) -> Flow {
        Flow {
            mask,
            ..Flow::UNKNOWN
        }
    }
}

/// All lanes.
pub(super) const ALL: &str = "0xffffffff";
/// Barriers of the CTA: the last four, and 0. Those between are of teams, and of arrivals.
pub(super) const OF_ALL: [usize; 5] = [0, 12, 13, 14, 15];
const OF_TEAMS: [(usize, usize); 2] = [(1, 4), (5, 3)];
const OF_ARRIVALS: (usize, usize) = (8, 4);

/// What is decided about the next meeting.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Decided {
    /// Its guard; [`Body::guard`]'s if `None`.
    pub guard: Option<String>,
    pub mask: Option<String>,
    /// Number of the barrier, and of threads.
    pub barrier: Option<(usize, usize)>,
    /// What is moved, by an asynchronous instruction.
    pub moves: Move,
}

impl Body<'_, '_> {
    fn warps(&self) -> usize {
        self.module.block_threads.div_ceil(32)
    }

    /// Whether threads that come here can be told to be the same group as elsewhere.
    pub(super) fn follows(&self) -> bool {
        self.module.meeting == Meeting::Together
    }

    fn has_masks(&self) -> bool {
        self.module.target.has((5, 1), 30)
    }

    /// Whether a row may be generated here, and with what.
    pub(super) fn decide(&mut self, form: &Form) -> bool {
        let Some(meets) = Meets::of(form) else {
            return true;
        };
        let decided = std::mem::take(&mut self.decided);
        let alone = self.module.block_threads == 1;
        match (self.module.meeting, meets) {
            (Meeting::Never, _) => return false,
            (_, Meets::Unmasked) if self.module.fixed && !alone => return false,
            (Meeting::Anywhere, _) | (Meeting::Alone | Meeting::Together, Meets::Unmasked) => {}
            (_, Meets::Barrier { arrives }) => {
                if arrives && decided.barrier.is_none() {
                    return false;
                }
                self.decided.guard = Some(String::new());
                self.decided.barrier = match (&self.flow, self.module.meeting) {
                    (
                        Flow {
                            team: Some(team), ..
                        },
                        _,
                    ) => {
                        let (first, count) = team.barriers;
                        let number = first + self.choices.below(count);
                        // Only with a number of threads.
                        if !form.operands.iter().any(|p| p.name == "b") {
                            return false;
                        }
                        Some((number, 32 * team.warps))
                    }
                    (Flow { cta: true, .. }, Meeting::Together) => {
                        Some((*self.choices.pick(&OF_ALL), 32 * self.warps()))
                    }
                    (_, _) if alone => Some((self.choices.below(16), 32)),
                    (_, _) => return false,
                };
            }
            (_, Meets::ClusterArrive | Meets::ClusterWait) => {
                if decided.guard.is_none() {
                    return false;
                }
            }
            (Meeting::Alone, Meets::Masked) => {
                let active = self.module.target.has((6, 2), 30) && !self.module.fixed;
                if active && self.choices.chance(50) {
                    self.emit("activemask.b32", &["%tm"]);
                    self.decided.guard = Some(String::new());
                } else {
                    self.emit("mov.u32", &["%tm", "%lanemask_eq"]);
                }
                self.decided.mask = Some("%tm".to_string());
            }
            (_, Meets::Masked) => {
                let Some(mask) = self.flow.mask.clone() else {
                    return false;
                };
                let guard = self.guard(15);
                if guard.is_empty() {
                    self.decided.mask = Some(mask);
                } else {
                    let predicate = guard.trim_start_matches('@').trim_end().to_string();
                    self.emit("vote.sync.ballot.b32", &["%tm", &predicate, &mask]);
                    self.decided.mask = Some("%tm".to_string());
                }
                self.decided.guard = Some(guard);
            }
        }
        // What a statement has decided counts more.
        self.decided.guard = decided.guard.or(self.decided.guard.take());
        self.decided.mask = decided.mask.or(self.decided.mask.take());
        self.decided.barrier = decided.barrier.or(self.decided.barrier);
        true
    }

    /// The least number of operands that will do.
    pub(super) fn least_operands(&self, form: &Form, least: usize) -> usize {
        match (Meets::of(form), &self.flow.team) {
            (Some(Meets::Barrier { .. }), Some(_)) => form.operand_count().1,
            (Some(Meets::Barrier { .. }), None) if self.needs_count => form.operand_count().1,
            (_, _) => least,
        }
    }

    pub(super) fn number(&mut self, value: u64, register: &str) -> Made {
        if self.choices.chance(60) {
            let arg = Arg::Src(Operand::Imm(value), RegClass::B32);
            return (value.to_string(), arg);
        }
        self.emit("mov.u32", &[register, &value.to_string()]);
        let arg = Arg::Src(Operand::Reg(Reg(u32::MAX)), RegClass::B32);
        (register.to_string(), arg)
    }

    /// Operands that say who meets where.
    pub(super) fn of_meeting(&mut self, form: &Form, name: &str) -> Option<Made> {
        // Most arrivals are ones that an mbarrier waits for.
        if form.mnemonic == "mbarrier" && self.choices.chance(95) {
            return match name {
                "count" => {
                    let init = form.operands[0].name != "state";
                    let value = self.choices.between(1, if init { 4 } else { 1 });
                    Some(self.number(value as u64, "%tn"))
                }
                "tx-count" => {
                    let value = self.choices.below(3) as u64;
                    Some(self.number(value, "%tn"))
                }
                _ => None,
            };
        }
        let meets = Meets::of(form)?;
        match (meets, name) {
            (Meets::Masked, "membermask") => {
                let mask = self.decided.mask.clone().unwrap_or_else(|| self.any_mask());
                let register = mask.starts_with('%');
                let arg = if register {
                    Operand::Reg(Reg(u32::MAX))
                } else {
                    Operand::Imm(u32::MAX.into())
                };
                Some((mask, Arg::Src(arg, RegClass::B32)))
            }
            (Meets::Barrier { .. }, "a") => {
                let number = match self.decided.barrier {
                    Some((number, _)) => number,
                    None => self.choices.below(3),
                };
                Some(self.number(number as u64, "%t0"))
            }
            (Meets::Barrier { arrives }, "b") => {
                let threads = match self.decided.barrier {
                    Some(_) if !arrives && self.flow.cta && self.choices.chance(5) => 0,
                    Some((_, threads)) => threads,
                    None => 32 * self.choices.between(1, self.warps() + 1),
                };
                Some(self.number(threads as u64, "%t1"))
            }
            (_, _) => None,
        }
    }

    /// Of lanes that may not come.
    fn any_mask(&mut self) -> String {
        match self.choices.below(8) {
            0 | 1 => ALL.to_string(),
            2 => {
                let name = *self
                    .choices
                    .pick(&["%lanemask_le", "%lanemask_ge", "%lanemask_lt"]);
                self.emit("mov.u32", &["%tm", name]);
                "%tm".to_string()
            }
            3 => self
                .integer_register(Ty::B32)
                .unwrap_or_else(|| ALL.to_string()),
            // The halves, or pairs, of the warp.
            4 | 5 => {
                let bits = *self.choices.pick(&[1, 4]);
                let ones = (1u32 << (1 << bits)) - 1;
                let clear = !((1u32 << bits) - 1) & 31;
                self.emit("mov.u32", &["%tm", "%laneid"]);
                self.emit("and.b32", &["%tm", "%tm", &clear.to_string()]);
                self.emit("mov.u32", &["%tn", &ones.to_string()]);
                self.emit("shl.b32", &["%tm", "%tn", "%tm"]);
                "%tm".to_string()
            }
            _ if self.module.target.has((6, 2), 30) => {
                self.emit("activemask.b32", &["%tm"]);
                "%tm".to_string()
            }
            _ => {
                self.emit("mov.u32", &["%tm", "%lanemask_eq"]);
                "%tm".to_string()
            }
        }
    }

    /// Sets `%pf` to the same for all who come here; whether there is a way to.
    pub(super) fn common_predicate(&mut self) -> bool {
        let Some(p) = self.any_register(Ty::PRED) else {
            return false;
        };
        let barrier = self.flow.cta && self.choices.chance(30);
        if barrier {
            let op = *self.choices.pick(&["and", "or"]);
            let number = self.choices.pick(&OF_ALL).to_string();
            self.emit(&format!("bar.red.{op}.pred"), &["%pf", &number, &p]);
            return true;
        }
        match self.flow.mask.clone() {
            Some(mask) if !self.flow.cta && self.flow.team.is_none() && self.choices.chance(60) => {
                let op = *self.choices.pick(&["all", "any", "uni"]);
                self.emit(&format!("vote.sync.{op}.pred"), &["%pf", &p, &mask]);
            }
            Some(_) | None => {
                let value = self.value(32) as u32;
                if self.choices.chance(50) {
                    let at = format!("[%a0+{}]", 4 * self.choices.below(16));
                    self.emit("ld.global.u32", &["%t0", &at]);
                    self.emit("setp.lt.u32", &["%pf", "%t0", &value.to_string()]);
                } else {
                    let which = *self.choices.pick(&["%ctaid.x", "%ntid.x", "%nctaid.x"]);
                    self.emit("mov.u32", &["%t0", which]);
                    let value = (value % 3).to_string();
                    self.emit("setp.gt.u32", &["%pf", "%t0", &value]);
                }
            }
        }
        true
    }

    /// Whether all who come to the labels of this function come here too.
    pub(super) fn at_base(&self) -> bool {
        !self.follows() || self.flow == self.base
    }

    /// Statements for some of those who are here. They spend fuel of their own, and a little for all.
    fn part(&mut self, flow: Flow, statements: usize, depth: usize) {
        let all = std::mem::replace(&mut self.flow, flow);
        self.statements(statements, depth + 1);
        self.flow = all;
    }

    fn keep_fuel(&mut self) -> String {
        let kept = self.name("%k");
        self.plain(format!(".reg .b32 {kept};"));
        self.emit("sub.s32", &[&kept, "%fuel", "1"]);
        kept
    }

    /// The two sides of a branch, of which the first is gone to where `taken` holds.
    fn sides(&mut self, taken: &str, not: &str, flows: [Flow; 2], depth: usize) {
        let kept = self.keep_fuel();
        let (other, end) = (self.name("L"), self.name("L"));
        self.emit_guarded(&format!("@{not}{taken} "), "bra", &[&other]);
        let [then, otherwise] = flows;
        let count = self.choices.between(1, 5);
        self.part(then, count, depth);
        if self.choices.chance(60) {
            self.emit("bra", &[&end]);
            self.plain(format!("{other}:"));
            let count = self.choices.between(1, 5);
            self.part(otherwise, count, depth);
            self.plain(format!("{end}:"));
        } else {
            self.plain(format!("{other}:"));
        }
        self.emit("mov.b32", &["%fuel", &kept]);
    }

    /// A branch of those who are known to be here: all together, or in two parts.
    pub(super) fn known_branch(&mut self, depth: usize) {
        if self.choices.chance(35) {
            if self.common_predicate() {
                let flows = [self.flow.clone(), self.flow.clone()];
                self.sides("%pf", "!", flows, depth);
            }
            return;
        }
        if self.flow.cta && self.warps() > 1 && self.choices.chance(40) {
            return self.teams(depth);
        }
        let Some(p) = self.condition() else {
            return;
        };
        let not = if self.choices.chance(50) { "!" } else { "" };
        let Some(mask) = self.flow.mask.clone().filter(|_| self.has_masks()) else {
            let flows = [Flow::UNKNOWN, Flow::UNKNOWN];
            return self.sides(&p, not, flows, depth);
        };
        let masks = [self.name("%m"), self.name("%m")];
        self.plain(format!(".reg .b32 {}, {};", masks[0], masks[1]));
        // Who goes on is for whom `not p` does not hold.
        let (stay, go) = if not.is_empty() { ("!", "") } else { ("", "!") };
        self.emit(
            "vote.sync.ballot.b32",
            &[&masks[0], &format!("{stay}{p}"), &mask],
        );
        if self.choices.chance(50) {
            self.emit(
                "vote.sync.ballot.b32",
                &[&masks[1], &format!("{go}{p}"), &mask],
            );
        } else {
            self.emit("not.b32", &[&masks[1], &masks[0]]);
            self.emit("and.b32", &[&masks[1], &masks[1], &mask]);
        }
        let flows = masks.map(|mask| Flow::of_lanes(Some(mask)));
        self.sides(&p, not, flows, depth);
    }

    /// Some warps do one thing, the others another, each with barriers of their own.
    fn teams(&mut self, depth: usize) {
        let warps = self.warps();
        let first = self.choices.between(1, warps - 1);
        self.emit("shr.u32", &["%t0", "%tl", "5"]);
        self.emit("setp.lt.u32", &["%pf", "%t0", &first.to_string()]);
        let mask = self.flow.mask.clone();
        let team = |warps, barriers| Flow {
            cta: false,
            team: Some(Team { warps, barriers }),
            mask: mask.clone(),
        };
        let flows = [team(first, OF_TEAMS[0]), team(warps - first, OF_TEAMS[1])];
        self.sides("%pf", "!", flows, depth);
    }

    /// A loop that lanes leave one by one.
    pub(super) fn shrinking_loop(&mut self, depth: usize) {
        let Some(mask) = self.flow.mask.clone().filter(|_| self.has_masks()) else {
            return;
        };
        let Some(rounds) = self.any_register(Ty::B32) else {
            return;
        };
        let kept = self.keep_fuel();
        let (own, count, limit) = (self.name("%m"), self.name("%c"), self.name("%c"));
        let again = self.name("L");
        self.plain(format!(".reg .b32 {own}, {count}, {limit};"));
        self.emit("and.b32", &[&limit, &rounds, "3"]);
        self.emit("mov.b32", &[&own, &mask]);
        self.emit("mov.b32", &[&count, "0"]);
        self.plain(format!("{again}:"));
        let statements = self.choices.between(1, 4);
        self.part(Flow::of_lanes(Some(own.clone())), statements, depth);
        self.emit("add.u32", &[&count, &count, "1"]);
        self.emit("setp.lt.u32", &["%pf", &count, &limit]);
        self.emit("vote.sync.ballot.b32", &[&own, "%pf", &own]);
        self.emit_guarded("@%pf ", "bra", &[&again]);
        self.emit("mov.b32", &["%fuel", &kept]);
    }

    /// Something at which threads meet, or by which one waits for others.
    pub(super) fn meeting(&mut self, depth: usize) {
        match self.choices.below(13) {
            0 | 1 => self.exchange(),
            2 => self.arrival(),
            3 => self.cluster(),
            4 => self.spin(depth),
            5 if depth < 3 && self.follows() => self.shrinking_loop(depth),
            6 | 7 => self.some_of(&self.module.atomics),
            8 => self.copies(),
            9 => self.rendezvous(),
            _ => self.some_of(&self.module.meets),
        }
    }

    pub(super) fn some_of(&mut self, list: &[usize]) {
        for _ in 0..4 {
            let row = *self.choices.pick(list);
            if self.row(row) {
                return;
            }
        }
    }

    /// A row that keeps those who are here until all have come.
    fn gather(&mut self) -> bool {
        let list: Vec<usize> = self
            .module
            .meets
            .iter()
            .copied()
            .filter(|&row| match Meets::of(rows()[row]) {
                Some(Meets::Barrier { arrives }) => !arrives,
                Some(Meets::Masked) => rows()[row].mnemonic == "bar" && !self.flow.cta,
                Some(Meets::ClusterArrive | Meets::ClusterWait | Meets::Unmasked) | None => false,
            })
            .collect();
        (0..4).any(|_| {
            let row = *self.choices.pick(&list);
            // Nobody stays away.
            self.decided.guard = Some(String::new());
            let made = self.row(row);
            self.decided = Decided::default();
            made
        })
    }

    /// Each writes for others, all wait, each reads what another wrote.
    fn exchange(&mut self) {
        let known = self.flow.cta || (self.flow.team.is_none() && self.flow.mask.is_some());
        if !self.follows() || !known {
            return;
        }
        let bits = *self.choices.pick(&[32, 64]);
        let ty = if bits == 32 { Ty::B32 } else { Ty::B64 };
        let (Some(give), Some(take)) = (self.any_register(ty), self.any_register(ty)) else {
            return;
        };
        let before = self.out.len();
        // Where each writes, and whose it reads.
        self.emit("mov.u32", &["%t1", "xch"]);
        self.emit("mad.lo.u32", &["%t1", "%tl", "8", "%t1"]);
        let volatile = if self.choices.chance(30) {
            ".volatile"
        } else {
            ""
        };
        self.emit(&format!("st{volatile}.shared.b{bits}"), &["[%t1]", &give]);
        if !self.gather() {
            self.out.truncate(before);
            return;
        }
        let step = self
            .choices
            .between(1, self.module.block_threads.max(2) - 1);
        match self.flow.mask.clone().filter(|_| !self.flow.cta) {
            None => {
                self.emit("add.u32", &["%t0", "%tl", &step.to_string()]);
                let threads = self.module.block_threads.to_string();
                self.emit("rem.u32", &["%t0", "%t0", &threads]);
            }
            Some(mask) => {
                self.emit("mov.u32", &["%tn", "%laneid"]);
                self.emit("xor.b32", &["%t0", "%tn", &(step & 31).to_string()]);
                self.emit("shr.u32", &["%t1", &mask, "%t0"]);
                self.emit("and.b32", &["%t1", "%t1", "1"]);
                self.emit("setp.eq.u32", &["%pf", "%t1", "1"]);
                self.emit("selp.b32", &["%t0", "%t0", "%tn", "%pf"]);
                self.emit("sub.u32", &["%t1", "%tl", "%tn"]);
                self.emit("add.u32", &["%t0", "%t0", "%t1"]);
            }
        }
        self.emit("mov.u32", &["%t1", "xch"]);
        self.emit("mad.lo.u32", &["%t1", "%t0", "8", "%t1"]);
        self.emit(&format!("ld{volatile}.shared.b{bits}"), &[&take, "[%t1]"]);
        // Nobody writes again until all have read.
        if !self.gather() {
            self.out.truncate(before);
        }
    }

    /// Some arrive at a barrier at which the others wait.
    fn arrival(&mut self) {
        if !self.follows() || !self.flow.cta {
            return;
        }
        let before = self.out.len();
        let warps = self.warps();
        let (first, count) = OF_ARRIVALS;
        let barrier = (first + self.choices.below(count), 32 * warps);
        let by_warps = warps > 1 && self.choices.chance(60);
        if by_warps {
            let first = self.choices.between(1, warps - 1).to_string();
            self.emit("shr.u32", &["%t0", "%tl", "5"]);
            self.emit("setp.lt.u32", &["%pf", "%t0", &first]);
        } else {
            let bound = (self.value(6) as u32).to_string();
            self.emit("setp.lt.u32", &["%pf", "%tl", &bound]);
        }
        let of = |arrives: bool| -> Vec<usize> {
            let fits = |row: &&usize| {
                let form = rows()[**row];
                Meets::of(form) == Some(Meets::Barrier { arrives })
                    && (by_warps || form.mnemonic == "barrier")
                    && (arrives || !form.slots.iter().any(|s| s.name == SlotName::Operation))
            };
            self.module.meets.iter().filter(fits).copied().collect()
        };
        let lists = [of(true), of(false)];
        self.never_aligned = !by_warps;
        self.needs_count = true;
        for (list, guard) in lists.iter().zip(["@%pf ", "@!%pf "]) {
            let row = *self.choices.pick(list);
            self.decided.guard = Some(guard.to_string());
            self.decided.barrier = Some(barrier);
            self.row(row);
            self.decided = Decided::default();
        }
        self.never_aligned = false;
        self.needs_count = false;
        // Nobody may arrive for the next time before the others have come.
        if !self.gather() {
            self.out.truncate(before);
        }
    }

    /// Both halves of a cluster's barrier.
    fn cluster(&mut self) {
        let alone = self.module.block_threads == 1;
        let known = self.follows() && self.flow.cta;
        if !known && !alone {
            return;
        }
        for half in [Meets::ClusterArrive, Meets::ClusterWait] {
            let of = |row: &&usize| Meets::of(rows()[**row]) == Some(half);
            let Some(row) = self.module.meets.iter().find(of).copied() else {
                return;
            };
            self.decided.guard = Some(String::new());
            let made = self.row(row);
            self.decided = Decided::default();
            if !made {
                return;
            }
        }
    }

    /// Waits, with an end, until so many have come; how long goes into a register.
    fn spin(&mut self, depth: usize) {
        if self.module.meeting == Meeting::Never {
            return;
        }
        let Some(to) = self.any_register(Ty::B32) else {
            return;
        };
        let limits: &[usize] = if depth == 0 { &[3, 70, 200] } else { &[2, 5] };
        let limit = self.choices.pick(limits).to_string();
        let grid = self.choices.chance(40);
        let (space, base, all) = if grid {
            ("global", "%a10", self.module.threads)
        } else {
            ("shared", "%w3", self.module.block_threads)
        };
        // How long one waits is forgotten where it must not be seen.
        let fixed = self.module.fixed;
        let place = match place_of("add", Ty::U32) {
            Some(place) if fixed => place,
            Some(_) | None => 4 * self.choices.below(4),
        };
        let cell = format!("[{base}+{place}]");
        let wanted = self.choices.between(1, 2 * all).to_string();
        if self.choices.chance(70) {
            let guard = self.guard(20);
            self.emit_guarded(&guard, &format!("red.{space}.add.u32"), &[&cell, "1"]);
        }
        let (count, again, done) = (self.name("%c"), self.name("L"), self.name("L"));
        self.plain(format!(".reg .b32 {count};"));
        self.emit("mov.b32", &[&count, "0"]);
        self.plain(format!("{again}:"));
        self.emit("add.u32", &[&count, &count, "1"]);
        self.emit("setp.ge.u32", &["%pf", &count, &limit]);
        self.emit_guarded("@%pf ", "bra", &[&done]);
        // Lanes leave at different times.
        if !fixed && self.choices.chance(40) {
            let all = std::mem::replace(&mut self.flow, Flow::UNKNOWN);
            for _ in 0..self.choices.between(1, 4) {
                self.any_row();
            }
            self.flow = all;
        }
        match self.choices.below(3) {
            0 => self.emit(&format!("atom.{space}.or.b32"), &["%t0", &cell, "0"]),
            1 if self.module.target.has((6, 0), 70) => {
                self.emit(&format!("ld.acquire.gpu.{space}.u32"), &["%t0", &cell]);
            }
            _ => self.emit(&format!("ld.volatile.{space}.u32"), &["%t0", &cell]),
        }
        self.emit("setp.lt.u32", &["%pf", "%t0", &wanted]);
        self.emit_guarded("@%pf ", "bra", &[&again]);
        self.plain(format!("{done}:"));
        if !fixed {
            self.emit("mov.b32", &[&to, &count]);
        }
    }
}
