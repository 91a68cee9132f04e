//! What each event of the session changes at the terminal, and which question comes next.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use enclos_core::decision::DecidedBy;
use enclos_protocol::api::Gateway;
use enclos_protocol::card::Card;
use enclos_protocol::event::{ApprovalState, Body, Event, SessionState, Speaker};

use super::{Extension, Face, Purpose};
use crate::layout::{Gutter, Row, name, prose};
use crate::render::card;
use crate::style::Role;
use crate::terminal::mode::{Asking, Mode, Offered};
use crate::terminal::pager::Pager;
use crate::terminal::review::Review;
use crate::text;

/// After a question was shown, keys are still meant for something else.
const SETTLE: Duration = Duration::from_millis(250);
/// Rows of the screen that a card leaves to the region.
const REGION: usize = 6;
/// Rows at the foot of a page.
pub(super) const FOOT: usize = 4;

impl<G: Gateway> Face<'_, '_, G> {
    /// One more event.
    pub(super) fn event(&mut self, event: &Event) {
        let now = (self.parts.world.now)();
        let rows = self.transcript.event(event, now);
        match &event.body {
            Body::ApprovalRequested { approval, card, .. } => {
                self.cards.push_back((approval.clone(), card.clone()));
            }
            Body::ApprovalDecided { approval, state, decided_by, .. } => {
                self.decided(approval, *state, decided_by.as_ref());
            }
            Body::ExtensionRequested { spent, grants, left } => {
                // With none left there is nothing to ask: the gateway says how it goes on.
                let asked = Extension { spent: spent.clone(), grants: *grants, left: *left };
                self.extension = Some(asked).filter(|asked| asked.left > 0);
            }
            Body::ExtensionDecided { .. } => {
                self.extension = None;
                if matches!(self.mode, Mode::Extension) {
                    self.settle();
                }
            }
            Body::ChangeSet { files, .. } => {
                self.changes.clone_from(files);
                // A set that comes again is asked about again: an acceptance failed, or files are left.
                if self.transcript.state == SessionState::Reviewing {
                    self.settle();
                    self.due = Some(SessionState::Reviewing);
                }
            }
            Body::State { state } => self.state(*state),
            Body::Finished { exit_code, .. } => {
                self.finished = Some(*exit_code);
                self.settle();
                self.ending.get_or_insert_with(Instant::now);
            }
            _ => {}
        }
        if !rows.is_empty() && !self.typed_here(&event.body) {
            self.record(&rows);
        }
        self.ask_next();
    }

    /// Whether an event is a message that stands on the screen as it was typed.
    fn typed_here(&mut self, body: &Body) -> bool {
        let Body::Message { role: Speaker::User, text } = body else { return false };
        let is_next = self.typed.front() == Some(text);
        if is_next {
            self.typed.pop_front();
        }
        is_next
    }

    fn state(&mut self, state: SessionState) {
        self.note.clear();
        match state {
            SessionState::Reviewing | SessionState::WaitingInput => {
                self.interruptions.next_turn();
                self.due = Some(state);
            }
            SessionState::Running | SessionState::Closed | SessionState::Opening => {
                self.due = None;
                if matches!(self.mode, Mode::Review(_)) {
                    self.settle();
                }
            }
            SessionState::WaitingApproval | SessionState::WaitingExtension => {}
        }
    }

    /// An approval is over, whoever answered it.
    fn decided(&mut self, approval: &str, state: ApprovalState, by: Option<&DecidedBy>) {
        let waited = self.cards.iter().any(|(waiting, _)| waiting == approval);
        self.cards.retain(|(waiting, _)| waiting != approval);
        if matches!(&self.mode, Mode::Card(asking) if asking.approval == approval) {
            self.settle();
        }
        if let (true, Some(by)) = (waited, by) {
            self.remark(&text::elsewhere(state, by));
        }
    }

    /// The patterns that are offered, with what else each would have matched; keys count once they were shown.
    pub(super) fn patterns(&mut self) {
        let offers = self.cards.front().map(|(_, card)| card.patterns.clone()).unwrap_or_default();
        if let Mode::Card(asking) = &mut self.mode {
            asking.pager = None;
        }
        self.pages.clear();
        self.unpage();
        let gutter = Gutter { first: Row::of(Role::Warn, "┃ "), rest: Row::of(Role::Warn, "┃   ") };
        let lines = offers.iter().enumerate().flat_map(|(at, offer)| text::offer(at + 1, offer));
        let width = self.screen.width();
        let rows: Vec<Row> = lines.flat_map(|line| name(&gutter, Role::Plain, &line, width)).collect();
        self.armed = Instant::now() + SETTLE;
        self.record(&rows);
        self.asked();
    }

    /// Nothing is asked any more.
    pub(super) fn settle(&mut self) {
        self.mode = Mode::Working;
        self.overlay = None;
        self.pages.clear();
        self.unpage();
    }

    /// Asks what is to be asked next, when nothing is being asked.
    pub(super) fn ask_next(&mut self) {
        let busy = self.prompt.is_some() || !matches!(self.mode, Mode::Working);
        if busy || self.finished.is_some() || self.ending.is_some() {
            return;
        }
        if let Some((approval, card)) = self.cards.front().cloned() {
            self.ask_card(approval, &card);
        } else if let Some(extension) = self.extension.clone() {
            let told = text::extension_asked(&extension.spent, &extension.grants, extension.left);
            let gutter = Gutter { first: Row::of(Role::Warn, "┃ "), rest: Row::of(Role::Warn, "┃ ") };
            self.ask(Mode::Extension);
            self.record(&prose(&gutter, Role::Plain, &told, self.screen.width()));
            self.asked();
        } else if let Some(state) = self.due.take() {
            match state {
                SessionState::Reviewing if self.parts.talks => {
                    self.remark(text::NOTE_REVIEW);
                    self.write(Purpose::Message);
                }
                SessionState::Reviewing => self.review(),
                _ => self.write(Purpose::Message),
            }
        }
    }

    /// Asks what becomes of the changes.
    pub(super) fn review(&mut self) {
        self.ask(Mode::Review(Review::new(self.changes.clone())));
        self.asked();
    }

    fn ask_card(&mut self, approval: String, card: &Card) {
        let rows = card::rows(card, self.screen.width());
        let long = self.screen.fancy() && rows.len() + REGION > self.screen.height();
        let pager = long.then(|| Pager::new(rows.len(), self.page()));
        let offered = Offered {
            approve: card.may_approve,
            remember: card.may_approve && card.may_remember,
            patterns: card.patterns.len(),
        };
        self.ask(Mode::Card(Asking { approval, offered, choosing: false, pager }));
        if long {
            self.pages = rows;
        } else {
            self.record(&rows);
        }
        self.asked();
    }

    /// Rows of a page.
    pub(super) fn page(&self) -> usize {
        self.screen.height().saturating_sub(FOOT)
    }

    /// A question begins: it takes no answers while it is being shown.
    fn ask(&mut self, mode: Mode) {
        self.mode = mode;
        self.armed = Instant::now() + SETTLE;
    }

    /// A whole question has been shown: keys that were typed before are dropped, and those of the next moment too.
    pub(super) fn asked(&mut self) {
        self.armed = Instant::now() + SETTLE;
        self.draw(&[]);
        self.question.fetch_add(1, Ordering::Release);
        self.armed = Instant::now() + SETTLE;
        self.untold = !self.screen.fancy();
    }

    /// The terminal has another size: what is shown page by page is laid out anew.
    pub(super) fn resized(&mut self, width: u16, height: u16) {
        self.screen.resize(usize::from(width), usize::from(height));
        self.transcript.resize(usize::from(width).max(20));
        let page = self.page();
        if let (Mode::Card(Asking { pager: Some(pager), .. }), Some((_, card))) =
            (&mut self.mode, self.cards.front())
        {
            self.pages = card::rows(card, usize::from(width));
            pager.resize(self.pages.len(), page);
        } else if let Some(pager) = &mut self.overlay {
            pager.resize(self.pages.len(), page);
        }
        self.draw(&[]);
    }
}
