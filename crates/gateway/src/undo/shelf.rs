//! Where moments and contents are kept: `undo` in the folder of a session, for the owner alone, sealed, and bounded.
//!
//! A file is written whole or not at all. What was cut short by a crash or altered does not open, and then the moment
//! is not there: nothing is read in part. Nothing here decides what is kept.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use enclos_sandbox::layer::Stamp;
use enclos_store::Sealer;

use super::moment::Frame;

/// The most bytes that the shelf of one session holds.
pub(super) const MOST_BYTES: u64 = 512 << 20;

/// The name of the folder.
const FOLDER: &str = "undo";

/// The shelf of one session.
#[derive(Debug)]
pub(super) struct Shelf {
    folder: PathBuf,
    sealer: Sealer,
    used: u64,
    next: u64,
}

/// A file that is about to become a frame, and the moment at which it was made by the clock that stamps files.
#[derive(Debug)]
pub(super) struct Draft {
    file: File,
    path: PathBuf,
    /// When.
    pub(super) now: Stamp,
}

impl Shelf {
    /// Opens the shelf of a session, and makes it when it is not there.
    pub(super) fn open(session: &Path, sealer: Sealer) -> io::Result<Self> {
        let folder = session.join(FOLDER);
        for name in ["frames", "blobs"] {
            DirBuilder::new().recursive(true).mode(0o700).create(folder.join(name))?;
        }
        let mut shelf = Self { folder, sealer, used: 0, next: 1 };
        for blob in fs::read_dir(shelf.folder.join("blobs"))? {
            shelf.used = shelf.used.saturating_add(blob?.metadata()?.len());
        }
        for number in shelf.numbers()? {
            shelf.used = shelf.used.saturating_add(shelf.frame_path(number).metadata()?.len());
            shelf.next = shelf.next.max(number.saturating_add(1));
        }
        Ok(shelf)
    }

    /// How many bytes it holds.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Whether so many bytes more are within its bound.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.used.saturating_add(bytes) <= MOST_BYTES
    }

    /// Whether a session has one.
    pub(super) fn exists(session: &Path) -> bool {
        session.join(FOLDER).is_dir()
    }

    /// The name under which a content is kept.
    pub(super) fn name_of(&self, content: &[u8]) -> String {
        let digest = self.sealer.commit_key().digest(content);
        digest.as_str().rsplit(':').next().unwrap_or_default().to_owned()
    }

    /// Keeps a content, once. `None`: the shelf is full.
    pub(super) fn keep(&mut self, content: &[u8]) -> io::Result<Option<String>> {
        let name = self.name_of(content);
        let path = self.folder.join("blobs").join(&name);
        if path.exists() {
            return Ok(Some(name));
        }
        if !self.has_room(content.len() as u64) {
            return Ok(None);
        }
        let sealed = self.sealer.seal(&format!("undo/blob/{name}"), content).map_err(io::Error::other)?;
        let draft = self.draft("blob")?;
        self.place(draft, &sealed, &path)?;
        Ok(Some(name))
    }

    /// A content that was kept, exactly.
    pub(super) fn content(&self, name: &str) -> io::Result<Vec<u8>> {
        let sealed = fs::read(self.folder.join("blobs").join(name))?;
        self.sealer.open(&format!("undo/blob/{name}"), &sealed).map_err(io::Error::other)
    }

    /// A file to be filled and put in its place. What an earlier process left under this name goes.
    pub(super) fn draft(&self, name: &str) -> io::Result<Draft> {
        let path = self.folder.join(name);
        let create = || File::options().write(true).create_new(true).mode(0o600).open(&path);
        let file = match create() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&path)?;
                create()?
            }
            made => made?,
        };
        let made = file.metadata()?;
        let now = Stamp { seconds: made.ctime(), nanoseconds: made.ctime_nsec().unsigned_abs() };
        Ok(Draft { file, path, now })
    }

    /// Writes down a frame.
    pub(super) fn write(&mut self, draft: Draft, frame: &Frame) -> io::Result<()> {
        let (number, clear) = (self.next, serde_json::to_vec(frame)?);
        let sealed = self.sealer.seal(&frame_name(number), &clear).map_err(io::Error::other)?;
        self.place(draft, &sealed, &self.frame_path(number))?;
        self.next += 1;
        Ok(())
    }

    /// Every frame in order, as far as each can be read.
    pub(super) fn frames(&self) -> io::Result<Vec<io::Result<Frame>>> {
        let numbers = self.numbers()?;
        let read = |number: u64| -> io::Result<Frame> {
            let sealed = fs::read(self.frame_path(number))?;
            let clear = self.sealer.open(&frame_name(number), &sealed).map_err(io::Error::other)?;
            Ok(serde_json::from_slice(&clear)?)
        };
        // One that is missing breaks the chain as one that is damaged does.
        let last = numbers.last().copied().unwrap_or(0);
        Ok((1..=last).map(read).collect())
    }

    fn place(&mut self, mut draft: Draft, sealed: &[u8], path: &Path) -> io::Result<()> {
        draft.file.write_all(sealed)?;
        fs::rename(&draft.path, path)?;
        self.used = self.used.saturating_add(sealed.len() as u64);
        Ok(())
    }

    fn frame_path(&self, number: u64) -> PathBuf {
        self.folder.join("frames").join(number.to_string())
    }

    /// The numbers of the frames, in order.
    fn numbers(&self) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(self.folder.join("frames"))? {
            numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u64>().ok()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
}

/// What a frame is sealed as: one cannot be put in the place of another.
fn frame_name(number: u64) -> String {
    format!("undo/frame/{number}")
}

/// Removes what is kept of a session for undoing. A session without it is no error.
pub(crate) fn remove(session: &Path) -> io::Result<()> {
    crate::trees::remove(&session.join(FOLDER))
}

/// Whether anything is kept of a session for undoing.
pub(crate) fn is_kept(session: &Path) -> bool {
    Shelf::exists(session)
}
