//! Special registers. PTX ISA, "Special Registers".

use super::cta::Cta;
use crate::ir::Special;
use crate::machine::nanoseconds;

/// The value that the thread with these indices reads, as [`Special`] defines it.
pub(super) fn value(special: Special, cta: &Cta<'_>, thread: [u32; 3], linear: u32) -> u64 {
    let launch = cta.launch;
    let clusters = launch.clusters;
    let axis = |values: [u32; 3], i: u8| values.get(usize::from(i)).copied().unwrap_or(0);
    let lane = linear % 32;
    let word: u32 = match special {
        Special::Tid(i) => axis(thread, i),
        Special::Ntid(i) => axis(launch.block, i),
        Special::Ctaid(i) => axis(cta.block, i),
        Special::Nctaid(i) => axis(launch.grid, i),
        Special::Clusterid(i) => axis(clusters.divide(cta.block), i),
        Special::Nclusterid(i) => axis(clusters.divide(launch.grid), i),
        Special::ClusterCtaid(i) => axis(clusters.place(cta.block), i),
        Special::ClusterNctaid(i) => axis(clusters.shape, i),
        Special::ClusterCtarank => clusters.rank(cta.block),
        Special::ClusterNctarank => clusters.ctas(),
        Special::IsExplicitCluster => clusters.explicit.into(),
        Special::SharedStart => cta.view.neighbours.start() as u32,
        Special::Laneid => lane,
        Special::Warpid => linear / 32,
        Special::Nwarpid => cta.threads().div_ceil(32) as u32,
        Special::Smid => {
            let [x, y, z] = cta.block;
            let [nx, ny, _] = launch.grid;
            x.wrapping_add(nx.wrapping_mul(y.wrapping_add(ny.wrapping_mul(z))))
        }
        Special::LanemaskEq => 1 << lane,
        Special::LanemaskLe => u32::MAX >> (31 - lane),
        Special::LanemaskLt => (1 << lane) - 1,
        Special::LanemaskGe => u32::MAX << lane,
        Special::LanemaskGt => u32::MAX << lane << 1,
        Special::Clock | Special::GlobaltimerLo => nanoseconds() as u32,
        Special::ClockHi | Special::GlobaltimerHi => (nanoseconds() >> 32) as u32,
        Special::Clock64 | Special::Globaltimer => return nanoseconds(),
        Special::TotalSmemSize | Special::AggrSmemSize => return cta.view.shared.len,
        Special::DynamicSmemSize => launch.dynamic_shared,
        Special::Nsmid => 1,
        Special::Gridid
        | Special::Pm(_)
        | Special::Pm64(_)
        | Special::Envreg(_)
        | Special::ReservedSmemOffset
        | Special::CurrentGraphExec => 0,
    };
    word.into()
}
