//! Local memory behind the variables of a function.

use crate::ir::memory::STACK_ALIGN;

/// Where memory begins and ends that `alloca` adds to local memory of `end` bytes, of which there may be `limit`.
///
/// # Errors
/// Why there is no room.
pub fn allocate(end: u64, size: u64, align: u32, limit: u64) -> Result<(u64, u64), String> {
    let start = end.next_multiple_of(align.max(STACK_ALIGN).into());
    let end = start.saturating_add(size);
    if end > limit {
        return Err(format!(
            "{end} bytes of local memory wanted, there are {limit}"
        ));
    }
    Ok((start, end))
}

/// Why local memory cannot end at `end`.
pub fn no_end(end: u64) -> String {
    format!("{end:#x} is not where the local memory of the function ended before")
}

#[cfg(test)]
mod tests {
    use super::allocate;

    #[test]
    fn memory_is_aligned_and_bounded() {
        assert_eq!(allocate(0, 0, 8, 0), Ok((0, 0)));
        assert_eq!(allocate(1, 3, 8, 100), Ok((8, 11)));
        assert_eq!(allocate(1, 3, 1, 100), Ok((8, 11)));
        assert_eq!(allocate(11, 5, 64, 100), Ok((64, 69)));
        assert_eq!(allocate(0, 100, 1 << 23, 100), Ok((0, 100)));
        assert!(allocate(0, 101, 8, 100).is_err());
        assert!(allocate(1, 0, 1 << 23, 100).is_err());
        for size in [1 << 63, u64::MAX, u64::MAX - 7] {
            assert!(allocate(16, size, 16, 512 << 10).is_err());
        }
    }
}
