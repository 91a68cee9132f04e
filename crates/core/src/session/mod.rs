//! A session as the fold of its events.
//!
//! [`Session::fold`] is the only way a session changes, and [`Session::next`] says what is to be done now. Both
//! are pure: a gateway that was killed folds the stored events and knows what to do next. Nothing here judges a
//! call, and nothing here performs an effect.

pub mod approval;
mod background;
mod event;
mod grant;
mod history;
mod next;
mod questions;
mod undo;
mod written;

use std::sync::Arc;

pub use approval::{Approval, Needs, Standing, Uncounted};
pub use background::{Cause, Running};
pub use event::{Answer, Event, Outcome, Proposal, Remember, Settings, Settlement};
pub use grant::{Asking, Bound, Grant, Pattern, below_workspace};
pub use history::History;
pub use next::{End, Next};
pub use undo::{NothingToUndo, Ran};
pub use written::{Files, Knowledge};

use questions::Questions;

use crate::budget::{Budget, Cost, Exhausted, NoExtension};
use crate::call::{Call, Canceled, Event as CallEvent, IllegalMove};
use crate::decision::DecidedBy;
use crate::ids::{CallId, Digest};
use crate::label::{Label, Level};
use crate::model::Cut;

/// Where a session is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The loop has something to do.
    Running,
    /// A person's approval is pending.
    WaitingApproval,
    /// A person's extension is pending.
    WaitingExtension,
    /// A person's message is awaited.
    WaitingInput,
    /// The change set waits for acceptance.
    Reviewing,
    /// Over.
    Closed(Outcome),
}

/// A session.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    settings: Settings,
    budget: Budget,
    history: History,
    calls: Vec<Call>,
    /// Why the answer that they are from is not whole.
    cut: Option<Cut>,
    questions: Questions,
    proposals: Vec<Arc<Proposal>>,
    model_calls: u64,
    calls_made: u64,
    refused: bool,
    expired: bool,
    turn: Turn,
    extension: Option<Exhausted>,
    review: Option<Digest>,
    closed: Option<Outcome>,
    trail: undo::Trail,
    background: background::Background,
    knowledge: Knowledge,
}

/// Where the turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Nothing was said yet, or the turn is over.
    Over(End),
    /// The model is to be called, or its calls are to be resolved.
    Open {
        /// A person refused a call, so the model is not called again.
        held: bool,
    },
}

/// An event that a session cannot take. The session is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Impossible {
    /// The call's state does not take it.
    #[error(transparent)]
    Move(#[from] IllegalMove),
    /// There is no such call in the turn.
    #[error("there is no call `{0}` in this turn")]
    NoCall(CallId),
    /// There is no such question.
    #[error("no approval is pending for `{0}`")]
    NoQuestion(CallId),
    /// The question is over.
    #[error(transparent)]
    Over(#[from] approval::Over),
    /// The yes does not count.
    #[error(transparent)]
    Uncounted(#[from] Uncounted),
    /// There is no such grant, or it is revoked already.
    #[error("no grant `{0}` is in force")]
    NoGrant(String),
    /// The budget does not allow it.
    #[error("the budget of {0} is spent")]
    Spent(Exhausted),
    /// No extension is left.
    #[error(transparent)]
    NoExtension(#[from] NoExtension),
    /// There is no such background command at work.
    #[error("no background command of `{0}` is at work")]
    NoBackground(CallId),
    /// The session is over.
    #[error("the session is closed")]
    Closed,
    /// The event has no place here.
    #[error("`{0}` has no place here")]
    Misplaced(&'static str),
}

/// What a message brings with it: only what a person typed on an interactive surface is trusted.
pub fn label_of_message(by: &DecidedBy) -> Label {
    match by {
        DecidedBy::Human(_) => Label::LOWEST,
        DecidedBy::Automation(_) => Label::untrusted(Level::Public),
    }
}

impl Session {
    /// A session that was just opened.
    pub fn open(settings: Settings, now_us: i64) -> Self {
        Self {
            settings,
            budget: Budget::new(settings.limits, now_us),
            history: History::default(),
            calls: Vec::new(),
            cut: None,
            questions: Questions::default(),
            proposals: Vec::new(),
            model_calls: 0,
            calls_made: 0,
            refused: false,
            expired: false,
            turn: Turn::Over(End::Input),
            extension: None,
            review: None,
            closed: None,
            trail: undo::Trail::default(),
            background: background::Background::default(),
            knowledge: Knowledge::at_first(),
        }
    }

    /// Folds a whole history.
    ///
    /// # Errors
    /// [`Impossible`] at the first event that has no place; a store that holds one was altered.
    pub fn replay<'a>(events: impl IntoIterator<Item = (i64, &'a Event)>) -> Result<Self, Impossible> {
        let mut events = events.into_iter();
        let Some((time_us, Event::Opened(settings))) = events.next() else {
            return Err(Impossible::Misplaced("a first event other than `opened`"));
        };
        let mut session = Self::open(*settings, time_us);
        for (time_us, event) in events {
            session.fold(time_us, event)?;
        }
        Ok(session)
    }

    /// Takes one event.
    ///
    /// # Errors
    /// [`Impossible`]; the session stays as it is.
    pub fn fold(&mut self, now_us: i64, event: &Event) -> Result<(), Impossible> {
        let mut next = self.clone();
        next.apply(now_us, event)?;
        next.settle_turn();
        *self = next;
        Ok(())
    }

    fn apply(&mut self, now_us: i64, event: &Event) -> Result<(), Impossible> {
        if self.closed.is_some() {
            return Err(Impossible::Closed);
        }
        self.admits(event)?;
        match event {
            Event::Opened(_) => Err(Impossible::Misplaced("a second `opened`")),
            Event::Said { text, by } => self.said(now_us, text, by),
            Event::Answered(answer) => self.answered(now_us, answer),
            Event::ModelFailed { .. } => Ok(()),
            Event::Interrupted { .. } => self.interrupted(),
            Event::Failed { call, error } => self.failed(now_us, call, error),
            Event::Refused { call, reason } => self.refused(now_us, call, reason.clone()),
            Event::Asked { call, approval, .. } => self.asked(call, approval),
            Event::Consented { call, by, standing } => Ok(self.questions.consented(call, by, *standing)?),
            Event::Settled { call, answer } => self.settled(now_us, call, answer),
            Event::Edited { call, by, arguments } => self.edited(call, by, arguments),
            Event::GrantRevoked { grant, by } => self.questions.revoke(grant, by),
            Event::Started { call, decided_by, rule, command, background } => {
                let cost = if *command { Cost::Command } else { Cost::Action };
                self.budget = self.budget.charge(cost, now_us).map_err(Impossible::Spent)?;
                self.questions.used(call);
                if self.cut.is_some() {
                    return Err(Impossible::Misplaced("a start of a call from an answer that is not whole"));
                }
                let start = CallEvent::Start { decided_by: decided_by.clone(), rule: rule.clone() };
                let started = self.call(call)?;
                started.take(start)?;
                let tool = started.tool().to_owned();
                self.trail.started(call, &tool);
                if let Some(name) = background {
                    self.background.started(call, name);
                }
                Ok(())
            }
            Event::BackgroundEnded { call, cause, told } => self.background_ended(call, cause, told),
            Event::Finished { call, output } => {
                Ok(self.call(call)?.take(CallEvent::Finish { output: output.clone() })?)
            }
            Event::Compacted { summary, from, charged, tokens } => {
                self.history.compact(summary, *from);
                self.spend(Cost::Tokens(*tokens), now_us);
                if *charged {
                    self.spend(Cost::Action, now_us);
                }
                Ok(())
            }
            Event::ExtensionAsked { .. }
            | Event::ExtensionGranted { .. }
            | Event::ExtensionRefused { .. } => self.extension(now_us, event),
            Event::Restored => self.restored(now_us),
            Event::Raised { label, written, .. } => {
                self.knowledge.learn(*label, written);
                Ok(())
            }
            Event::Reviewing { digest } => {
                self.review = Some(digest.clone());
                Ok(())
            }
            Event::Undoing { to, .. } => self.begin_undo(to),
            Event::Undone { to } => self.end_undo(to),
            Event::Closed { outcome, .. } => {
                self.questions.withdraw_all();
                self.closed = Some(*outcome);
                Ok(())
            }
        }
    }

    fn extension(&mut self, now_us: i64, event: &Event) -> Result<(), Impossible> {
        self.extension = None;
        if let Event::ExtensionAsked { spent } = event {
            self.extension = Some(*spent);
        } else if let Event::ExtensionGranted { .. } = event {
            self.budget = self.budget.extend(now_us)?;
            self.review = None;
            if self.turn == Turn::Over(End::Budget) {
                self.turn = Turn::Open { held: false };
            }
        } else {
            self.turn = Turn::Over(End::Budget);
        }
        Ok(())
    }

    fn said(&mut self, now_us: i64, text: &str, by: &DecidedBy) -> Result<(), Impossible> {
        if !self.calls.is_empty() {
            return Err(Impossible::Misplaced("a message while calls are open"));
        }
        self.knowledge.learn(label_of_message(by), &Files::new());
        self.history.said(text);
        self.trail.said();
        if self.settings.afresh_at_message {
            self.budget = self.budget.afresh(now_us);
        }
        self.turn = Turn::Open { held: false };
        self.extension = None;
        self.review = None;
        Ok(())
    }

    fn answered(&mut self, now_us: i64, answer: &Answer) -> Result<(), Impossible> {
        if !self.calls.is_empty() || !matches!(self.turn, Turn::Open { .. }) {
            return Err(Impossible::Misplaced("an answer that nobody asked for"));
        }
        for proposal in &answer.calls {
            let mut call = Call::new(proposal.call.clone(), proposal.tool.clone());
            call.take(CallEvent::Complete { arguments: proposal.arguments.clone() })?;
            self.calls.push(call);
        }
        self.cut.clone_from(&answer.cut);
        self.history.answered(answer);
        self.model_calls += 1;
        self.calls_made += u64::try_from(answer.calls.len()).unwrap_or(u64::MAX);
        self.proposals.extend(answer.calls.iter().cloned().map(Arc::new));
        self.spend(Cost::Tokens(answer.tokens), now_us);
        if answer.correction.is_some() {
            self.spend(Cost::Action, now_us);
        } else if answer.calls.is_empty() {
            self.turn = Turn::Over(End::Answered);
        }
        Ok(())
    }

    fn interrupted(&mut self) -> Result<(), Impossible> {
        for call in self.calls.iter_mut().filter(|call| !call.state().is_final()) {
            call.take(CallEvent::Interrupt)?;
        }
        self.questions.withdraw_all();
        self.extension = None;
        self.turn = Turn::Over(End::Interrupted);
        Ok(())
    }

    fn failed(&mut self, now_us: i64, id: &CallId, error: &str) -> Result<(), Impossible> {
        let call = self.call(id)?;
        let ran = matches!(call.state(), crate::call::State::Calling { .. });
        call.take(CallEvent::Fail { error: error.to_owned() })?;
        self.questions.withdraw(id);
        self.background.remove(id);
        if !ran {
            self.spend(Cost::Action, now_us);
        }
        Ok(())
    }

    fn refused(&mut self, now_us: i64, id: &CallId, reason: Canceled) -> Result<(), Impossible> {
        let by_person = crate::call::refuser(&reason).is_some();
        let word = matches!(&reason, Canceled::Refused { word: Some(_), .. });
        let late = reason == Canceled::Expired;
        self.call(id)?.take(CallEvent::Cancel { reason })?;
        self.questions.withdraw(id);
        self.refused |= !late;
        self.expired |= late;
        self.spend(Cost::Action, now_us);
        if by_person && !word && !self.settings.continue_after_rejection {
            self.turn = Turn::Open { held: true };
        }
        Ok(())
    }

    fn restored(&mut self, now_us: i64) -> Result<(), Impossible> {
        let ran = |call: &&mut Call| matches!(call.state(), crate::call::State::Calling { .. });
        for call in self.calls.iter_mut().filter(ran) {
            call.take(CallEvent::Interrupt)?;
        }
        self.budget = self.budget.restored(now_us);
        self.extension = None;
        if self.turn == Turn::Over(End::Interrupted) {
            self.turn = Turn::Open { held: false };
        }
        let gone = self.background.remove_all();
        self.history.note_restored(self.calls.is_empty(), &gone);
        Ok(())
    }

    /// When every call of the turn is final, their results go into the history.
    fn settle_turn(&mut self) {
        if self.calls.is_empty() || !self.calls.iter().all(|call| call.state().is_final()) {
            return;
        }
        let calls = std::mem::take(&mut self.calls);
        self.history.resolved(&calls, self.questions.edits());
        self.questions.end_of_turn();
        if self.turn == (Turn::Open { held: true }) {
            self.turn = Turn::Over(End::Refused);
        }
    }

    fn call(&mut self, id: &CallId) -> Result<&mut Call, Impossible> {
        let found = self.calls.iter_mut().find(|call| call.id() == id);
        found.ok_or_else(|| Impossible::NoCall(id.clone()))
    }

    /// Spends what can be spent; what is over is felt at the next model call.
    fn spend(&mut self, cost: Cost, now_us: i64) {
        self.budget = self.budget.charge(cost, now_us).unwrap_or(self.budget);
    }

    /// Its settings.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// What it knows. It only rises: there is no event that lowers it.
    pub fn label(&self) -> Label {
        self.knowledge.label()
    }

    /// What it knows, and what its files were before each rise.
    pub fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    /// Its budget.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// What the model is sent.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The calls of the turn that are not all resolved yet.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Why the answer that the calls are from is not whole. None of them runs then.
    pub fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    /// Digest of the change set that waits for review.
    pub fn review(&self) -> Option<&Digest> {
        self.review.as_ref()
    }

    /// Completed model calls: the position of a script model.
    pub fn model_calls(&self) -> u64 {
        self.model_calls
    }

    /// Calls that were proposed so far: the number of the last one.
    pub fn calls_made(&self) -> u64 {
        self.calls_made
    }

    /// Every call that the model proposed, in order.
    pub fn proposals(&self) -> &[Arc<Proposal>] {
        &self.proposals
    }

    /// Whether an approval was not given in time. That is no refusal.
    pub fn has_expired(&self) -> bool {
        self.expired
    }

    /// Whether the policy or a person refused anything.
    pub fn was_refused(&self) -> bool {
        self.refused
    }

    /// Where it is in its life.
    pub fn phase(&self) -> Phase {
        if let Some(outcome) = self.closed {
            return Phase::Closed(outcome);
        }
        if self.review.is_some() {
            return Phase::Reviewing;
        }
        if self.extension.is_some() {
            return Phase::WaitingExtension;
        }
        match self.turn {
            Turn::Over(_) => Phase::WaitingInput,
            Turn::Open { .. } if self.pending().next().is_some() => Phase::WaitingApproval,
            Turn::Open { .. } => Phase::Running,
        }
    }
}

#[cfg(test)]
mod tests;
