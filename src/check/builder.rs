//! A function under construction: its statements become blocks of instructions.

use super::context::{Context, DeclKind, DeclTy, Symbol};
use super::instruction;
use super::module::{Checker, twice};
use super::names::nearest;
use super::scope::{Found, Local, Names};
use super::{blocks, calls, variables};
use crate::diag::{Diagnostic, Span};
use crate::ir::bits::Op as BitsOp;
use crate::ir::control::Terminator;
use crate::ir::memory::{Address, AddressOf, Base, Space, Var};
use crate::ir::{
    BasicBlock, Block, FuncId, Guard, Inst, Kind, Operand, Pure, PureOp, Reading, Reg, RegClass,
    RegInfo, StackVar, Unsupported, VarId,
};
use crate::syntax::ast::{self, Body, Statement};
use rustc_hash::FxHashSet;
use smallvec::smallvec;

/// A block whose end may not be known yet.
#[derive(Debug, Default)]
pub(super) struct Open {
    label: Option<Box<str>>,
    placed: bool,
    insts: Vec<Inst>,
    terminator: Option<Terminator>,
    span: Span,
    location: u32,
}

/// What a `.param` variable of the body holds, for the calls that pass it.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameInfo {
    /// The element type.
    pub ty: DeclTy,
    /// Elements of the array; `None` for a single value.
    pub count: Option<u64>,
    /// Whether a call has returned into it so far.
    pub returned: bool,
}

/// The function that is being built.
pub(super) struct Builder<'c, 's> {
    pub checker: &'c mut Checker<'s>,
    /// Whether the function is a kernel.
    pub kernel: bool,
    pub names: Names<'s>,
    pub regs: Vec<RegInfo>,
    pub carry: Option<Reg>,
    pub locals: Vec<StackVar>,
    pub frame: Vec<StackVar>,
    pub frames: Vec<FrameInfo>,
    pub unsupported: Vec<Unsupported>,
    pub shared: FxHashSet<VarId>,
    pub callees: FxHashSet<FuncId>,
    pub indirect: bool,
    blocks: Vec<Open>,
    /// Blocks in the order of the text.
    placed: Vec<Block>,
    current: Option<Block>,
    /// The guard of the instruction being built.
    guard: Option<Guard>,
    /// Whether the instruction being built says `.param::entry`.
    entry_parameters: bool,
    /// The instruction being built.
    pub span: Span,
    location: u32,
}

/// The parts of a finished body.
pub(super) struct Built {
    pub regs: Vec<RegInfo>,
    pub carry: Option<Reg>,
    pub locals: Vec<StackVar>,
    pub frame: Vec<StackVar>,
    pub unsupported: Vec<Unsupported>,
    pub shared: FxHashSet<VarId>,
    pub callees: FxHashSet<FuncId>,
    pub indirect: bool,
    pub blocks: Vec<BasicBlock>,
}

impl<'c, 's> Builder<'c, 's> {
    pub(super) fn new(checker: &'c mut Checker<'s>) -> Self {
        let mut builder = Builder {
            checker,
            kernel: false,
            names: Names::default(),
            regs: Vec::new(),
            carry: None,
            locals: Vec::new(),
            frame: Vec::new(),
            frames: Vec::new(),
            unsupported: Vec::new(),
            shared: FxHashSet::default(),
            callees: FxHashSet::default(),
            indirect: false,
            blocks: Vec::new(),
            placed: Vec::new(),
            current: None,
            guard: None,
            entry_parameters: false,
            span: Span::default(),
            location: u32::MAX,
        };
        builder.names.open();
        let entry = builder.new_block(None);
        builder.enter(entry);
        builder
    }

    /// A body; the scope of the parameters, which is also the body's own, is open.
    pub(super) fn body(&mut self, body: &Body<'s>) {
        self.labels(body);
        self.statements(body);
        self.span = Span::new(body.span.end.saturating_sub(1), body.span.end);
        if self.current.is_some() {
            self.terminate(Terminator::Return);
        }
        self.names.close();
    }

    /// Declares the labels of a scope: they are visible in all of it.
    fn labels(&mut self, body: &Body<'s>) {
        for statement in &body.statements {
            if let Statement::Label(label) = statement {
                let block = self.new_block(Some(label.text.into()));
                let symbol = Local::Is(Symbol::Label(block));
                if let Err(earlier) = self.names.declare(label.text.into(), label.span, symbol) {
                    self.checker
                        .reports
                        .push(twice(label.text, label.span, earlier));
                }
            }
        }
    }

    fn statements(&mut self, body: &Body<'s>) {
        for statement in &body.statements {
            match statement {
                Statement::Label(label) => self.label(*label),
                Statement::Instruction(instruction) => self.instruction(instruction),
                Statement::Variable(variable) => variables::body_variable(self, variable),
                Statement::Block(inner) => {
                    self.names.open();
                    self.labels(inner);
                    self.statements(inner);
                    self.names.close();
                }
                Statement::Pragma(pragma) => self.checker.target.require(
                    &mut self.checker.reports,
                    "`.pragma`",
                    pragma.span,
                    (2, 0),
                    0,
                ),
                Statement::Loc(loc) => self.loc(loc),
                Statement::CallTable(table) => calls::body_table(self, table),
            }
        }
    }

    fn label(&mut self, label: ast::Name<'s>) {
        if let Some(block) = self.names.label_here(label.text) {
            if self.current.is_some() {
                self.span = label.span;
                self.terminate(Terminator::Jump(block));
            }
            // A label that stands twice has been refused; its block is entered once.
            if !self.blocks[block.index()].placed {
                self.enter(block);
            }
        }
    }

    fn loc(&mut self, loc: &ast::Loc<'s>) {
        self.location = self.checker.location(loc);
    }

    fn instruction(&mut self, instruction: &ast::Instruction<'s>) {
        self.span = instruction.span;
        let guard = match &instruction.guard {
            None => None,
            Some(guard) => {
                let Some(reg) = self.predicate(guard.predicate) else {
                    return;
                };
                Some(Guard {
                    reg,
                    negated: guard.negated,
                })
            }
        };
        match instruction.mnemonic.text {
            "bra" => blocks::branch(self, instruction, guard),
            "brx" => blocks::branch_indexed(self, instruction, guard),
            "call" => calls::call(self, instruction, guard),
            "ret" => blocks::leave(self, instruction, guard, Terminator::Return),
            "exit" => blocks::leave(self, instruction, guard, Terminator::Exit),
            "trap" | "brkpt" => blocks::leave(self, instruction, guard, Terminator::Trap),
            _ => {
                self.guard = guard;
                self.entry_parameters = instruction
                    .modifiers
                    .iter()
                    .any(|m| m.text == "param::entry");
                self.checker.clusters |= ranks_ctas(instruction);
                instruction::build(self, instruction);
                self.guard = None;
            }
        }
    }

    /// The predicate register of a guard.
    fn predicate(&mut self, name: ast::Name<'s>) -> Option<Reg> {
        let symbol = self.lookup(name.text);
        if let Some(Symbol::Reg { reg, ty, .. }) = &symbol
            && ty.kind == DeclKind::Pred
        {
            return Some(*reg);
        }
        let error = match symbol {
            None => self.undeclared(name),
            Some(_) => Diagnostic::error(
                name.span,
                format!("`{}` is no predicate register", name.text),
            ),
        };
        self.checker.reports.push(error);
        None
    }

    /// What to say about a name that nothing declares.
    pub(super) fn undeclared(&self, name: ast::Name<'_>) -> Diagnostic {
        let error = Diagnostic::error(name.span, format!("`{}` is not declared", name.text));
        match self.near(name.text) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        }
    }

    /// A register for each part of a declared one.
    pub(super) fn make_register(&mut self, name: &str, ty: DeclTy, lanes: u8) -> Symbol {
        let class = match ty.bits {
            1 => RegClass::Pred,
            bits => RegClass::of_bits(bits).unwrap_or(RegClass::B64),
        };
        if lanes > 1 {
            let elements = (0..usize::from(lanes))
                .map(|lane| self.new_reg(class, format!("{name}.{}", ["x", "y", "z", "w"][lane])))
                .collect();
            return Symbol::Vector { elements, ty };
        }
        if ty.bits == 128 {
            let reg = self.new_reg(class, format!("{name}.lo"));
            let high = Some(self.new_reg(class, format!("{name}.hi")));
            return Symbol::Reg { reg, high, ty };
        }
        Symbol::Reg {
            reg: self.new_reg(class, name.to_string()),
            high: None,
            ty,
        }
    }

    fn new_reg(&mut self, class: RegClass, name: String) -> Reg {
        let reg = Reg(self.regs.len() as u32);
        let name = name.into();
        self.regs.push(RegInfo { class, name });
        reg
    }

    /// A `.param` variable of the body.
    pub(super) fn add_frame(&mut self, var: StackVar, ty: DeclTy, count: Option<u64>) -> Var {
        self.frame.push(var);
        self.frames.push(FrameInfo {
            ty,
            count,
            returned: false,
        });
        Var::Frame((self.frame.len() - 1) as u32)
    }

    pub(super) fn new_block(&mut self, label: Option<Box<str>>) -> Block {
        let block = Block(self.blocks.len() as u32);
        self.blocks.push(Open {
            label,
            ..Open::default()
        });
        block
    }

    /// Goes on in a block.
    pub(super) fn enter(&mut self, block: Block) {
        self.blocks[block.index()].placed = true;
        self.placed.push(block);
        self.current = Some(block);
    }

    /// The block that is being filled; behind a jump that nothing leads around, a new one that nothing reaches.
    fn here(&mut self) -> Block {
        match self.current {
            Some(block) => block,
            None => {
                let block = self.new_block(None);
                self.enter(block);
                block
            }
        }
    }

    /// Ends the current block.
    pub(super) fn terminate(&mut self, terminator: Terminator) {
        let block = self.here();
        let (span, location) = (self.span, self.location);
        let block = &mut self.blocks[block.index()];
        block.terminator = Some(terminator);
        block.span = span;
        block.location = location;
        self.current = None;
    }

    /// Ends the current block so that control goes to `target` where the guard holds, and on otherwise.
    pub(super) fn jump(&mut self, guard: Option<Guard>, target: Block) {
        let Some(guard) = guard else {
            self.terminate(Terminator::Jump(target));
            return;
        };
        let next = self.new_block(None);
        let (then, other) = if guard.negated {
            (next, target)
        } else {
            (target, next)
        };
        let cond = guard.reg;
        self.terminate(Terminator::Branch { cond, then, other });
        self.enter(next);
    }

    /// Does what `inside` builds only where the guard holds, by branching around it.
    pub(super) fn guarded(&mut self, guard: Option<Guard>, inside: impl FnOnce(&mut Self)) {
        let Some(guard) = guard else {
            inside(self);
            return;
        };
        let (then, next) = (self.new_block(None), self.new_block(None));
        let (taken, other) = if guard.negated {
            (next, then)
        } else {
            (then, next)
        };
        self.terminate(Terminator::Branch {
            cond: guard.reg,
            then: taken,
            other,
        });
        self.enter(then);
        inside(self);
        if self.current.is_some() {
            self.terminate(Terminator::Jump(next));
        }
        self.enter(next);
    }

    fn push(&mut self, kind: Kind, guard: Option<Guard>) {
        let block = self.here();
        let inst = Inst {
            guard,
            kind,
            span: self.span,
            location: self.location,
        };
        self.blocks[block.index()].insts.push(inst);
    }

    /// Notes what an instruction names, and refuses accesses that depend on what stands before.
    fn note(&mut self, kind: &Kind) {
        match kind {
            Kind::Load(load) => {
                if let Base::Var(var) = load.addr.base {
                    self.note_var(var);
                    self.note_access(var, false);
                }
            }
            Kind::Store(store) => {
                if let Base::Var(var) = store.addr.base {
                    self.note_var(var);
                    self.note_access(var, true);
                }
            }
            Kind::Atomic(atomic) => self.note_base(&atomic.addr),
            Kind::Mbarrier(mbarrier) => self.note_base(&mbarrier.addr),
            Kind::Copy(copy) => {
                self.note_base(&copy.to.1);
                self.note_base(&copy.from.1);
                if let Some((_, address)) = &copy.mbarrier {
                    self.note_base(address);
                }
            }
            Kind::AddressOf(AddressOf { var, .. }) => {
                if let Var::Frame(index) = *var {
                    let name = &self.frame[index as usize].name;
                    let error = Diagnostic::error(
                        self.span,
                        format!("`{name}` is the parameter of a call and has no address"),
                    );
                    self.checker.reports.push(error);
                }
                self.note_var(*var);
            }
            Kind::FunctionAddress { function, .. } => {
                let function = *function;
                self.callees.insert(function);
                self.checker.addressed.entry(function).or_insert(self.span);
            }
            Kind::Pure(_)
            | Kind::Special { .. }
            | Kind::Call(_)
            | Kind::Meet(_)
            | Kind::Fence(_)
            | Kind::Stack(_)
            | Kind::Hint { .. }
            | Kind::Unsupported => {}
        }
    }

    /// Whose parameters `.param` means. Those of the kernel nobody writes. In a device function, an address in a register
    /// means the function's own parameters, unless `::entry` stands behind: that is, their copies in `.local` memory.
    fn own_parameters(&self, kind: &mut Kind) {
        let of_kernel = self.kernel || self.entry_parameters;
        if let Kind::Load(load) = kind
            && load.space == Space::Param
            && of_kernel
        {
            load.read_only |= !matches!(load.addr.base, Base::Var(Var::Frame(_)));
        }
        if of_kernel {
            return;
        }
        // Atomics, mbarriers and copies do not reach parameters.
        let (space, base) = match kind {
            Kind::Load(load) => (&mut load.space, load.addr.base),
            Kind::Store(store) => (&mut store.space, store.addr.base),
            Kind::Pure(_)
            | Kind::AddressOf(_)
            | Kind::FunctionAddress { .. }
            | Kind::Special { .. }
            | Kind::Call(_)
            | Kind::Meet(_)
            | Kind::Atomic(_)
            | Kind::Fence(_)
            | Kind::Mbarrier(_)
            | Kind::Copy(_)
            | Kind::Stack(_)
            | Kind::Hint { .. }
            | Kind::Unsupported => return,
        };
        if *space == Space::Param && matches!(base, Base::Reg(_)) {
            *space = Space::Local;
        }
    }

    fn note_base(&mut self, address: &Address) {
        if let Base::Var(var) = address.base {
            self.note_var(var);
        }
    }

    fn note_var(&mut self, var: Var) {
        let Var::Module(id) = var else {
            return;
        };
        let variable = &self.checker.variables[id.index()];
        if variable.space == Space::Shared {
            self.shared.insert(id);
        } else if variable.size == 0 {
            self.checker.open_uses.entry(id).or_insert(self.span);
        }
    }

    fn note_access(&mut self, var: Var, store: bool) {
        let Var::Frame(index) = var else {
            return;
        };
        let name = &self.frame[index as usize].name;
        let word = if store { "st.param" } else { "ld.param" };
        let error = if self.guard.is_some() {
            let message = format!("`{word}` of `{name}`, the parameter of a call, has a guard");
            Diagnostic::error(self.span, message)
                .hint("branch around it, or choose the value with `selp`")
        } else if !store && !self.frames[index as usize].returned {
            let message = format!("`{word}` from `{name}`, into which no call before returns");
            Diagnostic::error(self.span, message)
        } else {
            return;
        };
        self.checker.reports.push(error);
    }

    /// The finished body: reachable blocks in the order of the text.
    pub(super) fn finish(self) -> Built {
        let mut reached = vec![false; self.blocks.len()];
        let mut work = vec![Block(0)];
        reached[0] = true;
        while let Some(block) = work.pop() {
            if let Some(terminator) = &self.blocks[block.index()].terminator {
                terminator.successors(|next| {
                    if !std::mem::replace(&mut reached[next.index()], true) {
                        work.push(next);
                    }
                });
            }
        }
        let mut number = vec![Block(0); self.blocks.len()];
        let mut order = Vec::new();
        for &block in &self.placed {
            if reached[block.index()] {
                number[block.index()] = Block(order.len() as u32);
                order.push(block);
            }
        }
        let mut open: Vec<Option<Open>> = self.blocks.into_iter().map(Some).collect();
        let blocks = order
            .iter()
            .filter_map(|block| {
                let block = open[block.index()].take()?;
                let mut terminator = block.terminator.unwrap_or(Terminator::Return);
                terminator.map_successors(|b| number[b.index()]);
                Some(BasicBlock {
                    label: block.label,
                    insts: block.insts,
                    terminator,
                    span: block.span,
                    location: block.location,
                })
            })
            .collect();
        Built {
            regs: self.regs,
            carry: self.carry,
            locals: self.locals,
            frame: self.frame,
            unsupported: self.unsupported,
            shared: self.shared,
            callees: self.callees,
            indirect: self.indirect,
            blocks,
        }
    }
}

impl Context for Builder<'_, '_> {
    fn lookup(&mut self, name: &str) -> Option<Symbol> {
        let (ty, lanes) = match self.names.find(name) {
            Some(Found::Symbol(symbol)) => return Some(symbol),
            Some(Found::Register { ty, lanes, .. }) => (ty, lanes),
            None => return self.checker.symbol(name),
        };
        let symbol = self.make_register(name, ty, lanes);
        if let Some(Found::Register { keep, .. }) = self.names.find(name) {
            keep.set(symbol.clone());
        }
        Some(symbol)
    }

    fn fresh(&mut self, class: RegClass) -> Reg {
        self.new_reg(class, String::new())
    }

    fn carry(&mut self) -> Reg {
        match self.carry {
            Some(reg) => reg,
            None => {
                let reg = self.new_reg(RegClass::Pred, "CC.CF".to_string());
                self.carry = Some(reg);
                reg
            }
        }
    }

    fn emit(&mut self, mut kind: Kind) {
        self.own_parameters(&mut kind);
        self.note(&kind);
        self.push(kind, self.guard);
    }

    fn emit_unguarded(&mut self, kind: Kind) {
        self.note(&kind);
        self.push(kind, None);
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.checker.reports.push(diagnostic);
    }

    fn unsupported(&mut self, what: String, family: &'static str, span: Span) {
        self.unsupported.push(Unsupported { span, what, family });
        self.push(Kind::Unsupported, self.guard);
    }

    fn version(&self) -> (u32, u32) {
        self.checker.target.version
    }

    fn target(&self) -> (u32, &str) {
        (self.checker.target.number, &self.checker.target.suffix)
    }

    fn reading(&self) -> Reading {
        self.checker.reading
    }

    fn address_bits(&self) -> u32 {
        self.checker.target.address_bits
    }

    fn in_kernel(&self) -> bool {
        self.kernel
    }

    fn negated(&mut self, predicate: Operand, negate: bool) -> Operand {
        if !negate {
            return predicate;
        }
        let class = RegClass::Pred;
        let dst = self.fresh(class);
        self.push(
            Kind::Pure(Pure {
                op: PureOp::Bits(BitsOp::Not { class }),
                dsts: smallvec![Some(dst)],
                srcs: smallvec![predicate],
            }),
            None,
        );
        Operand::Reg(dst)
    }

    fn is_full(&self) -> bool {
        self.checker.reports.is_full()
    }

    fn near(&self, name: &str) -> Option<String> {
        if self.is_full() {
            return None;
        }
        let local = self.names.visible();
        let global = self.checker.names.keys().map(|name| (&**name, None));
        nearest(name, local.chain(global))
    }
}

/// Whether an instruction makes, or tells, addresses that say in which CTA of the cluster they lie.
fn ranks_ctas(instruction: &ast::Instruction<'_>) -> bool {
    let multicasts = |m: &ast::Name<'_>| m.text.starts_with("multicast::cluster");
    matches!(instruction.mnemonic.text, "mapa" | "getctarank")
        || instruction.modifiers.iter().any(multicasts)
}
