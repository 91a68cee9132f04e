//! What a person does at the terminal: keys become acts, acts become orders, lines become messages.

use std::sync::atomic::Ordering;

use enclos_protocol::api::Gateway;
use enclos_protocol::env;
use enclos_protocol::event::SessionState;
use enclos_protocol::order::Order;

use super::{Face, Purpose};
use crate::exit::Exit;
use crate::layout::{Gutter, Row, prose};
use crate::render::{card, change};
use crate::signals::Caught;
use crate::style::Role;
use crate::terminal::editor::Draft;
use crate::terminal::keys::{Input, Key, Press};
use crate::terminal::mode::{self, Act, Mode};
use crate::terminal::pager::Pager;
use crate::terminal::prompt::{Prompt, Said};
use crate::text;

impl<G: Gateway> Face<'_, '_, G> {
    /// What comes from the terminal.
    pub(super) fn input(&mut self, input: Input) {
        match input {
            Input::Press(press) => self.press(press),
            Input::Resize(width, height) => self.resized(width, height),
            Input::Said(said) => self.said(said),
            Input::Edited(edited) => self.edited(edited),
            Input::Lost => self.caught(Caught::HangUp),
        }
    }

    fn press(&mut self, press: Press) {
        self.note.clear();
        let always = matches!(press.key, Key::Interrupt | Key::Quit);
        if self.overlay.is_some() && !always {
            return self.read_on(press.key);
        }
        let asked = !matches!(self.mode, Mode::Working);
        let shown = press.question >= self.question.load(Ordering::Acquire) && press.at >= self.armed;
        let early = asked && !shown;
        if early && !always {
            return;
        }
        let act = mode::key(&mut self.mode, press.key, !press.burst);
        self.act(act);
    }

    /// A key while a long text is read that asks nothing.
    fn read_on(&mut self, key: Key) {
        if matches!(key, Key::Escape | Key::Char('q') | Key::EndOfInput) {
            self.overlay = None;
            self.pages.clear();
            self.unpage();
            return self.draw(&[]);
        }
        if let Some(pager) = &mut self.overlay {
            pager.key(key);
            self.draw(&[]);
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Nothing => {}
            Act::Scrolled => self.draw(&[]),
            Act::Next => self.asked(),
            Act::Note(note) => self.remark(note),
            Act::Send(order) => self.answer(order),
            Act::Patterns => self.patterns(),
            Act::Edit(approval) => self.edit(approval),
            Act::Word(approval) => self.write(Purpose::Word(approval)),
            Act::Message => self.write(Purpose::Message),
            Act::Diff => self.diff(),
            Act::Help => self.help(),
            Act::Interrupt => self.interrupt(),
            Act::Stop => self.stop(None),
            Act::Quit => self.stop(Some(Exit::Interrupted)),
            Act::Leave => {
                self.settle();
                self.send(Order::Leave);
            }
        }
    }

    /// Sends the answer to what is asked, and notes in the record a card that was read page by page.
    fn answer(&mut self, order: Order) {
        let receipt = match (&self.mode, self.cards.front()) {
            (Mode::Card(asking), Some((_, card))) if asking.pager.is_some() => {
                card::receipt(card, self.pages.len(), self.screen.width())
            }
            _ => Vec::new(),
        };
        match &self.mode {
            Mode::Card(_) => drop(self.cards.pop_front()),
            Mode::Extension => self.extension = None,
            Mode::Review(_) | Mode::Working => {}
        }
        self.interruptions.next_turn();
        self.settle();
        self.send(order);
        self.record(&receipt);
        self.ask_next();
    }

    fn diff(&mut self) {
        match self.parts.gateway.diff(&self.parts.session) {
            Err(error) => self.remark(&error.message),
            Ok(set) => {
                let rows = change::whole(&set, self.screen.width());
                if self.screen.fancy() {
                    self.overlay = Some(Pager::new(rows.len(), self.page()));
                    self.pages = rows;
                    self.draw(&[]);
                } else {
                    self.record(&rows);
                }
            }
        }
    }

    fn help(&mut self) {
        let gutter = Gutter { first: Row::of(Role::Dim, "· "), rest: Row::new().to(2) };
        let lines = text::help_lines(&self.mode);
        let rows: Vec<Row> =
            lines.iter().flat_map(|line| prose(&gutter, Role::Plain, line, self.screen.width())).collect();
        match &self.mode {
            // Behind a page the record is not seen.
            Mode::Card(asking) if asking.pager.is_some() => self.remark(text::NOTE_PAGE_KEYS),
            _ => self.record(&rows),
        }
    }

    /// Lets a person write a line.
    pub(super) fn write(&mut self, purpose: Purpose) {
        self.unpage();
        self.keys = None;
        if !self.blind && self.screen.yield_to(self.parts.world.out).is_err() {
            return self.caught(Caught::HangUp);
        }
        self.parts.guard.lines();
        let head = match purpose {
            Purpose::Message => text::ASK_MESSAGE,
            Purpose::Word(_) | Purpose::Edit(_) => text::ASK_WORD,
        };
        match Prompt::open(head, &self.history, self.parts.to.clone()) {
            Ok(prompt) => self.prompt = Some((prompt, purpose)),
            Err(error) => {
                self.remark(&error.message);
                self.caught(Caught::HangUp);
            }
        }
    }

    /// A line was written, or not.
    fn said(&mut self, said: Said) {
        let Some((_, purpose)) = self.prompt.take() else { return };
        if self.parts.guard.keys().is_err() {
            return self.caught(Caught::HangUp);
        }
        self.listen();
        match (purpose, said) {
            (_, Said::Quit) => self.stop(Some(Exit::Interrupted)),
            (Purpose::Word(approval), Said::Line(word)) if !word.trim().is_empty() => {
                self.refuse(&approval, word);
            }
            (Purpose::Word(_) | Purpose::Edit(_), _) => self.ask_again(),
            (Purpose::Message, Said::Line(line)) => self.message(line),
            (Purpose::Message, Said::Interrupt) => {
                self.interrupt();
                self.ask_again();
            }
            (Purpose::Message, Said::End)
                if self.transcript.state == SessionState::Reviewing && !self.parts.talks =>
            {
                self.ask_again();
            }
            (Purpose::Message, Said::End) => self.send(Order::Leave),
        }
    }

    /// The question that was left for a line is asked again; one that is over meanwhile is not.
    fn ask_again(&mut self) {
        if matches!(self.mode, Mode::Working) {
            let waiting = [SessionState::WaitingInput, SessionState::Reviewing];
            self.due = Some(self.transcript.state).filter(|state| waiting.contains(state)).or(self.due);
            self.ask_next();
        } else {
            self.asked();
        }
    }

    /// Lets the person change the arguments of a call in their editor.
    fn edit(&mut self, approval: String) {
        let variables = &self.parts.world.env;
        let program =
            [env::VISUAL, env::EDITOR].iter().find_map(|name| variables.get(name)).unwrap_or_default();
        let draft = self.cards.front().map(|(_, card)| Draft::of(card));
        let (Some(draft), false) = (draft, program.trim().is_empty()) else {
            return self.remark(text::NOTE_NO_EDITOR);
        };
        let program = program.to_owned();
        self.unpage();
        self.keys = None;
        if !self.blind && self.screen.yield_to(self.parts.world.out).is_err() {
            return self.caught(Caught::HangUp);
        }
        self.parts.guard.lines();
        draft.open(program, self.parts.to.clone());
        self.prompt = Some((Prompt::elsewhere(), Purpose::Edit(approval)));
    }

    /// The editor was closed.
    fn edited(&mut self, edited: Result<Option<String>, String>) {
        let Some((_, Purpose::Edit(approval))) = self.prompt.take() else { return };
        if self.parts.guard.keys().is_err() {
            return self.caught(Caught::HangUp);
        }
        self.listen();
        let held = std::mem::take(&mut self.held);
        self.record(&held);
        let asked = matches!(&self.mode, Mode::Card(asking) if asking.approval == approval);
        match edited {
            _ if !asked => {
                self.remark(text::NOTE_TOO_LATE);
                self.ask_next();
            }
            Ok(Some(arguments)) => self.answer(Order::Edit { approval, arguments }),
            Ok(None) => {
                self.remark(text::NOTE_NOT_EDITED);
                self.ask_again();
            }
            Err(why) => {
                self.remark(&why);
                self.ask_again();
            }
        }
    }

    fn refuse(&mut self, approval: &str, word: String) {
        let asked = matches!(&self.mode, Mode::Card(asking) if asking.approval == approval);
        if asked {
            self.answer(Order::Reject { approval: approval.to_owned(), word: Some(word) });
        } else {
            self.remark(text::NOTE_TOO_LATE);
            self.ask_next();
        }
    }

    fn message(&mut self, line: String) {
        match line.trim() {
            "" => self.ask_again(),
            "/quit" => {
                self.settle();
                self.send(Order::Leave);
            }
            "/stop" => self.stop(None),
            "/review" if self.transcript.state == SessionState::Reviewing => self.review(),
            "/review" => {
                self.remark(text::NOTE_NO_CHANGES);
                self.ask_again();
            }
            "/help" => {
                self.help();
                self.ask_again();
            }
            _ => {
                self.history.push(line.clone());
                self.typed.push_back(line.clone());
                self.answer(Order::Say { text: line });
            }
        }
    }
}
