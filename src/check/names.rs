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
