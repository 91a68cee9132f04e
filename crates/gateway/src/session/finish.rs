//! The end of a run: its exit code, the last event, the sandbox taken down.

use enclos_protocol::event::Body;

use super::{Live, record};

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done. Code 0, or 4 when something was refused.
    Done,
    /// It could not go on. Code 1.
    Failed,
    /// A mistake of usage or configuration. Code 2.
    Usage,
    /// The budget is spent. Code 3.
    Budget,
    /// An approval is needed, or expired. Code 5.
    Approval,
    /// The model cannot be reached. Code 6.
    Unreachable,
    /// A person interrupted or stopped it. Code 130.
    Interrupted,
}

/// The end of a run.
#[derive(Clone, Debug)]
pub(crate) struct Finish {
    exit: Exit,
    /// What is left to do.
    next_step: String,
}

impl Finish {
    pub(crate) fn new(exit: Exit, next_step: String) -> Self {
        Self { exit, next_step }
    }

    fn code(&self, refused: bool) -> u8 {
        match self.exit {
            Exit::Done if refused => 4,
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Budget => 3,
            Exit::Approval => 5,
            Exit::Unreachable => 6,
            Exit::Interrupted => 130,
        }
    }
}

impl Live {
    /// Tells the end and takes the sandbox down.
    pub(super) fn finish(mut self, finish: Finish) {
        self.sandbox.killer().kill_all();
        let code = finish.code(self.state.was_refused());
        let session_state = record::session_state(self.state.phase());
        if matches!(self.state.phase(), enclos_core::session::Phase::Closed(_)) {
            crate::sessions::remove_layer(&self.layer);
        }
        self.teller.tell(Body::Finished { exit_code: code, session_state, next_step: finish.next_step });
    }
}
