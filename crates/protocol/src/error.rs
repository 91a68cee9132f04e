//! Errors as a client receives them: whose fault it is, what was wrong, and what to do next.

use serde::{Deserialize, Serialize};

/// Whose fault an error is; the client derives its exit code from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The command line, a file or a variable that the person wrote. Exit 2.
    Usage,
    /// The budget is spent. Exit 3.
    Budget,
    /// Refused by policy or a person. Exit 4.
    Refused,
    /// An approval is needed or expired. Exit 5.
    Approval,
    /// The gateway or the model cannot be reached. Exit 6.
    Unreachable,
    /// Anything else. Exit 1.
    Internal,
}

/// An error of the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// Whose fault it is.
    pub fault: Fault,
    /// What was wrong: the field, the value, what was expected.
    pub message: String,
    /// What to do next, a line each.
    pub hints: Vec<String>,
}

impl ApiError {
    /// An error without a hint.
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into(), hints: Vec::new() }
    }

    /// The same error with one more hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}
