//! `[labels]` and `[[downgrade]]`: what a project's files are, who may be sent what, and where a person may be asked.
//!
//! Every law raises: the higher level, the worse provenance, the lower clearance, the stricter answer. Path rules of several
//! scopes all count. A scope below the highest one writes no `[[downgrade]]`: that would be one more release.

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::flow::Consent;
use crate::ids::RuleId;
use crate::label::{Level, Provenance};

/// `[labels]`, as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LabelsFile {
    #[serde(default)]
    pub(super) project: Option<Level>,
    #[serde(default)]
    pub(super) repository: Option<Provenance>,
    #[serde(default)]
    pub(super) raise: Option<Raise>,
    #[serde(default)]
    pub(super) path: Vec<PathLevel>,
    #[serde(default)]
    pub(super) model: Vec<ModelClearance>,
}

/// `[[downgrade]]`, as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DowngradeFile {
    pub(super) id: String,
    pub(super) kind: DowngradeKind,
    pub(super) from: Level,
    pub(super) to: Level,
    pub(super) destination: String,
    pub(super) author: String,
}

/// The kinds of downgrade rules that a policy file can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DowngradeKind {
    /// A person is asked for each flow.
    Consent,
}

/// What happens when the model reads a file above what the session knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Raise {
    /// The session rises without a question.
    Allow,
    /// A person is asked, and told what it will forbid.
    Ask,
}

/// The level of the files that a pattern names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathLevel {
    /// A pattern below the repository's root, as in a `.gitignore` without `!`.
    pub path: String,
    /// Their level at least.
    pub level: Level,
    /// Whether the highest scope that has a policy says so: it alone may say less of a credential file.
    #[serde(skip)]
    pub(super) highest: bool,
}

/// What a model may be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelClearance {
    /// The model, as sessions name it; `*` for every one.
    pub name: String,
    /// The highest level that it may be sent.
    pub clearance: Level,
}

/// The settings of `[labels]` and `[[downgrade]]`. `None`: no scope speaks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Labels {
    /// The level of the project. Default INTERNAL.
    pub project: Option<Level>,
    /// Whether the text of the repository counts as trusted. Default not.
    pub repository: Option<Provenance>,
    /// What happens when the model reads a file above what the session knows. Default: a person is asked.
    pub raise: Option<Raise>,
    /// The levels of files, of all scopes.
    pub paths: Vec<PathLevel>,
    /// Clearances of models, one list for each scope that speaks.
    pub models: Vec<Vec<ModelClearance>>,
    /// Where a person may be asked to let something flow to a lower class.
    pub consents: Vec<Consent>,
}

/// The level of a project of which no scope says one.
pub const PROJECT_LEVEL: Level = Level::Internal;

impl Labels {
    /// The settings of which every scope adds its own: none gives room by that.
    pub(super) const ADDED: [&str; 3] = ["labels.path", "labels.model", "downgrade"];

    /// The settings of one file, or why they cannot be read.
    pub(super) fn of(file: &LabelsFile, downgrade: &[DowngradeFile]) -> Result<Self, String> {
        for PathLevel { path, .. } in &file.path {
            fits(path)?;
        }
        if let Some(blank) = file.model.iter().find(|model| model.name.trim().is_empty()) {
            return Err(format!("`labels.model` has the name `{}`: expected a model, or `*`", blank.name));
        }
        let consents = downgrade.iter().map(consent).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            project: file.project,
            repository: file.repository,
            raise: file.raise,
            paths: file.path.clone(),
            models: if file.model.is_empty() { Vec::new() } else { vec![file.model.clone()] },
            consents,
        })
    }

    /// Joins the settings of a lower layer.
    #[must_use]
    pub(super) fn tightened_by(mut self, lower: Self) -> Self {
        self.project = self.project.max(lower.project);
        self.repository = self.repository.max(lower.repository);
        self.raise = self.raise.max(lower.raise);
        for rule in lower.paths {
            if !self.paths.contains(&rule) {
                self.paths.push(rule);
            }
        }
        self.models.extend(lower.models);
        self
    }

    /// The defaults written out that a scope which cannot replace them might otherwise soften.
    #[must_use]
    pub(super) fn or_defaults(self) -> Self {
        Self {
            project: self.project.or(Some(PROJECT_LEVEL)),
            repository: self.repository.or(Some(Provenance::Untrusted)),
            raise: self.raise.or(Some(Raise::Ask)),
            ..self
        }
    }

    /// The settings under the keys that a file has for them.
    pub(super) fn written(&self) -> Vec<(&'static str, Value)> {
        let list = |empty: bool, value: Value| if empty { Value::Null } else { value };
        vec![
            ("labels.project", json!(self.project)),
            ("labels.repository", json!(self.repository)),
            ("labels.raise", json!(self.raise)),
            ("labels.path", list(self.paths.is_empty(), json!(self.paths))),
            ("labels.model", list(self.models.is_empty(), json!(self.models))),
            ("downgrade", list(self.consents.is_empty(), json!(self.consents))),
        ]
    }

    /// The level of the project.
    pub fn project(&self) -> Level {
        self.project.unwrap_or(PROJECT_LEVEL)
    }

    /// Whether the text of the repository counts as trusted.
    pub fn repository(&self) -> Provenance {
        self.repository.unwrap_or(Provenance::Untrusted)
    }

    /// What happens when the model reads a file above what the session knows.
    pub fn raise(&self) -> Raise {
        self.raise.unwrap_or(Raise::Ask)
    }

    /// The level of a file by its path from the repository's root: the highest of the project's, of every rule that
    /// names it or a folder above it, and RESTRICTED where credentials are kept and the highest scope does not say less.
    pub fn of_path(&self, path: &str) -> Level {
        self.of_paths().level(path, false)
    }

    /// The same for many paths: the patterns are read once.
    pub fn of_paths(&self) -> PathLevels {
        let rules = self.paths.iter().map(|rule| (matcher(&rule.path), rule.level, rule.highest));
        PathLevels { project: self.project(), rules: rules.collect() }
    }

    /// What a model may be sent, where a scope says so: the least of what they say; one that names others only says PUBLIC.
    pub fn clearance(&self, model: &str) -> Option<Level> {
        let of = |list: &Vec<ModelClearance>| {
            let named = list.iter().filter(|one| one.name == model).map(|one| one.clearance).min();
            let every = list.iter().filter(|one| one.name == "*").map(|one| one.clearance).min();
            named.or(every).unwrap_or(Level::Public)
        };
        self.models.iter().map(of).min()
    }
}

/// The levels of files, with their patterns read.
#[derive(Clone, Debug)]
pub struct PathLevels {
    project: Level,
    /// Pattern, level, and whether the highest scope says so. One that cannot be read names everything.
    rules: Vec<(Option<GlobMatcher>, Level, bool)>,
}

impl PathLevels {
    /// The level of every file of which no rule says more.
    pub fn project(&self) -> Level {
        self.project
    }

    /// Whether a rule puts files above a level.
    pub fn any_above(&self, level: Level) -> bool {
        self.rules.iter().any(|(_, own, _)| *own > level)
    }

    /// The level of a file by its path alone, and by whether a private key was found in it.
    pub fn level(&self, path: &str, holds_key: bool) -> Level {
        let secret = holds_key || crate::sensitive::holds_credentials(path);
        self.fold(path, secret)
    }

    /// The level of a file in a folder of dependencies: written rules count, and what credentials are called does not.
    pub fn written(&self, path: &str) -> Level {
        self.fold(path, false)
    }

    fn fold(&self, path: &str, secret: bool) -> Level {
        let own: Vec<&(Option<GlobMatcher>, Level, bool)> =
            self.rules.iter().filter(|(pattern, ..)| names(pattern.as_ref(), path)).collect();
        let said = own.iter().any(|(_, _, highest)| *highest);
        let secret = (!said && secret).then_some(Level::Restricted);
        own.into_iter().map(|(_, level, _)| *level).chain(secret).fold(self.project, Level::join)
    }
}

fn consent(file: &DowngradeFile) -> Result<Consent, String> {
    let DowngradeFile { id, kind: DowngradeKind::Consent, from, to, destination, author } = file;
    if *from == Level::Restricted {
        return Err(format!(
            "the downgrade `{id}` is from RESTRICTED, which nothing lowers: at most CONFIDENTIAL"
        ));
    }
    if from <= to {
        return Err(format!(
            "the downgrade `{id}` goes from {from} to {to}, which is no lower: it needs no rule"
        ));
    }
    for (field, value) in [("id", id), ("destination", destination), ("author", author)] {
        if value.trim().is_empty() {
            return Err(format!("the downgrade `{id}` has an empty `{field}`"));
        }
    }
    Ok(Consent {
        id: RuleId::new(id.clone()),
        from: *from,
        to: *to,
        destination: destination.clone(),
        author: author.clone(),
    })
}

/// A pattern, read. `None`: it cannot be read.
fn matcher(pattern: &str) -> Option<GlobMatcher> {
    let anchored = pattern.trim_end_matches('/').contains('/');
    let plain = pattern.trim_matches('/');
    let glob = if anchored { plain.to_owned() } else { format!("**/{plain}") };
    let glob = GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).build();
    Some(glob.ok()?.compile_matcher())
}

/// Whether a pattern names a path, or a folder above it. One that cannot be read names everything.
fn names(pattern: Option<&GlobMatcher>, path: &str) -> bool {
    let Some(glob) = pattern else { return true };
    let mut above = path.trim_matches('/');
    loop {
        if glob.is_match(above) {
            return true;
        }
        let Some((folder, _)) = above.rsplit_once('/') else { return false };
        above = folder;
    }
}

/// Whether a pattern is one of files below a repository's root.
fn fits(pattern: &str) -> Result<(), String> {
    let plain = pattern.trim_start_matches('/');
    let leads_out = plain.split('/').any(|part| part == "." || part == "..");
    let wrong = plain.is_empty() || pattern.trim() != pattern || pattern.starts_with(['!', '#']) || leads_out;
    if wrong {
        return Err(format!(
            "`labels.path` has `{pattern}`, which is no path or pattern below the repository's root"
        ));
    }
    let glob = GlobBuilder::new(plain).literal_separator(true).backslash_escape(true).build();
    glob.map(drop)
        .map_err(|error| format!("`labels.path` has `{pattern}`, which cannot be read: {}", error.kind()))
}

#[cfg(test)]
mod tests {
    use super::super::{Layer, Policy, Scope};
    use super::*;

    fn policy(texts: &[(Scope, &str)]) -> Result<Policy, String> {
        let texts: Vec<(Scope, String)> =
            texts.iter().map(|(scope, text)| (*scope, format!("name = \"p\"\n{text}"))).collect();
        let layers: Vec<Layer<'_>> = texts
            .iter()
            .map(|(scope, text)| Layer { scope: *scope, source: format!("{scope}.toml"), text })
            .collect();
        Policy::load(&layers).map_err(|error| error.to_string())
    }

    #[test]
    fn without_a_word_a_project_is_internal_and_its_text_untrusted() {
        let labels = policy(&[]).unwrap().settings().labels.clone();
        assert_eq!(labels.project(), Level::Internal);
        assert_eq!(labels.repository(), Provenance::Untrusted);
        assert_eq!(labels.raise(), Raise::Ask);
        assert_eq!(labels.clearance("m"), None);
    }

    #[test]
    fn a_file_has_the_highest_level_of_the_rules_that_name_it_or_a_folder_above() {
        let rules = "[[labels.path]]\npath = \"finance/\"\nlevel = \"CONFIDENTIAL\"\n\
            [[labels.path]]\npath = \"*.key\"\nlevel = \"RESTRICTED\"\n\
            [[labels.path]]\npath = \"/docs/plan.md\"\nlevel = \"CONFIDENTIAL\"";
        let labels = policy(&[(Scope::Instance, rules)]).unwrap().settings().labels.clone();
        for (path, level) in [
            ("src/main.rs", Level::Internal),
            ("finance/a.txt", Level::Confidential),
            ("x/finance/deep/a.txt", Level::Confidential),
            ("finance/deep/site.key", Level::Restricted),
            ("docs/plan.md", Level::Confidential),
            ("x/docs/plan.md", Level::Internal),
            (".env", Level::Restricted),
        ] {
            assert_eq!(labels.of_path(path), level, "{path}");
        }
        let less = "[[labels.path]]\npath = \"/.env\"\nlevel = \"INTERNAL\"";
        let high = policy(&[(Scope::Instance, less)]).unwrap();
        assert_eq!(high.settings().labels.of_path(".env"), Level::Internal);
        let low = policy(&[(Scope::Instance, ""), (Scope::Project, less)]).unwrap();
        assert_eq!(low.settings().labels.of_path(".env"), Level::Restricted);
    }

    #[test]
    fn every_law_raises() {
        let high = "[labels]\nproject = \"INTERNAL\"\nrepository = \"trusted\"\nraise = \"allow\"\n\
            [[labels.model]]\nname = \"a\"\nclearance = \"CONFIDENTIAL\"\n[[labels.path]]\npath = \"x\"\nlevel = \"CONFIDENTIAL\"";
        let low = "[labels]\nproject = \"CONFIDENTIAL\"\nrepository = \"untrusted\"\nraise = \"ask\"\n\
            [[labels.model]]\nname = \"*\"\nclearance = \"INTERNAL\"\n[[labels.path]]\npath = \"y/**\"\nlevel = \"RESTRICTED\"";
        let joined = policy(&[(Scope::Instance, high), (Scope::Project, low)]).unwrap();
        let labels = &joined.settings().labels;
        assert_eq!(labels.project(), Level::Confidential);
        assert_eq!(labels.repository(), Provenance::Untrusted);
        assert_eq!(labels.raise(), Raise::Ask);
        assert_eq!(labels.paths.len(), 2);
        assert_eq!(labels.clearance("a"), Some(Level::Internal));
        assert_eq!(labels.clearance("b"), Some(Level::Public));
    }

    #[test]
    fn a_lower_scope_that_gives_more_room_is_refused() {
        for (above, below) in [
            ("[labels]\nproject = \"CONFIDENTIAL\"", "[labels]\nproject = \"INTERNAL\""),
            ("[labels]\nraise = \"ask\"", "[labels]\nraise = \"allow\""),
            ("[labels]\nrepository = \"untrusted\"", "[labels]\nrepository = \"trusted\""),
        ] {
            let error = policy(&[(Scope::Instance, above), (Scope::Project, below)]).unwrap_err();
            assert!(error.contains("labels."), "{error}");
        }
        let release = "[[downgrade]]\nid = \"d\"\nkind = \"consent\"\nfrom = \"CONFIDENTIAL\"\nto = \"PUBLIC\"\n\
            destination = \"*\"\nauthor = \"me\"";
        assert_eq!(policy(&[(Scope::Project, release)]).unwrap().settings().labels.consents.len(), 1);
        let error = policy(&[(Scope::Instance, ""), (Scope::Project, release)]).unwrap_err();
        assert!(error.contains("downgrade"), "{error}");
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let release = |from: &str, to: &str| {
            format!(
                "[[downgrade]]\nid = \"d\"\nkind = \"consent\"\nfrom = \"{from}\"\nto = \"{to}\"\ndestination = \"*\"\nauthor = \"me\""
            )
        };
        for text in [
            release("RESTRICTED", "PUBLIC"),
            release("INTERNAL", "INTERNAL"),
            release("PUBLIC", "INTERNAL"),
            release("SECRET", "INTERNAL"),
            "[labels]\nproject = \"secret\"".into(),
            "[labels]\nprojekt = \"PUBLIC\"".into(),
            "[[labels.path]]\npath = \"../x\"\nlevel = \"PUBLIC\"".into(),
            "[[labels.path]]\npath = \"[\"\nlevel = \"PUBLIC\"".into(),
            "[[labels.path]]\npath = \"x\"\nlevel = \"PUBLIC\"\nprovenance = \"trusted\"".into(),
        ] {
            assert!(policy(&[(Scope::Instance, &text)]).is_err(), "{text}");
        }
    }
}
