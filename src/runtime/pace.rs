//! How fast launches of a kernel run, with threads one by one and with threads that go together: what is slower is given up.

use std::time::Duration;

/// How many launches with threads that go together are looked at before they are judged.
const LAUNCHES: u32 = 4;

/// What was seen of a kernel's launches.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// The size of the launches that are compared: grid and block.
    size: [[u32; 3]; 2],
    /// The shortest time of a launch with threads one by one.
    single: Option<Duration>,
    /// The same of those that go together, and how many there were.
    together: Option<Duration>,
    launches: u32,
}

impl Pace {
    /// Notes a launch of a size. Whether it shows, with those before it, that threads which go together are slower.
    pub(super) fn note(&mut self, size: [[u32; 3]; 2], together: bool, time: Duration) -> bool {
        if !together {
            if self.size != size {
                *self = Pace {
                    size,
                    ..Pace::default()
                };
            }
            self.single = Some(self.single.map_or(time, |least| least.min(time)));
            return false;
        }
        if self.size != size {
            return false;
        }
        let least = self.together.map_or(time, |least| least.min(time));
        self.together = Some(least);
        self.launches += 1;
        self.launches == LAUNCHES && self.single.is_some_and(|single| least > single)
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;
    use std::time::Duration;

    const SIZE: [[u32; 3]; 2] = [[4, 1, 1], [32, 1, 1]];

    /// Whether it is told after each of some launches that those together are slower.
    fn told(launches: &[(bool, u64)]) -> Vec<bool> {
        let mut pace = Pace::default();
        (launches.iter())
            .map(|&(together, time)| pace.note(SIZE, together, Duration::from_nanos(time)))
            .collect()
    }

    #[test]
    fn the_shortest_times_are_compared() {
        let single = [(false, 90), (false, 100)];
        let slower = [(true, 200), (true, 91), (true, 95), (true, 99)];
        let told_of = |together: &[(bool, u64)]| told(&[&single, together].concat());
        assert_eq!(told_of(&slower), [false, false, false, false, false, true]);
        let faster = [(true, 200), (true, 80), (true, 95), (true, 99), (true, 300)];
        assert!(!told_of(&faster).contains(&true));
    }

    #[test]
    fn launches_of_another_size_say_nothing() {
        let mut pace = Pace::default();
        let time = Duration::from_nanos(10);
        pace.note(SIZE, false, time);
        let other = [[5, 1, 1], [32, 1, 1]];
        assert!((0..9).all(|_| !pace.note(other, true, 3 * time)));
        assert!(
            !told(&[(true, 5); 9]).contains(&true),
            "with nothing to compare with"
        );
    }
}
