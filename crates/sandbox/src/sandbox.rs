//! An open sandbox: its handle, and the handle that ends it from elsewhere. Opening it is in `open`.
use crate::cgroup::Groups;
use crate::command::{Command, Exit, Stream};
use crate::error::{FileError, RunError};
use crate::launch::Started;
use crate::plan::Limits;
use crate::report::Report;
use crate::state::{self, Layer};
use crate::{call, life, run};
use enclos_init::channel;
use enclos_init::file::{FileOp, FileReply};
use enclos_init::wire::Kind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A living sandbox. Dropping it ends everything inside and waits for that; what the session changed stays in the
/// layer.
#[derive(Debug)]
pub struct Sandbox {
    pub(crate) life: Life,
    pub(crate) limits: Limits,
    pub(crate) report: Report,
    requests: AtomicU32,
}

/// A started init with all that goes away with it, in this order: processes, what they threw away, control groups.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) shared: Arc<Shared>,
    pub(crate) layer: Layer,
    pub(crate) groups: Groups,
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
        Self { shared, layer, groups: Groups::default() }
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
    pub(crate) fn new(life: Life, limits: Limits, report: Report) -> Self {
        Self { life, limits, report, requests: AtomicU32::new(0) }
    }

    /// What was obtained.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Runs a command to its end; blocking. Several may run at the same time, from several threads. `output` is
    /// handed the bytes that are kept, as they come; the limits hold however long it takes.
    pub fn run(&self, command: &Command, output: &mut dyn FnMut(Stream, &[u8])) -> Result<Exit, RunError> {
        run::run(&self.life.shared, self.request(), &self.limits, command, output)
    }

    /// Executes a file operation inside; blocking, and several may be under way.
    pub fn file(&self, op: &FileOp) -> Result<FileReply, FileError> {
        call::call(&self.life.shared, self.request(), op)
    }

    /// A handle that ends commands or everything from any thread.
    pub fn killer(&self) -> Killer {
        Killer { shared: Arc::clone(&self.life.shared) }
    }

    /// Ends everything inside and waits for it; what the session changed stays in the layer.
    pub fn close(self) {}

    /// Numbers of requests; never 0, which means all.
    fn request(&self) -> u32 {
        self.requests.fetch_add(1, Ordering::Relaxed) % (u32::MAX - 1) + 1
    }
}

/// Ends what runs in a sandbox, from any thread, without waiting.
#[derive(Debug, Clone)]
pub struct Killer {
    shared: Arc<Shared>,
}

impl Killer {
    /// Ends the running commands and file operations with all their processes; the sandbox lives on.
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
