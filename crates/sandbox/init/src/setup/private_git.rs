//! The private `.git`: a file system in memory, filled with what the gateway wrote, the repository's objects beside
//! it, read-only. It is thrown away with the sandbox.
use super::root::BELOW;
use super::workspace::{is_refusal, read_only};
use super::{attach, bind_read_only, place, put, tree as copy_of};
use crate::fault::{At, Done, refused};
use crate::given;
use enclos_init::sys::{self, MountFlags};
use enclos_init::wire::{PrivateGit, Step};
use rustix::fs::{Timespec, Timestamps};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Component, Path, PathBuf};

const STEP: Step = Step::PrivateGit;
const ROOT: &str = "workspace/.git";

/// Builds it at `workspace/.git` in the new root. Answers remarks on what is not as it should be.
pub(super) fn make(git: &PrivateGit, copied: bool) -> Done<Vec<String>> {
    // The layer may hold a link of that name from an earlier opening: it is never followed.
    let point = place(ROOT).at(STEP, "finding the place of `.git`")?;
    mount_on(point.as_fd()).at(STEP, "mounting the private `.git`")?;
    for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
        std::fs::create_dir_all(Path::new(ROOT).join(folder)).at(STEP, "filling the private `.git`")?;
    }
    for (path, text) in &git.files {
        std::fs::write(below(path)?, text).at(STEP, &format!("writing `.git/{path}`"))?;
    }
    for copied in &git.copies {
        let what = format!("copying `.git/{}`", copied.path);
        let mut from = File::from(given(copied.from)?);
        let mut to = File::create(below(&copied.path)?).at(STEP, &what)?;
        io::copy(&mut from, &mut to).at(STEP, &what)?;
        let time = Timespec { tv_sec: copied.modified.0, tv_nsec: i64::from(copied.modified.1) };
        let times = Timestamps { last_access: time, last_modification: time };
        rustix::fs::futimens(&to, &times).at(STEP, &what)?;
    }
    let mut remarks = Vec::new();
    for (number, tree) in git.objects.iter().enumerate() {
        remarks.extend(objects(number, *tree, copied)?);
    }
    Ok(remarks)
}

fn mount_on(point: BorrowedFd<'_>) -> io::Result<()> {
    let context = rustix::mount::fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_string(&context, c"mode", c"0755")?;
    rustix::mount::fsconfig_set_string(&context, c"size", c"512m")?;
    rustix::mount::fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let mount = rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    put(mount.as_fd(), point)
}

/// One directory of objects, at `/run/git/N`. Its own list of alternates names paths of the host: it is covered. Where the
/// kernel takes no overlay of it, and the workspace is a copy already, it is mounted plainly: git keeps files there, and
/// nothing that anybody could be reached by.
fn objects(number: usize, tree: i32, copied: bool) -> Done<Option<String>> {
    let path = format!("run/git/{number}");
    let what = format!("showing the repository's objects at `/{path}`");
    let tree = given(tree)?;
    sys::set_mount(tree.as_fd(), MountFlags::DATA, true, None).at(STEP, &what)?;
    std::fs::create_dir(&path).at(STEP, &what)?;
    attach(tree.as_fd(), BELOW).at(STEP, &what)?;
    let point = place(&path).at(STEP, &what)?;
    let mut remark = None;
    match read_only(point.as_fd(), BELOW, MountAttrFlags::MOUNT_ATTR_NOEXEC) {
        Err(error) if copied && is_refusal(&error) => {
            let plain = copy_of(BELOW, false).at(STEP, &what)?;
            put(plain.as_fd(), point.as_fd()).at(STEP, &what)?;
            remark = Some("the mount table names the folder of the repository's objects".to_owned());
        }
        done => done.at(STEP, &what)?,
    }
    for list in ["info/alternates", "info/http-alternates"] {
        let list = format!("{path}/{list}");
        match std::fs::symlink_metadata(&list) {
            Ok(kind) if kind.is_file() => {
                bind_read_only("run/none", &list).at(STEP, "covering alternates")?;
            }
            Ok(_) => return refused(STEP, "the repository's list of alternates is not a file"),
            Err(_) => {}
        }
    }
    Ok(remark)
}

fn below(path: &str) -> Done<PathBuf> {
    let path = Path::new(path);
    if path.as_os_str().is_empty() || !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return refused(STEP, format!("`{}` is no place in `.git`", path.display()));
    }
    Ok(Path::new(ROOT).join(path))
}
