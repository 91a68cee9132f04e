//! The presets: ordinary policy files that come with Enclos.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A preset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// The default matrix: reads run, everything else asks. The default.
    #[default]
    Strict,
    /// Work inside the sandbox runs; what would leave it asks.
    Balanced,
    /// As balanced, and tools of the servers that an administrator set up run as well.
    Open,
}

impl Preset {
    /// Every preset, the strictest first.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Balanced, Self::Open];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Balanced => "balanced",
            Self::Open => "open",
        }
    }

    /// Its file.
    pub fn text(self) -> &'static str {
        match self {
            Self::Strict => include_str!("../../../../policies/strict.toml"),
            Self::Balanced => include_str!("../../../../policies/balanced.toml"),
            Self::Open => include_str!("../../../../policies/open.toml"),
        }
    }
}

impl std::fmt::Display for Preset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that is no preset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a preset: expected `strict`, `balanced` or `open`")]
pub struct UnknownPreset(pub String);

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(word: &str) -> Result<Self, UnknownPreset> {
        Self::ALL
            .into_iter()
            .find(|preset| preset.as_str() == word)
            .ok_or_else(|| UnknownPreset(word.to_owned()))
    }
}
