//! The person's tree, to be written: every act is relative to a directory opened beneath the root, through no link.
//!
//! Files change places by rename only, never by being written in place, and no act replaces what it was not told of.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use enclos_sandbox::layer::{Entry, Kind, Tree, names_git};
use rustix::fs::{
    AtFlags, CWD, FlockOperation, Gid, Mode, OFlags, RenameFlags, StatxFlags, Uid, chownat, fchmod, fchown,
    flock, fsync, linkat, mkdirat, openat, renameat_with, statx, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::ApplyError;
use super::record::Attributes;
use crate::changeset::content::{copy, mode_of};
use crate::changeset::model::Side;

/// A tree that nobody else applies to while this lives.
#[derive(Debug)]
pub(super) struct Ground {
    tree: Tree,
    lock: OwnedFd,
}

impl Drop for Ground {
    fn drop(&mut self) {
        // Said aloud, because a process that is being started may hold a copy of the descriptor for a moment.
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }
}

impl Ground {
    /// Opens a tree and locks it against other applications.
    pub(super) fn lock(root: &Path) -> Result<Self, ApplyError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let lock = openat(CWD, root, flags, Mode::empty()).map_err(ApplyError::write("."))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(ApplyError::Busy),
            Err(error) => return Err(ApplyError::write(".")(error)),
        }
        Ok(Self { tree: Tree::open(root).map_err(ApplyError::write("."))?, lock })
    }

    /// The tree, to be read.
    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The file or link at a path; `None` if there is nothing, or something else.
    pub(super) fn side(&self, path: &str) -> io::Result<Option<Side>> {
        match self.tree.entry(path)?.as_ref().and_then(mode_of) {
            Some(mode) => copy(&self.tree, path, mode, &mut io::sink()).map(Some),
            None => Ok(None),
        }
    }

    /// Makes a new file beneath the root and hands it out to be filled.
    pub(super) fn create(&self, path: &str) -> io::Result<File> {
        let (directory, name) = self.parent(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// Gives a filled file its attributes and makes it durable.
    pub(super) fn finish(file: &File, attributes: Attributes) -> io::Result<()> {
        own(fchown(file, Some(uid(attributes)), Some(gid(attributes))))?;
        fchmod(file, Mode::from_raw_mode(attributes.mode & 0o777))?;
        Ok(fsync(file)?)
    }

    /// Makes a link.
    pub(super) fn link(&self, path: &str, target: &[u8], attributes: Attributes) -> io::Result<()> {
        let (directory, name) = self.parent(path)?;
        symlinkat(target, &directory, name)?;
        own(chownat(directory, name, Some(uid(attributes)), Some(gid(attributes)), AtFlags::SYMLINK_NOFOLLOW))
    }

    /// Makes a directory; one that is there already is left as it is.
    pub(super) fn make_directory(&self, path: &str, attributes: Attributes) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        match mkdirat(parent, name, Mode::RWXU) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let made = self.tree.directory(path)?;
        own(fchown(&made, Some(uid(attributes)), Some(gid(attributes))))?;
        Ok(fchmod(made, Mode::from_raw_mode(attributes.mode & 0o7777))?)
    }

    /// Removes a directory if it is empty; whether it is gone.
    pub(super) fn remove_directory(&self, path: &str) -> io::Result<bool> {
        self.unlink(path, AtFlags::REMOVEDIR)
    }

    /// Removes a file or link; whether it is gone.
    pub(super) fn remove(&self, path: &str) -> io::Result<bool> {
        self.unlink(path, AtFlags::empty())
    }

    /// Moves a file to where nothing is.
    pub(super) fn shift(&self, from: &str, to: &str) -> io::Result<()> {
        match self.rename(from, to, RenameFlags::NOREPLACE) {
            Err(error) if is_unsupported(&error) => self.shift_by_link(from, to),
            result => result,
        }
    }

    /// The same where a file system knows only the plain rename: a second name, which never replaces, then the first
    /// one goes.
    pub(super) fn shift_by_link(&self, from: &str, to: &str) -> io::Result<()> {
        let ((old, name), (new, other)) = (self.parent(from)?, self.parent(to)?);
        linkat(&old, name, new, other, AtFlags::empty())?;
        Ok(unlinkat(old, name, AtFlags::empty())?)
    }

    /// Lets the file at a path and the one in its slot change places.
    pub(super) fn exchange(&self, path: &str, slot: &str) -> io::Result<()> {
        match self.rename(path, slot, RenameFlags::EXCHANGE) {
            Err(error) if is_unsupported(&error) => self.exchange_by_steps(path, slot),
            result => result,
        }
    }

    /// The same where a file system cannot do it at once. Between the steps the former file is at [`aside`].
    pub(super) fn exchange_by_steps(&self, path: &str, slot: &str) -> io::Result<()> {
        let aside = aside(slot);
        self.shift(path, &aside)?;
        self.shift(slot, path)?;
        self.shift(&aside, slot)
    }

    /// Makes the directories of some paths durable.
    pub(super) fn settle<'a>(&self, paths: impl Iterator<Item = &'a str>) -> io::Result<()> {
        let parents: BTreeSet<&str> = paths.map(parent_of).chain([""]).collect();
        for parent in parents {
            match self.tree.directory(parent) {
                Ok(directory) => fsync(directory)?,
                Err(error) if is_missing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The nearest directory of a path that is there.
    pub(super) fn nearest(&self, path: &str) -> io::Result<Entry> {
        let mut parent = parent_of(path);
        loop {
            match self.tree.entry(parent)? {
                Some(entry) if entry.kind == Kind::Directory => return Ok(entry),
                _ if parent.is_empty() => return Err(io::ErrorKind::NotADirectory.into()),
                _ => parent = parent_of(parent),
            }
        }
    }

    /// The outermost directory of the file system that a path is on, or will be: a rename leads no further. Two mounts of
    /// one file system are two.
    pub(super) fn home(&self, path: &str) -> io::Result<String> {
        let mut there = parent_of(path);
        while !there.is_empty() && self.tree.entry(there)?.is_none_or(|entry| entry.kind != Kind::Directory) {
            there = parent_of(there);
        }
        let here = self.mount(there)?;
        let above = std::iter::successors(Some(there), |path| (!path.is_empty()).then(|| parent_of(path)));
        let mut home = there;
        for path in above {
            if self.mount(path)? != here {
                break;
            }
            home = path;
        }
        Ok(home.to_owned())
    }

    /// Which file system a directory is on, and by which mount.
    fn mount(&self, path: &str) -> io::Result<(u32, u32, u64)> {
        let directory = self.tree.directory(path)?;
        let facts = statx(directory, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)?;
        Ok((facts.stx_dev_major, facts.stx_dev_minor, facts.stx_mnt_id))
    }

    fn unlink(&self, path: &str, flags: AtFlags) -> io::Result<bool> {
        let unlinked = self.parent(path).and_then(|(parent, name)| Ok(unlinkat(parent, name, flags)?));
        match unlinked {
            Ok(()) => Ok(true),
            Err(error) if is_missing(&error) => Ok(true),
            // It holds something, or another file system is mounted on it.
            Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::NOTEMPTY | Errno::BUSY)) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn rename(&self, from: &str, to: &str, flags: RenameFlags) -> io::Result<()> {
        let ((old, name), (new, other)) = (self.parent(from)?, self.parent(to)?);
        Ok(renameat_with(old, name, new, other, flags)?)
    }

    /// The directory that holds a path, opened, and its last component.
    fn parent<'a>(&self, path: &'a str) -> io::Result<(OwnedFd, &'a str)> {
        let parent = parent_of(path);
        let name = path.get(parent.len()..).unwrap_or_default().trim_start_matches('/');
        Ok((self.tree.directory(parent)?, name))
    }
}

/// Where a former file waits while it changes places in steps.
pub(super) fn aside(slot: &str) -> String {
    format!("{slot}.aside")
}

/// The path of the directory that holds a path; empty for the root.
pub(super) fn parent_of(path: &str) -> &str {
    path.rfind('/').and_then(|at| path.get(..at)).unwrap_or_default()
}

/// The paths of the directories that hold a path, inner ones first, without the root.
pub(super) fn parents_of(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(parent_of(path)), |parent| Some(parent_of(parent)))
        .take_while(|parent| !parent.is_empty())
}

/// Whether a change set may write a path at all.
pub(super) fn is_sound(path: &str) -> bool {
    let sound = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
    path.split('/').all(sound) && !names_git(path.as_bytes())
}

/// Whether a path, or a directory on its way, is not there.
fn is_missing(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}

/// Whether a file system does not know a way of renaming.
fn is_unsupported(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP))
}

/// A plain user cannot give files away; they stay their own.
fn own(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Ok(()) | Err(Errno::PERM) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn uid(attributes: Attributes) -> Uid {
    Uid::from_raw(attributes.owner.0)
}

fn gid(attributes: Attributes) -> Gid {
    Gid::from_raw(attributes.owner.1)
}

#[cfg(test)]
mod tests {
    use super::{is_sound, parent_of, parents_of};

    #[test]
    fn paths_stay_inside_and_out_of_git() {
        for path in ["a", "a/b", ".gitignore", "a b/ü"] {
            assert!(is_sound(path), "{path}");
        }
        for path in ["", "/a", "a/", "a//b", "..", "a/../b", "./a", ".git/config", "a/.GIT/x", "a\0b"] {
            assert!(!is_sound(path), "{path}");
        }
    }

    #[test]
    fn parents() {
        assert_eq!(parents_of("a/b/c").collect::<Vec<_>>(), ["a/b", "a"]);
        assert_eq!((parent_of("a"), parent_of("a/b/c"), parent_of("")), ("", "a/b", ""));
    }
}
