//! The five rules of a record: read, changed, aggregated, sent, reset.
//!
//! [`admit`] says whether a draft may be made, given what its inputs are; whoever stores records asks it for each. A label
//! below what the inputs know is refused unless a downgrade is named that covers it; it is never raised in silence, and
//! what is refused leaves nothing.

use super::{Draft, Kind, LineageId, Sent};
use crate::downgrade::{LEAST_RECORDS, LoweringKind};
use crate::label::{Label, Level};

/// What is known of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its name.
    pub id: LineageId,
    /// What it is.
    pub kind: Kind,
    /// What it knows.
    pub label: Label,
    /// Whether a written rule may make less of it.
    pub can_be_downgraded: bool,
    /// The name of its source.
    pub source: String,
    /// The record in the source.
    pub record_id: Option<String>,
    /// What that record is in the source's own words.
    pub record_type: Option<String>,
    /// Whether it was made of other records: by the session, or of what the session wrote.
    pub made: bool,
    /// Whether it was archived at a reset.
    pub archived: bool,
}

impl Seen {
    /// Whether it was read from a source as it is, and the session had no hand in it.
    pub const fn is_from_outside(&self) -> bool {
        !self.made && matches!(self.kind, Kind::ExternalInput | Kind::ToolResult)
    }
}

/// What follows from a draft that may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// The input that shows why it has its level: the first of the same level. None for what comes from a source and for
    /// what knows more than its inputs.
    pub witness: Option<LineageId>,
}

/// Why a record is not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The label is below what the inputs know.
    #[error(
        "the record `{id}` is said to be {said}, and its inputs are {inputs}: a label only rises, a downgrade needs a written rule"
    )]
    Lowered {
        /// The draft.
        id: LineageId,
        /// What it is said to know.
        said: Label,
        /// What its inputs know.
        inputs: Label,
    },
    /// The named downgrade does not cover it.
    #[error("the downgrade rule `{rule}` does not cover the record `{id}`: {why}")]
    NotCovered {
        /// The draft.
        id: LineageId,
        /// The rule.
        rule: String,
        /// Why not.
        why: &'static str,
    },
    /// An input is not there.
    #[error("the record `{id}` is made of `{input}`, which is not there")]
    NoInput {
        /// The draft.
        id: LineageId,
        /// The input.
        input: LineageId,
    },
    /// An input was archived at a reset.
    #[error("the record `{id}` is made of `{input}`, which was archived at a reset")]
    Archived {
        /// The draft.
        id: LineageId,
        /// The input.
        input: LineageId,
    },
    /// What is made of others has no inputs, or what is read has some.
    #[error("the record `{id}` of kind `{kind}` {why}")]
    Shape {
        /// The draft.
        id: LineageId,
        /// Its kind.
        kind: &'static str,
        /// What is wrong.
        why: &'static str,
    },
    /// It may not go where it is sent.
    #[error("the record `{id}` is {level} and `{destination}` may be sent {class} at most")]
    NotSent {
        /// The draft.
        id: LineageId,
        /// Its level.
        level: Level,
        /// Where to.
        destination: String,
        /// What may be sent there.
        class: Level,
    },
}

/// Says whether a draft may be made of these inputs: all that it names, in its order.
pub fn admit(draft: &Draft, inputs: &[Seen]) -> Result<Admitted, Refused> {
    shape(draft, inputs)?;
    for input in inputs {
        if input.archived {
            return Err(Refused::Archived { id: draft.id.clone(), input: input.id.clone() });
        }
    }
    let known = inputs.iter().map(|input| input.label).reduce(Label::join);
    if let Some(known) = known.filter(|known| !draft.label.covers(*known)) {
        lowered(draft, inputs, known)?;
    }
    if let Some(sent) = &draft.sent {
        leaves(draft, sent)?;
    }
    let witness = inputs.iter().find(|input| input.label.level() == draft.label.level());
    Ok(Admitted { witness: witness.map(|input| input.id.clone()) })
}

fn shape(draft: &Draft, inputs: &[Seen]) -> Result<(), Refused> {
    let wrong = |why| Err(Refused::Shape { id: draft.id.clone(), kind: draft.kind.as_str(), why });
    let named = draft.change.as_ref().map(|change| change.inputs.as_slice()).unwrap_or_default();
    for (place, input) in named.iter().enumerate() {
        if inputs.get(place).is_none_or(|seen| seen.id != input.id) {
            return Err(Refused::NoInput { id: draft.id.clone(), input: input.id.clone() });
        }
        if input.id == draft.id {
            return wrong("is made of itself");
        }
        if named.iter().skip(place.saturating_add(1)).any(|other| other.id == input.id) {
            return wrong("names an input twice");
        }
    }
    if inputs.len() != named.len() {
        return wrong("has inputs that it does not name");
    }
    if draft.change.is_some() && named.is_empty() {
        return wrong("is changed and made of nothing");
    }
    if (draft.kind == Kind::MessageOut) != draft.sent.is_some() {
        return wrong("is sent without a destination, or has one and is not sent");
    }
    Ok(())
}

/// Whether the named downgrade lets the draft know less.
fn lowered(draft: &Draft, inputs: &[Seen], known: Label) -> Result<(), Refused> {
    let Some(lowering) = &draft.lowering else {
        return Err(Refused::Lowered { id: draft.id.clone(), said: draft.label, inputs: known });
    };
    let not = |why| {
        Err(Refused::NotCovered { id: draft.id.clone(), rule: lowering.rule().as_str().to_owned(), why })
    };
    if draft.label.provenance() < known.provenance() {
        return not("it speaks of levels, and nothing makes untrusted data trusted");
    }
    if known.level() == Level::Restricted {
        return not("RESTRICTED data is never downgraded");
    }
    if inputs.iter().any(|input| !input.can_be_downgraded) {
        return not("an input can never be downgraded");
    }
    if known.level() > lowering.from() || draft.label.level() < lowering.to() {
        return not("the levels are not within its bounds");
    }
    match lowering.kind() {
        LoweringKind::Consent => Ok(()),
        LoweringKind::Certified => certified(draft, inputs).or_else(not),
        LoweringKind::Aggregate => aggregated(draft, inputs).or_else(not),
    }
}

fn certified(draft: &Draft, inputs: &[Seen]) -> Result<(), &'static str> {
    let Some(lowering) = &draft.lowering else { return Ok(()) };
    let of_source = |input: &Seen| {
        input.source == lowering.source() && input.record_type.as_deref() == lowering.record_type()
    };
    if inputs.iter().all(of_source) {
        Ok(())
    } else {
        Err("an input is not of the source and type that are certified")
    }
}

fn aggregated(draft: &Draft, inputs: &[Seen]) -> Result<(), &'static str> {
    let Some(lowering) = &draft.lowering else { return Ok(()) };
    if draft.kind != Kind::Aggregate {
        return Err("only an aggregate that Enclos computed may be lowered by it");
    }
    if inputs.iter().any(|input| input.source != lowering.source()) {
        return Err("an input is not of its source");
    }
    if !inputs.iter().all(Seen::is_from_outside) {
        return Err("an input is the session's own work");
    }
    let mut names: Vec<&str> = inputs.iter().filter_map(|input| input.record_id.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() < LEAST_RECORDS { Err("there are fewer than 10 distinct records") } else { Ok(()) }
}

fn leaves(draft: &Draft, sent: &Sent) -> Result<(), Refused> {
    let level = draft.label.level();
    if level.may_flow_to(sent.class) || (sent.consent.is_some() && level < Level::Restricted) {
        return Ok(());
    }
    Err(Refused::NotSent {
        id: draft.id.clone(),
        level,
        destination: sent.destination.clone(),
        class: sent.class,
    })
}
