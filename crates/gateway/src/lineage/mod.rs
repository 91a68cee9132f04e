//! Questions about lineage, for a person: what became of a record, what it was made of, and why it has its level.
//!
//! On one's own gateway a person is cleared for everything that it recorded; what is handed to somebody else is exported, and
//! withheld by their clearance there. Nothing is written here but exports, and their intent is the journal's.

mod bundle;
mod graph;
mod prov;
mod tables;
mod verify;

use enclos_core::ids::SessionId;
use enclos_core::lineage::{Kind, LineageId};
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::lineage::{Answer, Item, Link, Question, Start};
use enclos_store::{Direction, Edge, LineageError, MOST_NODES, Node, Reach, Store, StoreError, Trace};

use crate::sessions::of_store;

pub(crate) use bundle::export;
pub(crate) use graph::draw;
pub(crate) use verify::verify;

/// Records of a listing.
const MOST_LISTED: usize = 1000;

/// The records of a source that an impact begins at.
const MOST_STARTS: usize = 500;

const ANYWHERE: Reach = Reach { nodes: MOST_NODES, in_session: false };

/// Answers a question.
pub(crate) fn ask(store: &Store, question: &Question) -> Result<Answer, ApiError> {
    let answer = match question {
        Question::Forward(start) => {
            walk(store, &starts(store, start, Direction::Forward)?, Direction::Forward)?
        }
        Question::Backward(start) => {
            walk(store, &starts(store, start, Direction::Backward)?, Direction::Backward)?
        }
        Question::Why(start) => {
            let starts = starts(store, start, Direction::Backward)?;
            let id = starts.first().ok_or_else(nothing)?;
            view(store.lineage_why(id).map_err(|error| failed(&error))?)
        }
        Question::Records(session) => {
            let nodes = store.lineage_of_session(session, 0, MOST_LISTED.saturating_add(1));
            listed(nodes.map_err(|error| failed(&error))?)
        }
        Question::Impact { source, since_us } => impact(store, source, *since_us)?,
        Question::Hunk { session, path, line } => hunk(store, session, path, *line)?,
        Question::Downgrades { since_us } => {
            let nodes = store.lineage_downgrades(*since_us, MOST_LISTED.saturating_add(1));
            listed(nodes.map_err(|error| failed(&error))?)
        }
    };
    Ok(answer)
}

/// An error of the store, by whose fault it is.
pub(crate) fn failed(error: &StoreError) -> ApiError {
    match error {
        StoreError::Lineage(LineageError::Unknown(_)) => ApiError::new(Fault::NotFound, error.to_string())
            .hint("the records of a session: enclos lineage records SESSION"),
        _ => of_store(error),
    }
}

fn nothing() -> ApiError {
    ApiError::new(Fault::NotFound, "there is no record to begin at")
        .hint("a session has records once it was asked something: enclos lineage records SESSION")
}

fn walk(store: &Store, starts: &[LineageId], direction: Direction) -> Result<Answer, ApiError> {
    let trace = store.lineage_trace_all(starts, direction, ANYWHERE);
    Ok(view(trace.map_err(|error| failed(&error))?))
}

/// Where a walk begins.
fn starts(store: &Store, start: &Start, direction: Direction) -> Result<Vec<LineageId>, ApiError> {
    let session = match start {
        Start::Record(id) => return Ok(vec![id.clone()]),
        Start::Session(session) => session,
    };
    let kinds: &[Kind] = match direction {
        Direction::Forward => &[Kind::Prompt],
        Direction::Backward => &[Kind::Diff, Kind::LlmOutput, Kind::Prompt],
    };
    for kind in kinds {
        let mut found = store.lineage_of_kind(session, *kind, MOST_STARTS).map_err(|error| failed(&error))?;
        if direction == Direction::Backward {
            found.truncate(1);
        }
        if !found.is_empty() {
            return Ok(ids(&found));
        }
    }
    Err(nothing())
}

fn ids(nodes: &[Node]) -> Vec<LineageId> {
    nodes.iter().map(|node| node.record.lineage_id.clone()).collect()
}

/// What a source brought in, and everything that may hold it.
fn impact(store: &Store, source: &str, since_us: i64) -> Result<Answer, ApiError> {
    let most = MOST_STARTS.saturating_add(1);
    let mut found = store.lineage_from_source(source, since_us, most).map_err(|error| failed(&error))?;
    let more = found.len() > MOST_STARTS;
    let next = found.get(MOST_STARTS).map(|node| node.record.lineage_id.clone());
    found.truncate(MOST_STARTS);
    if found.is_empty() {
        return Ok(Answer::default());
    }
    let mut answer = walk(store, &ids(&found), Direction::Forward)?;
    answer.truncated |= more;
    answer.frontier.extend(next);
    Ok(answer)
}

/// The hunk of a line in the last change set of a session, and what it was made of in one step.
fn hunk(store: &Store, session: &SessionId, path: &str, line: Option<u64>) -> Result<Answer, ApiError> {
    let diff = store.lineage_of_kind(session, Kind::Diff, 1).map_err(|error| failed(&error))?;
    let without = || {
        ApiError::new(Fault::NotFound, format!("the session `{session}` has no change set"))
            .hint("it has one once it waits for review: enclos diff SESSION")
    };
    let diff = diff.into_iter().next().ok_or_else(without)?;
    let mut nodes = Vec::new();
    let mut links = Vec::new();
    for id in diff.record.transformations.iter().flat_map(|made| &made.input_lineage_ids) {
        let node = store.lineage(id).map_err(|error| failed(&error))?;
        if node.record.origin.source_name != path || !holds(&node, path, line) {
            continue;
        }
        links
            .extend(store.lineage_hop(id, Direction::Backward, MOST_LISTED).map_err(|error| failed(&error))?);
        nodes.push(node);
    }
    if nodes.is_empty() {
        let place = line.map(|line| format!(" at line {line}")).unwrap_or_default();
        let message = format!("the change set of `{session}` has no hunk of `{path}`{place}");
        return Err(ApiError::new(Fault::NotFound, message).hint("its files: enclos diff SESSION --stat"));
    }
    for link in &links {
        if nodes.iter().all(|node| node.record.lineage_id != link.from) {
            nodes.push(store.lineage(&link.from).map_err(|error| failed(&error))?);
        }
    }
    Ok(view(Trace { nodes, edges: links, ..Trace::default() }))
}

/// Whether a hunk holds a line of the new text. One of a whole file holds all.
fn holds(node: &Node, path: &str, line: Option<u64>) -> bool {
    let Some(line) = line else { return true };
    let place =
        node.record.origin.record_id.as_deref().and_then(|id| id.strip_prefix(path)?.strip_prefix(':'));
    let Some((first, lines)) = place.and_then(|place| place.split_once('+')) else { return true };
    let (Ok(first), Ok(lines)) = (first.parse::<u64>(), lines.parse::<u64>()) else { return false };
    (first..first.saturating_add(lines.max(1))).contains(&line)
}

/// A listing: records without a walk.
fn listed(mut nodes: Vec<Node>) -> Answer {
    let next = nodes.get(MOST_LISTED).map(|node| node.record.lineage_id.clone());
    nodes.truncate(MOST_LISTED);
    let truncated = next.is_some();
    view(Trace { nodes, truncated, frontier: next.into_iter().collect(), ..Trace::default() })
}

fn view(trace: Trace) -> Answer {
    Answer {
        records: trace.nodes.into_iter().map(item).collect(),
        links: trace.edges.into_iter().map(link).collect(),
        truncated: trace.truncated,
        frontier: trace.frontier,
        gone: trace.gone,
    }
}

fn item(node: Node) -> Item {
    Item { record: node.record, kind: node.kind, witness: node.witness, downgrade_rule: node.rule }
}

fn link(edge: Edge) -> Link {
    Link { to: edge.to, from: edge.from, confidence: edge.confidence }
}

#[cfg(test)]
mod tests;
