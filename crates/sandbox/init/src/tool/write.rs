//! Writing and editing. A file is replaced as a whole or not at all: the new content is written beside it and
//! renamed over it. Links are never written through; execute bits stay.
use super::nearest::nearest;
use super::path::{Place, text};
use super::read::regular;
use super::{Answer, fault};
use enclos_init::file::{Fault, FaultKind, FileReply, WHOLE_FILE};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

/// Makes or replaces a file.
pub(super) fn write(path: &str, content: &str) -> Answer {
    let place = Place::parse(path)?;
    if content.len() as u64 > WHOLE_FILE {
        return Err(too_large(path));
    }
    let (folder, name) = place.parent(true)?;
    let before = there(&place, &folder, name)?;
    replace(&place, &folder, name, content.as_bytes(), before.unwrap_or(0o644))?;
    Ok(FileReply::Written { bytes: content.len() as u64, created: before.is_none() })
}

/// Replaces the one occurrence of `old`.
pub(super) fn edit(path: &str, old: &str, new: &str) -> Answer {
    let place = Place::parse(path)?;
    if old.is_empty() || old == new {
        return Err(fault(
            FaultKind::BadArgument,
            "the text to replace is empty or the same as the new one; use `write` for a new file",
        ));
    }
    let (folder, name) = place.parent(false)?;
    let mode = there(&place, &folder, name)?.ok_or_else(|| place.refused(Errno::NOENT))?;
    let (file, size) = regular(&place)?;
    if size > WHOLE_FILE || size + new.len() as u64 > WHOLE_FILE {
        return Err(too_large(path));
    }
    let mut bytes = Vec::new();
    file.take(WHOLE_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| place.refused(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
    let content = String::from_utf8(bytes).map_err(|_| {
        fault(FaultKind::NotText, format!("`{path}` is not UTF-8 text; change it with `bash`"))
    })?;
    let at = only(&content, old, path)?;
    let (head, rest) = content.split_at(at);
    let changed = [head, new, rest.strip_prefix(old).unwrap_or(rest)].concat();
    replace(&place, &folder, name, changed.as_bytes(), mode)?;
    let line = head.bytes().filter(|byte| *byte == b'\n').count() as u64 + 1;
    Ok(FileReply::Edited { line })
}

/// Where `old` is, if it is there exactly once. Occurrences that overlap count.
fn only(content: &str, old: &str, path: &str) -> Result<usize, Fault> {
    let mut places = Vec::new();
    let mut from = 0;
    let step = old.chars().next().map_or(1, char::len_utf8);
    while let Some(at) = content.get(from..).and_then(|rest| rest.find(old)) {
        places.push(from + at);
        from += at + step;
        if places.len() > 10_000 {
            break;
        }
    }
    match places.as_slice() {
        [one] => Ok(*one),
        [] => Err(fault(FaultKind::NoMatch, no_match(content, old, path))),
        many => Err(fault(
            FaultKind::ManyMatches,
            format!(
                "the text to replace is {} times in `{path}`, it must be there once; add lines around it",
                many.len()
            ),
        )),
    }
}

fn no_match(content: &str, old: &str, path: &str) -> String {
    let message = format!(
        "the text to replace is not in `{path}`; copy it exactly from what `read` shows, spaces included"
    );
    let Some((line, shown)) = nearest(content, old) else { return message };
    format!("{message}. The nearest, at line {line}, is:\n{}", shown.join("\n"))
}

/// Permission bits of the regular file there; `None` when nothing is.
fn there(place: &Place, folder: &OwnedFd, name: &OsStr) -> Result<Option<u32>, Fault> {
    let path = &place.asked;
    let stat = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(place.refused(errno)),
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(Some(stat.st_mode & 0o777)),
        FileType::Directory => Err(place.refused(Errno::ISDIR)),
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(folder, name, Vec::new()).unwrap_or_default();
            let target = text(target.to_bytes());
            Err(fault(
                FaultKind::WrongKind,
                format!("`{path}` is a link to `{target}`; name the file that it stands for"),
            ))
        }
        _ => Err(fault(FaultKind::WrongKind, format!("`{path}` is not a regular file; remove it first"))),
    }
}

fn replace(place: &Place, folder: &OwnedFd, name: &OsStr, content: &[u8], mode: u32) -> Result<(), Fault> {
    let beside = format!(".enclos-{}.part", std::process::id());
    let written = || -> Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(folder, beside.as_str(), flags, Mode::from_raw_mode(0o600))?;
        let mut file = File::from(fd);
        file.write_all(content).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        rustix::fs::renameat(folder, beside.as_str(), folder, name)
    };
    written().map_err(|errno| {
        // What is left of the attempt goes; when even that fails the first error is the one that counts.
        let _ = rustix::fs::unlinkat(folder, beside.as_str(), AtFlags::empty());
        place.refused(errno)
    })
}

fn too_large(path: &str) -> Fault {
    let most = WHOLE_FILE / (1024 * 1024);
    fault(FaultKind::TooLarge, format!("`{path}` is or would be larger than {most} MiB; use `bash`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_once() {
        assert_eq!(only("a b c", "b", "f").unwrap(), 2);
        assert_eq!(only("a b c", "x", "f").unwrap_err().kind, FaultKind::NoMatch);
        let near = only("\ta = b;\n", "a  =  b;", "f").unwrap_err().message;
        assert!(near.ends_with("spaces included. The nearest, at line 1, is:\n\ta = b;"), "{near}");
        assert!(only("b b b", "b", "f").unwrap_err().message.contains("3 times"));
        assert_eq!(only("aaa", "aa", "f").unwrap_err().kind, FaultKind::ManyMatches, "overlapping");
        assert_eq!(only("éé", "é", "f").unwrap_err().kind, FaultKind::ManyMatches);
    }
}
