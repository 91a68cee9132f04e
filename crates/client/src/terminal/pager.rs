//! A text that is longer than the screen: which rows are shown, and whether all of them have been.

use crate::terminal::keys::Key;

/// A place in a long text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pager {
    /// Rows of the text.
    rows: usize,
    /// Rows of a page, at least 1.
    page: usize,
    /// The first row that is shown.
    top: usize,
    /// The first row that was not shown yet, counted without a gap.
    read: usize,
}

impl Pager {
    /// The beginning of a text.
    pub(crate) fn new(rows: usize, page: usize) -> Self {
        let page = page.max(1);
        Self { rows, page, top: 0, read: page.min(rows) }
    }

    /// The rows that are shown.
    pub(crate) fn shown(&self) -> std::ops::Range<usize> {
        self.top..(self.top + self.page).min(self.rows)
    }

    /// Whether the end of the text was shown.
    pub(crate) fn was_read(&self) -> bool {
        self.read >= self.rows
    }

    /// The text is laid out anew: its place is kept as near as can be, and what was read stays read.
    pub(crate) fn resize(&mut self, rows: usize, page: usize) {
        let was_read = self.was_read();
        self.rows = rows;
        self.page = page.max(1);
        self.read = if was_read { rows } else { self.read.min(rows.saturating_sub(1)) };
        self.go(self.top);
    }

    /// Follows a key; whether it was one of the pager's.
    pub(crate) fn key(&mut self, key: Key) -> bool {
        let (page, top) = (self.page, self.top);
        match key {
            Key::Up | Key::Char('k') => self.go(top.saturating_sub(1)),
            Key::Down | Key::Char('j') => self.go(top + 1),
            Key::PageUp | Key::Char('b') => self.go(top.saturating_sub(page)),
            Key::PageDown | Key::Char(' ' | 'f') => self.go(top + page),
            Key::Home | Key::Char('g') => self.go(0),
            Key::End | Key::Char('G') => self.go(self.rows),
            _ => return false,
        }
        true
    }

    fn go(&mut self, top: usize) {
        self.top = top.min(self.rows.saturating_sub(self.page));
        self.read = self.read.max(self.top + self.page).min(self.rows);
    }
}

#[cfg(test)]
mod tests {
    use super::Pager;
    use crate::terminal::keys::Key;

    #[test]
    fn every_row_can_be_reached_and_no_page_is_past_the_end() {
        let mut pager = Pager::new(25, 10);
        assert_eq!(pager.shown(), 0..10);
        assert!(pager.key(Key::PageDown) && !pager.was_read());
        assert_eq!(pager.shown(), 10..20);
        assert!(pager.key(Key::PageDown) && pager.was_read());
        assert_eq!(pager.shown(), 15..25);
        assert!(pager.key(Key::Down));
        assert_eq!(pager.shown(), 15..25);
        assert!(pager.key(Key::Home) && pager.key(Key::Up));
        assert_eq!(pager.shown(), 0..10);
        assert!(pager.was_read(), "what was read stays read");
        assert!(!pager.key(Key::Char('a')));
    }

    #[test]
    fn a_resize_forgets_nothing_and_grants_nothing() {
        let mut pager = Pager::new(25, 10);
        pager.resize(50, 10);
        assert!(!pager.was_read());
        pager.key(Key::End);
        pager.resize(80, 5);
        assert!(pager.was_read());
        assert_eq!(pager.shown().len(), 5);
        assert!(Pager::new(5, 10).was_read());
    }
}
