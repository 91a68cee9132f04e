//! The sandbox of a session, wherever it is: on this machine, or on an execution host. The session loop does not know
//! which; only opening and the end do.

use std::path::PathBuf;
use std::time::Duration;

use enclos_sandbox::host::{Claim, Remote, RemoteKiller};
use enclos_sandbox::{
    Background, Command, Exit, FileError, FileOp, FileReply, Killer as LocalKiller, Part, Report, RunError,
    Sandbox, Stream, Unmasked,
};

/// An open sandbox.
#[derive(Debug)]
pub(crate) enum Workplace {
    /// On this machine.
    Here(Box<Sandbox>),
    /// On an execution host.
    Host(Remote),
}

/// Ends what runs in it, from any thread, without waiting.
#[derive(Debug)]
pub(crate) enum Killer {
    /// On this machine.
    Here(LocalKiller),
    /// On an execution host.
    Host(RemoteKiller),
}

impl Killer {
    /// Ends the commands and file operations that run.
    pub(crate) fn kill_commands(&self) {
        match self {
            Self::Here(killer) => killer.kill_commands(),
            Self::Host(killer) => killer.kill_commands(),
        }
    }

    /// Ends the sandbox with all that runs in it.
    pub(crate) fn kill_all(&self) {
        match self {
            Self::Here(killer) => killer.kill_all(),
            Self::Host(killer) => killer.kill_all(),
        }
    }
}

impl Workplace {
    /// The place, as policy and variables call it.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Here(_) => "workstation",
            Self::Host(_) => "server",
        }
    }

    /// What was obtained; on a host, what it claims.
    pub(crate) fn report(&self) -> &Report {
        match self {
            Self::Here(sandbox) => sandbox.report(),
            Self::Host(remote) => remote.report(),
        }
    }

    /// What the host says of itself; nothing when there is none.
    pub(crate) fn claim(&self) -> Option<&Claim> {
        match self {
            Self::Here(_) => None,
            Self::Host(remote) => Some(remote.claim()),
        }
    }

    /// Whether nothing can be done in it any more because its host is lost.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Self::Here(_) => false,
            Self::Host(remote) => remote.is_lost(),
        }
    }

    /// Runs a command to its end.
    pub(crate) fn run(
        &self,
        command: &Command,
        output: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<Exit, RunError> {
        match self {
            Self::Here(sandbox) => sandbox.run(command, output),
            Self::Host(remote) => remote.run(command, output),
        }
    }

    /// Starts a command in the background; `ended` is told its end, once and from another thread.
    pub(crate) fn start_watched(
        &self,
        name: &str,
        command: &Command,
        ended: impl FnOnce(Background) + Send + 'static,
    ) -> Result<(), RunError> {
        match self {
            Self::Here(sandbox) => sandbox.start_watched(name, command, ended),
            Self::Host(remote) => remote.start_watched(name, command, ended),
        }
    }

    /// The background commands, those that have ended included.
    pub(crate) fn background(&self) -> Result<Vec<Background>, RunError> {
        match self {
            Self::Here(sandbox) => Ok(sandbox.background()),
            Self::Host(remote) => remote.background(),
        }
    }

    /// What a background command wrote from offset `from` on, at most `most` bytes of it.
    pub(crate) fn read_background(&self, name: &str, from: u64, most: usize) -> Result<Part, RunError> {
        match self {
            Self::Here(sandbox) => sandbox.read_background(name, from, most),
            Self::Host(remote) => remote.read_background(name, from, most),
        }
    }

    /// Waits until a background command has written more than `from` bytes, or has ended, but no longer than `most`.
    pub(crate) fn wait_background(&self, name: &str, from: u64, most: Duration) -> Result<(), RunError> {
        match self {
            Self::Here(sandbox) => sandbox.wait_background(name, from, most),
            Self::Host(remote) => remote.wait_background(name, from, most),
        }
    }

    /// Ends a background command with all its processes.
    pub(crate) fn kill_background(&self, name: &str) -> Result<(), RunError> {
        match self {
            Self::Here(sandbox) => sandbox.kill_background(name),
            Self::Host(remote) => remote.kill_background(name),
        }
    }

    /// Executes a file operation inside.
    pub(crate) fn file(&self, op: &FileOp) -> Result<FileReply, FileError> {
        match self {
            Self::Here(sandbox) => sandbox.file(op),
            Self::Host(remote) => remote.file(op),
        }
    }

    /// Puts files that are masked in their places.
    ///
    /// # Errors
    /// Why none can be.
    pub(crate) fn unmask(&self, paths: &[PathBuf]) -> Result<Vec<Unmasked>, String> {
        match self {
            Self::Here(sandbox) => sandbox.unmask(paths).map_err(|error| error.to_string()),
            Self::Host(_) => Err("an execution host is brought nothing above the project's level".to_owned()),
        }
    }

    /// Whether what is masked can be shown later.
    pub(crate) fn can_unmask(&self) -> bool {
        matches!(self, Self::Here(_))
    }

    /// A handle that ends commands or everything.
    pub(crate) fn killer(&self) -> Killer {
        match self {
            Self::Here(sandbox) => Killer::Here(sandbox.killer()),
            Self::Host(remote) => Killer::Host(remote.killer()),
        }
    }

    /// Ends everything inside and waits for it. What the session changed stays in its layer.
    pub(crate) fn close(self) {
        match self {
            Self::Here(sandbox) => sandbox.close(),
            Self::Host(remote) => remote.close(),
        }
    }
}
