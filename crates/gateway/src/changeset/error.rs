//! What can go wrong between a layer and a change set.

use std::io;
use std::path::PathBuf;

use enclos_sandbox::layer::LayerError;
use thiserror::Error;

/// Why a change set could not be made or shown.
#[derive(Debug, Error)]
pub enum ChangeSetError {
    /// The layer or the tree cannot be walked.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// A file of the tree or of the workspace cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Read {
        /// The file, from the root of the tree.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A file is no longer the one that the change set was made of.
    #[error("`{path}` is not the content that was reviewed; show the change set again")]
    Stale {
        /// The file, from the root of the tree.
        path: String,
    },
    /// The copies of the base cannot be read or written.
    #[error("cannot use `{}`, where the base of the session is kept: {source}", path.display())]
    Store {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The moment of opening was never written down.
    #[error("`{}` does not say when the workspace was opened; record the base before the first command", path.display())]
    NotRecorded {
        /// The file that should say it.
        path: PathBuf,
    },
}

impl ChangeSetError {
    /// Names the file that could not be read.
    pub(super) fn read(path: &str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Read { path, source }
    }
}
