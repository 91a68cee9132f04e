//! What an overlay's upper layer would hold, worked out from a copy: the entries that are not what they were when the copy
//! was finished, the folders on the way to them, and a mark for each that is gone.
//!
//! So the walk asks one question of both and what differs is found by the same code. Attributes that a program set on an
//! entry of the copy mean nothing here: they are no marks of an overlay.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{Entry, Kind, Special, Stamp};
use super::upper::Upper;
use super::{LayerError, MAX_ENTRIES};
use crate::copy::Manifest;

/// The entry of what is gone.
const GONE: Entry = Entry {
    kind: Kind::Whiteout,
    mode: 0,
    size: 0,
    changed: Stamp { seconds: 0, nanoseconds: 0 },
    inode: (0, 0),
    owner: (0, 0),
};

/// What a session touched in a copy.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// The names in each folder that holds something touched.
    folders: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    gone: BTreeSet<Vec<u8>>,
}

impl Touched {
    /// Compares a copy with what it was.
    pub(super) fn of(copy: &Upper, manifest: &Manifest) -> Result<Self, LayerError> {
        let found = copy.inventory(MAX_ENTRIES, &mut |_| false)?.entries;
        let mut touched = Self::default();
        for (path, lying) in found.iter().filter(|(path, _)| !path.is_empty()) {
            // A folder that cannot be looked into is unchanged when it is what it was in every part.
            let unchanged = manifest.entries.get(path).is_some_and(|stamped| match lying.reason {
                None => stamped.is(&lying.entry),
                Some(_) => stamped.is_exactly(&lying.entry),
            });
            if !unchanged {
                touched.touch(path);
            }
        }
        for path in manifest.entries.keys().filter(|path| !found.contains_key(*path)) {
            // What a folder held goes with it; of one that could not be entered nothing is known.
            let holder = found.get(split(path).0);
            if holder.is_some_and(|lying| lying.entry.kind == Kind::Directory && lying.reason.is_none()) {
                touched.touch(path);
                touched.gone.insert(path.clone());
            }
        }
        Ok(touched)
    }

    fn touch(&mut self, path: &[u8]) {
        let mut path = path;
        while !path.is_empty() {
            let (folder, name) = split(path);
            if !self.folders.entry(folder.to_vec()).or_default().insert(name.to_vec()) {
                return;
            }
            path = folder;
        }
    }

    /// The names that the upper layer would hold in a folder, sorted.
    pub(super) fn names(&self, path: &str) -> Vec<Vec<u8>> {
        self.folders.get(path.as_bytes()).into_iter().flatten().cloned().collect()
    }

    /// The entry that it would hold at a path, given the one of the copy.
    pub(super) fn entry(&self, path: &str, found: Option<Entry>) -> Option<Entry> {
        if self.gone.contains(path.as_bytes()) {
            return Some(GONE);
        }
        let mut entry = found?;
        if entry.kind == Kind::Whiteout {
            // A program may make a device of this number in a copy; it means nothing.
            entry.kind = Kind::Special(Special::Device);
        }
        Some(entry)
    }
}

/// The folder and the name of a path.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (path.get(..at).unwrap_or_default(), path.get(at + 1..).unwrap_or_default()),
        None => (b"", path),
    }
}
