//! What can happen to a session. A session is the fold of its events; each is in the store before its effect.
//!
//! These are the records of the session store: they carry content, so they never leave it. The journal keeps for
//! each one an entry without content.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::approval::{Approval, Standing};
use super::background::Cause;
use super::written::Files;
use crate::budget::{Exhausted, Limits};
use crate::call::Canceled;
use crate::decision::DecidedBy;
use crate::ids::{CallId, Digest, RuleId, UserId};
use crate::label::Label;
use crate::model::Cut;

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
        approval: Box<Approval>,
        /// The card that shows it, for whoever answers while nothing works on the session.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        card: Value,
    },
    /// One of several persons who must agree said yes.
    Consented {
        /// The call.
        call: CallId,
        /// Who.
        by: UserId,
        /// Their role, at the opening of the card and now.
        standing: Standing,
    },
    /// A person changed the arguments of a call that asks: it is judged afresh, and answers to what it was are void.
    Edited {
        /// The call.
        call: CallId,
        /// Who, and is a requester from here.
        by: UserId,
        /// The arguments, whole.
        arguments: String,
    },
    /// A grant counts no more.
    GrantRevoked {
        /// The grant.
        grant: String,
        /// By whom.
        by: UserId,
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
        /// The name under which the command goes on in the background.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        background: Option<String>,
    },
    /// A command in the background is over.
    BackgroundEnded {
        /// The call that started it.
        call: CallId,
        /// What brought the end about.
        cause: Cause,
        /// How it ended, in words.
        told: String,
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
    /// The session knows more from here. Its label takes this in; nothing takes it out.
    Raised {
        /// What it now knows besides.
        label: Label,
        /// What it learns it from, by name: `project`, `file PATH`, `message`.
        source: String,
        /// The call that reads it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// What the files were that it had changed until then.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        written: Files,
    },
    /// What the session made waits for review.
    Reviewing {
        /// Digest of the change set.
        digest: Digest,
    },
    /// The files of the workspace are about to be put back to what they were just before a call ran.
    Undoing {
        /// The call.
        to: CallId,
        /// Who undoes.
        by: DecidedBy,
    },
    /// They are put back.
    Undone {
        /// The call.
        to: CallId,
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
    /// Why it is not whole: none of its calls runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
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

/// How a question ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Settlement {
    /// Approved.
    Approved {
        /// By whom.
        by: DecidedBy,
        /// What is granted for the rest of the session.
        #[serde(default, skip_serializing_if = "Remember::is_nothing")]
        remember: Remember,
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
    /// A person reset it: nothing of it can be read any more, and what begins anew knows nothing.
    Reset,
    /// Its budget was spent.
    Budget,
    /// It could not go on.
    Failed,
}

/// What an approval grants beyond this one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remember {
    /// Nothing.
    #[default]
    Nothing,
    /// The same arguments, for the rest of the session.
    Exact,
    /// The pattern at this place among those of the card, for the rest of the session.
    Pattern(usize),
}

impl Remember {
    /// Whether nothing is granted.
    pub fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }
}
