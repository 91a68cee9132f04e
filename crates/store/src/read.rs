//! Reading sessions and their events.
//!
//! Events come out only when the chain up to them verifies and their content is the one that the entry commits to: a
//! session is never resumed on what somebody changed.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use enclos_core::ids::{Digest, SessionId};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};
use serde_json::value::RawValue;

use crate::StoreError;
use crate::append::signed;
use crate::entry::OwnFields;
use crate::journal::chain::{Hash, Link};
use crate::journal::walk::Chain;
use crate::policy::POLICY_CHAIN;
use crate::record::{SessionFilter, SessionRow, StoredEvent};
use crate::seal::SessionKeys;
use crate::store::Store;

const COLUMNS: &str = "id, created_us, max(created_us, head_time_us), closed_us, task_digest, repo, surface, state, \
                       outcome, head_seq, sealed_key, sealed_extra";

impl Store {
    /// The sessions, newest first.
    pub fn sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionRow>, StoreError> {
        let mut sql = format!("SELECT {COLUMNS} FROM session WHERE id <> '{POLICY_CHAIN}'");
        let mut values: Vec<&dyn ToSql> = Vec::new();
        let repo = filter.repo.as_deref().map(|p: &Path| p.as_os_str().as_bytes());
        if let Some(state) = &filter.state {
            sql.push_str(" AND state = ?");
            values.push(state);
        }
        if let Some(repo) = &repo {
            sql.push_str(" AND repo = ?");
            values.push(repo);
        }
        if filter.open_only {
            sql.push_str(" AND closed_us IS NULL");
        }
        sql.push_str(" ORDER BY number DESC LIMIT ?");
        let limit = filter.limit.map_or(-1, i64::from);
        values.push(&limit);
        let reader = self.reader();
        let mut select = reader.prepare_cached(&sql)?;
        let rows = select.query_map(values.as_slice(), raw_row)?;
        rows.map(|row| self.session_row(row?)).collect()
    }

    /// One session.
    pub fn session(&self, id: &SessionId) -> Result<SessionRow, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM session WHERE id = ?1 AND id <> '{POLICY_CHAIN}'");
        let row = self.reader().query_row(&sql, [id.as_str()], raw_row).optional()?;
        self.session_row(row.ok_or_else(|| StoreError::UnknownSession(id.clone()))?)
    }

    /// All events of a session, in order, verified from the first to the head.
    pub fn events(&self, id: &SessionId) -> Result<Vec<StoredEvent>, StoreError> {
        self.events_after(id, 0)
    }

    /// The events of a session after number `seq`, verified from there to the head.
    pub fn events_after(&self, id: &SessionId, seq: u64) -> Result<Vec<StoredEvent>, StoreError> {
        self.read_events(id, seq, true)
    }

    /// All entries of a chain without their content, verified from the first to the head.
    pub(crate) fn entries(&self, id: &SessionId) -> Result<Vec<StoredEvent>, StoreError> {
        self.read_events(id, 0, false)
    }

    fn read_events(&self, id: &SessionId, seq: u64, content: bool) -> Result<Vec<StoredEvent>, StoreError> {
        let mut reader = self.reader();
        // One transaction, so that rows and head are of the same moment.
        let tx = reader.transaction()?;
        let head = read_head(&tx, id)?;
        let keys = match head.wrapped.as_ref().filter(|_| content) {
            Some(wrapped) => Some(SessionKeys::unwrap(id, &self.inner().master, wrapped)?),
            None => None,
        };
        let mut chain = start(&tx, &self.inner().deployment, id, head.number, seq)?;
        let mut select = tx.prepare_cached(
            "SELECT e.seq, e.time_us, e.kind, e.prev_hash, e.hash, e.entry, c.sealed
             FROM entry e LEFT JOIN content c ON c.session = e.session AND c.seq = e.seq AND ?3
             WHERE e.session = ?1 AND e.seq > ?2 ORDER BY e.seq",
        )?;
        let mut rows = select.query(params![head.number, signed(seq), content])?;
        let mut events = Vec::new();
        while let Some(row) = rows.next()? {
            events.push(event(row, id, &mut chain, keys.as_ref())?);
        }
        chain.end(head.seq, &head.hash).map_err(|fault| fault.in_store(id, head.seq))?;
        Ok(events)
    }

    /// The hash of a session's last entry, in hexadecimal digits: over all entries before it.
    pub fn head(&self, id: &SessionId) -> Result<String, StoreError> {
        let head = read_head(&self.reader(), id)?;
        Ok(head
            .hash
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 15])
            .filter_map(|half| char::from_digit(half.into(), 16))
            .collect())
    }

    fn session_row(&self, raw: RawRow) -> Result<SessionRow, StoreError> {
        let RawRow { mut row, wrapped, sealed_extra } = raw;
        if let (Some(wrapped), Some(sealed)) = (wrapped, sealed_extra) {
            let clear = SessionKeys::unwrap(&row.id, &self.inner().master, &wrapped)?.open_extra(&sealed)?;
            let unreadable = |_| StoreError::Seal { session: row.id.clone(), what: "the description" };
            row.extra = Some(serde_json::from_slice(&clear).map_err(unreadable)?);
        }
        Ok(row)
    }
}

/// A row of the listing with its sealed part.
struct RawRow {
    row: SessionRow,
    wrapped: Option<Vec<u8>>,
    sealed_extra: Option<Vec<u8>>,
}

fn raw_row(row: &Row<'_>) -> rusqlite::Result<RawRow> {
    let session = SessionRow {
        id: SessionId::new(row.get::<_, String>(0)?),
        created_us: row.get(1)?,
        updated_us: row.get(2)?,
        closed_us: row.get(3)?,
        task_digest: Digest::new(row.get::<_, String>(4)?),
        repo: PathBuf::from(OsString::from_vec(row.get(5)?)),
        surface: row.get(6)?,
        state: row.get(7)?,
        outcome: row.get(8)?,
        entries: row.get::<_, i64>(9)?.unsigned_abs(),
        extra: None,
    };
    Ok(RawRow { row: session, wrapped: row.get(10)?, sealed_extra: row.get(11)? })
}

/// Where a session stands, as its row says.
struct SessionHead {
    number: i64,
    seq: u64,
    hash: Hash,
    wrapped: Option<Vec<u8>>,
}

fn read_head(connection: &Connection, id: &SessionId) -> Result<SessionHead, StoreError> {
    let head = connection
        .query_row(
            "SELECT number, head_seq, head, sealed_key FROM session WHERE id = ?1",
            [id.as_str()],
            |row| {
                Ok(SessionHead {
                    number: row.get(0)?,
                    seq: row.get::<_, i64>(1)?.unsigned_abs(),
                    hash: row.get(2)?,
                    wrapped: row.get(3)?,
                })
            },
        )
        .optional()?;
    head.ok_or_else(|| StoreError::UnknownSession(id.clone()))
}

/// The chain as it stands after entry `seq`; 0 is its beginning.
fn start(
    tx: &Connection,
    deployment: &str,
    id: &SessionId,
    number: i64,
    seq: u64,
) -> Result<Chain, StoreError> {
    if seq == 0 {
        return Ok(Chain::start(deployment, id.as_str()));
    }
    let found: Option<(Hash, i64)> = tx
        .query_row(
            "SELECT hash, time_us FROM entry WHERE session = ?1 AND seq = ?2",
            params![number, signed(seq)],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    let missing =
        || StoreError::Altered { session: id.clone(), seq, why: "there is no such entry".to_owned() };
    let (hash, time_us) = found.ok_or_else(missing)?;
    Ok(Chain::resume(id.as_str(), seq, hash, time_us))
}

/// One event, once it fits its chain.
fn event(
    row: &Row<'_>,
    id: &SessionId,
    chain: &mut Chain,
    keys: Option<&SessionKeys>,
) -> Result<StoredEvent, StoreError> {
    let seq = row.get::<_, i64>(0)?.unsigned_abs();
    let time_us = row.get(1)?;
    let kind: String = row.get(2)?;
    let bytes: Vec<u8> = row.get(5)?;
    let link = Link { session: id.as_str(), seq, time_us, prev: row.get(3)?, kind: &kind, entry: &bytes };
    chain.step(&link, &row.get(4)?).map_err(|fault| fault.in_store(id, seq))?;
    let altered = |why: &str| StoreError::Altered { session: id.clone(), seq, why: why.to_owned() };
    let own: OwnFields = serde_json::from_slice(&bytes).map_err(|_| altered("it is not an object"))?;
    let sealed: Option<Vec<u8>> = row.get(6)?;
    let content = match (keys, own.sealed, sealed) {
        (Some(keys), Some(own), Some(sealed)) => {
            let clear = keys.open_content(seq, &sealed)?;
            if keys.commit_key().digest(&clear) != own.digest {
                return Err(altered("its content is another"));
            }
            Some(clear)
        }
        (Some(_), Some(_), None) => return Err(altered("its content is missing")),
        (Some(_), None, Some(_)) => return Err(altered("it has content that it does not name")),
        (Some(_), None, None) | (None, _, _) => None,
    };
    let entry = String::from_utf8(bytes).map_err(|_| altered("it is not UTF-8"))?;
    let entry = RawValue::from_string(entry).map_err(|_| altered("it is not JSON"))?;
    Ok(StoredEvent { seq, time_us, kind, entry, content })
}
