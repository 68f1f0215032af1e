//! Calls and special registers.

use super::abi::{self, Passing};
use super::context::{DONE, EXITED, Entry, Field};
use super::emit::clif_type;
use super::function::{Lower, constant_memory, trusted};
use super::site::{Cause, Service};
use super::symbols::Symbol;
use crate::ir::System;
use crate::ir::control::{Call, CallType, Callee, ParamTy, Slot};
use crate::ir::{FuncId, Function, Inst, RegClass, Special};
use crate::machine::window;
use crate::spmd::access::Home;
use crate::spmd::{Name, register_class};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{Block, InstBuilder, Type, Value};
use std::mem::offset_of;

/// What a call needs besides itself.
struct Needs {
    /// It may recurse, or be nested too deep: count it.
    counted: bool,
    /// A tree or row of such calls may take for ever.
    polled: bool,
    /// It may end otherwise than by returning.
    status: bool,
}

impl Lower<'_, '_> {
    pub(super) fn call(&mut self, inst: &Inst, call: &Call) {
        match &call.callee {
            Callee::Direct(callee) => {
                let function = &self.module.functions[callee.index()];
                if let Some(system) = System::of(function) {
                    return self.system(inst, call, function, system);
                }
                let facts = self.modules.facts[callee.index()];
                let own = self.modules.facts[self.id.index()];
                let ty = function.call_type();
                let needs = Needs {
                    counted: own.deep || facts.counted,
                    polled: facts.polled,
                    status: facts.faults || facts.exits,
                };
                let depth = self.enter(inst, &needs);
                if function.local_bytes > 0 {
                    let bytes = self.k(I64, function.local_bytes.into());
                    let align = self.k(I64, function.local_align.max(1).into());
                    self.require_locals(inst, bytes, align);
                }
                self.transfer(call, &ty, Target::Direct(*callee), depth, needs.status);
            }
            Callee::Indirect { target, ty } => {
                let class = RegClass::of_bits(self.module.address_bits).unwrap_or(RegClass::B64);
                let target = self.operand(*target, class);
                let (code, bytes, align) = self.find(inst, target, ty);
                let own = self.modules.facts[self.id.index()];
                let needs = Needs {
                    counted: own.counted,
                    polled: true,
                    status: true,
                };
                let depth = self.enter(inst, &needs);
                self.require_locals(inst, bytes, align);
                self.transfer(call, ty, Target::Indirect(code), depth, needs.status);
            }
        }
    }

    /// A system call.
    fn system(&mut self, inst: &Inst, call: &Call, function: &Function, system: System) {
        let ty = function.call_type();
        let args: Vec<Value> = (call.args.iter().zip(&ty.params))
            .map(|(slot, param)| self.argument(slot, *param))
            .collect();
        let results = self.serve(inst, Service::System(system), &args);
        for (slot, ret) in call.results.iter().zip(&ty.returns) {
            if let Passing::Value(ty) = abi::passing(*ret) {
                let low = self.options.abilities.low_part(ty);
                let value = self.b.ins().stack_load(I64, ty, results, low);
                self.set_result(slot, value);
            }
        }
    }

    /// Looks an address up in the table of functions: code, bytes and alignment of `.local` variables.
    fn find(&mut self, inst: &Inst, target: Value, ty: &CallType) -> (Value, Value, Value) {
        let site = self.site(Cause::Callee(ty.clone()), inst.span, inst.location);
        let target = self.emit().resize(target, I64, false);
        let first = window::function(0, self.module.address_bits);
        let distance = self.emit().add_k(target, first.wrapping_neg());
        // A multiple of 16 below 16 times the number of functions, in one comparison.
        let four = self.k(I32, 4);
        let index = self.b.ins().rotr(distance, four);
        let count = self.module.functions.len() as u64;
        let known = self.emit().cmp_k(IntCC::UnsignedLessThan, index, count);
        self.require(known, site, Some(target));
        let table = self.uniform(Field::FUNCTIONS);
        let size = self.k(I64, size_of::<Entry>() as u64);
        let offset = self.b.ins().imul(index, size);
        let entry = self.b.ins().iadd(table, offset);
        let mut load =
            |ty: Type, offset: usize| self.b.ins().load(ty, trusted(), entry, offset as i32);
        let number = load(I32, offset_of!(Entry, ty));
        let code = load(I64, offset_of!(Entry, code));
        let bytes = load(I32, offset_of!(Entry, local_bytes));
        let align = load(I64, offset_of!(Entry, local_align));
        let wanted = self.sites.type_number(ty);
        let right = self.emit().cmp_k(IntCC::Equal, number, wanted.into());
        self.require(right, site, Some(target));
        let bytes = self.emit().resize(bytes, I64, false);
        (code, bytes, align)
    }

    /// Polls and counts, as a call needs; gives the depth to return to.
    fn enter(&mut self, inst: &Inst, needs: &Needs) -> Option<Value> {
        if needs.polled {
            let site = self.site(Cause::Stop, inst.span, inst.location);
            self.poll(site);
        }
        if !needs.counted {
            return None;
        }
        let site = self.site(Cause::Depth, inst.span, inst.location);
        let depth = self.field(Field::DEPTH);
        let limit = self.uniform(Field::DEPTH_LIMIT);
        let within = self.b.ins().icmp(IntCC::UnsignedLessThan, depth, limit);
        self.require(within, site, None);
        let site = self.site(Cause::Stack, inst.span, inst.location);
        let stack = self.b.ins().get_stack_pointer(I64);
        let limit = self.uniform(Field::STACK_LIMIT);
        let room = self.b.ins().icmp(IntCC::UnsignedGreaterThan, stack, limit);
        self.require(room, site, None);
        let deeper = self.emit().add_k(depth, 1);
        self.set_field(Field::DEPTH, deeper);
        Some(depth)
    }

    /// Faults unless there is local memory for the function to be called.
    fn require_locals(&mut self, inst: &Inst, bytes: Value, align: Value) {
        let site = self.site(Cause::Locals, inst.span, inst.location);
        let top = self.field(Field::LOCAL_TOP);
        let negative = self.b.ins().ineg(align);
        let rounded = self.b.ins().iadd(top, align);
        let rounded = self.emit().add_k(rounded, u64::MAX);
        let start = self.b.ins().band(rounded, negative);
        let end = self.b.ins().iadd(start, bytes);
        let limit = self.uniform(Field::LOCAL_LIMIT);
        let fits = self
            .b
            .ins()
            .icmp(IntCC::UnsignedLessThanOrEqual, end, limit);
        // A function without variables needs no room, not even for alignment.
        let none = self.emit().cmp_k(IntCC::Equal, bytes, 0);
        let fits = self.b.ins().bor(fits, none);
        self.require(fits, site, Some(end));
    }

    /// The call itself: arguments, status, results.
    fn transfer(
        &mut self,
        call: &Call,
        ty: &CallType,
        target: Target,
        depth: Option<Value>,
        status: bool,
    ) {
        let mut args = vec![self.context];
        for (slot, param) in call.args.iter().zip(&ty.params) {
            args.push(self.argument(slot, *param));
        }
        let by_value = abi::result(&ty.returns);
        let mut temporaries = Vec::new();
        if by_value.is_none() {
            for (slot, ret) in call.results.iter().zip(&ty.returns) {
                let pointer = self.result_memory(slot, *ret);
                args.push(pointer);
                temporaries.push(pointer);
            }
        }
        let convention = self.convention;
        let inst = match target {
            Target::Direct(callee) => {
                let callee =
                    self.function_ref(Symbol::Function(callee), |_| abi::signature(ty, convention));
                self.b.ins().call(callee, &args)
            }
            Target::Indirect(code) => {
                let signature = self.signature_ref(ty);
                self.b.ins().call_indirect(signature, code, &args)
            }
        };
        let values = self.b.inst_results(inst).to_vec();
        if status {
            self.judge(values[0]);
        }
        if let Some(depth) = depth {
            self.set_field(Field::DEPTH, depth);
        }
        for (i, (slot, ret)) in call.results.iter().zip(&ty.returns).enumerate() {
            match by_value {
                Some(_) => self.set_result(slot, values[1]),
                None => {
                    if let Some(class) = register_class(*ret)
                        && !self.is_memory(slot)
                    {
                        let ty = clif_type(class);
                        let flags = self.ptx_memory();
                        let value = self.b.ins().load(ty, flags, temporaries[i], 0);
                        self.set_result(slot, value);
                    }
                }
            }
        }
    }

    /// Goes on after a call that was done; ends, or ends the thread, after others.
    fn judge(&mut self, status: Value) {
        let done = self.emit().cmp_k(IntCC::Equal, status, DONE.into());
        let (next, left) = (self.b.create_block(), self.left());
        self.b.ins().brif(done, next, &[], left, &[status.into()]);
        self.b.switch_to_block(next);
    }

    /// Where all calls lead that were not done: ends with the status that is the block's parameter.
    pub(super) fn leave_with(&mut self, left: Block) {
        self.b.switch_to_block(left);
        let status = self.b.block_params(left)[0];
        match self.latch() {
            None => self.end_with(status),
            Some(latch) => {
                let over = self.emit().cmp_k(IntCC::Equal, status, EXITED.into());
                let (exited, faulted) = (self.cold_block(), self.faulted());
                self.b.ins().brif(over, exited, &[], faulted, &[]);
                self.b.switch_to_block(exited);
                // The functions that the thread was in did not clean up.
                self.end_of_variables();
                let zero = self.k(I32, 0);
                self.set_field(Field::DEPTH, zero);
                self.b.ins().jump(latch, &[]);
            }
        }
    }

    fn argument(&mut self, slot: &Slot, param: ParamTy) -> Value {
        match abi::passing(param) {
            Passing::Value(ty) => match slot {
                Slot::Value(operand) => {
                    let class = register_class(param).unwrap_or(RegClass::B64);
                    self.operand(*operand, class)
                }
                Slot::Frame(_) | Slot::Param(_) => match self.plan.names.of_slot(slot) {
                    Some(name) => {
                        let value = self.value(name);
                        self.emit().resize(value, ty, false)
                    }
                    None => {
                        let pointer = self.slot_memory(slot);
                        let flags = self.ptx_memory();
                        self.b.ins().load(ty, flags, pointer, 0)
                    }
                },
                Slot::Sink => self.k(ty, 0),
            },
            Passing::Pointer => self.slot_memory(slot),
        }
    }

    /// The memory that an argument lies in.
    fn slot_memory(&mut self, slot: &Slot) -> Value {
        let home = match slot {
            Slot::Frame(i) => Home::Frame(*i),
            Slot::Param(i) if self.is_kernel() => {
                let offset = self.function.params[*i as usize].offset;
                let params = self.uniform(Field::PARAMS);
                return self.emit().add_k(params, offset.into());
            }
            Slot::Param(i) => Home::Param(*i),
            #[expect(
                clippy::unreachable,
                reason = "only what lies in memory is passed by pointer"
            )]
            Slot::Value(_) | Slot::Sink => unreachable!("an argument by pointer without memory"),
        };
        self.home(home, 0).base
    }

    /// Whether a result is written where it belongs by the callee itself.
    fn is_memory(&self, slot: &Slot) -> bool {
        matches!(slot, Slot::Frame(i) if self.plan.names.frame(*i as usize).is_none())
    }

    /// Memory for a result that does not come by value.
    fn result_memory(&mut self, slot: &Slot, ty: ParamTy) -> Value {
        if self.is_memory(slot) {
            return self.slot_memory(slot);
        }
        let temporary = self.stack_slot(ty.size, ty.align);
        self.b.ins().stack_addr(I64, temporary, 0)
    }

    fn set_result(&mut self, slot: &Slot, value: Value) {
        match self.plan.names.of_slot(slot) {
            Some(name) => {
                let ty = clif_type(self.plan.names.class(name));
                let value = self.emit().resize(value, ty, false);
                let value = self.passed(name, value);
                self.set(name, value);
            }
            None if self.is_memory(slot) => {
                let pointer = self.slot_memory(slot);
                let flags = self.ptx_memory();
                self.b.ins().store(flags, value, pointer, 0);
            }
            None => {}
        }
    }

    /// A value from outside the function as a name holds it: of a predicate, the host and functions that are called
    /// through pointers may pass any byte.
    pub(super) fn passed(&mut self, name: Name, value: Value) -> Value {
        match self.plan.names.class(name) {
            RegClass::Pred => {
                let one = self.k(I8, 1);
                self.b.ins().band(value, one)
            }
            RegClass::B8 | RegClass::B16 | RegClass::B32 | RegClass::B64 => value,
        }
    }

    /// The value of a special register, of 32 or 64 bits (8 for a predicate).
    pub(super) fn special(&mut self, special: Special) -> Value {
        match special {
            Special::Tid(i) => self.thread_index(i),
            Special::Ntid(i) => self.axis(Field::BLOCK, i),
            Special::Ctaid(i) => self.axis(Field::CTAID, i),
            Special::Nctaid(i) => self.axis(Field::GRID, i),
            Special::Clusterid(i) => self.axis(Field::CLUSTERID, i),
            Special::Nclusterid(i) => self.axis(Field::CLUSTER_GRID, i),
            Special::ClusterCtaid(i) => self.axis(Field::CLUSTER_CTAID, i),
            Special::ClusterNctaid(i) => self.axis(Field::CLUSTER, i),
            Special::ClusterCtarank => self.uniform(Field::CLUSTER_RANK),
            Special::ClusterNctarank => self.uniform(Field::CLUSTER_CTAS),
            Special::IsExplicitCluster => {
                let explicit = self.uniform(Field::EXPLICIT_CLUSTER);
                self.emit().resize(explicit, I8, false)
            }
            Special::SharedStart => {
                let start = self.uniform(Field::SHARED_START);
                self.emit().resize(start, I32, false)
            }
            Special::Laneid => self.lane(),
            Special::Warpid => {
                let linear = self.linear_thread();
                self.emit().shr_k(linear, 5)
            }
            Special::Nwarpid => self.uniform(Field::WARPS),
            Special::Smid => self.uniform(Field::LINEAR_CTAID),
            Special::Nsmid => self.k(I32, 1),
            Special::Pm(_) | Special::Envreg(_) | Special::ReservedSmemOffset => self.k(I32, 0),
            Special::Gridid | Special::Pm64(_) | Special::CurrentGraphExec => self.k(I64, 0),
            Special::LanemaskEq => self.lane_bit(),
            Special::LanemaskLt => {
                let bit = self.lane_bit();
                self.emit().add_k(bit, u64::MAX)
            }
            Special::LanemaskLe => {
                let bit = self.lane_bit();
                let below = self.emit().add_k(bit, u64::MAX);
                self.emit().or(below, bit)
            }
            Special::LanemaskGe => {
                let bit = self.lane_bit();
                self.b.ins().ineg(bit)
            }
            Special::LanemaskGt => {
                let bit = self.lane_bit();
                let from_here = self.b.ins().ineg(bit);
                self.b.ins().bxor(from_here, bit)
            }
            Special::Clock | Special::Globaltimer | Special::Clock64 | Special::GlobaltimerLo => {
                self.clock()
            }
            Special::ClockHi | Special::GlobaltimerHi => {
                let clock = self.clock();
                self.emit().shr_k(clock, 32)
            }
            Special::TotalSmemSize | Special::AggrSmemSize => self.uniform(Field::SHARED_LEN),
            Special::DynamicSmemSize => self.uniform(Field::DYNAMIC_SHARED_LEN),
        }
    }

    /// An element of a field of three; there is no fourth axis.
    fn axis(&mut self, field: Field, i: u8) -> Value {
        if i > 2 {
            return self.k(I32, 0);
        }
        self.uniform(field.at(i))
    }

    fn thread_index(&mut self, i: u8) -> Value {
        match (self.lane, self.tid) {
            _ if i > 2 => self.k(I32, 0),
            (Some(lane), _) => self.lane_index(lane, i),
            (None, Some(tid)) => tid[usize::from(i)],
            // It stays the same as long as the function runs.
            (None, None) => {
                let field = Field::TID.at(i);
                self.b
                    .ins()
                    .load(I32, constant_memory(), self.context, field.offset)
            }
        }
    }

    fn linear_thread(&mut self) -> Value {
        let [x, y, z] = [0, 1, 2].map(|i| self.thread_index(i));
        let [nx, ny] = [0, 1].map(|i| self.uniform(Field::BLOCK.at(i)));
        let rows = self.b.ins().imul(z, ny);
        let rows = self.b.ins().iadd(rows, y);
        let threads = self.b.ins().imul(rows, nx);
        self.b.ins().iadd(threads, x)
    }

    fn lane(&mut self) -> Value {
        let linear = self.linear_thread();
        self.emit().and_k(linear, 31)
    }

    fn lane_bit(&mut self) -> Value {
        let lane = self.lane();
        let one = self.k(I32, 1);
        self.b.ins().ishl(one, lane)
    }

    fn clock(&mut self) -> Value {
        let clock = self.function_ref(Symbol::ClockHost, |c| abi::simple(&[], &[I64], c));
        let inst = self.b.ins().call(clock, &[]);
        self.b.inst_results(inst)[0]
    }
}

/// Where control goes.
enum Target {
    Direct(FuncId),
    Indirect(Value),
}
