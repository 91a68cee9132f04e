//! Builds the sandbox, step by step, in the order in which each step is safe: what needs the host's file system
//! first, then the pivot away from it, then what the repository's own files could trick (nothing outside can be
//! named any more), then the loss of privileges.
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
use rustix::fs::CWD;
use rustix::mount::{MountFlags as Flags, OpenTreeFlags};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Everything up to the point where commands may come. Answers the layer's directory, for the disk watch.
pub(super) fn apply(setup: &Setup, mask: &[u8]) -> Done<OwnedFd> {
    root::make()?;
    root::system()?;
    etc::make()?;
    devices::proc_fs()?;
    devices::dev()?;
    devices::temporary(setup.limits.memory_bytes)?;
    leave::pivot()?;
    let layer = workspace::make(setup, mask)?;
    if let Some(git) = &setup.git {
        private_git::make(git)?;
    }
    mounts::make(&setup.mounts)?;
    workspace::release()?;
    workspace::prove()?;
    leave::seal()?;
    leave::privileges()?;
    Ok(layer)
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
