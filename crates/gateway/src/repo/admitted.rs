//! Which ignored files come in because the policy names them, by path or by pattern as in a `.gitignore`.
//!
//! A file that looks like a credential, by its name or because it holds a private key, stays out even then, unless its
//! whole path is named. Nothing is followed and nothing but files and links is admitted.

use std::path::Path;

use enclos_core::policy::Mounts;
use enclos_core::sensitive::holds_credentials;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::keys::may_hold_key;

/// The rule for one repository.
#[derive(Debug)]
pub(crate) struct Admitted {
    patterns: Gitignore,
    everything: bool,
    exact: Vec<String>,
}

/// What becomes of an ignored file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is shown.
    Shown,
    /// It is not named.
    Hidden,
    /// It is named, and looks like a credential.
    Credential,
}

impl Admitted {
    /// The rule of a policy.
    ///
    /// # Errors
    /// A pattern that cannot be read.
    pub(crate) fn of(setting: Option<&Mounts>) -> Result<Self, String> {
        let mut builder = GitignoreBuilder::new("");
        let (mut everything, mut exact) = (false, Vec::new());
        match setting {
            None => {}
            Some(Mounts::All) => everything = true,
            Some(Mounts::Only(names)) => {
                for name in names {
                    builder
                        .add_line(None, name)
                        .map_err(|error| format!("`repository.ignored` has `{name}`: {error}"))?;
                    if !name.contains(['*', '?', '[', '\\']) {
                        exact.push(name.trim_start_matches('/').to_owned());
                    }
                }
            }
        }
        let patterns = builder.build().map_err(|error| format!("`repository.ignored`: {error}"))?;
        Ok(Self { patterns, everything, exact })
    }

    /// Nothing.
    #[cfg(test)]
    pub(super) fn nothing() -> Self {
        Self::of(None).unwrap()
    }

    /// Whether anything can be admitted.
    pub(super) fn is_any(&self) -> bool {
        self.everything || !self.patterns.is_empty()
    }

    /// What becomes of an ignored file at a path, which lies at `whole` on the disk.
    pub(super) fn of_file(&self, path: &Path, whole: &Path) -> Admission {
        let named = self.everything || self.patterns.matched_path_or_any_parents(path, false).is_ignore();
        let Some(text) = path.to_str().filter(|_| named) else { return Admission::Hidden };
        if self.exact.iter().any(|exact| exact == text) {
            return Admission::Shown;
        }
        if holds_credentials(text) || may_hold_key(whole) { Admission::Credential } else { Admission::Shown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_comes_in_and_credentials_only_by_their_whole_path() {
        let dir = tempfile::tempdir().unwrap();
        let key =
            "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n";
        for (path, text) in [("data.csv", "1"), ("prod.env", "A=1"), ("notes.txt", key), ("other.txt", "x")] {
            std::fs::write(dir.path().join(path), text).unwrap();
        }
        let ask = |names: &[&str], path: &str| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let admitted = Admitted::of(Some(&Mounts::Only(names))).unwrap();
            admitted.of_file(Path::new(path), &dir.path().join(path))
        };
        assert_eq!(ask(&["*.csv"], "data.csv"), Admission::Shown);
        assert_eq!(ask(&["*.csv"], "other.txt"), Admission::Hidden);
        assert_eq!(ask(&["*"], "prod.env"), Admission::Credential);
        assert_eq!(ask(&["*.env"], "prod.env"), Admission::Credential);
        assert_eq!(ask(&["prod.env"], "prod.env"), Admission::Shown);
        assert_eq!(ask(&["/prod.env"], "prod.env"), Admission::Shown);
        assert_eq!(ask(&["*.txt"], "notes.txt"), Admission::Credential);
        assert_eq!(ask(&["notes.txt"], "notes.txt"), Admission::Shown);
        assert_eq!(ask(&["*.txt"], "gone.txt"), Admission::Credential, "what cannot be read");
        assert_eq!(ask(&["data/"], "data/x.txt"), Admission::Credential);
        let all = Admitted::of(Some(&Mounts::All)).unwrap();
        assert_eq!(all.of_file(Path::new("other.txt"), &dir.path().join("other.txt")), Admission::Shown);
        let none = Admitted::nothing();
        assert!(!none.is_any());
        assert_eq!(none.of_file(Path::new("data.csv"), &dir.path().join("data.csv")), Admission::Hidden);
    }
}
