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

#[cfg(test)]
mod tests {
    use super::Shuffle;
    use std::collections::BTreeSet;

    /// The numbers that the published splitmix64 gives from 1234567.
    #[test]
    fn numbers_are_those_of_splitmix64() {
        let mut shuffle = Shuffle { state: 1_234_567 };
        let numbers: Vec<u64> = (0..5).map(|_| shuffle.next()).collect();
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(numbers, expected);
    }

    #[test]
    fn each_seed_and_each_block_has_numbers_of_its_own() {
        let pairs = (0..20).flat_map(|seed| (0..20).map(move |block| (seed, block)));
        let firsts: BTreeSet<u64> = pairs.map(|(s, b)| Shuffle::new(s, b).next()).collect();
        assert_eq!(firsts.len(), 400);
        let again = || Shuffle::new(7, 9).next();
        assert_eq!(again(), again());
    }

    #[test]
    fn all_orders_occur_and_no_others() {
        let mut shuffle = Shuffle::new(3, 0);
        let orders: BTreeSet<Vec<usize>> = (0..500).map(|_| shuffle.order(4)).collect();
        assert_eq!(orders.len(), 24);
        let sorted = |mut order: Vec<usize>| {
            order.sort_unstable();
            order
        };
        assert!(
            orders
                .into_iter()
                .all(|order| sorted(order) == [0, 1, 2, 3])
        );
    }

    #[test]
    fn some_lanes_are_some_of_those_that_are_ready() {
        for ready in [1, 0x8000_0000, 0xff00, 0x8000_0001, u32::MAX] {
            let mut shuffle = Shuffle::new(5, 1);
            let (mut all, mut seen) = (0, 0);
            for _ in 0..400 {
                let some = shuffle.some_of(ready);
                assert!(some != 0 && some & !ready == 0, "{some:#x} of {ready:#x}");
                all += u32::from(some == ready);
                seen |= ready & !some;
            }
            // One draw in four gives all, besides those that would give none; each lane is left out now and then.
            assert!(all > 50, "{all}");
            assert_eq!(seen, if ready.is_power_of_two() { 0 } else { ready });
        }
    }

    #[test]
    fn a_turn_ends_one_time_in_four() {
        let mut shuffle = Shuffle::new(5, 1);
        let ends = (0..4000).filter(|_| shuffle.enough()).count();
        assert!((900..1100).contains(&ends), "{ends}");
    }
}
