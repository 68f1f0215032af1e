//! What is known of a meeting before anybody comes to it.

use crate::ir::sync::{BarrierAction, Op, ReduxOp};
use crate::semantics::sync::{self, Route, Values};

/// A meeting, with what an engine leaves out of the record because it is the same whoever comes.
#[derive(Debug, Clone)]
pub struct Known {
    /// The operation.
    pub op: Op,
    constants: [Option<u64>; 4],
    wanted: [bool; 2],
    /// How a whole warp shuffles.
    route: Option<Route>,
    /// Which barrier it is, if all live threads of the CTA wait there for each other and nothing else.
    plain: Option<usize>,
}

impl Known {
    /// Of a meeting of which nothing is known but that it asks nothing and gives nothing.
    pub const NOTHING: Known = Known {
        op: Op::ActiveMask,
        constants: [None; 4],
        wanted: [false; 2],
        route: None,
        plain: None,
    };

    /// Of an operation: the sources that are constants, and which results anybody reads.
    pub fn new(
        op: Op,
        sources: impl Iterator<Item = Option<u64>>,
        results: impl Iterator<Item = bool>,
    ) -> Self {
        let mut known = Known {
            op,
            ..Known::NOTHING
        };
        let classes = op.signature().srcs;
        for ((constant, source), class) in known.constants.iter_mut().zip(sources).zip(classes) {
            *constant = source.map(|value| value & class.mask());
        }
        for (wanted, result) in known.wanted.iter_mut().zip(results) {
            *wanted = result;
        }
        match (op, known.constants) {
            (Op::Shfl { mode, sync: true }, [_, None, Some(b), Some(c)]) => {
                known.route = Some(Route::new(mode, b as u32, c as u32, known.wanted[1]));
            }
            (
                Op::Barrier {
                    action: BarrierAction::Sync,
                    counted: false,
                    aligned: _,
                },
                [Some(number), ..],
            ) => known.plain = usize::try_from(number).ok(),
            _ => {}
        }
        known
    }

    /// A source, if it is a constant.
    pub fn constant(&self, source: usize) -> Option<u64> {
        self.constants[source]
    }

    /// Whether anybody reads a result.
    pub fn wants(&self, result: usize) -> bool {
        self.wanted[result]
    }

    /// Which barrier it is, if all live threads of the CTA wait there for each other and nothing else.
    pub fn plain_barrier(&self) -> Option<usize> {
        self.plain
    }

    /// How a whole warp shuffles, if that is known.
    pub fn route(&self) -> Option<&Route> {
        self.route.as_ref()
    }

    /// Whether it is a warp operation of all lanes, which code for a whole warp does without asking the schedule.
    pub fn is_of_whole_warp(&self) -> bool {
        let all = self.constants[0] == Some(u64::from(u32::MAX));
        match self.op {
            Op::Shfl { sync, .. } => sync && all && self.route.is_some(),
            Op::Vote { sync, .. } => !sync || all,
            Op::Warp | Op::MatchAll { .. } | Op::Elect => all,
            Op::Redux {
                op: ReduxOp::Float(_),
            } => false,
            Op::Redux { .. } => all,
            Op::ActiveMask => true,
            Op::MatchAny { .. }
            | Op::Barrier { .. }
            | Op::ClusterArrive { .. }
            | Op::ClusterWait { .. } => false,
        }
    }

    /// Writes the constants of lanes that have come into the record.
    pub(super) fn fill(&self, lanes: u32, values: &mut Values) {
        for (row, constant) in values.iter_mut().zip(self.constants) {
            if let Some(constant) = constant {
                sync::give(lanes, row, constant);
            }
        }
    }

    /// A source of a lane.
    pub(super) fn source(known: Option<&Self>, values: &Values, source: usize, lane: u32) -> u64 {
        let constant = known.and_then(|known| known.constants[source]);
        constant.unwrap_or(values[source][lane as usize])
    }

    /// Does a warp operation for all live lanes of a warp, if it waits for none but those. Whether it did.
    pub(super) fn meet(&self, live: u32, values: &mut Values) -> bool {
        let all =
            self.op.is_masked() && self.constants[0].is_some_and(|mask| mask as u32 & live == live);
        match &self.route {
            Some(route) if all && live == u32::MAX => route.shuffle(values),
            Some(_) | None if all => {
                self.fill(live, values);
                sync::warp(self.op, live, values);
            }
            Some(_) | None => {}
        }
        all
    }
}
