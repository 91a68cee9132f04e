//! A copy of the repository in the layer, where the kernel takes no overlay of it: `copy` is the tree that the session
//! works in, `copy.list` what it was when it was finished.
//!
//! Here is decided when there is one: when it is asked for, when the kernel is known to refuse the overlay, and when a
//! layer holds one already. A copy is finished or not there: what an interrupted opening left is made anew. Any other
//! failure than a known refusal stays a failure.
mod bytes;
mod going;
mod inside;
mod manifest;
mod tree;

use crate::error::{OpenError, Place};
use crate::plan::{Plan, Prefer};
use crate::report::{Copied, Workspace};
use enclos_init::wire::{MaskEntry, Step};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, XattrFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

pub use going::{Copying, copying};
pub(crate) use manifest::Manifest;

const STEP: Step = Step::Workspace;
/// The copy, in the layer.
pub(crate) const TREE: &str = "copy";
/// The list of what it was.
pub(crate) const LIST: &str = "copy.list";
/// A copy that is not finished.
const UNFINISHED: &str = "copy.new";
/// A list that is not finished.
const LIST_UNFINISHED: &str = "copy.list.new";

/// Whether a layer holds a copy.
fn is_in(layer: &OwnedFd) -> bool {
    rustix::fs::statat(layer, TREE, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir())
}

/// Whether a copy may be begun on a layer: the plan takes one, and the layer holds nothing that a session wrote.
pub(crate) fn may_begin(plan: &Plan, layer: &OwnedFd) -> bool {
    is_allowed(plan) && has_overlay(layer).is_ok_and(|has| !has)
}

/// Whether a plan takes a copy at all. A repository in two parts is none that could be copied.
fn is_allowed(plan: &Plan) -> bool {
    plan.workspace_by != Prefer::OverlayAlone && plan.over.is_none()
}

/// Whether the session has written anything into an overlay on this layer.
fn has_overlay(layer: &OwnedFd) -> Result<bool, OpenError> {
    let what = "looking into the layer";
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let upper = match rustix::fs::openat(layer, "upper", flags, Mode::empty()) {
        Ok(upper) => upper,
        Err(Errno::NOENT) => return Ok(false),
        Err(errno) => return Err(errno).at(STEP, what),
    };
    for entry in Dir::read_from(&upper).at(STEP, what)? {
        // The place of the private `.git` is nothing that a session wrote.
        if ![c".", c"..", c".git"].contains(&entry.at(STEP, what)?.file_name()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Why a copy is needed, as far as it can be known before the kernel is asked. `None`: the overlay is tried.
fn needed(plan: &Plan, layer: &OwnedFd) -> Result<Option<String>, OpenError> {
    if plan.workspace_by == Prefer::Copy {
        return Ok(Some("it was asked for".to_owned()));
    }
    let found =
        inside::first(&plan.workspace).at(STEP, "looking for other file systems in the repository")?;
    if let Some(point) = found {
        let below = point.strip_prefix(plan.workspace.canonicalize().unwrap_or_default()).unwrap_or(&point);
        return Ok(Some(format!("another file system is mounted at `{}`", below.display())));
    }
    Ok((!keeps_marks(layer)?)
        .then(|| "the file system of the layer keeps no attributes of a user's own".to_owned()))
}

/// Whether the overlay can mark folders in the layer. Without, a folder that is made in the place of another would fail.
fn keeps_marks(layer: &OwnedFd) -> Result<bool, OpenError> {
    const MARK: &str = "user.enclos.trial";
    match rustix::fs::fsetxattr(layer, MARK, b"y", XattrFlags::empty()) {
        Ok(()) => {}
        Err(Errno::OPNOTSUPP) => return Ok(false),
        Err(errno) => return Err(errno).at(STEP, "trying the attributes of the layer"),
    }
    rustix::fs::fremovexattr(layer, MARK).at(STEP, "trying the attributes of the layer")?;
    Ok(true)
}

/// What a copy is made of, and for whom.
pub(crate) struct Order<'a> {
    /// The repository.
    pub(crate) from: &'a OwnedFd,
    /// The layer's folder.
    pub(crate) layer: &'a OwnedFd,
    /// What is hidden.
    pub(crate) hidden: &'a [MaskEntry],
    /// The user that the copy belongs to, when it is another than the one who makes it.
    pub(crate) owner: Option<(u32, u32)>,
    /// The most bytes that it may take.
    pub(crate) ceiling: u64,
    /// Whether a private `.git` will be mounted in it.
    pub(crate) git: bool,
}

/// How the workspace of one opening is made.
pub(crate) struct Made {
    pub(crate) workspace: Workspace,
    /// The copy can be the upper layer of an overlay over nothing.
    pub(crate) over_nothing: bool,
}

/// How the workspace is made: with the copy that the layer holds, with one that is made now because of `since` or of what is
/// known, or as an overlay.
pub(crate) fn choose(plan: &Plan, order: &Order<'_>, since: Option<String>) -> Result<Made, OpenError> {
    let since = if is_in(order.layer) {
        Some(String::new())
    } else if !is_allowed(plan) || has_overlay(order.layer)? {
        None
    } else {
        match since {
            Some(since) => Some(since),
            None => needed(plan, order.layer)?,
        }
    };
    let Some(since) = since else {
        return Ok(Made { workspace: Workspace::Overlay, over_nothing: false });
    };
    let workspace = Workspace::Copy(provide(order, &since)?);
    Ok(Made { workspace, over_nothing: keeps_marks(order.layer)? })
}

/// Makes the copy, because of `since`, or finds the one of an earlier opening.
fn provide(order: &Order<'_>, since: &str) -> Result<Copied, OpenError> {
    let made = if is_in(order.layer) { take_up(order)? } else { make(order, since)? };
    if order.git {
        place_for_git(order)?;
    }
    Ok(made)
}

fn hidden(entries: &[MaskEntry]) -> BTreeSet<Vec<u8>> {
    let path = |entry: &MaskEntry| match entry {
        MaskEntry::Hidden { path } => Some(path.clone()),
        MaskEntry::Directory { .. } => None,
    };
    entries.iter().filter_map(path).collect()
}

fn make(order: &Order<'_>, since: &str) -> Result<Copied, OpenError> {
    let what = "making room for a copy of the repository";
    let removed = enclos_init::tree::remove(order.layer, UNFINISHED.as_ref()).map(drop);
    let lists = [LIST, LIST_UNFINISHED].map(|name| rustix::fs::unlinkat(order.layer, name, AtFlags::empty()));
    for removed in [removed].into_iter().chain(lists) {
        match removed {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno).at(STEP, what),
        }
    }
    rustix::fs::mkdirat(order.layer, UNFINISHED, Mode::RWXU).at(STEP, what)?;
    let made = tree::copy(order, UNFINISHED, &hidden(order.hidden), since).and_then(|manifest| {
        tree::let_time_pass(order.layer, &manifest)?;
        save(order.layer, &manifest)?;
        rustix::fs::renameat(order.layer, UNFINISHED, order.layer, TREE).at(STEP, "finishing the copy")?;
        Ok(manifest.made)
    });
    if made.is_err() {
        // What cannot be removed now is removed with the layer, or before the next try.
        let _ = enclos_init::tree::remove(order.layer, UNFINISHED.as_ref());
    }
    made
}

fn save(layer: &OwnedFd, manifest: &Manifest) -> Result<(), OpenError> {
    let what = "writing the list of the copy";
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(layer, LIST_UNFINISHED, flags, Mode::RUSR | Mode::WUSR).at(STEP, what)?;
    io::Write::write_all(&mut std::fs::File::from(file), &manifest.encode()).at(STEP, what)?;
    rustix::fs::renameat(layer, LIST_UNFINISHED, layer, LIST).at(STEP, what)
}

/// The list of the copy in a layer.
pub(crate) fn list(layer: impl AsFd) -> io::Result<Manifest> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(layer, LIST, flags, Mode::empty())?;
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut std::fs::File::from(file), &mut bytes)?;
    Manifest::decode(&bytes)
}

/// The copy of an earlier opening. What is hidden since and the session has not changed is taken away.
fn take_up(order: &Order<'_>) -> Result<Copied, OpenError> {
    let mut manifest = list(order.layer).at(STEP, "reading the list of the copy")?;
    let hidden = hidden(order.hidden);
    let gone = tree::unchanged_below(order.layer, &manifest, &hidden)?;
    if !gone.is_empty() {
        for path in &gone {
            manifest.entries.remove(path);
        }
        // The list first: what it does not name is nothing that the session removed.
        save(order.layer, &manifest)?;
        tree::take_away(order.layer, &gone)?;
    }
    Ok(manifest.made)
}

/// An empty folder where the private `.git` is mounted. What the session put there is left, and found out by the init.
fn place_for_git(order: &Order<'_>) -> Result<(), OpenError> {
    let what = "making room for `.git`";
    let path = Path::new(TREE).join(".git");
    match rustix::fs::mkdirat(order.layer, &path, Mode::from_raw_mode(0o755)) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Ok(()),
        Err(errno) => return Err(errno).at(STEP, what),
    }
    let Some((uid, gid)) = order.owner else { return Ok(()) };
    let (uid, gid) = (rustix::fs::Uid::from_raw(uid), rustix::fs::Gid::from_raw(gid));
    rustix::fs::chownat(order.layer, &path, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW).at(STEP, what)
}
