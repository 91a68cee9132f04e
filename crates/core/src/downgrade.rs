//! Written rules under which a new record may know less than what it was made of, and the one computation among them.
//!
//! There are three kinds: `consent` asks a person for one flow, `aggregate` is a mean, count or sum that Enclos computes
//! itself, `certified` takes the word of a named certifier until an end date. A [`Lowering`] is made here alone. None covers
//! RESTRICTED, none covers what can never be downgraded, and a session's own label does not move.

mod aggregate;

use serde::{Deserialize, Serialize};

use crate::flow::Consent;
use crate::ids::RuleId;
use crate::label::{Label, Level};
use crate::lineage::{Moment, Seen};

pub use aggregate::{Aggregation, Computed, Function, NotComputed, Query, Row};

/// The fewest distinct records of an aggregate.
pub const LEAST_RECORDS: usize = 10;

/// The kinds of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoweringKind {
    /// A person said yes to this one flow.
    Consent,
    /// A number over many records.
    Aggregate,
    /// Data that somebody certifies as anonymised.
    Certified,
}

impl LoweringKind {
    /// Its word in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Consent => "consent",
            Self::Aggregate => "aggregate",
            Self::Certified => "certified",
        }
    }
}

/// A downgrade that a written rule allows for one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowering {
    rule: RuleId,
    kind: LoweringKind,
    from: Level,
    to: Level,
    source: String,
    record_type: Option<String>,
    queries: u32,
}

impl Lowering {
    /// The rule.
    pub fn rule(&self) -> &RuleId {
        &self.rule
    }

    /// Its kind.
    pub const fn kind(&self) -> LoweringKind {
        self.kind
    }

    /// The highest level that it covers.
    pub const fn from(&self) -> Level {
        self.from
    }

    /// The lowest level that it gives.
    pub const fn to(&self) -> Level {
        self.to
    }

    /// The source that it speaks of; for a consent, the destination.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The type of record that it speaks of.
    pub fn record_type(&self) -> Option<&str> {
        self.record_type.as_deref()
    }

    /// How many aggregates of the source may be made, by all sessions and persons together.
    pub const fn queries(&self) -> u32 {
        self.queries
    }

    /// The downgrade that a person's yes to a question under this rule is.
    ///
    /// # Errors
    /// A rule that is none, and a level that it does not cover.
    pub fn consented(rule: &Consent, level: Level) -> Result<Self, BadRule> {
        bounds(&rule.id, rule.from.min(Level::Confidential), rule.to)?;
        if level > rule.from || level == Level::Restricted {
            return Err(BadRule::Level { rule: rule.id.clone(), level });
        }
        Ok(Self {
            rule: rule.id.clone(),
            kind: LoweringKind::Consent,
            from: rule.from.min(Level::Confidential),
            to: rule.to,
            source: rule.destination.clone(),
            record_type: None,
            queries: 0,
        })
    }
}

/// A rule that takes the word of a certifier for one type of record of one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certified {
    /// Its name.
    pub id: RuleId,
    /// The highest level that it covers.
    pub from: Level,
    /// The level that certified records have.
    pub to: Level,
    /// The source.
    pub source: String,
    /// The type of record.
    pub record_type: String,
    /// Who certifies that it is anonymised.
    pub certifier: String,
    /// Until when.
    pub until: Moment,
    /// Who wrote the rule.
    pub author: String,
}

impl Certified {
    /// The downgrade of these records, at this time. What a model or a source says plays no part in it.
    ///
    /// # Errors
    /// A rule that is none, that is over, or that does not cover one of the records.
    pub fn certify(&self, now: Moment, records: &[Seen]) -> Result<Lowering, BadRule> {
        bounds(&self.id, self.from, self.to)?;
        if now >= self.until {
            return Err(BadRule::Over { rule: self.id.clone(), until: self.until });
        }
        for record in records {
            coverable(&self.id, self.from, record)?;
            if record.source != self.source || record.record_type.as_deref() != Some(&self.record_type) {
                return Err(BadRule::Other { rule: self.id.clone(), of: self.source.clone() });
            }
        }
        Ok(Lowering {
            rule: self.id.clone(),
            kind: LoweringKind::Certified,
            from: self.from,
            to: self.to,
            source: self.source.clone(),
            record_type: Some(self.record_type.clone()),
            queries: 0,
        })
    }
}

/// Why a rule gives no downgrade.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRule {
    /// It would lower nothing, or RESTRICTED.
    #[error(
        "the downgrade rule `{rule}` goes from {from} to {to}: expected a level below RESTRICTED, and a lower one"
    )]
    Bounds {
        /// The rule.
        rule: RuleId,
        /// Its upper level.
        from: Level,
        /// Its lower level.
        to: Level,
    },
    /// The data is above what it covers.
    #[error("the downgrade rule `{rule}` does not cover {level} data")]
    Level {
        /// The rule.
        rule: RuleId,
        /// The level.
        level: Level,
    },
    /// A record can never be downgraded.
    #[error("the downgrade rule `{rule}` does not cover a record that can never be downgraded")]
    Never {
        /// The rule.
        rule: RuleId,
    },
    /// Its end date has come.
    #[error("the downgrade rule `{rule}` ended at {until}: its certifier has to renew it")]
    Over {
        /// The rule.
        rule: RuleId,
        /// Its end.
        until: Moment,
    },
    /// A record is of another source or type.
    #[error("the downgrade rule `{rule}` speaks of `{of}` alone, and a record is of another source or type")]
    Other {
        /// The rule.
        rule: RuleId,
        /// The source that it speaks of.
        of: String,
    },
}

/// Whether a rule's levels are ones that it may have.
fn bounds(rule: &RuleId, from: Level, to: Level) -> Result<(), BadRule> {
    if from == Level::Restricted || to >= from {
        return Err(BadRule::Bounds { rule: rule.clone(), from, to });
    }
    Ok(())
}

/// Whether a rule may cover a record at all.
fn coverable(rule: &RuleId, from: Level, record: &Seen) -> Result<(), BadRule> {
    if !record.can_be_downgraded {
        return Err(BadRule::Never { rule: rule.clone() });
    }
    if record.label.level() > from || record.label.level() == Level::Restricted {
        return Err(BadRule::Level { rule: rule.clone(), level: record.label.level() });
    }
    Ok(())
}

/// The label of what a rule lowers: its level where the inputs are above that, and their provenance.
fn lowered(known: Label, to: Level) -> Label {
    Label::new(known.level().min(to), known.provenance())
}
