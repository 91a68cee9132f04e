//! Sentences about a session: its states, its budget, its calls, its card, its change set.

use enclos_core::decision::DecidedBy;
use enclos_core::label::Label;
use enclos_core::verdict::Verdict;
use enclos_protocol::api::Copying;
use enclos_protocol::card::Raises;
use enclos_protocol::event::{
    Amounts, ApprovalState, BudgetView, Opened, Outcome, ResultFacts, SessionState,
};

use super::{count, form};

/// Above the change set.
pub(crate) const CHANGES: &str = "Changes";
/// An empty change set.
pub(crate) const NO_CHANGES: &str = "nothing was changed";
/// A file that is not text.
pub(crate) const BINARY: &str = "binary";
/// Before the reason of a flag.
pub(crate) const FLAG: &str = "⚑";
/// A last line without an end.
pub(crate) const NO_NEWLINE: &str = "\\ no newline at the end of the file";
/// Facts of a card.
pub(crate) const CARD_DIRECTORY: &str = "in";
/// Files of a card.
pub(crate) const CARD_FILES: &str = "files";
/// Flagged files of a card.
pub(crate) const CARD_FLAGGED: &str = "⚑ flagged";
/// A line of a card.
pub(crate) const CARD_BESIDE: &str = "beside it";

/// What is at work while a call that asks would run.
pub(crate) fn card_beside(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let names = names.join(", ");
    format!(
        "{names}: at work in the background, and may change what the call works on after you looked at it"
    )
}

/// The rule of a card.
pub(crate) const CARD_RULE: &str = "asked by";
/// The reason of a card.
pub(crate) const CARD_REASON: &str = "because";
/// The budget of a card.
pub(crate) const CARD_BUDGET: &str = "left";
/// The expiry of a card.
pub(crate) const CARD_EXPIRES: &str = "expires";

/// Head of a card.
pub(crate) fn card_title(tool: &str) -> String {
    format!("Approval needed · {tool}")
}

/// A card that was shown in the pager.
pub(crate) fn card_receipt(tool: &str, title: &str, rows: usize, digest: &str) -> String {
    let rows = count(rows, "row", "rows");
    format!("{tool} · {title} · a card of {rows} was shown page by page · {digest}")
}

/// A rule and where it stands.
pub(crate) fn rule_of_scope(rule: &str, scope: &str) -> String {
    if scope.is_empty() { rule.to_owned() } else { format!("{rule} · {scope}") }
}

/// A state in words.
pub(crate) fn state(state: SessionState) -> &'static str {
    match state {
        SessionState::Opening => "opening",
        SessionState::Running => "running",
        SessionState::WaitingApproval => "waiting for approval",
        SessionState::WaitingExtension => "waiting for an extension",
        SessionState::WaitingInput => "waiting for a message",
        SessionState::Reviewing => "waiting for review",
        SessionState::Closed => "closed",
    }
}

/// An end in words.
pub(crate) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Accepted => "accepted",
        Outcome::Rejected => "rejected",
        Outcome::Reset => "reset",
        Outcome::NothingToDo => "nothing to do",
        Outcome::Stopped => "stopped",
        Outcome::Revoked => "revoked",
        Outcome::Budget => "budget spent",
        Outcome::Failed => "failed",
    }
}

/// The end of a session.
pub(crate) fn closed(how: Outcome, reason: &str) -> String {
    if reason.is_empty() {
        format!("closed: {}", outcome(how))
    } else {
        format!("closed: {} · {reason}", outcome(how))
    }
}

/// The opening of a session, a line each.
pub(crate) fn opened(session: &str, opened: &Opened) -> Vec<String> {
    let mut lines = vec![
        format!("session {session} · {}", opened.repo),
        format!("model {} · policy {}", opened.model, opened.policy.join(", ")),
        format!(
            "sandbox {} ({}) open in {:.1} ms · {}",
            opened.place,
            opened.isolation,
            opened.open_ms,
            budget_granted(&opened.budget.granted)
        ),
    ];
    if !opened.toolchains.is_empty() {
        lines.push(format!("toolchains {}", opened.toolchains.join(", ")));
    }
    lines.extend(opened.notes.iter().cloned());
    lines
}

/// What is granted.
pub(crate) fn budget_granted(granted: &Amounts) -> String {
    format!(
        "budget {}, {} min, {} {}",
        count(granted.actions, "action", "actions"),
        granted.minutes,
        thousands(granted.tokens),
        form(&granted.tokens, "token", "tokens"),
    )
}

/// What is left of a budget.
pub(crate) fn budget_left(view: &BudgetView) -> String {
    let left = |of: fn(&Amounts) -> u64| of(&view.granted).saturating_sub(of(&view.used));
    format!(
        "{} of {} · {} of {} min · {} {} · {} of {} · {}",
        left(|a| a.actions),
        count(view.granted.actions, "action", "actions"),
        left(|a| a.minutes),
        view.granted.minutes,
        thousands(left(|a| a.tokens)),
        form(&left(|a| a.tokens), "token", "tokens"),
        left(|a| a.commands),
        count(view.granted.commands, "command", "commands"),
        count(view.extensions_left, "extension", "extensions"),
    )
}

/// The budget in the live region.
pub(crate) fn budget_bar(view: &BudgetView) -> String {
    format!(
        "{}/{} · {}/{} min · {}/{} tokens",
        view.used.actions,
        count(view.granted.actions, "action", "actions"),
        view.used.minutes,
        view.granted.minutes,
        thousands(view.used.tokens),
        thousands(view.granted.tokens),
    )
}

/// A large number, short.
pub(crate) fn thousands(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..1_000_000 => format!("{}k", number / 1000),
        _ => format!("{}.{}M", number / 1_000_000, number / 100_000 % 10),
    }
}

/// A summary of many files.
pub(crate) fn change_sum(files: usize, insertions: u64, deletions: u64) -> String {
    let files = count(files as u64, "file", "files");
    format!("{files} changed, {insertions} added, {deletions} removed")
}

/// The letter of a change.
pub(crate) fn change_letter(change: &str) -> &'static str {
    match change {
        "added" => "A",
        "modified" => "M",
        "deleted" => "D",
        "renamed" => "R",
        "mode" => "X",
        "link" => "L",
        _ => "?",
    }
}

/// Files that the repository ignores.
pub(crate) fn ignored_files(number: u64) -> String {
    format!("{} left out, for the repository ignores them", count(number, "file", "files"))
}

/// A decision with its author.
pub(crate) fn decided(verdict: Verdict, by: &DecidedBy, rule: &str) -> String {
    let who = author(by);
    let by_rule = matches!(by, DecidedBy::Automation(by) if by.as_str() == rule);
    match verdict {
        Verdict::Ask => format!("asked by rule {rule}, answered by {who}"),
        Verdict::Allow if by_rule => format!("allowed by {who}"),
        Verdict::Disabled if by_rule => format!("refused by {who}"),
        Verdict::Allow => format!("allowed by {who} (rule {rule})"),
        Verdict::Disabled => format!("refused by {who} (rule {rule})"),
    }
}

/// Who decided.
pub(crate) fn author(by: &DecidedBy) -> String {
    match by {
        DecidedBy::Human(user) => user.to_string(),
        DecidedBy::Automation(rule) => format!("rule {rule}"),
    }
}

/// What became of a question, when that is not told by the call itself.
pub(crate) fn approval_remark(state: ApprovalState) -> &'static str {
    match state {
        ApprovalState::Pending | ApprovalState::Approved | ApprovalState::Denied => "",
        ApprovalState::Expired => "the approval expired: nobody answered in time",
        ApprovalState::Superseded => "what was to be approved has changed: it will be asked again",
        ApprovalState::Withdrawn => "the question was withdrawn",
    }
}

/// An extension.
pub(crate) fn extension_decided(granted: bool, by: &DecidedBy) -> String {
    format!("extension {} by {}", if granted { "granted" } else { "refused" }, author(by))
}

/// A summary of the history.
pub(crate) fn compacted(messages: u64, before: u64, after: u64) -> String {
    let (before, after) = (thousands(before), thousands(after));
    format!("history summarised: {} · {before} → {after} tokens", count(messages, "message", "messages"))
}

/// What a tool did.
pub(crate) fn result(facts: &ResultFacts) -> String {
    let mut parts = Vec::new();
    if !facts.summary.is_empty() {
        parts.push(facts.summary.clone());
    }
    // The summary of a command says its exit code already.
    if let Some(code) = facts.exit_code.filter(|_| facts.summary.is_empty()) {
        parts.push(format!("exit {code}"));
    }
    // The summary of a command that was killed says why.
    if let Some(killed) = facts.killed.as_ref().filter(|_| facts.summary.is_empty()) {
        parts.push(format!("killed: {killed}"));
    }
    if facts.dropped_bytes > 0 {
        parts.push(format!(
            "{} kept, {} thrown away",
            count(facts.kept_bytes, "byte", "bytes"),
            facts.dropped_bytes
        ));
    }
    parts.push(milliseconds(facts.duration_ms));
    parts.join(" · ")
}

/// On a card: what the session knows, and would know.
pub(crate) const CARD_LABEL: &str = "label";

/// What a call makes the session know, and what that forbids.
pub(crate) fn label_raises(raises: &Raises) -> String {
    format!("{} → {}: {}", raises.from, raises.to, raises.forbids)
}

/// A file that stays here.
pub(crate) fn held(why: &str) -> String {
    format!("held: {why}")
}

/// The session knows more.
pub(crate) fn label_raised(from: Label, to: Label, source: &str) -> String {
    format!("label {from} → {to} ({source})")
}

/// The end of a command in the background.
pub(crate) fn background_ended(name: &str, reason: &str, facts: &ResultFacts) -> String {
    format!("background command {name} {reason}: {}", result(facts))
}

/// A row among the lines of an output.
pub(crate) fn left_out(bytes: u64) -> String {
    format!("\n… {} left out …\n", count(bytes, "byte", "bytes"))
}

/// How far a copy of the repository is.
pub(crate) fn copying(now: Copying) -> String {
    let so_far = match now.bytes {
        bytes if bytes < 10_000_000 => format!("{} KB", bytes / 1000),
        bytes => format!("{} MB", bytes / 1_000_000),
    };
    format!("copying the repository: {}, {so_far} so far", count(now.entries, "entry", "entries"))
}

/// A duration.
pub(crate) fn milliseconds(ms: f64) -> String {
    if ms >= 1000.0 { format!("{:.1} s", ms / 1000.0) } else { format!("{ms:.1} ms") }
}

/// Lines of output that are not shown.
pub(crate) fn lines_hidden(lines: u64) -> String {
    format!("… {} before", count(lines, "line", "lines"))
}

/// The end of an undo.
pub(crate) fn undone(to: &str, restored: usize, recreated: usize, removed: usize) -> String {
    format!(
        "the workspace is as it was before {to}: {restored} restored, {recreated} created again, {removed} removed"
    )
}

/// Folders that an undo does not touch.
pub(crate) fn undo_left_out(folders: &str) -> String {
    format!("left as they are, for they are built or fetched: {folders}")
}

/// What comes after an undo.
pub(crate) fn undo_next(session: &str) -> String {
    format!(
        "enclos diff {session}   then: enclos apply {session}   or, to go on: enclos resume {session} \"MESSAGE\""
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_told_in_entries_and_bytes() {
        let told = |entries, bytes| copying(Copying { entries, bytes });
        assert_eq!(told(1, 9_999), "copying the repository: 1 entry, 9 KB so far");
        assert!(told(12_345, 1_234_567_890).ends_with(" entries, 1234 MB so far"));
    }
}
