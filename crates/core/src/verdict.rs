//! The three answers of the policy, and the one way to combine them.
//!
//! A verdict can only be hardened: combining is [`Ord::max`], and no function lowers one.

use serde::{Deserialize, Serialize};

/// What the policy answers to a proposed action. `Allow < Ask < Disabled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The action runs; the rule that allowed it is recorded.
    #[serde(alias = "allowedWithoutPermission")]
    Allow,
    /// The action waits for the approval of a person.
    #[serde(alias = "allowedWithPermission")]
    Ask,
    /// The action never runs, whatever anyone answers.
    #[serde(alias = "exclude")]
    Disabled,
}

impl Verdict {
    /// The stricter of two verdicts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.max(other)
    }

    /// The word of this verdict in policy files, events and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Disabled => "disabled",
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl std::str::FromStr for Verdict {
    type Err = UnknownVerdict;

    fn from_str(word: &str) -> Result<Self, UnknownVerdict> {
        match word {
            "allow" | "allowedWithoutPermission" => Ok(Self::Allow),
            "ask" | "allowedWithPermission" => Ok(Self::Ask),
            "disabled" | "exclude" => Ok(Self::Disabled),
            _ => Err(UnknownVerdict(word.to_owned())),
        }
    }
}

/// A word that is not a verdict. It is refused, never taken for a default.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a verdict: expected `allow`, `ask` or `disabled`")]
pub struct UnknownVerdict(pub String);

#[cfg(test)]
mod tests {
    use super::Verdict::{Allow, Ask, Disabled};

    #[test]
    fn the_stricter_verdict_wins() {
        assert!(Allow < Ask && Ask < Disabled);
        for a in [Allow, Ask, Disabled] {
            for b in [Allow, Ask, Disabled] {
                assert!(a.and(b) >= a && a.and(b) >= b);
            }
        }
    }

    #[test]
    fn the_names_of_files_are_read_and_nothing_else() {
        assert_eq!("exclude".parse(), Ok(Disabled));
        assert_eq!("allowedWithPermission".parse(), Ok(Ask));
        assert!("Allow".parse::<super::Verdict>().is_err());
        assert!("".parse::<super::Verdict>().is_err());
    }
}
