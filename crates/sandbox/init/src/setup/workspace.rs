//! The copy-on-write workspace: an overlay of the session's layer over a mask over the repository. Hidden names are
//! whiteouts in the mask, which lives in memory; the repository itself is only ever a lower layer. At the end it is
//! proved that the agent can write.
use super::{attach, memory};
use crate::fault::{At, Done, refused};
use crate::given;
use enclos_init::sys::{self, MountFlags};
use enclos_init::wire::{AGENT, MaskEntry, Setup, Step};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Timespec, Timestamps};
use rustix::mount::{MountFlags as Flags, UnmountFlags};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

const LOWER: &str = "/.lower";
const LAYER: &str = "/.layer";
const MASK: &str = "/.mask";

/// Mounts it at `/workspace`. The layer stays reachable until [`release`].
pub(super) fn make(setup: &Setup, mask: &[u8]) -> Done<OwnedFd> {
    let step = Step::Workspace;
    for path in [LOWER, LAYER, MASK] {
        std::fs::create_dir(path).at(step, "making room for the layers")?;
    }
    let lower = given(setup.lower)?;
    sys::set_mount(lower.as_fd(), MountFlags::READ_ONLY, true, None)
        .at(step, "making the repository read-only")?;
    attach(lower.as_fd(), LOWER).at(step, "taking in the repository")?;
    let layer = given(setup.layer)?;
    sys::set_mount(layer.as_fd(), MountFlags::PLAIN, true, None).at(step, "guarding the session's layer")?;
    attach(layer.as_fd(), LAYER).at(step, "taking in the session's layer")?;
    for (path, name) in [(LOWER, "repository"), ("/.layer/upper", "session's layer")] {
        let owner = std::fs::metadata(path).at(step, &format!("looking at the {name}"))?.uid();
        if owner != AGENT {
            return refused(
                step,
                format!("the {name} does not belong to the agent inside (owner {owner}, expected {AGENT})"),
            );
        }
    }
    memory(MASK, "mode=0755,size=64m").at(step, "mounting the mask")?;
    cover(setup.git.is_some(), mask)?;
    // Names without a root: the mount table shows them, and they lead nowhere.
    overlay("/workspace", ".mask/git:.mask/hide:.lower", ".layer")?;
    rustix::mount::unmount(MASK, UnmountFlags::DETACH).at(step, "putting away the mask")?;
    rustix::mount::unmount(LOWER, UnmountFlags::DETACH).at(step, "putting away the repository")?;
    rustix::fs::openat(CWD, LAYER, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .at(step, "keeping the layer for the disk watch")
}

/// An overlay at `path` whose changes go to `upper` and `work` in the directory `changes`. The current directory is
/// the root.
pub(super) fn overlay(path: &str, lower: &str, changes: &str) -> Done<()> {
    let options = format!(
        "lowerdir={lower},upperdir={changes}/upper,workdir={changes}/work,\
         userxattr,redirect_dir=nofollow,metacopy=off,index=off"
    );
    let step = if path == "/workspace" { Step::Workspace } else { Step::Mounts };
    let what = format!("mounting the overlay at `{path}`");
    let options = CString::new(options).at(step, &what)?;
    let flags = Flags::NOSUID | Flags::NODEV;
    rustix::mount::mount(c"overlay", path, c"overlay", flags, options.as_c_str()).at(step, &what)
}

/// Two layers: `hide` with the whiteouts, and above it `git` with nothing but the mount point of the private `.git`.
fn cover(git: bool, mask: &[u8]) -> Done<()> {
    let step = Step::Workspace;
    let Some(entries) = enclos_init::mask::decode(mask) else {
        return refused(step, "the list of hidden paths is damaged");
    };
    for path in ["/.mask/git", "/.mask/hide"] {
        std::fs::create_dir(path).at(step, "making the mask")?;
    }
    if git {
        std::fs::create_dir("/.mask/git/.git").at(step, "making room for `.git`")?;
    }
    let hide = std::fs::File::open("/.mask/hide").at(step, "making the mask")?;
    whiteout(&hide, b".git").at(step, "hiding `.git`")?;
    for entry in &entries {
        let (MaskEntry::Directory { path, .. } | MaskEntry::Hidden { path }) = entry;
        let what = format!("hiding `{}`", String::from_utf8_lossy(path).escape_debug());
        match entry {
            MaskEntry::Hidden { path } => whiteout(&hide, path).at(step, &what)?,
            MaskEntry::Directory { path, mode, .. } => {
                rustix::fs::mkdirat(&hide, path.as_slice(), Mode::RWXU).at(step, &what)?;
                rustix::fs::chmodat(&hide, path.as_slice(), Mode::from_raw_mode(*mode), AtFlags::empty())
                    .at(step, &what)?;
            }
        }
    }
    // Times last and from the inside out: making an entry changes its directory's.
    for entry in entries.iter().rev() {
        if let MaskEntry::Directory { path, modified, .. } = entry {
            date(&hide, path, *modified).at(step, "dating the mask")?;
        }
    }
    Ok(())
}

fn whiteout(root: &std::fs::File, path: &[u8]) -> io::Result<()> {
    match rustix::fs::mknodat(root, path, FileType::CharacterDevice, Mode::empty(), 0) {
        Err(rustix::io::Errno::EXIST) => Ok(()),
        other => Ok(other?),
    }
}

fn date(root: &std::fs::File, path: &[u8], (seconds, nanoseconds): (i64, u32)) -> io::Result<()> {
    let time = Timespec { tv_sec: seconds, tv_nsec: i64::from(nanoseconds) };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(rustix::fs::utimensat(root, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Takes the layer's mount out of sight; the overlays keep it.
pub(super) fn release() -> Done<()> {
    rustix::mount::unmount(LAYER, UnmountFlags::DETACH).at(Step::Workspace, "putting away the layer")?;
    for path in [LOWER, LAYER, MASK] {
        std::fs::remove_dir(path).at(Step::Workspace, "putting away the layers")?;
    }
    Ok(())
}

/// Writes a file as the agent would, and removes it.
pub(super) fn prove() -> Done<()> {
    let step = Step::Workspace;
    for attempt in 0..100 {
        let path = format!("/workspace/.enclos-writable-{attempt}");
        match std::fs::File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).at(step, "proving that the workspace can be written"),
            Ok(file) => {
                let owner = file.metadata().at(step, "proving that the workspace can be written")?.uid();
                std::fs::remove_file(&path).at(step, "proving that the workspace can be written")?;
                if owner != AGENT {
                    return refused(step, "a new file in the workspace does not belong to the agent");
                }
                return Ok(());
            }
        }
    }
    refused(step, "no free name in the workspace's root")
}
