//! The schedule of a CTA whose threads meet: who runs next, who waits for whom, what a meeting gives.
//!
//! Both engines follow it: it decides which lanes of which warp run, the engine runs each of them to its next stop, in order
//! of the lanes, and leaves a [`Record`] of where they stopped and with which operands.

use crate::ir::sync::Op;
use crate::machine::Fault;

/// Threads of a warp.
pub const LANES: usize = 32;

/// [`Record::sites`]: the thread is over.
pub const EXITED: u32 = u32::MAX;

/// [`Record::sites`]: the thread has used up its turn at a loop that may wait for others.
pub const YIELDED: u32 = u32::MAX - 1;

/// How often a thread may enter the heads of loops that may wait, before it gives up its turn.
pub const TURN: u32 = 64;

/// Where the threads of a warp stand. Native code reads and writes it.
#[repr(C)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Where each lane stopped: a site of a [`Meet`](crate::ir::sync::Meet), [`EXITED`] or [`YIELDED`].
    pub sites: [u32; LANES],
    /// The sources of what it meets at, by source and lane. The schedule writes the results to the first two.
    pub values: [[u64; LANES]; 4],
}

/// What an engine does for the schedule.
pub trait Threads {
    /// Runs lanes of a warp, one after another in ascending order, each to where it stops next. Of those that stopped
    /// at a site, `record` holds the results of the meeting.
    ///
    /// # Errors
    /// What a thread did wrong; the lanes behind it have not run.
    fn run(&mut self, warp: u32, lanes: u32, record: &mut Record) -> Result<(), Fault>;

    /// The operation at a site.
    fn op(&self, site: u32) -> Op;

    /// The fault `kind` at a site, by a thread.
    fn fault(&self, site: u32, kind: crate::machine::FaultKind, warp: u32, lane: u32) -> Fault;
}
