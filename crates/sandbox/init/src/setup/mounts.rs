//! Toolchains, caches and dependency folders: read-only, or with writes that go to a layer thrown away at the end. Where
//! the kernel takes no overlay of one, a sandbox whose workspace is a copy opens without it and says so: a plain mount
//! would leave the sockets in it connected to the host.
use super::root::{BELOW, LAYER};
use super::workspace::{is_refusal, overlay, read_only};
use super::{attach, place, put};
use crate::fault::{At, Done};
use crate::given;
use enclos_init::sys::{self, MountFlags};
use enclos_init::wire::{MountIn, Step};
use rustix::mount::MountAttrFlags;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

const STEP: Step = Step::Mounts;

/// Puts each in its place. Answers remarks on those that are not there as they should be.
pub(super) fn make(mounts: &[MountIn], copied: bool) -> Done<Vec<String>> {
    let mut remarks = Vec::new();
    for mount in mounts {
        let what = format!("mounting `{}`", mount.inside);
        let tree = given(mount.tree)?;
        let point = point(mount).at(STEP, &what)?;
        sys::set_mount(tree.as_fd(), MountFlags::READ_ONLY, true, None).at(STEP, &what)?;
        if mount.file {
            put(tree.as_fd(), point.as_fd()).at(STEP, &what)?;
            continue;
        }
        // On top of those before it, which their overlays hold already.
        attach(tree.as_fd(), BELOW).at(STEP, &what)?;
        let read_only = || read_only(point.as_fd(), BELOW, MountAttrFlags::empty());
        let mut done = match mount.scratch {
            None => read_only(),
            Some(number) => overlay(point.as_fd(), BELOW, &format!("{LAYER}/scratch/{number}")),
        };
        if mount.scratch.is_some() && refuses(&done, copied) {
            done = read_only();
            remarks.push(format!(
                "nothing can be written to `{}`: the kernel takes no overlay of it",
                mount.inside
            ));
        }
        if refuses(&done, copied) {
            remarks.push(format!("`{}` is empty: the kernel takes no overlay of it", mount.inside));
            continue;
        }
        done.at(STEP, &what)?;
    }
    Ok(remarks)
}

/// Whether a mount is to be done without.
fn refuses(done: &io::Result<()>, copied: bool) -> bool {
    copied && done.as_ref().is_err_and(is_refusal)
}

/// The mount point, made outside of the workspace, already there inside of it.
fn point(mount: &MountIn) -> io::Result<OwnedFd> {
    let inside = mount.inside.trim_start_matches('/');
    let path = Path::new(inside);
    if !path.starts_with("workspace") {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        if mount.file {
            std::fs::File::create_new(path)?;
        } else {
            std::fs::create_dir_all(path)?;
        }
    }
    place(inside)
}
