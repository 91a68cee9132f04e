//! The store: opening it, making a session, leasing it.
//!
//! Several processes may open one store. Each has a writer of its own; the database lets one write at a time, and
//! leases keep their sessions apart.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use enclos_core::ids::SessionId;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use crate::append::Grant;
use crate::database::{self, Opened};
use crate::journal::chain::genesis;
use crate::lease::{Lease, SessionLock};
use crate::place::Place;
use crate::record::SessionMeta;
use crate::redact::{NoRedaction, Redact};
use crate::seal::{Secret, SessionKeys};
use crate::writer::Writer;
use crate::{CommitKey, LeaseError, StoreError};

/// The store of one deployment. Cloning is cheap; the last clone to go finishes what is queued and closes the file.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) place: Place,
    pub(crate) deployment: String,
    pub(crate) master: Secret,
    pub(crate) redactor: Arc<dyn Redact>,
    // Dropped in this order: the writer closes last, and the last to close a database folds the log into it.
    reader: Mutex<Connection>,
    writer: Option<Writer>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("dir", &self.0.place.dir()).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store under `dir`, and makes it when it is not there: `state.db`, `keys/`, `run/` and `sessions/`, for
    /// the owner alone. Every string of every entry will pass `redactor`.
    ///
    /// Refuses a network file system, a directory, key or database that others may write, a newer schema, a key that
    /// is missing or not the one of the database, and a SQLite that can lose writes.
    pub fn open(dir: &Path, redactor: Arc<dyn Redact>) -> Result<Self, StoreError> {
        let place = Place::prepare(dir)?;
        let Opened { connection, deployment, master } = database::open_writable(&place)?;
        let reader = Mutex::new(database::reader(&place)?);
        let writer = Some(Writer::start(connection, &place)?);
        Ok(Self(Arc::new(Inner { place, deployment, master, redactor, reader, writer })))
    }

    /// Opens a store that is there, to list, read, export and verify. It makes and changes nothing.
    pub fn open_read_only(dir: &Path) -> Result<Self, StoreError> {
        let place = Place::existing(dir)?;
        let Opened { connection, deployment, master } = database::open_readable(&place)?;
        let redactor = Arc::new(NoRedaction);
        let reader = Mutex::new(connection);
        Ok(Self(Arc::new(Inner { place, deployment, master, redactor, reader, writer: None })))
    }

    /// The state directory.
    pub fn dir(&self) -> &Path {
        self.0.place.dir()
    }

    /// The directory that belongs to a session, for its layer. The store does not make or remove it.
    pub fn session_dir(&self, id: &SessionId) -> Result<PathBuf, StoreError> {
        Ok(self.0.place.sessions().join(well_formed(id)?.as_str()))
    }

    /// The name of this deployment: 32 hexadecimal digits, made with the database.
    pub fn deployment(&self) -> &str {
        &self.0.deployment
    }

    /// Makes a session and takes its lease. Durable when it returns; the journal of the session is still empty.
    pub fn create(&self, id: &SessionId, meta: SessionMeta) -> Result<Lease, LeaseError> {
        let lock = SessionLock::take(&self.0.place.session_lock(well_formed(id)?))?;
        let keys = SessionKeys::generate(id.clone())?;
        let row = NewRow::new(&self.0, id, &keys, meta)?;
        let number = self.writer()?.run(move |connection| row.insert(connection))?;
        let grant = Grant { session: id.clone(), number, epoch: 1, keys: Arc::new(keys) };
        Ok(Lease::new(self.clone(), grant, lock))
    }

    /// Takes the lease of a session. It is held until the lease is dropped or the process ends, however it ends. One
    /// whose content is erased cannot be leased.
    pub fn lease(&self, id: &SessionId) -> Result<Lease, LeaseError> {
        let lock = SessionLock::take(&self.0.place.session_lock(well_formed(id)?))?;
        let session = id.clone();
        let taken = self.writer()?.run(move |connection| next_epoch(connection, &session))?;
        let (number, epoch, wrapped) = taken;
        let wrapped = wrapped.ok_or_else(|| StoreError::Erased(id.clone()))?;
        let keys = Arc::new(SessionKeys::unwrap(id, &self.0.master, &wrapped)?);
        Ok(Lease::new(self.clone(), Grant { session: id.clone(), number, epoch, keys }, lock))
    }

    /// Does something about a session that nobody has leased, and that nobody can lease meanwhile. Gives whether it was
    /// done.
    pub fn while_free(&self, id: &SessionId, act: impl FnOnce()) -> Result<bool, StoreError> {
        match SessionLock::take(&self.0.place.session_lock(well_formed(id)?)) {
            Ok(_lock) => {
                act();
                Ok(true)
            }
            Err(LeaseError::Held { .. }) => Ok(false),
            Err(LeaseError::Store(error)) => Err(error),
        }
    }

    /// The key that commits to content of a session.
    pub fn commit_key(&self, id: &SessionId) -> Result<CommitKey, StoreError> {
        let wrapped: Option<Option<Vec<u8>>> = self
            .reader()
            .query_row("SELECT sealed_key FROM session WHERE id = ?1", [id.as_str()], |row| row.get(0))
            .optional()?;
        let wrapped = wrapped.ok_or_else(|| StoreError::UnknownSession(id.clone()))?;
        let wrapped = wrapped.ok_or_else(|| StoreError::Erased(id.clone()))?;
        Ok(SessionKeys::unwrap(id, &self.0.master, &wrapped)?.commit_key().clone())
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    pub(crate) fn writer(&self) -> Result<&Writer, StoreError> {
        self.0.writer.as_ref().ok_or(StoreError::ReadOnly)
    }

    /// The shared connection for short reads.
    pub(crate) fn reader(&self) -> MutexGuard<'_, Connection> {
        self.0.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session's name becomes part of a path, so only a well-formed one is taken.
fn well_formed(id: &SessionId) -> Result<&SessionId, StoreError> {
    match SessionId::parse(id.as_str()) {
        Some(_) => Ok(id),
        None => Err(StoreError::BadSession(id.as_str().to_owned())),
    }
}

/// Raises the epoch: whoever held the session before can append no more.
fn next_epoch(
    connection: &mut Connection,
    id: &SessionId,
) -> Result<(i64, i64, Option<Vec<u8>>), StoreError> {
    connection
        .query_row(
            "UPDATE session SET epoch = epoch + 1 WHERE id = ?1 RETURNING number, epoch, sealed_key",
            [id.as_str()],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .optional()?
        .ok_or_else(|| StoreError::UnknownSession(id.clone()))
}

/// The row of a new session.
struct NewRow {
    id: SessionId,
    meta: SessionMeta,
    task_digest: String,
    head: [u8; 32],
    sealed_key: Vec<u8>,
    sealed_extra: Vec<u8>,
}

impl NewRow {
    fn new(inner: &Inner, id: &SessionId, keys: &SessionKeys, meta: SessionMeta) -> Result<Self, StoreError> {
        let extra = serde_json::to_vec(&meta.extra).map_err(|e| StoreError::Database(e.to_string()))?;
        Ok(Self {
            id: id.clone(),
            task_digest: keys.commit_key().digest(meta.task.as_bytes()).as_str().to_owned(),
            meta,
            head: genesis(&inner.deployment, id.as_str()),
            sealed_key: keys.wrap(&inner.master)?,
            sealed_extra: keys.seal_extra(&extra)?,
        })
    }

    /// Sessions are numbered without a gap, so that a row taken out of the database is missed.
    fn insert(self, connection: &mut Connection) -> Result<i64, StoreError> {
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let known: Option<i64> = tx
            .query_row("SELECT number FROM session WHERE id = ?1", [self.id.as_str()], |row| row.get(0))
            .optional()?;
        if known.is_some() {
            return Err(StoreError::SessionExists(self.id));
        }
        let number: i64 =
            tx.query_row("UPDATE deployment SET sessions = sessions + 1 RETURNING sessions", [], |row| {
                row.get(0)
            })?;
        tx.execute(
            "INSERT INTO session (number, id, created_us, task_digest, repo, surface, state, epoch,
                                  head_seq, head_time_us, head, sealed_key, sealed_extra)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, 0, 0, ?8, ?9, ?10)",
            params![
                number,
                self.id.as_str(),
                self.meta.created_us,
                self.task_digest,
                self.meta.repo.as_os_str().as_bytes(),
                self.meta.surface,
                self.meta.state,
                self.head,
                self.sealed_key,
                self.sealed_extra
            ],
        )?;
        tx.commit()?;
        Ok(number)
    }
}
