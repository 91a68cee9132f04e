//! Folders of built and fetched things, which an undo leaves as they are: ignored by the repository, named as a
//! dependency or an output, and without anything that git tracks.
//!
//! The rules are those of the person's tree, so that an agent cannot put its work out of reach of an undo by a rule of
//! its own. In doubt a folder is not left out.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use enclos_sandbox::layer::Tree;

use super::hidden::DEPENDENCIES;
use super::{Repo, index};
use crate::changeset::Ignored;

/// The rule for one repository.
#[derive(Debug)]
pub(crate) struct Apart {
    tree: Tree,
    git: Option<PathBuf>,
    ignored: Ignored,
    tracked: Tracked,
}

/// What git tracks, read when it is first asked for.
#[derive(Debug)]
enum Tracked {
    Unread,
    Known(index::Tracked),
    Unreadable,
}

impl Apart {
    /// The rule for a repository.
    pub(crate) fn of(repo: &Repo) -> io::Result<Self> {
        let (tree, git) = (Tree::open(&repo.root)?, repo.git.clone());
        Ok(Self { tree, git, ignored: Ignored::default(), tracked: Tracked::Unread })
    }

    /// Whether a directory is left as it is.
    pub(crate) fn leaves_out(&mut self, path: &[u8]) -> bool {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if !DEPENDENCIES.iter().any(|known| known.as_bytes() == name) {
            return false;
        }
        let Ok(text) = str::from_utf8(path) else { return false };
        self.ignored.is_ignored(&self.tree, text, true) && !self.may_be_tracked(path)
    }

    fn may_be_tracked(&mut self, path: &[u8]) -> bool {
        let Some(git) = &self.git else { return false };
        if matches!(self.tracked, Tracked::Unread) {
            self.tracked = match index::tracked(git) {
                Ok(tracked) => Tracked::Known(tracked),
                // A repository without a first commit.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    Tracked::Known(index::Tracked::default())
                }
                Err(_) => Tracked::Unreadable,
            };
        }
        match &self.tracked {
            Tracked::Known(tracked) => tracked.holds(Path::new(OsStr::from_bytes(path))),
            Tracked::Unread | Tracked::Unreadable => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ignored_dependencies_without_tracked_files_are_left_out() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join(".gitignore"), "/target\nnode_modules/\nsecrets/\n").unwrap();
        let repo = Repo { root: root.path().to_owned(), git: None };
        let mut apart = Apart::of(&repo).unwrap();
        for path in ["target", "node_modules", "web/node_modules"] {
            assert!(apart.leaves_out(path.as_bytes()), "{path}");
        }
        for path in ["src", "vendor", "secrets", "src/target", ""] {
            assert!(!apart.leaves_out(path.as_bytes()), "{path}");
        }
        apart.git = Some(root.path().join("damaged"));
        std::fs::create_dir(root.path().join("damaged")).unwrap();
        std::fs::write(root.path().join("damaged/index"), "no index").unwrap();
        assert!(!apart.leaves_out(b"target"), "what git tracks is not known");
        apart.tracked = Tracked::Known(index::Tracked::of(&["target/kept.txt"]));
        assert!(!apart.leaves_out(b"target") && apart.leaves_out(b"node_modules"));
    }
}
