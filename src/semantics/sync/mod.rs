//! Threads that meet: what warp operations, barrier reductions, atomics and mbarriers compute. PTX ISA, "Parallel
//! Synchronization and Communication Instructions".
//!
//! Who takes part, and when, is told by [`machine::schedule`](crate::machine::schedule).

mod atomic;
pub mod mbarrier;
mod warp;

#[cfg(test)]
mod tests;

pub use atomic::atomic;
pub use warp::{Route, Values, ballot, give, uniform, warp};

use crate::ir::sync::BarrierAction;

/// The result of a reduction at a barrier, of the threads that gave a predicate and those of them for which it holds; 0 of
/// what gives none.
pub fn barrier(action: BarrierAction, threads: u32, holds: u32) -> u64 {
    match action {
        BarrierAction::Popc => holds.into(),
        BarrierAction::And => (holds == threads).into(),
        BarrierAction::Or => (holds != 0).into(),
        BarrierAction::Sync | BarrierAction::Arrive => 0,
    }
}
