//! Time, as kernels read it.

use std::sync::LazyLock;
use std::time::Instant;

/// Nanoseconds since some moment of this process; never less than before. What `%clock64`, `%globaltimer` and their
/// halves read.
pub fn nanoseconds() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
