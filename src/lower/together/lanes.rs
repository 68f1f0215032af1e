//! Lanes of a warp that go together, in kernels whose threads stop: runs that stand at one point, what they keep there, and what
//! meetings take and give.

use super::super::context::{DONE, Field, NOWHERE};
use super::super::emit::clif_type;
use super::super::function::{Lower, trusted};
use super::super::region::{Lane, ROW};
use super::{Apart, Together, VECTOR, Vectors, lanes_of, vector_type};
use crate::ir::sync::Meet;
use crate::ir::{Block, Inst, RegClass};
use crate::machine::schedule::{EXITED, LANES};
use crate::spmd::regions::Regions;
use crate::spmd::{FrameSlot, Name, Shape, Wide};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I32X4, I64, I64X2};
use cranelift_codegen::ir::{self as clif, InstBuilder, Value};
use rustc_hash::FxHashSet;

/// A whole warp of which it is not known that all its lanes stand at one point.
struct Unsure {
    /// Where that is found out.
    head: clif::Block,
    /// Where it turned out that they do, and the point.
    block: clif::Block,
    point: Value,
    /// Where those go on that cannot go together from a point of which only that is known.
    retreat: clif::Block,
}

impl<'a> Lower<'a, '_> {
    /// Tries to have a run of lanes go together, from the lane that is turned to on; goes on where each goes for itself.
    pub(in super::super) fn lanes_together(&mut self, lane: Lane, wide: &'a Wide) {
        let width = self.width();
        let [look, run, apart, alone] = [(); 4].map(|()| self.b.create_block());
        let number = self.b.use_var(lane.number);
        let last = self.emit().add_k(number, u64::from(width) - 1);
        let end = self.field(Field::LANES_END);
        let enough = self.b.ins().icmp(IntCC::UnsignedLessThan, last, end);
        self.b.ins().brif(enough, look, &[], alone, &[]);
        // Whether they stand at one point, and in one row.
        self.b.switch_to_block(look);
        let at = self.lane_frame(lane, false);
        let (point, same) = self.where_lanes_stand(at, width);
        let row = self.is_row(lane, last);
        let both = self.b.ins().band(same, row);
        self.b.ins().brif(both, run, &[], apart, &[]);
        // It need not be tried again from each of them on.
        self.b.switch_to_block(apart);
        if let Some(taken) = lane.taken {
            let until = self.emit().add_k(last, 1);
            self.b.def_var(taken.until, until);
            let nowhere = self.k(I32, 0);
            self.b.def_var(taken.place, nowhere);
        }
        self.b.ins().jump(alone, &[]);
        self.b.switch_to_block(run);
        self.go_together(lane, wide, point, None, [apart, alone]);
    }

    /// Tries to have a whole warp go together, or the run of its lanes whose turn it is; goes on where each lane goes for itself.
    pub(in super::super) fn warp_together(&mut self, lane: Lane, wide: &'a Wide) {
        let width = wide.width;
        let [check, look, run, known, apart, alone] = [(); 6].map(|()| self.b.create_block());
        let first = match lane.run {
            None => self.k(I64, 0),
            Some(_) => {
                let at = self.field(Field::ROUND_LANE);
                self.emit().resize(at, I64, false)
            }
        };
        self.b.def_var(lane.number, first);
        if let Some(skipped) = lane.skipped {
            let none = self.k(I32, 0);
            self.b.def_var(skipped, none);
        }
        if let Some(left) = lane.left {
            let at_first = self.field(Field::LEFT);
            self.b.def_var(left, at_first);
        }
        let from = self.field(Field::ROUND_FROM);
        self.b.ins().jump(known, &[]);
        self.b.switch_to_block(check);
        let mut lanes = self.field(Field::LANES);
        if lane.run.is_some() {
            lanes = self.b.ins().ushr(lanes, first);
        }
        let own = u64::from(u32::MAX >> (LANES as u32 - width));
        let lanes = self.emit().and_k(lanes, own);
        let all = self.emit().cmp_k(IntCC::Equal, lanes, own);
        let last = self.emit().add_k(first, u64::from(width) - 1);
        let row = self.is_row(lane, last);
        let mut both = self.b.ins().band(all, row);
        if let (Some(left), Some(turns)) = (lane.left, &wide.turns) {
            let left = self.b.use_var(left);
            let most = turns.most().into();
            let enough = self.emit().cmp_k(IntCC::UnsignedGreaterThan, left, most);
            both = self.b.ins().band(both, enough);
        }
        self.b.ins().brif(both, look, &[], alone, &[]);
        self.b.switch_to_block(look);
        let at = self.lane_frame(lane, false);
        let (found, same) = self.where_lanes_stand(at, width);
        self.b.ins().brif(same, run, &[], alone, &[]);
        // Lanes that cannot go together from where the frame has been told of the first one alone: it is told of all, by the host where they are
        // all of the warp.
        let retreat = self.b.create_block();
        self.b.switch_to_block(apart);
        let from_here = self.field(Field::ROUND_FROM);
        let unknown = self.emit().cmp_k(IntCC::Equal, from_here, NOWHERE.into());
        self.b.ins().brif(unknown, alone, &[], retreat, &[]);
        if lane.run.is_none() {
            self.b.switch_to_block(retreat);
            let others = self.field(Field::ROUND_POINT);
            self.set_field(Field::STOOD, others);
            let done = self.k(I32, DONE.into());
            self.b.ins().return_(&[done]);
        }
        self.b.switch_to_block(known);
        let unsure = Unsure {
            head: check,
            block: run,
            point: found,
            retreat,
        };
        self.go_together(lane, wide, from, Some(unsure), [apart, alone]);
    }

    /// Whether the lanes up to one are a row, from the lane that is turned to on.
    fn is_row(&mut self, lane: Lane, last: Value) -> Value {
        let first_x = self.lane_index(lane, 0);
        let offset = self.emit().shl_k(last, 2);
        let last_x = self.b.ins().iadd(lane.tids, offset);
        let last_x = self.b.ins().load(I32, trusted(), last_x, 0);
        let distance = self.b.ins().isub(last_x, first_x);
        let width = self.width();
        self.emit()
            .cmp_k(IntCC::Equal, distance, u64::from(width) - 1)
    }

    /// Goes on together from a point, with the lanes from that on which is turned to, `apart` where it turns out that they cannot; then where
    /// each goes for itself, from where it stands. A whole warp comes also from a block of which only the point is known: whether its lanes
    /// have kept what they are thought to is looked at there.
    fn go_together(
        &mut self,
        lane: Lane,
        wide: &'a Wide,
        point: Value,
        unsure: Option<Unsure>,
        [apart, alone]: [clif::Block; 2],
    ) {
        let (Some(taken), Some(regions), Some(passing)) =
            (lane.taken, &wide.regions, &wide.passing)
        else {
            return;
        };
        let width = self.width();
        let kept = self.kept_slot(wide);
        self.together = Some(Together {
            plan: wide,
            vectors: vec![None; self.plan.names.len()],
            undo: Vec::new(),
            ends: Default::default(),
            kept,
            apart: Apart::Lanes { taken, head: apart },
            one_lane: false,
            strip: false,
        });
        self.function = &wide.function;
        self.runs_of = &wide.runs;
        self.regions = Some(passing);
        self.begin_flow(wide, &wide.together);
        let over = self.b.create_block();
        self.latch = Some(over);
        let start = self.b.create_block();
        let mut resumed = self.resumed(passing);
        let entered = (0..).map(|point| passing.is_entered(point));
        for (resume, _) in resumed
            .iter_mut()
            .zip(entered)
            .filter(|(_, entered)| !entered)
        {
            *resume = alone;
        }
        let from = self.b.create_block();
        self.turn_to(point, from, &resumed);
        self.b.switch_to_block(from);
        if let Some(Unsure {
            head,
            block,
            point: found,
            retreat,
        }) = unsure
        {
            let unknown = self.emit().cmp_k(IntCC::Equal, point, NOWHERE.into());
            self.b.ins().brif(unknown, head, &[], start, &[]);
            self.b.switch_to_block(block);
            let looks: Vec<clif::Block> = resumed.iter().map(|_| self.b.create_block()).collect();
            self.turn_to(found, start, &looks);
            for (point, (look, resume)) in (0..).zip(looks.into_iter().zip(resumed)) {
                self.b.switch_to_block(look);
                match self.as_thought(lane, point) {
                    Some(all) => self.b.ins().brif(all, resume, &[], alone, &[]),
                    None => self.b.ins().jump(resume, &[]),
                };
            }
            if lane.run.is_some() {
                self.b.switch_to_block(retreat);
                self.tell_frame(lane, passing, alone);
            }
        } else {
            self.b.ins().jump(start, &[]);
        }
        self.b.switch_to_block(start);
        self.body();
        self.b.switch_to_block(over);
        self.leave_together(lane, EXITED);
        self.endings();
        self.together = None;

        self.regions = Some(regions);
        self.begin_flow(wide, &wide.single);
        self.begin_endings();
        self.b.switch_to_block(taken.head);
        let places: Vec<clif::Block> = wide.leaves.iter().map(|_| self.b.create_block()).collect();
        let place = self.b.use_var(taken.place);
        self.turn_to(place, alone, &places);
        for (leave, block) in wide.leaves.iter().zip(places) {
            self.b.switch_to_block(block);
            let number = self.b.use_var(lane.number);
            let until = self.b.use_var(taken.until);
            let first = self.emit().add_k(until, u64::from(width).wrapping_neg());
            let lane = self.b.ins().isub(number, first);
            self.take_over(wide, leave, kept, lane);
        }
        self.b.switch_to_block(alone);
    }

    /// Tells the frame of all lanes of the run what it knows of the first of them, which all have come from a point; goes on elsewhere.
    fn tell_frame(&mut self, lane: Lane, regions: &Regions, next: clif::Block) {
        let from = self.field(Field::ROUND_FROM);
        let points: Vec<clif::Block> = (regions.points.iter())
            .map(|_| self.b.create_block())
            .collect();
        self.turn_to(from, next, &points);
        let plan = self.plan;
        for (block, (number, crossing)) in points.into_iter().zip((1..).zip(&plan.crossings)) {
            self.b.switch_to_block(block);
            for (&name, &slot) in crossing.framed.iter().zip(&crossing.slots) {
                let stride = match self.shape(name) {
                    Shape::Varying => continue,
                    Shape::Uniform => 0,
                    Shape::Affine(stride) => stride,
                };
                let value = self.framed_of_first(lane, name, slot);
                let class = plan.names.class(name);
                let mut vectors = self.spread(class, value, stride);
                if class == RegClass::Pred {
                    vectors = self.bit_of(&vectors);
                }
                self.keep_vectors(lane, slot, vectors);
            }
            self.stand_at(lane, number);
            self.b.ins().jump(next, &[]);
        }
    }

    /// Keeps what all lanes of the run have of a name in a slot.
    fn keep_vectors(&mut self, lane: Lane, slot: FrameSlot, vectors: Vectors) {
        let at = self.lane_frame(lane, slot.wide);
        for (k, vector) in (0..).zip(vectors) {
            let offset = slot.offset as i32 + k * VECTOR as i32;
            self.b.ins().store(trusted(), vector, at, offset);
        }
    }

    /// Tells the frame that all lanes of the run stand at a point, by its number from 1 on, or are over.
    fn stand_at(&mut self, lane: Lane, point: u32) {
        let point = self.k(I32, point.into());
        let points = self.emit().all_lanes(I32X4, point);
        let at = self.lane_frame(lane, false);
        for i in 0..self.width() / 4 {
            let offset = (i * VECTOR) as i32;
            self.b.ins().store(trusted(), points, at, offset);
        }
    }

    /// All lanes of the run stand at a point, by its number from 1 on, or are over; turns to the next.
    fn leave_together(&mut self, lane: Lane, point: u32) {
        self.tell_left(lane);
        if let Some(stood) = lane.stood {
            let gathers = match point {
                EXITED => true,
                point => point < 64 && self.modules.barriers(self.id) >> point & 1 != 0,
            };
            let point = self.k(I32, point.into());
            match gathers {
                true => self.b.ins().jump(lane.gathered, &[point.into()]),
                false => {
                    self.b.def_var(stood, point);
                    self.b.ins().jump(lane.done, &[])
                }
            };
            return;
        }
        self.stand_at(lane, point);
        let number = self.b.use_var(lane.number);
        let width = self.width().into();
        let next = self.emit().add_k(number, width);
        self.b.def_var(lane.number, next);
        self.next_lanes(lane, next, None);
    }

    /// Tells the host how often the warp may still run in its turn, if it may have passed operations.
    pub(super) fn tell_left(&mut self, lane: Lane) {
        if let Some(left) = lane.left {
            let left = self.b.use_var(left);
            self.set_field(Field::LEFT, left);
        }
    }

    /// Stops all lanes of the run for a meeting.
    pub(in super::super) fn meet_together(
        &mut self,
        lane: Lane,
        point: u32,
        site: u32,
        meet: &Meet,
    ) {
        let known = &self.modules.known[site as usize];
        let classes = meet.op.signature().srcs;
        for (i, (src, class)) in (0..).zip(meet.srcs.iter().zip(classes)) {
            if known.constant(i).is_some() {
                continue;
            }
            let vectors = self.operand_vectors(*src, class);
            let wide = self.words(class, vectors);
            let values = self.lane_values(lane);
            for (k, vector) in (0..).zip(wide) {
                let at = (i * ROW) as i32 + k * VECTOR as i32;
                self.b.ins().store(trusted(), vector, values, at);
            }
        }
        let plan = self.plan;
        let crossing = &plan.crossings[point as usize];
        let idle = (self.together.as_ref()).and_then(|t| t.plan.idle.as_ref());
        let idle = idle.filter(|idle| idle.reaches(point));
        let mut alike = Vec::new();
        for (&name, slot) in crossing.framed.iter().zip(&crossing.slots) {
            let class = plan.names.class(name);
            let at = self.lane_frame(lane, slot.wide);
            if lane.stood.is_some() && !self.varies(name) {
                // The host tells the frame of the other lanes, should it be asked: `Told`.
                let value = match class {
                    RegClass::B32 | RegClass::B64 => self.kept(name),
                    RegClass::Pred | RegClass::B8 | RegClass::B16 => {
                        let value = self.value(name);
                        self.emit().resize(value, I32, false)
                    }
                };
                self.b.ins().store(trusted(), value, at, slot.offset as i32);
                if idle.is_some_and(|idle| idle.is_alike(name)) {
                    alike.push((slot.offset as i32, value));
                }
                continue;
            }
            let mut vectors = self.settled_vectors(name);
            if class == RegClass::Pred {
                vectors = self.bit_of(&vectors);
            }
            self.keep_vectors(lane, *slot, vectors);
        }
        if idle.is_some() {
            self.keep_for_skipped(lane, point, &alike);
        }
        self.leave_together(lane, point + 1);
    }

    /// Masks as 0 or 1.
    fn bit_of(&mut self, masks: &[Value]) -> Vectors {
        let one = self.emit().lanes_k(I32X4, &[1; 4]);
        (masks.iter()).map(|&m| self.b.ins().band(m, one)).collect()
    }

    /// Values of a class, zero-extended to 64 bits.
    fn words(&mut self, class: RegClass, vectors: Vectors) -> Vectors {
        let narrow = match class {
            RegClass::B64 => return vectors,
            RegClass::B32 => vectors,
            RegClass::Pred => self.bit_of(&vectors),
            RegClass::B8 | RegClass::B16 => self.cleared(class, &vectors),
        };
        self.widened(&narrow)
    }

    /// Values of a class of fewer than 32 bits, with nothing above them.
    fn cleared(&mut self, class: RegClass, vectors: &[Value]) -> Vectors {
        let mask = self.emit().lanes_k(I32X4, &[class.mask() as i64; 4]);
        (vectors.iter())
            .map(|&v| self.b.ins().band(v, mask))
            .collect()
    }

    /// What all lanes of the run have kept of a name in a slot.
    fn framed(&mut self, lane: Lane, name: Name, slot: FrameSlot) -> Vectors {
        let class = self.plan.names.class(name);
        let at = self.lane_frame(lane, slot.wide);
        let count = self.width() / lanes_of(class);
        let ty = vector_type(class);
        let vectors: Vectors = (0..count)
            .map(|k| {
                let offset = (slot.offset + k * VECTOR) as i32;
                self.b.ins().load(ty, trusted(), at, offset)
            })
            .collect();
        match class {
            RegClass::Pred => {
                let one = self.emit().lanes_k(I32X4, &[1; 4]);
                let bits = self.bit_of(&vectors);
                (bits.iter())
                    .map(|&v| self.b.ins().icmp(IntCC::Equal, v, one))
                    .collect()
            }
            RegClass::B8 | RegClass::B16 => self.cleared(class, &vectors),
            RegClass::B32 | RegClass::B64 => vectors,
        }
    }

    /// What the first lane of the run has kept of a name in a slot.
    fn framed_of_first(&mut self, lane: Lane, name: Name, slot: FrameSlot) -> Value {
        let at = self.lane_frame(lane, slot.wide);
        let ty = if slot.wide { I64 } else { I32 };
        let value = (self.b.ins()).load(ty, trusted(), at, slot.offset as i32);
        let class = self.plan.names.class(name);
        self.emit().resize(value, clif_type(class), false)
    }

    /// Whether what lanes have kept at a point differs between them as is thought; `None` if nothing is thought. Lanes that went apart may have
    /// found other values since.
    fn as_thought(&mut self, lane: Lane, point: u32) -> Option<Value> {
        let plan = self.plan;
        let crossing = &plan.crossings[point as usize];
        let mut as_thought = None;
        for (&name, &slot) in crossing.framed.iter().zip(&crossing.slots) {
            let stride = match self.shape(name) {
                Shape::Varying => continue,
                Shape::Uniform => 0,
                Shape::Affine(stride) => stride,
            };
            let class = plan.names.class(name);
            let at = self.lane_frame(lane, slot.wide);
            let value = (self.b.ins()).load(clif_type(class), trusted(), at, slot.offset as i32);
            let mut thought = self.spread(class, value, stride);
            if matches!(class, RegClass::B8 | RegClass::B16) {
                thought = self.cleared(class, &thought);
            }
            let found = self.framed(lane, name, slot);
            for (found, thought) in found.into_iter().zip(thought) {
                let same = self.b.ins().icmp(IntCC::Equal, found, thought);
                let same = self.emit().cast(I32X4, same);
                as_thought = Some(match as_thought {
                    None => same,
                    Some(others) => self.b.ins().band(others, same),
                });
            }
        }
        let all = self.b.ins().vhigh_bits(I32, as_thought?);
        Some(self.emit().cmp_k(IntCC::Equal, all, 15))
    }

    /// Goes on behind a point with all lanes of the run.
    pub(in super::super) fn resume_together(
        &mut self,
        lane: Lane,
        regions: &'a Regions,
        point: u32,
    ) {
        let plan = self.plan;
        let crossing = &plan.crossings[point as usize];
        for (&name, &slot) in crossing.framed.iter().zip(&crossing.slots) {
            if self.varies(name) {
                let vectors = self.framed(lane, name, slot);
                self.set_vectors(name, vectors);
            } else {
                let value = self.framed_of_first(lane, name, slot);
                self.set(name, value);
            }
        }
        // Of whole warps it has been looked at.
        if lane.stood.is_none()
            && let Some(all) = self.as_thought(lane, point)
        {
            self.or_alone(all);
        }
        // What a run brings along past points at which single threads find it again lives across this one, too.
        let mut found = FxHashSet::default();
        let resume = regions.points[point as usize].resume;
        for &name in self.flow.ssa.kept(resume) {
            let again =
                plan.regions
                    .as_ref()
                    .zip(plan.steady.as_ref())
                    .is_some_and(|(regions, steady)| {
                        steady.is_found(name, regions.points[point as usize].stop)
                    });
            if again {
                self.rebuild(name, &mut found);
            }
        }
        let Some((site, meet)) = regions.meeting(point) else {
            return;
        };
        let known = &self.modules.known[site as usize];
        for (i, dst) in (0..).zip(&meet.dsts) {
            let Some(name) = dst.map(Name::from).filter(|_| known.wants(i)) else {
                continue;
            };
            let class = plan.names.class(name);
            if self.varies(name) {
                let values = self.lane_values(lane);
                let wide: Vectors = (0..self.width() / 2)
                    .map(|k| {
                        let at = (i * ROW) as i32 + (k * VECTOR) as i32;
                        self.b.ins().load(I64X2, trusted(), values, at)
                    })
                    .collect();
                let vectors = self.out_of_words(class, wide);
                self.set_vectors(name, vectors);
            } else {
                // All lanes were there, and have the same.
                let values = self.lane_values(lane);
                let at = (i * ROW) as i32;
                let value = self.b.ins().load(clif_type(class), trusted(), values, at);
                self.set(name, value);
            }
        }
    }

    /// Values of a class from such in 64 bits.
    fn out_of_words(&mut self, class: RegClass, wide: Vectors) -> Vectors {
        if class == RegClass::B64 {
            return wide;
        }
        let low: Vectors = (wide.chunks(2))
            .map(|pair| self.emit().pick_words(pair[0], pair[1], [0, 2, 4, 6]))
            .collect();
        match class {
            RegClass::Pred => {
                let bits = self.bit_of(&low);
                bits.iter().map(|&v| self.b.ins().ineg(v)).collect()
            }
            RegClass::B8 | RegClass::B16 | RegClass::B32 | RegClass::B64 => low,
        }
    }

    /// Goes on if `ok`; otherwise each lane goes on for itself, from where it stands.
    fn or_alone(&mut self, ok: Value) {
        let Some(Apart::Lanes { head, .. }) = self.together.as_ref().map(|t| t.apart) else {
            return;
        };
        let next = self.b.create_block();
        self.b.ins().brif(ok, next, &[], head, &[]);
        self.b.switch_to_block(next);
    }

    /// Computes a steady name anew by an instruction of a block.
    pub(in super::super) fn rebuild_together(&mut self, block: Block, inst: &'a Inst) {
        let supposed = (self.together.as_ref()).and_then(|t| t.plan.uniformity.supposes(inst));
        if let Some(supposed) = supposed {
            let holds = self.holds(supposed);
            self.or_alone(holds);
        }
        self.instruction_of_all(block, inst);
    }
}
