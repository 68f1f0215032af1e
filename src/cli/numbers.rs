//! Numbers on the command line, with messages that say what they may be.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

/// How many: threads, jobs, launches.
pub(super) fn count(text: &str) -> Result<NonZeroUsize, String> {
    text.parse()
        .map_err(|_| "a whole number from 1 on is wanted".to_string())
}

/// How many times.
pub(super) fn times(text: &str) -> Result<NonZeroU32, String> {
    text.parse()
        .map_err(|_| format!("a whole number from 1 to {} is wanted", u32::MAX))
}

/// The number of a parameter.
pub(super) fn parameter(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| "the number of a parameter is wanted, counted from 0".to_string())
}

/// A number of bytes.
pub(super) fn bytes(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| "a number of bytes is wanted, such as 4096".to_string())
}

/// How long a launch may take; `None` for as long as it wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeLimit(pub(super) Option<Duration>);

/// A time in seconds; 0 means no limit.
pub(super) fn time_limit(text: &str) -> Result<TimeLimit, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "a number of seconds is wanted, such as 10 or 0.5".to_string())?;
    let limit = Duration::try_from_secs_f64(seconds)
        .map_err(|_| "a time limit is neither negative nor endless; 0 means none".to_string())?;
    Ok(TimeLimit((!limit.is_zero()).then_some(limit)))
}
