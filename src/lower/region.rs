//! Kernels whose threads stop: the loop over the lanes of a warp, and the points at which a lane leaves and goes on.
//!
//! Such a kernel is entered for some lanes of a warp. For each in turn it goes on where the lane stands: at the start, or
//! behind a point. Where the lane stops next, what lives across the point and is not found again is kept in the warp's frame,
//! slot by slot, a lane beside the other; the schedule's [`Record`] gets what the lane stops for.

use super::context::{DONE, Field};
use super::emit::clif_type;
use super::function::{Lower, constant_memory, trusted};
use crate::ir::{Block, Inst};
use crate::machine::schedule::{EXITED, LANES, Record, TURN, YIELDED};
use crate::spmd::regions::{Regions, Stop};
use crate::spmd::{Name, Names};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{self as clif, InstBuilder, JumpTableData, Value};
use rustc_hash::FxHashSet;
use std::mem::offset_of;

/// Bytes of a row of [`Record::values`].
const ROW: usize = 8 * LANES;

/// So many points are compared with where a lane stands, one after the other; a table of more costs less.
const FEW_POINTS: usize = 4;

/// The lane that runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lane {
    /// Where its element of [`Record::sites`] is.
    site: Value,
    /// Where its element of the first [`Record::values`] is.
    values: Value,
    /// Where its parts of the frame are, from the first byte of a slot: of slots of four bytes, and of eight.
    frame: [Value; 2],
    /// Its local memory.
    pub(super) local: Value,
    /// Where the next lane is turned to.
    next: clif::Block,
}

impl<'a> Lower<'a, '_> {
    /// A kernel whose threads stop.
    pub(super) fn lanes(&mut self, regions: &'a Regions) {
        let [lanes, local_bytes] = [Field::LANES, Field::LOCAL_STRIDE].map(|f| self.field(f));
        let [record, frames, locals, tids] =
            [Field::RECORD, Field::FRAME, Field::LOCALS, Field::TIDS].map(|f| self.field(f));
        let head = self.b.create_block();
        let rest = self.b.append_block_param(head, I32);
        self.b.ins().jump(head, &[lanes.into()]);
        self.b.switch_to_block(head);
        let lane = self.b.ins().ctz(rest);
        let others = self.emit().add_k(rest, u64::MAX);
        let others = self.b.ins().band(rest, others);
        let lane = self.emit().resize(lane, I64, false);
        let [words, doubles] = [2, 3].map(|shift| self.emit().shl_k(lane, shift));
        let stride = self.b.ins().imul(lane, local_bytes);
        let [site, values] = [offset_of!(Record, sites), offset_of!(Record, values)]
            .map(|offset| self.emit().add_k(record, offset as u64));
        let next = self.b.create_block();
        let own = Lane {
            site: self.b.ins().iadd(site, words),
            values: self.b.ins().iadd(values, doubles),
            frame: [words, doubles].map(|lane| self.b.ins().iadd(frames, lane)),
            local: self.b.ins().iadd(locals, stride),
            next,
        };
        self.lane = Some(own);
        let number = self.emit().resize(lane, I32, false);
        self.set_field(Field::LANE, number);
        let tids = self.b.ins().iadd(tids, words);
        let index = |l: &mut Self, i: usize| {
            let offset = (4 * LANES * i) as i32;
            l.b.ins().load(I32, constant_memory(), tids, offset)
        };
        self.tid = Some([0, 1, 2].map(|i| index(self, i)));
        if self.plan.calls {
            self.store_tid();
            self.set_field(Field::LOCAL, own.local);
        }
        if self.function.local_bytes > 0 {
            self.locals = Some((own.local, self.k(I64, 0)));
        }
        let yields = |stop| match stop {
            Stop::Yields(_) => true,
            Stop::Meets { .. } => false,
        };
        if regions.points.iter().any(|p| yields(p.stop)) {
            self.set_turn(TURN);
        }
        let over = self.b.create_block();
        self.latch = Some(over);

        let start = self.b.create_block();
        let point = self.b.ins().load(I32, trusted(), own.frame[0], 0);
        let resumed: Vec<clif::Block> = (regions.points.iter())
            .map(|p| self.blocks[p.resume.index()])
            .collect();
        self.turn_to(point, start, &resumed);

        self.b.switch_to_block(start);
        if let Some((pointer, _)) = self.locals {
            self.clear(pointer, self.function.local_bytes);
        }
        self.body();

        self.b.switch_to_block(over);
        self.leave_at(EXITED);
        self.b.switch_to_block(next);
        let done = self.b.create_block();
        self.b.ins().brif(others, head, &[others.into()], done, &[]);
        self.b.switch_to_block(done);
        let status = self.k(I32, DONE.into());
        self.b.ins().return_(&[status]);
    }

    /// Goes where a lane stands: at the start (0), or behind a point.
    fn turn_to(&mut self, point: Value, start: clif::Block, resumed: &[clif::Block]) {
        if resumed.len() <= FEW_POINTS {
            for (number, &block) in (1..).zip(resumed) {
                let number = self.k(I32, number);
                let here = self.b.ins().icmp(IntCC::Equal, point, number);
                let other = self.b.create_block();
                self.b.ins().brif(here, block, &[], other, &[]);
                self.b.switch_to_block(other);
            }
            self.b.ins().jump(start, &[]);
            return;
        }
        let calls: Vec<clif::BlockCall> = std::iter::once(&start)
            .chain(resumed)
            .map(|&block| self.b.func.dfg.block_call(block, &[]))
            .collect();
        // No other number is ever kept.
        let beyond = self.b.func.dfg.block_call(start, &[]);
        let table = self.b.create_jump_table(JumpTableData::new(beyond, &calls));
        self.b.ins().br_table(point, table);
    }

    fn set_turn(&mut self, turn: u32) {
        let turn = self.k(I32, turn.into());
        self.set_field(Field::TURN, turn);
    }

    /// Turns to the next lane, with what the schedule is to know of this one.
    fn leave_at(&mut self, site: u32) {
        if let Some(lane) = self.lane {
            let site = self.k(I32, site.into());
            self.b.ins().store(trusted(), site, lane.site, 0);
            self.b.ins().jump(lane.next, &[]);
        }
    }

    /// Keeps what lives across a point, and that the lane stands there.
    fn keep(&mut self, lane: Lane, point: u32) {
        let plan = self.plan;
        let crossing = &plan.crossings[point as usize];
        for (&name, slot) in crossing.framed.iter().zip(&crossing.slots) {
            let value = self.value(name);
            let at = lane.frame[usize::from(slot.wide)];
            self.b.ins().store(trusted(), value, at, slot.offset as i32);
        }
        let number = self.k(I32, u64::from(point) + 1);
        self.b.ins().store(trusted(), number, lane.frame[0], 0);
    }

    /// Stops the lane at the end of a block.
    pub(super) fn meet(&mut self, regions: &'a Regions, point: u32) {
        let (Some(lane), Some((site, meet))) = (self.lane, regions.meeting(point)) else {
            return;
        };
        for (i, (src, class)) in (0..).zip(meet.srcs.iter().zip(meet.op.signature().srcs)) {
            let value = self.operand(*src, class);
            let value = self.emit().resize(value, I64, false);
            let at = i * ROW as i32;
            self.b.ins().store(trusted(), value, lane.values, at);
        }
        self.keep(lane, point);
        self.leave_at(site);
    }

    /// Stops the lane at the start of a block, if its turn is over.
    pub(super) fn yields(&mut self, point: u32) {
        let Some(lane) = self.lane else { return };
        let turn = self.field(Field::TURN);
        let turn = self.emit().add_k(turn, u64::MAX);
        self.set_field(Field::TURN, turn);
        let (go_on, cold) = (self.b.create_block(), self.cold_block());
        self.b.ins().brif(turn, go_on, &[], cold, &[]);
        self.b.switch_to_block(cold);
        self.keep(lane, point);
        self.leave_at(YIELDED);
        self.b.switch_to_block(go_on);
    }

    /// Goes on behind a point: what was kept, what is found again, what the meeting gave.
    pub(super) fn resume(&mut self, regions: &'a Regions, point: u32) {
        let Some(lane) = self.lane else { return };
        let plan = self.plan;
        let crossing = &plan.crossings[point as usize];
        for (&name, slot) in crossing.framed.iter().zip(&crossing.slots) {
            let ty = clif_type(plan.names.class(name));
            let at = lane.frame[usize::from(slot.wide)];
            let value = self.b.ins().load(ty, trusted(), at, slot.offset as i32);
            self.set(name, value);
        }
        let mut found = FxHashSet::default();
        for &name in &crossing.rebuilt {
            self.rebuild(name, &mut found);
        }
        match regions.meeting(point) {
            Some((_, meet)) => {
                for (i, dst) in (0..).zip(&meet.dsts) {
                    let Some(name) = dst.map(Name::from) else {
                        continue;
                    };
                    let ty = clif_type(plan.names.class(name));
                    let at = i * ROW as i32;
                    let value = self.b.ins().load(ty, trusted(), lane.values, at);
                    self.set(name, value);
                }
            }
            // The way back into the loop is not one of the turn's.
            None => self.set_turn(TURN + 1),
        }
    }

    /// Computes a steady name anew, and first what it is made of.
    fn rebuild(&mut self, name: Name, found: &mut FxHashSet<Name>) {
        let plan = self.plan;
        if !found.insert(name) {
            return;
        }
        let Some(definition) = plan.steady.as_ref().and_then(|s| s.definition(name)) else {
            return;
        };
        let function = self.function;
        let inst: &'a Inst = &function.block(definition.block).insts[definition.inst];
        let mut sources = Vec::new();
        Names::uses(&plan.names, inst, |n| sources.push(n));
        for source in sources {
            self.rebuild(source, found);
        }
        self.instruction(inst);
    }

    /// The points of a block: what its start resumes, and whether a turn may end there.
    pub(super) fn begin_region(&mut self, regions: &'a Regions, block: Block) {
        if let Some(point) = regions.resumed(block) {
            self.resume(regions, point);
        }
        if let Some(point) = regions.yields(block) {
            self.yields(point);
        }
    }
}
