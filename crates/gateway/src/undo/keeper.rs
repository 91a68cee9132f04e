//! Keeping what the layer says just before a call may change it.
//!
//! Only what changed since the moment before is read: an entry whose inode, size, mode and time of change are what
//! they were is what it was, if that time is old enough for a later change to show. What is over a bound is not kept,
//! and the moment says so. A call never waits for more than the bounds allow, and never fails by this.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::PathBuf;

use enclos_core::ids::CallId;
use enclos_sandbox::layer::{Entry, Kind, LayerError, Lying, Special, Stamp, Upper};
use enclos_store::Sealer;

use super::moment::{Frame, Moment, Name, Node};
use super::shelf::{MOST_BYTES, Shelf};
use crate::repo::{Apart, Repo};

/// The most bytes of contents that one moment may add.
const MOST_NEW_BYTES: u64 = 64 << 20;

/// The most entries that one moment may add.
const MOST_NEW_ENTRIES: usize = 20_000;

/// The most entries of a layer that are kept at all.
const MOST_ENTRIES: usize = 60_000;

/// A time of change may stand still for so long while a file changes: ten ticks of the slowest clock.
const TICKS_NS: i128 = 100_000_000;

/// What became of a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It can be gone back to.
    Complete,
    /// It is known but cannot be gone back to, and why.
    Incomplete(String),
    /// It is not there.
    Failed(String),
}

impl Kept {
    /// The word for the journal.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Incomplete(_) => "incomplete",
            Self::Failed(_) => "none",
        }
    }
}

/// Keeps the moments of one session.
#[derive(Debug)]
pub(crate) struct Keeper {
    session: PathBuf,
    repo: Repo,
    sealer: Sealer,
    open: Option<Open>,
}

/// What is open once the first moment was kept.
#[derive(Debug)]
struct Open {
    shelf: Shelf,
    upper: Upper,
    apart: Apart,
    last: Moment,
    /// Whether the moments before cannot be read, so that the next one stands alone.
    alone: bool,
    /// The attributes of what was read, where a later change would show.
    seen: HashMap<Name, Entry>,
}

/// What one moment may still add.
struct Room {
    bytes: u64,
    entries: usize,
}

impl Keeper {
    /// A keeper for the session with this folder. Nothing is read or written yet.
    pub(crate) fn new(session: PathBuf, repo: Repo, sealer: Sealer) -> Self {
        Self { session, repo, sealer, open: None }
    }

    /// Keeps what the layer says now, just before a call. No call may be running; a command in the background may, and a
    /// file that it writes while it is read counts as one that could not be kept.
    pub(crate) fn keep(&mut self, call: &CallId) -> Kept {
        match self.try_keep(call) {
            Ok(None) => Kept::Complete,
            Ok(Some(why)) => Kept::Incomplete(why),
            Err(error) => {
                // What is on the disk may be ahead of what is known here: it is read anew the next time.
                self.open = None;
                Kept::Failed(error.to_string())
            }
        }
    }

    fn try_keep(&mut self, call: &CallId) -> io::Result<Option<String>> {
        let layer = self.session.join("layer");
        if enclos_sandbox::layer::is_copy(&layer) {
            return Err(io::Error::other(LayerError::Copied));
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => Open::new(self)?,
        };
        // The file that the frame goes to is also what tells the time, by the clock that stamps files.
        let draft = open.shelf.draft("frame")?;
        let frame = open.frame(call, draft.now)?;
        open.shelf.write(draft, &frame)?;
        open.alone = false;
        open.last.take(&frame);
        let why = open.last.incomplete();
        self.open = Some(open);
        Ok(why)
    }
}

impl Open {
    fn new(keeper: &Keeper) -> io::Result<Self> {
        let shelf = Shelf::open(&keeper.session, keeper.sealer.clone())?;
        let upper = Upper::open(&keeper.session.join("layer")).map_err(io::Error::other)?;
        let apart = Apart::of(&keeper.repo)?;
        let (mut last, mut alone) = (Moment::default(), true);
        for frame in shelf.frames()? {
            match frame {
                Ok(frame) if frame.full || !alone => {
                    last.take(&frame);
                    alone = false;
                }
                _ => (last, alone) = (Moment::default(), true),
            }
        }
        Ok(Self { shelf, upper, apart, last, alone, seen: HashMap::new() })
    }

    /// What is different from the moment before.
    fn frame(&mut self, call: &CallId, now: Stamp) -> io::Result<Frame> {
        let mut frame = Frame {
            call: call.clone(),
            full: self.alone,
            set: [].into(),
            gone: Vec::new(),
            left_out: [].into(),
            flaw: None,
        };
        let apart = &mut self.apart;
        let found = match self.upper.inventory(MOST_ENTRIES, &mut |path| apart.leaves_out(path)) {
            Ok(found) => found,
            Err(LayerError::TooMany) => {
                frame.flaw = Some(format!("the session changed more than {MOST_ENTRIES} files and folders"));
                return Ok(frame);
            }
            Err(error) => return Err(io::Error::other(error)),
        };
        let mut room = Room { bytes: MOST_NEW_BYTES, entries: MOST_NEW_ENTRIES };
        for (path, lying) in &found.entries {
            let name = Name(path.clone());
            if self.is_unchanged(&name, lying) {
                continue;
            }
            let node = self.node(path, lying, &mut room)?;
            if is_old(lying.entry.changed, now) {
                self.seen.insert(name.clone(), lying.entry);
            } else {
                self.seen.remove(&name);
            }
            if self.last.nodes.get(&name) == Some(&node) {
                continue;
            }
            frame.set.insert(name, room.admit(node));
        }
        let there = |name: &&Name| found.entries.contains_key(&name.0);
        frame.gone = self.last.nodes.keys().filter(|name| !there(name)).cloned().collect();
        self.seen.retain(|name, _| there(&name));
        frame.left_out = found.left_out.into_iter().map(Name).collect();
        Ok(frame)
    }

    /// Whether an entry needs no second look.
    fn is_unchanged(&self, name: &Name, lying: &Lying) -> bool {
        let read = match self.last.nodes.get(name) {
            Some(Node::File { .. } | Node::Link { .. }) => true,
            // The others are known by their attributes alone; what was lost may have room now.
            Some(
                Node::Directory { .. }
                | Node::Lost { .. }
                | Node::Whiteout
                | Node::Pipe { .. }
                | Node::Socket { .. },
            )
            | None => false,
        };
        read && lying.reason.is_none() && self.seen.get(name) == Some(&lying.entry)
    }

    /// What an entry is.
    fn node(&mut self, path: &[u8], lying: &Lying, room: &mut Room) -> io::Result<Node> {
        if let Some(reason) = lying.reason {
            return Ok(Node::Lost { why: reason.to_string() });
        }
        let mode = lying.entry.mode;
        Ok(match lying.entry.kind {
            Kind::Directory => Node::Directory { mode, opaque: lying.opaque },
            Kind::Whiteout => Node::Whiteout,
            Kind::Special(Special::Fifo) => Node::Pipe { mode },
            Kind::Special(Special::Socket) => Node::Socket { mode },
            Kind::Special(Special::Device) => Node::Lost { why: "a device".to_owned() },
            Kind::Link => Node::Link { target: Name(self.upper.target(path)?) },
            Kind::File => self.file(path, &lying.entry, room)?,
        })
    }

    /// Keeps the content of a file.
    fn file(&mut self, path: &[u8], listed: &Entry, room: &mut Room) -> io::Result<Node> {
        let lost = |why: String| Ok(Node::Lost { why });
        if listed.size > room.bytes {
            return lost(format!("{} MiB at most are kept before one call", MOST_NEW_BYTES >> 20));
        }
        if !self.shelf.has_room(listed.size) {
            return lost(full());
        }
        let (mut file, before) = match self.upper.file(path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return lost("a file that cannot be read".to_owned());
            }
            Err(error) => return Err(error),
        };
        if Upper::is_foreign(&file)? {
            return lost("a mark that the workspace never writes".to_owned());
        }
        let mut content = Vec::with_capacity(usize::try_from(before.size).unwrap_or(0).min(1 << 20));
        Read::by_ref(&mut file).take(room.bytes.saturating_add(1)).read_to_end(&mut content)?;
        if before != *listed || Upper::again(&file)? != before || content.len() as u64 != before.size {
            return lost("a file that was written while it was read".to_owned());
        }
        let before_keeping = self.shelf.used();
        let Some(name) = self.shelf.keep(&content)? else {
            return lost(full());
        };
        if self.shelf.used() != before_keeping {
            room.bytes = room.bytes.saturating_sub(before.size);
        }
        Ok(Node::File { mode: before.mode, size: before.size, content: name })
    }
}

impl Room {
    /// Takes one more entry.
    fn admit(&mut self, node: Node) -> Node {
        match self.entries.checked_sub(1) {
            Some(left) => {
                self.entries = left;
                node
            }
            None => Node::Lost {
                why: format!("{MOST_NEW_ENTRIES} files and folders at most are kept before one call"),
            },
        }
    }
}

fn full() -> String {
    format!("{} MiB at most are kept of one session", MOST_BYTES >> 20)
}

/// Whether a time of change is old enough: a change that comes now would show by another one.
fn is_old(changed: Stamp, now: Stamp) -> bool {
    let ns = |stamp: Stamp| i128::from(stamp.seconds) * 1_000_000_000 + i128::from(stamp.nanoseconds);
    ns(now) - ns(changed) > TICKS_NS
}
