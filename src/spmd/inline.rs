//! The body of a kernel whose threads may stop, with the functions in which they may stop put in the place of their calls.
//!
//! Guarantees: the body does what the kernel does, fault by fault; only calls of functions in which nothing stops are left in
//! it. Each block is still known by the function that it comes from, each meeting by its site.

use super::facts::{Absent, has_stack};
use crate::ir::control::{Call, CallType, Callee, ParamTy, Slot, Terminator};
use crate::ir::memory::{Address, Base, Load, Order, Space, Stack, Store, Var};
use crate::ir::waits::Waits;
use crate::ir::{
    BasicBlock, Block, FuncId, Function, Guard, Inst, IntTy, Kind, Module, Operand, Param,
    ParamKind, Pure, PureOp, Reg, RegClass, RegInfo, StackVar, convert,
};
use crate::spmd::register_class;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;

/// Most instructions of a body.
const MOST_INSTRUCTIONS: usize = 20_000;

/// Most calls in each other.
const DEEPEST: u32 = 16;

/// Most registers of a body, and registers times blocks of a function that is put in it.
const MOST_REGISTERS: usize = 100_000;
const MOST_PAIRS: usize = 20_000_000;

/// The types of functions in which threads may stop.
pub type Stopping = FxHashSet<CallType>;

/// The types of the functions of a module in which threads may stop.
pub fn stopping(module: &Module, waits: &Waits) -> Stopping {
    let functions = (0..).map(FuncId).zip(&module.functions);
    functions
        .filter(|(id, _)| waits.suspends(*id))
        .map(|(_, function)| function.call_type())
        .collect()
}

/// The body of a kernel.
#[derive(Debug)]
pub struct Body {
    /// It.
    pub function: Function,
    /// The function that each block comes from.
    pub owners: Vec<FuncId>,
    /// The site of each meeting, by block and index.
    pub sites: FxHashMap<(Block, usize), u32>,
    /// Soft points.
    pub soft: Vec<Block>,
}

impl Body {
    /// Of a kernel.
    ///
    /// # Errors
    /// One of which only the interpreter can stop the threads: in recursive functions, in functions called by pointers, with local
    /// memory or passing aggregates, or in too much code.
    pub fn new(
        module: &Module,
        waits: &Waits,
        stopping: &Stopping,
        kernel: FuncId,
    ) -> Result<Self, Absent> {
        let whole = &module.functions[kernel.index()];
        let mut maker = Maker {
            module,
            waits,
            stopping,
            body: Body {
                function: Function {
                    regs: Vec::new(),
                    frame: Vec::new(),
                    blocks: Vec::new(),
                    ..whole.clone()
                },
                owners: Vec::new(),
                sites: FxHashMap::default(),
                soft: Vec::new(),
            },
            instructions: 0,
        };
        maker.function(kernel, None, 0)?;
        Ok(maker.body)
    }
}

struct Maker<'m> {
    module: &'m Module,
    waits: &'m Waits,
    stopping: &'m Stopping,
    body: Body,
    instructions: usize,
}

/// Where the parts of a function went.
struct Placed<'m> {
    id: FuncId,
    function: &'m Function,
    regs: u32,
    blocks: u32,
    frame: u32,
    /// Where its parameters went, then its return parameters, as variables of the body; not those of the kernel.
    passed: Option<(u32, u32)>,
    /// Where control goes when it returns.
    back: Option<Block>,
}

impl Placed<'_> {
    fn reg(&self, reg: Reg) -> Reg {
        Reg(self.regs + reg.0)
    }

    fn block(&self, block: Block) -> Block {
        Block(self.blocks + block.0)
    }

    fn operand(&self, operand: Operand) -> Operand {
        match operand {
            Operand::Reg(reg) => Operand::Reg(self.reg(reg)),
            Operand::Imm(_) => operand,
        }
    }

    fn var(&self, var: Var) -> Var {
        match (var, self.passed) {
            (Var::Frame(i), _) => Var::Frame(self.frame + i),
            (Var::Param(i), Some((params, _))) => Var::Frame(params + i),
            (Var::Return(i), Some((_, returns))) => Var::Frame(returns + i),
            (Var::Param(_) | Var::Return(_) | Var::Module(_) | Var::Local(_), _) => var,
        }
    }

    fn address(&self, address: &mut Address) {
        address.base = match address.base {
            Base::Reg(reg) => Base::Reg(self.reg(reg)),
            Base::Var(var) => Base::Var(self.var(var)),
            Base::Absolute => Base::Absolute,
        };
    }

    fn slot(&self, slot: &mut Slot) {
        *slot = match (*slot, self.passed) {
            (Slot::Value(operand), _) => Slot::Value(self.operand(operand)),
            (Slot::Frame(i), _) => Slot::Frame(self.frame + i),
            (Slot::Param(i), Some((params, _))) => Slot::Frame(params + i),
            (Slot::Param(_) | Slot::Sink, _) => *slot,
        };
    }

    /// The instruction with the body's names.
    fn inst(&self, inst: &Inst) -> Inst {
        let mut inst = inst.clone();
        if let Some(guard) = &mut inst.guard {
            guard.reg = self.reg(guard.reg);
        }
        let regs = |regs: &mut [Option<Reg>]| {
            for reg in regs.iter_mut().flatten() {
                *reg = self.reg(*reg);
            }
        };
        let operands = |operands: &mut [Operand]| {
            for operand in operands {
                *operand = self.operand(*operand);
            }
        };
        match &mut inst.kind {
            Kind::Pure(pure) => {
                regs(&mut pure.dsts);
                operands(&mut pure.srcs);
            }
            Kind::Load(load) => {
                regs(&mut load.dsts);
                self.address(&mut load.addr);
            }
            Kind::Store(store) => {
                operands(&mut store.srcs);
                self.address(&mut store.addr);
            }
            Kind::AddressOf(address) => {
                address.dst = self.reg(address.dst);
                address.var = self.var(address.var);
            }
            Kind::FunctionAddress { dst, .. } | Kind::Special { dst, .. } => *dst = self.reg(*dst),
            Kind::Call(call) => {
                if let Callee::Indirect { target, .. } = &mut call.callee {
                    *target = self.operand(*target);
                }
                for slot in call.args.iter_mut().chain(&mut call.results) {
                    self.slot(slot);
                }
            }
            Kind::Meet(meet) => {
                regs(&mut meet.dsts);
                operands(&mut meet.srcs);
            }
            Kind::Atomic(atomic) => {
                regs(&mut atomic.dsts);
                operands(&mut atomic.srcs);
                self.address(&mut atomic.addr);
            }
            Kind::Mbarrier(mbarrier) => {
                if let Some(dst) = &mut mbarrier.dst {
                    *dst = self.reg(*dst);
                }
                operands(&mut mbarrier.srcs);
                self.address(&mut mbarrier.addr);
            }
            Kind::Copy(copy) => {
                self.address(&mut copy.to.1);
                self.address(&mut copy.from.1);
                if let Some((_, address)) = &mut copy.mbarrier {
                    self.address(address);
                }
                copy.bytes = self.operand(copy.bytes);
                let single = [
                    &mut copy.read,
                    &mut copy.ignore,
                    &mut copy.byte_mask,
                    &mut copy.multicast,
                ];
                let single = single.into_iter().flatten();
                for operand in single.chain(copy.skip.iter_mut().flatten()) {
                    *operand = self.operand(*operand);
                }
            }
            Kind::Stack(stack) => match stack {
                Stack::Allocate { dst, size, .. } => {
                    *dst = self.reg(*dst);
                    *size = self.operand(*size);
                }
                Stack::Save { dst } => *dst = self.reg(*dst),
                Stack::Restore { src } => *src = self.reg(*src),
            },
            Kind::Fence(_) | Kind::Hint { .. } | Kind::Unsupported => {}
        }
        inst
    }

    fn terminator(&self, terminator: &Terminator) -> Terminator {
        let mut terminator = terminator.clone();
        terminator.map_successors(|b| self.block(b));
        match &mut terminator {
            Terminator::Branch { cond, .. } => *cond = self.reg(*cond),
            Terminator::Table { index, .. } => *index = self.operand(*index),
            Terminator::Return => {
                if let Some(back) = self.back {
                    return Terminator::Jump(back);
                }
            }
            Terminator::Jump(_) | Terminator::Exit | Terminator::Trap => {}
        }
        terminator
    }
}

impl<'m> Maker<'m> {
    /// Appends a function, with what it calls and stops in; `back` is where control goes when it returns.
    fn function(
        &mut self,
        id: FuncId,
        back: Option<Block>,
        depth: u32,
    ) -> Result<Placed<'m>, Absent> {
        let function = &self.module.functions[id.index()];
        let called = back.is_some();
        self.instructions += function
            .blocks
            .iter()
            .map(|b| b.insts.len() + 1)
            .sum::<usize>();
        let registers = self.body.function.regs.len() + function.regs.len();
        let too_much = called
            && (self.instructions > MOST_INSTRUCTIONS
                || depth > DEEPEST
                || registers > MOST_REGISTERS
                || function.regs.len() * function.blocks.len() > MOST_PAIRS);
        let has_local = !function.locals.is_empty() || has_stack(function);
        if too_much || (called && has_local) || !function.unsupported.is_empty() {
            return Err(Absent::Interpreted);
        }
        let body = &mut self.body.function;
        let regs = body.regs.len() as u32;
        body.regs.extend(function.regs.iter().cloned());
        let passed = called.then(|| {
            let mut place = |params: &[Param]| {
                let first = body.frame.len() as u32;
                for param in params {
                    add_variable(body, param.ty);
                }
                first
            };
            (place(&function.params), place(&function.returns))
        });
        let frame = body.frame.len() as u32;
        for var in &function.frame {
            add_variable(body, var.ty);
        }
        let placed = Placed {
            id,
            function,
            regs,
            blocks: body.blocks.len() as u32,
            frame,
            passed,
            back,
        };
        for block in &function.blocks {
            self.add(id, block);
        }
        let soft = self.waits.soft_points(id).iter();
        self.body.soft.extend(soft.map(|&b| placed.block(b)));
        for (i, block) in (0..).zip(&function.blocks) {
            self.block(&placed, Block(i), block, depth)?;
        }
        Ok(placed)
    }

    fn add(&mut self, owner: FuncId, like: &BasicBlock) -> Block {
        self.body.owners.push(owner);
        self.body.function.blocks.push(BasicBlock {
            label: like.label.clone(),
            insts: Vec::new(),
            terminator: Terminator::Exit,
            span: like.span,
            location: like.location,
        });
        Block(self.body.function.blocks.len() as u32 - 1)
    }

    fn at(&mut self, block: Block) -> &mut BasicBlock {
        &mut self.body.function.blocks[block.index()]
    }

    fn block(
        &mut self,
        placed: &Placed<'m>,
        block: Block,
        whole: &BasicBlock,
        depth: u32,
    ) -> Result<(), Absent> {
        let mut current = placed.block(block);
        for (i, inst) in whole.insts.iter().enumerate() {
            let own = placed.inst(inst);
            match &own.kind {
                Kind::Call(call) if self.stops(call) => {
                    let Callee::Direct(callee) = call.callee else {
                        return Err(Absent::Interpreted);
                    };
                    current = self.call(placed, current, &own, call, callee, depth)?;
                }
                _ => {
                    if let Some(site) = self.waits.site(placed.id, block, i) {
                        let index = self.at(current).insts.len();
                        self.body.sites.insert((current, index), site);
                    }
                    self.at(current).insts.push(own);
                }
            }
        }
        let terminator = placed.terminator(&whole.terminator);
        let end = self.at(current);
        (end.terminator, end.span, end.location) = (terminator, whole.span, whole.location);
        Ok(())
    }

    /// Whether threads may stop in a call.
    fn stops(&self, call: &Call) -> bool {
        match &call.callee {
            Callee::Direct(callee) => self.waits.suspends(*callee),
            Callee::Indirect { ty, .. } => self.stopping.contains(ty),
        }
    }

    /// Puts a function in the place of its call; gives the block in which the caller goes on.
    fn call(
        &mut self,
        caller: &Placed<'m>,
        current: Block,
        inst: &Inst,
        call: &Call,
        callee: FuncId,
        depth: u32,
    ) -> Result<Block, Absent> {
        let like = BasicBlock {
            label: None,
            insts: Vec::new(),
            terminator: Terminator::Exit,
            span: inst.span,
            location: inst.location,
        };
        let [before, after, next] = [(); 3].map(|()| self.add(caller.id, &like));
        self.at(current).terminator = match inst.guard {
            None => Terminator::Jump(before),
            Some(Guard { reg, negated }) => {
                let (then, other) = if negated {
                    (next, before)
                } else {
                    (before, next)
                };
                Terminator::Branch {
                    cond: reg,
                    then,
                    other,
                }
            }
        };
        let end = self.at(current);
        (end.span, end.location) = (inst.span, inst.location);
        self.at(after).terminator = Terminator::Jump(next);
        let placed = self.function(callee, Some(after), depth + 1)?;
        self.at(before).terminator = Terminator::Jump(placed.block(Block(0)));
        self.begin(&placed, before, inst);
        let (params, returns) = placed.passed.unwrap_or_default();
        let function = placed.function;
        for ((i, param), slot) in (0..).zip(&function.params).zip(&call.args) {
            let class = self.class(&placed, param)?;
            let value = self.read(before, inst, slot, class);
            match param.kind {
                ParamKind::Reg(reg) => self.set(before, inst, placed.reg(reg), class, value),
                ParamKind::Memory => self.write(before, inst, params + i, class, value),
            }
        }
        for ((i, param), slot) in (0..).zip(&function.returns).zip(&call.results) {
            let class = self.class(&placed, param)?;
            let value = match param.kind {
                ParamKind::Reg(reg) => Operand::Reg(placed.reg(reg)),
                ParamKind::Memory => self.read(after, inst, &Slot::Frame(returns + i), class),
            };
            match *slot {
                Slot::Value(Operand::Reg(reg)) => self.set(after, inst, reg, class, value),
                Slot::Frame(i) => self.write(after, inst, i, class, value),
                Slot::Value(Operand::Imm(_)) | Slot::Param(_) | Slot::Sink => {}
            }
        }
        Ok(next)
    }

    /// The class in which a parameter is passed.
    fn class(&self, placed: &Placed<'_>, param: &Param) -> Result<RegClass, Absent> {
        let whole = match param.kind {
            ParamKind::Reg(reg) => placed.function.class(reg) != RegClass::Pred,
            ParamKind::Memory => true,
        };
        let class = register_class(param.ty).filter(|_| whole);
        class.ok_or(Absent::Interpreted)
    }

    /// All registers and variables of a function are zero when it begins.
    fn begin(&mut self, placed: &Placed<'m>, block: Block, inst: &Inst) {
        let function = placed.function;
        for (reg, exposed) in (0..).map(Reg).zip(exposed(function)) {
            if exposed {
                let class = function.class(reg);
                self.set(block, inst, placed.reg(reg), class, Operand::Imm(0));
            }
        }
        let (_, returns) = placed.passed.unwrap_or_default();
        let returned = (returns..).zip(function.returns.iter().map(|p| p.ty));
        let own = (placed.frame..).zip(function.frame.iter().map(|v| v.ty));
        for (var, ty) in returned.chain(own) {
            // Others are memory, which keeps the kernel from being compiled.
            if let Some(class) = register_class(ty) {
                self.write(block, inst, var, class, Operand::Imm(0));
            }
        }
    }

    fn push(&mut self, block: Block, like: &Inst, kind: Kind) {
        self.at(block).insts.push(Inst {
            guard: None,
            kind,
            span: like.span,
            location: like.location,
        });
    }

    /// What an argument is, or what lies in a variable.
    fn read(&mut self, block: Block, like: &Inst, slot: &Slot, class: RegClass) -> Operand {
        let (var, read_only) = match *slot {
            Slot::Value(operand) => return operand,
            Slot::Frame(i) => (Var::Frame(i), false),
            Slot::Param(i) => (Var::Param(i), true),
            Slot::Sink => return Operand::Imm(0),
        };
        let regs = &mut self.body.function.regs;
        regs.push(RegInfo {
            class,
            name: Box::default(),
        });
        let reg = Reg(regs.len() as u32 - 1);
        let bytes = (class.bits() / 8) as u8;
        let load = Load {
            space: Space::Param,
            bytes,
            signed: false,
            align: bytes,
            dsts: smallvec![Some(reg)],
            addr: Address {
                base: Base::Var(var),
                offset: 0,
            },
            order: Order::Weak,
            read_only,
        };
        self.push(block, like, Kind::Load(load));
        Operand::Reg(reg)
    }

    fn write(&mut self, block: Block, like: &Inst, var: u32, class: RegClass, value: Operand) {
        let bytes = (class.bits() / 8) as u8;
        let store = Store {
            space: Space::Param,
            bytes,
            align: bytes,
            srcs: smallvec![value],
            addr: Address {
                base: Base::Var(Var::Frame(var)),
                offset: 0,
            },
            order: Order::Weak,
        };
        self.push(block, like, Kind::Store(store));
    }

    /// `reg = value`, which is of a class.
    fn set(&mut self, block: Block, like: &Inst, reg: Reg, class: RegClass, value: Operand) {
        let own = self.body.function.class(reg);
        let op = match (IntTy::new(class, false), IntTy::new(class.min(own), false)) {
            (Some(from), Some(to)) if own != class => convert::Op::Cvt {
                from,
                to,
                sat: false,
                dst: own,
            },
            (Some(_), _) | (None, _) => convert::Op::Mov { class: own },
        };
        let pure = Pure {
            op: PureOp::Convert(op),
            dsts: smallvec![Some(reg)],
            srcs: smallvec![value],
        };
        self.push(block, like, Kind::Pure(pure));
    }
}

fn add_variable(function: &mut Function, ty: ParamTy) {
    let offset = function.frame_bytes.next_multiple_of(ty.align.max(1));
    function.frame_bytes = offset + ty.size;
    function.frame.push(StackVar {
        name: String::new(),
        ty,
        offset,
    });
}

/// For each register whether it may be read before it is written.
fn exposed(function: &Function) -> Vec<bool> {
    let mut live = vec![vec![false; function.regs.len()]; function.blocks.len()];
    loop {
        let mut changed = false;
        for (i, block) in function.blocks.iter().enumerate().rev() {
            let mut now = vec![false; function.regs.len()];
            block.terminator.successors(|to| {
                for (now, then) in now.iter_mut().zip(&live[to.index()]) {
                    *now |= then;
                }
            });
            if block.terminator == Terminator::Return {
                for param in &function.returns {
                    if let ParamKind::Reg(reg) = param.kind {
                        now[reg.index()] = true;
                    }
                }
            }
            block
                .terminator
                .uses()
                .into_iter()
                .for_each(|r| now[r.index()] = true);
            for inst in block.insts.iter().rev() {
                if inst.guard.is_none() {
                    inst.defs(|r| now[r.index()] = false);
                }
                inst.uses(|r| now[r.index()] = true);
                if inst.guard.is_some() {
                    inst.defs(|r| now[r.index()] = true);
                }
            }
            if now != live[i] {
                live[i] = now;
                changed = true;
            }
        }
        if !changed {
            return live.swap_remove(0);
        }
    }
}
