//! The level of isolation that policy demands of a machine, and how the demands of several scopes are joined.
//!
//! Demands only add up: the strictest holds, and where two are alike the higher scope is the one that is named. Nothing
//! here looks at a machine; whether it gives the level is found out where the sandbox opens.

use serde::{Deserialize, Serialize};

use super::scope::Scope;

/// A level of isolation, the milder first. There is nothing below [`Isolation::Standard`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// Every layer of isolation; some ceilings may be held by limits on processes and a watchdog.
    Standard,
    /// Every layer, and the kernel holds each ceiling: control groups, a disk quota, a user number of the session's own.
    Hard,
}

impl std::fmt::Display for Isolation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Standard => "standard",
            Self::Hard => "hard",
        })
    }
}

/// A level that policy demands, and who does. A machine that gives less opens no session, naming the scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DemandedIsolation {
    /// The level.
    pub level: Isolation,
    /// The highest scope that demands it.
    pub scope: Scope,
    /// The file or place of that scope's policy.
    pub source: String,
}

impl DemandedIsolation {
    /// A scope's demand, when it has one.
    pub(super) fn of(level: Option<Isolation>, scope: Scope, source: &str) -> Option<Self> {
        level.map(|level| Self { level, scope, source: source.to_owned() })
    }

    /// What holds where no scope demands a level.
    pub(super) fn by_default() -> Option<Self> {
        Self::of(Some(Isolation::Standard), Scope::BuiltIn, "built in")
    }

    /// Joined with the demand of a lower scope.
    pub(super) fn tightened_by(self, lower: Self) -> Self {
        if lower.level > self.level { lower } else { self }
    }
}
