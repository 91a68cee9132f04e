//! One question shown to the person at this terminal, until it is answered here or over elsewhere.
//!
//! It looks like a session with a single card, so the terminal asks as it always does: the whole card first, keys that
//! were typed before it dropped, no answer by default. When somebody else is first, the card closes with who it was.

use std::time::Duration;

use enclos_protocol::api::Attached;
use enclos_protocol::card::Card;
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::event::{ApprovalState, Body, Event as Told, Of, SessionState};
use enclos_protocol::order::Order;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::approvals::{Desk, Found};
use crate::session::state_view;
use crate::tell::Teller;

/// Between two looks at whether the question is over.
const LOOK: Duration = Duration::from_millis(300);

/// Shows a question and takes its answer.
///
/// # Errors
/// When the question is over, or its card is not known any more.
pub(crate) fn attend(desk: Desk, name: &str) -> Result<Attached, ApiError> {
    let found = desk.find(name)?;
    let Found { session, state, card, call } = found;
    let missing = |why: &str| {
        ApiError::new(Fault::Refused, format!("`{name}` {why}"))
            .hint("`enclos approvals` lists those that wait")
    };
    let Some((call, _)) = call else {
        let over = state.approval(name).map(|(state, _)| state_view(state));
        return Err(missing(&format!("waits for no answer any more: {}", word(over))));
    };
    let card = card.ok_or_else(|| missing("has no card that could be shown"))?;
    let (listener, events) = unbounded_channel::<Told>();
    let (orders, inbox) = unbounded_channel::<Order>();
    let mut teller = Teller::new(session.clone(), desk.clock.clone(), listener);
    let of = Of { call, tool: card.tool.clone() };
    let arguments = serde_json::from_str(&card.arguments).unwrap_or_default();
    teller.tell(Body::CallGenerated { of: of.clone(), arguments });
    teller.tell(Body::State { state: SessionState::WaitingApproval });
    let shown = Shown { desk, teller, of, name: name.to_owned(), card };
    #[expect(
        clippy::disallowed_methods,
        reason = "ends with the card: at its answer, or when the terminal is gone"
    )]
    tokio::spawn(shown.follow(inbox));
    Ok(Attached { session, events, orders })
}

fn word(state: Option<ApprovalState>) -> String {
    let value = serde_json::to_value(state).unwrap_or_default();
    value.as_str().unwrap_or("over").to_owned()
}

/// A card that is shown.
struct Shown {
    desk: Desk,
    teller: Teller,
    of: Of,
    name: String,
    card: Card,
}

impl Shown {
    async fn follow(mut self, mut inbox: UnboundedReceiver<Order>) {
        self.show();
        let mut ticks = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                order = inbox.recv() => match order {
                    Some(order @ (Order::Approve { .. } | Order::Reject { .. } | Order::Edit { .. })) => {
                        if self.answered(order).await {
                            return;
                        }
                    }
                    Some(Order::Stop) => return self.stop().await,
                    Some(Order::Leave | Order::Interrupt) | None => {
                        return self.finish(130, "the question still waits for an answer".to_owned());
                    }
                    Some(_) => {}
                },
                _ = ticks.tick() => if self.is_over() {
                    return;
                },
            }
        }
    }

    fn show(&mut self) {
        let card = Box::new(self.card.clone());
        self.teller.tell(Body::Budget(self.card.budget));
        self.teller.tell(Body::ApprovalRequested { of: self.of.clone(), approval: self.name.clone(), card });
    }

    /// Gives an answer. `true` when the question is over with it.
    async fn answered(&mut self, order: Order) -> bool {
        match self.desk.answer(order, true).await {
            Ok(answered) if answered.state == ApprovalState::Pending => {
                self.teller.notice("the answer counts; others must approve as well");
                self.show();
                false
            }
            Ok(answered) => {
                self.tell(answered.state, answered.decided_by);
                let next = match (answered.live, answered.state) {
                    (true, ApprovalState::Superseded) => "it is asked again: enclos approvals".to_owned(),
                    (true, _) => String::new(),
                    (false, _) => format!("enclos resume {}", answered.session),
                };
                self.finish(0, next);
                true
            }
            Err(error) => {
                if self.is_over() {
                    return true;
                }
                self.teller.notice(error.message);
                self.show();
                false
            }
        }
    }

    /// Whether the question is over; then that is told, with who answered.
    fn is_over(&mut self) -> bool {
        let Ok(found) = self.desk.find(&self.name) else { return false };
        if found.call.is_some() {
            return false;
        }
        let told = found.state.approval(&self.name);
        let (state, by) =
            told.map_or((ApprovalState::Withdrawn, None), |(state, by)| (state_view(state), by.cloned()));
        self.tell(state, by);
        self.finish(1, "the question was over before an answer was given here".to_owned());
        true
    }

    fn tell(&mut self, state: ApprovalState, decided_by: Option<enclos_core::decision::DecidedBy>) {
        let (of, approval) = (self.of.clone(), self.name.clone());
        self.teller.tell(Body::ApprovalDecided { of, approval, state, decided_by });
    }

    async fn stop(mut self) {
        let stopped = match self.desk.find(&self.name) {
            Ok(found) => self.desk.stop(&found.session, true).await,
            Err(error) => Err(error),
        };
        match stopped {
            Ok(()) => self.finish(130, "the session is stopped".to_owned()),
            Err(error) => self.finish(1, error.message),
        }
    }

    fn finish(&mut self, exit_code: u8, next_step: String) {
        let session_state = SessionState::WaitingApproval;
        self.teller.tell(Body::Finished { exit_code, session_state, next_step, error: None });
    }
}
