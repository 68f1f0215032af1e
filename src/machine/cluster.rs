//! Clusters: CTAs that reach each other's shared memory.

use super::memory::Window;
use super::{Buffer, Room};
use crate::ir::memory::CLUSTER_SHIFT;
use std::sync::Arc;

/// How a launch divides its grid into clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clusters {
    /// `%cluster_nctaid`; `%nctaid` is a multiple of it.
    pub shape: [u32; 3],
    /// `%is_explicit_cluster`
    pub explicit: bool,
}

impl Clusters {
    /// Each CTA is a cluster by itself, because nobody said otherwise.
    pub const ALONE: Clusters = Clusters {
        shape: [1; 3],
        explicit: false,
    };

    /// CTAs of a cluster: `%cluster_nctarank`.
    pub fn ctas(&self) -> u32 {
        self.shape.iter().product()
    }

    /// `%clusterid` of a CTA, or `%nclusterid` of a grid.
    pub fn divide(&self, ctas: [u32; 3]) -> [u32; 3] {
        [0, 1, 2].map(|axis| ctas[axis] / self.shape[axis].max(1))
    }

    /// `%cluster_ctaid` of a CTA.
    pub fn place(&self, block: [u32; 3]) -> [u32; 3] {
        [0, 1, 2].map(|axis| block[axis] % self.shape[axis].max(1))
    }

    /// `%cluster_ctarank` of a CTA.
    pub fn rank(&self, block: [u32; 3]) -> u32 {
        let [x, y, z] = self.place(block);
        let [nx, ny, _] = self.shape;
        x + nx * (y + ny * z)
    }

    /// `%ctaid` of the CTA of a rank in the cluster with this `%clusterid`.
    pub fn cta(&self, id: [u32; 3], rank: u32) -> [u32; 3] {
        if self.ctas() == 1 {
            return id;
        }
        let [nx, ny, nz] = self.shape.map(|n| n.max(1));
        let [x, y, z] = id;
        [
            x * nx + rank % nx,
            y * ny + rank / nx % ny,
            z * nz + rank / nx / ny,
        ]
    }
}

/// The shared memory of the CTAs of a cluster, zeroed, side by side in order of their ranks.
#[derive(Debug)]
pub struct SharedMemory<'a> {
    memory: Buffer,
    /// Bytes of a CTA, and from its first to that of the next.
    bytes: u64,
    stride: u64,
    ctas: u32,
    /// Whether addresses say in which CTA they lie.
    ranked: bool,
    room: &'a Room,
}

impl<'a> SharedMemory<'a> {
    /// For so many CTAs, so many bytes each, out of `room`; `None` if there is no memory for it. `ranked` is
    /// [`Module::clusters`](crate::ir::Module::clusters).
    pub fn new(room: &'a Room, bytes: u64, ctas: u32, ranked: bool) -> Option<Arc<Self>> {
        let stride = bytes.next_multiple_of(super::ALIGN as u64);
        let all = match ctas {
            1 => bytes,
            ctas => stride.checked_mul(ctas.into())?,
        };
        let size = usize::try_from(all).ok()?;
        if !room.take(all) {
            return None;
        }
        let Some(memory) = Buffer::try_zeroed(size) else {
            room.give(all);
            return None;
        };
        Some(Arc::new(SharedMemory {
            memory,
            bytes,
            stride,
            ctas,
            ranked,
            room,
        }))
    }
}

impl Drop for SharedMemory<'_> {
    fn drop(&mut self) {
        self.room.give(self.memory.len() as u64);
    }
}

/// The place of a CTA in its cluster.
#[derive(Debug, Clone)]
pub struct Seat<'a> {
    memory: Arc<SharedMemory<'a>>,
    rank: u32,
    over: u32,
}

impl<'a> Seat<'a> {
    /// That of the CTA of a rank below the number of CTAs.
    pub fn new(memory: &Arc<SharedMemory<'a>>, rank: u32) -> Self {
        Seat {
            memory: Arc::clone(memory),
            rank: rank.min(memory.ctas.saturating_sub(1)),
            over: 0,
        }
    }

    /// Lets the CTA know which CTAs of the cluster are over, ranks as bits.
    pub fn others_are_over(&mut self, over: u32) {
        self.over = over;
    }

    /// Whether there are other CTAs in the cluster.
    pub fn is_accompanied(&self) -> bool {
        self.memory.ctas > 1
    }

    /// The CTA's own shared memory.
    pub fn window(&self) -> Window {
        let start = u64::from(self.rank) * self.memory.stride;
        Window {
            base: self.memory.memory.as_ptr().wrapping_add(start as usize),
            len: self.memory.bytes,
        }
    }

    /// That of the whole cluster.
    pub fn neighbours(&self) -> Neighbours {
        let memory = &self.memory;
        Neighbours {
            first: memory.memory.as_ptr(),
            stride: memory.stride,
            ctas: memory.ctas,
            rank: self.rank,
            over: self.over,
            ranked: memory.ranked,
        }
    }
}

/// The shared memory of the CTAs of a cluster, as one of them sees it. All have as many bytes.
#[derive(Debug, Clone, Copy)]
pub struct Neighbours {
    /// Host address of that of rank 0.
    first: *mut u8,
    /// Bytes from one to the next.
    stride: u64,
    /// CTAs.
    ctas: u32,
    /// The rank of the one that looks.
    rank: u32,
    /// Those that are over, as bits.
    over: u32,
    /// Whether addresses say in which CTA they lie.
    ranked: bool,
}

/// Where an address of shared memory lies.
#[derive(Debug, Clone, Copy)]
pub enum Located {
    /// In that of the CTA that looks, at an offset.
    Own(u64),
    /// In that of the CTA of a rank, at an offset.
    Other(u32, Window, u64),
    /// In that of a CTA that is over.
    Over(u32, u64),
    /// In that of no CTA: the rank that it says.
    Nowhere(u64),
}

impl Neighbours {
    /// A cluster of one CTA.
    pub const NONE: Neighbours = Neighbours {
        first: Window::EMPTY.base,
        stride: 0,
        ctas: 1,
        rank: 0,
        over: 0,
        ranked: false,
    };

    /// CTAs of the cluster.
    pub fn ctas(&self) -> u32 {
        self.ctas
    }

    /// Where addresses of the CTA's own shared memory begin.
    pub fn start(&self) -> u64 {
        if self.ranked {
            u64::from(self.rank) << CLUSTER_SHIFT
        } else {
            0
        }
    }

    /// The shared memory that an address means, `own` being that of the CTA that looks.
    pub fn locate(&self, own: Window, address: u64) -> Located {
        let rank = address >> CLUSTER_SHIFT;
        let offset = address & ((1 << CLUSTER_SHIFT) - 1);
        if rank == self.start() >> CLUSTER_SHIFT {
            return Located::Own(offset);
        }
        if !self.ranked || rank >= self.ctas.into() {
            return Located::Nowhere(rank);
        }
        let rank = rank as u32;
        if self.over >> rank & 1 != 0 {
            return Located::Over(rank, offset);
        }
        let start = u64::from(rank) * self.stride;
        let window = Window {
            base: self.first.wrapping_add(start as usize),
            len: own.len,
        };
        Located::Other(rank, window, offset)
    }

    /// The address that means the same place in the CTA of another rank as `address` does in its own.
    pub fn of_rank(address: u64, rank: u32) -> u64 {
        const RANK: u64 = 0xff << CLUSTER_SHIFT;
        address & !RANK | u64::from(rank) << CLUSTER_SHIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctas_of_a_cluster_are_neighbours() {
        let clusters = Clusters {
            shape: [2, 1, 3],
            explicit: true,
        };
        assert_eq!(clusters.ctas(), 6);
        for (block, id, place, rank) in [
            ([0, 0, 0], [0, 0, 0], [0, 0, 0], 0),
            ([1, 0, 0], [0, 0, 0], [1, 0, 0], 1),
            ([5, 3, 4], [2, 3, 1], [1, 0, 1], 3),
            ([2, 1, 5], [1, 1, 1], [0, 0, 2], 4),
        ] {
            assert_eq!(clusters.divide(block), id);
            assert_eq!(clusters.place(block), place);
            assert_eq!(clusters.rank(block), rank);
            assert_eq!(clusters.cta(id, rank), block);
        }
    }

    #[test]
    fn addresses_lie_in_the_cta_whose_rank_they_say() {
        let room = Room::new(1 << 20);
        let memory = SharedMemory::new(&room, 100, 3, true).unwrap();
        assert_eq!(room.left(), (1 << 20) - 3 * 256);
        let mut seat = Seat::new(&memory, 1);
        let own = seat.window();
        let at = |seat: &Seat<'_>, address| match seat.neighbours().locate(own, address) {
            Located::Own(offset) => (0, offset),
            Located::Other(_, window, offset) => {
                ((window.base as u64).wrapping_sub(own.base as u64), offset)
            }
            Located::Over(rank, offset) => (1000 + u64::from(rank), offset),
            Located::Nowhere(rank) => (2000, rank),
        };
        assert_eq!(at(&seat, 0x100_0004), (0, 4));
        assert_eq!(at(&seat, 0x200_0063), (256, 0x63));
        assert_eq!(at(&seat, 4), (0u64.wrapping_sub(256), 4));
        assert_eq!(at(&seat, 0x300_0000), (2000, 3));
        seat.others_are_over(0b100);
        assert_eq!(at(&seat, 0x200_0063), (1002, 0x63));
        assert_eq!(
            Neighbours::of_rank(0x0100_0000_0b00_1234, 2),
            0x0100_0000_0200_1234
        );
        drop((memory, seat));
        assert_eq!(room.left(), 1 << 20);
    }
}
