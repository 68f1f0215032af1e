//! The device heap: what kernels get from `malloc`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Alignment of what `malloc` gives.
const ALIGN: u64 = 16;

/// A stretch of global memory that kernels divide among themselves.
#[derive(Debug)]
pub struct Heap {
    base: u64,
    size: u64,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// Offset and length of what was given, and of what is left.
    given: BTreeMap<u64, u64>,
    left: BTreeMap<u64, u64>,
    used: u64,
}

impl Heap {
    /// Of `size` bytes at a host address that is a multiple of 16.
    pub fn new(base: u64, size: u64) -> Self {
        let table = Table {
            left: BTreeMap::from([(0, size)]),
            ..Table::default()
        };
        Heap {
            base,
            size,
            table: Mutex::new(table),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address of so many bytes, 0 for none; `None` if there is no room.
    pub fn allocate(&self, bytes: u64) -> Option<u64> {
        if bytes == 0 {
            return Some(0);
        }
        let bytes = bytes.checked_next_multiple_of(ALIGN)?;
        let mut table = self.table();
        let found = table.left.iter().find(|(_, len)| **len >= bytes);
        let (&offset, &len) = found?;
        table.left.remove(&offset);
        if len > bytes {
            table.left.insert(offset + bytes, len - bytes);
        }
        table.given.insert(offset, bytes);
        table.used += bytes;
        Some(self.base + offset)
    }

    /// Takes back what [`Heap::allocate`] gave; whether it had.
    pub fn free(&self, address: u64) -> bool {
        let mut table = self.table();
        let offset = address.wrapping_sub(self.base);
        let Some(mut len) = table.given.remove(&offset) else {
            return false;
        };
        table.used -= len;
        let mut start = offset;
        if let Some(behind) = table.left.remove(&(offset + len)) {
            len += behind;
        }
        let before = table.left.range(..offset).next_back();
        if let Some((&first, &before)) = before
            && first + before == offset
        {
            start = first;
            len += before;
        }
        table.left.insert(start, len);
        true
    }

    /// Bytes in use, and bytes.
    pub fn used(&self) -> (u64, u64) {
        (self.table().used, self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::Heap;

    #[test]
    fn what_is_given_does_not_overlap_and_comes_back() {
        let heap = Heap::new(1 << 20, 256);
        let given: Vec<u64> = (1..=5).map(|i| heap.allocate(10 * i).unwrap()).collect();
        assert_eq!(given, [0, 16, 48, 80, 128].map(|offset| (1 << 20) + offset));
        assert_eq!(heap.used(), (192, 256));
        assert_eq!(heap.allocate(65), None);
        assert!(heap.free(given[1]) && !heap.free(given[1]) && !heap.free(given[0] + 1));
        assert_eq!(heap.allocate(30), Some(given[1]));
        for address in given {
            assert!(heap.free(address));
        }
        assert_eq!(heap.allocate(256), Some(1 << 20));
        assert_eq!((heap.allocate(0), heap.allocate(1)), (Some(0), None));
        assert_eq!(heap.allocate(u64::MAX), None);
    }
}
