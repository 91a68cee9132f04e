//! What a person orders a running session to do.

use enclos_core::decision::DecidedBy;
use serde::{Deserialize, Serialize};

use crate::event::ApprovalState;

/// An order to a running session. Which of them counts as a person's act is decided by the gateway.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "order")]
pub enum Order {
    /// Approve a pending approval.
    Approve {
        /// The approval.
        approval: String,
        /// Also for these exact arguments for the rest of the session.
        for_session: bool,
        /// Also for the pattern at this place among those of the card, for the rest of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pattern: Option<usize>,
    },
    /// Change the arguments of a call that asks. It is judged afresh, as a new card.
    Edit {
        /// The approval.
        approval: String,
        /// The arguments, whole, as JSON.
        arguments: String,
    },
    /// Revoke a grant, at once.
    RevokeGrant {
        /// The grant.
        grant: String,
    },
    /// Refuse a pending approval.
    Reject {
        /// The approval.
        approval: String,
        /// A word to the model; with one, the loop goes on at once.
        word: Option<String>,
    },
    /// Answer to a request for an extension.
    Extend {
        /// Whether it is granted.
        granted: bool,
    },
    /// A message to the model.
    Say {
        /// The text.
        text: String,
    },
    /// Interrupt the turn; the session stays.
    Interrupt,
    /// Stop the session: work is interrupted, the sandbox destroyed, unaccepted writes thrown away.
    Stop,
    /// Accept the change set, whole or by file.
    Accept {
        /// The files; all that are not flagged when absent.
        files: Option<Vec<String>>,
        /// Flagged files that are accepted by name.
        flagged: Vec<String>,
    },
    /// Refuse the change set.
    Discard,
    /// Leave the session as it is, to be resumed or reviewed later.
    Leave,
}

/// An order from another process of the same person.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sent {
    /// The order.
    pub order: Order,
    /// Whether a person sits at the terminal from which it comes, and was shown what it answers.
    pub at_terminal: bool,
}

/// What became of an order from another process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reply")]
pub enum Reply {
    /// It is done, or will be.
    Taken,
    /// It counts as one of several that are needed.
    Counted {
        /// Persons who approved so far.
        have: usize,
        /// Persons who must.
        need: u32,
    },
    /// The question was over before.
    Over {
        /// How it ended.
        state: ApprovalState,
        /// Who answered, when somebody did.
        decided_by: Option<DecidedBy>,
    },
    /// It is not accepted, and why.
    Refused {
        /// One sentence.
        why: String,
    },
}
