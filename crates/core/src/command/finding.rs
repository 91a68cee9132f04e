//! What the reading finds about one piece, before the policy is applied to it.

use std::borrow::Cow;

/// How heavily a finding weighs. The heavier holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Only reads: allowed where the policy allows.
    Harmless,
    /// Asks, unless a rule frees it or the sandbox is trusted to contain it.
    Contained,
    /// Asks whatever is trusted.
    Asks,
    /// Refused whatever anyone answers.
    Refused,
}

/// A finding: its weight, the built-in rule, and the sentence for the card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) weight: Weight,
    pub(super) rule: &'static str,
    pub(super) reason: Cow<'static, str>,
}

impl Finding {
    pub(super) fn harmless(rule: &'static str, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { weight: Weight::Harmless, rule, reason: reason.into() }
    }

    pub(super) fn contained(rule: &'static str, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { weight: Weight::Contained, rule, reason: reason.into() }
    }

    pub(super) fn asks(rule: &'static str, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { weight: Weight::Asks, rule, reason: reason.into() }
    }

    pub(super) fn refused(rule: &'static str, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { weight: Weight::Refused, rule, reason: reason.into() }
    }

    /// The heavier of two findings; the first of two equally heavy ones.
    pub(super) fn and(self, other: Self) -> Self {
        if other.weight > self.weight { other } else { self }
    }
}
