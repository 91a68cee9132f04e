//! Three texts into one: the base, ours (the person's tree) and theirs (the session's).
//!
//! Line by line, as git does it: changes of one side are taken, equal changes of both are taken once, and changes
//! that overlap or touch without being equal are a conflict. It never guesses and never writes conflict marks.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use similar::DiffTag;

use super::lines::{compare, split};

/// A place where both sides changed the same lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clash {
    /// The first line of ours, counted from 1.
    pub line: usize,
    /// The lines of the base; bytes that are not UTF-8 are replaced.
    pub base: String,
    /// What the person's tree has.
    pub ours: String,
    /// What the session wrote.
    pub theirs: String,
}

/// Lines of the base and what one side has in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    base: Range<usize>,
    side: Range<usize>,
}

/// Merges, or says where that cannot be done.
pub(super) fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Vec<u8>, Vec<Clash>> {
    let (base, ours, theirs) = (split(base), split(ours), split(theirs));
    let mut left = Side::new(&base, &ours);
    let mut right = Side::new(&base, &theirs);
    let (mut merged, mut clashes, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(start) = left.start().into_iter().chain(right.start()).min() {
        let mut end = start;
        // Whatever touches what is already in the group belongs to it.
        while left.join(&mut end) || right.join(&mut end) {}
        merged.extend(take(&base, at..start));
        at = end;
        let group = start..end;
        let (from, a, b) = (take(&base, group.clone()), left.lines(&group), right.lines(&group));
        match (left.leave(), right.leave()) {
            (true, true) if a != b => {
                let text = |lines: &[&[u8]]| String::from_utf8_lossy(&lines.concat()).into_owned();
                let line = left.line(start) + 1;
                clashes.push(Clash { line, base: text(&from), ours: text(&a), theirs: text(&b) });
            }
            (false, _) => merged.extend(b),
            (true, _) => merged.extend(a),
        }
    }
    merged.extend(take(&base, at..base.len()));
    if clashes.is_empty() { Ok(merged.concat()) } else { Err(clashes) }
}

/// Some lines.
fn take<'a>(lines: &[&'a [u8]], range: Range<usize>) -> Vec<&'a [u8]> {
    lines.get(range).unwrap_or_default().to_vec()
}

/// One side, read change by change.
struct Side<'a, 'b> {
    text: &'b [&'a [u8]],
    changes: Vec<Change>,
    /// The next change that is in no group.
    next: usize,
    /// The first change of the group.
    first: usize,
}

impl<'a, 'b> Side<'a, 'b> {
    /// Compares a side with the base.
    fn new(base: &[&[u8]], text: &'b [&'a [u8]]) -> Self {
        let mut changes: Vec<Change> = Vec::new();
        for op in compare(base, text).iter().filter(|op| op.tag() != DiffTag::Equal) {
            match changes.last_mut() {
                Some(last)
                    if last.base.end == op.old_range().start && last.side.end == op.new_range().start =>
                {
                    last.base.end = op.old_range().end;
                    last.side.end = op.new_range().end;
                }
                _ => changes.push(Change { base: op.old_range(), side: op.new_range() }),
            }
        }
        Self { text, changes, next: 0, first: 0 }
    }

    /// Where the next change begins in the base.
    fn start(&self) -> Option<usize> {
        self.changes.get(self.next).map(|change| change.base.start)
    }

    /// Takes the next change into the group if it touches it.
    fn join(&mut self, end: &mut usize) -> bool {
        let Some(change) = self.changes.get(self.next).filter(|change| change.base.start <= *end) else {
            return false;
        };
        *end = change.base.end.max(*end);
        self.next += 1;
        true
    }

    /// The line of this side that stands for a line of the base outside of every change.
    fn line(&self, base: usize) -> usize {
        match self.changes.iter().take_while(|change| change.base.end <= base).last() {
            Some(before) => before.side.end + (base - before.base.end),
            None => base,
        }
    }

    /// What this side has for the group.
    fn lines(&self, group: &Range<usize>) -> Vec<&'a [u8]> {
        let members = self.changes.get(self.first..self.next).unwrap_or_default();
        let (start, end) = match (members.first(), members.last()) {
            (Some(first), Some(last)) => (
                first.side.start - (first.base.start - group.start),
                last.side.end + (group.end - last.base.end),
            ),
            _ => (self.line(group.start), self.line(group.end)),
        };
        take(self.text, start..end)
    }

    /// Ends the group; whether this side had a part in it.
    fn leave(&mut self) -> bool {
        let had = self.first != self.next;
        self.first = self.next;
        had
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::merge;

    fn merged(base: &str, ours: &str, theirs: &str) -> Result<String, usize> {
        merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes())
            .map(|bytes| String::from_utf8(bytes).unwrap())
            .map_err(|clashes| clashes.len())
    }

    #[test]
    fn changes_apart_are_both_taken() {
        let base = "1\n2\n3\n4\n5\n";
        assert_eq!(
            merged(base, "one\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n"),
            Ok("one\n2\n3\n4\nfive\n".into())
        );
        assert_eq!(merged(base, "0\n1\n2\n3\n4\n5\n", "1\n2\n4\n5\n"), Ok("0\n1\n2\n4\n5\n".into()));
        assert_eq!(merged(base, base, "x\n"), Ok("x\n".into()));
        assert_eq!(merged(base, "", base), Ok(String::new()));
    }

    #[test]
    fn equal_changes_are_taken_once() {
        assert_eq!(merged("1\n2\n3\n", "1\ntwo\n3\n", "1\ntwo\n3\n"), Ok("1\ntwo\n3\n".into()));
        assert_eq!(merged("", "new\n", "new\n"), Ok("new\n".into()));
    }

    #[test]
    fn changes_that_touch_are_a_conflict() {
        assert_eq!(merged("1\n2\n3\n", "1\na\n3\n", "1\nb\n3\n"), Err(1));
        assert_eq!(merged("1\n2\n", "one\n2\n", "1\ntwo\n"), Err(1));
        assert_eq!(merged("1\n2\n", "1\na\n2\n", "1\nb\n2\n"), Err(1));
        assert_eq!(merged("1\n2\n3\n", "", "1\ntwo\n3\n"), Err(1));
    }

    #[test]
    fn a_conflict_tells_its_place_in_our_text() {
        let clashes = merge(b"1\n2\n3\n4\n", b"0\n1\n2\n3\nfour\n", b"1\n2\n3\n4!\n").unwrap_err();
        assert_eq!(clashes.len(), 1);
        assert_eq!((clashes[0].line, clashes[0].base.as_str()), (5, "4\n"));
        assert_eq!((clashes[0].ours.as_str(), clashes[0].theirs.as_str()), ("four\n", "4!\n"));
    }

    fn text() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec!["a\n", "b\n", "c\n", "d\n", "e", "\n"]);
        prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn one_sided_and_equal_changes_always_merge(base in text(), side in text()) {
            prop_assert_eq!(merged(&base, &side, &base), Ok(side.clone()));
            prop_assert_eq!(merged(&base, &base, &side), Ok(side.clone()));
            prop_assert_eq!(merged(&base, &side, &side), Ok(side.clone()));
        }

        #[test]
        fn the_sides_can_change_places(base in text(), one in text(), other in text()) {
            prop_assert_eq!(merged(&base, &one, &other), merged(&base, &other, &one));
        }
    }

    #[test]
    fn an_end_without_a_newline_is_kept() {
        assert_eq!(merged("a\nb\nc", "x\nb\nc", "a\nb\nc\nd"), Ok("x\nb\nc\nd".into()));
        assert_eq!(merged("a\nb\nc\n", "x\nb\nc\n", "a\nb\nc"), Ok("x\nb\nc".into()));
    }
}
