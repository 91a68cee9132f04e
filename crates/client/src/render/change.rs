//! A change set and a diff as rows: files with their counts and flags, hunks with line numbers.

use enclos_protocol::changeset::{ChangeSetView, FileView, Hunk, Line, LineKind};

use crate::layout::{self, Gutter, Row, exact};
use crate::style::Role;
use crate::text;

/// Narrower than this there are no line numbers.
const NUMBERED: usize = 60;

/// One file in one row, with its flags below.
pub(crate) fn file(view: &FileView, width: usize) -> Vec<Row> {
    let head = Row::new().to(2).and(role_of(&view.change), text::change_letter(&view.change)).to(4);
    let name = match &view.old_path {
        Some(old) => format!("{old} → {}", view.path),
        None => view.path.clone(),
    };
    let gutter = Gutter { first: head, rest: Row::new().to(4) };
    let mut rows = layout::name(&gutter, Role::Plain, &name, width);
    if let Some(last) = rows.pop() {
        rows.push(counts(last.to(4).and(Role::Plain, "  "), view));
    }
    for flag in &view.flags {
        let first = Row::new().to(4).and(Role::Warn, text::FLAG).and(Role::Plain, " ");
        rows.extend(exact(&Gutter { rest: Row::new().to(6), first }, Role::Warn, flag, width));
    }
    if let Some(held) = &view.held {
        let first = Row::new().to(4).and(Role::Bad, text::FLAG).and(Role::Plain, " ");
        let why = text::held(held);
        rows.extend(exact(&Gutter { rest: Row::new().to(6), first }, Role::Bad, &why, width));
    }
    rows
}

fn counts(row: Row, view: &FileView) -> Row {
    if view.binary {
        return row.and(Role::Dim, text::BINARY);
    }
    row.and(Role::Added, &format!("+{}", view.insertions))
        .and(Role::Plain, " ")
        .and(Role::Removed, &format!("-{}", view.deletions))
}

fn role_of(change: &str) -> Role {
    match change {
        "added" => Role::Added,
        "deleted" => Role::Removed,
        _ => Role::Hunk,
    }
}

/// The files of a change set and their sum.
pub(crate) fn summary(files: &[FileView], insertions: u64, deletions: u64, width: usize) -> Vec<Row> {
    let mut rows: Vec<Row> = files.iter().flat_map(|view| file(view, width)).collect();
    rows.push(Row::new().to(2).and(Role::Bold, &text::change_sum(files.len(), insertions, deletions)));
    rows
}

/// A whole change set: each file with its hunks, then what was left out and what can never be applied.
pub(crate) fn whole(set: &ChangeSetView, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (view, hunks_of) in set.files.iter().zip(&set.hunks) {
        rows.extend(file(view, width));
        rows.extend(hunks(&Row::new().to(2), hunks_of, width));
        rows.push(Row::new());
    }
    rows.extend(remarks(set, width));
    rows
}

/// The sum of a change set, what was left out and what can never be applied.
pub(crate) fn remarks(set: &ChangeSetView, width: usize) -> Vec<Row> {
    let mut rows = vec![
        Row::new().to(2).and(Role::Bold, &text::change_sum(set.files.len(), set.insertions, set.deletions)),
    ];
    if set.ignored > 0 {
        rows.push(Row::new().to(2).and(Role::Dim, &text::ignored_files(set.ignored)));
    }
    for remark in &set.remarks {
        let gutter = Gutter { first: Row::new().to(2).and(Role::Dim, "· "), rest: Row::new().to(4) };
        rows.extend(layout::name(&gutter, Role::Plain, remark, width));
    }
    for refused in &set.refused {
        let gutter = Gutter { first: Row::new().to(2).and(Role::Bad, "✗ "), rest: Row::new().to(4) };
        rows.extend(layout::name(&gutter, Role::Plain, &format!("{}: {}", refused.path, refused.why), width));
    }
    rows
}

/// Hunks behind a margin. Nothing is cut: a long line goes on in the next row.
pub(crate) fn hunks(margin: &Row, hunks: &[Hunk], width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for hunk in hunks {
        let head = format!("@@ -{} +{} @@", hunk.old_start, hunk.new_start);
        rows.push(margin.clone().and(Role::Hunk, &head));
        let (mut old, mut new) = (hunk.old_start, hunk.new_start);
        for line in &hunk.lines {
            let number = if line.kind == LineKind::Removed { old } else { new };
            rows.extend(diff_line(margin, line, number, width));
            old += u64::from(line.kind != LineKind::Added);
            new += u64::from(line.kind != LineKind::Removed);
        }
    }
    rows
}

fn diff_line(margin: &Row, line: &Line, number: u64, width: usize) -> Vec<Row> {
    let (sign, role) = match line.kind {
        LineKind::Context => (" ", Role::Plain),
        LineKind::Added => ("+", Role::Added),
        LineKind::Removed => ("-", Role::Removed),
    };
    let column = if width < NUMBERED { margin.width() } else { margin.width() + 6 };
    let numbered = if width < NUMBERED { String::new() } else { format!("{number:>5} ") };
    let first = margin.clone().and(Role::Dim, &numbered).and(role, sign);
    let rest = margin.clone().to(column).and(Role::Dim, "↪");
    // A carriage return at the end of a line is part of it and is shown as one.
    let mut rows = exact_line(&Gutter { first, rest }, role, &line.text, width);
    if line.no_newline {
        rows.push(margin.clone().to(column).and(Role::Dim, text::NO_NEWLINE));
    }
    rows
}

/// One line. [`exact`] takes a last carriage return for a line's end; a diff must show it.
fn exact_line(gutter: &Gutter, role: Role, line: &str, width: usize) -> Vec<Row> {
    let mut rows = exact(gutter, role, line, width);
    if line.ends_with('\r')
        && let Some(last) = rows.pop()
    {
        rows.push(last.and(Role::Mark, r"\r"));
    }
    rows
}

#[cfg(test)]
mod tests {
    use enclos_protocol::changeset::{Hunk, Line, LineKind};

    use super::hunks;
    use crate::layout::Row;
    use crate::style::Paint;

    fn line(kind: LineKind, text: &str) -> Line {
        Line { kind, text: text.to_owned(), no_newline: false }
    }

    fn sample() -> Vec<Hunk> {
        let mut lines = vec![
            line(LineKind::Context, "fn add(a: i32) {"),
            line(LineKind::Removed, "\ta - 1 // \u{202e}evil"),
            line(LineKind::Added, "\ta + 1\r"),
            line(LineKind::Context, "}"),
        ];
        lines[3].no_newline = true;
        vec![Hunk { old_start: 9, new_start: 9, lines }]
    }

    fn shown(width: usize) -> String {
        let rows = hunks(&Row::new().to(2), &sample(), width);
        rows.iter().map(|row| row.render(Paint::PLAIN) + "\n").collect()
    }

    #[test]
    fn a_diff_is_numbered_and_shows_what_hides() {
        insta::assert_snapshot!(shown(80));
    }

    #[test]
    fn a_narrow_diff_has_no_numbers() {
        insta::assert_snapshot!(shown(24));
    }
}
