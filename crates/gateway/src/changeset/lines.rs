//! Lines and how they differ.
//!
//! A line keeps its ending, so a missing last newline is a difference like any other. Lines are numbered first and
//! the numbers compared: the cost follows the number of lines, and the same two texts always differ in the same way.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// What a line of a hunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// In both.
    Context,
    /// Only before.
    Removed,
    /// Only after.
    Added,
}

/// A run of changes with the lines around it, borrowed from both texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawHunk<'a> {
    /// Lines of the old text, counted from 0.
    pub(super) old: Range<usize>,
    /// Lines of the new text, counted from 0.
    pub(super) new: Range<usize>,
    /// The lines, each with its ending.
    pub(super) lines: Vec<(LineKind, &'a [u8])>,
}

impl RawHunk<'_> {
    /// The line that opens the hunk in a patch.
    pub(super) fn header(&self) -> String {
        format!("@@ -{} +{} @@", range(&self.old), range(&self.new))
    }
}

/// A range as a patch writes it: counted from 1, or the line before it when it is empty.
fn range(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

/// The lines of a text, each with its ending.
pub(super) fn split(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The steps from one list of lines to the other.
pub(super) fn compare(old: &[&[u8]], new: &[&[u8]]) -> Vec<DiffOp> {
    let mut numbers: HashMap<&[u8], usize> = HashMap::new();
    let mut number = |line| {
        let next = numbers.len();
        *numbers.entry(line).or_insert(next)
    };
    let old: Vec<usize> = old.iter().map(|line| number(*line)).collect();
    let new: Vec<usize> = new.iter().map(|line| number(*line)).collect();
    capture_diff_slices(Algorithm::Myers, &old, &new)
}

/// How many lines are added and taken away.
pub(super) fn count(old: &[u8], new: &[u8]) -> (usize, usize) {
    compare(&split(old), &split(new))
        .iter()
        .filter(|op| op.tag() != DiffTag::Equal)
        .fold((0, 0), |(added, removed), op| (added + op.new_range().len(), removed + op.old_range().len()))
}

/// The hunks between two texts, with three lines of context.
pub(super) fn hunks<'a>(old: &'a [u8], new: &'a [u8]) -> Vec<RawHunk<'a>> {
    let (old, new) = (split(old), split(new));
    let groups = group_diff_ops(compare(&old, &new), CONTEXT);
    groups.iter().filter_map(|ops| hunk(ops, &old, &new)).collect()
}

/// One hunk from its steps.
fn hunk<'a>(ops: &[DiffOp], old: &[&'a [u8]], new: &[&'a [u8]]) -> Option<RawHunk<'a>> {
    let (first, last) = (ops.first()?, ops.last()?);
    let mut lines = Vec::new();
    let mut take = |kind, from: &[&'a [u8]], range: Range<usize>| {
        lines.extend(from.get(range).unwrap_or_default().iter().map(|line| (kind, *line)));
    };
    for op in ops {
        if op.tag() == DiffTag::Equal {
            take(LineKind::Context, old, op.old_range());
        } else {
            take(LineKind::Removed, old, op.old_range());
            take(LineKind::Added, new, op.new_range());
        }
    }
    Some(RawHunk {
        old: first.old_range().start..last.old_range().end,
        new: first.new_range().start..last.new_range().end,
        lines,
    })
}

/// The lines that are only in the new text, joined with their endings.
pub(super) fn added(old: &[u8], new: &[u8]) -> Vec<u8> {
    let (old, new) = (split(old), split(new));
    let ops = compare(&old, &new);
    let ranges = ops.iter().filter(|op| op.tag() != DiffTag::Equal).map(DiffOp::new_range);
    ranges.flat_map(|range| new.get(range).unwrap_or_default().concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::{LineKind, count, hunks};

    #[test]
    fn a_hunk_has_three_lines_of_context() {
        let old: String = (1..=20).map(|n| n.to_string() + "\n").collect();
        let new = old.replace("10\n", "ten\n");
        let found = hunks(old.as_bytes(), new.as_bytes());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].header(), "@@ -7,7 +7,7 @@");
        assert_eq!(found[0].lines.iter().filter(|line| line.0 == LineKind::Context).count(), 6);
        assert_eq!(count(old.as_bytes(), new.as_bytes()), (1, 1));
    }

    #[test]
    fn empty_sides_are_counted_from_the_line_before() {
        assert_eq!(hunks(b"", b"a\n")[0].header(), "@@ -0,0 +1 @@");
        assert_eq!(hunks(b"a\nb\n", b"")[0].header(), "@@ -1,2 +0,0 @@");
        assert!(hunks(b"a\n", b"a\n").is_empty());
    }

    #[test]
    fn a_missing_newline_is_a_difference() {
        assert_eq!(count(b"a\n", b"a"), (1, 1));
    }

    #[test]
    fn two_long_texts_without_a_common_line_are_quick() {
        let text = |tag: &str| (0..60_000).map(|n| n.to_string() + tag).collect::<String>();
        assert_eq!(count(text(" old\n").as_bytes(), text(" new\n").as_bytes()), (60_000, 60_000));
    }
}
