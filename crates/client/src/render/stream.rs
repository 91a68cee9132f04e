//! The model's text as it comes: fragments in, complete rows out, and the row that is still being written.
//!
//! A fragment may end anywhere, within a word or a line's end; the rows are the same as of the whole text.

use crate::escape::{Reader, Reading};
use crate::layout::{Gutter, Row, Wrap};
use crate::style::Role;

/// Columns that belong to Enclos.
pub(crate) const MARGIN: usize = 2;

/// A text that is being written.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    wrap: Wrap,
    reader: Reader,
    /// A carriage return that may belong to a line's end.
    carriage: bool,
    /// Whether the line has any character yet.
    open: bool,
}

impl Stream {
    /// An empty text within a width.
    pub(crate) fn new(width: usize) -> Self {
        let wrap = Wrap::new(&Gutter::spaces(MARGIN), Role::Plain, width);
        Self { wrap, reader: Reader::new(Reading::Prose), carriage: false, open: false }
    }

    /// One more fragment; gives the rows that it completes.
    pub(crate) fn put(&mut self, fragment: &str) -> Vec<Row> {
        let mut rows = Vec::new();
        for c in fragment.chars() {
            if c == '\n' {
                self.carriage = false;
                rows.extend(self.end_line());
                continue;
            }
            if std::mem::take(&mut self.carriage) {
                self.character('\r', &mut rows);
            }
            if c == '\r' {
                self.carriage = true;
            } else {
                self.character(c, &mut rows);
            }
        }
        rows
    }

    /// The end of the text.
    pub(crate) fn end(&mut self) -> Vec<Row> {
        self.carriage = false;
        if self.open { self.end_line() } else { Vec::new() }
    }

    /// The row that is still being written, when there is one.
    pub(crate) fn partial(&self) -> Option<Row> {
        self.open.then(|| self.wrap.so_far())
    }

    fn character(&mut self, c: char, rows: &mut Vec<Row>) {
        self.open = true;
        if let Some(part) = self.reader.put(c) {
            rows.extend(self.wrap.put(part));
        }
    }

    fn end_line(&mut self) -> Vec<Row> {
        self.open = false;
        self.reader = Reader::new(Reading::Prose);
        self.wrap.end()
    }
}

#[cfg(test)]
mod tests {
    use super::Stream;
    use crate::style::Paint;

    fn rows(fragments: &[&str]) -> Vec<String> {
        let mut stream = Stream::new(12);
        let mut rows: Vec<_> = fragments.iter().flat_map(|fragment| stream.put(fragment)).collect();
        rows.extend(stream.end());
        rows.iter().map(|row| row.render(Paint::PLAIN)).collect()
    }

    #[test]
    fn fragments_make_the_rows_of_the_whole() {
        let text = "I will read the file.\r\n\nThen e\u{301}dit it\rnow";
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(rows(&letters), rows(&[text]));
        assert_eq!(
            rows(&[text]),
            ["  I will ", "  read the ", "  file.", "  ", "  Then e\u{301}dit ", "  it\\rnow"]
        );
    }

    #[test]
    fn the_row_being_written_is_shown() {
        let mut stream = Stream::new(40);
        assert!(stream.partial().is_none());
        assert!(stream.put("half a").is_empty());
        assert_eq!(stream.partial().map(|row| row.render(Paint::PLAIN)).as_deref(), Some("  half a"));
    }
}
