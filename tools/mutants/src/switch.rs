//! Which mutant is switched on. Every switch point of the mutated tree asks here.
//!
//! `PTXLIFT_MUTANT=N` switches mutant N on. `PTXLIFT_MUTANT_COVER=FILE` switches none on and notes in the file, which has a
//! byte for each mutant, which switch points were reached (bit 0), and where the mutated expression would have given
//! another value (bit 1).

use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering::Relaxed};

const NONE: u32 = u32::MAX - 2;
const COVER: u32 = u32::MAX - 1;
const UNREAD: u32 = u32::MAX;

static STATE: AtomicU32 = AtomicU32::new(UNREAD);
static MAP: AtomicPtr<AtomicU8> = AtomicPtr::new(std::ptr::null_mut());
static MAP_LEN: AtomicUsize = AtomicUsize::new(0);
static READ: Once = Once::new();

/// Whether mutant `n` is switched on.
#[inline]
pub(crate) fn on(n: u32) -> bool {
    match STATE.load(Relaxed) {
        UNREAD => {
            read();
            on(n)
        }
        COVER => {
            note(n, 1);
            false
        }
        state => state == n,
    }
}

/// Whether mutant `n` is switched on, where `differs` says whether it would change the value here.
#[inline]
pub(crate) fn differs(n: u32, differs: impl FnOnce() -> bool) -> bool {
    match STATE.load(Relaxed) {
        UNREAD => {
            read();
            self::differs(n, differs)
        }
        COVER => {
            // What panics is different too.
            let changed = catch_unwind(AssertUnwindSafe(differs)).unwrap_or(true);
            note(n, if changed { 3 } else { 1 });
            false
        }
        state => state == n,
    }
}

#[cold]
fn read() {
    READ.call_once(|| {
        let variable = |name| std::env::var(name).ok();
        let state = if let Some(path) = variable("PTXLIFT_MUTANT_COVER") {
            map(&path).expect("the coverage file can be mapped");
            COVER
        } else {
            variable("PTXLIFT_MUTANT").map_or(NONE, |n| n.parse().expect("PTXLIFT_MUTANT is a number"))
        };
        STATE.store(state, Relaxed);
    });
}

fn map(path: &str) -> std::io::Result<()> {
    let file = std::fs::File::options().read(true).write(true).open(path)?;
    let len = file.metadata()?.len() as usize;
    // SAFETY: a new shared mapping of a whole file, checked below and never unmapped.
    let map = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if map == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    MAP_LEN.store(len, Relaxed);
    MAP.store(map.cast(), Relaxed);
    Ok(())
}

#[cold]
fn note(n: u32, bits: u8) {
    let (map, len) = (MAP.load(Relaxed), MAP_LEN.load(Relaxed));
    if !map.is_null() && (n as usize) < len {
        // SAFETY: within the mapping, which lives to the end of the process and is accessed atomically only.
        let byte = unsafe { &*map.add(n as usize) };
        if byte.load(Relaxed) & bits != bits {
            byte.fetch_or(bits, Relaxed);
        }
    }
}
