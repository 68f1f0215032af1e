//! One thread that raises flags when time is up.

use crate::error::{Error, Usage};
use crate::machine::Stop;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

static WATCHDOG: Watchdog = Watchdog {
    state: Mutex::new(State {
        deadlines: BTreeMap::new(),
        next: 0,
        asleep_until: None,
        process: None,
    }),
    earlier: Condvar::new(),
};

struct Watchdog {
    state: Mutex<State>,
    earlier: Condvar,
}

struct State {
    deadlines: BTreeMap<(Instant, u64), Arc<Stop>>,
    next: u64,
    /// When the thread wakes by itself; `None` if it waits for the first deadline.
    asleep_until: Option<Instant>,
    /// The process that the thread runs in, if there is one: a child that was forked has none.
    process: Option<u32>,
}

/// Watches until it is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    key: Option<(Instant, u64)>,
}

/// Has `stop` raised when `limit` has passed, unless the answer is dropped before.
pub(super) fn watch(stop: &Arc<Stop>, limit: Duration) -> Result<Watch, Error> {
    // A limit past the end of time is none.
    let Some(deadline) = Instant::now().checked_add(limit) else {
        return Ok(Watch { key: None });
    };
    let mut state = WATCHDOG.lock();
    let process = std::process::id();
    if state.process != Some(process) {
        // Those of a parent are not watched here.
        state.deadlines.clear();
        state.asleep_until = None;
        std::thread::Builder::new()
            .name("ptxlift time limits".into())
            .spawn(|| WATCHDOG.run())
            .map_err(|e| Usage::Configuration {
                problem: format!("no thread can be started that watches time limits: {e}"),
            })?;
        state.process = Some(process);
    }
    let key = (deadline, state.next);
    state.next += 1;
    state.deadlines.insert(key, Arc::clone(stop));
    if state.asleep_until.is_none_or(|at| deadline < at) {
        WATCHDOG.earlier.notify_one();
    }
    Ok(Watch { key: Some(key) })
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            WATCHDOG.lock().deadlines.remove(&key);
        }
    }
}

impl Watchdog {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            while let Some(entry) = state.deadlines.first_entry() {
                if entry.key().0 > now {
                    break;
                }
                entry.remove().raise();
            }
            let next = state.deadlines.first_key_value().map(|(&(at, _), _)| at);
            state.asleep_until = next;
            state = match next {
                Some(at) => {
                    self.earlier
                        .wait_timeout(state, at.saturating_duration_since(now))
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
                None => self
                    .earlier
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raised_within(stop: &Stop, limit: Duration) -> bool {
        let start = Instant::now();
        while start.elapsed() < limit {
            if stop.is_raised() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        stop.is_raised()
    }

    #[test]
    fn flags_are_raised_in_time_also_behind_a_later_deadline() {
        let late = Arc::new(Stop::new());
        let _late = watch(&late, Duration::from_secs(3600)).unwrap();
        let early = Arc::new(Stop::new());
        let start = Instant::now();
        let _early = watch(&early, Duration::from_millis(30)).unwrap();
        assert!(raised_within(&early, Duration::from_secs(20)));
        assert!(start.elapsed() >= Duration::from_millis(30));
        assert!(!late.is_raised());
    }

    #[test]
    fn nothing_is_raised_after_the_watch_is_over() {
        let stop = Arc::new(Stop::new());
        drop(watch(&stop, Duration::from_millis(20)).unwrap());
        assert!(!raised_within(&stop, Duration::from_millis(80)));
        assert_eq!(Arc::strong_count(&stop), 1);
    }

    #[test]
    fn a_limit_past_the_end_of_time_is_none() {
        let stop = Arc::new(Stop::new());
        let _watch = watch(&stop, Duration::MAX).unwrap();
        assert!(!stop.is_raised());
    }
}
