//! Running a command, seen from outside: three channels are read until the init says that nothing of the command is
//! left. Bytes past the limit are counted from one fixed buffer and forgotten. A command with a terminal sends that first.
use crate::command::{Command, Counted, Exit, Killed, Stream};
use crate::error::RunError;
use crate::kept;
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
use std::time::{Duration, Instant};

/// Size of the one buffer.
const BUFFER: usize = 64 * 1024;
/// Buffers that are read of a stream after the end. The command's processes are dead then, and a pipe holds 1 MiB at
/// most: more can only come from another command that was handed the pipe, which is not waited for.
const LAST_BUFFERS: u32 = 32;

/// Takes what a command writes.
pub(crate) trait Sink {
    fn take(&mut self, stream: Stream, bytes: &[u8]);
}

/// Refuses what cannot be handed to bash.
pub(crate) fn check(command: &Command) -> Result<(), RunError> {
    if command.text.len() > COMMAND_BYTES || command.text.contains('\0') {
        let message = format!("it must be at most {COMMAND_BYTES} bytes long and hold no NUL");
        return Err(RunError::BadCommand(message));
    }
    Ok(())
}

/// Runs it.
pub(crate) fn run(
    shared: &Shared,
    id: u32,
    limits: &Limits,
    command: &Command,
    output: &mut dyn FnMut(Stream, &[u8]),
) -> Result<Exit, RunError> {
    check(command)?;
    let seconds = command.seconds.unwrap_or(limits.command_seconds).min(limits.command_seconds);
    let start = Instant::now();
    let room = command.output_bytes.unwrap_or(limits.output_bytes).min(limits.output_bytes);
    let (head, tail) = kept::divide(room, command.keep);
    let mut bounded =
        Bounded { room: head, counted: [Counted::default(); 2], tail: kept::Tail::new(tail), output };
    let ended = begin(shared, id, u64::from(seconds) * 1000, command)?.follow(shared, &mut bounded)?;
    let (parts, kept) = bounded.tail.finish();
    let [mut stdout, mut stderr] = bounded.counted;
    for (counted, kept) in [&mut stdout, &mut stderr].into_iter().zip(kept) {
        counted.kept += kept;
        counted.dropped -= kept;
    }
    Ok(exit(&ended, start.elapsed(), stdout, stderr, parts))
}

/// Hands out the beginning, keeps the end, counts the rest.
struct Bounded<'a> {
    room: u64,
    counted: [Counted; 2],
    tail: kept::Tail,
    output: &'a mut dyn FnMut(Stream, &[u8]),
}

impl Sink for Bounded<'_> {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let room = usize::try_from(self.room).unwrap_or(usize::MAX);
        let (head, rest) = bytes.split_at(bytes.len().min(room));
        self.room -= head.len() as u64;
        let [stdout, stderr] = &mut self.counted;
        let counted = if stream == Stream::Stdout { stdout } else { stderr };
        counted.kept += head.len() as u64;
        counted.dropped += rest.len() as u64;
        if !head.is_empty() {
            (self.output)(stream, head);
        }
        self.tail.push(stream, rest);
    }
}

/// A command that the init was asked to run.
pub(crate) struct Begun {
    channel: OwnedFd,
    streams: [(Stream, Source); 2],
}

/// Has the init run a command.
pub(crate) fn begin(
    shared: &Shared,
    id: u32,
    milliseconds: u64,
    command: &Command,
) -> Result<Begun, RunError> {
    let request = Run { text: command.text.clone(), milliseconds, terminal: command.terminal };
    let body = serde_json::to_vec(&request).map_err(io::Error::from)?;
    let (stdout, stdout_in) = if command.terminal { pair()? } else { pipe()? };
    let (stderr, stderr_in) = pipe()?;
    let channel = ask(shared, Kind::Run, id, &body, &[stdout_in.as_fd(), stderr_in.as_fd()])?;
    let first = if command.terminal { Source::Coming(stdout) } else { Source::Open(stdout) };
    Ok(Begun { channel, streams: [(Stream::Stdout, first), (Stream::Stderr, Source::Open(stderr))] })
}

impl Begun {
    /// Reads its output until nothing of it is left.
    pub(crate) fn follow(self, shared: &Shared, sink: &mut dyn Sink) -> Result<Ended, RunError> {
        let mut pump = Pump { streams: self.streams, buffer: vec![0; BUFFER], sink };
        started(pump.until_ended(&self.channel, shared)?)
    }
}

/// An end of a command that was started.
fn started(ended: Ended) -> Result<Ended, RunError> {
    match ended.failed {
        Some((step, errno)) => Err(RunError::Confine { step, source: io::Error::from_raw_os_error(errno) }),
        None => Ok(ended),
    }
}

/// The end as callers see it.
pub(crate) fn exit(
    ended: &Ended,
    duration: Duration,
    stdout: Counted,
    stderr: Counted,
    tail: Vec<(Stream, Vec<u8>)>,
) -> Exit {
    let killed = ended.reason.map(killed);
    Exit { code: ended.code, signal: ended.signal, killed, duration, stdout, stderr, tail }
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

/// Where a stream is read.
enum Source {
    /// A terminal that is still to come, on this socket.
    Coming(OwnedFd),
    /// Here.
    Open(OwnedFd),
    /// It has ended.
    Closed,
}

impl Source {
    fn fd(&self) -> Option<&OwnedFd> {
        match self {
            Self::Coming(fd) | Self::Open(fd) => Some(fd),
            Self::Closed => None,
        }
    }
}

/// What is read, and where that goes.
struct Pump<'a> {
    streams: [(Stream, Source); 2],
    buffer: Vec<u8>,
    sink: &'a mut dyn Sink,
}

impl Pump<'_> {
    fn until_ended(&mut self, channel: &OwnedFd, shared: &Shared) -> Result<Ended, RunError> {
        loop {
            let mut polled = vec![PollFd::new(channel, PollFlags::IN)];
            polled.extend(
                self.streams
                    .iter()
                    .filter_map(|(_, source)| source.fd())
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
        let Some((stream, source)) = self.streams.get_mut(place) else { return Ok(false) };
        let fd = match source {
            Source::Closed => return Ok(false),
            Source::Coming(socket) => {
                return match terminal(socket) {
                    Ok(None) => Ok(false),
                    Ok(Some(arrived)) => {
                        *source = arrived;
                        Ok(true)
                    }
                    Err(error) => Err(error.into()),
                };
            }
            Source::Open(fd) => fd,
        };
        match rustix::io::read(&*fd, &mut self.buffer) {
            // A terminal that nobody has open any more says it with an error.
            Ok(0) | Err(Errno::IO) => {
                *source = Source::Closed;
                Ok(false)
            }
            Ok(length) => {
                self.sink.take(*stream, self.buffer.get(..length).unwrap_or_default());
                Ok(true)
            }
            Err(Errno::AGAIN) => Ok(false),
            Err(Errno::INTR) => Ok(true),
            Err(errno) => Err(io::Error::from(errno).into()),
        }
    }
}

/// The terminal that a command's first process sends: `None` when it is not there yet, closed when none will come.
fn terminal(socket: &OwnedFd) -> io::Result<Option<Source>> {
    let frame = match channel::receive(socket) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
        other => other?,
    };
    match frame.and_then(|frame| frame.fds.into_iter().next()) {
        None => Ok(Some(Source::Closed)),
        Some(fd) => {
            rustix::fs::fcntl_setfl(&fd, rustix::fs::OFlags::NONBLOCK)?;
            Ok(Some(Source::Open(fd)))
        }
    }
}

/// A socket on which a terminal comes; its reader never blocks.
fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    rustix::fs::fcntl_setfl(&reader, rustix::fs::OFlags::NONBLOCK)?;
    Ok((reader, writer))
}
