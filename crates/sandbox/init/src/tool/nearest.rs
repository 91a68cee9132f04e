//! Where a text that is not in a file was probably meant to be: shown with the error, so that the next try can copy it.

use std::collections::HashSet;

/// Lines shown.
const MOST_LINES: usize = 20;
/// Bytes shown.
const MOST_BYTES: usize = 2_000;

/// The lines of `content` that are most like `wanted`, as they stand, with the number of the first.
///
/// The longest line of `wanted` is looked for by its words; a place with less than half of them is none.
pub(super) fn nearest<'a>(content: &'a str, wanted: &str) -> Option<(usize, Vec<&'a str>)> {
    let (offset, anchor) = wanted.lines().enumerate().max_by_key(|(_, line)| line.trim().len())?;
    let anchor: HashSet<&str> = words(anchor).collect();
    let lines: Vec<&str> = content.lines().collect();
    let mut best: Option<(usize, usize)> = None;
    for (at, line) in lines.iter().enumerate() {
        let found: HashSet<&str> = words(line).collect();
        let shared = found.intersection(&anchor).count();
        let enough = shared > 0 && shared * 4 >= found.len() + anchor.len();
        let score = shared * 1_000 / (found.len() + anchor.len()).max(1);
        if enough && best.is_none_or(|(most, _)| score > most) {
            best = Some((score, at));
        }
    }
    let (_, at) = best?;
    let first = at.saturating_sub(offset);
    let mut room = MOST_BYTES;
    let count = wanted.lines().count().clamp(1, MOST_LINES);
    let shown: Vec<&str> = lines
        .into_iter()
        .skip(first)
        .take(count)
        .take_while(|line| {
            let fits = line.len() < room;
            room = room.saturating_sub(line.len() + 1);
            fits
        })
        .collect();
    (!shown.is_empty()).then_some((first + 1, shown))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "fn one() {\n    let a = sum(values) / (values.len() - 1);\n    a\n}\n\nfn two() {}\n";

    #[test]
    fn the_lines_that_were_meant_are_shown_as_they_stand() {
        let (line, shown) = nearest(FILE, "let a = sum( values )/(values.len()-1);").unwrap();
        assert_eq!((line, shown), (2, vec!["    let a = sum(values) / (values.len() - 1);"]));
        let (line, shown) = nearest(FILE, "fn one()\n{\n  let a = sum(values) / values.len();\n").unwrap();
        assert_eq!(line, 1);
        assert_eq!(shown.len(), 3);
    }

    #[test]
    fn nothing_is_better_than_something_unlike() {
        assert_eq!(nearest(FILE, "completely other words"), None);
        assert_eq!(nearest(FILE, ""), None);
        assert_eq!(nearest(FILE, "(((((("), None);
        assert_eq!(nearest("", "x"), None);
        let long = format!("word {}", "y".repeat(5_000));
        assert_eq!(nearest(&long, &long.replace("word", "word word2")), None, "too long to show");
    }
}
