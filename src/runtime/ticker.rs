//! Time limits of calls, which may take no longer than a call itself.
//!
//! Each thread that calls has a [`Slot`]; a call enters and leaves it at the price of two atomic instructions and reads
//! no clock. One thread looks at the slots now and then, and raises the flag of a slot that it has seen in the same call
//! for too long. It sleeps for good when no slot has been used for a while.

use crate::error::{Error, Usage};
use crate::machine::Stop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Between two looks.
const TICK: Duration = Duration::from_millis(10);
/// Looks that find no slot in use before the thread goes to sleep.
const PATIENCE: u32 = 100;

static TICKER: Ticker = Ticker {
    ticking: AtomicBool::new(false),
    slots: Mutex::new(Slots {
        list: Vec::new(),
        started: false,
    }),
    wake: Condvar::new(),
};

struct Ticker {
    /// Whether slots are being looked at.
    ticking: AtomicBool,
    slots: Mutex<Slots>,
    wake: Condvar,
}

struct Slots {
    list: Vec<Seen>,
    started: bool,
}

/// What was seen of a slot.
struct Seen {
    slot: Weak<Slot>,
    state: u64,
    since: Instant,
}

/// No call.
const IDLE: u64 = 0;
/// A call whose time is up: the flag is being raised, has been raised.
const RAISING: u64 = 1;
const RAISED: u64 = 2;
/// Calls are told apart by numbers from here on.
const FIRST: u64 = 3;

/// The calls of one thread, one at a time.
#[derive(Debug)]
pub(super) struct Slot {
    state: AtomicU64,
    limit: AtomicU64,
    next: AtomicU64,
    stop: Stop,
}

impl Slot {
    /// A slot that is looked at.
    pub(super) fn new() -> Result<Arc<Slot>, Error> {
        let slot = Arc::new(Slot {
            state: AtomicU64::new(IDLE),
            limit: AtomicU64::new(0),
            next: AtomicU64::new(FIRST),
            stop: Stop::new(),
        });
        let mut slots = TICKER.lock();
        if !slots.started {
            std::thread::Builder::new()
                .name("ptxlift call limits".into())
                .spawn(|| TICKER.run())
                .map_err(|e| Usage::Configuration {
                    problem: format!("no thread can be started that watches time limits: {e}"),
                })?;
            slots.started = true;
        }
        slots.list.push(Seen {
            slot: Arc::downgrade(&slot),
            state: IDLE,
            since: Instant::now(),
        });
        Ok(slot)
    }

    /// The flag that is raised when a call takes too long.
    pub(super) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Begins a call, until the answer is dropped. One at a time.
    pub(super) fn enter(&self, limit: Duration) -> Entered<'_> {
        let call = self.next.load(Relaxed);
        self.next.store(call + 1, Relaxed);
        self.limit
            .store(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX), Relaxed);
        // Either the ticker sees this call before it goes to sleep, or this thread sees that it sleeps.
        self.state.swap(call, SeqCst);
        if !TICKER.ticking.load(SeqCst) {
            TICKER.wake();
        }
        Entered { slot: self, call }
    }
}

/// A call on its way.
pub(super) struct Entered<'a> {
    slot: &'a Slot,
    call: u64,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let state = &self.slot.state;
        if state
            .compare_exchange(self.call, IDLE, SeqCst, SeqCst)
            .is_err()
        {
            while state.load(SeqCst) != RAISED {
                std::thread::yield_now();
            }
            self.slot.stop.lower();
            state.store(IDLE, SeqCst);
        }
    }
}

impl Ticker {
    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cold]
    fn wake(&self) {
        let slots = self.lock();
        self.ticking.store(true, SeqCst);
        self.wake.notify_one();
        drop(slots);
    }

    fn run(&self) {
        let mut slots = self.lock();
        let mut quiet = 0;
        loop {
            quiet = if slots.look() { 0 } else { quiet + 1 };
            if quiet >= PATIENCE {
                self.ticking.store(false, SeqCst);
                if !slots.look() {
                    while !self.ticking.load(SeqCst) {
                        slots = self
                            .wake
                            .wait(slots)
                            .unwrap_or_else(PoisonError::into_inner);
                    }
                }
                self.ticking.store(true, SeqCst);
                quiet = 0;
            }
            slots = self
                .wake
                .wait_timeout(slots, TICK)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

impl Slots {
    /// Raises the flags of calls whose time is up. Whether there was any call since the last look.
    fn look(&mut self) -> bool {
        let now = Instant::now();
        let mut used = false;
        self.list.retain_mut(|seen| {
            let Some(slot) = seen.slot.upgrade() else {
                return false;
            };
            let state = slot.state.load(SeqCst);
            if state < FIRST {
                return true;
            }
            used = true;
            if state != seen.state {
                seen.state = state;
                seen.since = now;
            }
            let limit = Duration::from_nanos(slot.limit.load(Relaxed));
            if now - seen.since >= limit
                && slot
                    .state
                    .compare_exchange(state, RAISING, SeqCst, SeqCst)
                    .is_ok()
            {
                slot.stop.raise();
                slot.state.store(RAISED, SeqCst);
            }
            true
        });
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_for(stop: &Stop) {
        let start = Instant::now();
        while !stop.is_raised() {
            assert!(start.elapsed() < Duration::from_secs(20), "not raised");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_long_call_is_stopped_and_the_next_is_not() {
        let slot = Slot::new().unwrap();
        let limit = Duration::from_millis(40);
        let start = Instant::now();
        let call = slot.enter(limit);
        wait_for(slot.stop());
        assert!(start.elapsed() >= limit);
        drop(call);
        let _next = slot.enter(Duration::from_secs(3600));
        std::thread::sleep(Duration::from_millis(60));
        assert!(!slot.stop().is_raised());
    }

    #[test]
    fn many_short_calls_are_left_alone() {
        let slot = Slot::new().unwrap();
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(1200) {
            let _call = slot.enter(Duration::from_millis(600));
            assert!(!slot.stop().is_raised());
        }
    }

    #[test]
    fn a_call_wakes_the_sleeping_ticker() {
        let slot = Slot::new().unwrap();
        drop(slot.enter(Duration::from_secs(1)));
        std::thread::sleep(TICK * (PATIENCE + 20));
        let _call = slot.enter(Duration::from_millis(20));
        wait_for(slot.stop());
    }
}
