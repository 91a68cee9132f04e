//! What the policy lab says.

use enclos_core::policy::Seen;

use super::count;

/// What came of a test.
pub(crate) fn tested(passed: u64, failed: u64) -> String {
    format!("{passed} passed, {failed} failed")
}

/// A policy without anything to hold it against.
pub(crate) const NOTHING_TO_TEST: &str =
    "no rule has an example, and no table was named: write `match = […]`, or name a file `….cases.toml`";

/// What was wanted of an example, and what came.
pub(crate) fn example_failed(wanted: bool) -> &'static str {
    if wanted { "wanted a match, got none" } else { "wanted no match, got one" }
}

/// The key that an example stands under.
pub(crate) fn example_kind(wanted: bool) -> &'static str {
    if wanted { "match" } else { "not_match" }
}

/// Which rule decides the call of an example.
pub(crate) fn decided_by(rule: &str, scope: &str, verdict: &str) -> String {
    format!("the call gets `{verdict}` by `{rule}` of the {scope}")
}

/// A row of a table: what was wanted and what came.
pub(crate) fn case_failed(wanted: &str, wanted_rule: Option<&str>, got: &str, got_rule: &str) -> String {
    match wanted_rule {
        Some(rule) => format!("wanted `{wanted}` by `{rule}`, got `{got}` by `{got_rule}`"),
        None => format!("wanted `{wanted}`, got `{got}` by `{got_rule}`"),
    }
}

/// A call of a table.
pub(crate) fn case_call(tool: &str, args: &str, role: &str, surface: &str) -> String {
    format!("{tool} {args} · {role}, {surface}")
}

/// Two policies that say the same.
pub(crate) const NO_DIFFERENCE: &str = "Both say the same.";
/// Above the rules.
pub(crate) const DIFF_RULES: &str = "Rules";
/// Above the settings.
pub(crate) const DIFF_SETTINGS: &str = "Settings";
/// Above the cells.
pub(crate) const DIFF_CELLS: &str = "Answers";
/// Where a cell is every cell.
pub(crate) const EVERYWHERE: &str = "for every role on every surface";

/// What a cell stands for.
pub(crate) fn cell(seen: Seen, name: &str) -> String {
    match seen {
        Seen::Category => format!("category {name}"),
        Seen::Tool => format!("tool {name}"),
        Seen::Command => format!("command {name}"),
        Seen::Call => format!("call {name}"),
    }
}

/// For whom and where an answer changes.
pub(crate) fn place(roles: &str, surfaces: &str) -> String {
    format!("for {roles} on {surfaces}")
}

/// Every role.
pub(crate) const EVERY_ROLE: &str = "every role";
/// Every surface.
pub(crate) const EVERY_SURFACE: &str = "every surface";

/// An answer, with what a question asks for.
pub(crate) fn answer(verdict: &str, asks: &[String], rule: &str) -> String {
    let asks = if asks.is_empty() { String::new() } else { format!(" ({})", asks.join(", ")) };
    format!("{verdict}{asks} by {rule}")
}

/// What a question asks for.
pub(crate) fn approvers(role: &str) -> String {
    format!("{role} approves")
}

/// What a question asks for.
pub(crate) fn quorum(count: u32) -> String {
    format!("{count} approvers")
}

/// What a question asks for.
pub(crate) const ANY_ROLE: &str = "any role approves";
/// What a question asks for.
pub(crate) const REMEMBERED: &str = "may be remembered";
/// What a question asks for.
pub(crate) const NOT_REMEMBERED: &str = "each time";
/// What a question asks for.
pub(crate) const PERSON_ONLY: &str = "a person only";

/// For whom and how a call was judged.
pub(crate) fn judged_for(role: &str, surface: &str) -> String {
    format!("{role} on {surface}")
}

/// What a rule would say that is not enforced.
pub(crate) fn would_say(verdict: &str) -> String {
    format!("shadow, would say {verdict}")
}

/// From one value to another.
pub(crate) fn from_to(before: &str, after: &str) -> String {
    format!("{before} → {after}")
}

/// What a simulation looked at.
pub(crate) fn simulated(decisions: u64, sessions: u64, since: &str) -> String {
    format!(
        "{} of {} since {since}",
        count(decisions, "decision", "decisions"),
        count(sessions, "session", "sessions")
    )
}

/// What came of a simulation.
pub(crate) fn simulation_counts(same: u64, changed: u64, lost: u64) -> String {
    format!("{same} the same, {changed} would change, {lost} could not be replayed")
}

/// A change: of which tool and person, how often.
pub(crate) fn change(tool: &str, person: &str, times: u64) -> String {
    format!("{tool} · {person} · {}", count(times, "decision", "decisions"))
}

/// Decisions that are not shown one by one.
pub(crate) fn more(count: u64) -> String {
    format!("and {count} more: `--examples N` shows them")
}

/// A verdict by a rule.
pub(crate) fn verdict_by(verdict: &str, rule: Option<&str>) -> String {
    format!("{verdict} by {}", rule.unwrap_or("a rule that the journal does not name"))
}
