//! Going back to a moment: first it is shown that it can be done whole, then it is written down, then it is done.
//!
//! Nothing in the workspace has changed until the intent is in the journal. From there the session takes nothing else
//! until the undo is done, by the same order or when the session is taken up again.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use enclos_core::ids::CallId;
use enclos_sandbox::layer::{Inventory, Kind, Lying, PutBack, RawChange, Special, Upper, Wanted};
use enclos_store::Sealer;

use super::moment::{Moment, Name, Node};
use super::shelf::Shelf;
use crate::changeset;
use crate::repo::{Apart, Repo};

/// The most entries of a layer that are looked at.
const MOST_ENTRIES: usize = 1_000_000;

/// Why a moment cannot be gone back to. The workspace is as it was.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// There is no such moment.
    #[error("what the workspace was before `{0}` was not kept")]
    NotKept(CallId),
    /// The session works in a copy of the tree.
    #[error("the workspace of this session is a copy of the tree, of which no earlier moment is kept")]
    Copied,
    /// It is not whole.
    #[error("what the workspace was before `{0}` was not kept as a whole: {1}")]
    Incomplete(CallId, String),
    /// Something of it cannot be read any more.
    #[error("what was kept of `{path}` cannot be read: {source}")]
    Unreadable {
        /// The path.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The layer or the shelf cannot be used.
    #[error("the workspace cannot be put back: {0}")]
    Failed(String),
}

/// Everything that going back needs, made ready.
pub(super) struct Ready {
    back: PutBack,
    layer: PathBuf,
    repo: Repo,
    wanted: BTreeMap<Vec<u8>, Wanted>,
    spared: BTreeSet<Vec<u8>>,
    before: Vec<RawChange>,
}

/// Which files are other than before.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// Files that were there and have their former content or mode again.
    pub(super) restored: Vec<String>,
    /// Files that are gone.
    pub(super) removed: Vec<String>,
    /// Files that are there again.
    pub(super) recreated: Vec<String>,
    /// Folders that were left as they are.
    pub(super) left_out: Vec<String>,
}

/// Makes ready what going back to the moment before a call needs.
pub(super) fn ready(session: &Path, repo: Repo, sealer: Sealer, to: &CallId) -> Result<Ready, Refusal> {
    let failed = |error: &dyn std::fmt::Display| Refusal::Failed(error.to_string());
    if enclos_sandbox::layer::is_copy(&session.join("layer")) {
        return Err(Refusal::Copied);
    }
    if !Shelf::exists(session) {
        return Err(Refusal::NotKept(to.clone()));
    }
    let shelf = Shelf::open(session, sealer).map_err(|error| failed(&error))?;
    let moment = moment(&shelf, to)?;
    let layer = session.join("layer");
    let back = PutBack::begin(&layer).map_err(|error| failed(&error))?;
    let mut apart = Apart::of(&repo).map_err(|error| failed(&error))?;
    let mut stays = |path: &[u8]| {
        let name = Name(path.to_vec());
        let known = matches!(moment.nodes.get(&name), Some(Node::Directory { .. }));
        moment.left_out.contains(&name) || (!known && apart.leaves_out(path))
    };
    let found = back.upper().inventory(MOST_ENTRIES, &mut stays).map_err(|error| failed(&error))?;
    let spared: BTreeSet<Vec<u8>> =
        found.left_out.iter().cloned().chain(moment.left_out.iter().map(|name| name.0.clone())).collect();
    let wanted = wanted(&back, &shelf, &moment, &found, &spared)?;
    let before = changes(&repo, &layer, &spared).map_err(Refusal::Failed)?;
    Ok(Ready { back, layer, repo, wanted, spared, before })
}

impl Ready {
    /// Goes back.
    pub(super) fn carry_out(self) -> Result<Done, Refusal> {
        let Self { back, layer, repo, wanted, spared, before } = self;
        back.carry_out(&wanted, &spared).map_err(|error| Refusal::Failed(error.to_string()))?;
        changeset::forget_unmasked(&layer).map_err(|error| Refusal::Failed(error.to_string()))?;
        let after = changes(&repo, &layer, &spared).map_err(Refusal::Failed)?;
        let left_out = spared.into_iter().filter(|path| layer.join("upper").join(os(path)).is_dir());
        let left_out = left_out.map(|path| Name(path).shown()).collect();
        Ok(Done { left_out, ..compare(&before, &after) })
    }
}

fn os(path: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(path)
}

/// The moment before a call, whole.
fn moment(shelf: &Shelf, to: &CallId) -> Result<Moment, Refusal> {
    let frames = shelf.frames().map_err(|error| Refusal::Failed(error.to_string()))?;
    let (mut moment, mut broken, mut found) = (Moment::default(), true, None);
    for frame in frames {
        match frame {
            Ok(frame) if frame.full || !broken => {
                moment.take(&frame);
                broken = false;
                // A call that was judged anew before it ran has several: the last is the one.
                if frame.call == *to {
                    found = Some(moment.clone());
                }
            }
            _ => broken = true,
        }
    }
    let moment = found.ok_or_else(|| Refusal::NotKept(to.clone()))?;
    match moment.incomplete() {
        Some(why) => Err(Refusal::Incomplete(to.clone(), why)),
        None => Ok(moment),
    }
}

/// What shall lie in the layer; contents that do not lie there now are made ready.
fn wanted(
    back: &PutBack,
    shelf: &Shelf,
    moment: &Moment,
    found: &Inventory,
    spared: &BTreeSet<Vec<u8>>,
) -> Result<BTreeMap<Vec<u8>, Wanted>, Refusal> {
    let mut wanted = BTreeMap::new();
    for ((name, node), number) in moment.nodes.iter().zip(0_u64..) {
        if spared.contains(&name.0) {
            continue;
        }
        let unreadable = |source| Refusal::Unreadable { path: name.shown(), source };
        let lies =
            found.entries.get(&name.0).is_some_and(|lying| lies(back.upper(), shelf, name, node, lying));
        let thing = match node {
            Node::Directory { mode, opaque } => Wanted::Directory { mode: *mode, opaque: *opaque },
            _ if lies => Wanted::Kept,
            Node::File { mode, size, content } => {
                let bytes = shelf.content(content).map_err(unreadable)?;
                if bytes.len() as u64 != *size {
                    return Err(unreadable(io::ErrorKind::InvalidData.into()));
                }
                back.make_ready(number, &bytes, *mode).map_err(|error| Refusal::Failed(error.to_string()))?;
                Wanted::Ready(number)
            }
            Node::Link { target } => Wanted::Link(target.0.clone()),
            Node::Whiteout => Wanted::Whiteout,
            Node::Pipe { mode } => Wanted::Pipe(*mode),
            Node::Socket { mode } => Wanted::Socket(*mode),
            Node::Lost { why } => return Err(Refusal::Failed(why.clone())),
        };
        wanted.insert(name.0.clone(), thing);
    }
    Ok(wanted)
}

/// Whether exactly this lies at a path now. What cannot be read does not.
fn lies(upper: &Upper, shelf: &Shelf, name: &Name, node: &Node, lying: &Lying) -> bool {
    let (kind, at) = (lying.entry.kind, lying.entry.mode);
    match node {
        Node::File { mode, size, content } => {
            kind == Kind::File
                && at == *mode
                && lying.entry.size == *size
                && upper.file(&name.0).is_ok_and(|(mut file, _)| {
                    let mut bytes = Vec::new();
                    let read = file.read_to_end(&mut bytes);
                    read.is_ok() && shelf.name_of(&bytes) == *content
                })
        }
        Node::Link { target } => {
            kind == Kind::Link && upper.target(&name.0).is_ok_and(|found| found == target.0)
        }
        Node::Whiteout => kind == Kind::Whiteout,
        Node::Pipe { mode } => kind == Kind::Special(Special::Fifo) && at == *mode,
        Node::Socket { mode } => kind == Kind::Special(Special::Socket) && at == *mode,
        Node::Directory { .. } | Node::Lost { .. } => false,
    }
}

/// Which files differ from the person's tree, without the folders that are left as they are.
fn changes(repo: &Repo, layer: &Path, spared: &BTreeSet<Vec<u8>>) -> Result<Vec<RawChange>, String> {
    let mut keep = |path: &str, is_directory: bool| !(is_directory && spared.contains(path.as_bytes()));
    changeset::raw(&repo.root, layer, &mut keep).map_err(|error| error.to_string())
}

/// Which files are other than they were, each seen as the session sees it: the layer over the tree.
fn compare(before: &[RawChange], after: &[RawChange]) -> Done {
    let by_path = |changes: &[RawChange]| -> BTreeMap<String, RawChange> {
        changes.iter().map(|change| (change.path.clone(), change.clone())).collect()
    };
    let (before, after) = (by_path(before), by_path(after));
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut done = Done::default();
    for path in paths {
        let (old, new) = (before.get(path), after.get(path));
        // A file that is not in a list is as the tree has it.
        let seen = |own: Option<&RawChange>, other: Option<&RawChange>| match own {
            Some(change) => change.after,
            None => other.and_then(|change| change.before),
        };
        let list = match (seen(old, new), seen(new, old)) {
            (Some(was), Some(is)) if was == is => continue,
            (Some(_), Some(_)) => &mut done.restored,
            (Some(_), None) => &mut done.removed,
            (None, Some(_)) => &mut done.recreated,
            (None, None) => continue,
        };
        list.push(path.clone());
    }
    done
}
