//! Other schedules than the canonical one, reproducibly.

/// Decides by chance what the PTX ISA leaves open: the same for the same seed.
#[derive(Debug, Clone)]
pub struct Shuffle {
    state: u64,
}

impl Shuffle {
    /// For a CTA, by its index, of a launch with a seed.
    pub fn new(seed: u64, block: u64) -> Self {
        let mut shuffle = Shuffle { state: seed };
        shuffle.state = shuffle.next() ^ block;
        shuffle
    }

    /// Splitmix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// 0 to `count - 1` in some order.
    pub fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for i in (1..count).rev() {
            let j = self.next() % (i as u64 + 1);
            order.swap(i, j as usize);
        }
        order
    }

    /// Some of the lanes, or all.
    pub(super) fn some_of(&mut self, lanes: u32) -> u32 {
        let word = self.next();
        let some = match word >> 62 {
            0 => lanes,
            1 => lanes & word as u32,
            2 => lanes & (u32::MAX << (word & 31)),
            _ => lanes & (word as u32 & (word >> 32) as u32),
        };
        if some == 0 { lanes } else { some }
    }

    /// Whether another warp shall run.
    pub(super) fn enough(&mut self) -> bool {
        self.next().is_multiple_of(4)
    }
}
