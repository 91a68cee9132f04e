//! Questions of a person's sessions, seen and answered from any other terminal.
//!
//! They are read from the store, so a session at work and one that is parked look alike. An answer to a session at
//! work goes to its control socket; one to a parked session is kept in the store and taken up by `resume`, which
//! checks it again before anything runs. Nothing is performed here.

use std::path::PathBuf;

use enclos_core::args::Schema;
use enclos_core::decision::DecidedBy;
use enclos_core::ids::{CallId, RuleId, SessionId};
use enclos_core::policy::Role;
use enclos_core::session::{Approval, Event, Grant, Outcome, Pattern, Phase, Remember, Session, Settlement};
use enclos_protocol::card::Card;
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::event::ApprovalState;
use enclos_protocol::order::{Order, Reply, Sent};
use enclos_protocol::report::{Answered, ApprovalRow, GrantRow};
use enclos_store::{Lease, LeaseError, SessionFilter, Store};

use crate::clock::{Clock, rfc3339};
use crate::control;
use crate::identity::Person;
use crate::session::{self, Facts, Here, Past, Said, answer_event, checked, over, record_beside, state_view};
use crate::sessions::{self, of_store};

/// What is needed to see and answer questions.
#[derive(Clone)]
pub(crate) struct Desk {
    pub store: Store,
    pub run: PathBuf,
    pub person: Person,
    pub clock: Clock,
}

/// A question that was found by its name.
pub(crate) struct Found {
    pub session: SessionId,
    pub state: Session,
    /// The card as it was shown first.
    pub card: Option<Card>,
    /// The call, while the question is open.
    pub call: Option<(CallId, Approval)>,
}

impl Desk {
    /// Every question that waits, the oldest first.
    pub(crate) fn list(&self) -> Result<Vec<ApprovalRow>, ApiError> {
        let filter = SessionFilter { open_only: true, ..SessionFilter::default() };
        let rows = self.store.sessions(&filter).map_err(|error| of_store(&error))?;
        let mut waiting = Vec::new();
        for row in rows.into_iter().filter(|row| row.state == "waiting_approval") {
            let past = Past::read(&self.store, &row.id)?;
            let live = control::is_live(&self.run, &row.id);
            for (_, approval) in past.state.pending() {
                let card = past.card(&approval.id);
                waiting.push((approval.expires_us, self.row(&row.id, approval, card, live)));
            }
        }
        waiting.sort_by_key(|(expires_us, _)| *expires_us);
        Ok(waiting.into_iter().map(|(_, row)| row).collect())
    }

    fn row(&self, session: &SessionId, approval: &Approval, card: Option<Card>, live: bool) -> ApprovalRow {
        let late = self.clock.now_us() >= approval.expires_us;
        let of =
            |part: fn(&Card) -> &str| card.as_ref().map(|card| part(card).to_owned()).unwrap_or_default();
        ApprovalRow {
            approval: approval.id.clone(),
            session: session.clone(),
            tool: of(|card| &card.tool),
            title: of(|card| &card.title),
            rule: of(|card| card.rule.as_str()),
            scope: of(|card| &card.scope),
            state: if late { ApprovalState::Expired } else { ApprovalState::Pending },
            expires: rfc3339(approval.expires_us),
            needs: of(|card| &card.needs),
            live,
            card,
        }
    }

    /// Finds a question by its name, whatever became of it.
    ///
    /// # Errors
    /// When no open session of this person has a question of that name.
    pub(crate) fn find(&self, name: &str) -> Result<Found, ApiError> {
        let unknown = || {
            ApiError::new(Fault::NotFound, format!("there is no approval `{name}`"))
                .hint("`enclos approvals` lists those that wait")
        };
        let tail = name.strip_prefix("ap_").and_then(|rest| rest.split_once('_')).map(|(tail, _)| tail);
        let tail = tail.filter(|tail| !tail.is_empty()).ok_or_else(unknown)?;
        let rows = self.store.sessions(&SessionFilter::default()).map_err(|error| of_store(&error))?;
        for row in rows.into_iter().filter(|row| row.id.as_str().ends_with(tail) && row.extra.is_some()) {
            let past = Past::read(&self.store, &row.id)?;
            if past.state.approval(name).is_none() {
                continue;
            }
            let card = past.card(name);
            let state = past.state;
            let call = state.pending().find(|(_, asked)| asked.id == name);
            let call = call.map(|(call, asked)| (call.clone(), asked.clone()));
            return Ok(Found { session: row.id, state, card, call });
        }
        Err(unknown())
    }

    /// Gives an answer: to the session at work, else into the store.
    ///
    /// # Errors
    /// When the question is over, the answer does not count, or the session cannot be written.
    pub(crate) async fn answer(&self, order: Order, at_terminal: bool) -> Result<Answered, ApiError> {
        let name = match &order {
            Order::Approve { approval, .. }
            | Order::Reject { approval, .. }
            | Order::Edit { approval, .. } => approval.clone(),
            _ => return Err(ApiError::new(Fault::Usage, "this is no answer to a question")),
        };
        let found = self.find(&name)?;
        if found.call.is_none() {
            return Err(refused(&name, over(&found.state, &name)));
        }
        let sent = Sent { order: order.clone(), at_terminal };
        let reply = control::send(&self.run, &found.session, &sent).await;
        let (reply, live) = match reply.ok().flatten() {
            Some(reply) => (reply, true),
            None => (self.keep(&found.session, &name, order, at_terminal).await?, false),
        };
        match reply {
            Reply::Taken | Reply::Counted { .. } => {
                let state = session::replay(&self.store, &found.session)?;
                let told = state.approval(&name).map(|(state, by)| (state_view(state), by.cloned()));
                let (state, decided_by) = told.unwrap_or((ApprovalState::Pending, None));
                Ok(Answered { approval: name, session: found.session, state, decided_by, live })
            }
            reply => Err(refused(&name, reply)),
        }
    }

    /// Keeps an answer in the store of a session that nothing works on.
    async fn keep(
        &self,
        id: &SessionId,
        name: &str,
        order: Order,
        at_terminal: bool,
    ) -> Result<Reply, ApiError> {
        let lease = self.lease(id)?;
        // What was read before the lease may be old by now.
        let mut state = session::replay(&self.store, id)?;
        let pending = state.pending().find(|(_, asked)| asked.id == name);
        let Some((call, asked)) = pending.map(|(call, asked)| (call.clone(), asked.clone())) else {
            return Ok(over(&state, name));
        };
        let now_us = self.clock.now_us();
        let late = now_us >= asked.expires_us;
        let event = if late {
            Event::Settled { call, answer: Settlement::Expired }
        } else {
            match self.event(&state, &call, order, at_terminal) {
                Ok(event) => event,
                Err(why) => return Ok(Reply::Refused { why }),
            }
        };
        if let Err(error) = state.clone().fold(now_us, &event) {
            return Ok(Reply::Refused { why: error.to_string() });
        }
        record_beside(&mut state, &lease, now_us, &event, &Facts::new())
            .await
            .map_err(|halt| ApiError::new(Fault::Internal, halt.to_string()))?;
        Ok(if late { over(&state, name) } else { Reply::Taken })
    }

    fn event(
        &self,
        state: &Session,
        call: &CallId,
        order: Order,
        at_terminal: bool,
    ) -> Result<Event, String> {
        let program = |name: &str| DecidedBy::Automation(RuleId::new(name));
        let human = DecidedBy::Human(self.person.user.clone());
        let by = |name: &str| if at_terminal { human.clone() } else { program(name) };
        let here = Here { person: &self.person.user, role: Role::Owner };
        match order {
            Order::Approve { for_session, pattern, .. } => {
                let exact = if for_session { Remember::Exact } else { Remember::Nothing };
                let said = Said::Yes(pattern.map_or(exact, Remember::Pattern));
                answer_event(state, call, said, &by("cli.approve"), here)
            }
            Order::Reject { word, .. } => answer_event(state, call, Said::No(word), &by("cli.reject"), here),
            Order::Edit { arguments, .. } => {
                let of_call = state.calls().iter().find(|known| known.id() == call);
                let tool = of_call.and_then(|call| {
                    enclos_core::tool::built_in().into_iter().find(|tool| tool.name == call.tool())
                });
                let tool = tool.ok_or_else(|| "there is no such tool".to_owned())?;
                let schema = Schema::new(&tool.schema).map_err(|error| error.to_string())?;
                checked(&schema, &arguments)?;
                answer_event(state, call, Said::Other(arguments), &by("cli.edit"), here)
            }
            _ => Err("this is no answer to a question".to_owned()),
        }
    }

    fn lease(&self, id: &SessionId) -> Result<Lease, ApiError> {
        self.store.lease(id).map_err(|error| match &error {
            LeaseError::Held { .. } => {
                ApiError::new(Fault::Unreachable, format!("the session `{id}` is being taken up: {error}"))
                    .hint("try again in a moment")
            }
            LeaseError::Store(inner) => of_store(inner),
        })
    }

    /// Stops a session: by an order to who works on it, else in the store.
    ///
    /// # Errors
    /// When there is no such session, it is closed already, or somebody is taking it up.
    pub(crate) async fn stop(&self, id: &SessionId, at_terminal: bool) -> Result<(), ApiError> {
        self.store.session(id).map_err(|error| of_store(&error))?;
        let sent = Sent { order: Order::Stop, at_terminal };
        if matches!(control::send(&self.run, id, &sent).await, Ok(Some(Reply::Taken))) {
            return Ok(());
        }
        let lease = self.lease(id)?;
        let state = session::replay(&self.store, id)?;
        if let Phase::Closed(_) = state.phase() {
            let message = format!("the session `{id}` is closed already: there is nothing to stop");
            return Err(
                ApiError::new(Fault::Usage, message).hint(format!("see what became of it: enclos show {id}"))
            );
        }
        let reason = format!("stopped by {}", self.person.user);
        let closed = Event::Closed { outcome: Outcome::Stopped, reason };
        session::close_quietly(&lease, &self.clock, &closed, &session::facts_of_end(&state))?;
        if let Ok(folder) = self.store.session_dir(id) {
            sessions::remove_layer(&folder.join("layer"));
        }
        Ok(())
    }

    /// The grants of open sessions, or of one.
    pub(crate) fn grants(&self, of: Option<&SessionId>) -> Result<Vec<GrantRow>, ApiError> {
        let filter = SessionFilter { open_only: true, ..SessionFilter::default() };
        let rows = self.store.sessions(&filter).map_err(|error| of_store(&error))?;
        let mut found = Vec::new();
        for row in rows.into_iter().filter(|row| of.is_none_or(|of| *of == row.id) && row.extra.is_some()) {
            let past = Past::read(&self.store, &row.id)?;
            found.extend(past.state.grants().iter().map(|grant| grant_row(&row.id, grant, &past)));
        }
        Ok(found)
    }

    /// Revokes a grant: in the session at work at once, else in the store.
    ///
    /// # Errors
    /// When no grant of that name is in force.
    pub(crate) async fn revoke(&self, grant: &str) -> Result<GrantRow, ApiError> {
        let known = self.grants(None)?.into_iter().find(|row| row.grant == grant);
        let row = known.ok_or_else(|| {
            ApiError::new(Fault::NotFound, format!("there is no grant `{grant}` in an open session"))
                .hint("`enclos grants` lists them")
        })?;
        let sent = Sent { order: Order::RevokeGrant { grant: grant.to_owned() }, at_terminal: true };
        let at_work = control::send(&self.run, &row.session, &sent).await.ok().flatten();
        let reply = if let Some(reply) = at_work {
            reply
        } else {
            let lease = self.lease(&row.session)?;
            let mut state = session::replay(&self.store, &row.session)?;
            session::revoke(&mut state, &lease, self.clock.now_us(), grant, &self.person.user)
                .await
                .map_err(|halt| ApiError::new(Fault::Internal, halt.to_string()))?
        };
        match reply {
            Reply::Taken => Ok(GrantRow { revoked_by: Some(self.person.user.as_str().to_owned()), ..row }),
            other => Err(refused(grant, other)),
        }
    }
}

fn grant_row(session: &SessionId, grant: &Grant, past: &Past) -> GrantRow {
    let uses = past.uses(&grant.id);
    // A grant has the number of the question that it came with.
    let card = grant.id.strip_prefix("gr_").and_then(|of| past.card(&format!("ap_{of}")));
    let exact = card.filter(|_| matches!(grant.pattern, Pattern::Exact { .. }));
    GrantRow {
        grant: grant.id.clone(),
        session: session.clone(),
        tool: grant.bound.tool.clone(),
        pattern: grant.pattern.in_words(),
        arguments: exact.and_then(|card| serde_json::from_str(&card.arguments).ok()),
        rule: grant.bound.rule.as_str().to_owned(),
        by: grant.by.as_str().to_owned(),
        given: rfc3339(grant.given_us),
        expires: "with the session".to_owned(),
        policy_digest: grant.bound.policy.as_str().to_owned(),
        uses: uses.count,
        last_used: uses.last_us.map(rfc3339),
        revoked_by: grant.revoked.as_ref().map(|user| user.as_str().to_owned()),
    }
}

/// Why an answer was not taken.
fn refused(name: &str, reply: Reply) -> ApiError {
    match reply {
        Reply::Refused { why } => ApiError::new(Fault::Refused, format!("`{name}`: {why}")),
        Reply::Over { state: ApprovalState::Expired, .. } => {
            ApiError::new(Fault::Approval, format!("`{name}` has expired: nobody answered in time"))
                .hint("it was not refused: the model is told so and may ask again")
        }
        Reply::Over { state, decided_by } => {
            let by = match decided_by {
                Some(DecidedBy::Human(user)) => format!(" by {user}"),
                Some(DecidedBy::Automation(rule)) => format!(" by {rule}"),
                None => String::new(),
            };
            let word = match state {
                ApprovalState::Pending => "is pending",
                ApprovalState::Approved => "was approved before",
                ApprovalState::Denied => "was refused before",
                ApprovalState::Expired => "has expired",
                ApprovalState::Superseded => "was superseded: what it was about has changed",
                ApprovalState::Withdrawn => "was withdrawn: its call or its session ended first",
            };
            ApiError::new(Fault::Refused, format!("`{name}` {word}{by}"))
                .hint("`enclos approvals` lists those that wait")
        }
        Reply::Taken | Reply::Counted { .. } => ApiError::new(Fault::Internal, "an answer was taken twice"),
    }
}
