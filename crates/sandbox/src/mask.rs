//! Which names of the repository do not exist inside, as records that the init can apply: the hidden names, and the
//! folders above them with the modes and times that they have, since a mask's folder stands in for the real one.
use crate::error::{OpenError, Place};
use enclos_init::wire::{MaskEntry, Step};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

const STEP: Step = Step::Workspace;

/// Permission bits, and the time of change in seconds and nanoseconds.
type Seen = (u32, (i64, u32));

/// The records for `hidden`, in an order in which they can be applied.
pub(crate) fn compute<'a>(
    workspace: &OwnedFd,
    hidden: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<Vec<MaskEntry>, OpenError> {
    let mut wanted = BTreeSet::new();
    for path in hidden {
        wanted.insert(sound(path)?);
    }
    let mut folders = BTreeMap::new();
    let mut names = Vec::new();
    for path in &wanted {
        // What lies below a hidden folder is hidden with it.
        if path.ancestors().skip(1).any(|above| wanted.contains(above)) {
            continue;
        }
        if look(workspace, path)?.is_none() {
            continue;
        }
        for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            if !folders.contains_key(above) {
                let Some(entry) = look(workspace, above)? else { continue };
                folders.insert(above.to_owned(), entry);
            }
        }
        names.push(MaskEntry::Hidden { path: path.as_os_str().as_bytes().to_vec() });
    }
    let mut records: Vec<MaskEntry> = folders
        .into_iter()
        .map(|(path, (mode, modified))| MaskEntry::Directory {
            path: path.as_os_str().as_bytes().to_vec(),
            mode,
            modified,
        })
        .collect();
    records.extend(names);
    Ok(records)
}

/// The path without `.`; nothing but names below the repository's root.
fn sound(path: &Path) -> Result<PathBuf, OpenError> {
    let mut clean = PathBuf::new();
    let mut fine = true;
    for part in path.components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => fine = false,
        }
    }
    if fine && !clean.as_os_str().is_empty() {
        return Ok(clean);
    }
    let shown = path.display();
    Err(OpenError::new(
        Step::Plan,
        format!("`{shown}` cannot be hidden: give a path below the repository's root, without `..`"),
    ))
}

/// What stands there; `None` when nothing is there. A link on the way is refused: what it stands for would
/// stay visible under its own name.
fn look(workspace: &OwnedFd, path: &Path) -> Result<Option<Seen>, OpenError> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let what = format!("hiding `{}`", path.display());
    let fd = match rustix::fs::openat2(workspace, path, flags, Mode::empty(), resolve) {
        Ok(fd) => fd,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(errno) => return Err(errno).at(STEP, &what),
    };
    let stat = rustix::fs::fstat(&fd).at(STEP, &what)?;
    let mode = if FileType::from_raw_mode(stat.st_mode).is_dir() { stat.st_mode & 0o7777 } else { 0 };
    Ok(Some((mode, (stat.st_mtime, u32::try_from(stat.st_mtime_nsec).unwrap_or(0)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_before_what_they_hold() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("a/b")).unwrap();
        std::fs::write(root.path().join("a/b/.env"), "x").unwrap();
        std::fs::create_dir(root.path().join("target")).unwrap();
        std::fs::write(root.path().join("target/x"), "x").unwrap();
        std::os::unix::fs::symlink("a", root.path().join("link")).unwrap();
        let fd: OwnedFd = std::fs::File::open(root.path()).unwrap().into();
        let hidden: Vec<PathBuf> =
            ["a/b/.env", "./target", "target/x", "missing/x"].iter().map(PathBuf::from).collect();
        let records = compute(&fd, &hidden).unwrap();
        let shown: Vec<String> = records
            .iter()
            .map(|record| match record {
                MaskEntry::Directory { path, .. } => format!("d {}", String::from_utf8_lossy(path)),
                MaskEntry::Hidden { path } => format!("h {}", String::from_utf8_lossy(path)),
            })
            .collect();
        assert_eq!(shown, ["d a", "d a/b", "h a/b/.env", "h target"]);
        for bad in ["/etc", "../x", "a/../..", ""] {
            assert!(compute(&fd, [&PathBuf::from(bad)]).is_err(), "{bad}");
        }
        assert!(compute(&fd, [&PathBuf::from("link/b")]).is_err(), "through a link");
        assert_eq!(compute(&fd, [&PathBuf::from("link")]).unwrap().len(), 1, "a link itself");
    }
}
