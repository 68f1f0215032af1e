//! Kernels whose threads stop: the loop over the lanes of a warp, and the points at which a lane leaves and goes on.
//!
//! Such a kernel is entered for some lanes of a warp. For each in turn it goes on where the lane stands: at the start, or
//! behind a point. Where the lane stops next, what lives across the point and is not found again is kept in the warp's frame,
//! slot by slot, a lane beside the other, and first of all at which point it stands. The schedule's [`Record`] gets the sources
//! of meetings, but for constants.

use super::context::{DONE, Field};
use super::emit::clif_type;
use super::function::{Lower, constant_memory, trusted};
use crate::ir::{Block, Inst};
use crate::machine::schedule::{EXITED, LANES, RUNS, Record, Records, TURN};
use crate::spmd::regions::{Regions, Stop};
use crate::spmd::{Name, Names, Wide};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I32, I32X4, I64};
use cranelift_codegen::ir::{self as clif, InstBuilder, JumpTableData, Value};
use cranelift_frontend::Variable;
use rustc_hash::FxHashSet;
use std::mem::offset_of;

/// Bytes of a row of [`Record::values`].
pub(super) const ROW: usize = 8 * LANES;

/// So many points are compared with where a lane stands, one after the other; a table of more costs less.
const FEW_POINTS: usize = 4;

/// Bytes of the frame of a warp, from what it keeps at its points: `%tid` of its lanes comes last.
pub fn frame_bytes(kept: u32) -> usize {
    kept as usize + size_of::<[[u32; LANES]; 3]>()
}

/// Bytes at the end of a lane's local memory in which it keeps where that ends, in kernels that change it.
pub const LOCAL_TOP_BYTES: i32 = 8;

/// The loop over lanes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lane {
    /// Which of the warp runs, in 64 bits.
    pub(super) number: Variable,
    /// What is of all lanes: the frame, `%tid` in it.
    pub(super) frame: Value,
    pub(super) tids: Value,
    /// Where it is found out at which point a lane stands.
    head: clif::Block,
    /// Where it is looked for lanes behind those beside each other.
    gap: clif::Block,
    /// Whether code may be turned to that follows a point without the head.
    direct: bool,
    /// Where the lanes that were to run have stopped.
    pub(super) done: clif::Block,
    /// Where all lanes of a warp that went together stopped: a point, from 1 on, or [`EXITED`]; 0 for a warp whose lanes did not.
    pub(super) stood: Option<Variable>,
    /// How many lanes have turns together, where it is not all of a warp.
    pub(super) run: Option<u32>,
    /// How often such a warp may still run in its turn, where it passes operations at which it would stop.
    pub(super) left: Option<Variable>,
    /// How many warps behind it have nothing to do in this turn, either, where they may not have.
    pub(super) skipped: Option<Variable>,
    /// Where code turns from there to the next warp: at a barrier, or where they are over. The point is its parameter.
    pub(super) gathered: clif::Block,
    /// Where lanes go on one by one that had gone together.
    pub(super) taken: Option<Taken>,
}

/// Lanes that had gone together and go on one by one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    /// The first that is not one of them, in 64 bits.
    pub(super) until: Variable,
    /// Where they take over, from 1 on.
    pub(super) place: Variable,
    /// Where that is turned to.
    pub(super) head: clif::Block,
}

impl<'a> Lower<'a, '_> {
    /// A kernel whose threads stop; of those planned for it, runs of lanes that stand at one point go together.
    pub(super) fn lanes(&mut self, regions: &'a Regions, wide: Option<&'a Wide>) {
        let warp = self.b.create_block();
        self.b.ins().jump(warp, &[]);
        self.b.switch_to_block(warp);
        let frame = self.field(Field::FRAME);
        let kept = self.plan.frame_bytes.into();
        let tids = self.emit().add_k(frame, kept);
        let whole = wide.filter(|wide| wide.by_turns);
        let yields = |stop| match stop {
            Stop::Yields(_) => true,
            Stop::Meets { .. } => false,
        };
        let yields = regions.points.iter().any(|p| yields(p.stop));
        let lane = Lane {
            number: self.b.declare_var(I64),
            frame,
            tids,
            head: self.b.create_block(),
            gap: self.b.create_block(),
            direct: !yields && !self.plan.calls && wide.is_none(),
            done: self.b.create_block(),
            stood: whole.map(|_| self.b.declare_var(I32)),
            run: (whole.map(|wide| wide.width)).filter(|&width| width < LANES as u32),
            left: whole
                .and_then(|wide| wide.turns.as_ref())
                .map(|_| self.b.declare_var(I32)),
            skipped: whole
                .and_then(|wide| wide.idle.as_ref())
                .map(|_| self.b.declare_var(I32)),
            gathered: self.b.create_block(),
            taken: wide.map(|_| Taken {
                until: self.b.declare_var(I64),
                place: self.b.declare_var(I32),
                head: self.b.create_block(),
            }),
        };
        self.lane = Some(lane);
        if let Some(taken) = lane.taken {
            let none = self.k(I64, 0);
            self.b.def_var(taken.until, none);
            let nowhere = self.k(I32, 0);
            self.b.def_var(taken.place, nowhere);
        }
        if let (Some(wide), Some(stood)) = (whole, lane.stood) {
            let nowhere = self.k(I32, 0);
            self.b.def_var(stood, nowhere);
            self.warp_together(lane, wide);
        }
        let wanted = self.wanted_lanes();
        if lane.run.is_some() {
            let some = self.b.create_block();
            self.b.ins().brif(wanted, some, &[], lane.done, &[]);
            self.b.switch_to_block(some);
        }
        self.first_lane(lane, wanted);
        self.b.switch_to_block(lane.head);
        if let (Some(wide), None) = (wide, whole) {
            self.lanes_together(lane, wide);
        }
        if self.plan.calls {
            // Functions that are called do not know it.
            self.set_lane(lane);
            for i in 0..3 {
                let index = self.lane_index(lane, i);
                self.set_field(Field::TID.at(i), index);
            }
            let local = self.lane_local();
            self.set_field(Field::LOCAL, local);
        }
        if yields {
            self.set_turn(TURN);
        }
        let over = self.b.create_block();
        self.latch = Some(over);

        let start = self.b.create_block();
        let at = self.lane_frame(lane, false);
        let point = self.b.ins().load(I32, trusted(), at, 0);
        let resumed = self.resumed(self.regions.unwrap_or(regions));
        self.turn_to(point, start, &resumed);

        self.b.switch_to_block(start);
        if self.plan.stack {
            self.end_of_variables();
        }
        if self.function.local_bytes > 0 {
            let local = self.lane_local();
            self.clear(local, self.function.local_bytes);
        }
        self.body();

        self.b.switch_to_block(over);
        self.leave_at(lane, EXITED, None);
        self.b.switch_to_block(lane.gap);
        let wanted = self.wanted_lanes();
        let number = self.b.use_var(lane.number);
        let rest = self.b.ins().ushr(wanted, number);
        let again = self.b.create_block();
        self.b.ins().brif(rest, again, &[], lane.done, &[]);
        self.b.switch_to_block(again);
        let rest = self.b.ins().ishl(rest, number);
        self.first_lane(lane, rest);
        self.b.switch_to_block(lane.done);
        self.next_warp(lane, warp);
        let status = self.k(I32, DONE.into());
        self.b.ins().return_(&[status]);
    }

    /// Where the first of some lanes stands, the points of which begin at an address; and whether the others stand there, too.
    pub(super) fn where_lanes_stand(&mut self, at: Value, lanes: u32) -> (Value, Value) {
        let point = self.b.ins().load(I32, trusted(), at, 0);
        let all = self.emit().all_lanes(I32X4, point);
        let mut same = None;
        for i in 0..lanes as i32 / 4 {
            let points = self.b.ins().load(I32X4, trusted(), at, 16 * i);
            let equal = self.b.ins().icmp(IntCC::Equal, points, all);
            same = Some(match same {
                None => equal,
                Some(same) => self.b.ins().band(same, equal),
            });
        }
        let same = match same {
            Some(same) => self.b.ins().vhigh_bits(I32, same),
            None => self.k(I32, 15),
        };
        let same = self.emit().cmp_k(IntCC::Equal, same, 15);
        (point, same)
    }

    /// Turns to the next warp, where warps run by turns: as long as all lanes of each stop at the same barrier as the warp before. When all
    /// stand there it opens, and the first is next.
    fn next_warp(&mut self, lane: Lane, warp: clif::Block) {
        let barriers = self.modules.barriers(self.id);
        let over = self.b.create_block();
        let whole = self.b.create_block();
        let point = match lane.stood {
            Some(stood) => match lane.run {
                None => self.gather_whole(lane, stood, whole, over),
                Some(run) => self.gather_run(lane, (stood, run), warp, whole, over),
            },
            None if barriers == 0 => return,
            None => self.judge_lanes(lane, barriers, whole, over),
        };
        self.b.switch_to_block(whole);
        if let Some(run) = lane.run {
            self.next_run(run, warp);
            let first = self.k(I32, 0);
            self.set_field(Field::ROUND_LANE, first);
        }
        self.count_runs(lane);
        let index = self.field(Field::ROUND_WARP);
        let mut next = self.emit().add_k(index, 1);
        if let Some(skipped) = lane.skipped {
            let skipped = self.b.use_var(skipped);
            next = self.b.ins().iadd(next, skipped);
            if lane.left.is_some() {
                let runs = self.field(Field::RUNS);
                let runs = self.b.ins().isub(runs, skipped);
                self.set_field(Field::RUNS, runs);
            }
        }
        let warps = self.field(Field::ROUND_WARPS);
        let [advance, opens, round, leaves] = [(); 4].map(|()| self.b.create_block());
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, next, warps);
        self.b.ins().brif(more, advance, &[], opens, &[]);
        self.b.switch_to_block(advance);
        self.begin_turn(lane, next);
        let step = frame_bytes(self.plan.frame_bytes) as u64;
        let frame = self.emit().add_k(lane.frame, step);
        self.set_field(Field::FRAME, frame);
        self.b.ins().jump(warp, &[]);
        self.b.switch_to_block(opens);
        self.b.ins().brif(warps, round, &[], over, &[]);
        self.b.switch_to_block(round);
        self.set_field(Field::ROUND_WARP, next);
        let ended = self.emit().cmp_k(IntCC::Equal, point, EXITED.into());
        self.b.ins().brif(ended, over, &[], leaves, &[]);
        self.b.switch_to_block(leaves);
        self.set_field(Field::ROUND_FROM, point);
        let first = self.k(I32, 0);
        self.begin_turn(lane, first);
        let first = self.uniform(Field::FIRST_FRAME);
        self.set_field(Field::FRAME, first);
        let mut runs = self.field(Field::RUNS);
        // Where warps may run more than once in a turn each has counted its own.
        if lane.left.is_none() {
            runs = self.b.ins().isub(runs, warps);
            self.set_field(Field::RUNS, runs);
        }
        let raised = self.stop_raised();
        let on = self.emit().cmp_k(IntCC::Equal, raised, 0);
        let left = self.emit().cmp_k(IntCC::SignedGreaterThan, runs, 0);
        let on = self.b.ins().band(on, left);
        self.b.ins().brif(on, warp, &[], over, &[]);
        self.b.switch_to_block(over);
        if let Some(stood) = lane.stood {
            let stood = self.b.use_var(stood);
            self.set_field(Field::STOOD, stood);
        }
    }

    /// Begins the turn of a warp.
    fn begin_turn(&mut self, lane: Lane, warp: Value) {
        self.set_field(Field::ROUND_WARP, warp);
        if lane.left.is_some() {
            let all = self.k(I32, RUNS.into());
            self.set_field(Field::LEFT, all);
        }
    }

    /// Counts that a warp has had its turn which does not go on from barrier to barrier.
    fn end_round(&mut self, lane: Lane, over: clif::Block) {
        let index = self.field(Field::ROUND_WARP);
        let next = self.emit().add_k(index, 1);
        self.set_field(Field::ROUND_WARP, next);
        self.count_runs(lane);
        self.b.ins().jump(over, &[]);
    }

    /// Counts how often a warp has run in its turn, if that may be more than once.
    fn count_runs(&mut self, lane: Lane) {
        if lane.left.is_some() {
            let left = self.field(Field::LEFT);
            let runs = self.field(Field::RUNS);
            let without = self.emit().add_k(runs, u64::from(RUNS + 1).wrapping_neg());
            let runs = self.b.ins().iadd(without, left);
            self.set_field(Field::RUNS, runs);
        }
    }

    /// Goes to `whole` if all lanes of a warp stand where those of the one before do, and at a barrier, or are over; for warps whose lanes go
    /// together or not at all. `over` if not. Gives where they stand.
    fn gather_whole(
        &mut self,
        lane: Lane,
        stood: Variable,
        whole: clif::Block,
        over: clif::Block,
    ) -> Value {
        // Neither at a barrier nor over, or not together.
        let [count, first] = [(); 2].map(|()| self.b.create_block());
        let warps = self.field(Field::ROUND_WARPS);
        self.b.ins().brif(warps, count, &[], over, &[]);
        self.b.switch_to_block(count);
        self.end_round(lane, over);
        let point = self.stand_with_others(lane, stood, whole);
        let index = self.field(Field::ROUND_WARP);
        self.b.ins().brif(index, count, &[], first, &[]);
        self.b.switch_to_block(first);
        self.set_field(Field::ROUND_POINT, point);
        self.b.ins().jump(whole, &[]);
        point
    }

    /// Goes to `whole` if lanes that went together stand where those before them do, and on here if not. Gives where they stand.
    fn stand_with_others(&mut self, lane: Lane, stood: Variable, whole: clif::Block) -> Value {
        let others = self.b.create_block();
        self.b.switch_to_block(lane.gathered);
        let point = self.b.append_block_param(lane.gathered, I32);
        self.b.def_var(stood, point);
        // The first have nobody before them: most likely they stand where those of the last round did.
        let before = self.field(Field::ROUND_POINT);
        let beside = self.b.ins().icmp(IntCC::Equal, point, before);
        self.b.ins().brif(beside, whole, &[], others, &[]);
        self.b.switch_to_block(others);
        point
    }

    /// The same for runs of fewer lanes, which have turns one after the other: goes to `whole` if all lanes of one stand where those of the warp before and
    /// of the runs before it do. Where one does not, the rest of the warp still has its turn.
    fn gather_run(
        &mut self,
        lane: Lane,
        (stood, run): (Variable, u32),
        warp: clif::Block,
        whole: clif::Block,
        over: clif::Block,
    ) -> Value {
        let [apart, by_turns, first] = [(); 3].map(|()| self.b.create_block());
        self.b.ins().jump(apart, &[]);
        let point = self.stand_with_others(lane, stood, whole);
        let [index, at] = [Field::ROUND_WARP, Field::ROUND_LANE].map(|field| self.field(field));
        let behind = self.b.ins().bor(index, at);
        self.b.ins().brif(behind, apart, &[], by_turns, &[]);
        self.b.switch_to_block(by_turns);
        let warps = self.field(Field::ROUND_WARPS);
        self.b.ins().brif(warps, first, &[], apart, &[]);
        self.b.switch_to_block(first);
        self.set_field(Field::ROUND_POINT, point);
        self.b.ins().jump(whole, &[]);

        self.b.switch_to_block(apart);
        let [look, note, next, count] = [(); 4].map(|()| self.b.create_block());
        let at = self.field(Field::ROUND_LANE);
        let offset = self.emit().resize(at, I64, false);
        let offset = self.emit().shl_k(offset, 2);
        let to = self.b.ins().iadd(self.context, offset);
        let stands = self.b.use_var(stood);
        let offset = Field::ROUND_STOOD.offset;
        self.b.ins().store(trusted(), stands, to, offset);
        let warps = self.field(Field::ROUND_WARPS);
        self.b.ins().brif(warps, look, &[], next, &[]);
        self.b.switch_to_block(look);
        let beside = self.field(Field::ROUND_BESIDE);
        let all = self.emit().cmp_k(IntCC::Equal, beside, LANES as u64);
        self.b.ins().brif(all, note, &[], next, &[]);
        self.b.switch_to_block(note);
        self.set_field(Field::ROUND_BESIDE, at);
        let before = self.field(Field::ROUND_POINT);
        self.set_field(Field::ROUND_OTHERS, before);
        // None that a run stops at.
        let none = self.k(I32, 0);
        self.set_field(Field::ROUND_POINT, none);
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
        self.next_run(run, warp);
        let warps = self.field(Field::ROUND_WARPS);
        self.b.ins().brif(warps, count, &[], over, &[]);
        self.b.switch_to_block(count);
        self.end_round(lane, over);
        point
    }

    /// Turns to the next run of the warp, if there is one.
    fn next_run(&mut self, run: u32, warp: clif::Block) {
        let [next, over] = [(); 2].map(|()| self.b.create_block());
        let at = self.field(Field::ROUND_LANE);
        let at = self.emit().add_k(at, run.into());
        let more = self.emit().cmp_k(IntCC::UnsignedLessThan, at, LANES as u64);
        self.b.ins().brif(more, next, &[], over, &[]);
        self.b.switch_to_block(next);
        self.set_field(Field::ROUND_LANE, at);
        self.b.ins().jump(warp, &[]);
        self.b.switch_to_block(over);
    }

    /// The same for warps whose lanes have told their frame where they stand, each by itself or in runs.
    fn judge_lanes(
        &mut self,
        lane: Lane,
        barriers: u64,
        whole: clif::Block,
        over: clif::Block,
    ) -> Value {
        let round = self.b.create_block();
        let warps = self.field(Field::ROUND_WARPS);
        self.b.ins().brif(warps, round, &[], over, &[]);
        self.b.switch_to_block(round);
        let (point, same) = self.where_lanes_stand(lane.frame, LANES as u32);
        let few = self.emit().cmp_k(IntCC::UnsignedLessThan, point, 64);
        let bits = self.k(I64, barriers);
        let bit = self.b.ins().ushr(bits, point);
        let bit = self.emit().resize(bit, I8, false);
        let barrier = self.b.ins().band(bit, few);
        let ended = self.emit().cmp_k(IntCC::Equal, point, EXITED.into());
        let stands = self.b.ins().bor(barrier, ended);
        let index = self.field(Field::ROUND_WARP);
        let first = self.emit().cmp_k(IntCC::Equal, index, 0);
        let before = self.field(Field::ROUND_POINT);
        let with_others = self.b.ins().icmp(IntCC::Equal, point, before);
        let alike = self.b.ins().bor(first, with_others);
        let stands = self.b.ins().band(stands, alike);
        let stands = self.b.ins().band(stands, same);
        let [with_others, count] = [(); 2].map(|()| self.b.create_block());
        self.b.ins().brif(stands, with_others, &[], count, &[]);
        self.b.switch_to_block(with_others);
        self.set_field(Field::ROUND_POINT, point);
        self.b.ins().jump(whole, &[]);
        self.b.switch_to_block(count);
        self.end_round(lane, over);
        point
    }

    /// The blocks where threads go on, by point.
    pub(super) fn resumed(&self, regions: &Regions) -> Vec<clif::Block> {
        (regions.points.iter())
            .map(|p| self.blocks[p.resume.index()])
            .collect()
    }

    /// Where the lane's part of a slot of the frame is, from the first byte of the slot.
    pub(super) fn lane_frame(&mut self, lane: Lane, wide: bool) -> Value {
        let number = self.b.use_var(lane.number);
        let offset = self.emit().shl_k(number, if wide { 3 } else { 2 });
        self.b.ins().iadd(lane.frame, offset)
    }

    /// Where the lane's element of the first of [`Record::values`] is.
    pub(super) fn lane_values(&mut self, lane: Lane) -> Value {
        let first = self.field(Field::RECORD);
        let warp = self.field(Field::ROUND_WARP);
        let warp = self.emit().resize(warp, I64, false);
        let stride = self.k(I64, Records::STRIDE as u64);
        let offset = self.b.ins().imul(warp, stride);
        let record = self.b.ins().iadd(first, offset);
        let values = (self.emit()).add_k(record, offset_of!(Record, values) as u64);
        let number = self.b.use_var(lane.number);
        let offset = self.emit().shl_k(number, 3);
        self.b.ins().iadd(values, offset)
    }

    /// `%tid` of the lane.
    pub(super) fn lane_index(&mut self, lane: Lane, axis: u8) -> Value {
        let number = self.b.use_var(lane.number);
        let offset = self.emit().shl_k(number, 2);
        let at = self.b.ins().iadd(lane.tids, offset);
        let offset = 4 * LANES as i32 * i32::from(axis);
        self.b.ins().load(I32, constant_memory(), at, offset)
    }

    /// The local memory of the lane.
    pub(super) fn lane_memory(&mut self, lane: Lane) -> Value {
        let [locals, stride] = [Field::LOCALS, Field::LOCAL_STRIDE].map(|f| self.field(f));
        let warp = self.field(Field::ROUND_WARP);
        let warp = self.emit().resize(warp, I64, false);
        let before = self.emit().shl_k(warp, LANES.ilog2());
        let number = self.b.use_var(lane.number);
        let number = self.b.ins().iadd(before, number);
        let offset = self.b.ins().imul(number, stride);
        self.b.ins().iadd(locals, offset)
    }

    /// Where the local memory of the lane and what lies behind it ends.
    fn lane_top(&mut self, lane: Lane) -> Value {
        let memory = self.lane_memory(lane);
        let stride = self.field(Field::LOCAL_STRIDE);
        self.b.ins().iadd(memory, stride)
    }

    /// The lanes that are to run, in 64 bits.
    fn wanted_lanes(&mut self) -> Value {
        let lanes = self.field(Field::LANES);
        let lanes = self.emit().resize(lanes, I64, false);
        let Some(run) = self.lane.and_then(|lane| lane.run) else {
            return lanes;
        };
        // Of the run whose turn it is.
        let at = self.field(Field::ROUND_LANE);
        let own = self.k(I64, (1 << run) - 1);
        let own = self.b.ins().ishl(own, at);
        self.b.ins().band(lanes, own)
    }

    /// Turns to the first of some lanes, and notes where those beside it end.
    fn first_lane(&mut self, lane: Lane, lanes: Value) {
        let first = self.b.ins().ctz(lanes);
        // All of a warp are half of the bits: there is a zero above them.
        let beside = self.b.ins().ushr(lanes, first);
        let others = self.b.ins().bnot(beside);
        let count = self.b.ins().ctz(others);
        let end = self.b.ins().iadd(first, count);
        self.set_field(Field::LANES_END, end);
        self.b.def_var(lane.number, first);
        self.b.ins().jump(lane.head, &[]);
    }

    pub(super) fn set_lane(&mut self, lane: Lane) {
        let number = self.b.use_var(lane.number);
        let number = self.emit().resize(number, I32, false);
        self.set_field(Field::LANE, number);
    }

    /// Tells the host which lane runs, before it is asked for something or told of a fault.
    pub(super) fn tell_lane(&mut self) {
        if self.together.is_some() {
            self.store_tid();
        }
        if let Some(lane) = self.lane
            && !self.plan.calls
        {
            self.set_lane(lane);
        }
    }

    /// Goes where a lane stands: at the start (0), or behind a point.
    pub(super) fn turn_to(&mut self, point: Value, start: clif::Block, resumed: &[clif::Block]) {
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

    /// Turns to the next lane; this one stands at a point, by its number from 1 on, or is over. Most likely the next stands
    /// where this one stood, behind `before` if that is known.
    fn leave_at(&mut self, lane: Lane, point: u32, before: Option<(u32, clif::Block)>) {
        let point = self.k(I32, point.into());
        let at = self.lane_frame(lane, false);
        self.b.ins().store(trusted(), point, at, 0);
        let number = self.b.use_var(lane.number);
        let next = self.emit().add_k(number, 1);
        self.b.def_var(lane.number, next);
        if let Some(taken) = lane.taken {
            let until = self.b.use_var(taken.until);
            let more = self.b.ins().icmp(IntCC::UnsignedLessThan, next, until);
            let others = self.b.create_block();
            self.b.ins().brif(more, taken.head, &[], others, &[]);
            self.b.switch_to_block(others);
        }
        self.next_lanes(lane, next, before);
    }

    /// Turns to the lanes from one on.
    pub(super) fn next_lanes(
        &mut self,
        lane: Lane,
        next: Value,
        before: Option<(u32, clif::Block)>,
    ) {
        let end = self.field(Field::LANES_END);
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, next, end);
        let Some((before, block)) = before.filter(|_| lane.direct) else {
            self.b.ins().brif(more, lane.head, &[], lane.gap, &[]);
            return;
        };
        let beside = self.b.create_block();
        self.b.ins().brif(more, beside, &[], lane.gap, &[]);
        self.b.switch_to_block(beside);
        let at = self.lane_frame(lane, false);
        let point = self.b.ins().load(I32, trusted(), at, 0);
        let same = self.emit().cmp_k(IntCC::Equal, point, before.into());
        self.b.ins().brif(same, block, &[], lane.head, &[]);
    }

    /// Keeps what lives across a point, and turns to the next lane.
    fn stop_at(&mut self, lane: Lane, point: u32) {
        let plan = self.plan;
        let crossing = &plan.crossings[point as usize];
        for (&name, slot) in crossing.framed.iter().zip(&crossing.slots) {
            let value = self.kept(name);
            let at = self.lane_frame(lane, slot.wide);
            self.b.ins().store(trusted(), value, at, slot.offset as i32);
        }
        if plan.stack {
            let top = self.field(Field::LOCAL_TOP);
            let at = self.lane_top(lane);
            self.b.ins().store(trusted(), top, at, -LOCAL_TOP_BYTES);
        }
        let before = plan.regions.as_ref().map(|regions| {
            // Where code belongs to no single region, the point may be met in a loop.
            let before = self.before.unwrap_or(point);
            let resume = regions.points[before as usize].resume;
            (before + 1, self.blocks[resume.index()])
        });
        self.leave_at(lane, point + 1, before);
    }

    /// Stops the lane at the end of a block.
    pub(super) fn meet(&mut self, regions: &'a Regions, point: u32) {
        let (Some(lane), Some((site, meet))) = (self.lane, regions.meeting(point)) else {
            return;
        };
        if self.together.is_some() {
            return self.meet_together(lane, point, site, meet);
        }
        let known = &self.modules.known[site as usize];
        let classes = meet.op.signature().srcs;
        for (i, (src, class)) in (0..).zip(meet.srcs.iter().zip(classes)) {
            if known.constant(i).is_some() {
                continue;
            }
            let value = self.operand(*src, class);
            let value = self.emit().resize(value, I64, false);
            let at = (i * ROW) as i32;
            let values = self.lane_values(lane);
            self.b.ins().store(trusted(), value, values, at);
        }
        self.stop_at(lane, point);
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
        self.stop_at(lane, point);
        self.b.switch_to_block(go_on);
    }

    /// Goes on behind a point: what was kept, what is found again, what the meeting gave.
    pub(super) fn resume(&mut self, regions: &'a Regions, point: u32) {
        let Some(lane) = self.lane else { return };
        if self.together.is_some() {
            return self.resume_together(lane, regions, point);
        }
        let plan = self.plan;
        let crossing = &plan.crossings[point as usize];
        for (&name, slot) in crossing.framed.iter().zip(&crossing.slots) {
            let ty = self.kept_type(name);
            let at = self.lane_frame(lane, slot.wide);
            let value = self.b.ins().load(ty, trusted(), at, slot.offset as i32);
            self.set(name, value);
        }
        if plan.stack {
            let at = self.lane_top(lane);
            let top = (self.b.ins()).load(I64, trusted(), at, -LOCAL_TOP_BYTES);
            self.set_field(Field::LOCAL_TOP, top);
        }
        let mut found = FxHashSet::default();
        for &name in &crossing.rebuilt {
            self.rebuild(name, &mut found);
        }
        match regions.meeting(point) {
            Some((site, meet)) => {
                let known = &self.modules.known[site as usize];
                for (i, dst) in (0..).zip(&meet.dsts) {
                    let Some(name) = dst.map(Name::from).filter(|_| known.wants(i)) else {
                        continue;
                    };
                    let ty = clif_type(plan.names.class(name));
                    let at = (i * ROW) as i32;
                    let values = self.lane_values(lane);
                    let value = self.b.ins().load(ty, trusted(), values, at);
                    self.set(name, value);
                }
            }
            // The way back into the loop is not one of the turn's.
            None => self.set_turn(TURN + 1),
        }
    }

    /// Computes a steady name anew, and first what it is made of.
    pub(super) fn rebuild(&mut self, name: Name, found: &mut FxHashSet<Name>) {
        let plan = self.plan;
        if !found.insert(name) {
            return;
        }
        let Some(definition) = plan.steady.as_ref().and_then(|s| s.definition(name)) else {
            return;
        };
        let Some(regions) = &plan.regions else { return };
        let inst: &'a Inst = &regions.function.block(definition.block).insts[definition.inst];
        let mut sources = Vec::new();
        Names::uses(&plan.names, inst, |n| sources.push(n));
        for source in sources {
            self.rebuild(source, found);
        }
        match self.together.is_some() {
            true => self.rebuild_together(definition.block, inst),
            false => self.instruction(inst),
        }
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
