//! The workspace: an overlay of the session's layer over a mask over the repository. Hidden names are whiteouts in the
//! mask, which lives in memory; the repository itself is only ever a lower layer, and so is what lies over it on a host
//! that has it in two parts. Where the kernel takes no such overlay the layer holds a copy of the repository, made without
//! the hidden names, and that is mounted with the same flags. At the end it is proved that the agent can write.
use super::root::{LAYER, LOWER, MASK, NOTHING, OVER};
use super::{attach, memory, place, put, tree};
use crate::fault::{At, Done, refused};
use crate::given;
use enclos_init::sys::{self, MountFlags};
use enclos_init::wire::{AGENT, Failure, MaskEntry, Setup, Step};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Timespec, Timestamps};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

const STEP: Step = Step::Workspace;

/// Mounts it at `workspace` in the new root. Answers the layer's directory, and what is not as it should be.
pub(super) fn make(setup: &Setup, mask: &[u8]) -> Done<(OwnedFd, Option<String>)> {
    let layer = given(setup.layer)?;
    sys::set_mount(layer.as_fd(), MountFlags::PLAIN, true, None).at(STEP, "guarding the session's layer")?;
    attach(layer.as_fd(), LAYER).at(STEP, "taking in the session's layer")?;
    let point = place("workspace").at(STEP, "finding the place of the workspace")?;
    let mut remark = None;
    match setup.lower {
        None => remark = copied(point.as_fd(), setup.over_nothing)?,
        Some(lower) => over_repository(point.as_fd(), lower, setup, mask)?,
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let layer = rustix::fs::openat(CWD, LAYER, flags, Mode::empty());
    Ok((layer.at(STEP, "keeping the layer for the disk watch")?, remark))
}

/// Mounts the overlay over the repository.
fn over_repository(point: BorrowedFd<'_>, lower: i32, setup: &Setup, mask: &[u8]) -> Done<()> {
    let mut below = vec![(lower, LOWER, "repository")];
    below.extend(setup.over.map(|over| (over, OVER, "tree over the repository")));
    for (number, path, name) in below {
        let tree = given(number)?;
        sys::set_mount(tree.as_fd(), MountFlags::READ_ONLY, true, None)
            .at(STEP, &format!("making the {name} read-only"))?;
        attach(tree.as_fd(), path).at(STEP, &format!("taking in the {name}"))?;
        belongs(path, name)?;
    }
    belongs("../layer/upper", "session's layer")?;
    memory(MASK, "mode=0755,size=64m").at(STEP, "mounting the mask")?;
    cover(setup.git.is_some(), mask)?;
    let lower = match setup.over {
        None => "../mask/git:../mask/hide:../lower",
        Some(_) => "../mask/git:../mask/hide:../over:../lower",
    };
    overlay(point, lower, LAYER).map_err(|error| Failure {
        step: STEP,
        message: "mounting the overlay".into(),
        no_overlay: is_refusal(&error),
        errno: error.raw_os_error().unwrap_or(0),
    })
}

/// Mounts the copy, with the flags that the overlay over the repository would have: below an overlay over nothing, or as it
/// is where the kernel takes none.
fn copied(point: BorrowedFd<'_>, over_nothing: bool) -> Done<Option<String>> {
    const COPY: &str = "../layer/copy";
    belongs(COPY, "copy of the repository")?;
    let what = "mounting the copy of the repository";
    if over_nothing {
        match overlay_in(point, NOTHING, COPY, "../layer/work") {
            Err(error) if is_refusal(&error) => {}
            done => return done.map(|()| None).at(STEP, what),
        }
    }
    let copy = tree(COPY, false).at(STEP, what)?;
    sys::set_mount(copy.as_fd(), MountFlags::PLAIN, false, None).at(STEP, what)?;
    put(copy.as_fd(), point).at(STEP, what)?;
    Ok(Some("the mount table names the folder of the session's layer".to_owned()))
}

fn belongs(path: &str, name: &str) -> Done<()> {
    let owner = std::fs::metadata(path).at(STEP, &format!("looking at the {name}"))?.uid();
    if owner == AGENT {
        return Ok(());
    }
    refused(STEP, format!("the {name} does not belong to the agent inside (owner {owner}, expected {AGENT})"))
}

/// Whether the kernel's answer is one of those by which it refuses an overlay as such: it has none, it allows none in a
/// user namespace, or it does not take these folders as layers.
pub(super) fn is_refusal(error: &io::Error) -> bool {
    let known = [libc::ENODEV, libc::EPERM, libc::EINVAL, libc::EOPNOTSUPP];
    error.raw_os_error().is_some_and(|errno| known.contains(&errno))
}

/// An overlay on a place, whose changes go to `upper` and `work` in the folder `changes`. The names are relative: the
/// mount table shows them, and they lead nowhere.
pub(super) fn overlay(point: BorrowedFd<'_>, lower: &str, changes: &str) -> io::Result<()> {
    overlay_in(point, lower, &format!("{changes}/upper"), &format!("{changes}/work"))
}

fn overlay_in(point: BorrowedFd<'_>, lower: &str, upper: &str, work: &str) -> io::Result<()> {
    let more = [
        ("upperdir", upper),
        ("workdir", work),
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
