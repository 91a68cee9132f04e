//! Where a rule was written, and the texts that make a policy.

use serde::{Deserialize, Serialize};

/// Where a rule comes from, the highest scope first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The default matrix, which holds where no written rule speaks. No text can be of this scope.
    BuiltIn,
    /// The instance: its administrators.
    Instance,
    /// A group, or a subgroup below it: layers of this scope stand in the order given, the top group first.
    Group,
    /// The project.
    Project,
    /// The repository's own `.enclos.toml`: it only tightens.
    Repository,
    /// What the person who opened the session chose for it: it only tightens.
    Session,
}

impl Scope {
    /// The word of this scope in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::Instance => "instance",
            Self::Group => "group",
            Self::Project => "project",
            Self::Repository => "repository",
            Self::Session => "session",
        }
    }

    /// Whether the first layer that speaks here replaces the default matrix. Elsewhere it can only tighten it.
    pub(super) fn replaces_defaults(self) -> bool {
        match self {
            Self::Instance | Self::Group | Self::Project => true,
            Self::BuiltIn | Self::Repository | Self::Session => false,
        }
    }
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// One policy text and where it stands.
#[derive(Clone, Debug)]
pub struct Layer<'t> {
    /// The scope.
    pub scope: Scope,
    /// The file or place it was read from, for messages.
    pub source: String,
    /// The TOML text.
    pub text: &'t str,
}

/// The longest policy text, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// The longest `.enclos.toml`, in bytes.
pub const MAX_REPOSITORY_BYTES: usize = 64 * 1024;
