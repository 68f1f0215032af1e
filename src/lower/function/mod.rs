//! The body of a function or kernel: values, blocks, guards, and the loop over threads around a kernel's region.

mod endings;
mod values;

use super::context::{DONE, EXITED, Field};
use super::emit::{Emit, clif_type};
use super::memory::OpenRun;
use super::region::Lane;
use super::site::{Cause, Site};
use super::symbols::Symbol;
use super::together::{Parts, Together};
use super::{Options, Sites, abi};
use crate::diag::Span;
use crate::ir::control::{CallType, Terminator};
use crate::ir::memory::Space;
use crate::ir::{
    BasicBlock, Block, FuncId, Function, FunctionKind, Inst, Kind, Module, ParamKind, Pure, PureOp,
    Reg, RegClass, compare, convert,
};
use crate::spmd::access::Home;
use crate::spmd::{Flow, FunctionPlan, ModulePlan, Name, Regions, Root, Run};
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
    /// Control flow as it is lowered.
    pub(super) flow: &'a Flow,
    /// Where threads stop in it.
    pub(super) regions: Option<&'a Regions>,
    /// Accesses that are checked together, by block.
    pub(super) runs_of: &'a [Vec<Run>],
    pub(super) options: &'a Options,
    pub(super) sites: &'a mut Sites,
    pub(super) b: FunctionBuilder<'f>,
    /// The host's calling convention, which internal calls share.
    pub(super) convention: CallConv,
    /// The context.
    pub(super) context: Value,
    /// The Cranelift block of each reachable block.
    pub(super) blocks: Vec<clif::Block>,
    /// The threads of a run, while code is made in which they go together.
    pub(super) together: Option<Together<'a>>,
    /// The value of each name here; `None` is zero. Of threads that go together the first one's, if the name does not vary.
    pub(super) current: Vec<Option<Value>>,
    /// What to restore when leaving a subtree of the dominator tree.
    pub(super) undo: Vec<(Name, Option<Value>)>,
    /// `%tid`, in kernels whose threads do not stop.
    pub(super) tid: Option<[Value; 3]>,
    /// The lane that runs, in kernels whose threads stop.
    pub(super) lane: Option<Lane>,
    /// The point behind which all code begins that leads here, if it is one.
    pub(super) before: Option<u32>,
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
    /// What [`Field::LOCAL_TOP`] was when the function was called, if it changes it.
    pub(super) local_top: Option<Value>,
    /// Where the local memory that is in use ends, in device functions that ask; what `alloca` gave apart.
    pub(super) locals_end: Option<Value>,
    /// Slots for last answers, by base register and space: what is known of generic addresses says nothing of global
    /// ones.
    pub(super) answers: FxHashMap<(Reg, Space), u32>,
    /// Sums of kernel parameters that point to memory.
    pub(super) roots: Vec<Root>,
    /// The runs of accesses that are under way.
    pub(super) runs: Vec<OpenRun>,
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
        let [fault_at, faulted] = endings(&mut b);
        Lower {
            module,
            id,
            owner: id,
            function,
            modules,
            plan,
            flow: &plan.flow,
            regions: plan.regions.as_ref(),
            runs_of: &plan.runs,
            options,
            sites,
            convention,
            context,
            blocks,
            together: None,
            current: vec![None; plan.names.len()],
            undo: Vec::new(),
            tid: None,
            lane: None,
            before: None,
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
            runs: Vec::new(),
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
        let wide = plan.wide.as_deref().filter(|_| self.options.width > 1);
        match (&plan.regions, self.function.kind) {
            (Some(regions), _) => self.lanes(regions, wide),
            (None, FunctionKind::Kernel) => match wide {
                Some(wide) => self.runs_of_threads(wide),
                None => self.kernel(),
            },
            (None, FunctionKind::Device) => self.device(),
        }
        self.endings();
        self.b.seal_all_blocks();
        (self.b, self.spans, self.roots)
    }

    /// Threads one after another, x fastest, each to its end.
    fn kernel(&mut self) {
        let [nz, ny, nx] = self.block_size();
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

    /// How many threads there are in z, y and x.
    pub(super) fn block_size(&mut self) -> [Value; 3] {
        [2, 1, 0].map(|i| self.uniform(Field::BLOCK.at(i)))
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
                    self.store_in_slot(params[i], slot);
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
        let regions = self.regions;
        let cfg = &self.flow.cfg;
        let mut stack = vec![(cfg.root(), 0, 0, 0, None)];
        while let Some((node, next, mark, vectors, before)) = stack.last_mut() {
            match cfg.dominated(*node).get(*next) {
                Some(&block) => {
                    *next += 1;
                    let marks = (self.undo.len(), self.vectors_mark());
                    let resumed = regions.and_then(|r| r.resumed(block));
                    self.before = resumed.or(*before);
                    let before = self.before;
                    self.block(block);
                    stack.push((block.index(), 0, marks.0, marks.1, before));
                }
                None => {
                    let (mark, vectors) = (*mark, *vectors);
                    stack.pop();
                    self.forget_vectors(vectors);
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
        let clif_block = self.blocks[block.index()];
        self.b.switch_to_block(clif_block);
        for &name in self.flow.ssa.phis(block) {
            if self.varies(name) {
                self.append_vectors(clif_block, name);
                continue;
            }
            let ty = self.met_type(name);
            let value = self.b.append_block_param(clif_block, ty);
            self.set(name, value);
        }
        let function = self.function;
        let body = function.block(block);
        if let Some(regions) = self.regions {
            self.owner = regions.owner(block);
            self.begin_region(regions, block);
        }
        if self.flow.cfg.is_header(block) {
            let (span, location) = body
                .insts
                .first()
                .map_or((body.span, body.location), |i| (i.span, i.location));
            self.locate(span);
            let site = self.site(Cause::Stop, span, location);
            self.poll(site);
        }
        let left = self.leave_if_unlike(block);
        let mut runs = self.runs_of[block.index()].iter().peekable();
        for (i, inst) in (0..).zip(&body.insts) {
            self.locate(inst.span);
            if let Some(run) = runs.next_if(|r| r.members.first() == Some(&i))
                && self.is_of_all(run)
            {
                self.check_run(run, body);
            }
            match self.together.is_some() {
                true => self.instruction_of_all(block, inst),
                false => self.instruction(inst),
            }
            self.runs.retain(|run| run.last != i);
        }
        self.locate(body.span);
        match self.regions.and_then(|r| Some((r, r.meets(block)?))) {
            Some((regions, point)) => self.meet(regions, point),
            None => match (left, self.sides(block)) {
                (Some((number, leave)), _) => self.part(block, Parts::ForGood(number, leave)),
                (None, Some(sides)) => self.part(block, Parts::Meets(sides)),
                (None, None) => self.terminator(body),
            },
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
            Kind::Stack(stack) => self.guarded(inst, |l| l.stack(inst, stack)),
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
        let moved = matches!(pure.op, PureOp::Convert(convert::Op::Mov { .. }));
        let numbers = moved || pure.op.takes_numbers();
        if let PureOp::Compare(compare::Op::Selp { class }) = pure.op
            && let Some(result) = self.selp(pure, class)
        {
            return smallvec![result];
        }
        let srcs: SmallVec<[Value; 5]> = (pure.srcs.iter().zip(&signature.srcs))
            .map(|(src, class)| match numbers {
                true => self.number(*src, *class),
                false => self.operand(*src, *class),
            })
            .collect();
        let mut emit = self.emit();
        match pure.op {
            PureOp::Integer(op) => smallvec![emit.integer(op, &srcs)],
            PureOp::Extended(op) => emit.extended(op, &srcs),
            PureOp::Bits(op) => emit.bits(op, &srcs),
            PureOp::Video(op) => smallvec![emit.video(op, &srcs)],
            PureOp::Compare(op) => emit.compare(op, &srcs),
            PureOp::Convert(op) => smallvec![emit.convert(op, &srcs)],
            PureOp::Float(op) => emit.float(op, &srcs),
        }
    }

    /// `selp` of results of arithmetic, which stay what they are; `None` of anything else.
    fn selp(&mut self, pure: &Pure, class: RegClass) -> Option<Value> {
        let &[a, b, cond] = &pure.srcs[..] else {
            return None;
        };
        let [a, b] = [a, b].map(|src| self.number(src, class));
        let cond = self.operand(cond, RegClass::Pred);
        self.emit().select_results(cond, a, b)
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

    pub(super) fn terminator(&mut self, block: &BasicBlock) {
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
                if self.together.is_some() {
                    self.tell_lane();
                }
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
    pub(super) fn locate(&mut self, span: Span) {
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

/// The blocks that faults go to: with a site and a value, and when all is in the context.
fn endings(b: &mut FunctionBuilder<'_>) -> [clif::Block; 2] {
    let fault_at = b.create_block();
    b.append_block_param(fault_at, I32);
    b.append_block_param(fault_at, I64);
    let faulted = b.create_block();
    for cold in [fault_at, faulted] {
        b.set_cold_block(cold);
    }
    [fault_at, faulted]
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
