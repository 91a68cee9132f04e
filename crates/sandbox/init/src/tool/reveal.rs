//! A file of the repository that was masked, put in its place. It is written as the agent would write it, in the session's
//! own layer, whole or not at all, and only where nothing is: what the agent made of that name stays what it is.
//!
//! No link is followed on the way, not even one that leads to the right place.
use super::{Answer, fault};
use enclos_init::file::{Fault, FaultKind, FileReply, Reveal};
use enclos_init::wire::WORKSPACE;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, ResolveFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

/// Longest target of a link, in bytes.
const TARGET: u64 = 4096;
/// Bytes compared at a time.
const CHUNK: usize = 64 * 1024;

/// Puts it there.
pub(super) fn reveal(what: &Reveal, content: File) -> Answer {
    let path = Path::new(&what.path);
    let sound = path.components().all(|part| matches!(part, Component::Normal(_)));
    let (Some(name), true) = (path.file_name(), sound) else {
        return Err(fault(FaultKind::BadArgument, "the path is none below the workspace"));
    };
    let refused = |errno: Errno| refused(what, errno);
    let folder = match folder(path.parent().unwrap_or(Path::new(""))) {
        // Something that is no folder stands in the way.
        Err(Errno::NOTDIR | Errno::LOOP) => return Ok(FileReply::Revealed { there: false }),
        other => other.map_err(refused)?,
    };
    let there = if what.link { link(&folder, name, content) } else { file(&folder, name, what, content) };
    Ok(FileReply::Revealed { there: there.map_err(refused)? })
}

/// The folder that holds it, made where it is missing.
fn folder(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = rustix::fs::openat(CWD, WORKSPACE, flags, Mode::empty())?;
    for part in path.components() {
        match rustix::fs::mkdirat(&at, part.as_os_str(), Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        at = again(|| rustix::fs::openat2(&at, part.as_os_str(), flags, Mode::empty(), resolve))?;
    }
    Ok(at)
}

/// A rename elsewhere in the tree makes the kernel ask for another try.
fn again<T>(mut open: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match open() {
            Err(Errno::AGAIN) => {}
            other => return other,
        }
    }
}

fn link(folder: &OwnedFd, name: &OsStr, content: File) -> Result<bool, Errno> {
    let mut target = Vec::new();
    content.take(TARGET).read_to_end(&mut target).map_err(|error| of(&error))?;
    match rustix::fs::symlinkat(target.as_slice(), folder, name) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => {
            Ok(rustix::fs::readlinkat(folder, name, Vec::new()).is_ok_and(|found| found.to_bytes() == target))
        }
        Err(errno) => Err(errno),
    }
}

fn file(folder: &OwnedFd, name: &OsStr, what: &Reveal, content: File) -> Result<bool, Errno> {
    let beside = format!(".enclos-{}.part", std::process::id());
    let written = || -> Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(folder, beside.as_str(), flags, Mode::from_raw_mode(0o600))?;
        let mut file = File::from(fd);
        let begin = io::Seek::stream_position(&mut &content).map_err(|error| of(&error))?;
        io::copy(&mut &content, &mut file).map_err(|error| of(&error))?;
        rustix::fs::fchmod(&file, Mode::from_raw_mode(what.mode & 0o777))?;
        let (tv_sec, nanoseconds) = what.modified;
        let time = Timespec { tv_sec, tv_nsec: i64::from(nanoseconds) };
        let times =
            Timestamps { last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }, last_modification: time };
        rustix::fs::futimens(&file, &times)?;
        io::Seek::seek(&mut &content, io::SeekFrom::Start(begin)).map_err(|error| of(&error))?;
        rustix::fs::renameat_with(folder, beside.as_str(), folder, name, RenameFlags::NOREPLACE)
    };
    let done = written();
    if done.is_err() {
        // What is left of the attempt goes; when even that fails the first error is the one that counts.
        let _ = rustix::fs::unlinkat(folder, beside.as_str(), AtFlags::empty());
    }
    match done {
        Ok(()) => Ok(true),
        // An earlier attempt may have been cut short behind this.
        Err(Errno::EXIST) => Ok(is_the_same(folder, name, content)),
        Err(errno) => Err(errno),
    }
}

/// Whether the file there is the one that was to be put there.
fn is_the_same(folder: &OwnedFd, name: &OsStr, mut content: File) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(found) = rustix::fs::openat(folder, name, flags, Mode::empty()) else { return false };
    let mut found = File::from(found);
    if !found.metadata().is_ok_and(|facts| facts.is_file()) {
        return false;
    }
    let (mut a, mut b) = (Vec::new(), Vec::new());
    loop {
        a.clear();
        b.clear();
        let part = |from: &mut File, into: &mut Vec<u8>| from.take(CHUNK as u64).read_to_end(into).is_ok();
        if !(part(&mut found, &mut a) && part(&mut content, &mut b)) || a != b {
            return false;
        }
        if a.is_empty() {
            return true;
        }
    }
}

fn of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

fn refused(what: &Reveal, errno: Errno) -> Fault {
    let kind = match errno {
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => FaultKind::Full,
        Errno::ACCESS | Errno::PERM | Errno::ROFS => FaultKind::Denied,
        _ => FaultKind::System,
    };
    fault(kind, format!("`{}` cannot be put in its place: {errno}", what.path))
}
