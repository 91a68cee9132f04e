//! What git knew at opening, so that a file which changes outside later can still be merged.
//!
//! A live tree may change under a session. For a file that does, its content at opening is found again in one of two
//! places: a copy taken at opening, if it differed from the index or was untracked; else the blob that the index
//! named, if the index has not been written since. Taking the copies is the cost of a `git status`, so it is done
//! beside the session, in a thread of the caller's, and a file that changes before its copy is taken is "not known".

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use enclos_sandbox::layer::{Entry, Stamp, Tree, names_git};
use serde::{Deserialize, Serialize};

use super::base::stamp_of;
use super::content::{MAX_TEXT, mode_of};
use super::error::ChangeSetError;
use super::git::Git;
use super::model::{Mode, Side};
use super::store::Store;

/// The most bytes of copies.
const MAX_BYTES: u64 = 256 << 20;
/// The most copies.
const MAX_COPIES: usize = 20_000;

/// What a file that differed from the index was at opening.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Saved {
    /// There was none.
    Absent,
    /// Its content is kept.
    Copy(Side),
    /// It changed before it could be kept, or is too much to keep.
    Unsaved,
}

/// What git knew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Snapshot {
    /// Files that differed from the index, and untracked ones that are not ignored.
    pub(super) unclean: BTreeMap<String, Saved>,
    /// Tracked files that an ignore rule matches; they belong to the change set all the same.
    pub(super) tracked_ignored: BTreeSet<String>,
}

/// Takes the snapshot of a session's base. To be run once, beside the session, soon after
/// [`record_opening`](super::record_opening). A tree without git, or whose index was written since the opening, has
/// none, which is no error; `true` says that there is one.
pub fn record_unclean(repository: &Path, layer: &Path) -> Result<bool, ChangeSetError> {
    let store = Store::of(layer);
    let opened = store.opened()?;
    let git = Git::new(repository);
    let Some(directory) = git.directory() else { return Ok(false) };
    if !keep_index(&store, &directory, opened)? {
        return Ok(false);
    }
    let lists = || -> io::Result<(Vec<String>, Vec<String>)> {
        let mut unclean = unlike_the_index(&git, repository)?;
        unclean.extend(git.paths(&["ls-files", "--others", "--exclude-standard", "-z"])?);
        let ignored = git.paths(&["ls-files", "--cached", "--ignored", "--exclude-standard", "-z"])?;
        Ok((unclean, ignored))
    };
    let Ok((unclean, ignored)) = lists() else { return Ok(false) };
    let mut snapshot = Snapshot { tracked_ignored: ignored.into_iter().collect(), ..Snapshot::default() };
    let tree = Tree::open(repository).map_err(ChangeSetError::read("."))?;
    let mut room = MAX_BYTES;
    for path in unclean {
        let full = snapshot.unclean.len() >= MAX_COPIES;
        let saved = if full { Saved::Unsaved } else { keep(&store, &tree, &path, opened, &mut room)? };
        snapshot.unclean.insert(path, saved);
    }
    store.save("snapshot.json", &snapshot)?;
    Ok(true)
}

/// Tracked files that are not, by size and last change, as the index recorded them. Some may be equal all the same:
/// a copy too many costs little, and nothing of their content is compared.
fn unlike_the_index(git: &Git, repository: &Path) -> io::Result<Vec<String>> {
    let tree = Tree::open(repository)?;
    let mut unlike = Vec::new();
    for tracked in git.all_tracked()? {
        let same = |entry: &Entry| entry.size == tracked.size && entry.changed == tracked.changed;
        if !tree.entry(&tracked.path).is_ok_and(|entry| entry.as_ref().is_some_and(same)) {
            unlike.push(tracked.path);
        }
    }
    Ok(unlike)
}

/// Keeps a copy of the index, unless it was written after the opening.
fn keep_index(store: &Store, git: &Path, opened: Stamp) -> Result<bool, ChangeSetError> {
    let from: PathBuf = git.join("index");
    let path = store.path("index");
    let copy = || -> io::Result<bool> {
        fs::copy(&from, &path)?;
        Ok(stamp_of(&fs::metadata(&from)?) <= opened)
    };
    match copy() {
        Ok(true) => Ok(true),
        Ok(false) => {
            fs::remove_file(&path).map(|()| false).map_err(|source| ChangeSetError::Store { path, source })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(ChangeSetError::Store { path, source }),
    }
}

/// Keeps one file, if it is still as it was at opening.
fn keep(
    store: &Store,
    tree: &Tree,
    path: &str,
    opened: Stamp,
    room: &mut u64,
) -> Result<Saved, ChangeSetError> {
    if names_git(path.as_bytes()) {
        return Ok(Saved::Unsaved);
    }
    let Ok(entry) = tree.entry(path) else { return Ok(Saved::Unsaved) };
    let Some(entry) = entry else { return Ok(Saved::Absent) };
    let Some(mode) = mode_of(&entry) else { return Ok(Saved::Unsaved) };
    if entry.changed > opened || entry.size > MAX_TEXT || entry.size > *room {
        return Ok(Saved::Unsaved);
    }
    let side = if mode == Mode::Link {
        let Ok(target) = tree.target(path) else { return Ok(Saved::Unsaved) };
        store.keep(&mut target.as_slice(), mode)?
    } else {
        let Ok(mut file) = tree.file(path) else { return Ok(Saved::Unsaved) };
        store.keep(&mut file, mode)?
    };
    *room = room.saturating_sub(side.size);
    let still = tree.entry(path).is_ok_and(|now| now == Some(entry));
    Ok(if still { Saved::Copy(side) } else { Saved::Unsaved })
}
