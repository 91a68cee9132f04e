//! Which policy is in force: the files of the instance, of the groups and of the project, then what was chosen for
//! this session or project, then the repository's own `.enclos.toml`, which only tightens.
//!
//! On a person's own gateway, a preset or a file on the command line is the project's policy where nothing is
//! written above; under a written policy it counts as session scope and can only tighten. Without a preset and
//! without a file the preset `strict` holds. What stands in a saved scope was judged at its save: a rule of it that a
//! scope above left looser later counts no more. What comes with a session is refused where it is looser.

mod change;
mod looser;
mod save;
mod scope;
mod text;
mod versions;

use std::path::{Path, PathBuf};

use enclos_core::policy::{Layer, MAX_BYTES, Policy, PolicyError, Preset, Scope};
use enclos_protocol::error::ApiError;

use crate::places::Places;
use text::{lying, usage};

pub(crate) use change::{Wish, save};
pub(crate) use scope::ScopeName;
pub(crate) use text::{named, read, read_plain, refusal, table};
pub(crate) use versions::{history, settle, show};

/// The texts of a policy, as they were read last, and how to read them again.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    way: Way,
    held: Result<Vec<Text>, ApiError>,
}

/// One text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Text {
    scope: Scope,
    source: String,
    toml: String,
    /// Whether it is the saved policy of a scope.
    saved: bool,
}

/// Where the texts come from.
#[derive(Clone, Debug)]
struct Way {
    places: Places,
    line: Vec<ScopeName>,
    preset: Option<String>,
    files: Vec<PathBuf>,
    /// The repository's own text, read once: what a session changes of it never counts for that session.
    repository: Option<String>,
}

/// What was chosen on the command line or in the configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice<'a> {
    pub preset: Option<&'a str>,
    pub files: &'a [PathBuf],
    pub repo: Option<&'a Path>,
}

impl Sources {
    /// Reads every text that counts. `project` is the one that the repository belongs to.
    ///
    /// # Errors
    /// A file that cannot be read, a preset that does not exist.
    pub(crate) fn gather(
        places: &Places,
        choice: Choice<'_>,
        project: Option<&ScopeName>,
    ) -> Result<Self, ApiError> {
        let repository = match choice.repo {
            Some(repo) => read_plain(&repo.join(".enclos.toml"))?,
            None => None,
        };
        let absolute = |file: &PathBuf| std::path::absolute(file).unwrap_or_else(|_| file.clone());
        let way = Way {
            places: places.clone(),
            line: project.unwrap_or(&ScopeName::Instance).line(),
            preset: choice.preset.map(str::to_owned),
            files: choice.files.iter().map(absolute).collect(),
            repository,
        };
        let held = Ok(way.read()?);
        Ok(Self { way, held })
    }

    /// Loads them as one policy, for a session that opens.
    ///
    /// # Errors
    /// The first text that is not understood whole, with its file and line; what comes with the session and is looser
    /// than the scopes above.
    pub(crate) fn load(&self) -> Result<Policy, ApiError> {
        let texts = self.held.as_ref().map_err(Clone::clone)?;
        let layers = layers(texts);
        let saved = |error: &PolicyError| texts.iter().any(|text| text.saved && text.source == error.file);
        match Policy::load(&layers) {
            Err(error) if saved(&error) => Policy::load_standing(&layers),
            loaded => loaded,
        }
        .map_err(|error| {
            refusal(&error)
                .hint("nothing was started: a policy that is not understood whole gives no tool at all")
        })
    }

    /// Loads them for a session at work: what a scope above tightened counts, whatever stood below.
    ///
    /// # Errors
    /// The first text that cannot be read or is not understood whole.
    pub(crate) fn load_standing(&self) -> Result<Policy, ApiError> {
        let texts = self.held.as_ref().map_err(Clone::clone)?;
        Policy::load_standing(&layers(texts)).map_err(|error| refusal(&error))
    }

    /// Whether a policy is saved for a scope that counts here.
    pub(crate) fn is_written(&self) -> bool {
        self.held.as_ref().map_or(true, |texts| texts.iter().any(|text| text.saved))
    }

    /// Reads every text again. True when something is not as it was.
    pub(crate) fn read_again(&mut self) -> bool {
        let now = self.way.read();
        let changed = now != self.held;
        self.held = now;
        changed
    }

    /// The scopes that have, or could have, a saved policy here.
    pub(crate) fn line(&self) -> &[ScopeName] {
        &self.way.line
    }

    /// The places of the files.
    pub(crate) fn places(&self) -> &Places {
        &self.way.places
    }

    /// The sources by scope, for a person.
    pub(crate) fn described(&self) -> Vec<String> {
        let texts = self.held.as_deref().unwrap_or_default();
        texts.iter().map(|text| format!("{}: {}", text.scope, text.source)).collect()
    }
}

impl Way {
    /// The saved policies of the scopes.
    fn saved(&self) -> Result<Vec<Text>, ApiError> {
        let mut texts = Vec::new();
        for scope in &self.line {
            let file = scope.file(&self.places);
            if let Some(text) = read(&file, MAX_BYTES)? {
                texts.push(Text {
                    scope: scope.scope(),
                    source: file.display().to_string(),
                    toml: text,
                    saved: true,
                });
            }
        }
        Ok(texts)
    }

    fn read(&self) -> Result<Vec<Text>, ApiError> {
        let mut texts = self.saved()?;
        let scope = if texts.is_empty() { Scope::Project } else { Scope::Session };
        let chosen = |source: String, toml: String| Text { scope, source, toml, saved: false };
        let default = (texts.is_empty() && self.files.is_empty()).then_some(Preset::default().as_str());
        if let Some(name) = self.preset.as_deref().or(default) {
            let preset: Preset =
                name.parse().map_err(|error: enclos_core::policy::UnknownPreset| usage(error.to_string()))?;
            texts.push(chosen(format!("preset {preset}"), preset.text().to_owned()));
        }
        for file in &self.files {
            texts.push(chosen(file.display().to_string(), named(file)?));
        }
        if let Some(text) = &self.repository {
            let (source, toml) = (".enclos.toml".to_owned(), text.clone());
            texts.push(Text { scope: Scope::Repository, source, toml, saved: false });
        }
        Ok(texts)
    }
}

/// The digest of the policy that a scope and the scopes above it make; `None` where nothing is written or a text is
/// not understood.
fn digest_of(places: &Places, scope: &ScopeName) -> Option<String> {
    let way =
        Way { places: places.clone(), line: scope.line(), preset: None, files: Vec::new(), repository: None };
    let texts = way.saved().ok().filter(|texts| !texts.is_empty())?;
    Some(Policy::load_standing(&layers(&texts)).ok()?.digest().as_str().to_owned())
}

fn layers(texts: &[Text]) -> Vec<Layer<'_>> {
    texts.iter().map(Text::layer).collect()
}

impl Text {
    fn layer(&self) -> Layer<'_> {
        Layer { scope: self.scope, source: self.source.clone(), text: &self.toml }
    }
}
