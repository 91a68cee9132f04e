//! What becomes of a change set on one's own gateway: shown, applied as it was shown, or thrown away.
//!
//! Nothing is applied that was not shown last, and nothing without the lease of its session.

use std::path::{Path, PathBuf};

use enclos_core::between::{self, Reset};
use enclos_core::decision::DecidedBy;
use enclos_core::ids::{RuleId, SessionId};
use enclos_core::lineage::Moment;
use enclos_core::session::{Event, Outcome, Session};
use enclos_protocol::changeset::{AppliedView, ChangeSetView};
use enclos_protocol::error::{ApiError, Fault, Place};
use serde_json::json;

use super::{Local, Sealed};
use crate::held::{Levels, Release};
use crate::host::Elsewhere;
use crate::policies::Choice;
use crate::session::{self, Made};
use crate::sessions::{self, of_store};
use crate::{changes, undo};

impl Local {
    /// The layer and the repository of a session whose change set can be handled.
    pub(super) fn made_by(&self, id: &SessionId) -> Result<(PathBuf, PathBuf), ApiError> {
        let sealed = self.sealed(id)?;
        self.brought_back(id, sealed.host.as_deref())?;
        Ok((sealed.repo, self.layer(id)))
    }

    fn layer(&self, id: &SessionId) -> PathBuf {
        self.places.session(id).join("layer")
    }

    /// What a session was opened with, if it is open.
    pub(super) fn sealed(&self, id: &SessionId) -> Result<Sealed, ApiError> {
        let store = self.store()?;
        let row = store.session(id).map_err(|error| of_store(&error))?;
        if row.closed_us.is_some() {
            let message = format!("the session `{id}` is closed: it has no change set any more");
            return Err(
                ApiError::new(Fault::Usage, message).hint(format!("see what happened: enclos show {id}"))
            );
        }
        // The sealed half is believed, not the row that a listing shows.
        Sealed::of(row.extra)
    }

    /// Fetches what a session changed on its host, where that has not been done.
    fn brought_back(&self, id: &SessionId, host: Option<&Path>) -> Result<(), ApiError> {
        let Some(socket) = host else { return Ok(()) };
        let folder = self.places.session(id);
        if Elsewhere::new(folder.clone(), id.clone(), socket.to_owned(), 0).is_ahead() {
            let lease = self.take(id)?;
            Elsewhere::new(folder, id.clone(), socket.to_owned(), lease.epoch()).fetch_last()?;
        }
        Ok(())
    }

    /// What is asked about each file that a session changed, under the policy in force.
    fn levels(&self, id: &SessionId, state: &Session, repo: &Path) -> Result<Levels, ApiError> {
        let sealed = self.sealed(id)?;
        let choice = Choice { preset: sealed.preset.as_deref(), files: &sealed.policy, repo: Some(repo) };
        let (_, policy) = self.settled(choice)?;
        Ok(Levels::of(state, &policy))
    }

    /// What a session made, noted as shown.
    pub(super) fn shown(&self, session: &SessionId) -> Result<ChangeSetView, ApiError> {
        let (repo, layer) = self.made_by(session)?;
        let state = session::replay(&self.store()?, session)?;
        undo::whole(&state, session)?;
        let levels = self.levels(session, &state, &repo)?;
        let view = session::view(Made { repo: &repo, layer: &layer, levels: &levels })?;
        changes::remember_shown(&self.places.session(session), &view.digest)?;
        Ok(view)
    }

    /// Applies what a session made, as it was shown last.
    pub(super) fn accept(
        &self,
        session: &SessionId,
        files: Option<Vec<String>>,
        release: Option<String>,
        at_terminal: bool,
    ) -> Result<AppliedView, ApiError> {
        let (repo, layer) = self.made_by(session)?;
        let lease = self.take(session)?;
        let state = session::replay(&self.store()?, session)?;
        let levels = self.levels(session, &state, &repo)?;
        let made = Made { repo: &repo, layer: &layer, levels: &levels };
        let set = session::change_set(made)?;
        undo::whole(&state, session)?;
        let told = state.review() == Some(&set.digest);
        if !told && !changes::was_shown(&self.places.session(session), &set.digest) {
            let message = "the change set is not the one that was shown last";
            return Err(ApiError::new(Fault::Refused, message)
                .hint(format!("look at it first: enclos diff {session}")));
        }
        // On the command line a file is accepted by naming it, a flagged one too.
        let release = release.map(|reason| Release { reason });
        let chosen = changes::Chosen { flagged: files.clone().unwrap_or_default(), files, release };
        // A person answers at a terminal; what comes through a pipe is a program's answer.
        let by = if at_terminal { self.human() } else { DecidedBy::Automation(RuleId::new("cli.apply")) };
        let (view, record) = session::accept(&lease, &self.clock, made, &set.digest, &chosen, &by)?;
        let now_us = self.clock.now_us();
        let leaving = session::sent(&self.store()?, &lease, &self.person.user, Moment(now_us));
        let applied = enclos_store::Record {
            kind: "changeset.applied".to_owned(),
            time_us: now_us,
            entry: record,
            lineage: leaving.map_err(|error| of_store(&error))?.into_iter().collect(),
            ..enclos_store::Record::default()
        };
        lease.append_wait(vec![applied]).map_err(|error| of_store(&error))?;
        if !view.left.is_empty() {
            // What is left was shown with the rest, and is named again in the answer.
            let rest = session::change_set(made)?;
            changes::remember_shown(&self.places.session(session), rest.digest.as_str())?;
        }
        if view.left.is_empty() {
            let event = Event::Closed {
                outcome: Outcome::Accepted,
                reason: "the change set was accepted".to_owned(),
            };
            session::close_quietly(&lease, &self.clock, &event, &session::facts_of_end(&state))?;
            sessions::remove_layer(&self.layer(session));
        }
        Ok(view)
    }

    /// Ends a session and erases what it said and made, in one entry that says who did it. The journal stays.
    pub(super) fn begin_anew(
        &self,
        session: &SessionId,
        confirmed: bool,
        at_terminal: bool,
    ) -> Result<(), ApiError> {
        let by = if at_terminal { self.human() } else { DecidedBy::Automation(RuleId::new("cli.reset")) };
        let refused = |why: &str| ApiError::new(Fault::Refused, why.to_owned());
        match between::reset(&by, true, confirmed) {
            Reset::Done => {}
            Reset::Confirm => return Err(refused("a reset was not confirmed: nothing happened")),
            Reset::Refused => return Err(refused("only a person at a terminal resets a session")),
        }
        self.sealed(session)?;
        let lease = self.take(session)?;
        let state = session::replay(&self.store()?, session)?;
        let event = Event::Closed { outcome: Outcome::Reset, reason: "a person reset it".to_owned() };
        let mut facts = session::facts([("by", json!(by)), ("label", json!(state.label()))]);
        facts.extend(session::facts_of_end(&state));
        session::close_quietly(&lease, &self.clock, &event, &facts)?;
        drop(lease);
        sessions::remove_layer(&self.layer(session));
        let folder = self.places.session(session);
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let message = format!("the folder of the session cannot be removed: {error}");
                return Err(
                    ApiError::new(Fault::Internal, message).at(Place::field(folder.display().to_string()))
                );
            }
            _ => {}
        }
        let erased = self.store()?.erase_session(session, self.clock.now_us());
        erased.map(drop).map_err(|error| ApiError::new(Fault::Internal, error.to_string()))
    }

    /// Throws away what a session made.
    pub(super) fn throw_away(&self, session: &SessionId) -> Result<(), ApiError> {
        self.sealed(session)?;
        let lease = self.take(session)?;
        let state = session::replay(&self.store()?, session)?;
        session::discard(&lease, &self.clock, &state, &self.human())?;
        sessions::remove_layer(&self.layer(session));
        Ok(())
    }
}
