//! Guesses what a misspelt name was meant to be.

/// How many letters may be wrong.
const MAX_DISTANCE: usize = 2;
/// Longer names are not compared.
const MAX_LENGTH: usize = 40;
/// How many candidates are compared: a hostile text has millions.
const MAX_CANDIDATES: usize = 4096;

/// The candidate that is spelt most like `name`. Candidates are names, or prefixes of a family and how many members it
/// has.
pub(super) fn nearest<'n>(
    name: &str,
    candidates: impl Iterator<Item = (&'n str, Option<u32>)>,
) -> Option<String> {
    if name.len() > MAX_LENGTH {
        return None;
    }
    // Half of a short name wrong is another name.
    let most = MAX_DISTANCE.min(name.len() / 2);
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    candidates
        .take(MAX_CANDIDATES)
        .filter_map(|(candidate, count)| {
            let (distance, guess) = match count {
                None => (distance(name, candidate, most)?, candidate.to_string()),
                Some(count) => {
                    let number: u32 = name[stem.len()..].parse().ok()?;
                    let last = count.checked_sub(1)?;
                    let wrong = usize::from(number > last);
                    (
                        distance(stem, candidate, most.saturating_sub(wrong))? + wrong,
                        format!("{candidate}{}", number.min(last)),
                    )
                }
            };
            Some((distance, guess))
        })
        .min()
        .map(|(_, guess)| guess)
}

/// How many letters must be inserted, removed or replaced to make one word of the other; `None` past `most`.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    // What both begin and end with costs nothing.
    let same =
        |pairs: &mut dyn Iterator<Item = (&u8, &u8)>| pairs.take_while(|(x, y)| x == y).count();
    let start = same(&mut a.iter().zip(b));
    let (a, b) = (&a[start..], &b[start..]);
    let end = same(&mut a.iter().rev().zip(b.iter().rev()));
    let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().filter(|&d| d <= most)
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn distance_counts_changed_letters() {
        assert_eq!(distance("kitten", "sitting", 3), Some(3));
        assert_eq!(distance("kitten", "sitting", 2), None);
        assert_eq!(distance("", "ab", 2), Some(2));
    }

    /// The definition, letter by letter.
    fn plain_distance(a: &[u8], b: &[u8]) -> usize {
        match (a, b) {
            ([], rest) | (rest, []) => rest.len(),
            ([x, a_rest @ ..], [y, b_rest @ ..]) => (plain_distance(a_rest, b_rest)
                + usize::from(x != y))
            .min(plain_distance(a_rest, b) + 1)
            .min(plain_distance(a, b_rest) + 1),
        }
    }

    #[test]
    fn distance_is_what_the_definition_says() {
        let mut words = vec![String::new()];
        let mut longer = 0;
        while words.len() < 121 {
            let word = words[longer].clone();
            longer += 1;
            words.extend(["a", "b", "c"].map(|letter| format!("{word}{letter}")));
        }
        for a in &words {
            for b in &words {
                let plain = plain_distance(a.as_bytes(), b.as_bytes());
                for most in 0..5 {
                    let expected = Some(plain).filter(|&d| d <= most);
                    assert_eq!(distance(a, b, most), expected, "{a} {b}");
                }
            }
        }
    }

    #[test]
    fn long_names_are_not_compared() {
        let guess = |length: usize| {
            let name = "n".repeat(length);
            let near = format!("{name}x");
            nearest(&name, [(near.as_str(), None)].into_iter()).is_some()
        };
        assert!(guess(40));
        assert!(!guess(41));
        assert!(!guess(100));
    }

    #[test]
    fn numbers_past_the_end_count_as_one_letter() {
        let family = |name, count| nearest(name, [("%r", Some(count))].into_iter());
        assert_eq!(family("%r9", 8).as_deref(), Some("%r7"));
        assert_eq!(family("%r8", 8).as_deref(), Some("%r7"));
        assert_eq!(family("%R7", 8).as_deref(), Some("%r7"));
        // Two letters of three are wrong, or one and the number.
        assert_eq!(family("%R9", 8), None);
        assert_eq!(family("%r0", 0), None);
        // Both are one letter away: the first in the alphabet is taken.
        for (name, nearer) in [("%r95", "%r7"), ("%q99", "%q99")] {
            let names = [("%r", Some(8)), (name, None)];
            assert_eq!(nearest("%r99", names.into_iter()).as_deref(), Some(nearer));
        }
    }

    #[test]
    fn members_of_families_are_guessed() {
        let names = [("%r", Some(8)), ("table", None)];
        assert_eq!(nearest("%R3", names.into_iter()), Some("%r3".to_string()));
        assert_eq!(
            nearest("tabel", names.into_iter()),
            Some("table".to_string())
        );
        assert_eq!(nearest("elsewhere", names.into_iter()), None);
    }
}
