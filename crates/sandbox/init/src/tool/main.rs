//! The file operations: a program of its own, started for each by the init in a child that is confined to the workspace
//! and `/tmp` already. What is asked lies in a sealed file in memory, as a length, JSON and raw bytes; the answer goes into a pipe: a length, then JSON,
//! then raw bytes. It starts nothing and keeps nothing.
mod delete;
mod list;
mod look;
mod nearest;
mod path;
mod read;
mod reveal;
mod search;
mod write;

use enclos_init::file::{Asked, Fault, FaultKind, FileOp, FileReply};
use enclos_init::wire::{ANSWER_FD, REQUEST_FD, UNCONFINED};
use enclos_init::{channel, sys};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::ExitCode;

/// Longest request, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;

/// The answer of an operation.
type Answer = Result<FileReply, Fault>;

fn main() -> ExitCode {
    if sys::prctl(libc::PR_SET_DUMPABLE, 0).is_err() {
        return ExitCode::from(UNCONFINED);
    }
    // SAFETY: the init leaves the request at this number, and nothing else owns it.
    let request = File::from(unsafe { OwnedFd::from_raw_fd(REQUEST_FD) });
    // SAFETY: as above, the pipe for the answer.
    let pipe = File::from(unsafe { OwnedFd::from_raw_fd(ANSWER_FD) });
    let answer = match understand(request) {
        Ok((Asked::Op(op), _)) => execute(&op),
        Ok((Asked::Reveal(what), content)) => reveal::reveal(&what, content),
        Err(error) => Err(fault(FaultKind::BadArgument, format!("the operation is unknown: {error}"))),
    };
    if send(pipe, answer).is_ok() { ExitCode::SUCCESS } else { ExitCode::from(126) }
}

/// What is asked, and the request with its raw bytes still to be read.
fn understand(mut request: File) -> io::Result<(Asked, File)> {
    let mut length = [0; 8];
    request.read_exact(&mut length)?;
    let mut body = Vec::new();
    let length = u64::from_le_bytes(length);
    let read = (&request).take(length.min(LONGEST)).read_to_end(&mut body)?;
    if read as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok((serde_json::from_slice(&body)?, request))
}

fn send(mut pipe: File, answer: Answer) -> io::Result<()> {
    let (answer, blob) = match answer {
        Ok(FileReply::Bytes { size, bytes }) => (Ok(FileReply::Bytes { size, bytes: Vec::new() }), bytes),
        other => (other, Vec::new()),
    };
    let body = channel::pack(&serde_json::to_vec(&answer)?, &blob);
    pipe.write_all(&(body.len() as u64).to_le_bytes())?;
    pipe.write_all(&body)
}

fn execute(op: &FileOp) -> Answer {
    match op {
        FileOp::Read { path, offset_line, limit_lines, max_bytes } => {
            read::lines(path, *offset_line, *limit_lines, *max_bytes)
        }
        FileOp::ReadBytes { path, max } => read::bytes(path, *max),
        FileOp::List { path } => list::list(path),
        FileOp::Stat { path } => list::stat(path),
        FileOp::Look { words } => Ok(look::look(words)),
        FileOp::Glob { pattern, path } => search::glob(pattern, path),
        FileOp::Grep { regex, path, include } => search::grep(regex, path, include.as_deref()),
        FileOp::Write { path, content } => write::write(path, content),
        FileOp::Edit { path, old, new } => write::edit(path, old, new),
        FileOp::Delete { path, recursive } => delete::delete(path, *recursive),
    }
}

fn fault(kind: FaultKind, message: impl Into<String>) -> Fault {
    Fault { kind, message: message.into() }
}
