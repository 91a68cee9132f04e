//! What a session wrote: a walk of the overlay's upper layer against the tree below it.
//!
//! The walk costs what was written, never what the repository holds. It goes by directory descriptors only, follows
//! no link and leaves neither tree, reads no `.git` and runs no git, and trusts nothing that it finds: the upper
//! layer was filled by an agent. What cannot travel as a file, a link or an executable bit is refused by name. Where the
//! session worked in a copy, the layer above is worked out from what it was, and walked alike.
//!
//! It decides what changed between two trees. Whether the lower one is still the tree that the session was opened
//! on, what is ignored and what a person must look at twice is decided by its caller.

mod mask;
mod names;
mod put_back;
#[cfg(test)]
mod tests;
mod touched;
mod tree;
mod upper;
mod walk;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use names::{is_git_name, names_git};
pub use put_back::{PutBack, Wanted};
pub use tree::{Entry, Kind, Special, Stamp, Tree};
pub use upper::{Inventory, Lying, Upper};

use crate::copy;
use mask::Mask;
use touched::Touched;
pub(crate) use tree::describe;
pub(crate) use upper::open_beneath;

/// The most entries of both trees that one walk looks at.
pub const MAX_ENTRIES: usize = 1_000_000;
/// Bytes that the changed files of one walk may have together, holes counted: a file of nothing but a hole takes no disk inside,
/// and would fill the person's.
pub const MAX_BYTES: u64 = 16 << 30;

/// The tree below, the layer above it, and what was hidden of the tree.
#[derive(Debug)]
pub struct Layer {
    base: Tree,
    upper: Tree,
    /// What of the layer above counts, when that is a copy.
    touched: Option<Touched>,
    mask: Mask,
    /// What the session was shown later on: it lies in the layer, and is removed where it does not any more.
    unmasked: BTreeSet<String>,
}

/// A file or link that differs between the tree and the layer. One of the two sides is always there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawChange {
    /// Path from the root of the tree, components parted by `/`.
    pub path: String,
    /// The file or link of the tree, read through [`Layer::base`].
    pub before: Option<Entry>,
    /// The file or link of the layer, read through [`Layer::upper`].
    pub after: Option<Entry>,
    /// The tree holds this path, but the session was not shown it: what it wrote was not written over it knowingly.
    pub hidden: bool,
}

/// Why a thing in the layer is left where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A fifo, a socket or a device.
    Special(Special),
    /// A `.git`, by whatever spelling a file system might take for it.
    GitDirectory,
    /// A link whose target names a `.git`.
    LinkToGit,
    /// A name that is not UTF-8; the path given is an approximation.
    NotUtf8,
    /// A redirection mark of the overlay, which this workspace never writes.
    Redirect,
    /// A path too long to be opened from the root in one step.
    TooLong,
    /// A file that its owner may not read.
    Unreadable,
    /// A file with which the changed files would have more than [`MAX_BYTES`].
    TooLarge,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Special(Special::Fifo) => "a named pipe",
            Self::Special(Special::Socket) => "a socket",
            Self::Special(Special::Device) => "a device",
            Self::GitDirectory => "a git directory",
            Self::LinkToGit => "a link into a git directory",
            Self::NotUtf8 => "a name that is not UTF-8",
            Self::Redirect => "a redirection mark, which the workspace never writes",
            Self::TooLong => "a path that is too long",
            Self::Unreadable => "a file that cannot be read",
            Self::TooLarge => "a file that is too large, holes counted",
        })
    }
}

/// One thing that was refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Refused {
    /// Where it is.
    pub path: String,
    /// Why it stays there.
    pub reason: Reason,
}

/// What one walk found, each list sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files and links that differ.
    pub changes: Vec<RawChange>,
    /// What is refused.
    pub refused: Vec<Refused>,
    /// How many files, and whole directories, the caller's rule left out.
    pub left_out: usize,
}

/// Why a layer could not be read.
#[derive(Debug, Error)]
pub enum LayerError {
    /// A tree cannot be opened.
    #[error("cannot open the directory `{}`: {source}", path.display())]
    Open {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An entry cannot be read.
    #[error("cannot read `{path}` of the workspace: {source}")]
    Read {
        /// The entry.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// The session works in a copy of the tree.
    #[error("this session works in a copy of the tree, of which no earlier moment is kept")]
    Copied,
    /// More entries than a walk may look at.
    #[error("the workspace holds more than {MAX_ENTRIES} changed entries; a smaller task is needed")]
    TooMany,
}

impl Layer {
    /// Opens a tree and the layer directory of a session on it, which holds `upper` or a copy. `hidden` are the paths of
    /// the tree that the session was not shown.
    pub fn open(base: &Path, layer: &Path, mut hidden: BTreeSet<String>) -> Result<Self, LayerError> {
        let (base, upper) = (open(base)?, open(&written(layer))?);
        if !is_copy(layer) {
            return Ok(Self { base, upper, touched: None, mask: Mask(hidden), unmasked: BTreeSet::new() });
        }
        let failed = |source: io::Error| LayerError::Open { path: layer.join(copy::LIST), source };
        let folder = Tree::open(layer).map_err(failed)?;
        let manifest = copy::list(folder.root()).map_err(failed)?;
        let withheld = manifest.withheld.iter().filter_map(|path| str::from_utf8(path).ok());
        hidden.extend(withheld.map(str::to_owned));
        let touched = Touched::of(&Upper::of_copy(layer)?, &manifest)?;
        Ok(Self { base, upper, touched: Some(touched), mask: Mask(hidden), unmasked: BTreeSet::new() })
    }

    /// The same, with the files of the tree that were put into the layer while the session worked. The tree below does not
    /// show through at these paths: one that the layer does not hold is one that the session removed.
    #[must_use]
    pub fn with_unmasked(self, unmasked: BTreeSet<String>) -> Self {
        Self { unmasked, ..self }
    }

    /// The tree below.
    pub fn base(&self) -> &Tree {
        &self.base
    }

    /// The layer above.
    pub fn upper(&self) -> &Tree {
        &self.upper
    }

    /// Walks the layer. `keep` is asked for each changed file (`false`) and for each directory (`true`); what it does
    /// not keep is counted and neither compared nor, for a directory, entered.
    pub fn changes(&self, keep: &mut dyn FnMut(&str, bool) -> bool) -> Result<Changes, LayerError> {
        walk::walk(self, keep)
    }
}

/// Whether the session of a layer directory works in a copy.
pub fn is_copy(layer: &Path) -> bool {
    layer.join(copy::TREE).symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Where in a layer directory lies what the session wrote.
pub fn written(layer: &Path) -> PathBuf {
    layer.join(if is_copy(layer) { copy::TREE } else { "upper" })
}

/// Opens a tree, naming it when that fails.
fn open(path: &Path) -> Result<Tree, LayerError> {
    Tree::open(path).map_err(|source| LayerError::Open { path: path.to_owned(), source })
}
