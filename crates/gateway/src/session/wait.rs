//! Waiting: for what runs, for a person's answer, for an expiry. Orders are taken here at any time.

use enclos_core::call::{Call, State};
use enclos_core::decision::DecidedBy;
use enclos_core::ids::CallId;
use enclos_core::session::{Event, Outcome, Remember};
use enclos_protocol::event::{Amounts, ApprovalState, Body, BudgetView};
use enclos_protocol::order::Order;
use serde_json::json;

use super::answer::Said;
use super::entry::facts;
use super::handle::of;
use super::record::Facts;
use super::{Exit, Finish, Flow, Halt, Live, entry};
use crate::effects::Report;

impl Live {
    /// Waits for one thing and takes it.
    pub(super) async fn wait(&mut self) -> Result<Flow, Halt> {
        if let Some(call) = self.unattended() {
            return self.without_a_person(&call).await;
        }
        let expiry = self.state.pending().map(|(call, approval)| (approval.expires_us, call.clone())).min();
        let now_us = self.clock.now_us();
        let until = expiry.as_ref().map_or(i64::MAX, |(at, _)| at.saturating_sub(now_us).max(0));
        let sleep = tokio::time::sleep(std::time::Duration::from_micros(until.unsigned_abs()));
        tokio::select! {
            Some(report) = self.reports.recv() => self.reported(report).await,
            order = self.orders.next() => self.ordered(order).await,
            () = sleep, if expiry.is_some() => match expiry {
                Some((_, call)) => self.expired(&call).await,
                None => Ok(Flow::On),
            },
        }
    }

    /// Takes what a running call reports.
    pub(super) async fn reported(&mut self, report: Report) -> Result<Flow, Halt> {
        let (id, outcome) = match report {
            Report::Output { call, text, stderr, left_out } => {
                if let Some(call) = self.find(&call) {
                    self.teller.tell(Body::CallOutput { of: of(&call), text, stderr, left_out });
                }
                return Ok(Flow::On);
            }
            Report::Ended { call, ended } => {
                return self.background_ended(&call, &ended).await.map(|()| Flow::On);
            }
            Report::Done { call, outcome } => (call, outcome),
        };
        // A call that was interrupted meanwhile keeps its state: a late result counts no more.
        let running = |call: &Call| matches!(call.state(), State::Calling { .. });
        let Some(call) = self.find(&id).filter(running) else {
            if outcome.failed {
                self.background_failed(&id, &outcome.text).await?;
            }
            return Ok(Flow::On);
        };
        let result = facts([("result", entry::json(&outcome.facts))]);
        if outcome.failed {
            let event = Event::Failed { call: id, error: outcome.text.clone() };
            self.record(event, result).await?;
            let (error, result) = (first_line(&outcome.text, &outcome.facts.summary), Some(outcome.facts));
            self.teller.tell(Body::CallErrored { of: of(&call), error, result });
        } else {
            self.record(Event::Finished { call: id, output: outcome.text }, result).await?;
            self.teller.tell(Body::CallDone { of: of(&call), result: outcome.facts });
            self.take_mark(&call, outcome.mark);
        }
        self.tell_budget();
        Ok(Flow::On)
    }

    /// Takes an order.
    pub(super) async fn ordered(&mut self, order: Order) -> Result<Flow, Halt> {
        match order {
            Order::Approve { approval, for_session, pattern } => {
                let exact = if for_session { Remember::Exact } else { Remember::Nothing };
                let remember = pattern.map_or(exact, Remember::Pattern);
                self.take(&approval, Said::Yes(remember)).await
            }
            Order::Reject { approval, word } => self.take(&approval, Said::No(word)).await,
            Order::Edit { approval, arguments } => self.take(&approval, Said::Other(arguments)).await,
            Order::RevokeGrant { grant } => self.revoke_grant(&grant).await.map(|()| Flow::On),
            Order::Interrupt => self.interrupt(DecidedBy::Human(self.person.clone())).await,
            Order::Stop => self.stop().await,
            Order::Leave => self.leave().await,
            Order::Say { text } => {
                self.queued.push(text);
                Ok(Flow::On)
            }
            // These answer questions that are not open now.
            Order::Extend { .. } | Order::Accept { .. } | Order::Discard => Ok(Flow::On),
        }
    }

    /// Interrupts the turn: what waits is canceled, what runs is ended. The session stays.
    pub(super) async fn interrupt(&mut self, by: DecidedBy) -> Result<Flow, Halt> {
        self.sandbox.killer().kill_commands();
        let calls: Vec<Call> = self.state.calls().to_vec();
        let pending: Vec<(CallId, String)> =
            self.state.pending().map(|(call, approval)| (call.clone(), approval.id.clone())).collect();
        self.record(Event::Interrupted { by }, Facts::new()).await?;
        for call in calls.iter().filter(|call| !call.state().is_final()) {
            if let Some((_, approval)) = pending.iter().find(|(id, _)| id == call.id()) {
                self.tell_settled(call, approval, ApprovalState::Withdrawn, None);
            }
            let error = "interrupted".to_owned();
            self.teller.tell(match call.state() {
                State::Calling { .. } => Body::CallErrored { of: of(call), error, result: None },
                _ => Body::CallCanceled { of: of(call), reason: error },
            });
        }
        self.tell_budget();
        Ok(Flow::On)
    }

    /// Stops the session: it acts first and records then.
    pub(super) async fn stop(&mut self) -> Result<Flow, Halt> {
        self.sandbox.killer().kill_all();
        let reason = format!("stopped by {}", self.person);
        self.close(Outcome::Stopped, reason.clone()).await?;
        Ok(Flow::Finish(Finish::new(Exit::Interrupted, reason)))
    }

    /// Leaves the session as it is, to be resumed.
    async fn leave(&mut self) -> Result<Flow, Halt> {
        if self.state.calls().iter().any(|call| matches!(call.state(), State::Calling { .. })) {
            self.interrupt(super::handle::automation("client.left")).await?;
        }
        let next = format!("enclos resume {}", self.lease.session());
        Ok(Flow::Finish(Finish::new(Exit::Interrupted, next)))
    }

    /// Closes the session for good.
    pub(super) async fn close(&mut self, outcome: Outcome, reason: String) -> Result<(), Halt> {
        self.end_background_with_session().await?;
        let pending: Vec<(CallId, String)> =
            self.state.pending().map(|(call, approval)| (call.clone(), approval.id.clone())).collect();
        let used = self.state.budget().used(self.clock.now_us());
        self.record(Event::Closed { outcome, reason: reason.clone() }, facts([("used", json!(used))]))
            .await?;
        for (id, approval) in pending {
            if let Some(call) = self.find(&id) {
                self.tell_settled(&call, &approval, ApprovalState::Withdrawn, None);
            }
        }
        let outcome = crate::sessions::outcome_view(outcome);
        self.teller.tell(Body::Closed { outcome, reason });
        Ok(())
    }

    pub(super) fn find(&self, id: &CallId) -> Option<Call> {
        self.state.calls().iter().find(|call| call.id() == id).cloned()
    }

    pub(super) fn tell_budget(&mut self) {
        let view = self.budget_view();
        self.teller.tell(Body::Budget(view));
    }

    pub(super) fn budget_view(&self) -> BudgetView {
        budget_view(self.state.budget(), self.clock.now_us())
    }
}

/// A budget as clients are told it.
pub(crate) fn budget_view(budget: &enclos_core::budget::Budget, now_us: i64) -> BudgetView {
    BudgetView {
        used: amounts(budget.used(now_us)),
        granted: amounts(budget.granted()),
        extensions_left: budget.extensions_left(),
    }
}

/// Amounts as clients are told them.
pub(crate) fn amounts(of: enclos_core::budget::Amounts) -> Amounts {
    Amounts { actions: of.actions, minutes: of.minutes, tokens: of.tokens, commands: of.commands }
}

/// The summary of a command that was killed, else the first line of an error.
fn first_line(text: &str, summary: &str) -> String {
    if summary.is_empty() { text.lines().next().unwrap_or_default().to_owned() } else { summary.to_owned() }
}
