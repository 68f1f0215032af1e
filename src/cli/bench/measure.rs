//! Times, and what is said of many of them.

use super::super::error::Failure;
use crate::runtime::{Engine, EngineKind, Module};
use crate::testing::exec::Prepared;
use std::time::{Duration, Instant};

/// Fewest and most times that something is measured.
const FEWEST: usize = 5;
const MOST: usize = 10_000;

/// Times of one thing in one configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Times(Vec<Duration>);

impl Times {
    fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Times(times)
    }

    /// How many.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The time below which a part of them lies, from 0 to 1.
    pub(super) fn quantile(&self, part: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        let at = (last as f64 * part).round() as usize;
        self.0.get(at).map_or(0.0, Duration::as_secs_f64)
    }

    pub(super) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// From the median to the farther quartile, as a part of the median.
    pub(super) fn spread(&self) -> f64 {
        let median = self.median();
        let farther = (self.quantile(0.75) - median).max(median - self.quantile(0.25));
        if median > 0.0 { farther / median } else { 0.0 }
    }
}

/// Does something in every configuration, in turn, until each has taken `budget`: whatever slows the machine for a while
/// slows all of them. `measure` gives the time that counts.
pub(super) fn alternate(
    configurations: usize,
    budget: Duration,
    mut measure: impl FnMut(usize) -> Result<Duration, Failure>,
) -> Result<Vec<Times>, Failure> {
    let mut times = vec![Vec::new(); configurations];
    let mut spent = vec![Duration::ZERO; configurations];
    let open = |times: &[Duration], spent: Duration| {
        times.len() < FEWEST || (spent < budget && times.len() < MOST)
    };
    loop {
        let mut done = true;
        for index in 0..configurations {
            if open(&times[index], spent[index]) {
                let started = Instant::now();
                times[index].push(measure(index)?);
                spent[index] += started.elapsed();
                done = false;
            }
        }
        if done {
            return Ok(times.into_iter().map(Times::new).collect());
        }
    }
}

/// Compiles a module by each engine; nothing for those of the interpreter.
pub(super) fn compile(
    module: &Module,
    engines: &[Engine],
    budget: Duration,
) -> Result<Vec<Option<Times>>, Failure> {
    let native: Vec<usize> = (0..engines.len())
        .filter(|&i| engines[i].config().kind == EngineKind::Native)
        .collect();
    let measured = alternate(native.len(), budget, |index| {
        Ok(engines[native[index]].compile(module)?.compile_time())
    })?;
    let mut times = vec![None; engines.len()];
    for (index, measured) in native.into_iter().zip(measured) {
        times[index] = Some(measured);
    }
    Ok(times)
}

/// Launches in each configuration. The memory is filled anew each time, which does not count.
pub(super) fn launch(
    prepared: &[(Prepared, EngineKind)],
    budget: Duration,
) -> Result<Vec<Times>, Failure> {
    alternate(prepared.len(), budget, |index| {
        let (prepared, kind) = &prepared[index];
        match prepared.run(*kind)?.end {
            Ok(report) => Ok(report.run_time),
            Err(fault) => Err(crate::Error::Fault(fault).into()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spread() {
        let ms = Duration::from_millis;
        let times = Times::new(vec![ms(50), ms(10), ms(20), ms(40), ms(30)]);
        assert_eq!(times.count(), 5);
        assert_eq!(times.median(), 0.030);
        assert_eq!(times.quantile(0.25), 0.020);
        assert!((times.spread() - 1.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn configurations_take_turns_and_each_is_measured_often_enough() {
        let mut order = Vec::new();
        let times = alternate(2, Duration::ZERO, |index| {
            order.push(index);
            Ok(Duration::from_nanos(1 + index as u64))
        })
        .expect("no failure");
        assert_eq!(order, [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
        assert_eq!(times[1].median(), 2e-9);
    }
}
