//! What goes into the store and what comes out of it.
//!
//! A [`Record`] has two halves: the entry, which the journal chains and exports, and the content, which is sealed, kept
//! apart and never exported. A [`Receipt`] proves that an append is on the disk; nothing but an append makes one.

use std::path::PathBuf;

use enclos_core::ids::{Digest, SessionId};
use enclos_core::lineage::Draft;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The largest entry, in bytes as stored.
pub const MAX_ENTRY_BYTES: usize = 64 * 1024;

/// The largest content of one record, in bytes.
pub const MAX_CONTENT_BYTES: usize = 64 * 1024 * 1024;

/// The kind of the entry that the store itself appends when it erases the content of a session.
pub const KIND_CONTENT_ERASED: &str = "content.erased";

/// One event to append.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Its kind: 1 to 128 printable ASCII characters, such as `call.decided`.
    pub kind: String,
    /// When it happened, in microseconds of the Unix epoch. A time before the one of the entry before is raised to it.
    pub time_us: i64,
    /// The journal's half: names, sizes and digests, never content; at most [`MAX_ENTRY_BYTES`] as JSON. The field
    /// `sealed` is the store's: size and keyed digest of the content.
    pub entry: Map<String, Value>,
    /// The session store's half: what resume and review need; at most [`MAX_CONTENT_BYTES`].
    pub content: Option<Vec<u8>>,
    /// What the listing of sessions shows from now on.
    pub state: Option<StateChange>,
    /// The records of lineage that come with it, in the order of their numbers. The entry's field `lineage` is the
    /// store's: the first number, how many, and the digest over them.
    pub lineage: Vec<Draft>,
    /// Whether it archives the lineage of the session so far, its own records included: a reset. Nothing is made of
    /// archived records.
    pub archives: bool,
}

/// A change of what the listing shows of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateChange {
    /// The state, in the words of the gateway.
    pub state: String,
    /// The outcome, once there is one.
    pub outcome: Option<String>,
    /// Whether the session closes with this record; the time of closing is the record's, and retention counts from it.
    pub closed: bool,
}

/// Proof that an append is durable. It is made by an append alone and cannot be copied: one receipt, one execution.
#[derive(Debug, PartialEq, Eq)]
pub struct Receipt {
    session: SessionId,
    first_seq: u64,
    last_seq: u64,
    head: [u8; 32],
}

impl Receipt {
    /// Only an append that has been committed calls this.
    pub(crate) fn new(session: SessionId, first_seq: u64, last_seq: u64, head: [u8; 32]) -> Self {
        Self { session, first_seq, last_seq, head }
    }

    /// The session appended to.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// The sequence number of the first record of the append; the first of a session is 1.
    pub fn first_seq(&self) -> u64 {
        self.first_seq
    }

    /// The sequence number of the last record of the append.
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// The hash of the last entry, over all before it.
    pub fn head(&self) -> &[u8; 32] {
        &self.head
    }
}

/// What is known of a session when it is made.
#[derive(Clone, Debug)]
pub struct SessionMeta {
    /// The task as the person gave it. Only its keyed digest is kept.
    pub task: String,
    /// The repository, as an absolute path.
    pub repo: PathBuf,
    /// The surface: `terminal`, `headless`, …
    pub surface: String,
    /// The first state shown.
    pub state: String,
    /// When, in microseconds of the Unix epoch.
    pub created_us: i64,
    /// Whatever else the gateway needs to list and resume the session; sealed at rest like content.
    pub extra: Map<String, Value>,
}

/// What the listing shows of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionRow {
    /// Its name.
    pub id: SessionId,
    /// When it was made, in microseconds of the Unix epoch.
    pub created_us: i64,
    /// The time of its last entry, or of its making.
    pub updated_us: i64,
    /// When it was closed.
    pub closed_us: Option<i64>,
    /// The keyed digest of its task.
    pub task_digest: Digest,
    /// The repository.
    pub repo: PathBuf,
    /// The surface.
    pub surface: String,
    /// Its state.
    pub state: String,
    /// Its outcome.
    pub outcome: Option<String>,
    /// How many entries its journal has.
    pub entries: u64,
    /// What the gateway gave at its making; `None` once the content is erased.
    pub extra: Option<Map<String, Value>>,
}

/// Which sessions to list. The newest come first.
#[derive(Clone, Debug, Default)]
pub struct SessionFilter {
    /// Only those in this state.
    pub state: Option<String>,
    /// Only those on this repository.
    pub repo: Option<PathBuf>,
    /// Only those that are not closed.
    pub open_only: bool,
    /// At most so many; `None` for all.
    pub limit: Option<u32>,
}

/// One event as it was stored.
#[derive(Clone, Debug)]
pub struct StoredEvent {
    /// Its number in the session, from 1.
    pub seq: u64,
    /// Its time, in microseconds of the Unix epoch, never before the one before it.
    pub time_us: i64,
    /// Its kind.
    pub kind: String,
    /// The journal's half, exactly as it was hashed.
    pub entry: Box<RawValue>,
    /// The session store's half; `None` when there was none or it has been erased.
    pub content: Option<Vec<u8>>,
}
