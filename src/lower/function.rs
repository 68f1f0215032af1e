//! The body of a function or kernel: values, blocks, guards, and the loop over threads around a kernel's region.

use super::context::{DONE, EXITED, FAULT, Field};
use super::emit::{Emit, clif_type};
use super::memory::OpenRun;
use super::region::Lane;
use super::site::{Cause, Site};
use super::symbols::Symbol;
use super::{Options, Sites, abi};
use crate::diag::Span;
use crate::ir::control::{CallType, Terminator};
use crate::ir::memory::Space;
use crate::ir::{
    BasicBlock, Block, FuncId, Function, FunctionKind, Guard, Inst, Kind, Module, Operand,
    ParamKind, Pure, PureOp, Reg, RegClass,
};
use crate::spmd::access::Home;
use crate::spmd::{FunctionPlan, ModulePlan, Name, Root};
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{
    self as clif, BlockArg, FuncRef, InstBuilder, JumpTableData, MemFlagsData, SigRef, SourceLoc,
    StackSlot, StackSlotData, StackSlotKind, Type, Value,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::FunctionBuilder;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// A function while it is lowered.
pub(super) struct Lower<'a, 'f> {
    pub(super) module: &'a Module,
    pub(super) id: FuncId,
    /// The function that the block comes from.
    pub(super) owner: FuncId,
    pub(super) function: &'a Function,
    pub(super) modules: &'a ModulePlan,
    pub(super) plan: &'a FunctionPlan,
    pub(super) options: &'a Options,
    pub(super) sites: &'a mut Sites,
    pub(super) b: FunctionBuilder<'f>,
    /// The host's calling convention, which internal calls share.
    pub(super) convention: CallConv,
    /// The context.
    pub(super) context: Value,
    /// The Cranelift block of each reachable block.
    pub(super) blocks: Vec<clif::Block>,
    /// The value of each name here; `None` is zero.
    current: Vec<Option<Value>>,
    /// What to restore when leaving a subtree of the dominator tree.
    undo: Vec<(Name, Option<Value>)>,
    /// `%tid`, in kernels.
    pub(super) tid: Option<[Value; 3]>,
    /// The lane that runs, in kernels whose threads stop.
    pub(super) lane: Option<Lane>,
    /// Where a kernel's thread goes on when it is over.
    pub(super) latch: Option<clif::Block>,
    /// Ends the function with the fault at a site; that and the value that goes with it are the block's parameters.
    fault_at: clif::Block,
    /// Ends the function with the fault that is already in the context.
    faulted: clif::Block,
    /// Ends after a call that was not done, with the call's status: the block's parameter.
    left: Option<clif::Block>,
    /// Pointers to parameters and results that do not travel by value.
    pub(super) pointers: Pointers,
    /// Parameters, return parameters and `.param` variables in memory.
    pub(super) slots: FxHashMap<Home, StackSlot>,
    /// Where the function's own `.local` variables begin: host pointer and offset in the window.
    pub(super) locals: Option<(Value, Value)>,
    /// What [`Field::LOCAL_TOP`] was when the function was called, if it has `.local` variables.
    pub(super) local_top: Option<Value>,
    /// Where the local memory that is in use ends, in device functions that ask.
    pub(super) locals_end: Option<Value>,
    /// Slots for last answers, by base register and space: what is known of generic addresses says nothing of global
    /// ones.
    pub(super) answers: FxHashMap<(Reg, Space), u32>,
    /// Sums of kernel parameters that point to memory.
    pub(super) roots: Vec<Root>,
    /// The run of accesses that is under way.
    pub(super) run: Option<OpenRun>,
    functions: FxHashMap<Symbol, FuncRef>,
    signatures: FxHashMap<CallType, SigRef>,
    /// Texts of source locations, if they are wanted.
    pub(super) spans: Vec<Span>,
}

/// A guard's value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Permit {
    cond: Value,
    negated: bool,
}

/// Pointers that came as arguments.
#[derive(Default)]
pub(super) struct Pointers {
    pub(super) params: Vec<Option<Value>>,
    pub(super) returns: Vec<Option<Value>>,
}

impl<'a, 'f> Lower<'a, 'f> {
    pub(super) fn new(
        module: &'a Module,
        modules: &'a ModulePlan,
        plan: &'a FunctionPlan,
        id: FuncId,
        options: &'a Options,
        sites: &'a mut Sites,
        mut b: FunctionBuilder<'f>,
    ) -> Self {
        let function = plan.function(&module.functions[id.index()]);
        let convention = b.func.signature.call_conv;
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let context = b.block_params(entry)[0];
        let blocks = function.blocks.iter().map(|_| b.create_block()).collect();
        let fault_at = b.create_block();
        b.append_block_param(fault_at, I32);
        b.append_block_param(fault_at, I64);
        let faulted = b.create_block();
        for cold in [fault_at, faulted] {
            b.set_cold_block(cold);
        }
        Lower {
            module,
            id,
            owner: id,
            function,
            modules,
            plan,
            options,
            sites,
            convention,
            context,
            blocks,
            current: vec![None; plan.names.len()],
            undo: Vec::new(),
            tid: None,
            lane: None,
            latch: None,
            fault_at,
            faulted,
            left: None,
            pointers: Pointers::default(),
            slots: FxHashMap::default(),
            locals: None,
            local_top: None,
            locals_end: None,
            answers: FxHashMap::default(),
            roots: Vec::new(),
            run: None,
            functions: FxHashMap::default(),
            signatures: FxHashMap::default(),
            spans: Vec::new(),
            b,
        }
    }

    pub(super) fn is_kernel(&self) -> bool {
        self.function.kind == FunctionKind::Kernel
    }

    /// Makes the whole function.
    pub(super) fn run(mut self) -> (FunctionBuilder<'f>, Vec<Span>, Vec<Root>) {
        let plan = self.plan;
        match (&plan.regions, self.function.kind) {
            (Some(regions), _) => self.lanes(regions),
            (None, FunctionKind::Kernel) => self.kernel(),
            (None, FunctionKind::Device) => self.device(),
        }
        self.endings();
        self.b.seal_all_blocks();
        (self.b, self.spans, self.roots)
    }

    /// Threads one after another, x fastest, each to its end.
    fn kernel(&mut self) {
        let [nz, ny, nx] = [2, 1, 0].map(|i| self.uniform(Field::BLOCK.at(i)));
        let zero = self.k(I32, 0);
        let mut loops = SmallVec::<[_; 3]>::new();
        for count in [nz, ny, nx] {
            let head = self.b.create_block();
            let index = self.b.append_block_param(head, I32);
            self.b.ins().jump(head, &[zero.into()]);
            self.b.switch_to_block(head);
            loops.push((head, index, count));
        }
        self.tid = Some([loops[2].1, loops[1].1, loops[0].1]);
        let latch = self.b.create_block();
        self.latch = Some(latch);
        if self.modules.facts[self.id.index()].calls {
            self.store_tid();
        }
        self.begin_locals();
        self.begin_slots();
        self.body();

        self.b.switch_to_block(latch);
        if self.modules.facts[self.id.index()].long {
            let site = self.site(Cause::Stop, self.function.span, u32::MAX);
            self.poll(site);
        }
        for &(head, index, count) in loops.iter().rev() {
            let next = self.emit().add_k(index, 1);
            let more = self
                .b
                .ins()
                .icmp(clif::condcodes::IntCC::UnsignedLessThan, next, count);
            let over = self.b.create_block();
            self.b.ins().brif(more, head, &[next.into()], over, &[]);
            self.b.switch_to_block(over);
        }
        let done = self.k(I32, DONE.into());
        self.b.ins().return_(&[done]);
    }

    fn device(&mut self) {
        let entry = self.b.current_block();
        let arguments: Vec<Value> =
            entry.map_or_else(Vec::new, |b| self.b.block_params(b)[1..].to_vec());
        let ty = self.function.call_type();
        let (params, returns) = arguments.split_at(ty.params.len());
        let by_value = |p: &crate::ir::control::ParamTy| abi::passing(*p) != abi::Passing::Pointer;
        self.pointers.params = (ty.params.iter().zip(params))
            .map(|(p, &v)| (!by_value(p)).then_some(v))
            .collect();
        self.pointers.returns = if returns.is_empty() {
            vec![None; ty.returns.len()]
        } else {
            returns.iter().copied().map(Some).collect()
        };
        self.begin_locals();
        self.begin_slots();
        for (i, param) in ty.params.iter().enumerate() {
            match self.plan.names.param(i) {
                Some(name) => {
                    let value = self.passed(name, params[i]);
                    self.set(name, value);
                }
                None if by_value(param) => {
                    let slot = self.slot(Home::Param(i as u32));
                    self.b.ins().stack_store(I64, params[i], slot, 0);
                }
                None if self.plan.names.writes_param(i) => {
                    let slot = self.slot(Home::Param(i as u32));
                    let own = self.b.ins().stack_addr(I64, slot, 0);
                    self.copy(own, params[i], param.size);
                    self.pointers.params[i] = None;
                }
                None => {}
            }
        }
        self.body();
    }

    /// All blocks, down the dominator tree.
    pub(super) fn body(&mut self) {
        let first = self.blocks[0];
        let args = self.block_args(Block(0));
        self.b.ins().jump(first, &args);
        let plan = self.plan;
        let mut stack = vec![(plan.cfg.root(), 0, 0)];
        while let Some((node, next, mark)) = stack.last_mut() {
            match plan.cfg.dominated(*node).get(*next) {
                Some(&block) => {
                    *next += 1;
                    let mark = self.undo.len();
                    self.block(block);
                    stack.push((block.index(), 0, mark));
                }
                None => {
                    let mark = *mark;
                    stack.pop();
                    while self.undo.len() > mark {
                        if let Some((name, old)) = self.undo.pop() {
                            self.current[name.index()] = old;
                        }
                    }
                }
            }
        }
    }

    fn block(&mut self, block: Block) {
        let plan = self.plan;
        let clif_block = self.blocks[block.index()];
        self.b.switch_to_block(clif_block);
        for &name in plan.ssa.phis(block) {
            let ty = clif_type(plan.names.class(name));
            let value = self.b.append_block_param(clif_block, ty);
            self.set(name, value);
        }
        let function = self.function;
        let body = function.block(block);
        if let Some(regions) = &plan.regions {
            self.owner = regions.owner(block);
            self.begin_region(regions, block);
        }
        if plan.cfg.is_header(block) {
            let (span, location) = body
                .insts
                .first()
                .map_or((body.span, body.location), |i| (i.span, i.location));
            self.locate(span);
            let site = self.site(Cause::Stop, span, location);
            self.poll(site);
        }
        let mut runs = plan.runs(block).iter().peekable();
        for (i, inst) in (0..).zip(&body.insts) {
            self.locate(inst.span);
            if let Some(run) = runs.next_if(|r| r.members.first() == Some(&i)) {
                self.check_run(run, body);
            }
            self.instruction(inst);
            if self.run.as_ref().is_some_and(|run| run.last == i) {
                self.run = None;
            }
        }
        self.locate(body.span);
        match plan
            .regions
            .as_ref()
            .and_then(|r| Some((r, r.meets(block)?)))
        {
            Some((regions, point)) => self.meet(regions, point),
            None => self.terminator(body),
        }
    }

    pub(super) fn instruction(&mut self, inst: &Inst) {
        match &inst.kind {
            Kind::Pure(pure) => {
                let results = self.pure(pure);
                let permit = self.permit(inst.guard);
                for (dst, value) in pure.dsts.iter().zip(results) {
                    if let Some(dst) = dst {
                        self.set_guarded(permit, (*dst).into(), value);
                    }
                }
            }
            Kind::AddressOf(address) => {
                let value = self.address_of(address);
                self.set_resized(inst.guard, address.dst, value);
            }
            Kind::FunctionAddress { dst, function } => {
                let address =
                    crate::machine::window::function(function.0, self.module.address_bits);
                let value = self.k(I64, address);
                self.set_resized(inst.guard, *dst, value);
            }
            Kind::Special { dst, special } => {
                let value = self.special(*special);
                self.set_resized(inst.guard, *dst, value);
            }
            Kind::Load(load) => self.load(inst, load),
            Kind::Store(store) => self.store(inst, store),
            Kind::Call(call) => self.guarded(inst, |l| l.call(inst, call)),
            // Where its block ends the thread stops for it.
            Kind::Meet(_) | Kind::Hint { .. } => {}
            Kind::Atomic(atomic) => self.guarded(inst, |l| l.atomic(inst, atomic)),
            Kind::Fence(fence) => self.guarded(inst, |l| l.fence(*fence)),
            Kind::Mbarrier(mbarrier) => self.guarded(inst, |l| l.mbarrier(inst, mbarrier)),
            Kind::Copy(copy) => self.guarded(inst, |l| l.copy_at_once(inst, copy)),
            #[expect(
                clippy::unreachable,
                reason = "functions that contain one are absent before they are lowered"
            )]
            Kind::Unsupported => {
                unreachable!("an unsupported instruction in a plan")
            }
        }
    }

    fn pure(&mut self, pure: &Pure) -> SmallVec<[Value; 2]> {
        let signature = pure.op.signature();
        let srcs: SmallVec<[Value; 5]> = (pure.srcs.iter().zip(&signature.srcs))
            .map(|(src, class)| self.operand(*src, *class))
            .collect();
        let mut emit = self.emit();
        match pure.op {
            PureOp::Integer(op) => smallvec![emit.integer(op, &srcs)],
            PureOp::Extended(op) => emit.extended(op, &srcs),
            PureOp::Bits(op) => emit.bits(op, &srcs),
            PureOp::Video(op) => smallvec![emit.video(op, &srcs)],
            PureOp::Compare(op) => emit.compare(op, &srcs),
            PureOp::Convert(op) => smallvec![emit.convert(op, &srcs)],
        }
    }

    /// Executes `f` where the instruction's guard lets it through; names that it defines keep their values elsewhere.
    pub(super) fn guarded(&mut self, inst: &Inst, f: impl FnOnce(&mut Self)) {
        let Some(guard) = inst.guard else {
            return f(self);
        };
        let mut names = SmallVec::<[Name; 4]>::new();
        self.plan.names.defs(inst, |n| names.push(n));
        names.sort_unstable();
        names.dedup();
        let before: SmallVec<[Option<Value>; 4]> =
            names.iter().map(|n| self.current[n.index()]).collect();
        let old: SmallVec<[BlockArg; 4]> = names.iter().map(|&n| self.value(n).into()).collect();
        let then = self.b.create_block();
        let merge = self.b.create_block();
        let cond = self.value(guard.reg.into());
        if guard.negated {
            self.b.ins().brif(cond, merge, &old, then, &[]);
        } else {
            self.b.ins().brif(cond, then, &[], merge, &old);
        }
        self.b.switch_to_block(then);
        f(self);
        let new: SmallVec<[BlockArg; 4]> = names.iter().map(|&n| self.value(n).into()).collect();
        self.b.ins().jump(merge, &new);
        self.b.switch_to_block(merge);
        for (&name, before) in names.iter().zip(before) {
            self.current[name.index()] = before;
            let ty = clif_type(self.plan.names.class(name));
            let value = self.b.append_block_param(merge, ty);
            self.set(name, value);
        }
    }

    fn terminator(&mut self, block: &BasicBlock) {
        match &block.terminator {
            Terminator::Jump(to) => {
                let args = self.block_args(*to);
                let to = self.blocks[to.index()];
                self.b.ins().jump(to, &args);
            }
            Terminator::Branch { cond, then, other } => {
                let cond = self.value((*cond).into());
                let [then_args, other_args] = [then, other].map(|b| self.block_args(*b));
                let [then, other] = [then, other].map(|b| self.blocks[b.index()]);
                if then == other {
                    self.b.ins().jump(then, &then_args);
                } else {
                    self.b
                        .ins()
                        .brif(cond, then, &then_args, other, &other_args);
                }
            }
            Terminator::Table { index, targets } => {
                let index = self.operand(*index, RegClass::B32);
                let cause = Cause::Table(targets.len() as u32);
                let site = self.site(cause, block.span, block.location);
                let site = self.k(I32, site.into());
                let value = self.emit().resize(index, I64, false);
                let calls: Vec<clif::BlockCall> = targets
                    .iter()
                    .map(|t| {
                        let args = self.block_args(*t);
                        let block = self.blocks[t.index()];
                        self.b.func.dfg.block_call(block, &args)
                    })
                    .collect();
                let beyond = [site.into(), value.into()];
                let beyond = self.b.func.dfg.block_call(self.fault_at, &beyond);
                let table = self.b.create_jump_table(JumpTableData::new(beyond, &calls));
                self.b.ins().br_table(index, table);
            }
            Terminator::Return => match self.latch {
                Some(latch) => {
                    self.b.ins().jump(latch, &[]);
                }
                None => self.leave(),
            },
            Terminator::Exit => match self.latch {
                Some(latch) => {
                    self.b.ins().jump(latch, &[]);
                }
                None => self.end(EXITED),
            },
            Terminator::Trap => {
                let site = self.site(Cause::Trap, block.span, block.location);
                self.fail(site, None);
            }
        }
    }

    /// Returns from a device function with its results.
    fn leave(&mut self) {
        self.end_locals();
        let done = self.k(I32, DONE.into());
        let mut values: SmallVec<[Value; 2]> = smallvec![done];
        let returns = self.function.call_type().returns;
        for (i, ty) in returns.iter().enumerate() {
            match (self.pointers.returns[i], self.plan.names.ret(i)) {
                (None, Some(name)) => values.push(self.value(name)),
                (None, None) => {
                    let slot = self.slot(Home::Return(i as u32));
                    if let abi::Passing::Value(ty) = abi::passing(*ty) {
                        values.push(self.b.ins().stack_load(I64, ty, slot, 0));
                    }
                }
                (Some(pointer), Some(name)) => {
                    let value = self.value(name);
                    self.b.ins().store(trusted(), value, pointer, 0);
                }
                (Some(pointer), None) => {
                    let slot = self.slot(Home::Return(i as u32));
                    let from = self.b.ins().stack_addr(I64, slot, 0);
                    self.copy(pointer, from, ty.size);
                }
            }
        }
        self.b.ins().return_(&values);
    }

    /// Returns with a status and a result that does not matter.
    fn end(&mut self, status: u32) {
        let status = self.k(I32, status.into());
        self.end_with(status);
    }

    /// Likewise, with a status found at run time.
    pub(super) fn end_with(&mut self, status: Value) {
        let mut values: SmallVec<[Value; 2]> = smallvec![status];
        if self.b.func.signature.returns.len() > 1 {
            let ty = self.b.func.signature.returns[1].value_type;
            values.push(self.k(ty, 0));
        }
        self.b.ins().return_(&values);
    }

    /// The blocks that faults and calls that were not done go to.
    fn endings(&mut self) {
        if let Some(left) = self.left {
            self.leave_with(left);
        }
        self.b.switch_to_block(self.fault_at);
        let [site, value] = [0, 1].map(|i| self.b.block_params(self.fault_at)[i]);
        self.set_field(Field::FAULT_SITE, site);
        self.set_field(Field::FAULT_VALUE, value);
        self.b.ins().jump(self.faulted, &[]);
        self.b.switch_to_block(self.faulted);
        // Of a lane the host knows.
        if self.tid.is_some() && self.lane.is_none() {
            self.store_tid();
        }
        self.end(FAULT);
    }

    pub(super) fn store_tid(&mut self) {
        for (i, value) in (0..).zip(self.tid.into_iter().flatten()) {
            self.set_field(Field::TID.at(i), value);
        }
    }

    /// Ends with a fault here, and the value that its cause wants.
    pub(super) fn fail(&mut self, site: u32, value: Option<Value>) {
        let site = self.k(I32, site.into());
        let value = value.unwrap_or_else(|| self.k(I64, 0));
        self.b
            .ins()
            .jump(self.fault_at, &[site.into(), value.into()]);
    }

    /// Goes on if `ok`, else ends with a fault.
    pub(super) fn require(&mut self, ok: Value, site: u32, value: Option<Value>) {
        let (next, cold) = (self.b.create_block(), self.cold_block());
        self.b.ins().brif(ok, next, &[], cold, &[]);
        self.b.switch_to_block(cold);
        self.fail(site, value);
        self.b.switch_to_block(next);
    }

    /// Where to go when the fault is in the context already.
    pub(super) fn faulted(&self) -> clif::Block {
        self.faulted
    }

    /// Where to go with the status of a call that was not done.
    pub(super) fn left(&mut self) -> clif::Block {
        match self.left {
            Some(left) => left,
            None => {
                let left = self.cold_block();
                self.b.append_block_param(left, I32);
                self.left = Some(left);
                left
            }
        }
    }

    /// Where a thread goes on that is over; `None` in a device function.
    pub(super) fn latch(&self) -> Option<clif::Block> {
        self.latch
    }

    pub(super) fn cold_block(&mut self) -> clif::Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }

    /// Looks whether somebody wants the launch to end.
    pub(super) fn poll(&mut self, site: u32) {
        let stop = self.uniform(Field::STOP);
        // Not an ordinary load: that might be found redundant and the loop never end.
        let raised = self.b.ins().atomic_load(I32, MemFlagsData::trusted(), stop);
        let (next, cold) = (self.b.create_block(), self.cold_block());
        self.b.ins().brif(raised, cold, &[], next, &[]);
        self.b.switch_to_block(cold);
        self.fail(site, None);
        self.b.switch_to_block(next);
    }

    fn block_args(&mut self, to: Block) -> SmallVec<[BlockArg; 8]> {
        let plan = self.plan;
        plan.ssa
            .phis(to)
            .iter()
            .map(|&n| self.value(n).into())
            .collect()
    }

    /// The value of a name here.
    pub(super) fn value(&mut self, name: Name) -> Value {
        match self.current[name.index()] {
            Some(value) => value,
            None => self.k(clif_type(self.plan.names.class(name)), 0),
        }
    }

    pub(super) fn set(&mut self, name: Name, value: Value) {
        let old = self.current[name.index()].replace(value);
        self.undo.push((name, old));
    }

    /// A guard as it is now: an instruction may write the predicate that guards it.
    pub(super) fn permit(&mut self, guard: Option<Guard>) -> Option<Permit> {
        guard.map(|guard| Permit {
            cond: self.value(guard.reg.into()),
            negated: guard.negated,
        })
    }

    /// Sets a name where the guard lets it through. Only for values that may be computed without.
    pub(super) fn set_guarded(&mut self, permit: Option<Permit>, name: Name, value: Value) {
        let value = match permit {
            None => value,
            Some(permit) => {
                let old = self.value(name);
                let (yes, no) = if permit.negated {
                    (old, value)
                } else {
                    (value, old)
                };
                self.b.ins().select(permit.cond, yes, no)
            }
        };
        self.set(name, value);
    }

    pub(super) fn set_resized(&mut self, guard: Option<Guard>, dst: Reg, value: Value) {
        let ty = clif_type(self.function.class(dst));
        let value = self.emit().resize(value, ty, false);
        let permit = self.permit(guard);
        self.set_guarded(permit, dst.into(), value);
    }

    /// The value of an operand, of which the low bits count.
    pub(super) fn operand(&mut self, operand: Operand, class: RegClass) -> Value {
        let ty = clif_type(class);
        match operand {
            Operand::Imm(value) => self.k(ty, value & class.mask()),
            Operand::Reg(reg) => {
                let value = self.value(reg.into());
                self.emit().resize(value, ty, false)
            }
        }
    }

    pub(super) fn emit(&mut self) -> Emit<'_, 'f> {
        Emit {
            b: &mut self.b,
            address_bits: self.module.address_bits,
        }
    }

    pub(super) fn k(&mut self, ty: Type, value: u64) -> Value {
        self.emit().k(ty, value)
    }

    /// A field of the context that never changes while native code runs.
    pub(super) fn uniform(&mut self, field: Field) -> Value {
        let ty = if field.bytes == 8 { I64 } else { I32 };
        self.b
            .ins()
            .load(ty, constant_memory(), self.context, field.offset)
    }

    pub(super) fn field(&mut self, field: Field) -> Value {
        let ty = if field.bytes == 8 { I64 } else { I32 };
        self.b.ins().load(ty, trusted(), self.context, field.offset)
    }

    pub(super) fn set_field(&mut self, field: Field, value: Value) {
        self.b
            .ins()
            .store(trusted(), value, self.context, field.offset);
    }

    /// Instructions from here on belong to this text.
    fn locate(&mut self, span: Span) {
        if self.spans.last() != Some(&span) {
            self.spans.push(span);
        }
        self.b
            .set_srcloc(SourceLoc::new(self.spans.len() as u32 - 1));
    }

    pub(super) fn site(&mut self, cause: Cause, span: Span, location: u32) -> u32 {
        self.sites.list.push(Site {
            function: self.owner,
            span,
            location,
            cause,
        });
        self.sites.list.len() as u32 - 1
    }

    pub(super) fn function_ref(
        &mut self,
        symbol: Symbol,
        signature: impl FnOnce(CallConv) -> clif::Signature,
    ) -> FuncRef {
        if let Some(&known) = self.functions.get(&symbol) {
            return known;
        }
        let signature = signature(self.convention);
        let reference = import(&mut self.b, symbol, signature);
        self.functions.insert(symbol, reference);
        reference
    }

    pub(super) fn signature_ref(&mut self, ty: &CallType) -> SigRef {
        if let Some(&known) = self.signatures.get(ty) {
            return known;
        }
        let signature = self.b.import_signature(abi::signature(ty, self.convention));
        self.signatures.insert(ty.clone(), signature);
        signature
    }

    /// A piece of the native stack.
    pub(super) fn stack_slot(&mut self, size: u32, align: u32) -> StackSlot {
        // Whole words, so that it can be cleared and copied by words.
        let size = size.next_multiple_of(8);
        let align_shift = align.clamp(8, 64).ilog2() as u8;
        self.b.create_sized_stack_slot(StackSlotData::new(
            StackSlotKind::ExplicitSlot,
            size,
            align_shift,
        ))
    }

    /// The memory of parameters, return parameters and variables that are not names.
    fn begin_slots(&mut self) {
        let function = self.function;
        let names = &self.plan.names;
        let mut homes = Vec::new();
        if !self.is_kernel() {
            for (i, p) in function.params.iter().enumerate() {
                let by_value = matches!(abi::passing(p.ty), abi::Passing::Value(_));
                let own = by_value || names.writes_param(i);
                if names.param(i).is_none() && p.kind == ParamKind::Memory && own {
                    homes.push((Home::Param(i as u32), p.ty));
                }
            }
            for (i, p) in function.returns.iter().enumerate() {
                if names.ret(i).is_none() {
                    homes.push((Home::Return(i as u32), p.ty));
                }
            }
        }
        for (i, v) in function.frame.iter().enumerate() {
            if names.frame(i).is_none() {
                homes.push((Home::Frame(i as u32), v.ty));
            }
        }
        for (home, ty) in homes {
            let slot = self.stack_slot(ty.size, ty.align);
            self.slots.insert(home, slot);
            let address = self.b.ins().stack_addr(I64, slot, 0);
            self.clear(address, ty.size.next_multiple_of(8));
        }
    }

    pub(super) fn slot(&mut self, home: Home) -> StackSlot {
        match self.slots.get(&home) {
            Some(&slot) => slot,
            #[expect(
                clippy::unreachable,
                reason = "`begin_slots` has made one for each that is no name"
            )]
            None => unreachable!("{home:?} has no memory"),
        }
    }
}

/// Declares a function that is called by symbol.
pub(super) fn import(
    b: &mut FunctionBuilder<'_>,
    symbol: Symbol,
    signature: clif::Signature,
) -> FuncRef {
    let signature = b.import_signature(signature);
    let name = b.func.declare_imported_user_function(symbol.external());
    b.import_function(clif::ExtFuncData {
        name: clif::ExternalName::user(name),
        signature,
        colocated: symbol.is_near(),
        patchable: false,
    })
}

/// Memory that is there.
pub(super) fn trusted() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// Memory that is there and does not change, so that reading it may move anywhere.
pub(super) fn constant_memory() -> MemFlagsData {
    trusted().with_readonly().with_can_move()
}
