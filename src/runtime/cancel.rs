//! Ending launches from outside.

use crate::machine::Stop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Ends launches and calls from another thread: they then give a fault of kind
/// [`TimeLimit`](crate::FaultKind::TimeLimit). Clones act as one; once cancelled, it stays so.
///
/// ```
/// let cancel = ptxlift::Cancel::new();
/// let from_elsewhere = cancel.clone();
/// from_elsewhere.cancel();
/// assert!(cancel.is_cancelled());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    cancelled: AtomicBool,
    running: Mutex<Vec<Weak<Stop>>>,
}

impl Cancel {
    /// A handle that nobody has used yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends everything that runs under this handle, and whatever begins later.
    pub fn cancel(&self) {
        let running = self.running();
        self.shared.cancelled.store(true, Ordering::SeqCst);
        running
            .iter()
            .filter_map(Weak::upgrade)
            .for_each(|s| s.raise());
    }

    /// Whether somebody cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::SeqCst)
    }

    /// Has `stop` raised on cancellation.
    pub(super) fn watch(&self, stop: &Arc<Stop>) {
        let mut running = self.running();
        running.retain(|s| s.strong_count() > 0);
        running.push(Arc::downgrade(stop));
        if self.is_cancelled() {
            stop.raise();
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Stop>>> {
        self.shared
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
