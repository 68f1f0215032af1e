//! Words that another was meant for.

/// Longer words are not looked at: the work grows with the product of two lengths.
const LONGEST: usize = 256;

/// The candidate that differs least from `word`, if it differs by little: one letter in three may be wrong, missing or
/// too many, and neighbours may have changed places. Upper and lower case are the same.
pub(crate) fn nearest<'a>(word: &str, among: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = letters(word);
    if !(2..=LONGEST).contains(&word.len()) {
        return None;
    }
    among
        .filter_map(|candidate| {
            let other = letters(candidate);
            let limit = word.len().max(other.len()) / 3;
            let far = other.len() > LONGEST || word.len().abs_diff(other.len()) > limit;
            let distance = if far {
                usize::MAX
            } else {
                distance(&word, &other)
            };
            (distance <= limit.max(1)).then_some((distance, candidate))
        })
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

fn letters(word: &str) -> Vec<char> {
    let few = word.chars().take(LONGEST + 1);
    few.map(|c| c.to_ascii_lowercase()).collect()
}

/// How many letters must be changed, added, left out, or swapped with the next to make `b` of `a`.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1; b.len() + 1];
        for j in 0..b.len() {
            let changed = last[j] + usize::from(a[i] != b[j]);
            let mut least = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before[j - 1] + 1);
            }
            row[j + 1] = least;
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near<'a>(word: &str, among: &[&'a str]) -> Option<&'a str> {
        nearest(word, among.iter().copied())
    }

    #[test]
    fn little_mistakes_are_seen_through() {
        let words = ["add", "bfe", "mov", "sub", "vabsdiff", "shared", "global"];
        for (wrong, right) in [
            ("ad", "add"),
            ("bfx", "bfe"),
            ("mvo", "mov"),
            ("ADD", "add"),
            ("sbu", "sub"),
            ("vabsdif2", "vabsdiff"),
            ("shard", "shared"),
            ("gloabl", "global"),
        ] {
            assert_eq!(near(wrong, &words), Some(right), "{wrong}");
        }
    }

    #[test]
    fn other_words_are_not_guessed_at() {
        for (word, other) in [
            ("foo", "or"),
            ("foo", "not"),
            ("x", "or"),
            ("kernel", "add_n"),
            ("frob", "prmt"),
            ("", "or"),
        ] {
            assert_eq!(near(word, &[other]), None, "{word}");
        }
    }

    #[test]
    fn the_nearest_of_several_wins_and_long_words_cost_nothing() {
        assert_eq!(
            near("kernal_2", &["kernel_1", "kernel_2"]),
            Some("kernel_2")
        );
        let long = "a".repeat(100_000);
        assert_eq!(near(&long, &[&long]), None);
    }
}
