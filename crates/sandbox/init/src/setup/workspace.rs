//! The copy-on-write workspace: an overlay of the session's layer over a mask over the repository. Hidden names are
//! whiteouts in the mask, which lives in memory; the repository itself is only ever a lower layer, and so is what lies
//! over it on a host that has it in two parts. At the end it is proved that the agent can write.
use super::root::{LAYER, LOWER, MASK, NOTHING, OVER};
use super::{attach, memory, place, put};
use crate::fault::{At, Done, refused};
use crate::given;
use enclos_init::sys::{self, MountFlags};
use enclos_init::wire::{AGENT, MaskEntry, Setup, Step};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Timespec, Timestamps};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

const STEP: Step = Step::Workspace;

/// Mounts it at `workspace` in the new root. Answers the layer's directory.
pub(super) fn make(setup: &Setup, mask: &[u8]) -> Done<OwnedFd> {
    let mut below = vec![(setup.lower, LOWER, "repository")];
    below.extend(setup.over.map(|over| (over, OVER, "tree over the repository")));
    for (number, path, name) in &below {
        let tree = given(*number)?;
        sys::set_mount(tree.as_fd(), MountFlags::READ_ONLY, true, None)
            .at(STEP, &format!("making the {name} read-only"))?;
        attach(tree.as_fd(), path).at(STEP, &format!("taking in the {name}"))?;
    }
    let layer = given(setup.layer)?;
    sys::set_mount(layer.as_fd(), MountFlags::PLAIN, true, None).at(STEP, "guarding the session's layer")?;
    attach(layer.as_fd(), LAYER).at(STEP, "taking in the session's layer")?;
    let trees = below.iter().map(|(_, path, name)| (*path, *name));
    for (path, name) in trees.chain([("../layer/upper", "session's layer")]) {
        let owner = std::fs::metadata(path).at(STEP, &format!("looking at the {name}"))?.uid();
        if owner != AGENT {
            return refused(
                STEP,
                format!("the {name} does not belong to the agent inside (owner {owner}, expected {AGENT})"),
            );
        }
    }
    memory(MASK, "mode=0755,size=64m").at(STEP, "mounting the mask")?;
    cover(setup.git.is_some(), mask)?;
    let point = place("workspace").at(STEP, "finding the place of the workspace")?;
    let lower = match setup.over {
        None => "../mask/git:../mask/hide:../lower",
        Some(_) => "../mask/git:../mask/hide:../over:../lower",
    };
    overlay(point.as_fd(), lower, LAYER).at(STEP, "mounting the overlay")?;
    rustix::fs::openat(CWD, LAYER, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .at(STEP, "keeping the layer for the disk watch")
}

/// An overlay on a place, whose changes go to `upper` and `work` in the folder `changes`. The names are relative: the
/// mount table shows them, and they lead nowhere.
pub(super) fn overlay(point: BorrowedFd<'_>, lower: &str, changes: &str) -> io::Result<()> {
    let (upper, work) = (format!("{changes}/upper"), format!("{changes}/work"));
    let more = [
        ("upperdir", upper.as_str()),
        ("workdir", &work),
        ("redirect_dir", "nofollow"),
        ("metacopy", "off"),
        ("index", "off"),
    ];
    mount_overlay(point, lower, &more, MountAttrFlags::empty())
}

/// The directory `lower` on a place, with nothing to be written. A plain mount of it would do as well, but for the mount
/// table: that would name where the directory is on the host.
pub(super) fn read_only(point: BorrowedFd<'_>, lower: &str, attributes: MountAttrFlags) -> io::Result<()> {
    // The kernel takes no single layer.
    let lower = format!("{lower}:{NOTHING}");
    let more = [("redirect_dir", "nofollow"), ("metacopy", "off")];
    mount_overlay(point, &lower, &more, MountAttrFlags::MOUNT_ATTR_RDONLY | attributes)
}

fn mount_overlay(
    point: BorrowedFd<'_>,
    lower: &str,
    more: &[(&str, &str)],
    attributes: MountAttrFlags,
) -> io::Result<()> {
    let context = rustix::mount::fsopen(c"overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_flag(&context, c"userxattr")?;
    rustix::mount::fsconfig_set_string(&context, "lowerdir", lower)?;
    for (name, value) in more {
        rustix::mount::fsconfig_set_string(&context, *name, *value)?;
    }
    rustix::mount::fsconfig_create(&context)?;
    let plain = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let mount = rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, plain | attributes)?;
    put(mount.as_fd(), point)
}

/// Two layers: `hide` with the whiteouts, and above it `git` with nothing but the mount point of the private `.git`.
fn cover(git: bool, mask: &[u8]) -> Done<()> {
    let Some(entries) = enclos_init::mask::decode(mask) else {
        return refused(STEP, "the list of hidden paths is damaged");
    };
    for path in ["../mask/git", "../mask/hide"] {
        std::fs::create_dir(path).at(STEP, "making the mask")?;
    }
    if git {
        std::fs::create_dir("../mask/git/.git").at(STEP, "making room for `.git`")?;
    }
    let hide = std::fs::File::open("../mask/hide").at(STEP, "making the mask")?;
    whiteout(&hide, b".git").at(STEP, "hiding `.git`")?;
    for entry in &entries {
        let (MaskEntry::Directory { path, .. } | MaskEntry::Hidden { path }) = entry;
        let what = format!("hiding `{}`", String::from_utf8_lossy(path).escape_debug());
        match entry {
            MaskEntry::Hidden { path } => whiteout(&hide, path).at(STEP, &what)?,
            MaskEntry::Directory { path, mode, .. } => {
                rustix::fs::mkdirat(&hide, path.as_slice(), Mode::RWXU).at(STEP, &what)?;
                rustix::fs::chmodat(&hide, path.as_slice(), Mode::from_raw_mode(*mode), AtFlags::empty())
                    .at(STEP, &what)?;
            }
        }
    }
    // Times last and from the inside out: making an entry changes its directory's.
    for entry in entries.iter().rev() {
        if let MaskEntry::Directory { path, modified, .. } = entry {
            date(&hide, path, *modified).at(STEP, "dating the mask")?;
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

/// Writes a file as the agent would, and removes it.
pub(super) fn prove() -> Done<()> {
    for attempt in 0..100 {
        let path = format!("/workspace/.enclos-writable-{attempt}");
        match std::fs::File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).at(STEP, "proving that the workspace can be written"),
            Ok(file) => {
                let owner = file.metadata().at(STEP, "proving that the workspace can be written")?.uid();
                std::fs::remove_file(&path).at(STEP, "proving that the workspace can be written")?;
                if owner != AGENT {
                    return refused(STEP, "a new file in the workspace does not belong to the agent");
                }
                return Ok(());
            }
        }
    }
    refused(STEP, "no free name in the workspace's root")
}
