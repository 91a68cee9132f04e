//! Which commands are at work in the background, and what the model is told of their ends.
//!
//! A command is counted as one from its intent on, so that a gateway that was killed knows what it may have started. It
//! decides nothing about what may run; that none outlives its sandbox is held where it runs.

use serde::{Deserialize, Serialize};

use super::{Impossible, Session};
use crate::ids::CallId;

/// A command at work in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// The call that started it.
    pub call: CallId,
    /// Its name; no other at work has it.
    pub name: String,
}

/// What brought the end of a background command about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// It ended by itself, or met a ceiling of the sandbox.
    Itself,
    /// A call of the model ended it.
    Call(CallId),
    /// It was ended so that nothing runs while the change set is made.
    Review,
    /// It is dead with the session's sandbox.
    Session,
}

impl Cause {
    /// The cause in words, to stand behind the name of the command.
    pub fn in_words(&self) -> &'static str {
        match self {
            Self::Itself => "ended",
            Self::Call(_) => "was stopped",
            Self::Review => "was ended before the change set was made",
            Self::Session => "ended with the sandbox",
        }
    }
}

/// The commands at work, in the order of their start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Background {
    running: Vec<Running>,
}

impl Background {
    pub(super) fn started(&mut self, call: &CallId, name: &str) {
        self.running.push(Running { call: call.clone(), name: name.to_owned() });
    }

    /// Takes one off the list.
    pub(super) fn remove(&mut self, call: &CallId) -> Option<Running> {
        let at = self.running.iter().position(|running| running.call == *call)?;
        Some(self.running.remove(at))
    }

    /// Takes all off the list, and gives their names.
    pub(super) fn remove_all(&mut self) -> Vec<String> {
        std::mem::take(&mut self.running).into_iter().map(|running| running.name).collect()
    }
}

impl Session {
    /// The commands at work in the background, in the order of their start.
    pub fn background(&self) -> &[Running] {
        &self.background.running
    }

    pub(super) fn background_ended(
        &mut self,
        call: &CallId,
        cause: &Cause,
        told: &str,
    ) -> Result<(), Impossible> {
        let running = self.background.remove(call).ok_or_else(|| Impossible::NoBackground(call.clone()))?;
        let Running { name, .. } = running;
        // Whoever stops a command hears of its end in the answer.
        if !matches!(cause, Cause::Call(_)) {
            let words = cause.in_words();
            self.history
                .note_later(format!("[Enclos] The background command `{name}` ({call}) {words}: {told}."));
        }
        Ok(())
    }
}
