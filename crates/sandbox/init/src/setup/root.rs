//! The empty root in memory and the system's folders in it, read-only. Of the host only `/usr` (with its links), and
//! `/opt` and `/nix` where they exist; nothing of `/home`, `/root`, `/var`, `/run`, `/mnt`.
use super::{Shown, directory, memory};
use crate::fault::{At, Done};
use enclos_init::wire::Step;
use rustix::mount::MountPropagationFlags;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};

/// Where the new root is built: hidden from everybody else by the mount namespace.
const STAGE: &str = "/tmp";

/// Beside the root, as seen from it: where the layers of the workspace are while it is made.
pub(super) const LOWER: &str = "../lower";
pub(super) const OVER: &str = "../over";
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
    for path in [LOWER, OVER, LAYER, MASK, BELOW, NOTHING] {
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

/// The system's programs and libraries.
pub(super) fn system(shown: Shown) -> Done<()> {
    for name in ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix"] {
        entry(shown, &format!("/{name}"), name)?;
    }
    let Ok(entries) = std::fs::read_dir("/opt") else { return Ok(()) };
    for found in entries.flatten() {
        if let Some(name) = found.file_name().to_str()
            && name != "toolchains"
        {
            entry(shown, &format!("/opt/{name}"), &format!("opt/{name}"))?;
        }
    }
    Ok(())
}

/// One system folder, or the link that stands for it.
fn entry(shown: Shown, host: &str, inside: &str) -> Done<()> {
    let Ok(kind) = std::fs::symlink_metadata(host) else { return Ok(()) };
    if kind.is_dir() {
        directory(Step::System, inside)?;
        return shown.directory(host, inside).at(Step::System, &format!("showing `{host}`"));
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

/// A link is copied when it names nothing but `/usr` or `/opt`, so that no path of the host shows.
fn neutral(target: &Path) -> bool {
    let mut parts = target.components().filter(|part| !matches!(part, Component::RootDir));
    let first = parts.next();
    matches!(first, Some(Component::Normal(name)) if name == "usr" || name == "opt")
        && parts.all(|part| matches!(part, Component::Normal(_)))
}
