//! Native stack.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs `f` with at least `wanted` bytes of stack: on a new one of `size` bytes where less is left.
///
/// # Errors
/// `f`, which has not been run, if there is no memory for a new stack.
pub fn with_stack<T, F: FnOnce() -> T>(wanted: usize, size: usize, f: F) -> Result<T, F> {
    if stacker::remaining_stack().is_some_and(|left| left >= wanted) {
        return Ok(f());
    }
    // It panics for want of memory, before it calls anything.
    let mut waiting = Some(f);
    let done = catch_unwind(AssertUnwindSafe(|| {
        stacker::grow(size, || waiting.take().map(|f| f()))
    }));
    match (done, waiting) {
        (Ok(Some(value)), _) => Ok(value),
        (_, Some(f)) => Err(f),
        (Err(panic), None) => resume_unwind(panic),
        #[expect(
            clippy::unreachable,
            reason = "what waited was taken to be run, and has given a value"
        )]
        (Ok(None), None) => unreachable!("taken once"),
    }
}

#[cfg(test)]
mod tests {
    use super::with_stack;

    #[test]
    fn there_is_as_much_as_was_wanted() {
        let size = 8 << 20;
        let left = with_stack(size, 2 * size, stacker::remaining_stack).ok();
        assert!(left.flatten().is_some_and(|left| left >= size));
    }

    #[test]
    fn what_the_host_lacks_is_told_and_nothing_is_run() {
        let mut run = false;
        let too_much = isize::MAX as usize / 2;
        assert!(with_stack(too_much, too_much, || run = true).is_err());
        assert!(!run);
    }
}
