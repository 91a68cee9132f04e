//! Recording: an event is in the store, on the disk, before the session takes it and before anything follows.

use enclos_core::lineage::Moment;
use enclos_core::session::{Event, Phase, Session};
use enclos_protocol::event::{Body, SessionState};
use enclos_store::{Lease, Receipt, Record, StateChange, StoreError};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::weave::View;
use super::{Halt, Live, entry};

/// Facts of an entry, beside those that the event itself has.
pub(crate) type Facts = Map<String, Value>;

impl Live {
    /// Records one event and lets the session take it.
    pub(super) async fn record(&mut self, event: Event, facts: Facts) -> Result<Receipt, Halt> {
        let mut receipts = self.record_all(vec![(event, facts)]).await?;
        receipts.pop().ok_or(Halt::Store(StoreError::NoRecords))
    }

    /// Records several events, each with a receipt of its own. The store commits them together.
    pub(super) async fn record_all(&mut self, events: Vec<(Event, Facts)>) -> Result<Vec<Receipt>, Halt> {
        let now_us = self.clock.now_us();
        let mut next = self.state.clone();
        let mut weaver = self.weaver.clone();
        let model = self.model.name();
        let mut records = Vec::new();
        for (event, facts) in &events {
            let before = next.phase();
            // A call that ends is asked for as it ran.
            let ends = matches!(event, Event::Finished { .. } | Event::Failed { .. });
            let calls = if ends { next.calls().to_vec() } else { Vec::new() };
            next.fold(now_us, event)?;
            let mut record = entry::record(event, facts, now_us, self.lease.commit_key());
            record.lineage = weaver.of_event(
                event,
                &View {
                    time: Moment(now_us),
                    label: next.label(),
                    calls: &calls,
                    model: &model,
                    key: self.lease.commit_key(),
                },
            );
            record.state = (before != next.phase()).then(|| state_change(next.phase()));
            records.push(record);
        }
        let waits: Vec<_> = records.into_iter().map(|record| self.append(record)).collect();
        let mut receipts = Vec::new();
        for wait in waits {
            receipts.push(wait.await.unwrap_or(Err(StoreError::Closed))?);
        }
        self.state = next;
        self.weaver = weaver;
        self.show_phase();
        Ok(receipts)
    }

    /// Records that the change set was applied, and its leaving.
    pub(super) async fn record_applied(&mut self, mut entry: Facts) -> Result<(), Halt> {
        let (now_us, key) = (self.clock.now_us(), self.lease.commit_key());
        let mut weaver = self.weaver.clone();
        let lineage = weaver.accepted(key, Moment(now_us)).into_iter().collect();
        entry::bound(&mut entry, key);
        let kind = "changeset.applied".to_owned();
        let record = Record { kind, time_us: now_us, entry, lineage, ..Record::default() };
        self.append(record).await.unwrap_or(Err(StoreError::Closed))?;
        self.weaver = weaver;
        Ok(())
    }

    /// Records an entry that changes nothing of the session.
    pub(super) async fn remark(&mut self, kind: &str, mut facts: Facts) -> Result<(), Halt> {
        entry::bound(&mut facts, self.lease.commit_key());
        let record =
            Record { kind: kind.to_owned(), time_us: self.clock.now_us(), entry: facts, ..Record::default() };
        self.append(record).await.unwrap_or(Err(StoreError::Closed))?;
        Ok(())
    }

    fn append(&self, record: Record) -> oneshot::Receiver<Result<Receipt, StoreError>> {
        let (answer, wait) = oneshot::channel();
        // Whoever waits below outlives the append, or the whole session is gone.
        self.lease.append(vec![record], Box::new(move |outcome| drop(answer.send(outcome))));
        wait
    }

    /// Tells that a message is awaited.
    pub(super) fn show_waiting(&mut self) {
        let phase = self.state.phase();
        if phase != self.shown {
            self.shown = phase;
            self.teller.tell(Body::State { state: session_state(phase) });
        }
    }

    fn show_phase(&mut self) {
        let phase = self.state.phase();
        // That a message is awaited is told by whoever begins to wait: first comes what the turn made.
        if phase != self.shown && phase != Phase::WaitingInput {
            self.shown = phase;
            self.teller.tell(Body::State { state: session_state(phase) });
        }
    }
}

/// Records one event of a session beside its loop, which is busy elsewhere or not at work, and lets the session take it.
pub(crate) async fn record_beside(
    state: &mut Session,
    lease: &Lease,
    now_us: i64,
    event: &Event,
    facts: &Facts,
) -> Result<(), Halt> {
    let mut next = state.clone();
    next.fold(now_us, event)?;
    let mut record = entry::record(event, facts, now_us, lease.commit_key());
    record.state = (state.phase() != next.phase()).then(|| state_change(next.phase()));
    let (answer, wait) = oneshot::channel();
    lease.append(vec![record], Box::new(move |outcome| drop(answer.send(outcome))));
    wait.await.unwrap_or(Err(StoreError::Closed))?;
    *state = next;
    Ok(())
}

/// The state that clients are told.
pub(crate) fn session_state(phase: Phase) -> SessionState {
    match phase {
        Phase::Running => SessionState::Running,
        Phase::WaitingApproval => SessionState::WaitingApproval,
        Phase::WaitingExtension => SessionState::WaitingExtension,
        Phase::WaitingInput => SessionState::WaitingInput,
        Phase::Reviewing => SessionState::Reviewing,
        Phase::Closed(_) => SessionState::Closed,
    }
}

/// What the listing of sessions shows.
pub(crate) fn state_change(phase: Phase) -> StateChange {
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let outcome = match phase {
        Phase::Closed(outcome) => Some(word(entry::json(&outcome))),
        _ => None,
    };
    StateChange { state: word(entry::json(&session_state(phase))), closed: outcome.is_some(), outcome }
}
