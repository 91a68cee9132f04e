//! A file operation, seen from outside: the question goes in, one bounded answer comes back through a pipe.
use crate::error::{FileError, RunError};
use crate::image;
use crate::run::{ask, ended, pipe};
use crate::sandbox::Shared;
use enclos_init::channel;
use enclos_init::file::{Asked, Fault, FileOp, FileReply};
use enclos_init::wire::{Kind, UNCONFINED};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

/// Longest answer, in bytes.
const LONGEST: usize = 64 * 1024 * 1024;

/// Asks and waits for the answer.
pub(crate) fn call(shared: &Shared, id: u32, op: &FileOp) -> Result<FileReply, FileError> {
    ask_for(shared, id, &Asked::Op(op.clone()), &mut io::empty())
}

/// Asks, with raw bytes behind the question, and waits for the answer.
pub(crate) fn ask_for(
    shared: &Shared,
    id: u32,
    asked: &Asked,
    bytes: &mut dyn Read,
) -> Result<FileReply, FileError> {
    let json = serde_json::to_vec(asked).map_err(|error| RunError::Io(error.into()))?;
    let (reader, writer) = pipe().map_err(RunError::from)?;
    let head = channel::pack(&json, &[]);
    let request = channel::sealed_from(c"request", &mut head.chain(bytes)).map_err(RunError::from)?;
    let program = image::TOOL.file().map_err(RunError::from)?;
    let channel = ask(shared, Kind::File, id, &[], &[writer.as_fd(), request.as_fd(), program])?;
    drop((writer, request));
    let answer = collect(&reader).map_err(RunError::from)?;
    let ended = ended(&channel, shared)?;
    if let Some((step, errno)) = ended.failed {
        return Err(RunError::Confine { step, source: io::Error::from_raw_os_error(errno) }.into());
    }
    match ended.code {
        Some(0) => understand(&answer),
        Some(code) if code == i32::from(UNCONFINED) => {
            Err(FileError::Ended("its process could not be confined"))
        }
        _ if ended.reason.is_some() => Err(FileError::Ended("it was stopped, or took longer than a minute")),
        _ => Err(FileError::Ended("it needed more memory than a file operation may have")),
    }
}

fn collect(reader: &OwnedFd) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match rustix::io::read(reader, &mut buffer) {
            Ok(0) => return Ok(all),
            Ok(length) => all.extend_from_slice(buffer.get(..length).unwrap_or_default()),
            Err(Errno::AGAIN) => match rustix::event::poll(&mut [PollFd::new(reader, PollFlags::IN)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            },
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        if all.len() > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is too long"));
        }
    }
}

/// The answer, if it is whole.
fn understand(bytes: &[u8]) -> Result<FileReply, FileError> {
    let broken = || RunError::Io(io::Error::new(io::ErrorKind::InvalidData, "the answer is cut"));
    let (length, body) = bytes.split_first_chunk::<8>().ok_or_else(broken)?;
    if u64::from_le_bytes(*length) != body.len() as u64 {
        return Err(broken().into());
    }
    let (json, blob) = channel::unpack(body).ok_or_else(broken)?;
    let answer: Result<FileReply, Fault> =
        serde_json::from_slice(json).map_err(|error| RunError::Io(error.into()))?;
    match answer.map_err(FileError::Refused)? {
        FileReply::Bytes { size, .. } => Ok(FileReply::Bytes { size, bytes: blob.to_vec() }),
        other => Ok(other),
    }
}
