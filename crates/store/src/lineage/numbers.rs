//! Numbers of records and of words, and the names behind them.
//!
//! Within one question the same word or session is looked up once.

use std::collections::HashMap;

use enclos_core::ids::SessionId;
use enclos_core::lineage::LineageId;
use rusqlite::{Connection, OptionalExtension};

use crate::StoreError;

/// Bits of a record's number that count within its session.
const BITS: u32 = 24;

/// The number of a record in a session of this number.
pub(super) const fn join(session: i64, number: u32) -> i64 {
    (session << BITS) | number as i64
}

/// Session and number of a record.
pub(super) fn split(number: i64) -> (i64, u32) {
    (number >> BITS, u32::try_from(number & ((1 << BITS) - 1)).unwrap_or(0))
}

/// The number of a record by its name; `None` where its session is not known here.
pub(super) fn of_id(connection: &Connection, id: &LineageId) -> Result<Option<i64>, StoreError> {
    let session: Option<i64> = connection
        .prepare_cached("SELECT number FROM session WHERE id = ?1")?
        .query_row([id.session().as_str()], |row| row.get(0))
        .optional()?;
    Ok(session.map(|session| join(session, id.number())))
}

/// Words and sessions that were looked up.
#[derive(Debug, Default)]
pub(super) struct Names {
    words: HashMap<i64, String>,
    sessions: HashMap<i64, SessionId>,
    archived: HashMap<i64, u32>,
}

impl Names {
    /// The word of a number.
    pub(super) fn word(&mut self, connection: &Connection, number: i64) -> Result<String, StoreError> {
        if let Some(word) = self.words.get(&number) {
            return Ok(word.clone());
        }
        let word: String = connection
            .prepare_cached("SELECT text FROM lineage_word WHERE number = ?1")?
            .query_row([number], |row| row.get(0))?;
        self.words.insert(number, word.clone());
        Ok(word)
    }

    /// The word of a number that may be absent.
    pub(super) fn maybe(
        &mut self,
        connection: &Connection,
        number: Option<i64>,
    ) -> Result<Option<String>, StoreError> {
        number.map(|number| self.word(connection, number)).transpose()
    }

    /// The session of a number.
    pub(super) fn session(&mut self, connection: &Connection, number: i64) -> Result<SessionId, StoreError> {
        if let Some(session) = self.sessions.get(&number) {
            return Ok(session.clone());
        }
        let name: String = connection
            .prepare_cached("SELECT id FROM session WHERE number = ?1")?
            .query_row([number], |row| row.get(0))?;
        let session = SessionId::new(name);
        self.sessions.insert(number, session.clone());
        Ok(session)
    }

    /// The name of a record.
    pub(super) fn id(&mut self, connection: &Connection, number: i64) -> Result<LineageId, StoreError> {
        let (session, within) = split(number);
        let session = self.session(connection, session)?;
        let damaged = || StoreError::Damaged(format!("a record of lineage has the number {number}"));
        LineageId::of(&session, within).ok_or_else(damaged)
    }

    /// The last record of a session that was archived at a reset.
    pub(super) fn archived(&mut self, connection: &Connection, session: i64) -> Result<u32, StoreError> {
        if let Some(last) = self.archived.get(&session) {
            return Ok(*last);
        }
        let last = archived(connection, session)?;
        self.archived.insert(session, last);
        Ok(last)
    }
}

/// The last record of a session that was archived at a reset; 0 where none was.
pub(super) fn archived(connection: &Connection, session: i64) -> Result<u32, StoreError> {
    let last: Option<u32> = connection
        .prepare_cached("SELECT archived FROM lineage_session WHERE session = ?1")?
        .query_row([session], |row| row.get(0))
        .optional()?;
    Ok(last.unwrap_or(0))
}

/// The number of a word, which is given one where it has none.
pub(super) fn word(connection: &Connection, text: &str) -> Result<i64, StoreError> {
    if let Some(number) = known_word(connection, text)? {
        return Ok(number);
    }
    let number = connection
        .prepare_cached("INSERT INTO lineage_word (text) VALUES (?1) RETURNING number")?
        .query_row([text], |row| row.get(0))?;
    Ok(number)
}

/// The number of a word that has one.
pub(super) fn known_word(connection: &Connection, text: &str) -> Result<Option<i64>, StoreError> {
    Ok(connection
        .prepare_cached("SELECT number FROM lineage_word WHERE text = ?1")?
        .query_row([text], |row| row.get(0))
        .optional()?)
}
