//! Signals of the process while a session runs: each is caught and told, none ends the process by itself.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::CommandError;
use crate::exit::Exit;

/// A signal that was caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caught {
    /// Ctrl-C, or `kill -INT`.
    Interrupt,
    /// Ctrl-\, or `kill -QUIT`.
    Quit,
    /// `kill -TERM`.
    Terminate,
    /// The terminal is gone.
    HangUp,
}

impl Caught {
    /// The exit code of a run that this signal ended.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Self::Interrupt | Self::Quit => Exit::Interrupted,
            Self::Terminate => Exit::Terminated,
            Self::HangUp => Exit::HungUp,
        }
    }
}

/// The signals of the process.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    quit: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Begins to catch. Must be called within a runtime.
    pub(crate) fn catch() -> Result<Self, CommandError> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// The next signal. Dropping the future loses none.
    pub(crate) async fn next(&mut self) -> Caught {
        tokio::select! {
            _ = self.interrupt.recv() => Caught::Interrupt,
            _ = self.quit.recv() => Caught::Quit,
            _ = self.terminate.recv() => Caught::Terminate,
            _ = self.hang_up.recv() => Caught::HangUp,
        }
    }
}
