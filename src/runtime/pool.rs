//! Worker threads, shared by all engines that want the same number.

use crate::error::{Error, Usage};
use rayon::{ThreadPool, ThreadPoolBuilder};
use rustc_hash::FxHashMap;
use std::num::NonZero;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// Stack of a worker, and of the stretch that a launch of a kernel that calls functions gets on the user's own thread where
/// less is left. Engines see to it themselves that they have enough.
pub(super) const STACK: usize = 64 << 20;

static POOLS: Mutex<Option<FxHashMap<usize, Weak<ThreadPool>>>> = Mutex::new(None);

/// The threads that help the calling one. Nothing is started before the first launch that has work for them.
#[derive(Debug)]
pub(crate) struct Pool {
    threads: usize,
    started: OnceLock<Arc<ThreadPool>>,
}

impl Pool {
    /// `threads` in all, the calling one included; 0 for as many as the machine runs at once.
    pub(crate) fn new(threads: usize) -> Self {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, NonZero::get),
            n => n.min(1024),
        };
        Pool {
            threads,
            started: OnceLock::new(),
        }
    }

    /// How many threads, the calling one included.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Has a helper run `job` when one is free.
    pub(crate) fn spawn(&self, job: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        self.helpers()?.spawn(job);
        Ok(())
    }

    fn helpers(&self) -> Result<&ThreadPool, Error> {
        if let Some(pool) = self.started.get() {
            return Ok(pool);
        }
        let pool = shared(self.threads.saturating_sub(1).max(1))?;
        Ok(self.started.get_or_init(|| pool))
    }
}

fn shared(helpers: usize) -> Result<Arc<ThreadPool>, Error> {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let pools = pools.get_or_insert_default();
    if let Some(pool) = pools.get(&helpers).and_then(Weak::upgrade) {
        return Ok(pool);
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(helpers)
        .thread_name(|i| format!("ptxlift worker {i}"))
        .stack_size(STACK)
        .build()
        .map_err(|e| Usage::Configuration {
            problem: format!("{helpers} worker threads cannot be started: {e}"),
        })?;
    let pool = Arc::new(pool);
    pools.insert(helpers, Arc::downgrade(&pool));
    Ok(pool)
}
