//! The policy lab: policies tried out. Nothing here puts a policy in force, and nothing here writes.
//!
//! A policy is named by its files, highest scope first, as `policy check` takes them; or by one word: a preset, or
//! `current` for the policy in force. Files are the whole policy then: what is in force does not stand above them, so
//! that a change of an instance's own policy can be tried as well.

mod simulate;
mod test;

use std::path::Path;

use enclos_core::policy::{Layer, MAX_BYTES, Policy, PolicyError, Preset, Scope, cases_at};
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::lab::DifferenceReport;

use crate::policies::{read, read_plain, refusal, table};

pub(crate) use simulate::{Replay, simulate};
pub(crate) use test::{apart, test};

/// The word for the policy in force.
pub(crate) const CURRENT: &str = "current";

/// A policy that was named.
pub(crate) enum Named {
    /// The one in force.
    Current,
    /// Texts, with scope and source.
    Texts(Vec<(Scope, String, String)>),
}

fn usage(message: impl Into<String>) -> ApiError {
    ApiError::new(Fault::Usage, message)
}

impl Named {
    /// Reads what words name.
    ///
    /// # Errors
    /// A file that cannot be read; a word of a whole policy beside others.
    pub(crate) fn read(words: &[String]) -> Result<Self, ApiError> {
        if let [word] = words {
            if word == CURRENT {
                return Ok(Self::Current);
            }
            if let Ok(preset) = word.parse::<Preset>() {
                let text = (Scope::Instance, format!("preset {preset}"), preset.text().to_owned());
                return Ok(Self::Texts(vec![text]));
            }
        }
        words.iter().try_for_each(|word| refuse_table(word))?;
        words.iter().map(|word| file(word)).collect::<Result<_, _>>().map(Self::Texts)
    }

    /// The texts of the policy, for a person.
    pub(crate) fn sources(&self) -> Vec<String> {
        match self {
            Self::Current => vec![CURRENT.to_owned()],
            Self::Texts(texts) => {
                texts.iter().map(|(scope, source, _)| format!("{scope}: {source}")).collect()
            }
        }
    }
}

/// A table of expectations under another name is said to be one, whatever stands beside it.
fn refuse_table(word: &str) -> Result<(), ApiError> {
    // What cannot be read is told by whoever reads it as a policy.
    let text = read(Path::new(word), MAX_BYTES).ok().flatten();
    text.and_then(|text| cases_at(&text)).map_or(Ok(()), |line| Err(table(word, line)))
}

/// One policy file; `.enclos.toml` is a repository's own.
fn file(word: &str) -> Result<(Scope, String, String), ApiError> {
    if word == CURRENT || word.parse::<Preset>().is_ok() {
        let message = format!("`{word}` names a whole policy, and stands beside another");
        return Err(
            usage(message).hint(format!("name it alone, or write `./{word}` for a file of that name"))
        );
    }
    let path = Path::new(word);
    let text = read(path, MAX_BYTES)?.ok_or_else(|| {
        usage(format!(
            "`{word}` does not exist: expected a policy file, `strict`, `balanced`, `open` or `{CURRENT}`"
        ))
    })?;
    let own = path.file_name().is_some_and(|name| name == ".enclos.toml");
    Ok((if own { Scope::Repository } else { Scope::Instance }, word.to_owned(), text))
}

/// A way to load a policy: strict as what is put in force, or as what is to be tried.
pub(crate) type Way = fn(&[Layer<'_>]) -> Result<Policy, PolicyError>;

/// Loads texts in one of the ways that a policy is loaded.
pub(crate) fn load(texts: &[(Scope, String, String)], way: Way) -> Result<Policy, ApiError> {
    let layers: Vec<Layer<'_>> = texts
        .iter()
        .map(|(scope, source, text)| Layer { scope: *scope, source: source.clone(), text })
        .collect();
    way(&layers).map_err(|error| refusal(&error))
}

/// Loads texts with the own policy of a repository below them, where it still stands there.
pub(crate) fn load_in(texts: &[(Scope, String, String)], repo: &Path) -> Result<Policy, ApiError> {
    let own = read_plain(&repo.join(".enclos.toml"))?;
    let own = own.map(|text| (Scope::Repository, ".enclos.toml".to_owned(), text));
    let all: Vec<_> = texts.iter().cloned().chain(own).collect();
    load(&all, Policy::load_standing)
}

/// A policy and the texts that it is made of.
pub(crate) struct Side {
    pub policy: Policy,
    pub sources: Vec<String>,
    /// Whether its texts stand in their scopes, as those in force do. Those of files and presets stand in none yet.
    pub placed: bool,
}

/// Compares two policies.
pub(crate) fn diff(old: Side, new: Side) -> DifferenceReport {
    let difference = if old.placed && new.placed {
        old.policy.difference(&new.policy)
    } else {
        old.policy.difference_without_scopes(&new.policy)
    };
    DifferenceReport { difference, old: old.sources, new: new.sources }
}
