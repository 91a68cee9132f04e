//! What of the tree the session was not shown.
//!
//! The workspace hides files by a middle layer, `mask`, that holds a whiteout for each hidden path. Here it is read
//! back: it answers whether a path was hidden, and never says what the file holds.

use std::io;
use std::path::Path;

use super::tree::{Kind, Tree};
use super::{LayerError, open};

/// The hidden paths; none when the workspace has no mask.
#[derive(Debug)]
pub(super) struct Mask(Option<Tree>);

impl Mask {
    /// Opens the mask of a layer, which need not be there.
    pub(super) fn open(path: &Path) -> Result<Self, LayerError> {
        match std::fs::symlink_metadata(path) {
            Ok(_) => Ok(Self(Some(open(path)?))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self(None)),
            Err(source) => Err(LayerError::Open { path: path.to_owned(), source }),
        }
    }

    /// Whether a path, or a directory that holds it, was hidden.
    pub(super) fn hides(&self, path: &str) -> io::Result<bool> {
        let Some(tree) = &self.0 else { return Ok(false) };
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for end in ends {
            let prefix = path.get(..end).unwrap_or(path);
            match tree.entry(prefix)?.map(|entry| entry.kind) {
                Some(Kind::Directory) => {}
                Some(_) => return Ok(true),
                None => return Ok(false),
            }
        }
        Ok(false)
    }
}
