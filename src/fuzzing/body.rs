//! Bodies of functions: instructions of the rows, and the control flow around them.

use super::choices::Choices;
use super::copies::{Batch, Completes};
use super::generate::ModuleInfo;
use super::meetings::{self, Decided, Flow, Meeting};
use super::operands::{Made, Register};
use super::places::{REGION, Region, Way};
use super::program::{Instruction, Statement};
use super::rows::{self, rows};
use crate::isa::form::SlotName;
use crate::isa::types::{Ty, TyKind};

/// Attempts to fill a row's slots and operands before another row is chosen.
const ATTEMPTS: usize = 12;

/// A function while it is generated.
pub(super) struct Body<'g, 'b> {
    pub choices: &'g mut Choices<'b>,
    pub module: &'g ModuleInfo,
    pub kernel: bool,
    /// What is generated.
    pub out: Vec<Statement>,
    /// General registers that are visible.
    pub regs: Vec<Register>,
    pub regions: Vec<Region>,
    /// How often an access is left to chance, in percent.
    pub wild: usize,
    /// Labels and the like that have been named.
    pub names: usize,
    /// Labels that may be jumped to from anywhere, as long as there is fuel.
    pub targets: Vec<String>,
    /// Who comes to where code is generated, and to the labels.
    pub flow: Flow,
    pub base: Flow,
    pub decided: Decided,
    /// Copies that are waited for together.
    pub batch: Option<Batch>,
    /// Whether the next barriers are not `.aligned`, and have a number of threads.
    pub never_aligned: bool,
    pub needs_count: bool,
    /// Functions before this one may be called.
    pub callable: usize,
    /// Combinations of words and operands that the rows' own rules refused.
    pub refused: u64,
    /// Rows that do not fit their build functions.
    pub broken: Vec<String>,
}

impl Body<'_, '_> {
    /// Appends an instruction that is there for others.
    pub(super) fn emit(&mut self, head: &str, operands: &[&str]) {
        self.emit_guarded("", head, operands);
    }

    pub(super) fn emit_guarded(&mut self, guard: &str, head: &str, operands: &[&str]) {
        self.out.push(Statement::Instruction(Instruction {
            guard: guard.to_string(),
            head: head.to_string(),
            operands: operands.iter().map(|o| (*o).to_string()).collect(),
            row: None,
        }));
    }

    /// Appends a declaration, label or table.
    pub(super) fn plain(&mut self, text: impl Into<String>) {
        self.out.push(Statement::Plain(text.into()));
    }

    /// A name that nothing has yet.
    pub(super) fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// Bits of a register that holds an address.
    pub(super) fn held(&self, base: &str) -> u32 {
        if base == "%t3" || (self.module.narrow_windows && base.starts_with("%w")) {
            32
        } else {
            self.module.target.address_bits
        }
    }

    /// `@%p1 `, `@!%p1 ` or, mostly, nothing.
    pub(super) fn guard(&mut self, percent: usize) -> String {
        if !self.choices.chance(percent) {
            return String::new();
        }
        let not = if self.choices.chance(40) { "!" } else { "" };
        match self.any_register(Ty::PRED) {
            Some(p) => format!("@{not}{p} "),
            None => String::new(),
        }
    }

    /// Appends an instruction of some row.
    pub(super) fn any_row(&mut self) {
        for _ in 0..8 {
            let row = if self.choices.chance(50) {
                *self.choices.pick(&self.module.focus)
            } else {
                self.choices.below(rows().len())
            };
            if self.row(row) {
                return;
            }
        }
    }

    /// Appends an instruction of a row. Whether there is one here.
    pub(super) fn row(&mut self, row: usize) -> bool {
        let form = rows()[row];
        if !self.module.target.has_row(form) || self.keeps_out(form) {
            return false;
        }
        for _ in 0..ATTEMPTS {
            let before = self.out.len();
            let decided = self.decided.clone();
            let made = self.decide(form) && self.attempt(row);
            self.decided = decided;
            if made {
                return true;
            }
            self.out.truncate(before);
        }
        false
    }

    fn attempt(&mut self, row: usize) -> bool {
        let form = rows()[row];
        let Some(choice) = rows::fill(self.choices, &self.module.target, form) else {
            self.refused += 1;
            return false;
        };
        if (!self.module.polls && meetings::polls(&choice))
            || (self.never_aligned && choice.has(SlotName::Aligned))
        {
            return false;
        }
        let completes = Completes::of(form);
        if completes.is_some_and(|completes| !self.begin_move(&choice, completes)) {
            return false;
        }
        let (least, most) = form.operand_count();
        let least = self.least_operands(form, least);
        let count = self.choices.between(least, most);
        let mut made: Vec<Made> = Vec::new();
        for param in &form.operands[..count] {
            let Some(operand) = self.operand(&choice, param, &made) else {
                return false;
            };
            made.push(operand);
        }
        let mut args: Vec<_> = made.iter().map(|(_, arg)| arg.clone()).collect();
        args.resize(most, crate::isa::form::Arg::Absent);
        match rows::builds(&self.module.target, &choice, &args) {
            Ok(true) => {}
            Ok(false) => {
                self.refused += 1;
                return false;
            }
            Err(broken) => {
                self.broken.push(broken);
                return false;
            }
        }
        let Some((words, row)) = rows::written(self.choices, &choice, count) else {
            return false;
        };
        let guard = match self.decided.guard.take() {
            Some(guard) => guard,
            None => self.guard(15),
        };
        let head = [&[form.mnemonic], &words[..]].concat().join(".");
        let operands = made.into_iter().map(|(text, _)| text).collect();
        self.out.push(Statement::Instruction(Instruction {
            guard,
            head,
            operands,
            row: Some(row),
        }));
        if let Some(completes) = completes {
            self.end_move(completes);
        }
        true
    }

    /// Appends statements. `depth` counts the loops, branches and scopes around them.
    pub(super) fn statements(&mut self, count: usize, depth: usize) {
        for _ in 0..count {
            if self.choices.exhausted() {
                return;
            }
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        let nests = depth < 3;
        match self.choices.below(100) {
            0..=5 => self.chain(),
            6..=12 => self.memory(),
            13..=14 => self.run(),
            15..=18 if nests => self.branch(depth),
            19..=22 if nests => self.counted_loop(depth),
            23..=25 if nests => self.scope(depth),
            26..=29 => self.jump(),
            30..=31 => self.jump_by_table(),
            32..=36 => self.call(),
            37 => self.way_out(),
            38..=53 if self.module.meeting != Meeting::Never => self.meeting(depth),
            _ => self.any_row(),
        }
    }

    /// Instructions that hand on the carry.
    fn chain(&mut self) {
        let chained = rows::chained();
        for _ in 0..self.choices.between(2, 6) {
            let row = *self.choices.pick(chained);
            self.row(row);
        }
    }

    /// A load or store that this function has memory for.
    fn memory(&mut self) {
        for _ in 0..6 {
            let row = *self.choices.pick(&self.module.memory);
            if self.row(row) {
                return;
            }
        }
    }

    /// Accesses side by side, by one register. A wild run crosses the end of its memory.
    fn run(&mut self) {
        let registers: Vec<Region> = self
            .regions
            .iter()
            .filter(|region| matches!(region.way, Way::Register(_)) && region.bytes >= REGION)
            .cloned()
            .collect();
        let mut region = self.choices.pick(&registers).clone();
        let Way::Register(base) = region.way else {
            return;
        };
        let (bits, to) = match self.held(&base) {
            64 => (64, "%ar"),
            _ => (32, "%t3"),
        };
        let wild = self.wild > 0 && self.choices.chance(3 * self.wild);
        let step = match self.choices.below(3) {
            0 if wild => -(REGION as i64) / 2,
            1 | 2 if wild => REGION as i64 / 2,
            _ => 0,
        };
        self.emit(&format!("add.s{bits}"), &[to, &base, &step.to_string()]);
        region.way = Way::Register(to.to_string());
        let all = std::mem::replace(&mut self.regions, vec![region]);
        for _ in 0..self.choices.between(2, 6) {
            self.memory();
            if self.choices.chance(30) {
                self.any_row();
            }
        }
        self.regions = all;
    }

    /// A predicate, often told just before by a comparison of the thread index, or what is made of it, with what may be the same for all.
    pub(super) fn condition(&mut self) -> Option<String> {
        let p = self.any_register(Ty::PRED)?;
        if !self.choices.chance(40) {
            return Some(p);
        }
        self.emit("mov.u32", &["%t0", "%tid.x"]);
        match self.choices.below(6) {
            0 => self.emit("shl.b32", &["%t0", "%t0", "2"]),
            1 => self.emit("mul.lo.u32", &["%t0", "%t0", "-3"]),
            2 => self.emit("sub.u32", &["%t0", "%t0", "10"]),
            _ => {}
        }
        let small = self.choices.below(40).to_string();
        let other = match self.choices.chance(60) {
            true => small,
            false => self.any_register(Ty::U32).unwrap_or(small),
        };
        let cmp = *self.choices.pick(&["lt", "le", "gt", "ge", "eq", "ne"]);
        let ty = *self.choices.pick(&["u32", "s32"]);
        let mut operands = ["%t0", &other];
        if self.choices.chance(30) {
            operands.reverse();
        }
        let [a, b] = operands;
        self.emit(&format!("setp.{cmp}.{ty}"), &[&p, a, b]);
        Some(p)
    }

    /// `if`, perhaps with `else`.
    fn branch(&mut self, depth: usize) {
        if self.follows() {
            return self.known_branch(depth);
        }
        let Some(p) = self.condition() else {
            return;
        };
        let not = if self.choices.chance(50) { "!" } else { "" };
        let uniform = if self.choices.chance(10) { ".uni" } else { "" };
        let (other, end) = (self.name("L"), self.name("L"));
        self.emit_guarded(&format!("@{not}{p} "), &format!("bra{uniform}"), &[&other]);
        let count = self.choices.between(1, 5);
        self.statements(count, depth + 1);
        if self.choices.chance(50) {
            self.emit("bra", &[&end]);
            self.plain(format!("{other}:"));
            let count = self.choices.between(1, 5);
            self.statements(count, depth + 1);
            self.plain(format!("{end}:"));
        } else {
            self.plain(format!("{other}:"));
        }
    }

    /// A loop with a counter of its own, which only grows: jumps into it do not make it endless.
    fn counted_loop(&mut self, depth: usize) {
        let (counter, again) = (self.name("%c"), self.name("L"));
        let rounds = self.choices.between(1, 4).to_string();
        self.plain(format!(".reg .s32 {counter};"));
        self.emit("mov.s32", &[&counter, "0"]);
        self.plain(format!("{again}:"));
        let count = self.choices.between(1, 6);
        self.statements(count, depth + 1);
        self.emit("add.s32", &[&counter, &counter, "1"]);
        self.emit("setp.lt.s32", &["%pf", &counter, &rounds]);
        self.emit_guarded("@%pf ", "bra", &[&again]);
    }

    /// Statements in braces, with registers of their own behind names that mean others outside.
    fn scope(&mut self, depth: usize) {
        let outer = std::mem::take(&mut self.out);
        let visible = self.regs.clone();
        for _ in 0..self.choices.below(3) {
            let at = self.choices.below(self.regs.len());
            if self.regs[at].vector.is_some() || self.regs[at].kind == TyKind::Pred {
                continue;
            }
            let bits = *self.choices.pick(&[16, 32, 64]);
            let kind = *self
                .choices
                .pick(&[TyKind::Bits, TyKind::Unsigned, TyKind::Signed]);
            // A name that is declared here already cannot be again.
            let name = self.regs[at].name.clone();
            if self.out.iter().any(|s| declares(s, &name)) {
                continue;
            }
            let ty = Ty { kind, bits };
            self.plain(format!(".reg {ty} {name};"));
            self.regs[at] = Register {
                name: name.clone(),
                kind,
                bits,
                vector: None,
            };
            let (literal, _) = self.literal(ty);
            self.emit(&format!("mov{ty}"), &[&name, &literal]);
        }
        let count = self.choices.between(1, 6);
        self.statements(count, depth + 1);
        self.regs = visible;
        let inner = std::mem::replace(&mut self.out, outer);
        self.out.push(Statement::Scope(inner));
    }

    /// Goes to the end of the function where the fuel is spent.
    fn spend(&mut self) {
        self.emit("sub.s32", &["%fuel", "%fuel", "1"]);
        self.emit("setp.lt.s32", &["%pf", "%fuel", "0"]);
        self.emit_guarded("@%pf ", "bra", &["END"]);
    }

    /// To any of the labels that stand open, forwards or backwards, into loops and out of them.
    fn jump(&mut self) {
        if self.targets.is_empty() || !self.at_base() {
            return;
        }
        let Some(mut p) = self.any_register(Ty::PRED) else {
            return;
        };
        self.spend();
        if self.follows() && self.common_predicate() {
            p = "%pf".to_string();
        }
        let label = self.choices.pick(&self.targets).clone();
        let not = if self.choices.chance(50) { "!" } else { "" };
        self.emit_guarded(&format!("@{not}{p} "), "bra", &[&label]);
    }

    fn jump_by_table(&mut self) {
        if self.targets.is_empty() || !self.at_base() || !self.module.target.has((6, 0), 30) {
            return;
        }
        let Some(mut index) = self.any_register(Ty::B32) else {
            return;
        };
        if self.follows() {
            index = "%fuel".to_string();
        }
        self.spend();
        let count = self.choices.between(1, 5);
        let labels: Vec<String> = (0..count)
            .map(|_| self.choices.pick(&self.targets).clone())
            .collect();
        let table = self.name("T");
        self.plain(format!("{table}: .branchtargets {};", labels.join(", ")));
        let mask = count.next_power_of_two() - 1;
        self.emit("and.b32", &["%t0", &index, &mask.to_string()]);
        // One past the end is a fault.
        let past = self.wild > 0 && self.choices.chance(self.wild);
        if !past {
            self.emit("min.u32", &["%t0", "%t0", &(count - 1).to_string()]);
        }
        let guard = self.guard(if self.follows() { 0 } else { 20 });
        let uniform = if self.choices.chance(10) { ".uni" } else { "" };
        self.emit_guarded(&guard, &format!("brx.idx{uniform}"), &["%t0", &table]);
    }

    /// `ret`, `exit`; `trap` where accesses are wild too.
    fn way_out(&mut self) {
        let Some(p) = self.any_register(Ty::PRED) else {
            return;
        };
        let not = if self.choices.chance(50) { "!" } else { "" };
        let way = match self.choices.below(6) {
            0..=2 if self.wild > 0 => *self.choices.pick(&["trap", "brkpt"]),
            // Others would wait for who returns.
            0..=3 if self.follows() && !self.kernel => "exit",
            3 => "ret.uni",
            0..=2 => "ret",
            _ => "exit",
        };
        self.emit_guarded(&format!("@{not}{p} "), way, &[]);
    }
}

/// Whether a statement declares the register.
fn declares(statement: &Statement, name: &str) -> bool {
    match statement {
        Statement::Plain(text) => text.ends_with(&format!(" {name};")),
        Statement::Instruction(_) | Statement::Scope(_) => false,
    }
}
