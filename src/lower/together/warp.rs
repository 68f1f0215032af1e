//! Warp operations of a whole warp that goes together: done in vectors, without stopping.

use super::super::function::Lower;
use super::{Vectors, lanes_of};
use crate::ir::sync::{Meet, Op, ReduxOp, VoteMode};
use crate::ir::{Block, Operand, Reg, RegClass};
use crate::machine::schedule::{Known, LANES};
use crate::semantics::sync::Route;
use crate::spmd::{Name, Wide};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F32X4, I8, I8X16, I32, I32X4};
use cranelift_codegen::ir::{InstBuilder, Value};
use smallvec::SmallVec;

/// Vectors of words of 32 bits for a warp.
const VECTORS: usize = LANES / 4;

impl<'a> Lower<'a, '_> {
    /// Does a meeting at the end of a block at which the run does not stop.
    pub(super) fn pass(&mut self, block: Block, meet: &Meet) {
        let modules = self.modules;
        let Some(plan) = self.together.as_ref().map(|together| together.plan) else {
            return;
        };
        let Some(point) = plan.passes(block) else {
            return;
        };
        let meeting = plan.regions.as_ref().and_then(|r| r.meeting(point));
        let Some((site, _)) = meeting else { return };
        self.count_run(plan, point, site, meet);
        self.meet_at_once(&modules.known[site as usize], meet);
    }

    /// Counts it that a warp passes a point; stops there if its turn may be over before it asks again.
    fn count_run(&mut self, plan: &'a Wide, point: u32, site: u32, meet: &Meet) {
        let (Some(lane), Some(turns)) = (self.lane, &plan.turns) else {
            return;
        };
        let Some(variable) = lane.left else { return };
        let left = self.b.use_var(variable);
        if let Some(passed) = turns.asks(point) {
            let on = (self.emit()).cmp_k(IntCC::UnsignedGreaterThan, left, passed.into());
            let (next, cold) = (self.b.create_block(), self.cold_block());
            self.b.ins().brif(on, next, &[], cold, &[]);
            self.b.switch_to_block(cold);
            // Code behind it does not come by here.
            let mark = self.vectors_mark();
            self.meet_together(lane, point, site, meet);
            self.forget_vectors(mark);
            self.b.switch_to_block(next);
        }
        let left = self.emit().add_k(left, u64::MAX);
        self.b.def_var(variable, left);
    }

    fn meet_at_once(&mut self, known: &Known, meet: &Meet) {
        // Those without `.sync` have no mask.
        let first = usize::from(meet.op.is_masked());
        let dst = |i: usize| meet.dsts.get(i).copied().flatten();
        let source = meet.srcs.get(first).copied().unwrap_or(Operand::Imm(0));
        match meet.op {
            Op::Shfl { .. } => {
                if let Some(route) = known.route() {
                    self.shuffle(route, source, [dst(0), dst(1)]);
                }
            }
            Op::Vote { mode, sync: _ } => {
                let holds = self.ballot(source);
                let result = match mode {
                    VoteMode::Ballot => holds,
                    VoteMode::All => self.emit().cmp_k(IntCC::Equal, holds, ALL),
                    VoteMode::Any => self.emit().cmp_k(IntCC::NotEqual, holds, 0),
                    VoteMode::Uni => {
                        let all = self.emit().cmp_k(IntCC::Equal, holds, ALL);
                        let none = self.emit().cmp_k(IntCC::Equal, holds, 0);
                        self.b.ins().bor(all, none)
                    }
                };
                self.give(dst(0), result);
            }
            Op::MatchAll { class } => {
                let same = self.all_the_same(source, class);
                let none = self.k(I32, 0);
                let all = self.k(I32, ALL);
                let mask = self.b.ins().select(same, all, none);
                self.give(dst(0), mask);
                self.give(dst(1), same);
            }
            Op::Redux { op } => {
                let result = self.reduce(op, source);
                self.give(dst(0), result);
            }
            Op::ActiveMask => {
                let all = self.k(I32, ALL);
                self.give(dst(0), all);
            }
            Op::Elect => {
                let zero = self.k(I32, 0);
                self.give(dst(0), zero);
                if let Some(reg) = dst(1) {
                    let elected = self.masks(|lane| lane == 0);
                    self.set_vectors(reg.into(), elected);
                }
            }
            // It orders what lanes do, and a run does it in order.
            Op::Warp => {}
            #[expect(
                clippy::unreachable,
                reason = "none of these is passed: `Known::is_of_whole_warp`"
            )]
            Op::MatchAny { .. }
            | Op::Barrier { .. }
            | Op::ClusterArrive { .. }
            | Op::ClusterWait { .. } => unreachable!("a run stops at {:?}", meet.op),
        }
    }

    /// Gives all lanes a value.
    fn give(&mut self, dst: Option<Reg>, value: Value) {
        let Some(name) = dst.map(Name::from) else {
            return;
        };
        if self.varies(name) {
            let vectors = self.spread(self.plan.names.class(name), value, 0);
            self.set_vectors(name, vectors);
        } else {
            self.set(name, value);
        }
    }

    /// Predicates that are known for each lane.
    fn masks(&mut self, holds: impl Fn(u32) -> bool) -> Vectors {
        (0..VECTORS as u32)
            .map(|v| {
                let lanes = [0, 1, 2, 3].map(|i| -i64::from(holds(4 * v + i)));
                self.emit().lanes_k(I32X4, &lanes)
            })
            .collect()
    }

    fn shuffle(&mut self, route: &Route, source: Operand, [d, in_range]: [Option<Reg>; 2]) {
        // What arithmetic gave may stay as it is.
        let from = match source {
            Operand::Reg(reg) => self.vectors(reg.into()),
            Operand::Imm(_) => self.operand_vectors(source, RegClass::B32),
        };
        let results = (0..VECTORS as u32)
            .map(|v| self.lanes_of_vectors(&from, [0, 1, 2, 3].map(|i| route.from(4 * v + i).0)))
            .collect();
        if let Some(reg) = d {
            self.set_vectors(reg.into(), results);
        }
        if let Some(reg) = in_range {
            let masks = self.masks(|lane| route.from(lane).1);
            self.set_vectors(reg.into(), masks);
        }
    }

    /// Four lanes of a warp's, as a vector.
    fn lanes_of_vectors(&mut self, vectors: &[Value], lanes: [u32; 4]) -> Value {
        let place = lanes.map(|lane| ((lane / 4) as usize, (lane % 4) as u8));
        let ty = self.emit().ty(vectors[0]);
        let mut sources = SmallVec::<[usize; 4]>::new();
        for (vector, _) in place {
            if !sources.contains(&vector) {
                sources.push(vector);
            }
        }
        let result = match sources[..] {
            [one] if place.iter().map(|p| p.1).eq(0..4) => return vectors[one],
            [one] => {
                let words = place.map(|p| p.1);
                self.emit().pick_words(vectors[one], vectors[one], words)
            }
            [a, b] => {
                // In the order of the warp, so that a shift is seen as one.
                let [a, b] = [a.min(b), a.max(b)];
                let words = place.map(|(vector, word)| word + if vector == a { 0 } else { 4 });
                self.emit().pick_words(vectors[a], vectors[b], words)
            }
            _ => {
                let all = |l: &mut Self, (vector, word): (usize, u8)| {
                    let vector = l.emit().cast(I32X4, vectors[vector]);
                    l.b.ins().extractlane(vector, word)
                };
                let first = all(self, place[0]);
                let mut result = self.b.ins().scalar_to_vector(I32X4, first);
                for (i, &place) in (1..).zip(&place[1..]) {
                    let lane = all(self, place);
                    result = self.b.ins().insertlane(result, lane, i);
                }
                result
            }
        };
        match ty == F32X4 {
            true => self.emit().cast(F32X4, result),
            false => result,
        }
    }

    /// The lanes for which a predicate holds, as bits.
    fn ballot(&mut self, predicate: Operand) -> Value {
        let masks = self.operand_vectors(predicate, RegClass::Pred);
        let halves: SmallVec<[Value; 2]> = (masks.chunks(4))
            .map(|masks| {
                let narrow = [0, 2].map(|i| self.b.ins().snarrow(masks[i], masks[i + 1]));
                let bytes = self.b.ins().snarrow(narrow[0], narrow[1]);
                debug_assert_eq!(self.emit().ty(bytes), I8X16);
                self.b.ins().vhigh_bits(I32, bytes)
            })
            .collect();
        let high = self.emit().shl_k(halves[1], 16);
        self.b.ins().bor(halves[0], high)
    }

    /// Whether all lanes have the same value.
    fn all_the_same(&mut self, source: Operand, class: RegClass) -> Value {
        let vectors = self.operand_vectors(source, class);
        let first = self.b.ins().extractlane(vectors[0], 0);
        let ty = self.emit().ty(vectors[0]);
        let first = self.emit().all_lanes(ty, first);
        let mut same: Option<Value> = None;
        for vector in vectors {
            let equal = self.b.ins().icmp(IntCC::Equal, vector, first);
            same = Some(match same {
                None => equal,
                Some(same) => self.b.ins().band(same, equal),
            });
        }
        let Some(same) = same else {
            return self.k(I8, 1);
        };
        let lanes = lanes_of(class);
        let bits = self.b.ins().vhigh_bits(I32, same);
        self.emit().cmp_k(IntCC::Equal, bits, (1 << lanes) - 1)
    }

    /// What all lanes' values are together.
    fn reduce(&mut self, op: ReduxOp, source: Operand) -> Value {
        let mut vectors = self.operand_vectors(source, RegClass::B32);
        while vectors.len() > 1 {
            vectors = (vectors.chunks(2))
                .map(|pair| self.combine_lanes(op, pair[0], pair[1]))
                .collect();
        }
        let mut all = vectors[0];
        for words in [[2, 3, 0, 1], [1, 0, 3, 2]] {
            let others = self.emit().pick_words(all, all, words);
            all = self.combine_lanes(op, all, others);
        }
        self.b.ins().extractlane(all, 0)
    }

    fn combine_lanes(&mut self, op: ReduxOp, a: Value, b: Value) -> Value {
        let ins = self.b.ins();
        match op {
            ReduxOp::Add => ins.iadd(a, b),
            ReduxOp::Min { signed: true } => ins.smin(a, b),
            ReduxOp::Min { signed: false } => ins.umin(a, b),
            ReduxOp::Max { signed: true } => ins.smax(a, b),
            ReduxOp::Max { signed: false } => ins.umax(a, b),
            ReduxOp::And => ins.band(a, b),
            ReduxOp::Or => ins.bor(a, b),
            ReduxOp::Xor => ins.bxor(a, b),
            #[expect(
                clippy::unreachable,
                reason = "runs stop at these: `Known::is_of_whole_warp`"
            )]
            ReduxOp::Float(op) => unreachable!("a run stops at a reduction by {op:?}"),
        }
    }
}

/// All lanes, as bits.
const ALL: u64 = u32::MAX as u64;
