//! Memory for the threads of a block, kept by each thread of the host for the next time.

use crate::error::{Error, Usage};
use crate::machine::Scratch;
use std::cell::Cell;

/// Most bytes that are kept.
const KEPT: usize = 2 << 20;

thread_local! {
    static LAST: Cell<Option<Scratch>> = const { Cell::new(None) };
}

/// Runs `f` with memory of at least these sizes in bytes. What it holds at first is left over from earlier use.
pub(super) fn with_scratch<T>(
    shared: usize,
    local: usize,
    f: impl FnOnce(&Scratch) -> T,
) -> Result<T, Error> {
    let fits = |s: &Scratch| s.shared.len() >= shared && s.local.len() >= local;
    let last = LAST.try_with(Cell::take).ok().flatten().filter(fits);
    let scratch = match last {
        Some(scratch) => scratch,
        None => Scratch::try_new(shared, local).ok_or(Usage::HostMemory {
            bytes: (shared + local) as u64,
        })?,
    };
    let result = f(&scratch);
    if scratch.shared.len() + scratch.local.len() <= KEPT {
        // A thread that is about to end keeps nothing.
        let _ = LAST.try_with(|last| last.set(Some(scratch)));
    }
    Ok(result)
}
