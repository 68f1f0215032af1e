//! The CTAs of a cluster: who runs next, and their common barrier. PTX ISA, `barrier.cluster`.

use super::report::{Standing, named};
use super::{Progress, Schedule, Shuffle};
use crate::machine::Fault;

/// A CTA of a cluster, as an engine has it.
pub trait Cta {
    /// Where its threads stand.
    fn schedule(&mut self) -> &mut Schedule;

    /// Where its threads wait; one at least is not over.
    ///
    /// # Errors
    /// Why that cannot be found out.
    fn standing(&mut self) -> Result<Standing, Fault>;

    /// `%ctaid`
    fn block(&self) -> [u32; 3];

    /// Lets it know which CTAs of the cluster are over, ranks as bits.
    fn others_are_over(&mut self, over: u32);
}

/// How far the CTAs of a cluster have come, by rank.
#[derive(Debug)]
pub struct Cluster {
    /// Those that are over, as bits.
    over: u32,
    shuffle: Option<Shuffle>,
}

impl Cluster {
    /// None of whose CTAs has begun. The canonical schedule, unless it is to be shuffled.
    pub fn new(shuffle: Option<Shuffle>) -> Self {
        Cluster { over: 0, shuffle }
    }

    /// Runs the CTAs, of which there is one at least, until all are over or should let other clusters run. `run` runs one until
    /// it is over or should let others run.
    ///
    /// # Errors
    /// What a thread did wrong, a deadlock. The cluster is not to be run again.
    pub fn run<C: Cta>(
        &mut self,
        ctas: &mut [C],
        mut run: impl FnMut(&mut C) -> Result<Progress, Fault>,
    ) -> Result<Progress, Fault> {
        if let [alone] = ctas {
            return run(alone);
        }
        loop {
            let order = match &mut self.shuffle {
                None => (0..ctas.len()).collect(),
                Some(shuffle) => shuffle.order(ctas.len()),
            };
            let (mut moved, mut busy, mut waits) = (false, false, false);
            for rank in order {
                if self.over >> rank & 1 != 0 {
                    continue;
                }
                let progress = run(&mut ctas[rank])?;
                moved |= ctas[rank].schedule().moved;
                match progress {
                    Progress::Done => {
                        moved = true;
                        self.over |= 1 << rank;
                        ctas.iter_mut()
                            .for_each(|cta| cta.others_are_over(self.over));
                    }
                    Progress::Waits => waits = true,
                    Progress::Stuck => {}
                    Progress::Busy => busy = true,
                }
                moved |= open(ctas);
            }
            if self.over.count_ones() as usize == ctas.len() {
                return Ok(Progress::Done);
            }
            if busy {
                return Ok(Progress::Busy);
            }
            if !moved {
                return if waits {
                    Ok(Progress::Waits)
                } else {
                    Err(stuck(ctas))
                };
            }
        }
    }
}

/// Ends the phase of the barrier, if all live threads have arrived. Whether that was so.
fn open(ctas: &mut [impl Cta]) -> bool {
    let live: u32 = ctas.iter_mut().map(|cta| cta.schedule().live).sum();
    if live == 0 || !ctas.iter_mut().all(|cta| cta.schedule().has_arrived()) {
        return false;
    }
    ctas.iter_mut()
        .for_each(|cta| cta.schedule().open_cluster());
    true
}

/// The fault of a cluster none of whose threads can go on: that of the first CTA of which a warp is divided at an aligned barrier,
/// or of the first that is not over.
#[cold]
fn stuck(ctas: &mut [impl Cta]) -> Fault {
    let divided = (ctas.iter_mut()).position(|cta| cta.schedule().is_divided());
    let first = ctas.iter_mut().position(|cta| cta.schedule().live > 0);
    let at = divided.or(first).unwrap_or(0);
    let mut told = match ctas[at].standing() {
        Ok(standing) => standing,
        Err(fault) => return fault,
    };
    let waited_for = ctas.iter_mut().any(|cta| cta.schedule().wait_for_cluster());
    let mut missing = Vec::new();
    let mut lines = Vec::new();
    for (rank, cta) in ctas.iter_mut().enumerate() {
        let block = place(cta.block());
        let absent = cta.schedule().absent();
        if !absent.is_empty() {
            missing.push(format!("{} of {block}", named(&absent)));
        }
        let these = if cta.schedule().live == 0 {
            vec!["all threads are over".to_string()]
        } else if rank == at {
            std::mem::take(&mut told.lines)
        } else {
            match cta.standing() {
                Ok(standing) => standing.lines,
                Err(fault) => return fault,
            }
        };
        lines.extend(these.iter().map(|line| format!("{block}: {line}")));
    }
    if waited_for {
        lines.push(format!("the cluster misses {}", missing.join(", ")));
    }
    told.lines = lines;
    told.into_fault()
}

fn place([x, y, z]: [u32; 3]) -> String {
    format!("block ({x}, {y}, {z})")
}
