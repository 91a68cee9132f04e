//! Running a command, seen from outside: three channels are read until the init says that nothing of the command is
//! left. Bytes past the limit are counted from one fixed buffer and forgotten.
use crate::command::{Command, Counted, Exit, Killed, Stream};
use crate::error::RunError;
use crate::plan::Limits;
use crate::sandbox::Shared;
use enclos_init::channel::{self, Frame};
use enclos_init::wire::{COMMAND_BYTES, Ended, Kind, Reason, Run};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

/// Size of the one buffer.
const BUFFER: usize = 64 * 1024;
/// Buffers that are read of a stream after the end. The command's processes are dead then, and a pipe holds 1 MiB at
/// most: more can only come from another command that was handed the pipe, which is not waited for.
const LAST_BUFFERS: u32 = 32;

/// Runs it.
pub(crate) fn run(
    shared: &Shared,
    id: u32,
    limits: &Limits,
    command: &Command,
    output: &mut dyn FnMut(Stream, &[u8]),
) -> Result<Exit, RunError> {
    if command.text.len() > COMMAND_BYTES || command.text.contains('\0') {
        let message = format!("it must be at most {COMMAND_BYTES} bytes long and hold no NUL");
        return Err(RunError::BadCommand(message));
    }
    let seconds = command.seconds.unwrap_or(limits.command_seconds).min(limits.command_seconds);
    let request = Run { text: command.text.clone(), milliseconds: u64::from(seconds) * 1000 };
    let body = serde_json::to_vec(&request).map_err(io::Error::from)?;
    let start = Instant::now();
    let (stdout, stdout_in) = pipe()?;
    let (stderr, stderr_in) = pipe()?;
    let channel = ask(shared, Kind::Run, id, &body, &[stdout_in.as_fd(), stderr_in.as_fd()])?;
    drop((stdout_in, stderr_in));
    let mut pump = Pump {
        streams: [
            (Stream::Stdout, Some(stdout), Counted::default()),
            (Stream::Stderr, Some(stderr), Counted::default()),
        ],
        room: command.output_bytes.unwrap_or(limits.output_bytes).min(limits.output_bytes),
        buffer: vec![0; BUFFER],
        output,
    };
    let ended = pump.until_ended(&channel, shared)?;
    let [(_, _, stdout), (_, _, stderr)] = pump.streams;
    if let Some((step, errno)) = ended.failed {
        return Err(RunError::Confine { step, source: io::Error::from_raw_os_error(errno) });
    }
    Ok(Exit {
        code: ended.code,
        signal: ended.signal,
        killed: ended.reason.map(killed),
        duration: start.elapsed(),
        stdout,
        stderr,
    })
}

const fn killed(reason: Reason) -> Killed {
    match reason {
        Reason::Timeout => Killed::Timeout,
        Reason::Oom => Killed::Oom,
        Reason::Stop => Killed::Stop,
        Reason::Disk => Killed::Disk,
        Reason::Processes => Killed::Processes,
    }
}

/// A pipe whose reader never blocks.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    rustix::fs::fcntl_setfl(&reader, rustix::fs::OFlags::NONBLOCK)?;
    Ok((reader, writer))
}

/// Sends a request with a channel of its own, and answers this side's end of it.
pub(crate) fn ask(
    shared: &Shared,
    kind: Kind,
    id: u32,
    body: &[u8],
    fds: &[std::os::fd::BorrowedFd<'_>],
) -> Result<OwnedFd, RunError> {
    let (ours, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(io::Error::from)?;
    let mut all = vec![theirs.as_fd()];
    all.extend_from_slice(fds);
    match channel::send(&shared.started.control, kind, id, body, &all) {
        Ok(()) => Ok(ours),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(RunError::Closed),
        Err(error) => Err(error.into()),
    }
}

/// The init's word on a request's channel: how it ended, or that the sandbox is gone.
pub(crate) fn ended(channel: &OwnedFd, shared: &Shared) -> Result<Ended, RunError> {
    match channel::receive(channel)? {
        Some(Frame { kind: Kind::Ended, body, .. }) => {
            Ok(serde_json::from_slice(&body).map_err(io::Error::from)?)
        }
        Some(_) => {
            Err(RunError::Io(io::Error::new(io::ErrorKind::InvalidData, "an answer of an unknown kind")))
        }
        // The init is gone: because of a killer, which is an end like any other, or for no reason known here.
        None if shared.stopped() => {
            Ok(Ended { code: None, signal: Some(libc::SIGKILL), reason: Some(Reason::Stop), failed: None })
        }
        None => Err(RunError::Closed),
    }
}

/// What is read, how much of it is kept, and where that goes.
struct Pump<'a> {
    streams: [(Stream, Option<OwnedFd>, Counted); 2],
    room: u64,
    buffer: Vec<u8>,
    output: &'a mut dyn FnMut(Stream, &[u8]),
}

impl Pump<'_> {
    fn until_ended(&mut self, channel: &OwnedFd, shared: &Shared) -> Result<Ended, RunError> {
        loop {
            let mut polled = vec![PollFd::new(channel, PollFlags::IN)];
            polled.extend(
                self.streams
                    .iter()
                    .filter_map(|(_, fd, _)| fd.as_ref())
                    .map(|fd| PollFd::new(fd, PollFlags::IN)),
            );
            match rustix::event::poll(&mut polled, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(io::Error::from(errno).into()),
            }
            let over = polled.first().is_some_and(|fd| !fd.revents().is_empty());
            for place in 0..self.streams.len() {
                let mut buffers = 1;
                while self.read(place)? && over && buffers < LAST_BUFFERS {
                    buffers += 1;
                }
            }
            if over {
                return ended(channel, shared);
            }
        }
    }

    /// Takes one buffer of a stream; whether there may be more at once.
    fn read(&mut self, place: usize) -> Result<bool, RunError> {
        let Some((stream, slot, counted)) = self.streams.get_mut(place) else { return Ok(false) };
        let Some(fd) = slot else { return Ok(false) };
        let length = match rustix::io::read(&*fd, &mut self.buffer) {
            Ok(0) => {
                *slot = None;
                return Ok(false);
            }
            Ok(length) => length,
            Err(Errno::AGAIN) => return Ok(false),
            Err(Errno::INTR) => return Ok(true),
            Err(errno) => return Err(io::Error::from(errno).into()),
        };
        let kept = u64::try_from(length).unwrap_or(u64::MAX).min(self.room);
        self.room -= kept;
        counted.kept += kept;
        counted.dropped += length as u64 - kept;
        let bytes = self.buffer.get(..usize::try_from(kept).unwrap_or(0)).unwrap_or_default();
        if !bytes.is_empty() {
            (self.output)(*stream, bytes);
        }
        Ok(true)
    }
}
