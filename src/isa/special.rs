//! The names of special registers. PTX ISA, "Special Registers".

use super::form::Version;
use crate::ir::Special;

/// A special register as the text names it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct SpecialName {
    /// The name with its `%`.
    pub name: &'static str,
    /// Width in bits; 1 for a predicate.
    pub bits: u32,
    /// Which register; of a vector the element 0.
    pub special: Special,
    /// Whether it has elements `.x .y .z .w`.
    pub vector: bool,
    /// Whether `mov.u16` may read it, as PTX 1.x wrote it.
    pub narrow: bool,
    /// The smallest `.version`.
    pub since: Version,
    /// The smallest `.target`.
    pub target: u32,
}

const fn scalar(name: &'static str, special: Special) -> SpecialName {
    SpecialName {
        name,
        bits: 32,
        special,
        vector: false,
        narrow: false,
        since: (1, 0),
        target: 10,
    }
}

const fn vector(name: &'static str, special: Special) -> SpecialName {
    SpecialName {
        vector: true,
        ..scalar(name, special)
    }
}

impl SpecialName {
    const fn bits(self, bits: u32) -> SpecialName {
        SpecialName { bits, ..self }
    }

    const fn narrow(self) -> SpecialName {
        SpecialName {
            narrow: true,
            ..self
        }
    }

    const fn needs(self, since: Version, target: u32) -> SpecialName {
        SpecialName {
            since,
            target,
            ..self
        }
    }
}

/// All of them; of numbered ones (`%pm`, `%envreg`) number 0.
pub const SPECIALS: &[SpecialName] = &[
    vector("%tid", Special::Tid(0)).narrow(),
    vector("%ntid", Special::Ntid(0)).narrow(),
    vector("%ctaid", Special::Ctaid(0)).narrow(),
    vector("%nctaid", Special::Nctaid(0)).narrow(),
    scalar("%laneid", Special::Laneid).needs((1, 3), 10),
    scalar("%warpid", Special::Warpid).needs((1, 3), 10),
    scalar("%nwarpid", Special::Nwarpid).needs((2, 0), 20),
    scalar("%smid", Special::Smid).needs((1, 3), 10),
    scalar("%nsmid", Special::Nsmid).needs((2, 0), 20),
    scalar("%gridid", Special::Gridid).bits(64).narrow(),
    scalar("%is_explicit_cluster", Special::IsExplicitCluster)
        .bits(1)
        .needs((7, 8), 90),
    vector("%clusterid", Special::Clusterid(0)).needs((7, 8), 90),
    vector("%nclusterid", Special::Nclusterid(0)).needs((7, 8), 90),
    vector("%cluster_ctaid", Special::ClusterCtaid(0)).needs((7, 8), 90),
    vector("%cluster_nctaid", Special::ClusterNctaid(0)).needs((7, 8), 90),
    scalar("%cluster_ctarank", Special::ClusterCtarank).needs((7, 8), 90),
    scalar("%cluster_nctarank", Special::ClusterNctarank).needs((7, 8), 90),
    scalar("%lanemask_eq", Special::LanemaskEq).needs((2, 0), 20),
    scalar("%lanemask_le", Special::LanemaskLe).needs((2, 0), 20),
    scalar("%lanemask_lt", Special::LanemaskLt).needs((2, 0), 20),
    scalar("%lanemask_ge", Special::LanemaskGe).needs((2, 0), 20),
    scalar("%lanemask_gt", Special::LanemaskGt).needs((2, 0), 20),
    scalar("%clock", Special::Clock),
    scalar("%clock_hi", Special::ClockHi).needs((5, 0), 20),
    scalar("%clock64", Special::Clock64)
        .bits(64)
        .needs((2, 0), 20),
    scalar("%pm0", Special::Pm(0)).needs((1, 3), 10),
    scalar("%pm0_64", Special::Pm64(0))
        .bits(64)
        .needs((4, 0), 50),
    scalar("%envreg0", Special::Envreg(0)),
    scalar("%globaltimer", Special::Globaltimer)
        .bits(64)
        .needs((3, 1), 30),
    scalar("%globaltimer_lo", Special::GlobaltimerLo).needs((3, 1), 30),
    scalar("%globaltimer_hi", Special::GlobaltimerHi).needs((3, 1), 30),
    scalar("%reserved_smem_offset_begin", Special::ReservedSmemOffset).needs((7, 6), 80),
    scalar("%reserved_smem_offset_end", Special::ReservedSmemOffset).needs((7, 6), 80),
    scalar("%reserved_smem_offset_cap", Special::ReservedSmemOffset).needs((7, 6), 80),
    scalar("%reserved_smem_offset_0", Special::ReservedSmemOffset).needs((7, 6), 80),
    scalar("%reserved_smem_offset_1", Special::ReservedSmemOffset).needs((7, 6), 80),
    scalar("%total_smem_size", Special::TotalSmemSize).needs((4, 1), 20),
    scalar("%aggr_smem_size", Special::AggrSmemSize).needs((8, 1), 90),
    scalar("%dynamic_smem_size", Special::DynamicSmemSize).needs((4, 1), 20),
    scalar("%current_graph_exec", Special::CurrentGraphExec)
        .bits(64)
        .needs((8, 0), 50),
];

/// The special register of a name, without the suffix of a vector element.
pub fn find(name: &str) -> Option<SpecialName> {
    if let Some(found) = SPECIALS.iter().find(|s| s.name == name) {
        return Some(*found);
    }
    let numbered = |row: &str, number: &str, limit: u8| {
        let number = (0..limit).find(|n| n.to_string() == number)?;
        let row = SPECIALS.iter().find(|s| s.name == row)?;
        Some((*row, number))
    };
    if let Some(number) = name.strip_prefix("%envreg") {
        let (row, n) = numbered("%envreg0", number, 32)?;
        return Some(SpecialName {
            special: Special::Envreg(n),
            ..row
        });
    }
    let number = name.strip_prefix("%pm")?;
    if let Some(number) = number.strip_suffix("_64") {
        let (row, n) = numbered("%pm0_64", number, 8)?;
        return Some(SpecialName {
            special: Special::Pm64(n),
            ..row
        });
    }
    let (row, n) = numbered("%pm0", number, 8)?;
    // The counters 4 to 7 came later.
    let row = if n < 4 { row } else { row.needs((3, 0), 20) };
    Some(SpecialName {
        special: Special::Pm(n),
        ..row
    })
}

/// Element `index` of a vector register; `None` for the fourth, which is always 0.
pub fn element(special: Special, index: u8) -> Option<Special> {
    if index > 2 {
        return None;
    }
    Some(match special {
        Special::Tid(_) => Special::Tid(index),
        Special::Ntid(_) => Special::Ntid(index),
        Special::Ctaid(_) => Special::Ctaid(index),
        Special::Nctaid(_) => Special::Nctaid(index),
        Special::Clusterid(_) => Special::Clusterid(index),
        Special::Nclusterid(_) => Special::Nclusterid(index),
        Special::ClusterCtaid(_) => Special::ClusterCtaid(index),
        Special::ClusterNctaid(_) => Special::ClusterNctaid(index),
        Special::Laneid
        | Special::Warpid
        | Special::Nwarpid
        | Special::Gridid
        | Special::Smid
        | Special::Nsmid
        | Special::IsExplicitCluster
        | Special::ClusterCtarank
        | Special::ClusterNctarank
        | Special::SharedStart
        | Special::LanemaskEq
        | Special::LanemaskLe
        | Special::LanemaskLt
        | Special::LanemaskGe
        | Special::LanemaskGt
        | Special::Clock
        | Special::ClockHi
        | Special::Clock64
        | Special::Pm(_)
        | Special::Pm64(_)
        | Special::Envreg(_)
        | Special::Globaltimer
        | Special::GlobaltimerLo
        | Special::GlobaltimerHi
        | Special::ReservedSmemOffset
        | Special::TotalSmemSize
        | Special::DynamicSmemSize
        | Special::AggrSmemSize
        | Special::CurrentGraphExec => special,
    })
}
