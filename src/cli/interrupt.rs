//! Ctrl-C: a launch is cancelled and says where it was, a campaign of `fuzz` ends early, anything else ends at once.

use super::error::Failure;
use crate::runtime::Cancel;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code of what was interrupted: 128 and the number of the signal.
pub(super) const EXIT_CODE: u8 = 130;

static CANCEL: OnceLock<Cancel> = OnceLock::new();
/// Whether there is a launch to be cancelled.
static LAUNCHED: AtomicBool = AtomicBool::new(false);

/// What Ctrl-C cancels from now on.
///
/// # Errors
/// The system does not let itself be listened to.
pub(super) fn cancel() -> Result<Cancel, Failure> {
    if let Some(cancel) = CANCEL.get() {
        return Ok(cancel.clone());
    }
    let cancel = CANCEL.get_or_init(Cancel::new).clone();
    let cancelled = cancel.clone();
    let handler = move || {
        if !LAUNCHED.load(Ordering::SeqCst) || cancelled.is_cancelled() {
            std::process::exit(EXIT_CODE.into());
        }
        cancelled.cancel();
    };
    ctrlc::set_handler(handler).map_err(|e| Failure::bug(format!("Ctrl-C: {e}")))?;
    Ok(cancel)
}

/// Does something that ends soon after Ctrl-C by itself.
pub(super) fn cancellable<T>(launch: impl FnOnce() -> T) -> T {
    LAUNCHED.store(true, Ordering::SeqCst);
    let result = launch();
    LAUNCHED.store(false, Ordering::SeqCst);
    result
}
