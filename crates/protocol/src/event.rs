//! What a session tells, one event at a time: the lines of `--output stream-json`.
//!
//! Names and fields are part of the public contract: they are added to, never changed. Text of models, tools and
//! repositories is carried as it is; whoever shows it escapes it.

use enclos_core::command::Piece;
use enclos_core::decision::DecidedBy;
use enclos_core::ids::{CallId, RuleId, SessionId};
use enclos_core::label::Label;
use enclos_core::policy::Shadow;
use enclos_core::verdict::Verdict;
use serde::{Deserialize, Serialize};

use crate::card::Card;
use crate::changeset::FileView;

/// One event of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event {
    /// Position in this stream, from 1, without gaps.
    pub seq: u64,
    /// RFC 3339 in UTC, with microseconds.
    pub time: String,
    /// The session.
    pub session: SessionId,
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
}

/// The call that an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Of {
    /// The call.
    pub call: CallId,
    /// Its tool, as the model named it.
    pub tool: String,
}

/// What happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Body {
    /// The session exists, its policy is loaded and its sandbox is open.
    #[serde(rename = "session.opened")]
    Opened(Opened),
    /// A fragment of the model's text.
    #[serde(rename = "message.delta")]
    MessageDelta {
        /// The fragment.
        text: String,
    },
    /// A complete message.
    #[serde(rename = "message")]
    Message {
        /// Who speaks.
        role: Speaker,
        /// The whole text.
        text: String,
    },
    /// A remark of Enclos itself: a retry, a setting that differs from its default.
    #[serde(rename = "notice")]
    Notice {
        /// One sentence.
        text: String,
    },
    /// The first fragment of a call arrived. Nothing runs from here.
    #[serde(rename = "call.generating")]
    CallGenerating {
        /// The call.
        #[serde(flatten)]
        of: Of,
    },
    /// The model's message is complete: the call is a proposal.
    #[serde(rename = "call.generated")]
    CallGenerated {
        /// The call.
        #[serde(flatten)]
        of: Of,
        /// Its arguments: an object when they were understood, else the text as it was sent.
        arguments: serde_json::Value,
    },
    /// The call leaves `generated` with this verdict and this author.
    #[serde(rename = "call.decided")]
    CallDecided {
        /// The call.
        #[serde(flatten)]
        of: Of,
        /// The final verdict.
        verdict: Verdict,
        /// Who took it.
        decided_by: DecidedBy,
        /// The rule that won.
        rule: RuleId,
        /// Why, in one sentence.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        /// The pieces of a command.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pieces: Vec<Piece>,
        /// What shadow rules would have said.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shadow: Vec<Shadow>,
    },
    /// A person is asked.
    #[serde(rename = "approval.requested")]
    ApprovalRequested {
        /// The call.
        #[serde(flatten)]
        of: Of,
        /// The approval's name, for the answer.
        approval: String,
        /// All that the person needs to see.
        card: Box<Card>,
    },
    /// The question is over.
    #[serde(rename = "approval.decided")]
    ApprovalDecided {
        /// The call.
        #[serde(flatten)]
        of: Of,
        /// The approval's name.
        approval: String,
        /// How it ended.
        state: ApprovalState,
        /// Who answered, when somebody did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decided_by: Option<DecidedBy>,
    },
    /// The intent is in the journal and the call runs.
    #[serde(rename = "call.calling")]
    CallCalling {
        /// The call.
        #[serde(flatten)]
        of: Of,
    },
    /// The session knows more, or text of somebody whom nobody vouches for, from here.
    #[serde(rename = "label.raised")]
    LabelRaised {
        /// What it knew.
        from: Label,
        /// What it knows.
        to: Label,
        /// What it learned it from.
        source: String,
        /// The call that reads it.
        #[serde(flatten)]
        of: Option<Of>,
    },
    /// Output of a running command, as it comes.
    #[serde(rename = "call.output")]
    CallOutput {
        /// The call.
        #[serde(flatten)]
        of: Of,
        /// A fragment, with bytes that are not UTF-8 replaced.
        text: String,
        /// Whether it came on the standard error.
        #[serde(default)]
        stderr: bool,
        /// Bytes that were left out before this fragment.
        #[serde(default, skip_serializing_if = "is_zero")]
        left_out: u64,
    },
    /// A command goes on in the background.
    #[serde(rename = "background.started")]
    BackgroundStarted {
        /// The call that started it.
        #[serde(flatten)]
        of: Of,
        /// Its name.
        name: String,
    },
    /// A command in the background is over.
    #[serde(rename = "background.ended")]
    BackgroundEnded {
        /// The call that started it.
        #[serde(flatten)]
        of: Of,
        /// Its name.
        name: String,
        /// What brought its end about, in words.
        reason: String,
        /// What it did.
        result: ResultFacts,
    },
    /// The tool answered.
    #[serde(rename = "call.done")]
    CallDone {
        /// The call.
        #[serde(flatten)]
        of: Of,
        /// What the tool did.
        result: ResultFacts,
    },
    /// The call failed; the model is told why and the loop goes on.
    #[serde(rename = "call.errored")]
    CallErrored {
        /// The call.
        #[serde(flatten)]
        of: Of,
        /// Why.
        error: String,
        /// What the tool did before it failed, when it ran.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<ResultFacts>,
    },
    /// The call was refused or interrupted before it ran.
    #[serde(rename = "call.canceled")]
    CallCanceled {
        /// The call.
        #[serde(flatten)]
        of: Of,
        /// Why.
        reason: String,
    },
    /// The session is in another state.
    #[serde(rename = "session.state")]
    State {
        /// The state.
        state: SessionState,
    },
    /// The budget is spent; a person is asked for an extension.
    #[serde(rename = "extension.requested")]
    ExtensionRequested {
        /// What is spent: `actions`, `minutes`, `tokens` or `commands`.
        spent: String,
        /// What the next extension grants.
        grants: Amounts,
        /// Extensions left, this one included.
        left: u64,
    },
    /// The question of an extension is over.
    #[serde(rename = "extension.decided")]
    ExtensionDecided {
        /// Whether it was granted.
        granted: bool,
        /// Who answered.
        decided_by: DecidedBy,
    },
    /// What was used and what is left.
    #[serde(rename = "budget")]
    Budget(BudgetView),
    /// The history was summarised.
    #[serde(rename = "compaction")]
    Compaction {
        /// Messages replaced by the summary.
        messages: u64,
        /// Estimated tokens before.
        tokens_before: u64,
        /// Estimated tokens after.
        tokens_after: u64,
    },
    /// What the session made, ready for review.
    #[serde(rename = "changeset")]
    ChangeSet {
        /// The files.
        files: Vec<FileView>,
        /// Lines added.
        insertions: u64,
        /// Lines removed.
        deletions: u64,
        /// Files under dedicated control, or with a detected secret.
        flagged: u64,
        /// Digest of the whole set.
        digest: String,
    },
    /// The run is over; the last line of a headless stream.
    #[serde(rename = "run.finished")]
    Finished {
        /// The exit code of the command.
        exit_code: u8,
        /// The state in which the session is left.
        session_state: SessionState,
        /// What is left to do, in one sentence; empty when nothing is.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        next_step: String,
        /// Why it could not go on; absent of a run that came to its end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The session is over for good.
    #[serde(rename = "session.closed")]
    Closed {
        /// How it ended.
        outcome: Outcome,
        /// Why.
        reason: String,
    },
}

/// What is said when a session opens.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opened {
    /// The repository's folder.
    pub repo: String,
    /// The model's name, without key.
    pub model: String,
    /// The presets and files of the policy, highest scope first.
    pub policy: Vec<String>,
    /// Digest of the policy in force.
    pub policy_digest: String,
    /// The surface.
    pub surface: String,
    /// Tools that the model is offered.
    pub tools: Vec<String>,
    /// Where it runs, `workstation`.
    pub place: String,
    /// The isolation obtained: `hard` or `standard`.
    pub isolation: String,
    /// Toolchains mounted read-only, by name.
    pub toolchains: Vec<String>,
    /// What a person should know: settings that differ from their default, files left out, …
    pub notes: Vec<String>,
    /// The budget at the start.
    pub budget: BudgetView,
    /// Milliseconds from the request to the open sandbox.
    pub open_ms: f64,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// The states of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalState {
    /// Nobody answered yet.
    Pending,
    /// Granted.
    Approved,
    /// Refused.
    Denied,
    /// Nobody answered in time. Never told as a refusal.
    Expired,
    /// What it was about has changed.
    Superseded,
    /// The session ended or was interrupted first.
    Withdrawn,
}

/// The states of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// The sandbox is being opened.
    Opening,
    /// The loop works.
    Running,
    /// A person's approval is needed.
    WaitingApproval,
    /// A person's extension is needed.
    WaitingExtension,
    /// A person's message is awaited.
    WaitingInput,
    /// The change set waits for acceptance.
    Reviewing,
    /// Over.
    Closed,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Its change set was accepted.
    Accepted,
    /// Its change set was refused.
    Rejected,
    /// It changed nothing.
    NothingToDo,
    /// A person stopped it.
    Stopped,
    /// A person reset it: nothing of it can be read any more.
    Reset,
    /// An administrator revoked it.
    Revoked,
    /// Its budget was spent.
    Budget,
    /// It could not go on.
    Failed,
}

/// What a tool did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultFacts {
    /// Milliseconds.
    pub duration_ms: f64,
    /// Exit code of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Why a command was killed: `timeout`, `oom`, `stop`, `disk` or `processes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub killed: Option<String>,
    /// Bytes of output kept.
    pub kept_bytes: u64,
    /// Bytes of output counted and thrown away.
    pub dropped_bytes: u64,
    /// One line that says what came of it, such as `12 lines` or `3 matches`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Amounts of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amounts {
    /// Tool calls.
    pub actions: u64,
    /// Minutes.
    pub minutes: u64,
    /// Model tokens.
    pub tokens: u64,
    /// Commands.
    pub commands: u64,
}

/// What was used and what is granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetView {
    /// Used so far.
    pub used: Amounts,
    /// Granted so far, extensions included.
    pub granted: Amounts,
    /// Extensions that may still be asked for.
    pub extensions_left: u64,
}
