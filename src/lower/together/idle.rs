//! Warps that have nothing to do until the next barrier, which is not asked of each: [`Idle`](crate::spmd::idle::Idle).

use super::super::context::Field;
use super::super::function::{Lower, trusted};
use super::super::region::{Lane, frame_bytes};
use crate::ir::Block;
use crate::machine::schedule::LANES;
use crate::spmd::Name;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};

impl<'a> Lower<'a, '_> {
    /// The sides of the branch at the end of a block that are idle.
    pub(super) fn idle_sides(&self, block: Block) -> [bool; 2] {
        let idle = (self.together.as_ref()).and_then(|t| t.plan.idle.as_ref());
        match self.lane.and_then(|lane| lane.skipped).and(idle) {
            Some(idle) => idle.sides(block),
            None => [false; 2],
        }
    }

    /// On an idle side, all lanes of the warp having come there by a predicate that holds, or does not: finds out whether all warps behind it
    /// would come there.
    pub(super) fn skip(&mut self, predicate: Name, holds: bool) {
        let Some(skipped) = self.lane.and_then(|lane| lane.skipped) else {
            return;
        };
        let line = self.field(Field::LINE);
        let warp = self.field(Field::ROUND_WARP);
        let before = self.emit().shl_k(warp, LANES.ilog2());
        let behind = self.b.ins().isub(line, before);
        let Some(all) = self.holds_behind(predicate, holds, behind) else {
            return;
        };
        let known = self.emit().cmp_k(IntCC::NotEqual, line, 0);
        let all = self.b.ins().band(all, known);
        let last = self.emit().shr_k(line, LANES.ilog2());
        let last = self.emit().add_k(last, u64::MAX);
        let rest = self.b.ins().isub(last, warp);
        let none = self.k(I32, 0);
        let rest = self.b.ins().select(all, rest, none);
        self.b.def_var(skipped, rest);
    }

    /// Keeps at a point for warps that are skipped what they would keep there, which is told with where each is; if the warps before them
    /// stand there, too. Otherwise none is skipped.
    pub(super) fn keep_for_skipped(&mut self, lane: Lane, point: u32, kept: &[(i32, Value)]) {
        let Some(skipped) = lane.skipped else { return };
        let [look, copy, apart, next] = [(); 4].map(|()| self.b.create_block());
        let count = self.b.use_var(skipped);
        self.b.ins().brif(count, look, &[], next, &[]);
        self.b.switch_to_block(look);
        let warp = self.field(Field::ROUND_WARP);
        let others = self.field(Field::ROUND_POINT);
        let first = self.emit().cmp_k(IntCC::Equal, warp, 0);
        let with_others = self
            .emit()
            .cmp_k(IntCC::Equal, others, u64::from(point) + 1);
        let together = self.b.ins().bor(first, with_others);
        let [left, frame] = [I32, I64].map(|ty| self.b.append_block_param(copy, ty));
        let args = [count.into(), lane.frame.into()];
        self.b.ins().brif(together, copy, &args, apart, &[]);
        self.b.switch_to_block(apart);
        let none = self.k(I32, 0);
        self.b.def_var(skipped, none);
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(copy);
        let step = frame_bytes(self.plan.frame_bytes) as u64;
        let frame = self.emit().add_k(frame, step);
        for &(at, value) in kept {
            self.b.ins().store(trusted(), value, frame, at);
        }
        let left = self.emit().add_k(left, u64::MAX);
        let args = [left.into(), frame.into()];
        self.b.ins().brif(left, copy, &args, next, &[]);
        self.b.switch_to_block(next);
    }
}
