//! Builds the sandbox, step by step, below a folder that nobody else sees: the root with the system's folders, `/proc`
//! and `/dev`, the workspace with what is mounted in it, then the pivot to that root, then the loss of privileges.
//! The layers of the workspace lie beside the root and go out of reach with the host's file system, in one step.
//! Where files of the repository could stand in the way, places are found without following any link.
mod devices;
mod etc;
mod leave;
mod mounts;
mod private_git;
mod root;
mod workspace;

use crate::fault::{At, Done};
use crate::process::attach;
use enclos_init::sys::MountFlags;
use enclos_init::wire::{Setup, Step};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::mount::{MountAttrFlags, MountFlags as Flags, MoveMountFlags, OpenTreeFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What was built.
pub(super) struct Built {
    /// The layer's directory, for the disk watch.
    pub(super) layer: OwnedFd,
    /// What is not shown, or not as it should be.
    pub(super) remarks: Vec<String>,
}

/// Everything up to the point where commands may come.
pub(super) fn apply(setup: &Setup, mask: &[u8]) -> Done<Built> {
    root::make()?;
    let shown = if setup.image { Shown::FromImage } else { Shown::FromMachine };
    let mut remarks = root::system(shown)?;
    etc::make(shown)?;
    devices::proc_fs()?;
    devices::dev()?;
    devices::temporary(setup.limits.memory_bytes)?;
    let (layer, remark) = workspace::make(setup, mask)?;
    remarks.extend(remark);
    if let Some(git) = &setup.git {
        remarks.extend(private_git::make(git, setup.lower.is_none())?);
    }
    remarks.extend(mounts::make(&setup.mounts, setup.lower.is_none())?);
    leave::pivot()?;
    workspace::prove()?;
    leave::seal()?;
    leave::privileges()?;
    Ok(Built { layer, remarks })
}

/// Where the system's folders come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// From this machine.
    FromMachine,
    /// From a container's image. A plain mount would name in the mount table where the engine keeps it.
    FromImage,
}

/// Shows the directory `from` at `to` through an overlay without a place to write: a mount that is read-only alone would
/// leave its sockets and named pipes connected to whoever serves them on the host.
fn covered(from: &str, to: &str) -> io::Result<()> {
    let copy = tree(from, true)?;
    enclos_init::sys::set_mount(copy.as_fd(), MountFlags::READ_ONLY, true, None)?;
    // On top of those before it, which their overlays hold already.
    attach(copy.as_fd(), root::BELOW)?;
    workspace::read_only(place(to)?.as_fd(), root::BELOW, MountAttrFlags::empty())
}

/// Makes the mount at `path` read-only, and all below it.
fn seal(path: &str) -> io::Result<()> {
    let fd = rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    enclos_init::sys::set_mount(fd.as_fd(), MountFlags::READ_ONLY, true, None)
}

/// The place for a mount: no link is followed on the way to it, not even one that leads to the right place.
fn place(path: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

/// Puts a detached mount on a place.
fn put(mount: BorrowedFd<'_>, place: BorrowedFd<'_>) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(rustix::mount::move_mount(mount, c"", place, c"", flags)?)
}

/// A detached copy of the mount at `path`.
fn tree(path: &str, recursive: bool) -> io::Result<OwnedFd> {
    let mut flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    if recursive {
        flags |= OpenTreeFlags::AT_RECURSIVE;
    }
    Ok(rustix::mount::open_tree(CWD, path, flags)?)
}

/// Shows the directory or file `from` at `to`, read-only.
fn bind_read_only(from: &str, to: &str) -> io::Result<()> {
    let copy = tree(from, true)?;
    enclos_init::sys::set_mount(copy.as_fd(), MountFlags::READ_ONLY, true, None)?;
    attach(copy.as_fd(), to)
}

/// A new, empty file system in memory at `path`.
fn memory(path: &str, options: &str) -> io::Result<()> {
    let options = std::ffi::CString::new(options)?;
    Ok(rustix::mount::mount(c"tmpfs", path, c"tmpfs", Flags::NOSUID | Flags::NODEV, options.as_c_str())?)
}

fn directory(step: Step, path: &str) -> Done<()> {
    std::fs::create_dir_all(path).at(step, &format!("making the folder `{path}`"))
}
