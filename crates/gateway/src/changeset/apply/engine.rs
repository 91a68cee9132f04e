//! Doing the steps of a plan, with a way back from every point.
//!
//! Order: former contents kept → record durable → new contents written and durable → removals → emptied directories
//! → new directories → exchanges and additions → directories durable → record says done → traces removed. After each
//! exchange the content that came out is compared with the planned one; a stranger ends the run and goes back.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use enclos_sandbox::layer::Kind;
use rustix::io::Errno;

use super::ApplyError;
use super::back::take_back;
use super::ground::{Ground, parents_of};
use super::record::{Attributes, Directory, Record, Stage, Step, new_id};
use crate::changeset::content::digest_copy;
use crate::changeset::error::ChangeSetError;
use crate::changeset::model::Side;
use crate::changeset::store::Store;

/// Writes the content of a step; the engine checks it against the step.
pub(super) type Source<'a> = &'a dyn Fn(&Step, &mut dyn io::Write) -> Result<Side, ApplyError>;

/// One run.
pub(super) struct Engine<'a> {
    ground: &'a Ground,
    store: &'a Store,
}

impl<'a> Engine<'a> {
    /// An engine on a tree, with a place for records.
    pub(super) fn new(ground: &'a Ground, store: &'a Store) -> Self {
        Self { ground, store }
    }

    /// Does all steps or none, and tells the name of the record.
    pub(super) fn run(
        &self,
        repository: &Path,
        steps: &[Step],
        clear: &[String],
        source: Source<'_>,
    ) -> Result<String, ApplyError> {
        self.keep(steps)?;
        let mut record = Record {
            id: new_id()?,
            repository: repository.to_owned(),
            stage: Stage::Prepared,
            steps: steps.to_vec(),
            homes: self.homes(steps)?,
            made: self.to_make(steps)?,
            cleared: self.to_clear(steps, clear)?,
        };
        record.save(self.store)?;
        let done = self.stage(&record, source).and_then(|()| self.act(&record));
        if let Err(error) = done {
            return Err(self.fail(&mut record, error));
        }
        record.stage = Stage::Done;
        if let Err(error) = record.save(self.store) {
            record.stage = Stage::Prepared;
            return Err(self.fail(&mut record, error.into()));
        }
        // It is done; what cannot be removed now is removed by `recover`.
        let _ = discard(self.ground, &record);
        Ok(record.id)
    }

    /// Takes a failed run back.
    fn fail(&self, record: &mut Record, error: ApplyError) -> ApplyError {
        let staging = record.shown_stagings();
        match take_back(self.ground, record) {
            Ok(left) if left.is_empty() => {}
            _ => return ApplyError::Stuck { staging, source: Box::new(error) },
        }
        record.stage = Stage::Undone;
        match record.save(self.store) {
            Ok(()) => error,
            Err(_) => ApplyError::Stuck { staging, source: Box::new(error) },
        }
    }

    /// Keeps what the steps will replace, and checks that it is what was planned on.
    fn keep(&self, steps: &[Step]) -> Result<(), ApplyError> {
        for step in steps {
            let Some(from) = &step.from else { continue };
            if self.store.kept(&from.digest).is_some() {
                continue;
            }
            let kept = if from.mode.is_link() {
                let target =
                    self.ground.tree().target(&step.path).map_err(ChangeSetError::read(&step.path))?;
                self.store.keep(&mut target.as_slice(), from.mode)?
            } else {
                let mut file =
                    self.ground.tree().file(&step.path).map_err(ChangeSetError::read(&step.path))?;
                self.store.keep(&mut file, from.mode)?
            };
            if kept != *from {
                return Err(ApplyError::Moved(step.path.clone()));
            }
        }
        Ok(())
    }

    /// Where the contents of each step can wait.
    fn homes(&self, steps: &[Step]) -> Result<Vec<String>, ApplyError> {
        let home = |step: &Step| self.ground.home(&step.path).map_err(ApplyError::write(&step.path));
        steps.iter().map(home).collect()
    }

    /// The directories that additions need, outer ones first.
    fn to_make(&self, steps: &[Step]) -> Result<Vec<Directory>, ApplyError> {
        let mut made = BTreeMap::new();
        for step in steps.iter().filter(|step| step.to.is_some()) {
            for parent in parents_of(&step.path) {
                let entry = self.ground.tree().entry(parent).map_err(ApplyError::write(parent))?;
                if entry.is_some_and(|entry| entry.kind == Kind::Directory) {
                    break;
                }
                let nearest = self.ground.nearest(parent).map_err(ApplyError::write(parent))?;
                let attributes = Attributes { mode: nearest.mode & 0o2777, owner: nearest.owner };
                made.insert(parent.to_owned(), attributes);
            }
        }
        Ok(made.into_iter().map(|(path, attributes)| Directory { path, attributes }).collect())
    }

    /// The directories that removals may empty and those that must go, inner ones first.
    fn to_clear(&self, steps: &[Step], clear: &[String]) -> Result<Vec<Directory>, ApplyError> {
        let mut paths: Vec<&str> = clear.iter().map(String::as_str).collect();
        let needed: BTreeSet<&str> =
            steps.iter().filter(|step| step.to.is_some()).flat_map(|step| parents_of(&step.path)).collect();
        for step in steps.iter().filter(|step| step.to.is_none()) {
            paths.extend(parents_of(&step.path).filter(|parent| !needed.contains(parent)));
        }
        paths.sort_unstable();
        paths.dedup();
        let mut cleared = Vec::new();
        for path in paths.into_iter().rev() {
            if let Some(entry) = self.ground.tree().entry(path).map_err(ApplyError::write(path))? {
                let attributes = Attributes { mode: entry.mode, owner: entry.owner };
                cleared.push(Directory { path: path.to_owned(), attributes });
            }
        }
        Ok(cleared)
    }

    /// Writes every new content into its staging directory.
    fn stage(&self, record: &Record, source: Source<'_>) -> Result<(), ApplyError> {
        for staging in record.stagings() {
            let home = self.ground.nearest(&staging).map_err(ApplyError::write(&staging))?;
            let attributes = Attributes { mode: 0o700, owner: home.owner };
            self.ground.make_directory(&staging, attributes).map_err(ApplyError::write(&staging))?;
        }
        for (at, step) in record.steps.iter().enumerate() {
            let (Some(to), Some(becomes)) = (&step.to, step.becomes) else { continue };
            let slot = record.slot(at);
            let written = if to.mode.is_link() {
                let mut target = Vec::new();
                let side = source(step, &mut target)?;
                self.ground.link(&slot, &target, becomes).map_err(ApplyError::write(&step.path))?;
                side
            } else {
                let mut file = self.ground.create(&slot).map_err(ApplyError::write(&step.path))?;
                let side = source(step, &mut file)?;
                Ground::finish(&file, becomes).map_err(ApplyError::write(&step.path))?;
                side
            };
            if written != *to {
                return Err(ChangeSetError::Stale { path: step.path.clone() }.into());
            }
        }
        let slots: Vec<String> = (0..record.steps.len()).map(|at| record.slot(at)).collect();
        self.ground.settle(slots.iter().map(String::as_str)).map_err(ApplyError::write("."))
    }

    /// Touches the tree.
    fn act(&self, record: &Record) -> Result<(), ApplyError> {
        for act in acts(record) {
            self.perform(&act)?;
        }
        let paths = record.steps.iter().map(|step| step.path.as_str());
        self.ground.settle(paths).map_err(ApplyError::write("."))
    }

    /// One act: whole, or not begun.
    pub(super) fn perform(&self, act: &Act<'_>) -> Result<(), ApplyError> {
        match act {
            Act::Remove { step, slot } => {
                self.ground.shift(&step.path, slot).map_err(|error| moved(step, error))?;
                self.check(slot, step)
            }
            Act::Clear(Directory { path, .. }) => {
                self.ground.remove_directory(path).map(drop).map_err(ApplyError::write(path))
            }
            Act::Make(Directory { path, attributes }) => {
                self.ground.make_directory(path, *attributes).map_err(ApplyError::write(path))
            }
            Act::Exchange { step, slot } => {
                self.ground.exchange(&step.path, slot).map_err(|error| moved(step, error))?;
                self.check(slot, step)
            }
            Act::Add { step, slot } => {
                self.ground.shift(slot, &step.path).map_err(|error| moved(step, error))
            }
        }
    }

    /// Whether what came out of the tree is what was planned on.
    fn check(&self, slot: &str, step: &Step) -> Result<(), ApplyError> {
        let found = self.ground.side(slot).map_err(ApplyError::write(&step.path))?;
        if found == step.from { Ok(()) } else { Err(ApplyError::Moved(step.path.clone())) }
    }
}

/// What can happen to the tree.
pub(super) enum Act<'a> {
    /// A file goes into its slot.
    Remove { step: &'a Step, slot: String },
    /// A directory goes, if it is empty.
    Clear(&'a Directory),
    /// A directory is made.
    Make(&'a Directory),
    /// A file changes places with the one in its slot.
    Exchange { step: &'a Step, slot: String },
    /// A file comes out of its slot.
    Add { step: &'a Step, slot: String },
}

/// The acts of a record, in their order.
pub(super) fn acts(record: &Record) -> Vec<Act<'_>> {
    let steps = || record.steps.iter().enumerate().map(|(at, step)| (step, record.slot(at)));
    let removals = steps().filter(|(step, _)| step.to.is_none());
    let writes = steps().filter(|(step, _)| step.to.is_some());
    let removals = removals.map(|(step, slot)| Act::Remove { step, slot });
    let writes = writes.map(|(step, slot)| match step.from {
        Some(_) => Act::Exchange { step, slot },
        None => Act::Add { step, slot },
    });
    let directories = record.cleared.iter().map(Act::Clear).chain(record.made.iter().map(Act::Make));
    removals.chain(directories).chain(writes).collect()
}

/// A target that is not as planned, or a real failure.
fn moved(step: &Step, error: io::Error) -> ApplyError {
    match Errno::from_io_error(&error) {
        Some(Errno::NOENT | Errno::EXIST | Errno::NOTDIR | Errno::ISDIR | Errno::LOOP) => {
            ApplyError::Moved(step.path.clone())
        }
        _ => ApplyError::write(&step.path)(error),
    }
}

/// Removes the traces of a finished run.
pub(super) fn discard(ground: &Ground, record: &Record) -> io::Result<()> {
    for at in 0..record.steps.len() {
        ground.remove(&record.slot(at))?;
    }
    for staging in record.stagings() {
        ground.remove_directory(&staging)?;
    }
    Ok(())
}

/// Copies a kept content.
pub(super) fn copy_kept(store: &Store, side: &Side, to: &mut dyn io::Write) -> io::Result<Side> {
    let mut kept = store.kept(&side.digest).ok_or(io::ErrorKind::NotFound)?;
    digest_copy(&mut kept, side.mode, to)
}
