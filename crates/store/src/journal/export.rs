//! Writing the journal out as JSON lines, for a verifier that has nothing else.
//!
//! All rows are of one moment. What is stored goes out as it is, so that a change made in the database shows in the
//! export; only what could not stand in a line of its own stops the export.

use std::io::{BufWriter, Write};

use enclos_core::ids::{Digest, SessionId};
use rusqlite::{Connection, Transaction, params};
use serde::Serialize;
use serde::de::IgnoredAny;

use super::chain::{Hash, Link, hex, is_kind};
use super::line::{self, Seal};
use crate::StoreError;
use crate::database;
use crate::store::Store;

/// What an export holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExportSummary {
    /// How many sessions.
    pub sessions: u64,
    /// How many entries.
    pub entries: u64,
    /// The digest of the last line, over the heads of all sessions: whoever keeps it elsewhere can tell later whether
    /// an export was replaced.
    pub digest: Digest,
}

/// A session as its row stands.
pub(super) struct SessionHead {
    pub(super) id: String,
    pub(super) number: i64,
    pub(super) entries: u64,
    pub(super) head: Hash,
}

impl Store {
    /// Writes the journal of one session, or of all, as JSON lines. Content is never in it. The same journal gives the
    /// same bytes.
    pub fn export(
        &self,
        session: Option<&SessionId>,
        out: &mut dyn Write,
    ) -> Result<ExportSummary, StoreError> {
        let mut connection = database::reader(&self.inner().place)?;
        let tx = connection.transaction()?;
        let scope = session.map_or("all", SessionId::as_str);
        let heads = heads(&tx, session)?;
        if let (Some(id), true) = (session, heads.is_empty()) {
            return Err(StoreError::UnknownSession(id.clone()));
        }
        let mut export = Export {
            out: BufWriter::with_capacity(1 << 16, out),
            seal: Seal::start(self.deployment(), scope),
            entries: 0,
        };
        export.write(line::header(self.deployment(), scope).as_bytes())?;
        for head in &heads {
            export.session(&tx, head)?;
        }
        export.finish(heads.len() as u64)
    }
}

/// The sessions in the order of an export: by name.
fn heads(tx: &Connection, session: Option<&SessionId>) -> Result<Vec<SessionHead>, StoreError> {
    let mut select = tx.prepare(
        "SELECT id, number, head_seq, head FROM session WHERE ?1 IS NULL OR id = ?1 ORDER BY id COLLATE BINARY",
    )?;
    let rows = select.query_map([session.map(SessionId::as_str)], |row| {
        let entries = row.get::<_, i64>(2)?.unsigned_abs();
        Ok(SessionHead { id: row.get(0)?, number: row.get(1)?, entries, head: row.get(3)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

struct Export<'a> {
    out: BufWriter<&'a mut dyn Write>,
    seal: Seal,
    entries: u64,
}

impl Export<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.out.write_all(bytes).map_err(|e| StoreError::Output(e.to_string()))
    }

    fn session(&mut self, tx: &Transaction<'_>, head: &SessionHead) -> Result<(), StoreError> {
        let Some(id) = SessionId::parse(&head.id) else {
            return Err(StoreError::BadSession(head.id.clone()));
        };
        let mut select = tx.prepare_cached(
            "SELECT seq, time_us, kind, prev_hash, hash, entry FROM entry WHERE session = ?1 ORDER BY seq",
        )?;
        let mut rows = select.query(params![head.number])?;
        let mut buffer = Vec::new();
        while let Some(row) = rows.next()? {
            let seq = row.get::<_, i64>(0)?.unsigned_abs();
            let kind: String = row.get(2)?;
            let entry = row.get_ref(5)?.as_blob().map_err(|e| StoreError::Database(e.to_string()))?;
            let time_us = row.get(1)?;
            let link = Link { session: &head.id, seq, time_us, prev: row.get(3)?, kind: &kind, entry };
            if !stands_in_a_line(&link) {
                let why = "it cannot stand in a line of an export".to_owned();
                return Err(StoreError::Altered { session: id, seq, why });
            }
            buffer.clear();
            line::push_entry(&mut buffer, &link, &row.get(4)?);
            self.write(&buffer)?;
            self.entries = self.entries.saturating_add(1);
        }
        self.seal.session(&head.id, head.entries, &head.head);
        self.write(line::session_end(&head.id, head.entries, &head.head).as_bytes())
    }

    fn finish(mut self, sessions: u64) -> Result<ExportSummary, StoreError> {
        let digest = self.seal.finish();
        self.write(line::export_end(sessions, self.entries, &digest).as_bytes())?;
        self.out.flush().map_err(|e| StoreError::Output(e.to_string()))?;
        let digest = Digest::new(format!("sha256:{}", hex(&digest)));
        Ok(ExportSummary { sessions, entries: self.entries, digest })
    }
}

/// Nothing that was changed in the database may forge a line of its own.
fn stands_in_a_line(link: &Link<'_>) -> bool {
    is_kind(link.kind) && link.time_us >= 0 && !link.entry.contains(&b'\n') && is_object(link.entry)
}

/// Whether the bytes are one JSON object.
pub(super) fn is_object(bytes: &[u8]) -> bool {
    bytes.starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}
