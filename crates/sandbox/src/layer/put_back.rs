//! Making a layer say again what it said at another moment.
//!
//! Everything is made ready beside the layer first; until then nothing in it has changed. Then each entry is put in
//! its place, by directory descriptors beneath the layer's root and through no link. Killed anywhere on the way, the
//! same order given again leads to the same layer. No sandbox is open on the layer meanwhile: its lock is held. What
//! the layer shall say is decided by the caller. As with all that a session writes, nothing is forced to the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid, XattrFlags};
use rustix::io::Errno;

use super::LayerError;
use super::tree::{Kind, describe};
use super::upper::{OPAQUE, Upper, join, marks, read};
use crate::state;

/// Where things are made ready: a folder of the layer directory, out of the sandbox's reach.
const READY: &str = "back";

/// What shall lie at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// What lies there now.
    Kept,
    /// A directory.
    Directory {
        /// Its permission bits.
        mode: u32,
        /// Whether it covers the one below.
        opaque: bool,
    },
    /// The file that was made ready under this number.
    Ready(u64),
    /// A symbolic link.
    Link(Vec<u8>),
    /// The overlay's mark for "removed".
    Whiteout,
    /// A named pipe with these permission bits.
    Pipe(u32),
    /// A socket that nobody listens on, with these permission bits.
    Socket(u32),
}

/// A layer that is about to be changed. Nobody else can use it.
#[derive(Debug)]
pub struct PutBack {
    upper: Upper,
    layer: OwnedFd,
    ready: OwnedFd,
    owner: (u32, u32),
    _lock: OwnedFd,
}

impl PutBack {
    /// Takes the layer of a session, on which no sandbox is open, and makes room beside it.
    pub fn begin(layer: &Path) -> Result<Self, LayerError> {
        let failed = |source: io::Error| LayerError::Open { path: layer.to_owned(), source };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::open(layer, flags, Mode::empty()).map_err(|e| failed(e.into()))?;
        let lock = state::lock(&directory).map_err(|error| failed(io::Error::other(error.to_string())))?;
        let upper = Upper::open(layer)?;
        let stat = rustix::fs::fstat(&upper.root).map_err(|error| read(b"", error))?;
        let ready = room(&directory).map_err(|error| failed(error.into()))?;
        Ok(Self { upper, layer: directory, ready, owner: (stat.st_uid, stat.st_gid), _lock: lock })
    }

    /// The layer as it is.
    pub fn upper(&self) -> &Upper {
        &self.upper
    }

    /// Makes a file ready under a number.
    pub fn make_ready(&self, number: u64, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.make_ready_from(number, &mut &*bytes, mode).map(drop)
    }

    /// Makes a file ready under a number, with all that comes from a reader. Answers how many bytes that were.
    pub fn make_ready_from(&self, number: u64, from: &mut dyn io::Read, mode: u32) -> io::Result<u64> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.ready, number.to_string(), flags, Mode::RUSR | Mode::WUSR)?;
        let mut file = std::fs::File::from(opened);
        let length = io::copy(from, &mut file)?;
        // The owner first: giving a file away takes the setuid bit from it.
        rustix::fs::fchown(&file, Some(Uid::from_raw(self.owner.0)), Some(Gid::from_raw(self.owner.1)))?;
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        Ok(length)
    }

    /// Puts everything in its place. What lies in the layer and is not wanted is removed, but for the directories
    /// that are `spared`. Every directory on the way to a wanted path is wanted itself.
    pub fn carry_out(
        self,
        wanted: &BTreeMap<Vec<u8>, Wanted>,
        spared: &BTreeSet<Vec<u8>>,
    ) -> Result<(), LayerError> {
        self.clear(wanted, spared)?;
        for (path, wanted) in wanted.iter().filter(|(path, _)| !path.is_empty()) {
            self.put(path, wanted).map_err(|error| read(path, error))?;
        }
        // From the inside out: a directory may lose the right to be entered.
        for (path, wanted) in wanted.iter().rev() {
            if let Wanted::Directory { mode, opaque } = wanted {
                self.dress(path, *mode, *opaque).map_err(|error| read(path, error))?;
            }
        }
        let removed = enclos_init::tree::remove(&self.layer, OsStr::new(READY));
        removed.map(drop).map_err(|error| read(b"", error))
    }

    /// Removes what is not wanted.
    fn clear(
        &self,
        wanted: &BTreeMap<Vec<u8>, Wanted>,
        spared: &BTreeSet<Vec<u8>>,
    ) -> Result<(), LayerError> {
        let mut todo = vec![Vec::new()];
        while let Some(path) = todo.pop() {
            let here = self.enter(&path).map_err(|error| read(&path, error))?;
            for name in names(&here).map_err(|error| read(&path, error))? {
                let child = join(&path, &name);
                if spared.contains(&child) {
                    continue;
                }
                let is_directory = is_directory(&here, &name).map_err(|error| read(&child, error))?;
                match wanted.get(&child) {
                    Some(Wanted::Directory { .. }) if is_directory => todo.push(child),
                    // What takes its place takes it at once.
                    Some(_) => {}
                    None => remove(&here, &name, is_directory).map_err(|error| read(&child, error))?,
                }
            }
        }
        Ok(())
    }

    /// Puts one thing in its place.
    fn put(&self, path: &[u8], wanted: &Wanted) -> Result<(), Errno> {
        if *wanted == Wanted::Kept {
            return Ok(());
        }
        let (parent, name) = split(path);
        let parent = self.enter(parent)?;
        let there = kind(&parent, name)?;
        let made = self.made(wanted)?;
        if there == Some(Kind::Directory) && !matches!(wanted, Wanted::Directory { .. }) {
            remove(&parent, name, true)?;
        }
        match (made, there) {
            (Some(made), _) => rustix::fs::renameat(&self.ready, made, &parent, name),
            (None, Some(Kind::Directory)) => Ok(()),
            (None, there) => {
                if there.is_some() {
                    remove(&parent, name, false)?;
                }
                rustix::fs::mkdirat(&parent, name, Mode::RWXU)?;
                self.give(&parent, name)
            }
        }
    }

    /// Makes ready what is to be put somewhere, and gives its name. A directory is made in its place.
    fn made(&self, wanted: &Wanted) -> Result<Option<String>, Errno> {
        let name = "next".to_owned();
        let node = |kind, mode: u32| {
            rustix::fs::mknodat(&self.ready, &name, kind, Mode::from_raw_mode(mode), 0)?;
            self.give(&self.ready, name.as_bytes())
        };
        match wanted {
            Wanted::Kept | Wanted::Directory { .. } => return Ok(None),
            Wanted::Ready(number) => return Ok(Some(number.to_string())),
            Wanted::Link(target) => {
                rustix::fs::symlinkat(target.as_slice(), &self.ready, &name)?;
                self.give(&self.ready, name.as_bytes())?;
            }
            Wanted::Whiteout => node(FileType::CharacterDevice, 0)?,
            Wanted::Pipe(mode) | Wanted::Socket(mode) => {
                let kind = if matches!(wanted, Wanted::Pipe(_)) { FileType::Fifo } else { FileType::Socket };
                node(kind, 0o600)?;
                rustix::fs::chmodat(&self.ready, &name, Mode::from_raw_mode(*mode), AtFlags::empty())?;
            }
        }
        Ok(Some(name))
    }

    /// Gives an entry to the user that the agent runs as.
    fn give(&self, at: impl AsFd, name: &[u8]) -> Result<(), Errno> {
        let (uid, gid) = (Uid::from_raw(self.owner.0), Gid::from_raw(self.owner.1));
        rustix::fs::chownat(at, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Sets what a directory says of itself.
    fn dress(&self, path: &[u8], mode: u32, opaque: bool) -> Result<(), Errno> {
        let opened = self.enter(path)?;
        if !path.is_empty() && marks(&opened)? != Ok(opaque) {
            if opaque {
                rustix::fs::fsetxattr(&opened, OPAQUE, b"y", XattrFlags::empty())?;
            } else {
                rustix::fs::fremovexattr(&opened, OPAQUE)?;
            }
        }
        rustix::fs::fchmod(&opened, Mode::from_raw_mode(mode))
    }

    /// Opens a directory for changing it, its owner let into it. Those on the way were let into before.
    fn enter(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let opened = match self.upper.directory(path) {
            Err(Errno::ACCESS) if path.is_empty() => {
                rustix::fs::chmodat(&self.layer, "upper", Mode::RWXU, AtFlags::empty())?;
                self.upper.directory(path)?
            }
            Err(Errno::ACCESS) => {
                let (parent, name) = split(path);
                let parent = self.upper.directory(parent)?;
                if kind(&parent, name)? != Some(Kind::Directory) {
                    return Err(Errno::NOTDIR);
                }
                rustix::fs::chmodat(&parent, name, Mode::RWXU, AtFlags::empty())?;
                self.upper.directory(path)?
            }
            other => other?,
        };
        let mode = Mode::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode);
        if !mode.contains(Mode::RWXU) {
            rustix::fs::fchmod(&opened, mode | Mode::RWXU)?;
        }
        Ok(opened)
    }
}

/// An empty folder to make things ready in; what an earlier process left there goes.
fn room(layer: &OwnedFd) -> Result<OwnedFd, Errno> {
    match enclos_init::tree::remove(layer, OsStr::new(READY)) {
        Ok(_) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error),
    }
    rustix::fs::mkdirat(layer, READY, Mode::RWXU)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(layer, READY, flags, Mode::empty())
}

/// The directory and the name of a path that is not the root.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (path.get(..at).unwrap_or_default(), path.get(at + 1..).unwrap_or_default()),
        None => (b"", path),
    }
}

/// The names in a directory.
fn names(opened: &OwnedFd) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    for item in Dir::read_from(opened)? {
        let name = item?.file_name().to_owned().into_bytes();
        if name != b"." && name != b".." {
            names.push(name);
        }
    }
    Ok(names)
}

/// What a name in a directory is; `None` if there is none.
fn kind(at: &OwnedFd, name: &[u8]) -> Result<Option<Kind>, Errno> {
    match rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(describe(&stat).kind)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_directory(at: &OwnedFd, name: &[u8]) -> Result<bool, Errno> {
    Ok(kind(at, name)? == Some(Kind::Directory))
}

/// Removes an entry, with all it holds.
fn remove(at: &OwnedFd, name: &[u8], is_directory: bool) -> Result<(), Errno> {
    if is_directory {
        enclos_init::tree::remove(at, OsStr::from_bytes(name)).map(drop)
    } else {
        rustix::fs::unlinkat(at, name, AtFlags::empty())
    }
}

#[cfg(test)]
mod tests;
