//! What native code and its host share: the context that every function gets, by layout.

use crate::machine::schedule::{LANES, Record};
use crate::spmd::MOST_BETWEEN;
use std::ffi::c_void;
use std::mem::offset_of;

/// A function went to its end.
pub const DONE: u32 = 0;
/// The thread is over.
pub const EXITED: u32 = 1;
/// Something went wrong; [`Context::fault`] says what.
pub const FAULT: u32 = 2;

/// "No point" in [`Context::round_from`].
pub const NOWHERE: u32 = u32::MAX;

/// The start in [`Context::round_from`].
pub const START: u32 = 0;

/// "No slot" in [`Context::answers`].
pub const NO_SLOT: u32 = u32::MAX;

/// A stretch of addresses that may be read, perhaps written, without asking.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Extent {
    /// The first address; a multiple of 32, the largest alignment of an access.
    pub base: u64,
    /// Bytes that may be read.
    pub read: u64,
    /// Bytes that may be written: as many, or none.
    pub write: u64,
    /// What leads from an address to the host's.
    pub delta: u64,
}

/// Alignments of accesses: 1, 2, 4 and so on up to 32.
pub const ALIGNMENTS: usize = 6;

/// Where a pointer among the kernel's parameters points. Distances are counted from the pointer itself: most addresses
/// are it and a multiple of something, and what that is need not be found out by subtraction.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Start {
    /// The pointer.
    pub address: u64,
    /// For each alignment how many pieces of that size may be read from the pointer on; none if it is not so aligned.
    pub read: [u64; ALIGNMENTS],
    /// How many may be written.
    pub write: [u64; ALIGNMENTS],
}

/// What an indirect call needs to know of a function.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its code.
    pub code: *const u8,
    /// The number of its type; `u32::MAX` if there is no code.
    pub ty: u32,
    /// Bytes of its `.local` variables.
    pub local_bytes: u32,
    /// Their alignment.
    pub local_align: u64,
}

/// What went wrong, as far as native code and its helpers know.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct FaultRecord {
    /// Index into the code's sites.
    pub site: u32,
    /// For accesses: which [`FaultKind`](crate::machine::FaultKind), as the helper numbers them.
    pub kind: u32,
    /// For accesses: the address. Otherwise what the site's cause says.
    pub value: u64,
}

/// What native code works on: one CTA, or one call from the host.
#[repr(C)]
#[derive(Debug)]
pub struct Context {
    /// The flag that is polled.
    pub stop: *const u32,
    /// The kernel's parameters.
    pub params: *const u8,
    /// The block of `.global` variables.
    pub globals: u64,
    /// The window of constants.
    pub constants: *const u8,
    /// The CTA's shared memory.
    pub shared: *mut u8,
    /// The thread's local memory.
    pub local: *mut u8,
    /// Functions by index, for indirect calls.
    pub functions: *const Entry,
    /// Where the kernel's pointers point.
    pub roots: *const Start,
    /// Last answers to accesses of unknown origin.
    pub answers: *mut Extent,
    /// Bytes of the parameters.
    pub params_len: u64,
    /// Bytes of constants.
    pub constants_len: u64,
    /// Bytes of shared memory.
    pub shared_len: u64,
    /// Bytes of local memory that there are.
    pub local_limit: u64,
    /// Where dynamic shared memory begins.
    pub dynamic_shared: u64,
    /// The native stack must not come below this address.
    pub stack_limit: u64,
    /// `%nctaid`
    pub grid: [u32; 3],
    /// `%ntid`
    pub block: [u32; 3],
    /// `%ctaid`
    pub ctaid: [u32; 3],
    /// The CTA's linear index.
    pub linear_ctaid: u32,
    /// Warps in the CTA.
    pub warps: u32,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared_len: u32,
    /// Deepest nesting of calls.
    pub depth_limit: u32,

    /// `%tid`: kept up to date where a function is called that may ask, and at faults.
    pub tid: [u32; 3],
    /// Nesting of counted calls.
    pub depth: u32,
    /// Where the innermost frame of local memory ends.
    pub local_top: u64,
    /// What the helper for accesses answers: a host pointer, or null.
    pub answer: *mut u8,
    /// Lanes of a warp that are to run, in kernels whose threads stop; and so on to `turn`.
    pub lanes: u32,
    /// The lane that runs, as far as native code has said.
    pub lane: u32,
    /// How often the lane may still enter heads of loops that may wait.
    pub turn: u32,
    /// The first lane behind those beside each other that run now.
    pub lanes_end: u64,
    /// Where the schedule learns with which operands they stopped; of the first warp, where several run by turns.
    pub record: *mut Record,
    /// What the lanes keep while they wait: at which point each stands comes first, `%tid` last; of the warp whose turn it is.
    pub frame: *mut u64,
    /// The frame of the first warp.
    pub first_frame: *mut u64,
    /// Where threads stop: which warp runs; the first one, where several run by turns.
    pub warp: u32,
    /// Local memory of the first lane; of the first warp.
    pub locals: *mut u8,
    /// Bytes from the local memory of a lane to that of the next.
    pub local_stride: u64,
    /// How many warps of 32 lanes run by turns, from barrier to barrier; 0 for one warp alone, whose lanes `lanes` are.
    pub round_warps: u32,
    /// The warp whose turn it is; in the end how many had theirs since a barrier last opened.
    pub round_warp: u32,
    /// The point at which the warps before it stand, from 1 on.
    pub round_point: u32,
    /// The first lane of the run whose turn it is, where runs of fewer lanes than a warp has have turns.
    pub round_lane: u32,
    /// In the end: so many lanes of the warp that ran last, from the first one on, stand where those of the warps before do, which is
    /// `round_others` if it is not all of them.
    pub round_beside: u32,
    pub round_others: u32,
    /// Where runs of the warp that ran last stand which do not, by the first lane: as `stood`.
    pub round_stood: [u32; LANES],
    /// In the end: where all lanes of the warp that ran last stand, which went together to there: a point, from 1 on, or
    /// [`EXITED`](crate::machine::schedule::EXITED), and nobody has told the frame. 0 if they did not.
    pub stood: u32,
    /// Where all lanes of all warps stood when it was their turn first, which came there together and told their frames of the first
    /// lane alone what is the same for all: a point, 0 for the start, or [`NOWHERE`] if that is not so.
    pub round_from: u32,
    /// The last warp of the CTA, where its threads are one row and all warps have gone by turns from the start; 0 where that is not so.
    pub last_of_line: u32,
    /// How often the warp may still run in its turn; in the end without those it did.
    pub left: u32,
    /// How often warps may still run until a barrier opens for the last time; negative if they ran more often.
    pub runs: i32,
    /// Where the check of a run fails: what the registers hold that accesses between its members are based on.
    pub between: [u64; MOST_BETWEEN],
    /// What went wrong.
    pub fault: FaultRecord,
    /// What the helpers work with.
    pub host: *const c_void,

    /// Where addresses of the CTA's own shared memory begin.
    pub shared_start: u64,
    /// `%clusterid`
    pub clusterid: [u32; 3],
    /// `%nclusterid`
    pub cluster_grid: [u32; 3],
    /// `%cluster_ctaid`
    pub cluster_ctaid: [u32; 3],
    /// `%cluster_nctaid`
    pub cluster: [u32; 3],
    /// `%cluster_ctarank`
    pub cluster_rank: u32,
    /// `%cluster_nctarank`
    pub cluster_ctas: u32,
    /// `%is_explicit_cluster`
    pub explicit_cluster: u32,
}

impl Context {
    /// Makes it that of another CTA, alone in its cluster, none of whose threads has begun; local memory that each has from the start ends
    /// at `local_top`.
    pub fn turn_to(&mut self, block: [u32; 3], local_top: u64) {
        self.ctaid = block;
        self.clusterid = block;
        self.linear_ctaid = linear(block, self.grid);
        self.local_top = local_top;
        self.depth = 0;
    }
}

/// The number of a CTA in a grid, counted from 0 in x first, in 32 bits.
pub fn linear([x, y, z]: [u32; 3], [nx, ny, _]: [u32; 3]) -> u32 {
    x.wrapping_add(nx.wrapping_mul(y.wrapping_add(ny.wrapping_mul(z))))
}

/// `%tid` of the thread of a CTA with a number, counted from 0 in x first.
pub fn tid(number: u32, [nx, ny, _]: [u32; 3]) -> [u32; 3] {
    let (nx, ny) = (nx.max(1), ny.max(1));
    [number % nx, number / nx % ny, number / nx / ny]
}

/// A field of the context: offset and size in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub offset: i32,
    pub bytes: u8,
}

macro_rules! fields {
    ($($name:ident: $bytes:literal = $($path:tt).+;)*) => {
        impl Field {
            $(pub const $name: Field = Field {
                offset: offset_of!(Context, $($path).+) as i32,
                bytes: $bytes,
            };)*
        }
    };
}

fields! {
    STOP: 8 = stop;
    PARAMS: 8 = params;
    GLOBALS: 8 = globals;
    CONSTANTS: 8 = constants;
    SHARED: 8 = shared;
    LOCAL: 8 = local;
    FUNCTIONS: 8 = functions;
    ROOTS: 8 = roots;
    ANSWERS: 8 = answers;
    PARAMS_LEN: 8 = params_len;
    CONSTANTS_LEN: 8 = constants_len;
    SHARED_LEN: 8 = shared_len;
    LOCAL_LIMIT: 8 = local_limit;
    DYNAMIC_SHARED: 8 = dynamic_shared;
    STACK_LIMIT: 8 = stack_limit;
    GRID: 4 = grid;
    BLOCK: 4 = block;
    CTAID: 4 = ctaid;
    LINEAR_CTAID: 4 = linear_ctaid;
    WARPS: 4 = warps;
    DYNAMIC_SHARED_LEN: 4 = dynamic_shared_len;
    DEPTH_LIMIT: 4 = depth_limit;
    TID: 4 = tid;
    DEPTH: 4 = depth;
    LOCAL_TOP: 8 = local_top;
    ANSWER: 8 = answer;
    LANES: 4 = lanes;
    LANE: 4 = lane;
    TURN: 4 = turn;
    LANES_END: 8 = lanes_end;
    RECORD: 8 = record;
    FRAME: 8 = frame;
    FIRST_FRAME: 8 = first_frame;
    LOCALS: 8 = locals;
    LOCAL_STRIDE: 8 = local_stride;
    ROUND_WARPS: 4 = round_warps;
    ROUND_WARP: 4 = round_warp;
    ROUND_POINT: 4 = round_point;
    ROUND_LANE: 4 = round_lane;
    ROUND_BESIDE: 4 = round_beside;
    ROUND_OTHERS: 4 = round_others;
    ROUND_STOOD: 4 = round_stood;
    STOOD: 4 = stood;
    ROUND_FROM: 4 = round_from;
    LAST_OF_LINE: 4 = last_of_line;
    LEFT: 4 = left;
    RUNS: 4 = runs;
    BETWEEN: 8 = between;
    FAULT_SITE: 4 = fault.site;
    FAULT_VALUE: 8 = fault.value;
    SHARED_START: 8 = shared_start;
    CLUSTERID: 4 = clusterid;
    CLUSTER_GRID: 4 = cluster_grid;
    CLUSTER_CTAID: 4 = cluster_ctaid;
    CLUSTER: 4 = cluster;
    CLUSTER_RANK: 4 = cluster_rank;
    CLUSTER_CTAS: 4 = cluster_ctas;
    EXPLICIT_CLUSTER: 4 = explicit_cluster;
}

impl Field {
    /// Element `index` of a field that is an array.
    pub fn at(self, index: u8) -> Field {
        Field {
            offset: self.offset + i32::from(self.bytes) * i32::from(index),
            ..self
        }
    }
}
