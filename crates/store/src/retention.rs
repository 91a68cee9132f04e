//! Erasing content after its time, while the journal stays.
//!
//! The wrapped key of the session goes, then the sealed content, with SQLite overwriting what it frees and the log
//! truncated. That it happened is an entry of the journal in the same transaction. What cannot be promised: copies of
//! the file made before, which need the master key to be opened.

use std::sync::Arc;

use enclos_core::ids::SessionId;
use rusqlite::{Connection, TransactionBehavior, params};
use serde_json::json;

use crate::append::{Grant, apply};
use crate::database::empty_log;
use crate::entry::prepare;
use crate::lease::SessionLock;
use crate::record::{KIND_CONTENT_ERASED, Record};
use crate::seal::SessionKeys;
use crate::store::{Inner, Store};
use crate::{LeaseError, StoreError};

/// What an erasure did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// How many sessions lost their content.
    pub sessions: u64,
    /// How many pieces of content.
    pub contents: u64,
    /// How many sessions were left for later because another gateway holds them.
    pub held: u64,
}

/// A session whose content is due.
struct Due {
    id: SessionId,
    number: i64,
}

impl Store {
    /// Erases the content of the sessions that closed before `before_us`, and notes it in the journal of each with the
    /// time `now_us` (both in microseconds of the Unix epoch). A session that somebody holds is left for the next
    /// time; one killed half-way is erased whole the next time.
    pub fn erase_content(&self, before_us: i64, now_us: i64) -> Result<Erased, StoreError> {
        let mut erased = Erased::default();
        for due in due(&self.reader(), before_us)? {
            match self.erase_one(due, now_us) {
                Ok(contents) => {
                    erased.sessions = erased.sessions.saturating_add(1);
                    erased.contents = erased.contents.saturating_add(contents);
                }
                Err(LeaseError::Held { .. }) => erased.held = erased.held.saturating_add(1),
                Err(LeaseError::Store(error)) => return Err(error),
            }
        }
        if erased.sessions > 0 {
            self.writer()?.run(empty_log)?;
        }
        Ok(erased)
    }

    /// Erases the content of one session that is closed, and notes it in its journal. Gives how many pieces there were.
    ///
    /// # Errors
    /// [`LeaseError::Held`] while somebody works on it.
    pub fn erase_session(&self, id: &SessionId, now_us: i64) -> Result<u64, LeaseError> {
        let number = {
            let reader = self.reader();
            let row = reader.query_row(
                "SELECT number FROM session WHERE id = ?1 AND closed_us IS NOT NULL",
                [id.as_str()],
                |row| row.get(0),
            );
            row.map_err(StoreError::from)?
        };
        let contents = self.erase_one(Due { id: id.clone(), number }, now_us)?;
        self.writer()?.run(empty_log)?;
        Ok(contents)
    }

    fn erase_one(&self, due: Due, now_us: i64) -> Result<u64, LeaseError> {
        let _lock = SessionLock::take(&self.inner().place.session_lock(&due.id))?;
        let inner: &Inner = self.inner();
        // The entry has no content, so any key will do; the real one may be damaged and must go all the same.
        let keys = SessionKeys::generate(due.id.clone())?;
        let record = Record { kind: KIND_CONTENT_ERASED.to_owned(), time_us: now_us, ..Record::default() };
        let redactor = Arc::clone(&inner.redactor);
        Ok(self.writer()?.run(move |connection| erase(connection, due, keys, record, redactor.as_ref()))?)
    }
}

fn due(connection: &Connection, before_us: i64) -> Result<Vec<Due>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT id, number FROM session WHERE closed_us < ?1 AND sealed_key IS NOT NULL ORDER BY number",
    )?;
    let rows = select.query_map([before_us], |row| {
        Ok(Due { id: SessionId::new(row.get::<_, String>(0)?), number: row.get(1)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn erase(
    connection: &mut Connection,
    due: Due,
    keys: SessionKeys,
    mut record: Record,
    redactor: &dyn crate::Redact,
) -> Result<u64, StoreError> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let epoch = tx.query_row(
        "UPDATE session SET epoch = epoch + 1, sealed_key = NULL, sealed_extra = NULL WHERE number = ?1 RETURNING epoch",
        [due.number],
        |row| row.get(0),
    )?;
    let (contents, bytes): (i64, i64) = tx.query_row(
        "SELECT count(*), coalesce(sum(length(sealed)), 0) FROM content WHERE session = ?1",
        [due.number],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    tx.execute("DELETE FROM content WHERE session = ?1", params![due.number])?;
    record.entry.insert("contents".to_owned(), json!(contents));
    record.entry.insert("bytes".to_owned(), json!(bytes));
    let prepared = prepare(redactor, keys.commit_key(), record)?;
    let grant = Grant { session: due.id, number: due.number, epoch, keys: Arc::new(keys) };
    apply(&tx, &grant, &[prepared])??;
    tx.commit()?;
    Ok(contents.unsigned_abs())
}
