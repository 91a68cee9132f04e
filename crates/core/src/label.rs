//! What a session, a file or a text knows: a level and a provenance, and the one way to combine them.
//!
//! A [`Label`] only rises: [`Label::join`] is the single operation, the fields are private, and there is neither a default
//! nor a way down. An unknown word is refused where it is read, never taken for a level.

use serde::{Deserialize, Serialize};

/// How far a text may go. `PUBLIC < INTERNAL < CONFIDENTIAL < RESTRICTED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// Anybody may know it.
    Public,
    /// Everybody of the organisation may.
    Internal,
    /// Those may who are cleared for it.
    Confidential,
    /// Those may who are cleared for it, and nothing lowers it.
    Restricted,
}

impl Level {
    /// All levels, lowest first.
    pub const ALL: [Self; 4] = [Self::Public, Self::Internal, Self::Confidential, Self::Restricted];

    /// The word of this level in policy files, events and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "PUBLIC",
            Self::Internal => "INTERNAL",
            Self::Confidential => "CONFIDENTIAL",
            Self::Restricted => "RESTRICTED",
        }
    }

    /// The higher of two levels.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        self.max(other)
    }

    /// Whether a text of this level may go to a destination of that class as it is: to an equal or higher one.
    pub fn may_flow_to(self, class: Self) -> bool {
        self <= class
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl std::str::FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(word: &str) -> Result<Self, UnknownLevel> {
        Self::ALL
            .into_iter()
            .find(|level| level.as_str() == word)
            .ok_or_else(|| UnknownLevel(word.chars().take(MOST_SHOWN).collect()))
    }
}

/// Characters of an unknown word that are repeated.
const MOST_SHOWN: usize = 40;

/// A word that is not a level. It is refused, never taken for a default.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a level: expected `PUBLIC`, `INTERNAL`, `CONFIDENTIAL` or `RESTRICTED`")]
pub struct UnknownLevel(pub String);

/// Whether a text may make the model act. `trusted < untrusted`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// A person of the directory typed it on an interactive surface, or an administrator wrote it.
    Trusted,
    /// Anything else.
    Untrusted,
}

impl Provenance {
    /// The word of this provenance in policy files, events and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
        }
    }
}

impl std::fmt::Display for Provenance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// A level and a provenance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    level: Level,
    provenance: Provenance,
}

impl Label {
    /// What a session begins with: PUBLIC and trusted.
    pub const LOWEST: Self = Self::new(Level::Public, Provenance::Trusted);

    /// A label of these two.
    pub const fn new(level: Level, provenance: Provenance) -> Self {
        Self { level, provenance }
    }

    /// A text of that level which nobody vouches for.
    pub const fn untrusted(level: Level) -> Self {
        Self::new(level, Provenance::Untrusted)
    }

    /// A text of that level that a person or an administrator stands behind.
    pub const fn trusted(level: Level) -> Self {
        Self::new(level, Provenance::Trusted)
    }

    /// How far it may go.
    pub const fn level(self) -> Level {
        self.level
    }

    /// Whether it may make the model act.
    pub const fn provenance(self) -> Provenance {
        self.provenance
    }

    /// Whether nobody vouches for it.
    pub fn is_untrusted(self) -> bool {
        self.provenance == Provenance::Untrusted
    }

    /// What is known once both are: the higher of each.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self { level: self.level.max(other.level), provenance: self.provenance.max(other.provenance) }
    }

    /// Whether knowing the other adds nothing to this.
    pub fn covers(self, other: Self) -> bool {
        self.join(other) == self
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.level, self.provenance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Label> {
        Level::ALL.into_iter().flat_map(|level| [Label::trusted(level), Label::untrusted(level)]).collect()
    }

    #[test]
    fn joining_only_rises_and_does_not_care_for_order() {
        for a in all() {
            assert_eq!(a.join(a), a);
            assert_eq!(Label::LOWEST.join(a), a);
            for b in all() {
                let both = a.join(b);
                assert_eq!(both, b.join(a));
                assert!(both.covers(a) && both.covers(b));
                assert!(both.level() >= a.level() && both.provenance() >= a.provenance());
                for c in all() {
                    assert_eq!(a.join(b).join(c), a.join(b.join(c)));
                }
            }
        }
    }

    #[test]
    fn a_text_flows_to_an_equal_or_higher_class_only() {
        for from in Level::ALL {
            for to in Level::ALL {
                assert_eq!(from.may_flow_to(to), from as u8 <= to as u8, "{from} to {to}");
            }
        }
    }

    #[test]
    fn only_the_four_words_are_levels() {
        for level in Level::ALL {
            assert_eq!(level.as_str().parse(), Ok(level));
        }
        for word in ["", "public", "Public", " PUBLIC", "PUBLIC ", "GARBAGE", "SECRET", "UNTRUSTED", "1"] {
            let error = word.parse::<Level>().unwrap_err().to_string();
            assert!(error.contains("expected `PUBLIC`"), "{error}");
            assert!(serde_json::from_value::<Level>(word.into()).is_err(), "{word}");
        }
    }

    #[test]
    fn a_label_keeps_its_shape_at_rest() {
        let label = Label::untrusted(Level::Confidential);
        let text = serde_json::to_string(&label).unwrap();
        assert_eq!(text, r#"{"level":"CONFIDENTIAL","provenance":"untrusted"}"#);
        assert_eq!(serde_json::from_str::<Label>(&text).unwrap(), label);
        assert!(serde_json::from_str::<Label>(r#"{"level":"CONFIDENTIAL"}"#).is_err());
        assert_eq!(label.to_string(), "CONFIDENTIAL/untrusted");
    }
}
