//! Grants in a session at work: which questions one may answer, what is offered on a card, and which one holds.
//!
//! Only an ask whose rule says `remember` is answered by a grant; never one for a file under dedicated control, a
//! rule that wants a person, or a quorum. The policy says for itself that a second judgement may not be remembered.

use enclos_core::args;
use enclos_core::call::Call;
use enclos_core::command::Piece;
use enclos_core::decision::DecidedBy;
use enclos_core::ids::{Digest, UserId};
use enclos_core::session::{Approval, Asking, Bound, Grant, Pattern, Proposal, below_workspace};
use enclos_core::verdict::Verdict;
use enclos_protocol::card::Offer;
use enclos_sandbox::FileOp;

use super::Live;
use super::judge::{Decided, Question, verdict};
use super::names::Named;
use crate::changes;
use crate::effects::{self, Action, Run};

/// Calls that a preview names.
const MOST_NAMED: usize = 5;

/// Characters of a call that a preview shows.
const MOST_SHOWN: usize = 120;

/// Whether a grant may answer this ask, or be given with its answer. What takes a whole folder away, or names a file
/// under dedicated control, needs its own yes each time. `named`: what a command names.
pub(super) fn is_grantable(decided: &Decided, named: Option<&Named>) -> bool {
    let decision = &decided.decision;
    let asks = decision.verdict == Verdict::Ask && decision.remember;
    asks && !decision.person && decision.quorum <= 1 && !names_controlled(decided, named)
}

impl Live {
    /// What a grant for a call is bound to.
    pub(super) fn bound(&self, call: &Call, decided: &Decided) -> Bound {
        let definition = self.definition(call).unwrap_or_default().to_string();
        Bound {
            tool: call.tool().to_owned(),
            rule: decided.decision.rule.clone(),
            policy: self.policy.digest().clone(),
            definition: self.lease.commit_key().digest(definition.as_bytes()),
        }
    }

    /// The grant that answers a call.
    pub(super) fn grant_for(&self, call: &Call, decided: &Decided) -> Option<Grant> {
        // Before the sandbox is asked what the call names.
        if self.state.grants().is_empty() || !decided.decision.remember {
            return None;
        }
        if !is_grantable(decided, self.named(decided).as_ref()) {
            return None;
        }
        let (bound, action) = (self.bound(call, decided), self.action_digest(call, decided));
        let file = self.plain_file(&decided.action);
        let asking =
            Asking { bound: &bound, action: &action, pieces: matched(decided), file: file.as_deref() };
        self.state.granted(&asking).cloned()
    }

    /// Who gave the grant under which something runs.
    pub(super) fn granter(&self, by: &DecidedBy) -> Option<UserId> {
        let DecidedBy::Automation(rule) = by else { return None };
        let id = rule.as_str().strip_prefix("grant.")?;
        self.state.grants().iter().find(|grant| grant.id == id).map(|grant| grant.by.clone())
    }

    /// The patterns that may be offered for a call. Egress has none: only commands and files of the workspace do.
    pub(super) fn patterns(&self, decided: &Decided) -> Vec<Pattern> {
        match &decided.action {
            Action::Command(_) => Pattern::of_command(matched(decided)),
            Action::Background(_) => Vec::new(),
            Action::File(_) => {
                self.plain_file(&decided.action).map(|path| Pattern::of_file(&path)).unwrap_or_default()
            }
        }
    }

    /// The patterns of a card in words, with what else of the session's calls each would have matched.
    pub(super) fn offers(&self, call: &Call, approval: &Approval) -> Vec<Offer> {
        let Some(bound) = &approval.grantable else { return Vec::new() };
        let offer = |pattern: &Pattern| Offer { words: pattern.in_words(), also: Vec::new(), more: 0 };
        let mut offers: Vec<Offer> = approval.patterns.iter().map(offer).collect();
        let before = self.state.proposals().iter().rev().map(AsRef::as_ref);
        let alike = before.filter(|past: &&Proposal| past.tool == call.tool() && past.call != *call.id());
        for (line, decided) in alike.filter_map(|past| self.past(past)) {
            let (file, action) = (self.plain_file(&decided.action), Digest::new(""));
            let asking = Asking { bound, action: &action, pieces: matched(&decided), file: file.as_deref() };
            let covers: Vec<bool> = approval.patterns.iter().map(|pattern| pattern.covers(&asking)).collect();
            if !covers.contains(&true) || names_controlled(&decided, self.named(&decided).as_ref()) {
                continue;
            }
            let covering =
                offers.iter_mut().zip(covers).filter_map(|(offer, covers)| covers.then_some(offer));
            for offer in covering.filter(|offer| !offer.also.contains(&line)).collect::<Vec<_>>() {
                if offer.also.len() < MOST_NAMED {
                    offer.also.push(line.clone());
                } else {
                    offer.more += 1;
                }
            }
        }
        offers
    }

    /// A call that was proposed before, judged as it would be now.
    fn past(&self, past: &Proposal) -> Option<(String, Decided)> {
        let tool = self.tools.iter().find(|tool| tool.spec.name == past.tool)?;
        let parsed = args::parse(&past.arguments).and_then(|parsed| args::validate(parsed, &tool.schema));
        let args = parsed.ok()?;
        let action = Action::of(&past.tool, &args).ok()??;
        let question = Question { tool: &past.tool, args: &args, role: self.role, surface: self.surface };
        let decision = verdict(&self.policy, question);
        let line = match &action {
            Action::Command(run) => run.text.clone(),
            Action::File(_) | Action::Background(_) => super::card::title(&action),
        };
        let line = line.chars().take(MOST_SHOWN).collect();
        Some((line, Decided { args, action, decision }))
    }

    /// The one file that a call is about, when no link is on the way to it.
    fn plain_file(&self, action: &Action) -> Option<String> {
        let path = below_workspace(&super::card::named_file(action)?)?;
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for end in ends {
            let part = path.get(..end)?;
            match effects::is_link(&self.sandbox, part) {
                Some(true) => return None,
                Some(false) => {}
                // What is not there leads nowhere.
                None => break,
            }
        }
        Some(path)
    }
}

/// The pieces that a pattern is held against. What goes on in the background is another thing than the same words with an
/// end: only a grant for exactly these arguments answers it.
fn matched(decided: &Decided) -> &[Piece] {
    match &decided.action {
        Action::Command(Run { background: Some(_), .. }) | Action::Background(_) => &[],
        Action::Command(_) | Action::File(_) => &decided.decision.pieces,
    }
}

/// Whether a call names a file under dedicated control, or may.
fn names_controlled(decided: &Decided, named: Option<&Named>) -> bool {
    match &decided.action {
        Action::Command(_) => named.is_none_or(|named| !named.flagged().is_empty()),
        Action::File(FileOp::Delete { recursive: true, .. }) => true,
        Action::File(
            FileOp::Write { path, .. } | FileOp::Edit { path, .. } | FileOp::Delete { path, .. },
        ) => !changes::flags_of_path(changes::in_workspace(path)).is_empty(),
        Action::Background(_) | Action::File(_) => false,
    }
}
