//! The approval card: all that a person must see before they answer, complete, never cut.

use enclos_core::command::Piece;
use enclos_core::ids::RuleId;
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
    /// The rule that asks.
    pub rule: RuleId,
    /// The scope of that rule, such as `project (balanced)`.
    pub scope: String,
    /// Why it asks, in one sentence.
    pub reason: String,
    /// Whether an answer for the whole session (`s`) is offered.
    pub may_remember: bool,
    /// What is left of the budget.
    pub budget: BudgetView,
    /// When the question expires, RFC 3339 in UTC.
    pub expires: String,
    /// Digest of what is approved.
    pub digest: String,
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
