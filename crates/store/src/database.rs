//! Opening the database: its settings, its migrations, and the refusal of what we do not know.
//!
//! Write-ahead log and `synchronous = FULL`, so that a commit is on the disk when it returns. Migrations are numbered
//! and go forward only; a newer schema, a foreign file and a SQLite that loses writes are refused.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

use crate::StoreError;
use crate::journal::chain::hex;
use crate::key;
use crate::place::{Place, failed, make_private, open_private, stat_private};
use crate::seal::Secret;

/// `encl`, in the header of the file.
const APPLICATION_ID: i64 = 0x656e_636c;

/// The migrations, in order; the number of a schema is how many of them it has had.
const MIGRATIONS: &[&str] =
    &[include_str!("migrations/0001_journal.sql"), include_str!("migrations/0002_lineage.sql")];

/// The oldest SQLite that does not lose committed writes of a write-ahead log.
const OLDEST_SQLITE: i32 = 3_051_003;

/// How long a lock of another process is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// What the database knows of itself, and the key that fits it.
pub(crate) struct Opened {
    /// The connection.
    pub(crate) connection: Connection,
    /// The name of this deployment: 32 hexadecimal digits, made at the first opening.
    pub(crate) deployment: String,
    /// The master key.
    pub(crate) master: Secret,
}

/// Opens the database for writing, makes it when it is not there, and brings it up to date.
pub(crate) fn open_writable(place: &Place) -> Result<Opened, StoreError> {
    check_library(rusqlite::version_number())?;
    let _alone = OpeningLock::take(place)?;
    let path = place.database();
    make_private(&path)?;
    let mut connection = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let fresh = check_schema(&connection, &path, true)?;
    set_durable(&connection)?;
    let master = match key::read(place)? {
        Some(master) => master,
        None if fresh => key::make(place)?,
        None => return Err(StoreError::KeyMissing { path: place.master_key() }),
    };
    migrate(&mut connection, &master)?;
    let deployment = check_key(&connection, place, &master)?;
    Ok(Opened { connection, deployment, master })
}

/// Opens the database for reading.
pub(crate) fn open_readable(place: &Place) -> Result<Opened, StoreError> {
    check_library(rusqlite::version_number())?;
    let path = place.database();
    stat_private(&path)?;
    let connection = connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    check_schema(&connection, &path, false)?;
    let master = key::read(place)?.ok_or_else(|| StoreError::KeyMissing { path: place.master_key() })?;
    let deployment = check_key(&connection, place, &master)?;
    Ok(Opened { connection, deployment, master })
}

/// One more connection for reading, beside the one of the writer.
pub(crate) fn reader(place: &Place) -> Result<Connection, StoreError> {
    connect(&place.database(), OpenFlags::SQLITE_OPEN_READ_ONLY)
}

fn check_library(version: i32) -> Result<(), StoreError> {
    if version >= OLDEST_SQLITE {
        return Ok(());
    }
    let found = format!("{}.{}.{}", version / 1_000_000, version / 1000 % 1000, version % 1000);
    Err(StoreError::OldSqlite { found })
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let mut connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    be_patient(&mut connection)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;
         PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;",
    )?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Makes a connection wait for other processes.
fn be_patient(connection: &mut Connection) -> Result<(), StoreError> {
    connection.busy_handler(Some(wait_a_little))?;
    Ok(())
}

/// Waits for another process: 0.1 ms at first, 5 ms later, about [`PATIENCE`] in all. Short waits keep the turn of a
/// gateway short when several share one database.
fn wait_a_little(tries: i32) -> bool {
    let wait = Duration::from_micros(100 * u64::from(tries.clamp(1, 50).unsigned_abs()));
    std::thread::sleep(wait);
    tries < 2_025
}

/// Moves the log into the database and empties it, so that it keeps no old page. A reader may hold it back: it is given
/// a moment only, since appends wait meanwhile; the last process to close the database empties the log in any case.
pub(crate) fn empty_log(connection: &mut Connection) -> Result<(), StoreError> {
    connection.busy_timeout(Duration::from_millis(100))?;
    let outcome = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    be_patient(connection)?;
    Ok(outcome?)
}

/// Commits reach the disk before they return.
fn set_durable(connection: &Connection) -> Result<(), StoreError> {
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864;")?;
    let level: i64 = connection.query_row("PRAGMA synchronous", [], |row| row.get(0))?;
    if mode == "wal" && level == 2 {
        return Ok(());
    }
    Err(StoreError::Database(format!(
        "durable commits were refused, journal mode `{mode}`, synchronous {level}"
    )))
}

/// Refuses a file that is not ours and a schema that we do not know. True when the file is new.
fn check_schema(connection: &Connection, path: &Path, may_migrate: bool) -> Result<bool, StoreError> {
    let known = known();
    let (application, found, objects) = identity(connection).map_err(|e| match e.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => StoreError::NotAStore { path: path.to_path_buf() },
        _ => e.into(),
    })?;
    if application == 0 && found == 0 && objects == 0 && may_migrate {
        return Ok(true);
    }
    if application != APPLICATION_ID {
        return Err(StoreError::NotAStore { path: path.to_path_buf() });
    }
    if found > known {
        return Err(StoreError::NewerSchema { found, known });
    }
    if found < known && !may_migrate {
        return Err(StoreError::OlderSchema { found, known });
    }
    Ok(false)
}

fn identity(connection: &Connection) -> rusqlite::Result<(i64, i64, i64)> {
    let application = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let objects = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok((application, version, objects))
}

fn known() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Applies what is missing, each migration and its number in one transaction.
fn migrate(connection: &mut Connection, master: &Secret) -> Result<(), StoreError> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let have: i64 = tx.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let missing = MIGRATIONS.iter().zip(1_i64..).filter(|(_, number)| *number > have);
    for (sql, number) in missing {
        tx.execute_batch(sql)?;
        tx.pragma_update(None, "user_version", number)?;
    }
    if have == 0 {
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        let mut id = [0_u8; 16];
        getrandom::fill(&mut id).map_err(|e| StoreError::Random(e.to_string()))?;
        let id = hex(&id);
        let check = key::check_value(master, &id);
        tx.execute(
            "INSERT INTO deployment (one, id, key_check, sessions) VALUES (1, ?1, ?2, 0)",
            params![id, check.as_slice()],
        )?;
    }
    tx.commit()?;
    Ok(())
}

/// The deployment, once the key is known to be the one it was made with.
fn check_key(connection: &Connection, place: &Place, master: &Secret) -> Result<String, StoreError> {
    let (id, check): (String, Vec<u8>) =
        connection
            .query_row("SELECT id, key_check FROM deployment", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if check == key::check_value(master, &id).as_slice() {
        return Ok(id);
    }
    Err(StoreError::Key { path: place.master_key(), why: "is not the one of this database" })
}

/// Openings go one by one: switching to the write-ahead log and migrating do not wait for each other by themselves.
struct OpeningLock {
    _file: std::fs::File,
}

impl OpeningLock {
    fn take(place: &Place) -> Result<Self, StoreError> {
        let path = place.run().join("open.lock");
        let file = open_private(&path, true).map_err(|e| failed(&path, &e))??;
        let start = Instant::now();
        loop {
            match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR)
                    if start.elapsed() < PATIENCE =>
                {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    return Err(StoreError::Busy { seconds: PATIENCE.as_secs() });
                }
                Err(e) => return Err(failed(&path, &io::Error::from(e))),
            }
        }
    }
}

/// A write or a growth that the system refused without the disk having lost anything: no space, a quota, a limit on
/// the size of files. The commit is rolled back and a later one may succeed.
const REFUSED_WRITES: &[i32] = &[rusqlite::ffi::SQLITE_IOERR_WRITE, rusqlite::ffi::SQLITE_IOERR_SHMSIZE];

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        if error.sqlite_error().is_some_and(|e| REFUSED_WRITES.contains(&e.extended_code)) {
            return Self::DiskFull;
        }
        match error.sqlite_error_code() {
            Some(Code::DiskFull) => Self::DiskFull,
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => Self::Busy { seconds: PATIENCE.as_secs() },
            Some(Code::ReadOnly | Code::PermissionDenied) => Self::ReadOnly,
            Some(Code::SystemIoFailure) => Self::Io(error.to_string()),
            Some(Code::DatabaseCorrupt | Code::NotADatabase) => Self::Damaged(error.to_string()),
            _ => Self::Database(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sqlite_that_loses_writes_is_refused() {
        assert_eq!(check_library(3_051_002), Err(StoreError::OldSqlite { found: "3.51.2".to_owned() }));
        assert_eq!(check_library(3_040_001), Err(StoreError::OldSqlite { found: "3.40.1".to_owned() }));
        assert_eq!(check_library(3_051_003), Ok(()));
        assert_eq!(check_library(rusqlite::version_number()), Ok(()));
    }

    #[test]
    fn errors_tell_what_may_be_tried_again() {
        use rusqlite::ffi;
        let error = |code| StoreError::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_SHMSIZE] {
            assert_eq!(error(code), StoreError::DiskFull);
        }
        for code in [ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_DIR_FSYNC, ffi::SQLITE_IOERR_READ] {
            assert!(matches!(error(code), StoreError::Io(_)) && error(code).is_fatal(), "{code}");
        }
        assert!(matches!(error(ffi::SQLITE_CORRUPT), StoreError::Damaged(_)));
        assert!(error(ffi::SQLITE_CORRUPT).is_fatal());
        for code in [ffi::SQLITE_BUSY, ffi::SQLITE_BUSY_RECOVERY, ffi::SQLITE_LOCKED] {
            assert_eq!(error(code), StoreError::Busy { seconds: 10 });
            assert!(!error(code).is_fatal());
        }
        assert_eq!(error(ffi::SQLITE_READONLY), StoreError::ReadOnly);
        assert!(matches!(error(ffi::SQLITE_CONSTRAINT_TRIGGER), StoreError::Database(_)));
    }

    #[test]
    fn settings_are_durable_and_migrations_are_run_once() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::prepare(dir.path()).unwrap();
        let first = open_writable(&place).unwrap();
        let again = open_writable(&place).unwrap();
        assert_eq!(first.deployment, again.deployment);
        assert_eq!(first.deployment.len(), 32);
        let version: i64 = again.connection.query_row("PRAGMA user_version", [], |r| r.get(0)).unwrap();
        assert_eq!(version, known());
        let erase: i64 = again.connection.query_row("PRAGMA secure_delete", [], |r| r.get(0)).unwrap();
        assert_eq!(erase, 1);
    }
}
