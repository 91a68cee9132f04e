//! What a session is to do now: derived from its state, so that a restarted gateway asks and knows.

use super::{Session, Turn};
use crate::budget::Exhausted;
use crate::call::State;
use crate::ids::CallId;
use crate::tool::is_read;

/// What is to be done now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Call the model.
    AskModel,
    /// Judge these calls and perform them; several only when all of them read.
    Judge(Vec<CallId>),
    /// Wait: for a running call, or for a person's approval.
    Wait,
    /// Ask for an extension, or stop.
    AskExtension(Exhausted),
    /// The turn is over: show what came of it and wait for the person.
    EndOfTurn(End),
    /// Nothing, ever.
    Nothing,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Nothing was asked yet.
    Input,
    /// The model gave its final answer.
    Answered,
    /// A person refused a call.
    Refused,
    /// Somebody interrupted it.
    Interrupted,
    /// The budget is spent.
    Budget,
    /// A person undid what was done.
    Undone,
}

impl Session {
    /// What is to be done now.
    pub fn next(&self, now_us: i64) -> Next {
        if self.closed.is_some() {
            return Next::Nothing;
        }
        if let Turn::Over(end) = self.turn {
            return if self.calls.is_empty() { Next::EndOfTurn(end) } else { Next::Wait };
        }
        if !self.calls.is_empty() {
            return self.next_of_calls();
        }
        match self.budget.left(now_us) {
            Ok(()) => Next::AskModel,
            Err(spent) => Next::AskExtension(spent),
        }
    }

    /// Calls go in order; only a run of consecutive reads goes together.
    fn next_of_calls(&self) -> Next {
        let mut open = self.calls.iter().filter(|call| !call.state().is_final()).peekable();
        let ready = |call: &crate::call::Call| {
            let waits = self.question(call.id()).is_some_and(|(_, approved)| approved.is_none());
            matches!(call.state(), State::Generated { .. }) && !waits
        };
        let Some(first) = open.next() else { return Next::Wait };
        if !is_read(first.tool()) {
            return if ready(first) { Next::Judge(vec![first.id().clone()]) } else { Next::Wait };
        }
        let together = std::iter::once(first).chain(open.take_while(|call| is_read(call.tool())));
        let due: Vec<CallId> = together.filter(|call| ready(call)).map(|call| call.id().clone()).collect();
        if due.is_empty() { Next::Wait } else { Next::Judge(due) }
    }
}
