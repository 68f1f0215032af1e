//! The function's own memory: `.local` frames, stack slots, and memory that is cleared and copied.

use super::super::context::Field;
use super::super::function::Lower;
use super::super::site::{Cause, Service};
use super::Pointer;
use crate::ir::Inst;
use crate::ir::memory::{Space, Stack};
use crate::spmd::access::Reach;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, StackSlot, Type, Value};

impl Lower<'_, '_> {
    /// Room for the function's `.local` variables, all zero.
    pub(in super::super) fn begin_locals(&mut self) {
        let bytes = self.function.local_bytes;
        let stack = self.plan.stack;
        if self.is_kernel() && stack {
            // The thread before may have left it anywhere.
            self.end_of_variables();
        }
        if bytes == 0 {
            if !self.is_kernel() && (stack || self.reaches_locals()) {
                let top = self.field(Field::LOCAL_TOP);
                self.locals_end = Some(top);
                self.local_top = stack.then_some(top);
            }
            return;
        }
        let window = self.lane_local();
        let (pointer, start) = if self.is_kernel() {
            (window, self.k(I64, 0))
        } else {
            let top = self.field(Field::LOCAL_TOP);
            let start = self.align_up(top, self.function.local_align);
            let end = self.emit().add_k(start, bytes.into());
            self.set_field(Field::LOCAL_TOP, end);
            (self.local_top, self.locals_end) = (Some(top), Some(end));
            (self.b.ins().iadd(window, start), start)
        };
        self.locals = Some((pointer, start));
        self.clear(pointer, bytes);
    }

    /// Lets the local memory of a kernel's thread end behind its variables.
    pub(in super::super) fn end_of_variables(&mut self) {
        let end = self.k(I64, self.function.local_bytes.into());
        self.set_field(Field::LOCAL_TOP, end);
    }

    /// `alloca`, `stacksave`, `stackrestore`
    pub(in super::super) fn stack(&mut self, inst: &Inst, stack: &Stack) {
        match *stack {
            Stack::Allocate { dst, size, align } => {
                let size = self.operand(size, self.function.class(dst));
                let results = self.serve(inst, Service::Allocate { align }, &[size]);
                self.set_results(&[Some(dst)], results);
            }
            Stack::Save { dst } => {
                let top = self.field(Field::LOCAL_TOP);
                self.set_resized(None, dst, top);
            }
            Stack::Restore { src } => {
                let site = self.site(Cause::Restore, inst.span, inst.location);
                let end = self.value(src.into());
                let end = self.emit().resize(end, I64, false);
                let least = self.variables_end();
                let most = self.field(Field::LOCAL_TOP);
                // What lies below the least is huge.
                let above = self.b.ins().isub(end, least);
                let room = self.b.ins().isub(most, least);
                let within = self
                    .b
                    .ins()
                    .icmp(IntCC::UnsignedLessThanOrEqual, above, room);
                self.require(within, site, Some(end));
                self.set_field(Field::LOCAL_TOP, end);
            }
        }
    }

    /// Where the function's variables end: in one without any, where the caller's local memory does.
    pub(super) fn variables_end(&mut self) -> Value {
        match self.locals_end {
            Some(end) => end,
            None => self.k(I64, self.function.local_bytes.into()),
        }
    }

    /// The local memory of the thread.
    pub(in super::super) fn lane_local(&mut self) -> Value {
        match self.lane {
            Some(lane) => self.lane_memory(lane),
            None => self.uniform(Field::LOCAL),
        }
    }

    /// Whether the function reaches into local memory by addresses that it computes.
    fn reaches_locals(&self) -> bool {
        (self.function.blocks.iter().flat_map(|b| &b.insts)).any(|inst| {
            Reach::of(inst).is_some_and(|r| matches!(r.space, Space::Local | Space::Generic))
        })
    }

    /// Gives the room back.
    pub(in super::super) fn end_locals(&mut self) {
        if let Some(top) = self.local_top {
            self.set_field(Field::LOCAL_TOP, top);
        }
    }

    /// x rounded up to a multiple of a power of two.
    pub(in super::super) fn align_up(&mut self, x: Value, align: u32) -> Value {
        let align = u64::from(align.max(1));
        let x = self.emit().add_k(x, align - 1);
        self.emit().and_k(x, align.wrapping_neg())
    }

    /// Puts a value into a stack slot that PTX sees.
    pub(in super::super) fn store_in_slot(&mut self, value: Value, slot: StackSlot) {
        if !self.options.abilities.big_endian {
            self.b.ins().stack_store(I64, value, slot, 0);
            return;
        }
        let address = self.b.ins().stack_addr(I64, slot, 0);
        let flags = self.ptx_memory();
        self.b.ins().store(flags, value, address, 0);
    }

    /// What a stack slot holds that PTX sees.
    pub(in super::super) fn load_from_slot(&mut self, ty: Type, slot: StackSlot) -> Value {
        if !self.options.abilities.big_endian {
            return self.b.ins().stack_load(I64, ty, slot, 0);
        }
        let address = self.b.ins().stack_addr(I64, slot, 0);
        let flags = self.ptx_memory();
        self.b.ins().load(ty, flags, address, 0)
    }

    /// Zeroes memory.
    pub(in super::super) fn clear(&mut self, pointer: Value, bytes: u32) {
        let zero = self.k(I64, 0);
        self.pieces(bytes, |l, ty, at| {
            let zero = if ty == I64 { zero } else { l.k(ty, 0) };
            let flags = MemFlagsData::new().with_notrap();
            let address = at.from(l, pointer);
            l.b.ins().store(flags, zero, address.base, address.offset);
        });
    }

    /// Copies memory that does not overlap.
    pub(in super::super) fn copy(&mut self, to: Value, from: Value, bytes: u32) {
        self.pieces(bytes, |l, ty, at| {
            let flags = MemFlagsData::new().with_notrap();
            let source = at.from(l, from);
            let value = l.b.ins().load(ty, flags, source.base, source.offset);
            let target = at.from(l, to);
            l.b.ins().store(flags, value, target.base, target.offset);
        });
    }

    /// Calls `f` for words and a rest that make up `bytes`: one by one, or in a loop if they are many.
    fn pieces(&mut self, bytes: u32, mut f: impl FnMut(&mut Self, Type, Step)) {
        const INLINE: u32 = 128;
        let words = bytes / 8;
        let mut done = 0;
        if bytes > INLINE {
            let (head, next) = (self.b.create_block(), self.b.create_block());
            let index = self.b.append_block_param(head, I64);
            let zero = self.k(I64, 0);
            self.b.ins().jump(head, &[zero.into()]);
            self.b.switch_to_block(head);
            f(self, I64, Step::Variable(index));
            let after = self.emit().add_k(index, 8);
            let more = self
                .emit()
                .cmp_k(IntCC::UnsignedLessThan, after, u64::from(words) * 8);
            self.b.ins().brif(more, head, &[after.into()], next, &[]);
            self.b.switch_to_block(next);
            done = words * 8;
        }
        for ty in [I64, I32, I16, I8] {
            while bytes - done >= ty.bytes() {
                f(self, ty, Step::Constant(done as i32));
                done += ty.bytes();
            }
        }
    }
}

/// A distance from the start of a piece of memory.
#[derive(Clone, Copy)]
enum Step {
    Constant(i32),
    Variable(Value),
}

impl Step {
    fn from(self, l: &mut Lower<'_, '_>, start: Value) -> Pointer {
        match self {
            Step::Constant(offset) => Pointer {
                base: start,
                offset,
            },
            Step::Variable(offset) => Pointer {
                base: l.b.ins().iadd(start, offset),
                offset: 0,
            },
        }
    }
}
