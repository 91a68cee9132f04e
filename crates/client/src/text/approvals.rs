//! Sentences about questions that wait, answers to them, and grants.

use enclos_core::decision::DecidedBy;
use enclos_protocol::card::Offer;
use enclos_protocol::event::ApprovalState;
use enclos_protocol::report::{Answered, GrantRow};

use super::{author, count, minute};

/// Nothing waits.
pub(crate) const NO_APPROVALS: &str = "nothing waits for an answer";
/// Nothing is granted.
pub(crate) const NO_GRANTS: &str = "nothing is granted for the rest of an open session";
/// A grant that counts.
pub(crate) const IN_FORCE: &str = "in force";
/// Columns of `approvals`.
pub(crate) const APPROVAL_HEADS: [&str; 5] = ["APPROVAL", "STATE", "TOOL", "RULE", "WHAT"];
/// Columns of `grants`.
pub(crate) const GRANT_HEADS: [&str; 5] = ["GRANT", "STATE", "TOOL", "GIVEN", "WHAT IT ANSWERS"];
/// Who must approve.
pub(crate) const CARD_NEEDS: &str = "needs";
/// Where a pattern is chosen.
pub(crate) const PATTERN_HEAD: &str = "Which pattern, for the rest of this session?";
/// `p` where nothing is offered.
pub(crate) const NOTE_NO_PATTERN: &str = "no pattern is offered for this call";
/// An editor that could not be used.
pub(crate) const NOTE_NO_EDITOR: &str = "no editor: set VISUAL or EDITOR";
/// An edit without a change.
pub(crate) const NOTE_NOT_EDITED: &str = "nothing was changed: the question stays as it is";

/// How an approval stands, as a word.
fn state_word(state: ApprovalState) -> &'static str {
    match state {
        ApprovalState::Pending => "pending",
        ApprovalState::Approved => "approved",
        ApprovalState::Denied => "refused",
        ApprovalState::Expired => "expired",
        ApprovalState::Superseded => "superseded",
        ApprovalState::Withdrawn => "withdrawn",
    }
}

/// How long a question waits.
pub(crate) fn waits(state: ApprovalState, expires: &str) -> String {
    match state {
        ApprovalState::Pending => format!("pending until {}", minute(expires)),
        other => state_word(other).to_owned(),
    }
}

/// What became of an answer.
pub(crate) fn answered(answered: &Answered) -> String {
    let by = answered.decided_by.as_ref().map(|by| format!(" by {}", author(by))).unwrap_or_default();
    format!("{} is {}{by}", answered.approval, state_word(answered.state))
}

/// How a parked session goes on.
pub(crate) fn resume_it(session: &str) -> String {
    format!("the answer is kept; go on with: enclos resume {session}")
}

/// A question that was answered while it was asked here.
pub(crate) fn elsewhere(state: ApprovalState, by: &DecidedBy) -> String {
    format!("{} by {}", state_word(state), author(by))
}

/// A grant that was revoked.
pub(crate) fn revoked(row: &GrantRow) -> String {
    format!("{} is revoked: {} {} asks again", row.grant, row.tool, row.pattern)
}

/// By whom a grant was revoked.
pub(crate) fn revoked_by(user: &str) -> String {
    format!("revoked by {user}")
}

/// Who gave a grant, and when.
pub(crate) fn given_by(user: &str, given: &str) -> String {
    format!("by {user}, {}", minute(given))
}

/// A pattern that may be granted, and what else it would have matched.
pub(crate) fn offer(at: usize, offer: &Offer) -> Vec<String> {
    let mut lines = vec![format!("{at}  {}", offer.words)];
    if offer.also.is_empty() {
        lines.push("   nothing else of this session so far would have matched".to_owned());
    } else {
        lines.push("   of this session so far it would also have matched:".to_owned());
        lines.extend(offer.also.iter().map(|line| format!("     {line}")));
    }
    if offer.more > 0 {
        lines.push(format!("     and {}", count(offer.more as u64, "other call", "other calls")));
    }
    lines
}
