//! The past of a session, read once: its state, the cards of its questions, what ran under its grants.
//!
//! Everything comes from one reading of the stored events. Nothing is written here.

use enclos_core::decision::DecidedBy;
use enclos_core::ids::{CallId, SessionId};
use enclos_core::session::{Event, Session};
use enclos_protocol::card::Card;
use enclos_protocol::error::{ApiError, Fault};
use enclos_store::Store;

/// What happened in a session so far.
pub(crate) struct Past {
    /// The fold of its events.
    pub state: Session,
    /// The number of the last call that was proposed; 0 before the first.
    pub last_call: u64,
    events: Vec<(i64, Event)>,
}

/// What ran under a grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    /// Calls.
    pub count: u64,
    /// When the last one started, in microseconds of the Unix epoch.
    pub last_us: Option<i64>,
}

impl Past {
    /// Reads it.
    ///
    /// # Errors
    /// When the store cannot be read, or its events make no session.
    pub(crate) fn read(store: &Store, id: &SessionId) -> Result<Self, ApiError> {
        let stored = store.events(id).map_err(|error| internal(&error))?;
        let mut events = Vec::new();
        for event in &stored {
            if let Some(content) = &event.content {
                let parsed: Event = serde_json::from_slice(content).map_err(|error| internal(&error))?;
                events.push((event.time_us, parsed));
            }
        }
        let calls = events.iter().filter_map(|(_, event)| match event {
            Event::Answered(answer) => answer.calls.iter().filter_map(|call| number(&call.call)).max(),
            _ => None,
        });
        let last_call = calls.max().unwrap_or(0);
        let state = Session::replay(events.iter().map(|(time_us, event)| (*time_us, event)));
        Ok(Self { state: state.map_err(|error| internal(&error))?, last_call, events })
    }

    /// The card of a question, as the session told it.
    pub(crate) fn card(&self, approval: &str) -> Option<Card> {
        self.events.iter().rev().find_map(|(_, event)| match event {
            Event::Asked { approval: asked, card, .. } if asked.id == approval => {
                serde_json::from_value(card.clone()).ok()
            }
            _ => None,
        })
    }

    /// What ran under a grant.
    pub(crate) fn uses(&self, grant: &str) -> Uses {
        let under = |by: &DecidedBy| matches!(by, DecidedBy::Automation(rule) if rule.as_str().strip_prefix("grant.") == Some(grant));
        let started = self
            .events
            .iter()
            .filter(|(_, event)| matches!(event, Event::Started { decided_by, .. } if under(decided_by)));
        let times: Vec<i64> = started.map(|(time_us, _)| *time_us).collect();
        Uses { count: times.len() as u64, last_us: times.last().copied() }
    }
}

/// The state of a session.
///
/// # Errors
/// As [`Past::read`].
pub(crate) fn replay(store: &Store, id: &SessionId) -> Result<Session, ApiError> {
    Ok(Past::read(store, id)?.state)
}

fn number(call: &CallId) -> Option<u64> {
    call.as_str().strip_prefix("call_").and_then(|number| number.parse().ok())
}

fn internal(error: &dyn std::fmt::Display) -> ApiError {
    ApiError::new(Fault::Internal, error.to_string())
}
