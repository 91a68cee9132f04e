//! Verifying the store itself, without an export.
//!
//! Every chain is followed from its first entry to the head that its session's row names, and no session may be missing
//! from the count of the deployment. All is read at one moment, while sessions go on.

use std::borrow::Cow;

use enclos_core::ids::SessionId;
use rusqlite::{Connection, Row};

use super::chain::{Hash, Link};
use super::export::{SessionHead, is_object};
use super::report::{FirstBad, Outcome, Verification};
use super::walk::{Chain, Fault};
use crate::StoreError;
use crate::database;
use crate::store::Store;

impl Store {
    /// Verifies the journal in the store. An error is only what kept us from reading; everything found is in the
    /// result.
    pub fn verify(&self) -> Result<Verification, StoreError> {
        let mut connection = database::reader(&self.inner().place)?;
        let tx = connection.transaction()?;
        let mut audit = Audit { deployment: self.deployment(), entries: 0, sessions: 0 };
        let found = match audit.all(&tx) {
            Ok(()) => None,
            Err(Stop::Found { session, fault }) => Some((session, fault)),
            Err(Stop::Unreadable(error)) => return Err(error),
        };
        Ok(audit.report(found))
    }
}

/// Why the walk ends early.
enum Stop {
    Found { session: Option<String>, fault: Fault },
    Unreadable(StoreError),
}

struct Audit<'a> {
    deployment: &'a str,
    entries: u64,
    sessions: u64,
}

impl Audit<'_> {
    fn all(&mut self, tx: &Connection) -> Result<(), Stop> {
        let made: i64 = tx
            .query_row("SELECT sessions FROM deployment", [], |row| row.get(0))
            .map_err(|e| unreadable(e, None, None))?;
        let mut select = tx
            .prepare("SELECT id, number, head_seq, head FROM session ORDER BY number")
            .map_err(|e| unreadable(e, None, None))?;
        let mut rows = select.query([]).map_err(|e| unreadable(e, None, None))?;
        let mut expected = 1;
        while let Some(row) = rows.next().map_err(|e| unreadable(e, None, None))? {
            let head = head(row).map_err(|e| unreadable(e, None, None))?;
            if head.number != expected {
                return Err(found(
                    None,
                    Fault::missing(None, format!("session number {expected} is missing")),
                ));
            }
            self.session(tx, &head)?;
            expected = expected.saturating_add(1);
        }
        if made >= expected {
            return Err(found(None, Fault::missing(None, format!("session number {expected} is missing"))));
        }
        let strays: i64 = tx
            .query_row(
                "SELECT count(*) FROM entry WHERE session NOT IN (SELECT number FROM session)",
                [],
                |row| row.get(0),
            )
            .map_err(|e| unreadable(e, None, None))?;
        if strays > 0 || made.saturating_add(1) != expected {
            return Err(found(None, Fault::altered(None, "there are entries or sessions that nobody made")));
        }
        Ok(())
    }

    fn session(&mut self, tx: &Connection, head: &SessionHead) -> Result<(), Stop> {
        let id = head.id.as_str();
        if SessionId::parse(id).is_none() {
            return Err(found(Some(id), Fault::altered(None, "the name of a session is not well formed")));
        }
        let mut chain = Chain::start(self.deployment, id);
        let mut select = tx
            .prepare_cached(
                "SELECT seq, time_us, kind, prev_hash, hash, entry FROM entry WHERE session = ?1 ORDER BY seq",
            )
            .map_err(|e| unreadable(e, Some(id), None))?;
        let mut rows = select.query([head.number]).map_err(|e| unreadable(e, Some(id), None))?;
        loop {
            let at = Some(chain.next());
            let Some(row) = rows.next().map_err(|e| unreadable(e, Some(id), at))? else { break };
            step(&mut chain, row)
                .map_err(|e| unreadable(e, Some(id), at))?
                .map_err(|fault| found(Some(id), fault))?;
            self.entries = self.entries.saturating_add(1);
        }
        chain.end(head.entries, &head.head).map_err(|fault| found(Some(id), fault))?;
        self.sessions = self.sessions.saturating_add(1);
        Ok(())
    }

    fn report(self, found: Option<(Option<String>, Fault)>) -> Verification {
        let (entries, sessions) = (self.entries, self.sessions);
        let Some((session, fault)) = found else {
            return Verification::all_well(entries, sessions);
        };
        let first_bad =
            FirstBad { session: session.and_then(|s| SessionId::parse(&s)), seq: fault.seq, line: None };
        Verification::failed(fault.outcome, entries, sessions, first_bad, &fault.why)
    }
}

fn head(row: &Row<'_>) -> rusqlite::Result<SessionHead> {
    let entries = row.get::<_, i64>(2)?.unsigned_abs();
    Ok(SessionHead { id: row.get(0)?, number: row.get(1)?, entries, head: row.get(3)? })
}

fn step(chain: &mut Chain, row: &Row<'_>) -> rusqlite::Result<Result<(), Fault>> {
    let seq = row.get::<_, i64>(0)?.unsigned_abs();
    let time_us = row.get(1)?;
    let prev: Hash = row.get(3)?;
    let hash: Hash = row.get(4)?;
    let entry = row.get_ref(5)?.as_blob()?;
    let session = chain.session().to_owned();
    let link = Link { session: &session, seq, time_us, prev, kind: row.get_ref(2)?.as_str()?, entry };
    let outcome = chain.step(&link, &hash);
    if outcome.is_ok() && !is_object(entry) {
        return Ok(Err(Fault::altered(Some(seq), "it is not a JSON object")));
    }
    Ok(outcome)
}

fn found(session: Option<&str>, fault: Fault) -> Stop {
    Stop::Found { session: session.map(str::to_owned), fault }
}

/// A value of the wrong shape or a damaged page is something found; a lock or a failing disk keeps us from looking.
fn unreadable(error: rusqlite::Error, session: Option<&str>, seq: Option<u64>) -> Stop {
    use rusqlite::ErrorCode as Code;
    let why: Cow<'static, str> = match error.sqlite_error_code() {
        None => "a value has not the shape that was written".into(),
        Some(Code::DatabaseCorrupt | Code::NotADatabase) => "the database file is damaged there".into(),
        Some(_) => return Stop::Unreadable(error.into()),
    };
    let outcome = Outcome::Altered;
    found(session, Fault { outcome, seq, why })
}
