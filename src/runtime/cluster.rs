//! Clusters that have begun and are not over: their CTAs, all together.

use super::backend::{Resident, Runner};
use super::grid::Job;
use crate::interp::Trace;
use crate::machine::schedule::{self, Progress, Schedule, Shuffle, Standing};
use crate::machine::{Fault, Seat, SharedMemory};

/// A cluster, of one CTA or more.
pub(super) struct Cluster<'a> {
    progress: schedule::Cluster,
    /// By rank.
    ctas: Vec<Resident<'a>>,
}

impl<'a> Cluster<'a> {
    /// The cluster of this index, none of whose CTAs has begun, with memory of its own; `None` if there is not enough.
    pub(super) fn begin(job: &'a Job, runner: &'a Runner<'_>, index: u64) -> Option<Self> {
        let module = job.instance.ir();
        let shared = job.shared_bytes();
        let memory = SharedMemory::new(&job.room, shared, job.clusters.ctas(), module.clusters)?;
        let ctas = (0..job.clusters.ctas())
            .map(|rank| {
                let seat = Seat::new(&memory, rank);
                let block = job.block_at(index, rank);
                runner.begin_block(&job.room, seat, block, cta_shuffle(job, index, rank))
            })
            .collect::<Option<_>>()?;
        Some(Cluster {
            progress: schedule::Cluster::new(shuffle(job, index)),
            ctas,
        })
    }

    /// Makes one that is over the cluster of another index, in the same memory; `false`, and of no use, where that cannot be used again.
    pub(super) fn restart(&mut self, job: &Job, index: u64) -> bool {
        self.progress = schedule::Cluster::new(shuffle(job, index));
        (0..).zip(&mut self.ctas).all(|(rank, cta)| {
            let block = job.block_at(index, rank);
            cta.restart(block, cta_shuffle(job, index, rank))
        })
    }

    /// Runs its CTAs until they are over or should let others run. One that is alone, and over, may become what `next` gives, and go on.
    pub(super) fn run(
        &mut self,
        trace: &mut impl Trace,
        mut next: impl FnMut() -> Option<[u32; 3]>,
    ) -> Result<Progress, Fault> {
        let alone = self.ctas.len() == 1;
        self.progress.run(&mut self.ctas, |cta| {
            cta.run(trace, || if alone { next() } else { None })
        })
    }

    /// CTAs.
    pub(super) fn blocks(&self) -> u64 {
        self.ctas.len() as u64
    }

    /// Instructions that were executed, 0 for native code.
    pub(super) fn steps(&self) -> u64 {
        self.ctas.iter().map(Resident::steps).sum()
    }
}

/// What shuffles the order of a cluster's CTAs.
fn shuffle(job: &Job, index: u64) -> Option<Shuffle> {
    job.seed.map(|seed| Shuffle::new(!seed, index))
}

/// What shuffles the schedule of one of them.
fn cta_shuffle(job: &Job, index: u64, rank: u32) -> Option<Shuffle> {
    let place = index * u64::from(job.clusters.ctas()) + u64::from(rank);
    job.seed.map(|seed| Shuffle::new(seed, place))
}

impl schedule::Cta for Resident<'_> {
    fn schedule(&mut self) -> &mut Schedule {
        Resident::schedule(self)
    }

    fn standing(&mut self) -> Result<Standing, Fault> {
        Resident::standing(self)
    }

    fn block(&self) -> [u32; 3] {
        Resident::block(self)
    }

    fn others_are_over(&mut self, over: u32) {
        Resident::others_are_over(self, over);
    }
}
