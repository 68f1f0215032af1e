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

/// So many warps are kept for without a look at whether there are more; a power of two.
const AT_ONCE: u32 = 8;

impl<'a> Lower<'a, '_> {
    /// The sides of the branch at the end of a block that are idle.
    pub(super) fn idle_sides(&self, block: Block) -> [bool; 2] {
        let idle = (self.together.as_ref()).and_then(|t| t.plan.idle.as_ref());
        match self.lane.and_then(|lane| lane.skipped).and(idle) {
            Some(idle) => idle.sides(block),
            None => [false; 2],
        }
    }

    /// Whether warps that go the other side of the branch at the end of a block may find out what those behind them do.
    pub(super) fn looks_ahead(&self, block: Block) -> bool {
        let idle = (self.together.as_ref()).and_then(|t| t.plan.idle.as_ref());
        idle.is_some_and(|idle| idle.is_ahead(block))
    }

    /// Where a predicate that holds, or does not, leads to an idle side: finds out whether all warps behind this one would come there. Whether it
    /// comes there itself is known.
    pub(super) fn skip(&mut self, predicate: Name, holds: bool, itself: bool) {
        let Some(skipped) = self.lane.and_then(|lane| lane.skipped) else {
            return;
        };
        let last = self.field(Field::LAST_OF_LINE);
        let warp = self.field(Field::ROUND_WARP);
        let rest = self.b.ins().isub(last, warp);
        // In a CTA that is no line the last is 0.
        let none = self.k(I32, 0);
        let rest = self.b.ins().smax(rest, none);
        let threads = self.emit().add_k(rest, 1);
        let threads = self.emit().shl_k(threads, LANES.ilog2());
        let from = if itself { 0 } else { LANES as u64 };
        let Some(all) = self.holds_behind(predicate, holds, from, threads) else {
            return;
        };
        let rest = self.b.ins().select(all, rest, none);
        self.b.def_var(skipped, rest);
    }

    /// Keeps at a point for warps that are skipped what they would keep there, which is told with where each is; if the warps before them
    /// stand there, too. Otherwise none is skipped.
    pub(super) fn keep_for_skipped(&mut self, lane: Lane, point: u32, kept: &[(i32, Value)]) {
        let Some(skipped) = lane.skipped else { return };
        let [look, first, copy, apart, next] = [(); 5].map(|()| self.b.create_block());
        let count = self.b.use_var(skipped);
        self.b.ins().brif(count, look, &[], next, &[]);
        self.b.switch_to_block(look);
        let others = self.field(Field::ROUND_POINT);
        let with_others = self
            .emit()
            .cmp_k(IntCC::Equal, others, u64::from(point) + 1);
        let step = frame_bytes(self.plan.frame_bytes) as u64;
        let [left, frame] = [I32, I64].map(|ty| self.b.append_block_param(copy, ty));
        let args = [count.into(), lane.frame.into()];
        self.b.ins().brif(with_others, copy, &args, first, &[]);
        // There are none before the first warp.
        self.b.switch_to_block(first);
        let warp = self.field(Field::ROUND_WARP);
        self.b.ins().brif(warp, apart, &[], copy, &args);
        self.b.switch_to_block(apart);
        let none = self.k(I32, 0);
        self.b.def_var(skipped, none);
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(copy);
        // Many at once, as long as there are as many, then by the bits of how many there are.
        let [many, few] = [(); 2].map(|()| self.b.create_block());
        let enough = (self.emit()).cmp_k(IntCC::UnsignedGreaterThanOrEqual, left, AT_ONCE.into());
        self.b.ins().brif(enough, many, &[], few, &[]);
        self.b.switch_to_block(many);
        let last = self.keep_for_several(AT_ONCE, step, frame, kept);
        let fewer = self.emit().add_k(left, u64::from(AT_ONCE).wrapping_neg());
        let args = [fewer.into(), last.into()];
        self.b.ins().brif(fewer, copy, &args, next, &[]);
        self.b.switch_to_block(few);
        let mut frame = frame;
        for bit in (0..AT_ONCE.ilog2()).rev() {
            let [some, behind] = [(); 2].map(|()| self.b.create_block());
            let behind_frame = self.b.append_block_param(behind, I64);
            let set = self.emit().and_k(left, 1 << bit);
            self.b.ins().brif(set, some, &[], behind, &[frame.into()]);
            self.b.switch_to_block(some);
            let last = self.keep_for_several(1 << bit, step, frame, kept);
            self.b.ins().jump(behind, &[last.into()]);
            self.b.switch_to_block(behind);
            frame = behind_frame;
        }
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
    }

    /// Keeps for so many warps behind the one with this frame; gives the frame of the last.
    fn keep_for_several(
        &mut self,
        warps: u32,
        step: u64,
        frame: Value,
        kept: &[(i32, Value)],
    ) -> Value {
        let mut last = frame;
        for _ in 0..warps {
            last = self.emit().add_k(last, step);
            for &(at, value) in kept {
                self.b.ins().store(trusted(), value, last, at);
            }
        }
        last
    }
}
