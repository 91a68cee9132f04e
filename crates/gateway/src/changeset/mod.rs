//! The change set: from what a session wrote to a reviewed, exact application in the person's tree.
//!
//! At opening [`record_opening`] writes down the moment, [`record_hidden`] what the session is not shown, and
//! [`record_unclean`] what git knows, beside the session.
//! At the end [`Workspace::build`] makes the change set, [`Workspace::patch`] and [`Workspace::show`] tell it to git
//! and to people, and [`Workspace::apply`] brings what a person accepted into their tree. It never runs git in a tree that an agent wrote, never commits, and leaves what is ignored,
//! what is refused and every `.git` where they are.

mod apply;
mod attributes;
mod base;
mod binary;
mod build;
mod content;
mod error;
mod git;
mod history;
mod ignored;
mod lines;
mod merge;
mod model;
mod patch;
mod quote;
mod renames;
mod show;
mod snapshot;
mod store;
pub(crate) mod visible;

use std::io::Read;
use std::path::{Path, PathBuf};

use enclos_sandbox::layer::Layer;

pub use apply::{Applied, ApplyError, Cause, Conflict, Recovered, recover, undo};
pub(crate) use base::{forget_unmasked, record_unmasked, unmasked};
pub use base::{record_hidden, record_opening};
pub use build::Inspect;
pub use content::MAX_TEXT;
pub(crate) use content::hex;
pub use enclos_sandbox::layer::{Reason, Refused, Special};
pub use error::ChangeSetError;
pub(crate) use history::{History, head};
pub(crate) use ignored::Ignored;
pub use lines::LineKind;
pub use merge::Clash;
pub use model::{
    ChangeSet, Choice, FLAG_LINK_LEAVES_TREE, FLAG_NEW_EXECUTE_BIT, FLAG_PRIVILEGED_BITS, FileChange, Held,
    Kind, Known, Mode, Side,
};
pub use patch::{Omitted, Patch};
pub use show::{Hunk, Line, Shown, compare, unified};
pub use snapshot::record_unclean;

use base::{Base, hidden};

/// A session's layer over the person's tree, with what is known of its base.
#[derive(Debug)]
pub struct Workspace {
    repository: PathBuf,
    layer: Layer,
    base: Base,
}

impl Workspace {
    /// Opens the layer directory of a session (which holds `upper` and `base`) over the root of the
    /// tree that it was opened on. No command may be running in it.
    pub fn open(repository: &Path, layer: &Path) -> Result<Self, ChangeSetError> {
        Ok(Self {
            repository: repository.to_owned(),
            base: Base::open(repository, layer)?,
            layer: open_layer(repository, layer)?,
        })
    }

    /// The root of the person's tree.
    pub fn repository(&self) -> &Path {
        &self.repository
    }

    /// The bytes of a change before; empty if there was no such file. At most [`MAX_TEXT`].
    fn before(&self, change: &FileChange) -> Result<Vec<u8>, ChangeSetError> {
        let Some(side) = &change.before else { return Ok(Vec::new()) };
        let path = change.source();
        if let Some(kept) = self.base.store().kept(&side.digest) {
            return read(kept, side, path);
        }
        let file = self.layer.base().file(path).map_err(ChangeSetError::read(path))?;
        read(file, side, path)
    }

    /// The bytes of a change after; empty if the file is gone. At most [`MAX_TEXT`].
    fn after(&self, change: &FileChange) -> Result<Vec<u8>, ChangeSetError> {
        let Some(side) = &change.after else { return Ok(Vec::new()) };
        let (path, upper) = (change.path.as_str(), self.layer.upper());
        if side.mode.is_link() {
            let target = upper.target(path).map_err(ChangeSetError::read(path))?;
            return read(target.as_slice(), side, path);
        }
        read(upper.file(path).map_err(ChangeSetError::read(path))?, side, path)
    }
}

/// The files of a change set that Git LFS keeps, by the attributes of the person's tree.
pub(crate) fn kept_by_lfs<'a>(repository: &Path, set: &'a ChangeSet) -> Vec<&'a str> {
    // A tree that cannot be opened has no attributes; whoever applies something to it is told so then.
    let Ok(tree) = enclos_sandbox::layer::Tree::open(repository) else { return Vec::new() };
    let mut attributes = attributes::Attributes::default();
    let files = set.files.iter().filter(|file| file.after.as_ref().is_some_and(|side| !side.mode.is_link()));
    files.map(|file| file.path.as_str()).filter(|path| attributes.is_lfs(&tree, path)).collect()
}

/// Which files and links of a layer differ from the tree below, ignored ones too. `keep` is as in [`Layer::changes`].
pub(crate) fn raw(
    repository: &Path,
    layer: &Path,
    keep: &mut dyn FnMut(&str, bool) -> bool,
) -> Result<Vec<enclos_sandbox::layer::RawChange>, ChangeSetError> {
    Ok(open_layer(repository, layer)?.changes(keep)?.changes)
}

/// A session's layer, with what it is not shown and what it was shown later on.
fn open_layer(repository: &Path, layer: &Path) -> Result<Layer, ChangeSetError> {
    Ok(Layer::open(repository, layer, hidden(layer)?)?.with_unmasked(unmasked(layer)?))
}

/// Reads a content that must be the one of a side.
fn read(from: impl Read, side: &Side, path: &str) -> Result<Vec<u8>, ChangeSetError> {
    let mut bytes = Vec::new();
    from.take(MAX_TEXT + 1).read_to_end(&mut bytes).map_err(ChangeSetError::read(path))?;
    if content::side(side.mode, &bytes) == *side {
        Ok(bytes)
    } else {
        Err(ChangeSetError::Stale { path: path.to_owned() })
    }
}
