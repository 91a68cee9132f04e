//! The one thread that writes.
//!
//! Appends that wait while a commit is on its way to the disk go together into the next one, whatever their sessions:
//! one sync for all. Each is answered after its commit, never before. After a failure that leaves the disk unknown,
//! the thread writes nothing more.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use rusqlite::{Connection, TransactionBehavior};

use crate::StoreError;
use crate::append::{Grant, apply};
use crate::entry::Prepared;
use crate::place::{Place, failed};
use crate::record::Receipt;

/// What is called once an append is durable, or has failed and written nothing. It runs on the writer's thread (or,
/// for a record that is refused before it is queued, on the caller's) and must neither block nor panic.
pub type Done = Box<dyn FnOnce(Result<Receipt, StoreError>) + Send>;

/// How many appends go into one commit at most.
const MAX_BATCH: usize = 1024;

/// A piece of work that has the connection for itself; it is told when the store has failed.
type Work = Box<dyn FnOnce(Result<&mut Connection, StoreError>) + Send>;

enum Job {
    Append(Append),
    Run(Work),
}

/// An append that waits.
pub(crate) struct Append {
    pub(crate) grant: Grant,
    pub(crate) records: Vec<Prepared>,
    pub(crate) done: Done,
}

/// The handle of the thread. Dropping it finishes what is queued.
pub(crate) struct Writer {
    queue: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread on a connection of its own.
    pub(crate) fn start(connection: Connection, place: &Place) -> Result<Self, StoreError> {
        let files = Files::watch(place)?;
        let (queue, jobs) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("enclos-store".to_owned())
            .spawn(move || Thread { connection, files, failure: None }.run(&jobs))
            .map_err(|e| StoreError::Io(e.to_string()))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Queues an append.
    pub(crate) fn append(&self, append: Append) {
        if let Err(Job::Append(append)) = self.send(Job::Append(append)) {
            (append.done)(Err(StoreError::Closed));
        }
    }

    /// Runs a piece of work on the writer's connection and waits for its answer.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, wait) = mpsc::sync_channel(1);
        let job = Job::Run(Box::new(move |connection| {
            // The caller waits below; it cannot have gone.
            let _ = answer.send(connection.and_then(work));
        }));
        if self.send(job).is_err() {
            return Err(StoreError::Closed);
        }
        wait.recv().unwrap_or(Err(StoreError::Closed))
    }

    fn send(&self, job: Job) -> Result<(), Job> {
        match &self.queue {
            Some(queue) => queue.send(job).map_err(|e| e.0),
            None => Err(job),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        let Some(thread) = self.thread.take() else { return };
        // The last handle may be dropped by an answer, on the thread itself, which then ends by itself.
        if thread.thread().id() != std::thread::current().id() {
            let _ = thread.join();
        }
    }
}

struct Thread {
    connection: Connection,
    files: Files,
    failure: Option<StoreError>,
}

impl Thread {
    fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(first) = jobs.recv() {
            let mut batch = Vec::new();
            let mut next = Some(first);
            let mut work = None;
            while let Some(job) = next.take() {
                match job {
                    Job::Append(append) => batch.push(append),
                    Job::Run(piece) => {
                        work = Some(piece);
                        break;
                    }
                }
                if batch.len() < MAX_BATCH {
                    next = jobs.try_recv().ok();
                }
            }
            if !batch.is_empty() {
                self.commit(batch);
            }
            if let Some(piece) = work {
                match &self.failure {
                    Some(failure) => piece(Err(failure.clone())),
                    None => piece(Ok(&mut self.connection)),
                }
            }
        }
    }

    /// Commits a batch and answers each of its appends.
    fn commit(&mut self, batch: Vec<Append>) {
        match self.write(&batch) {
            Ok(answers) => {
                for (append, answer) in batch.into_iter().zip(answers) {
                    (append.done)(answer);
                }
            }
            // One of several may be at fault (a broken constraint, a lease lost within the batch): each alone, so
            // that the others are written. A full or failing disk is everyone's.
            Err(StoreError::Database(_) | StoreError::LostLease(_) | StoreError::Random(_))
                if batch.len() > 1 =>
            {
                for append in batch {
                    self.commit(vec![append]);
                }
            }
            Err(error) => {
                for append in batch {
                    (append.done)(Err(error.clone()));
                }
            }
        }
    }

    fn write(&mut self, batch: &[Append]) -> Result<Vec<Result<Receipt, StoreError>>, StoreError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let outcome = self.transact(batch).and_then(|answers| self.files.check().map(|()| answers));
        if let Err(error) = &outcome
            && error.is_fatal()
        {
            self.failure = Some(error.clone());
        }
        outcome
    }

    fn transact(&mut self, batch: &[Append]) -> Result<Vec<Result<Receipt, StoreError>>, StoreError> {
        let tx = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut answers = Vec::with_capacity(batch.len());
        for append in batch {
            answers.push(apply(&tx, &append.grant, &append.records)?);
        }
        tx.commit()?;
        Ok(answers)
    }
}

/// The files that we write to, by device and number: an append into a file that was moved away is no append.
struct Files {
    known: Vec<(PathBuf, (u64, u64))>,
}

impl Files {
    fn watch(place: &Place) -> Result<Self, StoreError> {
        let mut known = Vec::new();
        for path in [place.database(), place.log()] {
            let number = number(&path)?;
            known.push((path, number));
        }
        Ok(Self { known })
    }

    fn check(&self) -> Result<(), StoreError> {
        for (path, before) in &self.known {
            if number(path).ok() != Some(*before) {
                return Err(StoreError::Moved { path: path.clone() });
            }
        }
        Ok(())
    }
}

fn number(path: &PathBuf) -> Result<(u64, u64), StoreError> {
    let meta = fs::symlink_metadata(path).map_err(|e| failed(path, &e))?;
    Ok((meta.dev(), meta.ino()))
}
