//! Measuring for the summary: the benches of a group take turns, so that what slows the machine for a while slows all of
//! them, and their ratios hold.

use crate::groups::{Bench, Work};
use std::time::Duration;

/// How long to measure.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// For each bench.
    pub budget: Duration,
    /// Fewest turns.
    pub turns: usize,
}

impl Effort {
    /// One turn: to see that everything works.
    pub const SMOKE: Effort = Effort {
        budget: Duration::ZERO,
        turns: 1,
    };
    /// Enough for medians that come again.
    pub const FULL: Effort = Effort {
        budget: Duration::from_millis(700),
        turns: 9,
    };
    /// As many turns, for launches that are long each.
    pub const LONG: Effort = Effort {
        budget: Duration::ZERO,
        turns: 9,
    };
}

/// What was measured.
#[derive(Debug, Clone)]
pub struct Measured {
    pub group: String,
    pub name: String,
    pub work: Work,
    /// Seconds for one time, sorted.
    seconds: Vec<f64>,
}

impl Measured {
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    fn quantile(&self, part: f64) -> f64 {
        let last = self.seconds.len() - 1;
        self.seconds[(last as f64 * part).round() as usize]
    }

    /// From the median to the farther quartile, in percent of the median.
    pub fn spread(&self) -> f64 {
        let median = self.median();
        let farther = (self.quantile(0.75) - median).max(median - self.quantile(0.25));
        100.0 * farther / median
    }

    /// Nanoseconds for each unit of a launch's work.
    pub fn per_unit(&self) -> f64 {
        self.spread_over_units(self.median())
    }

    /// The same of the shortest time, to which other work on the machine adds least.
    pub fn least_per_unit(&self) -> f64 {
        self.spread_over_units(self.seconds[0])
    }

    /// Seconds for one time as nanoseconds for each unit.
    fn spread_over_units(&self, seconds: f64) -> f64 {
        match self.work {
            Work::Units(n) => seconds * 1e9 / n as f64,
            Work::Bytes(_) | Work::None => seconds * 1e9,
        }
    }

    /// Megabytes of text in a second.
    pub fn megabytes(&self) -> f64 {
        match self.work {
            Work::Bytes(n) => n as f64 / self.median() / 1e6,
            Work::Units(_) | Work::None => 0.0,
        }
    }
}

/// Times that are long against the clock's grain.
const BATCH: Duration = Duration::from_micros(200);

/// Measures the benches of a group by turns.
pub fn alternate(benches: &mut [Bench<'_>], effort: Effort) -> Vec<Measured> {
    let mut times: Vec<u64> = Vec::new();
    for bench in benches.iter_mut() {
        let mut n = 1;
        while effort.turns > 1 && (bench.run)(n) < BATCH && n < 1 << 20 {
            n *= 2;
        }
        times.push(n);
    }
    let mut measured: Vec<Measured> = benches
        .iter()
        .map(|bench| Measured {
            group: bench.group.clone(),
            name: bench.name.clone(),
            work: bench.work,
            seconds: Vec::new(),
        })
        .collect();
    let mut spent = Duration::ZERO;
    let mut turn = 0;
    while turn < effort.turns || spent < effort.budget * benches.len() as u32 {
        for ((bench, measured), &n) in benches.iter_mut().zip(&mut measured).zip(&times) {
            let time = (bench.run)(n);
            spent += time;
            measured.seconds.push(time.as_secs_f64() / n as f64);
        }
        turn += 1;
    }
    for measured in &mut measured {
        measured.seconds.sort_by(f64::total_cmp);
    }
    measured
}
