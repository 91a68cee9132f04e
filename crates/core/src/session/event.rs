//! What can happen to a session. A session is the fold of its events; each is in the store before its effect.
//!
//! These are the records of the session store: they carry content, so they never leave it. The journal keeps for
//! each one an entry without content.

use serde::{Deserialize, Serialize};

use crate::budget::{Exhausted, Limits};
use crate::call::Canceled;
use crate::decision::DecidedBy;
use crate::ids::{CallId, Digest, RuleId, UserId};

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// The session exists. Always the first event, and never another.
    Opened(Settings),
    /// A message from outside. It begins a turn.
    Said {
        /// The text.
        text: String,
        /// Who speaks.
        by: DecidedBy,
    },
    /// The model's message is complete; its calls are proposals.
    Answered(Answer),
    /// The model could not be asked. The turn is still to be done.
    ModelFailed {
        /// Why.
        error: String,
    },
    /// The turn was interrupted.
    Interrupted {
        /// By whom.
        by: DecidedBy,
    },
    /// A call failed: before it ran, or while it ran.
    Failed {
        /// The call.
        call: CallId,
        /// What the model is told.
        error: String,
    },
    /// A call was refused before it ran.
    Refused {
        /// The call.
        call: CallId,
        /// By whom, and why.
        reason: Canceled,
    },
    /// A person is asked.
    Asked {
        /// The call.
        call: CallId,
        /// The question.
        approval: Approval,
    },
    /// A question is over.
    Settled {
        /// The call.
        call: CallId,
        /// How it ended.
        answer: Settlement,
    },
    /// A call runs from here. Its intent is this event.
    Started {
        /// The call.
        call: CallId,
        /// Who agreed.
        decided_by: DecidedBy,
        /// Under which rule.
        rule: RuleId,
        /// Whether it runs a command.
        command: bool,
    },
    /// A tool answered.
    Finished {
        /// The call.
        call: CallId,
        /// What the model is told.
        output: String,
    },
    /// The history was summarised.
    Compacted {
        /// The summary.
        summary: String,
        /// Index of the first message that is kept.
        from: usize,
        /// Whether it costs an action.
        charged: bool,
        /// Tokens that the summary cost.
        tokens: u64,
    },
    /// The budget is spent and a person is asked for more.
    ExtensionAsked {
        /// What is spent.
        spent: Exhausted,
    },
    /// An extension is granted.
    ExtensionGranted {
        /// By whom.
        by: DecidedBy,
    },
    /// An extension is refused.
    ExtensionRefused {
        /// By whom.
        by: DecidedBy,
    },
    /// Another process took the session up: what ran is interrupted, and the budget is not restored.
    Restored,
    /// What the session made waits for review.
    Reviewing {
        /// Digest of the change set.
        digest: Digest,
    },
    /// The session is over.
    Closed {
        /// How it ended.
        outcome: Outcome,
        /// Why.
        reason: String,
    },
}

/// What a session is opened with, for its whole life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The limits of its budget.
    pub limits: Limits,
    /// Whether the loop goes on after a person's refusal.
    pub continue_after_rejection: bool,
    /// Whether the budget starts afresh at each message, as in a terminal.
    pub afresh_at_message: bool,
}

/// A complete message of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Its text.
    pub text: String,
    /// Its calls.
    pub calls: Vec<Proposal>,
    /// Tokens that the model call used, by its own count or ours.
    pub tokens: u64,
    /// What the model must be told of an answer that could not be understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correction: Option<String>,
}

/// A call as the model proposed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// The call's name in this session.
    pub call: CallId,
    /// The name that the model's server gave it, to be used in what is sent back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_id: Option<String>,
    /// The tool.
    pub tool: String,
    /// The arguments, exactly as they were sent.
    pub arguments: String,
}

/// A question to a person about one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Its name.
    pub id: String,
    /// Digest of everything that is approved.
    pub digest: Digest,
    /// Digest of tool and arguments alone, for what is remembered in the session.
    pub action: Digest,
    /// When it expires, in microseconds.
    pub expires_us: i64,
}

/// How a question ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Settlement {
    /// Approved.
    Approved {
        /// By whom.
        by: DecidedBy,
        /// Whether the same action is approved for the rest of the session.
        for_session: bool,
    },
    /// Refused.
    Denied {
        /// By whom.
        by: DecidedBy,
        /// A word to the model.
        word: Option<String>,
    },
    /// Nobody answered in time.
    Expired,
    /// What it was about has changed; it is judged again.
    Superseded,
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
    /// Its budget was spent.
    Budget,
    /// It could not go on.
    Failed,
}

/// What is remembered of the answers of persons, by the digest of tool and arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// Approved for the rest of the session.
    Granted(UserId),
    /// Refused; it is not asked again.
    Refused(UserId),
}
