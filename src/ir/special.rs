//! Special registers. PTX ISA, "Special Registers".

/// A special register. Those that make no sense on a CPU have the value that is given here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Special {
    /// `%tid.x .y .z`
    Tid(u8),
    /// `%ntid`
    Ntid(u8),
    /// `%ctaid`
    Ctaid(u8),
    /// `%nctaid`
    Nctaid(u8),
    /// `%laneid`: the thread's linear index in the CTA modulo 32.
    Laneid,
    /// `%warpid`: the thread's linear index in the CTA divided by 32.
    Warpid,
    /// `%nwarpid`: warps in the CTA, rounded up.
    Nwarpid,
    /// `%gridid`: 0; 64 bits.
    Gridid,
    /// `%smid`: the CTA's linear index, 0 for device functions called from the host.
    Smid,
    /// `%nsmid`: 1.
    Nsmid,
    /// `%is_explicit_cluster`: whether the launch or the kernel says how large clusters are, a predicate.
    IsExplicitCluster,
    /// `%clusterid`: `%ctaid` divided by `%cluster_nctaid`.
    Clusterid(u8),
    /// `%nclusterid`: `%nctaid` divided by `%cluster_nctaid`.
    Nclusterid(u8),
    /// `%cluster_ctaid`: `%ctaid` modulo `%cluster_nctaid`.
    ClusterCtaid(u8),
    /// `%cluster_nctaid`: CTAs in a cluster; 1 for device functions called from the host.
    ClusterNctaid(u8),
    /// `%cluster_ctarank`: the linear index that goes with `%cluster_ctaid`, x fastest.
    ClusterCtarank,
    /// `%cluster_nctarank`: CTAs in a cluster, all together.
    ClusterNctarank,
    /// Where addresses of the CTA's own shared memory begin: its rank, where [`CLUSTER_SHIFT`](super::memory::CLUSTER_SHIFT)
    /// says, if the module's addresses have one. No register of PTX.
    SharedStart,
    /// `%lanemask_eq .le .lt .ge .gt`, in this order.
    LanemaskEq,
    /// Lanes up to this one.
    LanemaskLe,
    /// Lanes below this one.
    LanemaskLt,
    /// This lane and those above.
    LanemaskGe,
    /// Lanes above this one.
    LanemaskGt,
    /// `%clock`, low word of a monotone counter of nanoseconds.
    Clock,
    /// `%clock_hi`
    ClockHi,
    /// `%clock64`
    Clock64,
    /// `%pm0`..`%pm7`: 0.
    Pm(u8),
    /// `%pm0_64`..`%pm7_64`: 0.
    Pm64(u8),
    /// `%envreg0`..`%envreg31`: 0.
    Envreg(u8),
    /// `%globaltimer`: nanoseconds; 64 bits.
    Globaltimer,
    /// `%globaltimer_lo`
    GlobaltimerLo,
    /// `%globaltimer_hi`
    GlobaltimerHi,
    /// `%reserved_smem_offset_begin`, `_end`, `_cap`, `_0`, `_1`: 0.
    ReservedSmemOffset,
    /// `%total_smem_size`: static and dynamic shared memory of the CTA.
    TotalSmemSize,
    /// `%dynamic_smem_size`
    DynamicSmemSize,
    /// `%aggr_smem_size`: as `%total_smem_size`.
    AggrSmemSize,
    /// `%current_graph_exec`: 0; 64 bits.
    CurrentGraphExec,
}

impl Special {
    /// Whether it is a clock: two reads of it differ.
    pub fn tells_time(self) -> bool {
        matches!(
            self,
            Special::Clock
                | Special::ClockHi
                | Special::Clock64
                | Special::Globaltimer
                | Special::GlobaltimerLo
                | Special::GlobaltimerHi
        )
    }

    /// Whether every thread of a CTA reads the same.
    pub fn is_uniform(self) -> bool {
        match self {
            Special::Tid(_)
            | Special::Laneid
            | Special::Warpid
            | Special::LanemaskEq
            | Special::LanemaskLe
            | Special::LanemaskLt
            | Special::LanemaskGe
            | Special::LanemaskGt
            | Special::Clock
            | Special::ClockHi
            | Special::Clock64
            | Special::Globaltimer
            | Special::GlobaltimerLo
            | Special::GlobaltimerHi => false,
            Special::Ntid(_)
            | Special::Ctaid(_)
            | Special::Nctaid(_)
            | Special::Nwarpid
            | Special::Gridid
            | Special::Smid
            | Special::Nsmid
            | Special::IsExplicitCluster
            | Special::Clusterid(_)
            | Special::Nclusterid(_)
            | Special::ClusterCtaid(_)
            | Special::ClusterNctaid(_)
            | Special::ClusterCtarank
            | Special::ClusterNctarank
            | Special::SharedStart
            | Special::Pm(_)
            | Special::Pm64(_)
            | Special::Envreg(_)
            | Special::ReservedSmemOffset
            | Special::TotalSmemSize
            | Special::DynamicSmemSize
            | Special::AggrSmemSize
            | Special::CurrentGraphExec => true,
        }
    }
}
