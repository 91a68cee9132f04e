//! The empty root in memory and the system's folders in it, read-only. Of the host only `/usr` (with its links), and
//! `/opt` and the store of `/nix` where they exist; nothing of `/home`, `/root`, `/var`, `/run`, `/mnt`.
//!
//! A folder is seen through an overlay without a place to write: read-only alone would leave its sockets and named pipes
//! connected to whoever serves them on the host.
use super::workspace::read_only;
use super::{attach, bind_read_only, directory, memory, place, tree};
use crate::fault::{At, Done};
use enclos_init::sys::{self, MountFlags};
use enclos_init::wire::Step;
use rustix::mount::{MountAttrFlags, MountPropagationFlags};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};

/// Where the new root is built: hidden from everybody else by the mount namespace.
const STAGE: &str = "/tmp";

/// Beside the root, as seen from it: where the layers of the workspace are while it is made.
pub(super) const LOWER: &str = "../lower";
pub(super) const LAYER: &str = "../layer";
pub(super) const MASK: &str = "../mask";
pub(super) const BELOW: &str = "../below";
pub(super) const NOTHING: &str = "../nothing";

/// An empty root, as the current directory, and beside it room for the layers.
pub(super) fn make() -> Done<()> {
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .at(Step::Root, "keeping mounts to this namespace")?;
    memory(STAGE, "mode=0755,size=16m,nr_inodes=16k").at(Step::Root, "mounting an empty root")?;
    let root = format!("{STAGE}/root");
    directory(Step::Root, &root)?;
    memory(&root, "mode=0755,size=16m,nr_inodes=16k").at(Step::Root, "mounting an empty root")?;
    std::env::set_current_dir(&root).at(Step::Root, "entering the empty root")?;
    for path in [LOWER, LAYER, MASK, BELOW, NOTHING] {
        directory(Step::Root, path)?;
    }
    for path in ["workspace", "run/git", "var/empty", "home/agent", "tmp", "proc", "opt"] {
        directory(Step::Root, path)?;
    }
    std::os::unix::fs::symlink("../tmp", "var/tmp").at(Step::Root, "linking `/var/tmp`")?;
    // Covers for files and folders that are to be empty, or closed to everybody.
    std::fs::File::create_new("run/none").at(Step::Root, "making an empty file")?;
    std::fs::File::create_new("var/closed").at(Step::Root, "making a closed file")?;
    for path in ["var/closed", "var/empty"] {
        let closed = std::fs::Permissions::from_mode(0o000);
        std::fs::set_permissions(path, closed).at(Step::Root, "closing a file")?;
    }
    Ok(())
}

/// The system's programs and libraries. Answers remarks on those that could not be shown through an overlay.
pub(super) fn system() -> Done<Vec<String>> {
    let mut remarks = Vec::new();
    for name in ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix/store"] {
        entry(&format!("/{name}"), name, Needed::Yes, &mut remarks)?;
    }
    entry("/nix/var/nix/profiles", "nix/var/nix/profiles", Needed::No, &mut remarks)?;
    let Ok(entries) = std::fs::read_dir("/opt") else { return Ok(remarks) };
    for found in entries.flatten() {
        if let Some(name) = found.file_name().to_str()
            && name != "toolchains"
        {
            entry(&format!("/opt/{name}"), &format!("opt/{name}"), Needed::No, &mut remarks)?;
        }
    }
    Ok(remarks)
}

/// Whether programs run at all without a folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needed {
    Yes,
    No,
}

/// One system folder, or the link that stands for it.
fn entry(host: &str, inside: &str, needed: Needed, remarks: &mut Vec<String>) -> Done<()> {
    let Ok(kind) = std::fs::symlink_metadata(host) else { return Ok(()) };
    if kind.is_dir() {
        directory(Step::System, inside)?;
        let Err(error) = covered(host, inside) else { return Ok(()) };
        if needed == Needed::No {
            remarks.push(format!("`{host}` is not shown: the kernel takes it into no overlay ({error})"));
            return Ok(());
        }
        // The system's own folders: only root puts anything there.
        remarks.push(format!(
            "`{host}` is shown as it is, with the sockets that root may have put there: the kernel takes it into no \
             overlay ({error})"
        ));
        return bind_read_only(host, inside).at(Step::System, &format!("showing `{host}`"));
    }
    if !kind.is_symlink() {
        return Ok(());
    }
    let target = std::fs::read_link(host).at(Step::System, &format!("reading the link `{host}`"))?;
    if neutral(&target) {
        std::os::unix::fs::symlink(&target, inside).at(Step::System, &format!("linking `{host}`"))?;
    }
    Ok(())
}

/// Shows a folder through an overlay.
fn covered(host: &str, inside: &str) -> io::Result<()> {
    let copy = tree(host, true)?;
    sys::set_mount(copy.as_fd(), MountFlags::READ_ONLY, true, None)?;
    attach(copy.as_fd(), BELOW)?;
    read_only(place(inside)?.as_fd(), BELOW, MountAttrFlags::empty())
}

/// A link is copied when it names nothing but `/usr` or `/opt`, so that no path of the host shows.
fn neutral(target: &Path) -> bool {
    let mut parts = target.components().filter(|part| !matches!(part, Component::RootDir));
    let first = parts.next();
    matches!(first, Some(Component::Normal(name)) if name == "usr" || name == "opt")
        && parts.all(|part| matches!(part, Component::Normal(_)))
}
