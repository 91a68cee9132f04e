//! Rows of a terminal: the only form in which words reach a person.
//!
//! A [`Row`] is built from texts that are escaped as they come in, so no caller can forget it. Wrapping counts cells,
//! so that a foreign text never reaches the first columns, which belong to Enclos. Nothing here writes.

use crate::escape::{Reading, Shown, parts};
use crate::style::{Paint, Role};

/// Cells from one tabulator stop to the next.
const TAB: usize = 8;

/// A run of characters of one role, escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    role: Role,
    text: String,
}

/// One row of the terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    spans: Vec<Span>,
    width: usize,
}

impl Row {
    /// An empty row.
    pub fn new() -> Self {
        Self::default()
    }

    /// A row of one text.
    pub fn of(role: Role, text: &str) -> Self {
        Self::new().and(role, text)
    }

    /// The row with one more text, to be read letter by letter.
    #[must_use]
    pub fn and(mut self, role: Role, text: &str) -> Self {
        for part in parts(text, Reading::Exact) {
            self.push(role, part);
        }
        self
    }

    /// The row with spaces up to a column.
    #[must_use]
    pub fn to(mut self, column: usize) -> Self {
        while self.width < column {
            self.push(Role::Plain, Shown::Plain(' ', 1));
        }
        self
    }

    /// Cells that the row takes.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The row without what is beyond a width; a cut row ends with `…`. Never used for what is to be approved.
    #[must_use]
    pub fn cut(self, width: usize) -> Self {
        if self.width <= width {
            return self;
        }
        let mut row = Self::new();
        for span in &self.spans {
            for part in parts(&span.text, Reading::Exact) {
                if row.width + cells(&part, row.width) + 1 > width {
                    return row.and(Role::Dim, "…");
                }
                row.push(span.role, part);
            }
        }
        row
    }

    /// The row as bytes of a terminal, without a line's end.
    pub fn render(&self, paint: Paint) -> String {
        let mut out = String::new();
        for span in &self.spans {
            paint.put(&mut out, span.role, &span.text);
        }
        out
    }

    fn push(&mut self, role: Role, part: Shown) {
        let from = self.width;
        self.width += cells(&part, from);
        match part {
            Shown::Plain(c, _) => self.span(role).push(c),
            Shown::Tab => {
                let count = self.width - from;
                self.span(role).extend(std::iter::repeat_n(' ', count));
            }
            Shown::Mark(mark) => self.span(Role::Mark).push_str(&mark),
        }
    }

    fn span(&mut self, role: Role) -> &mut String {
        if self.spans.last().is_none_or(|span| span.role != role) {
            self.spans.push(Span { role, text: String::new() });
        }
        let last = self.spans.len() - 1;
        &mut self.spans[last].text
    }
}

/// Cells of a part that begins at a column.
fn cells(part: &Shown, column: usize) -> usize {
    match part {
        Shown::Plain(_, width) => *width,
        Shown::Tab => TAB - column % TAB,
        Shown::Mark(mark) => mark.len(),
    }
}

/// What stands before the rows of a wrapped text.
#[derive(Clone, Debug, Default)]
pub struct Gutter {
    /// Before the first row of a line.
    pub first: Row,
    /// Before the rows that go on with the same line.
    pub rest: Row,
}

impl Gutter {
    /// The same spaces before every row.
    pub fn spaces(count: usize) -> Self {
        let row = Row::new().to(count);
        Self { first: row.clone(), rest: row }
    }
}

/// A text letter by letter, wrapped at the very edge: nothing is lost, nothing is moved.
pub fn exact(gutter: &Gutter, role: Role, text: &str, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for line in lines(text) {
        let mut row = gutter.first.clone();
        let mut empty = true;
        for part in parts(line, Reading::Exact) {
            if !empty && row.width + cells(&part, row.width) > width {
                rows.push(std::mem::replace(&mut row, gutter.rest.clone()));
            }
            row.push(role, part);
            empty = false;
        }
        rows.push(row);
    }
    rows
}

/// A name letter by letter: one row of its own however many line ends it holds, which are shown as what they are.
pub fn name(gutter: &Gutter, role: Role, text: &str, width: usize) -> Vec<Row> {
    exact(gutter, role, &crate::escape::one_line(text), width)
}

/// Prose, wrapped between words where that is possible.
pub fn prose(gutter: &Gutter, role: Role, text: &str, width: usize) -> Vec<Row> {
    wrapped(gutter, role, text, width, Reading::Prose)
}

/// Words of Enclos among names that must be read letter by letter, wrapped between words where that is possible.
pub fn words(gutter: &Gutter, role: Role, text: &str, width: usize) -> Vec<Row> {
    wrapped(gutter, role, text, width, Reading::Exact)
}

fn wrapped(gutter: &Gutter, role: Role, text: &str, width: usize, reading: Reading) -> Vec<Row> {
    let mut rows = Vec::new();
    for line in lines(text) {
        let mut wrap = Wrap::new(gutter, role, width);
        for part in parts(line, reading) {
            rows.extend(wrap.put(part));
        }
        rows.extend(wrap.end());
    }
    rows
}

/// The lines of a text. A carriage return before a line's end belongs to it; a last empty line is none.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line))
}

/// A line of prose that is being wrapped.
#[derive(Clone, Debug)]
pub struct Wrap {
    gutter: Gutter,
    role: Role,
    width: usize,
    row: Row,
    word: Vec<Shown>,
    word_cells: usize,
    fresh: bool,
}

impl Wrap {
    /// An empty line.
    pub fn new(gutter: &Gutter, role: Role, width: usize) -> Self {
        Self {
            gutter: gutter.clone(),
            role,
            width,
            row: gutter.first.clone(),
            word: Vec::new(),
            word_cells: 0,
            fresh: true,
        }
    }

    /// One more part; gives the row that it completes.
    pub fn put(&mut self, part: Shown) -> Option<Row> {
        let space = matches!(part, Shown::Plain(' ', _) | Shown::Tab);
        let mut done = None;
        if space {
            done = self.flush();
            if self.row.width + cells(&part, self.row.width) <= self.width {
                self.row.push(self.role, part);
            }
            return done;
        }
        let wide = cells(&part, 0);
        if self.word_cells + wide + self.gutter.rest.width > self.width {
            done = self.flush();
        }
        self.word_cells += wide;
        self.word.push(part);
        done
    }

    /// The last row.
    pub fn end(&mut self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.flush().into_iter().collect();
        rows.push(std::mem::replace(&mut self.row, self.gutter.first.clone()));
        self.fresh = true;
        rows
    }

    /// The row as it stands, with the word that is being read.
    pub fn so_far(&self) -> Row {
        let mut row = self.row.clone();
        for part in &self.word {
            row.push(self.role, part.clone());
        }
        row
    }

    fn flush(&mut self) -> Option<Row> {
        let mut done = None;
        if !self.fresh && self.row.width + self.word_cells > self.width {
            done = Some(std::mem::replace(&mut self.row, self.gutter.rest.clone()));
        }
        for part in self.word.drain(..) {
            self.row.push(self.role, part);
            self.fresh = false;
        }
        self.word_cells = 0;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::{Gutter, Row, exact, prose, words};
    use crate::style::{Paint, Role};

    fn plain(rows: &[Row]) -> Vec<String> {
        rows.iter().map(|row| row.render(Paint::PLAIN)).collect()
    }

    #[test]
    fn exact_text_is_wrapped_by_cells_and_complete() {
        let rows = exact(&Gutter::spaces(2), Role::Plain, "abcdef\n日本語\n\nend\n", 6);
        assert_eq!(plain(&rows), ["  abcd", "  ef", "  日本", "  語", "  ", "  end"]);
        assert!(rows.iter().all(|row| row.width() <= 6));
    }

    #[test]
    fn prose_breaks_between_words() {
        let rows = prose(&Gutter::spaces(2), Role::Plain, "one two three\nfour", 10);
        assert_eq!(plain(&rows), ["  one two ", "  three", "  four"]);
        let rows = prose(&Gutter::spaces(1), Role::Plain, "abcdefghijklmnop qr", 8);
        assert_eq!(plain(&rows).concat().replace(' ', ""), "abcdefghijklmnopqr");
        assert!(rows.iter().all(|row| row.width() <= 8), "{rows:?}");
    }

    #[test]
    fn the_first_columns_are_never_reached() {
        for text in
            ["x".repeat(100), "\u{1b}[1G".repeat(20), "\r".repeat(50), "日".repeat(60), " y".repeat(60)]
        {
            for width in [4, 7, 10, 40] {
                for rows in [
                    exact(&Gutter::spaces(2), Role::Plain, &text, width),
                    prose(&Gutter::spaces(2), Role::Plain, &text, width),
                    words(&Gutter::spaces(2), Role::Plain, &text, width),
                ] {
                    for row in rows {
                        let text = row.render(Paint::PLAIN);
                        assert!(text.starts_with("  ") && !text.chars().any(char::is_control), "{text:?}");
                        assert!(row.width() <= width.max(2 + 8), "{} > {width}: {text:?}", row.width());
                    }
                }
            }
        }
    }

    #[test]
    fn a_cut_row_says_so() {
        assert_eq!(Row::of(Role::Plain, "abcdef").cut(4).render(Paint::PLAIN), "abc…");
        assert_eq!(Row::of(Role::Plain, "abcd").cut(4).render(Paint::PLAIN), "abcd");
    }
}
