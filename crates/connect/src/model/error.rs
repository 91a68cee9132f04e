//! Why a model gave no answer: one class for each thing that the session does about it.
//!
//! No message holds a key, and what a server said is cut short and stripped of control characters before it comes here.

/// The place in a file, as far as it is known.
fn place(line: usize, column: usize) -> String {
    match (line, column) {
        (0, _) => String::new(),
        (line, 0) => format!(":{line}"),
        (line, column) => format!(":{line}:{column}"),
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The model's specification cannot be used: a mistake of usage or configuration.
    #[error("model `{spec}`: {problem}")]
    Spec {
        /// The specification, without user and password.
        spec: String,
        /// What was expected.
        problem: String,
    },
    /// A script cannot be read or has a wrong field. Found before the session starts.
    #[error("script {file}{}: {problem}", place(*.line, *.column))]
    Script {
        /// The file, as it was named.
        file: String,
        /// The line, from 1; 0 when the file itself cannot be read.
        line: usize,
        /// The column, from 1; 0 when the line is all that is known.
        column: usize,
        /// What was expected, and which field.
        problem: String,
    },
    /// The server cannot be reached, or is out of order after every retry.
    #[error("the model at {server} cannot be reached: {reason}")]
    Unreachable {
        /// Scheme, host and port.
        server: String,
        /// What was tried and what came of it.
        reason: String,
    },
    /// The request is longer than the model's window. The session may shorten its history and ask again.
    #[error("the request is longer than the model's window: {reason}")]
    TooLong {
        /// What the server said.
        reason: String,
    },
    /// The server keeps refusing for the number or the volume of requests.
    #[error("the model at {server} refuses more requests for now: {reason}")]
    RateLimited {
        /// Scheme, host and port.
        server: String,
        /// What the server said, and the wait it asks for.
        reason: String,
    },
    /// The server refuses the request: no right, no such model, a parameter it does not take. Asking again is useless.
    #[error("the model at {server} refuses the request ({status}): {reason}")]
    Refused {
        /// Scheme, host and port.
        server: String,
        /// The HTTP status, or the code of an error object.
        status: u16,
        /// What the server said.
        reason: String,
    },
    /// The server reported an error of its own in the middle of its answer, at every attempt.
    #[error("the model at {server} failed: {reason}")]
    Failed {
        /// Scheme, host and port.
        server: String,
        /// What the server said.
        reason: String,
    },
    /// The answer broke off before its end, at every attempt. Nothing of it is kept.
    #[error("the answer of the model at {server} was cut: {reason}")]
    Cut {
        /// Scheme, host and port.
        server: String,
        /// How it broke off.
        reason: String,
    },
    /// What the server sent is not the protocol.
    #[error("the model at {server} does not speak chat completions: {reason}")]
    Malformed {
        /// Scheme, host and port.
        server: String,
        /// What was expected.
        reason: String,
    },
    /// The answer passes a bound of the request.
    #[error("the model's answer is too large: more than {limit} {unit}")]
    TooLarge {
        /// The bound.
        limit: usize,
        /// `calls` or `bytes`.
        unit: &'static str,
    },
}
