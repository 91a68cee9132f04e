//! One append inside a transaction: the fence, the chain, the rows.
//!
//! The head is read from the database each time and never kept in memory, so a commit that failed cannot have moved
//! it. The epoch of the lease is a condition of every statement that writes: under an older one nothing is written.

use std::sync::Arc;

use enclos_core::ids::SessionId;
use rusqlite::{OptionalExtension, Transaction, params};

use crate::StoreError;
use crate::entry::Prepared;
use crate::journal::chain::{Hash, Link};
use crate::lineage;
use crate::record::{Receipt, StateChange};
use crate::seal::SessionKeys;

/// The right to append to a session: its row and the epoch of the lease.
#[derive(Clone)]
pub(crate) struct Grant {
    pub(crate) session: SessionId,
    pub(crate) number: i64,
    pub(crate) epoch: i64,
    pub(crate) keys: Arc<SessionKeys>,
}

/// Where a chain stands.
struct Head {
    seq: u64,
    time_us: i64,
    hash: Hash,
}

/// Writes the records. An error of the inner result has written nothing and lets the transaction go on; one of the
/// outer result ends it.
pub(crate) fn apply(
    tx: &Transaction<'_>,
    grant: &Grant,
    records: &[Prepared],
) -> Result<Result<Receipt, StoreError>, StoreError> {
    let Some(before) = read_head(tx, grant)? else {
        return Ok(Err(StoreError::LostLease(grant.session.clone())));
    };
    let checked = match lineage::check(tx, grant, records.iter().flat_map(|record| &record.lineage))? {
        Ok(checked) => checked,
        Err(refused) => return Ok(Err(refused.into())),
    };
    let mut checked = checked.as_slice();
    let mut head = Head { seq: before.seq, time_us: before.time_us, hash: before.hash };
    let mut state = None;
    for record in records {
        head = insert(tx, grant, &head, record)?;
        if let Some((of_record, rest)) = checked.split_at_checked(record.lineage.len()) {
            lineage::insert(tx, grant, head.seq, &record.lineage, of_record)?;
            checked = rest;
        }
        if record.archives {
            lineage::archive(tx, grant)?;
        }
        if let Some(change) = &record.state {
            state = Some((change, head.time_us));
        }
    }
    move_head(tx, grant, &before, &head)?;
    if let Some((change, time_us)) = state {
        show_state(tx, grant, change, time_us)?;
    }
    Ok(Ok(Receipt::new(grant.session.clone(), before.seq.saturating_add(1), head.seq, head.hash)))
}

/// The head of the session, or `None` when the lease is not the newest.
fn read_head(tx: &Transaction<'_>, grant: &Grant) -> Result<Option<Head>, StoreError> {
    let mut select = tx.prepare_cached(
        "SELECT head_seq, head_time_us, head FROM session WHERE number = ?1 AND epoch = ?2",
    )?;
    let head = select.query_row(params![grant.number, grant.epoch], |row| {
        Ok(Head { seq: row.get::<_, i64>(0)?.unsigned_abs(), time_us: row.get(1)?, hash: row.get(2)? })
    });
    Ok(head.optional()?)
}

fn insert(tx: &Transaction<'_>, grant: &Grant, head: &Head, record: &Prepared) -> Result<Head, StoreError> {
    let seq = head.seq.saturating_add(1);
    let time_us = head.time_us.max(record.time_us);
    let link = Link {
        session: grant.session.as_str(),
        seq,
        time_us,
        prev: head.hash,
        kind: &record.kind,
        entry: &record.entry,
    };
    let hash = link.hash();
    let row = signed(seq);
    let written = tx
        .prepare_cached(
            "INSERT INTO entry (session, seq, time_us, kind, prev_hash, hash, entry)
             SELECT number, ?3, ?4, ?5, ?6, ?7, ?8 FROM session WHERE number = ?1 AND epoch = ?2",
        )?
        .execute(params![
            grant.number,
            grant.epoch,
            row,
            time_us,
            record.kind,
            head.hash,
            hash,
            record.entry
        ])?;
    if written != 1 {
        return Err(StoreError::LostLease(grant.session.clone()));
    }
    if let Some(content) = &record.content {
        let sealed = grant.keys.seal_content(seq, content)?;
        tx.prepare_cached("INSERT INTO content (session, seq, sealed) VALUES (?1, ?2, ?3)")?
            .execute(params![grant.number, row, sealed])?;
    }
    Ok(Head { seq, time_us, hash })
}

fn move_head(tx: &Transaction<'_>, grant: &Grant, from: &Head, to: &Head) -> Result<(), StoreError> {
    let moved = tx
        .prepare_cached(
            "UPDATE session SET head_seq = ?3, head_time_us = ?4, head = ?5
             WHERE number = ?1 AND epoch = ?2 AND head_seq = ?6 AND head = ?7",
        )?
        .execute(params![
            grant.number,
            grant.epoch,
            signed(to.seq),
            to.time_us,
            to.hash,
            signed(from.seq),
            from.hash
        ])?;
    if moved == 1 { Ok(()) } else { Err(StoreError::LostLease(grant.session.clone())) }
}

fn show_state(
    tx: &Transaction<'_>,
    grant: &Grant,
    change: &StateChange,
    time_us: i64,
) -> Result<(), StoreError> {
    let closed = change.closed.then_some(time_us);
    tx.prepare_cached(
        "UPDATE session SET state = ?3, outcome = coalesce(?4, outcome), closed_us = coalesce(closed_us, ?5)
         WHERE number = ?1 AND epoch = ?2",
    )?
    .execute(params![grant.number, grant.epoch, change.state, change.outcome, closed])?;
    Ok(())
}

/// A sequence number as SQLite keeps it.
pub(crate) fn signed(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}
