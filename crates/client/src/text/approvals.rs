//! Sentences about questions that wait, answers to them, and grants.

use enclos_core::decision::DecidedBy;
use enclos_protocol::card::Offer;
use enclos_protocol::event::ApprovalState;
use enclos_protocol::report::{Answered, ApprovalRow, GrantRow};
use serde_json::Value;

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
pub(crate) const GRANT_HEADS: [&str; 6] = ["GRANT", "STATE", "TOOL", "GIVEN", "USED", "ENDS"];
/// Characters of the arguments of a grant that are shown.
const MOST_SHOWN: usize = 240;
/// Who must approve.
pub(crate) const CARD_NEEDS: &str = "needs";
/// Where a pattern is chosen.
pub(crate) const PATTERN_HEAD: &str = "Which pattern, for the rest of this session?";
/// Over the keys of a card that nobody here can approve.
pub(crate) const NOT_HERE_HEAD: &str = "This cannot be approved here: refuse it, change it, or stop";
/// An approval where nobody here can give one.
pub(crate) const NOTE_NOT_HERE: &str = "nobody here can approve this: the card says who could";
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
pub(crate) fn waits(row: &ApprovalRow) -> String {
    let beyond = row.card.as_ref().is_some_and(|card| !card.may_approve);
    let expires = &row.expires;
    match row.state {
        ApprovalState::Pending if beyond => format!("not to be approved here, until {}", minute(expires)),
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
    format!("{} is revoked: {} asks again: {}", row.grant, row.tool, covered(row))
}

/// By whom a grant was revoked.
pub(crate) fn revoked_by(user: &str) -> String {
    format!("revoked by {user}")
}

/// Who gave a grant, and when.
pub(crate) fn given_by(user: &str, given: &str) -> String {
    format!("by {user}, {}", minute(given))
}

/// How often a grant answered, and when last.
pub(crate) fn used(row: &GrantRow) -> String {
    match &row.last_used {
        Some(last) => format!("{}, last {}", count(row.uses, "call", "calls"), minute(last)),
        None => "never".to_owned(),
    }
}

/// What a grant answers: of exact arguments the text of a command or the whole object, its beginning with a count of
/// what is left out.
pub(crate) fn covered(row: &GrantRow) -> String {
    let Some(arguments) = &row.arguments else { return row.pattern.clone() };
    let command = arguments.get("command").and_then(Value::as_str);
    let only = command.filter(|_| arguments.as_object().is_some_and(|object| object.len() == 1));
    let whole = only.map_or_else(|| arguments.to_string(), str::to_owned);
    let length = whole.chars().count();
    let shown: String = whole.chars().take(MOST_SHOWN).collect();
    match u64::try_from(length.saturating_sub(MOST_SHOWN)) {
        Ok(0) | Err(_) => format!("exactly: {shown}"),
        Ok(rest) => {
            format!("exactly: {shown}… and {} (--json)", count(rest, "more character", "more characters"))
        }
    }
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
