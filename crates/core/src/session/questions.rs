//! The questions of a session: asked, answered, overtaken, and the grants that came of answers.
//!
//! A question is about one call and lives until the call starts or ends. Its state outlives it, so that whoever
//! answers late is told what became of it. A refused action is remembered and not asked again.

use std::collections::BTreeMap;

use super::approval::{Approval, Standing, State, step};
use super::grant::{Asking, Grant, Pattern};
use super::{Impossible, Remember, Session, Settlement};
use crate::call::{Canceled, Event as CallEvent, State as CallState};
use crate::decision::DecidedBy;
use crate::ids::{CallId, Digest, UserId};

/// A question about a call, and its answers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Question {
    approval: Approval,
    yes: Vec<UserId>,
    approved: Option<DecidedBy>,
}

/// What is known of an approval, also once it is over.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Told {
    state: State,
    by: Option<DecidedBy>,
}

/// All questions and grants of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Questions {
    open: BTreeMap<CallId, Question>,
    told: BTreeMap<String, Told>,
    refused: BTreeMap<Digest, DecidedBy>,
    grants: Vec<Grant>,
    edits: Vec<(CallId, UserId)>,
}

impl Questions {
    fn ask(&mut self, call: &CallId, approval: &Approval) -> Result<(), Impossible> {
        if self.told.contains_key(&approval.id) || self.open.contains_key(call) {
            return Err(Impossible::Misplaced("a second question about a call, or of the same name"));
        }
        self.told.insert(approval.id.clone(), Told { state: State::Pending, by: None });
        let question = Question { approval: approval.clone(), yes: Vec::new(), approved: None };
        self.open.insert(call.clone(), question);
        Ok(())
    }

    /// Moves the approval of a call. A question that is over for good is forgotten; its state stays.
    fn settle(&mut self, call: &CallId, to: State, by: Option<&DecidedBy>) -> Result<(), Impossible> {
        let question = self.open.get(call).ok_or_else(|| Impossible::NoQuestion(call.clone()))?;
        let told = self.told.get_mut(&question.approval.id);
        let told = told.ok_or_else(|| Impossible::NoQuestion(call.clone()))?;
        told.state = step(told.state, to)?;
        told.by = by.cloned();
        if to != State::Approved {
            self.open.remove(call);
        }
        Ok(())
    }

    /// Takes the yes of one of several persons. The last one that is needed approves.
    pub(super) fn consented(
        &mut self,
        call: &CallId,
        by: &UserId,
        standing: Standing,
    ) -> Result<(), Impossible> {
        let question = self.open.get_mut(call).filter(|question| question.approved.is_none());
        let question = question.ok_or_else(|| Impossible::NoQuestion(call.clone()))?;
        let who = DecidedBy::Human(by.clone());
        let approval = &question.approval;
        approval.needs.counts(&who, standing, &approval.requesters, &question.yes)?;
        question.yes.push(by.clone());
        if u32::try_from(question.yes.len()).is_ok_and(|yes| yes < approval.needs.quorum) {
            return Ok(());
        }
        question.approved = Some(who.clone());
        self.settle(call, State::Approved, Some(&who))
    }

    /// One answer approves, where one is enough, and grants what the card offered.
    fn approve(
        &mut self,
        now_us: i64,
        call: &CallId,
        by: &DecidedBy,
        remember: Remember,
    ) -> Result<(), Impossible> {
        let question = self.open.get_mut(call).ok_or_else(|| Impossible::NoQuestion(call.clone()))?;
        let approval = &question.approval;
        if approval.needs.several() {
            return Err(Impossible::Misplaced("one approval where several are needed"));
        }
        if approval.needs.person && matches!(by, DecidedBy::Automation(_)) {
            return Err(super::Uncounted::Program.into());
        }
        let grant = grant(approval, now_us, by, remember)?;
        question.approved = Some(by.clone());
        self.settle(call, State::Approved, Some(by))?;
        self.grants.extend(grant);
        Ok(())
    }

    /// The call starts: its question is over, and its approval used up.
    pub(super) fn used(&mut self, call: &CallId) {
        self.open.remove(call);
    }

    /// The call ends without an answer to its question.
    pub(super) fn withdraw(&mut self, call: &CallId) {
        // Without a question there is nothing to withdraw.
        drop(self.settle(call, State::Withdrawn, None));
    }

    /// No question is answered any more.
    pub(super) fn withdraw_all(&mut self) {
        let calls: Vec<CallId> = self.open.keys().cloned().collect();
        for call in &calls {
            self.withdraw(call);
        }
    }

    pub(super) fn revoke(&mut self, grant: &str, by: &UserId) -> Result<(), Impossible> {
        let mut grants = self.grants.iter_mut();
        let found = grants.find(|known| known.id == grant && known.revoked.is_none());
        let found = found.ok_or_else(|| Impossible::NoGrant(grant.to_owned()))?;
        found.revoked = Some(by.clone());
        Ok(())
    }

    /// The calls of the turn that persons changed.
    pub(super) fn edits(&self) -> &[(CallId, UserId)] {
        &self.edits
    }

    pub(super) fn end_of_turn(&mut self) {
        self.open.clear();
        self.edits.clear();
    }
}

/// The grant that goes with an answer. Only a person grants, and only what the card offered.
fn grant(
    approval: &Approval,
    now_us: i64,
    by: &DecidedBy,
    remember: Remember,
) -> Result<Option<Grant>, Impossible> {
    const NOT_OFFERED: Impossible = Impossible::Misplaced("a grant that was not offered");
    let pattern = match remember {
        Remember::Nothing => return Ok(None),
        Remember::Exact => Pattern::Exact { action: approval.action.clone() },
        Remember::Pattern(at) => approval.patterns.get(at).cloned().ok_or(NOT_OFFERED)?,
    };
    let (Some(bound), DecidedBy::Human(user)) = (&approval.grantable, by) else {
        return Err(NOT_OFFERED);
    };
    if approval.needs.person || approval.needs.several() {
        return Err(NOT_OFFERED);
    }
    Ok(Some(Grant {
        id: format!("gr_{}", approval.id.trim_start_matches("ap_")),
        bound: bound.clone(),
        pattern,
        by: user.clone(),
        given_us: now_us,
        revoked: None,
    }))
}

impl Session {
    pub(super) fn asked(&mut self, id: &CallId, approval: &Approval) -> Result<(), Impossible> {
        if !matches!(self.call(id)?.state(), CallState::Generated { .. }) {
            return Err(Impossible::Misplaced("a question about a call that is not `generated`"));
        }
        self.questions.ask(id, approval)
    }

    pub(super) fn settled(
        &mut self,
        now_us: i64,
        id: &CallId,
        answer: &Settlement,
    ) -> Result<(), Impossible> {
        let action = self.question(id).map(|(approval, _)| approval.action.clone());
        match answer {
            Settlement::Approved { by, remember } => self.questions.approve(now_us, id, by, *remember),
            Settlement::Denied { by, word } => {
                self.questions.settle(id, State::Denied, Some(by))?;
                if let Some(action) = action {
                    self.questions.refused.insert(action, by.clone());
                }
                let reason = Canceled::Refused { who: by.clone(), word: word.clone() };
                self.refused(now_us, id, reason)
            }
            Settlement::Expired => {
                self.questions.settle(id, State::Expired, None)?;
                self.refused(now_us, id, Canceled::Expired)
            }
            Settlement::Superseded => self.questions.settle(id, State::Superseded, None),
        }
    }

    /// The arguments are others: answers to what they were are void, and who changed them is a requester.
    pub(super) fn edited(&mut self, id: &CallId, by: &UserId, arguments: &str) -> Result<(), Impossible> {
        self.questions.settle(id, State::Superseded, None)?;
        self.call(id)?.take(CallEvent::Edit { arguments: arguments.to_owned() })?;
        self.questions.edits.push((id.clone(), by.clone()));
        Ok(())
    }

    /// The pending or answered question about a call, and who approved it.
    pub fn question(&self, call: &CallId) -> Option<(&Approval, Option<&DecidedBy>)> {
        let question = self.questions.open.get(call)?;
        Some((&question.approval, question.approved.as_ref()))
    }

    /// Who said yes so far to a question that several must agree to.
    pub fn consents(&self, call: &CallId) -> &[UserId] {
        self.questions.open.get(call).map_or(&[], |question| &question.yes)
    }

    /// Every question that waits for an answer.
    pub fn pending(&self) -> impl Iterator<Item = (&CallId, &Approval)> {
        let open = self.questions.open.iter().filter(|(_, question)| question.approved.is_none());
        open.map(|(call, question)| (call, &question.approval))
    }

    /// What became of an approval, and who brought it about.
    pub fn approval(&self, id: &str) -> Option<(State, Option<&DecidedBy>)> {
        self.questions.told.get(id).map(|told| (told.state, told.by.as_ref()))
    }

    /// How many questions were asked so far.
    pub fn questions_asked(&self) -> usize {
        self.questions.told.len()
    }

    /// Who refused this action earlier in the session. It is not asked again.
    pub fn refuser(&self, action: &Digest) -> Option<&DecidedBy> {
        self.questions.refused.get(action)
    }

    /// The grants, in the order in which they were given, revoked ones included. They die with the session.
    pub fn grants(&self) -> &[Grant] {
        if self.closed.is_some() { &[] } else { &self.questions.grants }
    }

    /// The grant that answers a call.
    pub fn granted(&self, asking: &Asking<'_>) -> Option<&Grant> {
        self.grants().iter().find(|grant| grant.answers(asking))
    }

    /// Who changed the arguments of a call of this turn.
    pub fn editors(&self, call: &CallId) -> impl Iterator<Item = &UserId> {
        self.questions.edits.iter().filter(move |(edited, _)| edited == call).map(|(_, by)| by)
    }
}
