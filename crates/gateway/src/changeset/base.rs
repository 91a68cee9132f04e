//! The tree as it was at opening.
//!
//! Nothing is listed at opening: only its moment is written down, by the clock of the file system. A file whose
//! ctime (which no program can set) is not later, in directories that are not later either, is still what it was.
//! For any other the answer comes from the snapshot of git, and without one it is "not known", which makes the file
//! a conflict. What a changed file was is written down at first sight together with its content, so that later
//! changes outside, an application among them, do not change the answer.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use enclos_sandbox::layer::{Entry, Stamp, Tree};

use super::content::{MAX_TEXT, copy, mode_of};
use super::error::ChangeSetError;
use super::git::Git;
use super::ignored::Ignored;
use super::model::Side;
use super::snapshot::{Saved, Snapshot};
use super::store::Store;

/// The most bytes of base contents that one change set keeps.
const MAX_KEPT: u64 = 1 << 30;

/// Writes down that a workspace is being opened. To be called before its first command; a second call, as when a
/// session is resumed, changes nothing.
pub fn record_opening(layer: &Path) -> Result<(), ChangeSetError> {
    let store = Store::of(layer);
    store.create()?;
    store.record_opening()
}

/// Writes down which paths of the tree the workspace is opened without: to be called at every opening, with the
/// paths from the root. One that was hidden earlier stays so where the session has written something meanwhile, since
/// it did not know what it wrote over. Names that are not UTF-8 never come into a change set.
pub fn record_hidden(layer: &Path, hidden: &[PathBuf]) -> Result<(), ChangeSetError> {
    let store = Store::of(layer);
    store.create()?;
    let written = enclos_sandbox::layer::written(layer);
    let mut paths: BTreeSet<String> = store.load("hidden.json")?.unwrap_or_default();
    paths.retain(|path| written.join(path).symlink_metadata().is_ok());
    paths.extend(hidden.iter().filter_map(|path| path.to_str()).map(str::to_owned));
    store.save("hidden.json", &paths)
}

/// What is hidden from a session: not what it was shown later on, nor the folders that hold some of that.
pub(super) fn hidden(layer: &Path) -> Result<BTreeSet<String>, ChangeSetError> {
    let mut paths: BTreeSet<String> = Store::of(layer).load("hidden.json")?.unwrap_or_default();
    for path in unmasked(layer)? {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for above in ends.filter_map(|end| path.get(..end)) {
            paths.remove(above);
        }
    }
    Ok(paths)
}

/// The files that were masked and lie in the layer of a session since it knows as much.
pub(crate) fn unmasked(layer: &Path) -> Result<BTreeSet<String>, ChangeSetError> {
    Ok(Store::of(layer).load("unmasked.json")?.unwrap_or_default())
}

/// Writes down that files were put into the layer of a session.
pub(crate) fn record_unmasked(layer: &Path, paths: &[PathBuf]) -> Result<(), ChangeSetError> {
    let mut all = unmasked(layer)?;
    all.extend(paths.iter().filter_map(|path| path.to_str()).map(str::to_owned));
    Store::of(layer).save("unmasked.json", &all)
}

/// Forgets those that do not lie in the layer any more, since it was put back to what it was before them: they are put
/// there again when it is opened.
pub(crate) fn forget_unmasked(layer: &Path) -> Result<(), ChangeSetError> {
    let mut all = unmasked(layer)?;
    if all.is_empty() {
        return Ok(());
    }
    let written = enclos_sandbox::layer::written(layer);
    all.retain(|path| written.join(path).symlink_metadata().is_ok());
    Store::of(layer).save("unmasked.json", &all)
}

/// What is known of one path at opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// This content, or nothing.
    Known(Option<Side>),
    /// No more than what is there now.
    Unknown(Option<Side>),
}

/// The base of one session.
#[derive(Debug)]
pub(super) struct Base {
    repository: PathBuf,
    store: Store,
    opened: Stamp,
    seen: BTreeMap<String, Option<Side>>,
    snapshot: Option<Snapshot>,
    room: u64,
}

impl Base {
    /// Opens what was recorded of the base.
    pub(super) fn open(repository: &Path, layer: &Path) -> Result<Self, ChangeSetError> {
        let store = Store::of(layer);
        let opened = store.opened()?;
        let seen = store.load("seen.json")?.unwrap_or_default();
        let snapshot = store.load("snapshot.json")?;
        Ok(Self { repository: repository.to_owned(), store, opened, seen, snapshot, room: MAX_KEPT })
    }

    /// Where base contents are kept.
    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// Whether a tracked file is matched by an ignore rule.
    pub(super) fn is_tracked_ignored(&self, path: &str) -> bool {
        self.snapshot.as_ref().is_some_and(|snapshot| snapshot.tracked_ignored.contains(path))
    }

    /// Whether a directory holds such a file.
    pub(super) fn holds_tracked_ignored(&self, directory: &str) -> bool {
        let Some(snapshot) = &self.snapshot else { return false };
        let prefix = format!("{directory}/");
        snapshot.tracked_ignored.range(prefix.clone()..).next().is_some_and(|path| path.starts_with(&prefix))
    }

    /// What some paths were at opening, given what is there now.
    pub(super) fn before(
        &mut self,
        tree: &Tree,
        ignored: &mut Ignored,
        paths: &[(&str, Option<Entry>)],
    ) -> Result<Vec<Before>, ChangeSetError> {
        let mut directories = HashMap::new();
        let unsettled: Vec<&str> = paths
            .iter()
            .filter(|(path, live)| {
                !self.seen.contains_key(*path) && !self.unmoved(tree, path, *live, &mut directories)
            })
            .map(|(path, _)| *path)
            .collect();
        let mut told = self.ask(tree, ignored, &unsettled)?;
        let unsettled: HashSet<&str> = unsettled.into_iter().collect();
        let mut answers = Vec::with_capacity(paths.len());
        for (path, live) in paths {
            let (before, told) = match (self.seen.get(*path), told.remove(*path)) {
                (Some(side), _) => (Before::Known(side.clone()), true),
                (None, Some(side)) => (Before::Known(side), true),
                (None, None) => (self.as_found(tree, path, *live)?, false),
            };
            // That nothing was there is only guessed where directories changed: it is asked again next time.
            if let Before::Known(side) = &before
                && (told || side.is_some() || !unsettled.contains(path))
            {
                self.seen.insert((*path).to_owned(), side.clone());
            }
            answers.push(before);
        }
        self.store.save("seen.json", &self.seen)?;
        Ok(answers)
    }

    /// Whether a path, there or not, is what it was at opening as far as the file system tells.
    fn unmoved(
        &self,
        tree: &Tree,
        path: &str,
        live: Option<Entry>,
        directories: &mut HashMap<String, bool>,
    ) -> bool {
        let old = |entry: &Entry| entry.changed <= self.opened;
        let ends = path.match_indices('/').map(|(at, _)| at);
        let parents_old = std::iter::once(0).chain(ends).all(|end| {
            let parent = path.get(..end).unwrap_or_default();
            *directories.entry(parent.to_owned()).or_insert_with(|| {
                // A directory that is not there leaves the question to the one that should hold it.
                tree.entry(parent).is_ok_and(|entry| entry.as_ref().is_none_or(old))
            })
        });
        parents_old && live.as_ref().is_none_or(old)
    }

    /// Takes what is there now. A file that itself is not later than the opening is taken for the one of then;
    /// otherwise it is only shown.
    fn as_found(&mut self, tree: &Tree, path: &str, live: Option<Entry>) -> Result<Before, ChangeSetError> {
        let Some((entry, mode)) = live.and_then(|entry| Some((entry, mode_of(&entry)?))) else {
            return Ok(Before::Known(None));
        };
        let keeps = entry.size <= MAX_TEXT && entry.size <= self.room;
        let side = if mode.is_link() {
            let target = tree.target(path).map_err(ChangeSetError::read(path))?;
            self.store.keep(&mut target.as_slice(), mode)?
        } else if keeps {
            let mut file = tree.file(path).map_err(ChangeSetError::read(path))?;
            self.room = self.room.saturating_sub(entry.size);
            self.store.keep(&mut file, mode)?
        } else {
            copy(tree, path, mode, &mut io::sink()).map_err(ChangeSetError::read(path))?
        };
        if tree.entry(path).map_err(ChangeSetError::read(path))? != live {
            return Err(ChangeSetError::Stale { path: path.to_owned() });
        }
        Ok(if entry.changed <= self.opened { Before::Known(Some(side)) } else { Before::Unknown(Some(side)) })
    }

    /// Asks the snapshot. Paths of which it cannot tell anything are left out of the answer.
    fn ask(
        &self,
        tree: &Tree,
        ignored: &mut Ignored,
        paths: &[&str],
    ) -> Result<HashMap<String, Option<Side>>, ChangeSetError> {
        let mut told = HashMap::new();
        let Some(snapshot) = &self.snapshot else { return Ok(told) };
        let mut clean = Vec::new();
        for path in paths {
            match snapshot.unclean.get(*path) {
                Some(Saved::Absent) => drop(told.insert((*path).to_owned(), None)),
                Some(Saved::Copy(side)) => drop(told.insert((*path).to_owned(), Some(side.clone()))),
                Some(Saved::Unsaved) => {}
                None => clean.push(*path),
            }
        }
        let mut tracked = self.ask_index(&clean)?;
        for path in clean {
            match tracked.remove(path) {
                Some(Some(side)) => drop(told.insert(path.to_owned(), Some(side))),
                // Neither tracked, nor untracked at opening: it was not there.
                None if !ignored.is_ignored(tree, path, false) => drop(told.insert(path.to_owned(), None)),
                Some(None) | None => {}
            }
        }
        Ok(told)
    }

    /// The contents that the index of the opening names. A path it does not hold is left out; one whose content
    /// cannot be had, or would be written to the tree as other bytes (line endings, filters), is `None`.
    fn ask_index(&self, paths: &[&str]) -> Result<HashMap<String, Option<Side>>, ChangeSetError> {
        let git = Git::with_index(&self.repository, self.store.path("index"));
        let nothing_known = || paths.iter().map(|path| ((*path).to_owned(), None)).collect();
        let Ok(entries) = git.tracked(paths) else { return Ok(nothing_known()) };
        let objects: Vec<&str> = entries.iter().map(|entry| entry.object.as_str()).collect();
        let Ok(contents) = git.blobs(&objects) else { return Ok(nothing_known()) };
        let mut sides = HashMap::new();
        for (entry, content) in entries.iter().zip(contents) {
            let side = match (entry.mode, content) {
                (Some(mode), Some(content)) if content.len() as u64 == entry.size => {
                    Some(self.store.keep(&mut content.as_slice(), mode)?)
                }
                _ => None,
            };
            sides.insert(entry.path.clone(), side);
        }
        Ok(sides)
    }
}

/// The moment a file last changed.
pub(super) fn stamp_of(found: &Metadata) -> Stamp {
    Stamp { seconds: found.ctime(), nanoseconds: found.ctime_nsec().unsigned_abs() }
}
