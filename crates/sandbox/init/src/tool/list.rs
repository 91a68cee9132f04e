//! What a folder holds, and what a path is. Links are told, not followed.
use super::Answer;
use super::path::{Place, text};
use enclos_init::file::{ENTRIES, Entry, FileReply, Kind};
use rustix::fs::{AtFlags, Dir, FileType, OFlags, Stat};
use std::ffi::CString;
use std::os::fd::AsFd;

/// Most names that are read of one folder.
const NAMES: usize = 200_000;

/// The entries of a folder, sorted.
pub(super) fn list(path: &str) -> Answer {
    let place = Place::parse(path)?;
    let folder = place.open(OFlags::RDONLY | OFlags::DIRECTORY)?;
    let dir = Dir::read_from(&folder).map_err(|errno| place.refused(errno))?;
    let mut names: Vec<CString> = Vec::new();
    for entry in dir.take(NAMES) {
        let entry = entry.map_err(|errno| place.refused(errno))?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    let left_out = u64::try_from(names.len().saturating_sub(ENTRIES)).unwrap_or(0);
    let entries = names
        .iter()
        .take(ENTRIES)
        .filter_map(|name| {
            let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some(entry(&folder, name, text(name.to_bytes()), &stat))
        })
        .collect();
    Ok(FileReply::List { entries, left_out })
}

/// What a path is.
pub(super) fn stat(path: &str) -> Answer {
    let place = Place::parse(path)?;
    let (fd, stat) = place.look()?;
    Ok(FileReply::Stat(entry(&fd, c"", path.to_owned(), &stat)))
}

fn entry(at: impl AsFd, link: &std::ffi::CStr, name: String, stat: &Stat) -> Entry {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        _ => Kind::Special,
    };
    let target = (kind == Kind::Link)
        .then(|| rustix::fs::readlinkat(at, link, Vec::new()).ok())
        .flatten()
        .map(|target| text(target.to_bytes()));
    let executable = kind == Kind::File && stat.st_mode & 0o100 != 0;
    Entry { name, kind, size: u64::try_from(stat.st_size).unwrap_or(0), executable, target }
}
