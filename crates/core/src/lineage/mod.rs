//! Where a datum came from, what became of it, and what its label may be.
//!
//! A [`Record`] is what a person, an export and an auditor see, with the names of the specification; a [`Draft`] is one that
//! is about to be made. The rules that a draft must keep are in [`rules`]; nothing here stores, repairs or lowers anything.

mod digest;
mod id;
mod record;
pub mod rules;

pub use digest::{digest_of, digest_over};
pub use id::{LineageId, MOST_RECORDS};
pub use record::{Classification, Kind, Location, Moment, Origin, Record, SourceType, Transformation};
pub use rules::{Admitted, Refused, Seen, admit};

use crate::downgrade::Lowering;
use crate::ids::{Digest, RuleId};
use crate::label::{Label, Level};

/// A record that is about to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Its name: that of its session and the next number in it.
    pub id: LineageId,
    /// What it is.
    pub kind: Kind,
    /// The digest of its content.
    pub content: Digest,
    /// Where it comes from.
    pub origin: Origin,
    /// What it is said to know. It must cover what its inputs know, unless a [`Lowering`] is named.
    pub label: Label,
    /// Why it has that label.
    pub reason: String,
    /// Whether a written rule may ever make less of it.
    pub can_be_downgraded: bool,
    /// What was done to its inputs; absent for what was read from a source.
    pub change: Option<Change>,
    /// Where it is sent, for what leaves.
    pub sent: Option<Sent>,
    /// The named rule under which it knows less than its inputs.
    pub lowering: Option<Lowering>,
}

/// How a record came of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What was done, in one word: `answered`, `written`, `aggregated`, `sent`, …
    pub word: String,
    /// The same in a sentence, without content.
    pub description: String,
    /// Who or what did it.
    pub agent: String,
    /// The records that it was made of.
    pub inputs: Vec<Input>,
}

/// A record that another was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The record.
    pub id: LineageId,
    /// How surely.
    pub confidence: Confidence,
}

impl Input {
    /// One that the tool itself names.
    pub fn declared(id: LineageId) -> Self {
        Self { id, confidence: Confidence::Declared }
    }

    /// One that may have been used: nothing shows that it was, and nothing that it was not.
    pub fn assumed(id: LineageId) -> Self {
        Self { id, confidence: Confidence::Assumed }
    }
}

/// How surely a record was made of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// It may have been: both were in the same workspace or context.
    Assumed,
    /// The call names it.
    Declared,
}

impl Confidence {
    /// Its word in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Assumed => "assumed",
            Self::Declared => "declared",
        }
    }
}

/// Where a record goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The destination, as rules call it.
    pub destination: String,
    /// What may be sent there.
    pub class: Level,
    /// The rule of kind `consent` under which a person let it go to a lower class.
    pub consent: Option<RuleId>,
}
