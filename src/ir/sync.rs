//! Threads that meet: barriers, warp operations, atomics, fences, mbarriers, copies. PTX ISA, "Parallel Synchronization
//! and Communication Instructions" and "Asynchronous Copy".

use super::float::{self, FloatTy, Mode};
use super::memory::{Address, Order, Space};
use super::{IntTy, Kind, Operand, Reg, RegClass, Signature};
use smallvec::SmallVec;

/// An instruction at which a thread waits for others: `dsts = op(srcs)`, as `op`'s [`Signature`] says. Under a guard that
/// is off it is not met at all.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Meet {
    /// The operation.
    pub op: Op,
    /// Destinations, each of exactly the signature's class; `None` for `_`.
    pub dsts: SmallVec<[Option<Reg>; 2]>,
    /// Sources; registers at least as wide as the signature says.
    pub srcs: SmallVec<[Operand; 4]>,
}

/// Operations at which threads meet. The sources of warp operations begin with the mask of lanes, unless they are of the
/// old kind without `.sync`, whose mask is that of the lanes that come together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// `bar`, `barrier{.cta}`. Sources: the barrier's number (0 to 15), the number of threads if it is `counted`, the predicate
    /// of a reduction. Destination: the result of a reduction.
    Barrier {
        /// What happens there.
        action: BarrierAction,
        /// Whether a number of threads is given.
        counted: bool,
        /// Whether all threads of a warp execute it together.
        aligned: bool,
    },
    /// `barrier.cluster.arrive`: does not wait.
    ClusterArrive {
        /// Whether all threads of a warp come to it together.
        aligned: bool,
        /// Whether it orders nothing.
        relaxed: bool,
    },
    /// `barrier.cluster.wait`
    ClusterWait {
        /// Whether all threads of a warp come to it together.
        aligned: bool,
    },
    /// `bar.warp.sync`. Source: the mask.
    Warp,
    /// `shfl`. Sources: mask, a, b, c. Destinations: d; whether the source lane is in range.
    Shfl {
        /// How the source lane is found.
        mode: ShflMode,
        /// Whether the mask is given.
        sync: bool,
    },
    /// `vote`. Sources: mask, predicate. Destination: a predicate, 32 bits for a ballot.
    Vote {
        /// What is asked.
        mode: VoteMode,
        /// Whether the mask is given.
        sync: bool,
    },
    /// `match.any.sync`. Sources: mask, a. Destination: the lanes that have the same a.
    MatchAny {
        /// The class of a.
        class: RegClass,
    },
    /// `match.all.sync`. Sources: mask, a. Destinations: the mask if all have the same a, else 0; whether they have.
    MatchAll {
        /// The class of a.
        class: RegClass,
    },
    /// `redux.sync`. Sources: mask, a.
    Redux {
        /// How the values are reduced.
        op: ReduxOp,
    },
    /// `activemask`. Destination: the lanes that come together.
    ActiveMask,
    /// `elect.sync`. Source: the mask. Destinations: the elected lane; whether it is this one.
    Elect,
}

/// What happens at a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BarrierAction {
    /// Waits.
    Sync,
    /// Is counted and goes on.
    Arrive,
    /// Waits; the threads for which the predicate holds are counted, 32 bits.
    Popc,
    /// Waits; whether the predicate holds for all.
    And,
    /// Waits; whether the predicate holds for one at least.
    Or,
}

/// How `shfl` finds the source lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ShflMode {
    Up,
    Down,
    Bfly,
    Idx,
}

/// What `vote` asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum VoteMode {
    All,
    Any,
    Uni,
    Ballot,
}

/// How `redux.sync` reduces; values are 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ReduxOp {
    Add,
    Min {
        signed: bool,
    },
    Max {
        signed: bool,
    },
    And,
    Or,
    Xor,
    /// The operator on two `.f32`.
    Float(float::Op),
}

impl Op {
    /// Classes of sources and destinations.
    pub fn signature(self) -> Signature {
        const P: RegClass = RegClass::Pred;
        const W: RegClass = RegClass::B32;
        match self {
            Op::Barrier {
                action, counted, ..
            } => {
                let mut srcs = SmallVec::from_slice(if counted { &[W, W] } else { &[W] });
                let dsts: &[RegClass] = match action {
                    BarrierAction::Sync | BarrierAction::Arrive => &[],
                    BarrierAction::Popc => &[W],
                    BarrierAction::And | BarrierAction::Or => &[P],
                };
                if !dsts.is_empty() {
                    srcs.push(P);
                }
                Signature {
                    srcs,
                    dsts: SmallVec::from_slice(dsts),
                }
            }
            Op::ClusterArrive { .. } | Op::ClusterWait { .. } => Signature::new(&[], &[]),
            Op::Warp => Signature::new(&[W], &[]),
            Op::Shfl { sync: true, .. } => Signature::new(&[W, W, W, W], &[W, P]),
            Op::Shfl { sync: false, .. } => Signature::new(&[W, W, W], &[W, P]),
            Op::Vote { mode, sync } => {
                let result = match mode {
                    VoteMode::All | VoteMode::Any | VoteMode::Uni => P,
                    VoteMode::Ballot => W,
                };
                Signature::new(if sync { &[W, P] } else { &[P] }, &[result])
            }
            Op::MatchAny { class } => Signature::new(&[W, class], &[W]),
            Op::MatchAll { class } => Signature::new(&[W, class], &[W, P]),
            Op::Redux { .. } => Signature::new(&[W, W], &[W]),
            Op::ActiveMask => Signature::new(&[], &[W]),
            Op::Elect => Signature::new(&[W], &[W, P]),
        }
    }

    /// Whether it is one of a barrier at which all threads of a warp come together.
    pub fn is_aligned(self) -> bool {
        match self {
            Op::Barrier { aligned, .. }
            | Op::ClusterArrive { aligned, .. }
            | Op::ClusterWait { aligned } => aligned,
            Op::Warp
            | Op::Shfl { .. }
            | Op::Vote { .. }
            | Op::MatchAny { .. }
            | Op::MatchAll { .. }
            | Op::Redux { .. }
            | Op::ActiveMask
            | Op::Elect => false,
        }
    }

    /// Whether the first source is a mask of lanes.
    pub fn is_masked(self) -> bool {
        match self {
            Op::Warp
            | Op::Shfl { sync: true, .. }
            | Op::Vote { sync: true, .. }
            | Op::MatchAny { .. }
            | Op::MatchAll { .. }
            | Op::Redux { .. }
            | Op::Elect => true,
            Op::Barrier { .. }
            | Op::ClusterArrive { .. }
            | Op::ClusterWait { .. }
            | Op::Shfl { sync: false, .. }
            | Op::Vote { sync: false, .. }
            | Op::ActiveMask => false,
        }
    }
}

/// `atom`, `red`: reads memory, writes what the operator makes of it, and gives what was read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Atomic {
    /// The operator.
    pub op: AtomicOp,
    /// The state space of the address: generic, global or shared.
    pub space: Space,
    /// Bytes: 2, 4, 8 or 16. The address is a multiple of it.
    pub bytes: u8,
    /// What was read: none for `red` and `_`; low and high half of 16 bytes.
    pub dsts: SmallVec<[Option<Reg>; 2]>,
    /// The operand; of `cas` what is compared with, then what is written. Of 16 bytes each has two halves.
    pub srcs: SmallVec<[Operand; 4]>,
    /// The address.
    pub addr: Address,
    /// Ordering.
    pub order: Order,
}

/// What an atomic writes, of the old value and the operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum AtomicOp {
    And,
    Or,
    Xor,
    Add,
    /// old >= b ? 0 : old + 1
    Inc,
    /// old == 0 || old > b ? b : old - 1
    Dec,
    Min {
        ty: IntTy,
    },
    Max {
        ty: IntTy,
    },
    Exch,
    /// old == b ? c : old
    Cas,
    /// The operator on old and b.
    Float(float::Op),
}

impl AtomicOp {
    /// The operator where the address lies in this space: sums of `.f32` make zeros of subnormal numbers in global memory, and keep
    /// them in shared memory. PTX ISA, `atom`.
    #[must_use]
    pub fn within(self, space: Space) -> AtomicOp {
        match self {
            AtomicOp::Float(float::Op::Arith {
                op,
                ty: FloatTy::F32,
                mode,
            }) => {
                let ftz = !matches!(space, Space::Shared | Space::Cluster);
                let (ty, mode) = (FloatTy::F32, Mode { ftz, ..mode });
                AtomicOp::Float(float::Op::Arith { op, ty, mode })
            }
            other => other,
        }
    }

    /// Whether [`within`](Self::within) makes a difference.
    pub fn looks_at_space(self) -> bool {
        self.within(Space::Shared) != self.within(Space::Global)
    }
}

/// `fence`, `membar`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fence {
    /// `.acquire`
    Acquire,
    /// `.release`
    Release,
    /// `.acq_rel`, and proxies that a CPU does not have.
    AcquireRelease,
    /// `.sc`, `membar`
    Sequential,
}

/// The bits of the state that an arrival gives which hold how many arrivals the phase waited for before it; the others
/// are the engine's own. `mbarrier.pending_count` takes these.
pub const MBARRIER_PENDING: u64 = 0xf_ffff;

/// `mbarrier`: an object of 8 bytes that counts arrivals and bytes, phase after phase. Its bits are this crate's own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mbarrier {
    /// The operation.
    pub op: MbarrierOp,
    /// The state space of the address: shared or generic. Global where an asynchronous instruction names such a variable:
    /// that is a fault.
    pub space: Space,
    /// The address.
    pub addr: Address,
    /// The state that an arrival gives, 64 bits; whether the phase is complete, for tests.
    pub dst: Option<Reg>,
    /// Init: the number of arrivals that a phase waits for. Arrivals: how many arrive, if it is given, and before
    /// that how many bytes are expected. Bytes: how many. Tests: state or parity.
    pub srcs: SmallVec<[Operand; 2]>,
}

/// Operations on an mbarrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MbarrierOp {
    /// `mbarrier.init`
    Init,
    /// `mbarrier.inval`
    Invalidate,
    /// `mbarrier.arrive`, `mbarrier.arrive_drop`, `cp.async.mbarrier.arrive.noinc`
    Arrive {
        /// Whether fewer arrivals are waited for from the next phase on.
        drop: bool,
        /// Whether bytes are expected first.
        expects: bool,
        /// Whether a number of arrivals is given.
        counted: bool,
        /// `.noComplete`: an arrival that may not complete the phase.
        no_complete: bool,
    },
    /// `mbarrier.expect_tx`; of no bytes, `cp.async.mbarrier.arrive`
    ExpectTx,
    /// `mbarrier.complete_tx`, and what follows the store of `st.async` and the atomic of `red.async`
    CompleteTx,
    /// `mbarrier.test_wait`, `mbarrier.try_wait`
    Test {
        /// Whether a parity is given instead of a state.
        parity: bool,
        /// `try_wait`: may wait for a while.
        waits: bool,
    },
}

impl MbarrierOp {
    /// The class of what it gives, if it gives anything, and those of its sources.
    pub fn signature(self) -> (Option<RegClass>, SmallVec<[RegClass; 2]>) {
        const W: RegClass = RegClass::B32;
        let (dst, srcs): (_, &[RegClass]) = match self {
            MbarrierOp::Init | MbarrierOp::ExpectTx | MbarrierOp::CompleteTx => (None, &[W]),
            MbarrierOp::Invalidate => (None, &[]),
            MbarrierOp::Arrive {
                expects, counted, ..
            } => {
                let srcs: &[RegClass] = match (expects, counted) {
                    (false, false) => &[],
                    (true, false) | (false, true) => &[W],
                    (true, true) => &[W, W],
                };
                (Some(RegClass::B64), srcs)
            }
            MbarrierOp::Test { parity: true, .. } => (Some(RegClass::Pred), &[W]),
            MbarrierOp::Test { parity: false, .. } => (Some(RegClass::Pred), &[RegClass::B64]),
        };
        (dst, SmallVec::from_slice(srcs))
    }
}

/// Asynchronous copies and reductions, done at once: `cp.async`, `cp.async.bulk`, `cp.reduce.async.bulk`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copy {
    /// Where to, with its space.
    pub to: (Space, Address),
    /// Where from, with its space.
    pub from: (Space, Address),
    /// Bytes that are written.
    pub bytes: Operand,
    /// Bytes that are read, no more than `bytes`; the rest is zero. All if there is none.
    pub read: Option<Operand>,
    /// A predicate: where it is 1, nothing is read and all is zero.
    pub ignore: Option<Operand>,
    /// Bytes at the beginning and at the end, 15 at most each, that are neither read nor written.
    pub skip: Option<[Operand; 2]>,
    /// 16 bits: byte i of every 16 is written where bit i is 1.
    pub byte_mask: Option<Operand>,
    /// 16 bits: bit i for CTA i of the cluster. In each of these the bytes go to the same offset of its own shared memory, and
    /// are completed on the mbarrier there.
    pub multicast: Option<Operand>,
    /// What both addresses, and `bytes`, are a multiple of.
    pub align: u8,
    /// Reduces into the destination, elements of this width, instead of writing it.
    pub reduce: Option<(AtomicOp, RegClass)>,
    /// The mbarrier on which the bytes are completed.
    pub mbarrier: Option<(Space, Address)>,
}

/// The meeting that an instruction is.
pub fn as_meet(kind: &Kind) -> Option<&Meet> {
    match kind {
        Kind::Meet(meet) => Some(meet),
        Kind::Pure(_)
        | Kind::Load(_)
        | Kind::Store(_)
        | Kind::AddressOf(_)
        | Kind::FunctionAddress { .. }
        | Kind::Special { .. }
        | Kind::Call(_)
        | Kind::Atomic(_)
        | Kind::Fence(_)
        | Kind::Mbarrier(_)
        | Kind::Copy(_)
        | Kind::Stack(_)
        | Kind::Hint { .. }
        | Kind::Unsupported => None,
    }
}

impl Copy {
    /// A plain copy of so many bytes.
    pub(crate) fn new(
        to: (Space, Address),
        from: (Space, Address),
        bytes: Operand,
        align: u8,
    ) -> Self {
        Copy {
            to,
            from,
            bytes,
            read: None,
            ignore: None,
            skip: None,
            byte_mask: None,
            multicast: None,
            align,
            reduce: None,
            mbarrier: None,
        }
    }

    /// Everything that it reads from registers, but for addresses.
    pub fn operands(&self) -> impl Iterator<Item = Operand> + '_ {
        let single = [
            Some(self.bytes),
            self.read,
            self.ignore,
            self.byte_mask,
            self.multicast,
        ];
        single
            .into_iter()
            .flatten()
            .chain(self.skip.into_iter().flatten())
    }
}
