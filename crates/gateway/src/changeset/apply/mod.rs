//! Bringing an accepted change set into the person's tree: all of it, or nothing.
//!
//! First everything is planned in memory against the tree as it is: where it moved, three ways against the tree as
//! it was at opening; any conflict ends the matter with nothing written. Then a record is made durable, the new
//! contents are written into a directory of their own at the root of the tree, and each is exchanged with its target
//! in one step, with a look at what came out. A failure, or a start after a crash, takes everything back.
//!
//! No path with a link on its way is gone through, no `.git` is touched, and nothing that is not the planned content
//! is ever overwritten.

mod back;
mod engine;
mod ground;
mod plan;
mod record;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::error::ChangeSetError;
use super::merge::Clash;
use super::model::{ChangeSet, Choice};
use super::store::Store;
use super::{Known, Workspace};

use engine::Engine;
use ground::Ground;
use record::{Record, Stage};

/// What an application did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Its name, for [`undo`].
    pub id: String,
    /// Files and links written, merged ones among them.
    pub written: Vec<String>,
    /// Files and links removed.
    pub removed: Vec<String>,
    /// Files in which changes of both sides were joined.
    pub merged: Vec<String>,
    /// Chosen changes that the tree already had.
    pub unchanged: Vec<String>,
}

/// Why a file cannot be brought into the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// It changed outside, and its content at opening is not known.
    BaseUnknown,
    /// It was hidden from the session.
    Hidden,
    /// The session made it, and the tree now has another one of that name.
    Exists,
    /// It was changed by the session and removed outside.
    RemovedOutside,
    /// It was removed or renamed by the session and changed outside.
    ChangedOutside,
    /// Both sides changed it, and their changes cannot be joined.
    BothChanged,
    /// A directory, a file or a link stands where its path goes.
    InTheWay,
}

/// One file that stands against an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// Its path.
    pub path: String,
    /// Why.
    pub cause: Cause,
    /// The places where the texts clash, if it is about lines.
    pub clashes: Vec<Clash>,
}

/// Why nothing was applied, or what is left to be mended.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// Some files stand against it.
    #[error("{} of the chosen files changed outside the session; nothing was applied", .0.len())]
    Conflicts(Vec<Conflict>),
    /// A chosen path is not in the change set.
    #[error("`{0}` is not in the change set; choose among the paths that it lists")]
    NotInSet(String),
    /// A path that no change set may hold.
    #[error("`{0}` may not be written; a path stays inside the tree and outside of `.git`")]
    Forbidden(String),
    /// The contents cannot be read.
    #[error(transparent)]
    ChangeSet(#[from] ChangeSetError),
    /// Somebody else applies to this tree now.
    #[error("another application to this tree is going on; try again when it has ended")]
    Busy,
    /// A file changed between plan and act.
    #[error("`{0}` changed while the change set was being applied; nothing was applied, try again")]
    Moved(String),
    /// The tree cannot be written.
    #[error("cannot write `{path}`: {source}; nothing was applied")]
    Write {
        /// The file, from the root of the tree.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A failed application could not be taken back whole.
    #[error(
        "cannot take back all of a failed application; former contents are kept in `{staging}` of the tree"
    )]
    Stuck {
        /// The directories in the tree.
        staging: String,
        /// What first went wrong.
        #[source]
        source: Box<ApplyError>,
    },
    /// There is no such application, or it was taken back already.
    #[error("no application `{0}` can be undone; name one that was applied and not undone")]
    NoRecord(String),
}

impl ApplyError {
    /// Names the file that could not be written.
    fn write<E: Into<io::Error>>(path: &str) -> impl FnOnce(E) -> Self {
        let path = path.to_owned();
        move |source| Self::Write { path, source: source.into() }
    }
}

/// What became of an application that a crash had cut short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovered {
    /// Its name.
    pub id: String,
    /// It had been done, and only its traces were removed; otherwise it was taken back.
    pub done: bool,
    /// Files that changed since and were left as they are; what they held before is in `staging`.
    pub left: Vec<String>,
    /// The directory at the root of the tree (and those where other file systems begin), if something is left in it.
    pub staging: Option<String>,
}

impl Workspace {
    /// Applies the chosen changes. `session` is the session's own directory, where the record and the former contents
    /// are kept for [`undo`] and [`recover`].
    pub fn apply(&self, set: &ChangeSet, choice: &Choice, session: &Path) -> Result<Applied, ApplyError> {
        if let Choice::Files(paths) = choice
            && let Some(path) = paths.iter().find(|path| set.get(path).is_none())
        {
            return Err(ApplyError::NotInSet(path.clone()));
        }
        let ground = Ground::lock(self.repository())?;
        let plan = plan::make(self, &ground, set.chosen(choice))?;
        let store = store(session)?;
        let id = if plan.steps.is_empty() {
            record::new_id()?
        } else {
            Engine::new(&ground, &store)
                .run(self.repository(), &plan.steps, &plan.clear, &|step, to| plan.write(self, step, to))?
        };
        Ok(plan.applied(id))
    }
}

/// Takes an application back: every file that it wrote or removed is as before. If any of them changed since, none
/// is touched and the conflicts are told.
pub fn undo(repository: &Path, session: &Path, id: &str) -> Result<Applied, ApplyError> {
    let store = store(session)?;
    let mut record = Record::load(&store, id)?
        .filter(|record| record.stage == Stage::Done && record.repository == repository)
        .ok_or_else(|| ApplyError::NoRecord(id.to_owned()))?;
    let ground = Ground::lock(repository)?;
    let plan = plan::reverse(&ground, &record)?;
    let id = Engine::new(&ground, &store)
        .run(repository, &plan.steps, &plan.clear, &|step, to| plan::write_kept(&store, step, to))?;
    record.stage = Stage::Undone;
    record.save(&store)?;
    Ok(plan.applied(id))
}

/// Mends what a crash left: to be called at start for each session directory, before anything else is applied.
pub fn recover(session: &Path) -> Result<Vec<Recovered>, ApplyError> {
    let store = store(session)?;
    let mut found = Vec::new();
    for mut record in Record::all(&store)? {
        if let Some(recovered) = back::recover(&store, &mut record)? {
            found.push(recovered);
        }
    }
    Ok(found)
}

/// The store of a session's applications.
fn store(session: &Path) -> Result<Store, ApplyError> {
    let store = Store::of_applications(session);
    store.create()?;
    Ok(store)
}

/// Whether the base of a change can be trusted in a merge.
fn is_known(known: Known) -> Result<(), Cause> {
    match known {
        Known::Yes => Ok(()),
        Known::No => Err(Cause::BaseUnknown),
        Known::Hidden => Err(Cause::Hidden),
    }
}
