//! Sessions as they are listed and shown: rows, timelines, and what is removed when one is closed.

use std::path::Path;

use enclos_core::ids::SessionId;
use enclos_core::session::{Outcome as CoreOutcome, Session};
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::event::{Outcome, SessionState};
use enclos_protocol::report::{SessionDetail, SessionRow, TimelineLine};
use enclos_store::{SessionFilter, Store, StoreError, StoredEvent};
use serde_json::Value;

use crate::clock::rfc3339;
use crate::places::Places;
use crate::session;

/// The outcome as clients are told it.
pub(crate) fn outcome_view(outcome: CoreOutcome) -> Outcome {
    match outcome {
        CoreOutcome::Accepted => Outcome::Accepted,
        CoreOutcome::Rejected => Outcome::Rejected,
        CoreOutcome::Reset => Outcome::Reset,
        CoreOutcome::NothingToDo => Outcome::NothingToDo,
        CoreOutcome::Stopped => Outcome::Stopped,
        CoreOutcome::Budget => Outcome::Budget,
        CoreOutcome::Failed => Outcome::Failed,
    }
}

/// Removes what a closed session wrote, and what was kept of it for undoing. The journal stays.
pub(crate) fn remove_layer(layer: &Path) {
    // What cannot be removed now is removed at the next start.
    drop(crate::trees::remove(layer));
    if let Some(session) = layer.parent() {
        crate::host::forget(session);
        drop(crate::undo::remove(session));
    }
}

/// Mends what processes that ended too early left: an application that was cut short is finished or taken back, and
/// what closed sessions wrote is removed, and so are sockets that nobody listens on.
///
/// # Errors
/// When an application cannot be mended: nothing is started on a tree that is half one thing and half another.
pub(crate) fn sweep(store: &Store, places: &Places) -> Result<(), ApiError> {
    let run = places.run();
    for id in crate::control::left(&run) {
        // Of a session that is only being opened there is no row yet: its process listens in a moment.
        if store.session(&id).is_ok() {
            store
                .while_free(&id, || crate::control::remove_left(&run, &id))
                .map_err(|error| of_store(&error))?;
        }
    }
    let Ok(folders) = std::fs::read_dir(places.state().join("sessions")) else { return Ok(()) };
    for folder in folders.filter_map(Result::ok) {
        let id = folder.file_name().to_str().and_then(SessionId::parse);
        // A folder that bears no session's name is none of ours.
        if let Some(id) = &id {
            crate::changes::recover(&folder.path(), id)?;
        }
        let layer = folder.path().join("layer");
        let closed = |id: &SessionId| store.session(id).is_ok_and(|row| row.closed_us.is_some());
        if crate::host::is_kept(&folder.path()) && id.as_ref().is_some_and(closed) {
            crate::host::forget(&folder.path());
        }
        if (layer.exists() || crate::undo::is_kept(&folder.path())) && id.as_ref().is_some_and(closed) {
            remove_layer(&layer);
        }
    }
    Ok(())
}

/// An error of the store, for a person.
pub(crate) fn of_store(error: &StoreError) -> ApiError {
    let fault = match error {
        StoreError::UnknownSession(_) => Fault::NotFound,
        StoreError::BadSession(_)
        | StoreError::NoStore { .. }
        | StoreError::Place { .. }
        | StoreError::Permissions { .. }
        | StoreError::ForeignOwner { .. }
        | StoreError::NetworkFileSystem { .. } => Fault::Usage,
        _ => Fault::Internal,
    };
    ApiError::new(fault, error.to_string())
}

/// All sessions, newest first.
pub(crate) fn list(store: &Store, places: &Places) -> Result<Vec<SessionRow>, ApiError> {
    let rows = store.sessions(&SessionFilter::default()).map_err(|error| of_store(&error))?;
    let rows = rows.into_iter().map(|row| {
        let row = listed(row, places);
        // Nothing runs in a session that no process works on.
        let state = if row.live { Some(session::replay(store, &row.session)?) } else { None };
        Ok(SessionRow { background: state.map(|state| names(&state)).unwrap_or_default(), ..row })
    });
    rows.collect()
}

/// The commands at work in the background.
fn names(state: &Session) -> Vec<String> {
    state.background().iter().map(|running| running.name.clone()).collect()
}

fn listed(row: enclos_store::SessionRow, places: &Places) -> SessionRow {
    let word = |text: &str| Value::String(text.to_owned());
    let task = row.extra.as_ref().and_then(|extra| extra.get("task")).and_then(Value::as_str);
    SessionRow {
        live: crate::control::is_live(&places.run(), &row.id),
        state: serde_json::from_value(word(&row.state)).unwrap_or(SessionState::Opening),
        outcome: row.outcome.and_then(|outcome| serde_json::from_value(word(&outcome)).ok()),
        repo: row.repo.display().to_string(),
        background: Vec::new(),
        task: task.map_or("[erased]", |task| task.lines().next().unwrap_or("[a conversation]")).to_owned(),
        opened: rfc3339(row.created_us),
        session: row.id,
    }
}

/// One session with its timeline, read from the journal alone.
pub(crate) fn show(store: &Store, places: &Places, id: &SessionId) -> Result<SessionDetail, ApiError> {
    let row = store.session(id).map_err(|error| of_store(&error))?;
    let events = store.events(id).map_err(|error| of_store(&error))?;
    let state = session::replay(store, id)?;
    let (updated_us, entries) = (row.updated_us, row.entries);
    let opened = events.iter().find(|event| event.kind == "session.opened");
    let of_opened = |name: &str| {
        let entry: Option<Value> = opened.and_then(|event| serde_json::from_str(event.entry.get()).ok());
        entry.and_then(|entry| entry.get(name).and_then(Value::as_str).map(str::to_owned)).unwrap_or_default()
    };
    let row = listed(row, places);
    let background = if row.live { names(&state) } else { Vec::new() };
    Ok(SessionDetail {
        model: of_opened("model"),
        policy_digest: of_opened("policy"),
        label: state.label(),
        budget: session::budget_view(state.budget(), updated_us),
        timeline: events.iter().map(line).collect(),
        entries,
        head: store.head(id).map_err(|error| of_store(&error))?,
        row: SessionRow { background, ..row },
    })
}

fn line(event: &StoredEvent) -> TimelineLine {
    let entry: Value = serde_json::from_str(event.entry.get()).unwrap_or(Value::Null);
    TimelineLine { time: rfc3339(event.time_us), kind: event.kind.clone(), text: in_words(&entry) }
}

/// The telling fields of an entry, in one line.
fn in_words(entry: &Value) -> String {
    const TELLING: [&str; 24] = [
        "source",
        "label",
        "call",
        "background",
        "name",
        "cause",
        "to",
        "last",
        "restored",
        "removed",
        "recreated",
        "tool",
        "verdict",
        "rule",
        "decided_by",
        "by",
        "answer",
        "reason",
        "outcome",
        "error",
        "result",
        "spent",
        "isolation",
        "model",
    ];
    let words = TELLING.iter().filter_map(|name| entry.get(name).map(|value| (name, value)));
    let shown = words.map(|(name, value)| format!("{name}={}", in_word(value)));
    shown.collect::<Vec<_>>().join(" ")
}

/// One value: who decided as `human(user)` or `automation(rule)`, a result by its summary.
fn in_word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(members) => match members.iter().next() {
            Some((who, Value::String(name)))
                if members.len() == 1 && matches!(who.as_str(), "human" | "automation") =>
            {
                format!("{who}({name})")
            }
            _ => match members.get("summary") {
                Some(Value::String(summary)) => summary.clone(),
                _ => value.to_string(),
            },
        },
        other => other.to_string(),
    }
}
