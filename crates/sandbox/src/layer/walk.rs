//! The walk itself: upper layer first, the tree below only where the layer touches it.
//!
//! Directories are kept on a list of our own, so depth costs no stack. Each name is judged before it is opened, each
//! entry by its type before its content, and content is compared in fixed buffers.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;

use rustix::fs::fgetxattr;
use rustix::io::Errno;

use super::names::{is_git_name, names_git};
use super::tree::{Entry, Kind, PATH_MAX};
use super::{Changes, Layer, LayerError, MAX_BYTES, MAX_ENTRIES, RawChange, Reason, Refused};

/// Bytes read at a time from each side of a comparison.
const CHUNK: usize = 64 * 1024;

/// How a directory of the layer relates to the one of the same path below.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Below {
    /// The lower one shows through.
    Merged,
    /// The lower one was removed and made again: what the layer does not hold is gone.
    Replaced,
    /// There is none.
    Absent,
}

/// One walk in progress.
struct Walk<'a> {
    layer: &'a Layer,
    keep: &'a mut dyn FnMut(&str, bool) -> bool,
    found: Changes,
    seen: usize,
    /// What the changed files have together.
    bytes: u64,
    todo: Vec<(String, Below)>,
}

/// Walks a layer to its end.
pub(super) fn walk(layer: &Layer, keep: &mut dyn FnMut(&str, bool) -> bool) -> Result<Changes, LayerError> {
    let todo = vec![(String::new(), Below::Merged)];
    let mut walk = Walk { layer, keep, found: Changes::default(), seen: 0, bytes: 0, todo };
    while let Some((path, below)) = walk.todo.pop() {
        walk.directory(&path, below)?;
    }
    walk.unmasked()?;
    let mut found = walk.found;
    found.changes.sort_by(|a, b| a.path.cmp(&b.path));
    found.refused.sort();
    found.refused.dedup();
    Ok(found)
}

impl Walk<'_> {
    /// One directory of the layer.
    fn directory(&mut self, path: &str, below: Below) -> Result<(), LayerError> {
        let Some(names) = self.names(path, true)? else { return Ok(()) };
        if below == Below::Replaced {
            self.missing(path, &names)?;
        }
        for name in &names {
            let Some(child) = self.admit(path, name) else { continue };
            if is_git_name(name) {
                self.git(&child)?;
                continue;
            }
            let Some(after) = self.upper(&child)? else { continue };
            let before = if below == Below::Absent { None } else { self.base(&child)? };
            self.entry(&child, before, after, below)?;
        }
        Ok(())
    }

    /// One entry of the layer, with what lies below it.
    fn entry(
        &mut self,
        path: &str,
        before: Option<Entry>,
        after: Entry,
        below: Below,
    ) -> Result<(), LayerError> {
        match after.kind {
            Kind::Whiteout => self.remove_if(path, before),
            Kind::Special(special) => {
                self.refuse(path, Reason::Special(special));
                Ok(())
            }
            Kind::Directory => self.enter(path, before, below),
            Kind::Link => {
                let target = self.layer.upper.target(path).map_err(|source| read(path, source))?;
                if names_git(&target) {
                    self.refuse(path, Reason::LinkToGit);
                    return Ok(());
                }
                self.leaf(path, before, after)
            }
            Kind::File => match self.marks(path)? {
                Marks::Whiteout if after.size == 0 => self.remove_if(path, before),
                Marks::Redirect => {
                    self.refuse(path, Reason::Redirect);
                    Ok(())
                }
                Marks::Unreadable => {
                    self.refuse(path, Reason::Unreadable);
                    Ok(())
                }
                Marks::None | Marks::Opaque | Marks::Whiteout => self.leaf(path, before, after),
            },
        }
    }

    /// A directory of the layer: later to be entered.
    fn enter(&mut self, path: &str, before: Option<Entry>, below: Below) -> Result<(), LayerError> {
        let opaque = match self.marks(path)? {
            Marks::Redirect => {
                self.refuse(path, Reason::Redirect);
                return Ok(());
            }
            Marks::Unreadable => {
                self.refuse(path, Reason::Unreadable);
                return Ok(());
            }
            Marks::Opaque => true,
            Marks::None | Marks::Whiteout => false,
        };
        if !(self.keep)(path, true) {
            self.found.left_out += 1;
            return Ok(());
        }
        let is_directory = before.is_some_and(|entry| entry.kind == Kind::Directory);
        let next = match (is_directory, opaque || below == Below::Replaced) {
            (false, _) => Below::Absent,
            (true, true) => Below::Replaced,
            (true, false) => Below::Merged,
        };
        if !is_directory {
            self.remove_if(path, before)?;
        }
        self.todo.push((path.to_owned(), next));
        Ok(())
    }

    /// A file or link of the layer.
    fn leaf(&mut self, path: &str, before: Option<Entry>, after: Entry) -> Result<(), LayerError> {
        let hidden = before.is_some() && self.layer.mask.hides(path);
        match before.map(|entry| entry.kind) {
            Some(Kind::Directory) if !hidden => {
                self.remove_tree(path)?;
                self.record(path, None, Some(after), false);
            }
            Some(Kind::Special(special)) => self.refuse(path, Reason::Special(special)),
            Some(Kind::Whiteout | Kind::Directory) | None => self.record(path, None, Some(after), hidden),
            Some(Kind::File | Kind::Link) => {
                if !(self.keep)(path, false) {
                    self.found.left_out += 1;
                } else if self.differs(path, before, after)? && self.has_room(path, Some(after)) {
                    self.found.changes.push(RawChange {
                        path: path.to_owned(),
                        before,
                        after: Some(after),
                        hidden,
                    });
                }
            }
        }
        Ok(())
    }

    /// Whatever lay below is gone.
    fn remove_if(&mut self, path: &str, before: Option<Entry>) -> Result<(), LayerError> {
        let Some(entry) = before else { return Ok(()) };
        if self.layer.mask.hides(path) {
            return Ok(());
        }
        match entry.kind {
            Kind::Directory => self.remove_tree(path)?,
            Kind::File | Kind::Link => self.record(path, Some(entry), None, false),
            Kind::Special(special) => self.refuse(path, Reason::Special(special)),
            Kind::Whiteout => {}
        }
        Ok(())
    }

    /// Files that were put into the layer and are not there any more. No mark is left of them: below them is a mask.
    fn unmasked(&mut self) -> Result<(), LayerError> {
        let told: BTreeSet<String> = self.found.changes.iter().map(|change| change.path.clone()).collect();
        for path in self.layer.unmasked.iter().filter(|path| !told.contains(*path)) {
            let gone = matches!(self.upper(path)?, None | Some(Entry { kind: Kind::Whiteout, .. }));
            if gone {
                let before = self.base(path)?;
                let file = before.filter(|entry| matches!(entry.kind, Kind::File | Kind::Link));
                self.remove_if(path, file)?;
            }
        }
        Ok(())
    }

    /// Every file of a directory below is gone, but for what was hidden and for git directories.
    fn remove_tree(&mut self, path: &str) -> Result<(), LayerError> {
        let mut todo = vec![path.to_owned()];
        while let Some(directory) = todo.pop() {
            if !(self.keep)(&directory, true) {
                self.found.left_out += 1;
                continue;
            }
            let Some(names) = self.names(&directory, false)? else { continue };
            for name in names {
                let Some(child) = self.admit(&directory, &name) else { continue };
                if is_git_name(&name) {
                    self.refuse(&child, Reason::GitDirectory);
                    continue;
                }
                match self.base(&child)? {
                    Some(entry) if entry.kind == Kind::Directory => {
                        if !self.layer.mask.hides(&child) {
                            todo.push(child);
                        }
                    }
                    other => self.remove_if(&child, other)?,
                }
            }
        }
        Ok(())
    }

    /// What the directory below holds and its replacement does not.
    fn missing(&mut self, path: &str, present: &[Vec<u8>]) -> Result<(), LayerError> {
        let Some(names) = self.names(path, false)? else { return Ok(()) };
        for name in names.iter().filter(|name| present.binary_search(name).is_err()) {
            let Some(child) = self.admit(path, name) else { continue };
            if is_git_name(name) {
                self.refuse(&child, Reason::GitDirectory);
                continue;
            }
            let before = self.base(&child)?;
            self.remove_if(&child, before)?;
        }
        Ok(())
    }

    /// A git directory of the layer. The one of the root is the place where the private one is mounted, if empty.
    fn git(&mut self, path: &str) -> Result<(), LayerError> {
        let mount_point = path == ".git"
            && match self.upper(path)? {
                Some(Entry { kind: Kind::Directory, .. }) => {
                    self.layer.upper.names(path, 1).is_ok_and(|names| names.is_empty())
                }
                Some(Entry { kind: Kind::File, size, .. }) => size == 0,
                _ => false,
            };
        if !mount_point {
            self.refuse(path, Reason::GitDirectory);
        }
        Ok(())
    }

    /// The path of a name in a directory, if it can be one.
    fn admit(&mut self, directory: &str, name: &[u8]) -> Option<String> {
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let path = format!("{prefix}{}", String::from_utf8_lossy(name));
        if str::from_utf8(name).is_err() {
            self.refuse(&path, Reason::NotUtf8);
            return None;
        }
        if path.len() >= PATH_MAX {
            self.refuse(&path, Reason::TooLong);
            return None;
        }
        Some(path)
    }

    /// Adds a change that needs no comparison.
    fn record(&mut self, path: &str, before: Option<Entry>, after: Option<Entry>, hidden: bool) {
        if (self.keep)(path, false) {
            if !self.has_room(path, after) {
                return;
            }
            self.found.changes.push(RawChange { path: path.to_owned(), before, after, hidden });
        } else {
            self.found.left_out += 1;
        }
    }

    /// Counts a changed file's bytes, or refuses it.
    fn has_room(&mut self, path: &str, after: Option<Entry>) -> bool {
        let size = after.filter(|entry| entry.kind == Kind::File).map_or(0, |entry| entry.size);
        if size > MAX_BYTES - self.bytes {
            self.refuse(path, Reason::TooLarge);
            return false;
        }
        self.bytes += size;
        true
    }

    /// Adds a refusal.
    fn refuse(&mut self, path: &str, reason: Reason) {
        self.found.refused.push(Refused { path: path.to_owned(), reason });
    }

    /// The entry of the layer; one that has gone is none.
    fn upper(&self, path: &str) -> Result<Option<Entry>, LayerError> {
        let found = self.layer.upper.entry(path).map_err(|source| read(path, source))?;
        Ok(match &self.layer.touched {
            Some(touched) => touched.entry(path, found),
            None => found,
        })
    }

    /// The entry below.
    fn base(&mut self, path: &str) -> Result<Option<Entry>, LayerError> {
        match self.layer.base.entry(path) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.refuse(path, Reason::Unreadable);
                Ok(None)
            }
            other => other.map_err(|source| read(path, source)),
        }
    }

    /// The names of a directory of the layer or of the tree below; `None` if it may not be read, which is refused.
    fn names(&mut self, path: &str, upper: bool) -> Result<Option<Vec<Vec<u8>>>, LayerError> {
        if let Some(touched) = self.layer.touched.as_ref().filter(|_| upper) {
            return Ok(Some(touched.names(path)));
        }
        let tree = if upper { &self.layer.upper } else { &self.layer.base };
        match tree.names(path, MAX_ENTRIES - self.seen) {
            Ok(names) => {
                self.seen += names.len();
                Ok(Some(names))
            }
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Err(LayerError::TooMany),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.refuse(path, Reason::Unreadable);
                Ok(None)
            }
            Err(source) => Err(read(path, source)),
        }
    }

    /// Whether a file or link differs from the one below in kind, executable bit or content.
    fn differs(&mut self, path: &str, before: Option<Entry>, after: Entry) -> Result<bool, LayerError> {
        let Some(before) = before else { return Ok(true) };
        if before.kind != after.kind || before.executable() != after.executable() || before.size != after.size
        {
            return Ok(true);
        }
        let (base, upper) = (&self.layer.base, &self.layer.upper);
        let same = if after.kind == Kind::Link {
            base.target(path).and_then(|old| Ok(old == upper.target(path)?))
        } else {
            base.file(path).and_then(|old| same(old, upper.file(path)?))
        };
        match same {
            Ok(same) => Ok(!same),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.refuse(path, Reason::Unreadable);
                Ok(false)
            }
            Err(source) => Err(read(path, source)),
        }
    }

    /// The overlay's marks on a file or directory of the layer.
    fn marks(&self, path: &str) -> Result<Marks, LayerError> {
        let upper = &self.layer.upper;
        let opened = match upper.entry(path).map(|entry| entry.map(|entry| entry.kind)) {
            Ok(Some(Kind::Directory)) => upper.directory(path),
            _ => upper.file(path).map(Into::into),
        };
        match opened {
            Ok(_) if self.layer.touched.is_some() => Ok(Marks::None),
            Ok(opened) => marks(opened).map_err(|error| read(path, error.into())),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Marks::Unreadable),
            Err(source) => Err(read(path, source)),
        }
    }
}

/// What the extended attributes of an entry mean to the overlay.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marks {
    None,
    Whiteout,
    Opaque,
    Redirect,
    Unreadable,
}

/// Reads the marks of an open file or directory, of both the rooted and the plain user's overlay.
fn marks(opened: impl AsFd) -> Result<Marks, Errno> {
    let holds = |name: &str| -> Result<Option<u8>, Errno> {
        let mut value = [0_u8; 8];
        match fgetxattr(&opened, name, &mut value[..]) {
            Ok(length) => Ok(Some(if length == 1 { value[0] } else { 0 })),
            Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(None),
            // Longer than any mark that means "opaque".
            Err(Errno::RANGE) => Ok(Some(0)),
            Err(error) => Err(error),
        }
    };
    for space in ["user.overlay", "trusted.overlay"] {
        if holds(&format!("{space}.redirect"))?.is_some() || holds(&format!("{space}.metacopy"))?.is_some() {
            return Ok(Marks::Redirect);
        }
        if holds(&format!("{space}.whiteout"))?.is_some() {
            return Ok(Marks::Whiteout);
        }
        if holds(&format!("{space}.opaque"))? == Some(b'y') {
            return Ok(Marks::Opaque);
        }
    }
    Ok(Marks::None)
}

/// Whether two files of one size hold the same bytes.
fn same(mut left: File, mut right: File) -> io::Result<bool> {
    let (mut a, mut b) = (vec![0; CHUNK], vec![0; CHUNK]);
    loop {
        let (n, m) = (fill(&mut left, &mut a)?, fill(&mut right, &mut b)?);
        if a.get(..n) != b.get(..m) {
            return Ok(false);
        }
        if n == 0 {
            return Ok(true);
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Names the entry that could not be read.
fn read(path: &str, source: io::Error) -> LayerError {
    LayerError::Read { path: path.to_owned(), source }
}
