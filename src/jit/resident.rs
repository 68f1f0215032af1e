//! CTAs whose threads stop: all their state, so that they can be left and taken up again.

use super::code::{Entry, Prepared};
use super::host::{Host, find_lane};
use crate::ir::FuncId;
use crate::ir::sync::Op;
use crate::lower::context::{self, Context, Extent};
use crate::machine::schedule::{LANES, Progress, Record, Schedule, Shuffle, Threads};
use crate::machine::{Fault, FaultKind, Room, Scratch};

/// A CTA of a kernel whose threads stop.
#[derive(Debug)]
pub struct Resident<'a> {
    prepared: &'a Prepared<'a>,
    /// Where its memory is counted, and how much it is.
    room: &'a Room,
    held: u64,
    block: [u32; 3],
    /// Shared memory, and the local memory of all threads.
    scratch: Scratch,
    /// Bytes from the local memory of a thread to that of the next.
    stride: usize,
    /// What threads keep while they wait, a frame for each warp. The first words say where the lanes stand.
    frames: Vec<u64>,
    /// Words of a frame.
    words: usize,
    /// `%tid` by warp, axis and lane.
    tids: Vec<[[u32; LANES]; 3]>,
    answers: Vec<Extent>,
    schedule: Schedule,
}

impl<'a> Resident<'a> {
    /// The CTA with `%ctaid` `block`, not begun; `None` if there is no memory for it.
    pub(super) fn new(
        prepared: &'a Prepared<'a>,
        room: &'a Room,
        block: [u32; 3],
        shuffle: Option<Shuffle>,
    ) -> Option<Self> {
        let entry = &prepared.entry;
        let [nx, ny, nz] = entry.launch.block;
        let threads = [nx, ny, nz].map(|n| n as usize).iter().product::<usize>();
        let warps = threads.div_ceil(LANES);
        let words = entry.warp_frame().unwrap_or(0).div_ceil(8) as usize;
        let stride = entry.local_stride();
        let mut tids = vec![[[0; LANES]; 3]; warps];
        let (mut x, mut y, mut z) = (0, 0, 0);
        for linear in 0..threads {
            for (axis, value) in [x, y, z].into_iter().enumerate() {
                tids[linear / LANES][axis][linear % LANES] = value;
            }
            x += 1;
            if x == nx {
                (x, y) = (0, y + 1);
            }
            if y == ny {
                (y, z) = (0, z + 1);
            }
        }
        let frames = warps.checked_mul(words)?;
        let local = (warps * LANES).checked_mul(stride)?;
        let shared = entry.shared_bytes();
        let own = warps.checked_mul(size_of::<Record>() + size_of_val(&tids[0]))?;
        let held = [own, frames.checked_mul(8)?, local, shared];
        let held = held.into_iter().map(|n| n as u64).sum();
        if !room.take(held) {
            return None;
        }
        let memory = || {
            let count = frames;
            let mut frames = Vec::new();
            frames.try_reserve_exact(count).ok()?;
            frames.resize(count, 0);
            let scratch = Scratch::try_new(shared, local)?;
            Some((frames, scratch))
        };
        let Some((frames, scratch)) = memory() else {
            room.give(held);
            return None;
        };
        Some(Resident {
            prepared,
            room,
            held,
            block,
            scratch,
            stride,
            frames,
            words,
            tids,
            answers: vec![Extent::default(); entry.answers()],
            schedule: Schedule::new(threads as u32, shuffle),
        })
    }

    /// Another CTA of the launch in the same memory, not begun.
    #[must_use]
    pub fn restart(mut self, block: [u32; 3], shuffle: Option<Shuffle>) -> Self {
        self.block = block;
        let shared = &self.scratch.shared;
        // SAFETY: it is that long, and no thread of the CTA runs.
        unsafe { std::ptr::write_bytes(shared.as_ptr(), 0, shared.len()) };
        for frame in self.frames.chunks_exact_mut(self.words) {
            // Where the lanes stand: at the start.
            frame[..LANES / 2].fill(0);
        }
        // Answers about windows hold for one CTA only.
        self.answers.fill(Extent::default());
        self.schedule.restart(shuffle);
        self
    }

    /// Runs it until it is over or lets others run.
    ///
    /// # Errors
    /// What a thread did wrong. The CTA is not to be run again.
    pub fn run(&mut self) -> Result<Progress, Fault> {
        let entry = &self.prepared.entry;
        if let Some(fault) = entry.no_room(self.block) {
            return Err(fault);
        }
        let Some(code) = entry.code() else {
            // Only kernels with code are prepared.
            return Err(entry.first_overflow(self.block));
        };
        let (frames, tids) = (&mut self.frames, &self.tids);
        let (words, stride) = (self.words, self.stride);
        let locals = self.scratch.local.as_ptr();
        let schedule = &mut self.schedule;
        entry.within(
            &self.scratch,
            self.block,
            &self.prepared.roots,
            &mut self.answers,
            0,
            |context, host| {
                context.local_stride = stride as u64;
                schedule.run(&mut Lanes {
                    entry,
                    context,
                    host,
                    code,
                    frames,
                    words,
                    tids,
                    locals,
                })
            },
        )
    }
}

impl Drop for Resident<'_> {
    fn drop(&mut self) {
        self.room.give(self.held);
    }
}

/// The threads of a CTA while they can run.
pub(super) struct Lanes<'a, 'e> {
    entry: &'a Entry<'e>,
    context: &'a mut Context,
    host: &'a Host<'a>,
    code: *const u8,
    frames: &'a mut [u64],
    words: usize,
    tids: &'a [[[u32; LANES]; 3]],
    locals: *mut u8,
}

impl Threads for Lanes<'_, '_> {
    fn run(&mut self, warp: u32, lanes: u32, record: &mut Record) -> Result<(), Fault> {
        if self.entry.launch.limits.stop.is_raised() {
            // Code looks in loops: one in which threads meet each time they go round is none within a region.
            let lane = lanes.trailing_zeros();
            let site = record.sites[lane as usize];
            if self.entry.meeting(site).is_some() {
                return Err(self.fault(site, FaultKind::TimeLimit, warp, lane));
            }
        }
        let warp = warp as usize;
        let words = self.words;
        let frame = &mut self.frames[warp * words..][..words];
        let stride = self.context.local_stride as usize;
        let context = &mut *self.context;
        context.lanes = lanes;
        context.record = record;
        context.frame = frame.as_mut_ptr();
        context.tids = self.tids[warp].as_flattened().as_ptr();
        context.locals = self.locals.wrapping_add(warp * LANES * stride);
        // SAFETY: kernels have this signature; the context is complete, and for a kernel whose threads stop: the record is
        // one, the frame has as many slots as the kernel's points keep, and no lane is asked for that the warp has not.
        let status = unsafe {
            let kernel: extern "C" fn(*mut Context) -> u32 = std::mem::transmute(self.code);
            kernel(context)
        };
        match status {
            context::FAULT => {
                find_lane(context);
                Err(self.host.fault(self.context))
            }
            _ => Ok(()),
        }
    }

    fn op(&self, site: u32) -> Op {
        self.entry
            .meeting(site)
            .map_or(Op::ActiveMask, |(_, meet)| meet.op)
    }

    fn fault(&self, site: u32, kind: FaultKind, warp: u32, lane: u32) -> Fault {
        let module = self.entry.module();
        let whole =
            |function: FuncId| (function, module.functions[function.index()].span, u32::MAX);
        let (function, span, location) =
            (self.entry.meeting(site)).map_or(whole(self.entry.function), |(inst, _)| inst);
        let tid = [0, 1, 2].map(|axis| self.tids[warp as usize][axis][lane as usize]);
        Fault::new(kind, module, function, span, location).by(self.context.ctaid, tid)
    }
}
