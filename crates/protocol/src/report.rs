//! Reports that commands print: listings, verifications, checks. Each is also its own `--json`.

use enclos_core::command::{Piece, Reading};
use enclos_core::decision::DecidedBy;
use enclos_core::ids::SessionId;
use enclos_core::label::Label;
use enclos_core::policy::{Role, Shadow, Surface};
use enclos_core::verdict::Verdict;
use serde::{Deserialize, Serialize};

use crate::card::Card;
use crate::error::Place;
use crate::event::{ApprovalState, BudgetView, Outcome, SessionState};

/// A session in a listing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionRow {
    /// Its name.
    pub session: SessionId,
    /// Its state.
    pub state: SessionState,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Its repository.
    pub repo: String,
    /// The first line of its task.
    pub task: String,
    /// When it was opened, RFC 3339 in UTC.
    pub opened: String,
    /// Whether a process works on it now.
    pub live: bool,
    /// The names of its commands in the background that are at work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<String>,
}

/// One session in full.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionDetail {
    /// The row of the listing.
    #[serde(flatten)]
    pub row: SessionRow,
    /// The model.
    pub model: String,
    /// Digest of the policy at the last decision.
    pub policy_digest: String,
    /// What it knows.
    pub label: Label,
    /// The budget.
    pub budget: BudgetView,
    /// What happened, in order.
    pub timeline: Vec<TimelineLine>,
    /// Entries in its journal.
    pub entries: u64,
    /// Head of its journal's chain, in hex.
    pub head: String,
}

/// A line of a session's timeline.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TimelineLine {
    /// RFC 3339 in UTC.
    pub time: String,
    /// The kind of the journal's entry.
    pub kind: String,
    /// What happened, in one line.
    pub text: String,
}

/// A question that waits for an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ApprovalRow {
    /// Its name.
    pub approval: String,
    /// The session.
    pub session: SessionId,
    /// The tool.
    pub tool: String,
    /// What it is about to do, in one line.
    pub title: String,
    /// The rule that asks.
    pub rule: String,
    /// The scope of that rule.
    pub scope: String,
    /// Its state: `pending`, or `expired` when its time is over and nobody has told the session yet.
    pub state: ApprovalState,
    /// When it expires, RFC 3339 in UTC.
    pub expires: String,
    /// Who must approve, where one yes of the person at hand is not enough.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub needs: String,
    /// Whether a process works on the session now; else the answer is kept for `resume`.
    pub live: bool,
    /// The whole card.
    pub card: Option<Card>,
}

/// What became of an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answered {
    /// The approval.
    pub approval: String,
    /// The session.
    pub session: SessionId,
    /// Its state now.
    pub state: ApprovalState,
    /// Who answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<DecidedBy>,
    /// Whether a process works on the session; else `resume` takes the answer up.
    pub live: bool,
}

/// An answer that a person gave for the rest of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GrantRow {
    /// Its name.
    pub grant: String,
    /// The session.
    pub session: SessionId,
    /// The tool.
    pub tool: String,
    /// What it answers, in words.
    pub pattern: String,
    /// The arguments that it answers, where it answers exactly these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<serde_json::Value>,
    /// The rule whose question it answers.
    pub rule: String,
    /// Who gave it.
    pub by: String,
    /// When, RFC 3339 in UTC.
    pub given: String,
    /// When it ends at the latest: `with the session`. A change of the policy ends it before.
    #[serde(default)]
    pub expires: String,
    /// Digest of the policy under which alone it counts.
    #[serde(default)]
    pub policy_digest: String,
    /// Calls that ran under it.
    #[serde(default)]
    pub uses: u64,
    /// When the last of them started, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used: Option<String>,
    /// Who revoked it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_by: Option<String>,
}

/// The result of verifying a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// `ok`, `altered`, `truncated`, `fork`, `unsealed_tail` or `bad_input`.
    pub result: String,
    /// The exit code: 0 ok, 1 altered, 2 truncated or missing, 3 fork, 4 unsealed tail only, 5 bad input.
    pub exit_code: u8,
    /// Entries that were read.
    pub entries: u64,
    /// Sessions that were read.
    pub sessions: u64,
    /// The first entry that fails, such as `sess_… entry 7 (line 9)`.
    pub first_bad: Option<String>,
    /// Whether an anchor outside this machine was compared: `anchored` or `unanchored`.
    pub anchor: String,
    /// What was found, in one sentence.
    pub message: String,
}

/// The result of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exported {
    /// Entries written.
    pub entries: u64,
    /// Sessions written.
    pub sessions: u64,
}

/// One check of `enclos doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What was tried.
    pub name: String,
    /// `ok`, `failed` or `note`.
    pub result: String,
    /// What was seen.
    pub detail: String,
    /// How to mend it; empty when there is nothing to mend.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}

/// A policy that was checked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PolicyReport {
    /// The files, highest scope first.
    pub sources: Vec<String>,
    /// Rules that were read.
    pub rules: u64,
    /// Examples that were checked.
    pub examples: u64,
    /// Digest of the policy that the files make together, as of the policy in force.
    pub digest: String,
    /// Each file with the digest of its text, as of a saved version.
    #[serde(default)]
    pub files: Vec<FileDigest>,
    /// What a maintainer should know.
    pub notes: Vec<String>,
}

/// A file of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    /// The file.
    pub file: String,
    /// SHA-256 of its text.
    pub digest: String,
}

/// What keeps a text from being a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mistake {
    /// The file, the line, what is wrong and what was expected.
    pub message: String,
    /// Where it is.
    #[serde(flatten)]
    pub place: Place,
}

/// A policy that was saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicySaved {
    /// The scope: `instance`, `group PATH` or `project PATH`.
    pub scope: String,
    /// Its file.
    pub file: String,
    /// The number of the version that is in force now.
    pub version: u64,
    /// SHA-256 of its text.
    pub digest: String,
    /// Digest of the policy that this scope and the scopes above it make, as of the policy in force; `null` where they
    /// make none.
    #[serde(default)]
    pub policy_digest: Option<String>,
    /// SHA-256 of the version before; `null` for the first.
    pub previous: Option<String>,
    /// Whether anything was changed: a text that is in force already makes no version.
    pub changed: bool,
    /// Rules of lower scopes that count no more, each with what is stricter.
    pub overruled: Vec<String>,
    /// Whether the scope has no policy of its own any more.
    #[serde(default)]
    pub removed: bool,
    /// The number of the version whose text was saved again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<u64>,
    /// What gives more room by this change, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looser: Vec<String>,
}

/// One version of the policy of a scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyVersion {
    /// The scope.
    pub scope: String,
    /// Its number within the scope, from 1.
    pub version: u64,
    /// SHA-256 of its text; of the empty text where the policy was taken away.
    pub digest: String,
    /// SHA-256 of the version before; `null` for the first.
    pub previous: Option<String>,
    /// Who wrote it.
    pub author: String,
    /// `apply`, `rollback to N`, `remove` or `edited by hand`.
    pub how: String,
    /// RFC 3339 in UTC.
    pub time: String,
    /// Whether it is the newest of its scope.
    pub newest: bool,
}

/// The policy of a scope as it is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyText {
    /// The scope.
    pub scope: String,
    /// Its file.
    pub file: String,
    /// SHA-256 of its text.
    pub digest: String,
    /// Digest of the policy that this scope and the scopes above it make, as of the policy in force; `null` where they
    /// make none.
    #[serde(default)]
    pub policy_digest: Option<String>,
    /// The version that it is; `null` for a text that is not understood.
    pub version: Option<PolicyVersion>,
    /// Why the text is not understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Mistake>,
    /// The text.
    pub text: String,
}

/// Why a call gets its verdict.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Explanation {
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that won.
    pub rule: String,
    /// Its scope and source.
    pub scope: String,
    /// Why, in one sentence.
    pub reason: String,
    /// The role that it was judged for.
    pub role: Role,
    /// The surface that it was judged for.
    pub surface: Surface,
    /// What a question asks for; of a question only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<Approve>,
    /// Every rule that was looked at, winner first.
    pub considered: Vec<Considered>,
    /// What the shadow rules would say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shadow: Vec<Shadow>,
    /// The pieces of a command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<Piece>,
    /// What a person should know of the question, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Digest of the policy.
    pub policy_digest: String,
}

/// What a question asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approve {
    /// The least role of who approves; `null`: whoever answers for the session.
    pub role: Option<Role>,
    /// How many must approve.
    pub quorum: u32,
    /// Whether only a person may answer.
    pub person: bool,
    /// Whether the answer may be remembered for the session.
    pub remember: bool,
}

/// A command that was read, and what the policy says of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CommandExplanation {
    /// The verdict and the pieces.
    #[serde(flatten)]
    pub reading: Reading,
    /// The rule that decides; absent where the command was read without a policy.
    #[serde(flatten)]
    pub judged: Option<Judged>,
}

/// What decides a command, and for whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// The rule.
    pub rule: String,
    /// Its scope and source.
    pub scope: String,
    /// Why, in one sentence.
    pub reason: String,
    /// The role that it was judged for.
    pub role: Role,
    /// The surface that it was judged for.
    pub surface: Surface,
    /// What a question asks for; of a question only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<Approve>,
    /// What the shadow rules would say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shadow: Vec<Shadow>,
    /// Digest of the policy.
    pub policy_digest: String,
}

/// A rule that was looked at.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Considered {
    /// The rule.
    pub rule: String,
    /// Its scope and source.
    pub scope: String,
    /// What it says.
    pub verdict: Verdict,
    /// Why it won or lost.
    pub why: String,
}

/// The result of `enclos sandbox run --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SandboxRun {
    /// Milliseconds to open.
    pub open_ms: f64,
    /// The runs.
    pub runs: Vec<CommandRun>,
    /// Milliseconds to close.
    pub close_ms: f64,
    /// The limits in force and how they are held.
    pub limits: serde_json::Value,
}

/// One run of a command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CommandRun {
    /// Its exit code; 128 + n after signal n.
    pub exit_code: i32,
    /// Milliseconds.
    pub duration_ms: f64,
    /// What was kept of its output.
    pub stdout: String,
    /// What was kept of its errors.
    pub stderr: String,
    /// Bytes counted and thrown away.
    pub dropped_bytes: u64,
    /// `timeout`, `oom`, `stop`, `disk` or `processes`.
    pub killed: Option<String>,
}
