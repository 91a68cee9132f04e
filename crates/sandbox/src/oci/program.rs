//! Running the engine's own program on the host: arguments as they are, never through a shell; an environment of exactly
//! what was passed; an end within a given time; and what it wrote, cut to a bounded length.
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, PidfdFlags};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Most bytes of an output that are looked at.
const MOST: u64 = 1024 * 1024;

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) program: &'static str,
    pub(super) arguments: Vec<OsString>,
}

impl Line {
    pub(super) fn new(program: &'static str) -> Self {
        Self { program, arguments: Vec::new() }
    }

    /// With one more argument.
    #[must_use]
    pub(super) fn with(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// With more arguments.
    #[must_use]
    pub(super) fn and<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// With a file that belongs to the engine: it is searched for in `PATH` of this environment.
    pub(super) fn start(&self, environment: &[(String, String)]) -> io::Result<Running> {
        let (out, error) = (file()?, file()?);
        #[expect(
            clippy::disallowed_methods,
            reason = "the engine is a program of the host, named by the configuration"
        )]
        let mut command = Command::new(self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(error.try_clone()?);
        let child = command.spawn()?;
        let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(rustix::io::Errno::SRCH)?;
        let process = rustix::process::pidfd_open(number, PidfdFlags::empty())?;
        Ok(Running { child, process, out, error })
    }

    /// Runs to the end, but no longer than `patience`.
    pub(super) fn run(&self, environment: &[(String, String)], patience: Duration) -> io::Result<Ended> {
        let mut running = self.start(environment)?;
        if !readable(&running.process, patience)? {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it did not end in time"));
        }
        running.end()
    }
}

/// A file in memory, for what a program writes: unlike a pipe it holds up nobody who keeps it open.
fn file() -> io::Result<File> {
    Ok(rustix::fs::memfd_create(c"output", MemfdFlags::CLOEXEC)?.into())
}

/// A program at work. It is ended when nobody wants it any more.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    /// Can be read when it has ended.
    pub(super) process: OwnedFd,
    out: File,
    error: File,
}

impl Running {
    /// Waits for its end.
    pub(super) fn end(&mut self) -> io::Result<Ended> {
        let status = self.child.wait()?;
        Ok(Ended { status, out: text(&mut self.out)?, error: text(&mut self.error)? })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended, and been waited for, already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a program ended, and what it wrote.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) out: String,
    error: String,
}

impl Ended {
    /// What it says went wrong: its last line.
    pub(super) fn complaint(&self) -> String {
        let line = self.error.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let line: String =
            line.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(600).collect();
        if line.is_empty() { format!("it ended with {}", self.status) } else { line }
    }
}

fn text(file: &mut File) -> io::Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether a descriptor can be read within `patience`.
pub(super) fn readable(fd: &OwnedFd, patience: Duration) -> io::Result<bool> {
    Ok(first_readable(&[fd], patience)?.is_some())
}

/// Which of some descriptors can be read first, within `patience`.
pub(super) fn first_readable(fds: &[&OwnedFd], patience: Duration) -> io::Result<Option<usize>> {
    let end = Instant::now() + patience;
    loop {
        let mut polled: Vec<_> = fds.iter().map(|fd| PollFd::new(*fd, PollFlags::IN)).collect();
        let left = end.saturating_duration_since(Instant::now());
        let limit = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        match rustix::event::poll(&mut polled, Some(&limit)) {
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
            Ok(_) => return Ok(polled.iter().position(|fd| !fd.revents().is_empty())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_and_environment_are_exactly_those_given() {
        let line = Line::new("bash").and(["-c", "printf '%s|' \"$@\"; env -u _ -u PWD -u SHLVL", "x"]);
        let line = line.with("a b").with("$(id)");
        let path = ("PATH".to_owned(), "/usr/bin:/bin".to_owned());
        let ended = line.run(&[path], Duration::from_mins(1)).unwrap();
        assert_eq!((ended.status.code(), ended.out.as_str()), (Some(0), "a b|$(id)|PATH=/usr/bin:/bin\n"));
    }

    #[test]
    fn a_complaint_is_its_last_line_and_harmless() {
        let line = Line::new("bash").and(["-c", "echo first >&2; printf 'bad\\033[31m\\n\\n' >&2; exit 7"]);
        let ended = line.run(&[("PATH".into(), "/usr/bin:/bin".into())], Duration::from_mins(1)).unwrap();
        assert_eq!(ended.status.code(), Some(7));
        assert_eq!(ended.complaint(), "bad [31m");
    }

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let line = Line::new("sleep").with("600");
        let error =
            line.run(&[("PATH".into(), "/usr/bin:/bin".into())], Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
