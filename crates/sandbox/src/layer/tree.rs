//! A directory tree seen through one descriptor.
//!
//! Every path is opened beneath the root, without following a link anywhere on the way and without crossing to
//! another place through `/proc`: whatever the tree holds, nothing outside of it can be reached. It only reads.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2, readlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// The most bytes of a path that the system opens in one step, its ending NUL included.
pub(super) const PATH_MAX: usize = 4096;

/// A kind of file that no change set carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Special {
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character or block device.
    Device,
}

/// What a path of a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// The overlay's mark for "removed": a character device 0:0.
    Whiteout,
    /// Anything else.
    Special(Special),
}

/// A point of time as the file system wrote it: seconds and nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Stamp {
    /// Seconds.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanoseconds: u64,
}

/// One entry of a tree, not followed if it is a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// Permission bits, setuid, setgid and sticky bit included (`0o7777`).
    pub mode: u32,
    /// Size in bytes.
    pub size: u64,
    /// Last change of content or attributes; no program can set it.
    pub changed: Stamp,
    /// Device and inode number.
    pub inode: (u64, u64),
    /// Owner and group.
    pub owner: (u32, u32),
}

impl Entry {
    /// Whether its owner may execute it: the one bit of the mode that a change set carries.
    pub fn executable(&self) -> bool {
        self.kind == Kind::File && self.mode & 0o100 != 0
    }

    /// Whether it has a setuid, setgid or sticky bit.
    pub fn privileged(&self) -> bool {
        self.kind == Kind::File && self.mode & 0o7000 != 0
    }

    /// Whether a change set can carry it.
    pub fn travels(&self) -> bool {
        matches!(self.kind, Kind::File | Kind::Link)
    }
}

/// A tree, held by a descriptor of its root.
#[derive(Debug)]
pub struct Tree {
    root: OwnedFd,
}

impl Tree {
    /// Opens the root; the path itself may go through links.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { root: rustix::fs::open(path, flags, Mode::empty())? })
    }

    /// The descriptor of the root, for opening beneath it only.
    pub fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// The entry at a path; `None` if there is none, or if a component on the way is no directory.
    pub fn entry(&self, path: &str) -> io::Result<Option<Entry>> {
        match self.open_at(path, OFlags::PATH | OFlags::NOFOLLOW) {
            Ok(found) => Ok(Some(describe(&fstat(found)?))),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a regular file for reading; anything else is an error.
    pub fn file(&self, path: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let found = self.open_at(path, flags)?;
        if describe(&fstat(&found)?).kind != Kind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(File::from(found))
    }

    /// The target of a symbolic link, as written.
    pub fn target(&self, path: &str) -> io::Result<Vec<u8>> {
        let link = self.open_at(path, OFlags::PATH | OFlags::NOFOLLOW)?;
        Ok(readlinkat(link, c"", Vec::new())?.into_bytes())
    }

    /// Opens a directory.
    pub fn directory(&self, path: &str) -> io::Result<OwnedFd> {
        Ok(self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW)?)
    }

    /// The names in a directory, sorted; at most `limit`, else an error.
    pub fn names(&self, path: &str, limit: usize) -> io::Result<Vec<Vec<u8>>> {
        let mut names = Vec::new();
        for item in Dir::read_from(self.directory(path)?)? {
            let name = item?.file_name().to_owned().into_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if names.len() == limit {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, "too many entries"));
            }
            names.push(name);
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Opens beneath the root, through no link. The root itself is the empty path.
    fn open_at(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() { "." } else { path };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        loop {
            match openat2(&self.root, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
                // The kernel saw a rename on the way and asks to be asked again.
                Err(Errno::AGAIN | Errno::INTR) => {}
                other => return other,
            }
        }
    }
}

/// Reads what `fstat` tells.
#[expect(clippy::cast_sign_loss, reason = "a size is never negative")]
pub(crate) fn describe(stat: &Stat) -> Entry {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        FileType::CharacterDevice if stat.st_rdev == 0 => Kind::Whiteout,
        FileType::Fifo => Kind::Special(Special::Fifo),
        FileType::Socket => Kind::Special(Special::Socket),
        _ => Kind::Special(Special::Device),
    };
    Entry {
        kind,
        mode: stat.st_mode & 0o7777,
        size: stat.st_size as u64,
        changed: Stamp { seconds: stat.st_ctime, nanoseconds: stat.st_ctime_nsec },
        inode: (stat.st_dev, stat.st_ino),
        owner: (stat.st_uid, stat.st_gid),
    }
}
