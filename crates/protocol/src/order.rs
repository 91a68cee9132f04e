//! What a person orders a running session to do.

use serde::{Deserialize, Serialize};

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
