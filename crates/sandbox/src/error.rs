//! What can go wrong, and how to mend it. Opening fails with the step that failed; nothing is retried with less.
use crate::system::System;
use std::io;

pub use enclos_init::file::{Fault, FaultKind};
pub use enclos_init::wire::Step;

/// A sandbox could not be opened. Nothing ran.
#[derive(Debug, thiserror::Error)]
#[error("the sandbox does not open, step `{}`: {message}{}", step.name(), reason(source.as_ref()))]
pub struct OpenError {
    /// The step that failed.
    pub step: Step,
    /// What was tried and what was expected.
    pub message: String,
    /// The system's reason; part of the text of this error already.
    pub source: Option<io::Error>,
    /// How to mend it, when more is known than the step.
    pub(crate) mend: Option<String>,
}

fn reason(source: Option<&io::Error>) -> String {
    source.map(|source| format!(": {source}")).unwrap_or_default()
}

impl OpenError {
    /// A failure without a reason of the system.
    pub(crate) fn new(step: Step, message: impl Into<String>) -> Self {
        Self { step, message: message.into(), source: None, mend: None }
    }

    /// How to mend it on this machine: one sentence, and below it what to type or to write where there is such.
    pub fn remedy(&self) -> String {
        self.mend.clone().unwrap_or_else(|| crate::remedy::of(self.step, &System::here()))
    }

    /// How to mend it, where more is known than what its step tells.
    pub fn mend(&self) -> Option<&str> {
        self.mend.as_deref()
    }

    /// The same failure, with how to mend it.
    pub(crate) fn mended_by(self, mend: String) -> Self {
        Self { mend: Some(mend), ..self }
    }
}

/// Names the step at which something failed.
pub(crate) trait Place<T> {
    /// The value, or a failure at `step` while doing `what`.
    fn at(self, step: Step, what: &str) -> Result<T, OpenError>;
}

impl<T, E: Into<io::Error>> Place<T> for Result<T, E> {
    fn at(self, step: Step, what: &str) -> Result<T, OpenError> {
        self.map_err(|error| OpenError { source: Some(error.into()), ..OpenError::new(step, what) })
    }
}

/// A command could not be run to an end of its own or of its limits.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The text cannot be handed to bash.
    #[error("the command cannot be run: {0}")]
    BadCommand(String),
    /// The confinement of the command could not be made; it did not start.
    #[error("the command did not start, step `{}`: {source}", step.name())]
    Confine {
        /// The step that failed.
        step: Step,
        /// The system's reason.
        source: io::Error,
    },
    /// The sandbox is gone: killed, closed, or its init ended.
    #[error("the sandbox is closed; open it again to go on")]
    Closed,
    /// The execution host was lost while this was under way there.
    #[error("the execution host was lost: this may have happened, in whole or in part")]
    Lost,
    /// The execution host did not do it.
    #[error("the execution host says: {0}")]
    Host(String),
    /// Talking to the init failed.
    #[error("the sandbox cannot be reached: {0}")]
    Io(#[from] io::Error),
}

/// A file operation was not done.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The operation was refused inside; the message says why and how to mend it.
    #[error("{}", .0.message)]
    Refused(Fault),
    /// The operation took longer or more memory than a file operation may.
    #[error("the file operation was ended: {0}")]
    Ended(&'static str),
    /// The sandbox did not do its part.
    #[error(transparent)]
    Run(#[from] RunError),
}
