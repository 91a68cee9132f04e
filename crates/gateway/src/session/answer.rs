//! Answers to cards, wherever they come from: whose they are, whether they count, and what they bring about.
//!
//! The first answer counts; whoever comes later is told what became of the question. An answer is a person's only when
//! it comes from the client at their terminal; any other is a program's, and never meets a rule that wants a person.

use enclos_core::args;
use enclos_core::call::Call;
use enclos_core::decision::DecidedBy;
use enclos_core::ids::{CallId, RuleId, UserId};
use enclos_core::policy::Role;
use enclos_core::session::{Approval, Event, Remember, Session, Settlement, Standing, approval};
use enclos_protocol::api::Answering;
use enclos_protocol::event::{ApprovalState, Body};
use enclos_protocol::order::Reply;
use enclos_store::Lease;

use super::handle::of;
use super::judge::Judged;
use super::orders::Source;
use super::record::{Facts, record_beside};
use super::{Flow, Halt, Live};

/// What was said to a card.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    /// Yes, and perhaps for more than this one call.
    Yes(Remember),
    /// No, and perhaps a word to the model.
    No(Option<String>),
    /// Not this, but the same tool with these arguments.
    Other(String),
}

/// The one person of a gateway of one's own, and their role.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here<'h> {
    pub person: &'h UserId,
    pub role: Role,
}

impl Here<'_> {
    fn standing(self) -> Standing {
        Standing { at_opening: Some(self.role), now: Some(self.role) }
    }

    /// Who could approve a question that nobody here can; `None` where its person can.
    pub(crate) fn who_could(self, asked: &Approval) -> Option<String> {
        let needs = asked.needs;
        if needs.can_be_met([(self.person, self.standing())], &asked.requesters) {
            return None;
        }
        let who = if needs.several() { format!("{} persons", needs.quorum) } else { "a person".to_owned() };
        let role =
            needs.role.map_or_else(|| "any role".to_owned(), |role| format!("the role {role} or above"));
        let apart = match (needs.separate, needs.several()) {
            (false, _) => "",
            (true, true) => ", none of them who asked for the call or changed it",
            (true, false) => ", other than who asked for the call or changed it",
        };
        Some(format!(
            "{who} with {role}{apart}. On this gateway there is one person, {} with the role {}, so the call cannot \
             be approved here: refuse it, change it, or stop the session",
            self.person, self.role
        ))
    }
}

/// The event that an answer is, or why it is none.
pub(crate) fn event(
    state: &Session,
    call: &CallId,
    said: Said,
    by: &DecidedBy,
    here: Here<'_>,
) -> Result<Event, String> {
    let Some((asked, _)) = state.question(call) else { return Err("there is no such question".to_owned()) };
    let call = call.clone();
    match (said, by) {
        (Said::No(word), by) => {
            Ok(Event::Settled { call, answer: Settlement::Denied { by: by.clone(), word } })
        }
        (Said::Other(arguments), DecidedBy::Human(user)) => {
            Ok(Event::Edited { call, by: user.clone(), arguments })
        }
        (Said::Other(_), DecidedBy::Automation(_)) => {
            Err("only a person at a terminal may change what is asked".to_owned())
        }
        (Said::Yes(remember), by) => {
            if let Some(who) = here.who_could(asked) {
                return Err(format!("it needs {who}"));
            }
            let standing = here.standing();
            let yes = state.consents(&call);
            asked.needs.counts(by, standing, &asked.requesters, yes).map_err(|error| error.to_string())?;
            match by {
                DecidedBy::Human(user) if asked.needs.several() => {
                    Ok(Event::Consented { call, by: user.clone(), standing })
                }
                by => Ok(Event::Settled { call, answer: Settlement::Approved { by: by.clone(), remember } }),
            }
        }
    }
}

/// The arguments of an edit, when they are complete and fit the tool.
pub(crate) fn checked(schema: &args::Schema, arguments: &str) -> Result<(), String> {
    let parsed = args::parse(arguments).and_then(|parsed| args::validate(parsed, schema));
    parsed.map(drop).map_err(|error| format!("the changed arguments were not understood: {error}"))
}

/// The state of an approval as clients are told it.
pub(crate) fn state_view(state: approval::State) -> ApprovalState {
    match state {
        approval::State::Pending => ApprovalState::Pending,
        approval::State::Approved => ApprovalState::Approved,
        approval::State::Denied => ApprovalState::Denied,
        approval::State::Expired => ApprovalState::Expired,
        approval::State::Superseded => ApprovalState::Superseded,
        approval::State::Withdrawn => ApprovalState::Withdrawn,
    }
}

/// What became of a question, for whoever answers too late.
pub(crate) fn over(state: &Session, approval: &str) -> Reply {
    match state.approval(approval) {
        Some((state, by)) => Reply::Over { state: state_view(state), decided_by: by.cloned() },
        None => Reply::Refused { why: format!("there is no approval `{approval}`") },
    }
}

/// Revokes a grant of a session.
pub(crate) async fn revoke(
    state: &mut Session,
    lease: &Lease,
    now_us: i64,
    grant: &str,
    by: &UserId,
) -> Result<Reply, Halt> {
    let event = Event::GrantRevoked { grant: grant.to_owned(), by: by.clone() };
    if let Err(error) = state.clone().fold(now_us, &event) {
        return Ok(Reply::Refused { why: error.to_string() });
    }
    record_beside(state, lease, now_us, &event, &Facts::new()).await?;
    Ok(Reply::Taken)
}

impl Live {
    /// Who is here.
    pub(super) fn here(&self) -> Here<'_> {
        Here { person: &self.person, role: self.role }
    }

    /// Takes an answer to a card.
    pub(super) async fn take(&mut self, approval: &str, said: Said) -> Result<Flow, Halt> {
        let source = self.orders.source();
        let by = self.answerer(&source, &said);
        let pending = self.state.pending().find(|(_, asked)| asked.id == approval);
        let pending = pending.map(|(id, asked)| (id.clone(), asked.clone()));
        let Some((id, asked)) = pending else {
            source.reply(over(&self.state, approval));
            return Ok(Flow::On);
        };
        let Some(call) = self.find(&id) else { return Ok(Flow::On) };
        if self.clock.now_us() >= asked.expires_us {
            self.expired(&id).await?;
            source.reply(over(&self.state, approval));
            return Ok(Flow::On);
        }
        match self.answer_event(&call, said, &by) {
            Err(why) => {
                self.teller.notice(format!("the answer does not count: {why}"));
                if source.remote.is_none() {
                    self.show_again(&call, &asked);
                }
                source.reply(Reply::Refused { why });
            }
            Ok(event) => {
                self.record_answer(&call, approval, event).await?;
                source.reply(self.told_of(&call, &asked));
            }
        }
        Ok(Flow::On)
    }

    /// Whose answer it is.
    fn answerer(&self, source: &Source, said: &Said) -> DecidedBy {
        let human = source.remote.unwrap_or(self.answering == Answering::Person);
        if human {
            return DecidedBy::Human(self.person.clone());
        }
        let name = if matches!(said, Said::No(_)) { "cli.reject" } else { "cli.approve" };
        DecidedBy::Automation(RuleId::new(name))
    }

    fn answer_event(&self, call: &Call, said: Said, by: &DecidedBy) -> Result<Event, String> {
        if let Said::Other(arguments) = &said {
            let tool = self.tools.iter().find(|tool| tool.spec.name == call.tool());
            let tool = tool.ok_or_else(|| "there is no such tool".to_owned())?;
            checked(&tool.schema, arguments)?;
        }
        let event = event(&self.state, call.id(), said, by, self.here())?;
        let possible = self.state.clone().fold(self.clock.now_us(), &event);
        possible.map(|()| event).map_err(|error| error.to_string())
    }

    /// Records an answer and tells it.
    async fn record_answer(&mut self, call: &Call, approval: &str, event: Event) -> Result<(), Halt> {
        match event {
            Event::Settled { answer: Settlement::Denied { by, word }, .. } => {
                let answer = Settlement::Denied { by: by.clone(), word };
                self.settle_as_canceled(call, answer, ApprovalState::Denied, Some(by)).await
            }
            Event::Edited { .. } => {
                let by = DecidedBy::Human(self.person.clone());
                self.record(event, Facts::new()).await?;
                self.tell_settled(call, approval, ApprovalState::Superseded, Some(by));
                if let Some(edited) = self.find(call.id()) {
                    self.tell_proposal(&edited);
                }
                Ok(())
            }
            event => {
                self.record(event, Facts::new()).await?;
                if let Some((approval::State::Approved, by)) = self.state.approval(approval) {
                    let by = by.cloned();
                    self.tell_settled(call, approval, ApprovalState::Approved, by);
                    self.tell_grant(approval);
                }
                Ok(())
            }
        }
    }

    fn told_of(&self, call: &Call, asked: &Approval) -> Reply {
        match self.state.approval(&asked.id) {
            Some((approval::State::Pending, _)) => {
                Reply::Counted { have: self.state.consents(call.id()).len(), need: asked.needs.quorum }
            }
            _ => Reply::Taken,
        }
    }

    /// Says what was granted with an answer, and how it is taken back.
    fn tell_grant(&mut self, approval: &str) {
        let id = format!("gr_{}", approval.trim_start_matches("ap_"));
        let given = self.state.grants().iter().find(|grant| grant.id == id);
        if let Some(words) = given.map(|grant| grant.pattern.in_words()) {
            self.teller.notice(format!(
                "granted for this session: {words}; take it back with: enclos grants revoke {id}"
            ));
        }
    }

    /// Revokes a grant in the running session.
    pub(super) async fn revoke_grant(&mut self, grant: &str) -> Result<(), Halt> {
        let source = self.orders.source();
        let now_us = self.clock.now_us();
        let told = revoke(&mut self.state, &self.lease, now_us, grant, &self.person).await?;
        if told == Reply::Taken {
            self.teller.notice(format!("the grant {grant} is revoked: what it covered is asked again"));
        }
        source.reply(told);
        Ok(())
    }

    /// Shows a card again whose answer did not count.
    fn show_again(&mut self, call: &Call, asked: &Approval) {
        if let Judged::Decided(decided) = self.judge(call) {
            let card = self.card(call, &decided, self.named(&decided).as_ref(), asked);
            self.show_card(call, &asked.id, card);
        }
    }

    /// What a question was about has changed: it is judged again.
    pub(super) async fn supersede(&mut self, call: &Call, approval: &str) -> Result<(), Halt> {
        let answer = Settlement::Superseded;
        self.record(Event::Settled { call: call.id().clone(), answer }, Facts::new()).await?;
        self.tell_settled(call, approval, ApprovalState::Superseded, None);
        Ok(())
    }

    pub(super) async fn expired(&mut self, id: &CallId) -> Result<Flow, Halt> {
        let Some(call) = self.find(id) else { return Ok(Flow::On) };
        self.settle_as_canceled(&call, Settlement::Expired, ApprovalState::Expired, None).await?;
        Ok(Flow::On)
    }

    pub(super) async fn settle_as_canceled(
        &mut self,
        call: &Call,
        answer: Settlement,
        state: ApprovalState,
        by: Option<DecidedBy>,
    ) -> Result<(), Halt> {
        let approval = self.state.question(call.id()).map(|(approval, _)| approval.id.clone());
        let reason = match &answer {
            Settlement::Denied { by, .. } => {
                enclos_core::call::Canceled::Refused { who: by.clone(), word: None }.describe()
            }
            Settlement::Expired | Settlement::Approved { .. } | Settlement::Superseded => {
                "nobody answered in time".to_owned()
            }
        };
        self.record(Event::Settled { call: call.id().clone(), answer }, Facts::new()).await?;
        self.tell_settled(call, &approval.unwrap_or_default(), state, by);
        self.teller.tell(Body::CallCanceled { of: of(call), reason });
        Ok(())
    }
}
