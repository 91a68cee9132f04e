//! The scopes that have a policy of their own on this gateway, and the file of each.
//!
//! Under the configuration folder: `policy.toml` is the instance's, `policy/group/PATH/policy.toml` a group's,
//! `policy/project/PATH/policy.toml` a project's. A path is the names of groups from the top, for a project with its
//! own name last: the project `acme/web/site` is in the group `acme/web`, which is in `acme`. Which repository is
//! which project is said in the configuration alone: a repository that named its own project could choose the softest.

use std::fmt;
use std::path::{Path, PathBuf};

use enclos_core::policy::Scope;
use enclos_protocol::error::{ApiError, Fault};

use crate::places::Places;

/// Names in a path at most.
const DEEPEST: usize = 8;

/// The longest name in a path, in bytes.
const LONGEST: usize = 64;

/// A scope with a policy of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ScopeName {
    /// The instance.
    Instance,
    /// A group, by its path.
    Group(String),
    /// A project, by its path.
    Project(String),
}

impl ScopeName {
    /// Reads `instance`, `group PATH` or `project PATH`.
    ///
    /// # Errors
    /// Anything else, with what was expected.
    pub(crate) fn parse(text: &str) -> Result<Self, ApiError> {
        let (kind, path) = text.split_once(' ').map_or((text, ""), |(kind, path)| (kind, path.trim()));
        match (kind, path) {
            ("instance", "") => Ok(Self::Instance),
            ("group", path) if !path.is_empty() => Ok(Self::Group(checked(path)?)),
            ("project", path) if !path.is_empty() => Ok(Self::Project(checked(path)?)),
            _ => {
                let message =
                    format!("`{text}` is not a scope: expected `instance`, `group PATH` or `project PATH`");
                Err(ApiError::new(Fault::Usage, message)
                    .hint("for example: --scope group acme/web, --scope project acme/web/site"))
            }
        }
    }

    /// The project of a path.
    ///
    /// # Errors
    /// A path that cannot be one.
    pub(crate) fn project(path: &str) -> Result<Self, ApiError> {
        Ok(Self::Project(checked(path)?))
    }

    /// What the cascade takes it for.
    pub(crate) fn scope(&self) -> Scope {
        match self {
            Self::Instance => Scope::Instance,
            Self::Group(_) => Scope::Group,
            Self::Project(_) => Scope::Project,
        }
    }

    /// Its file.
    pub(crate) fn file(&self, places: &Places) -> PathBuf {
        match self {
            Self::Instance => places.policy_file(),
            Self::Group(path) => places.policy_folder().join("group").join(path).join("policy.toml"),
            Self::Project(path) => places.policy_folder().join("project").join(path).join("policy.toml"),
        }
    }

    /// The scopes from the instance down to this one, itself included.
    pub(crate) fn line(&self) -> Vec<Self> {
        let mut line = vec![Self::Instance];
        let (groups, last) = match self {
            Self::Instance => return line,
            Self::Group(path) => (path.as_str(), None),
            Self::Project(path) => (path.rsplit_once('/').map_or("", |(groups, _)| groups), Some(self)),
        };
        let ends = groups.match_indices('/').map(|(at, _)| at).chain([groups.len()]);
        let groups = ends.filter_map(|end| groups.get(..end)).filter(|path| !path.is_empty());
        line.extend(groups.map(|path| Self::Group(path.to_owned())));
        line.extend(last.cloned());
        line
    }

    /// Whether this scope stands above another.
    pub(crate) fn is_above(&self, other: &Self) -> bool {
        self != other && other.line().contains(self)
    }

    /// Every scope that has a file, the instance first.
    pub(crate) fn written(places: &Places) -> Vec<Self> {
        let mut found = vec![Self::Instance];
        let kinds = [("group", Self::Group as fn(String) -> Self), ("project", Self::Project)];
        for (folder, kind) in kinds {
            walk(&places.policy_folder().join(folder), "", &mut |path| found.push(kind(path)));
        }
        found.retain(|scope| scope.file(places).exists());
        found.sort();
        found
    }
}

impl fmt::Display for ScopeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instance => f.pad("instance"),
            Self::Group(path) => f.pad(&format!("group {path}")),
            Self::Project(path) => f.pad(&format!("project {path}")),
        }
    }
}

fn checked(path: &str) -> Result<String, ApiError> {
    let names: Vec<&str> = path.split('/').collect();
    if names.len() <= DEEPEST && names.iter().all(|name| is_name(name)) {
        return Ok(path.to_owned());
    }
    let message = format!(
        "`{path}` is not the path of a group or a project: expected at most {DEEPEST} names of `a-z 0-9 _ -`, with `/` \
         between them"
    );
    Err(ApiError::new(Fault::Usage, message).hint("for example `acme/web/site`"))
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(fits) && !name.starts_with('-')
}

/// Every folder below, by its path.
fn walk(folder: &Path, path: &str, found: &mut dyn FnMut(String)) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok).filter(|entry| entry.path().is_dir()) {
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let below = if path.is_empty() { name } else { format!("{path}/{name}") };
        if checked(&below).is_ok() {
            walk(&entry.path(), &below, found);
            found(below);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(text: &str) -> ScopeName {
        ScopeName::parse(text).unwrap()
    }

    #[test]
    fn a_project_stands_below_its_groups_and_the_instance() {
        let line: Vec<String> = scope("project a/b/c").line().iter().map(ToString::to_string).collect();
        assert_eq!(line, ["instance", "group a", "group a/b", "project a/b/c"]);
        assert_eq!(scope("project c").line().len(), 2);
        assert!(scope("group a").is_above(&scope("project a/b/c")));
        assert!(scope("group a").is_above(&scope("group a/b")));
        assert!(!scope("group a").is_above(&scope("group ab")));
        assert!(!scope("group a").is_above(&scope("group a")));
    }

    #[test]
    fn a_path_leads_nowhere_else() {
        for bad in [
            "",
            "group",
            "group ../x",
            "group a//b",
            "project /etc",
            "group A",
            "team a",
            "group a.b",
            "instance x",
        ] {
            let error = ScopeName::parse(bad).unwrap_err();
            assert!(error.message.contains("expected"), "{error}");
        }
    }
}
