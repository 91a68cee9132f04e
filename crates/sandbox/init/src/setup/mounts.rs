//! Toolchains, caches and dependency folders: read-only, or with writes that go to a layer thrown away at the end.
use super::workspace::overlay;
use super::{attach, directory};
use crate::fault::{At, Done};
use crate::given;
use enclos_init::sys::{self, MountFlags};
use enclos_init::wire::{MountIn, Step};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::mount::UnmountFlags;
use std::os::fd::AsFd;

const STEP: Step = Step::Mounts;
const BELOW: &str = "/.below";

/// Puts each in its place.
pub(super) fn make(mounts: &[MountIn]) -> Done<()> {
    for mount in mounts {
        let what = format!("mounting `{}`", mount.inside);
        let tree = given(mount.tree)?;
        point(mount).at(STEP, &what)?;
        sys::set_mount(tree.as_fd(), MountFlags::READ_ONLY, true, None).at(STEP, &what)?;
        match mount.scratch {
            None => attach(tree.as_fd(), &mount.inside).at(STEP, &what)?,
            Some(number) => {
                directory(STEP, BELOW)?;
                attach(tree.as_fd(), BELOW).at(STEP, &what)?;
                overlay(&mount.inside, BELOW.trim_start_matches('/'), &format!(".layer/scratch/{number}"))?;
                rustix::mount::unmount(BELOW, UnmountFlags::DETACH).at(STEP, &what)?;
                std::fs::remove_dir(BELOW).at(STEP, &what)?;
            }
        }
    }
    Ok(())
}

/// Makes sure that the mount point exists and that no link is on the way to it.
fn point(mount: &MountIn) -> std::io::Result<()> {
    let path = std::path::Path::new(&mount.inside);
    if !path.starts_with("/workspace") {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        if mount.file {
            std::fs::File::create_new(path)?;
        } else {
            std::fs::create_dir_all(path)?;
        }
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    Ok(())
}
