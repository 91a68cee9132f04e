//! What the terminal of a run draws. A terminal that does not take it is a terminal that hung up.

use std::time::Instant;

use enclos_protocol::api::Gateway;

use super::events::FOOT;
use super::{Face, Purpose};
use crate::error::CommandError;
use crate::layout::{Gutter, Row, prose};
use crate::signals::Caught;
use crate::style::Role;
use crate::terminal::live::{self, Moment};
use crate::terminal::mode::Mode;
use crate::text;

/// Drawings between two of a page, which changes only by its clock.
const PAGE_TICKS: usize = 10;

impl<G: Gateway> Face<'_, '_, G> {
    /// Time passed.
    pub(super) fn ticked(&mut self) {
        self.tick = self.tick.wrapping_add(1);
        let paged = !self.pages.is_empty();
        if self.screen.fancy() && self.prompt.is_none() && (!paged || self.tick.is_multiple_of(PAGE_TICKS)) {
            self.draw(&[]);
        }
        if self.untold && Instant::now() >= self.armed {
            self.untold = false;
            let rows = self.question_rows();
            self.record(&rows);
        }
    }

    /// Adds rows to the record: above the line that somebody is writing, where that can be.
    pub(super) fn record(&mut self, rows: &[Row]) {
        let Some((prompt, purpose)) = &mut self.prompt else { return self.draw(rows) };
        if matches!(purpose, Purpose::Edit(_)) {
            return self.held.extend_from_slice(rows);
        }
        if rows.is_empty() || self.blind {
            return;
        }
        let paint = self.parts.look.paint;
        let text = rows.iter().map(|row| row.render(paint) + "\n").collect();
        if let Err(text) = prompt.print(text) {
            let written = self.parts.world.out.write_all(text.as_bytes()).map_err(CommandError::from);
            self.survive(&written);
        }
    }

    /// A remark to the person: in the region, or in the record when there is none.
    pub(super) fn remark(&mut self, note: &str) {
        if self.screen.fancy() && self.prompt.is_none() {
            note.clone_into(&mut self.note);
            return self.draw(&[]);
        }
        let gutter = Gutter { first: Row::of(Role::Warn, "! "), rest: Row::new().to(2) };
        self.record(&prose(&gutter, Role::Plain, note, self.screen.width()));
    }

    /// Draws what changed, unless somebody writes a line: then the screen is the editor's.
    pub(super) fn draw(&mut self, record: &[Row]) {
        if self.blind || self.prompt.is_some() {
            return;
        }
        let now = (self.parts.world.now)();
        let moment = Moment {
            width: self.screen.width(),
            now,
            tick: self.tick,
            armed: Instant::now() >= self.armed,
            expires: self.cards.front().map_or("", |(_, card)| card.expires.as_str()),
            note: &self.note,
        };
        let pager = match &self.mode {
            _ if self.overlay.is_some() => self.overlay,
            Mode::Card(asking) => asking.pager,
            _ => None,
        };
        let out = &mut *self.parts.world.out;
        let drawn = match pager {
            Some(pager) => {
                let shown = self.pages.get(pager.shown()).unwrap_or_default();
                let foot =
                    foot(&self.mode, moment, self.overlay.is_some(), pager.shown().end, self.pages.len());
                self.screen.draw(out, record, &[]).and_then(|()| self.screen.page(out, shown, &foot))
            }
            None => self.screen.draw(out, record, &live::rows(&self.transcript, &self.mode, moment)),
        };
        self.survive(&drawn);
    }

    /// Back to the record.
    pub(super) fn unpage(&mut self) {
        if !self.blind {
            let back = self.screen.unpage(self.parts.world.out);
            self.survive(&back);
        }
    }

    /// The question as rows, for a terminal without a region.
    pub(super) fn question_rows(&self) -> Vec<Row> {
        let expires = self.cards.front().map_or("", |(_, card)| card.expires.as_str());
        let (width, now) = (self.screen.width(), (self.parts.world.now)());
        let moment = Moment { width, now, tick: 0, armed: true, expires, note: "" };
        live::question(&self.mode, moment)
    }

    fn survive(&mut self, drawn: &Result<(), CommandError>) {
        if drawn.is_err() {
            self.caught(Caught::HangUp);
        }
    }
}

/// The rows below a page.
fn foot(mode: &Mode, moment: Moment<'_>, overlay: bool, end: usize, rows: usize) -> Vec<Row> {
    let place = Row::of(Role::Dim, &text::page_place(end, rows));
    let place =
        if moment.note.is_empty() { place } else { place.and(Role::Warn, &format!("  ! {}", moment.note)) };
    let mut foot = vec![place];
    if overlay {
        foot.push(Row::of(Role::Bold, text::OVERLAY_KEYS));
    } else {
        foot.extend(live::question(mode, moment));
    }
    foot.truncate(FOOT);
    foot
}
