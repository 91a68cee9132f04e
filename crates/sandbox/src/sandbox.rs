//! An open sandbox: its handle, and the handle that ends it from elsewhere. Opening it is in `open`.
use crate::background::{Background, Jobs, Part};
use crate::cgroup::Groups;
use crate::command::{Command, Exit, Stream};
use crate::error::{FileError, RunError};
use crate::launch::Started;
use crate::oci::Container;
use crate::plan::Limits;
use crate::quota::Quota;
use crate::report::Report;
use crate::state::{self, Layer};
use crate::unmask::Masked;
use crate::{call, life, run};
use enclos_init::channel::{self, Frame};
use enclos_init::file::{FileOp, FileReply};
use enclos_init::wire::{BACKGROUND, Failure, Kind, Step};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A living sandbox. Dropping it ends everything inside and waits for that; what the session changed stays in the
/// layer.
#[derive(Debug)]
pub struct Sandbox {
    pub(crate) life: Life,
    pub(crate) limits: Limits,
    pub(crate) report: Report,
    /// What is not shown until it is unmasked.
    pub(crate) masked: Masked,
    requests: AtomicU32,
    /// Goes after `life`: its threads end when the processes do.
    jobs: Jobs,
}

/// A started init with all that goes away with it, in this order: processes, what they threw away, the container, control
/// groups, the disk quota.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) shared: Arc<Shared>,
    /// What is around it, if anything is: removed while the layer is still held.
    pub(crate) container: Option<Container>,
    pub(crate) layer: Layer,
    pub(crate) groups: Groups,
    pub(crate) quota: Option<Quota>,
    limits_in_force: Mutex<InForce>,
}

/// Whether the sandbox is in its control groups. The kernel may take its time over that, so it is done while the caller
/// goes on, and waited for before anything of the agent's runs.
#[derive(Debug, Clone, Copy)]
enum InForce {
    /// Under way: the init will say when it is in them.
    Coming,
    /// Done.
    Yes,
    /// Failed: nothing will run.
    No(Option<i32>),
}

/// What killers share with the sandbox.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) started: Started,
    stopped: AtomicBool,
}

impl Shared {
    /// Whether a killer has ended the sandbox.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }
}

impl Life {
    pub(crate) fn new(started: Started, layer: Layer) -> Self {
        let shared = Arc::new(Shared { started, stopped: AtomicBool::new(false) });
        Self {
            shared,
            container: None,
            layer,
            groups: Groups::default(),
            quota: None,
            limits_in_force: Mutex::new(InForce::Yes),
        }
    }

    /// The init was told to go into its groups.
    pub(crate) fn limits_are_coming(&self) {
        *self.limits_in_force.lock().unwrap_or_else(PoisonError::into_inner) = InForce::Coming;
    }

    /// Waits until the limits are in force.
    fn wait_for_limits(&self) -> Result<(), RunError> {
        let mut state = self.limits_in_force.lock().unwrap_or_else(PoisonError::into_inner);
        if let InForce::Coming = *state {
            *state = match channel::receive(&self.shared.started.control) {
                Ok(Some(Frame { kind: Kind::Ready, .. })) => InForce::Yes,
                Ok(Some(Frame { kind: Kind::Failed, body, .. })) => {
                    InForce::No(serde_json::from_slice::<Failure>(&body).ok().map(|failure| failure.errno))
                }
                Ok(_) => InForce::No(None),
                Err(error) => InForce::No(error.raw_os_error()),
            };
        }
        match *state {
            InForce::Yes => Ok(()),
            _ if self.shared.stopped() => Err(RunError::Closed),
            InForce::Coming => Err(RunError::Closed),
            InForce::No(errno) => {
                let source = io::Error::from_raw_os_error(errno.unwrap_or(libc::EIO));
                Err(RunError::Confine { step: Step::Limits, source })
            }
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        life::end(&self.shared.started.process);
        // What cannot be removed now is removed when the layer is used again, or with it.
        let _ = state::discard_scratch(&self.layer.directory);
    }
}

impl Sandbox {
    pub(crate) fn new(life: Life, limits: Limits, report: Report, masked: Masked) -> Self {
        Self { life, limits, report, masked, requests: AtomicU32::new(0), jobs: Jobs::default() }
    }

    /// What was obtained.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Runs a command to its end; blocking. Several may run at the same time, from several threads. `output` is
    /// handed the bytes that are kept, as they come; the limits hold however long it takes.
    pub fn run(&self, command: &Command, output: &mut dyn FnMut(Stream, &[u8])) -> Result<Exit, RunError> {
        self.life.wait_for_limits()?;
        run::run(&self.life.shared, self.request(), &self.limits, command, output)
    }

    /// Starts a command in the background, under a name that no other at work has. It runs until it ends, is ended, or the
    /// sandbox is; a limit of time holds only when the command has one. At most [`crate::BACKGROUND_COMMANDS`] are at
    /// work at the same time, and all ceilings of the sandbox count them.
    pub fn start(&self, name: &str, command: &Command) -> Result<(), RunError> {
        self.start_watched(name, command, |_| {})
    }

    /// As [`Sandbox::start`]; `ended` is told the end of the command, whatever brings it about, once and from another
    /// thread. It must neither block nor hold the sandbox.
    pub fn start_watched(
        &self,
        name: &str,
        command: &Command,
        ended: impl FnOnce(Background) + Send + 'static,
    ) -> Result<(), RunError> {
        self.life.wait_for_limits()?;
        self.jobs.start(&self.life.shared, self.request(), &self.limits, name, command, Box::new(ended))
    }

    /// The background commands, in the order of their start, those that have ended included.
    pub fn background(&self) -> Vec<Background> {
        self.jobs.all()
    }

    /// What a background command wrote from offset `from` on, at most `most` bytes of it.
    pub fn read_background(&self, name: &str, from: u64, most: usize) -> Result<Part, RunError> {
        self.jobs.read(name, from, most)
    }

    /// Waits until a background command has written more than `from` bytes, or has ended, but no longer than `most`.
    pub fn wait_background(&self, name: &str, from: u64, most: Duration) -> Result<(), RunError> {
        self.jobs.wait(name, from, most)
    }

    /// Ends a background command with all its processes. It may have ended already.
    pub fn kill_background(&self, name: &str) -> Result<(), RunError> {
        let id = self.jobs.id(name)?;
        // A sandbox that is gone has no commands.
        let _ = channel::send(&self.life.shared.started.control, Kind::Kill, id, &[], &[]);
        Ok(())
    }

    /// Executes a file operation inside; blocking, and several may be under way.
    pub fn file(&self, op: &FileOp) -> Result<FileReply, FileError> {
        self.life.wait_for_limits()?;
        call::call(&self.life.shared, self.request(), op)
    }

    /// Waits until something may be done inside.
    pub(crate) fn wait(&self) -> Result<(), RunError> {
        self.life.wait_for_limits()
    }

    /// A handle that ends commands or everything from any thread.
    pub fn killer(&self) -> Killer {
        Killer { shared: Arc::clone(&self.life.shared) }
    }

    /// Ends everything inside and waits for it; what the session changed stays in the layer.
    pub fn close(self) {}

    /// Numbers of requests: never 0, which means all, and below those of the background.
    pub(crate) fn request(&self) -> u32 {
        self.requests.fetch_add(1, Ordering::Relaxed) % (BACKGROUND - 1) + 1
    }
}

/// Ends what runs in a sandbox, from any thread, without waiting.
#[derive(Debug, Clone)]
pub struct Killer {
    shared: Arc<Shared>,
}

impl Killer {
    /// Ends the running commands and file operations with all their processes. The sandbox lives on, and so do commands in
    /// the background.
    pub fn kill_commands(&self) {
        // A sandbox that is gone has no commands.
        let _ = channel::send(&self.shared.started.control, Kind::Kill, 0, &[], &[]);
    }

    /// Ends the sandbox with all that runs in it.
    pub fn kill_all(&self) {
        self.shared.stopped.store(true, Ordering::Release);
        life::kill(&self.shared.started.process);
    }
}
