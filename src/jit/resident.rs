//! CTAs whose threads stop, or which are not alone in their cluster: all their state, so that they can be left and taken up
//! again.

use super::code::{Entry, Place, Prepared};
use super::engine::Told;
use super::host::{Host, find_lane};
use crate::ir::FuncId;
use crate::ir::sync::Op;
use crate::lower::context::{self, Context, Extent};
use crate::machine::schedule::{
    EXITED, Known, LANES, Progress, RUNS, Ran, Record, Records, Rounds, Schedule, Shuffle,
    Standing, Threads,
};
use crate::machine::{Buffer, Fault, FaultKind, Room, Seat};
use std::cmp::Ordering;
use std::ops::Range;

/// A CTA of a kernel whose threads may stop, or which has others in its cluster.
#[derive(Debug)]
pub struct Resident<'a> {
    prepared: &'a Prepared<'a>,
    /// Where its memory is counted, and how much it is.
    room: &'a Room,
    held: u64,
    block: [u32; 3],
    /// Its place in the cluster, with its shared memory.
    seat: Seat<'a>,
    /// Local memory of all threads; of one, where they do not stop.
    local: Buffer,
    /// Bytes from the local memory of a thread to that of the next.
    stride: usize,
    /// What threads keep while they wait, a frame for each warp. The first words say where the lanes stand.
    frames: Vec<u64>,
    /// Words of a frame.
    words: usize,
    answers: Vec<Extent>,
    schedule: Schedule,
    /// Whether no thread has begun.
    fresh: bool,
}

impl<'a> Resident<'a> {
    /// The CTA with `%ctaid` `block`, not begun; `None` if there is no memory for it.
    pub(super) fn new(
        prepared: &'a Prepared<'a>,
        room: &'a Room,
        seat: Seat<'a>,
        block: [u32; 3],
        shuffle: Option<Shuffle>,
    ) -> Option<Self> {
        let entry = &prepared.entry;
        let [nx, ny, nz] = entry.launch.block;
        let threads = [nx, ny, nz].map(|n| n as usize).iter().product::<usize>();
        let stops = entry.stops();
        let warps = match stops {
            Some(_) => threads.div_ceil(LANES),
            None => 0,
        };
        let words = stops.map_or(0, |stops| stops.frame_bytes.div_ceil(8)) as usize;
        let stride = entry.local_stride();
        let frames = warps.checked_mul(words)?;
        let local = match stops {
            Some(_) => (warps * LANES).checked_mul(stride)?,
            None => entry.local_bytes(),
        };
        let own = warps.checked_mul(size_of::<Record>())?;
        let held = [own, frames.checked_mul(8)?, local];
        let held = held.into_iter().map(|n| n as u64).sum();
        if !room.take(held) {
            return None;
        }
        let memory = || {
            let count = frames;
            let mut frames = Vec::new();
            frames.try_reserve_exact(count).ok()?;
            frames.resize(count, 0);
            Some((frames, Buffer::try_zeroed(local)?))
        };
        let Some((mut frames, local)) = memory() else {
            room.give(held);
            return None;
        };
        for (warp, frame) in (0..).zip(frames.chunks_exact_mut(words.max(1))) {
            tell_tids(&mut frame[words - TID_WORDS..], warp, entry.launch.block);
        }
        let mut schedule = Schedule::new(threads as u32, shuffle);
        if seat.is_accompanied() {
            schedule = schedule.accompanied();
        }
        Some(Resident {
            prepared,
            room,
            held,
            block,
            seat,
            local,
            stride,
            frames,
            words,
            answers: vec![Extent::default(); entry.answers()],
            schedule,
            fresh: true,
        })
    }

    /// Makes it another CTA of the launch, not begun, in the same memory.
    pub fn restart(&mut self, block: [u32; 3], shuffle: Option<Shuffle>) {
        self.block = block;
        let shared = self.seat.window();
        // SAFETY: it is that long, and no thread of the cluster runs.
        unsafe { std::ptr::write_bytes(shared.base, 0, shared.len as usize) };
        self.seat.others_are_over(0);
        turn_to_start(&mut self.frames, self.words);
        // Answers about windows hold for one CTA only.
        self.answers.fill(Extent::default());
        self.schedule.restart(shuffle);
        self.fresh = true;
    }

    /// Runs it until it is over or lets others run. One that is over and alone in its cluster becomes the CTA of the launch that `next` gives, as by
    /// [`Resident::restart`], and goes on.
    ///
    /// # Errors
    /// What a thread did wrong. The CTA is not to be run again.
    pub fn run(&mut self, mut next: impl FnMut() -> Option<[u32; 3]>) -> Result<Progress, Fault> {
        let entry = &self.prepared.entry;
        if let Some(fault) = entry.no_room(self.block) {
            return Err(fault);
        }
        let Some(code) = entry.code() else {
            // Only kernels with code are prepared.
            return Err(entry.first_overflow(self.block));
        };
        if !self.prepared.stops() {
            return self.run_through(code);
        }
        let mut last = self.block;
        let progress = self.with_lanes(code, |schedule, lanes| {
            loop {
                let progress = schedule.run(lanes)?;
                let following = match progress {
                    Progress::Done => next(),
                    Progress::Waits | Progress::Stuck | Progress::Busy => None,
                };
                let Some(block) = following else {
                    return Ok(progress);
                };
                last = block;
                lanes.restart(block);
                schedule.restart(None);
            }
        });
        self.block = last;
        progress
    }

    /// Runs all threads to their ends: they do not stop.
    fn run_through(&mut self, code: *const u8) -> Result<Progress, Fault> {
        let prepared = self.prepared;
        let entry = &prepared.entry;
        let place = self.place();
        let steady = entry.local_steady();
        entry.within(
            &place,
            &prepared.roots,
            &mut self.answers,
            steady,
            |context, host| {
                // SAFETY: kernels have this signature; the context is complete.
                let status = unsafe {
                    let kernel: extern "C" fn(*mut Context) -> u32 = std::mem::transmute(code);
                    kernel(context)
                };
                match status {
                    context::FAULT => Err(host.fault(context)),
                    _ => Ok(Progress::Done),
                }
            },
        )
    }

    /// Where its threads wait, none of which can go on.
    ///
    /// # Errors
    /// The host has no room to find out.
    pub fn standing(&mut self) -> Result<Standing, Fault> {
        let Some(code) = self.prepared.entry.code() else {
            return Err(self.prepared.entry.first_overflow(self.block));
        };
        self.with_lanes(code, |schedule, lanes| Ok(schedule.standing(lanes)))
    }

    /// How far its threads have come.
    pub fn schedule(&mut self) -> &mut Schedule {
        &mut self.schedule
    }

    /// `%ctaid`
    pub fn block(&self) -> [u32; 3] {
        self.block
    }

    /// Lets it know which CTAs of the cluster are over, ranks as bits.
    pub fn others_are_over(&mut self, over: u32) {
        self.seat.others_are_over(over);
        // Answers about their memory do not hold any more.
        self.answers.fill(Extent::default());
    }

    fn place(&self) -> Place {
        Place {
            block: self.block,
            shared: self.seat.window().base,
            neighbours: self.seat.neighbours(),
            local: self.local.as_ptr(),
        }
    }

    /// Has its schedule do something with its threads.
    fn with_lanes<T>(
        &mut self,
        code: *const u8,
        f: impl FnOnce(&mut Schedule, &mut Lanes<'_, '_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let prepared = self.prepared;
        let entry = &prepared.entry;
        let place = self.place();
        let frames = &mut self.frames;
        let (words, stride) = (self.words, self.stride);
        let locals = self.local.as_ptr();
        let sites = entry.stops().map_or(&[][..], |stops| &stops.sites);
        let run = match entry.stops() {
            Some(stops) if stops.run > 0 => stops.run,
            Some(_) | None => LANES as u32,
        };
        let rows = entry.launch.block[0].is_multiple_of(run);
        let fresh = rows && std::mem::take(&mut self.fresh);
        let schedule = &mut self.schedule;
        let answers = &mut self.answers;
        entry.within(&place, &prepared.roots, answers, 0, |context, host| {
            context.local_stride = stride as u64;
            f(
                schedule,
                &mut Lanes {
                    entry,
                    context,
                    host,
                    code,
                    sites,
                    known: entry.known(),
                    frames,
                    words,
                    locals,
                    run: run as usize,
                    rows,
                    fresh,
                    told: true,
                    stand: Stand::default(),
                },
            )
        })
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
    /// For each point what the schedule knows it by.
    sites: &'a [u32],
    known: &'a [Known],
    frames: &'a mut [u64],
    words: usize,
    locals: *mut u8,
    /// How many lanes of a warp have turns together.
    run: usize,
    /// Whether these are rows of threads, and no thread has begun.
    rows: bool,
    fresh: bool,
    /// Whether frames say that lanes stand elsewhere than at the start.
    told: bool,
    /// Where warps stand that ran by turns.
    stand: Stand,
}

/// Where warps of which native code has not told the frames stand, after a turn of theirs or a round.
#[derive(Debug, Clone, Copy, Default)]
struct Stand {
    /// Warps that have run in the round, and where those before the last of them stand.
    ran: usize,
    others: u32,
    /// Where the last stands, if it went together.
    last: Option<u32>,
    /// Where the others stand, if that is known.
    behind: Option<u32>,
}

impl Stand {
    fn of(self, warp: usize) -> Option<u32> {
        match (warp + 1).cmp(&self.ran) {
            Ordering::Less => Some(self.others),
            Ordering::Equal => self.last,
            Ordering::Greater => self.behind,
        }
    }
}

impl Threads for Lanes<'_, '_> {
    fn run(&mut self, warp: u32, lanes: u32, most: u32, record: &mut Record) -> Result<Ran, Fault> {
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
        (self.fresh, self.told) = (false, true);
        (context.record, context.stood) = (&raw mut *record, 0);
        context.left = most;
        // There are no others that stand somewhere.
        (context.round_lane, context.round_point) = (0, 0);
        context.frame = frame.as_mut_ptr();
        context.warp = warp as u32;
        context.locals = self.locals.wrapping_add(warp * LANES * stride);
        // SAFETY: kernels have this signature; the context is complete, and for a kernel whose threads stop: the record is
        // one, the frame has as many slots as the kernel's points keep, and no lane is asked for that the warp has not.
        let status = unsafe {
            let kernel: extern "C" fn(*mut Context) -> u32 = std::mem::transmute(self.code);
            kernel(context)
        };
        if status == context::FAULT {
            find_lane(context);
            return Err(self.host.fault(self.context));
        }
        let runs = 1 + most.saturating_sub(self.context.left);
        let together = match self.context.stood {
            stood if stood != 0 && self.run == LANES => Some(self.tell(warp, stood, record)),
            _ => {
                if self.run < LANES {
                    self.tell_runs(warp, 0);
                }
                self.stopped(warp, lanes, record)
            }
        };
        Ok(Ran { together, runs })
    }

    fn rounds(&mut self, records: &mut Records<'_>, most: u32) -> Option<Rounds> {
        let stops = self.entry.stops().filter(|stops| stops.rounds)?;
        if self.entry.launch.limits.stop.is_raised() {
            return None;
        }
        let (first, count) = records.raw();
        let context = &mut *self.context;
        (context.lanes, context.stood) = (u32::MAX, 0);
        context.record = first;
        context.frame = self.frames.as_mut_ptr();
        context.first_frame = context.frame;
        context.warp = 0;
        context.locals = self.locals;
        (context.round_warps, context.round_warp) = (count, 0);
        let from = match std::mem::take(&mut self.fresh) {
            true => context::START,
            false => context::NOWHERE,
        };
        context.round_from = from;
        (context.round_lane, context.round_beside) = (0, LANES as u32);
        let [x, y, z] = context.block;
        let in_line = from == context::START && [y, z] == [1; 2];
        context.last_of_line = if in_line { x / LANES as u32 - 1 } else { 0 };
        (context.left, context.runs) = (RUNS, most as i32);
        // SAFETY: as in `run`; there are as many records, frames, tables and local memories as warps, at these distances, and all warps
        // have 32 lanes.
        let status = unsafe {
            let kernel: extern "C" fn(*mut Context) -> u32 = std::mem::transmute(self.code);
            kernel(context)
        };
        let (opened, ran) = (context.round_from != from, context.round_warp);
        let runs = (most as i32).saturating_sub(context.runs).unsigned_abs();
        let (runs, last_runs) = match stops.passes {
            true => (runs, 1 + RUNS.saturating_sub(context.left)),
            // Those of the rounds that are over are counted.
            false => (runs + ran, 1),
        };
        let failed = status == context::FAULT;
        // One that went wrong is behind the last.
        let last = if failed {
            context.round_point
        } else {
            context.stood
        };
        let beside = context.round_beside as usize;
        let (others, last) = match beside {
            LANES => (context.round_point, Some(last).filter(|&point| point != 0)),
            _ => (context.round_others, None),
        };
        self.stand = Stand {
            ran: ran as usize,
            others,
            last,
            behind: Some(context.round_from).filter(|&point| opened && point != context::NOWHERE),
        };
        let over = ran == count && [context.stood, context.round_point] == [EXITED; 2];
        // Warps that go together tell them nothing.
        self.told |= !over || stops.run == 0;
        let fault = failed.then(|| {
            find_lane(context);
            Box::new(self.host.fault(context))
        });
        (
            context.round_warps,
            context.round_warp,
            context.last_of_line,
        ) = (0, 0, 0);
        context.round_from = context::NOWHERE;
        if beside < LANES && !failed && ran > 0 {
            let last = ran as usize - 1;
            self.tell_lanes(last, 0..beside, others);
            self.tell_runs(last, beside);
        }
        Some(Rounds {
            opened,
            ran,
            runs,
            last_runs,
            over,
            fault,
        })
    }

    fn stands(&mut self, warp: u32, record: &mut Record) -> Option<u32> {
        let warp = warp as usize;
        match self.stand.of(warp) {
            Some(point) => Some(self.tell(warp, point, record)),
            None => self.stopped(warp, u32::MAX, record),
        }
    }

    fn op(&self, site: u32) -> Op {
        self.known(site).map_or(Op::ActiveMask, |known| known.op)
    }

    fn known(&self, site: u32) -> Option<&Known> {
        self.known.get(site as usize)
    }

    fn fault(&self, site: u32, kind: FaultKind, warp: u32, lane: u32) -> Fault {
        let module = self.entry.module();
        let whole =
            |function: FuncId| (function, module.functions[function.index()].span, u32::MAX);
        let (function, span, location) =
            (self.entry.meeting(site)).map_or(whole(self.entry.function), |(inst, _)| inst);
        let tid = context::tid(warp * LANES as u32 + lane, self.context.block);
        Fault::new(kind, module, function, span, location).by(self.context.ctaid, tid)
    }
}

/// Words of `%tid` of a warp at the end of its frame: x of all lanes, then y and z.
const TID_WORDS: usize = 3 * LANES / 2;

/// Tells a warp of a CTA of this shape `%tid` of its lanes.
fn tell_tids(words: &mut [u64], warp: u32, block: [u32; 3]) {
    let first = warp * LANES as u32;
    let mut tids = [[0; LANES]; 3];
    let [x, y, z] = context::tid(first, block);
    if block[0].is_multiple_of(LANES as u32) {
        tids = [[x; LANES], [y; LANES], [z; LANES]];
        (0..).zip(&mut tids[0]).for_each(|(i, x)| *x += i);
    } else {
        let mut tid = [x, y, z];
        for lane in 0..LANES {
            (tids.iter_mut().zip(tid)).for_each(|(tids, own)| tids[lane] = own);
            tid[0] += 1;
            for axis in [0, 1] {
                if tid[axis] == block[axis] {
                    tid[axis] = 0;
                    tid[axis + 1] += 1;
                }
            }
        }
    }
    let pairs = tids.as_flattened().chunks_exact(2);
    (words.iter_mut().zip(pairs)).for_each(|(w, t)| *w = word([t[0], t[1]]));
}

/// Has all lanes of all warps stand at the start.
fn turn_to_start(frames: &mut [u64], words: usize) {
    for frame in frames.chunks_exact_mut(words.max(1)) {
        frame[..LANES / 2].fill(0);
    }
}

impl Lanes<'_, '_> {
    /// Makes them those of another CTA of the launch, alone in its cluster, which has not begun.
    fn restart(&mut self, block: [u32; 3]) {
        let answers = self.entry.answers();
        let context = &mut *self.context;
        context.turn_to(block, self.entry.local_top());
        // SAFETY: it is that long, and no thread of the CTA runs.
        unsafe { std::ptr::write_bytes(context.shared, 0, context.shared_len as usize) };
        // SAFETY: so many there are, and nobody else has them.
        unsafe { std::slice::from_raw_parts_mut(context.answers, answers) }.fill(Extent::default());
        if std::mem::take(&mut self.told) {
            turn_to_start(self.frames, self.words);
        }
        self.fresh = self.rows;
    }

    /// What the schedule knows a point by, from 1 on; what is none of them is the end.
    fn site(&self, point: u32) -> u32 {
        let site = self.sites.get((point as usize).wrapping_sub(1));
        site.copied().unwrap_or(EXITED)
    }

    /// Tells the frame of all lanes of a warp what it knows of the first of each run, and the record that they stand at a point; gives the site.
    fn tell(&mut self, warp: usize, point: u32, record: &mut Record) -> u32 {
        self.tell_lanes(warp, 0..LANES, point);
        let site = self.site(point);
        record.sites = [site; LANES];
        site
    }

    /// Tells the frame of the runs of a warp from a lane on that stopped together where native code says.
    fn tell_runs(&mut self, warp: usize, from: usize) {
        for first in (from..LANES).step_by(self.run) {
            match self.context.round_stood[first] {
                0 => {}
                point => self.tell_lanes(warp, first..first + self.run, point),
            }
        }
    }

    /// Tells the frame that lanes of a warp, which are whole runs, stand at a point, and all of each run what it knows of the first.
    fn tell_lanes(&mut self, warp: usize, lanes: Range<usize>, point: u32) {
        self.told = true;
        let frame = &mut self.frames[warp * self.words..][..self.words];
        frame[lanes.start / 2..lanes.end / 2].fill(word([point; 2]));
        let told = (self.entry.stops())
            .and_then(|stops| stops.told.get((point as usize).wrapping_sub(1)))
            .map_or(&[][..], |told| told);
        for &Told { slot, stride, mask } in told {
            let words = &mut frame[(slot.offset / 8) as usize..];
            for start in lanes.clone().step_by(self.run) {
                let first = match slot.wide {
                    true => words[start],
                    false => halves(words[start / 2])[0].into(),
                };
                let of = |lane: usize| first.wrapping_add(stride.wrapping_mul(lane as u64)) & mask;
                match slot.wide {
                    true => (0..)
                        .zip(&mut words[start..][..self.run])
                        .for_each(|(i, w)| *w = of(i)),
                    false => (0..)
                        .zip(&mut words[start / 2..][..self.run / 2])
                        .for_each(|(i, w)| *w = word([of(2 * i), of(2 * i + 1)].map(|v| v as u32))),
                }
            }
        }
    }

    /// Tells the record where lanes stopped, which they have left at the beginning of the frame; gives where if it is the
    /// same for all of them.
    fn stopped(&self, warp: usize, lanes: u32, record: &mut Record) -> Option<u32> {
        let points = &self.frames[warp * self.words..][..LANES / 2];
        let site = |point: u32| self.site(point);
        if lanes == u32::MAX {
            let [first, second] = halves(points[0]);
            if first == second && points[1..] == points[..LANES / 2 - 1] {
                let site = site(first);
                record.sites = [site; LANES];
                return Some(site);
            }
        }
        let mut together = None;
        let mut apart = false;
        let mut left = lanes;
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            let site = site(halves(points[lane / 2])[lane % 2]);
            record.sites[lane] = site;
            apart |= together.replace(site).is_some_and(|other| other != site);
        }
        together.filter(|_| !apart)
    }
}

/// A word of the frame, of two neighbours.
fn word([first, second]: [u32; 2]) -> u64 {
    let [a, b, c, d] = first.to_ne_bytes();
    let [e, f, g, h] = second.to_ne_bytes();
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

/// Two neighbours in the frame.
fn halves(word: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    [[a, b, c, d], [e, f, g, h]].map(u32::from_ne_bytes)
}
