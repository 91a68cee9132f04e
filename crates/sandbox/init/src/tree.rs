//! Removing a folder with all it holds. Goes by one open folder at a time, never through a link, so that a tree of
//! any depth goes and nothing else does. Folders that their owner may not read are opened up first.
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// Removes the folder `name` in `folder` and answers how many entries went with it, itself included.
pub fn remove(folder: impl AsFd, name: &OsStr) -> Result<u64, Errno> {
    let name = CString::new(name.as_bytes()).map_err(|_| Errno::INVAL)?;
    let mut here = open(&folder, &name)?;
    let mut names = vec![name];
    let mut removed = 0;
    loop {
        if let Some(next) = sweep(&here, &mut removed)? {
            here = open(&here, &next)?;
            names.push(next);
            continue;
        }
        let Some(name) = names.pop() else { return Ok(removed) };
        removed += 1;
        if names.is_empty() {
            rustix::fs::unlinkat(&folder, &name, AtFlags::REMOVEDIR)?;
            return Ok(removed);
        }
        here = open(&here, c"..")?;
        rustix::fs::unlinkat(&here, &name, AtFlags::REMOVEDIR)?;
    }
}

/// Removes what is no folder, and answers the first folder.
fn sweep(here: &OwnedFd, removed: &mut u64) -> Result<Option<CString>, Errno> {
    for entry in Dir::read_from(here)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let stat = rustix::fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode).is_dir() {
            return Ok(Some(name.to_owned()));
        }
        rustix::fs::unlinkat(here, name, AtFlags::empty())?;
        *removed += 1;
    }
    Ok(None)
}

/// Opens a folder so that its entries can be removed.
fn open(at: impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = match rustix::fs::openat(&at, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            // A folder, not a link: the flag makes sure of it before the mode is changed.
            rustix::fs::chmodat(&at, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
                .or_else(|_| plain_chmod(&at, name))?;
            rustix::fs::openat(&at, name, flags, Mode::empty())?
        }
        other => other?,
    };
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        rustix::fs::fchmod(&fd, Mode::RWXU)?;
    }
    Ok(fd)
}

/// For kernels that cannot change a mode without following links: only when the name is a folder now.
fn plain_chmod(at: impl AsFd, name: &CStr) -> Result<(), Errno> {
    let stat = rustix::fs::statat(&at, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if !FileType::from_raw_mode(stat.st_mode).is_dir() {
        return Err(Errno::NOTDIR);
    }
    rustix::fs::chmodat(&at, name, Mode::RWXU, AtFlags::empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn removes_deep_and_closed_folders_and_follows_no_link() {
        let root = std::env::temp_dir().join(format!("enclos-tree-{}", std::process::id()));
        std::fs::create_dir_all(root.join("kept")).expect("made");
        std::fs::write(root.join("kept/f"), "x").expect("written");
        let mut path = root.join("gone");
        for _ in 0..30 {
            path.push("d");
        }
        std::fs::create_dir_all(&path).expect("made");
        std::fs::write(path.join("f"), "x").expect("written");
        std::os::unix::fs::symlink(root.join("kept"), root.join("gone/link")).expect("linked");
        let closed = std::fs::Permissions::from_mode(0o000);
        std::fs::set_permissions(root.join("gone/d/d"), closed).expect("closed");
        let folder = std::fs::File::open(&root).expect("open");
        let removed = super::remove(&folder, "gone".as_ref()).expect("removed");
        assert_eq!(removed, 33);
        assert!(root.join("kept/f").exists() && !root.join("gone").exists());
        std::fs::remove_dir_all(&root).expect("cleaned");
    }
}
