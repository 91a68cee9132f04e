//! The upper layer alone, exactly as it lies there: every entry with its attributes and the overlay's own marks.
//!
//! A change set asks what differs from the tree below; this asks what the layer says, so that it can be made to say
//! the same again. It only reads, by directory descriptors, and follows no link. What could not be made again is
//! named with its reason, never left out in silence.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, ResolveFlags, fgetxattr, fstat, openat2, readlinkat, statat};
use rustix::io::Errno;

use super::tree::{Entry, Kind, PATH_MAX, Special, describe};
use super::{LayerError, Reason};

/// The overlay's mark on a directory that covers the one below. The overlay is mounted with `userxattr`.
pub(super) const OPAQUE: &str = "user.overlay.opaque";

/// Marks that this workspace never writes: whoever finds one does not know what the layer means.
const FOREIGN: [&str; 6] = [
    "user.overlay.redirect",
    "user.overlay.metacopy",
    "user.overlay.whiteout",
    "trusted.overlay.opaque",
    "trusted.overlay.redirect",
    "trusted.overlay.whiteout",
];

/// An upper layer, held by a descriptor of its root.
#[derive(Debug)]
pub struct Upper {
    pub(super) root: OwnedFd,
    /// It is a copy: attributes in it are a program's own, and no marks.
    plain: bool,
}

/// One entry as it lies in the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lying {
    /// What it is, and its attributes.
    pub entry: Entry,
    /// Whether it is a directory that covers the one below.
    pub opaque: bool,
    /// Why it could not be made again. A directory with a reason was not entered.
    pub reason: Option<Reason>,
}

/// What lies in a layer. Paths are bytes, their components parted by `/`; the root is the empty path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The entries.
    pub entries: BTreeMap<Vec<u8>, Lying>,
    /// Directories that the caller's rule left out, with all they hold.
    pub left_out: Vec<Vec<u8>>,
}

impl Upper {
    /// Opens the upper layer in the layer directory of a session.
    pub fn open(layer: &Path) -> Result<Self, LayerError> {
        if super::is_copy(layer) { Err(LayerError::Copied) } else { Self::at(layer.join("upper"), false) }
    }

    /// Opens the copy in the layer directory of a session.
    pub(super) fn of_copy(layer: &Path) -> Result<Self, LayerError> {
        Self::at(layer.join(crate::copy::TREE), true)
    }

    fn at(path: PathBuf, plain: bool) -> Result<Self, LayerError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(root) => Ok(Self { root, plain }),
            Err(error) => Err(LayerError::Open { path, source: error.into() }),
        }
    }

    /// Lists the layer; over `most` entries it is an error. `leaves_out` is asked for each directory.
    pub fn inventory(
        &self,
        most: usize,
        leaves_out: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Inventory, LayerError> {
        let mut found = Inventory::default();
        let root = fstat(&self.root).map_err(|error| read(b"", error))?;
        let root = Lying { entry: describe(&root), opaque: false, reason: None };
        found.entries.insert(Vec::new(), root);
        let mut todo = vec![Vec::new()];
        while let Some(path) = todo.pop() {
            let opened = match self.directory(&path) {
                Err(Errno::ACCESS) => Err(Reason::Unreadable),
                Err(error) => return Err(read(&path, error)),
                Ok(opened) if self.plain => Ok((opened, false)),
                Ok(opened) => {
                    marks(&opened).map_err(|error| read(&path, error))?.map(|opaque| (opened, opaque))
                }
            };
            let Some(lying) = found.entries.get_mut(&path) else { continue };
            match opened {
                Err(reason) => lying.reason = Some(reason),
                Ok((opened, opaque)) => {
                    lying.opaque = opaque;
                    list(&opened, &path, &mut found, &mut todo, leaves_out).map_err(|e| read(&path, e))?;
                }
            }
            if found.entries.len() > most {
                return Err(LayerError::TooMany);
            }
        }
        Ok(found)
    }

    /// Opens a regular file for reading, and tells what it is; anything else is an error.
    pub fn file(&self, path: &[u8]) -> io::Result<(File, Entry)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let found = self.open_at(path, flags)?;
        let entry = describe(&fstat(&found)?);
        if entry.kind != Kind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok((File::from(found), entry))
    }

    /// What an open file is now.
    pub fn again(file: &File) -> io::Result<Entry> {
        Ok(describe(&fstat(file)?))
    }

    /// Whether a file carries a mark that this workspace never writes.
    pub fn is_foreign(file: &File) -> io::Result<bool> {
        Ok(!matches!(marks(file)?, Ok(false)))
    }

    /// The target of a symbolic link, as written.
    pub fn target(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        let link = self.open_at(path, OFlags::PATH | OFlags::NOFOLLOW)?;
        Ok(readlinkat(link, c"", Vec::new())?.into_bytes())
    }

    /// Opens a directory.
    pub(super) fn directory(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW)
    }

    /// Opens beneath the root, through no link.
    fn open_at(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        open_beneath(&self.root, path, flags)
    }
}

/// Opens beneath a folder, through no link. The folder itself is the empty path.
pub(crate) fn open_beneath(root: &OwnedFd, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let path = if path.is_empty() { b"." } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        match openat2(root, path, flags, Mode::empty(), resolve) {
            // The kernel saw a rename on the way and asks to be asked again.
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
}

/// The path of a name in a directory.
pub(super) fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}

/// Takes down the entries of one directory.
fn list(
    opened: &OwnedFd,
    path: &[u8],
    found: &mut Inventory,
    todo: &mut Vec<Vec<u8>>,
    leaves_out: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<(), Errno> {
    for item in Dir::read_from(opened)? {
        let item = item?;
        let name = item.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let child = join(path, name.to_bytes());
        let entry = match statat(opened, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => describe(&stat),
            // It has gone meanwhile.
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(error),
        };
        let is_directory = entry.kind == Kind::Directory;
        let reason = match entry.kind {
            _ if child.len() >= PATH_MAX => Some(Reason::TooLong),
            Kind::Special(Special::Device) => Some(Reason::Special(Special::Device)),
            Kind::File | Kind::Directory | Kind::Link | Kind::Whiteout | Kind::Special(_) => None,
        };
        if is_directory && leaves_out(&child) {
            found.left_out.push(child);
            continue;
        }
        if is_directory && reason.is_none() {
            todo.push(child.clone());
        }
        found.entries.insert(child, Lying { entry, opaque: false, reason });
    }
    Ok(())
}

/// Whether an open file or directory is marked as opaque, or that it has a mark of another meaning.
pub(super) fn marks(opened: impl AsFd) -> Result<Result<bool, Reason>, Errno> {
    // One question for the common case: most entries have no mark at all.
    let mut names = [0_u8; 4096];
    let length = match rustix::fs::flistxattr(&opened, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP) => return Ok(Ok(false)),
        // More names than a workspace of ours has.
        Err(Errno::RANGE) => return Ok(Err(Reason::Redirect)),
        Err(error) => return Err(error),
    };
    let names = names.get(..length).unwrap_or_default();
    let mut opaque = false;
    for name in names.split(|byte| *byte == 0) {
        if FOREIGN.iter().any(|foreign| foreign.as_bytes() == name) {
            return Ok(Err(Reason::Redirect));
        }
        opaque |= name == OPAQUE.as_bytes();
    }
    if opaque {
        let mut value = [0_u8; 8];
        let length = fgetxattr(&opened, OPAQUE, &mut value[..]).unwrap_or(0);
        if value.get(..length) != Some(b"y") {
            return Ok(Err(Reason::Redirect));
        }
    }
    Ok(Ok(opaque))
}

/// Names the entry that could not be read.
pub(super) fn read(path: &[u8], source: Errno) -> LayerError {
    LayerError::Read { path: String::from_utf8_lossy(path).into_owned(), source: source.into() }
}
