//! Undoing turns and calls: the workspace of a session is put back to what it was, file by file.
//!
//! [`Keeper`] keeps what the layer says before each call that may change it; [`undo`] goes back to such a moment. It
//! gives back files and nothing else, touches nothing but the layer of the session, and refuses what it cannot do as
//! a whole.

mod back;
mod keeper;
mod moment;
mod shelf;

pub(crate) use keeper::{Keeper, Kept};
pub(crate) use shelf::{is_kept, remove};

use enclos_core::decision::DecidedBy;
use enclos_core::ids::{CallId, SessionId};
use enclos_core::session::{Event, NothingToUndo, Phase, Session};
use enclos_protocol::changeset::UndoneView;
use enclos_protocol::error::{ApiError, Fault};
use enclos_store::{Lease, Store};
use serde_json::json;

use crate::changes;
use crate::clock::Clock;
use crate::repo::Repo;
use crate::session::{self, Facts, facts};

/// Calls that an error names.
const NAMED: usize = 10;

/// A session that is held for an undo.
pub(crate) struct Desk<'a> {
    /// The store.
    pub(crate) store: &'a Store,
    /// The session.
    pub(crate) lease: &'a Lease,
    /// The clock.
    pub(crate) clock: &'a Clock,
    /// The repository that it works on.
    pub(crate) repo: Repo,
}

/// Puts the workspace back to what it was before the last turn, or before a call.
pub(crate) async fn undo(desk: Desk<'_>, to: Option<&str>, by: DecidedBy) -> Result<UndoneView, ApiError> {
    let id = desk.lease.session();
    let state = session::replay(desk.store, id)?;
    if let Phase::Closed(_) = state.phase() {
        let message = format!("the session `{id}` is closed: its workspace is gone");
        return Err(ApiError::new(Fault::Usage, message).hint(format!("see what happened: enclos show {id}")));
    }
    let to = match to {
        Some(call) => named(&state, call)?,
        None => last_turn(&state)?,
    };
    go_back(desk, state, to, by).await
}

/// Finishes an undo that was cut short, if there is one. Nothing is to be made of the workspace before.
pub(crate) async fn finish(desk: Desk<'_>) -> Result<(), ApiError> {
    let state = session::replay(desk.store, desk.lease.session())?;
    let Some(to) = state.undoing().cloned() else { return Ok(()) };
    let by = session::automation("undo.finish");
    go_back(desk, state, to, by).await.map(drop)
}

/// Refuses to make anything of a workspace that is half one thing and half another.
pub(crate) fn whole(state: &Session, id: &SessionId) -> Result<(), ApiError> {
    let Some(to) = state.undoing() else { return Ok(()) };
    let message = format!("an undo of the session `{id}` was cut short: its workspace is not whole");
    Err(ApiError::new(Fault::Refused, message).hint(format!("finish it: enclos undo {id} --to {to}")))
}

async fn go_back(
    desk: Desk<'_>,
    mut state: Session,
    to: CallId,
    by: DecidedBy,
) -> Result<UndoneView, ApiError> {
    let Desk { store, lease, clock, repo } = desk;
    let folder = store.session_dir(lease.session()).map_err(|error| internal(&error))?;
    let ready = back::ready(&folder, repo, lease.sealer(), &to).map_err(|why| refused(&state, &why))?;
    // What was shown to be accepted is not what is there from here on.
    changes::forget_shown(&folder)?;
    if state.undoing() != Some(&to) {
        let last = state.newest_ran().map(|ran| ran.call.clone());
        let event = Event::Undoing { to: to.clone(), by };
        let entry = facts([("last", json!(last))]);
        record(&mut state, lease, clock, &event, &entry).await?;
    }
    let done = ready.carry_out().map_err(|why| cut_short(lease, &to, &why))?;
    let entry = facts([
        ("restored", json!(done.restored.len())),
        ("removed", json!(done.removed.len())),
        ("recreated", json!(done.recreated.len())),
    ]);
    record(&mut state, lease, clock, &Event::Undone { to: to.clone() }, &entry).await?;
    Ok(UndoneView {
        session: lease.session().clone(),
        to,
        restored: done.restored,
        removed: done.removed,
        recreated: done.recreated,
        left_out: done.left_out,
        session_state: session::session_state(state.phase()),
    })
}

async fn record(
    state: &mut Session,
    lease: &Lease,
    clock: &Clock,
    event: &Event,
    facts: &Facts,
) -> Result<(), ApiError> {
    session::record_beside(state, lease, clock.now_us(), event, facts).await.map_err(|halt| internal(&halt))
}

/// The call that somebody named.
fn named(state: &Session, call: &str) -> Result<CallId, ApiError> {
    if let Some(ran) = state.ran().find(|ran| ran.call.as_str() == call) {
        return Ok(ran.call.clone());
    }
    let proposed = state.proposals().iter().find(|proposal| proposal.call.as_str() == call);
    let message = match proposed {
        Some(proposal) => {
            format!(
                "`{call}` is a call of `{}` that changed no file: there is nothing of it to undo",
                proposal.tool
            )
        }
        None => format!("the session has no call `{call}`"),
    };
    let mut error = ApiError::new(Fault::Usage, message);
    if let Some(near) = state.nearest_ran(call).filter(|_| proposed.is_none()) {
        error = error.hint(format!("did you mean `{near}`?"));
    }
    Err(error.hint(choices(state)))
}

fn last_turn(state: &Session) -> Result<CallId, ApiError> {
    if let Some(to) = state.undoing() {
        return Ok(to.clone());
    }
    let usage = |message: &str| ApiError::new(Fault::Usage, message);
    state.last_turn().map(|ran| ran.call.clone()).map_err(|why| match why {
        NothingToUndo::AtAll => usage("the session changed no file: there is nothing to undo"),
        NothingToUndo::InLastTurn(call) => {
            usage("the last turn changed no file: there is nothing of it to undo")
                .hint(format!("the last call that could is `{call}`: --to {call}"))
                .hint(choices(state))
        }
    })
}

/// The calls that can be gone back to, the last ones first.
fn choices(state: &Session) -> String {
    let calls: Vec<String> =
        state.ran().rev().take(NAMED).map(|ran| format!("{} ({})", ran.call, ran.tool)).collect();
    if calls.is_empty() {
        "no call of the session changed a file".to_owned()
    } else {
        format!("calls that may have changed files, the last first: {}", calls.join(", "))
    }
}

/// Nothing was done.
fn refused(state: &Session, why: &back::Refusal) -> ApiError {
    let fault = match why {
        back::Refusal::Copied | back::Refusal::NotKept(_) | back::Refusal::Incomplete(..) => Fault::Refused,
        back::Refusal::Unreadable { .. } | back::Refusal::Failed(_) => Fault::Internal,
    };
    ApiError::new(fault, why.to_string()).hint("nothing was changed").hint(choices(state))
}

/// It was begun and is not done.
fn cut_short(lease: &Lease, to: &CallId, why: &back::Refusal) -> ApiError {
    let id = lease.session();
    ApiError::new(Fault::Internal, format!("the undo was cut short: {why}"))
        .hint(format!("finish it: enclos undo {id} --to {to}"))
}

fn internal(error: &dyn std::fmt::Display) -> ApiError {
    ApiError::new(Fault::Internal, error.to_string())
}

#[cfg(test)]
mod tests;
