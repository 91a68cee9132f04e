//! Questions about lineage and their answers. Each answer is also its own `--json`.

use std::path::PathBuf;

use enclos_core::ids::{RuleId, SessionId};
use enclos_core::label::Level;
use enclos_core::lineage::{Confidence, Kind, LineageId, Record};
use serde::{Deserialize, Serialize};

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// What became of a record.
    Forward(Start),
    /// What a record was made of.
    Backward(Start),
    /// Why a record has its level.
    Why(Start),
    /// The records of a session.
    Records(SessionId),
    /// What a source brought in, and what became of it.
    Impact {
        /// The name of the source: a path, a tool, a program.
        source: String,
        /// Since when, in microseconds of the Unix epoch.
        since_us: i64,
    },
    /// What a hunk of a session's last change set was made of.
    Hunk {
        /// The session.
        session: SessionId,
        /// The file.
        path: String,
        /// A line of the new text; all hunks of the file when absent.
        line: Option<u64>,
    },
    /// What was made under a downgrade rule.
    Downgrades {
        /// Since when, in microseconds of the Unix epoch.
        since_us: i64,
    },
}

/// Where a walk begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Start {
    /// At a record.
    Record(LineageId),
    /// At a session: forward from its first records, else from what it made last.
    Session(SessionId),
}

/// The answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The records, in the order in which they were found.
    pub records: Vec<Item>,
    /// The links between them.
    pub links: Vec<Link>,
    /// Whether there is more.
    pub truncated: bool,
    /// The records from which it would go on.
    pub frontier: Vec<LineageId>,
    /// Records whose retention is over.
    pub gone: Vec<LineageId>,
}

/// A record in an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The record.
    #[serde(flatten)]
    pub record: Record,
    /// What it is.
    pub kind: Kind,
    /// The input that shows why it has its level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<LineageId>,
    /// The downgrade rule under which it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downgrade_rule: Option<RuleId>,
}

/// A link between two records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// What was made.
    pub to: LineageId,
    /// Of what.
    pub from: LineageId,
    /// How surely.
    pub confidence: Confidence,
}

/// What is to be exported.
#[derive(Clone, Debug)]
pub struct ExportRequest {
    /// The question whose answer it is.
    pub question: Question,
    /// What its reader is cleared for. What is above is withheld, visibly.
    pub clearance: Level,
    /// The folder to make. It must not be there.
    pub folder: PathBuf,
}

/// An export that was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Exported {
    /// The folder.
    pub folder: String,
    /// Records in it.
    pub records: u64,
    /// Records that are withheld.
    pub withheld: u64,
    /// Links.
    pub links: u64,
    /// Sessions whose journal is in it.
    pub sessions: u64,
    /// Whether the answer was cut.
    pub truncated: bool,
    /// The public key that verifies it: 64 hexadecimal digits.
    pub public_key: String,
}

/// What the verification of an export found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Whether everything holds.
    pub ok: bool,
    /// What failed first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_bad: Option<String>,
    /// Records that were checked.
    pub records: u64,
    /// Records that are withheld.
    pub withheld: u64,
    /// Records whose journal is withheld: the signature alone vouches for them.
    pub unproven: u64,
    /// Journal entries that were checked.
    pub entries: u64,
    /// Whose key signed it: `given`, `this gateway` or `its own`, which proves nothing of who signed.
    pub signer: String,
    /// What the journal counts against: `unanchored` without an anchor.
    pub anchor: String,
    /// A sentence.
    pub message: String,
}

/// A drawing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drawing {
    /// The picture, as SVG.
    #[serde(skip)]
    pub svg: String,
    /// Records in it.
    pub records: u64,
    /// Records that were left out.
    pub left_out: u64,
}
