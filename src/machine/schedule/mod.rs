//! The schedule of a CTA whose threads meet: who runs next, who waits for whom, what a meeting gives.
//!
//! Both engines follow it: it decides which lanes of which warp run, the engine runs each of them to its next stop, in order
//! of the lanes, and leaves a [`Record`] of where they stopped and with which operands.
//!
//! # The canonical schedule
//! Warps have their turns one after another, round after round. In its turn a warp runs as long as lanes of it are ready, and
//! no more than [`RUNS`] times: all ready lanes to their next stops, then the meetings among them are looked at. Where a barrier of
//! the CTA opens its turn is over, too: so warps have theirs in the same order behind it.
//! * A warp operation with a mask takes place when all live lanes of the mask wait at an equal operation with the same mask,
//!   wherever it stands in the text.
//! * One of the old kind, without a mask, and `activemask`, takes place when no lane of the warp is ready: for the lanes that
//!   wait at the site that comes first in the text, together.
//! * A warp comes to a barrier of the CTA that is `.aligned` when all its live lanes wait there; at others each lane counts by
//!   itself. With a number of threads the lanes that do not live count as arrived in a warp of which one has arrived; without
//!   one, all live threads of the CTA are waited for.
//! * A lane that has used up its turn at a soft point is ready again when its warp has its next turn.
//!
//! * `barrier.cluster` waits for all live threads of the cluster; what `.aligned` says holds for it too.
//!
//! The CTAs of a cluster ([`Cluster`]) have their turns one after another, pass after pass, each as long as it can go on.
//!
//! A seed shuffles the order of CTAs in each pass and of warps in each round, which lanes of a warp run together, and for how long a warp runs; what a
//! meeting needs stays the same.

mod barrier;
mod cluster;
mod known;
mod report;
mod shuffle;
#[cfg(test)]
mod tests;

use crate::ir::sync::{BarrierAction, Op};
use crate::machine::{Fault, FaultKind};
use crate::semantics::sync;
use barrier::Barrier;
pub use cluster::{Cluster, Cta};
pub use known::Known;
pub use report::Standing;
pub use shuffle::Shuffle;

/// Threads of a warp.
pub const LANES: usize = 32;

/// [`Record::sites`]: the thread is over.
pub const EXITED: u32 = u32::MAX;

/// [`Record::sites`]: the thread has used up its turn at a soft point
/// ([`Waits`](crate::ir::waits::Waits)).
pub const YIELDED: u32 = u32::MAX - 1;

/// [`Record::sites`]: the thread has not begun.
pub const UNBEGUN: u32 = u32::MAX - 2;

/// How often a thread comes to soft points, from where it was last taken up, before it gives up its turn at one.
pub const TURN: u32 = 64;

/// How often a warp runs in one turn.
pub const RUNS: u32 = 256;

/// How often warps of a CTA run before it lets others run, though it could go on.
const LONG: u32 = 8192;

/// Where the threads of a warp stand. Native code reads and writes it.
#[repr(C)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Where each lane stopped: an index into [`Waits::sites`](crate::ir::waits::Waits::sites), [`EXITED`], [`YIELDED`]
    /// or [`UNBEGUN`].
    pub sites: [u32; LANES],
    /// The sources of what it meets at, by source and lane, each within the mask of its class, but for those that are
    /// [`Known`]. The schedule writes the results to the first two.
    pub values: sync::Values,
}

/// What an engine does for the schedule.
pub trait Threads {
    /// Runs lanes of a warp, one after another in ascending order, each to where it stops next. Of those that stopped
    /// at a site, `record` holds the results of the meeting. All lanes of a warp may do warp operations of theirs on the way, at which they do not
    /// stop, as long as they have run `most` times in the end at most.
    ///
    /// # Errors
    /// What a thread did wrong; the lanes behind it have not run.
    fn run(&mut self, warp: u32, lanes: u32, most: u32, record: &mut Record) -> Result<Ran, Fault>;

    /// Runs all warps of a CTA by turns, from the first on, each from where it stands until all its lanes stop: as long as they all do so at
    /// one site, which is the same for all warps and a barrier at which all threads of the CTA wait for each other and nothing else, and then again from
    /// there, until warps have run `most` times. All warps have 32 lanes, all of which are to run. `None`, and nothing done, if it cannot.
    fn rounds(&mut self, _records: &mut Records<'_>, _most: u32) -> Option<Rounds> {
        None
    }

    /// Tells the record where the lanes of a warp stand that [`Threads::rounds`] ran; gives where if it is the same for all.
    fn stands(&mut self, _warp: u32, _record: &mut Record) -> Option<u32> {
        None
    }

    /// The operation at a site.
    fn op(&self, site: u32) -> Op;

    /// The constants at a site, if lanes that stop there leave them out of the record.
    fn known(&self, _site: u32) -> Option<&Known> {
        None
    }

    /// The fault `kind` at a site, by a thread.
    fn fault(&self, site: u32, kind: FaultKind, warp: u32, lane: u32) -> Fault;
}

/// The records of the warps of a CTA, in their order.
#[derive(Debug)]
pub struct Records<'a>(&'a mut [Warp]);

impl Records<'_> {
    /// How many bytes the next is away from each.
    pub const STRIDE: usize = size_of::<Warp>();

    /// The first, and how many there are.
    pub fn raw(&mut self) -> (*mut Record, u32) {
        // It comes first in a warp.
        let first = self.0.as_mut_ptr().cast::<Record>();
        (first, self.0.len() as u32)
    }
}

/// What came of [`Threads::run`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    /// Where the lanes stopped, if it is known to be the same for all.
    pub together: Option<u32>,
    /// How often they ran: once, and once for each operation at which they would have stopped.
    pub runs: u32,
}

/// What came of [`Threads::rounds`].
#[derive(Debug)]
pub struct Rounds {
    /// Whether all warps stood at a barrier, and it opened.
    pub opened: bool,
    /// How many warps have run since, the first ones.
    pub ran: u32,
    /// How often warps ran in all.
    pub runs: u32,
    /// How often the last of those first ones ran in its turn.
    pub last_runs: u32,
    /// Whether they are all, and all their threads are over.
    pub over: bool,
    /// What a thread of the warp behind these did wrong.
    pub fault: Option<Box<Fault>>,
}

/// How far a CTA has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All its threads are over.
    Done,
    /// None of its threads got further than to use up its turn: others should run.
    Waits,
    /// None of its threads can go on before another CTA of its cluster does something.
    Stuck,
    /// It has run for long, and could go on.
    Busy,
}

/// The threads of a CTA, as far as others need to know. It can be left whenever [`Schedule::run`] has returned.
#[derive(Debug)]
pub struct Schedule {
    threads: u32,
    warps: Vec<Warp>,
    barriers: Vec<Barrier>,
    /// Threads that are not over.
    live: u32,
    /// Runs since the CTA was taken up.
    runs: u32,
    /// Whether a lane did more than to use up its turn since then.
    moved: bool,
    /// Whether a barrier opened in the turn.
    opened: bool,
    /// Whether no thread has begun, and warps may still be told so.
    unbegun: bool,
    /// Whether there are other CTAs in the cluster.
    accompanied: bool,
    shuffle: Option<Shuffle>,
}

/// A warp. Masks of lanes; each live lane is in one of `ready` to `barred`. The record comes first, for [`Records`].
#[repr(C)]
#[derive(Debug, Clone)]
struct Warp {
    record: Record,
    /// Not over.
    live: u32,
    ready: u32,
    /// Used up their turn.
    yielded: u32,
    /// At a warp operation with a mask.
    masked: u32,
    /// At one without.
    unmasked: u32,
    /// At an aligned barrier, at which the warp has not arrived.
    aligned: u32,
    /// Wait at a barrier at which they have arrived.
    barred: u32,
    /// At `barrier.cluster.wait`.
    cluster: u32,
    /// `barrier.cluster.arrive`d in this phase.
    arrived: u32,
    /// Arrived in a phase that is complete, and have not waited for it.
    passed: u32,
}

/// What a stopped lane is told to be wrong.
struct Undefined {
    site: u32,
    lane: u32,
    what: &'static str,
}

impl Schedule {
    /// Of a CTA of so many threads, none of which has begun. The canonical one, unless it is to be shuffled.
    pub fn new(threads: u32, shuffle: Option<Shuffle>) -> Self {
        let mut warp = Warp::default();
        warp.restart(LANES as u32);
        let mut warps = vec![warp; threads.div_ceil(LANES as u32) as usize];
        if let Some((last, before)) = warps.split_last_mut() {
            last.restart(threads - (before.len() * LANES) as u32);
        }
        Schedule {
            threads,
            warps,
            barriers: Vec::new(),
            live: threads,
            runs: 0,
            moved: false,
            opened: false,
            unbegun: false,
            accompanied: false,
            shuffle,
        }
    }

    /// It as one of several CTAs of a cluster: [`cluster`](super::schedule::Cluster) runs them.
    #[must_use]
    pub fn accompanied(mut self) -> Self {
        self.accompanied = true;
        self
    }

    /// Makes it that of another CTA with as many threads, none of which has begun.
    pub fn restart(&mut self, shuffle: Option<Shuffle>) {
        self.live = self.threads;
        self.runs = 0;
        self.shuffle = shuffle;
        // Nobody else looks at it before it runs.
        let alone = self.shuffle.is_none() && !self.accompanied;
        self.unbegun = alone && self.threads.is_multiple_of(LANES as u32);
        if !self.unbegun {
            self.restart_warps();
        }
    }

    /// Tells the warps that none of their threads has begun.
    fn restart_warps(&mut self) {
        for (index, warp) in (0..).zip(&mut self.warps) {
            warp.restart(self.threads - index * LANES as u32);
        }
        self.barriers.clear();
    }

    /// Runs the CTA until it is over or should let others run.
    ///
    /// # Errors
    /// What a thread did wrong; a deadlock; a meeting that the ISA leaves undefined. The CTA is not to be run again.
    pub fn run(&mut self, threads: &mut impl Threads) -> Result<Progress, Fault> {
        self.runs = 0;
        self.moved = false;
        let mut first = self.first_rounds(threads);
        while self.live > 0 {
            let begun = match first.take() {
                Some(rounds) => self.after_rounds(rounds, threads)?,
                None => self.rounds(threads)?,
            };
            if self.live == 0 {
                break;
            }
            let mut moved = false;
            let next = begun.map_or(0, |(ran, _)| ran);
            // In the round that the engine has begun the turn of the warp that ran last is not over.
            if let Some((ran, runs)) = begun
                && ran > 0
            {
                moved = self.begun(ran - 1, runs, threads)?;
            }
            match self.shuffle.as_mut().map(|s| s.order(self.warps.len())) {
                None if begun.is_some() && next == 0 => moved = self.moved,
                None => {
                    for warp in next..self.warps.len() {
                        moved |= self.turn(warp, threads)?;
                    }
                }
                Some(order) => {
                    for warp in order {
                        moved |= self.turn(warp, threads)?;
                    }
                }
            }
            self.moved |= moved;
            if !moved && self.live > 0 {
                if self.warps.iter().any(|warp| warp.yielded != 0) {
                    return Ok(Progress::Waits);
                }
                if self.accompanied {
                    return Ok(Progress::Stuck);
                }
                return Err(self.stuck(threads));
            }
            if self.runs >= LONG && self.live > 0 {
                return Ok(Progress::Busy);
            }
        }
        Ok(Progress::Done)
    }

    /// Where all threads of the CTA are ready to run and no other is concerned: has the engine turn from warp to warp, as far as
    /// it can. How many warps, the first ones, have run since a round began, and how often the last of them; `None` if it did nothing.
    fn rounds(&mut self, threads: &mut impl Threads) -> Result<Option<(usize, u32)>, Fault> {
        let whole = |warp: &Warp| warp.ready == u32::MAX && warp.arrived | warp.passed == 0;
        let alone = self.shuffle.is_none() && !self.accompanied;
        let nobody_waits = self.barriers.iter().all(|barrier| barrier.arrivals == 0);
        if !alone || !nobody_waits || !self.warps.iter().all(whole) {
            return Ok(None);
        }
        let most = LONG.saturating_sub(self.runs);
        match threads.rounds(&mut Records(&mut self.warps), most) {
            Some(rounds) => self.after_rounds(rounds, threads),
            None => Ok(None),
        }
    }

    /// The same from the start of a CTA that has been restarted. What came of it is still to be looked at: mostly that the CTA is over, and
    /// nothing needs to be told to its warps.
    fn first_rounds(&mut self, threads: &mut impl Threads) -> Option<Rounds> {
        if !std::mem::take(&mut self.unbegun) {
            return None;
        }
        let rounds = threads.rounds(&mut Records(&mut self.warps), LONG);
        match rounds {
            Some(Rounds { over: true, .. }) => self.live = 0,
            Some(_) | None => self.restart_warps(),
        }
        rounds
    }

    /// What [`Schedule::rounds`] gives, and what is to be done for it.
    fn after_rounds(
        &mut self,
        rounds: Rounds,
        threads: &mut impl Threads,
    ) -> Result<Option<(usize, u32)>, Fault> {
        let Rounds {
            opened,
            ran,
            runs,
            last_runs,
            over,
            fault,
        } = rounds;
        self.runs = self.runs.saturating_add(runs);
        self.moved |= opened;
        let ran = ran as usize;
        if over {
            self.live = 0;
            for warp in &mut self.warps {
                (warp.live, warp.ready) = (0, 0);
            }
            return Ok(None);
        }
        for index in 0..self.warps.len() {
            let warp = &mut self.warps[index];
            if index >= ran && !opened {
                break;
            }
            // The last is looked at by itself.
            if index + 1 == ran && fault.is_none() {
                continue;
            }
            let together = threads.stands(index as u32, &mut warp.record);
            if index < ran {
                warp.ready = 0;
                self.stop(index, u32::MAX, together, threads)?;
            }
        }
        match fault {
            Some(fault) => Err(self.ended(*fault, threads)),
            None => Ok(Some((ran, last_runs))),
        }
    }

    /// Goes on with the turn of a warp, all lanes of which the engine has run so often, to where they stop. Whether a lane did more
    /// than to use up its own.
    fn begun(
        &mut self,
        index: usize,
        runs: u32,
        threads: &mut impl Threads,
    ) -> Result<bool, Fault> {
        let warp = &mut self.warps[index];
        let together = threads.stands(index as u32, &mut warp.record);
        warp.ready = 0;
        self.opened = false;
        let moved = self.stop(index, u32::MAX, together, threads)?;
        Ok(self.go_on(index, runs, threads)? | moved)
    }

    /// Looks at where lanes of a warp stopped: at one site, if that is known. Whether one did more than to use up its turn.
    fn stop(
        &mut self,
        index: usize,
        lanes: u32,
        together: Option<u32>,
        threads: &mut impl Threads,
    ) -> Result<bool, Fault> {
        match together {
            Some(site) if self.met(index, lanes, site, threads)? => Ok(true),
            Some(_) | None => self.stopped(index, lanes, threads),
        }
    }

    /// A warp's turn. Whether a lane did more than to use up its own.
    fn turn(&mut self, index: usize, threads: &mut impl Threads) -> Result<bool, Fault> {
        let warp = &mut self.warps[index];
        warp.ready |= std::mem::take(&mut warp.yielded);
        self.opened = false;
        self.go_on(index, 0, threads)
    }

    /// The rest of a warp's turn, in which it has run some times, which are counted. Whether a lane did more in it than to use up its own.
    fn go_on(
        &mut self,
        index: usize,
        before: u32,
        threads: &mut impl Threads,
    ) -> Result<bool, Fault> {
        let mut moved = false;
        let mut runs = before;
        loop {
            let enough = runs >= RUNS || self.opened;
            if enough || runs > 0 && self.shuffle.as_mut().is_some_and(Shuffle::enough) {
                break;
            }
            let warp = &mut self.warps[index];
            if warp.ready == 0 {
                if warp.unmasked == 0 {
                    break;
                }
                warp.meet_unmasked(threads);
            }
            let lanes = match &mut self.shuffle {
                None => warp.ready,
                Some(shuffle) => shuffle.some_of(warp.ready),
            };
            warp.ready &= !lanes;
            let most = RUNS - runs;
            let ran = match threads.run(index as u32, lanes, most, &mut warp.record) {
                Ok(ran) => ran,
                Err(fault) => return Err(self.ended(fault, threads)),
            };
            runs += ran.runs;
            moved |= self.stop(index, lanes, ran.together, threads)?;
        }
        self.runs = self.runs.saturating_add(runs - before);
        Ok(moved)
    }

    /// Does what [`Schedule::stopped`] would for lanes that stopped at one site, if they are all that live in their warp and
    /// meet there at once by what is known of it: the common case, in few instructions. Whether it did.
    fn met(
        &mut self,
        index: usize,
        lanes: u32,
        site: u32,
        threads: &mut impl Threads,
    ) -> Result<bool, Fault> {
        let live = self.warps[index].live;
        let Some(known) = threads.known(site).filter(|_| lanes == live) else {
            return Ok(false);
        };
        if let Some(number) = known.plain_barrier()
            && self.arrive_plainly(index, lanes, number)
        {
            return Ok(true);
        }
        if let Op::Barrier { .. } = known.op {
            return match self.arrive(index, lanes, site, known.op, Some(known)) {
                Ok(()) => Ok(true),
                Err(wrong) => Err(undefined(threads, index, wrong)),
            };
        }
        let warp = &mut self.warps[index];
        let met = known.meet(lanes, &mut warp.record.values);
        if met {
            warp.ready |= lanes;
        }
        Ok(met)
    }

    /// Looks at where lanes of a warp stopped, and at the meetings that may take place now. Whether one did more than to use up
    /// its turn.
    fn stopped(
        &mut self,
        index: usize,
        lanes: u32,
        threads: &mut impl Threads,
    ) -> Result<bool, Fault> {
        let fault = |threads: &mut _, undefined| Err(self::undefined(threads, index, undefined));
        let mut left = lanes;
        let mut over = 0;
        while left != 0 {
            let warp = &mut self.warps[index];
            let site = warp.record.sites[left.trailing_zeros() as usize];
            let group = left & same(&warp.record.sites, site);
            left &= !group;
            match site {
                EXITED => over |= group,
                YIELDED => warp.yielded |= group,
                site => {
                    let op = threads.op(site);
                    if let Some(known) = threads.known(site) {
                        known.fill(group, &mut warp.record.values);
                    }
                    match op {
                        op if op.is_aligned() && group != warp.live => warp.aligned |= group,
                        // Each lane by itself, or the whole warp at once.
                        Op::Barrier { .. } | Op::ClusterArrive { .. } | Op::ClusterWait { .. } => {
                            if let Err(wrong) = self.arrive(index, group, site, op, None) {
                                return fault(threads, wrong);
                            }
                        }
                        op if op.is_masked() => warp.masked |= group,
                        _ => warp.unmasked |= group,
                    }
                }
            }
        }
        let warp = &mut self.warps[index];
        warp.live &= !over;
        if warp.masked != 0
            && let Err(wrong) = warp.meet_masked(threads)
        {
            return fault(threads, wrong);
        }
        if warp.aligned != 0
            && let Err(wrong) = self.arrive_aligned(index, threads)
        {
            return fault(threads, wrong);
        }
        if over != 0 {
            self.live -= over.count_ones();
            self.without(index, over);
        }
        Ok(lanes & !self.warps[index].yielded != 0)
    }

    /// A warp comes to an aligned barrier, of the CTA or the cluster, if all its live lanes wait at one.
    fn arrive_aligned(&mut self, index: usize, threads: &impl Threads) -> Result<(), Undefined> {
        let warp = &mut self.warps[index];
        let lanes = warp.aligned;
        if lanes != warp.live {
            return Ok(());
        }
        let site = warp.record.sites[lanes.trailing_zeros() as usize];
        let others = lanes & !same(&warp.record.sites, site);
        if others != 0 {
            let lane = others.trailing_zeros();
            return Err(Undefined {
                site: warp.record.sites[lane as usize],
                lane,
                what: "threads of one warp wait at different barriers that are `.aligned`",
            });
        }
        warp.aligned = 0;
        self.arrive(index, lanes, site, threads.op(site), None)
    }
}

impl Default for Warp {
    fn default() -> Self {
        Warp {
            record: Record {
                sites: [UNBEGUN; LANES],
                values: [[0; LANES]; 4],
            },
            live: 0,
            ready: 0,
            yielded: 0,
            masked: 0,
            unmasked: 0,
            aligned: 0,
            barred: 0,
            cluster: 0,
            arrived: 0,
            passed: 0,
        }
    }
}

impl Warp {
    /// Makes it one of so many threads, or of as many as a warp has; none has begun.
    fn restart(&mut self, threads: u32) {
        let live = u32::MAX >> (LANES as u32 - threads.min(LANES as u32));
        // Operands of what threads did before are never read.
        self.record.sites = [UNBEGUN; LANES];
        (self.live, self.ready) = (live, live);
        (self.yielded, self.masked, self.unmasked) = (0, 0, 0);
        (self.aligned, self.barred) = (0, 0);
        (self.cluster, self.arrived, self.passed) = (0, 0, 0);
    }

    /// The lanes that wait at a site, or at one with an equal operation.
    fn at(&self, lanes: u32, site: u32, op: Op, threads: &impl Threads) -> u32 {
        let mut all = lanes & same(&self.record.sites, site);
        let mut left = lanes & !all;
        while left != 0 {
            let other = self.record.sites[left.trailing_zeros() as usize];
            let group = left & same(&self.record.sites, other);
            left &= !group;
            if threads.op(other) == op {
                all |= group;
            }
        }
        all
    }

    /// Warp operations with masks, all of whose lanes are there.
    fn meet_masked(&mut self, threads: &impl Threads) -> Result<(), Undefined> {
        let mut left = self.masked;
        while left != 0 {
            let lane = left.trailing_zeros();
            let site = self.record.sites[lane as usize];
            let word = self.record.values[0][lane as usize];
            let mask = word as u32;
            let together = left & same(&self.record.values[0], word);
            let op = threads.op(site);
            let together = self.at(together, site, op, threads);
            left &= !together;
            let strangers = together & !mask;
            if strangers != 0 {
                let lane = strangers.trailing_zeros();
                return Err(Undefined {
                    site: self.record.sites[lane as usize],
                    lane,
                    what: "the thread is not in its own mask of lanes",
                });
            }
            if together == mask & self.live {
                sync::warp(op, together, &mut self.record.values);
                self.masked &= !together;
                self.ready |= together;
            }
        }
        Ok(())
    }

    /// The operation without a mask that comes first in the text, for the lanes that wait there.
    fn meet_unmasked(&mut self, threads: &impl Threads) {
        let sites = (0..LANES).filter(|lane| self.unmasked >> lane & 1 != 0);
        let Some(site) = sites.map(|lane| self.record.sites[lane]).min() else {
            return;
        };
        let together = self.unmasked & same(&self.record.sites, site);
        sync::warp(threads.op(site), together, &mut self.record.values);
        self.unmasked &= !together;
        self.ready |= together;
    }
}

/// The lanes that have a value. Mostly all have.
#[inline]
fn same<T: Copy + PartialEq>(values: &[T; LANES], value: T) -> u32 {
    if values[0] == value && sync::uniform(values) {
        return u32::MAX;
    }
    (0..)
        .zip(values)
        .fold(0, |mask, (lane, v)| mask | u32::from(*v == value) << lane)
}

/// The fault of a meeting that the ISA leaves undefined.
#[cold]
fn undefined(threads: &impl Threads, warp: usize, undefined: Undefined) -> Fault {
    let Undefined { site, lane, what } = undefined;
    let fault = threads.fault(site, FaultKind::DivergedBarrier, warp as u32, lane);
    fault.detail(format!("{what}, which PTX leaves undefined"))
}

/// Whether a barrier's threads wait there.
fn waits(action: BarrierAction) -> bool {
    match action {
        BarrierAction::Sync | BarrierAction::Popc | BarrierAction::And | BarrierAction::Or => true,
        BarrierAction::Arrive => false,
    }
}
