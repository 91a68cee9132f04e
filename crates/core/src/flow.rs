//! Where a text may go: one function for every way out.
//!
//! A channel, another session, a tool outside the sandbox, a model, a change set, a screen: each is a [`Destination`] with a
//! class, and [`flow`] says `pass`, `consent` or `block`. Data goes to an equal or higher class only. The one exception that
//! is decided here is a written rule of kind `consent`, which asks a person for this one flow and never covers RESTRICTED.
//! Nothing here lowers a label.

use serde::{Deserialize, Serialize};

use crate::ids::RuleId;
use crate::label::{Label, Level};

/// Somewhere that a text may be sent or shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// What rules call it: `channel:ops`, `model:local`, `tool:send_mail`.
    name: String,
    /// What may be sent there.
    class: Level,
}

impl Destination {
    /// A destination whose recipients are all cleared for its class.
    pub fn new(name: impl Into<String>, class: Level) -> Self {
        Self { name: name.into(), class }
    }

    /// The same with those who read there: the class falls to the least cleared one. `None` is somebody who is not known.
    #[must_use]
    pub fn read_by(mut self, recipients: impl IntoIterator<Item = Option<Level>>) -> Self {
        self.class = effective(self.class, recipients);
        self
    }

    /// What rules call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What may be sent there.
    pub fn class(&self) -> Level {
        self.class
    }
}

/// The lower of a channel's class and its least cleared recipient. Somebody who is not known is cleared for PUBLIC.
pub fn effective(channel: Level, recipients: impl IntoIterator<Item = Option<Level>>) -> Level {
    recipients.into_iter().map(|clearance| clearance.unwrap_or(Level::Public)).fold(channel, Level::min)
}

/// The answer to a flow. `Pass < Consent < Block`: what combines two takes the stricter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flow {
    /// It may go.
    Pass,
    /// It may go if a person says so, with a reason, for this one flow: the rule that lets them be asked.
    Consent(RuleId),
    /// It stays.
    Block,
}

impl Flow {
    /// The word of this answer in events and reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Consent(_) => "consent",
            Self::Block => "block",
        }
    }
}

/// A written rule that lets a person be asked for a flow to a lower class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consent {
    /// Its name in the journal and on the card.
    pub id: RuleId,
    /// The highest level that it covers; never RESTRICTED.
    pub from: Level,
    /// The lowest class that it covers.
    pub to: Level,
    /// The destination, by name; `*` for every one.
    pub destination: String,
    /// Who wrote it.
    pub author: String,
}

impl Consent {
    /// Whether this rule speaks of that flow.
    fn covers(&self, level: Level, destination: &Destination) -> bool {
        level < Level::Restricted
            && level <= self.from
            && destination.class >= self.to
            && (self.destination == "*" || self.destination == destination.name)
    }
}

/// Whether a text with this label may go there. The first rule that covers the flow asks; where none does it stays.
pub fn flow(label: Label, destination: &Destination, rules: &[Consent]) -> Flow {
    if label.level().may_flow_to(destination.class) {
        return Flow::Pass;
    }
    rules
        .iter()
        .find(|rule| rule.covers(label.level(), destination))
        .map_or(Flow::Block, |rule| Flow::Consent(rule.id.clone()))
}

/// Whether a call with these effects acts beyond the sandbox, so that untrusted text may not make it happen unasked.
///
/// A `write` or `delete` that stays in the sandbox leaves through the change set only, and is not one.
pub fn is_consequential(changes: bool, inside_sandbox: bool, egress: bool) -> bool {
    egress || (changes && !inside_sandbox)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn consent(from: Level, to: Level, destination: &str) -> Consent {
        Consent {
            id: RuleId::new("release.ops"),
            from,
            to,
            destination: destination.into(),
            author: "owner".into(),
        }
    }

    #[test]
    fn without_a_rule_a_flow_passes_or_stays() {
        for from in Level::ALL {
            for to in Level::ALL {
                let answer = flow(Label::untrusted(from), &Destination::new("channel:x", to), &[]);
                let expected = if from <= to { Flow::Pass } else { Flow::Block };
                assert_eq!(answer, expected, "{from} to {to}");
            }
        }
    }

    #[test]
    fn a_consent_rule_asks_within_its_bounds_and_never_for_restricted() {
        let rules = [consent(Level::Restricted, Level::Internal, "channel:ops")];
        let ask = |level, name, class| flow(Label::trusted(level), &Destination::new(name, class), &rules);
        assert_eq!(ask(Level::Confidential, "channel:ops", Level::Internal).as_str(), "consent");
        assert_eq!(ask(Level::Confidential, "channel:ops", Level::Public), Flow::Block);
        assert_eq!(ask(Level::Confidential, "channel:other", Level::Internal), Flow::Block);
        assert_eq!(ask(Level::Restricted, "channel:ops", Level::Internal), Flow::Block);
        assert_eq!(ask(Level::Internal, "channel:ops", Level::Internal), Flow::Pass);
    }

    #[test]
    fn the_least_cleared_recipient_sets_the_class_and_an_unknown_one_is_public() {
        use Level::{Confidential, Internal, Public, Restricted};
        assert_eq!(effective(Confidential, []), Confidential);
        assert_eq!(effective(Confidential, [Some(Restricted)]), Confidential);
        assert_eq!(effective(Confidential, [Some(Restricted), Some(Internal)]), Internal);
        assert_eq!(effective(Confidential, [Some(Restricted), None]), Public);
        let ops = Destination::new("channel:ops", Confidential).read_by([Some(Internal)]);
        assert_eq!((ops.name(), ops.class()), ("channel:ops", Internal));
    }

    #[test]
    fn work_in_the_sandbox_is_not_consequential() {
        assert!(!is_consequential(true, true, false));
        assert!(!is_consequential(false, false, false));
        assert!(is_consequential(true, false, false));
        assert!(is_consequential(false, false, true));
        assert!(is_consequential(true, true, true));
    }
}
