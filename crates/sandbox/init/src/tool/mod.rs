//! File operations, each in a child of its own that is confined to the workspace and `/tmp` before it looks at what
//! is asked. Its answer goes into a pipe: a length, then JSON, then raw bytes.
mod delete;
mod list;
mod nearest;
mod path;
mod read;
mod search;
mod write;

use crate::command::close_all_but;
use crate::confine::Confinement;
use crate::process::{self, Side};
use enclos_init::channel;
use enclos_init::file::{Fault, FaultKind, FileOp, FileReply};
use rustix::process::Pid;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};

/// The answer of an operation.
type Answer = Result<FileReply, Fault>;

/// Starts the operation in `body`; its answer goes into `pipe`.
pub(crate) fn start(body: &[u8], pipe: OwnedFd, confinement: &Confinement) -> io::Result<Pid> {
    match process::fork()? {
        Side::Parent(pid) => Ok(pid),
        Side::Child => {
            let begun = close_all_but(&[pipe.as_raw_fd()]).is_ok()
                && confinement.tool().is_ok()
                && process::default_signals().is_ok();
            if !begun {
                process::exit(125);
            }
            let answer = match serde_json::from_slice(body) {
                Ok(op) => execute(&op),
                Err(error) => {
                    Err(fault(FaultKind::BadArgument, format!("the operation is unknown: {error}")))
                }
            };
            process::exit(if send(File::from(pipe), answer).is_ok() { 0 } else { 126 })
        }
    }
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
