//! Tables: columns as wide as they must be, the last one cut at the edge. Only for listings; nothing is approved here.

use crate::layout::Row;
use crate::style::Role;

/// A cell: a role and a text.
pub(crate) type Cell = (Role, String);

/// Rows of a table under its heads, within a width.
pub(crate) fn table(heads: &[&str], lines: &[Vec<Cell>], width: usize) -> Vec<Row> {
    let mut columns: Vec<usize> = heads.iter().map(|head| Row::of(Role::Bold, head).width()).collect();
    for line in lines {
        for (column, (role, text)) in columns.iter_mut().zip(line) {
            *column = (*column).max(Row::of(*role, text).width());
        }
    }
    let head: Vec<Cell> = heads.iter().map(|head| (Role::Bold, (*head).to_owned())).collect();
    std::iter::once(&head).chain(lines).map(|line| row(line, &columns).cut(width)).collect()
}

fn row(line: &[Cell], columns: &[usize]) -> Row {
    let mut row = Row::new();
    let mut start = 0;
    for ((role, text), column) in line.iter().zip(columns) {
        row = row.to(start).and(*role, text);
        start += column + 2;
    }
    row
}

/// Lines of `name  value`, the values under each other.
pub(crate) fn pairs(pairs: &[(&str, String)], width: usize) -> Vec<Row> {
    let column = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
    let mut rows = Vec::new();
    for (name, value) in pairs {
        let first = Row::of(Role::Dim, name).to(column);
        let gutter = crate::layout::Gutter { first, rest: Row::new().to(column) };
        rows.extend(crate::layout::words(&gutter, Role::Plain, value, width));
    }
    rows
}
