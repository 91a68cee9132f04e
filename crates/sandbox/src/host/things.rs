//! A tree as a stream of things: directories, files, links, and the marks of an overlay. One side sends what lies in a
//! layer or in a person's tree, the other lays it into a folder of its own.
//!
//! What comes is trusted in nothing: a path that leads out, a thing without its directory, a name for `.git` where none
//! may be, or more than was agreed ends the whole stream, and nothing of it is put in its place. Writing goes by
//! directory descriptors beneath the folder, through no link.
use super::frame::{self, CHUNK, bad};
use super::orders::Piece;
use super::serve::Pieces;
use crate::layer::{Kind, LayerError, MAX_ENTRIES, PutBack, Reason, Special, Upper, Wanted, names_git};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Longest path, in bytes.
const LONGEST: usize = 4095;

/// What a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// A directory.
    Directory,
    /// A directory that covers the one below.
    Cover,
    /// A file, with its content.
    File,
    /// A symbolic link, with its target.
    Link,
    /// The mark for "removed".
    Removed,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case", deny_unknown_fields)]
enum Head {
    /// A thing; the body is its path and the beginning of its content.
    Thing { sort: Sort, mode: u32, path: u32, more: bool },
    /// More content of the file.
    More { more: bool },
    /// All was sent.
    End { things: u64 },
    /// The sender cannot go on.
    Broken,
}

/// What one stream may carry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Bytes of content.
    pub(crate) bytes: u64,
    /// Whether a name for `.git` may be in it.
    pub(crate) git: bool,
}

/// Sends things. Directories come before what they hold.
pub struct Sender<'a> {
    to: &'a mut dyn Write,
    things: u64,
}

impl<'a> Sender<'a> {
    pub(crate) fn new(to: &'a mut dyn Write) -> Self {
        Self { to, things: 0 }
    }

    /// Sends a thing without content.
    pub fn plain(&mut self, path: &[u8], sort: Sort, mode: u32) -> io::Result<()> {
        self.content(path, sort, mode, &mut io::empty())
    }

    /// Sends a link.
    pub fn link(&mut self, path: &[u8], target: &[u8]) -> io::Result<()> {
        self.content(path, Sort::Link, 0o777, &mut &*target)
    }

    /// Sends a file.
    pub fn file(&mut self, path: &[u8], mode: u32, from: &mut dyn Read) -> io::Result<()> {
        self.content(path, Sort::File, mode, from)
    }

    fn content(&mut self, path: &[u8], sort: Sort, mode: u32, from: &mut dyn Read) -> io::Result<()> {
        let mut body = path.to_vec();
        let mut next = chunk(from)?;
        body.append(&mut next);
        next = if body.len() < path.len() + CHUNK { Vec::new() } else { chunk(from)? };
        let length = u32::try_from(path.len()).map_err(|_| bad("a path is too long"))?;
        let head = Head::Thing { sort, mode, path: length, more: !next.is_empty() };
        frame::write(self.to, &head, &body)?;
        while !next.is_empty() {
            body = std::mem::take(&mut next);
            next = if body.len() < CHUNK { Vec::new() } else { chunk(from)? };
            frame::write(self.to, &Head::More { more: !next.is_empty() }, &body)?;
        }
        self.things += 1;
        Ok(())
    }

    /// Says that this was all.
    pub(crate) fn end(self) -> io::Result<()> {
        frame::write(self.to, &Head::End { things: self.things }, &[])?;
        self.to.flush()
    }

    /// Says that the rest cannot be sent.
    pub(crate) fn broken(self) -> io::Result<()> {
        frame::write(self.to, &Head::Broken, &[])?;
        self.to.flush()
    }
}

fn chunk(from: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(CHUNK as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Sends all that lies in the upper layer of a session. Nothing runs in it meanwhile.
pub(crate) fn send_layer(layer: &Path, to: &mut dyn Write) -> Result<(), LayerError> {
    let upper = Upper::open(layer)?;
    let found = upper.inventory(MAX_ENTRIES, &mut |_| false)?;
    let mut sender = Sender::new(to);
    for (path, lying) in &found.entries {
        let failed = |source| LayerError::Read { path: String::from_utf8_lossy(path).into_owned(), source };
        let mode = lying.entry.mode;
        match (lying.reason, lying.entry.kind) {
            (None | Some(Reason::Unreadable), Kind::Directory) => {
                let sort = if lying.opaque { Sort::Cover } else { Sort::Directory };
                sender.plain(path, sort, mode).map_err(failed)?;
            }
            (Some(reason), _) => return Err(failed(io::Error::other(reason.to_string()))),
            (None, Kind::File) => match upper.file(path) {
                Ok((file, _)) if Upper::is_foreign(&file).map_err(failed)? => {
                    return Err(failed(io::Error::other(Reason::Redirect.to_string())));
                }
                Ok((mut file, _)) => sender.file(path, mode, &mut file).map_err(failed)?,
                // As at a workstation: it is there, and cannot be read there either.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    sender.plain(path, Sort::File, mode).map_err(failed)?;
                }
                Err(error) => return Err(failed(error)),
            },
            (None, Kind::Link) => {
                let target = upper.target(path).map_err(failed)?;
                sender.link(path, &target).map_err(failed)?;
            }
            (None, Kind::Whiteout) => sender.plain(path, Sort::Removed, 0).map_err(failed)?,
            (None, Kind::Special(Special::Fifo)) => sender.plain(path, Sort::Pipe, mode).map_err(failed)?,
            (None, Kind::Special(Special::Socket)) => {
                sender.plain(path, Sort::Socket, mode).map_err(failed)?;
            }
            (None, Kind::Special(Special::Device)) => {
                return Err(failed(io::Error::other(Reason::Special(Special::Device).to_string())));
            }
        }
    }
    sender.end().map_err(|source| LayerError::Read { path: String::new(), source })
}

/// Why things could not be laid.
#[derive(Debug, thiserror::Error)]
pub enum LayError {
    /// What came cannot be meant, or the connection ended.
    #[error("what came cannot be taken: {0}")]
    Came(#[from] io::Error),
    /// The folder cannot be written.
    #[error(transparent)]
    Folder(#[from] LayerError),
}

/// Takes a stream and makes the `upper` in the folder `into` what it says, whatever that held. Answers the number of
/// things. Until the stream has ended well nothing in `upper` changes.
pub(crate) fn lay(from: &mut dyn Read, into: &Path, bounds: Bounds) -> Result<u64, LayError> {
    make_folder(into)?;
    let room = PutBack::begin(into)?;
    let mut wanted: BTreeMap<Vec<u8>, Wanted> = BTreeMap::new();
    let (mut bytes, mut things) = (0u64, 0u64);
    loop {
        let Some((head, body)) = frame::read::<Head>(from)? else {
            return Err(bad("the stream is cut").into());
        };
        match head {
            Head::Thing { sort, mode, path, more } => {
                things += 1;
                let cut = usize::try_from(path).unwrap_or(usize::MAX);
                let Some((path, content)) = body.split_at_checked(cut) else {
                    return Err(bad("a thing without its path").into());
                };
                check(path, sort, &wanted, bounds.git)?;
                let pieces = Pieces::framed(&mut *from, content.to_vec(), more, more_content);
                let mut content = Content { pieces, left: bounds.bytes.saturating_sub(bytes) };
                let made = match sort {
                    Sort::Directory | Sort::Cover => {
                        content.none()?;
                        Wanted::Directory { mode: mode & 0o7777, opaque: sort == Sort::Cover }
                    }
                    Sort::File => {
                        bytes += room.make_ready_from(things, &mut content, mode & 0o7777)?;
                        Wanted::Ready(things)
                    }
                    Sort::Link => {
                        let mut target = Vec::new();
                        (&mut content).take(LONGEST as u64 + 1).read_to_end(&mut target)?;
                        if target.is_empty() || target.len() > LONGEST || target.contains(&0) {
                            return Err(bad("a link to nowhere").into());
                        }
                        Wanted::Link(target)
                    }
                    Sort::Removed => content.none().map(|()| Wanted::Whiteout)?,
                    Sort::Pipe => content.none().map(|()| Wanted::Pipe(mode & 0o7777))?,
                    Sort::Socket => content.none().map(|()| Wanted::Socket(mode & 0o7777))?,
                };
                if wanted.insert(path.to_vec(), made).is_some() {
                    return Err(bad("one thing twice").into());
                }
                if wanted.len() > MAX_ENTRIES {
                    return Err(LayerError::TooMany.into());
                }
            }
            Head::End { things: sent } if sent == things => break,
            Head::Broken => return Err(bad("the sender could not go on").into()),
            Head::End { .. } | Head::More { .. } => return Err(bad("a stream out of order").into()),
        }
    }
    room.carry_out(&wanted, &BTreeSet::new())?;
    Ok(things)
}

/// A folder with an `upper`, closed to others.
pub(crate) fn make_folder(into: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(into)?;
    match std::fs::DirBuilder::new().mode(0o755).create(into.join("upper")) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Plain names only, in a directory that came before.
pub(crate) fn check(
    path: &[u8],
    sort: Sort,
    wanted: &BTreeMap<Vec<u8>, Wanted>,
    git: bool,
) -> io::Result<()> {
    if path.is_empty() {
        let fits = matches!(sort, Sort::Directory | Sort::Cover) && wanted.is_empty();
        return if fits { Ok(()) } else { Err(bad("the root is a directory, and the first of all")) };
    }
    let sound = |part: &[u8]| !part.is_empty() && part != b"." && part != b".." && !part.contains(&0);
    if path.len() > LONGEST || !path.split(|byte| *byte == b'/').all(sound) || (!git && names_git(path)) {
        return Err(bad("a path that may not be"));
    }
    let above = path.iter().rposition(|byte| *byte == b'/').and_then(|at| path.get(..at)).unwrap_or_default();
    match wanted.get(above) {
        Some(Wanted::Directory { .. }) => Ok(()),
        _ => Err(bad("a thing without its directory")),
    }
}

/// The content of one thing, as it comes, up to what was agreed.
struct Content<'a> {
    pieces: Pieces<'a>,
    left: u64,
}

impl Content<'_> {
    /// There is to be none.
    fn none(&self) -> io::Result<()> {
        if self.pieces.is_empty() { Ok(()) } else { Err(bad("content where there is none")) }
    }
}

impl Read for Content<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = self.pieces.read(into)?;
        self.left = self
            .left
            .checked_sub(size as u64)
            .ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, "more than was agreed"))?;
        Ok(size)
    }
}

fn more_content(from: &mut dyn Read) -> io::Result<(Piece, Vec<u8>)> {
    match frame::read::<Head>(from)? {
        Some((Head::More { more }, body)) => Ok((Piece { more, broken: false }, body)),
        _ => Err(bad("a file is cut")),
    }
}

#[cfg(test)]
#[path = "things_tests.rs"]
mod tests;
