//! Single records, and what the writer needs to know of inputs.

use enclos_core::ids::SessionId;
use enclos_core::lineage::{Kind, LineageId, Seen};
use rusqlite::{Connection, OptionalExtension};

use super::numbers::{self, Names, join};
use super::row::{COLUMNS, Node, Raw};
use super::write::label_of;
use super::{LineageError, write};
use crate::StoreError;
use crate::store::Store;

impl Store {
    /// One record.
    pub fn lineage(&self, id: &LineageId) -> Result<Node, StoreError> {
        let reader = self.reader();
        let number = numbers::of_id(&reader, id)?.ok_or_else(|| LineageError::Unknown(id.clone()))?;
        node(&reader, &mut Names::default(), number)?.ok_or_else(|| LineageError::Unknown(id.clone()).into())
    }

    /// Records of a session after a number, in their order; at most so many.
    pub fn lineage_of_session(
        &self,
        session: &SessionId,
        after: u32,
        most: usize,
    ) -> Result<Vec<Node>, StoreError> {
        let reader = self.reader();
        let number = known_session(&reader, session)?;
        let sql = format!(
            "SELECT {COLUMNS} FROM lineage_record WHERE number > ?1 AND number < ?2 ORDER BY number LIMIT ?3"
        );
        let bounds = (join(number, after), join(number.saturating_add(1), 0), limit(most));
        nodes(&reader, &sql, bounds)
    }

    /// The last number that was given in a session; 0 where it has no record.
    pub fn lineage_last(&self, session: &SessionId) -> Result<u32, StoreError> {
        let reader = self.reader();
        let number = session_number(&reader, session)?;
        number.map_or(Ok(0), |number| write::last(&reader, number))
    }

    /// The answers that a source gave to aggregates.
    pub fn lineage_answers(&self, source: &str) -> Result<u64, StoreError> {
        Ok(answers(&self.reader(), source)?.unsigned_abs())
    }
}

/// The answers that a source gave.
pub(super) fn answers(connection: &Connection, source: &str) -> Result<i64, StoreError> {
    let answers: Option<i64> = connection
        .prepare_cached("SELECT answers FROM lineage_spent WHERE source = ?1")?
        .query_row([source], |row| row.get(0))
        .optional()?;
    Ok(answers.unwrap_or(0))
}

fn session_number(connection: &Connection, session: &SessionId) -> Result<Option<i64>, StoreError> {
    Ok(connection
        .prepare_cached("SELECT number FROM session WHERE id = ?1")?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()?)
}

/// As [`session_number`], where there must be such a session.
pub(super) fn known_session(connection: &Connection, session: &SessionId) -> Result<i64, StoreError> {
    session_number(connection, session)?.ok_or_else(|| StoreError::UnknownSession(session.clone()))
}

/// A count as SQLite takes it.
pub(super) fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

/// The record of a number. `None`: it is gone, or never was.
pub(super) fn node(
    connection: &Connection,
    names: &mut Names,
    number: i64,
) -> Result<Option<Node>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM lineage_record WHERE number = ?1");
    let raw = connection.prepare_cached(&sql)?.query_row([number], Raw::read).optional()?;
    raw.map(|raw| raw.node(connection, names)).transpose()
}

/// All records that a question gives.
pub(super) fn nodes(
    connection: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<Node>, StoreError> {
    let mut names = Names::default();
    let mut select = connection.prepare_cached(sql)?;
    let raws: Vec<Raw> = select.query_map(values, Raw::read)?.collect::<Result<_, _>>()?;
    raws.into_iter().map(|raw| raw.node(connection, &mut names)).collect()
}

/// What is known of an input, and its number.
pub(super) fn seen(connection: &Connection, id: &LineageId) -> Result<Option<(i64, Seen)>, StoreError> {
    let Some(number) = numbers::of_id(connection, id)? else { return Ok(None) };
    let mut select = connection.prepare_cached(
        "SELECT r.kind, r.label, r.never, s.text, r.record_id, t.text, r.change IS NOT NULL FROM lineage_record r
         JOIN lineage_word s ON s.number = r.source LEFT JOIN lineage_word t ON t.number = r.record_type
         WHERE r.number = ?1",
    )?;
    let row = select
        .query_row([number], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, i64>(1)?,
                row.get::<_, bool>(2)?,
                row.get(3)?,
                row.get(4)?,
                row.get(5)?,
                row.get::<_, bool>(6)?,
            ))
        })
        .optional()?;
    let Some((kind, label, never, source, record_id, record_type, made)) = row else { return Ok(None) };
    let damaged =
        || StoreError::Damaged(format!("the record `{id}` of lineage has a kind or label that is none"));
    let archived = id.number() <= numbers::archived(connection, numbers::split(number).0)?;
    let seen = Seen {
        id: id.clone(),
        kind: Kind::of_number(kind).ok_or_else(damaged)?,
        label: label_of(label).ok_or_else(damaged)?,
        can_be_downgraded: !never,
        source,
        record_id,
        record_type,
        made,
        archived,
    };
    Ok(Some((number, seen)))
}
