//! The versions of saved policies: what was in force when, who wrote it, and what a hand changed beside us.
//!
//! The file of a scope is what is in force; the store keeps every version of it in a chain of the journal. A file that
//! is not the newest version was edited by hand and becomes one, under an author that says so. A file that is gone
//! although its scope has a policy is never taken for "no policy": nothing is started then.

use enclos_core::policy::{Layer, MAX_BYTES, Policy};
use enclos_protocol::error::{ApiError, Fault, Place};
use enclos_protocol::report::{Mistake, PolicyText, PolicyVersion as Shown};
use enclos_store::{PolicyVersion, Store, policy_digest};

use super::save::{Desk, Made};
use super::{ScopeName, digest_of, read, refusal};
use crate::clock::rfc3339;
use crate::places::Places;
use crate::sessions::of_store;

/// The author of what nobody saved.
pub(super) const BY_HAND: &str = "unknown (edited by hand)";

/// The newest version of a scope.
pub(super) fn newest<'v>(versions: &'v [PolicyVersion], scope: &ScopeName) -> Option<&'v PolicyVersion> {
    let name = scope.to_string();
    versions.iter().rfind(|version| version.scope == name)
}

/// Whether a version is the removal of a policy.
pub(super) fn is_removal(version: &PolicyVersion) -> bool {
    version.digest == policy_digest("")
}

/// Holds the files of these scopes against their newest versions: a save that was cut short is finished, and what was
/// edited by hand becomes a version if it can be read.
///
/// # Errors
/// A file that is gone although its scope has a policy, and what kept us from reading or recording.
pub(crate) fn settle(
    store: &Store,
    places: &Places,
    scopes: &[ScopeName],
    now_us: i64,
) -> Result<(), ApiError> {
    let versions = store.policy_versions().map_err(|error| of_store(&error))?;
    for scope in scopes {
        let text = read(&scope.file(places), MAX_BYTES)?.unwrap_or_default();
        let known = newest(&versions, scope).map_or_else(|| policy_digest(""), |last| last.digest.clone());
        if policy_digest(&text) != known {
            Desk::open(store, places, now_us)?.settle(scope)?;
        }
    }
    Ok(())
}

impl Desk<'_> {
    /// As [`settle`], for one scope, while nobody else changes a policy.
    fn settle(&self, scope: &ScopeName) -> Result<(), ApiError> {
        self.finish(scope)?;
        let file = scope.file(self.places);
        let text = read(&file, MAX_BYTES)?;
        let versions = self.versions()?;
        match (newest(&versions, scope), text) {
            (None, None) => Ok(()),
            (Some(last), None) if is_removal(last) => Ok(()),
            (Some(last), None) => Err(gone(scope, &file, last.number)),
            (Some(last), Some(text)) if policy_digest(&text) == last.digest => Ok(()),
            (_, Some(text)) => self.adopt(scope, text),
        }
    }

    /// Takes what a hand wrote as a version. A text that cannot be read is none: whoever loads it is told why.
    pub(super) fn adopt(&self, scope: &ScopeName, text: String) -> Result<(), ApiError> {
        let layer = Layer { scope: scope.scope(), source: String::new(), text: &text };
        if Policy::load_standing(&[layer]).is_ok() {
            self.append(scope, text, Made { author: BY_HAND, how: "edited by hand", looser: &[] })?;
        }
        Ok(())
    }
}

fn gone(scope: &ScopeName, file: &std::path::Path, number: u64) -> ApiError {
    let message = format!(
        "the policy of the {scope} is gone: `{}` does not exist, but its version {number} is in force",
        file.display()
    );
    ApiError::new(Fault::Configuration, message)
        .at(Place::line(file.display().to_string(), 0))
        .hint(format!("put it back: enclos policy rollback --scope {scope} --to {number}"))
        .hint(format!("or take it away: enclos policy apply --remove --scope {scope}"))
}

/// Every version, of one scope or of all, in the order in which they were made. What a hand changed becomes one first.
pub(crate) fn history(
    store: &Store,
    places: &Places,
    scope: Option<&ScopeName>,
    now_us: i64,
) -> Result<Vec<Shown>, ApiError> {
    let scopes = scope.map_or_else(|| ScopeName::written(places), |scope| vec![scope.clone()]);
    for scope in &scopes {
        // A file that is gone is told by whoever needs it; its history is there.
        settle(store, places, std::slice::from_ref(scope), now_us).or_else(|error| match error.fault {
            Fault::Configuration => Ok(()),
            _ => Err(error),
        })?;
    }
    let versions = store.policy_versions().map_err(|error| of_store(&error))?;
    let name = scope.map(ToString::to_string);
    let wanted = versions.iter().filter(|version| name.as_ref().is_none_or(|name| *name == version.scope));
    let shown = wanted.map(|version| Shown {
        scope: version.scope.clone(),
        version: version.number,
        digest: version.digest.as_str().to_owned(),
        previous: version.previous.as_ref().map(|digest| digest.as_str().to_owned()),
        author: version.author.clone(),
        how: version.how.clone(),
        time: rfc3339(version.time_us),
        newest: versions.iter().rfind(|other| other.scope == version.scope) == Some(version),
    });
    Ok(shown.collect())
}

/// The policy of a scope as it is in force.
///
/// # Errors
/// When it has none.
pub(crate) fn show(
    store: &Store,
    places: &Places,
    scope: &ScopeName,
    now_us: i64,
) -> Result<PolicyText, ApiError> {
    let versions = history(store, places, Some(scope), now_us)?;
    let file = scope.file(places);
    let none = || {
        ApiError::new(
            Fault::NotFound,
            format!("the {scope} has no policy: `{}` does not exist", file.display()),
        )
        .hint(format!("write one and save it: enclos policy apply FILE --scope {scope}"))
    };
    let text = read(&file, MAX_BYTES)?.ok_or_else(none)?;
    let digest = policy_digest(&text);
    // A text that cannot be read is no version, but it is what lies there.
    let version = versions.into_iter().rfind(|version| version.digest == digest.as_str() && version.newest);
    let source = file.display().to_string();
    let layer = Layer { scope: scope.scope(), source: source.clone(), text: &text };
    let problem = Policy::load_standing(&[layer]).err().map(|error| {
        let ApiError { message, place, .. } = refusal(&error);
        Mistake { message, place: *place }
    });
    Ok(PolicyText {
        scope: scope.to_string(),
        file: source,
        digest: digest.as_str().to_owned(),
        policy_digest: digest_of(places, scope),
        version,
        problem,
        text,
    })
}
