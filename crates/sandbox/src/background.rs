//! Background commands: started and left to themselves, listed, read while they run, ended one by one or with the
//! sandbox. Each has a thread here that reads its output into a log of bounded size, so that it never stands still for want
//! of a reader. They hold no privilege that other commands lack: the same confinement, the same ceilings.
use crate::command::{Command, Counted, Exit, Stream};
use crate::error::RunError;
use crate::kept::Log;
use crate::plan::Limits;
use crate::run::{self, Begun, Sink};
use crate::sandbox::Shared;
use enclos_init::wire::BACKGROUND;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Most background commands of a sandbox at work at the same time.
pub const BACKGROUND_COMMANDS: usize = 16;
/// Most that are remembered, ended ones included; the oldest ended one is forgotten first.
const REMEMBERED: usize = 64;
/// Most bytes that are kept of the output of all ended ones together, when one more is started; of the oldest none are then.
const KEPT: u64 = 64 << 20;
/// Longest name.
const NAME: usize = 64;

/// A background command as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Background {
    /// The name it was started under; unique in its sandbox.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Time since its start, or from its start to its end.
    pub duration: Duration,
    /// Bytes that it wrote, both streams together.
    pub output: Counted,
    /// How it ended; `None` while it runs.
    pub end: Option<End>,
}

/// The end of a background command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// It ran, and ended like this.
    Exit(Exit),
    /// It did not start, or the sandbox was lost.
    Failed(String),
}

/// A part of what a background command wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Offset of the first byte, counting all that was ever written. Later than asked for when the bytes between are
    /// not kept.
    pub from: u64,
    /// Both streams, as they came.
    pub bytes: Vec<u8>,
    /// How it ended, when there is no more to come.
    pub end: Option<End>,
}

impl Part {
    /// Where to go on reading.
    pub fn next(&self) -> u64 {
        self.from + self.bytes.len() as u64
    }
}

/// Told of the end of a background command, once, from a thread of its own. It must not wait for the sandbox.
pub(crate) type Ended = Box<dyn FnOnce(Background) + Send>;

/// All background commands of a sandbox. Dropped after its processes are dead, it waits for its threads.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    list: Mutex<Vec<Job>>,
}

#[derive(Debug)]
struct Job {
    name: String,
    text: String,
    id: u32,
    started: Instant,
    progress: Arc<Progress>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread of a job and its readers share.
#[derive(Debug)]
struct Progress {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    log: Log,
    end: Option<(Duration, End)>,
}

impl Progress {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the pump puts what it reads.
struct IntoLog<'a>(&'a Progress);

impl Sink for IntoLog<'_> {
    fn take(&mut self, _: Stream, bytes: &[u8]) {
        self.0.state().log.push(bytes);
        self.0.changed.notify_all();
    }
}

impl Job {
    fn over(&self) -> bool {
        self.progress.state().end.is_some()
    }

    fn now(&self) -> Background {
        let state = self.progress.state();
        Background {
            name: self.name.clone(),
            text: self.text.clone(),
            duration: state.end.as_ref().map_or_else(|| self.started.elapsed(), |(duration, _)| *duration),
            output: state.log.counted(),
            end: state.end.as_ref().map(|(_, end)| end.clone()),
        }
    }
}

impl Jobs {
    fn list(&self) -> MutexGuard<'_, Vec<Job>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts `command` under `name`. `ended` is told its end.
    pub(crate) fn start(
        &self,
        shared: &Arc<Shared>,
        id: u32,
        limits: &Limits,
        name: &str,
        command: &Command,
        ended: Ended,
    ) -> Result<(), RunError> {
        let bad = |message: String| Err(RunError::BadCommand(message));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if name.is_empty() || name.len() > NAME || !name.bytes().all(plain) {
            return bad(format!("its name must be 1 to {NAME} letters, digits, `.`, `_` or `-`"));
        }
        run::check(command)?;
        let mut list = self.list();
        if list.iter().any(|job| job.name == name && !job.over()) {
            return bad(format!(
                "a background command `{name}` is at work; end it first, or choose another name"
            ));
        }
        if list.iter().filter(|job| !job.over()).count() >= BACKGROUND_COMMANDS {
            return bad(format!(
                "{BACKGROUND_COMMANDS} background commands are at work, which is the most; end one"
            ));
        }
        list.retain(|job| job.name != name);
        forget(&mut list);
        let room = command.output_bytes.unwrap_or(limits.output_bytes).min(limits.output_bytes);
        let state = State { log: Log::new(room, command.keep), end: None };
        let progress = Arc::new(Progress { state: Mutex::new(state), changed: Condvar::new() });
        let id = id | BACKGROUND;
        let milliseconds = command.seconds.map_or(u64::MAX, |seconds| u64::from(seconds) * 1000);
        // Asked for before this returns: whoever ends it next ends it.
        let begun = run::begin(shared, id, milliseconds, command)?;
        let (theirs, shared) = (Arc::clone(&progress), Arc::clone(shared));
        let (name, text) = (name.to_owned(), command.text.clone());
        let told = (name.clone(), text.clone());
        let thread = std::thread::Builder::new().name("background".into()).spawn(move || {
            let (duration, output, end) = follow(begun, &shared, &theirs);
            let (name, text) = told;
            // Told before anybody can see it: whoever looks and finds it ended is not the first to know.
            ended(Background { name, text, duration, output, end: Some(end.clone()) });
            theirs.state().end = Some((duration, end));
            theirs.changed.notify_all();
        })?;
        list.push(Job { name, text, id, started: Instant::now(), progress, thread: Some(thread) });
        Ok(())
    }

    pub(crate) fn all(&self) -> Vec<Background> {
        self.list().iter().map(Job::now).collect()
    }

    /// The job of a name.
    fn find(&self, name: &str) -> Result<(u32, Arc<Progress>), RunError> {
        let list = self.list();
        let found = list.iter().find(|job| job.name == name);
        found
            .map(|job| (job.id, Arc::clone(&job.progress)))
            .ok_or_else(|| RunError::BadCommand(format!("there is no background command `{name}`")))
    }

    pub(crate) fn read(&self, name: &str, from: u64, most: usize) -> Result<Part, RunError> {
        let (_, progress) = self.find(name)?;
        let state = progress.state();
        let (from, bytes) = state.log.read(from, most);
        let total = state.log.counted();
        let last = from + bytes.len() as u64 == total.kept + total.dropped;
        Ok(Part { from, bytes, end: state.end.as_ref().filter(|_| last).map(|(_, end)| end.clone()) })
    }

    /// Waits until there is more than `from` bytes, or the end, or `most` time is over.
    pub(crate) fn wait(&self, name: &str, from: u64, most: Duration) -> Result<(), RunError> {
        let (_, progress) = self.find(name)?;
        let nothing_new = |state: &mut State| {
            let total = state.log.counted();
            state.end.is_none() && total.kept + total.dropped <= from
        };
        drop(
            progress
                .changed
                .wait_timeout_while(progress.state(), most, nothing_new)
                .unwrap_or_else(PoisonError::into_inner),
        );
        Ok(())
    }

    /// The request's number, for ending it.
    pub(crate) fn id(&self, name: &str) -> Result<u32, RunError> {
        Ok(self.find(name)?.0)
    }
}

/// Makes room for one more: the oldest that ended go.
fn forget(list: &mut Vec<Job>) {
    let kept = |list: &[Job]| -> u64 {
        list.iter().filter(|job| job.over()).map(|job| job.progress.state().log.counted().kept).sum()
    };
    while list.len() >= REMEMBERED || kept(list) > KEPT {
        let Some(oldest) = list.iter().position(Job::over) else { return };
        list.remove(oldest);
    }
}

/// A job's thread. Gives how long it ran, what became of its output, and how it ended.
fn follow(begun: Begun, shared: &Shared, progress: &Progress) -> (Duration, Counted, End) {
    let start = Instant::now();
    let ended = begun.follow(shared, &mut IntoLog(progress));
    let state = progress.state();
    let end = match ended {
        Ok(ended) => {
            // The log has both streams as one.
            let stdout = state.log.counted();
            End::Exit(run::exit(&ended, start.elapsed(), stdout, Counted::default(), Vec::new()))
        }
        Err(error) => End::Failed(error.to_string()),
    };
    (start.elapsed(), state.log.counted(), end)
}

impl Drop for Jobs {
    fn drop(&mut self) {
        for job in self.list().iter_mut() {
            if let Some(thread) = job.thread.take() {
                // A thread that panicked has nothing left to do either.
                drop(thread.join());
            }
        }
    }
}
