//! Toolchains, caches and dependency folders: read-only, or with writes that go to a layer thrown away at the end.
use super::root::{BELOW, LAYER};
use super::workspace::{overlay, read_only};
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

/// Puts each in its place.
pub(super) fn make(mounts: &[MountIn]) -> Done<()> {
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
        match mount.scratch {
            None => read_only(point.as_fd(), BELOW, MountAttrFlags::empty()),
            Some(number) => overlay(point.as_fd(), BELOW, &format!("{LAYER}/scratch/{number}")),
        }
        .at(STEP, &what)?;
    }
    Ok(())
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
