//! Records go with their retention: those of a session some time after it closed, archived ones with the journal's.
//!
//! A reset archives: the records of the session so far are gone from its context, and nothing new may be made of them. Links
//! from records of other sessions to those that went stay, and are told as gone.

use rusqlite::{Connection, TransactionBehavior, params};

use super::numbers::join;
use crate::StoreError;
use crate::store::Store;

/// What a retention took away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Records.
    pub records: u64,
    /// Links.
    pub links: u64,
}

impl Store {
    /// Forgets the lineage of sessions that closed before `before_us`, and the archived one of those that closed before
    /// `archived_before_us` (microseconds of the Unix epoch).
    pub fn forget_lineage(&self, before_us: i64, archived_before_us: i64) -> Result<Forgotten, StoreError> {
        let none = {
            let reader = self.reader();
            due(&reader, LIVE, before_us)?.is_empty()
                && due(&reader, ARCHIVED, archived_before_us)?.is_empty()
        };
        if none {
            return Ok(Forgotten::default());
        }
        self.writer()?.run(move |connection| forget(connection, before_us, archived_before_us))
    }
}

/// Which sessions are due, the record after which they are, and the last one: live ones, then archived ones.
const LIVE: &str = "SELECT l.session, max(l.archived, l.gone), l.last FROM lineage_session l
                    JOIN session s ON s.number = l.session WHERE s.closed_us < ?1 AND l.last > max(l.archived, l.gone)";
const ARCHIVED: &str = "SELECT l.session, l.archived_gone, l.archived FROM lineage_session l
                        JOIN session s ON s.number = l.session WHERE s.closed_us < ?1 AND l.archived > l.archived_gone";

type Due = Vec<(i64, u32, u32)>;

fn due(connection: &Connection, sql: &str, before_us: i64) -> Result<Due, StoreError> {
    let mut select = connection.prepare_cached(sql)?;
    let rows = select.query_map([before_us], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn forget(
    connection: &mut Connection,
    before_us: i64,
    archived_before_us: i64,
) -> Result<Forgotten, StoreError> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut forgotten = Forgotten::default();
    let live = due(&tx, LIVE, before_us)?;
    let archived = due(&tx, ARCHIVED, archived_before_us)?;
    for (session, after, last) in live.iter().chain(&archived) {
        let range = params![join(*session, *after), join(*session, *last)];
        let links = tx.execute("DELETE FROM lineage_edge WHERE dst > ?1 AND dst <= ?2", range)?;
        let records = tx.execute("DELETE FROM lineage_record WHERE number > ?1 AND number <= ?2", range)?;
        forgotten.links = forgotten.links.saturating_add(links as u64);
        forgotten.records = forgotten.records.saturating_add(records as u64);
    }
    for (session, _, last) in live {
        tx.execute("UPDATE lineage_session SET gone = ?2 WHERE session = ?1", params![session, last])?;
    }
    for (session, _, last) in archived {
        tx.execute(
            "UPDATE lineage_session SET archived_gone = ?2 WHERE session = ?1",
            params![session, last],
        )?;
    }
    tx.commit()?;
    Ok(forgotten)
}
