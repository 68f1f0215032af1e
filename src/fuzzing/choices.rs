//! Where the generator's decisions come from: a seed, or the bytes of a coverage-guided fuzzer.

use rand_pcg::Pcg32;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// A source of decisions. The same source gives the same ones, on every host.
#[derive(Debug)]
pub struct Choices<'b> {
    /// What is left of the bytes, if they decide.
    bytes: Option<&'b [u8]>,
    random: Pcg32,
}

impl Choices<'static> {
    /// Decisions by a generator of pseudo-random numbers.
    pub fn seeded(seed: u64) -> Self {
        Choices {
            bytes: None,
            random: Pcg32::seed_from_u64(seed),
        }
    }
}

impl<'b> Choices<'b> {
    /// Decisions by bytes, each from the next few; when they are used up, by a generator with a fixed seed.
    pub fn from_bytes(bytes: &'b [u8]) -> Self {
        Choices {
            bytes: Some(bytes),
            random: Pcg32::seed_from_u64(0),
        }
    }

    /// Whether bytes decided until they were used up. What can end then, should.
    pub fn exhausted(&self) -> bool {
        self.bytes.is_some_and(<[u8]>::is_empty)
    }

    /// The next `count` bytes as a number, lowest first.
    fn take(&mut self, count: usize) -> u64 {
        let Some(bytes) = self.bytes.filter(|bytes| !bytes.is_empty()) else {
            return self.random.next_u64();
        };
        let (taken, rest) = bytes.split_at(count.min(bytes.len()));
        self.bytes = Some(rest);
        taken.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.take(8)
    }

    /// A number below `count`; 0 if that is 0.
    pub fn below(&mut self, count: usize) -> usize {
        match count {
            0 | 1 => 0,
            2..=0x100 => (self.take(1) % count as u64) as usize,
            0x101..=0x1_0000 => (self.take(2) % count as u64) as usize,
            _ => (self.take(8) % count as u64) as usize,
        }
    }

    /// A number from the first to the second, both included.
    pub fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most.saturating_sub(least) + 1)
    }

    /// Yes in so many of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        &list[self.below(list.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_decide_until_they_are_used_up() {
        let mut choices = Choices::from_bytes(&[7, 0x34, 0x12, 9]);
        assert_eq!(choices.below(5), 2);
        assert_eq!(choices.below(0x1_0000), 0x1234);
        assert!(!choices.exhausted());
        assert_eq!(choices.bits(), 9);
        assert!(choices.exhausted());
        let after = choices.bits();
        let mut others = Choices::from_bytes(&[]);
        assert_eq!(others.bits(), after);
    }

    #[test]
    fn numbers_stay_in_range_and_repeat() {
        let (mut one, mut two) = (Choices::seeded(5), Choices::seeded(5));
        for _ in 0..1000 {
            let n = one.between(3, 9);
            assert!((3..=9).contains(&n));
            assert_eq!(n, two.between(3, 9));
        }
        assert_ne!(Choices::seeded(1).bits(), Choices::seeded(2).bits());
        assert_eq!(one.below(0), 0);
    }
}
