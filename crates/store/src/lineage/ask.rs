//! Questions over many sessions: what a source brought in, what was downgraded, what a hunk of a change set was made of.

use enclos_core::ids::SessionId;
use enclos_core::lineage::Kind;
use rusqlite::params;

use super::numbers::{join, known_word};
use super::read::{known_session, limit, nodes};
use super::row::{COLUMNS, Node};
use crate::StoreError;
use crate::store::Store;

impl Store {
    /// What came from a source since a time (microseconds of the Unix epoch), the newest first; at most so many.
    pub fn lineage_from_source(
        &self,
        source: &str,
        since_us: i64,
        most: usize,
    ) -> Result<Vec<Node>, StoreError> {
        let reader = self.reader();
        let Some(word) = known_word(&reader, source)? else { return Ok(Vec::new()) };
        let sql = format!(
            "SELECT {COLUMNS} FROM lineage_record WHERE change IS NULL AND source = ?1 AND time_us >= ?2
             ORDER BY time_us DESC, number DESC LIMIT ?3"
        );
        nodes(&reader, &sql, params![word, since_us, limit(most)])
    }

    /// What was made under a downgrade rule since a time, the newest first; at most so many.
    pub fn lineage_downgrades(&self, since_us: i64, most: usize) -> Result<Vec<Node>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM lineage_record WHERE rule IS NOT NULL AND time_us >= ?1
             ORDER BY time_us DESC, number DESC LIMIT ?2"
        );
        nodes(&self.reader(), &sql, params![since_us, limit(most)])
    }

    /// The records of one kind of a session, the newest first; at most so many.
    pub fn lineage_of_kind(
        &self,
        session: &SessionId,
        kind: Kind,
        most: usize,
    ) -> Result<Vec<Node>, StoreError> {
        let reader = self.reader();
        let number = known_session(&reader, session)?;
        let sql = format!(
            "SELECT {COLUMNS} FROM lineage_record WHERE number > ?1 AND number < ?2 AND kind = ?3
             ORDER BY number DESC LIMIT ?4"
        );
        let bounds = params![join(number, 0), join(number.saturating_add(1), 0), kind.number(), limit(most)];
        nodes(&reader, &sql, bounds)
    }
}
