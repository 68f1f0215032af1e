//! How code of a function ends: threads that are over, faults, launches that are stopped.

use super::super::abi;
use super::super::context::{DONE, FAULT, Field};
use super::{Lower, endings};
use crate::spmd::access::Home;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{self as clif, InstBuilder, MemFlagsData, Value};
use smallvec::{SmallVec, smallvec};

impl<'a, 'f> Lower<'a, 'f> {
    /// Returns from a device function with its results.
    pub(super) fn leave(&mut self) {
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
                        values.push(self.load_from_slot(ty, slot));
                    }
                }
                (Some(pointer), Some(name)) => {
                    let value = self.value(name);
                    let flags = self.ptx_memory();
                    self.b.ins().store(flags, value, pointer, 0);
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
    pub(super) fn end(&mut self, status: u32) {
        let status = self.k(I32, status.into());
        self.end_with(status);
    }

    /// Likewise, with a status found at run time.
    pub(in super::super) fn end_with(&mut self, status: Value) {
        let mut values: SmallVec<[Value; 2]> = smallvec![status];
        if self.b.func.signature.returns.len() > 1 {
            let ty = self.b.func.signature.returns[1].value_type;
            values.push(self.k(ty, 0));
        }
        self.b.ins().return_(&values);
    }

    /// Begins anew with blocks that faults and calls that were not done go to.
    pub(in super::super) fn begin_endings(&mut self) {
        [self.fault_at, self.faulted] = endings(&mut self.b);
        self.left = None;
    }

    /// The blocks that faults and calls that were not done go to.
    pub(in super::super) fn endings(&mut self) {
        if let Some(left) = self.left {
            self.leave_with(left);
        }
        self.b.switch_to_block(self.fault_at);
        let [site, value] = [0, 1].map(|i| self.b.block_params(self.fault_at)[i]);
        self.set_field(Field::FAULT_SITE, site);
        self.set_field(Field::FAULT_VALUE, value);
        self.b.ins().jump(self.faulted, &[]);
        self.b.switch_to_block(self.faulted);
        // Of a lane the host knows its number by, and the rest itself; of threads that go together it has been told which.
        if self.together.is_none() {
            self.tell_lane();
            self.store_tid();
        }
        self.end(FAULT);
    }

    pub(in super::super) fn store_tid(&mut self) {
        for (i, value) in (0..).zip(self.tid.into_iter().flatten()) {
            self.set_field(Field::TID.at(i), value);
        }
    }

    /// Ends with a fault here, and the value that its cause wants.
    pub(in super::super) fn fail(&mut self, site: u32, value: Option<Value>) {
        if self.together.is_some() {
            self.tell_lane();
        }
        let site = self.k(I32, site.into());
        let value = value.unwrap_or_else(|| self.k(I64, 0));
        self.b
            .ins()
            .jump(self.fault_at, &[site.into(), value.into()]);
    }

    /// Goes on if `ok`, else ends with a fault.
    pub(in super::super) fn require(&mut self, ok: Value, site: u32, value: Option<Value>) {
        let (next, cold) = (self.b.create_block(), self.cold_block());
        self.b.ins().brif(ok, next, &[], cold, &[]);
        self.b.switch_to_block(cold);
        self.fail(site, value);
        self.b.switch_to_block(next);
    }

    /// Where to go when the fault is in the context already.
    pub(in super::super) fn faulted(&self) -> clif::Block {
        self.faulted
    }

    /// Where to go with the status of a call that was not done.
    pub(in super::super) fn left(&mut self) -> clif::Block {
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
    pub(in super::super) fn latch(&self) -> Option<clif::Block> {
        self.latch
    }

    pub(in super::super) fn cold_block(&mut self) -> clif::Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }

    /// Looks whether somebody wants the launch to end.
    pub(in super::super) fn poll(&mut self, site: u32) {
        let raised = self.stop_raised();
        let (next, cold) = (self.b.create_block(), self.cold_block());
        self.b.ins().brif(raised, cold, &[], next, &[]);
        self.b.switch_to_block(cold);
        self.fail(site, None);
        self.b.switch_to_block(next);
    }

    /// The flag that asks to end; 0 if it does not.
    pub(in super::super) fn stop_raised(&mut self) -> Value {
        let stop = self.uniform(Field::STOP);
        // Not an ordinary load: that might be found redundant and the loop never end.
        self.b.ins().atomic_load(I32, MemFlagsData::trusted(), stop)
    }
}
