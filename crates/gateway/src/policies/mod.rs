//! Which policy is in force: the files of the instance, of the groups and of the project, then what was chosen for
//! this session or project, then the repository's own `.enclos.toml`, which only tightens.
//!
//! On a person's own gateway, a preset or a file on the command line is the project's policy where nothing is
//! written above; under a written policy it counts as session scope and can only tighten. Without a preset and
//! without a file the preset `strict` holds. What stands in a saved scope was judged at its save: a rule of it that a
//! scope above left looser later counts no more. What comes with a session is refused where it is looser.

mod change;
mod save;
mod scope;
mod versions;

use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use enclos_core::policy::{Layer, MAX_BYTES, MAX_REPOSITORY_BYTES, Policy, PolicyError, Preset, Scope};
use enclos_protocol::error::{ApiError, Fault};

use crate::places::Places;

pub(crate) use change::{Wish, save};
pub(crate) use scope::ScopeName;
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
            ApiError::new(Fault::Usage, error.to_string())
                .hint("nothing was started: a policy that is not understood whole gives no tool at all")
        })
    }

    /// Loads them for a session at work: what a scope above tightened counts, whatever stood below.
    ///
    /// # Errors
    /// The first text that cannot be read or is not understood whole.
    pub(crate) fn load_standing(&self) -> Result<Policy, ApiError> {
        let texts = self.held.as_ref().map_err(Clone::clone)?;
        Policy::load_standing(&layers(texts)).map_err(|error| usage(error.to_string()))
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
    fn read(&self) -> Result<Vec<Text>, ApiError> {
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
        let scope = if texts.is_empty() { Scope::Project } else { Scope::Session };
        let chosen = |source: String, toml: String| Text { scope, source, toml, saved: false };
        let default = (texts.is_empty() && self.files.is_empty()).then_some(Preset::default().as_str());
        if let Some(name) = self.preset.as_deref().or(default) {
            let preset: Preset =
                name.parse().map_err(|error: enclos_core::policy::UnknownPreset| usage(error.to_string()))?;
            texts.push(chosen(format!("preset {preset}"), preset.text().to_owned()));
        }
        for file in &self.files {
            let text = read(file, MAX_BYTES)?
                .ok_or_else(|| usage(format!("the policy file `{}` does not exist", file.display())))?;
            texts.push(chosen(file.display().to_string(), text));
        }
        if let Some(text) = &self.repository {
            let (source, toml) = (".enclos.toml".to_owned(), text.clone());
            texts.push(Text { scope: Scope::Repository, source, toml, saved: false });
        }
        Ok(texts)
    }
}

fn layers(texts: &[Text]) -> Vec<Layer<'_>> {
    texts.iter().map(Text::layer).collect()
}

impl Text {
    fn layer(&self) -> Layer<'_> {
        Layer { scope: self.scope, source: self.source.clone(), text: &self.toml }
    }
}

fn usage(message: impl Into<String>) -> ApiError {
    ApiError::new(Fault::Usage, message)
}

/// A pipe that nobody writes to is not waited for.
const NO_WAIT: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();

/// Reads a file whole; `None` where there is none. What is no plain file is never waited for, and never read past
/// the bound.
pub(crate) fn read(file: &Path, most: usize) -> Result<Option<String>, ApiError> {
    let refuse = |why: String| Err(usage(format!("`{}` {why}", file.display())));
    let opened = match std::fs::OpenOptions::new().read(true).custom_flags(NO_WAIT).open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return refuse(format!("cannot be read: {error}")),
    };
    match opened.metadata() {
        Ok(facts) if facts.is_file() => {}
        Ok(_) => return refuse("is not a plain file: expected a file of TOML".to_owned()),
        Err(error) => return refuse(format!("cannot be read: {error}")),
    }
    let mut bytes = Vec::new();
    if let Err(error) = opened.take(most as u64 + 1).read_to_end(&mut bytes) {
        return refuse(format!("cannot be read: {error}"));
    }
    if bytes.len() > most {
        return refuse(format!("is longer than {most} bytes, which is the most that a policy may have"));
    }
    String::from_utf8(bytes).map(Some).or_else(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(valid).filter(|byte| **byte == b'\n').count() + 1;
        refuse(format!("cannot be read: line {line} is not UTF-8; save the file as UTF-8"))
    })
}

/// What lies at the place of a saved policy: the text, or an empty one for what is there and is no text. A save
/// replaces it.
fn lying(file: &Path) -> Option<String> {
    read(file, MAX_BYTES).unwrap_or_else(|_| Some(String::new()))
}

/// The repository's own file counts only as a plain file.
pub(crate) fn read_plain(file: &Path) -> Result<Option<String>, ApiError> {
    match std::fs::symlink_metadata(file) {
        Ok(facts) if facts.is_file() => read(file, MAX_REPOSITORY_BYTES),
        Ok(_) => Err(usage(format!("`{}` is not a plain file", file.display()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(usage(format!("`{}` cannot be read: {error}", file.display()))),
    }
}
