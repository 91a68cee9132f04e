//! The nearest of some known words to a mistyped one, for "did you mean".
//!
//! A suggestion is only ever shown: nothing is taken for what it resembles.

/// The longest word that is compared, in characters.
const MAX_CHARS: usize = 64;

/// The known word that is at most two edits away (one for short words), nearest first.
pub(crate) fn nearest<'k, S: AsRef<str>>(word: &str, known: &'k [S]) -> Option<&'k str> {
    let length = word.chars().count();
    if length > MAX_CHARS {
        return None;
    }
    let bound = if length <= 3 { 1 } else { 2 };
    let scored = known.iter().map(|k| (distance(word, k.as_ref()), k.as_ref()));
    scored.filter(|(edits, _)| *edits <= bound).min_by_key(|(edits, _)| *edits).map(|(_, word)| word)
}

/// The number of insertions, removals, changes and neighbour swaps between two words, case aside.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().take(MAX_CHARS).collect();
    let b: Vec<char> = b.to_lowercase().chars().take(MAX_CHARS).collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (row, &x) in a.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, &y) in b.iter().enumerate() {
            let at = |line: &[usize], column: usize| line.get(column).copied().unwrap_or(usize::MAX - 1);
            let mut best = (at(&last, column) + usize::from(x != y))
                .min(at(&last, column + 1) + 1)
                .min(at(&current, column) + 1);
            let swapped =
                row > 0 && column > 0 && a.get(row - 1) == Some(&y) && b.get(column - 1) == Some(&x);
            if swapped {
                best = best.min(at(&before_last, column - 1) + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn one_or_two_edits_are_near() {
        let known = ["verdict", "tool", "category"];
        assert_eq!(nearest("verdit", &known), Some("verdict"));
        assert_eq!(nearest("toll", &known), Some("tool"));
        assert_eq!(nearest("otol", &known), Some("tool"));
        assert_eq!(nearest("CATEGORY", &known), Some("category"));
        assert_eq!(nearest("surface", &known), None);
        assert_eq!(nearest("", &known), None);
    }
}
