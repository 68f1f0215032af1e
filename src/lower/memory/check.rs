//! The checks that confine accesses through addresses.
//!
//! A check compares the distance from the start of an extent with its length, both in units of the access's alignment:
//! rotating the distance right by log2 of the alignment makes a misaligned one larger than any length. Extents begin at
//! aligned addresses. Where the comparison fails, the host judges, and the access goes on or faults.

use super::super::abi;
use super::super::context::{Extent, Field, NO_SLOT, Start};
use super::super::function::{Lower, constant_memory, trusted};
use super::super::reach::Bits;
use super::super::site::{Cause, Judged};
use super::super::symbols::Symbol;
use super::Pointer;
use crate::ir::memory::{Address, Base, Space};
use crate::ir::{BasicBlock, FunctionKind, Inst, Reg, VarId};
use crate::machine::window;
use crate::spmd::access::{Home, Reach};
use crate::spmd::{Between, Root, Run};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{self as clif, InstBuilder, Opcode, Value};
use cranelift_codegen::isa::CallConv;
use std::mem::offset_of;

/// A run whose check has been made.
#[derive(Debug, Clone)]
pub(in super::super) struct OpenRun {
    /// Its last member.
    pub(in super::super) last: u32,
    /// The register that it is based on, and the space: what tells members from accesses between them.
    base: Reg,
    space: Space,
    /// Host pointer to the start of the checked range.
    start: Value,
    /// Distance of that from the register.
    offset: i64,
}

/// An access to be checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Check<'a> {
    pub(super) site: u32,
    pub(super) space: Space,
    pub(super) write: bool,
    pub(super) root: Option<&'a Root>,
    /// Where the last answer is kept, for addresses of unknown origin.
    pub(super) slot: Option<u32>,
    /// The address is this value and a distance.
    pub(super) base: Value,
    pub(super) offset: i32,
    /// Of threads that go together: whether the value has 32 bits in each, zero-extended, and so wraps around between them.
    pub(super) narrow: bool,
    /// Bytes, a multiple of the alignment.
    pub(super) bytes: u64,
    pub(super) align: u32,
    /// Of a run: what stands between its members.
    pub(super) between: &'a [Between],
}

impl Check<'_> {
    /// Whether all accesses are in an extent of so many pieces of the size of the alignment of whose base this is known, counted from where the
    /// extent begins.
    pub(super) fn holds_for(&self, base: Bits, pieces: u64) -> bool {
        let shift = self.align.ilog2();
        let Ok(offset) = u64::try_from(self.offset) else {
            return false;
        };
        let aligned = base.zeros.min(offset.trailing_zeros()) >= shift;
        let end = (base.most.checked_add(offset)).and_then(|last| last.checked_add(self.bytes));
        aligned && end.is_some_and(|end| end <= pieces << shift)
    }
}

/// Which addresses are good without asking.
pub(super) struct Bounds {
    /// Distances are counted from here; `None` is 0.
    pub(super) start: Option<Value>,
    /// How many pieces of the size of the alignment follow.
    pub(super) pieces: Value,
    pub(super) translation: Translation,
}

/// How addresses in an extent become host pointers.
pub(super) enum Translation {
    /// They are.
    Host,
    /// By adding this.
    Add(Value),
}

impl Lower<'_, '_> {
    /// The host pointer for an access through an address; checked unless that is not wanted, or done already.
    pub(in super::super) fn checked(
        &mut self,
        inst: &Inst,
        reach: &Reach,
        root: Option<&Root>,
    ) -> Pointer {
        let reg = match reach.address.base {
            Base::Reg(reg) => Some(reg),
            Base::Var(_) | Base::Absolute => None,
        };
        let run = |run: &&OpenRun| reg == Some(run.base) && reach.space == run.space;
        if let Some(run) = self.runs.iter().find(run) {
            return Pointer {
                base: run.start,
                offset: (reach.address.offset - run.offset) as i32,
            };
        }
        let at = self.address(&reach.address);
        let mut check = self.check_of(inst, reach, root, at, reach.access.bytes.into());
        check.slot = self.answer_slot(&check, reg);
        self.check(check)
    }

    /// The check of an access at a distance from a value, so many bytes; nothing is said of a slot.
    pub(super) fn check_of<'r>(
        &mut self,
        inst: &Inst,
        reach: &Reach,
        root: Option<&'r Root>,
        (base, offset): (Value, i32),
        bytes: u64,
    ) -> Check<'r> {
        let cause = Cause::Access {
            space: reach.space,
            access: reach.access,
            parameter: self.parameter(reach),
        };
        Check {
            site: self.site(cause, inst.span, inst.location),
            space: reach.space,
            write: reach.access.write,
            root,
            slot: None,
            base,
            offset,
            narrow: false,
            bytes,
            align: reach.access.align,
            between: &[],
        }
    }

    /// Checks all members of a run.
    pub(in super::super) fn check_run(&mut self, run: &Run, block: &BasicBlock) {
        let last = run.members.last().copied().unwrap_or(0);
        let mut members: Vec<(u32, usize)> = run.members.iter().map(|&m| (m, 0)).collect();
        for (which, between) in (1..).zip(&run.between) {
            members.extend(between.members.iter().map(|&m| (m, which)));
        }
        members.retain(|&(member, _)| member <= last);
        members.sort_unstable();
        let mut judged = Vec::new();
        for (member, which) in members {
            let inst = &block.insts[member as usize];
            let Some(reach) = Reach::of(inst) else {
                continue;
            };
            let cause = Cause::Access {
                space: reach.space,
                access: reach.access,
                parameter: None,
            };
            let site = self.site(cause, inst.span, inst.location);
            let start = if which == 0 { run.offset } else { 0 };
            judged.push(Judged {
                site,
                which,
                distance: reach.address.offset - start,
            });
        }
        let first = &block.insts[run.members[0] as usize];
        let site = self.site(Cause::Run(judged), first.span, first.location);
        let (base, offset) = self.address(&Address {
            base: Base::Reg(run.base),
            offset: run.offset,
        });
        let mut check = Check {
            site,
            space: run.space,
            write: run.writes,
            root: run.root.as_ref(),
            slot: None,
            base,
            offset,
            narrow: false,
            bytes: run.bytes,
            align: run.align,
            between: &run.between,
        };
        check.slot = self.answer_slot(&check, Some(run.base));
        let pointer = self.check(check);
        let start = self
            .emit()
            .add_k(pointer.base, i64::from(pointer.offset) as u64);
        self.runs.push(OpenRun {
            last,
            base: run.base,
            space: run.space,
            start,
            offset: run.offset,
        });
    }

    fn check(&mut self, check: Check<'_>) -> Pointer {
        if !self.options.checked {
            return self.unchecked(check);
        }
        let (within, translation) = self.within(&check);
        if self.emit().constant(within) == Some(1) {
            let base = match translation {
                Translation::Host => check.base,
                Translation::Add(delta) => self.b.ins().iadd(check.base, delta),
            };
            return Pointer {
                base,
                offset: check.offset,
            };
        }
        let (next, cold) = (self.b.create_block(), self.cold_block());
        match translation {
            Translation::Host => {
                self.b.ins().brif(within, next, &[], cold, &[]);
                self.b.switch_to_block(cold);
                self.ask(&check, next, false);
                self.b.switch_to_block(next);
                Pointer {
                    base: check.base,
                    offset: check.offset,
                }
            }
            Translation::Add(delta) => {
                let fast = self.b.ins().iadd(check.base, delta);
                let base = self.b.append_block_param(next, I64);
                self.b.ins().brif(within, next, &[fast.into()], cold, &[]);
                self.b.switch_to_block(cold);
                self.ask(&check, next, true);
                self.b.switch_to_block(next);
                Pointer {
                    base,
                    offset: check.offset,
                }
            }
        }
    }

    /// Whether an access is good without asking, and how its address becomes a host pointer then. Where it is known that it is, that is a
    /// constant.
    pub(super) fn within(&mut self, check: &Check<'_>) -> (Value, Translation) {
        let Bounds {
            start,
            pieces,
            translation,
        } = self.bounds(check);
        let units = check.bytes >> check.align.ilog2();
        let known = self.emit().constant(pieces);
        if let (None, Some(pieces)) = (start, known) {
            let base = self.emit().known_bits(check.base);
            if check.holds_for(base, pieces) {
                return (self.k(I8, 1), translation);
            }
        }
        let steps = self.steps(check, start);
        let mut limit = pieces;
        if let Some(pieces) = known {
            let limit = pieces.saturating_sub(units.saturating_sub(1));
            let within = self.emit().cmp_k(IntCC::UnsignedLessThan, steps, limit);
            return (within, translation);
        }
        // The last piece is looked at, where going on to it is known not to wrap around.
        let farthest = self.emit().known_bits(steps).most;
        if units > 1 && farthest.checked_add(units).is_some() {
            let last = self.emit().add_k(steps, units - 1);
            let within = self.b.ins().icmp(IntCC::UnsignedLessThan, last, limit);
            return (within, translation);
        }
        if units > 1 {
            limit = self.emit().add_k(limit, 1u64.wrapping_sub(units));
            let zero = self.k(I64, 0);
            limit = self.b.ins().smax(limit, zero);
        }
        let within = self.b.ins().icmp(IntCC::UnsignedLessThan, steps, limit);
        (within, translation)
    }

    /// The distance of an access from the start of an extent, in units of its alignment; some that no extent is as long as if it is
    /// misaligned.
    fn steps(&mut self, check: &Check<'_>, start: Option<Value>) -> Value {
        let shift = check.align.ilog2();
        let offset = i64::from(check.offset);
        let from_start = match start {
            None => Some(check.base),
            Some(_) => self.beyond_param(check),
        };
        // Nothing is lost when an index of 32 bits is scaled, so scaling it less gives what rotating would; negative ones are too
        // large either way.
        if offset % i64::from(check.align) == 0
            && let Some((index, scale)) = from_start.and_then(|value| self.emit().scaled(value))
            && (shift..16).contains(&scale)
        {
            let steps = self.emit().shl_k(index, scale - shift);
            return self.emit().add_k(steps, (offset >> shift) as u64);
        }
        let distance = match start {
            Some(start) => self.b.ins().isub(check.base, start),
            None => check.base,
        };
        let distance = self.emit().add_k(distance, offset as u64);
        if shift == 0 {
            return distance;
        }
        let shift = self.k(I32, shift.into());
        self.b.ins().rotr(distance, shift)
    }

    /// What is added to the pointer among the kernel's parameters that an address derives from, if it is as simple as that.
    fn beyond_param(&mut self, check: &Check<'_>) -> Option<Value> {
        let Some(Root::Params(offsets)) = check.root else {
            return None;
        };
        let &[offset] = &offsets[..] else { return None };
        let dfg = &self.b.func.dfg;
        let args = |value: Value, wanted: Opcode| {
            let inst = dfg.value_def(dfg.resolve_aliases(value)).inst()?;
            (dfg.insts[inst].opcode() == wanted).then(|| (inst, dfg.inst_args(inst)))
        };
        let loaded = |value: Value| {
            let (inst, args) = args(value, Opcode::Load)?;
            Some((dfg.insts[inst].load_store_offset()?, args[0]))
        };
        let is_param = |value: Value| {
            let (at, params) = loaded(value)?;
            let (field, context) = loaded(params)?;
            let right = at == i32::try_from(offset).ok()? && field == Field::PARAMS.offset;
            (right && context == self.context).then_some(())
        };
        let (_, sum) = args(check.base, Opcode::Iadd)?;
        match (is_param(sum[0]), is_param(sum[1])) {
            (Some(()), None) => Some(sum[1]),
            (None, Some(())) => Some(sum[0]),
            _ => None,
        }
    }

    pub(super) fn bounds(&mut self, check: &Check<'_>) -> Bounds {
        let shift = check.align.ilog2();
        match (check.space, check.root) {
            (Space::Shared | Space::Local | Space::Const | Space::Param, _) => {
                let (len, pointer) = self.window(check.space, check.write);
                let start = self.own_start(check.space);
                let delta = match start {
                    Some(start) => self.b.ins().isub(pointer, start),
                    None => pointer,
                };
                Bounds {
                    start,
                    pieces: self.count_pieces(len, shift),
                    translation: Translation::Add(delta),
                }
            }
            (Space::Global | Space::Generic, Some(Root::Variable(id)))
                if self.is_aligned(*id, check.align) =>
            {
                let variable = &self.module.variables[id.index()];
                let globals = self.uniform(Field::GLOBALS);
                Bounds {
                    start: Some(self.emit().add_k(globals, variable.offset)),
                    pieces: self.k(I64, variable.size >> shift),
                    translation: self.translate_host(check.space),
                }
            }
            (Space::Global | Space::Generic, Some(root @ Root::Params(offsets))) => {
                let index = match self.roots.iter().position(|r| r == root) {
                    Some(index) => index,
                    None => {
                        self.roots.push(root.clone());
                        self.roots.len() - 1
                    }
                };
                let table = self.uniform(Field::ROOTS);
                let mut load = |offset: usize| {
                    let offset = (index * size_of::<Start>() + offset) as i32;
                    self.b.ins().load(I64, constant_memory(), table, offset)
                };
                let counts = if check.write {
                    offset_of!(Start, write)
                } else {
                    offset_of!(Start, read)
                };
                let pieces = load(counts + 8 * shift as usize);
                let start = match offsets[..] {
                    // Read as the kernel itself reads it, so that `pointer + distance - pointer` is seen through.
                    [offset] if self.module.address_bits == 64 => {
                        let params = self.home(Home::Params, offset);
                        let flags = constant_memory();
                        self.b.ins().load(I64, flags, params.base, params.offset)
                    }
                    _ => load(offset_of!(Start, address)),
                };
                Bounds {
                    start: Some(start),
                    pieces,
                    translation: self.translate_host(check.space),
                }
            }
            (Space::Generic, Some(Root::Window(space))) => {
                let (len, pointer) = self.window(*space, check.write);
                let base = window::base(*space, self.module.address_bits).unwrap_or(0);
                let (start, delta) = match self.own_start(*space) {
                    None => {
                        let delta = self.emit().add_k(pointer, base.wrapping_neg());
                        (self.k(I64, base), delta)
                    }
                    Some(own) => {
                        let start = self.emit().add_k(own, base);
                        (start, self.b.ins().isub(pointer, start))
                    }
                };
                Bounds {
                    start: Some(start),
                    pieces: self.count_pieces(len, shift),
                    translation: Translation::Add(delta),
                }
            }
            (Space::Global | Space::Generic | Space::Cluster, _) => {
                let slot = check.slot.unwrap_or(0);
                let table = self.uniform(Field::ANSWERS);
                let mut load = |offset: usize| {
                    let offset = slot as usize * size_of::<Extent>() + offset;
                    self.b.ins().load(I64, trusted(), table, offset as i32)
                };
                let start = load(offset_of!(Extent, base));
                let len = load(if check.write {
                    offset_of!(Extent, write)
                } else {
                    offset_of!(Extent, read)
                });
                let translation = match check.space {
                    Space::Generic | Space::Cluster => {
                        Translation::Add(load(offset_of!(Extent, delta)))
                    }
                    Space::Global | Space::Shared | Space::Local | Space::Const | Space::Param => {
                        Translation::Host
                    }
                };
                Bounds {
                    start: Some(start),
                    pieces: self.count_pieces(len, shift),
                    translation,
                }
            }
        }
    }

    /// How many pieces of a power of two of bytes there are in so many.
    fn count_pieces(&mut self, len: Value, shift: u32) -> Value {
        match self.emit().constant(len) {
            Some(len) => self.k(I64, len >> shift),
            None => self.emit().shr_k(len, shift),
        }
    }

    /// How addresses of global memory become host pointers: they are, but the host may say otherwise of generic ones.
    fn translate_host(&mut self, space: Space) -> Translation {
        match space {
            Space::Generic => Translation::Add(self.k(I64, 0)),
            Space::Global
            | Space::Shared
            | Space::Cluster
            | Space::Local
            | Space::Const
            | Space::Param => Translation::Host,
        }
    }

    /// Where addresses of the CTA's own part of a window begin, if not at 0.
    fn own_start(&mut self, space: Space) -> Option<Value> {
        (space == Space::Shared && self.module.clusters).then(|| self.uniform(Field::SHARED_START))
    }

    /// Whether distances from a variable tell the alignment of addresses.
    fn is_aligned(&self, variable: VarId, align: u32) -> bool {
        let variable = &self.module.variables[variable.index()];
        variable.offset.is_multiple_of(align.into())
    }

    /// Bytes of a window that may be read or written, and its host pointer.
    fn window(&mut self, space: Space, write: bool) -> (Value, Value) {
        let (len, pointer, writable) = match space {
            Space::Shared => (Some(Field::SHARED_LEN), Field::SHARED, true),
            Space::Local => (None, Field::LOCAL, true),
            Space::Const => (Some(Field::CONSTANTS_LEN), Field::CONSTANTS, false),
            Space::Param => (Some(Field::PARAMS_LEN), Field::PARAMS, false),
            #[expect(
                clippy::unreachable,
                reason = "callers have told the windows from the rest"
            )]
            Space::Generic | Space::Global | Space::Cluster => unreachable!("not a window"),
        };
        let len = if write && !writable {
            self.k(I64, 0)
        } else {
            match (self.known_len(space), len) {
                (Some(len), _) => self.k(I64, len),
                (None, Some(field)) => self.uniform(field),
                (None, None) => self.locals_end(),
            }
        };
        let pointer = match self.lane {
            Some(lane) if space == Space::Local => self.lane_memory(lane),
            Some(_) | None => self.uniform(pointer),
        };
        (len, pointer)
    }

    /// Bytes that a window has at least, if it has no more at most launches: the host knows of the others.
    fn known_len(&self, space: Space) -> Option<u64> {
        let kernel = self.function.kind == FunctionKind::Kernel;
        match space {
            Space::Const => Some(self.module.const_bytes.into()),
            Space::Shared if kernel && !self.modules.dynamic_shared => {
                Some(self.function.shared_bytes.into())
            }
            Space::Shared
            | Space::Local
            | Space::Param
            | Space::Generic
            | Space::Global
            | Space::Cluster => None,
        }
    }

    /// Where the local memory ends that the thread can reach here.
    fn locals_end(&mut self) -> Value {
        if self.plan.stack {
            return self.field(Field::LOCAL_TOP);
        }
        self.variables_end()
    }

    /// The slot for the last answer to an access, if its origin is unknown.
    pub(super) fn answer_slot(&mut self, check: &Check<'_>, reg: Option<Reg>) -> Option<u32> {
        match (check.space, check.root) {
            (Space::Shared | Space::Local | Space::Const | Space::Param, _)
            | (Space::Global | Space::Generic, Some(Root::Params(_)))
            | (Space::Generic, Some(Root::Window(_))) => return None,
            (Space::Global | Space::Generic, Some(Root::Variable(id))) => {
                if self.is_aligned(*id, check.align) {
                    return None;
                }
            }
            (Space::Cluster, _)
            | (Space::Global, Some(Root::Window(_)))
            | (Space::Global | Space::Generic, None) => {}
        }
        if !self.options.checked {
            return None;
        }
        let next = self.sites.answers;
        let slot = match reg {
            Some(reg) => *self.answers.entry((reg, check.space)).or_insert(next),
            None => next,
        };
        if slot == next {
            self.sites.answers += 1;
        }
        Some(slot)
    }

    /// Has the host judge the access; goes on in `next`, with the host's pointer if it wants one, or ends with a fault.
    fn ask(&mut self, check: &Check<'_>, next: clif::Block, pointer: bool) {
        let resolve = self.function_ref(Symbol::Resolve, |_| {
            abi::simple(&[I64, I32, I64, I32], &[], CallConv::PreserveAll)
        });
        let site = self.k(I32, check.site.into());
        let address = self
            .emit()
            .add_k(check.base, i64::from(check.offset) as u64);
        let slot = check.slot.unwrap_or(NO_SLOT);
        let slot = self.k(I32, slot.into());
        for (i, between) in (0..).zip(check.between) {
            let base = self.value(between.base.into());
            let base = self.emit().resize(base, I64, false);
            self.set_field(Field::BETWEEN.at(i), base);
        }
        self.tell_lane();
        let context = self.context;
        self.b.ins().call(resolve, &[context, site, address, slot]);
        let answer = self.field(Field::ANSWER);
        let faulted = self.faulted();
        if pointer {
            let base = self
                .emit()
                .add_k(answer, i64::from(check.offset).wrapping_neg() as u64);
            self.b
                .ins()
                .brif(answer, next, &[base.into()], faulted, &[]);
        } else {
            self.b.ins().brif(answer, next, &[], faulted, &[]);
        }
    }

    pub(super) fn unchecked(&mut self, check: Check<'_>) -> Pointer {
        let base = match (check.space, check.root) {
            (Space::Global, _) => check.base,
            (Space::Shared | Space::Local | Space::Const | Space::Param, _) => {
                let (_, pointer) = self.window(check.space, false);
                let base = match self.own_start(check.space) {
                    Some(start) => self.b.ins().isub(check.base, start),
                    None => check.base,
                };
                self.b.ins().iadd(base, pointer)
            }
            (Space::Cluster, _) => {
                let next = self.b.create_block();
                let base = self.b.append_block_param(next, I64);
                self.ask(&check, next, true);
                self.b.switch_to_block(next);
                base
            }
            (Space::Generic, _) => {
                let shift = if self.module.address_bits == 32 {
                    28
                } else {
                    56
                };
                let least = if shift == 28 { 11 } else { 1 };
                let number = self.emit().shr_k(check.base, shift);
                let number = self.emit().add_k(number, u64::wrapping_sub(0, least));
                let global = self
                    .emit()
                    .cmp_k(IntCC::UnsignedGreaterThanOrEqual, number, 4);
                let (next, cold) = (self.b.create_block(), self.cold_block());
                let base = self.b.append_block_param(next, I64);
                self.b
                    .ins()
                    .brif(global, next, &[check.base.into()], cold, &[]);
                self.b.switch_to_block(cold);
                self.ask(&check, next, true);
                self.b.switch_to_block(next);
                base
            }
        };
        Pointer {
            base,
            offset: check.offset,
        }
    }
}
