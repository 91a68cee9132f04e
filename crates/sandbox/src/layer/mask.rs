//! What of the tree the session was not shown.
//!
//! The paths are those that the workspace was opened without. Here they only answer whether a path was hidden, by its
//! own name or with a directory that holds it; what a file holds is never looked at.

use std::collections::BTreeSet;

/// The hidden paths.
#[derive(Debug)]
pub(super) struct Mask(pub(super) BTreeSet<String>);

impl Mask {
    /// Whether a path, or a directory that holds it, was hidden.
    pub(super) fn hides(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.filter_map(|end| path.get(..end)).any(|prefix| self.0.contains(prefix))
    }
}
