//! Host memory at addresses that 32 bits hold, for modules with `.address_size 32`.

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub(super) use linux::LowMemory;

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
pub(super) use elsewhere::LowMemory;

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod linux {
    use std::ptr::NonNull;
    use std::sync::{Mutex, PoisonError};

    /// Where memory is looked for: above what programs that are not relocatable occupy, below the windows
    /// ([`window::base`](crate::machine::window::base)), and not next to them: native code checks accesses to nearby
    /// addresses together, and takes them to lie in one of both.
    const FIRST: usize = 0x1000_0000;
    const END: usize = 0xB000_0000 - STEP;
    /// Between two places that are tried, and the alignment of every mapping.
    const STEP: usize = 64 << 10;

    /// Where to look first.
    static NEXT: Mutex<usize> = Mutex::new(FIRST);

    /// A private mapping between [`FIRST`] and [`END`].
    #[derive(Debug)]
    pub(crate) struct LowMemory {
        base: NonNull<u8>,
        len: usize,
    }

    impl LowMemory {
        /// `len` zeroed bytes, or `None` if they cannot be had.
        pub(crate) fn zeroed(len: usize) -> Option<LowMemory> {
            let len = len.max(1).checked_next_multiple_of(STEP)?;
            if len > END - FIRST {
                return None;
            }
            let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
            let start = *next;
            let places = (start..END)
                .step_by(STEP)
                .chain((FIRST..start).step_by(STEP));
            for place in places.filter(|place| place + len <= END) {
                match map(place, len) {
                    Ok(base) => {
                        *next = place + len;
                        return Some(LowMemory { base, len });
                    }
                    Err(Refused::Occupied) => {}
                    Err(Refused::Exhausted) => return None,
                }
            }
            None
        }

        /// The first byte.
        pub(crate) fn as_ptr(&self) -> *mut u8 {
            self.base.as_ptr()
        }
    }

    enum Refused {
        Occupied,
        Exhausted,
    }

    /// Maps `len` bytes at `place`, if nothing is there.
    fn map(place: usize, len: usize) -> Result<NonNull<u8>, Refused> {
        // SAFETY: with MAP_FIXED_NOREPLACE an existing mapping is left alone; kernels that do not know the flag take the
        // place as a wish.
        let base = unsafe {
            libc::mmap(
                std::ptr::without_provenance_mut(place),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            let occupied =
                std::io::Error::last_os_error().kind() == std::io::ErrorKind::AlreadyExists;
            return Err(if occupied {
                Refused::Occupied
            } else {
                Refused::Exhausted
            });
        }
        if base.addr() != place {
            // SAFETY: the mapping was made above, and nobody knows it.
            unsafe { libc::munmap(base, len) };
            return Err(Refused::Occupied);
        }
        base.expose_provenance();
        NonNull::new(base.cast()).ok_or(Refused::Occupied)
    }

    impl Drop for LowMemory {
        fn drop(&mut self) {
            // SAFETY: mapped with this length in `zeroed`, and owned.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
        }
    }

    // SAFETY: the memory is owned; whoever reads or writes it through `as_ptr` answers for how.
    unsafe impl Send for LowMemory {}
    // SAFETY: as above; no references to the contents are given.
    unsafe impl Sync for LowMemory {}
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
mod elsewhere {
    /// Cannot be had.
    #[derive(Debug)]
    pub(crate) enum LowMemory {}

    impl LowMemory {
        pub(crate) fn zeroed(_len: usize) -> Option<LowMemory> {
            None
        }

        pub(crate) fn as_ptr(&self) -> *mut u8 {
            match *self {}
        }
    }
}

#[cfg(all(test, target_os = "linux", target_pointer_width = "64"))]
mod tests {
    use super::LowMemory;

    #[test]
    fn mappings_are_low_zeroed_and_apart() {
        let memory: Vec<LowMemory> = (0..20)
            .map(|_| LowMemory::zeroed(100_000).unwrap())
            .collect();
        let mut bases: Vec<usize> = memory.iter().map(|m| m.as_ptr().addr()).collect();
        bases.sort_unstable();
        assert!(bases.windows(2).all(|pair| pair[1] - pair[0] >= 100_000));
        assert!(bases[19] + 100_000 <= 0xB000_0000);
        // SAFETY: the mapping has this many bytes and is alive.
        let bytes = unsafe { std::slice::from_raw_parts(memory[7].as_ptr(), 100_000) };
        assert!(bytes.iter().all(|&b| b == 0));
    }

    #[test]
    fn too_much_is_refused() {
        assert!(LowMemory::zeroed(3 << 30).is_none());
        assert!(LowMemory::zeroed(usize::MAX).is_none());
    }
}
