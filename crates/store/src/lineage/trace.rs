//! Walking along the links: forward, backward, and along the chain of witnesses.
//!
//! A walk is one recursive question anchored on the table of edges, breadth first, and stops at a number of records. What it
//! did not follow is told: `truncated`, and the records from which it would go on. A record whose retention is over stays as
//! a link.

use std::collections::{BTreeSet, HashSet};

use enclos_core::lineage::{Confidence, LineageId};
use rusqlite::{Connection, OptionalExtension, params};

use super::LineageError;
use super::numbers::{self, Names, join, split};
use super::read::{limit, node};
use super::row::Node;
use crate::StoreError;
use crate::store::Store;

/// The most records of one walk.
pub const MOST_NODES: usize = 10_000;

/// Which way a walk goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// What became of a record.
    Forward,
    /// What a record was made of.
    Backward,
}

/// How far a walk goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The most records, the first included; at most [`MOST_NODES`].
    pub nodes: usize,
    /// Whether it stays in the session of the first record.
    pub in_session: bool,
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// What was made.
    pub to: LineageId,
    /// Of what.
    pub from: LineageId,
    /// How surely.
    pub confidence: Confidence,
}

/// What a walk found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The records, in the order in which they were found.
    pub nodes: Vec<Node>,
    /// The links between them.
    pub edges: Vec<Edge>,
    /// Whether there is more.
    pub truncated: bool,
    /// The records from which it would go on.
    pub frontier: Vec<LineageId>,
    /// Records whose retention is over.
    pub gone: Vec<LineageId>,
}

/// A walk in numbers.
#[derive(Debug, Default)]
struct Walk {
    reached: Vec<i64>,
    /// Made, made of, declared.
    edges: Vec<(i64, i64, bool)>,
    frontier: BTreeSet<i64>,
}

impl Store {
    /// Walks from a record.
    pub fn lineage_trace(
        &self,
        id: &LineageId,
        direction: Direction,
        reach: Reach,
    ) -> Result<Trace, StoreError> {
        self.lineage_trace_all(std::slice::from_ref(id), direction, reach)
    }

    /// Walks from several records at once.
    pub fn lineage_trace_all(
        &self,
        ids: &[LineageId],
        direction: Direction,
        reach: Reach,
    ) -> Result<Trace, StoreError> {
        let mut reader = self.reader();
        // One transaction, so that records and links are of the same moment.
        let tx = reader.transaction()?;
        let mut starts = Vec::new();
        for id in ids {
            let number = numbers::of_id(&tx, id)?.ok_or_else(|| LineageError::Unknown(id.clone()))?;
            starts.push(number);
        }
        let walk = walk(&tx, &starts, direction, reach)?;
        let trace = described(&tx, walk)?;
        match ids.iter().find(|id| trace.gone.contains(id)) {
            Some(unknown) => Err(LineageError::Unknown(unknown.clone()).into()),
            None => Ok(trace),
        }
    }

    /// How many records a walk reaches, and whether there is more: the walk without the records' own fields.
    pub fn lineage_reach(
        &self,
        id: &LineageId,
        direction: Direction,
        reach: Reach,
    ) -> Result<(usize, bool), StoreError> {
        let reader = self.reader();
        let number = numbers::of_id(&reader, id)?.ok_or_else(|| LineageError::Unknown(id.clone()))?;
        let walk = walk(&reader, &[number], direction, reach)?;
        Ok((walk.reached.len(), !walk.frontier.is_empty()))
    }

    /// The links of a record: what it was made of and what was made of it, one step.
    pub fn lineage_hop(
        &self,
        id: &LineageId,
        direction: Direction,
        most: usize,
    ) -> Result<Vec<Edge>, StoreError> {
        let reader = self.reader();
        let number = numbers::of_id(&reader, id)?.ok_or_else(|| LineageError::Unknown(id.clone()))?;
        let sql = match direction {
            Direction::Forward => "SELECT dst, src, declared FROM lineage_edge WHERE src = ?1 LIMIT ?2",
            Direction::Backward => "SELECT dst, src, declared FROM lineage_edge WHERE dst = ?1 LIMIT ?2",
        };
        let mut select = reader.prepare_cached(sql)?;
        let rows = select
            .query_map(params![number, limit(most)], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let rows: Vec<(i64, i64, bool)> = rows.collect::<Result<_, _>>()?;
        let mut names = Names::default();
        rows.into_iter().map(|row| edge(&reader, &mut names, row)).collect()
    }

    /// Why a record has its level: the chain of witnesses, from the record to the one that brought the level in.
    pub fn lineage_why(&self, id: &LineageId) -> Result<Trace, StoreError> {
        let mut reader = self.reader();
        let tx = reader.transaction()?;
        let mut names = Names::default();
        let mut trace = Trace::default();
        let mut next = numbers::of_id(&tx, id)?;
        while let Some(number) = next.take() {
            let name = names.id(&tx, number)?;
            if trace.nodes.len() >= MOST_NODES {
                (trace.truncated, trace.frontier) = (true, vec![name]);
                break;
            }
            let Some(found) = node(&tx, &mut names, number)? else {
                trace.gone.push(name);
                break;
            };
            if let Some(witness) = &found.witness {
                let from = numbers::of_id(&tx, witness)?;
                let declared = from.map(|from| is_declared(&tx, number, from)).transpose()?.unwrap_or(false);
                trace.edges.push(edge_of(name, witness.clone(), declared));
                next = from;
            }
            trace.nodes.push(found);
        }
        if trace.nodes.is_empty() { Err(LineageError::Unknown(id.clone()).into()) } else { Ok(trace) }
    }
}

fn is_declared(connection: &Connection, dst: i64, src: i64) -> Result<bool, StoreError> {
    let declared: Option<bool> = connection
        .prepare_cached("SELECT declared FROM lineage_edge WHERE dst = ?1 AND src = ?2")?
        .query_row([dst, src], |row| row.get(0))
        .optional()?;
    Ok(declared.unwrap_or(false))
}

fn edge_of(to: LineageId, from: LineageId, declared: bool) -> Edge {
    let confidence = if declared { Confidence::Declared } else { Confidence::Assumed };
    Edge { to, from, confidence }
}

fn edge(
    connection: &Connection,
    names: &mut Names,
    (dst, src, declared): (i64, i64, bool),
) -> Result<Edge, StoreError> {
    Ok(edge_of(names.id(connection, dst)?, names.id(connection, src)?, declared))
}

/// Finds records breadth first, and the links among them.
fn walk(
    connection: &Connection,
    starts: &[i64],
    direction: Direction,
    reach: Reach,
) -> Result<Walk, StoreError> {
    let most = reach.nodes.clamp(1, MOST_NODES);
    let session = starts.first().map_or(0, |start| split(*start).0);
    let (low, high) =
        if reach.in_session { (join(session, 0), join(session.saturating_add(1), 0)) } else { (0, i64::MAX) };
    let (near, far) = match direction {
        Direction::Forward => ("src", "dst"),
        Direction::Backward => ("dst", "src"),
    };
    let places = vec!["(?)"; starts.len().max(1)].join(", ");
    let sql = format!(
        "WITH RECURSIVE reach (n) AS (
             VALUES {places}
             UNION SELECT e.{far} FROM reach JOIN lineage_edge e ON e.{near} = reach.n
                   WHERE e.{far} >= {low} AND e.{far} < {high}
             LIMIT {most})
         SELECT reach.n, e.{far}, e.declared FROM reach LEFT JOIN lineage_edge e ON e.{near} = reach.n
         LIMIT {rows}",
        rows = most.saturating_mul(8)
    );
    let mut select = connection.prepare(&sql)?;
    let mut rows = select.query(rusqlite::params_from_iter(starts))?;
    let mut found = Walk::default();
    let mut links = Vec::new();
    let mut inside = HashSet::new();
    let mut read = 0_usize;
    while let Some(row) = rows.next()? {
        read = read.saturating_add(1);
        let number: i64 = row.get(0)?;
        if inside.insert(number) {
            found.reached.push(number);
        }
        if let Some(other) = row.get::<_, Option<i64>>(1)? {
            links.push((number, other, row.get(2)?));
        }
    }
    // A record with very many links: which of them were not read nobody knows, so the last one is where it goes on.
    if read >= most.saturating_mul(8) {
        found.frontier.extend(found.reached.last());
    }
    for (number, other, declared) in links {
        if !inside.contains(&other) {
            found.frontier.insert(number);
            continue;
        }
        found.edges.push(match direction {
            Direction::Forward => (other, number, declared),
            Direction::Backward => (number, other, declared),
        });
    }
    Ok(found)
}

/// The records and names of a walk.
fn described(connection: &Connection, walk: Walk) -> Result<Trace, StoreError> {
    let mut names = Names::default();
    let mut trace = Trace { truncated: !walk.frontier.is_empty(), ..Trace::default() };
    for number in walk.reached {
        match node(connection, &mut names, number)? {
            Some(found) => trace.nodes.push(found),
            None => trace.gone.push(names.id(connection, number)?),
        }
    }
    for row in walk.edges {
        trace.edges.push(edge(connection, &mut names, row)?);
    }
    for number in walk.frontier {
        trace.frontier.push(names.id(connection, number)?);
    }
    Ok(trace)
}
