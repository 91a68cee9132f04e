//! Calling the model: the request, its answer as a proposal, and what is done when there is none.

use enclos_connect::model::{Delta, Model, ModelError};
use enclos_core::call::Call;
use enclos_core::ids::CallId;
use enclos_core::model::{self, Answer, Message, Request};
use enclos_core::session::{Answer as Proposed, Event, Proposal};
use enclos_protocol::event::{Body, Of, Speaker};
use enclos_protocol::order::Order;
use serde_json::Value;

use super::handle::of;
use super::record::{Facts, record_beside};
use super::{Exit, Finish, Flow, Halt, Live, answer};
use crate::effects::Report;
use crate::tell::Teller;

/// Corrections in a row before a run is given up.
const MOST_CORRECTIONS: u32 = 5;

/// How a model call ended.
enum Asked {
    Answered(Answer),
    Failed(ModelError),
    Ordered(Order),
}

/// What was reported while the model was asked.
#[derive(Default)]
struct Meanwhile {
    /// Ends of background commands that are recorded, to be told.
    ended: Vec<Body>,
    /// What comes of calls that were interrupted before.
    late: Vec<Report>,
}

impl Live {
    /// Calls the model once, or shortens the history first.
    pub(super) async fn ask_model(&mut self) -> Result<Flow, Halt> {
        if self.must_compact().await {
            return self.compact().await;
        }
        let request = self.request();
        let mut seen = Fragments::new(self.next_call);
        let mut meanwhile = Meanwhile::default();
        let asked = self.exchange(&request, &mut seen, &mut meanwhile).await;
        meanwhile.ended.into_iter().for_each(|body| self.teller.tell(body));
        for report in meanwhile.late {
            self.reported(report).await?;
        }
        let asked = asked?;
        match asked {
            Asked::Answered(answer) => self.take_answer(&request, answer, seen).await,
            Asked::Ordered(order) => {
                seen.cancel(&mut self.teller, "interrupted");
                self.ordered(order).await
            }
            Asked::Failed(error) => {
                seen.cancel(&mut self.teller, "the answer was cut");
                self.model_failed(error).await
            }
        }
    }

    /// Asks, and takes orders meanwhile. What ends in the background is recorded as it ends, and told behind the answer.
    async fn exchange(
        &mut self,
        request: &Request,
        seen: &mut Fragments,
        meanwhile: &mut Meanwhile,
    ) -> Result<Asked, Halt> {
        let person = self.person.clone();
        let Self { model, teller, orders, queued, state, lease, clock, reports, board, .. } = self;
        let mut on = |delta| seen.show(teller, delta);
        let asking = model.ask(request, &mut on);
        tokio::pin!(asking);
        loop {
            tokio::select! {
                answer = &mut asking => return Ok(answer.map_or_else(Asked::Failed, Asked::Answered)),
                Some(report) = reports.recv() => match report {
                    Report::Ended { call, ended } => {
                        if let Some(ending) = board.ending_of(state, &call, &ended) {
                            record_beside(state, lease, clock.now_us(), &ending.event, &ending.facts).await?;
                            meanwhile.ended.push(ending.body);
                        }
                    }
                    Report::Output { .. } | Report::Done { .. } => meanwhile.late.push(report),
                },
                order = orders.next() => match order {
                    Order::Say { text } => queued.push(text),
                    Order::Interrupt | Order::Stop | Order::Leave => return Ok(Asked::Ordered(order)),
                    Order::RevokeGrant { grant } => {
                        // In force before the model has answered: nothing that it proposes runs under the grant.
                        let source = orders.source();
                        let told = answer::revoke(state, lease, clock.now_us(), &grant, &person).await?;
                        source.reply(told);
                    }
                    Order::Approve { .. }
                    | Order::Reject { .. }
                    | Order::Edit { .. }
                    | Order::Extend { .. }
                    | Order::Accept { .. }
                    | Order::Discard => {}
                },
            }
        }
    }

    /// What is sent.
    pub(super) fn request(&self) -> Request {
        let visible = self.tools.iter().filter(|tool| tool.visible);
        Request {
            instructions: self.instructions.clone(),
            messages: self
                .state
                .history()
                .messages()
                .iter()
                .map(|message| message.as_ref().clone())
                .collect(),
            tools: visible.map(|tool| tool.spec.clone()).collect(),
            completed_calls: self.state.model_calls(),
            max_calls: model::MAX_CALLS,
            max_bytes: model::MAX_BYTES,
        }
    }

    async fn take_answer(
        &mut self,
        request: &Request,
        answer: Answer,
        seen: Fragments,
    ) -> Result<Flow, Halt> {
        let estimate = tokens_of(request, &answer);
        let counted = answer.usage.map(|usage| usage.input.saturating_add(usage.output));
        let proposals = self.proposals(&answer);
        self.next_call += proposals.len() as u64;
        let correction = answer.malformed.clone();
        self.corrections = if correction.is_some() { self.corrections + 1 } else { 0 };
        let proposed = Proposed {
            text: answer.text.clone(),
            calls: proposals,
            tokens: counted.unwrap_or(0).max(estimate),
            correction,
            cut: answer.cut.clone(),
        };
        self.record(Event::Answered(proposed), Facts::new()).await?;
        self.window.just_compacted = false;
        self.window.last = counted.map(|counted| (counted, self.state.history().tokens()));
        if !answer.text.is_empty() {
            self.teller.tell(Body::Message { role: Speaker::Assistant, text: answer.text });
        }
        let calls: Vec<Call> = self.state.calls().to_vec();
        for (index, call) in calls.iter().enumerate() {
            if !seen.began(index) {
                self.teller.tell(Body::CallGenerating { of: of(call) });
            }
            self.tell_proposal(call);
        }
        self.tell_budget();
        if self.corrections > MOST_CORRECTIONS {
            let why =
                format!("the model's answers could not be understood, {MOST_CORRECTIONS} times in a row");
            self.teller.notice(why.clone());
            return Ok(Flow::Finish(Finish::new(Exit::Failed, why.clone()).because(why)));
        }
        Ok(Flow::On)
    }

    /// Tells a complete proposal: its arguments as they read, else as they were sent.
    pub(super) fn tell_proposal(&mut self, call: &Call) {
        let arguments = serde_json::from_str::<Value>(call.arguments());
        let arguments = arguments.unwrap_or_else(|_| Value::String(call.arguments().to_owned()));
        self.teller.tell(Body::CallGenerated { of: of(call), arguments });
    }

    /// Gives every call its name in the session, and the name that is sent back to the server.
    fn proposals(&self, answer: &Answer) -> Vec<Proposal> {
        let mut used: Vec<String> = Vec::new();
        for message in self.state.history().messages() {
            if let Message::Assistant { calls, .. } = message.as_ref() {
                used.extend(calls.iter().map(|call| call.id.clone()));
            }
        }
        let numbered = answer.calls.iter().zip(self.next_call..);
        numbered
            .map(|(call, number)| {
                let own = call.id.clone().filter(|id| !id.is_empty() && !used.contains(id));
                let server_id = own.unwrap_or_else(|| model::mint_id(number));
                used.push(server_id.clone());
                Proposal {
                    call: CallId::new(format!("call_{number}")),
                    server_id: Some(server_id),
                    tool: call.name.clone(),
                    arguments: call.arguments.clone(),
                }
            })
            .collect()
    }

    async fn model_failed(&mut self, error: ModelError) -> Result<Flow, Halt> {
        match &error {
            ModelError::TooLong { .. } if !self.window.just_compacted => {
                if let Flow::On = self.compact().await? {
                    return Ok(Flow::On);
                }
            }
            ModelError::TooLarge { .. } => {
                let correction =
                    Some(format!("Your answer was not accepted: {error}. Answer again with less."));
                let (text, calls) = (String::new(), Vec::new());
                let answer = Proposed { text, calls, tokens: 0, correction, cut: None };
                self.record(Event::Answered(answer), Facts::new()).await?;
                return Ok(Flow::On);
            }
            _ => {}
        }
        let why = error.to_string();
        self.record(Event::ModelFailed { error: why.clone() }, Facts::new()).await?;
        self.teller.notice(why.clone());
        let exit = match error {
            ModelError::Unreachable { .. }
            | ModelError::RateLimited { .. }
            | ModelError::Failed { .. }
            | ModelError::Cut { .. } => Exit::Unreachable,
            ModelError::Spec { .. } | ModelError::Script { .. } => Exit::Usage,
            ModelError::TooLong { .. }
            | ModelError::Refused { .. }
            | ModelError::Malformed { .. }
            | ModelError::TooLarge { .. } => Exit::Failed,
        };
        let next = format!("mend it, then: enclos resume {}", self.lease.session());
        Ok(Flow::Finish(Finish::new(exit, next).because(why)))
    }

    /// Whether the model is a script, which cannot summarise.
    pub(super) fn model_is_script(&self) -> bool {
        matches!(self.model, Model::Script(_))
    }
}

/// An estimate of what a model call used, from below: a quarter of its bytes.
fn tokens_of(request: &Request, answer: &Answer) -> u64 {
    let of_message = |message: &Message| match message {
        Message::User { text } | Message::Result { text, .. } => text.len(),
        Message::Assistant { text, calls } => {
            text.len() + calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>()
        }
    };
    let sent: usize = request.instructions.len() + request.messages.iter().map(of_message).sum::<usize>();
    let got: usize = answer.text.len() + answer.calls.iter().map(|call| call.arguments.len()).sum::<usize>();
    ((sent + got) / 4) as u64
}

/// The calls that are being generated, as a client is shown them. Nothing else reads them.
struct Fragments {
    first: u64,
    began: Vec<Of>,
}

impl Fragments {
    fn new(first: u64) -> Self {
        Self { first, began: Vec::new() }
    }

    fn began(&self, index: usize) -> bool {
        index < self.began.len()
    }

    fn show(&mut self, teller: &mut Teller, delta: Delta) {
        match delta {
            Delta::Text(text) => teller.tell(Body::MessageDelta { text }),
            Delta::CallStarted { index, name } if index == self.began.len() => {
                let call = CallId::new(format!("call_{}", self.first + index as u64));
                let of = Of { call, tool: name };
                self.began.push(of.clone());
                teller.tell(Body::CallGenerating { of });
            }
            Delta::Reasoning(_) | Delta::CallArguments { .. } | Delta::CallStarted { .. } => {}
            Delta::Retrying { attempt, wait, reason } => {
                self.cancel(teller, "the answer was cut");
                let seconds = wait.as_secs_f64();
                teller.notice(format!(
                    "the model is asked again in {seconds:.1} s (attempt {attempt}): {reason}"
                ));
            }
        }
    }

    fn cancel(&mut self, teller: &mut Teller, reason: &str) {
        for of in self.began.drain(..) {
            teller.tell(Body::CallCanceled { of, reason: reason.to_owned() });
        }
    }
}
