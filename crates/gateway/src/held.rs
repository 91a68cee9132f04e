//! What each file of a change set knows, against what its path may hold: more is held until a written rule releases it.
//!
//! A file knows what the session knew when it became what it is, and, where it was moved, what its former path may hold.
//! Nothing here applies or shows anything.

use enclos_core::flow::{Consent, Destination, Flow, flow};
use enclos_core::ids::RuleId;
use enclos_core::label::{Label, Provenance};
use enclos_core::policy::{PathLevels, Policy};
use enclos_core::session::{Knowledge, Session};
use enclos_protocol::error::{ApiError, Fault};

use crate::changeset::{ChangeSet, FileChange, Held};

/// What rules call the change set.
const DESTINATION: &str = "change-set";

/// What is asked about each file: what the session knew when, and what paths may hold.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    knowledge: Knowledge,
    paths: PathLevels,
    releases: Vec<Consent>,
}

impl Levels {
    /// Those of a session under a policy.
    pub(crate) fn of(session: &Session, policy: &Policy) -> Self {
        let labels = &policy.settings().labels;
        Self {
            knowledge: session.knowledge().clone(),
            paths: labels.of_paths(),
            releases: labels.consents.clone(),
        }
    }

    /// Marks every file of a change set.
    pub(crate) fn mark(&self, set: &mut ChangeSet) {
        set.mark(|file| self.of_file(file));
    }

    fn of_file(&self, file: &FileChange) -> (Label, Option<Held>) {
        let written = self.knowledge.label_of(&file.path, file.now());
        let former = file
            .old_path
            .as_deref()
            .map(|path| Label::new(self.paths.level(path, false), Provenance::Trusted));
        let label = former.map_or(written, |former| written.join(former));
        let path = self.paths.level(&file.path, false);
        let to = Destination::new(DESTINATION, path);
        match flow(label, &to, &self.releases) {
            Flow::Pass => (label, None),
            Flow::Consent(rule) => (label, Some(Held { path, rule: Some(rule) })),
            Flow::Block => (label, Some(Held { path, rule: None })),
        }
    }
}

/// Why a file is held, in one sentence.
pub(crate) fn why(file: &FileChange) -> Option<String> {
    let (held, label) = (file.held.as_ref()?, file.label?);
    let rule = held.rule.as_ref().map_or_else(
        || "no rule of the policy lets a person release it".to_owned(),
        |rule| format!("`{rule}` lets a person release it with a reason"),
    );
    Some(format!("it knows {} data and its path may hold {}: {rule}", label.level(), held.path))
}

/// A release that a person gives reasons for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Release {
    pub reason: String,
}

/// Whether a file that was chosen may go: it is not held, or a person releases it under a rule. Gives the rule.
pub(crate) fn may_go(
    file: &FileChange,
    release: Option<&Release>,
    by_person: bool,
) -> Result<Option<RuleId>, ApiError> {
    let Some(held) = &file.held else { return Ok(None) };
    let refused = |why: String| ApiError::new(Fault::Refused, format!("`{}` is held: {why}", file.path));
    let Some(rule) = &held.rule else {
        return Err(refused(why(file).unwrap_or_default()).hint(
            "a `[[downgrade]]` of kind `consent` with the destination `change-set` would let a person release it",
        ));
    };
    match release {
        None => Err(refused(why(file).unwrap_or_default())
            .hint(format!("release it: enclos apply ID --files {} --release \"REASON\"", file.path))),
        Some(_) if !by_person => Err(refused("only a person at a terminal releases it".to_owned())),
        Some(Release { reason }) if reason.trim().is_empty() => {
            Err(refused("a release needs a reason in words".to_owned()))
        }
        Some(_) => Ok(Some(rule.clone())),
    }
}
