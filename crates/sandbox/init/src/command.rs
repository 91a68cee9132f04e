//! One command: a process that is PID 1 of its own namespace, confines itself, starts bash, reaps whatever ends, and
//! tells how bash ended when nothing else of the command is left. When it is killed all of the command ends with it:
//! the kernel sees to that.
use crate::confine::Confinement;
use crate::fault::{At, Done};
use crate::process::{self, Side, Signals};
use crate::terminal;
use enclos_init::channel::{self, Frame};
use enclos_init::sys;
use enclos_init::wire::{Kind, Run, Step, WORKSPACE, from_bytes, to_bytes};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, WaitOptions};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// How long what bash left behind may go on: enough for a process substitution to write its last line.
const GRACE: Duration = Duration::from_millis(100);

/// The program, its arguments and its environment, ready for the call.
struct Prepared {
    arguments: Vec<CString>,
    environment: Vec<CString>,
}

/// What a command reads and writes.
enum Streams {
    /// Two pipes, and nothing to read.
    Pipes(OwnedFd, OwnedFd),
    /// A terminal of its own.
    Terminal(OwnedFd),
}

/// What a command's first process tells the init, in twelve bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Bash ended: a raw wait status.
    Ended(i32),
    /// A step failed and bash did not start.
    Failed(Step, i32),
}

impl Outcome {
    fn encode(self) -> [u8; 12] {
        to_bytes(match self {
            Self::Ended(status) => [1, status, 0],
            Self::Failed(step, errno) => {
                let place = Step::ALL.iter().position(|other| *other == step).unwrap_or(0);
                [2, i32::try_from(place).unwrap_or(0), errno]
            }
        })
    }

    /// What the pipe holds; `None` when the process ended without a word.
    pub(crate) fn read(pipe: &OwnedFd) -> Option<Self> {
        let mut bytes = [0; 12];
        if rustix::io::read(pipe, &mut bytes).ok()? != bytes.len() {
            return None;
        }
        match from_bytes(&bytes) {
            [1, status, _] => Some(Self::Ended(status)),
            [2, step, errno] => Some(Self::Failed(*Step::ALL.get(usize::try_from(step).ok()?)?, errno)),
            _ => None,
        }
    }
}

/// A first process that is confined already, or about to be, and waits for its command.
pub(crate) struct Waiting {
    /// It.
    pub(crate) pid: Pid,
    /// Where it is told its command.
    socket: OwnedFd,
    /// Where it tells how bash ended.
    pub(crate) outcome: OwnedFd,
}

impl Waiting {
    /// Makes one. It confines itself at once: by the time a command comes most of the work is done.
    pub(crate) fn start(confinement: &Confinement, environment: &[String]) -> io::Result<Self> {
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        match process::fork_apart()? {
            Side::Parent(pid) => Ok(Self { pid, socket: ours, outcome: reader }),
            Side::Child => first(&theirs, &writer, confinement, environment),
        }
    }

    /// Gives it its command: a [`Run`] as it came, stdout and stderr.
    pub(crate) fn give(&self, body: &[u8], streams: &[OwnedFd; 2]) -> io::Result<()> {
        let [out, error] = streams;
        channel::send(&self.socket, Kind::Run, 0, body, &[out.as_fd(), error.as_fd()])
    }
}

/// PID 1 of a command.
fn first(socket: &OwnedFd, writer: &OwnedFd, confinement: &Confinement, environment: &[String]) -> ! {
    sys::run_soon();
    let confined = close_all_but(&[socket.as_raw_fd(), writer.as_raw_fd()])
        .at(Step::Privileges, "closing descriptors")
        .and_then(|()| confinement.command());
    // Whatever came of it is told when a command comes: nobody listens before.
    let Ok(Some(frame)) = channel::receive(socket) else { process::exit(0) };
    let outcome = match confined.and_then(|()| begin(frame, environment).at(Step::System, "starting bash")) {
        Err(failure) => Outcome::Failed(failure.step, failure.errno),
        Ok((prepared, streams)) => match process::fork() {
            Err(error) => Outcome::Failed(Step::Limits, error.raw_os_error().unwrap_or(libc::EAGAIN)),
            Ok(Side::Child) => {
                let error = bash(&prepared, &streams, writer);
                Outcome::Failed(Step::System, error.raw_os_error().unwrap_or(libc::EIO))
            }
            Ok(Side::Parent(pid)) => {
                drop(streams);
                Outcome::Ended(reap(pid))
            }
        },
    };
    // Nobody to tell when this fails: the init sees the end without a word.
    let _ = rustix::io::write(writer, &outcome.encode());
    process::exit(0)
}

/// The command as it is executed, and its streams.
fn begin(frame: Frame, environment: &[String]) -> io::Result<(Prepared, Streams)> {
    let text = |text: &str| CString::new(text).map_err(io::Error::from);
    let run: Run = serde_json::from_slice(&frame.body)?;
    let [out, error] =
        <[OwnedFd; 2]>::try_from(frame.fds).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    let arguments = ["bash", "--noprofile", "--norc", "-c", "--", &run.text].into_iter().map(text);
    let mut prepared = Prepared {
        arguments: arguments.collect::<Result<_, _>>()?,
        environment: environment.iter().map(|variable| text(variable)).collect::<Result<_, _>>()?,
    };
    if !run.terminal {
        return Ok((prepared, Streams::Pipes(out, error)));
    }
    let (ours, slave) = terminal::open()?;
    channel::send(&out, Kind::Terminal, 0, &[], &[ours.as_fd()])?;
    prepared.environment.retain(|variable| !variable.as_bytes().starts_with(b"TERM="));
    prepared.environment.push(c"TERM=xterm".into());
    Ok((prepared, Streams::Terminal(slave)))
}

/// Becomes bash. Answers only when that fails.
fn bash(prepared: &Prepared, streams: &Streams, writer: &OwnedFd) -> io::Error {
    let ready = || -> io::Result<()> {
        rustix::process::setsid()?;
        match streams {
            Streams::Pipes(out, error) => {
                rustix::stdio::dup2_stdout(out)?;
                rustix::stdio::dup2_stderr(error)?;
            }
            Streams::Terminal(slave) => terminal::take(slave)?,
        }
        close_all_but(&[writer.as_raw_fd()])?;
        std::env::set_current_dir(WORKSPACE)?;
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
        process::default_signals()
    };
    match ready() {
        Ok(()) => process::execute(c"/bin/bash", &prepared.arguments, &prepared.environment),
        Err(error) => error,
    }
}

/// Waits for bash and reaps everything else; passes a polite end on to all. Answers bash's wait status when no other
/// process of the namespace is left: what bash left behind is given a moment, then killed.
fn reap(bash: Pid) -> i32 {
    let signals = Signals::of(&[libc::SIGCHLD, libc::SIGTERM]);
    let mut ended: Option<(i32, Instant)> = None;
    loop {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == bash => ended = Some((status.as_raw(), Instant::now())),
                Ok(Some(_)) => {}
                Ok(None) => break,
                // No child is left: every orphan of the namespace is a child of this process.
                Err(_) => return ended.map_or(0, |(status, _)| status),
            }
        }
        let rest = ended.map(|(_, since)| GRACE.saturating_sub(since.elapsed()));
        if rest == Some(Duration::ZERO) {
            process::signal_all(libc::SIGKILL);
        }
        let rest = rest.map(|rest| rest.max(Duration::from_millis(1)));
        // Only the init, outside of this namespace, may ask for the end.
        if let Some((libc::SIGTERM, true)) = signals.wait(rest) {
            process::signal_all(libc::SIGTERM);
        }
    }
}

/// Closes every descriptor above the three standard ones that is not in `keep`.
pub(crate) fn close_all_but(keep: &[RawFd]) -> io::Result<()> {
    let mut keep: Vec<u32> = keep.iter().filter_map(|fd| u32::try_from(*fd).ok()).collect();
    keep.sort_unstable();
    let mut first = 3;
    for fd in keep {
        if fd >= first {
            if fd > first {
                sys::close_range(first, fd - 1)?;
            }
            first = fd + 1;
        }
    }
    sys::close_range(first, u32::MAX)
}

/// Blocks the signals that the init and the first process of a command wait for.
pub(crate) fn block_signals() -> Done<OwnedFd> {
    let both = Signals::of(&[libc::SIGCHLD, libc::SIGTERM]);
    both.block_only().at(Step::Ready, "blocking signals")?;
    Signals::of(&[libc::SIGCHLD]).descriptor().at(Step::Ready, "waiting for children")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_come_back() {
        for outcome in [Outcome::Ended(-1), Outcome::Ended(0x8b00), Outcome::Failed(Step::Seccomp, 13)] {
            let (reader, writer) = rustix::pipe::pipe().unwrap();
            rustix::io::write(&writer, &outcome.encode()).unwrap();
            drop(writer);
            assert_eq!(Outcome::read(&reader), Some(outcome));
            assert_eq!(Outcome::read(&reader), None);
        }
    }
}
