//! Reading: lines of text with bounds on lines and bytes, or raw bytes. Only regular files; text that is not UTF-8
//! is an error that says so, never mangled.
use super::path::Place;
use super::{Answer, fault};
use enclos_init::file::{Fault, FaultKind, FileReply, READ_LINES};
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

/// Most bytes of one `ReadBytes`, and of one `Read`.
const MOST: u64 = 32 * 1024 * 1024;
/// Most bytes that are skipped to come to a line.
const SKIPPED: u64 = 512 * 1024 * 1024;

/// A regular file, open, and its size.
pub(super) fn regular(place: &Place) -> Result<(File, u64), Fault> {
    let file = File::from(place.open(OFlags::RDONLY)?);
    let stat = rustix::fs::fstat(&file).map_err(|errno| place.refused(errno))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok((file, u64::try_from(stat.st_size).unwrap_or(0))),
        FileType::Directory => Err(place.refused(Errno::ISDIR)),
        _ => Err(fault(
            FaultKind::WrongKind,
            format!("`{}` is a pipe, a socket or a device; name a regular file", place.asked),
        )),
    }
}

/// Lines from `offset`, counted from 1.
pub(super) fn lines(path: &str, offset: u64, limit: u32, most: u32) -> Answer {
    let place = Place::parse(path)?;
    let (file, size) = regular(&place)?;
    let offset = offset.max(1);
    let limit = u64::from(limit.clamp(1, READ_LINES));
    let most = usize::try_from(u64::from(most.max(1)).min(MOST)).unwrap_or(usize::MAX);
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let failed = |error: &std::io::Error| place.refused(Errno::from_io_error(error).unwrap_or(Errno::IO));
    let (mut line, mut skipped, mut text) = (1u64, 0u64, Vec::new());
    let mut more = false;
    loop {
        let buffer = reader.fill_buf().map_err(|error| failed(&error))?;
        if buffer.is_empty() {
            break;
        }
        if line >= offset + limit || text.len() >= most {
            more = true;
            break;
        }
        let length = buffer.iter().position(|byte| *byte == b'\n').map_or(buffer.len(), |at| at + 1);
        let ends = buffer.get(length - 1) == Some(&b'\n');
        if line >= offset {
            let room = most - text.len();
            text.extend_from_slice(&buffer[..length.min(room)]);
            more |= length > room;
        } else {
            skipped += length as u64;
            if skipped > SKIPPED {
                return Err(fault(
                    FaultKind::TooLarge,
                    format!("line {offset} of `{path}` is too far in; use `grep`"),
                ));
            }
        }
        reader.consume(length);
        if more {
            break;
        }
        line += u64::from(ends);
    }
    if offset > 1 && text.is_empty() {
        return Err(fault(
            FaultKind::BadArgument,
            format!("`{path}` has no line {offset}; it has {line} at most"),
        ));
    }
    let text = utf8(text, more, path)?;
    let lines = u64::try_from(text.lines().count()).unwrap_or(u64::MAX);
    Ok(FileReply::Read { text, first_line: offset, lines, more, size })
}

/// The text, without a last character that the cut went through.
fn utf8(mut bytes: Vec<u8>, cut: bool, path: &str) -> Result<String, Fault> {
    if cut
        && let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    let binary = bytes.contains(&0);
    match String::from_utf8(bytes) {
        Ok(text) if !binary => Ok(text),
        _ => Err(fault(
            FaultKind::NotText,
            format!("`{path}` is not UTF-8 text; look at it with `bash`, for example `file` or `xxd`"),
        )),
    }
}

/// The first bytes.
pub(super) fn bytes(path: &str, max: u64) -> Answer {
    let place = Place::parse(path)?;
    let (file, size) = regular(&place)?;
    let mut bytes = Vec::new();
    file.take(max.min(MOST))
        .read_to_end(&mut bytes)
        .map_err(|error| place.refused(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
    Ok(FileReply::Bytes { size, bytes })
}
