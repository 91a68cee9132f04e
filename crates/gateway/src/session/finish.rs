//! The end of a run: its exit code, the last event, the sandbox taken down.

use std::sync::Arc;

use super::{Live, record};
use crate::host::Elsewhere;
use crate::workplace::Workplace;
use enclos_protocol::event::Body;

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done. Code 0, or 4 when something was refused, or 5 when an approval was not given in time.
    Done,
    /// It could not go on. Code 1.
    Failed,
    /// A mistake of usage or configuration. Code 2.
    Usage,
    /// The budget is spent. Code 3.
    Budget,
    /// The policy lets nothing go on. Code 4.
    Refused,
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
    /// Why it could not go on.
    error: Option<String>,
}

impl Finish {
    pub(crate) fn new(exit: Exit, next_step: String) -> Self {
        Self { exit, next_step, error: None }
    }

    /// The same end, of a run that could not go on.
    #[must_use]
    pub(crate) fn because(mut self, error: String) -> Self {
        self.error = Some(error);
        self
    }

    /// What was refused comes before what was only not answered in time.
    fn code(&self, refused: bool, expired: bool) -> u8 {
        match self.exit {
            Exit::Done if refused => 4,
            Exit::Done if expired => 5,
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Budget => 3,
            Exit::Refused => 4,
            Exit::Approval => 5,
            Exit::Unreachable => 6,
            Exit::Interrupted => 130,
        }
    }
}

/// How long the last commands of a session may take to end, once they are killed.
const LAST_BREATH: std::time::Duration = std::time::Duration::from_secs(2);

impl Live {
    /// Takes the sandbox down, gives the lease back, and tells the end.
    pub(super) async fn finish(mut self, finish: Finish) {
        let closed = matches!(self.state.phase(), enclos_core::session::Phase::Closed(_));
        self.sandbox.killer().kill_all();
        if !closed && let Err(halt) = self.end_background_with_session().await {
            self.teller.notice(halt.to_string());
        }
        let code = finish.code(self.state.was_refused(), self.state.has_expired());
        let session_state = record::session_state(self.state.phase());
        let lost = self.sandbox.is_lost();
        let Self { sandbox, elsewhere, lease, layer, mut teller, control, .. } = self;
        take_down(sandbox).await;
        if let Some(elsewhere) = elsewhere
            && let Some(why) = bring_back(elsewhere, closed, lost).await
        {
            teller.notice(format!("what the session changed is still on the execution host: {why}"));
        }
        if closed {
            crate::sessions::remove_layer(&layer);
        }
        drop(lease);
        drop(control);
        let Finish { next_step, error, .. } = finish;
        teller.tell(Body::Finished { exit_code: code, session_state, next_step, error });
    }
}

/// Closes the sandbox once nothing uses it any more.
async fn take_down(mut sandbox: Arc<Workplace>) {
    let until = tokio::time::Instant::now() + LAST_BREATH;
    loop {
        match Arc::try_unwrap(sandbox) {
            Ok(last) => return last.close(),
            Err(shared) if tokio::time::Instant::now() < until => {
                sandbox = shared;
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
            // Everything in it is killed; the last user of the handle closes it.
            Err(_) => return,
        }
    }
}

/// Fetches what a session changed on its host, or has the host forget a session that is closed. Gives what is in the way.
async fn bring_back(elsewhere: Elsewhere, closed: bool, lost: bool) -> Option<String> {
    let work = tokio::task::spawn_blocking(move || {
        if closed {
            elsewhere.forget();
            return None;
        }
        match elsewhere.fetch_last() {
            Ok(()) => None,
            Err(_) if lost => Some("the host was lost".to_owned()),
            Err(error) => Some(error.message),
        }
    });
    work.await.unwrap_or_else(|error| Some(error.to_string()))
}
