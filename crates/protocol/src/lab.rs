//! Reports of the policy lab: examples and tables held against a policy, two policies compared, decisions of the
//! journal replayed. Each is also its own `--json`.

use enclos_core::ids::{CallId, RuleId, SessionId};
use enclos_core::policy::{Difference, Direction, ExampleResult, Role, Surface};
use enclos_core::verdict::Verdict;
use serde::{Deserialize, Serialize};

use crate::api::At;
use crate::report::Explanation;

/// What came of the examples and the tables of expectations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TestReport {
    /// The texts of the policy, highest scope first.
    pub sources: Vec<String>,
    /// Digest of the policy.
    pub policy_digest: String,
    /// Every example of its rules.
    pub examples: Vec<ExampleResult>,
    /// Every row of the tables.
    pub cases: Vec<CaseResult>,
    /// Rules that are softer than the scopes above: such a policy cannot be put in force.
    pub collisions: Vec<String>,
    /// Examples and rows that passed.
    pub passed: u64,
    /// Examples, rows and rules that did not.
    pub failed: u64,
}

/// One row of a table of expectations, for one role and surface.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CaseResult {
    /// The file of the table.
    pub source: String,
    /// Its line.
    pub line: u64,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: serde_json::Value,
    /// The role of the person.
    pub role: Role,
    /// How the session is driven.
    pub surface: Surface,
    /// The verdict that is wanted.
    pub wanted: Verdict,
    /// The rule that is wanted, where the row names one.
    pub wanted_rule: Option<String>,
    /// The verdict.
    pub got: Verdict,
    /// The rule that decided.
    pub got_rule: RuleId,
    /// Whether the row passed.
    pub passed: bool,
    /// Of a row that did not pass: every layer, as `policy explain` shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

/// Two policies compared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DifferenceReport {
    /// The texts of the old policy.
    pub old: Vec<String>,
    /// The texts of the new one.
    pub new: Vec<String>,
    /// What they say differently.
    #[serde(flatten)]
    pub difference: Difference,
}

/// Which decisions are to be replayed, and against what.
#[derive(Clone, Debug)]
pub struct SimulateRequest {
    /// The candidate: files, or the one word of a policy that exists.
    pub policy: Vec<String>,
    /// Where `current` is in force. Each decision is judged with the policy of its own session's repository.
    pub at: At,
    /// Decisions of so many days.
    pub days: u32,
    /// How many calls are shown of each change, at most.
    pub examples: u32,
}

/// What a candidate would have decided otherwise.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Simulation {
    /// The texts of the candidate. Each session's `.enclos.toml` counts with them.
    pub sources: Vec<String>,
    /// From when decisions were taken, RFC 3339 in UTC.
    pub since: String,
    /// Sessions with decisions since then.
    pub sessions: u64,
    /// Their decisions.
    pub decisions: u64,
    /// Those with the same verdict.
    pub same: u64,
    /// Those with another.
    pub changed: u64,
    /// Those that could not be replayed, by reason.
    pub not_replayed: Vec<NotReplayed>,
    /// The changes, the softer ones first, then the most frequent.
    pub changes: Vec<Change>,
}

/// Decisions that could not be replayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotReplayed {
    /// Why.
    pub reason: String,
    /// How many decisions; of sessions that cannot be read, how many sessions.
    pub count: u64,
}

/// Decisions that change alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The tool.
    pub tool: String,
    /// The person of the sessions.
    pub person: String,
    /// What was decided.
    pub before: Verdict,
    /// By which rule, where the journal has it.
    pub rule_before: Option<RuleId>,
    /// What the candidate decides.
    pub after: Verdict,
    /// By which rule.
    pub rule_after: RuleId,
    /// Which way it changes.
    pub direction: Direction,
    /// How many decisions.
    pub count: u64,
    /// Some of them.
    pub examples: Vec<Replayed>,
}

/// One decision that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replayed {
    /// The session.
    pub session: SessionId,
    /// The call.
    pub call: CallId,
    /// When it was decided, RFC 3339 in UTC.
    pub time: String,
    /// The command, the path or the arguments: secrets replaced, and cut at 200 characters.
    pub what: String,
}
