//! Which policy is in force: the instance's file, then what was chosen for this session or project, then the
//! repository's own `.enclos.toml`, which only tightens.
//!
//! On a person's own gateway, a preset or a file on the command line is the project's policy where nothing is
//! written above; under an instance policy it counts as session scope and can only tighten. Without a preset and
//! without a file the preset `strict` holds.

use std::path::{Path, PathBuf};

use enclos_core::policy::{Layer, MAX_BYTES, MAX_REPOSITORY_BYTES, Policy, Preset, Scope};
use enclos_protocol::error::{ApiError, Fault};

use crate::places::Places;

/// The texts of a policy, read once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    texts: Vec<(Scope, String, String)>,
}

/// What was chosen on the command line or in the configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice<'a> {
    pub preset: Option<&'a str>,
    pub files: &'a [PathBuf],
    pub repo: Option<&'a Path>,
}

impl Sources {
    /// Reads every text that counts.
    ///
    /// # Errors
    /// A file that cannot be read, a preset that does not exist.
    pub(crate) fn gather(places: &Places, choice: Choice<'_>) -> Result<Self, ApiError> {
        let mut texts = Vec::new();
        let instance = places.policy_file();
        if let Some(text) = read(&instance, MAX_BYTES)? {
            texts.push((Scope::Instance, instance.display().to_string(), text));
        }
        let scope = if texts.is_empty() { Scope::Project } else { Scope::Session };
        let preset = choice.preset.or_else(|| choice.files.is_empty().then_some(Preset::default().as_str()));
        if let Some(name) = preset.filter(|_| choice.preset.is_some() || texts.is_empty()) {
            let preset: Preset = name.parse().map_err(|error: enclos_core::policy::UnknownPreset| {
                ApiError::new(Fault::Usage, error.to_string())
            })?;
            texts.push((scope, format!("preset {preset}"), preset.text().to_owned()));
        }
        for file in choice.files {
            let text = read(file, MAX_BYTES)?.ok_or_else(|| {
                ApiError::new(Fault::Usage, format!("the policy file `{}` does not exist", file.display()))
            })?;
            texts.push((scope, file.display().to_string(), text));
        }
        if let Some(file) = choice.repo.map(|repo| repo.join(".enclos.toml"))
            && let Some(text) = read_plain(&file)?
        {
            texts.push((Scope::Repository, ".enclos.toml".to_owned(), text));
        }
        Ok(Self { texts })
    }

    /// Loads them as one policy.
    ///
    /// # Errors
    /// The first text that is not understood whole, with its file and line.
    pub(crate) fn load(&self) -> Result<Policy, ApiError> {
        let layers: Vec<Layer<'_>> = self
            .texts
            .iter()
            .map(|(scope, source, text)| Layer { scope: *scope, source: source.clone(), text })
            .collect();
        Policy::load(&layers).map_err(|error| {
            ApiError::new(Fault::Usage, error.to_string())
                .hint("nothing was started: a policy that is not understood whole gives no tool at all")
        })
    }

    /// The sources by scope, for a person.
    pub(crate) fn described(&self) -> Vec<String> {
        self.texts.iter().map(|(scope, source, _)| format!("{scope}: {source}")).collect()
    }
}

pub(crate) fn read(file: &Path, most: usize) -> Result<Option<String>, ApiError> {
    let refuse = |why: String| Err(ApiError::new(Fault::Usage, format!("`{}` {why}", file.display())));
    match std::fs::metadata(file) {
        Ok(facts) if facts.len() > most as u64 => {
            refuse(format!("has {} bytes: expected at most {most}", facts.len()))
        }
        Ok(_) => match std::fs::read_to_string(file) {
            Ok(text) => Ok(Some(text)),
            Err(error) => refuse(format!("cannot be read: {error}")),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => refuse(format!("cannot be read: {error}")),
    }
}

/// The repository's own file counts only as a plain file.
pub(crate) fn read_plain(file: &Path) -> Result<Option<String>, ApiError> {
    match std::fs::symlink_metadata(file) {
        Ok(facts) if facts.is_file() => read(file, MAX_REPOSITORY_BYTES),
        Ok(_) => Err(ApiError::new(Fault::Usage, format!("`{}` is not a plain file", file.display()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(ApiError::new(Fault::Usage, format!("`{}` cannot be read: {error}", file.display())))
        }
    }
}
