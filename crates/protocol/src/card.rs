//! The approval card: all that a person must see before they answer, complete, never cut.

use enclos_core::command::Piece;
use enclos_core::ids::RuleId;
use enclos_core::label::Label;
use serde::{Deserialize, Serialize};

use crate::changeset::Hunk;
use crate::event::BudgetView;

/// What a person is asked to approve.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Card {
    /// The tool.
    pub tool: String,
    /// What it is about to do, in one line.
    pub title: String,
    /// The exact action.
    pub action: Action,
    /// The working directory inside the sandbox.
    pub directory: String,
    /// Files that the call names.
    pub files: Vec<String>,
    /// Files under dedicated control, with why.
    pub flagged: Vec<Flagged>,
    /// Commands in the background that are at work, and may change files beside the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// What the session would know after it, where that is more than now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raises: Option<Raises>,
    /// The rule that asks.
    pub rule: RuleId,
    /// The scope of that rule, such as `project (balanced)`.
    pub scope: String,
    /// Why it asks, in one sentence.
    pub reason: String,
    /// Whether somebody of this gateway can approve; else `needs` says who could.
    #[serde(default = "yes")]
    pub may_approve: bool,
    /// Whether an answer for the whole session (`s`) is offered.
    pub may_remember: bool,
    /// Patterns that may be granted for the session (`p`), the narrowest first; empty when none is offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<Offer>,
    /// Who must approve, where one yes of the person at hand is not enough; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub needs: String,
    /// The exact arguments, as canonical JSON: what an edit (`e`) begins with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
    /// What is left of the budget.
    pub budget: BudgetView,
    /// When the question expires, RFC 3339 in UTC.
    pub expires: String,
    /// Digest of what is approved.
    pub digest: String,
}

/// What a call makes the session know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raises {
    /// What it knows now.
    pub from: Label,
    /// What it would know.
    pub to: Label,
    /// What that forbids, in one sentence.
    pub forbids: String,
}

/// Of a card that was told before it said so.
fn yes() -> bool {
    true
}

/// The exact action of a card.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Action {
    /// A command, with its pieces and their verdicts.
    Command {
        /// The exact text.
        text: String,
        /// Its pieces.
        pieces: Vec<Piece>,
    },
    /// A change of one file.
    Diff {
        /// The file.
        path: String,
        /// The change; empty for a binary or too large file, described by `note`.
        hunks: Vec<Hunk>,
        /// What the hunks cannot say, such as `new file` or `deletes 12 lines`.
        note: String,
    },
    /// Anything else: its arguments.
    Arguments {
        /// The arguments, as canonical JSON.
        json: String,
    },
}

/// A file under dedicated control.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flagged {
    /// The file.
    pub path: String,
    /// Why it needs its own yes.
    pub why: String,
}

/// A pattern that may be granted for the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The pattern in words.
    pub words: String,
    /// What else of the session's calls so far it would have matched, each in one line, the newest first.
    pub also: Vec<String>,
    /// How many more it would have matched.
    pub more: usize,
}
