//! A record as it lies in the database, put together again.

use enclos_core::ids::{Digest, RuleId};
use enclos_core::label::Label;
use enclos_core::lineage::{
    Classification, Kind, LineageId, Location, Moment, Origin, Record, SourceType, Transformation,
};
use rusqlite::{Connection, Row};

use super::numbers::{Names, split};
use super::write::label_of;
use crate::StoreError;
use crate::journal::chain::hex;

/// The columns that [`Raw::read`] takes, in its order.
pub(super) const COLUMNS: &str = "number, seq, time_us, kind, label, never, hash, source_type, source, record_id, \
                                  record_type, by_whom, method, reason, change, description, agent, witness, rule";

/// A record, and what lies beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The record.
    pub record: Record,
    /// What it is.
    pub kind: Kind,
    /// The entry of its session's journal that it came with.
    pub seq: u64,
    /// The input that shows why it has its level.
    pub witness: Option<LineageId>,
    /// The downgrade rule under which it was made.
    pub rule: Option<RuleId>,
    /// Whether it was archived at a reset.
    pub archived: bool,
}

impl Node {
    /// What it knows.
    pub const fn label(&self) -> Label {
        self.record.classification.label()
    }
}

/// A row, in numbers.
pub(super) struct Raw {
    pub(super) number: i64,
    seq: i64,
    time_us: i64,
    kind: i64,
    label: i64,
    never: bool,
    hash: Vec<u8>,
    source_type: i64,
    source: i64,
    record_id: Option<String>,
    record_type: Option<i64>,
    by_whom: i64,
    method: i64,
    reason: i64,
    change: Option<i64>,
    description: Option<i64>,
    agent: Option<i64>,
    witness: Option<i64>,
    rule: Option<i64>,
}

impl Raw {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            number: row.get(0)?,
            seq: row.get(1)?,
            time_us: row.get(2)?,
            kind: row.get(3)?,
            label: row.get(4)?,
            never: row.get(5)?,
            hash: row.get(6)?,
            source_type: row.get(7)?,
            source: row.get(8)?,
            record_id: row.get(9)?,
            record_type: row.get(10)?,
            by_whom: row.get(11)?,
            method: row.get(12)?,
            reason: row.get(13)?,
            change: row.get(14)?,
            description: row.get(15)?,
            agent: row.get(16)?,
            witness: row.get(17)?,
            rule: row.get(18)?,
        })
    }

    /// The record behind the numbers.
    pub(super) fn node(self, connection: &Connection, names: &mut Names) -> Result<Node, StoreError> {
        let (session, within) = split(self.number);
        let archived = within <= names.archived(connection, session)?;
        let lineage_id = names.id(connection, self.number)?;
        let time = Moment(self.time_us);
        let damaged =
            |what: &str| StoreError::Damaged(format!("the record `{lineage_id}` of lineage has {what}"));
        let label = label_of(self.label).ok_or_else(|| damaged("a label that is none"))?;
        let seq = self.seq.unsigned_abs();
        let record_type = names.maybe(connection, self.record_type)?;
        let origin = Origin {
            source_type: SourceType::of_number(self.source_type)
                .ok_or_else(|| damaged("a source that is none"))?,
            source_name: names.word(connection, self.source)?,
            record_id: self.record_id.clone(),
            record_type,
            accessed_at: time,
            accessed_by: names.word(connection, self.by_whom)?,
            access_method: names.word(connection, self.method)?,
        };
        let classification = Classification {
            level: label.level(),
            provenance: label.provenance(),
            reason: names.word(connection, self.reason)?,
            assigned_at: time,
            can_be_downgraded: !self.never,
        };
        let location = Location { session_id: lineage_id.session().clone(), context_position: seq };
        let record = Record {
            content_hash: digest(&self.hash).ok_or_else(|| damaged("a digest that is none"))?,
            origin,
            classification,
            transformations: self.transformation(connection, names)?.into_iter().collect(),
            current_location: (!archived).then_some(location),
            lineage_id: lineage_id.clone(),
        };
        let witness = self.witness.map(|number| names.id(connection, number)).transpose()?;
        let kind = Kind::of_number(self.kind).ok_or_else(|| damaged("a kind that is none"))?;
        let rule = names.maybe(connection, self.rule)?.map(RuleId::new);
        Ok(Node { record, kind, seq, witness, rule, archived })
    }

    fn transformation(
        &self,
        connection: &Connection,
        names: &mut Names,
    ) -> Result<Option<Transformation>, StoreError> {
        let Some(kind) = names.maybe(connection, self.change)? else { return Ok(None) };
        let mut select =
            connection.prepare_cached("SELECT src FROM lineage_edge WHERE dst = ?1 ORDER BY place")?;
        let sources: Vec<i64> =
            select.query_map([self.number], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let inputs = sources.into_iter().map(|number| names.id(connection, number));
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        Ok(Some(Transformation {
            kind,
            description: names.maybe(connection, self.description)?.unwrap_or_default(),
            timestamp: Moment(self.time_us),
            input_lineage_ids: inputs,
            agent_id: names.maybe(connection, self.agent)?.unwrap_or_default(),
        }))
    }
}

fn digest(hash: &[u8]) -> Option<Digest> {
    let (kind, bytes) = hash.split_first()?;
    let prefix = match kind {
        0 => "sha256:",
        1 => "hmac-sha256:",
        _ => return None,
    };
    Some(Digest::new(format!("{prefix}{}", hex(bytes))))
}
