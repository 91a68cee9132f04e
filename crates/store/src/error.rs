//! What can go wrong in the store, and what mends it.
//!
//! Every variant can be cloned, because one failed commit is the answer to all the appends it carried. Whatever the
//! variant, an append that fails has written nothing, and nothing may run on it.

use std::path::PathBuf;

use enclos_core::ids::SessionId;
use thiserror::Error;

use crate::lineage::LineageError;

/// A failure of the store.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// The SQLite that was linked can lose committed writes.
    #[error("sqlite {found} is linked, 3.51.3 or later was expected: build with the bundled library")]
    OldSqlite {
        /// The version found.
        found: String,
    },
    /// The state directory lies on a file system whose locks and syncs cannot be relied on.
    #[error(
        "`{}` is on a network or user-space file system ({name}), a local one was expected: point ENCLOS_HOME to a \
         local disk", path.display()
    )]
    NetworkFileSystem {
        /// The state directory.
        path: PathBuf,
        /// The kind of file system.
        name: &'static str,
    },
    /// A file or directory of the store cannot be made, read or written.
    #[error("`{}` cannot be used ({why}): the store expects a readable and writable path of its own", path.display())]
    Place {
        /// The path.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// Others may read or write what only the owner may.
    #[error("`{}` has mode {mode:04o}, {expected:04o} was expected: run chmod {expected:04o} on it once you are sure \
             that nobody else has read or changed it", path.display())]
    Permissions {
        /// The path.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// The widest permission bits allowed.
        expected: u32,
    },
    /// A file or directory of the store belongs to another user.
    #[error("`{}` belongs to user {owner}, user {expected} was expected: run as its owner or use another ENCLOS_HOME", path.display())]
    ForeignOwner {
        /// The path.
        path: PathBuf,
        /// The owner's number.
        owner: u32,
        /// The number of the user we run as.
        expected: u32,
    },
    /// The database is there, its key is not.
    #[error("the key `{}` is missing, though the database needs it: restore the file from a backup", path.display())]
    KeyMissing {
        /// The key file.
        path: PathBuf,
    },
    /// The key file is not one, or is not the one of this database.
    #[error("the key `{}` {why}: restore the file that was made with this database", path.display())]
    Key {
        /// The key file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The file is not a database of Enclos.
    #[error("`{}` is not a database of enclos: move it away or use another ENCLOS_HOME", path.display())]
    NotAStore {
        /// The database file.
        path: PathBuf,
    },
    /// There is no database yet.
    #[error("there is no store at `{}`: run a session first, or point ENCLOS_HOME to the right directory", path.display())]
    NoStore {
        /// The database file.
        path: PathBuf,
    },
    /// The database was written by a newer Enclos.
    #[error("the database has schema {found}, this build knows {known}: use the newer enclos that wrote it")]
    NewerSchema {
        /// The schema found.
        found: i64,
        /// The newest schema known here.
        known: i64,
    },
    /// The database has an older schema and was opened for reading only.
    #[error(
        "the database has schema {found}, {known} was expected: run any session once to bring it up to date"
    )]
    OlderSchema {
        /// The schema found.
        found: i64,
        /// The schema known here.
        known: i64,
    },
    /// The name of a session is not well formed.
    #[error("`{0}` is not a session's name, `sess_` and up to 64 letters or digits were expected")]
    BadSession(String),
    /// There is no such session.
    #[error("there is no session `{0}`: see `enclos sessions`")]
    UnknownSession(SessionId),
    /// There is a session of that name already.
    #[error("there is a session `{0}` already, a new name was expected")]
    SessionExists(SessionId),
    /// An append without records.
    #[error("an append of no records was asked for, at least one was expected")]
    NoRecords,
    /// The kind of a record is not well formed.
    #[error(
        "a record has a kind of {bytes} bytes, 1 to 128 printable ASCII characters without quote, backslash or space were expected"
    )]
    BadKind {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The entry of a record is over [`crate::MAX_ENTRY_BYTES`].
    #[error(
        "the entry of a `{kind}` record has {bytes} bytes, at most {limit} were expected: shorten its fields"
    )]
    EntryTooLarge {
        /// The kind of the record.
        kind: String,
        /// The size of the entry as it would be stored, in bytes; counting stops a little over the limit.
        bytes: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The entry of a record nests too deep.
    #[error("the entry of a `{kind}` record nests over {limit} deep, a flatter one was expected")]
    EntryTooDeep {
        /// The kind of the record.
        kind: String,
        /// The limit.
        limit: usize,
    },
    /// The entry of a record has a field that the store writes itself.
    #[error(
        "the entry of a `{kind}` record has a field `{field}`, which the store writes itself: name it differently"
    )]
    ReservedField {
        /// The kind of the record.
        kind: String,
        /// The field.
        field: &'static str,
    },
    /// The content of a record is over [`crate::MAX_CONTENT_BYTES`].
    #[error("the content of a `{kind}` record has {bytes} bytes, at most {limit} were expected")]
    ContentTooLarge {
        /// The kind of the record.
        kind: String,
        /// Its size in bytes.
        bytes: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// Another gateway has taken the session since.
    #[error("the lease of `{0}` was lost, another gateway has taken the session: stop it here")]
    LostLease(SessionId),
    /// The disk or a quota is full, or a limit on the size of files is reached.
    #[error(
        "the journal cannot be written, the disk, a quota or the largest file size is used up: free some space and resume"
    )]
    DiskFull,
    /// Another process held the database for too long.
    #[error(
        "the journal cannot be written, another process has locked the database for {seconds} s: stop it and resume"
    )]
    Busy {
        /// How long was waited.
        seconds: u64,
    },
    /// The store was opened for reading, or its file or disk is read-only.
    #[error("the store is read-only, a writable one was expected")]
    ReadOnly,
    /// The store has been closed.
    #[error("the store is closed, an open one was expected: open it again")]
    Closed,
    /// The database file was moved, replaced or deleted under us.
    #[error("`{}` was moved, replaced or deleted while it was open: put it back and start again", path.display())]
    Moved {
        /// The file.
        path: PathBuf,
    },
    /// The disk failed; after a failed sync nothing more is written by this process.
    #[error("the disk failed ({0}): check it, then start again")]
    Io(String),
    /// The database file is damaged; nothing more is written to it.
    #[error("the database file is damaged ({0}): run `enclos journal verify`, and restore a backup")]
    Damaged(String),
    /// The database answered with an error that none of the others names.
    #[error("the database failed ({0}): run `enclos journal verify`")]
    Database(String),
    /// What is stored is not what was written.
    #[error("entry {seq} of `{session}` is not what was written ({why}): run `enclos journal verify`")]
    Altered {
        /// The session.
        session: SessionId,
        /// The first bad entry.
        seq: u64,
        /// What does not fit.
        why: String,
    },
    /// The content of a session has been erased.
    #[error("the content of `{0}` has been erased: it can be listed and verified, not resumed")]
    Erased(SessionId),
    /// What was sealed cannot be opened.
    #[error("{what} of `{session}` cannot be opened: it was changed, or moved from elsewhere")]
    Seal {
        /// The session.
        session: SessionId,
        /// What was to be opened.
        what: &'static str,
    },
    /// An export could not be written to its destination.
    #[error("the export cannot be written ({0}): check its destination")]
    Output(String),
    /// A record of lineage is not made, or is not there.
    #[error(transparent)]
    Lineage(#[from] LineageError),
    /// The system gave no randomness.
    #[error("the system gave no random bytes ({0}): check /dev/urandom")]
    Random(String),
}

/// Why a session cannot be leased.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LeaseError {
    /// Another process, or another part of this one, runs the session.
    #[error("the session is run by another gateway{}: stop it there first", pid.map_or_else(String::new, |p| format!(" (process {p})")))]
    Held {
        /// The process, when it has left its number.
        pid: Option<u32>,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl StoreError {
    /// Whether no later append of this process may be tried: after a failed sync, in a damaged file or under
    /// a moved one nobody knows what is on the disk.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Self::Io(_) | Self::Damaged(_) | Self::Moved { .. } | Self::Closed)
    }
}
