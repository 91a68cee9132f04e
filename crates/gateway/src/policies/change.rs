//! What a person may change of a policy: save a file, go back to a version, take a policy away.
//!
//! Each of them is a save: judged alike, and a new version. Nothing that was in force is ever overwritten.

use enclos_protocol::api::PolicyChange;
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::report::PolicySaved;
use enclos_store::{Store, policy_digest};

use super::save::{Asked, Desk};
use super::versions::newest;
use super::{ScopeName, lying, named, usage};
use crate::places::Places;
use crate::sessions::of_store;

/// A change that a person wishes.
pub(crate) struct Wish<'w> {
    pub scope: ScopeName,
    pub change: &'w PolicyChange,
    pub author: String,
}

/// Does it, when it is the turn of this process.
///
/// # Errors
/// As [`Desk::save`]; a file that is not there, a version that there never was.
pub(crate) fn save(
    store: &Store,
    places: &Places,
    now_us: i64,
    wish: Wish<'_>,
) -> Result<PolicySaved, ApiError> {
    let Wish { scope, change, author } = wish;
    let desk = Desk::open(store, places, now_us)?;
    desk.take_in(&scope)?;
    let mut restored = None;
    let (text, source, how) = match change {
        PolicyChange::Apply(file) => {
            let name = file.display().to_string();
            let text = named(file)?;
            if text.is_empty() {
                let error = usage(format!("`{name}` is empty: expected a policy, with a `name` at least"));
                let hint = format!("to take a policy away: enclos policy apply --remove --scope {scope}");
                return Err(error.hint(hint));
            }
            (text, name, "apply".to_owned())
        }
        PolicyChange::Rollback(to) => {
            let (number, text) = earlier(store, &desk, &scope, *to)?;
            restored = Some(number);
            (text, format!("version {number} of the {scope}"), format!("rollback to {number}"))
        }
        PolicyChange::Remove { .. } => (String::new(), String::new(), "remove".to_owned()),
    };
    let loosen = matches!(change, PolicyChange::Remove { loosen: true });
    let saved = desk.save(Asked { scope, text, source, how, author, loosen })?;
    Ok(PolicySaved { restored, ..saved })
}

/// The number and the text of an earlier version.
fn earlier(
    store: &Store,
    desk: &Desk<'_>,
    scope: &ScopeName,
    to: Option<u64>,
) -> Result<(u64, String), ApiError> {
    let versions = desk.versions()?;
    let last = newest(&versions, scope).map_or(0, |last| last.number);
    // What lies there and is no version is gone or cannot be read: the way back is to the newest one.
    let newest_lies = newest(&versions, scope).is_none_or(|last| {
        policy_digest(&lying(&scope.file(desk.places)).unwrap_or_default()) == last.digest
    });
    let number = to.unwrap_or_else(|| if newest_lies { last.saturating_sub(1) } else { last });
    let name = scope.to_string();
    let found = versions.iter().find(|version| version.scope == name && version.number == number);
    let version = found.ok_or_else(|| {
        let expected = match last {
            0 => "it has none".to_owned(),
            1 => "it has version 1 alone".to_owned(),
            _ => format!("expected one from 1 to {last}"),
        };
        ApiError::new(
            Fault::NotFound,
            format!("the {scope} has no version {number} to go back to: {expected}"),
        )
        .hint(format!("see them: enclos policy history --scope {scope}"))
    })?;
    let text = store.policy_text(version).map_err(|error| of_store(&error))?;
    Ok((number, text))
}
