//! The screen: rows that stay, and a few rows below them that are drawn anew.
//!
//! The record only ever grows, in the normal screen, so scrolling back and copying work. A page of a long text is the
//! only thing on the other screen. In plain form there is no region and no cursor movement at all.

use std::fmt::Write as _;
use std::io::Write;

use crate::error::CommandError;
use crate::layout::Row;
use crate::style::Paint;

/// Begins and ends a change that the terminal shows at once.
const SYNC: (&str, &str) = ("\x1b[?2026h\x1b[?25l", "\x1b[?2026l");
/// Shows the cursor.
const CURSOR: &str = "\x1b[?25h";
/// The other screen, and back.
const OTHER: (&str, &str) = ("\x1b[?1049h", "\x1b[?1049l");

/// The screen of a terminal.
#[derive(Debug)]
pub(crate) struct Screen {
    paint: Paint,
    fancy: bool,
    width: usize,
    height: usize,
    /// Cells of each row of the region as it was drawn.
    live: Vec<usize>,
    /// The region as it was asked for, to leave it alone when nothing changed.
    last: Option<Vec<Row>>,
    /// Rows that came while the other screen was shown.
    held: Vec<Row>,
    paging: bool,
}

impl Screen {
    /// A screen of this size; `fancy` when it understands sequences.
    pub(crate) fn new(paint: Paint, fancy: bool, width: usize, height: usize) -> Self {
        Self { paint, fancy, width, height, live: Vec::new(), last: None, held: Vec::new(), paging: false }
    }

    /// Columns.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub(crate) fn height(&self) -> usize {
        self.height
    }

    /// Whether there is a region below the record.
    pub(crate) fn fancy(&self) -> bool {
        self.fancy
    }

    /// Another size. The terminal has wrapped what was drawn; the region is found again by its cells.
    pub(crate) fn resize(&mut self, width: usize, height: usize) {
        self.width = width;
        self.height = height;
        self.last = None;
    }

    /// Adds rows to the record and draws the region below it.
    pub(crate) fn draw(
        &mut self,
        out: &mut dyn Write,
        record: &[Row],
        live: &[Row],
    ) -> Result<(), CommandError> {
        if self.paging {
            self.held.extend_from_slice(record);
            return Ok(());
        }
        if record.is_empty() && (!self.fancy || self.last.as_deref() == Some(live)) {
            return Ok(());
        }
        let mut text = String::new();
        if self.fancy {
            text.push_str(SYNC.0);
            self.erase(&mut text);
        }
        for row in record {
            text.push_str(&row.render(self.paint));
            text.push_str("\r\n");
        }
        if self.fancy {
            self.region(&mut text, live);
            text.push_str(SYNC.1);
        }
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    /// Takes the region away and shows the cursor: somebody else writes now.
    pub(crate) fn yield_to(&mut self, out: &mut dyn Write) -> Result<(), CommandError> {
        self.unpage(out)?;
        let mut text = String::new();
        if self.fancy {
            self.erase(&mut text);
            text.push_str(CURSOR);
        }
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    /// Shows a page of a long text on the other screen, with rows at its foot.
    pub(crate) fn page(
        &mut self,
        out: &mut dyn Write,
        rows: &[Row],
        foot: &[Row],
    ) -> Result<(), CommandError> {
        let mut text = String::from(SYNC.0);
        if !self.paging {
            text.push_str(OTHER.0);
            self.paging = true;
        }
        text.push_str("\x1b[H\x1b[2J");
        for row in rows {
            text.push_str(&row.render(self.paint));
            text.push_str("\r\n");
        }
        let at = self.height.saturating_sub(foot.len()) + 1;
        // Writing to a string cannot fail.
        let _ = write!(text, "\x1b[{at};1H");
        let foot: Vec<String> =
            foot.iter().map(|row| row.clone().cut(self.width.saturating_sub(1)).render(self.paint)).collect();
        text.push_str(&foot.join("\r\n"));
        text.push_str(SYNC.1);
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    /// Back to the record, with what came meanwhile.
    pub(crate) fn unpage(&mut self, out: &mut dyn Write) -> Result<(), CommandError> {
        if !self.paging {
            return Ok(());
        }
        self.paging = false;
        out.write_all(OTHER.1.as_bytes())?;
        let held = std::mem::take(&mut self.held);
        self.draw(out, &held, &[])
    }

    /// Removes the region, wherever the terminal's own wrapping has brought it.
    fn erase(&mut self, text: &mut String) {
        let rows: usize = self.live.iter().map(|cells| cells.div_ceil(self.width.max(1)).max(1)).sum();
        self.live.clear();
        self.last = None;
        if rows == 0 {
            return;
        }
        text.push('\r');
        if rows > 1 {
            // Writing to a string cannot fail.
            let _ = write!(text, "\x1b[{}A", rows - 1);
        }
        text.push_str("\x1b[J");
    }

    fn region(&mut self, text: &mut String, live: &[Row]) {
        // The last column stays free: a full row would leave the cursor nobody knows where.
        let room = self.width.saturating_sub(1);
        let rows: Vec<Row> =
            live.iter().take(self.height.saturating_sub(1)).map(|row| row.clone().cut(room)).collect();
        let drawn: Vec<String> = rows.iter().map(|row| row.render(self.paint)).collect();
        text.push_str(&drawn.join("\r\n"));
        self.live = rows.iter().map(Row::width).collect();
        self.last = Some(live.to_vec());
    }
}

#[cfg(test)]
mod tests {
    use super::Screen;
    use crate::layout::Row;
    use crate::style::{Paint, Role};

    fn row(text: &str) -> Row {
        Row::of(Role::Plain, text)
    }

    #[test]
    fn the_region_is_erased_before_the_record_grows() {
        let mut screen = Screen::new(Paint::PLAIN, true, 20, 10);
        let mut out = Vec::new();
        screen.draw(&mut out, &[row("one")], &[row("busy"), row("bar")]).expect("a vector takes all");
        out.clear();
        screen.draw(&mut out, &[row("two")], &[row("bar")]).expect("a vector takes all");
        let text = String::from_utf8_lossy(&out).into_owned();
        assert_eq!(text, "\x1b[?2026h\x1b[?25l\r\x1b[1A\x1b[Jtwo\r\nbar\x1b[?2026l");
    }

    #[test]
    fn a_narrower_terminal_has_wrapped_the_region() {
        let mut screen = Screen::new(Paint::PLAIN, true, 20, 10);
        let mut out = Vec::new();
        screen.draw(&mut out, &[], &[row("0123456789abcde"), row("bar")]).expect("a vector takes all");
        screen.resize(8, 10);
        out.clear();
        screen.draw(&mut out, &[], &[]).expect("a vector takes all");
        assert!(
            String::from_utf8_lossy(&out).contains("\x1b[2A"),
            "two rows of the first, one of the second"
        );
    }

    #[test]
    fn plain_form_moves_nothing() {
        let mut screen = Screen::new(Paint::PLAIN, false, 20, 10);
        let mut out = Vec::new();
        screen.draw(&mut out, &[row("one")], &[row("busy")]).expect("a vector takes all");
        screen.yield_to(&mut out).expect("a vector takes all");
        assert_eq!(String::from_utf8_lossy(&out), "one\r\n");
    }

    #[test]
    fn what_comes_while_a_page_is_shown_is_not_lost() {
        let mut screen = Screen::new(Paint::PLAIN, true, 20, 10);
        let mut out = Vec::new();
        screen.page(&mut out, &[row("page")], &[row("foot")]).expect("a vector takes all");
        screen.draw(&mut out, &[row("later")], &[]).expect("a vector takes all");
        assert!(!String::from_utf8_lossy(&out).contains("later"));
        screen.unpage(&mut out).expect("a vector takes all");
        let text = String::from_utf8_lossy(&out).into_owned();
        let back = text.find("\x1b[?1049l").expect("the first screen is back");
        assert!(text.find("later").is_some_and(|at| at > back));
    }
}
