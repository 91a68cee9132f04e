//! Writing records: admitted one by one, then written, inside the transaction of their entries.
//!
//! [`check`] writes nothing and can refuse; [`insert`] writes what was checked. The next number of a session is read from
//! the database each time, so an append that failed cannot have moved it.

use std::collections::HashMap;

use enclos_core::downgrade::LoweringKind;
use enclos_core::ids::RuleId;
use enclos_core::label::{Label, Level, Provenance};
use enclos_core::lineage::{Confidence, Draft, LineageId, Refused, Seen, admit};
use rusqlite::{OptionalExtension, Transaction, params};

use super::prepare::Ready;
use super::{LineageError, numbers, read};
use crate::append::Grant;
use crate::{StoreError, append};

/// A draft that was admitted, with the numbers of its inputs.
pub(crate) struct Checked {
    number: i64,
    inputs: Vec<(i64, Confidence)>,
    witness: Option<i64>,
}

/// Says of each draft, in order, whether it may be made. The inner error has written nothing.
pub(crate) fn check<'r>(
    tx: &Transaction<'_>,
    grant: &Grant,
    drafts: impl Iterator<Item = &'r Ready>,
) -> Result<Result<Vec<Checked>, LineageError>, StoreError> {
    let mut last = last(tx, grant.number)?;
    let mut new: HashMap<LineageId, (i64, Seen)> = HashMap::new();
    let mut spent: HashMap<String, i64> = HashMap::new();
    let mut checked = Vec::new();
    for Ready { draft, .. } in drafts {
        if draft.id.session() != &grant.session || Some(draft.id.number()) != last.checked_add(1) {
            return Ok(Err(LineageError::Order { given: draft.id.clone() }));
        }
        last = draft.id.number();
        let mut seen = Vec::new();
        let mut numbers = Vec::new();
        for input in draft.change.iter().flat_map(|change| &change.inputs) {
            let found = match new.get(&input.id) {
                Some(known) => Some(known.clone()),
                None => read::seen(tx, &input.id)?,
            };
            let Some((number, known)) = found else {
                let refused = Refused::NoInput { id: draft.id.clone(), input: input.id.clone() };
                return Ok(Err(refused.into()));
            };
            numbers.push((number, input.confidence));
            seen.push(known);
        }
        let admitted = match admit(draft, &seen) {
            Ok(admitted) => admitted,
            Err(refused) => return Ok(Err(refused.into())),
        };
        if let Err(refused) = afford(tx, draft, &mut spent)? {
            return Ok(Err(refused));
        }
        let witness = admitted.witness.and_then(|witness| {
            seen.iter().zip(&numbers).find(|(seen, _)| seen.id == witness).map(|(_, (number, _))| *number)
        });
        let number = numbers::join(grant.number, draft.id.number());
        new.insert(draft.id.clone(), (number, as_seen(draft)));
        checked.push(Checked { number, inputs: numbers, witness });
    }
    Ok(Ok(checked))
}

/// The last number that was given in a session.
pub(super) fn last(tx: &rusqlite::Connection, session: i64) -> Result<u32, StoreError> {
    let last: Option<u32> = tx
        .prepare_cached("SELECT last FROM lineage_session WHERE session = ?1")?
        .query_row([session], |row| row.get(0))
        .optional()?;
    Ok(last.unwrap_or(0))
}

fn as_seen(draft: &Draft) -> Seen {
    Seen {
        id: draft.id.clone(),
        kind: draft.kind,
        label: draft.label,
        can_be_downgraded: draft.can_be_downgraded,
        source: draft.origin.source_name.clone(),
        record_id: draft.origin.record_id.clone(),
        record_type: draft.origin.record_type.clone(),
        made: draft.change.is_some(),
        archived: false,
    }
}

/// Whether the source of an aggregate has an answer left.
fn afford(
    tx: &Transaction<'_>,
    draft: &Draft,
    spent: &mut HashMap<String, i64>,
) -> Result<Result<(), LineageError>, StoreError> {
    let Some(lowering) = draft.lowering.as_ref().filter(|one| one.kind() == LoweringKind::Aggregate) else {
        return Ok(Ok(()));
    };
    let before = match spent.get(lowering.source()) {
        Some(before) => *before,
        None => read::answers(tx, lowering.source())?,
    };
    if before >= i64::from(lowering.queries()) {
        let (rule, answers) = (lowering.rule().clone(), lowering.queries());
        return Ok(Err(LineageError::Spent { rule, answers }));
    }
    spent.insert(lowering.source().to_owned(), before.saturating_add(1));
    Ok(Ok(()))
}

/// Writes what was checked, with the number of its entry.
pub(crate) fn insert(
    tx: &Transaction<'_>,
    grant: &Grant,
    seq: u64,
    drafts: &[Ready],
    checked: &[Checked],
) -> Result<(), StoreError> {
    for (ready, checked) in drafts.iter().zip(checked) {
        insert_record(tx, seq, ready, checked)?;
        insert_edges(tx, checked)?;
        if let Some(lowering) = &ready.draft.lowering
            && lowering.kind() == LoweringKind::Aggregate
        {
            tx.prepare_cached(
                "INSERT INTO lineage_spent (source, answers) VALUES (?1, 1)
                 ON CONFLICT (source) DO UPDATE SET answers = answers + 1",
            )?
            .execute([lowering.source()])?;
        }
    }
    if let Some(last) = drafts.last() {
        tx.prepare_cached(
            "INSERT INTO lineage_session (session, last) VALUES (?1, ?2)
             ON CONFLICT (session) DO UPDATE SET last = excluded.last",
        )?
        .execute(params![grant.number, last.draft.id.number()])?;
    }
    Ok(())
}

/// Archives the records of a session so far.
pub(crate) fn archive(tx: &Transaction<'_>, grant: &Grant) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE lineage_session SET archived = last WHERE session = ?1")?
        .execute([grant.number])?;
    Ok(())
}

fn insert_record(tx: &Transaction<'_>, seq: u64, ready: &Ready, checked: &Checked) -> Result<(), StoreError> {
    let (draft, origin) = (&ready.draft, &ready.draft.origin);
    let word = |text: &str| numbers::word(tx, text);
    let maybe = |text: Option<&str>| text.map(word).transpose();
    let change = draft.change.as_ref();
    let rule = draft.lowering.as_ref().map(|one| one.rule().as_str());
    let consent = draft.sent.as_ref().and_then(|sent| sent.consent.as_ref()).map(RuleId::as_str);
    tx.prepare_cached(
        "INSERT INTO lineage_record (number, seq, time_us, kind, label, never, hash, source_type, source, record_id,
             record_type, by_whom, method, reason, change, description, agent, witness, rule)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
    )?
    .execute(params![
        checked.number,
        append::signed(seq),
        origin.accessed_at.0,
        draft.kind.number(),
        label_number(draft.label),
        !draft.can_be_downgraded,
        ready.hash,
        origin.source_type.number(),
        word(&origin.source_name)?,
        origin.record_id,
        maybe(origin.record_type.as_deref())?,
        word(&origin.accessed_by)?,
        word(&origin.access_method)?,
        word(&draft.reason)?,
        maybe(change.map(|change| change.word.as_str()))?,
        maybe(change.map(|change| change.description.as_str()))?,
        maybe(change.map(|change| change.agent.as_str()))?,
        checked.witness,
        maybe(rule.or(consent))?,
    ])?;
    Ok(())
}

fn insert_edges(tx: &Transaction<'_>, checked: &Checked) -> Result<(), StoreError> {
    let mut insert =
        tx.prepare_cached("INSERT INTO lineage_edge (dst, src, declared, place) VALUES (?1, ?2, ?3, ?4)")?;
    for ((src, confidence), place) in checked.inputs.iter().zip(0_i64..) {
        insert.execute(params![checked.number, src, *confidence == Confidence::Declared, place])?;
    }
    Ok(())
}

/// A label as one small number.
pub(super) fn label_number(label: Label) -> i64 {
    let level = Level::ALL.into_iter().zip(0_i64..).find(|(level, _)| *level == label.level());
    let level = level.map_or(3, |(_, number)| number);
    level * 2 + i64::from(label.provenance() == Provenance::Untrusted)
}

/// The label of a number.
pub(super) fn label_of(number: i64) -> Option<Label> {
    let level = Level::ALL.get(usize::try_from(number.checked_div(2)?).ok()?).copied()?;
    let provenance = if number & 1 == 1 { Provenance::Untrusted } else { Provenance::Trusted };
    (number >= 0).then(|| Label::new(level, provenance))
}
