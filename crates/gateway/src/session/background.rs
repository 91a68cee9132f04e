//! Commands in the background, seen from the session: their starts and ends are recorded and told, and all are ended
//! before the change set is made and with the session.
//!
//! What may start is decided where every command is judged. An end is recorded once, whoever brought it about.

use std::time::Duration;

use enclos_core::call::Call;
use enclos_core::ids::CallId;
use enclos_core::session::{Cause, Event, Session};
use enclos_protocol::event::{Body, Of, ResultFacts};
use enclos_protocol::order::Order;
use enclos_sandbox::{Background as Job, End, Killed};
use serde_json::json;
use tokio::time::Instant;

use super::entry::{self, facts};
use super::handle::of;
use super::record::Facts;
use super::{Halt, Live};
use crate::effects::{self, Action, Mark};
use crate::tool_result;

/// How long the commands may take to end, once they are killed.
const LAST_BREATH: Duration = Duration::from_secs(10);

/// Between two attempts to end what may only be starting.
const AGAIN: Duration = Duration::from_millis(50);

/// The background commands of a session at work.
#[derive(Debug, Default)]
pub(super) struct Board {
    /// What is known of them.
    pub(super) known: effects::Known,
    /// Those that a call stops, with that call.
    stopping: Vec<(CallId, CallId)>,
    /// Why all of them are being ended.
    ending: Option<Cause>,
}

impl Board {
    /// A call is about to be performed.
    pub(super) fn performs(&mut self, call: &CallId, action: &Action) {
        if let Action::Background(look) = action
            && let Some(started_by) = self.known.stopped_by(look)
        {
            self.stopping.push((started_by, call.clone()));
        }
    }

    /// The end of the command that a call started.
    pub(super) fn ending_of(&mut self, state: &Session, call: &CallId, job: &Job) -> Option<Ending> {
        let cause = self.cause(call, job);
        let (told, result) = tool_result::of_background(job).unwrap_or_default();
        Ending::new(state, call, cause, told, result)
    }

    /// Why the command that a call started has ended.
    fn cause(&mut self, call: &CallId, job: &Job) -> Cause {
        let stopped = self.stopping.iter().position(|(started_by, _)| started_by == call);
        let stopped = stopped.map(|at| self.stopping.remove(at).1);
        match &job.end {
            Some(End::Exit(exit)) if exit.killed != Some(Killed::Stop) => Cause::Itself,
            Some(_) | None => self.ending.clone().or(stopped.map(Cause::Call)).unwrap_or(Cause::Session),
        }
    }
}

/// The end of a background command, to be recorded and then told.
pub(super) struct Ending {
    pub(super) event: Event,
    pub(super) facts: Facts,
    pub(super) body: Body,
}

impl Ending {
    /// `None` when its end is recorded already.
    fn new(state: &Session, call: &CallId, cause: Cause, told: String, result: ResultFacts) -> Option<Self> {
        let running = state.background().iter().find(|running| running.call == *call)?;
        let (name, reason) = (running.name.clone(), cause.in_words().to_owned());
        let facts = facts([("name", json!(name)), ("result", entry::json(&result))]);
        let event = Event::BackgroundEnded { call: call.clone(), cause, told };
        let of = Of { call: call.clone(), tool: "bash".to_owned() };
        Some(Self { event, facts, body: Body::BackgroundEnded { of, name, reason, result } })
    }
}

impl Live {
    /// The names of the background commands at work.
    pub(super) fn background_names(&self) -> Vec<String> {
        self.state.background().iter().map(|running| running.name.clone()).collect()
    }

    /// Takes what a recorded call means for the background commands, and tells it.
    pub(super) fn take_mark(&mut self, call: &Call, mark: Option<Mark>) {
        let Some(mark) = mark else { return };
        if let Mark::Started { name } = &mark {
            self.teller.tell(Body::BackgroundStarted { of: of(call), name: name.clone() });
        }
        self.board.known.mark(call.id(), mark);
    }

    /// Records and tells the end of a background command.
    pub(super) async fn background_ended(&mut self, call: &CallId, job: &Job) -> Result<(), Halt> {
        let ending = self.board.ending_of(&self.state, call, job);
        self.record_ending(ending).await
    }

    /// The next order. What ends in the background meanwhile is taken as it comes.
    pub(super) async fn next_order(&mut self) -> Result<Order, Halt> {
        loop {
            tokio::select! {
                order = self.orders.next() => return Ok(order),
                Some(report) = self.reports.recv() => drop(self.reported(report).await?),
            }
        }
    }

    /// What never started counts as ended: the call that was to start it was interrupted, so nobody heard of it.
    pub(super) async fn background_failed(&mut self, call: &CallId, error: &str) -> Result<(), Halt> {
        let told = format!("it did not start: {error}");
        let result = ResultFacts { summary: told.clone(), ..ResultFacts::default() };
        self.record_end(call, Cause::Itself, told, result).await
    }

    async fn record_end(
        &mut self,
        call: &CallId,
        cause: Cause,
        told: String,
        result: ResultFacts,
    ) -> Result<(), Halt> {
        let ending = Ending::new(&self.state, call, cause, told, result);
        self.record_ending(ending).await
    }

    async fn record_ending(&mut self, ending: Option<Ending>) -> Result<(), Halt> {
        if let Some(Ending { event, facts, body }) = ending {
            self.record(event, facts).await?;
            self.teller.tell(body);
        }
        Ok(())
    }

    /// Ends all background commands and records their ends. Gives their names.
    ///
    /// # Errors
    /// When one does not end: then nothing may be made of the workspace.
    pub(super) async fn end_background(&mut self, cause: Cause) -> Result<Vec<String>, Halt> {
        let ended = self.background_names();
        let until = Instant::now() + LAST_BREATH;
        self.board.ending = Some(cause);
        loop {
            let running = self.background_names();
            if running.is_empty() {
                break;
            }
            if Instant::now() >= until {
                return Err(Halt::Background(running.join("`, `")));
            }
            for name in running {
                effects::end_background(&self.sandbox, &name);
            }
            if let Ok(Some(report)) = tokio::time::timeout(AGAIN, self.reports.recv()).await {
                self.reported(report).await?;
            }
        }
        self.board.ending = None;
        Ok(ended)
    }

    /// Nothing runs any more from here: the change set is about to be made.
    pub(super) async fn end_background_for_review(&mut self) -> Result<(), Halt> {
        let ended = self.end_background(Cause::Review).await?;
        if !ended.is_empty() {
            let names = ended.join(", ");
            self.teller.notice(format!("background commands end before the change set is made: {names}"));
        }
        Ok(())
    }

    /// The sandbox goes: what is left in the background is dead with it. That one does not end keeps nobody from going.
    pub(super) async fn end_background_with_session(&mut self) -> Result<(), Halt> {
        match self.end_background(Cause::Session).await {
            Ok(_) => Ok(()),
            Err(Halt::Background(names)) => {
                self.teller.notice(Halt::Background(names).to_string());
                let left: Vec<CallId> =
                    self.state.background().iter().map(|running| running.call.clone()).collect();
                for call in left {
                    let told = "its end was not seen".to_owned();
                    let result = ResultFacts { summary: told.clone(), ..ResultFacts::default() };
                    self.record_end(&call, Cause::Session, told, result).await?;
                }
                Ok(())
            }
            Err(halt) => Err(halt),
        }
    }
}
