//! Where the sandbox of a session opens: on this machine or on an execution host. Whichever it is, it opens as policy and
//! configuration say or the session is closed; neither is ever tried in the other's stead.

use std::path::{Path, PathBuf};

use enclos_core::session::{Event, Outcome, Phase};
use enclos_protocol::error::{ApiError, Fault};
use enclos_sandbox::host::Link;
use enclos_sandbox::{Backend, OpenError, Plan};
use enclos_store::Lease;

use super::open::{Opening, internal, limits};
use super::record::Facts;
use super::{entry, record};
use crate::host::{self, Elsewhere};
use crate::masks::{Desk, History, Masks};
use crate::repo::Shown;
use crate::workplace::Workplace;
use crate::{changeset, effects, isolation};

/// A sandbox, with what is to be told of it.
pub(super) struct Placed {
    pub sandbox: Workplace,
    pub elsewhere: Option<Elsewhere>,
    pub backend: Backend,
    pub names: Vec<String>,
    pub notes: Vec<String>,
}

/// What the session is not shown until it knows as much, and the git directory for it.
pub(super) fn masks(opening: &Opening, layer: &Path, shown: &Shown) -> Result<(Masks, History), ApiError> {
    let desk = Desk { state: opening.store.dir(), layer };
    let (masks, history) = Masks::of(&opening.repo, shown, &opening.policy, desk)?;
    Ok((masks.again(layer)?, history))
}

/// Opens the sandbox where it is to be, on a thread of its own: a large copy takes its time, and meanwhile signals are heard
/// and progress is told. What was lent comes back.
pub(super) async fn place(
    lease: Lease,
    mut opening: Opening,
    layer: PathBuf,
    shown: Shown,
    masks: (Masks, History),
) -> Result<(Lease, Opening, (Masks, History), Placed), ApiError> {
    let work = move || {
        let placed = match opening.host.take() {
            None => here(&opening, &layer, shown, &masks),
            Some(host) => there(&lease, &opening, &layer, &shown, &masks, host),
        };
        match placed {
            Ok(placed) => Ok((lease, opening, masks, placed)),
            Err(error) => Err(not_opened(&lease, &opening, error)),
        }
    };
    tokio::task::spawn_blocking(work).await.map_err(|error| internal(&error))?
}

/// Opens the sandbox on this machine.
fn here(opening: &Opening, layer: &Path, shown: Shown, masks: &(Masks, History)) -> Result<Placed, ApiError> {
    let failed = |message: String| {
        ApiError::new(Fault::Internal, message).hint("`enclos doctor` says what this machine lacks")
    };
    let (masks, history) = masks;
    let (plan, names) = opening.plan(layer, &shown)?;
    let plan = Plan { masked: masks.paths(), git: history.git(opening.repo.git.as_ref()), ..plan };
    let unseen = [plan.hidden.as_slice(), &plan.masked].concat();
    changeset::record_opening(layer)
        .and_then(|()| changeset::record_hidden(layer, &unseen))
        .map_err(|error| failed(error.to_string()))?;
    let sandbox = effects::open(&plan).map_err(|error| {
        let mend = error.mend().map(str::to_owned);
        mend.into_iter().fold(failed(describe(&error)), ApiError::hint)
    })?;
    isolation::check(&opening.policy, sandbox.report(), "this machine")?;
    let mut notes = shown.notes;
    if let Backend::Oci(oci) = &plan.backend {
        notes.push(format!("in a container of {}: {}", oci.engine.word(), oci.image));
    }
    Ok(Placed { sandbox, elsewhere: None, backend: plan.backend, names, notes })
}

/// Opens the sandbox on an execution host, over what is brought there.
fn there(
    lease: &Lease,
    opening: &Opening,
    layer: &Path,
    shown: &Shown,
    (masks, history): &(Masks, History),
    (link, socket): (Link, PathBuf),
) -> Result<Placed, ApiError> {
    let folder = layer.parent().unwrap_or(layer).to_path_buf();
    let elsewhere = Elsewhere::new(folder, lease.session().clone(), socket, lease.epoch());
    // What was hidden is remembered where the session has written something: that has to be here first.
    if elsewhere.is_ahead() {
        elsewhere.fetch()?;
    }
    changeset::record_opening(layer).map_err(|error| internal(&error))?;
    // A host is brought nothing that is masked: there it is as if it were hidden.
    let mut shown = shown.clone();
    shown.hidden.extend(masks.paths());
    let shown = &shown;
    let wanted = host::Wanted {
        repo: &opening.repo,
        shown,
        history: *history == History::Whole,
        project: opening.config.project_of(Some(&opening.repo.root)).map(ToString::to_string),
        policy: &opening.policy,
        limits: limits(&opening.policy, &opening.config),
    };
    let brought = host::bring(link.lead(lease.session().as_str(), lease.epoch()), &wanted)?;
    changeset::record_hidden(layer, &brought.hidden).map_err(|error| internal(&error))?;
    let mut notes = shown.notes.clone();
    notes.extend(brought.notes.iter().cloned());
    notes.push("on an execution host calls cannot be undone".to_owned());
    elsewhere.begin().map_err(|error| internal(&error))?;
    let (remote, names) = brought.open(&wanted)?;
    isolation::check(&opening.policy, remote.report(), "the execution host, by its own word,")?;
    let sandbox = Workplace::Host(remote);
    Ok(Placed { sandbox, elsewhere: Some(elsewhere), backend: Backend::Namespaces, names, notes })
}

/// The sandbox did not open: the session is closed, and nothing ran.
pub(super) fn not_opened(lease: &Lease, opening: &Opening, error: ApiError) -> ApiError {
    let event = Event::Closed { outcome: Outcome::Failed, reason: error.message.clone() };
    let mut last = entry::record(&event, &Facts::new(), opening.clock.now_us(), lease.commit_key());
    last.state = Some(record::state_change(Phase::Closed(Outcome::Failed)));
    match lease.append_wait(vec![last]) {
        Err(why) => error.hint(format!("and the journal could not be written: {why}")),
        Ok(_) => error,
    }
}

fn describe(error: &OpenError) -> String {
    let mut parts = vec![error.to_string()];
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        parts.push(inner.to_string());
        source = inner.source();
    }
    parts.join(": ")
}
