//! The right to write a session, held by one gateway at a time.
//!
//! Two things guard it. A lock on `run/ID.lock`, which the system frees with the process however it dies; and an epoch
//! in the database, raised by each lease and checked in every statement that appends, so that whoever lost the lock
//! without noticing cannot write.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use enclos_core::ids::SessionId;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::append::Grant;
use crate::entry::{Prepared, prepare};
use crate::place::{failed, open_private};
use crate::record::{Receipt, Record};
use crate::seal::Sealer;
use crate::store::Store;
use crate::writer::{Append, Done};
use crate::{CommitKey, LeaseError, StoreError};

/// A leased session. Dropping it frees the session.
pub struct Lease {
    store: Store,
    grant: Grant,
    _lock: SessionLock,
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lease")
            .field("session", self.session())
            .field("epoch", &self.epoch())
            .finish_non_exhaustive()
    }
}

impl Lease {
    pub(crate) fn new(store: Store, grant: Grant, lock: SessionLock) -> Self {
        Self { store, grant, _lock: lock }
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.grant.session
    }

    /// The number of this lease among those of the session, from 1. Orders under an older one are refused.
    pub fn epoch(&self) -> u64 {
        self.grant.epoch.unsigned_abs()
    }

    /// The key that commits to content of this session.
    pub fn commit_key(&self) -> &CommitKey {
        self.grant.keys.commit_key()
    }

    /// What seals files of this session that lie beside the database.
    pub fn sealer(&self) -> Sealer {
        Sealer::new(std::sync::Arc::clone(&self.grant.keys))
    }

    /// Appends records, all or none, and calls `done` once they are on the disk. Appends of one lease keep their
    /// order. On an error nothing was written, and nothing may run.
    pub fn append(&self, records: Vec<Record>, done: Done) {
        let ready = self.prepare(records).and_then(|records| Ok((self.store.writer()?, records)));
        match ready {
            Ok((writer, records)) => writer.append(Append { grant: self.grant.clone(), records, done }),
            Err(error) => done(Err(error)),
        }
    }

    /// Appends records and waits until they are on the disk. Not to be called from a [`Done`].
    pub fn append_wait(&self, records: Vec<Record>) -> Result<Receipt, StoreError> {
        let (answer, wait) = mpsc::sync_channel(1);
        // The receiver below outlives the call.
        self.append(records, Box::new(move |outcome| drop(answer.send(outcome))));
        wait.recv().unwrap_or(Err(StoreError::Closed))
    }

    fn prepare(&self, records: Vec<Record>) -> Result<Vec<Prepared>, StoreError> {
        if records.is_empty() {
            return Err(StoreError::NoRecords);
        }
        let redactor = self.store.inner().redactor.as_ref();
        records.into_iter().map(|record| prepare(redactor, self.commit_key(), record)).collect()
    }
}

/// A locked file that names its holder. The file goes with the lock, unless the process is killed; a file that is left
/// locks nothing.
pub(crate) struct SessionLock {
    path: PathBuf,
    file: File,
}

impl SessionLock {
    /// Takes the lock, or says who holds it.
    pub(crate) fn take(path: &Path) -> Result<Self, LeaseError> {
        loop {
            let mut file = open_private(path, true).map_err(|e| failed(path, &e))??;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Err(LeaseError::Held { pid: holder(&mut file) }),
                Err(Errno::INTR) => continue,
                Err(e) => return Err(failed(path, &std::io::Error::from(e)).into()),
            }
            // The holder before may have removed the file between our opening and our locking of it.
            if same_file(&file, path) {
                file.set_len(0)
                    .and_then(|()| writeln!(file, "{}", std::process::id()))
                    .map_err(|e| failed(path, &e))?;
                return Ok(Self { path: path.to_path_buf(), file });
            }
        }
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // Somebody may have removed ours, and then the file there is another's. One that stays is harmless.
        if same_file(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    Read::by_ref(file).take(16).read_to_string(&mut text).ok()?;
    text.trim_end().parse().ok()
}

fn same_file(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}
